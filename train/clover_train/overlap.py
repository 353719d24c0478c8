"""How much of the texts of test sets stands in the public texts that are trained on.

    python -m clover_train.overlap --public SET/dev.jsonl … --against SET/eval.jsonl …

Prints, for each test set, the largest and the mean share of a text's runs of eight words that a training text has too, and the groups
of which it is at least LIMIT.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from clover_train.public import load

GRAM = 8
LIMIT = 0.8
"""Share from which a test group has as good as been seen."""


def grams(text: str) -> frozenset[tuple[str, ...]]:
    """The runs of GRAM words of a text; of a shorter one all of its words."""
    words = re.findall(r"\w+", text.lower())
    return frozenset(tuple(words[i : i + GRAM]) for i in range(max(len(words) - GRAM, 0) + 1))


def shares(texts: Iterable[str], known: Iterable[str]) -> list[float]:
    """For each text the share of its runs of words that some known text has."""
    seen = frozenset().union(*(grams(text) for text in known))
    return [len(own & seen) / max(len(own), 1) for own in map(grams, texts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--public", type=Path, nargs="+", required=True, help="what `run --public` is given")
    parser.add_argument("--against", type=Path, nargs="+", required=True, help="labelled groups that are tested on")
    args = parser.parse_args()
    known = [material for material, _ in load(args.public)]
    for path in args.against:
        rows: list[Mapping[str, str]] = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        if not rows:
            raise SystemExit(f"{path} holds no groups")
        found = shares([row["material"] for row in rows], known)
        over = [row["id"] for row, share in zip(rows, found, strict=True) if share >= LIMIT]
        print(
            f"{path}: {len(rows)} groups, at most {max(found):.3f}, mean {sum(found) / len(found):.3f}; seen: {', '.join(over) or 'none'}"
        )


if __name__ == "__main__":
    main()
