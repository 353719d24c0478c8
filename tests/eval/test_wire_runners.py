"""Servers: both wire formats, and everything a server can do wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clover_decide.questions import Boolean, Choice, Integer, MultiChoice, Score
from clover_eval.execute import Task, run
from clover_eval.results import read_results
from clover_eval.runners.base import RunnerError
from clover_eval.runners.http import HttpRunner
from tests.eval.makers import group, loaded

QUESTIONS = {
    "b": Boolean("Was it?"),
    "c": Choice("Which?", options={"x": "the first", "y": None}),
    "s": Score("How much?", levels=("low", "mid", "high")),
    "m": MultiChoice("Which ones?", options=("p", "q")),
    "i": Integer("How many?"),
}
G = group(questions=QUESTIONS, answers={"b": True, "c": "y", "s": 2, "m": ["q"], "i": 3})
SYSTEMONE = {
    "b": {"type": "noul", "noul": 0.75},
    "c": {"type": "choice", "choice": "y", "probabilities": {"x": 0.2, "y": 0.8}, "confidence": 0.6},
    "s": {"type": "score", "score": 1.7, "probabilities": {"0": 0.1, "1": 0.1, "2": 0.8}, "confidence": 0.5},
    "m/0": {"type": "noul", "noul": 0.1},
    "m/1": {"type": "noul", "noul": 0.9},
}
DECISIONS = [
    {"type": "predicate", "name": "b", "probability": 0.75},
    {
        "type": "choice",
        "name": "c",
        "choice": "y",
        "confidence": 0.6,
        "probabilities": [{"value": "x", "probability": 0.2}, {"value": "y", "probability": 0.8}],
    },
    {
        "type": "score",
        "name": "s",
        "score": 1.7,
        "probabilities": [{"value": i, "label": str(i), "probability": p} for i, p in enumerate((0.1, 0.1, 0.8))],
    },
    {"type": "predicate", "name": "m/0", "probability": 0.1},
    {"type": "predicate", "name": "m/1", "probability": 0.9},
]


@contextmanager
def server(answer: Callable[[dict[str, Any], int], tuple[int, dict[str, str], bytes]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers with what `answer` makes of the request's body and its number."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            status, headers, content = answer(body, len(bodies))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}/v1/x", bodies
    finally:
        httpd.shutdown()
        httpd.server_close()


def good(answers: Any) -> Callable[[dict[str, Any], int], tuple[int, dict[str, str], bytes]]:
    return lambda _body, _n: (200, {}, json.dumps({"model": "m", "answers": answers}).encode())


@pytest.mark.parametrize(("wire", "answers"), [("systemone", SYSTEMONE), ("decisions", DECISIONS)])
def test_both_formats(wire: Any, answers: Any) -> None:
    with server(good(answers)) as (url, bodies):
        reply = HttpRunner(url, wire, joint=True).answer(G)
    values = {key: given.value for key, given in reply.answers.items()}
    assert values == {"b": True, "c": "y", "s": 2, "m": ["q"]}
    assert reply.unsupported == ("i",)
    assert reply.answers["c"].probabilities == {"x": 0.2, "y": 0.8}
    assert reply.probability is None, "a group answered in part has no probability as a whole"
    assert reply.answers["m"].probability == pytest.approx(0.9 * 0.9) and reply.answers["s"].probabilities == {"0": 0.1, "1": 0.1, "2": 0.8}
    (body,) = bodies
    assert body["mode"] == "joint"
    asked = body["questions"]
    if wire == "systemone":
        assert body["state"] == G.material and set(asked) == {"b", "c", "s", "m/0", "m/1"}
        assert asked["c"]["criteria"] == {"x": "the first", "y": None} and asked["s"]["criteria"] == ["low", "mid", "high"]
    else:
        assert body["input"] == G.material and [q["name"] for q in asked] == ["b", "c", "s", "m/0", "m/1"]
        assert asked[1]["choices"] == [{"value": "x", "description": "the first"}, {"value": "y"}]


@pytest.mark.parametrize("status", [429, 529, 503])
def test_a_busy_server_is_asked_again_after_the_wait_it_names(status: int) -> None:
    def answer(_body: dict[str, Any], number: int) -> tuple[int, dict[str, str], bytes]:
        return (status, {"Retry-After": "0"}, b"busy") if number < 3 else good(SYSTEMONE)(_body, number)

    with server(answer) as (url, bodies):
        assert HttpRunner(url, "systemone").answer(G).answers["b"].value is True
    assert len(bodies) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda b, n: (529, {"retry-after-ms": "1"}, b"overloaded"), "status 529: overloaded"),
        (lambda b, n: (429, {"Retry-After": "3600"}, b"later"), "asks to wait 3600 s"),
        (lambda b, n: (422, {}, b'{"detail": "no"}'), "status 422"),
        (lambda b, n: (200, {}, b"<html>"), "is no JSON"),
        (lambda b, n: (200, {}, b"[]"), "is no object"),
        (good(None), "has no answers"),
        (good({}), "missing or has another form"),
        (good({**SYSTEMONE, "b": {"noul": 7}}), "missing or has another form"),
        (good({**SYSTEMONE, "c": {"choice": "z", "probabilities": {"x": 1.0}}}), "missing or has another form"),
        (good({**SYSTEMONE, "c": {"choice": "z", "probabilities": {"z": 1.0}}}), "probabilities of ['z']"),
        (good({**SYSTEMONE, "c": {"choice": "x", "probabilities": {"x": 0.2, "y": 0.8}}}), "not the most probable"),
        (good({**SYSTEMONE, "c": {"choice": "y", "probabilities": {"x": 0.2, "y": 0.3}}}), "sum to 0.500"),
        (good({**SYSTEMONE, "s": {"probabilities": {"-1": 0.1, "-2": 0.1, "-3": 0.8}}}), "probabilities of ['-1'"),
    ],
)
def test_what_a_server_does_wrong_is_said(answer: Any, said: str) -> None:
    with server(answer) as (url, _), pytest.raises(RunnerError) as caught:
        HttpRunner(url, "systemone", tries=2).answer(G)
    assert said in str(caught.value) and url in str(caught.value)


def test_a_refused_question_is_left_out_and_the_others_stand() -> None:
    refused = [{"type": "refusal", "name": "b"}, *DECISIONS[1:3], {"type": "refusal", "name": "m/0"}, DECISIONS[4]]
    with server(good(refused)) as (url, _):
        reply = HttpRunner(url, "decisions").answer(G)
    assert set(reply.answers) == {"c", "s"} and reply.unsupported == ("i", "b", "m")
    assert reply.probability is None


def test_a_server_that_is_down_fails_the_row_and_the_run_ends(tmp_path: Path) -> None:
    runner = HttpRunner("http://127.0.0.1:9/v1/systemone", "systemone", tries=1, timeout=2.0)
    (path,) = run(loaded([G]), [G], [Task(runner)], tmp_path)
    (found,) = read_results(path).rows
    assert found.failed is not None and "no answer from the server" in found.failed["problem"]


def test_a_server_that_does_not_answer_in_time() -> None:
    gate = threading.Event()

    def answer(body: dict[str, Any], number: int) -> tuple[int, dict[str, str], bytes]:
        gate.wait(5)
        return good(SYSTEMONE)(body, number)

    with server(answer) as (url, _):
        with pytest.raises(RunnerError, match="Timeout"):
            HttpRunner(url, "systemone", timeout=0.2, tries=1).answer(G)
        gate.set()
