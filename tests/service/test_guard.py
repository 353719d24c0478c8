"""Keys, rates, headers, logs: on every route that the OpenAPI document has."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from clover_decide import Decider, FormatError, InputError
from clover_decide.service.app import openapi
from clover_decide.service.guard import OPEN
from clover_decide.service.keys import KeyRing, add_key, digest, read_keys, revoke_key
from clover_decide.wire import openai
from clover_decide.wire.native import EXAMPLE
from tests.service.serving import serving

ROUTES = [(method.upper(), path) for path, methods in openapi()["paths"].items() for method in methods]
CLOSED = [(method, path) for method, path in ROUTES if path not in OPEN]


def test_only_the_page_and_what_balancers_ask_are_open() -> None:
    assert {path for _, path in ROUTES} - {path for _, path in CLOSED} == {"/healthz", "/readyz"}
    assert len(CLOSED) >= 9


def test_without_a_valid_key_no_route_answers(tiny: Decider, tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    good, gone = add_key(file, "good"), add_key(file, "gone")
    revoke_key(file, "gone")
    with serving(tiny, keys=file) as url, httpx.Client(base_url=url) as client:
        for method, path in CLOSED:
            for header in (None, "Bearer", f"Bearer {gone}", "Bearer clv_guess", f"Basic {good}", f"Bearer {good}x", good, "Bearer \xff"):
                headers = {} if header is None else {"Authorization": header.encode("latin-1")}
                answer = client.request(method, path, json=EXAMPLE if method == "POST" else None, headers=headers)
                assert answer.status_code == 401, (method, path, header)
                told = answer.json()["error"] if path == "/v1/decisions" else answer.json()["detail"]
                assert "authentication_error" in told.values() and answer.headers["www-authenticate"] == "Bearer"
            right = client.request(method, path, json={} if method == "POST" else None, headers={"Authorization": f"bearer {good}"})
            assert right.status_code in (200, 422), (method, path)
        assert client.get("/v1/nowhere").status_code == 401
        for path in ("/healthz", "/readyz"):
            asked, whole = client.head(path), client.get(path)
            assert (asked.status_code, asked.content, asked.headers["content-type"]) == (200, b"", whole.headers["content-type"])
        assert client.get("/healthz").status_code == client.get("/").status_code == client.get("/static/page.js").status_code == 200


def test_a_running_service_takes_a_new_key_and_drops_a_revoked_one(tiny: Decider, tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    first = add_key(file, "first")
    with serving(tiny, keys=file) as url:
        asks = lambda key: httpx.get(f"{url}/v1/packs", headers={"Authorization": f"Bearer {key}"}).status_code  # noqa: E731
        assert asks(first) == 200
        second = add_key(file, "second")
        revoke_key(file, "first")
        assert asks(first) == 401 and asks(second) == 200
        file.write_text("{broken")
        assert asks(second) == 200


def test_only_hashes_of_keys_are_stored(tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    token = add_key(file, "ours", 5)
    assert token not in file.read_text() and file.stat().st_mode & 0o077 == 0
    assert read_keys(file)[0].hash == digest(token) and read_keys(file)[0].per_minute == 5
    assert KeyRing(file).find(token) == read_keys(file)[0] and KeyRing(file).find("") is None
    with pytest.raises(InputError, match="name: empty or taken"):
        add_key(file, "ours")
    with pytest.raises(InputError, match="name: no such key"):
        revoke_key(file, "theirs")


HASH = "0" * 64
BROKEN = ["[]", "a: {hash: abc}", "a: {hash: 5}", "a: {}", "a: 5", f"a: {{hash: '{HASH}', per_minute: 0}}", f"a: {{hash: '{HASH}', x: 1}}"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_of_keys_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.yaml").write_text(text)
    with pytest.raises(FormatError, match=r"keys\.yaml"):
        read_keys(tmp_path / "keys.yaml")


def test_a_rate_holds_under_concurrency(tiny: Decider, tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    small, large = add_key(file, "small", 7), add_key(file, "large")
    with serving(tiny, keys=file, per_minute=40) as url, httpx.Client(base_url=url) as client, ThreadPoolExecutor(16) as pool:

        def ask(key: str) -> httpx.Response:
            return client.get("/v1/packs", headers={"Authorization": f"Bearer {key}"})

        for key, limit in ((small, 7), (large, 40)):
            answers = list(pool.map(ask, [key] * 60))
            refused = [answer for answer in answers if answer.status_code == 429]
            assert sum(answer.status_code == 200 for answer in answers) == limit and len(refused) == 60 - limit
            assert all(0 < int(answer.headers["retry-after"]) <= 61 for answer in refused)
            assert refused[0].json()["detail"]["error_type"] == "rate_limit_error"


def test_a_wrong_key_costs_nobody_their_rate(tiny: Decider, tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    key = add_key(file, "only", 2)
    with serving(tiny, keys=file) as url, httpx.Client(base_url=url) as client:
        for _ in range(5):
            assert client.get("/v1/packs", headers={"Authorization": "Bearer no"}).status_code == 401
        assert client.get("/v1/packs", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_every_answer_has_an_id_and_headers_that_browsers_heed(http: httpx.Client) -> None:
    for answer in (http.get("/"), http.get("/nowhere"), http.post("/v1/decide", content=b"{"), http.post("/v1/decide", json=EXAMPLE)):
        assert len(answer.headers["x-request-id"]) == 32 and answer.headers["x-typesafe-request-id"] == answer.headers["x-request-id"]
        assert answer.headers["x-content-type-options"] == "nosniff" and "default-src 'self'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers and "access-control-allow-origin" not in answer.headers
    assert http.get("/healthz", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert http.get("/healthz", headers={"x-request-id": "no good\tone"}).headers["x-request-id"] != "no good\tone"


def test_other_origins_are_let_in_only_where_set(tiny: Decider) -> None:
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    with serving(tiny, cors=["https://a.example"]) as url:
        assert httpx.options(f"{url}/v1/decide", headers=asked).headers["access-control-allow-origin"] == "https://a.example"
        other = httpx.options(f"{url}/v1/decide", headers={**asked, "Origin": "https://b.example"})
        assert "access-control-allow-origin" not in other.headers
    with serving(tiny) as url:
        assert "access-control-allow-origin" not in httpx.options(f"{url}/v1/decide", headers=asked).headers


@pytest.mark.parametrize("shown", [False, True])
def test_logs_have_the_request_but_not_the_material(tiny: Decider, capfd: pytest.CaptureFixture[str], shown: bool) -> None:
    from clover_decide.service.logs import configure

    configure("info")
    try:
        with serving(tiny, log_material=shown) as url:
            httpx.post(f"{url}/v1/decide", json={**EXAMPLE, "material": "A secret clause."}, headers={"x-request-id": "abc"})
            httpx.post(f"{url}/v1/decide", json={**EXAMPLE, "material": "A secret clause.", "mode": "secret"})
    finally:
        configure("error")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if '"request"' in line]
    assert [(line["route"], line["status"], line["level"]) for line in lines] == [("/v1/decide", 200, "info"), ("/v1/decide", 422, "info")]
    assert lines[0]["request_id"] == "abc" and lines[0]["decided"] == 1 and lines[0]["seconds"] > 0
    assert ("secret" in json.dumps(lines)) is shown


def test_what_nobody_foresaw_is_logged_and_told_without_details(tiny: Decider, capfd: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(type(tiny), "decide", broken)
    with serving(tiny) as url:
        answers = [httpx.post(f"{url}/v1/{path}", json=body) for path, body in (("decide", EXAMPLE), ("decisions", openai.EXAMPLE))]
    assert [answer.status_code for answer in answers] == [500, 500] and "secret" not in answers[0].text + answers[1].text
    assert answers[0].json()["detail"]["error_type"] == "internal_error" and answers[1].json()["error"]["type"] == "server_error"
    assert "a secret detail" in capfd.readouterr().err
    assert logging.getLogger().level >= logging.ERROR


def test_metrics_count_what_was_asked(tiny: Decider) -> None:
    with serving(tiny) as url, httpx.Client(base_url=url) as client:
        client.post("/v1/decide", json={**EXAMPLE, "abstain": 1.0})
        client.post("/v1/decide", json={})
        client.get("/some/strange/path")
        text = client.get("/metrics").text
    for line in (
        'clover_requests_total{route="/v1/decide",status="200"} 1.0',
        'clover_requests_total{route="/v1/decide",status="422"} 1.0',
        'clover_requests_total{route="other",status="404"} 1.0',
        'clover_decisions_total{effort="standard",mode="joint"} 1.0',
        'clover_abstentions_total{reason="probability"} 2.0',
        "clover_reviews_total 1.0",
        "clover_waiting_requests 0.0",
        "clover_running_requests 0.0",
    ):
        assert line in text.splitlines(), text


def test_spans_have_what_was_decided(tiny: Decider) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    with serving(tiny) as url:
        httpx.post(f"{url}/v1/decide", json=EXAMPLE)
    # The web framework has spans of its own.
    (told,) = [span for span in exporter.get_finished_spans() if span.name == "decide"]
    assert told.attributes is not None
    assert told.attributes["clover.mode"] == "joint" and told.attributes["clover.questions"] == 2
