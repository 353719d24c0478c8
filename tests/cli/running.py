"""The command line within this process: what it prints, and how it ends."""

from __future__ import annotations

import io
import subprocess
import sys
from unittest import mock

from clover_decide.cli.main import main


def run(*args: str, stdin: bytes = b"", expect: int = 0) -> subprocess.CompletedProcess[bytes]:
    """One call of `clover-decide`. Everything happens as in a process of its own, but that a model loaded before is not loaded again."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for name in ("stdout", "stderr")}
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with (
        mock.patch.object(sys, "argv", ["clover-decide", *args]),
        mock.patch.object(sys, "stdin", given),
        mock.patch.object(sys, "stdout", streams["stdout"]),
        mock.patch.object(sys, "stderr", streams["stderr"]),
        mock.patch.dict("os.environ", {"COLUMNS": "120"}),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    out, err = (stream.buffer.getvalue() for stream in streams.values())  # pyright: ignore[reportAttributeAccessIssue]
    assert b"Traceback" not in err, err.decode()
    assert code == expect, (args, out.decode(), err.decode())
    return subprocess.CompletedProcess(args, expect, out, err)
