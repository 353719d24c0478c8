"""The native routes answer as `Decider` does, and say what is wrong where."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from clover_decide import Decider, load_pack
from clover_decide.decision import TraceStep
from clover_decide.wire.native import EXAMPLE, LEASE, QUESTIONS, decision_of
from tests.service.serving import serving

OPTIONS = [
    {},
    {"mode": "independent"},
    {"mode": "independent", "project": True, "rules": "timely == (days >= 30)"},
    {"effort": "thorough", "independent": True},
    {"effort": "auto", "rules": {"properties": {"days": {"maximum": 9}}}},
    {"permutations": 2, "dependence": True, "facts": "off"},
    {"abstain": 0.99999, "facts": ["There is one fact."]},
    {"abstain": {"probability": 0.5, "questions": {"days": 1.0}}, "groups": [["days"], ["timely"]], "threshold": 0.5},
]


def timeless(decision: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in decision.items() if key not in ("timing", "fingerprint")}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_decision_is_that_of_the_library(http: httpx.Client, tiny: Decider, options: dict[str, Any]) -> None:
    answer = http.post("/v1/decide", json={"material": LEASE, "questions": QUESTIONS, **options})
    assert answer.status_code == 200, answer.text
    expected = tiny.decide(LEASE, QUESTIONS, **options)
    assert timeless(answer.json()) == json.loads(json.dumps(timeless(expected.as_dict())))
    rebuilt = decision_of(answer.json(), LEASE, expected.questions)
    assert rebuilt.values() == expected.values() and rebuilt.answers == expected.answers


def test_steps_are_streamed_before_the_decision(http: httpx.Client) -> None:
    with http.stream("POST", "/v1/decide", json=EXAMPLE, headers={"Accept": "text/event-stream"}) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    events = [line.removeprefix("event: ") for line in lines[::2]]
    data = [json.loads(line.removeprefix("data: ")) for line in lines[1::2]]
    assert events == ["step"] * (len(events) - 1) + ["decision"]
    assert [step["question"] for step in data[:-1]] == [step["question"] for step in data[-1]["trace"]]


def test_what_is_wrong_before_the_first_step_is_an_ordinary_error(http: httpx.Client) -> None:
    answer = http.post("/v1/decide", json={**EXAMPLE, "material": " "}, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 422 and answer.json()["detail"][0]["loc"] == ["body", "material"]


@pytest.mark.parametrize("after", [0, 2])
def test_a_fault_in_the_middle_of_a_stream_ends_it(tiny: Decider, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    def faulty(*_: Any, watch: Any, **__: Any) -> None:
        for i in range(after):
            watch(TraceStep(0, i, "q", "", 1.0))
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(type(tiny), "decide", faulty)
    with serving(tiny) as url:
        answer = httpx.post(f"{url}/v1/decide", json=EXAMPLE, headers={"Accept": "text/event-stream"})
    assert answer.status_code == (200 if after else 500) and "secret" not in answer.text
    if after:
        assert answer.text.count("event: step") == 2 and '"status": 500' in answer.text.partition("event: error")[2]


def test_a_bad_material_of_a_batch_costs_no_other_its_answer(http: httpx.Client) -> None:
    results = http.post("/v1/decide/batch", json={"materials": [LEASE, "", 7, {"a": 1}], "questions": QUESTIONS}).json()["results"]
    assert [next(iter(result)) for result in results] == ["decision", "error", "error", "decision"]
    assert results[1]["error"] == {
        "error": "MaterialError",
        "path": "material",
        "problem": "the material is empty",
        "given": "''",
        "accepted": "text, an object or an array",
    }


@pytest.mark.parametrize(("route", "pack", "body"), [("contracts", "contract", "contract"), ("alerts", "alert", "alert")])
def test_packs_have_routes_of_their_own(http: httpx.Client, tiny: Decider, route: str, pack: str, body: str) -> None:
    example = load_pack(pack).example
    answer = http.post(f"/v1/{route}/adjudicate", json={body: example}).json()
    expected = tiny.decide(example, load_pack(pack).questions)
    assert answer["judgement"] == {key: a.label or a.value for key, a in expected.answers.items()}
    assert answer["decision"]["probability"] == pytest.approx(expected.probability)


def test_correspondence_and_policy_are_read_with_what_they_belong_to(http: httpx.Client, tiny: Decider) -> None:
    contract = http.post("/v1/contracts/adjudicate", json={"contract": "The lease ends.", "correspondence": ["One.", "Two."]}).json()
    pack = load_pack("contract")
    assert contract["judgement"]["days"] == tiny.decide("The lease ends.\n\nOne.\n\nTwo.", pack.questions)["days"].value
    alert = http.post("/v1/alerts/adjudicate", json={"alert": {"host": "a", "logins": 3}, "policy": "Low is closed."}).json()
    expected = tiny.decide("host: a\nlogins: 3\n\nLow is closed.", load_pack("alert").questions)
    assert alert["judgement"]["action"] == expected["action"].value


def test_packs_are_listed_with_questions_that_can_be_asked(http: httpx.Client) -> None:
    packs = http.get("/v1/packs").json()["packs"]
    assert [pack["name"] for pack in packs] == ["alert", "contract", "dispatch", "triage"]
    answer = http.post("/v1/decide", json={"material": packs[0]["example"], "questions": packs[0]["questions"]})
    assert answer.status_code == 200, answer.text


BAD = [
    ({"questions": QUESTIONS}, ["body", "material"]),
    ({"material": LEASE}, ["body", "questions"]),
    ({"material": LEASE, "questions": QUESTIONS, "pack": "contract"}, ["body", "questions"]),
    ({"material": LEASE, "pack": "nope"}, ["body", "pack"]),
    ({"material": LEASE, "questions": {}}, ["body", "questions"]),
    ({"material": LEASE, "questions": {"a": {"type": "choice", "text": "?", "options": ["x"]}}}, ["body", "questions", "a", "options"]),
    ({"material": LEASE, "questions": {f"q{i}": {"type": "boolean", "text": "?"} for i in range(65)}}, ["body", "questions"]),
    ({"material": LEASE, "questions": QUESTIONS, "rules": "days >"}, ["body", "rules"]),
    ({"material": LEASE, "questions": QUESTIONS, "rules": ["days > 5", "days < 3"]}, ["body", "rules"]),
    ({"material": LEASE, "questions": QUESTIONS, "mode": "both"}, ["body", "mode"]),
    ({"material": LEASE, "questions": QUESTIONS, "permutations": 17}, ["body", "permutations"]),
    ({"material": LEASE, "questions": QUESTIONS, "evidence": True}, ["body", "evidence"]),
    ({"material": LEASE, "questions": QUESTIONS, "groups": [["nope"]]}, ["body", "groups"]),
    ({"material": LEASE, "questions": QUESTIONS, "surprise": 1}, ["body", "surprise"]),
    ({"material": 5, "questions": QUESTIONS}, ["body", "material"]),
]


@pytest.mark.parametrize(("body", "loc"), BAD, ids=lambda case: str(case)[:60])
def test_what_is_not_acceptable_is_told_with_its_place(http: httpx.Client, body: Any, loc: list[str]) -> None:
    answer = http.post("/v1/decide", json=body)
    assert answer.status_code == 422
    first = answer.json()["detail"][0]
    assert first["loc"][: len(loc)] == loc and first["msg"] and first["type"]


def test_what_does_not_fit_the_context_is_refused_and_not_cut(http: httpx.Client) -> None:
    answer = http.post("/v1/decide", json={"material": "word " * 9000, "questions": QUESTIONS})
    assert answer.status_code == 413
    assert answer.json()["detail"] == {
        "error_type": "limit_error",
        "message": answer.json()["detail"]["message"],
        "path": "material",
    }
    assert "accepted: at most 8192 tokens" in answer.json()["detail"]["message"]


def test_another_model_is_refused_by_name(http: httpx.Client) -> None:
    answer = http.post("/v1/decide", json={**EXAMPLE, "model": "gpt-9"})
    assert answer.status_code == 400 and "accepted: clover-mini, jev-latest" in answer.json()["detail"]["message"]


def test_clover_mini_answers_over_http_as_in_the_process(mini: Decider) -> None:
    pack = load_pack("contract")
    with serving(mini) as url:
        answer = httpx.post(f"{url}/v1/decide", json={"material": pack.example, "pack": "contract", "evidence": True}, timeout=60).json()
    expected = mini.decide(pack.example, pack.questions, evidence=True)
    assert timeless(answer) == json.loads(json.dumps(timeless(expected.as_dict())))
    assert answer["fingerprint"] == mini.fingerprint
