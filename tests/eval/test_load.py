"""Load on a service: counted right, and it notices answers that are not its own."""

from __future__ import annotations

import asyncio
import json

import httpx

from clover_decide import Decider
from clover_engine.tokenizer import Tokenizer
from clover_eval.load import Load, put_load
from tests.conftest import make_engine
from tests.service.serving import serving


def test_load_is_counted(tokenizer: Tokenizer) -> None:
    decider = Decider.from_engine(make_engine(tokenizer), "clover-mini", batch=4)
    with serving(decider, batch=4, queue=0) as url:
        done = asyncio.run(put_load(url, clients=8, seconds=1.0))
    row = done.row()
    assert row["answered"] >= 8 and row["refused"] > 0 and not row["failed"] and row["mixed_up"] == 0
    assert 0 < row["p50"] <= row["p95"] <= row["p99"] and row["per_second"] > 0


def test_an_answer_to_another_is_noticed() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"answers": {"W1": {"probabilities": {"W1": 1.0, "another": 0.0}}}})

    original = httpx.AsyncClient
    try:
        httpx.AsyncClient = lambda **given: original(**{**given, "transport": httpx.MockTransport(answer)})  # pyright: ignore[reportAttributeAccessIssue]
        done = asyncio.run(put_load("http://x", clients=1, seconds=0.05))
    finally:
        httpx.AsyncClient = original  # pyright: ignore[reportAttributeAccessIssue]
    assert done.mixed_up == len(done.seconds) > 0


def test_percentiles() -> None:
    load = Load(1, wall=10.0, seconds=[float(i) for i in range(100)])
    assert (load.percentile(0.5), load.percentile(0.99), load.throughput) == (50.0, 99.0, 10.0)
    none = json.dumps(Load(1, wall=10.0).row(), allow_nan=False)
    assert json.loads(none)["p50"] is None, "where nothing was answered"
