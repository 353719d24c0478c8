"""Reporting chains: one-, two- and three-step answers, and an approval that climbs by amount."""

from __future__ import annotations

import itertools
import random

from clover_decide.questions import AnyQuestion, Boolean, Choice
from clover_train.groups import Split, World, Writer


def world(rng: random.Random, split: Split) -> World:
    """Who is above whom, in shuffled sentences. Later answers follow from earlier ones by one look-up each."""
    w = Writer(rng, split, "chain")
    line = w.names("people", rng.choice([4, 4, 5, 5, 6]))
    limit = rng.choice([200, 500, 1000, 2000, 5000])
    amount = limit + rng.choice([-100, -50, 50, 100, 300, 700])
    over, away = amount > limit, rng.random() < 0.5
    approver = line[2] if over else line[1]
    signer = line[line.index(approver) + 1] if away else approver
    people = tuple(rng.sample(line[1:], len(line) - 1))

    clauses = {f"reports{i}": w.say("reports", a=a, b=b) for i, (a, b) in enumerate(itertools.pairwise(line))}
    reports = frozenset(clauses)
    clauses["approval_rule"] = w.say("approval_rule", limit=w.money(limit))
    clauses["request"] = w.say("request", a=line[0], amount=w.money(amount))
    clauses["away"] = w.say("away" if away else "not_away", b=approver)
    clauses["away_rule"] = w.say("away_rule")
    amounts = frozenset({"approval_rule", "request"})
    needs = {
        "manager": reports,
        "second": reports,
        "third": reports,
        "over": amounts,
        "approver": reports | amounts,
        "signer": reports | amounts | {"away", "away_rule"},
    }
    answers = {
        "manager": line[1],
        "second": line[2],
        "third": line[3],
        "over": over,
        "approver": approver,
        "signer": signer,
    }
    distractors = [w.say("filler", a=rng.choice(line)) for _ in range(2)]
    questions = _questions(w, line[0], people)
    return World("chain", f"length={len(line)}", clauses, distractors, questions, answers, needs)


def _questions(w: Writer, start: str, people: tuple[str, ...]) -> dict[str, AnyQuestion]:
    return {
        "manager": Choice(w.say("q_manager", a=start), options=people),
        "second": Choice(w.say("q_second", a=start), options=people),
        "third": Choice(w.say("q_third", a=start), options=people),
        "over": Boolean(w.say("q_over", a=start)),
        "approver": Choice(w.say("q_approver", a=start), options=people),
        "signer": Choice(w.say("q_signer", a=start), options=people),
    }
