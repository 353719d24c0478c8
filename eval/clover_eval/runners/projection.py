"""Independent answers projected onto the rules: the likeliest assignment that breaks none, if answers were independent.

The cheap baseline that joint answering has to beat. Exact: assignments are visited in order of falling product of their
probabilities, and the first that keeps all rules is the projection.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Choice, MultiChoice, Score
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given
from clover_eval.rules import about, violated

BUDGET = 200_000
"""Assignments visited at most; beyond it the answers stay as they are."""

Candidates = Sequence[tuple[Any, float]]


def project(group: LabelledGroup, answers: Mapping[str, Given]) -> tuple[dict[str, Given], bool]:
    """The answers of the likeliest assignment that keeps the group's rules, and whether one was found.

    Only questions that a rule speaks of are changed. A type without a distribution (number, date, text) has its own value
    as candidate and, with what probability is left shared among them, the legal constants and bounds that rules name for it. Of a
    multiple choice each option is weighed apart.
    """
    touched = [key for key in answers if any(key in about(rule) for rule in group.rules)]
    fixed = {key: given.value for key, given in answers.items()}
    if not touched or not violated(group.rules, fixed):
        return dict(answers), True
    options = [candidates(group, key, answers[key]) for key in touched]
    for values in itertools.islice(best_first(options), BUDGET):
        chosen = dict(zip(touched, values, strict=True))
        if not violated(group.rules, {**fixed, **{key: value for key, (value, _) in chosen.items()}}):
            kept = {key: Given(value, probability, answers[key].probabilities) for key, (value, probability) in chosen.items()}
            return {**answers, **kept}, True
    return dict(answers), False


def best_first(options: Sequence[Candidates]) -> Iterator[tuple[tuple[Any, float], ...]]:
    """All combinations of one candidate each, by falling product of probabilities."""
    ordered = [sorted(candidates, key=lambda c: -c[1]) for candidates in options]

    def cost(picks: tuple[int, ...]) -> float:
        return -sum(math.log(max(ordered[i][pick][1], 1e-300)) for i, pick in enumerate(picks))

    start: tuple[int, ...] = (0,) * len(ordered)
    queue: list[tuple[float, tuple[int, ...]]] = [(cost(start), start)]
    seen: set[tuple[int, ...]] = {start}
    while queue:
        _, picks = heapq.heappop(queue)
        yield tuple(ordered[i][pick] for i, pick in enumerate(picks))
        for i in range(len(picks)):
            step = (*picks[:i], picks[i] + 1, *picks[i + 1 :])
            if step[i] < len(ordered[i]) and step not in seen:
                seen.add(step)
                heapq.heappush(queue, (cost(step), step))


def candidates(group: LabelledGroup, key: str, given: Given) -> list[tuple[Any, float]]:
    """Values that a question may take, each with its probability when asked alone."""
    question = group.questions.questions[key]
    listed = given.probabilities or {}
    if isinstance(question, (Boolean, Choice, Score)) and listed:
        return [(_value(question, name), p) for name, p in listed.items()]
    probability = given.probability if given.probability is not None else 0.5
    if isinstance(question, MultiChoice):
        return _subsets(question, given.value or [], probability, listed)
    named = [value for value in _named(group, key) if value != given.value and _legal(question, value)]
    rest = max(1.0 - probability, 1e-9) / max(len(named), 1)
    return [(given.value, probability), *((value, rest) for value in named)]


def _value(question: AnyQuestion, name: str) -> Any:
    if isinstance(question, Boolean):
        return name == "true"
    return int(name) if isinstance(question, Score) else name


def _subsets(question: MultiChoice, chosen: Sequence[str], probability: float, listed: Mapping[str, float]) -> list[tuple[Any, float]]:
    """All legal sets of options; without a probability for each, all are as sure as the answer is on the geometric mean."""
    names = [option.value for option in question.options]
    sure = max(probability, 1e-9) ** (1.0 / len(names))
    share = {name: listed.get(name, sure if name in chosen else 1.0 - sure) for name in names}
    sizes = range(question.minimum, question.most + 1)
    sets = [list(some) for size in sizes for some in itertools.combinations(names, size)]
    return [(some, math.prod(share[n] if n in some else 1.0 - share[n] for n in names)) for some in sets]


def _legal(question: AnyQuestion, value: Any) -> bool:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(question.json_schema()).is_valid(value)


def _named(group: LabelledGroup, key: str) -> list[Any]:
    """Constants and bounds that rules name for a question."""
    found: list[Any] = []

    def walk(schema: Any) -> None:
        if isinstance(schema, dict):
            about_key = schema.get("properties", {}).get(key)
            if isinstance(about_key, dict):
                found.extend(_constants(about_key))
            for value in schema.values():
                walk(value)

    for rule in group.rules:
        walk(rule.schema)
    unique: list[Any] = []
    for value in found:
        if value not in unique:
            unique.append(value)
    return unique


def _constants(schema: Mapping[str, Any]) -> list[Any]:
    out = [schema["const"]] if "const" in schema else []
    out += list(schema.get("enum", ()))
    out += [schema[name] for name in ("minimum", "maximum") if name in schema]
    out += [schema["exclusiveMinimum"] + 1] if "exclusiveMinimum" in schema else []
    return out + ([schema["exclusiveMaximum"] - 1] if "exclusiveMaximum" in schema else [])
