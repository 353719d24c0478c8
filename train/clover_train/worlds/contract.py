"""Contracts: notice, damage and deposit. Dates and amounts decide; late notice, damage and arrears interact."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Quote, Text
from clover_train.groups import REF, REMARKS, Guide, World, Writer

RULES = frozenset({"parties", "notice_rule", "deposit_amount", "deposit_rule", "action_rule"})
POINTS = ("late notice", "damage", "arrears")
_TIMELY = frozenset({"parties", "notice_rule", "notice_given"})
_DEPOSIT = _TIMELY | {"deposit_rule", "damage"}
NEEDS = {
    "timely": _TIMELY,
    "deposit": _DEPOSIT,
    "refund": _DEPOSIT | {"deposit_amount"},
    "action": _TIMELY | {"arrears", "action_rule"},
    "days": frozenset({"parties", "notice_given"}),
    "damage": frozenset({"damage"}),
    "notice_date": frozenset({"notice_given"}),
    "ref": frozenset({"file_ref"}),
    "holder": frozenset({"parties"}),
    "owner": frozenset({"parties"}),
    "points": _TIMELY | {"damage", "arrears"},
    "deposit_amount": frozenset({"deposit_amount"}),
    "end": frozenset({"parties"}),
}


def world(setting: Writer, case: Writer) -> World:
    """A contract that ends: was notice timely, what of the deposit returns, what is refunded, what next."""
    w, rng = setting, case.rng
    owner, holder = w.names("parties", 2)
    item = w.names("items", 1)[0]
    required = w.rng.choice([7, 10, 14, 15, 20, 21, 28, 30, 45, 60, 90])
    end = dt.date(2021, 1, 1) + dt.timedelta(days=w.rng.randrange(2200))
    deposit = w.rng.choice([400, 500, 600, 800, 900, 1200, 1500, 1800, 2000, 2400, 3000, 4500])
    given = _near(rng, required)
    notice = end - dt.timedelta(days=given)
    damage = rng.choice([0, 0, 0, 50, 100, 150, 200, 250, 300, 350])
    arrears = rng.random() < 0.35
    timely = given >= required

    clauses = {
        "parties": w.say("parties", owner=owner, holder=holder, item=item, end=w.date(end)),
        "notice_rule": w.say("notice_rule", days=w.days(required)),
        "deposit_amount": w.say("deposit_amount", amount=w.money(deposit)),
        "deposit_rule": w.say("deposit_rule"),
        "action_rule": w.say("action_rule"),
    }
    distractors = w.remarks(REMARKS, item=item, owner=owner, holder=holder)
    distractors.append(w.say("other_date", date=w.date(end - dt.timedelta(days=w.rng.randrange(200, 900))), item=item))
    distractors += [w.say("decoy_date", date=w.date(end + dt.timedelta(days=w.rng.randrange(-500, 500)))) for _ in range(2)]
    distractors += [w.say("decoy_amount", amount=w.money(w.rng.randrange(5, 300))) for _ in range(2)]
    given_on, ref = case.date(notice), case.ref()
    if rng.random() < 0.3:
        wrong = case.date(notice + dt.timedelta(days=rng.choice([-3, -2, -1, 1, 2, 3, 10])))
        clauses["notice_given"] = case.say("notice_given_corrected", wrong=wrong, date=given_on, holder=holder, owner=owner)
    else:
        clauses["notice_given"] = case.say("notice_given", date=given_on, holder=holder, owner=owner)
    clauses["file_ref"] = case.say("file_ref", ref=ref)
    clauses["damage"] = case.say("damage", amount=case.money(damage)) if damage else case.say("no_damage")
    clauses["arrears"] = case.say("arrears" if arrears else "no_arrears")
    answers = {
        "timely": timely,
        "deposit": "none" if not timely else "partial" if damage else "full",
        "refund": deposit - damage if timely else 0,
        "action": "collections" if arrears else "refund" if timely else "close",
        "days": given,
        "damage": bool(damage),
        "notice_date": notice,
        "ref": ref,
        "holder": holder,
        "owner": owner,
        "points": tuple(p for p, holds in zip(POINTS, (not timely, damage > 0, arrears), strict=True) if holds),
        "deposit_amount": deposit,
        "end": end,
    }
    amount = f" = {deposit - damage}" if damage else "deposit_amount"
    guide = _guide(answers, amount, (notice.isoformat(), given_on))
    return World("contract", "notice-deposit", clauses, distractors, _questions(case), answers, NEEDS, RULES, guide)


def _guide(answers: Mapping[str, Any], amount: str, notice: tuple[str, str]) -> Guide:
    between, timely, arrears = f": {answers['days']} days", answers["timely"], answers["action"] == "collections"
    end = answers["end"].isoformat()
    evidence = {
        "timely": ("notice_rule", between),
        "deposit": (between, "damage") if timely else ("damage", between),
        "refund": (between, "damage", amount) if timely else (between, "deposit_rule"),
        "action": ("arrears",) if arrears else ("arrears", between),
        "days": (between,),
        "damage": ("damage",),
        "notice_date": ("notice_given", notice[0]),
        "ref": ("file_ref",),
        "holder": ("parties",),
        "owner": ("parties",),
        "points": (between, "damage", "arrears"),
        "deposit_amount": ("deposit_amount",),
        "end": ("parties", end),
    }
    builds = {"timely": ("days",), "deposit": ("timely", "damage"), "refund": ("deposit", "timely"), "points": ("timely", "damage")}
    copies = {
        "days": f"{between}#{answers['days']}",
        "notice_date": f"{notice[0]}#{notice[0]}",
        "end": f"{end}#{end}",
        "ref": f"file_ref#{answers['ref']}",
        **{party: f"parties#{answers[party]}" for party in ("holder", "owner")},
    }
    same = ((f"{notice[0]}#{notice[1]}", f"notice_given#{notice[1]}"),)
    return Guide(evidence, builds if arrears else builds | {"action": ("timely",)}, {}, same=same, copies=copies)


def _questions(w: Writer) -> dict[str, AnyQuestion]:
    return {
        "timely": Boolean(w.say("q_timely")),
        "deposit": Choice(w.say("q_deposit"), options=("full", "partial", "none")),
        "refund": Integer(w.say("q_refund"), minimum=0, maximum=99999),
        "action": Choice(w.say("q_action"), options=("refund", "close", "collections")),
        "days": Integer(w.say("q_days"), minimum=0, maximum=999),
        "damage": Boolean(w.say("q_damage")),
        "notice_date": Date(w.say("q_notice_date")),
        "ref": Text(w.say("q_ref"), pattern=REF),
        "holder": Quote(w.say("q_holder")),
        "owner": Quote(w.say("q_owner")),
        "points": MultiChoice(w.say("q_points"), options=POINTS),
        "deposit_amount": Integer(w.say("q_deposit_amount"), minimum=0, maximum=99999),
        "end": Date(w.say("q_end")),
    }


def _near(rng: random.Random, threshold: int) -> int:
    """Half the draws within a few units of the threshold, on either side."""
    if rng.random() < 0.5:
        return max(1, threshold + rng.choice([-3, -2, -1, 0, 1, 2, 3]))
    return max(1, int(rng.gauss(threshold, threshold * 0.6)))
