"""The benchmark measures what it says; times themselves are never asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clover_decide import Decider
from clover_decide.decision import Usage
from clover_eval.bench import JOINT, Plan, material_of, run_bench, timings, workload
from clover_eval.bench_report import show, write
from clover_eval.bound import Machine, bound, measure_machine


def test_ratios_are_taken_round_by_round() -> None:
    made = {t.arm: t for t in timings({JOINT: [1.0, 2.0, 4.0], "other": [2.0, 2.0, 2.0]})}
    assert (made[JOINT].seconds, made[JOINT].ratio) == (2.0, 1.0)
    assert (made["other"].seconds, made["other"].ratio, made["other"].low, made["other"].high) == (2.0, 1.0, 0.5, 2.0)


def test_the_bound_counts_weights_tokens_and_attention(mini: Decider) -> None:
    machine = Machine(bytes_per_second=1e9, operations_per_second=1e9)
    engine = mini.engine
    network = engine.adapter.model  # pyright: ignore[reportAttributeAccessIssue]
    weights = sum(p.numel() for p in network.parameters()) - network.embedding.weight.numel()
    one = bound(engine, machine, Usage(100, 10, 1))
    c = network.config
    attention = 4 * c.layers * c.heads * c.head_dim * (100 * 100 / 2 + 10 * 110)
    assert one.operations == pytest.approx(2 * weights * 110 + attention)
    assert one.bytes == pytest.approx(weights * 4 * 3 + 2 * c.layers * c.kv_heads * c.head_dim * 100 * 4 * 2)
    assert one.seconds == max(one.bytes, one.operations) / 1e9
    assert bound(engine, machine, Usage(100, 10, 4)).bytes > one.bytes


def test_the_material_has_the_length_that_is_asked_for(mini: Decider) -> None:
    text = workload().material
    for tokens in (100, 1000, 4000):
        found = len(mini.engine.tokenizer.encode(material_of(mini, text, tokens)))
        assert tokens - 12 <= found <= tokens
    assert len(workload().questions.questions) == 8


def test_a_small_benchmark_from_measuring_to_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = run_bench(Plan((2,), (60,), (2,), rounds=1, concurrent=1))
    show(measured)
    said = capsys.readouterr().out
    assert "× joint" in said and "requests/s" in said and "fresh process" in said and "copied" in said
    assert [s.questions for s in measured.settings] == [2]
    assert all({t.arm for t in s.timings} >= {JOINT, "independent, shared", "independent, separate calls"} for s in measured.settings)
    write(measured, tmp_path / "bench.json")
    assert json.loads((tmp_path / "bench.json").read_text())["settings"][0]["tokens"] <= 60
    assert "<svg" in (tmp_path / "bench.svg").read_text()


def test_the_machine_is_measured() -> None:
    found = measure_machine("float32", seconds=0.05)
    assert found.bytes_per_second > 1e8 and found.operations_per_second > 1e8
