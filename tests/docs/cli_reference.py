"""The CLI reference page, from `--help`. `python -m tests.docs.cli_reference > docs/cli.md` renews it."""

from __future__ import annotations

import os
import subprocess
import sys

COMMANDS = (
    *(
        "",
        "demo",
        "decide",
        "batch",
        "folder",
        "triage",
        "validate",
        "models",
        "play xiangqi",
        "serve",
        "keys add",
        "keys revoke",
        "keys list",
    ),
    *("eval", "eval run", "eval report", "eval sets", "eval runners", "eval evidence", "calibrate", "thresholds", "bench", "load"),
)
HEAD = """# Command line

Data goes to stdout, everything else to stderr. Exit codes: 0 done; 1 answered, but a gate (`--min-probability`) failed, or
batch rows or groups of `eval run` failed; 2 wrong usage or input. Errors never show a traceback; with `--json` they are also
printed as JSON.
This page is the output of `--help`.
"""


def reference() -> str:
    parts = [HEAD]
    for command in COMMANDS:
        words = ["clover-decide", *command.split(), "--help"]
        env = {**os.environ, "COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1"}
        args = [sys.executable, "-m", "clover_decide.cli", *words[1:]]
        shown = subprocess.run(args, capture_output=True, text=True, check=True, env=env).stdout
        body = "\n".join(line.rstrip() for line in shown.strip().splitlines()).replace("python -m clover_decide.cli", "clover-decide")
        parts.append(f"## `clover-decide{' ' if command else ''}{command}`\n\n```text\n{body}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference(), end="")
