"""Order boards and tool calls: messages drawn from a book, with what they tell."""

from __future__ import annotations

import random

import pytest

from clover_decide.material import read_material
from clover_decide.questions import Choice, Quote
from clover_decide.slots import quote_source
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import World, Writer, phrases
from clover_train.worlds import board, tool
from clover_train.worlds.scenario import faults

THEMES = sorted(phrases("train", "board"))
TOOLS = sorted(name for name in phrases("train", "tool") if not name.startswith("_"))


def writers(family: str, seed: int) -> tuple[Writer, Writer]:
    setting, case = (Writer(random.Random(f"{part}-{seed}"), "train", family) for part in ("setting", "case"))
    return setting, case


def call(name: str, seed: int) -> World:
    others = random.Random(seed).sample([other for other in TOOLS if other != name], 3)
    return tool.tell(name, phrases("train", "tool"), *writers("tool", seed), [name, *others])


def test_there_are_many() -> None:
    assert len(THEMES) >= 20 and len(TOOLS) >= 50


@pytest.mark.parametrize("name", THEMES)
def test_boards_hold_together(name: str) -> None:
    for seed in range(20):
        world = board.tell(name, phrases("train", "board")[name], *writers("board", seed))
        assert not faults(world), f"seed {seed}"
        if world.answers["sent"] in (unit := {o.value for o in world.questions["sent"].options[1:]}):  # pyright: ignore[reportAttributeAccessIssue]
            assert world.answers["incident"] != world.questions["incident"].options[0].value, f"{unit} sent nowhere, seed {seed}"  # pyright: ignore[reportAttributeAccessIssue]


def test_who_is_sent_goes_to_the_incident_whatever_was_ordered() -> None:
    sent = 0
    for seed in range(200):
        name = THEMES[seed % len(THEMES)]
        book = phrases("train", "board")[name]
        world = board.tell(name, book, *writers("board", seed))
        going = [key for key in world.guide.builds if key.startswith("unit")]
        for key in going:
            sent += 1
            place = world.answers["incident"]
            assert world.answers[key] in {goal.format(place=place) for goal in book["goal"]}, f"seed {seed}"
    assert sent > 40


@pytest.mark.parametrize("name", TOOLS)
def test_tools_hold_together(name: str, tokenizer: Tokenizer) -> None:
    for seed in range(15):
        world = call(name, seed)
        assert not faults(world), f"seed {seed}"
        source = quote_source(read_material(world.clauses["request"]), tokenizer)
        for key, question in world.questions.items():
            answer = world.answers[key]
            if isinstance(question, Quote):
                assert source.runs(answer) or source.runs(answer[0].upper() + answer[1:]), f"{key}: {answer!r}, seed {seed}"


def test_risk_and_asking_follow_the_policy() -> None:
    asked = 0
    for seed in range(120):
        world = call(TOOLS[seed % len(TOOLS)], seed)
        question = world.questions["tool"]
        assert isinstance(question, Choice) and all(option.description for option in question.options)
        level = world.answers["risk"]
        assert world.answers["tool"] in world.clauses[f"risk{level}"], f"seed {seed}"
        high = level >= (2 if "above_high" in world.clauses else 1)
        if high or "approval" not in world.clauses:
            assert world.answers["ask_first"] == high, f"seed {seed}"
        asked += world.answers["ask_first"]
    assert 30 < asked < 90
