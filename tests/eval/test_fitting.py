"""Fitted calibrations: they find the temperature that data were made with, and the check is held out."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer.testing

from clover_decide import Boolean, Choice, InputError, Integer
from clover_decide.calibration import LARGEST, read_calibration, scaled
from clover_decide.decision import Answer
from clover_decide.frozen import FrozenMap
from clover_decide.questions import AnyQuestion
from clover_eval import offsets as learning
from clover_eval.cli_calibrate import calibrate, thresholds
from clover_eval.datasets import LabelledGroup
from clover_eval.fitting import Asked, _line, check, fit
from clover_eval.offsets import _loss, crossed, learn
from clover_eval.sets import LoadedSet
from tests.eval.makers import group

KINDS: Mapping[str, AnyQuestion] = {"a": Boolean("?"), "b": Choice("?", options=("x", "y", "z")), "n": Integer("?")}


def drawn(rng: random.Random, names: list[str], temperature: float) -> tuple[dict[str, float], str]:
    """A distribution that is too sharp by a temperature, and what really happened."""
    logits = [rng.gauss(0, 1.5) for _ in names]
    shares = [math.exp(x) for x in logits]
    sharp = [math.exp(x * temperature) for x in logits]
    return {n: s / sum(sharp) for n, s in zip(names, sharp, strict=True)}, rng.choices(names, shares)[0]


def asked(count: int, temperature: float) -> list[Asked]:
    out: list[Asked] = []
    for i in range(count):
        rng = random.Random(f"asked-{i}")
        boolean, truth = drawn(rng, ["true", "false"], temperature)
        choice, option = drawn(rng, ["x", "y", "z"], temperature)
        number, fits = drawn(rng, ["right", "wrong"], temperature)
        gold = {"a": truth == "true", "b": option, "n": 5}
        g: LabelledGroup = group(f"g{i}", questions=dict(KINDS), answers=gold)
        says = {"a": max(boolean, key=lambda n: boolean[n]), "b": max(choice, key=lambda n: choice[n])}
        right = {"a": says["a"] == truth, "b": says["b"] == option, "n": fits == "right"}
        answers: dict[str, Any] = {
            "a": SimpleNamespace(type="boolean", value=says["a"] == "true", probability=max(boolean.values()), probabilities=boolean),
            "b": SimpleNamespace(type="choice", value=says["b"], probability=max(choice.values()), probabilities=choice),
            "n": SimpleNamespace(type="integer", value=5, probability=number["right"], probabilities={"5": number["right"]}),
        }
        whole = 1.0
        for answer in answers.values():
            whole *= answer.probability

        class Made(dict[str, Any]):
            probability, fingerprint, mode, effort = whole, "f" * 16, "joint", "standard"

        out.append(Asked(g, Made(answers), right))  # pyright: ignore[reportArgumentType]
    return out


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_the_temperature_that_data_were_made_with_is_found(temperature: float) -> None:
    made = fit(asked(1500, temperature), LoadedSet("made", "0" * 64, ()))
    for kind in ("boolean", "choice", "integer"):
        assert made.temperatures[kind] == pytest.approx(temperature, rel=0.2), kind
    assert made.shifts == {"integer": pytest.approx(0.0, abs=0.2)}
    assert (made.model, made.mode, made.effort, made.groups) == ("f" * 16, "joint", "standard", 1500)


def test_an_answer_that_is_never_right_comes_to_be_improbable() -> None:
    items = [replace(item, right={**item.right, "n": False}) for item in asked(100, 1.0)]
    made = fit(items, LoadedSet("made", "0" * 64, ()))
    sure = Answer("integer", 5, 0.9, {"5": 0.9}, 0.9, 1.0)
    assert made.answer(KINDS["n"], sure).probability < 0.1
    assert read_calibration(made.as_dict()) == made


def test_a_probability_that_runs_against_being_right_comes_to_be_the_share_that_is() -> None:
    rng = random.Random(3)
    pairs = [(p, rng.random() < 0.9 - 3 * (p - 0.75)) for p in (rng.uniform(0.8, 0.99) for _ in range(400))]
    slope, shift = _line(pairs)
    mean = sum(scaled(p, slope, shift) for p, _ in pairs) / len(pairs)
    assert mean == pytest.approx(sum(right for _, right in pairs) / len(pairs), abs=0.02)


def test_types_with_few_answers_keep_their_probabilities() -> None:
    made = fit(asked(10, 3.0), LoadedSet("made", "0" * 64, ()))
    assert set(made.temperatures.values()) == {1.0} and made.shifts == {}


def test_what_is_usually_answered_is_learned() -> None:
    """Answers drawn from the model's distribution with known offsets added, and a temperature, give the offsets back."""
    truth = {"a": {"true": 1.0, "false": -1.0}, "b": {"x": 1.5, "y": 0.0, "z": -1.5}}
    items: list[Asked] = []
    for i, item in enumerate(asked(1500, 2.0)):
        rng = random.Random(f"usual-{i}")
        gold = dict(item.group.answers)
        for key, offsets in truth.items():
            shares = item.decision[key].probabilities
            names = list(offsets)
            drawn_name = rng.choices(names, [math.exp((math.log(shares[n]) + offsets[n]) / 2.0) for n in names])[0]
            gold[key] = drawn_name == "true" if key == "a" else drawn_name
        items.append(replace(item, group=replace(item.group, answers=gold)))
    found = learn(items)
    assert set(found) == {"a", "b"}, "a number has no list of answers"
    for key, offsets in truth.items():
        assert dict(found[key]) == pytest.approx(offsets, abs=0.35), key


