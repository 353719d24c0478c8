"""Pointing to evidence: the attention that is read is the model's own, and the reading of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from clover_engine.canvas import Canvas, Slot
from clover_engine.constraint.builders import trie
from clover_engine.engine import Engine, RowRequest
from clover_engine.models.base import Pointer
from clover_engine.models.llama import Part
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.pointing import FLOOR, NoPointerError, Target, features_of
from clover_engine.tokenizer import Tokenizer
from tests.conftest import MASK, make_engine, random_model

PREFIX, ASKING = tuple(range(100, 112)), (200, 201, 202)
POINTER = Pointer(layer=1, heads=(1, 4, 5), weights=(1.0, 0.5, 0.25), bias=-2.0)


def canvas(tokenizer: Tokenizer) -> Canvas:
    words = trie([tokenizer.encode(" yes"), tokenizer.encode(" no")])
    return Canvas((31, 0, 32, 33, 0, 0, 34), (Slot(1, 1, words), Slot(4, 2, words)))


def pointing_engine(tokenizer: Tokenizer, *, shift: bool = True) -> Engine:
    engine = make_engine(tokenizer, shift=shift)
    spec = replace(engine.spec, pointer=POINTER)
    return Engine(LlamaAdapter(random_model(), spec), tokenizer)


@pytest.mark.parametrize("shift", [True, False])
def test_the_attention_read_is_that_of_the_whole_sequence(tokenizer: Tokenizer, shift: bool) -> None:
    engine = pointing_engine(tokenizer, shift=shift)
    spans = [(0, 5), (5, 6), (6, 12)]
    found = features_of(
        engine.adapter, engine.state(PREFIX, RowRequest(ASKING, canvas(tokenizer))), canvas(tokenizer), [Target(s) for s in spans]
    )
    mask_id, block = tokenizer.special(MASK), list(canvas(tokenizer).ids)
    for position in (1, 4, 5):
        block[position] = mask_id
    ids = torch.tensor([[*PREFIX, *ASKING, *block]])
    size, before = ids.shape[1], len(PREFIX) + len(ASKING)
    sight = torch.ones(size, size, dtype=torch.bool).tril()
    sight[before:, before:] = True
    watch: dict[int, list[torch.Tensor]] = {POINTER.layer: []}
    with torch.no_grad():
        random_model().packed(ids, torch.arange(size)[None], [Part(sight[None, None])], watch)
    weights = watch[POINTER.layer][0][0, list(POINTER.heads)].mean(0)
    for slot, features in zip((1, 4), found, strict=True):
        row = weights[before + slot - shift]
        wanted = torch.stack([(row[a:b].sum() + FLOOR).log() - math.log(FLOOR) for a, b in spans])
        torch.testing.assert_close(features[:, 0], wanted, rtol=1e-4, atol=1e-4)


def test_what_speaks_for_a_target_counts_for_it(tokenizer: Tokenizer) -> None:
    engine = pointing_engine(tokenizer)
    row = RowRequest(ASKING, canvas(tokenizer))
    bare = engine.point(PREFIX, row, [Target((0, 3)), Target((3, 6))])
    backed = engine.point(PREFIX, row, [Target((0, 3)), Target((3, 6), ((6, 9), (9, 12)))])
    assert len(bare) == len(backed) == 2
    for alone, helped in zip(bare, backed, strict=True):
        assert alone[0] == pytest.approx(helped[0])
        assert alone[1] < helped[1]
        assert all(0.0 < p < 1.0 for p in (*alone, *helped))


def test_nothing_to_point_to(tokenizer: Tokenizer) -> None:
    assert pointing_engine(tokenizer).point(PREFIX, RowRequest(ASKING, canvas(tokenizer)), []) == [[], []]


def test_a_model_without_a_pointer_says_so(random_engine: Engine, tokenizer: Tokenizer) -> None:
    with pytest.raises(NoPointerError, match="random"):
        random_engine.point(PREFIX, RowRequest(ASKING, canvas(tokenizer)), [Target((0, 3))])
