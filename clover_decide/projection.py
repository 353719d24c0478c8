"""Independent answers moved onto the rules: the likeliest assignment that keeps them, if answers were independent.

The cheap way to consistent answers, and the baseline that joint answering has to beat. Best-first over the product of the answers'
own distributions; partial assignments that no completion can save are dropped as soon as that is seen.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clover_decide.decision import Answer, Value
from clover_decide.errors import RuleError
from clover_decide.questions import AnyQuestion, Boolean, Choice, Quote, Score
from clover_decide.rules.domains import merged, value_in
from clover_decide.rules.rule_set import RuleSet
from clover_decide.rules.solve import feasible, project, witness

BUDGET = 2_000
"""Partial assignments looked at."""

UNLIKELY = 1e-9
"""Probability told of a value that nothing speaks for."""

Likely = Mapping[str, Mapping[Any, float]]


def projected(rules: RuleSet, answers: Mapping[str, Answer], likely: Likely, material: str = "") -> dict[str, Answer]:
    """The answers of the likeliest assignment that keeps the rules; questions that no rule speaks of keep theirs.

    Besides an answer's own distribution (`likely` for questions without options) the ends of what the rules leave it are weighed, with
    what probability is left over, so that values the model did not think of can be reached.

    Raises:
        RuleError: none was found.
    """
    if not rules.violations({key: answers[key].value for key in rules.whole}):
        return dict(answers)
    chosen = _best(rules, answers, likely)
    return {key: _moved(rules.questions[key], answers[key], *chosen[key], material) if key in chosen else answers[key] for key in answers}


def _moved(question: AnyQuestion, answer: Answer, value: Value, probability: float, material: str) -> Answer:
    """The answer with another value."""
    if value == answer.value:
        return answer
    listed = answer.probabilities if question.type in ("boolean", "choice", "score", "multi_choice") else {str(value): probability}
    at = material.find(value) if isinstance(question, Quote) and isinstance(value, str) else -1
    span = (at, at + len(str(value))) if at >= 0 else None
    sure = min(answer.confidence, probability)
    label = question.levels[value].value if isinstance(question, Score) and isinstance(value, int) else None
    return replace(answer, value=value, probability=probability, probabilities=listed, label=label, span=span, confidence=sure)


def _best(rules: RuleSet, answers: Mapping[str, Answer], likely: Likely) -> dict[str, tuple[Value, float]]:
    keys = list(rules.whole)
    serial = itertools.count()
    queue: list[tuple[float, int, dict[str, tuple[Value, float]]]] = [(0.0, next(serial), {})]
    for _ in range(BUDGET):
        if not queue:
            break
        cost, _, partial = heapq.heappop(queue)
        if len(partial) == len(keys):
            return partial
        key = keys[len(partial)]
        state = rules.state({k: value for k, (value, _) in partial.items()})
        for value, p in _candidates(rules, key, answers[key], likely.get(key, {}), state):
            grown = {**partial, key: (value, p)}
            if feasible(rules.formulas, rules.state({k: v for k, (v, _) in grown.items()})) is not False:
                heapq.heappush(queue, (cost - math.log(max(p, 1e-300)), next(serial), grown))
    # None of the likely values will do: take any that the rules leave.
    found = witness(rules.formulas, rules.whole)
    values = {key: value_in(question, found[key]) for key, question in rules.questions.items()} if found else {}
    if not values or None in values.values():
        raise RuleError("no independent answers that keep the rules were found", path="rules", accepted="mode='joint', or wider rules")
    return {key: (value, UNLIKELY) for key, value in values.items() if value is not None}


def _candidates(rules: RuleSet, key: str, answer: Answer, likely: Mapping[Any, float], state: Any) -> list[tuple[Value, float]]:
    question = rules.questions[key]
    own = _own(question, answer, likely)
    parts = project(rules.about(key), state, key)
    ends = [value_in(question, part, high) for part in (merged(parts) or parts) for high in (False, True)]
    new = [value for value in dict.fromkeys(ends) if value is not None and value not in own]
    rest = max(1.0 - sum(own.values()), UNLIKELY) / max(len(new), 1)
    return [*own.items(), *((value, rest) for value in new)]


def _own(question: AnyQuestion, answer: Answer, likely: Mapping[Any, float]) -> dict[Value, float]:
    """The distribution of an independent answer."""
    match question:
        case Boolean():
            return {True: answer.probabilities["true"], False: answer.probabilities["false"]}
        case Choice():
            return {**answer.probabilities}
        case Score():
            return {int(level): p for level, p in answer.probabilities.items()}
        case _:
            others = {value: p for value, p in likely.items() if value != answer.value}
            # The answer's own probability was read with more in view than that of the others.
            scale = (1.0 - answer.probability) / max(sum(others.values()), 1e-9)
            assert answer.value is not None, "withheld before it was projected"
            return {answer.value: answer.probability, **{value: p * min(scale, 1.0) for value, p in others.items()}}
