"""Dispatch: an incident and its units, a drone and a no-fly zone."""

from __future__ import annotations

from clover_decide.questions import Choice, Score
from clover_linked.cases import COUNT, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, is_, rule
from clover_linked.graph import ans, choose, fact, op
from clover_linked.odds import SHARES
from clover_linked.wording import Writer

LEVELS = ("routine", "urgent", "emergency")


def _units_facts(d: Draw) -> Facts:
    units = d.names("units", d.pick(3, 3, 4))
    while len({unit.split()[0] for unit in units}) < len(units):
        units = d.names("units", len(units))
    limits = sorted(d.rng.sample(range(4, 45), 3), reverse=True)
    return {
        "units": dict(zip(units, d.rng.sample(range(2, 40), len(units)), strict=True)),
        "free": d.pick(*units),
        "limits": limits,
        "priority": d.pick(0, 1, 2),
        "backup_from": d.pick(1, 2),
        "place": d.name("places"),
        "patients": d.pick(1, 2, 3, 4, 5),
        "hospitals": tuple(d.names("hospitals", 2)),
        "closed": d.chance(),
        "ref": d.ref(),
    }


def _units_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    hospital, other = f["hospitals"]
    if "unsure" in f:
        shares = {level: percent for percent, level in f["unsure"]}
        report = w.say("report_unsure", "report", place=f["place"], p1=shares[0], p2=shares[1], p3=shares[2])
    else:
        report = w.say(f"report_{LEVELS[f['priority']]}", "report", place=f["place"])
    patients = w.say("patients", "patients", count=f["patients"]) if f["patients"] > 1 else w.say("one_patient", "patients")
    return [
        ("priority_rule", w.say("priority_rule")),
        ("limit_rule", w.say("limit_rule", **dict(zip(LEVELS, f["limits"], strict=True)))),
        ("unit_rule", w.say("unit_rule")),
        ("hospital_rule", w.say("hospital_rule", hospital=hospital, other=other)),
        ("backup_rule", w.say(f"backup_rule_{LEVELS[f['backup_from']]}", "backup_rule")),
        ("report", report),
        ("patients", patients),
        ("hospital", w.say("closed" if f["closed"] else "open", "hospital", hospital=hospital)),
        *(
            (f"unit{i}", w.say("free" if unit == f["free"] else "busy", f"unit{i}", unit=unit, minutes=minutes))
            for i, (unit, minutes) in enumerate(f["units"].items())
        ),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _units_rules(f: Facts) -> list[Rule]:
    each_level = [rule(f"the limit of {LEVELS[i]} calls", {"priority": is_(i)}, {"limit": is_(n)}) for i, n in enumerate(f["limits"])]
    each_unit = [rule(f"the minutes of {unit}", {"unit": is_(unit)}, {"eta": is_(minutes)}) for unit, minutes in f["units"].items()]
    backup = {"minimum": f["backup_from"]}
    return [
        *each_level,
        *each_unit,
        *(
            rule(f"{unit} on {LEVELS[i]} calls", {"unit": is_(unit), "priority": is_(i)}, {"in_time": is_(n <= limit)})
            for unit, n in f["units"].items()
            for i, limit in enumerate(f["limits"])
        ),
        rule(f"backup exactly from {LEVELS[f['backup_from']]} on", {"priority": backup}, {"backup": is_(True)}, {"backup": is_(False)}),
    ]


def _other_unit(d: Draw, f: Facts) -> Facts:
    return {**f, "free": d.pick(*(unit for unit in f["units"] if unit != f["free"]))}


def _unsure_units(d: Draw, f: Facts) -> list[tuple[int, Facts]]:
    """The priority is open; backup would be sent (or not) for the two less likely levels together."""
    order = (0, 1, 2) if f["backup_from"] == 1 else (2, 1, 0)
    return [(p, {**f, "priority": level}) for p, level in zip(d.pick(*SHARES), order, strict=True)]


UNITS = Structure(
    domain="dispatch",
    name="units",
    graph={
        "priority": fact("priority"),
        "unit": fact("free"),
        "eta": op("lookup", fact("units"), ans("unit")),
        "limit": op("lookup", fact("limits"), ans("priority")),
        "patients": fact("patients"),
        "hospital": choose((fact("closed"), op("lookup", fact("hospitals"), 1)), otherwise=op("lookup", fact("hospitals"), 0)),
        "backup": op("ge", ans("priority"), fact("backup_from")),
        "in_time": op("ge", ans("limit"), ans("eta")),
        "place": fact("place"),
        "ref": fact("ref"),
    },
    asks={
        "priority": Ask(Score, options=LEVELS),
        "unit": Ask(Choice, options=lambda f: list(f["units"])),
        "eta": Ask(COUNT.type, bounds={"maximum": 999}),
        "limit": Ask(COUNT.type, bounds={"maximum": 999}),
        "patients": Ask(COUNT.type, bounds={"maximum": 99}),
        "hospital": Ask(Choice, options=lambda f: f["hospitals"]),
        "backup": YES_NO,
        "in_time": YES_NO,
        "place": NAME,
        "ref": REF,
    },
    sample=_units_facts,
    clauses=_units_clauses,
    rules=_units_rules,
    edits=(
        _other_unit,
        lambda d, f: {**f, "priority": d.pick(*({0, 1, 2} - {f["priority"]}))},
        lambda d, f: {**f, "closed": not f["closed"]},
        lambda d, f: {**f, "backup_from": 3 - f["backup_from"]},
    ),
    distance=lambda f: None,
    unsure=_unsure_units,
    open_fact="priority",
)


def _airspace_facts(d: Draw) -> Facts:
    zone, other = d.names("zones", 2)
    radius = d.rng.randrange(300, 2000, 50)
    resized = d.rng.randrange(300, 2000, 50) if d.chance(0.6) else None
    reserve = d.pick(5, 6, 8, 9, 10, 12)
    trip = d.rng.randrange(6, 40)
    return {
        "drone": d.name("drones"),
        "zone": zone,
        "other": other,
        "place": d.name("waypoints"),
        "radius": radius,
        "resized": resized,
        "cleared": d.chance(0.25),
        "distance": d.near(resized or radius, 300, low=50),
        "trip": trip,
        "battery": trip + d.near(reserve, 8),
        "reserve": reserve,
        "ref": d.ref(),
    }


def _airspace_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    out = [
        ("zone", w.say("zone", zone=f["zone"], radius=f["radius"])),
        ("zone_rule", w.say("zone_rule")),
        ("waypoint", w.say("waypoint", drone=f["drone"], place=f["place"], distance=f["distance"], zone=f["zone"])),
        ("battery", w.say("battery", drone=f["drone"], minutes=f["battery"])),
        ("trip", w.say("trip", drone=f["drone"], place=f["place"], minutes=f["trip"])),
        ("reserve_rule", w.say("reserve_rule", minutes=f["reserve"])),
        ("order_rule", w.say("order_rule")),
        ("other_zone", w.say("other_zone", other=f["other"])),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]
    if f["resized"]:
        out.append(("resized", w.say("resized", zone=f["zone"], radius=f["resized"])))
    if f["cleared"]:
        out.append(("cleared", w.say("cleared", zone=f["zone"])))
    return out


def _airspace_rules(f: Facts) -> list[Rule]:
    enough = {"minimum": f["reserve"]}
    free = {"enum": ["fly", "swap"]}
    return [
        rule("everything is allowed where no zone is in force", {"in_force": is_(False)}, {"allowed": is_(True)}),
        rule("hold exactly if not allowed", {"allowed": is_(False)}, {"order": is_("hold")}, {"order": free}),
        rule("fly only with enough battery", {"order": is_("fly")}, {"enough": is_(True)}),
        rule("swap only with too little battery", {"order": is_("swap")}, {"enough": is_(False)}),
        rule(f"enough exactly from {f['reserve']} minutes on", {"remaining": enough}, {"enough": is_(True)}, {"enough": is_(False)}),
        rule(
            "a waypoint outside the last radius is allowed",
            {"distance": {"minimum": f["resized"] or f["radius"]}},
            {"allowed": is_(True)},
            tells=["radius"],
        ),
    ]


def _move_waypoint(d: Draw, f: Facts) -> Facts:
    radius = f["resized"] or f["radius"]
    return {**f, "distance": radius + (d.pick(0, 1, 20) if f["distance"] < radius else -d.pick(1, 2, 20))}


def _move_battery(d: Draw, f: Facts) -> Facts:
    enough = f["battery"] - f["trip"] >= f["reserve"]
    return {**f, "battery": f["trip"] + f["reserve"] + (-d.pick(1, 2) if enough else d.pick(0, 1))}


def _airspace_distance(f: Facts) -> int:
    """To the radius while the zone is in force, and to the reserve."""
    battery = abs(f["battery"] - f["trip"] - f["reserve"])
    return battery if f["cleared"] else min(battery, abs(f["distance"] - (f["resized"] or f["radius"])))


AIRSPACE = Structure(
    domain="dispatch",
    name="airspace",
    graph={
        "in_force": op("not", fact("cleared")),
        "radius": choose((fact("resized"), fact("resized")), otherwise=fact("radius")),
        "allowed": op("or", op("not", ans("in_force")), op("ge", ans("distance"), ans("radius"))),
        "remaining": op("sub", fact("battery"), fact("trip")),
        "enough": op("ge", ans("remaining"), fact("reserve")),
        "order": choose((op("not", ans("allowed")), "hold"), (op("not", ans("enough")), "swap"), otherwise="fly"),
        "distance": fact("distance"),
        "drone": fact("drone"),
        "ref": fact("ref"),
    },
    asks={
        "in_force": Ask(YES_NO.type, fields=("zone",)),
        "radius": Ask(COUNT.type, fields=("zone",), bounds=COUNT.bounds),
        "allowed": YES_NO,
        "remaining": COUNT,
        "enough": YES_NO,
        "order": Ask(Choice, options=("fly", "swap", "hold")),
        "distance": COUNT,
        "drone": NAME,
        "ref": REF,
    },
    sample=_airspace_facts,
    clauses=_airspace_clauses,
    rules=_airspace_rules,
    edits=(
        _move_waypoint,
        _move_battery,
        lambda d, f: {**f, "cleared": not f["cleared"]},
    ),
    distance=_airspace_distance,
    chronicle=("zone", "resized", "cleared"),
)
