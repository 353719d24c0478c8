"""Rules as formulas with one three-valued evaluation: over what answers may still be, a rule holds, fails, or is open.

JSON Schema and CEL are both compiled to these. Evaluating over singletons is the final check, over larger domains it prunes
a search; it is the same code. Every formula has

* `keys`, the questions it speaks of,
* `evaluate(state)`, its truth over the domains in `state`,
* `cost`, roughly how long evaluating it takes, in comparisons,
* `cuts(key, state)`, where the domain of a question is best split to decide it: after these numbers, at these values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, Literal

from clover_decide.rules.domains import Domain, Names, Picks, Span, State

REMEMBERED = 10_000
"""Answers about which an opaque condition remembers its truth."""
Truth = bool | None
"""True or False whatever the open answers turn out to be; None if it depends on them."""


@dataclass(frozen=True)
class Fixed:
    """Always or never."""

    value: bool
    keys: frozenset[str] = frozenset()
    cost = 1

    def evaluate(self, state: State) -> Truth:
        return self.value

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        return ()


@dataclass(frozen=True)
class AtLeast:
    """At least `count` of the parts hold: 1 is "or", all of them is "and"."""

    parts: tuple[Formula, ...]
    count: int

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset().union(*(part.keys for part in self.parts))

    @cached_property
    def cost(self) -> int:
        return 1 + sum(part.cost for part in self.parts)

    def evaluate(self, state: State) -> Truth:
        held = undecided = 0
        for at, part in enumerate(self.parts):
            truth = part.evaluate(state)
            held += truth is True
            undecided += truth is None
            if held >= self.count:
                return True
            if held + undecided + len(self.parts) - at - 1 < self.count:
                return False
        return None

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        return [cut for part in self.parts if key in part.keys and part.evaluate(state) is None for cut in part.cuts(key, state)]


@dataclass(frozen=True)
class Not:
    part: Formula

    @property
    def keys(self) -> frozenset[str]:
        return self.part.keys

    @property
    def cost(self) -> int:
        return self.part.cost

    def evaluate(self, state: State) -> Truth:
        truth = self.part.evaluate(state)
        return None if truth is None else not truth

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        return self.part.cuts(key, state)


@dataclass(frozen=True)
class _OfOne:
    """What conditions about one answer share."""

    key: str
    cost = 1

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset({self.key})


@dataclass(frozen=True)
class In(_OfOne):
    """The answer is one of `values` (in steps of its span for numbers and dates)."""

    values: frozenset[Any]

    def evaluate(self, state: State) -> Truth:
        domain = state[self.key]
        if isinstance(domain, Span):
            inside = sum(domain.low <= value <= domain.high for value in self.values)
            return False if not inside else True if inside == domain.high - domain.low + 1 else None
        assert isinstance(domain, Names)
        inside = sum(value in self.values for value in domain.values)
        return False if not inside else True if inside == len(domain.values) and not domain.other else None

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        if isinstance(state[key], Span):
            return [cut for value in sorted(self.values) for cut in (value - 1, value)]
        return tuple(self.values)


@dataclass(frozen=True)
class Linear:
    """Σ factor · answer + constant, compared with zero; answers in steps of their spans, everything in whole numbers."""

    terms: Mapping[str, int]
    constant: int
    relation: Literal["<", "<=", "=="]

    cost = 2

    @classmethod
    def of(cls, terms: Mapping[str, Fraction], constant: Fraction, relation: Literal["<", "<=", "=="]) -> Linear:
        """The same comparison multiplied by what all denominators divide."""
        scale = lcm(constant.denominator, *(factor.denominator for factor in terms.values()))
        return cls({key: int(factor * scale) for key, factor in terms.items()}, int(constant * scale), relation)

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(self.terms)

    def evaluate(self, state: State) -> Truth:
        low, high = self._range(state)
        if self.relation == "==":
            return False if low > 0 or high < 0 else True if low == high == 0 else None
        strict = self.relation == "<"
        if high < 0 or (high == 0 and not strict):
            return True
        return False if low > 0 or (low == 0 and strict) else None

    def rest(self, key: str, state: State) -> tuple[int, int]:
        """The least and the most that the sum without the term of `key` can be."""
        return self._range(state, key)

    def _range(self, state: State, without: str | None = None) -> tuple[int, int]:
        low = high = self.constant
        for key, factor in self.terms.items():
            domain = state[key]
            if key != without:
                assert isinstance(domain, Span)
                low += factor * (domain.low if factor > 0 else domain.high)
                high += factor * (domain.high if factor > 0 else domain.low)
        return low, high

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        # Where the answer's own term balances the least and the most that the others can sum to.
        bounds = [-rest // self.terms[key] for rest in self.rest(key, state)]
        return [cut for bound in bounds for cut in (bound - 1, bound)]


@dataclass(frozen=True)
class Multiple(_OfOne):
    """The answer, in steps of its span, leaves `rest` when it is divided by `of`."""

    of: int
    rest: int = 0

    def evaluate(self, state: State) -> Truth:
        domain = state[self.key]
        assert isinstance(domain, Span)
        if domain.low + (self.rest - domain.low) % self.of > domain.high:
            return False
        return True if self.of == 1 or domain.single else None

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        domain = state[key]
        assert isinstance(domain, Span)
        middle = (domain.low + domain.high) // 2
        near = middle + (self.rest - middle) % self.of
        return (near - 1, near)


@dataclass(frozen=True)
class Has(_OfOne):
    """A multiple choice includes an option."""

    option: str

    def evaluate(self, state: State) -> Truth:
        domain = state[self.key]
        assert isinstance(domain, Picks)
        if self.option in domain.chosen:
            return True
        return False if self.option in domain.excluded or len(domain.chosen) >= domain.most else None

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        return (self.option,)


@dataclass(frozen=True)
class Count(_OfOne):
    """A multiple choice has `least` to `most` options."""

    least: int
    most: int

    def evaluate(self, state: State) -> Truth:
        domain = state[self.key]
        assert isinstance(domain, Picks)
        low, high = domain.fewest, domain.largest
        if low > self.most or high < self.least:
            return False
        return True if self.least <= low and high <= self.most else None

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        return ()


@dataclass(frozen=True)
class Opaque:
    """A condition that only a complete set of answers decides: `test` takes the answers' singletons, and is asked once about each."""

    keys: frozenset[str]
    test: Callable[[State], bool] = field(compare=False)
    known: dict[tuple[Domain, ...], bool] = field(default_factory=dict, compare=False, repr=False)

    cost = 80

    def evaluate(self, state: State) -> Truth:
        domains = tuple(state[key] for key in sorted(self.keys))
        if not all(domain.single for domain in domains):
            return None
        if domains not in self.known:
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            self.known[domains] = self.test(state)
        return self.known[domains]

    def cuts(self, key: str, state: State) -> Sequence[Any]:
        return ()


Formula = Fixed | AtLeast | Not | In | Linear | Multiple | Has | Count | Opaque


def all_of(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else AtLeast(tuple(parts), len(parts)) if parts else Fixed(True)


def conjuncts(formula: Formula) -> list[Formula]:
    """The conditions that all have to hold for the formula to hold."""
    if isinstance(formula, AtLeast) and formula.count == len(formula.parts):
        return [part for inner in formula.parts for part in conjuncts(inner)]
    return [formula]


def any_of(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else AtLeast(tuple(parts), 1) if parts else Fixed(False)


def one_of(parts: Sequence[Formula]) -> Formula:
    return all_of([any_of(parts), Not(AtLeast(tuple(parts), 2))])


def if_else(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    return all_of([any_of([Not(condition), then]), any_of([condition, otherwise])])
