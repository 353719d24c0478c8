"""Options that the commands over sets of labelled groups share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clover_decide.errors import InputError
from clover_eval.datasets import LabelledGroup, subset
from clover_eval.sets import SETS, LoadedSet

SetArgument = Annotated[str, typer.Argument(metavar="SET", help=f"{', '.join(SETS)}, or a file of labelled groups.")]
FormatOption = Annotated[
    str, typer.Option("--format", help="groups (this project's), or public (lists of questions, as converted public sets).")
]
ReportOption = Annotated[Path | None, typer.Option("--report", help="HTML file; Markdown and JSON are written beside it.")]
FilterOption = Annotated[
    str | None, typer.Option("--filter", help="Only groups whose id, domain, slice or structure has this text, in capitals or not.")
]
SubsetOption = Annotated[int | None, typer.Option("--subset", help="About so many groups, the same ones each time; pairs stay whole.")]


def chosen(source: LoadedSet, only: str | None, count: int | None) -> list[LabelledGroup]:
    """The groups that a filter and a number leave.

    Raises:
        InputError: none are left.
    """
    wanted = (only or "").lower()
    groups = [g for g in source.groups if any(wanted in text.lower() for text in (g.id, g.domain, g.slice, g.structure))]
    if not groups:
        known = sorted({text for g in source.groups for text in (g.domain, g.slice, g.structure) if text})
        accepted = f"part of an id, or of: {', '.join(known)}" if known else "part of an id"
        raise InputError("no group is left", path="--filter", given=only, accepted=accepted)
    return subset(groups, count) if count is not None else groups


def check_folder(output: Path | None) -> None:
    """Raises InputError unless a file can be written there: before the work, not after it."""
    if output is not None and not output.parent.is_dir():
        raise InputError("no such folder", path="--output", given=str(output), accepted="a file in an existing folder")
