"""Which sentences of a material show an answer: the facts it rests on and the rules that lead from them to it.

For the structures that clover-mini knows. A question has clauses of its own, and with them those of every answer it builds on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from clover_linked.cases import Facts, Structure
from clover_linked.graph import ancestors

Own = Mapping[str, tuple[str, ...]]
Span = tuple[int, int]


def _notice(_: Facts) -> Own:
    return {
        "timely": ("notice_rule",),
        "deposit": ("deposit_rule", "damage"),
        "refund": ("deposit_amount",),
        "action": ("action_rule", "arrears"),
        "days": ("parties", "given"),
        "notice_date": ("given",),
        "holder": ("parties",),
        "ref": ("file_ref",),
        "points": ("damage", "arrears"),
    }


def _count(_: Facts) -> Own:
    return {
        "fires": ("fire_rule",),
        "verdict": ("list_rule", "listed"),
        "severity": ("severity_rule", "critical"),
        "action": ("action_rule",),
        "count": ("observed",),
        "critical": ("critical",),
        "seen": ("observed",),
        "host": ("observed",),
        "ref": ("file_ref",),
        "holds": ("listed", "critical"),
    }


def _units(f: Facts) -> Own:
    sent = f"unit{list(f['units']).index(f['free'])}"
    return {
        "priority": ("priority_rule", "report"),
        "unit": ("unit_rule", sent),
        "eta": (sent,),
        "limit": ("limit_rule",),
        "patients": ("patients",),
        "hospital": ("hospital_rule", "hospital"),
        "backup": ("backup_rule",),
        "in_time": (),
        "place": ("report",),
        "ref": ("file_ref",),
    }


def _chain(f: Facts) -> Own:
    at = f["line"].index(f["a"])
    return {
        "manager": (f"reports{at}",),
        "second": (f"reports{at + 1}",),
        "third": (f"reports{at + 2}",),
        "over": ("approval_rule",),
        "approver": ("approval_rule", "request"),
        "amount": ("request",),
        "ref": ("file_ref",),
    }


OWN: Mapping[str, Callable[[Facts], Own]] = {
    "contract.notice": _notice,
    "alert.count": _count,
    "dispatch.units": _units,
    "access.chain": _chain,
}


def evidence(
    structure: Structure, facts: Facts, asked: Sequence[str], material: str, clauses: Sequence[tuple[str, str]]
) -> dict[str, list[Span]] | None:
    """(start, end) characters of the clauses that show each asked answer, in order; None for a structure of which they are not known.

    clauses: (place, text).
    """
    if structure.id not in OWN:
        return None
    own, at = OWN[structure.id](facts), dict(clauses)
    # Which of two answers an approver follows depends on the amount, and only one of the two is what shows it.
    above = {key: ancestors(structure.graph, key) for key in asked}
    if structure.id == "access.chain" and "approver" in above:
        above["approver"] = frozenset({"manager", "amount"} | ({"second"} if facts["amount"] > facts["limit"] else set()))
    found: dict[str, list[Span]] = {}
    for key in asked:
        places = sorted({place for k in (key, *above[key]) for place in own[k]})
        starts = [(material.index(at[place]), len(at[place])) for place in places]
        found[key] = sorted((start, start + size) for start, size in starts)
    return found
