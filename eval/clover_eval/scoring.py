"""Whether an answer is right, and which rules a set of answers breaks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from clover_eval.datasets import AnswerRule, LabelledGroup


def is_right(group: LabelledGroup, key: str, value: Any) -> bool:
    """Whether a value counts as the gold answer."""
    return same_answer(group.questions.questions[key].type, value, group.answers[key], group.tolerance.get(key, 1e-9))


def same_answer(kind: str, value: Any, gold: Any, tolerance: float = 1e-9) -> bool:
    """Whether two values of a question type count as the same answer. Any value is accepted and compared.

    Numbers within the tolerance; multiple choices as sets; quotes without regard to case, to a leading article and to
    punctuation around them; everything else exactly.
    """
    if value is None:
        return False
    if kind == "multi_choice":
        return isinstance(value, (list, tuple)) and sorted(map(repr, value)) == sorted(map(repr, gold))
    if kind == "quote":
        return isinstance(value, str) and _bare(value) == _bare(gold)
    if kind in ("integer", "number", "score"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return gold - tolerance <= value <= gold + tolerance
    return type(value) is type(gold) and value == gold


def _bare(text: str) -> str:
    words = re.sub(r"^\W+|\W+$", "", text).casefold().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def violated(rules: tuple[AnswerRule, ...], answers: Mapping[str, Any]) -> list[AnswerRule]:
    """The rules that the answers break. A rule about a question without an answer is broken."""
    return [rule for rule in rules if not holds(rule, answers)]


def holds(rule: AnswerRule, answers: Mapping[str, Any]) -> bool:
    """Whether a rule holds."""
    return answers.keys() >= about(rule) and _validator(rule).is_valid(dict(answers))


def about(rule: AnswerRule) -> frozenset[str]:
    """The questions that a rule speaks of."""
    found: set[str] = set()

    def walk(schema: Any) -> None:
        if isinstance(schema, dict):
            found.update(schema.get("properties", ()))
            for value in schema.values():
                walk(value)
        elif isinstance(schema, list):
            for value in schema:
                walk(value)

    walk(rule.schema)
    return frozenset(found)


def _validator(rule: AnswerRule) -> Any:
    import json

    return _compiled(json.dumps(rule.schema, sort_keys=True))


@lru_cache(maxsize=10_000)
def _compiled(schema: str) -> Any:
    import json

    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
