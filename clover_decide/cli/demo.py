"""`clover-decide demo`: five linked questions about a contract."""

from __future__ import annotations

from typing import Annotated

import typer

from clover_decide.cli.options import JsonOption, ModelOption, json_line
from clover_decide.packs import load_pack


def demo(
    pack: Annotated[str, typer.Option("--pack", "-p", help="Whose example to run.")] = "contract",
    model: ModelOption = "clover-mini",
    as_json: JsonOption = False,
) -> None:
    """Answer a pack's questions about its example material, jointly and each alone."""
    from clover_decide.decider import Decider

    chosen = load_pack(pack)
    decision = Decider(model).decide(chosen.example, chosen.questions, independent=True)
    if as_json:
        print(json_line({"material": chosen.example, **decision.as_dict()}))
        return
    from clover_decide.cli.view import print_decision

    print(f"{chosen.example.strip()}\n")
    print_decision(decision, chosen.title)
