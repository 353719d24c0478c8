"""The sentences that show an answer, as the model points to them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from clover_decide.decision import Evidence
from clover_decide.planning import Plan
from clover_decide.prompt import Prompter
from clover_engine.engine import Engine, RowRequest
from clover_engine.pointing import Target

LIKELY = 0.3
"""Probability from which a sentence is listed (where precision and recall meet on linked-val); the likeliest one always is."""
MOST = 8
"""Sentences listed an answer."""


def read_evidence(engine: Engine, plan: Plan) -> dict[str, tuple[Evidence, ...]]:
    """For each question its evidence in the order of the text; one pass over each block, asked as if it were the first."""
    targets = targets_of(engine, plan)
    found: dict[str, tuple[Evidence, ...]] = {}
    for block in plan.blocks:
        pointed = engine.point(plan.prefix, RowRequest(block.asking, block.canvas), targets)
        found |= {key: _listed(plan, shares) for key, shares in zip(block.keys, pointed, strict=True)}
    return found


def targets_of(engine: Engine, plan: Plan) -> list[Target]:
    """Each sentence of the material, with the facts that were derived from it."""
    sentences, facts = Prompter(engine.tokenizer).line_spans(plan.material, plan.facts)
    starts = [start for start, _ in plan.material.sentences]
    through: dict[int, list[tuple[int, int]]] = {}
    for fact, span in zip(plan.facts, facts, strict=True):
        for sentence in {bisect_right(starts, at) - 1 for at in fact.at}:
            through.setdefault(sentence, []).append(span)
    return [Target(span, tuple(through.get(i, ()))) for i, span in enumerate(sentences)]


def _listed(plan: Plan, shares: Sequence[float]) -> tuple[Evidence, ...]:
    ranked = sorted(range(len(shares)), key=lambda i: -shares[i])[:MOST]
    chosen = [i for place, i in enumerate(ranked) if place == 0 or shares[i] >= LIKELY]
    spans, text = plan.material.sentences, plan.material.text
    return tuple(Evidence(*spans[i], text[slice(*spans[i])], shares[i]) for i in sorted(chosen))
