"""Write labelled groups as JSONL: held-out phrasing, names and question wording by default.

python -m clover_train.heldout --count 240 --seed 7 > heldout.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from typing import Any

from clover_decide.question_base import MAX_GROUP
from clover_decide.questions import AnyQuestion
from clover_train.groups import World, compose
from clover_train.stream import families, worlds


def as_row(world: World, number: int, rng: random.Random) -> dict[str, Any]:
    """3 to 8 of the world's questions in random order over all its clauses, in the JSON form `clover_eval` reads."""
    keys = list(world.questions)
    rng.shuffle(keys)
    keys = keys[: rng.randint(min(3, len(keys)), min(MAX_GROUP, len(keys)))]
    group = compose(rng, world, keys, complete=True, distractors=rng.randint(0, 2))
    return {
        "id": f"{group.family}-{number}",
        "family": group.family,
        "structure": group.structure,
        "material": group.material,
        "questions": {key: _question(question) for key, question in group.questions.items()},
        "answers": {key: _json(value) for key, value in group.answers.items()},
    }


def _question(question: AnyQuestion) -> dict[str, Any]:
    return {"type": question.type, **question.model_dump(mode="json", exclude_defaults=True)}


def _json(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=["train", "val", "heldout"], default="heldout")
    parser.add_argument("--count", type=int, default=240, help="groups in all, equally many of each family")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    rng = random.Random(f"questions-{args.seed}")
    chosen = families(args.split)
    for family in chosen:
        for number, world in enumerate(worlds(args.seed, args.split, args.count // len(chosen), family)):
            sys.stdout.write(json.dumps(as_row(world, number, rng), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
