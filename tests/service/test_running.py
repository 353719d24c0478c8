"""Left running: overload, deadlines, clients that go away, SIGTERM, a worker that is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from clover_decide import Boolean, Choice, Client, Decider, load_pack
from clover_decide.wire import openai, systemone
from clover_decide.wire.native import EXAMPLE
from tests.service.serving import serving


class Slow:
    """A decider whose answers wait to be let go."""

    def __init__(self, decider: Decider) -> None:
        self.decider, self.gate, self.begun, self.ended = decider, threading.Event(), 0, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decider, name)

    def decide(self, material: Any, questions: Any, *, check: Callable[[], None], **options: Any) -> Any:
        self.begun += 1
        try:
            while not self.gate.wait(0.01):
                check()
            self.ended.append("answered")
            return self.decider.decide(material, questions, check=check, **options)
        except Exception as error:
            self.ended.append(type(error).__name__)
            raise


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def test_overload_is_shed_and_what_was_accepted_is_answered(tiny: Decider) -> None:
    slow: Any = Slow(tiny)
    with serving(slow, batch=2, queue=3) as url, httpx.Client(base_url=url, timeout=30) as client, ThreadPoolExecutor(5) as pool:
        accepted = [pool.submit(client.post, "/v1/decide", json=EXAMPLE) for _ in range(5)]
        until(lambda: client.get("/readyz").status_code == 503)
        assert slow.begun == 2
        for path, body, status in (
            ("/v1/decide", EXAMPLE, 503),
            ("/v1/systemone", systemone.EXAMPLE, 529),
            ("/v1/decisions", openai.EXAMPLE, 503),
            ("/v1/decisions", systemone.EXAMPLE, 529),
        ):
            answer = client.post(path, json=body)
            assert answer.status_code == status and answer.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200 and "clover_waiting_requests 3.0" in client.get("/metrics").text
        slow.gate.set()
        assert [answer.result().status_code for answer in accepted] == [200] * 5
        assert client.get("/readyz").status_code == 200


def test_a_client_of_ours_comes_again_when_told_to(tiny: Decider) -> None:
    slow: Any = Slow(tiny)
    with serving(slow, batch=1, queue=0) as url, Client(url, retries=3) as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.decide, "A.", {"a": Boolean("A?")})
        until(lambda: slow.begun == 1)
        second = pool.submit(client.decide, "B.", {"b": Boolean("B?")})
        time.sleep(0.1)
        slow.gate.set()
        assert first.result()["a"] and second.result()["b"]


def test_a_deadline_ends_a_request_and_its_work(tiny: Decider) -> None:
    slow: Any = Slow(tiny)
    with serving(slow, batch=1, queue=4, deadline=1.5) as url, ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: httpx.post(f"{url}/v1/decide", json=EXAMPLE), range(3)))
        assert [answer.status_code for answer in answers] == [504] * 3
        assert "not answered within 1.5 s" in answers[0].json()["detail"]["message"]
        until(lambda: slow.ended == ["Problem"] * slow.begun)
        slow.gate.set()
        assert httpx.post(f"{url}/v1/decide", json=EXAMPLE).status_code == 200


def test_nobody_works_for_a_client_that_is_gone(tiny: Decider) -> None:
    slow: Any = Slow(tiny)
    with serving(slow, batch=1) as url:
        for stream in (False, True):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{url}/v1/decide", json=EXAMPLE, timeout=0.3, headers={"Accept": "text/event-stream"} if stream else {})
            until(lambda: slow.begun == len(slow.ended))
        assert slow.ended == ["Problem", "Problem"]


def test_no_answer_is_mixed_up_under_load(tiny: Decider) -> None:
    """Every request asks for a word of its own, in three formats; the answer must have it, and be the one that it gets alone."""

    def ask(number: int) -> tuple[int, Any]:
        word, other = f"nonce{number}", f"other{number}"
        question = {"type": "choice", "instructions": "Which?", "criteria": {word: None, other: None}}
        if number % 3 == 0:
            body: Any = {"state": f"It is {word}.", "questions": {word: question}, "mode": ["joint", "independent"][number % 2]}
            answers = client.post("/v1/systemone", json=body).json()["answers"]
            assert list(answers) == [word]
            return number, answers[word]["probabilities"]
        if number % 3 == 1:
            asked = {"type": "choice", "name": word, "instructions": "Which?", "choices": [{"value": word}, {"value": other}]}
            answer = client.post("/v1/decisions", json={"model": "clover-mini", "input": f"It is {word}.", "questions": [asked]}).json()
            assert answer["answers"][0]["name"] == word
            return number, {share["value"]: share["probability"] for share in answer["answers"][0]["probabilities"]}
        native = {"material": f"It is {word}.", "questions": {word: {"type": "choice", "text": "Which?", "options": [word, other]}}}
        return number, client.post("/v1/decide", json=native).json()["answers"][word]["probabilities"]

    with serving(tiny, batch=8, queue=64) as url, httpx.Client(base_url=url, timeout=60) as client, ThreadPoolExecutor(32) as pool:
        found = dict(pool.map(ask, range(240)))
    for number in range(0, 240, 7):
        word, other = f"nonce{number}", f"other{number}"
        expected = tiny.decide(f"It is {word}.", {word: Choice("Which?", options=(word, other))}, mode="joint")[word]
        assert found[number] == pytest.approx(dict(expected.probabilities), abs=1e-4), number
    assert set(found) == set(range(240))


@contextmanager
def command(tmp_path: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`clover-decide serve` in a process of its own, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path / "log").open("w")
    words = [sys.executable, "-m", "clover_decide.cli", "serve", "--port", str(port), *options]
    process = subprocess.Popen(words, stderr=log, stdout=log, env={**os.environ, **environment})
    try:
        end = time.monotonic() + 90
        while True:
            assert process.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
            try:
                if httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
        log.close()


def test_sigterm_finishes_what_was_accepted(tmp_path: Path) -> None:
    pack = load_pack("contract")
    body = {"material": pack.example, "pack": "contract", "permutations": 2}
    with command(tmp_path, "--dtype", "bfloat16", "--batch", "2") as (process, url), ThreadPoolExecutor(4) as pool:
        accepted = [pool.submit(httpx.post, f"{url}/v1/decide", json=body, timeout=120) for _ in range(3)]
        until(lambda: "clover_running_requests 2.0" in httpx.get(f"{url}/metrics").text)
        process.send_signal(signal.SIGTERM)
        assert [answer.result().status_code for answer in accepted] == [200] * 3
        # It ends as the signal has processes end, once all is answered.
        assert process.wait(60) in (0, -signal.SIGTERM)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert sum(line["event"] == "request" for line in lines) == 3


def test_a_killed_worker_takes_only_its_own_requests_along(tmp_path: Path) -> None:
    with command(tmp_path, "--dtype", "bfloat16", "--workers", "2") as (process, url):
        pid = process.pid

        def workers() -> list[int]:
            listed = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            return [child for child in listed if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]

        until(lambda: len(workers()) == 2)
        stop, seen = threading.Event(), list[str]()

        def ask() -> None:
            while not stop.is_set():
                try:
                    answer = httpx.post(f"{url}/v1/decide", json=EXAMPLE, timeout=60)
                    seen.append("answered" if answer.json()["answers"].keys() == {"timely", "days"} else "wrong")
                except httpx.TransportError:
                    seen.append("lost")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(seen) >= 4)
        killed = workers()[0]
        os.kill(killed, signal.SIGKILL)
        before = len(seen)
        until(lambda: len(seen) >= before + 8)
        until(lambda: len(workers()) == 2 and killed not in workers())
        stop.set()
        for thread in threads:
            thread.join()
        assert "wrong" not in seen and seen.count("lost") <= 4 and seen[-1] == "answered"


def test_check_says_what_would_be_served(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "clover_decide.cli"]
    keys = str(tmp_path / "keys.yaml")
    made = subprocess.run([*words, "keys", "add", keys, "ours", "--per-minute", "9"], capture_output=True, text=True, check=True)
    assert made.stdout.startswith("clv_") and "ours added" in made.stderr
    listed = subprocess.run([*words, "keys", "list", keys], capture_output=True, text=True, check=True)
    assert listed.stdout == "ours\t9 a minute\tvalid\n"
    (tmp_path / "settings.yaml").write_text("port: 9123\nqueue: 5\n")
    options = ["serve", "--check", "--keys", keys, "--config", str(tmp_path / "settings.yaml"), "--dtype", "bfloat16"]
    done = subprocess.run([*words, *options], capture_output=True, text=True, check=False, env={**os.environ, "CLOVER_BATCH": "3"})
    assert done.returncode == 0, done.stderr
    for told in ("clover-mini", "bfloat16", "http://127.0.0.1:9123, 1 process(es)", "3 requests side by side, 5 waiting", f"of {keys}"):
        assert told in done.stdout
    for options, environment, message in (
        (["--model", "nope"], {}, "model: no such model"),
        (["--keys", "/nowhere.yaml"], {}, "cannot be read"),
        ([], {"CLOVER_DEADLINE": "soon"}, "deadline: Input should be a valid number"),
        (["--config", "/nowhere.yaml"], {}, "cannot be read"),
        ([], {"CLOVER_CORS": "a,b"}, "accepted: a JSON list"),
    ):
        done = subprocess.run(
            [*words, "serve", "--check", *options], capture_output=True, text=True, check=False, env={**os.environ, **environment}
        )
        assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr
