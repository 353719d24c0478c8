"""The built wheel has what it needs, nothing else, and runs the demo from a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    return next(folder.glob("*.whl"))


def test_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"clover_decide", "clover_engine", "clover_eval"}
    for needed in (
        "clover_decide/py.typed",
        "clover_decide/schemas/packs/contract.yaml",
        "clover_engine/weights/clover-mini/model.safetensors",
        "clover_engine/weights/clover-mini/tokenizer.json",
        "clover_engine/weights/clover-mini/config.json",
        *(f"clover_engine/weights/clover-xiangqi/{name}" for name in ("model.safetensors", "tokenizer.json", "config.json")),
    ):
        assert needed in names, needed
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert wheel.stat().st_size < 100e6


def test_the_installed_wheel_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run(install, check=True, timeout=240)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    where = [sys.executable, "-c", "import clover_decide, clover_engine; print(clover_decide.__file__, clover_engine.__file__)"]
    found = subprocess.run(where, capture_output=True, text=True, check=True, env=env, cwd=tmp_path).stdout
    assert found.count(str(tmp_path)) == 2
    demo = [sys.executable, "-m", "clover_decide.cli", "demo"]
    out = subprocess.run(demo, capture_output=True, text=True, check=True, env=env, cwd=tmp_path, timeout=120).stdout
    assert "timely" in out and "asked alone" in out
