"""Reporting chains: one-, two- and three-step answers, and an approval that climbs by amount."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from num2words import num2words

from clover_decide.questions import AnyQuestion, Boolean, Choice, Integer, Quote, Text
from clover_train.groups import REF, REMARKS, SUBJECT, Guide, World, Writer, later


def world(setting: Writer, case: Writer) -> World:
    """Who is above whom, in shuffled sentences. Later answers follow from earlier ones by one look-up each."""
    w, rng = setting, case.rng
    line = w.names("people", w.rng.choice([5, 5, 6, 6, 7, 8]))
    limit = w.rng.choice([200, 500, 1000, 2000, 5000])
    start = rng.randrange(len(line) - 3)
    asking, above = line[start], line[start + 1 :]
    amount, ref = limit + rng.choice([-100, -50, -10, -1, 0, 1, 10, 50, 100, 300, -150]), case.ref()
    over, steps = amount > limit, rng.randint(2, len(above))
    people = [name for name in line if name != asking]
    rng.shuffle(people)

    clauses = {f"reports{i}": w.say("reports", a=a, b=b) for i, (a, b) in enumerate(itertools.pairwise(line))}
    reports = frozenset(clauses)
    clauses["approval_rule"] = w.say("approval_rule", limit=w.money(limit))
    clauses["request"] = case.say("request", a=asking, amount=case.money(amount))
    clauses["file_ref"] = case.say("file_ref", ref=ref)
    amounts = frozenset({"approval_rule", "request"})
    needs = {
        "manager": reports,
        "second": reports,
        "third": reports,
        "over": amounts,
        "approver": reports | amounts,
        "above": reports,
        "amount": frozenset({"request"}),
        "limit": frozenset({"approval_rule"}),
        "asker": frozenset({"request"}),
        "ref": frozenset({"file_ref"}),
    }
    answers = {
        "manager": above[0],
        "second": above[1],
        "third": above[2],
        "over": over,
        "approver": above[1] if over else above[0],
        "above": above[steps - 1],
        "amount": amount,
        "limit": limit,
        "asker": asking,
        "ref": ref,
    }
    distractors = w.remarks(REMARKS, a=w.rng.choice(line))
    distractors += [w.say("decoy_date", date=w.date(w.day())) for _ in range(2)]
    distractors += [w.say("decoy_amount", amount=w.money(w.rng.randrange(5, 300))) for _ in range(2)]
    links = [later(f"reports{i}", clauses[f"reports{i}"], a, b) for i, (a, b) in enumerate(itertools.pairwise(line))]
    relations = tuple((step, f"reports{i}#{b}") for i, (step, b) in enumerate(zip(links, line[1:], strict=True)))
    difference = f" = {abs(amount - limit)}" if amount != limit else "request"
    copies = {"asker": f"request#{asking}", "ref": f"file_ref#{ref}"}
    guide = replace(_guide(links[start : start + 3], difference, answers, steps), relations=relations, copies=copies)
    questions, rules = _questions(case, asking, tuple(people), steps), reports | {"approval_rule"}
    shown = _shown(start, steps, amounts, over)
    return World("chain", f"length={len(line)}", clauses, distractors, questions, answers, needs, rules, guide, shown)


def _shown(start: int, steps: int, amounts: frozenset[str], over: bool) -> dict[str, frozenset[str]]:
    """The links that lead to an answer, of all those there are."""
    up = [frozenset(f"reports{start + i}" for i in range(n)) for n in range(steps + 4)]
    return {"manager": up[1], "second": up[2], "third": up[3], "above": up[steps], "approver": up[1 + over] | amounts}


def _guide(links: Sequence[str], difference: str, answers: Mapping[str, Any], steps: int) -> Guide:
    (first, second, third), over = links, answers["over"]
    evidence = {
        "manager": (SUBJECT,),
        "second": (SUBJECT,),
        "third": (SUBJECT,),
        "over": ("approval_rule", difference),
        "approver": (difference,),
        "above": (SUBJECT,),
        "amount": ("request",),
        "limit": ("approval_rule",),
        "asker": ("request",),
        "ref": ("file_ref",),
    }
    below = {2: "second", 3: "third"}.get(steps, "third")
    builds = {"second": ("manager",), "third": ("second",), "approver": ("second",) if over else ("manager",), "above": (below,)}
    return Guide(evidence, builds, {"manager": second, "second": third}, (answers["asker"], first))


def _questions(w: Writer, start: str, people: tuple[str, ...], steps: int) -> dict[str, AnyQuestion]:
    return {
        "manager": Choice(w.say("q_manager", a=start), options=people),
        "second": Choice(w.say("q_second", a=start), options=people),
        "third": Choice(w.say("q_third", a=start), options=people),
        "over": Boolean(w.say("q_over", a=start)),
        "approver": Choice(w.say("q_approver", a=start), options=people),
        "above": Choice(w.say("q_above", a=start, steps=num2words(steps)), options=people),
        "amount": Integer(w.say("q_amount"), minimum=0, maximum=99999),
        "limit": Integer(w.say("q_limit"), minimum=0, maximum=99999),
        "asker": Quote(w.say("q_asker")),
        "ref": Text(w.say("q_ref"), pattern=REF),
    }
