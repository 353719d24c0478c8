"""Local arms on the shipped model, baselines, prompts of autoregressive runners, and the registry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clover_decide import Decider, InputError
from clover_decide.errors import MissingExtraError, ModelError
from clover_decide.questions import Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text
from clover_eval.datasets import LabelledGroup
from clover_eval.metrics import option_name
from clover_eval.rules import violated
from clover_eval.runners.base import RunnerError, need
from clover_eval.runners.baselines import BagOfWordsRunner, MajorityRunner
from clover_eval.runners.http import HttpRunner
from clover_eval.runners.local import ARMS, LocalRunner
from clover_eval.runners.prompted import messages, read_reply, schema
from clover_eval.runners.registry import OTHERS, make_local, make_other
from clover_eval.sets import load_set
from clover_eval.variants import question_order
from tests.eval.makers import group
from tests.service.serving import serving

VAL = load_set("linked-val").groups


def small() -> list[LabelledGroup]:
    """Two short groups with rules, of two structures."""
    short = sorted((g for g in VAL if len(g.questions.questions) <= 4), key=lambda g: len(g.material))
    return [next(g for g in short if g.structure == name) for name in ("contract.notice", "access.chain")]


@pytest.mark.parametrize("arm", list(ARMS))
def test_every_arm_answers_every_question(arm: str, mini: Decider) -> None:
    groups = small()
    runner = LocalRunner(mini, arm)
    runner.prepare(groups)
    # One group is enough for the ways that differ in effort or rules alone.
    for g in groups[:1] if arm.startswith(("joint-auto", "joint-thorough", "joint-fast", "joint-rules")) else groups:
        reply = runner.answer(g)
        assert set(reply.answers) == set(g.questions.questions)
        assert (reply.probability is None) == (arm == "projection") and 0 <= (reply.probability or 0.0) <= 1
        for key, given in reply.answers.items():
            assert given.probability is not None and 0 <= given.probability <= 1, (arm, key)
            assert json.dumps(given.value) is not None
        for key, question in g.questions.questions.items():
            if isinstance(question, (Boolean, Choice, Score)):
                assert option_name(g, key) in (reply.answers[key].probabilities or {}), (arm, key)
    assert runner.identity["model"] == mini.fingerprint and runner.identity["arm"] == arm


def test_what_the_arms_do_is_what_they_say(mini: Decider) -> None:
    first, second = small()
    runner = LocalRunner(mini, "projection")
    runner.prepare([first, second])
    for g in (first, second):
        values = {key: given.value for key, given in runner.answer(g).answers.items()}
        assert not violated(g.rules, values)
    # A single question has no company and no siblings: all ways of asking it alone agree.
    key = next(key for key, q in first.questions.questions.items() if q.type in ("boolean", "choice"))
    alone = group("alone", questions={key: first.questions.questions[key]}, answers={key: first.answers[key]})
    answers = []
    for arm in ("independent", "independent-shown", "joint-company", "sequential", "sequential-reversed"):
        one = LocalRunner(mini, arm)
        one.prepare([alone, second])
        answers.append(one.answer(alone).answers[key].probability)
    assert answers == pytest.approx([answers[0]] * 5, abs=1e-5)


def test_controls_do_not_show_the_material_or_the_siblings(mini: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = small()
    calls: list[tuple[str, list[str], dict[str, Any]]] = []
    real = LocalRunner.decide

    def watched(self: LocalRunner, material: str, questions: Any, **options: Any) -> Any:
        calls.append((material, [q.text for q in questions.values()], options))
        return real(self, material, questions, **options)

    monkeypatch.setattr(LocalRunner, "decide", watched)
    own = [q.text for q in first.questions.questions.values()]
    strangers = {q.text for q in second.questions.questions.values()}
    for arm in ("joint-astray", "joint-company", "independent-shown", "sequential-reversed"):
        runner = LocalRunner(mini, arm)
        runner.prepare([first, second])
        calls.clear()
        runner.answer(first)
        materials, asked = {c[0] for c in calls}, [c[1] for c in calls]
        match arm:
            case "joint-astray":
                assert materials == {second.material} and asked == [own]
            case "joint-company":
                assert materials == {first.material} and len(calls) == len(own)
                for texts in asked:
                    assert len(set(texts) & set(own)) == 1 and set(texts) - set(own) <= strangers and len(texts) > 1
            case "independent-shown":
                (texts,) = asked
                assert calls[0][2]["mode"] == "independent"
                assert all(other in text for text in texts for other in own)
            case _:
                assert calls[0][2]["groups"] == [[key] for key in reversed(list(first.questions.questions))]


def test_a_control_asks_in_another_form_too_and_needs_somebody_to_borrow_from(mini: Decider) -> None:
    groups = small()
    runner = LocalRunner(mini, "joint-company")
    runner.prepare(groups)
    assert set(runner.answer(question_order(groups[0])).answers) == set(groups[0].questions.questions)
    runner.prepare(groups[:1])
    with pytest.raises(RunnerError, match="no other group"):
        runner.answer(groups[0])


def test_majority_takes_the_most_common_legal_answer() -> None:
    fit = [group(f"g{i}", answers={"late": i > 0, "kind": "c" if i else "a", "days": i}, structure="s") for i in range(3)]
    runner = MajorityRunner(fit, "made")
    answers = runner.answer(group(structure="s")).answers
    assert answers["late"].value is True and answers["late"].probability == pytest.approx(2 / 3)
    assert answers["kind"].value == "c"
    other = group(structure="t", questions={"x": Choice("?", options=("p", "q"))}, answers={"x": "q"})
    assert runner.answer(other).answers["x"].value == "p", "nothing known: the first option"


def test_bag_of_words_learns_what_words_tell_and_blind_does_not() -> None:
    def case(i: int) -> LabelledGroup:
        late = i % 3 == 0
        g = group(f"g{i}", questions={"late": Boolean("Was the parcel late?")}, answers={"late": late})
        text = f"Day {i} at the firm. The parcel was {'delayed and overdue' if late else 'punctual and prompt'}. The sky was grey."
        return LabelledGroup(g.id, text, g.questions, g.answers)

    fit, held = [case(i) for i in range(60)], [case(i) for i in range(60, 90)]

    def right(runner: BagOfWordsRunner) -> float:
        return sum(runner.answer(g).answers["late"].value == g.answers["late"] for g in held) / len(held)

    assert right(BagOfWordsRunner(fit, "made")) == 1.0
    assert right(BagOfWordsRunner(fit, "made", blind=True)) == pytest.approx(2 / 3)


EVERY = {
    "b": Boolean("Was it?"),
    "c": Choice("Which?", options=("x", "y")),
    "m": MultiChoice("Which ones?", options=("p", "q")),
    "s": Score("How much?", levels=("low", "high")),
    "i": Integer("How many?"),
    "n": Number("How far?"),
    "d": Date("When?"),
    "q": Quote("Which word?"),
    "t": Text("Which number?", pattern="[A-Z]{2}"),
}
GOLD = {"b": True, "c": "x", "m": ["q"], "s": 1, "i": 3, "n": 2.5, "d": "2027-01-31", "q": "word", "t": "AB"}


def test_the_prompt_asks_everything_and_the_schema_takes_the_gold_reply() -> None:
    g = group(questions=EVERY, answers=GOLD)
    text = messages(g)[1]["content"]
    assert g.material in text and all(f"q{i}: {q.text}" in text for i, q in enumerate(EVERY.values(), 1))
    made = schema(g)
    reply = {f"q{i}": value for i, value in enumerate(GOLD.values(), 1)}
    Draft202012Validator(made).validate(reply)
    assert not Draft202012Validator(made).is_valid({**reply, "q2": "z"})
    assert not Draft202012Validator(made).is_valid({**reply, "q7": "31 January"})
    read = read_reply(g, json.dumps(reply), "made")
    assert {key: given.value for key, given in read.answers.items()} == GOLD
    with pytest.raises(RunnerError, match="no JSON object"):
        read_reply(g, '{"q1": 00000', "made")


@pytest.mark.parametrize("spec", ["laya", "systemone", "outlines", "llamacpp:", "", "majority2"])
def test_an_unknown_runner_is_refused_with_what_there_is(spec: str) -> None:
    with pytest.raises(InputError) as caught:
        make_other(spec)
    assert all(name in str(caught.value) for name in ("systemone", "llamacpp", "sparrow"))


def test_the_registry_makes_what_needs_no_other_package(mini: Decider) -> None:
    # What differs from the shipped model in bfloat16 with facts is in the name.
    assert [r.name for r in make_local(["independent", "joint"], mini, "off")] == [
        "independent (float32, no facts, uncalibrated)",
        "joint (float32, no facts, uncalibrated)",
    ]
    assert make_other("majority").name == "majority"
    assert make_other("decisions-joint:http://x/v1/decisions").name.startswith("decisions joint")
    assert set(OTHERS) >= {"outlines", "llamacpp", "sparrow", "tfidf", "blind"}
    with pytest.raises(InputError, match="unknown mode"):
        make_local(["jont"], mini)
    fitted = {"model": mini.fingerprint, "mode": "joint", "effort": "fast", "questions": None, "temperatures": {}, "data": "d"}
    calibrated = mini.calibrated({"calibration": 1, **fitted, "slope": 1.0, "intercept": 0.0, "groups": 9})
    assert make_local(["joint-fast"], calibrated)[0].name == "joint-fast (float32, calibrated to 9 groups)"
    with pytest.raises(InputError, match=r"--calibration: .*'joint'; accepted: --mode joint-fast, joint-fast-rules"):
        make_local(["joint-fast", "joint"], calibrated)


@pytest.mark.parametrize("url", ["ftp://x/y", "localhost:80", "http://", "http://x:99999999/y", "http://user:secret@x/y"])
def test_a_url_that_cannot_work_or_holds_a_password_is_refused(url: str) -> None:
    with pytest.raises(InputError) as caught:
        make_other(f"systemone:{url}")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_time(timeout: float) -> None:
    with pytest.raises(InputError, match="--timeout"):
        make_other("systemone:http://x/y", timeout=timeout)


def test_no_baseline_is_fitted_on_a_test_set() -> None:
    with pytest.raises(InputError, match="a test set"):
        make_other("majority", fit="linked-500")


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"clover-decide\[ar\]"):
        need("no_such_package_at_all", "ar")


def test_a_model_file_that_is_not_there() -> None:
    with pytest.raises(ModelError, match="no such file"):
        make_other("llamacpp:/no/such/file.gguf")


def test_the_served_model_says_what_the_local_one_says(mini: Decider) -> None:
    with serving(mini) as url:
        runner = HttpRunner(f"{url}/v1/systemone", "systemone", tries=1)
        g = small()[0]
        served = runner.answer(g).answers
        local = LocalRunner(mini, "independent").answer(g).answers
        for key, q in g.questions.questions.items():
            if q.type in ("boolean", "choice"):
                assert served[key].value == local[key].value
                assert served[key].probability == pytest.approx(local[key].probability, abs=1e-5)
