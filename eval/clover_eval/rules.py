"""Rules between the answers of a group, and which of them a set of answers breaks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from clover_decide.question_set import QuestionSet
from clover_decide.questions import Choice
from clover_decide.rules import RuleSet, read_rules


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


def asked(rules: Sequence[AnswerRule], questions: QuestionSet) -> RuleSet:
    """The rules in the form in which a decision takes them.

    A set may state its rules over all names that exist, some of which a question does not offer; no answer can be one of those, so such a
    value becomes the schema that nothing satisfies.
    """
    offered = {key: {o.value for o in q.options} for key, q in questions.questions.items() if isinstance(q, Choice)}

    def possible(schema: Any, key: str | None = None) -> Any:
        if isinstance(schema, list):
            return [possible(item) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        if key in offered and "const" in schema and schema["const"] not in offered[key]:
            return False
        if key in offered and "enum" in schema:
            schema = {**schema, "enum": [value for value in schema["enum"] if value in offered[key]]}
        properties = {name: possible(value, name) for name, value in schema.get("properties", {}).items()}
        rest = {name: value if name in ("const", "enum", "required") else possible(value) for name, value in schema.items()}
        return {**rest, **({"properties": properties} if properties else {})}

    return read_rules([{"text": rule.text, "schema": possible(rule.schema)} for rule in rules], questions)


@lru_cache(maxsize=10_000)
def _compiled(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
