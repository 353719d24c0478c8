"""Branch and prune over domains: can the rules hold, what may one answer still be, which rules contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_decide.rules.domains import Domain, Names, Picks, Span, State
from clover_decide.rules.formula import Formula, Truth
from clover_decide.rules.linear import contradictory

STEPS = 1_000
"""Domains looked at in one question to the solver; beyond them it says that it does not know."""
PROJECTED = 64
"""Pieces looked at when the values of one answer are narrowed down."""


@dataclass
class _Steps:
    left: int


def feasible(rules: Sequence[Formula], state: State, steps: int = STEPS) -> Truth:
    """Whether some answers within `state` keep all rules; None if the search was too large to tell."""
    found = _feasible(rules, state, _Steps(steps))
    return False if found is None and contradictory(rules, state) else found


def _feasible(rules: Sequence[Formula], state: State, steps: _Steps) -> Truth:
    if steps.left <= 0:
        return None
    steps.left -= 1
    undecided: list[Formula] = []
    for rule in rules:
        truth = rule.evaluate(state)
        if truth is False:
            return False
        if truth is None:
            undecided.append(rule)
    if not undecided:
        return True
    key = _branch(undecided, state)
    unknown = False
    for part in state[key].parts(_cuts(undecided, key, state)):
        truth = _feasible(undecided, {**state, key: part}, steps)
        if truth:
            return True
        unknown = unknown or truth is None
    return None if unknown else False


def project(rules: Sequence[Formula], state: State, key: str) -> list[Domain]:
    """Parts of the domain of `key` that together hold every answer that some completion allows.

    Exact where the rules decide it; where that would take more than `PROJECTED` pieces, a part may be too large.
    """
    out: list[Domain] = []
    queue = [state[key]]
    looked = 0
    while queue:
        part = queue.pop(0)
        looked += 1
        here = {**state, key: part}
        if feasible(rules, here) is False:
            continue
        open_rules = [rule for rule in rules if key in rule.keys and rule.evaluate(here) is None]
        if part.single or not open_rules or looked > PROJECTED:
            out.append(part)
        else:
            queue += part.parts(_cuts(open_rules, key, here))
    return out


def conflict(rules: Sequence[Formula], state: State) -> list[int]:
    """Indices of rules that cannot hold together and of which none can be spared (deletion filter)."""
    kept = list(range(len(rules)))
    for index in list(kept):
        without = [i for i in kept if i != index]
        if feasible([rules[i] for i in without], state) is False:
            kept = without
    return kept


def _branch(rules: Sequence[Formula], state: State) -> str:
    """The undecided answer with fewest values, the first of equals: what is nearest to failing is tried first."""
    keys = sorted({key for rule in rules for key in rule.keys if not state[key].single})
    return min(keys, key=lambda key: _size(state[key]))


def _size(domain: Domain) -> int:
    match domain:
        case Names():
            return len(domain.values) + domain.other
        case Span():
            return domain.high - domain.low + 1
        case Picks():
            return 2 ** (len(domain.options) - len(domain.chosen) - len(domain.excluded))


def _cuts(rules: Sequence[Formula], key: str, state: State) -> list[object]:
    return [cut for rule in rules if key in rule.keys for cut in rule.cuts(key, state)]
