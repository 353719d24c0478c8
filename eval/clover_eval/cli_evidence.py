"""`clover-decide eval evidence`: precision and recall of the sentences that answers point to."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from clover_decide.cli.options import DtypeOption
from clover_decide.errors import InputError
from clover_eval.cli_options import FilterOption, SetArgument, SubsetOption, chosen
from clover_eval.pointing import Pointed, point_all, score
from clover_eval.sets import load_set


def evidence(
    name: SetArgument,
    mode: Annotated[Literal["joint", "independent"], typer.Option(help="Ask together, or each alone.")] = "joint",
    only: FilterOption = None,
    count: SubsetOption = None,
    model: Annotated[str, typer.Option(help="A shipped model's name or a model folder.")] = "clover-mini",
    dtype: DtypeOption = "auto",
) -> None:
    """Compare the sentences that answers point to with those that show them.

    clover-decide eval evidence linked-500 --filter known

    Only groups with an `evidence` field count; of the shipped sets, those whose structures clover-mini was trained on.
    """
    from clover_decide import Decider

    groups = [group for group in chosen(load_set(name), only, count) if group.evidence]
    if not groups:
        raise InputError("no group has evidence", path="SET", given=name, accepted="groups with an `evidence` field")
    pointed: list[Pointed] = []
    for item in point_all(Decider(model, dtype=dtype), groups, mode):
        pointed.append(item)
        print(f"\r{len(pointed)} of {len(groups)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    parts = {"all": pointed} | {s: [p for p in pointed if p.group.structure == s] for s in sorted({g.structure for g in groups})}
    for label, part in parts.items():
        found = score(part)
        asked = f"{found.groups} groups, {found.questions} questions"
        print(f"{label or 'no structure'}: precision {found.precision}, recall {found.recall}; {asked}")
        if label == "all":
            print("all quotes stand where they should" if found.offsets else "SOME QUOTES DO NOT STAND WHERE THEY SHOULD")
