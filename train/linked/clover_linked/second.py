"""Gold answers a second time, by hand-written functions from the briefs alone; a gate compares them with the rule graph's."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

Facts = Mapping[str, Any]
Answers = dict[str, Any]

LEVELS = ("low", "medium", "high")


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def _holding(named: Mapping[str, bool]) -> set[str]:
    return {name for name, holds in named.items() if holds}


def notice(facts: Facts) -> Answers:
    days = (facts["end"] - facts["given"]).days
    timely = days >= facts["required"]
    damage = facts["damage"] or 0
    refund = max(0, facts["deposit"] - damage) if timely else 0
    if refund == 0:
        deposit = "none"
    elif damage:
        deposit = "partial"
    else:
        deposit = "full"
    if facts["arrears"]:
        action = "collections"
    else:
        action = "refund" if timely else "close"
    return {
        "timely": timely,
        "deposit": deposit,
        "refund": refund,
        "action": action,
        "days": days,
        "notice_date": facts["given"],
        "holder": facts["holder"],
        "ref": facts["ref"],
        "points": _holding({"late notice": not timely, "damage": bool(damage), "arrears": facts["arrears"]}),
    }


def cure(facts: Facts) -> Answers:
    deadline = facts["noticed"] + timedelta(days=facts["days"])
    late_days = max(0, (facts["cured"] - deadline).days)
    fee = late_days * facts["fee"]
    may_terminate = facts["material"] and late_days > 0 and not facts["waived"]
    if may_terminate:
        step = "terminate"
    else:
        step = "invoice" if fee else "none"
    return {
        "gravity": "material" if facts["material"] else "minor",
        "deadline": deadline,
        "in_time": late_days == 0,
        "late_days": late_days,
        "fee": fee,
        "may_terminate": may_terminate,
        "next": step,
        "cured_on": facts["cured"],
        "client": facts["client"],
        "ref": facts["ref"],
    }


def amend(facts: Facts) -> Answers:
    quantity = facts["quantity"]
    if quantity < facts["small"]:
        lot = 0
    else:
        lot = 2 if quantity >= facts["large"] else 1
    amended = facts["ordered"] >= facts["amended"]
    price = facts["prices"][3 if lot == 2 and amended else lot]
    total = quantity * price
    return {
        "lot": lot,
        "amended": amended,
        "price": price,
        "total": total,
        "approver": "director" if total > facts["limit"] else "manager",
        "ordered": facts["ordered"],
        "quantity": quantity,
        "buyer": facts["buyer"],
        "ref": facts["ref"],
    }


def count(facts: Facts) -> Answers:
    fires = facts["count"] > facts["threshold"]
    malicious = fires and not facts["listed"]
    severity = (2 if facts["critical"] else 1) if malicious else 0
    return {
        "fires": fires,
        "verdict": "malicious" if malicious else "benign",
        "severity": severity,
        "action": ("close", "ticket", "page")[severity],
        "count": facts["count"],
        "critical": facts["critical"],
        "seen": facts["seen"],
        "host": facts["host"],
        "ref": facts["ref"],
        "holds": _holding({"detection fired": fires, "host allow-listed": facts["listed"], "critical asset": facts["critical"]}),
    }


def travel(facts: Facts) -> Answers:
    places = {facts["place1"], facts["place2"]}
    needed = next(minutes for a, b, minutes in facts["rows"] if {a, b} == places)
    impossible = facts["gap"] < needed
    excused = facts["tunnel"] and not facts["blocked"]
    risk = (1 if facts["factor"] else 2) if impossible and not excused else 0
    return {
        "gap": facts["gap"],
        "needed": needed,
        "impossible": impossible,
        "excused": excused,
        "risk": risk,
        "response": ("nothing", "ask", "lock")[risk],
        "holds": _holding({"tunnel used": facts["tunnel"], "exit blocked": facts["blocked"], "second factor confirmed": facts["factor"]}),
        "user": facts["user"],
        "seen": facts["seen"],
        "ref": facts["ref"],
    }


def window(facts: Facts) -> Answers:
    in_window = facts["from"] <= facts["seen"] <= facts["to"]
    muted = in_window and facts["class"] != facts["never"]
    level = facts["levels"][facts["class"]]
    if muted:
        queue = "archive"
    else:
        queue = "duty" if level == "high" and facts["tier1"] else "desk"
    return {
        "in_window": in_window,
        "muted": muted,
        "level": LEVELS.index(level),
        "queue": queue,
        "hours": facts["hours"][level],
        "seen": facts["seen"],
        "host": facts["host"],
        "class": facts["class"],
        "ref": facts["ref"],
    }


def units(facts: Facts) -> Answers:
    priority = facts["priority"]
    hospital, other = facts["hospitals"]
    return {
        "priority": priority,
        "unit": facts["free"],
        "eta": facts["units"][facts["free"]],
        "limit": facts["limits"][priority],
        "patients": facts["patients"],
        "hospital": other if facts["closed"] else hospital,
        "backup": priority >= facts["backup_from"],
        "in_time": facts["units"][facts["free"]] <= facts["limits"][priority],
        "place": facts["place"],
        "ref": facts["ref"],
    }


def airspace(facts: Facts) -> Answers:
    in_force = not facts["cleared"]
    radius = facts["radius"] if facts["resized"] is None else facts["resized"]
    allowed = not in_force or facts["distance"] >= radius
    remaining = facts["battery"] - facts["trip"]
    enough = remaining >= facts["reserve"]
    if allowed:
        order = "fly" if enough else "swap"
    else:
        order = "hold"
    return {
        "in_force": in_force,
        "radius": radius,
        "allowed": allowed,
        "remaining": remaining,
        "enough": enough,
        "order": order,
        "distance": facts["distance"],
        "drone": facts["drone"],
        "ref": facts["ref"],
    }


def chain(facts: Facts) -> Answers:
    boss = facts["boss"]
    manager = boss[facts["a"]]
    second = boss[manager]
    over = facts["amount"] > facts["limit"]
    return {
        "manager": manager,
        "second": second,
        "third": boss[second],
        "over": over,
        "approver": second if over else manager,
        "amount": facts["amount"],
        "ref": facts["ref"],
    }


def matrix(facts: Facts) -> Answers:
    grade = facts["grades"][facts["role"]]
    needed = facts["needs"][facts["resource"]]
    cleared = grade >= needed
    expiry = facts["passed"] + timedelta(days=facts["days"])
    trained = facts["passed"] <= facts["requested"] <= expiry
    sponsored = facts["sponsor"] is not None
    if cleared and trained:
        outcome = "grant"
    else:
        outcome = "temporary" if facts["emergency"] and sponsored else "deny"
    return {
        "grade": grade,
        "needed": needed,
        "cleared": cleared,
        "expiry": expiry,
        "trained": trained,
        "outcome": outcome,
        "holds": _holding({"grade high enough": cleared, "course valid": trained, "sponsor signed": sponsored}),
        "requested": facts["requested"],
        "ref": facts["ref"],
    }


def cover(facts: Facts) -> Answers:
    in_force = facts["start"] <= facts["day"] <= facts["end"]
    excluded = facts["cause"] in facts["excluded"]
    above_excess = Decimal(facts["loss"]) - facts["excess"]
    payable = in_force and not excluded and above_excess > 0
    capped = payable and above_excess > facts["ceiling"]
    payout = min(above_excess, Decimal(facts["ceiling"])) if payable else Decimal(0)
    if payable:
        decision = "capped" if capped else "pay"
    else:
        decision = "reject"
    return {
        "in_force": in_force,
        "excluded": excluded,
        "payable": payable,
        "payout": _cents(payout),
        "capped": capped,
        "decision": decision,
        "happened": facts["day"],
        "cause": facts["cause"],
        "ref": facts["ref"],
    }


def returned(facts: Facts) -> Answers:
    held = (facts["returned"] - facts["bought"]).days
    period = facts["faulty_days"] if facts["faulty"] else facts["windows"][facts["class"]]
    in_time = held <= period
    fee_due = facts["opened"] and not facts["faulty"]
    kept = facts["percent"] if fee_due else 0
    refund = Decimal(facts["price"]) * (100 - kept) / 100 if in_time else Decimal(0)
    if in_time:
        outcome = "part" if fee_due else "full"
    else:
        outcome = "none"
    return {
        "held": held,
        "window": period,
        "in_time": in_time,
        "fee_due": fee_due,
        "refund": _cents(refund),
        "outcome": outcome,
        "category": facts["class"],
        "returned": facts["returned"],
        "buyer": facts["buyer"],
        "ref": facts["ref"],
    }


def waiting(facts: Facts) -> Answers:
    days_in = (facts["treated"] - facts["start"]).days
    waited = days_in >= facts["days"]
    exempt = facts["reason"] == "accident"
    accepted = waited or exempt
    share = facts["shares"][facts["plan"]]
    paid = Decimal(facts["cost"]) * share / 100 if accepted else Decimal(0)
    return {
        "days_in": days_in,
        "waited": waited,
        "exempt": exempt,
        "decision": "accept" if accepted else "refuse",
        "share": share,
        "paid": _cents(paid),
        "plan": facts["plan"],
        "treated": facts["treated"],
        "insured": facts["insured"],
        "ref": facts["ref"],
    }


STRUCTURES: dict[str, Callable[[Facts], Answers]] = {
    "contract.notice": notice,
    "contract.cure": cure,
    "contract.amend": amend,
    "alert.count": count,
    "alert.travel": travel,
    "alert.window": window,
    "dispatch.units": units,
    "dispatch.airspace": airspace,
    "access.chain": chain,
    "access.matrix": matrix,
    "claim.cover": cover,
    "claim.return": returned,
    "claim.waiting": waiting,
}


def answer(structure: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Every question of the structure with its right answer in the world of these facts."""
    return STRUCTURES[structure](facts)
