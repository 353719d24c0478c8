"""Rules read, checked against the questions, and found to be able to hold together before any model is called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clover_decide.errors import LimitError, RuleError
from clover_decide.frozen import FrozenMap
from clover_decide.question_set import QuestionSet
from clover_decide.questions import AnyQuestion
from clover_decide.rules.domains import Domain, State, domain_of, singleton
from clover_decide.rules.formula import AtLeast, Formula, In, Not, conjuncts
from clover_decide.rules.from_cel import cel_formula
from clover_decide.rules.from_schema import schema_formula
from clover_decide.rules.solve import conflict, feasible

MAX_RULES = 100
_FIELDS = {"text", "schema", "cel"}


@dataclass(frozen=True)
class Rule:
    """One rule: how people read it, as it was given, and the condition it states."""

    text: str
    source: Any
    formula: Formula = field(repr=False, compare=False)


@dataclass(frozen=True)
class RuleSet:
    """Rules between the questions of one set. `whole` holds all possible answers of the questions that rules speak of."""

    rules: tuple[Rule, ...] = ()
    questions: Mapping[str, AnyQuestion] = field(default_factory=lambda: FrozenMap[str, AnyQuestion](), repr=False)
    whole: Mapping[str, Domain] = field(default_factory=lambda: FrozenMap[str, Domain](), repr=False)

    def __bool__(self) -> bool:
        return bool(self.rules)

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        return tuple(part for rule in self.rules for part in conjuncts(rule.formula))

    @cached_property
    def _clusters(self) -> Mapping[str, frozenset[str]]:
        """For each question the questions that rules connect it with, directly or through others."""
        clusters: dict[str, frozenset[str]] = {}
        for formula in self.formulas:
            joined = formula.keys.union(*(clusters.get(key, frozenset()) for key in formula.keys))
            clusters |= dict.fromkeys(joined, joined)
        return clusters

    def connected(self, key: str) -> frozenset[str]:
        """The questions, itself among them, whose answers bear on what the rules leave this one; empty if no rule speaks of it."""
        return self._clusters.get(key, frozenset())

    def about(self, key: str) -> tuple[Formula, ...]:
        """The rules that bear on a question."""
        near = self.connected(key)
        return tuple(formula for formula in self.formulas if formula.keys & near)

    def identity(self) -> list[Any]:
        """The rules as they were given, JSON-ready."""
        return [rule.source for rule in self.rules]

    def state(self, values: Mapping[str, Any]) -> State:
        """The domains that are left when some questions have answers."""
        known = {key: singleton(self.questions[key], values[key], domain) for key, domain in self.whole.items() if key in values}
        return {**self.whole, **known}

    def violations(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The rules, by their text, that a complete set of answers breaks."""
        state = self.state(values)
        return tuple(rule.text for rule in self.rules if rule.formula.evaluate(state) is not True)


def read_rules(rules: Any, questions: QuestionSet) -> RuleSet:
    """Rules given as a JSON Schema object, a CEL expression, or a list of either; `{"text": …, "schema" or "cel": …}` names one.

    Raises:
        RuleError: a rule cannot be read, or the rules cannot hold together; then the message names a smallest set of them that
            contradict each other.
        LimitError: too many rules.
    """
    if isinstance(rules, RuleSet):
        other = next((key for key, question in rules.questions.items() if questions.questions.get(key) != question), None)
        if other is not None:
            raise RuleError("rules read for other questions", path="rules", given=other, accepted="rules read for these questions")
        return rules
    listed = [] if rules is None else [rules] if isinstance(rules, (Mapping, str)) else rules
    if not isinstance(listed, (list, tuple)):
        raise RuleError("not a list of rules", path="rules", given=rules, accepted="JSON Schema objects and CEL expressions")
    if len(listed) > MAX_RULES:
        raise LimitError(f"{len(listed)} rules", path="rules", accepted=f"at most {MAX_RULES} rules")
    read = tuple(_read(rule, questions, f"rules[{i}]") for i, rule in enumerate(listed))
    keys = frozenset().union(*(rule.formula.keys for rule in read))
    named = {key: [text for rule in read for text in _texts(rule.formula, key)] for key in keys}
    whole = {key: domain_of(question, named[key]) for key, question in questions.questions.items() if key in keys}
    result = RuleSet(read, FrozenMap({key: questions.questions[key] for key in whole}), FrozenMap(whole))
    if read and feasible(result.formulas, result.whole) is False:
        broken = conflict([rule.formula for rule in read], result.whole)
        problem = "can never hold" if len(broken) == 1 else f"{len(broken)} rules cannot hold together"
        told = "; ".join(f"rules[{i}] {read[i].text}" for i in broken)
        raise RuleError(f"{problem}: {told}", path="rules", accepted="rules that some answers keep")
    return result


def _read(rule: Any, questions: QuestionSet, path: str) -> Rule:
    if isinstance(rule, Rule):
        return _read(rule.source, questions, path)
    if isinstance(rule, str):
        return Rule(rule, rule, cel_formula(rule, questions.questions, path))
    if not isinstance(rule, (Mapping, bool)):
        raise RuleError("not a rule", path=path, given=rule, accepted="a JSON Schema object or a CEL expression")
    if isinstance(rule, Mapping) and ("schema" in rule or "cel" in rule):
        text, unknown = rule.get("text"), set(rule) - _FIELDS
        if unknown or len(rule.keys() & {"schema", "cel"}) != 1 or not isinstance(text, str | None):
            raise RuleError("not a named rule", path=path, given=sorted(rule), accepted='"schema" or "cel", and "text"')
        if "cel" in rule and not isinstance(rule["cel"], str):
            raise RuleError("not a CEL expression", path=f"{path}.cel", given=rule["cel"], accepted="text")
        inner = _read(rule["cel"] if "cel" in rule else rule["schema"], questions, path)
        return Rule(text or inner.text, rule, inner.formula)
    # Read first: what is too deep or too large to be read cannot be shown either.
    formula = schema_formula(rule, questions.questions, questions.raw, path)
    return Rule(_shown(rule), rule, formula)


def _shown(schema: Any) -> str:
    if isinstance(schema, Mapping) and isinstance(told := schema.get("title") or schema.get("description"), str):
        return told
    return json.dumps(schema, ensure_ascii=False, default=str)


def _texts(formula: Formula, key: str) -> Sequence[str]:
    """Values that a formula names for a question of free text."""
    match formula:
        case AtLeast(parts, _):
            return [text for part in parts for text in _texts(part, key)]
        case Not(part):
            return _texts(part, key)
        case In(name, values) if name == key:
            return sorted(value for value in values if isinstance(value, str))
    return []
