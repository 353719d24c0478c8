"""One reading from several of the same questions in different orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from clover_decide.answering import Ranked, Reading
from clover_decide.confidence import confidence
from clover_decide.decision import Answer, Mode, Usage, Value
from clover_decide.frozen import FrozenMap
from clover_decide.questions import AnyQuestion


def averaged(readings: Sequence[Reading], questions: Mapping[str, AnyQuestion], mode: Mode) -> Reading:
    """Probabilities are the means over the readings, where a value that a reading does not list has none.

    Joint answers are the assignment of the largest mean probability (so they keep the rules that every reading keeps), independent ones
    each the value of the largest.
    """
    if len(readings) == 1:
        return readings[0]
    means = {key: _means([reading.answers[key] for reading in readings]) for key in questions}
    ranked = _assignments(readings) if mode == "joint" else ()
    chosen = ranked[0].values if ranked else {key: max(shares, key=lambda v, s=shares: s[v]) for key, shares in means.items()}
    answers = {key: _answer(questions[key], chosen[key], means[key][chosen[key]], [r.answers[key] for r in readings]) for key in questions}
    probability = ranked[0].probability if ranked else prod(answer.probability for answer in answers.values())
    usage = Usage(readings[0].usage.input_tokens, sum(r.usage.output_tokens for r in readings), sum(r.usage.passes for r in readings))
    rules = sum(reading.rules_probability for reading in readings) / len(readings)
    return Reading(answers, probability, usage, readings[0].trace, rules, False, False, ranked)


def _means(answers: Sequence[Answer]) -> dict[Value | None, float]:
    """Mean probability of each value that is some reading's answer, the first reading's first."""
    values = dict.fromkeys(answer.value for answer in answers)
    return {value: sum(_share(answer, value) for answer in answers) / len(answers) for value in values}


def _share(answer: Answer, value: Value | None) -> float:
    if answer.value == value:
        return answer.probability
    name = str(value).lower() if isinstance(value, bool) else str(value)
    return answer.probabilities.get(name, 0.0) if answer.type != "multi_choice" else 0.0


def _assignments(readings: Sequence[Reading]) -> tuple[Ranked, ...]:
    """All assignments that some reading ranks, by their mean probability. Of several blocks only the whole answers are known."""
    mean: dict[frozenset[tuple[str, Value | None]], float] = {}
    for reading in readings:
        whole = Ranked({key: answer.value for key, answer in reading.answers.items()}, reading.probability)
        for ranked in reading.ranked or (whole,):
            key = frozenset(ranked.values.items())
            mean[key] = mean.get(key, 0.0) + ranked.probability / len(readings)
    # Of equals the one met first: the reading in the order of the texts.
    return tuple(Ranked(dict(key), p) for key, p in sorted(mean.items(), key=lambda item: -item[1]))


def _answer(question: AnyQuestion, value: Value | None, probability: float, answers: Sequence[Answer]) -> Answer:
    like = next(answer for answer in answers if answer.value == value)
    names = dict.fromkeys(name for answer in answers for name in answer.probabilities)
    probabilities = {name: sum(a.probabilities.get(name, 0.0) for a in answers) / len(answers) for name in names}
    coverage = min(answer.coverage for answer in answers)
    sure = confidence(question, probabilities, probability)
    return replace(like, probability=probability, probabilities=FrozenMap(probabilities), confidence=sure, coverage=coverage)
