"""Importing the package is light, and the public surface is what it says."""

from __future__ import annotations

import subprocess
import sys

import clover_decide


def test_importing_loads_no_heavy_package() -> None:
    code = "import sys, clover_decide, clover_decide.cli.main; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("torch", "transformers", "fastapi", "numpy", "tokenizers", "safetensors"):
        assert f"'{heavy}'" not in loaded, heavy


def test_every_exported_name_exists_and_is_documented() -> None:
    assert list(clover_decide.__all__) == sorted(clover_decide.__all__)
    for name in clover_decide.__all__:
        assert getattr(clover_decide, name).__doc__, name


def test_imports_point_one_way() -> None:
    code = (
        "import sys, clover_engine.engine; "
        "assert not any(m.startswith(('clover_decide', 'clover_eval')) for m in sys.modules), 'engine imports upwards'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import clover_decide\n"
        "try: clover_decide.Decider()\n"
        "except clover_decide.MissingExtraError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "clover-decide[local]" in said
