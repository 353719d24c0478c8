"""From what was read to the decision that the caller gets: calibrated, in the caller's order, with what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clover_decide.abstain import withheld
from clover_decide.calibration import Calibration
from clover_decide.decision import Alternative, Answer, Decision, Mode, Timing
from clover_decide.frozen import FrozenMap
from clover_decide.options import Options
from clover_decide.ordering import as_asked
from clover_decide.question_set import QuestionSet

if TYPE_CHECKING:
    from clover_decide.answering import Reading
    from clover_decide.planning import Plan

ALTERNATIVES = 5
"""Runners-up told of a search."""


@dataclass(frozen=True)
class Answerer:
    """Who answers: a model's name, the fingerprint of its weights, the number type they are computed in, the caller's calibration or
    those that ship with the model."""

    model: str
    fingerprint: str
    dtype: str
    calibration: Calibration | None
    shipped: Sequence[Calibration]

    def fitted(self, mode: Mode) -> Calibration | None:
        """The caller's calibration or the shipped one, if it is of the mode."""
        return next((fitted for fitted in (self.calibration, *self.shipped) if fitted is not None and fitted.mode == mode), None)

    def answers(self, questions: QuestionSet, reading: Reading, mode: Mode) -> dict[str, Answer]:
        """The answers of a reading as they were asked for, calibrated."""
        items, fitted = questions.questions.items(), self.fitted(mode)
        answers = {key: as_asked(question, reading.answers[key]) for key, question in items}
        return answers if fitted is None else {key: fitted.answer(question, answers[key]) for key, question in items}


def assembled(
    who: Answerer, plan: Plan, questions: QuestionSet, options: Options, reading: Reading, solo: Reading | None, timing: Timing
) -> Decision:
    """The decision. questions: as they were asked (the plan may order them otherwise). solo: the questions read alone, to compare."""
    from clover_decide.reading import alone

    fitted = who.fitted(options.mode)
    answers = who.answers(questions, reading, options.mode)
    if solo is not None:
        others = who.answers(questions, solo, "independent")
        answers = {key: replace(answer, independent=alone(others[key])) for key, answer in answers.items()}
    together = fitted.together if fitted is not None else float
    rules, joint = options.rules, options.mode == "joint"
    # Of a single question the two are one event.
    whole = together(reading.probability) if len(answers) > 1 else next(iter(answers.values())).probability
    ranked = reading.ranked[1 : ALTERNATIVES + 1]
    return Decision(
        answers=FrozenMap(withheld(answers, options.abstain, reading.dependence)),
        probability=whole,
        mode=options.mode,
        effort=options.effort,
        model=who.model,
        fingerprint=who.fingerprint,
        dtype=who.dtype,
        facts=plan.facts,
        groups=tuple(tuple(key for key in questions.questions if key in block.keys) for block in plan.blocks),
        usage=reading.usage,
        timing=timing,
        trace=reading.trace,
        rules_probability=reading.rules_probability if rules and joint else None,
        violations=rules.violations({key: answers[key].value for key in rules.whole}),
        calibrated=fitted is not None,
        exact=reading.exact,
        optimal=reading.optimal,
        alternatives=tuple(Alternative(FrozenMap(questions.plain_all(r.values)), together(r.probability)) for r in ranked),
        dependence=reading.dependence,
        material_text=plan.material.text,
        questions=questions,
    )
