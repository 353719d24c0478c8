"""CEL expressions over the answers (github.com/google/cel-spec), compiled to formulas.

cel-python parses them. Logic, sums, differences and comparisons become formulas that can be evaluated before all answers are
known, with exact decimal arithmetic; what else the language has (division, text and calendar functions) is evaluated by
cel-python once the answers it needs are there. An expression that then fails (a division by zero) counts as not kept.

Beyond the specification, whole and decimal numbers may be mixed, and a date may be compared with an ISO text. Loops (`all`, `exists`,
`map`, `filter`) are refused, which with the limit on length bounds the time of every evaluation.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from clover_decide.errors import RuleError
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text
from clover_decide.rules.cel_library import evaluated, library, parse
from clover_decide.rules.cel_relations import Relations
from clover_decide.rules.cel_values import KINDS, MAX_CASES, AnswerOf, Cases, NotSymbolicError, OptionsOf, RestOf, Sum, is_condition
from clover_decide.rules.domains import unit
from clover_decide.rules.formula import AtLeast, Fixed, Formula, In, Not, Opaque, all_of, any_of, if_else

MAX_LENGTH, MAX_BRACKETS, MAX_DIGITS = 1_000, 60, 30
LOOPS = {"all", "exists", "exists_one", "map", "filter", "reduce"}


def cel_formula(source: str, questions: Mapping[str, AnyQuestion], path: str) -> Formula:
    """The condition an expression states about the answers.

    Raises:
        RuleError: not CEL, too long, loops, an unknown question, types that do not go together, or not a condition.
        MissingExtraError: cel-python is not installed.
    """
    if len(source) > MAX_LENGTH or source.count("(") + source.count("[") > MAX_BRACKETS:
        raise RuleError("too long", path=path, given=source, accepted=f"at most {MAX_LENGTH} characters and {MAX_BRACKETS} brackets")
    try:
        tree = parse(source, path)
        compiler = _Compiler(questions, path, source)
        return compiler.guarded(tree, compiler.condition(tree))
    except RecursionError:
        raise RuleError("nested too deeply", path=path, accepted="an expression of moderate depth") from None


def _has_opaque(formula: Formula) -> bool:
    match formula:
        case AtLeast(parts, _):
            return any(_has_opaque(part) for part in parts)
        case Not(part):
            return _has_opaque(part)
    return isinstance(formula, Opaque)


class _Compiler:
    """Walks the syntax tree of one expression."""

    def __init__(self, questions: Mapping[str, AnyQuestion], path: str, source: str) -> None:
        self.questions, self.relations = questions, Relations(questions, path, source)
        self._error = self.relations.error

    def condition(self, tree: Any) -> Formula:
        """A subtree as a condition; parts of it that are not symbolic are left to cel-python."""
        try:
            value = self._value(tree)
        except NotSymbolicError:
            return self._opaque(tree)
        if not is_condition(value):
            raise self._error("not a condition", accepted="an expression that is true or false, such as a comparison")
        return value

    def guarded(self, tree: Any, formula: Formula) -> Formula:
        """The condition, with the whole expression evaluated once more where a part of it can fail.

        A failing part is not true, but what denies it is not true either, and only the library carries the failure that far.
        """
        if isinstance(formula, Opaque) or not _has_opaque(formula):
            return formula
        keys = formula.keys
        whole = evaluated(tree, {key: self.questions[key] for key in keys})
        # Where it mixes kinds of numbers, or a date with a text, the library cannot evaluate it as a whole.
        return formula if whole.problem() else all_of([formula, Opaque(keys, whole.holds)])

    def _value(self, tree: Any) -> Any:
        """A formula, sum, answer, options, text or list. Raises NotSymbolicError for what only the library evaluates."""
        children = [child for child in tree.children if child is not None]
        match tree.data:
            case "expr" if len(children) == 3:
                return self._choose(*(self._value(child) for child in children))
            case "conditionalor" if len(children) == 2:
                return any_of([self.condition(child) for child in children])
            case "conditionaland" if len(children) == 2:
                return all_of([self.condition(child) for child in children])
            case "relation" if len(children) == 2:
                return self.relations.relation(children[0].data, self._value(children[0].children[0]), self._value(children[1]))
            case "addition" | "multiplication" if len(children) == 2:
                return self._made(children[0].data, self._value(children[0].children[0]), self._value(children[1]))
            case "unary" if len(children) == 2:
                return self._unary(children[0].data, self._value(children[1]))
            case "literal":
                return self._literal(children[0])
            case "ident" | "dot_ident":
                return self._ident(str(children[0]))
            case "ident_arg":
                return self._call(str(children[0]), children[1:])
            case "list_lit":
                return self._items(children[0].children if children else ())
            case _ if len(children) == 1 and tree.data not in ("member_dot", "map_lit"):
                return self._value(children[0])
        raise NotSymbolicError

    def _choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        if not is_condition(condition) or is_condition(then) != is_condition(otherwise):
            raise NotSymbolicError
        if is_condition(then):
            return if_else(condition, then, otherwise)
        return self._cases([*Cases.of(condition, then), *Cases.of(Not(condition), otherwise)])

    def _cases(self, cases: list[tuple[Formula, Any]]) -> Cases:
        if len(cases) > MAX_CASES:
            raise NotSymbolicError
        return Cases(tuple(cases))

    def _made(self, operator: str, left: Any, right: Any) -> Any:
        """The arithmetic of every pair of cases."""
        if not isinstance(left, Cases) and not isinstance(right, Cases):
            return self._arithmetic(operator, left, right)
        pairs = [(all_of([a, b]), x, y) for a, x in Cases.of(Fixed(True), left) for b, y in Cases.of(Fixed(True), right)]
        return self._cases([(condition, self._arithmetic(operator, x, y)) for condition, x, y in pairs])

    def _literal(self, token: Any) -> Any:
        celpy = library()
        if token.type == "BOOL_LIT":
            return Fixed(str(token) == "true")
        if token.type in ("INT_LIT", "FLOAT_LIT", "UINT_LIT"):
            text = str(token).rstrip("uU")
            _, _, exponent = text.lower().partition("e") if "x" not in text.lower() else ("", "", "")
            if len(text) > MAX_DIGITS or abs(int(exponent or 0)) > MAX_DIGITS:
                raise self._error(f"the number {text} is out of range", accepted=f"at most {MAX_DIGITS} digits and an exponent to match")
            return Sum({}, Fraction(int(text, 16) if "x" in text else text))
        if token.type in ("STRING_LIT", "MLSTRING_LIT"):
            try:
                return str(celpy.evaluation.celstr(token))
            except (ValueError, OverflowError):
                raise self._error(f"{token} is no text", accepted="characters that exist") from None
        raise NotSymbolicError

    def _ident(self, name: str) -> Any:
        if name not in self.questions:
            raise self._error(f"names an unknown question {name!r}", accepted=", ".join(self.questions))
        question = self.questions[name]
        match question:
            case Boolean():
                return In(name, frozenset({True}))
            case Integer() | Score() | Number():
                return Sum({name: unit(question)}, Fraction(0))
            case Date():
                return Sum({name: Fraction(1)}, Fraction(0), "date")
            case MultiChoice():
                return OptionsOf(name)
            case Choice() | Quote() | Text():
                return AnswerOf(name)

    def _items(self, trees: Sequence[Any]) -> tuple[Any, ...]:
        values = tuple(self._value(item) for item in trees)
        if any(isinstance(value, Cases) for value in values):
            raise NotSymbolicError
        return values

    def _call(self, name: str, arguments: list[Any]) -> Any:
        if name in LOOPS or name == "has":
            raise self._error(f"{name}() is not available", accepted="comparisons, && || !, + - *, in, size, duration, timestamp")
        match name, list(self._items(arguments[0].children if arguments else ())):
            case "size", [OptionsOf(key, False)]:
                return OptionsOf(key, counted=True)
            case "duration" | "timestamp", [str(text)]:
                return self._time(name, text)
        raise NotSymbolicError

    def _time(self, name: str, text: str) -> Sum:
        types = library().celtypes
        try:
            if name == "duration":
                return Sum({}, Fraction(types.DurationType(text) // dt.timedelta(microseconds=1), 86_400_000_000), "days")
            moment = types.TimestampType(text).astimezone(dt.UTC)
        except (ValueError, OverflowError) as error:
            raise self._error(f"{name}({text!r}): {error}", accepted='duration("720h"), timestamp("2025-01-31T00:00:00Z")') from None
        since = dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC)
        return Sum({}, moment.toordinal() + Fraction((moment - since) // dt.timedelta(microseconds=1), 86_400_000_000), "date")

    def _unary(self, operator: str, value: Any) -> Any:
        if isinstance(value, Cases):
            return Cases(tuple((condition, self._unary(operator, one)) for condition, one in value.cases))
        if operator == "unary_not" and is_condition(value):
            return Not(value)
        if operator == "unary_neg" and isinstance(value, Sum) and value.kind != "date":
            return Sum({}, Fraction(0), value.kind).plus(value, -1, value.kind)
        raise self._error("! takes a condition, - a number", accepted="!(a && b), -3")

    def _arithmetic(self, operator: str, left: Any, right: Any) -> Any:
        if not isinstance(left, Sum) or not isinstance(right, Sum):
            raise NotSymbolicError
        if operator in ("addition_add", "addition_sub"):
            sign = "+" if operator == "addition_add" else "-"
            kind = KINDS.get((left.kind, sign, right.kind))
            if kind is None:
                raise self._error(f"{left.kind} {sign} {right.kind} has no meaning", accepted='numbers; dates and duration("24h")')
            return left.plus(right, 1 if sign == "+" else -1, kind)
        if operator == "multiplication_mul" and (not left.terms or not right.terms) and left.kind == right.kind == "number":
            factor, scaled = (left.constant, right) if not left.terms else (right.constant, left)
            return Sum({key: f * factor for key, f in scaled.terms.items() if factor}, scaled.constant * factor)
        if operator == "multiplication_mod" and not right.terms and right.constant == right.constant // 1 > 0:
            return self._rest(left, int(right.constant))
        raise NotSymbolicError

    def _rest(self, left: Sum, modulus: int) -> RestOf:
        """CEL's remainder has the sign of the dividend; where that is never negative it is the mathematical one."""
        key = next(iter(left.terms), "")
        question = self.questions.get(key)
        natural = (isinstance(question, Integer) and question.minimum >= 0) or isinstance(question, Score)
        if not natural or left.constant or dict(left.terms) != {key: 1}:
            raise NotSymbolicError
        return RestOf(key, modulus)

    def _opaque(self, tree: Any) -> Opaque:
        """A subtree that cel-python evaluates once all its answers are known."""
        called = {str(found.children[1]) for found in tree.find_data("member_dot_arg")} | {
            str(found.children[0]) for found in tree.find_data("ident_arg")
        }
        if called & LOOPS:
            raise self._error(f"{min(called & LOOPS)}() is not available", accepted="an expression without loops")
        keys = sorted({str(found.children[0]) for name in ("ident", "dot_ident") for found in tree.find_data(name)})
        for key in keys:
            self._ident(key)
            if isinstance(self.questions[key], (Quote, Text)):
                raise self._error(f"{key!r} is free text, which is compared with constants only", accepted=f'{key} == "some text"')
        condition = evaluated(tree, {key: self.questions[key] for key in keys})
        problem = condition.problem()
        if problem:
            raise self._error(problem, accepted="a condition on values of types that go together, such as days / 7 >= 2")
        return Opaque(frozenset(keys), condition.holds)
