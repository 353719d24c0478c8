"""A Decider asked in different ways: modes, efforts, orders, and the controls that tell what a gain comes from."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import clover_decide
from clover_decide import Decider, Decision
from clover_decide.decider import DEFAULT_MODEL
from clover_decide.decision import Effort, Mode
from clover_decide.files import short_hash
from clover_decide.question_base import MAX_GROUP
from clover_decide.question_set import QuestionSet
from clover_decide.questions import AnyQuestion
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given
from clover_eval.rules import asked
from clover_eval.runners.base import Reply, RunnerError


@dataclass(frozen=True)
class Arm:
    """One way of asking: what it does, for people, and how."""

    says: str
    ask: Callable[[LocalRunner, LabelledGroup], Reply]
    mode: Mode = "joint"
    effort: Effort = "standard"


class LocalRunner:
    """One arm of a loaded model."""

    def __init__(self, decider: Decider, arm: str, facts: str = "auto") -> None:
        self._decider, self._arm, self._facts = decider, arm, facts
        self._groups: list[LabelledGroup] = []
        # Told apart by name wherever it is not the shipped model in bfloat16, which the published figures are of.
        own = decider.calibration
        special = {
            decider.model: decider.model != DEFAULT_MODEL,
            decider.dtype: decider.dtype != "bfloat16",
            "no facts": facts == "off",
            "uncalibrated": own is None and not decider.shipped,
            f"calibrated to {own.groups} groups{', offsets' if own.offsets else ''}" if own else "": own is not None,
        }
        others = [told for told, wanted in special.items() if wanted]
        self.name = f"{arm} ({', '.join(others)})" if others else arm
        self.identity: Mapping[str, Any] = {
            "model": decider.fingerprint,
            "clover_decide": clover_decide.__version__,
            "dtype": decider.dtype,
            "prompt": prompt_sha(),
            "arm": arm,
            "facts": facts,
            "calibration": short_hash(json.dumps([c.as_dict() for c in (own, *decider.shipped) if c], sort_keys=True)),
        }

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        self._groups = list(groups)

    def answer(self, group: LabelledGroup) -> Reply:
        return ARMS[self._arm].ask(self, group)

    def decide(self, material: str, questions: QuestionSet | Mapping[str, AnyQuestion], **options: Any) -> Decision:
        return self._decider.decide(material, questions, facts=self._facts, **options)

    def partner(self, group: LabelledGroup) -> LabelledGroup:
        """Another group, the same one each time, of another material and as far away in the set as possible.

        Raises:
            RunnerError: the set has no other material.
        """
        at = next(i for i, g in enumerate(self._groups) if g.id == group.id)
        turned = [self._groups[(at + len(self._groups) // 2 + i) % len(self._groups)] for i in range(len(self._groups))]
        others = [g for g in turned if g.cluster != group.cluster]
        if not others:
            raise RunnerError("the set has no other group to borrow from", path=group.id, accepted="a set of two or more materials")
        return next((g for g in others if len(g.questions.questions) + 1 >= len(group.questions.questions)), others[0])


WORDING = ("facts", "material", "prompt", "planning", "slots", "grouping", "reading", "answering", "ruling", "projection")


def prompt_sha() -> str:
    """A hash of the code that makes the prompt and reads the answers."""
    source = "".join(inspect.getsource(importlib.import_module(f"clover_decide.{name}")) for name in WORDING)
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def given(decision: Decision) -> dict[str, Given]:
    """The answers of a decision, values as JSON has them."""
    values = decision.values()
    return {key: Given(values[key], a.probability, dict(a.probabilities)) for key, a in decision.answers.items()}


def _plain(**options: Any) -> Callable[[LocalRunner, LabelledGroup], Reply]:
    def ask(runner: LocalRunner, group: LabelledGroup) -> Reply:
        decision = runner.decide(group.material, group.questions.questions, **options)
        return Reply(given(decision), decision.probability)

    return ask


def _ruled(**options: Any) -> Callable[[LocalRunner, LabelledGroup], Reply]:
    """With the group's rules given; without rules the same as without."""

    def ask(runner: LocalRunner, group: LabelledGroup) -> Reply:
        rules = asked(group.rules, group.questions)
        decision = runner.decide(group.material, group.questions, rules=rules, **options)
        # The product of marginals is not the probability given that the rules hold, so a projection states none.
        return Reply(given(decision), None if options.get("project") else decision.probability)

    return ask


