"""Contradictions between sums and comparisons, which splitting domains would take for ever to find (a < b and b < a)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from clover_decide.rules.domains import Span, State
from clover_decide.rules.formula import AtLeast, Formula, Linear

ROUNDS = 10
"""Times that bounds are propagated."""
MOST = 200
"""Inequalities kept; beyond them nothing is claimed."""

Inequality = tuple[frozenset[tuple[str, Fraction]], Fraction, bool]
"""Σ factor · answer + constant < 0 if strict, else <= 0."""


def contradictory(rules: Sequence[Formula], state: State) -> bool:
    """Whether the comparisons that must all hold have no solution even in fractions (Fourier-Motzkin elimination).

    False says nothing: whole numbers may still have none.
    """
    found = {row for rule in rules for row in _required(rule)}
    keys = sorted({key for terms, _, _ in found for key, _ in terms})
    if len(found) < 2:
        return False
    for key in keys:
        domain = state[key]
        assert isinstance(domain, Span)
        found |= {_row({key: Fraction(1)}, Fraction(-domain.high), False), _row({key: Fraction(-1)}, Fraction(domain.low), False)}
    for key in keys:
        found = _without(key, found)
        if len(found) > MOST:
            return False
        if any(not terms and (constant > 0 or (strict and constant == 0)) for terms, constant, strict in found):
            return True
    return False


def tightened(rules: Sequence[Formula], state: State) -> State | None:
    """Spans without what the comparisons that must hold exclude (bounds propagation); None if that leaves nothing."""
    spans = dict(state)
    comparisons = [rule for rule in rules if isinstance(rule, Linear)]
    for _ in range(ROUNDS):
        before = dict(spans)
        for rule in comparisons:
            for key, factor in rule.terms.items():
                low, high = rule.rest(key, spans)
                domain = spans[key]
                assert isinstance(domain, Span)
                # factor · answer <= -low, and where the sum must be zero also >= -high.
                limits = [(factor, -low)] + ([(-factor, high)] if rule.relation == "==" else [])
                for scale, limit in limits:
                    if scale > 0:
                        domain = Span(domain.low, min(domain.high, limit // scale))
                    else:
                        domain = Span(max(domain.low, -(limit // -scale)), domain.high)
                if domain.low > domain.high:
                    return None
                spans[key] = domain
        if spans == before:
            break
    return spans


def _required(formula: Formula) -> Iterator[Inequality]:
    """The comparisons that hold wherever the formula does."""
    if isinstance(formula, AtLeast) and formula.count == len(formula.parts):
        for part in formula.parts:
            yield from _required(part)
    if isinstance(formula, Linear):
        terms, constant = {key: Fraction(factor) for key, factor in formula.terms.items()}, Fraction(formula.constant)
        yield _row(terms, constant, formula.relation == "<")
        if formula.relation == "==":
            yield _row({key: -factor for key, factor in terms.items()}, -constant, False)


def _row(terms: Mapping[str, Fraction], constant: Fraction, strict: bool) -> Inequality:
    return frozenset(terms.items()), constant, strict


def _without(key: str, rows: set[Inequality]) -> set[Inequality]:
    """What follows for the other answers: each upper bound of `key` with each lower bound."""
    out = {row for row in rows if key not in dict(row[0])}
    bounds = [(dict(terms), constant, strict) for terms, constant, strict in rows if key in dict(terms)]
    for upper, c, s in bounds:
        for lower, d, t in bounds:
            if upper[key] > 0 > lower[key]:
                a, b = upper[key], -lower[key]
                names = (upper.keys() | lower.keys()) - {key}
                summed = {n: upper.get(n, Fraction(0)) / a + lower.get(n, Fraction(0)) / b for n in names}
                out.add(_row({n: f for n, f in summed.items() if f}, c / a + d / b, s or t))
        if len(out) > MOST:
            break
    return out
