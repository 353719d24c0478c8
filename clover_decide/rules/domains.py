"""What the answers to a question may still be: the sets that rules are evaluated over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text


@dataclass(frozen=True)
class Names:
    """Some of the values that exist; with `other`, also texts that no rule names."""

    values: tuple[Any, ...]
    other: bool = False

    @property
    def single(self) -> bool:
        return len(self.values) + self.other == 1

    def parts(self, cuts: Sequence[Any]) -> Sequence[Domain]:
        """Each value that `cuts` names alone, the others together."""
        named = [value for value in self.values if value in cuts]
        rest = tuple(value for value in self.values if value not in cuts)
        if not named:
            return [Names((value,)) for value in rest] + ([Names((), True)] if self.other else [])
        return [*(Names((value,)) for value in named), *([Names(rest, self.other)] if rest or self.other else [])]


@dataclass(frozen=True)
class Span:
    """Whole numbers `low` .. `high`: integers, levels, days by ordinal, or decimal numbers in units of their last decimal."""

    low: int
    high: int

    @property
    def single(self) -> bool:
        return self.low == self.high

    def parts(self, cuts: Sequence[Any]) -> Sequence[Domain]:
        """Two parts, after the cut nearest the middle, else after the middle."""
        middle = (self.low + self.high) // 2
        inside = [cut for cut in cuts if self.low <= cut < self.high]
        at = min(inside, key=lambda cut: (abs(cut - middle), cut)) if inside else middle
        return [Span(self.low, at), Span(at + 1, self.high)]


@dataclass(frozen=True)
class Picks:
    """Sets of options: all of `chosen`, none of `excluded`, `least` to `most` in number."""

    options: tuple[str, ...]
    least: int
    most: int
    chosen: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    @property
    def fewest(self) -> int:
        return max(self.least, len(self.chosen))

    @property
    def largest(self) -> int:
        return min(self.most, len(self.options) - len(self.excluded))

    @property
    def single(self) -> bool:
        return len(self.chosen) + len(self.excluded) == len(self.options)

    def parts(self, cuts: Sequence[Any]) -> Sequence[Domain]:
        """With and without an option that is undecided, one of `cuts` where there is one."""
        undecided = [o for o in self.options if o not in self.chosen and o not in self.excluded]
        option = next((o for o in undecided if o in cuts), undecided[0])
        both = [replace(self, chosen=self.chosen | {option}), replace(self, excluded=self.excluded | {option})]
        return [part for part in both if part.fewest <= part.largest]


Domain = Names | Span | Picks
State = Mapping[str, Domain]
"""The domain of every question that rules speak of."""


def domain_of(question: AnyQuestion, named: Sequence[Any] = ()) -> Domain:
    """Everything a question may be answered with; of free text, the texts `named` by rules and "another one"."""
    match question:
        case Boolean():
            return Names((False, True))
        case Choice():
            return Names(tuple(option.value for option in question.options))
        case MultiChoice():
            return Picks(tuple(option.value for option in question.options), question.minimum, question.most)
        case Score():
            return Span(0, len(question.levels) - 1)
        case Integer():
            return Span(question.minimum, question.maximum)
        case Number():
            return Span(*question.scaled)
        case Date():
            return Span(question.earliest.toordinal(), question.latest.toordinal())
        case Quote() | Text():
            return Names(tuple(dict.fromkeys(named)), True)


def unit(question: AnyQuestion) -> Fraction:
    """What one step of the question's span is worth."""
    return Fraction(1, 10**question.decimals) if isinstance(question, Number) else Fraction(1)


def singleton(question: AnyQuestion, value: Any, domain: Domain) -> Domain:
    """The domain that holds one answer; `domain` is the question's whole one."""
    match question:
        case MultiChoice():
            assert isinstance(domain, Picks)
            return replace(domain, chosen=frozenset(value), excluded=frozenset(domain.options) - frozenset(value))
        case Date():
            ordinal = (dt.date.fromisoformat(value) if isinstance(value, str) else value).toordinal()
            return Span(ordinal, ordinal)
        case Number():
            scaled = round(Fraction(str(value)) / unit(question))
            return Span(scaled, scaled)
        case Score() | Integer():
            return Span(int(value), int(value))
        case Quote() | Text():
            assert isinstance(domain, Names)
            return Names((value,)) if value in domain.values else Names((), True)
        case _:
            return Names((value,))


def value_in(question: AnyQuestion, domain: Domain, high: bool = False) -> Any:
    """One of the domain's answers: its first, or with `high` its last; None if it is a text that no rule names."""
    match domain:
        case Names():
            return (domain.values[-1] if high else domain.values[0]) if domain.values else None
        case Picks():
            least = tuple(o for o in domain.options if o in domain.chosen)
            most = tuple(o for o in domain.options if o not in domain.excluded)
            fitting = most[: domain.most] if high else least + tuple(o for o in most if o not in least)[: domain.fewest - len(least)]
            return tuple(o for o in domain.options if o in fitting)
        case Span():
            step = domain.high if high else domain.low
            if isinstance(question, Date):
                return dt.date.fromordinal(step)
            return float(step * unit(question)) if isinstance(question, Number) else step


def merged(parts: Sequence[Domain]) -> list[Span]:
    """Spans in order, neighbours joined."""
    out: list[Span] = []
    for part in sorted((p for p in parts if isinstance(p, Span)), key=lambda p: p.low):
        if out and out[-1].high + 1 >= part.low:
            out[-1] = Span(out[-1].low, max(out[-1].high, part.high))
        else:
            out.append(part)
    return out


def hull(parts: Sequence[Domain]) -> Domain:
    """The smallest domain that holds all parts of one."""
    first = parts[0]
    if isinstance(first, Span):
        spans = [part for part in parts if isinstance(part, Span)]
        return Span(min(part.low for part in spans), max(part.high for part in spans))
    if isinstance(first, Names):
        names = [part for part in parts if isinstance(part, Names)]
        return Names(tuple(value for part in names for value in part.values), any(part.other for part in names))
    picks = [part for part in parts if isinstance(part, Picks)]
    chosen = frozenset.intersection(*(part.chosen for part in picks))
    return replace(first, chosen=chosen, excluded=frozenset.intersection(*(part.excluded for part in picks)))