def _sequential(backwards: bool) -> Callable[[LocalRunner, LabelledGroup], Reply]:
    def ask(runner: LocalRunner, group: LabelledGroup) -> Reply:
        keys = list(group.questions.questions)
        blocks = [[key] for key in (reversed(keys) if backwards else keys)]
        decision = runner.decide(group.material, group.questions.questions, groups=blocks)
        return Reply(given(decision), decision.probability)

    return ask


def _shown(runner: LocalRunner, group: LabelledGroup) -> Reply:
    """Each question alone, with the text of the others told as asked elsewhere."""
    questions = group.questions.questions
    told = {
        key: question.model_copy(update={"text": f"{question.text} (Also asked, elsewhere: {_others(questions, key)})"})
        for key, question in questions.items()
    }
    decision = runner.decide(group.material, told if len(told) > 1 else questions, mode="independent")
    return Reply(given(decision), decision.probability)


def _others(questions: Mapping[str, AnyQuestion], key: str) -> str:
    return " ".join(question.text for other, question in questions.items() if other != key)


def _company(runner: LocalRunner, group: LabelledGroup) -> Reply:
    """Each question in one block with as many questions of another group as it has siblings."""
    questions = group.questions.questions
    strangers = list(runner.partner(group).questions.questions.values())[: min(len(questions), MAX_GROUP) - 1]
    answers: dict[str, Given] = {}
    for place, (key, question) in enumerate(questions.items()):
        block: dict[str, AnyQuestion] = {f"other {i}": other for i, other in enumerate(strangers)}
        items = list(block.items())
        # The question stands where it stands among its own siblings.
        items.insert(min(place, len(items)), (key, question))
        answers[key] = given(runner.decide(group.material, dict(items)))[key]
    return Reply(answers, math.prod(a.probability or 0.0 for a in answers.values()))


def _astray(runner: LocalRunner, group: LabelledGroup) -> Reply:
    """Jointly, over the material of another group: what is right here was guessed from the questions alone."""
    questions = dict(group.questions.questions.items())
    decision = runner.decide(runner.partner(group).material, questions)
    return Reply(given(decision), decision.probability)


ARMS: Mapping[str, Arm] = {
    "independent": Arm("each question alone", _plain(mode="independent"), "independent"),
    "joint": Arm("all questions in one block, denoised", _plain(mode="joint", effort="standard")),
    "joint-fast": Arm("all questions in one block, read in one pass", _plain(mode="joint", effort="fast"), effort="fast"),
    "joint-auto": Arm(
        "all questions in one block, searched until no better answers can exist", _plain(mode="joint", effort="auto"), effort="auto"
    ),
    "joint-thorough": Arm(
        "all questions in one block, the joint distribution read", _plain(mode="joint", effort="thorough"), effort="thorough"
    ),
    "projection": Arm("each question alone, then projected onto the rules", _ruled(mode="independent", project=True), "independent"),
    "joint-rules": Arm("joint with the rules given", _ruled(mode="joint", effort="standard")),
    "joint-fast-rules": Arm("joint-fast with the rules given", _ruled(mode="joint", effort="fast"), effort="fast"),
    "joint-auto-rules": Arm("joint-auto with the rules given", _ruled(mode="joint", effort="auto"), effort="auto"),
    "joint-thorough-rules": Arm("joint-thorough with the rules given", _ruled(mode="joint", effort="thorough"), effort="thorough"),
    "sequential": Arm("each question a block of its own that sees the earlier answers", _sequential(False)),
    "sequential-reversed": Arm("the same in reversed order", _sequential(True)),
    "independent-shown": Arm("control: each question alone, the text of the others told", _shown, "independent"),
    "joint-company": Arm("control: each question in one block with questions of another group", _company),
    "joint-astray": Arm("control: jointly, over the material of another group", _astray),
}
