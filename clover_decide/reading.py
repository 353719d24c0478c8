"""From engine reads to answers: distributions by option, confidence, labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from clover_decide.confidence import confidence
from clover_decide.decision import Answer, Distribution, Value
from clover_decide.frozen import FrozenMap
from clover_decide.material import Material
from clover_decide.prompt import Codes
from clover_decide.questions import AnyQuestion, Boolean, Choice, MultiChoice, Score
from clover_decide.slots import value_of
from clover_engine.tokenizer import Tokenizer
from clover_engine.tree import SlotRead

if TYPE_CHECKING:
    from clover_decide.planning import Block, Plan
    from clover_engine.joint import JointRead

LISTED = 8
"""Values listed of a question without options."""


def read_answer(question: AnyQuestion, codes: Codes | None, slot: SlotRead, material: Material, tokenizer: Tokenizer) -> Answer:
    """One slot as an answer."""
    value, span = value_of(question, codes, slot.tokens, material, tokenizer)
    probability = math.exp(slot.log_probability)
    probabilities = _probabilities(question, codes, slot, value, probability, tokenizer)
    label = question.levels[int(str(value))].value if isinstance(question, Score) else None
    return Answer(
        type=question.type,
        value=value,
        probability=probability,
        probabilities=FrozenMap(probabilities),
        confidence=confidence(question, probabilities, probability),
        coverage=slot.coverage,
        label=label,
        span=span,
    )


def joint_answers(plan: Plan, block: Block, found: JointRead, answers: Mapping[str, Answer], tokenizer: Tokenizer) -> dict[str, Answer]:
    """Answers whose probabilities are marginals of the joint distribution, as far as a search has read it.

    What it has not read is shared out as the way to the best assignment had it; so none is less probable than all together.
    """
    allowed = found.kept + found.unread
    out: dict[str, Answer] = {}
    for slot, key in enumerate(block.keys):
        weights: dict[Value, float] = {}
        for assignment in found.assignments:
            value, _ = value_of(plan.questions.questions[key], plan.codes[key], assignment.tokens[slot], plan.material, tokenizer)
            weights[value] = weights.get(value, 0.0) + math.exp(assignment.log_probability) / allowed
        out[key] = _with_marginals(plan.questions.questions[key], answers[key], weights, found.unread / allowed)
    return out


def _with_marginals(question: AnyQuestion, answer: Answer, weights: Mapping[Value, float], unread: float) -> Answer:
    assert answer.value is not None, "withheld before it was read"
    match question:
        case Boolean():
            found = {"true": weights.get(True, 0.0), "false": weights.get(False, 0.0)}
        case Choice():
            found = {o.value: weights.get(o.value, 0.0) for o in question.options}
        case Score():
            found = {str(i): weights.get(i, 0.0) for i in range(len(question.levels))}
        case MultiChoice():
            found = {
                o.value: sum(p for value, p in weights.items() if isinstance(value, tuple) and o.value in value) for o in question.options
            }
        case _:
            ranked = sorted(weights.items(), key=lambda item: (-item[1], str(item[0])))
            found = {str(value): p for value, p in ranked[:LISTED]}
    probabilities = {name: min(1.0, p + unread * answer.probabilities.get(name, 0.0)) for name, p in found.items()}
    probability = min(1.0, weights[answer.value] + unread * answer.probability)
    sure = confidence(question, probabilities, probability)
    return replace(answer, probability=probability, probabilities=FrozenMap(probabilities), confidence=sure)


def alone(answer: Answer) -> Distribution:
    """An independent answer as the comparison shown beside a joint one."""
    assert answer.value is not None, "withheld before it was compared"
    return Distribution(answer.value, answer.probability, answer.probabilities, answer.label)


def _probabilities(
    question: AnyQuestion, codes: Codes | None, slot: SlotRead, value: Value, probability: float, tokenizer: Tokenizer
) -> dict[str, float]:
    first = slot.choices[0]
    yes, no = tokenizer.encode_cached(" yes")[0], tokenizer.encode_cached(" no")[0]
    match question:
        case Boolean():
            return {"true": first.get(yes, 0.0), "false": first.get(no, 0.0)}
        case Choice():
            assert codes is not None
            return {o.value: first.get(token, 0.0) for o, token in zip(question.options, codes.ids, strict=True)}
        case Score():
            assert codes is not None
            return {str(i): first.get(token, 0.0) for i, token in enumerate(codes.ids)}
        case MultiChoice():
            return {o.value: slot.choices[2 * i].get(yes, 0.0) for i, o in enumerate(question.options)}
        case _:
            return {str(value): probability}
