"""Entry point: assembles the commands and turns errors into exit codes.

0 done · 1 answered, but a gate failed or batch rows failed · 2 wrong usage or input. Data goes to stdout, everything
else to stderr.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import entry_points
from typing import Any

import typer

from clover_decide.cli import batch, decide, demo, folder, models, play, plugged, serve, triage, validate
from clover_decide.errors import CloverError, InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Typed questions about one material, answered jointly by a block-diffusion model.\n\n"
    "Exit codes: 0 done, 1 answered but a gate failed or batch rows failed, 2 wrong usage or input.",
)
app.command("demo")(demo.demo)
app.command("decide")(decide.decide_command)
app.command("batch")(batch.batch)
app.command("folder")(folder.folder)
app.command("triage")(triage.triage)
app.command("validate")(validate.validate)
app.command("models")(models.models)
app.command("serve")(serve.serve)
app.add_typer(serve.keys, name="keys")
app.add_typer(play.play, name="play")
for point in sorted(entry_points(group="clover_decide.commands"), key=lambda p: p.name):
    plugged.add(app, point)


def main() -> None:
    """Run the command line; never shows a traceback for a caller's mistake."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows \u escapes instead of failing on the first bar.
        stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    sys.exit(_run())


def _run() -> int:
    try:
        return app(standalone_mode=False) or 0
    except CloverError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        # typer has carried click under different names; its errors are told by what they can do.
        if type(error).__name__ == "Abort":
            return _interrupted()
        if not hasattr(error, "format_message"):
            raise
        return _fail(_usage(error))


def _usage(error: Any) -> InputError:
    """Wrong usage in our words: of an option its name and what it takes, of anything else the usage of the command."""
    option, said = getattr(getattr(error, "param", None), "opts", ()), str(getattr(error, "message", "")).removeprefix("Value error, ")
    if option and said.startswith("Input should be "):
        return InputError("not acceptable", path=option[0], accepted=said.removeprefix("Input should be ").partition(", unable")[0])
    given, found, wanted = said.rpartition(" is not one of ")
    if option and found:
        return InputError(f"unknown value {given}", path=option[0], accepted=wanted.rstrip("."))
    hint = error.ctx.get_usage() if getattr(error, "ctx", None) else "clover-decide --help"
    return InputError(error.format_message(), accepted=" ".join(hint.split()))


def _fail(error: CloverError) -> int:
    if "--json" in sys.argv[1:]:
        print(json.dumps({"error": error.as_dict()}))
    print(f"error: {error}", file=sys.stderr)
    return 2


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130
