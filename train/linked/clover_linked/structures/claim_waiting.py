"""Health claims: a waiting time with an exception to its exception, and a plan's share of the bill."""

from __future__ import annotations

import datetime as dt

from clover_decide.questions import Choice, Score
from clover_linked.cases import CENTS, COUNT, DATE, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, is_, rule
from clover_linked.graph import ans, choose, fact, op
from clover_linked.wording import Days, Money, Writer

PLANS = ("bronze", "silver", "gold")
REASONS = ("illness", "accident", "event_accident")


def _waiting_facts(d: Draw) -> Facts:
    start, days = d.day(), d.pick(30, 45, 60, 75, 90, 120, 150)
    shares = sorted(d.rng.sample([30, 40, 50, 60, 70, 75, 80, 90], 3))
    return {
        "insured": d.name("people"),
        "plan": d.pick(0, 1, 2),
        "shares": shares,
        "start": start,
        "days": days,
        "treated": start + dt.timedelta(days=d.near(days, 40, low=1)),
        "cost": d.rng.randrange(100, 4000, 10),
        "reason": d.pick(*REASONS),
        "ref": d.ref(),
    }


def _waiting_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    return [
        ("start", w.say("start", insured=f["insured"], plan=PLANS[f["plan"]], date=f["start"])),
        ("waiting_rule", w.say("waiting_rule", days=Days(f["days"]))),
        ("accident_rule", w.say("accident_rule")),
        ("treated", w.say("treated", insured=f["insured"], date=f["treated"], cost=Money(f["cost"]))),
        ("reason", w.say(f["reason"], "reason")),
        ("share_rule", w.say("share_rule", **dict(zip(PLANS, f["shares"], strict=True)))),
        ("decision_rule", w.say("decision_rule")),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _waiting_rules(f: Facts) -> list[Rule]:
    enough = {"minimum": f["days"]}
    return [
        rule("over exactly after the waiting time", {"days_in": enough}, {"waited": is_(True)}, {"waited": is_(False)}),
        rule("after the waiting time all is accepted", {"waited": is_(True)}, {"decision": is_("accept")}),
        rule("exempt treatment is accepted", {"exempt": is_(True)}, {"decision": is_("accept")}),
        rule("neither waited nor exempt is refused", {"waited": is_(False), "exempt": is_(False)}, {"decision": is_("refuse")}),
        rule("refused exactly if nothing is paid", {"decision": is_("refuse")}, {"paid": is_(0)}, {"paid": {"exclusiveMinimum": 0}}),
        *(rule(f"the share of {PLANS[i]}", {"plan": is_(i)}, {"share": is_(n)}) for i, n in enumerate(f["shares"])),
    ]


def _move_treatment(d: Draw, f: Facts) -> Facts:
    over = (f["treated"] - f["start"]).days >= f["days"]
    return {**f, "treated": f["start"] + dt.timedelta(days=f["days"] + (-d.pick(1, 1, 2) if over else d.pick(0, 1)))}


WAITING = Structure(
    domain="claim",
    name="waiting",
    graph={
        "days_in": op("days", fact("start"), fact("treated")),
        "waited": op("ge", ans("days_in"), fact("days")),
        "exempt": op("eq", fact("reason"), "accident"),
        "decision": choose((op("or", ans("waited"), ans("exempt")), "accept"), otherwise="refuse"),
        "share": op("lookup", fact("shares"), ans("plan")),
        "paid": choose((op("eq", ans("decision"), "refuse"), 0), otherwise=op("percent", fact("cost"), ans("share"))),
        "plan": fact("plan"),
        "treated": fact("treated"),
        "insured": fact("insured"),
        "ref": fact("ref"),
    },
    asks={
        "days_in": COUNT,
        "waited": YES_NO,
        "exempt": YES_NO,
        "decision": Ask(Choice, options=("accept", "refuse")),
        "share": Ask(COUNT.type, bounds={"maximum": 100}),
        "paid": CENTS,
        "plan": Ask(Score, options=PLANS),
        "treated": DATE,
        "insured": NAME,
        "ref": REF,
    },
    sample=_waiting_facts,
    clauses=_waiting_clauses,
    rules=_waiting_rules,
    edits=(
        _move_treatment,
        _move_treatment,
        lambda d, f: {**f, "reason": d.pick(*(r for r in REASONS if r != f["reason"]))},
        lambda d, f: {**f, "plan": d.pick(*({0, 1, 2} - {f["plan"]}))},
    ),
    distance=lambda f: abs((f["treated"] - f["start"]).days - f["days"]),
)