def test_offsets_of_a_model_that_says_nothing_stay_within_what_is_read() -> None:
    """Its slope goes to 0, which would blow the offsets up."""
    items: list[Asked] = []
    for item in asked(80, 1.0):
        gold = {**item.group.answers, "b": "x"}
        shares = dict.fromkeys(["x", "y", "z"], 1 / 3)
        said = SimpleNamespace(type="choice", value="x", probability=1 / 3, probabilities=shares)
        item.decision["b"] = said  # pyright: ignore[reportIndexIssue] - a mapping of this test's
        items.append(replace(item, group=replace(item.group, answers=gold)))
    found = learn(items)
    assert found["b"]["x"] > found["b"]["y"] and max(abs(b) for b in found["b"].values()) <= LARGEST
    made = fit(items, LoadedSet("made", "0" * 64, ()), found)
    assert read_calibration(made.as_dict()) == made and made.questions is not None


def test_offsets_need_listed_answers_and_ids_that_stay_with_their_question() -> None:
    numbers = group("g0", questions={"n": Integer("?")}, answers={"n": 5})
    with pytest.raises(InputError, match="no question has listed answers"):
        learn([Asked(numbers, SimpleNamespace(), {})])  # pyright: ignore[reportArgumentType]
    mixed = group("g1", questions={"n": Boolean("?")}, answers={"n": True})
    with pytest.raises(InputError, match="n: questions of several types"):
        learn([Asked(g, SimpleNamespace(), {}) for g in (numbers, mixed)])  # pyright: ignore[reportArgumentType]


def test_no_group_is_asked_with_what_was_learned_from_its_own_half(monkeypatch: pytest.MonkeyPatch) -> None:
    items = asked(40, 1.0)
    seen: list[tuple[set[str], set[str]]] = []

    def told(given: Any, groups: Any, mode: Any, effort: Any) -> Any:
        seen.append((given, {g.id for g in groups}))
        return iter(())

    learned: list[set[str]] = []
    monkeypatch.setattr(learning, "ask_all", told)
    monkeypatch.setattr(learning, "learn", lambda some: (learned.append({item.group.id for item in some}), FrozenMap())[1])
    decider = SimpleNamespace(calibrated=lambda calibration: learned[-1])
    assert list(crossed(decider, items, LoadedSet("made", "0" * 64, ()))) == []  # pyright: ignore[reportArgumentType]
    assert len(seen) == 2 and all(not used & own and used | own == {item.group.id for item in items} for used, own in seen)
    with pytest.raises(InputError, match="held-out check"):
        list(crossed(decider, items[:1], LoadedSet("made", "0" * 64, ())))  # pyright: ignore[reportArgumentType]


def test_the_gradient_of_the_loss_of_offsets() -> None:
    rng = np.random.default_rng(5)
    rows = [(i % 2, np.array([0, 1, 2]) + 3 * (i % 2), np.log(rng.dirichlet([1, 1, 1])), int(rng.integers(3))) for i in range(20)]
    x = rng.normal(size=8)
    _, gradient = _loss(x, rows, 2)
    for i in range(8):
        step = np.zeros(8)
        step[i] = 1e-5
        assert gradient[i] == pytest.approx((_loss(x + step, rows, 2)[0] - _loss(x - step, rows, 2)[0]) / 2e-5, rel=1e-4), i


def test_too_few_groups_for_a_check_are_refused() -> None:
    with pytest.raises(InputError, match="held-out check"):
        check(asked(1, 2.0), LoadedSet("made", "0" * 64, ()))
    with pytest.raises(InputError, match="no groups"):
        fit([], LoadedSet("made", "0" * 64, ()))


def run(command: Any, *words: str) -> Any:
    app = typer.Typer()
    app.command()(command)
    return typer.testing.CliRunner().invoke(app, list(words))


def test_both_commands_on_a_few_groups(tmp_path: Path) -> None:
    target = tmp_path / "calibration.json"
    found = run(calibrate, "linked-val", "--subset", "3", "--dtype", "bfloat16", "-o", str(target))
    assert found.exit_code == 0 and "held out" in found.output, found.output
    assert json.loads(target.read_text())["calibration"] == 1
    found = run(calibrate, "linked-val", "--subset", "3", "--dtype", "bfloat16", "--offsets", "-o", str(tmp_path / "offsets.json"))
    assert found.exit_code == 0 and "with offsets, held out, " in found.output, found.output
    assert read_calibration(tmp_path / "offsets.json").offsets
    found = run(thresholds, "linked-val", "--subset", "3", "--calibration", str(tmp_path / "offsets.json"))
    assert isinstance(found.exception, InputError) and "learned its offsets from this set" in str(found.exception)
    limits = tmp_path / "abstain.json"
    found = run(
        thresholds,
        "linked-val",
        "--subset",
        "3",
        "--accuracy",
        "0.3",
        "--dtype",
        "bfloat16",
        "--calibration",
        str(target),
        "-o",
        str(limits),
    )
    assert found.exit_code in (0, 1), found.output
    assert ("threshold 0." in found.output) == limits.exists()


def test_test_sets_are_not_fitted_to() -> None:
    found = run(calibrate, "linked-500")
    assert isinstance(found.exception, InputError) and "a test set" in str(found.exception)
