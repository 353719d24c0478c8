"""The benchmark measures what it says; times themselves are never asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clover_decide import Decider
from clover_decide.decision import Usage
from clover_decide.errors import InputError
from clover_eval.bench import JOINT, Plan, material_of, run_bench, timings, workload
from clover_eval.bench_report import show, write
from clover_eval.bound import Machine, bound, measure_machine
from clover_eval.environment import peak_mib


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


STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not STATUS.exists() or "VmHWM:" not in STATUS.read_text(), reason="elsewhere a child is told its parent's peak")
def test_the_memory_of_a_process_is_its_own() -> None:
    held = bytearray(b"x") * (400 * 2**20)
    child = "from clover_eval.environment import peak_mib; print(peak_mib())"
    told = int(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout)
    own = peak_mib()
    assert own is not None and own > len(held) / 2**20 and 10 < told < 300


def test_the_machine_is_measured() -> None:
    for dtype in ("float32", "int8"):
        found = measure_machine(dtype, seconds=0.05)
        assert found.bytes_per_second > 1e8 and found.operations_per_second > 1e8


def test_questions_of_some_types_only() -> None:
    found = workload(["choice", "boolean"])
    assert len(found.questions.questions) == 8 and set(found.answers) == set(found.questions.questions)
    assert {q.type for q in found.questions.questions.values()} <= {"choice", "boolean"}
    with pytest.raises(InputError, match=r"only 0 questions .*boolean, choice, date"):
        workload(["essay"])
