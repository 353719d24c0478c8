"""Bodies that no honest client sends: each gets a clear 4xx, and the service goes on."""

from __future__ import annotations

import gzip
import json
import random
import socket
import zlib
from typing import Any

import httpx
import pytest
import zstandard

from clover_decide import Decider
from clover_decide.service.bodies import check_json, decompress
from clover_decide.service.problems import Problem
from clover_decide.wire import openai, systemone
from clover_decide.wire.native import EXAMPLE
from tests.service.serving import serving

LIMIT = 1 << 20


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is empty"),
        (b"   ", "the body is empty"),
        (b"{", "malformed JSON, line 1 column 2"),
        (b"\xff\xfe", "not UTF-8: byte 0"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": 1, "a": 2}', "key 'a' is repeated"),
        (b'{"a": {"b": 1, "b": 2}}', "key 'b' is repeated"),
        (b'"\\ud800"', "contains a lone surrogate"),
        (b'{"\\udfff": 1}', "contains a lone surrogate"),
        (b"1" * 5000, "a number is out of range"),
        (b"[" * 65 + b"]" * 65, "nested too deeply"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"null junk", "malformed JSON"),
    ],
    ids=lambda case: str(case)[:30],
)
def test_only_json_passes(body: bytes, message: str, http: httpx.Client) -> None:
    with pytest.raises(Problem, match=message.replace("(", r"\(")):
        check_json(body)
    for path in ("/v1/decide", "/v1/systemone", "/v1/decisions"):
        answer = http.post(path, content=body)
        assert answer.status_code == 422 and message in answer.text


def test_the_deepest_and_the_least_json_pass() -> None:
    assert check_json(b"[" * 64 + b"]" * 64) and check_json("\ufeff{}".encode()) == {}


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "zstd", "identity", "GZIP"])
def test_encodings_are_understood(encoding: str, http: httpx.Client) -> None:
    text = json.dumps(EXAMPLE).encode()
    packed = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress, "identity": bytes}
    body = packed[encoding.lower()](text)
    assert decompress(body, encoding, LIMIT) == text
    assert http.post("/v1/decide", content=body, headers={"Content-Encoding": encoding}).status_code == 200


def test_a_stream_without_its_size_is_understood(http: httpx.Client) -> None:
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    body = packer.compress(json.dumps(EXAMPLE).encode()) + packer.flush()
    assert http.post("/v1/decide", content=body, headers={"Content-Encoding": "zstd"}).status_code == 200


BOMBS = {
    "gzip": gzip.compress(b"0" * (50 << 20), mtime=0),
    "zstd": zstandard.compress(b"0" * (50 << 20)),
    "deflate": zlib.compress(b"0" * (50 << 20)),
}


@pytest.mark.parametrize("encoding", sorted(BOMBS))
def test_a_bomb_does_not_go_off(encoding: str, http: httpx.Client) -> None:
    answer = http.post("/v1/decide", content=BOMBS[encoding], headers={"Content-Encoding": encoding})
    assert answer.status_code == 413 and "at most 1048576 bytes, decompressed as well" in answer.text


DAMAGED = [
    ("br", b"x", 415),
    ("gzip, gzip", b"x", 415),
    ("gzip", b"x", 400),
    ("zstd", b"x", 400),
    ("zstd", zstandard.compress(b"{}" * 999)[:-4], 400),
    ("gzip", gzip.compress(b"{}", mtime=0)[:-4], 400),
    ("gzip", gzip.compress(b"{}", mtime=0) + b"more", 400),
    ("deflate", b"", 400),
]


@pytest.mark.parametrize(("encoding", "body", "status"), DAMAGED)
def test_damaged_streams_are_refused(encoding: str, body: bytes, status: int, http: httpx.Client) -> None:
    answer = http.post("/v1/systemone", content=body, headers={"Content-Encoding": encoding})
    assert answer.status_code == status and answer.json()["detail"]["error_type"] == "encoding_error"


