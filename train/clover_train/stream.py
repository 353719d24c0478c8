"""The endless, seeded stream of training batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clover_engine.tokenizer import Tokenizer
from clover_train.groups import Split, World
from clover_train.rows import Batch, Row, RowBuilder, collate
from clover_train.worlds import alert, chain, contract, dispatch

WORLDS: dict[str, Callable[[random.Random, Split], World]] = {
    "contract": contract.world,
    "alert": alert.world,
    "dispatch": dispatch.world,
    "chain": chain.world,
}
WEIGHTS = {"contract": 3, "alert": 3, "dispatch": 3, "chain": 4}
POOL = 64
"""Groups drawn at once, so that rows of similar length can share a batch."""


def worlds(seed: int, split: Split, count: int, family: str | None = None) -> list[World]:
    """`count` worlds, of one family or of all in their weights."""
    rng = random.Random(f"{split}-{family}-{seed}")
    names, weights = list(WEIGHTS), list(WEIGHTS.values())
    return [WORLDS[family or rng.choices(names, weights)[0]](rng, split) for _ in range(count)]


@dataclass(frozen=True)
class Phase:
    """The mix of a stretch of the stream: share of one-question rows, noisy copies of a joint block, and how often an
    option's own first token is its code (letters otherwise), and the fewest questions of a joint row."""

    tiny: float
    copies: int
    verbatim: float
    least: int = 2


def phase(pool: int) -> Phase:
    """The curriculum: single questions to learn the format, then groups. Groups carry several times the supervision a
    token, since every copy of a block asks its slots again at a tenth of the row's cost."""
    if pool < 9:
        return Phase(tiny=0.85, copies=3, verbatim=0.8)
    if pool < 13:
        return Phase(tiny=0.2, copies=4, verbatim=0.8)
    return Phase(tiny=0.1, copies=5, verbatim=0.92) if pool < 21 else Phase(tiny=0.05, copies=3, verbatim=0.92, least=4)


def batches(tokenizer: Tokenizer, seed: int, budget: int, mask_id: int, pad_id: int) -> Iterator[tuple[Batch, int]]:
    """Batches of at most about `budget` padded positions, with the number of groups in each."""
    pool = 0
    while True:
        rng = random.Random(f"rows-{seed}-{pool}")
        mix = phase(pool)
        builder = RowBuilder(tokenizer, pad_id, rng, verbatim=mix.verbatim)
        found = worlds(seed * 1_000_003 + pool, "train", POOL)
        rows = [builder.build(world, tiny=rng.random() < mix.tiny, least=mix.least) for world in found]
        packs = _pack(sorted(rows, key=lambda row: (len(row.material), row.tail(mix.copies))), budget, mix.copies)
        rng.shuffle(packs)
        for pack in packs:
            yield collate(pack, mix.copies, mask_id, rng), len(pack)
        pool += 1


def _pack(rows: list[Row], budget: int, copies: int) -> list[list[Row]]:
    packs: list[list[Row]] = [[]]
    for row in rows:
        trial = [*packs[-1], row]
        size = len(trial) * (max(len(r.material) for r in trial) + max(r.tail(copies) for r in trial))
        if packs[-1] and size > budget:
            packs.append([row])
        else:
            packs[-1] = trial
    return packs
