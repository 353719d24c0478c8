"""Security alerts under maintenance: a window, classes that are never muted, a table of levels."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from clover_decide.questions import Choice, Number, Score
from clover_linked.cases import DATE, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, is_, rule
from clover_linked.graph import ans, choose, fact, op
from clover_linked.structures.alert import LEVELS
from clover_linked.wording import Writer


def _window_facts(d: Draw) -> Facts:
    classes = d.names("classes", 3)
    begin = d.day()
    end = begin + dt.timedelta(days=d.rng.randrange(3, 15))
    seen = (end if d.chance() else begin) + dt.timedelta(days=d.pick(-1, 0, 1) if d.chance() else d.pick(-20, 16, 2, -2))
    return {
        "host": d.name("hosts"),
        "from": begin,
        "to": end,
        "class": classes[0],
        "levels": dict(zip(classes, d.rng.sample(LEVELS, 3), strict=True)),
        "never": d.pick(classes[0], classes[1]),
        "tier1": d.chance(),
        "hours": {"low": d.pick(24, 36, 48), "medium": d.pick(4, 6, 8), "high": d.pick(Decimal("0.5"), Decimal("1.5"), 2)},
        "seen": seen,
        "ref": d.ref(),
    }


def _window_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    return [
        ("window", w.say("window", host=f["host"], **{"from": f["from"], "to": f["to"]})),
        ("alert", w.say("alert", host=f["host"], date=f["seen"], **{"class": f["class"]})),
        *((f"level{i}", w.say("level_row", f"level{i}", level=v, **{"class": c})) for i, (c, v) in enumerate(f["levels"].items())),
        ("window_rule", w.say("window_rule")),
        ("never", w.say("never", **{"class": f["never"]})),
        ("tier", w.say("tier1" if f["tier1"] else "tier2", "tier", host=f["host"])),
        ("queue_rule", w.say("queue_rule")),
        ("hours_rule", w.say("hours_rule", **f["hours"])),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _window_rules(f: Facts) -> list[Rule]:
    hours = f["hours"]
    return [
        rule("muted only in maintenance", {"muted": is_(True)}, {"in_window": is_(True)}),
        rule("muted exactly in the archive", {"muted": is_(True)}, {"queue": is_("archive")}, {"queue": {"enum": ["duty", "desk"]}}),
        rule("duty only at level high", {"queue": is_("duty")}, {"level": is_(2)}),
        rule("hours at level high", {"level": is_(2)}, {"hours": is_(hours["high"])}, {"hours": {"enum": [hours["low"], hours["medium"]]}}),
        rule("the class has one level", {"class": is_(f["class"])}, {"level": is_(LEVELS.index(f["levels"][f["class"]]))}, tells=["class"]),
    ]


WINDOW = Structure(
    domain="alert",
    name="window",
    graph={
        "in_window": op("and", op("ge", fact("seen"), fact("from")), op("ge", fact("to"), fact("seen"))),
        "muted": op("and", ans("in_window"), op("not", op("eq", fact("class"), fact("never")))),
        "level": op("lookup", {"low": 0, "medium": 1, "high": 2}, op("lookup", fact("levels"), fact("class"))),
        "queue": choose((ans("muted"), "archive"), (op("and", op("eq", ans("level"), 2), fact("tier1")), "duty"), otherwise="desk"),
        "hours": op("lookup", fact("hours"), op("lookup", fact("levels"), fact("class"))),
        "seen": fact("seen"),
        "host": fact("host"),
        "class": fact("class"),
        "ref": fact("ref"),
    },
    asks={
        "in_window": YES_NO,
        "muted": YES_NO,
        "level": Ask(Score, options=LEVELS),
        "queue": Ask(Choice, options=("archive", "duty", "desk")),
        "hours": Ask(Number, bounds={"maximum": 99, "decimals": 1}),
        "seen": DATE,
        "host": NAME,
        "class": Ask(Choice, options=lambda f: list(f["levels"])),
        "ref": REF,
    },
    sample=_window_facts,
    clauses=_window_clauses,
    rules=_window_rules,
    edits=(
        lambda d, f: {**f, "seen": f["to"] + dt.timedelta(days=1 if f["from"] <= f["seen"] <= f["to"] else 0)},
        lambda d, f: {**f, "never": next(c for c in f["levels"] if c != f["never"])},
        lambda d, f: {**f, "tier1": not f["tier1"]},
    ),
    distance=lambda f: min(abs((f["seen"] - f["from"]).days), abs((f["seen"] - f["to"]).days)),
)
