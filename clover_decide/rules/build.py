"""Rules that are asked for most, as JSON Schemas.

A condition is a mapping from question ids to a value (`{"timely": False}`) or to a schema of the answer
(`{"days": {"minimum": 7}}`); all of it has to hold.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from itertools import combinations, pairwise
from math import comb
from typing import Any

from clover_decide.errors import RuleError

Condition = Mapping[str, Any]

MOST = 300
"""Combinations that `at_most` spells out."""


def implies(condition: Condition, consequence: Condition) -> dict[str, Any]:
    """Where the condition holds, the consequence does."""
    return {"if": _schema(condition, "implies[0]"), "then": _schema(consequence, "implies[1]")}


def excludes(*conditions: Condition) -> dict[str, Any]:
    """No two of the conditions hold."""
    return at_most(1, *conditions)


def exactly_one(*conditions: Condition) -> dict[str, Any]:
    """One of the conditions holds and no other."""
    return {"oneOf": _all(conditions, 1, "exactly_one")}


def at_most(count: int, *conditions: Condition) -> dict[str, Any]:
    """No more than `count` of the conditions hold."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise RuleError("not a count", path="at_most", given=count, accepted="a whole number from 0 on")
    schemas = _all(conditions, 1, "at_most")
    if comb(len(schemas), count + 1) > MOST:
        problem = f"{count} of {len(schemas)} conditions make more than {MOST} combinations"
        raise RuleError(problem, path="at_most", accepted="fewer conditions, or a count in CEL such as size(points) <= 2")
    return {"allOf": [{"not": {"allOf": list(some)}} for some in combinations(schemas, count + 1)] or [True]}


def monotone(*ids: str) -> str:
    """Answers that never fall in the given order: numbers, levels or dates. A CEL expression, so ids must be plain names."""
    bad = next((name for name in ids if not (isinstance(name, str) and name.isascii() and name.isidentifier())), None)
    if len(ids) < 2 or bad is not None:
        raise RuleError("cannot be put in order", path="monotone", given=bad or ids, accepted="two or more ids of letters, digits and _")
    return " && ".join(f"{a} <= {b}" for a, b in pairwise(ids))


def _all(conditions: tuple[Condition, ...], least: int, name: str) -> list[dict[str, Any]]:
    if len(conditions) < least + 1:
        raise RuleError(f"{len(conditions)} conditions", path=name, accepted=f"at least {least + 1}")
    return [_schema(condition, f"{name}[{i}]") for i, condition in enumerate(conditions)]


def _schema(condition: Any, path: str) -> dict[str, Any]:
    if not isinstance(condition, Mapping) or not condition:
        raise RuleError("not a condition", path=path, given=condition, accepted='{"question id": value or schema, …}')
    return {"properties": {key: _value(value) for key, value in condition.items()}, "required": list(condition)}


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return {"const": value.isoformat() if isinstance(value, dt.date) else list(value) if isinstance(value, tuple) else value}
