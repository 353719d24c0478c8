"""Where a run took place: machine, versions, commit, time and memory. Figures without these mean little."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import clover_decide

LOG = "environment.log"


def describe() -> dict[str, Any]:
    """Machine and versions, as far as they can be found out."""
    found: dict[str, Any] = {
        "machine": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "clover-decide": clover_decide.__version__,
    }
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        found |= {"torch": torch.__version__, "threads": torch.get_num_threads()}
    commit = _commit()
    return {**found, **({"commit": commit} if commit else {})}


def peak_mib() -> int | None:
    """The most memory this process has held, in MiB; None where the system does not tell."""
    try:
        # Linux hands the most that a process's parent held on to it, in getrusage, but not here.
        told = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
        return round(int(told.split()[1]) / 2**10)
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (2**20 if sys.platform == "darwin" else 2**10))


def log(folder: Path, entry: Mapping[str, Any]) -> None:
    """Add a line to the folder's log of runs."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(dict(entry)) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor()
    return f"{name} {platform.machine()}".strip()


def _commit() -> str | None:
    """The commit of the checkout this package runs from, marked if files differ from it."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # An installed package may lie inside somebody else's repository.
    ours = (here.parent.parent / "pyproject.toml").is_file()
    return done.stdout.strip() or None if ours and done.returncode == 0 else None
