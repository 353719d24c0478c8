"""Composed endgames: which of some moves wins by force, and do the answers about it agree with each other?

python examples/xiangqi/positions.py eval.jsonl

A line of the file has `material` with "(FEN): …", and the question `best_move` with its options and answer (docs/evaluation.md, public
groups). Every position becomes a turn, as `play xiangqi` asks it, of these moves alone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from clover_decide import Decider, read_questions
from clover_decide.rules import read_rules
from clover_decide.xiangqi.position import Position
from clover_decide.xiangqi.turn import Turn, turn_of

ARMS: dict[str, dict[str, Any]] = {"joint, rules given": {"rules": True}, "joint": {}, "independent": {"mode": "independent"}}


def turn(row: dict[str, Any]) -> tuple[Turn, str]:
    """The turn of a line, and the right move."""
    found = re.search(r"\(FEN\): (.+)", row["material"])
    options = next(question["options"] for question in row["questions"] if question["id"] == "best_move")
    if found is None:
        raise ValueError(f"{row['id']}: no position; accepted: a line with (FEN): …")
    position = Position(found.group(1).strip())
    facts = tuple(sorted(position.facts(options), key=lambda fact: fact.name))
    return turn_of(position, facts, position.threat()), row["answers"]["best_move"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="clover-xiangqi")
    args = parser.parse_args()
    decider = Decider(args.model, dtype="float32")
    turns = [turn(json.loads(line)) for line in args.file.read_text(encoding="utf-8").split("\n") if line.strip()]
    for name, options in ARMS.items():
        counts = Counter({"right": 0, "agree": 0})
        for asked, right in turns:
            rules = read_rules(list(asked.rules), read_questions(asked.questions))
            given = {"mode": options.get("mode", "joint"), "rules": rules if options.get("rules") else None, "facts": "off"}
            decision = decider.decide(asked.material, asked.questions, **given)
            counts["right"] += decision["move"].value == right
            counts["agree"] += not rules.violations({key: answer.value for key, answer in decision.answers.items()})
        print(json.dumps({"asked": name, "positions": len(turns), **counts}))


if __name__ == "__main__":
    main()
