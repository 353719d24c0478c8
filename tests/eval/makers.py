"""Small groups, rows and runners for the tests of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clover_decide.frozen import FrozenMap
from clover_decide.question_set import QuestionSet
from clover_decide.questions import AnyQuestion, Boolean, Choice, Integer
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given, Row
from clover_eval.rules import AnswerRule
from clover_eval.runners.base import Reply, RunnerError
from clover_eval.sets import LoadedSet

QUESTIONS: dict[str, AnyQuestion] = {
    "late": Boolean("Was it late?"),
    "kind": Choice("Which kind?", options=("a", "b", "c")),
    "days": Integer("How many days?"),
}
GOLD: dict[str, Any] = {"late": True, "kind": "b", "days": 4}
LATE_MEANS_DAYS = AnswerRule(
    "late exactly if some days",
    {
        "if": {"properties": {"late": {"const": True}}, "required": ["late"]},
        "then": {"properties": {"days": {"minimum": 1}}, "required": ["days"]},
        "else": {"properties": {"days": {"const": 0}}, "required": ["days"]},
    },
)


def group(
    name: str = "g", *, questions: Mapping[str, AnyQuestion] = QUESTIONS, answers: Mapping[str, Any] = GOLD, **other: Any
) -> LabelledGroup:
    return LabelledGroup(name, f"The text of {name}.", QuestionSet(FrozenMap(dict(questions))), dict(answers), **other)


def row(g: LabelledGroup, answers: Mapping[str, Given] | None = None, **other: Any) -> Row:
    given = {key: Given(value, 0.9) for key, value in g.answers.items()} if answers is None else answers
    return Row(g.id, g.material_sha, g.questions_sha, given, **other)


def loaded(groups: Sequence[LabelledGroup]) -> LoadedSet:
    return LoadedSet("made", "0" * 64, tuple(groups))


class Oracle:
    """Answers with gold, and fails where it is told to."""

    def __init__(
        self, name: str = "oracle", fails: Sequence[str] = (), broken: Sequence[str] = (), identity: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.identity = name, identity or {"model": "gold"}
        self.fails, self.broken, self.asked = set(fails), set(broken), list[str]()

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        self.prepared = len(groups)

    def answer(self, group: LabelledGroup) -> Reply:
        self.asked.append(group.id)
        if group.id in self.fails:
            raise RunnerError("no answer", path="made", accepted="luck")
        if group.id in self.broken:
            raise ZeroDivisionError("not expected")
        return Reply({key: Given(value, 0.8) for key, value in group.answers.items()}, 0.5)
