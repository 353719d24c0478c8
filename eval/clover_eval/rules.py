"""Rules between the answers of a group, and which of them a set of answers breaks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class AnswerRule:
    """A rule between answers: a sentence, and the JSON Schema over the answers object that says the same."""

    text: str
    schema: Mapping[str, Any]


def violated(rules: Sequence[AnswerRule], answers: Mapping[str, Any]) -> list[AnswerRule]:
    """The rules that the answers break. A rule about a question without an answer is broken."""
    return [rule for rule in rules if not holds(rule, answers)]


def holds(rule: AnswerRule, answers: Mapping[str, Any]) -> bool:
    """Whether a rule holds."""
    return answers.keys() >= about(rule) and _compiled(json.dumps(rule.schema, sort_keys=True)).is_valid(dict(answers))


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


@lru_cache(maxsize=10_000)
def _compiled(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
