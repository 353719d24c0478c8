"""Entry point: assembles the commands and turns errors into exit codes.

0 done · 1 answered, but a gate failed or batch rows failed · 2 wrong usage or input. Data goes to stdout, everything
else to stderr.
"""

from __future__ import annotations

import json
import os
import sys

import click
import typer

from clover_decide.cli import batch, decide, demo, models, validate
from clover_decide.errors import CloverError

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
app.command("validate")(validate.validate)
app.command("models")(models.models)


def main() -> None:
    """Run the command line; never shows a traceback for a caller's mistake."""
    try:
        code = app(standalone_mode=False)
    except CloverError as error:
        if "--json" in sys.argv[1:]:
            print(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except click.ClickException as error:
        error.show(sys.stderr)
        code = 2
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; a second complaint at shutdown would help nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code or 0)
