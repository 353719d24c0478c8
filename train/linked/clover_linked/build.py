"""Build a set of LinkedDecisions: a gzipped JSONL file and its SHA-256.

    python -m clover_linked.build linked-500 --out eval/clover_eval/data
    python -m clover_linked.build linked-val --out eval/clover_eval/data

The same command gives the same bytes. A frozen set is not rebuilt: its hash is written in `clover_eval.sets`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clover_linked import causal
from clover_linked.cases import Structure
from clover_linked.compose import Order, Unfit, ambiguous, single, twins
from clover_linked.structures.access import CHAIN, MATRIX
from clover_linked.structures.alert import COUNTED, TRAVEL
from clover_linked.structures.alert_window import WINDOW
from clover_linked.structures.claim import COVER, RETURN
from clover_linked.structures.claim_waiting import WAITING
from clover_linked.structures.contract import CURE, NOTICE
from clover_linked.structures.contract_amend import AMEND
from clover_linked.structures.dispatch import AIRSPACE, UNITS
from clover_linked.wording import Split

STRUCTURES: tuple[Structure, ...] = (NOTICE, CURE, AMEND, COUNTED, TRAVEL, WINDOW, UNITS, AIRSPACE, CHAIN, MATRIX, COVER, RETURN, WAITING)
KNOWN, NEW, AMBIGUOUS = "known structure, new wording", "new structure", "ambiguous"


@dataclass(frozen=True)
class Portion:
    """So many pairs of twins and single groups of one structure."""

    structure: Structure
    slice: str
    pairs: int
    singles: int


@dataclass(frozen=True)
class Recipe:
    """What a set is made of; `questions` in all, if that matters."""

    split: Split
    portions: Sequence[Portion]
    questions: int


RECIPES = {
    "linked-500": Recipe(
        "test",
        [
            *(Portion(s, KNOWN, 30, 15) for s in (NOTICE, COUNTED, UNITS, CHAIN)),
            *(Portion(s, NEW, 10, 4) for s in (COVER, RETURN, WAITING)),
            *(Portion(s, NEW, 8, 3 + (s in (CURE, TRAVEL))) for s in (CURE, TRAVEL, AIRSPACE, MATRIX)),
            *(Portion(s, AMBIGUOUS, 0, 10) for s in (NOTICE, COUNTED, UNITS, CHAIN, COVER)),
        ],
        2420,
    ),
    "linked-val": Recipe(
        "val",
        [
            *(Portion(s, KNOWN, 12, 6) for s in (NOTICE, COUNTED, UNITS, CHAIN)),
            *(Portion(s, NEW, 12, 6) for s in (AMEND, WINDOW)),
            *(Portion(s, AMBIGUOUS, 0, 5) for s in (NOTICE, COUNTED, UNITS, CHAIN)),
        ],
        968,
    ),
}


def build(name: str) -> list[dict[str, Any]]:
    """All groups of a set, in order."""
    recipe = RECIPES[name]
    taken: Counter[str] = Counter()
    portions = zip(recipe.portions, _sizes(name, recipe), strict=True)
    return [row for portion, sizes in portions for row in _portion(name, recipe.split, portion, sizes, taken)]


def _portion(name: str, split: Split, portion: Portion, sizes: Sequence[int], taken: Counter[str]) -> Iterator[dict[str, Any]]:
    single_maker = ambiguous if portion.slice == AMBIGUOUS else single
    for index, size in enumerate(sizes):
        kind = portion.slice.split()[0]
        base = f"{portion.structure.id}-{kind}-{index:02}"
        order = partial(Order, portion.structure, split, portion.slice, size=size)
        if index < portion.pairs:
            first, second = _fit(lambda seed, order=order: twins(order(seed=seed)), f"{name}/{base}", taken)
            yield {"id": f"{base}a", "pair": base, **first}
            yield {"id": f"{base}b", "pair": base, **second}
        else:
            (only,) = _fit(lambda seed, order=order: (single_maker(order(seed=seed)),), f"{name}/{base}", taken)
            yield {"id": base, "pair": None, **only}


def _fit(make: Callable[[str], tuple[dict[str, Any], ...]], seed: str, taken: Counter[str]) -> tuple[dict[str, Any], ...]:
    """The first seed of a series that gives acceptable groups; no more than two in a structure have the same answers."""
    for attempt in range(200):
        try:
            rows = make(f"{seed}/{attempt}")
        except Unfit:
            continue
        keys = [json.dumps([row["structure"], row["answers"]], sort_keys=True) for row in rows]
        if all(taken[key] < 2 for key in keys):
            taken.update(keys)
            return rows
    raise RuntimeError(f"no acceptable group for {seed}")


def _sizes(name: str, recipe: Recipe) -> list[list[int]]:
    """Questions a group, per portion; drawn, then moved by one where needed to reach the wanted number in all."""
    rng = random.Random(f"{name}/sizes")
    most = [min(8, len(p.structure.graph)) for p in recipe.portions]
    drawn = [rng.choices([3, 4, 5, 6, 7, 8], [20, 27, 24, 14, 9, 6], k=p.pairs + p.singles) for p in recipe.portions]
    sizes = [[min(size, limit) for size in s] for s, limit in zip(drawn, most, strict=True)]
    slots = [(p, i) for p, portion in enumerate(recipe.portions) for i in range(portion.pairs, portion.pairs + portion.singles)]

    def total() -> int:
        weight = [[2 if i < portion.pairs else 1 for i in range(len(s))] for portion, s in zip(recipe.portions, sizes, strict=True)]
        return sum(a * b for s, w in zip(sizes, weight, strict=True) for a, b in zip(s, w, strict=True))

    while (missing := recipe.questions - total()) != 0:
        p, i = rng.choice(slots)
        wanted = sizes[p][i] + (1 if missing > 0 else -1)
        if 3 <= wanted <= most[p]:
            sizes[p][i] = wanted
    return sizes


def packed(rows: Sequence[dict[str, Any]]) -> tuple[bytes, str]:
    """The gzipped file of a set, and the SHA-256 of its uncompressed content. Facts stay with the generator."""
    return _packed([{k: v for k, v in row.items() if k not in ("facts", "evidence")} for row in rows])


def packed_evidence(rows: Sequence[dict[str, Any]]) -> tuple[bytes, str]:
    """The same for the evidence of the groups that have it."""
    return _packed([{"id": row["id"], "evidence": row["evidence"]} for row in rows if row["evidence"] and not row.get("worlds")])


def _packed(rows: Sequence[dict[str, Any]]) -> tuple[bytes, str]:
    content = ("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n").encode()
    return gzip.compress(content, 9, mtime=0), hashlib.sha256(content).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*RECIPES, "linked-causal"])
    parser.add_argument("--out", type=Path, required=True, help="folder of the file")
    args = parser.parse_args()
    rows = causal.build() if args.name == "linked-causal" else build(args.name)
    data, digest = packed(rows)
    (args.out / f"{args.name}.jsonl.gz").write_bytes(data)
    if args.name in RECIPES:
        (args.out / f"{args.name}.evidence.jsonl.gz").write_bytes(packed_evidence(rows)[0])
    print(
        f"{digest}  {args.name}.jsonl  {len(rows)} groups, {sum(len(row['questions']) for row in rows)} questions, {len(data)} bytes packed"
    )


if __name__ == "__main__":
    main()
