"""The order in which questions and options are put to the model: one order for the same set, however it was given.

Asked in the order of their texts, the same questions with the same options get the same answers in whatever order they come.
Other permutations ask in other orders, so that several can be averaged.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clover_decide.decision import Answer
from clover_decide.frozen import FrozenMap
from clover_decide.questions import AnyQuestion, Choice, MultiChoice


def ordered_options(question: AnyQuestion, permutation: int = 0) -> AnyQuestion:
    """The question with its options by name, or for another permutation than 0 shuffled from there.

    The levels of a score stay in their order, which is their meaning.
    """
    if not isinstance(question, (Choice, MultiChoice)):
        return question
    options = sorted(question.options, key=lambda option: (option.value, option.description or ""))
    if permutation:
        # The same options stand in the same order in every question, so that later ones may point to them.
        random.Random(f"{permutation} {[option.value for option in options]}").shuffle(options)
    return question.model_copy(update={"options": tuple(options)})


def ordered_keys(keys: Sequence[str], questions: Mapping[str, AnyQuestion], permutation: int = 0) -> tuple[str, ...]:
    """The ids of one block by the texts of their questions, or shuffled from there. Ids never decide, so renaming changes nothing."""
    by_text = sorted(
        keys, key=lambda key: (questions[key].text, questions[key].type, repr(questions[key].model_dump(exclude={"depends_on"})))
    )
    if permutation:
        random.Random(permutation).shuffle(by_text)
    return tuple(by_text)


def as_asked(question: AnyQuestion, answer: Answer) -> Answer:
    """An answer with its options in the order in which the caller gave them."""
    if not isinstance(question, (Choice, MultiChoice)):
        return answer
    names = [option.value for option in question.options]
    probabilities = FrozenMap({name: answer.probabilities[name] for name in names})
    value = tuple(name for name in names if name in answer.value) if isinstance(answer.value, tuple) else answer.value
    return replace(answer, value=value, probabilities=probabilities)
