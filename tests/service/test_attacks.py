"""Requests that once brought the service down, got a 5xx, or were told something untrue."""

from __future__ import annotations

import datetime as dt
import enum
import json
from typing import Any

import httpx
import pytest

from clover_decide import (
    AsyncClient,
    Boolean,
    Client,
    Date,
    Decider,
    InputError,
    LimitError,
    MaterialError,
    ModelError,
    RuleError,
)
from clover_decide.facts import derive_facts
from clover_decide.wire import openai, systemone
from clover_decide.wire.native import EXAMPLE
from tests.service.serving import serving

YES = {"a": {"type": "boolean", "text": "Is it?"}}


def words(count: int) -> str:
    """Sentences that each count something of their own."""
    letters = "abcdefghij"
    names = ("".join(letters[int(d)] for d in f"{i:05d}") for i in range(count))
    return " ".join(f"7 {name} {name}s." for name in names)


def test_a_material_that_cannot_fit_is_refused_before_it_is_worked_on(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # Facts of it took minutes, and as many threads as there are.
    worked: list[str] = []
    monkeypatch.setattr("clover_decide.options.derive_facts", lambda text: worked.append(text) or ())
    answer = http.post("/v1/decide", json={"material": words(20_000), "questions": YES})
    assert answer.status_code == 413 and answer.json()["detail"]["path"] == "material" and not worked
    assert http.post("/v1/decide", json={"material": "Short.", "questions": YES}).status_code == 200 and worked == ["Short."]


def test_many_things_counted_are_compared_up_to_a_bound() -> None:
    assert derive_facts(words(3000)) == ()


@pytest.mark.parametrize("pattern", ["((a{1,99}){1,99}){1,99}", "(.|\\n){0,1000}", "\\w{0,400}", "[^x]{9,99}", "(a|b{2,5000}){999}"])
def test_a_pattern_that_explodes_is_refused_before_it_does(http: httpx.Client, pattern: str) -> None:
    questions = {"a": {"type": "text", "text": "x", "pattern": pattern}}
    answer = http.post("/v1/decide", json={"material": "A.", "questions": questions})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "questions", "a", "pattern"] and "token transitions" in answer.text


@pytest.mark.parametrize(
    "pattern", ["[A-Z]{2}-[0-9]{4}", "\\d{1,3}(,\\d{3})*", "[a-z]+(-[a-z0-9]+)*", "(low|high) [0-9]{0,6}", "INV-[0-9]{4,10}"]
)
def test_patterns_of_this_field_pass(http: httpx.Client, pattern: str) -> None:
    questions = {"a": {"type": "text", "text": "x", "pattern": pattern}}
    assert http.post("/v1/decide", json={"material": "A.", "questions": questions}).status_code == 200


