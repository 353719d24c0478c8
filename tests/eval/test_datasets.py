"""Reading labelled groups: what is refused, and how it is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from clover_decide.errors import CloverError, FormatError, InputError
from clover_eval.datasets import read_groups, subset
from clover_eval.public import load_public
from clover_eval.runners.registry import make_other
from clover_eval.sets import SETS, load_set

GOOD: dict[str, Any] = {
    "id": "one",
    "material": "It rained.",
    "questions": {"wet": {"type": "boolean", "text": "Was it wet?"}},
    "answers": {"wet": True},
}
PUBLIC: dict[str, Any] = {
    "id": "one",
    "material": "A score of 7.1 at 09:30.",
    "questions": [
        {"id": "cvss", "type": "score", "text": "The score?"},
        {"id": "at", "type": "time", "text": "When?"},
        {"id": "n", "type": "number", "text": "How much?"},
    ],
    "answers": {"cvss": 7.1, "at": "09:30", "n": 1000},
    "rules": [{"text": "for people", "check": "a['n'] > 3"}],
}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "groups.jsonl"
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


def test_a_plain_and_a_gzipped_file_read_alike(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, {**GOOD, "id": "two", "family": "weather"})
    packed = tmp_path / "groups.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain = read_groups(path)
    assert [g.id for g in plain] == ["one", "two"] and plain[1].domain == "weather"
    assert plain == read_groups(packed)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "one JSON object a line"),
        ("[1]", "is no object"),
        ({k: v for k, v in GOOD.items() if k != "answers"}, "lacks answers"),
        ({**GOOD, "answers": {}}, "different ids"),
        ({**GOOD, "answers": {"wet": True, "dry": False}}, "different ids"),
        ({**GOOD, "answers": {"wet": "yes"}}, "no value of a boolean"),
        ({**GOOD, "answers": {"wet": None}}, "no value of a boolean"),
        ({**GOOD, "material": ""}, "is no text"),
        ({**GOOD, "questions": {"wet": {"type": "yesno", "text": "?"}}}, "unknown question type"),
        ({**GOOD, "rules": [{"text": "half"}]}, "a rule has another form"),
        ({**GOOD, "rules": [{"text": "odd", "schema": {"properties": 3}}]}, "a rule has another form"),
        ({**GOOD, "rules": [{"text": "far", "schema": {"$ref": "http://127.0.0.1:9/x"}}]}, "refers to another schema"),
        ({**GOOD, "rules": [{"text": "dry", "schema": {"properties": {"wet": {"const": False}}}}]}, "gold answers break a rule"),
        ({**GOOD, "rules": [{"text": "odd", "schema": {"properties": {"damp": {}}}}]}, "not asked"),
        ({**GOOD, "paraphrases": {"wet": ["a", "b"]}}, "paraphrases"),
        ({**GOOD, "paraphrases": {"dry": "Was it dry?"}}, "paraphrases"),
        ({**GOOD, "worlds": [{"probability": 1.0, "answers": {"wet": False}}]}, "one of them the gold answers"),
        ({**GOOD, "worlds": [{"probability": 0.0, "answers": {"wet": True}}]}, "worlds have another form"),
        ({**GOOD, "pair": 3}, "pair"),
        ({**GOOD, "final": "dry"}, "final"),
        ({**GOOD, "questions": {"d": {"type": "date", "text": "?"}}, "answers": {"d": "tomorrow"}}, "no value of a date"),
    ],
)
def test_a_bad_row_is_refused_with_its_place(tmp_path: Path, row: Any, said: str) -> None:
    path = written(tmp_path, GOOD, row)
    with pytest.raises(InputError) as caught:
        read_groups(path)
    assert said in str(caught.value) and f"{path}:2" in str(caught.value)


def test_an_id_used_twice_and_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="used twice"):
        read_groups(written(tmp_path, GOOD, GOOD))
    with pytest.raises(FormatError, match="holds no group"):
        read_groups(written(tmp_path, ""))
    with pytest.raises(FormatError, match="no such set"):
        load_set("linked-501")


@pytest.mark.parametrize("name", list(SETS))
def test_shipped_sets_are_the_frozen_ones(name: str) -> None:
    loaded = load_set(name)
    assert loaded.sha256 == SETS[name].sha256
    assert all(group.material and group.answers for group in loaded.groups)


def test_linked_500_is_what_its_name_says() -> None:
    groups = load_set("linked-500").groups
    assert len(groups) == 500 and sum(len(g.questions.questions) for g in groups) == 2420
    assert {g.domain for g in groups} == {"contract", "alert", "dispatch", "access", "claim"}
    assert {q.type for g in groups for q in g.questions.questions.values()} >= {
        "boolean",
        "choice",
        "multi_choice",
        "score",
        "integer",
        "number",
        "date",
        "quote",
        "text",
    }
    assert all(3 <= len(g.questions.questions) <= 8 and g.rules for g in groups)


def test_a_changed_shipped_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clover_eval import sets

    (tmp_path / "linked-val.jsonl.gz").write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    monkeypatch.setattr(sets, "DATA", tmp_path)
    with pytest.raises(FormatError, match="not the frozen set"):
        load_set("linked-val")


def test_a_subset_keeps_pairs_whole_and_is_the_same_each_time() -> None:
    groups = load_set("linked-500").groups
    some = subset(groups, 50)
    assert some == subset(groups, 50) and 48 <= len(some) <= 50
    ids = {g.id for g in some}
    assert all(g.id in ids for g in groups if g.pair and g.pair in {s.pair for s in some})
    with pytest.raises(FormatError, match="at least 1"):
        subset(groups, 0)
    assert len(subset(load_set("linked-causal").groups, 1)) == 2, "a pair is the least"


def test_public_groups_with_their_tolerances(tmp_path: Path) -> None:
    folder = tmp_path / "cvss"
    folder.mkdir()
    loaded = load_public(written(folder, PUBLIC))
    (g,) = loaded.groups
    assert loaded.name == "cvss-groups"
    assert [q.type for q in g.questions.questions.values()] == ["number", "text", "number"]
    assert g.tolerance == {"cvss": 0.5, "n": 5.0}
    assert not g.rules, "program text is for people"


def test_a_baseline_is_fitted_on_a_file_in_the_format_of_the_set(tmp_path: Path) -> None:
    other = written(tmp_path, PUBLIC)
    runner = make_other("majority", fit=str(other), fmt="public")
    group = load_public(other).groups[0]
    assert set(runner.answer(group).answers) == set(group.questions.questions)
    # A shipped set keeps its own format.
    assert "linked-val" in str(make_other("majority", fit="linked-val", fmt="public").identity["fit"])
    with pytest.raises(CloverError, match="cvss"):
        make_other("majority", fit=str(other), fmt="groups")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"questions": {"a": 1}}, "no list of objects"),
        ({"questions": [{"id": "cvss", "type": "colour", "text": "?"}]}, "unknown question type"),
        ({"questions": [{"id": "cvss", "type": "boolean"}]}, "has no text"),
        ({"questions": [{"id": "cvss", "type": "choice", "text": "?", "options": ["one"]}]}, "2 to 255"),
        ({"answers": {"cvss": 7.1}}, "different ids"),
        ({"questions": [*PUBLIC["questions"], PUBLIC["questions"][0]]}, "used twice"),
        ({"answers": {"cvss": 11.0, "at": "09:30", "n": 1}}, "no value of a number"),
    ],
)
def test_bad_public_rows(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_public(written(tmp_path, {**PUBLIC, **change}))
