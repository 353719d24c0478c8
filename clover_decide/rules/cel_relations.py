"""Comparisons in CEL expressions as formulas: of numbers, dates, options, lists and texts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from clover_decide.errors import RuleError
from clover_decide.questions import AnyQuestion, Choice, MultiChoice
from clover_decide.rules.cel_values import MAX_CASES, AnswerOf, Cases, NotSymbolicError, OptionsOf, RestOf, Sum, is_condition
from clover_decide.rules.formula import Count, Fixed, Formula, Has, In, Linear, Multiple, Not, all_of, any_of

_SWAPPED = {"relation_gt": "relation_lt", "relation_ge": "relation_le"}


class Relations:
    """Compares the values of one expression, whose source its errors show."""

    def __init__(self, questions: Mapping[str, AnyQuestion], path: str, source: str) -> None:
        self.questions, self.path, self.source = questions, path, source

    def error(self, problem: str, accepted: str = "") -> RuleError:
        """What is wrong with the expression."""
        return RuleError(problem, path=self.path, given=self.source, accepted=accepted)

    def relation(self, operator: str, left: Any, right: Any) -> Formula:
        """Two values that are compared, by the parser's name of the operator.

        Raises:
            RuleError: values that have no such comparison. NotSymbolicError: one that only the library makes.
        """
        if operator in _SWAPPED:
            operator, left, right = _SWAPPED[operator], right, left
        if isinstance(left, Cases) or isinstance(right, Cases):
            pairs = [(all_of([a, b]), x, y) for a, x in Cases.of(Fixed(True), left) for b, y in Cases.of(Fixed(True), right)]
            if len(pairs) > MAX_CASES:
                raise NotSymbolicError
            return any_of([all_of([condition, self.relation(operator, x, y)]) for condition, x, y in pairs])
        if isinstance(left, RestOf) or isinstance(right, RestOf):
            return self._divided(operator, left, right)
        left, right = self._as_date(left, right), self._as_date(right, left)
        if operator == "relation_in":
            return self._member(left, right)
        if operator == "relation_ne":
            return Not(self._equal(left, right))
        if operator == "relation_eq":
            return self._equal(left, right)
        strict = operator == "relation_lt"
        if isinstance(left, OptionsOf) or isinstance(right, OptionsOf):
            return self._counted(left, right, strict)
        return self._compare(left, right, "<" if strict else "<=")

    def _divided(self, operator: str, left: Any, right: Any) -> Formula:
        match left, right:
            case (RestOf(key, of), Sum(terms, rest, "number")) | (Sum(terms, rest, "number"), RestOf(key, of)) if not terms:
                if operator in ("relation_eq", "relation_ne"):
                    equal = Multiple(key, of, int(rest)) if rest == rest // 1 and 0 <= rest < of else Fixed(False)
                    return equal if operator == "relation_eq" else Not(equal)
        raise NotSymbolicError

    def _as_date(self, value: Any, other: Any) -> Any:
        if not isinstance(value, str) or not isinstance(other, Sum) or other.kind != "date":
            return value
        try:
            return Sum({}, Fraction(dt.date.fromisoformat(value).toordinal()), "date")
        except ValueError:
            raise self.error(f"{value!r} is compared with a date", accepted="an ISO date, YYYY-MM-DD") from None

    def _compare(self, left: Any, right: Any, relation: Literal["<", "<=", "=="]) -> Formula:
        if not isinstance(left, Sum) or not isinstance(right, Sum) or left.kind != right.kind:
            accepted = (
                'numbers (a score is the index of its level), dates, or dates with + duration("24h"); texts and options with == and != only'
            )
            raise self.error("compares values of different types, or of one that has no order", accepted=accepted)
        difference = left.plus(right, -1, left.kind)
        if not difference.terms:
            zero = difference.constant
            return Fixed(zero == 0 if relation == "==" else zero < 0 or (zero == 0 and relation == "<="))
        return Linear.of(difference.terms, difference.constant, relation)

    def _counted(self, left: Any, right: Any, strict: bool) -> Formula:
        match left, right:
            case OptionsOf(key, True), Sum(terms, constant, "number") if not terms:
                return Count(key, 0, -int(-constant // 1) - 1 if strict else int(constant // 1))
            case Sum(terms, constant, "number"), OptionsOf(key, True) if not terms:
                return Count(key, int(constant // 1) + 1 if strict else -int(-constant // 1), 10**6)
        raise self.error("a number of options is compared with a constant only", accepted="size(points) >= 2")

    def _equal(self, left: Any, right: Any) -> Formula:
        for one, other in ((left, right), (right, left)):
            match one, other:
                case AnswerOf(key), str(text):
                    return In(key, frozenset({self._named(key, text)}))
                case OptionsOf(key, True), Sum(terms, constant, "number") if not terms:
                    return Count(key, int(constant), int(constant)) if constant == int(constant) else Fixed(False)
                case OptionsOf(key, False), tuple(items):
                    names = {self._option(key, item) for item in items}
                    return all_of([Has(key, o) if o in names else Not(Has(key, o)) for o in self._names(key)])
        match left, right:
            case AnswerOf(a), AnswerOf(b):
                shared = [o for o in self._names(a) if o in self._names(b)]
                return any_of([all_of([In(a, frozenset({o})), In(b, frozenset({o}))]) for o in shared])
            case str(a), str(b):
                return Fixed(a == b)
            case (Sum(), _) | (_, Sum()):
                return self._compare(left, right, "==")
        if not is_condition(left) or not is_condition(right):
            raise self.error("compares values of different types", accepted="an answer with a value of its own type")
        return any_of([all_of([left, right]), all_of([Not(left), Not(right)])])

    def _member(self, left: Any, right: Any) -> Formula:
        match left, right:
            case str(text), OptionsOf(key, False):
                return Has(key, self._option(key, text))
            case ((AnswerOf() | Sum()), tuple(items)):
                return any_of([self._equal(left, self._as_date(item, left)) for item in items])
        raise self.error("`in` takes an option and a multiple choice, or an answer and a list", accepted='"damage" in points')

    def _names(self, key: str) -> list[str]:
        question = self.questions[key]
        if isinstance(question, (Choice, MultiChoice)):
            return [option.value for option in question.options]
        raise self.error("free text is compared with constants only", accepted=f'{key} == "some text"')

    def _option(self, key: str, text: Any) -> str:
        if text not in self._names(key):
            raise self.error(f"{text!r} is not an option of {key!r}", accepted=", ".join(self._names(key)))
        return text

    def _named(self, key: str, text: str) -> str:
        return self._option(key, text) if isinstance(self.questions[key], Choice) else text
