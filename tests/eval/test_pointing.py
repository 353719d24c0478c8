"""Precision and recall of evidence: sums over sentences, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer.testing

from clover_decide import InputError
from clover_decide.decision import Evidence
from clover_eval.cli import app
from clover_eval.datasets import LabelledGroup, read_groups
from clover_eval.pointing import point_all, score
from clover_eval.sets import load_set
from tests.eval.makers import group

TEXT = "One is here. Two is there. Three is nowhere. Four is gone."
SENTENCES = [(0, 12), (13, 26), (27, 44), (45, 58)]


class Points:
    """A decider that points to given sentences."""

    def __init__(self, *listed: int, shift: int = 0) -> None:
        self.listed, self.shift = listed, shift

    def decide(self, material: str, questions: Any, **_: Any) -> Any:
        spans = [SENTENCES[i] for i in self.listed]
        shown = tuple(Evidence(a, b, material[a + self.shift : b + self.shift], 0.9) for a, b in spans)
        return _Decision({key: SimpleNamespace(evidence=shown) for key in questions.questions})


class _Decision(dict[str, Any]):
    @property
    def answers(self) -> dict[str, Any]:
        return self


def labelled(name: str, *gold: int) -> LabelledGroup:
    made = group(name)
    key = next(iter(made.answers))
    return replace(made, material=TEXT, evidence={key: tuple(SENTENCES[i] for i in gold)})


def test_counts_are_of_sentences_and_only_of_questions_with_evidence() -> None:
    groups = [labelled("a", 0, 1), labelled("b", 2), group("c")]
    found = list(point_all(Points(1, 2), groups, "joint"))  # pyright: ignore[reportArgumentType]
    assert [(p.listed, p.gold, p.both) for p in found] == [(2, 2, 1), (2, 1, 1)]
    told = score(found)
    assert (told.precision.value, told.recall.value) == (0.5, pytest.approx(2 / 3))
    assert told.offsets and told.groups == told.questions == 2


def test_a_quote_that_stands_elsewhere_is_noticed() -> None:
    found = list(point_all(Points(0, shift=1), [labelled("a", 0)], "joint"))  # pyright: ignore[reportArgumentType]
    assert not score(found).offsets


def test_the_shipped_sets_name_whole_clauses() -> None:
    groups = load_set("linked-val").groups
    known = [g for g in groups if g.slice.startswith("known")]
    assert known and all(set(g.evidence) == set(g.answers) for g in known)
    assert not any(g.evidence for g in groups if g.slice.startswith("new"))
    assert all(g.material[b - 1] in ".!?" and g.material[a].strip() for g in known for spans in g.evidence.values() for a, b in spans)


@pytest.mark.parametrize("evidence", [{"x": [[0, 1]]}, {"paid": [[1, 1]]}, {"paid": [[0, 999]]}, {"paid": [3]}, [1], "no"])
def test_bad_evidence_is_refused(tmp_path: Path, evidence: Any) -> None:
    row = {"id": "1", "material": "It was paid.", "questions": {"paid": {"type": "boolean", "text": "Paid?"}}, "answers": {"paid": True}}
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps({**row, "evidence": evidence}))
    with pytest.raises(InputError, match="evidence"):
        read_groups(path)
    path.write_text(json.dumps({**row, "evidence": {"paid": [[0, 12]]}}))
    assert read_groups(path)[0].evidence == {"paid": ((0, 12),)}


def test_the_command(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "material": "It was paid. Tea.",
        "questions": {"paid": {"type": "boolean", "text": "Paid?"}},
        "answers": {"paid": True},
    }
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps({**row, "evidence": {"paid": [[0, 12]]}}))
    done = typer.testing.CliRunner().invoke(app, ["evidence", str(path)], catch_exceptions=False)
    assert done.exit_code == 0 and "precision" in done.stdout and "1 groups, 1 questions" in done.stdout
    assert "all quotes stand where they should" in done.stdout
    path.write_text(json.dumps(row))
    with pytest.raises(InputError, match="no group has evidence"):
        typer.testing.CliRunner().invoke(app, ["evidence", str(path)], catch_exceptions=False)
