"""Branch and prune over domains: can the rules hold, what may one answer still be, which rules contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_decide.rules.domains import Domain, Names, Picks, Span, State, hull
from clover_decide.rules.formula import AtLeast, Formula, Not, Truth, conjuncts
from clover_decide.rules.linear import contradictory, tightened

STEPS = 20_000
"""Comparisons made for one question to the solver; beyond them it says that it does not know."""
ALLOWANCE = 1_000_000
"""Comparisons made for all questions about one block together: a few seconds."""
PROJECTED = 64
"""Pieces looked at when the values of one answer are narrowed down."""


@dataclass
class Allowance:
    """Comparisons that are left. Spent ones are taken from `parent` too."""

    left: int
    parent: Allowance | None = None

    def spend(self, cost: int) -> bool:
        """Whether so much was left."""
        self.left -= cost
        return self.left >= 0 and (self.parent is None or self.parent.spend(cost))


def feasible(rules: Sequence[Formula], state: State, allowance: Allowance | None = None) -> Truth:
    """Whether some answers within `state` keep all rules; None if the search was too large to tell, never so for complete answers."""
    if all(state[key].single for rule in rules for key in rule.keys):
        return all(rule.evaluate(state) is True for rule in rules)
    if allowance is not None and allowance.left <= 0:
        return False if tightened(rules, state) is None else None
    steps = Allowance(STEPS, allowance)
    narrow = _narrowed(rules, state, steps)
    if narrow is None:
        return False
    found, _ = _search(rules, narrow, steps)
    return False if found is None and contradictory(rules, narrow) else found


def witness(rules: Sequence[Formula], state: State) -> State | None:
    """Domains within `state` all of whose answers keep the rules; None if none were found."""
    steps = Allowance(10 * STEPS)
    narrow = _narrowed(rules, state, steps)
    return _search(rules, narrow, steps)[1] if narrow is not None else None


def _narrowed(rules: Sequence[Formula], state: State, allowance: Allowance) -> State | None:
    """Domains without what comparisons, and rules about one answer alone, exclude; None if that leaves nothing.

    Found in a few pieces here, it would otherwise be found again under every combination of the other answers.
    """
    bounded = tightened(rules, state)
    if bounded is None:
        return None
    narrow = dict(bounded)
    for key in state:
        alone = [rule for rule in rules if rule.keys == {key} and rule.evaluate(narrow) is not True]
        if not alone or narrow[key].single:
            continue
        kept, queue, looked = list[Domain](), [narrow[key]], 0
        while queue:
            part, looked = queue.pop(0), looked + 1
            here = {**narrow, key: part}
            truths = [rule.evaluate(here) for rule in alone]
            if False in truths:
                continue
            if part.single or None not in truths or looked > PROJECTED or not allowance.spend(sum(rule.cost for rule in alone)):
                kept.append(part)
            else:
                queue += part.parts(_cuts([rule for rule, truth in zip(alone, truths, strict=True) if truth is None], key, here))
        if not kept:
            return None
        narrow[key] = hull(kept)
    return narrow


def _search(rules: Sequence[Formula], state: State, allowance: Allowance) -> tuple[Truth, State | None]:
    """Branch and prune: the answer, and where it is yes the domains that were left."""
    if not allowance.spend(sum(rule.cost for rule in rules)):
        return None, None
    undecided: list[Formula] = []
    for rule in rules:
        truth = rule.evaluate(state)
        if truth is False:
            return False, None
        if truth is None:
            undecided.append(rule)
    if not undecided:
        return True, state
    apart = _components(undecided, state)
    if len(apart) > 1:
        return _apart(apart, state, allowance)
    key = _branch(undecided, state)
    unknown = False
    for part in state[key].parts(_cuts(undecided, key, state)):
        truth, found = _search(undecided, {**state, key: part}, allowance)
        if truth:
            return True, found
        unknown = unknown or truth is None
    return (None if unknown else False), None


def _components(rules: Sequence[Formula], state: State) -> list[list[Formula]]:
    """Rules that share no open answer, directly or through others, apart from each other; the cheapest first."""
    groups: list[tuple[set[str], list[Formula]]] = []
    for rule in rules:
        keys, members = _turning(rule, state), [rule]
        near = [group for group in groups if group[0] & keys]
        for group in near:
            keys, members = keys | group[0], group[1] + members
        groups = [group for group in groups if group not in near] + [(keys, members)]
    return sorted((members for _, members in groups), key=lambda members: sum(rule.cost for rule in members))


def _apart(components: Sequence[Sequence[Formula]], state: State, allowance: Allowance) -> tuple[Truth, State | None]:
    """Each component on its own: none bears on another's answers, so their numbers add up instead of multiplying."""
    unknown = False
    for component in components:
        truth, found = _search(component, state, allowance)
        if truth is False:
            return False, None
        unknown = unknown or found is None
        state = found or state
    return (None, None) if unknown else (True, state)


def project(rules: Sequence[Formula], state: State, key: str, allowance: Allowance | None = None) -> list[Domain]:
    """Parts of the domain of `key` that together hold every answer that some completion allows.

    Exact where the rules decide it; where that would take more than `PROJECTED` pieces or the allowance, a part may be too large.
    """
    narrow = _narrowed(rules, state, Allowance(STEPS, allowance))
    if narrow is None:
        return []
    out: list[Domain] = []
    queue = [narrow[key]]
    looked = 0
    while queue:
        part = queue.pop(0)
        looked += 1
        here = {**state, key: part}
        if feasible(rules, here, allowance) is False:
            continue
        open_rules = [rule for rule in rules if key in rule.keys and rule.evaluate(here) is None]
        spent = looked > PROJECTED or (allowance is not None and allowance.left <= 0)
        if part.single or not open_rules or spent:
            out.append(part)
        else:
            queue += part.parts(_cuts(open_rules, key, here))
    return out


def conflict(rules: Sequence[Formula], state: State) -> list[int]:
    """Indices of rules that cannot hold together and of which none can be spared (deletion filter)."""
    kept = list(range(len(rules)))
    for index in list(kept):
        without = [i for i in kept if i != index]
        if feasible([part for i in without for part in conjuncts(rules[i])], state) is False:
            kept = without
    return kept


def _branch(rules: Sequence[Formula], state: State) -> str:
    """The open answer with fewest values that something turns on, the first of equals: what is nearest to failing is tried first."""
    keys = sorted({key for rule in rules for key in _turning(rule, state)})
    return min(keys, key=lambda key: _size(state[key]))


def _turning(rule: Formula, state: State) -> set[str]:
    """Open answers that the undecided parts of a rule speak of."""
    match rule:
        case AtLeast(parts, _):
            return {key for part in parts if part.evaluate(state) is None for key in _turning(part, state)}
        case Not(part):
            return _turning(part, state)
    return {key for key in rule.keys if not state[key].single}


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
