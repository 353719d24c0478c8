"""Commands of other packages (entry points of the group `clover_decide.commands`), loaded when they are called.

The evaluation plugs itself in this way: this package does not import it.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint

import typer

from clover_decide.errors import MissingExtraError

HELP = {
    "eval": "Measure answers on labelled groups of related questions.",
    "bench": "Time joint against independent answering.",
    "load": "Put load on a running service.",
    "calibrate": "Fit probabilities to labelled groups.",
    "thresholds": "Find the probability below which answers should be withheld.",
}


def add(app: typer.Typer, point: EntryPoint) -> None:
    """Add a command whose own options are read by what the entry point names."""

    @app.command(
        point.name,
        help=HELP.get(point.name, f"See `clover-decide {point.name} --help`."),
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    )
    def forward(context: typer.Context) -> int:
        return run(point, context.args)


def run(point: EntryPoint, words: list[str]) -> int:
    """Hand the rest of the command line over.

    Raises:
        MissingExtraError: what the command needs is not installed.
    """
    try:
        loaded = point.load()
        inner = loaded if isinstance(loaded, typer.Typer) else _single(loaded)
        return inner(args=words, prog_name=f"clover-decide {point.name}", standalone_mode=False) or 0
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("clover_"):
            raise  # not a missing package but a fault of ours
        raise MissingExtraError(f"this needs {error.name}", path=point.name, accepted="pip install 'clover-decide[eval]'") from None


def _single(function: object) -> typer.Typer:
    inner = typer.Typer(add_completion=False, rich_markup_mode=None)
    inner.command()(function)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return inner