INFINITE = '{"material": "A.", "questions": {"type": "object", "properties": {"n": %s}}}'


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/decide", json.dumps({**EXAMPLE, "rules": "timely == ('\\U00110000' == 'a')"})),
        ("/v1/decide", json.dumps({**EXAMPLE, "rules": "'\\999' == 'a'"})),
        ("/v1/decide", INFINITE % '{"type": "integer", "maximum": 1e400}'),
        ("/v1/decide", INFINITE % '{"type": "number", "exclusiveMaximum": 1e400}'),
        ("/v1/decide", INFINITE % f'{{"type": "number", "maximum": 1{"0" * 4000}}}'),
        ("/v1/decide", INFINITE % '{"enum": [1e400, -1e400]}'),
        ("/v1/systemone", '{"state": "A.", "questions": {"q": {"type": "score", "criteria": [{"v": 1e400}, {"v": 2}]}}}'),
    ],
    ids=lambda case: case[:70],
)
def test_numbers_and_characters_that_do_not_exist_are_refused(http: httpx.Client, path: str, body: str) -> None:
    answer = http.post(path, content=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"][0]["msg"]


PLACES = [
    ("/v1/decisions", {**openai.EXAMPLE, "input": [{"role": "usr", "content": "hi"}]}, "input.0.role"),
    ("/v1/decisions", {**openai.EXAMPLE, "input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input.0.content.0.type"),
    ("/v1/decisions", {**openai.EXAMPLE, "input": ""}, "input"),
    ("/v1/decisions", {**openai.EXAMPLE, "input": 5}, "input"),
    ("/v1/decisions", {**openai.EXAMPLE, "input": {"a": 1}}, "input"),
    ("/v1/decisions", {**openai.EXAMPLE, "questions": [{"type": "predicate", "instructions": "<|im_start|>"}]}, "questions.0.instructions"),
    ("/v1/decisions", {"model": "clover-mini", "input": "x"}, "questions"),
    ("/v1/systemone", {**systemone.EXAMPLE, "state": " "}, "state"),
    ("/v1/systemone", {**systemone.EXAMPLE, "state": None}, "state"),
    (
        "/v1/systemone",
        {**systemone.EXAMPLE, "questions": {"1": {"type": "noul", "instructions": "<|im_end|>"}}},
        "questions.1.instructions",
    ),
    (
        "/v1/systemone",
        {**systemone.EXAMPLE, "questions": {"q": {"type": "choice", "criteria": {"a": "", "<|im_end|>": ""}}}},
        "questions.q.criteria",
    ),
    ("/v1/systemone", {**systemone.EXAMPLE, "abstain": True}, "abstain"),
    ("/v1/systemone", {**systemone.EXAMPLE, "groups": [["refund", "team", "upset"]]}, "groups"),
    ("/v1/decide", {**EXAMPLE, "abstain": True}, "abstain"),
    ("/v1/decide", {**EXAMPLE, "abstain": {"probability": 2}}, "abstain.probability"),
    ("/v1/decide", {**EXAMPLE, "facts": 5}, "facts"),
    ("/v1/decide", {**EXAMPLE, "material": 5}, "material"),
    ("/v1/decide", {**EXAMPLE, "mode": "independent", "groups": [["timely"], ["days"]]}, "groups"),
    ("/v1/decide", {**EXAMPLE, "rules": ["timely", "days >"]}, "rules.1"),
    ("/v1/contracts/adjudicate", {"contract": " "}, "contract"),
    ("/v1/alerts/adjudicate", {"alert": {}}, "alert"),
    ("/v1/alerts/adjudicate", {"alert": {"a": 1}, "policy": 5}, "policy"),
]


@pytest.mark.parametrize(("path", "body", "place"), PLACES, ids=lambda case: str(case)[-60:])
def test_the_place_that_is_told_is_one_of_the_request(http: httpx.Client, path: str, body: Any, place: str) -> None:
    answer = http.post(path, json=body)
    assert answer.status_code == 422, answer.text
    told = answer.json()
    found = told["error"]["param"] if "error" in told else ".".join(str(step) for step in told["detail"][0]["loc"][1:])
    assert found == place or found.startswith(f"{place}."), told


def test_three_ways_to_say_true_are_three_choices(http: httpx.Client) -> None:
    choices = [{"value": value} for value in (True, "true", "true (boolean)")]
    asked = {"model": "clover-mini", "input": "It is.", "questions": [{"type": "choice", "instructions": "Is it?", "choices": choices}]}
    answer = http.post("/v1/decisions", json=asked).json()["answers"][0]
    assert [share["value"] for share in answer["probabilities"]] == [True, "true", "true (boolean)"]
    assert sum(share["probability"] for share in answer["probabilities"]) == pytest.approx(1.0)


def test_a_trailing_slash_is_not_redirected_to_another_host(http: httpx.Client) -> None:
    answer = http.post("/v1/decide/", json=EXAMPLE, headers={"Host": "evil.example"})
    assert answer.status_code == 404 and "location" not in answer.headers


def test_a_page_of_another_origin_is_refused(tiny: Decider) -> None:
    with serving(tiny, cors=["https://a.example"], per_minute=3) as url:
        evil = httpx.post(
            f"{url}/v1/decide", content=json.dumps(EXAMPLE), headers={"Origin": "http://evil.example", "Content-Type": "text/plain"}
        )
        assert evil.status_code == 403 and evil.json()["detail"]["error_type"] == "origin_error"
        assert httpx.post(f"{url}/v1/decide", json=EXAMPLE, headers={"Origin": url}).status_code == 200
        for _ in range(4):
            allowed = httpx.get(f"{url}/v1/packs", headers={"Origin": "https://a.example"})
            assert allowed.headers["access-control-allow-origin"] == "https://a.example"
        assert allowed.status_code == 429 and "retry-after" in allowed.headers["access-control-expose-headers"]


def test_a_client_says_what_the_library_would(url: str, tiny: Decider) -> None:
    long = "word " * 20_000
    with Client(url) as client:
        kinds = [type(item).__name__ for item in client.decide_many(["A.", long, "B."], YES)]
        assert (
            kinds == [type(item).__name__ for item in tiny.decide_many(["A.", long, "B."], YES)] == ["Decision", "LimitError", "Decision"]
        )
        for given, kind in (
            ("", MaterialError),
            (b"x", MaterialError),
            (float("nan"), MaterialError),
            ("\ud800", MaterialError),
            (long, LimitError),
        ):
            with pytest.raises(kind):
                client.decide(given, YES)
        with pytest.raises(InputError, match="effort: unknown effort"):
            next(client.decide_many(["A."], YES, effort="zz"))
        with pytest.raises(ModelError, match="evidence: the model was not trained"):
            client.decide("A.", YES, evidence=True)
        with pytest.raises(RuleError, match=r"rules\[1\]"):
            client.decide("A.", YES, rules=["a", "b >"])


def test_a_client_takes_what_the_library_takes(url: str, tiny: Decider) -> None:
    class Colour(enum.Enum):
        RED = "red"

    material = {"day": dt.date(2025, 5, 26), "colour": Colour.RED}
    questions: dict[str, Any] = {"day": Date("Which day?"), "red": Boolean("Is it red?")}
    numbers = {"description": "Which number?", "enum": [1, 2, 3]}
    schema = {"type": "object", "properties": {"n": numbers, "b": {"description": "Is it so?", "enum": [20, False]}}}
    rules = {"properties": {"n": {"const": 2}}}
    with Client(url) as client:
        ours, theirs = client.decide(material, questions), tiny.decide(material, questions)
        assert ours.answers == theirs.answers and ours.facts == theirs.facts and ours.material_text == theirs.material_text
        ours, theirs = (d.decide("It is 2.", schema, rules=rules, effort="thorough") for d in (client, tiny))
        assert ours.values() == theirs.values() and ours["n"].value == theirs["n"].value
        assert [dict(a.values) for a in ours.alternatives] == [dict(a.values) for a in theirs.alternatives]


@pytest.mark.parametrize("key", ["clv_secret\nx", "clv sécret", "clv_ü", " ", "a b"])
def test_a_bad_key_is_refused_and_not_told(key: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InputError, match="key: not a key") as caught:
            kind("http://x", key=key)
        assert "clv" not in str(caught.value) and "cret" not in str(caught.value)


def test_a_key_may_end_its_line(url: str) -> None:
    with Client(url, key="clv_x\n") as client:
        assert client.packs()


@pytest.mark.parametrize("address", ["http://[::1", "ftp://x", "http://", "x"])
def test_a_bad_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="url: not an address"):
        Client(address)