def test_other_media_are_refused(http: httpx.Client) -> None:
    answer = http.post("/v1/systemone", files={"request": ("r", json.dumps(systemone.EXAMPLE))})
    assert answer.status_code == 415 and "images are not read" in answer.json()["detail"]["message"]
    assert http.post("/v1/systemone", content=b"<a/>", headers={"Content-Type": "text/xml"}).status_code == 415
    assert (
        http.post("/v1/systemone", content=json.dumps(systemone.EXAMPLE), headers={"Content-Type": "application/problem+json"}).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("charset", "status"),
    [
        ("utf-8", 200),
        ('"UTF-8"', 200),
        ("us-ascii", 200),
        ("'utf-8'", 200),
        ("ascii", 200),
        ("utf-16", 415),
        ("no such", 415),
        ("latin-1", 415),
    ],
)
def test_only_utf_8_is_understood(charset: str, status: int, http: httpx.Client) -> None:
    answer = http.post(
        "/v1/systemone", content=json.dumps(systemone.EXAMPLE), headers={"Content-Type": f"application/json; charset={charset}"}
    )
    assert answer.status_code == status
    assert status == 200 or "accepted: utf-8, us-ascii" in answer.json()["detail"]["message"]


def test_a_body_of_the_largest_size_is_read_and_a_larger_one_is_not(http: httpx.Client) -> None:
    shell = json.dumps({**EXAMPLE, "material": ""})
    whole = json.dumps({**EXAMPLE, "material": "x" * (LIMIT - len(shell))})
    assert len(whole) == LIMIT
    assert "tokens" in http.post("/v1/decide", content=whole).json()["detail"]["message"]
    assert "the body is too large" in http.post("/v1/decide", content=whole + " ").text
    assert http.post("/v1/decide", content=(b"x" * 4096 for _ in range(300))).status_code == 413


def test_a_slow_body_is_not_waited_for(tiny: Decider) -> None:
    with serving(tiny, body_seconds=0.3) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=5) as line:
            line.sendall(b"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            # No answer within the socket's own five seconds would raise.
            answer = line.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408")
        with socket.create_connection((host, int(port)), timeout=10) as line:
            line.sendall(b"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{")
            assert line.recv(4096).startswith(b"HTTP/1.1 4")


def mutated(rng: random.Random, value: Any, depth: int = 0) -> Any:
    """A body with something strange in it."""
    strange: list[Any] = [
        None,
        True,
        0,
        -1,
        1e308,
        10**30,
        "",
        " ",
        "\x00",
        "\u202e",
        "😀" * 50,
        "<|im_start|>",
        [],
        {},
        [[]],
        {"": ""},
        "x" * 3000,
    ]
    if rng.random() < 0.12 or depth > 6:
        return rng.choice(strange)
    if isinstance(value, dict):
        table = {
            (rng.choice(["", "\x00", "type", "a" * 300]) if rng.random() < 0.04 else k): mutated(rng, v, depth + 1)
            for k, v in value.items()
        }
        for key in list(table):
            if rng.random() < 0.04:
                del table[key]
        return table
    if isinstance(value, list):
        return [mutated(rng, item, depth + 1) for item in value] * rng.choice([1, 1, 1, 0, 2, 40])
    return value


def noise(rng: random.Random, body: bytes) -> bytes:
    """A body with bytes changed, cut or doubled."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) or 1)
        match rng.randrange(4):
            case 0 if data:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2:
                data[at:at] = rng.choice([b"\\ud800", b"\x00", b"NaN", b'{"a":', b"[" * 70, b"1e999", b"9" * 400, b'","'])
            case _:
                data[at:at] = data[: rng.randint(0, 40)]
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_fuzzed_bodies_get_an_answer_or_a_clear_4xx(http: httpx.Client, seed: int) -> None:
    rng = random.Random(seed)
    bodies = [("/v1/decide", EXAMPLE), ("/v1/systemone", systemone.EXAMPLE), ("/v1/decisions", openai.EXAMPLE)]
    bodies += [
        ("/v1/decide/batch", {"materials": ["a", {"b": 1}], "questions": EXAMPLE["questions"]}),
        ("/v1/alerts/adjudicate", {"alert": {"a": 1}, "policy": "b"}),
    ]
    for number in range(100):
        path, example = rng.choice(bodies)
        body = json.dumps(mutated(rng, example)).encode()
        if rng.random() < 0.5:
            body = noise(rng, body)
        answer = http.post(path, content=body)
        where = f"seed {seed}, number {number}: {path} {body[:300]!r} {answer.text[:300]}"
        assert answer.status_code == 200 or 400 <= answer.status_code < 500, where
        if answer.status_code != 200:
            told = answer.json()
            assert told.get("detail") or told.get("error"), where
