"""`decide()` and its like: the shipped model, loaded on first use."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from clover_decide.decider import DEFAULT_MODEL, Decider
from clover_decide.decision import Decision
from clover_decide.errors import CloverError


def decide(material: Any, questions: Any, *, model: str | Path = DEFAULT_MODEL, **options: Any) -> Decision:
    """Answer questions with the shipped model, loaded on first use. Options are those of `Decider.decide`."""
    return _default(str(model)).decide(material, questions, **options)


async def adecide(material: Any, questions: Any, *, model: str | Path = DEFAULT_MODEL, **options: Any) -> Decision:
    """`decide` in a worker thread."""
    return await asyncio.to_thread(decide, material, questions, model=model, **options)


def decide_many(
    materials: Iterable[Any], questions: Any, *, model: str | Path = DEFAULT_MODEL, **options: Any
) -> Iterator[Decision | CloverError]:
    """`Decider.decide_many` with the shipped model."""
    return _default(str(model)).decide_many(materials, questions, **options)


@lru_cache(maxsize=2)
def _default(model: str) -> Decider:
    return Decider(model)
