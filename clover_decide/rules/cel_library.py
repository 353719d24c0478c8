"""cel-python behind three functions: parse an expression, evaluate a part of it, and what an answer is to it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from clover_decide.errors import MissingExtraError, RuleError
from clover_decide.questions import AnyQuestion, Boolean, Date, Number
from clover_decide.rules.domains import Domain, Names, Picks, Span, State, domain_of, unit

FAILURES = (ArithmeticError, TypeError, ValueError, KeyError, AttributeError, IndexError, RuntimeError, NotImplementedError)
"""What an evaluation raises besides the library's own error."""
DEPENDS = ("zero", "overflow", "range")
"""Words of messages about failures that depend on the answers."""


@cache
def library() -> Any:
    try:
        import celpy
    except ImportError:
        raise MissingExtraError("CEL rules need cel-python", path="rules", accepted="pip install 'clover-decide[local]'") from None
    return celpy


@cache
def environment() -> Any:
    """One for all: making its parser takes a fifth of a second, and it holds nothing of an expression."""
    return library().Environment()


def parse(source: str, path: str) -> Any:
    celpy = library()
    try:
        return environment().compile(source)
    except celpy.CELParseError as error:
        told = " ".join(str(error.args[0] if error.args else error).split())
        raise RuleError(f"not a CEL expression: {told}", path=path, given=source, accepted="such as refund == deposit - damage") from None


@dataclass(frozen=True)
class Evaluated:
    """A part of an expression, evaluated over complete answers."""

    program: Any
    questions: Mapping[str, AnyQuestion]

    def holds(self, state: State) -> bool:
        """Whether it is true of the answers' singletons; an evaluation that fails is not."""
        try:
            return self._value(state) == library().celtypes.BoolType(True)
        except (library().CELEvalError, *FAILURES):
            return False

    def problem(self) -> str:
        """What is wrong with it whatever the answers: types that do not go together, or no condition. Found by trying some."""
        for last in (False, True):
            try:
                value = self._value({key: _some(question, last) for key, question in self.questions.items()})
            except (library().CELEvalError, *FAILURES) as error:
                told = _readable(str(error.args[0] if error.args else error))
                if not any(word in told for word in DEPENDS):
                    return f"cannot be evaluated: {told}"
                continue
            if not isinstance(value, library().celtypes.BoolType):
                return "not a condition"
        return ""

    def _value(self, state: State) -> Any:
        return self.program.evaluate({key: _cel_value(question, state[key]) for key, question in self.questions.items()})


def evaluated(tree: Any, questions: Mapping[str, AnyQuestion]) -> Evaluated:
    """A subtree that speaks of these questions."""
    return Evaluated(environment().program(tree), questions)


def _some(question: AnyQuestion, last: bool) -> Domain:
    """Some answer, as a singleton."""
    domain = domain_of(question)
    while not domain.single:
        domain = domain.parts(())[-1 if last else 0]
    return domain


def _readable(told: str) -> str:
    """The library's message without its classes and tokens."""
    short = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", told.split(" (in ")[0])
    return re.sub(r"Token\('\w+', '(?:\w+_)?(\w+)'\)", r"\1", short)


def _cel_value(question: AnyQuestion, domain: Domain) -> Any:
    """The answer that a singleton stands for, as cel-python has it."""
    types = library().celtypes
    match domain:
        case Picks():
            return types.ListType([types.StringType(option) for option in domain.options if option in domain.chosen])
        case Span() if isinstance(question, Date):
            day = dt.date.fromordinal(domain.low)
            return types.TimestampType(f"{day.isoformat()}T00:00:00Z")
        case Span() if isinstance(question, Number):
            return types.DoubleType(float(domain.low * unit(question)))
        case Span():
            return types.IntType(domain.low)
        case Names():
            value = domain.values[0]
            return types.BoolType(value) if isinstance(question, Boolean) else types.StringType(value)
