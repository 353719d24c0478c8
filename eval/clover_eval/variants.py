"""The same group asked in another form: shuffled options, shuffled questions, other words. Answers should not change."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from clover_decide.frozen import FrozenMap
from clover_decide.question_set import QuestionSet
from clover_decide.questions import AnyQuestion, Choice, MultiChoice
from clover_eval.datasets import LabelledGroup


def option_order(group: LabelledGroup) -> LabelledGroup:
    """The options of every choice turned by one place or more."""

    def turned(key: str, question: AnyQuestion) -> AnyQuestion:
        if not isinstance(question, (Choice, MultiChoice)):
            return question
        by = random.Random(f"{group.id}/{key}").randrange(1, len(question.options))
        return question.model_copy(update={"options": question.options[by:] + question.options[:by]})

    return _with(group, {key: turned(key, q) for key, q in group.questions.questions.items()})


def question_order(group: LabelledGroup) -> LabelledGroup:
    """The questions in another order."""
    items = list(group.questions.questions.items())
    shuffled = items[:]
    rng = random.Random(group.id)
    while len(items) > 1 and shuffled == items:
        rng.shuffle(shuffled)
    return _with(group, dict(shuffled))


def paraphrase(group: LabelledGroup) -> LabelledGroup:
    """Every question in the other words that the set gives for it."""
    asked = {
        key: q.model_copy(update={"text": group.paraphrases[key]}) if key in group.paraphrases else q
        for key, q in group.questions.questions.items()
    }
    return _with(group, asked)


def _with(group: LabelledGroup, questions: Mapping[str, AnyQuestion]) -> LabelledGroup:
    return replace(group, questions=QuestionSet(FrozenMap(dict(questions))))


def touched(variant: str, group: LabelledGroup) -> frozenset[str]:
    """The questions that a variant asks in another form: all of them in another order, some with other options or words."""
    if variant == "order":
        return frozenset(group.questions.questions) if len(group.questions.questions) > 1 else frozenset()
    form = VARIANTS[variant](group).questions.questions
    return frozenset(key for key, question in group.questions.questions.items() if form[key] != question)


VARIANTS: Mapping[str, Callable[[LabelledGroup], LabelledGroup]] = {
    "options": option_order,
    "order": question_order,
    "paraphrase": paraphrase,
}
