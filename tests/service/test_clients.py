"""Clients of others, unchanged, against both compatible formats; and the conformance suite of System One."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from clover_decide import Decider, InputError
from clover_decide.service.app import create_app
from clover_decide.service.keys import add_key
from clover_decide.service.settings import Settings
from clover_decide.wire import openai as decisions
from clover_decide.wire.systemone import EXAMPLE
from tests.service.serving import serving

STATE = {"ticket": "I was charged twice for my March invoice and nobody answers.", "tags": ["billing", "angry"]}


@pytest.mark.parametrize("keyed", [False, True])
def test_conforms_to_system_one(tiny: Decider, tmp_path: Path, keyed: bool) -> None:
    key = add_key(tmp_path / "keys.yaml", "suite") if keyed else None
    with serving(tiny, **({"keys": tmp_path / "keys.yaml"} if keyed else {})) as url:
        command = [str(Path(sys.executable).with_name("jevcompat")), "test", url]
        done = subprocess.run([*command, *(["--key", key] if key else [])], capture_output=True, text=True, check=False)
    summary = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    assert done.returncode == 0, done.stdout
    # Of the requirements about keys a server with keys can be asked some, one without others.
    assert summary.startswith("conformant to spec 0.1: MUST 32/32, SHOULD 1"), summary


@pytest.mark.parametrize("text", ["short", "long enough that the client compresses the body; " * 40])
def test_typesafe_sdk(url: str, text: str) -> None:
    from typesafe_sdk import Choice, Noul, Score, TypeSafeClient

    questions: dict[str, Any] = {
        "refund": Noul(instructions="Is the customer asking for money back?"),
        "team": Choice(instructions="Which team?", criteria={"billing": "payments", "technical": None}),
        "upset": Score(instructions="How upset?", criteria=["calm", "annoyed", "angry"]),
    }
    with TypeSafeClient(api_key="none", base_url=url) as client:
        alone = client.system_one(state={"text": text}, questions=questions)
        joint = client.system_one(
            state={"text": text}, questions=questions, extra_body={"mode": "joint", "groups": [["team", "refund"], ["upset"]]}
        )
    assert 0.0 <= alone.nouls["refund"].noul <= 1.0 and alone.choices["team"].choice in ("billing", "technical")
    assert alone.scores["upset"].legend[2] == "angry" and alone.model == "clover-mini"
    assert joint.choices["team"].probabilities.keys() == {"billing", "technical"}


def test_openai(url: str) -> None:
    from openai import OpenAI

    client = OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)
    scale = {"type": "score", "instructions": "How upset?", "levels": [{"label": "calm"}, {"label": "angry"}]}
    given: Any = {**decisions.EXAMPLE, "questions": [*decisions.EXAMPLE["questions"], scale]}
    for extra in ({}, {"mode": "joint", "rules": "!refund || team == 'billing'"}):
        made = client.decisions.create(**given, extra_body=extra)
        assert [answer.type for answer in made.answers] == ["predicate", "choice", "score"]
        assert [answer.name for answer in made.answers] == ["refund", "team", None]
        assert made.usage.total_tokens == made.usage.input_tokens + made.usage.output_tokens
    talk: Any = [
        {"role": "system", "content": "Be strict."},
        {"role": "user", "content": [{"type": "input_text", "text": "Is it paid?"}]},
        {"type": "function_call", "call_id": "1", "name": "look_up", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "It is paid."},
    ]
    made = client.decisions.create(model="clover-mini", input=talk, questions=given["questions"][:1])
    assert made.answers[0].type == "predicate"


def test_true_and_its_name_are_two_choices(http: httpx.Client) -> None:
    choices = [{"value": True}, {"value": "true"}, {"value": False}]
    asked = {"model": "clover-mini", "input": "It is.", "questions": [{"type": "choice", "instructions": "Is it?", "choices": choices}]}
    answer = http.post("/v1/decisions", json=asked).json()["answers"][0]
    assert [share["value"] for share in answer["probabilities"]] == [True, "true", False]
    assert sum(share["probability"] for share in answer["probabilities"]) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:The class `TypeSafeClassifier` is in beta")
# It leaves its connections to be collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_langchain_typesafe(url: str) -> None:
    from langchain_typesafe import Choice, Noul, TypeSafeClassifier

    classifier = TypeSafeClassifier(base_url=url, api_key="none")
    asked: Any = {
        "state": "Stripe has failed for three days.",
        "questions": {
            "team": Choice(instructions="Which team?", criteria={"a": None, "b": None}),
            "urgent": Noul(instructions="Is it urgent?"),
        },
    }
    result = classifier.invoke(asked)
    assert result.choices["team"].choice in ("a", "b") and 0.0 <= result.nouls["urgent"].noul <= 1.0


def test_pydecide(url: str) -> None:
    import decide
    from decide.backends.typesafe import TypeSafeBackend

    with decide.Client(backends=[TypeSafeBackend("none", base_url=url)]) as client:
        answered = client.decide(
            state=STATE, questions={"team": decide.Choice(instructions="Which team?", criteria={"a": None, "b": None})}
        )
    assert answered.answers["team"].choice in ("a", "b")


def test_jev_jsonschema(url: str) -> None:
    from jev_jsonschema import JevClient

    schema = {
        "type": "object",
        "properties": {"spam": {"type": "boolean", "description": "Is it spam?"}, "mood": {"enum": ["good", "bad"], "type": "string"}},
    }
    with JevClient(api_key="none", base_url=url) as client:
        output = client.evaluate(schema, state="Loved it.").output
    assert isinstance(output["spam"], bool) and output["mood"] in ("good", "bad")


@pytest.mark.parametrize("extra", [{}, {"mode": "joint"}])
def test_curl(url: str, extra: dict[str, Any]) -> None:
    # As people type it: no header says that the body is JSON.
    done = subprocess.run(["curl", "-s", f"{url}/v1/systemone", "-d", json.dumps({**EXAMPLE, **extra})], capture_output=True, check=True)
    answer = json.loads(done.stdout)
    assert set(answer["answers"]) == {"refund", "team", "upset"} and answer["x_mode"] == extra.get("mode", "independent")


def test_a_system_one_body_is_known_at_the_other_address(http: httpx.Client) -> None:
    there, here = http.post("/v1/decisions", json=EXAMPLE).json(), http.post("/v1/systemone", json=EXAMPLE).json()
    assert there == here
    wrong = {**EXAMPLE, "questions": {"a": {"type": "boolean"}}}
    assert http.post("/v1/decisions", json=wrong).json() == http.post("/v1/systemone", json=wrong).json()


@pytest.mark.parametrize("route", ["systemone", "decisions"])
def test_clients_that_cannot_name_a_mode_get_the_one_of_the_service(tiny: Decider, route: str) -> None:
    body = EXAMPLE if route == "systemone" else decisions.EXAMPLE
    with serving(tiny, compatible_mode="joint") as url:
        assert httpx.post(f"{url}/v1/{route}", json=body).json()["x_mode"] == "joint"
        assert httpx.post(f"{url}/v1/{route}", json={**body, "mode": "independent"}).json()["x_mode"] == "independent"


def test_a_calibration_decides_the_mode_of_requests_that_name_none(tiny: Decider) -> None:
    fitted = {"model": tiny.fingerprint, "mode": "joint", "effort": "standard", "questions": None, "temperatures": {}, "data": "d"}
    decider = tiny.calibrated({"calibration": 1, **fitted, "slope": 1.0, "intercept": 0.0, "groups": 1})
    with serving(decider) as url:
        assert httpx.post(f"{url}/v1/systemone", json=EXAMPLE).json()["x_mode"] == "joint"
    with pytest.raises(InputError, match=r"compatible_mode: .*other mode.*accepted: joint"):
        create_app(Settings(compatible_mode="independent"), decider)


def test_joint_answers_of_the_compatible_formats_are_those_of_the_library(http: httpx.Client, tiny: Decider) -> None:
    from clover_decide.wire.systemone import SystemOneRequest

    asked = {**EXAMPLE, "mode": "joint", "effort": "thorough", "independent": True, "abstain": 0.99}
    answer = http.post("/v1/systemone", json=asked).json()
    request = SystemOneRequest.model_validate(asked)
    expected = tiny.decide(EXAMPLE["state"], request.asked(), **request.chosen("joint"))
    assert answer["x_probability"] == pytest.approx(expected.probability)
    assert answer["answers"]["refund"]["noul"] == pytest.approx(expected["refund"].probabilities["true"])
    assert answer["answers"]["team"]["x_abstained"]["reason"] == "probability"
    assert answer["answers"]["team"]["x_independent"]["value"] == expected["team"].independent.value
    refused = http.post("/v1/decisions", json={**decisions.EXAMPLE, "abstain": 1.0, "mode": "joint"}).json()["answers"]
    assert refused[1] == {"type": "refusal", "name": "team", **{k: v for k, v in refused[1].items() if k.startswith("x_")}}


def test_sixty_four_questions_and_255_options_are_answered(http: httpx.Client) -> None:
    many = {f"question {i}: ä.ö/": {"type": "noul", "instructions": f"Is it {i}?"} for i in range(64)}
    assert http.post("/v1/systemone", json={"state": "It is 5.", "questions": many}).json()["answers"].keys() == many.keys()
    too_many = {**many, "one more": {"type": "noul"}}
    assert http.post("/v1/systemone", json={"state": "It is 5.", "questions": too_many}).status_code == 422
    options = {f"option {i}": None for i in range(255)}
    wide = {"q": {"type": "choice", "criteria": options}}
    assert (
        http.post("/v1/systemone", json={"state": "It is 5.", "questions": wide}).json()["answers"]["q"]["probabilities"].keys()
        == options.keys()
    )
    wide["q"]["criteria"] = {**options, "option 255": None}
    assert http.post("/v1/systemone", json={"state": "It is 5.", "questions": wide}).status_code == 422


def test_answers_do_not_depend_on_other_questions(http: httpx.Client) -> None:
    whole = http.post("/v1/systemone", json=EXAMPLE).json()["answers"]
    for key, question in EXAMPLE["questions"].items():
        alone = http.post("/v1/systemone", json={**EXAMPLE, "questions": {"another name": question}}).json()["answers"]["another name"]
        # The shape of a matrix product changes its rounding.
        for name in ("noul", "confidence", "score"):
            assert alone.get(name) == pytest.approx(whole[key].get(name), abs=1e-5)


def test_clients_of_ours(url: str, tiny: Decider) -> None:
    from clover_decide import AsyncClient, Boolean, Client, Date, Decision, InputError, MultiChoice

    questions = {"paid": Boolean("Paid?"), "day": Date("When?"), "who": MultiChoice("Who?", options=("a", "b"))}
    expected = tiny.decide("Paid.", questions, rules="paid", abstain={"questions": {"day": 1.0}}, independent=True)
    options: Any = {"rules": "paid", "abstain": {"questions": {"day": 1.0}}, "independent": True}
    with Client(url) as client:
        decision = client.decide("Paid.", questions, **options)
        assert decision.answers == expected.answers and decision.values() == expected.values() and decision.explain()
        with pytest.raises(InputError, match="material: the material is empty"):
            client.decide("", questions)
        with pytest.raises(InputError, match=r"questions\.a\.options: 1 options given"):
            client.decide("Paid.", {"a": {"type": "choice", "text": "?", "options": ["x"]}})
        kinds = [type(item) for item in client.decide_many(["Paid.", "", "Not."], questions)]
        assert kinds[0] is kinds[2] is Decision and issubclass(kinds[1], InputError)
        assert len(client.packs()) == 4

    async def together() -> list[Decision]:
        async with AsyncClient(url) as client:
            return await asyncio.gather(*(client.decide(f"Paid {i}.", questions) for i in range(6)))

    for i, decision in enumerate(asyncio.run(together())):
        assert decision.values() == tiny.decide(f"Paid {i}.", questions).values()


def test_a_client_tells_what_the_service_lacks(tiny: Decider, tmp_path: Path) -> None:
    from clover_decide import Boolean, Client, InputError, RefusedError, ServiceError

    add_key(tmp_path / "keys.yaml", "ours")
    refused = pytest.raises(RefusedError, match=r"no such key, or it was revoked \(status 401, request [0-9a-f]{32}\)")
    with serving(tiny, keys=tmp_path / "keys.yaml") as url, Client(url, key="clv_wrong") as client, refused:
        client.decide("Paid.", {"paid": Boolean("Paid?")})
    with Client(url, retries=1) as client, pytest.raises(ServiceError, match=r"url: cannot be reached \(ConnectError"):
        client.decide("Paid.", {"paid": Boolean("Paid?")})
    with pytest.raises(InputError, match="url: not an address"):
        Client("localhost:8000")
