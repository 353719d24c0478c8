"""Threshold denoising of rows of blocks over one shared prefix.

Every slot starts masked. A pass of the model gives each slot a token distribution a position; the slot's lattice turns it
into exact probabilities of what comes next in the slot. Slots of which every piece is more probable than the threshold are
committed; where a row has none, a piece of its surest slot is. Committed tokens are seen by the next pass, so answers
that build on others are read after them. All tokens that a pass commits in a slot come from one legal string, hence no
illegal value can ever be assembled, whatever the model; constraints between slots are checked at every commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from clover_engine.canvas import Canvas
from clover_engine.feasibility import Feasibility, Guard
from clover_engine.filling import Layout, Scores, moves, read_scores
from clover_engine.models.base import ModelAdapter, PrefixState
from clover_engine.tree import BlockRead, Commit, Node, close, commits_of, follow

DEFAULT_THRESHOLD = 0.9
Watch = Callable[[int, Sequence[Commit]], None]
"""(row, what a pass committed in it)."""


class DeadEndError(ValueError):
    """The constraints leave nothing to commit: they were kinder to what came before than they could be."""


def denoise(
    adapter: ModelAdapter[Any],
    state: PrefixState,
    canvases: Sequence[Canvas],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    one_pass: bool = False,
    oracle: Feasibility | None = None,
    candidates: int = 0,
    watch: Watch | None = None,
    seed: int = 0,
) -> list[BlockRead]:
    """Fill every slot of every canvas; row r continues row r of `state`.

    Rows are independent of each other: finished ones leave the batch. At most one pass a masked position is made.

    Args:
        adapter: the model.
        state: a prefix of as many rows as there are canvases.
        canvases: the blocks to fill.
        threshold: probability above which a position is committed; in (0, 1].
        one_pass: commit everything after the first pass (each slot its most likely legal string).
        oracle: constraints between the slots of every canvas.
        candidates: how many likely strings of each slot to list beside its value.
        watch: told what each pass commits, as it does.
        seed: noise of models without a mask token; unused otherwise.

    Raises:
        EmptyLanguageError: a slot's automaton has no string that fits the slot.
        DeadEndError: the oracle leaves no token where it said before that there would be one.
    """
    layouts = [Layout.of(canvas, adapter) for canvas in canvases]
    guards = [Guard(layout, oracle, adapter.spec.pad_id) for layout in layouts]
    nodes = [Node(layout.start()) for layout in layouts]
    active = [r for r, layout in enumerate(layouts) if layout.open(nodes[r].filling)]
    current = state.select(active) if 0 < len(active) < len(nodes) else state
    while active:
        blocks = [layouts[r].ids(nodes[r].filling) for r in active]
        noisy = adapter.noise([ids for ids, _ in blocks], [masked for _, masked in blocks], seed)
        for r, hidden in zip(active, adapter.encode_block(current, noisy), strict=True):
            scores = read_scores(adapter, layouts[r], nodes[r].filling, hidden)
            nodes[r] = _advance(layouts[r], nodes[r], scores, guards[r], hidden, threshold, one_pass)
            if watch is not None:
                watch(r, [commit for node in nodes[r].path() if node.depth == nodes[r].depth for commit in commits_of(node)])
        left = [i for i, r in enumerate(active) if layouts[r].open(nodes[r].filling)]
        if len(left) < len(active):
            active = [active[i] for i in left]
            current = current.select(left) if active else current
    return [close(layout, node, adapter, candidates) for layout, node in zip(layouts, nodes, strict=True)]


def _advance(layout: Layout, node: Node, scores: Scores, guard: Guard, hidden: Any, threshold: float, one_pass: bool) -> Node:
    """Commit what one pass allows: all there is in `one_pass`, several times if constraints cut a commit short."""
    depth = node.depth + 1
    while True:
        following = follow(layout, node, moves(layout, node.filling, scores, 0.0 if one_pass else threshold), guard, hidden)
        if following is None:
            raise DeadEndError("the constraints leave no value for a slot")
        node = replace(following, depth=depth)
        if not one_pass or not layout.open(node.filling):
            return node
