"""The notebook: its cells executed in order. `python -m tests.docs.notebook` renews the outputs that it shows."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

NOTEBOOK = ROOT / "examples" / "decision.ipynb"


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def executed(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every code cell with what it prints, all in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(notebook):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
        yield cell, printed.getvalue()


def shown(cell: dict[str, Any]) -> str:
    return "".join(text for output in cell["outputs"] for text in output["text"])


def main(path: Path = NOTEBOOK) -> None:
    notebook = json.loads(path.read_text())
    for cell, printed in executed(notebook):
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}] if printed else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
