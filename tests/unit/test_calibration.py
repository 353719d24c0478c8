"""Calibrations: what they do to probabilities, and what they are refused for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from clover_decide import Boolean, Calibration, Choice, Decider, FormatError, Integer, ModelError, MultiChoice, Score, read_questions
from clover_decide.calibration import questions_hash, read_calibration
from clover_engine.folder import SHIPPED

QUESTIONS = {"a": Boolean("Is it so?"), "b": Choice("Which?", options=["x", "y", "z"]), "n": Integer("How many?", maximum=99)}


def made(**changes: Any) -> Calibration:
    fields: dict[str, Any] = {
        "model": "f" * 16,
        "mode": "joint",
        "effort": "standard",
        "questions": None,
        "temperatures": {"boolean": 4.0, "choice": 2.0, "integer": 3.0},
        "slope": 0.5,
        "intercept": -1.0,
        "groups": 10,
        "data": "d" * 16,
    }
    return read_calibration({"calibration": 1, **fields, **changes})


@pytest.fixture
def calibrated(random_decider: Decider) -> Decider:
    decider = Decider.from_engine(random_decider.engine, "random")
    decider.calibration = made(model=decider.fingerprint)
    return decider


def test_probabilities_are_softened_and_values_stay(random_decider: Decider, calibrated: Decider) -> None:
    plain, soft = (decider.decide("Something happened.", QUESTIONS) for decider in (random_decider, calibrated))
    assert soft.values() == plain.values()
    odds = plain["a"].probability / (1 - plain["a"].probability)
    assert soft["a"].probability == pytest.approx(odds ** (1 / 4) / (1 + odds ** (1 / 4)))
    for key in ("a", "b"):
        assert sum(soft[key].probabilities.values()) == pytest.approx(1.0)
        assert soft[key].probability < plain[key].probability
        assert soft[key].confidence < plain[key].confidence
    odds = plain.probability / (1 - plain.probability)
    assert soft.probability == pytest.approx(1 / (1 + 1 / (odds**0.5 * 2.718281828459045**-1)))


def test_a_shift_lowers_a_type_that_is_wrong_more_often_than_not(random_decider: Decider) -> None:
    questions = {"n": Integer("How many?", maximum=99), "m": MultiChoice("Which?", options=["x", "y"])}
    shifted = Decider.from_engine(random_decider.engine, "random")
    shifted.calibration = made(
        model=shifted.fingerprint, temperatures={"integer": 2.0, "multi_choice": 1.0}, shifts={"integer": -3.0, "multi_choice": -1.0}
    )
    plain, low = (decider.decide("Something happened.", questions) for decider in (random_decider, shifted))
    assert low.values() == plain.values()
    for key, slope, shift in (("n", 0.5, -3.0), ("m", 1.0, -1.0)):
        before, after = (math.log(d[key].probability / (1 - d[key].probability)) for d in (plain, low))
        assert after == pytest.approx(slope * before + shift), key
    assert low["n"].probabilities[str(low["n"].value)] == low["n"].probability
    assert low["m"].probabilities == plain["m"].probabilities, "the line is one of the whole answer"


def with_offsets(decider: Decider, offsets: dict[str, dict[str, float]], mode: str = "independent") -> Decider:
    return decider.calibrated(made(model=decider.fingerprint, mode=mode, temperatures={}, slope=1.0, intercept=0.0, offsets=offsets))


def odds(p: float) -> float:
    return math.log(p / (1 - p))


@pytest.mark.parametrize("options", [["x", "y", "z"], ["fly to Mill", "fly to Ridge", "fly to Dale"]])
def test_offsets_are_added_to_the_log_odds_of_an_answer_and_change_it(any_decider: Decider, options: list[str]) -> None:
    questions = {"a": QUESTIONS["a"], "b": Choice("Which?", options=options), "s": Score("How much?", levels=["low", "high"])}
    plain = any_decider.decide("Something happened.", questions, mode="independent")
    added = {"a": {"false": 1.5}, "b": {options[2]: 9.0}, "s": {"1": -2.0}, "not asked": {"true": 3.0}}
    moved = with_offsets(any_decider, added).decide("Something happened.", questions, mode="independent")
    assert odds(moved["a"].probabilities["false"]) == pytest.approx(odds(plain["a"].probabilities["false"]) + 1.5, abs=1e-4)
    assert odds(moved["s"].probabilities["1"]) == pytest.approx(odds(plain["s"].probabilities["1"]) - 2.0, abs=1e-4)
    assert odds(moved["b"].probabilities[options[2]]) == pytest.approx(odds(plain["b"].probabilities[options[2]]) + 9.0, abs=1e-3)
    ratio = [d["b"].probabilities[options[0]] / d["b"].probabilities[options[1]] for d in (plain, moved)]
    assert ratio[1] == pytest.approx(ratio[0], rel=1e-3)
    assert moved["a"].coverage == pytest.approx(plain["a"].coverage), "what the model wanted to say is told as it was"


@pytest.mark.parametrize("effort", ["fast", "standard", "auto", "thorough"])
def test_joint_answers_with_offsets_keep_the_rules(random_decider: Decider, effort: Any) -> None:
    questions = {"a": Boolean("Is it so?"), "b": Choice("Which?", options=["x", "y", "z"])}
    rule = "a == (b == 'x')"
    for wanted, other in (("x", True), ("y", False)):
        calibration = made(model=random_decider.fingerprint, effort=effort, offsets={"b": {wanted: 15.0}})
        decision = random_decider.calibrated(calibration).decide("Something happened.", questions, effort=effort, rules=rule)
        assert not decision.violations
        # `standard` may have settled the other question first.
        assert effort == "standard" or (decision["b"].value, decision["a"].value) == (wanted, other)
        assert read_calibration(json.loads(json.dumps(calibration.as_dict()))) == calibration


def test_a_comparison_has_the_calibration_of_its_own_mode_or_none(random_decider: Decider) -> None:
    fitted = with_offsets(random_decider, {"a": {"true": 9.0}}, mode="joint")
    plain, moved = (d.decide("Something happened.", QUESTIONS, independent=True) for d in (random_decider, fitted))
    assert moved["a"].probability != plain["a"].probability and moved["a"].independent == plain["a"].independent


@pytest.mark.parametrize(("offsets", "path"), [({"a": {"yes": 1.0}}, "a.yes"), ({"b": {"w": 1.0}}, "b.w"), ({"n": {"3": 1.0}}, "n.3")])
def test_offsets_of_answers_that_a_question_does_not_have_are_refused(random_decider: Decider, offsets: Any, path: str) -> None:
    with pytest.raises(ModelError, match=f"calibration.offsets.{path}: no answer to this question"):
        with_offsets(random_decider, offsets).decide("Something happened.", QUESTIONS, mode="independent")


@pytest.mark.parametrize("options", [{"permutations": 3}, {"groups": [["b"], ["a"]]}, {"dependence": True}])
def test_offsets_hold_however_joint_questions_are_asked(random_decider: Decider, options: dict[str, Any]) -> None:
    questions = {"a": Boolean("Is it so?"), "b": Choice("Which?", options=["x", "y", "z"])}
    for wanted in ("x", "z"):
        fitted = with_offsets(random_decider, {"b": {wanted: 15.0}}, mode="joint")
        assert fitted.decide("Something happened.", questions, **options)["b"].value == wanted


def test_projection_weighs_offsets(random_decider: Decider) -> None:
    questions = {"a": Boolean("Is it so?"), "b": Choice("Which?", options=["x", "y", "z"])}
    fitted = with_offsets(random_decider, {"a": {"true": 9.0}, "b": {"y": 3.0}})
    decision = fitted.decide("Something happened.", questions, mode="independent", rules="a == (b == 'x')", project=True)
    assert (decision["a"].value, decision["b"].value) == (True, "x")


def test_a_question_set_is_known_in_whatever_order_it_comes() -> None:
    turned = {"b": Choice("Which?", options=["z", "x", "y"]), "n": QUESTIONS["n"], "a": QUESTIONS["a"]}
    known = questions_hash(read_questions(QUESTIONS))
    assert questions_hash(read_questions(turned)) == known
    for changed in (
        {**QUESTIONS, "a": Boolean("Is it not?")},
        {**QUESTIONS, "b": Choice("Which?", options=["x", "y"])},
        {"a": QUESTIONS["a"]},
    ):
        assert questions_hash(read_questions(changed)) != known


def test_the_same_model_with_another_calibration(calibrated: Decider, random_decider: Decider) -> None:
    bare = calibrated.calibrated(None)
    assert bare.calibration is None and calibrated.calibration is not None and bare.engine is calibrated.engine
    assert bare.decide("Something happened.", QUESTIONS)["a"] == random_decider.decide("Something happened.", QUESTIONS)["a"]
    with pytest.raises(ModelError, match="another model"):
        calibrated.calibrated(made())


def test_a_calibration_is_refused_for_another_model_mode_effort_or_question_set(calibrated: Decider, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="another mode, joint"):
        calibrated.decide("Something.", QUESTIONS, mode="independent")
    with pytest.raises(ModelError, match="another effort, standard"):
        calibrated.decide("Something.", QUESTIONS, effort="fast")
    own = questions_hash(read_questions(QUESTIONS))
    calibrated.calibration = made(model=calibrated.fingerprint, questions=own)
    assert calibrated.decide("Something.", QUESTIONS).answers
    with pytest.raises(ModelError, match="fitted for other questions"):
        calibrated.decide("Something.", {"a": QUESTIONS["a"]})
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(made().as_dict()))
    with pytest.raises(ModelError, match="another model, ffffffff"):
        Decider(calibration=path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"calibration": 2}, "version 1"),
        ({"temperatures": {"boolean": 0}}, "temperatures: .*0.01 to 100"),
        ({"temperatures": {"boolean": float("nan")}}, "temperatures: .*0.01 to 100"),
        ({"offsets": {"a": {"true": 21}}}, "offsets: .*-20 to 20"),
        ({"offsets": {"a": {"true": "1"}}}, "offsets: .*-20 to 20"),
        ({"offsets": {"a": 1.0}}, "wrong type"),
        ({"offsets": {"a": {True: 1.0}}}, "wrong type"),
        ({"offsets": 3}, "wrong type"),
        ({"temperatures": {"boolean": True}}, "temperatures: .*0.01 to 100"),
        ({"temperatures": {"truth": 1.0}}, "temperatures: .*boolean, choice"),
        ({"temperatures": [1.0]}, "wrong type"),
        ({"temperatures": []}, "wrong type"),
        ({"groups": -1}, "groups: .*from 0"),
        ({"shifts": {"boolean": 1.0}}, "shifts: .*integer"),
        ({"shifts": {"date": float("nan")}}, "shifts: .*-100 to 100"),
        ({"shifts": []}, "wrong type"),
        ({"slope": "steep"}, "slope: "),
        ({"slope": float("nan")}, "slope: "),
        ({"intercept": 1e300}, "intercept: "),
        ({"mode": "both"}, "mode: .*joint, independent"),
        ({"groups": "many"}, "groups: "),
        ({"questions": 5}, "questions: "),
        ({"colour": "red"}, "unknown"),
    ],
)
def test_what_is_no_calibration_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        made(**changes)


def test_what_lies_beside_a_model_is_used_unless_the_caller_says_otherwise(mini: Decider, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (SHIPPED / "clover-mini").iterdir():
        (folder / file.name).symlink_to(file)
    beside = folder / "calibration.json"
    beside.unlink(missing_ok=True)
    assert not Decider(folder).shipped
    joint, alone = made(model=mini.fingerprint), made(model=mini.fingerprint, mode="independent", temperatures={"boolean": 9.0})
    beside.write_text(json.dumps({"calibrations": [joint.as_dict(), alone.as_dict()]}))
    plain = mini.decide("Something happened.", QUESTIONS, independent=True, effort="thorough")
    fitted = Decider(folder, dtype="float32").decide("Something happened.", QUESTIONS, independent=True, effort="thorough")
    assert fitted.calibrated and not plain.calibrated and fitted.values() == plain.values()
    assert fitted.probability == pytest.approx(joint.together(plain.probability), abs=1e-4)
    assert fitted["a"].probability == pytest.approx(joint.answer(QUESTIONS["a"], plain["a"]).probability, abs=1e-4)
    assert plain["a"].independent and fitted["a"].independent
    solo = mini.decide("Something happened.", QUESTIONS, mode="independent")
    expected = alone.answer(QUESTIONS["a"], solo["a"]).probability
    assert fitted["a"].independent.probability == pytest.approx(expected, abs=1e-4)
    # What is likelier stays likelier.
    assert all(other.probability <= fitted.probability for other in fitted.alternatives)
    beside.write_text(json.dumps({"calibrations": [made(model="another").as_dict()]}))
    with pytest.raises(ModelError, match="another model"):
        Decider(folder)
    beside.write_text("[]")
    with pytest.raises(FormatError, match="holds no calibrations"):
        Decider(folder)


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(made().as_dict()))
    assert read_calibration(path) == made() == read_calibration(made())


def test_the_file_that_ships_is_named_for_what_it_is() -> None:
    with pytest.raises(FormatError, match=r"ship with a model.*'shipped'"):
        read_calibration(SHIPPED / "clover-mini" / "calibration.json")
