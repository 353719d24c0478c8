"""Dispatch messages: priority from the report, nearest available unit, its time, and whether it meets the limit."""

from __future__ import annotations

import random

from clover_decide.questions import AnyQuestion, Boolean, Choice, Integer, Score
from clover_train.groups import Split, World, Writer

LEVELS = ("routine", "urgent", "emergency")


def world(rng: random.Random, split: Split) -> World:
    """An incident and three or four units; some unavailable. Unit, time, limit and "in time" build on each other."""
    w = Writer(rng, split, "dispatch")
    units = w.names("units", rng.choice([3, 3, 4]))
    while len({unit.split()[0] for unit in units}) < len(units):
        units = w.names("units", len(units))
    place, hospital, other = w.names("places", 1) + w.names("hospitals", 2)
    minutes = rng.sample(range(2, 30), len(units))
    free = [rng.random() < 0.6 for _ in units]
    if not any(free):
        free[rng.randrange(len(units))] = True
    priority = rng.choice([0, 1, 2])
    limits = sorted(rng.sample(range(4, 31), 3), reverse=True)
    patients = rng.choice([1, 2, 3, 4])
    closed = rng.random() < 0.4
    chosen = min((m, i) for i, m in enumerate(minutes) if free[i])[1]
    in_time = minutes[chosen] <= limits[priority]

    clauses = {
        "report": w.say(f"report_{LEVELS[priority]}", place=place),
        "patients": w.say("patients", count=patients) if patients > 1 else w.say("one_patient"),
        "priority_rule": w.say("priority_rule"),
        "limit_rule": w.say("limit_rule", routine=limits[0], urgent=limits[1], emergency=limits[2]),
        "unit_rule": w.say("unit_rule"),
        "hospital_rule": w.say("hospital_rule", hospital=hospital, other=other),
        "hospital": w.say("closed" if closed else "open", hospital=hospital),
        "backup_rule": w.say("backup_rule"),
    }
    for i, unit in enumerate(units):
        clauses[f"unit{i}"] = w.say("free" if free[i] else "busy", unit=unit, minutes=minutes[i])
    answers = {
        "priority": priority,
        "unit": units[chosen],
        "eta": minutes[chosen],
        "limit": limits[priority],
        "in_time": in_time,
        "patients": patients,
        "hospital": other if closed else hospital,
        "backup": priority == 2 or not in_time,
    }
    distractors = [w.say("filler", place=place) for _ in range(2)]
    questions = _questions(w, tuple(units), (hospital, other))
    return World("dispatch", f"units={len(units)}", clauses, distractors, questions, answers, _needs(len(units)))


def _needs(units: int) -> dict[str, frozenset[str]]:
    unit = frozenset({"unit_rule", *(f"unit{i}" for i in range(units))})
    priority = frozenset({"report", "priority_rule"})
    limit = priority | {"limit_rule"}
    return {
        "priority": priority,
        "unit": unit,
        "eta": unit,
        "limit": limit,
        "in_time": unit | limit,
        "patients": frozenset({"patients"}),
        "hospital": frozenset({"hospital_rule", "hospital"}),
        "backup": unit | limit | {"backup_rule"},
    }


def _questions(w: Writer, units: tuple[str, ...], hospitals: tuple[str, str]) -> dict[str, AnyQuestion]:
    return {
        "priority": Score(w.say("q_priority"), levels=LEVELS),
        "unit": Choice(w.say("q_unit"), options=units),
        "eta": Integer(w.say("q_eta"), minimum=0, maximum=99),
        "limit": Integer(w.say("q_limit"), minimum=0, maximum=99),
        "in_time": Boolean(w.say("q_in_time")),
        "patients": Integer(w.say("q_patients"), minimum=0, maximum=99),
        "hospital": Choice(w.say("q_hospital"), options=hospitals),
        "backup": Boolean(w.say("q_backup")),
    }
