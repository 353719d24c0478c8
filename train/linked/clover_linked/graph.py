"""Rule graphs as data: how each answer follows from the facts of a world and from other answers.

A graph maps question ids to expressions. Gold answers come from executing it (`execute`), and its shape, with all names
and constants taken out (`shape_hash`), tells two rule structures apart.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any


@dataclass(frozen=True)
class Node:
    """One operation; arguments are nodes, or the name of a fact or question, or a constant."""

    op: str
    args: tuple[Any, ...]


Graph = Mapping[str, Node]


def fact(name: str) -> Node:
    """A fact of the world."""
    return Node("fact", (name,))


def ans(question: str) -> Node:
    """The answer to another question."""
    return Node("ans", (question,))


def op(name: str, *args: Any) -> Node:
    """An operation of `OPERATIONS`; arguments that are no nodes are constants."""
    return Node(name, tuple(a if isinstance(a, Node) else Node("const", (a,)) for a in args))


def choose(*cases: tuple[Node, Any], otherwise: Any) -> Node:
    """The value of the first case whose condition holds."""
    flat = [part for case in cases for part in case]
    return op("first", *flat, otherwise)


def holding(**conditions: Node) -> Node:
    """The labels whose condition holds; an underscore in a name is a space of the label."""
    flat = [part for name, condition in conditions.items() for part in (name.replace("_", " "), condition)]
    return op("holding", *flat)


def _first(*args: Any) -> Any:
    *cases, otherwise = args
    return next((value for condition, value in zip(cases[::2], cases[1::2], strict=True) if condition), otherwise)


def _holding(*args: Any) -> list[str]:
    return [label for label, condition in zip(args[::2], args[1::2], strict=True) if condition]


def _cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "in": lambda a, b: a in b,
    "and": lambda *a: all(a),
    "or": lambda *a: any(a),
    "not": lambda a: not a,
    "first": _first,
    "holding": _holding,
    "lookup": lambda table, key: table[key],
    "days": lambda a, b: (b - a).days,
    "plus_days": lambda day, count: day + dt.timedelta(days=count),
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "percent": lambda amount, rate: _cents(Decimal(amount) * rate / 100),
    "min": min,
    "max": max,
}


def execute(graph: Graph, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to every question of the graph."""
    answers: dict[str, Any] = {}

    def value(node: Node) -> Any:
        if node.op == "const":
            return node.args[0]
        if node.op == "fact":
            return facts[node.args[0]]
        if node.op == "ans":
            return answer(node.args[0])
        return OPERATIONS[node.op](*(value(a) for a in node.args))

    def answer(question: str) -> Any:
        if question not in answers:
            answers[question] = value(graph[question])
        return answers[question]

    for question in graph:
        answer(question)
    return {question: answers[question] for question in graph}


def ancestors(graph: Graph, question: str) -> frozenset[str]:
    """The questions whose answers a question builds on, directly or not."""
    found: set[str] = set()

    def walk(node: Node) -> None:
        if node.op == "ans" and node.args[0] not in found:
            found.add(node.args[0])
            walk(graph[node.args[0]])
        for a in node.args:
            if isinstance(a, Node):
                walk(a)

    walk(graph[question])
    return frozenset(found)


def shape_hash(graph: Graph) -> str:
    """Identifies the shape of the reasoning: operations only, without names, constants and the order of questions."""

    def shape(node: Node) -> str:
        if node.op == "ans":
            return shape(graph[node.args[0]])
        if node.op in ("fact", "const"):
            return node.op
        return f"{node.op}({','.join(shape(a) for a in node.args)})"

    # A question that only reads a fact off the text adds nothing to the shape.
    shapes = sorted({shape(node) for node in graph.values() if node.op != "fact"})
    return hashlib.sha256("\n".join(shapes).encode()).hexdigest()[:16]
