"""Reporting chains: one-, two- and three-step answers, and an approval that climbs by amount."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from clover_decide.questions import AnyQuestion, Boolean, Choice
from clover_train.groups import SUBJECT, Guide, World, Writer, later


def world(setting: Writer, case: Writer) -> World:
    """Who is above whom, in shuffled sentences. Later answers follow from earlier ones by one look-up each."""
    w, rng = setting, case.rng
    line = w.names("people", w.rng.choice([5, 5, 6, 6, 7]))
    limit = w.rng.choice([200, 500, 1000, 2000, 5000])
    start = rng.randrange(len(line) - 3)
    asking, above = line[start], line[start + 1 :]
    amount = limit + rng.choice([-100, -50, 50, 100, 300, -150])
    over = amount > limit
    people = [name for name in line if name != asking]
    rng.shuffle(people)

    clauses = {f"reports{i}": w.say("reports", a=a, b=b) for i, (a, b) in enumerate(itertools.pairwise(line))}
    reports = frozenset(clauses)
    clauses["approval_rule"] = w.say("approval_rule", limit=w.money(limit))
    clauses["request"] = case.say("request", a=asking, amount=case.money(amount))
    amounts = frozenset({"approval_rule", "request"})
    needs = {
        "manager": reports,
        "second": reports,
        "third": reports,
        "over": amounts,
        "approver": reports | amounts,
    }
    answers = {
        "manager": above[0],
        "second": above[1],
        "third": above[2],
        "over": over,
        "approver": above[1] if over else above[0],
    }
    distractors = [w.say("filler", a=w.rng.choice(line)) for _ in range(2)]
    steps = [later(f"reports{i}", clauses[f"reports{i}"], a, b) for i, (a, b) in enumerate(itertools.pairwise(line))]
    relations = tuple((step, f"reports{i}#{b}") for i, (step, b) in enumerate(zip(steps, line[1:], strict=True)))
    guide = replace(_guide(steps[start : start + 3], f" = {abs(amount - limit)}", over, asking), relations=relations)
    questions, rules = _questions(case, asking, tuple(people)), reports | {"approval_rule"}
    return World("chain", f"length={len(line)}", clauses, distractors, questions, answers, needs, rules, guide)


def _guide(steps: Sequence[str], difference: str, over: bool, asking: str) -> Guide:
    first, second, third = steps
    evidence = {
        "manager": (SUBJECT,),
        "second": (SUBJECT,),
        "third": (SUBJECT,),
        "over": ("approval_rule", difference),
        "approver": (difference,),
    }
    builds = {"second": ("manager",), "third": ("second",), "approver": ("second",) if over else ("manager",)}
    return Guide(evidence, builds, {"manager": second, "second": third}, (asking, first))


def _questions(w: Writer, start: str, people: tuple[str, ...]) -> dict[str, AnyQuestion]:
    return {
        "manager": Choice(w.say("q_manager", a=start), options=people),
        "second": Choice(w.say("q_second", a=start), options=people),
        "third": Choice(w.say("q_third", a=start), options=people),
        "over": Boolean(w.say("q_over", a=start)),
        "approver": Choice(w.say("q_approver", a=start), options=people),
    }
