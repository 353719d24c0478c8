"""Security alerts: a count against a threshold, impossible travel."""

from __future__ import annotations

from clover_decide.questions import Choice, MultiChoice, Score
from clover_linked.cases import COUNT, DATE, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, has, is_, lacks, rule
from clover_linked.graph import ans, choose, fact, holding, op
from clover_linked.odds import around, odds
from clover_linked.wording import Writer

LEVELS = ("low", "medium", "high")


def _count_facts(d: Draw) -> Facts:
    threshold = d.pick(6, 9, 11, 14, 16, 18, 22, 24, 28, 32, 36, 42, 48, 55, 60)
    count = d.near(threshold, 30, low=2)
    return {
        "host": d.name("hosts"),
        "user": d.name("people"),
        "noun": d.name("events"),
        "threshold": threshold,
        "count": count,
        "wrong": count + d.pick(2, 3, 4) if d.chance(0.25) else None,
        "listed": d.chance(0.35),
        "critical": d.chance(),
        "seen": d.day(),
        "ref": d.ref(),
    }


def _count_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    where = {"noun": f["noun"], "host": f["host"], "user": f["user"], "date": f["seen"]}
    if "unsure" in f:
        observed = w.say("observed_unsure", "observed", **odds(f), **where)
    elif f["wrong"]:
        observed = w.say("observed_corrected", "observed", wrong=f["wrong"], count=f["count"], **where)
    else:
        observed = w.say("observed", "observed", count=f["count"], **where)
    return [
        ("fire_rule", w.say("fire_rule", threshold=f["threshold"], noun=f["noun"])),
        ("list_rule", w.say("list_rule")),
        ("severity_rule", w.say("severity_rule")),
        ("action_rule", w.say("action_rule")),
        ("observed", observed),
        ("listed", w.say("listed" if f["listed"] else "not_listed", "listed", host=f["host"])),
        ("critical", w.say("critical" if f["critical"] else "not_critical", "critical", host=f["host"])),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _count_rules(f: Facts) -> list[Rule]:
    over = {"exclusiveMinimum": f["threshold"]}
    bad = {"enum": [1, 2]}
    return [
        rule(f"fires exactly above {f['threshold']}", {"count": over}, {"fires": is_(True)}, {"fires": is_(False)}),
        rule("an alert that does not fire is benign", {"fires": is_(False)}, {"verdict": is_("benign")}),
        rule("benign exactly if low", {"verdict": is_("benign")}, {"severity": is_(0)}, {"severity": bad}),
        rule("low is closed", {"severity": is_(0)}, {"action": is_("close")}),
        rule("medium gets a ticket", {"severity": is_(1)}, {"action": is_("ticket")}),
        rule("high pages", {"severity": is_(2)}, {"action": is_("page"), "critical": is_(True)}),
        rule("benign is closed", {"verdict": is_("benign")}, {"action": is_("close")}, {"action": {"enum": ["page", "ticket"]}}),
        rule(
            "detection fired is among what holds exactly if it fires",
            {"fires": is_(True)},
            {"holds": has("detection fired")},
            {"holds": lacks("detection fired")},
        ),
    ]


def _move_count(d: Draw, f: Facts) -> Facts:
    fires = f["count"] > f["threshold"]
    return {**f, "count": max(1, f["threshold"] - d.pick(0, 1) if fires else f["threshold"] + d.pick(1, 1, 2))}


def _unsure_count(d: Draw, f: Facts) -> list[tuple[int, Facts]]:
    return [(p, {**f, "count": n, "listed": False, "wrong": None}) for p, n in around(d, f["threshold"], reaching=False)]


_MALICIOUS = op("eq", ans("verdict"), "malicious")

COUNTED = Structure(
    domain="alert",
    name="count",
    graph={
        "fires": op("gt", ans("count"), fact("threshold")),
        "verdict": choose((op("and", ans("fires"), op("not", fact("listed"))), "malicious"), otherwise="benign"),
        "severity": choose((op("and", _MALICIOUS, fact("critical")), 2), (_MALICIOUS, 1), otherwise=0),
        "action": choose((op("eq", ans("severity"), 2), "page"), (op("eq", ans("severity"), 1), "ticket"), otherwise="close"),
        "count": fact("count"),
        "critical": fact("critical"),
        "seen": fact("seen"),
        "host": fact("host"),
        "ref": fact("ref"),
        "holds": holding(detection_fired=ans("fires"), critical_asset=fact("critical"), **{"host_allow-listed": fact("listed")}),
    },
    asks={
        "fires": YES_NO,
        "verdict": Ask(Choice, options=("benign", "malicious")),
        "severity": Ask(Score, options=LEVELS),
        "action": Ask(Choice, options=("page", "ticket", "close")),
        "count": Ask(COUNT.type, fields=("noun",), bounds=COUNT.bounds),
        "critical": YES_NO,
        "seen": DATE,
        "host": NAME,
        "ref": REF,
        "holds": Ask(MultiChoice, options=("detection fired", "host allow-listed", "critical asset")),
    },
    sample=_count_facts,
    clauses=_count_clauses,
    rules=_count_rules,
    edits=(
        _move_count,
        _move_count,
        lambda d, f: {**f, "listed": not f["listed"]},
        lambda d, f: {**f, "critical": not f["critical"]},
    ),
    distance=lambda f: abs(f["count"] - f["threshold"]),
    unsure=_unsure_count,
    open_fact="count",
)


def _travel_facts(d: Draw) -> Facts:
    places = d.names("cities", 4)
    needed = d.rng.randrange(35, 400)
    others = d.rng.sample([n for n in range(35, 400) if abs(n - needed) > 3], 2)
    gap = d.near(needed, 30, low=5)
    return {
        "user": d.name("people"),
        "place1": places[0],
        "place2": places[1],
        "rows": [(places[0], places[1], needed), (places[0], places[2], others[0]), (places[1], places[3], others[1])],
        "gap": gap,
        "wrong": gap + d.pick(-4, -3, 3, 4) if d.chance(0.25) else None,
        "needed": needed,
        "tunnel": d.chance(0.45),
        "blocked": d.chance(0.5),
        "factor": d.chance(),
        "seen": d.day(),
        "ref": d.ref(),
    }


def _travel_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    who = {key: f[key] for key in ("user", "place1", "place2")}
    wrong = {"wrong": f["wrong"]} if f["wrong"] else {}
    signins = w.say("signins_corrected" if wrong else "signins", "signins", minutes=f["gap"], date=f["seen"], **who, **wrong)
    return [
        ("signins", signins),
        *((f"row{i}", w.say("row", f"row{i}", a=a, b=b, minutes=n)) for i, (a, b, n) in enumerate(f["rows"])),
        ("travel_rule", w.say("travel_rule")),
        ("tunnel_rule", w.say("tunnel_rule")),
        ("tunnel", w.say("tunnel" if f["tunnel"] else "no_tunnel", "tunnel", user=f["user"])),
        ("exit", w.say("exit_blocked" if f["blocked"] else "exit_fine", "exit")),
        ("risk_rule", w.say("risk_rule")),
        ("response_rule", w.say("response_rule")),
        ("factor", w.say("factor" if f["factor"] else "no_factor", "factor", user=f["user"])),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _travel_rules(f: Facts) -> list[Rule]:
    short = {"exclusiveMaximum": f["needed"]}
    return [
        rule(
            f"impossible exactly below {f['needed']} minutes",
            {"gap": short},
            {"impossible": is_(True)},
            {"impossible": is_(False)},
            tells=["needed"],
        ),
        rule("possible travel is low risk", {"impossible": is_(False)}, {"risk": is_(0)}),
        rule("excused is low risk", {"excused": is_(True)}, {"risk": is_(0)}),
        rule("high is locked", {"risk": is_(2)}, {"response": is_("lock")}),
        rule("medium is asked", {"risk": is_(1)}, {"response": is_("ask")}),
        rule("low gets nothing", {"risk": is_(0)}, {"response": is_("nothing")}),
        rule("excused means the tunnel was used", {"excused": is_(True)}, {"holds": has("tunnel used")}),
    ]


def _move_gap(d: Draw, f: Facts) -> Facts:
    impossible = f["gap"] < f["needed"]
    return {**f, "gap": f["needed"] + d.pick(0, 1) if impossible else f["needed"] - d.pick(1, 1, 2)}


TRAVEL = Structure(
    domain="alert",
    name="travel",
    graph={
        "gap": fact("gap"),
        "needed": fact("needed"),
        "impossible": op("lt", ans("gap"), ans("needed")),
        "excused": op("and", fact("tunnel"), op("not", fact("blocked"))),
        "risk": choose(
            (op("not", op("and", ans("impossible"), op("not", ans("excused")))), 0),
            (fact("factor"), 1),
            otherwise=2,
        ),
        "response": choose((op("eq", ans("risk"), 2), "lock"), (op("eq", ans("risk"), 1), "ask"), otherwise="nothing"),
        "holds": holding(tunnel_used=fact("tunnel"), exit_blocked=fact("blocked"), second_factor_confirmed=fact("factor")),
        "user": fact("user"),
        "seen": fact("seen"),
        "ref": fact("ref"),
    },
    asks={
        "gap": COUNT,
        "needed": COUNT,
        "impossible": YES_NO,
        "excused": YES_NO,
        "risk": Ask(Score, options=LEVELS),
        "response": Ask(Choice, options=("lock", "ask", "nothing")),
        "holds": Ask(MultiChoice, options=("tunnel used", "exit blocked", "second factor confirmed")),
        "user": NAME,
        "seen": DATE,
        "ref": REF,
    },
    sample=_travel_facts,
    clauses=_travel_clauses,
    rules=_travel_rules,
    edits=(
        _move_gap,
        _move_gap,
        lambda d, f: {**f, "tunnel": not f["tunnel"]},
        lambda d, f: {**f, "blocked": not f["blocked"]},
        lambda d, f: {**f, "factor": not f["factor"]},
    ),
    distance=lambda f: abs(f["gap"] - f["needed"]),
)
