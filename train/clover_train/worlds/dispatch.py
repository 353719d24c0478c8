"""Dispatch messages: priority from the report, the available unit, its time, the limit, hospital and backup."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Choice, Integer, Quote, Score, Text
from clover_train.groups import REF, REMARKS, Guide, World, Writer, later

LEVELS = ("routine", "urgent", "emergency")
RULES = frozenset({"priority_rule", "limit_rule", "unit_rule", "hospital_rule", "backup_rule"})
_PRIORITY = frozenset({"report", "priority_rule"})


def world(setting: Writer, case: Writer) -> World:
    """An incident and three or four units, one of them available. Time builds on the unit; limit and backup on priority."""
    w, rng = setting, case.rng
    units = _units(w)
    place, hospital, other = w.names("places", 1) + w.names("hospitals", 2)
    limits = sorted(w.rng.sample(range(4, 45), 3), reverse=True)
    lowest = w.rng.choice([1, 2])
    minutes = rng.sample(range(2, 40), len(units))
    chosen = rng.randrange(len(units))
    priority = rng.choice([0, 1, 2])
    patients = rng.choice([1, 2, 3, 4, 5])
    closed, ref = rng.random() < 0.5, case.ref()

    clauses = {
        "priority_rule": w.say("priority_rule"),
        "limit_rule": w.say("limit_rule", routine=limits[0], urgent=limits[1], emergency=limits[2]),
        "unit_rule": w.say("unit_rule"),
        "hospital_rule": w.say("hospital_rule", hospital=hospital, other=other),
        "backup_rule": w.say(f"backup_rule_{LEVELS[lowest]}"),
        "report": case.say(f"report_{LEVELS[priority]}", place=place),
        "patients": case.say("patients", count=patients) if patients > 1 else case.say("one_patient"),
        "hospital": case.say("closed" if closed else "open", hospital=hospital),
        "file_ref": case.say("file_ref", ref=ref),
    }
    for i, unit in enumerate(units):
        clauses[f"unit{i}"] = case.say("free" if i == chosen else "busy", unit=unit, minutes=minutes[i])
    answers = {
        "priority": priority,
        "unit": units[chosen],
        "eta": minutes[chosen],
        "limit": limits[priority],
        "patients": patients,
        "hospital": other if closed else hospital,
        "backup": priority >= lowest,
        "in_time": minutes[chosen] <= limits[priority],
        "closed": closed,
        "place": place,
        "ref": ref,
    }
    distractors = w.remarks(REMARKS, place=place)
    distractors += [w.say("decoy_minutes", minutes=w.rng.randrange(2, 60)) for _ in range(3)]
    needs, questions = _needs(len(units)), _questions(case, tuple(units), (hospital, other))
    guide = _guide(clauses, answers, limits, list(zip(units, minutes, strict=True)))
    sent = frozenset({"unit_rule", f"unit{chosen}"})
    shown = {"unit": sent, "eta": sent, "in_time": sent | needs["limit"]}
    return World("dispatch", f"units={len(units)}", clauses, distractors, questions, answers, needs, RULES, guide, shown)


def _units(w: Writer) -> list[str]:
    """Three or four units of different kinds."""
    units = w.names("units", w.rng.choice([3, 3, 4]))
    while len({unit.split()[0] for unit in units}) < len(units):
        units = w.names("units", len(units))
    return units


def _guide(clauses: Mapping[str, str], answers: Mapping[str, Any], limits: Sequence[int], units: Sequence[tuple[str, int]]) -> Guide:
    rule = clauses["limit_rule"]
    # The last word for each level in the rule: "Emergency", "emergencies".
    words = [re.findall(rf"{level[:-1]}\w+", rule, re.IGNORECASE)[-1] for level in LEVELS]
    by_level = [(later("limit_rule", rule, str(n), word), f"limit_rule#{n}") for n, word in zip(limits, words, strict=True)]
    by_unit = {
        unit: (later(f"unit{i}", clauses[f"unit{i}"], time, unit), f"unit{i}#{time}")
        for i, (unit, minutes) in enumerate(units)
        for time in [time_of(clauses[f"unit{i}"], unit, minutes)]
    }
    chosen = f"unit{[unit for unit, _ in units].index(answers['unit'])}"
    next_step = {"unit": by_unit[answers["unit"]][0], "priority": by_level[answers["priority"]][0]}
    eta, limit = by_unit[answers["unit"]][1], by_level[answers["priority"]][1]
    evidence = {
        "priority": ("priority_rule", "report"),
        "unit": (chosen,),
        "eta": (chosen, eta),
        "limit": ("report", "limit_rule", limit),
        "patients": ("patients",),
        "hospital": ("hospital_rule", "hospital"),
        "backup": ("report", "backup_rule"),
        "in_time": (chosen, eta, limit),
        "closed": ("hospital",),
        "place": ("report",),
        "ref": ("file_ref",),
    }
    builds = {"eta": ("unit",), "limit": ("priority",), "backup": ("priority",), "in_time": ("limit", "eta")}
    copies = {
        "place": f"report#{answers['place']}",
        "ref": f"file_ref#{answers['ref']}",
        "unit": f"{chosen}#{answers['unit']}",
        "eta": eta,
        "limit": limit,
        "patients": f"patients#{answers['patients']}",
        "hospital": f"hospital_rule#{answers['hospital']}",
    }
    return Guide(evidence, builds, next_step, relations=(*by_level, *by_unit.values()), copies=copies)


def time_of(said: str, unit: str, minutes: int) -> str:
    """The number of minutes as said, with the word after it if there is one: the unit may bear the same number."""
    return re.findall(rf"(?<!\d){minutes}(?!\d)(?:[ -]m\w+)?", said.replace(unit, "|"))[-1]


def _needs(units: int) -> dict[str, frozenset[str]]:
    unit = frozenset({"unit_rule", *(f"unit{i}" for i in range(units))})
    return {
        "priority": _PRIORITY,
        "unit": unit,
        "eta": unit,
        "limit": _PRIORITY | {"limit_rule"},
        "patients": frozenset({"patients"}),
        "hospital": frozenset({"hospital_rule", "hospital"}),
        "backup": _PRIORITY | {"backup_rule"},
        "in_time": unit | _PRIORITY | {"limit_rule"},
        "closed": frozenset({"hospital_rule", "hospital"}),
        "place": frozenset({"report"}),
        "ref": frozenset({"file_ref"}),
    }


def _questions(w: Writer, units: tuple[str, ...], hospitals: tuple[str, str]) -> dict[str, AnyQuestion]:
    return {
        "priority": Score(w.say("q_priority"), levels=LEVELS),
        "unit": Choice(w.say("q_unit"), options=units),
        "eta": Integer(w.say("q_eta"), minimum=0, maximum=99),
        "limit": Integer(w.say("q_limit"), minimum=0, maximum=99),
        "patients": Integer(w.say("q_patients"), minimum=0, maximum=99),
        "hospital": Choice(w.say("q_hospital"), options=hospitals),
        "backup": Boolean(w.say("q_backup")),
        "in_time": Boolean(w.say("q_in_time")),
        "closed": Boolean(w.say("q_closed")),
        "place": Quote(w.say("q_place")),
        "ref": Text(w.say("q_ref"), pattern=REF),
    }
