"""Insurance and refund claims: cover with an excess and a ceiling, the return of goods."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from clover_decide.questions import Choice
from clover_linked.cases import CENTS, COUNT, DATE, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, is_, rule
from clover_linked.graph import ans, choose, fact, op
from clover_linked.odds import around, odds
from clover_linked.wording import Days, Money, Writer


def _cents(d: Draw, whole: int) -> int | Decimal:
    """A whole amount, or in one case of three one with cents."""
    return Decimal(f"{whole}.{d.rng.randrange(5, 100, 5):02}") if d.chance(0.33) else whole


def _cover_facts(d: Draw) -> Facts:
    insured, insurer = d.names("parties", 2)
    causes = d.names("causes", 3)
    start = d.day()
    end = start + dt.timedelta(days=d.pick(90, 180, 270, 364))
    excess = d.rng.randrange(50, 500, 25)
    ceiling = d.rng.randrange(800, 6000, 100)
    edge = d.pick(excess, excess + ceiling)
    loss = d.near(edge, 700, low=20)
    if d.chance():
        day = d.pick(start, end) + dt.timedelta(days=d.pick(-1, 0, 1))
    else:
        day = start + dt.timedelta(days=d.rng.randrange((end - start).days))
    return {
        "insured": insured,
        "insurer": insurer,
        "item": d.name("items"),
        "start": start,
        "end": end,
        "excess": excess,
        "ceiling": ceiling,
        "excluded": tuple(causes[:2]),
        "covered": causes[2],
        "cause": d.pick(causes[0], causes[2], causes[2]),
        "day": day,
        "loss": _cents(d, loss),
        "wrong": _cents(d, loss + d.pick(-150, -40, 40, 150)) if d.chance(0.25) and loss > 200 else None,
        "ref": d.ref(),
    }


def _cover_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    what = {key: f[key] for key in ("item", "cause", "insured")}
    event = w.say("event_unsure", "event", **what, **odds(f)) if "unsure" in f else w.say("event", date=f["day"], **what)
    loss = Money(f["loss"])
    return [
        ("policy", w.say("policy", **{key: f[key] for key in ("insured", "insurer", "item", "start", "end")})),
        ("excess", w.say("excess", amount=Money(f["excess"]))),
        ("ceiling", w.say("ceiling", amount=Money(f["ceiling"]))),
        ("excluded_rule", w.say("excluded_rule", cause1=f["excluded"][0], cause2=f["excluded"][1])),
        ("event", event),
        ("loss", w.say("loss_corrected", "loss", wrong=Money(f["wrong"]), amount=loss) if f["wrong"] else w.say("loss", amount=loss)),
        ("pay_rule", w.say("pay_rule")),
        ("decision_rule", w.say("decision_rule")),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _cover_rules(f: Facts) -> list[Rule]:
    some = {"exclusiveMinimum": 0}
    paid = {"enum": ["pay", "capped"]}
    outside = [_iso(f["start"], -1), _iso(f["end"], 1)]
    return [
        rule("nothing is paid outside the policy period", {"in_force": is_(False)}, {"payable": is_(False)}),
        rule("nothing is paid for an excluded cause", {"excluded": is_(True)}, {"payable": is_(False)}),
        rule("something is paid exactly if payable", {"payable": is_(True)}, {"payout": some}, {"payout": is_(0)}),
        rule("never more than the ceiling", {"payout": {}}, {"payout": {"maximum": f["ceiling"]}}),
        rule("capped means the ceiling", {"capped": is_(True)}, {"payout": is_(f["ceiling"])}),
        rule("reject exactly if nothing is paid", {"payable": is_(False)}, {"decision": is_("reject")}, {"decision": paid}),
        rule(
            "capped exactly if the ceiling cuts",
            {"capped": is_(True)},
            {"decision": is_("capped")},
            {"decision": {"enum": ["pay", "reject"]}},
        ),
        rule("not in force one day before its beginning or after its end", {"happened": {"enum": outside}}, {"in_force": is_(False)}),
    ]


def _iso(day: dt.date, shift: int) -> str:
    return (day + dt.timedelta(days=shift)).isoformat()


def _move_day(d: Draw, f: Facts) -> Facts:
    inside = f["start"] <= f["day"] <= f["end"]
    shift = d.pick(1, 2) if inside else d.pick(0, -1)
    return {**f, "day": f["end"] + dt.timedelta(days=shift)}


def _unsure_day(d: Draw, f: Facts) -> list[tuple[int, Facts]]:
    """The day is open around the end of the policy; otherwise the loss would be paid, so that the day decides."""
    loss = f["excess"] + d.rng.randrange(50, f["ceiling"] + 500)
    base = {**f, "cause": f["covered"], "loss": loss, "wrong": None}
    # 20 stands for the last day, which still counts.
    return [(p, {**base, "day": f["end"] + dt.timedelta(days=n - 20)}) for p, n in around(d, 20, reaching=False)]


def _cover_distance(f: Facts) -> int:
    """To the first or last day of the policy; while it covers the loss, also to the excess and the ceiling."""
    days = [abs((f["day"] - f["start"]).days), abs((f["day"] - f["end"]).days)]
    covered = f["start"] <= f["day"] <= f["end"] and f["cause"] not in f["excluded"]
    beyond = f["loss"] - f["excess"]
    return int(min([*days, abs(beyond), abs(beyond - f["ceiling"])] if covered else days))


_BEYOND = op("sub", fact("loss"), fact("excess"))

COVER = Structure(
    domain="claim",
    name="cover",
    graph={
        "in_force": op("and", op("ge", fact("day"), fact("start")), op("ge", fact("end"), fact("day"))),
        "excluded": op("in", fact("cause"), fact("excluded")),
        "payable": op("and", ans("in_force"), op("not", ans("excluded")), op("gt", _BEYOND, 0)),
        "payout": choose((ans("payable"), op("min", _BEYOND, fact("ceiling"))), otherwise=0),
        "capped": op("and", ans("payable"), op("gt", _BEYOND, fact("ceiling"))),
        "decision": choose((op("not", ans("payable")), "reject"), (ans("capped"), "capped"), otherwise="pay"),
        "happened": fact("day"),
        "cause": fact("cause"),
        "ref": fact("ref"),
    },
    asks={
        "in_force": YES_NO,
        "excluded": YES_NO,
        "payable": YES_NO,
        "payout": CENTS,
        "capped": YES_NO,
        "decision": Ask(Choice, options=("pay", "capped", "reject")),
        "happened": DATE,
        "cause": NAME,
        "ref": REF,
    },
    sample=_cover_facts,
    clauses=_cover_clauses,
    rules=_cover_rules,
    edits=(
        _move_day,
        lambda d, f: {**f, "loss": f["excess"] + (f["ceiling"] + 1 if f["loss"] - f["excess"] <= f["ceiling"] else f["ceiling"])},
        lambda d, f: {**f, "loss": f["excess"] if f["loss"] > f["excess"] else f["excess"] + 1},
    ),
    distance=_cover_distance,
    unsure=_unsure_day,
    open_fact="day",
)


def _return_facts(d: Draw) -> Facts:
    classes = d.names("categories", 3)
    windows = d.rng.sample([7, 10, 14, 20, 21, 28, 30, 45], 3)
    faulty = d.chance(0.3)
    faulty_days = d.pick(60, 75, 90, 100, 120)
    bought = d.day()
    held = d.near(faulty_days if faulty else windows[0], 15, low=1)
    price = d.rng.randrange(20, 900)
    return {
        "buyer": d.name("people"),
        "item": d.name("items"),
        "bought": bought,
        "returned": bought + dt.timedelta(days=held),
        "wrong": bought + dt.timedelta(days=max(1, held + d.pick(-3, -2, 2, 3))) if d.chance(0.25) else None,
        # Cents in steps of 20, so that a fee of whole fives of a percent is exact.
        "price": Decimal(f"{price}.{d.pick(20, 40, 60, 80)}") if d.chance(0.33) else price,
        "class": classes[0],
        "windows": dict(zip(classes, windows, strict=True)),
        "faulty": faulty,
        "faulty_days": faulty_days,
        "percent": d.pick(5, 10, 15, 20, 25),
        "opened": d.chance(0.55),
        "ref": d.ref(),
    }


def _return_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    what = {"buyer": f["buyer"], "item": f["item"]}
    wrong = {"wrong": f["wrong"]} if f["wrong"] and f["wrong"] != f["returned"] else {}
    return [
        ("purchase", w.say("purchase", date=f["bought"], price=Money(f["price"]), **what)),
        ("returned", w.say("returned_corrected" if wrong else "returned", "returned", date=f["returned"], **what, **wrong)),
        *((f"row{i}", w.say("window_row", f"row{i}", category=c, days=Days(n))) for i, (c, n) in enumerate(f["windows"].items())),
        ("class", w.say("class", item=f["item"], category=f["class"])),
        ("faulty_rule", w.say("faulty_rule", days=Days(f["faulty_days"]))),
        ("faulty", w.say("faulty" if f["faulty"] else "not_faulty", "faulty", item=f["item"])),
        ("fee_rule", w.say("fee_rule", percent=f["percent"])),
        ("opened", w.say("opened" if f["opened"] else "sealed", "opened", item=f["item"])),
        ("outcome_rule", w.say("outcome_rule")),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _return_rules(f: Facts) -> list[Rule]:
    back = {"enum": ["part", "full"]}
    return [
        rule("late exactly if the outcome is none", {"in_time": is_(False)}, {"outcome": is_("none")}, {"outcome": back}),
        rule("late: nothing back", {"in_time": is_(False)}, {"refund": is_(0)}, {"refund": {"exclusiveMinimum": 0}}),
        rule("part means a fee", {"outcome": is_("part")}, {"fee_due": is_(True)}),
        rule("full means no fee", {"outcome": is_("full")}, {"fee_due": is_(False), "refund": is_(f["price"])}),
        rule("within the shortest period is in time", {"held": {"maximum": min(f["windows"].values())}}, {"in_time": is_(True)}),
        rule("beyond the longest period is late", {"held": {"exclusiveMinimum": max(f["faulty_days"], *f["windows"].values())}},
             {"in_time": is_(False)}),
        *(rule(f"the period of {name}", {"category": is_(name)}, {"window": {"enum": [days, f["faulty_days"]]}})
          for name, days in f["windows"].items()),
    ]  # fmt: skip


def _move_return(d: Draw, f: Facts) -> Facts:
    window = f["faulty_days"] if f["faulty"] else f["windows"][f["class"]]
    late = (f["returned"] - f["bought"]).days > window
    return {**f, "returned": f["bought"] + dt.timedelta(days=window - d.pick(0, 1) if late else window + d.pick(1, 1, 2))}


RETURN = Structure(
    domain="claim",
    name="return",
    graph={
        "held": op("days", fact("bought"), fact("returned")),
        "window": choose((fact("faulty"), fact("faulty_days")), otherwise=op("lookup", fact("windows"), ans("category"))),
        "in_time": op("not", op("gt", ans("held"), ans("window"))),
        "fee_due": op("and", fact("opened"), op("not", fact("faulty"))),
        "refund": choose(
            (op("not", ans("in_time")), 0),
            (ans("fee_due"), op("sub", fact("price"), op("percent", fact("price"), fact("percent")))),
            otherwise=fact("price"),
        ),
        "outcome": choose((op("not", ans("in_time")), "none"), (ans("fee_due"), "part"), otherwise="full"),
        "category": fact("class"),
        "returned": fact("returned"),
        "buyer": fact("buyer"),
        "ref": fact("ref"),
    },
    asks={
        "held": COUNT,
        "window": COUNT,
        "in_time": YES_NO,
        "fee_due": YES_NO,
        "refund": CENTS,
        "outcome": Ask(Choice, options=("full", "part", "none")),
        "category": Ask(Choice, options=lambda f: list(f["windows"])),
        "returned": DATE,
        "buyer": NAME,
        "ref": REF,
    },
    sample=_return_facts,
    clauses=_return_clauses,
    rules=_return_rules,
    edits=(
        _move_return,
        _move_return,
        lambda d, f: {**f, "faulty": not f["faulty"]},
        lambda d, f: {**f, "opened": not f["opened"]},
    ),
    distance=lambda f: abs((f["returned"] - f["bought"]).days - (f["faulty_days"] if f["faulty"] else f["windows"][f["class"]])),
)
