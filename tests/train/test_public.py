"""Public labelled groups as training rows."""

from __future__ import annotations

import json
import random
from itertools import islice
from pathlib import Path

import pytest
import torch

from clover_engine.tokenizer import Tokenizer
from clover_train import public, stream
from clover_train.overlap import shares
from clover_train.public import LONGEST, held_out, load, row
from clover_train.rows import RowBuilder
from tests.conftest import MASK, PAD

ROW = {
    "id": "a",
    "material": "The clerk must reply within 5 days. She replied on 3 May 2021.",
    "questions": [
        {"id": "days", "type": "integer", "text": "Within how many days?"},
        {"id": "replied", "type": "date", "text": "When did she reply?"},
        {"id": "kind", "type": "choice", "text": "What kind of rule is it?", "options": ["deadline", "fee"]},
        {"id": "must", "type": "boolean", "text": "Is a reply due?"},
    ],
    "answers": {"days": 5, "replied": "2021-05-03", "kind": "deadline", "must": True},
}


def test_groups_become_rows_with_their_answers(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = tmp_path / "orsharc" / "dev.jsonl"
    path.parent.mkdir()
    long = {**ROW, "id": "b", "material": "x " * LONGEST}
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(long) + "\n")
    ((material, world),) = load([path])
    rng = random.Random(0)
    made = row(RowBuilder(tokenizer, tokenizer.special(PAD), rng), tokenizer, material, world, rng)
    assert ROW["material"].split(". ")[1] in tokenizer.decode(list(made.material))
    joint, alone = made.branches
    assert len(joint.slots) == 4 and len(alone.slots) == 1
    block = tokenizer.decode(list(joint.block))
    assert all(text in block for text in (" deadline", "2021-05-03", " yes"))


@pytest.mark.parametrize("name", ["orsharc/eval.jsonl", "orsharc/val.jsonl", "sigma_events/dev.jsonl"])
def test_what_is_for_evaluation_is_not_trained_on(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not to be trained on"):
        load([tmp_path / name])


def test_a_fifth_of_the_materials_is_kept_for_choosing(tmp_path: Path) -> None:
    path = tmp_path / "orsharc" / "dev.jsonl"
    path.parent.mkdir()
    texts = [f"She replied on {day} May {year}." for day in range(1, 29) for year in range(2000, 2010)]
    path.write_text("".join(json.dumps({**ROW, "id": f"{i} {twin}", "material": t}) + "\n" for i, t in enumerate(texts) for twin in "ab"))
    trained = {material for material, _ in load([path])}
    assert trained == {text for text in texts if not held_out(text)}
    assert 0.1 < 1 - len(trained) / len(texts) < 0.3


def test_the_overlap_of_a_text_is_its_share_of_known_runs_of_words() -> None:
    known = "one two three four five six seven eight nine ten"
    assert shares([known.upper(), "Four, five six seven eight nine ten; eleven!", "too short", "a b c d e f g h"], [known]) == [1, 0, 0, 0]
    assert shares(["Too short.", "too long"], ["too short"]) == [1, 0]
    assert shares([f"{known} eleven twelve"], [known]) == [3 / 5]


def test_batches_with_public_groups_have_every_family_in_turn_and_every_set_alike(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[Path] = []
    for name, count in (("orsharc", 40), ("contractnli", 2)):
        path = tmp_path / name / "dev.jsonl"
        path.parent.mkdir()
        texts = (f"{name}: she replied on {day} May {year}." for year in range(2000, 2010) for day in range(1, 29))
        kept = [text for text in texts if not held_out(text)][:count]
        path.write_text("".join(json.dumps({**ROW, "id": text, "material": text}) + "\n" for text in kept))
        paths.append(path)
    groups = load(paths)
    assert len(groups) == 42
    drawn: list[str] = []
    own: list[str] = []
    made, cases = public.row, stream.cases
    monkeypatch.setattr(public, "row", lambda b, t, m, world, rng: drawn.append(world.family) or made(b, t, m, world, rng))
    monkeypatch.setattr(stream, "cases", lambda family, *rest: own.append(family) or cases(family, *rest))
    ids = tokenizer.special(MASK), tokenizer.special(PAD)
    found = list(islice(stream.batches(tokenizer, 5, *ids, groups=groups), 12))
    assert len(drawn) == 12 * stream.PUBLIC_ROWS and len(own) == 12 * len(stream.ROWS) // 2
    assert 0.25 < drawn.count("contractnli") / len(drawn) < 0.75, "a set of two as often as one of forty"
    assert {family for families, _ in stream.ROWS for family in families} == set(own)
    (again,) = islice(stream.batches(tokenizer, 5, *ids, 7, groups), 1)
    assert torch.equal(again.ids, found[7].ids) and torch.equal(again.targets, found[7].targets), "batch 7 of a resumed run"
