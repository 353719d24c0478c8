"""Contracts and leases: notice and deposit, cure of a breach."""

from __future__ import annotations

import datetime as dt

from clover_decide.questions import Choice, MultiChoice
from clover_linked.cases import COUNT, DATE, DOLLARS, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, has, is_, lacks, rule
from clover_linked.graph import ans, choose, fact, holding, op
from clover_linked.odds import around, odds
from clover_linked.wording import Days, Money, Writer


def _notice_facts(d: Draw) -> Facts:
    owner, holder = d.names("parties", 2)
    required = d.pick(7, 10, 12, 14, 18, 20, 21, 25, 28, 30, 35, 45, 60, 75, 90)
    end, given = d.day(), d.near(required, 40, low=1)
    damage = d.pick(0, 0, *range(40, 400, 20))
    return {
        "owner": owner,
        "holder": holder,
        "item": d.name("items"),
        "end": end,
        "required": required,
        "given": end - dt.timedelta(days=given),
        "wrong": end - dt.timedelta(days=given + d.pick(-3, -2, 2, 3)) if d.chance(0.25) else None,
        "deposit": d.rng.randrange(450, 4000, 50),
        "damage": damage,
        "arrears": d.chance(0.35),
        "ref": d.ref(),
    }


def _notice_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    parties = {key: f[key] for key in ("owner", "holder")}
    if "unsure" in f:
        given = w.say("notice_given_unsure", "given", **odds(f))
    elif f["wrong"]:
        given = w.say("notice_given_corrected", "given", wrong=f["wrong"], date=f["given"], **parties)
    else:
        given = w.say("notice_given", "given", date=f["given"], **parties)
    damage = w.say("damage", "damage", amount=Money(f["damage"])) if f["damage"] else w.say("no_damage", "damage")
    return [
        ("parties", w.say("parties", item=f["item"], end=f["end"], **parties)),
        ("notice_rule", w.say("notice_rule", days=Days(f["required"]))),
        ("deposit_amount", w.say("deposit_amount", amount=Money(f["deposit"]))),
        ("deposit_rule", w.say("deposit_rule")),
        ("action_rule", w.say("action_rule")),
        ("given", given),
        ("damage", damage),
        ("arrears", w.say("arrears" if f["arrears"] else "no_arrears", "arrears")),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _notice_rules(f: Facts) -> list[Rule]:
    enough = {"minimum": f["required"]}
    some = {"minimum": 1}
    return [
        rule(f"timely exactly if days is at least {f['required']}", {"days": enough}, {"timely": is_(True)}, {"timely": is_(False)}),
        rule("late notice: no deposit", {"timely": is_(False)}, {"deposit": is_("none")}, {"deposit": {"enum": ["full", "partial"]}}),
        rule("no deposit: no refund", {"deposit": is_("none")}, {"refund": is_(0)}, {"refund": some}),
        rule("full deposit: all of it", {"deposit": is_("full")}, {"refund": is_(f["deposit"])}),
        rule("refund means timely", {"action": is_("refund")}, {"timely": is_(True)}),
        rule("close means late", {"action": is_("close")}, {"timely": is_(False)}),
        rule(
            "late notice is a point exactly if not timely",
            {"timely": is_(False)},
            {"points": has("late notice")},
            {"points": lacks("late notice")},
        ),
        rule("collections exactly with arrears", {"action": is_("collections")}, {"points": has("arrears")}, {"points": lacks("arrears")}),
    ]


def _move_notice(d: Draw, f: Facts) -> Facts:
    """The notice arrives on the other side of the threshold."""
    days = (f["end"] - f["given"]).days
    other = f["required"] - d.pick(1, 1, 2) if days >= f["required"] else f["required"] + d.pick(0, 1)
    return {**f, "given": f["end"] - dt.timedelta(days=max(1, other))}


def _unsure_notice(d: Draw, f: Facts) -> list[tuple[int, Facts]]:
    readings = around(d, f["required"], reaching=True)
    return [(p, {**f, "given": f["end"] - dt.timedelta(days=n), "wrong": None}) for p, n in readings]


NOTICE = Structure(
    domain="contract",
    name="notice",
    graph={
        "timely": op("ge", ans("days"), fact("required")),
        "deposit": choose((op("not", ans("timely")), "none"), (op("gt", fact("damage"), 0), "partial"), otherwise="full"),
        "refund": choose((op("eq", ans("deposit"), "none"), 0), otherwise=op("sub", fact("deposit"), fact("damage"))),
        "action": choose((fact("arrears"), "collections"), (ans("timely"), "refund"), otherwise="close"),
        "days": op("days", fact("given"), fact("end")),
        "notice_date": fact("given"),
        "holder": fact("holder"),
        "ref": fact("ref"),
        "points": holding(late_notice=op("not", ans("timely")), damage=op("gt", fact("damage"), 0), arrears=fact("arrears")),
    },
    asks={
        "timely": YES_NO,
        "deposit": Ask(Choice, options=("full", "partial", "none")),
        "refund": DOLLARS,
        "action": Ask(Choice, options=("refund", "close", "collections")),
        "days": COUNT,
        "notice_date": DATE,
        "holder": NAME,
        "ref": REF,
        "points": Ask(MultiChoice, options=("late notice", "damage", "arrears")),
    },
    sample=_notice_facts,
    clauses=_notice_clauses,
    rules=_notice_rules,
    edits=(
        _move_notice,
        _move_notice,
        lambda d, f: {**f, "damage": 0 if f["damage"] else d.rng.randrange(40, 400, 20)},
        lambda d, f: {**f, "arrears": not f["arrears"]},
    ),
    distance=lambda f: abs((f["end"] - f["given"]).days - f["required"]),
    unsure=_unsure_notice,
    open_fact="given",
)


def _cure_facts(d: Draw) -> Facts:
    vendor, client = d.names("parties", 2)
    days, noticed = d.pick(7, 10, 14, 15, 20, 21, 30), d.day()
    cured = noticed + dt.timedelta(days=d.near(days, 12, low=1))
    return {
        "vendor": vendor,
        "client": client,
        "service": d.name("services"),
        "noticed": noticed,
        "material": d.chance(0.65),
        "days": days,
        "cured": cured,
        "wrong": cured + dt.timedelta(days=d.pick(-2, -1, 1, 2)) if d.chance(0.25) else None,
        "fee": d.rng.randrange(20, 250, 5),
        "waived": d.chance(0.35),
        "ref": d.ref(),
    }


def _cure_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    breach = "breach_material" if f["material"] else "breach_minor"
    if f["wrong"]:
        cured = w.say("cured_corrected", "cured", wrong=f["wrong"], date=f["cured"])
    else:
        cured = w.say("cured", "cured", date=f["cured"])
    return [
        ("parties", w.say("parties", vendor=f["vendor"], client=f["client"], service=f["service"])),
        ("breach", w.say(breach, "breach", date=f["noticed"])),
        ("cure_rule", w.say("cure_rule", days=Days(f["days"]))),
        ("cured", cured),
        ("fee_rule", w.say("fee_rule", amount=Money(f["fee"]))),
        ("terminate_rule", w.say("terminate_rule")),
        ("waived", w.say("waived" if f["waived"] else "not_waived", "waived")),
        ("next_rule", w.say("next_rule")),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _cure_rules(f: Facts) -> list[Rule]:
    some, none = {"minimum": 1}, is_(0)
    return [
        rule("in time exactly if no day late", {"in_time": is_(True)}, {"late_days": none}, {"late_days": some}),
        rule("a fee exactly if cured late", {"in_time": is_(True)}, {"fee": none}, {"fee": some}),
        rule("a fee exactly if there are late days", {"late_days": none}, {"fee": none}, {"fee": some}),
        rule("the fee is a multiple of the daily fee", {"late_days": {}}, {"fee": {"multipleOf": f["fee"]}}),
        rule("cured in time: no termination", {"in_time": is_(True)}, {"may_terminate": is_(False)}),
        rule(
            "terminate exactly if allowed",
            {"may_terminate": is_(True)},
            {"next": is_("terminate")},
            {"next": {"enum": ["invoice", "none"]}},
        ),
        rule("a minor breach never allows termination", {"gravity": is_("minor")}, {"may_terminate": is_(False)}),
    ]


def _move_cure(d: Draw, f: Facts) -> Facts:
    late = (f["cured"] - f["noticed"]).days > f["days"]
    shift = f["days"] - d.pick(0, 1) if late else f["days"] + d.pick(1, 1, 2)
    return {**f, "cured": f["noticed"] + dt.timedelta(days=shift)}


CURE = Structure(
    domain="contract",
    name="cure",
    graph={
        "gravity": choose((fact("material"), "material"), otherwise="minor"),
        "deadline": op("plus_days", fact("noticed"), fact("days")),
        "in_time": op("not", op("gt", fact("cured"), ans("deadline"))),
        "late_days": op("max", op("days", ans("deadline"), fact("cured")), 0),
        "fee": op("mul", ans("late_days"), fact("fee")),
        "may_terminate": op("and", op("eq", ans("gravity"), "material"), op("not", ans("in_time")), op("not", fact("waived"))),
        "next": choose((ans("may_terminate"), "terminate"), (op("gt", ans("fee"), 0), "invoice"), otherwise="none"),
        "cured_on": fact("cured"),
        "client": fact("client"),
        "ref": fact("ref"),
    },
    asks={
        "gravity": Ask(Choice, options=("minor", "material")),
        "deadline": DATE,
        "in_time": YES_NO,
        "late_days": COUNT,
        "fee": DOLLARS,
        "may_terminate": YES_NO,
        "next": Ask(Choice, options=("terminate", "invoice", "none")),
        "cured_on": DATE,
        "client": NAME,
        "ref": REF,
    },
    sample=_cure_facts,
    clauses=_cure_clauses,
    rules=_cure_rules,
    edits=(
        _move_cure,
        _move_cure,
        lambda d, f: {**f, "waived": not f["waived"]},
        lambda d, f: {**f, "material": not f["material"]},
    ),
    distance=lambda f: abs((f["cured"] - f["noticed"]).days - f["days"]),
)
