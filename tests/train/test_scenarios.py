"""Scenarios: data that a program draws, executes and words."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import Any

import pytest
import yaml

from clover_decide.questions import Choice, Score
from clover_train.groups import PHRASES, Writer, phrases
from clover_train.worlds.scenario import check, evaluate, tell

BOOKS = sorted((PHRASES / "train" / "scenario").glob("*.yaml"))
SMALL: dict[str, Any] = yaml.safe_load("""
setting: {limit: "whole(3, 9)"}
case:
  who: person()
  sent: date()
  came: sent + days(near(limit))
  slow: (came - sent).days > limit
rules:
  rule: ["more than {limit:days} on the way is slow."]
facts:
  way: ["{who} sent it on {sent}, and it came on {came}."]
  tone: {by: slow, say: {true: ["{who} is cross."], false: ["{who} is content."]}}
remarks: ["the parcel was brown."]
questions:
  slow: {type: boolean, ask: ["was it slow?"], answer: slow, from: [way, rule, sent ~ came]}
  sender: {type: quote, ask: ["who sent it?"], answer: who, from: [way]}
  arrival: {type: date, ask: ["when did it come?"], answer: came, from: [way]}
  limit: {type: integer, ask: ["how many days may it take?"], answer: limit, from: [rule]}
  taken: {type: integer, ask: ["how long did it take?"], answer: (came - sent).days, from: [way, sent ~ came]}
  level: {type: score, levels: [fine, bad], ask: ["how bad is it?"], answer: "'bad' if slow else 'fine'", from: [way, rule], builds: [slow]}
""")


def told(book: dict[str, Any], seed: int) -> Any:
    return tell("small", book, *(Writer(random.Random(f"{seed}-{part}"), "train", "scenario") for part in ("setting", "case")))


def test_answers_are_executed_and_said_in_the_text() -> None:
    for seed in range(50):
        world = told(SMALL, seed)
        answers = world.answers
        assert answers["sender"] in world.clauses["way"] and isinstance(answers["arrival"], dt.date)
        assert answers["level"] == int(answers["slow"]) == int(answers["taken"] > answers["limit"]), seed
        assert world.clauses["tone"].endswith("cross." if answers["slow"] else "content.")
        assert world.rules == {"rule"} and world.needs["slow"] == {"way", "rule"}
        assert isinstance(world.questions["level"], Score)


def test_only_what_is_said_is_copied() -> None:
    for seed in range(50):
        world = told(SMALL, seed)
        assert world.guide.copies["sender"] == f"way#{world.answers['sender']}"
        assert "taken" not in world.guide.copies, "the days are worked out, whatever digits the clause shows"
        assert world.guide.evidence["taken"] == ("way", f": {world.answers['taken']} days", f" = {world.answers['taken']}")
        assert world.guide.builds == {"level": ("slow",)}


def test_expressions_have_no_builtins() -> None:
    with pytest.raises(NameError):
        evaluate("open('x')", {})


@pytest.mark.parametrize(
    ("change", "told_of"),
    [
        ({"answer": "nobody"}, "NameError"),
        ({"type": "choice", "options": ["yes", "no"], "answer": "'maybe'"}, "not one that"),
        ({"from": ["nowhere"]}, "KeyError"),
        ({"builds": ["nothing"]}, "unknown 'nothing'"),
        ({"answer": "True"}, "in 300 of 300 cases"),
    ],
)
def test_a_book_that_does_not_hold_together_is_told(change: dict[str, Any], told_of: str) -> None:
    questions = {**SMALL["questions"], "slow": {**SMALL["questions"]["slow"], **change}}
    problems = check("small", {**SMALL, "questions": questions})
    assert any(told_of in problem for problem in problems), problems


def test_there_are_many_structures_and_none_twice() -> None:
    names = Counter(name for path in BOOKS for name in yaml.safe_load(path.read_text()))
    assert len(names) >= 100 and max(names.values()) == 1, [name for name, n in names.items() if n > 1]
    assert set(names) == set(phrases("train", "scenario"))


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_books_hold_together(path: Any) -> None:
    for name, book in yaml.safe_load(path.read_text()).items():
        for seed in range(10):
            world = told(book, seed)
            for key, question in world.questions.items():
                answer = world.answers[key]
                if isinstance(question, Choice):
                    assert answer in [option.value for option in question.options], f"{name}.{key}, seed {seed}"
                if question.type == "quote":
                    assert any(answer in world.clauses[step] for step in world.needs[key]), f"{name}.{key}, seed {seed}"
