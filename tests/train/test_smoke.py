"""The training recipe end to end on a tiny random base: run, kill and resume, export, answer."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from clover_decide import Decider, load_pack
from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
from clover_engine.tokenizer import Tokenizer
from clover_train.rows import IGNORE, RowBuilder, collate
from clover_train.stream import WORLDS, batches, worlds
from tests.conftest import MASK, PAD


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    folder = tmp_path_factory.mktemp("base")
    torch.manual_seed(0)
    model = LlamaBlockDiffusion(LlamaConfig(hidden_size=288, layers=2))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, 0.05)
    save_file(model.state_dict(), folder / "base.safetensors")
    tokenizer._backend.save(str(folder / "tokenizer.json"))
    return folder


def train(base: Path, out: Path, steps: int, *extra: str) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "clover_train.run", "--base", str(base), "--out", str(out), "--steps", str(steps)]
    options = ["--layers", "2", "--decay", "4", "--warmup", "2", "--lr", "3e-3", "--budget", "900", "--save-every", "4"]
    subprocess.run([*command, *options, *extra], check=True, timeout=240)
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_train_resume_export_answer(base: Path, tmp_path: Path) -> None:
    log = train(base, tmp_path / "whole", 12)
    assert [entry["step"] for entry in log] == list(range(1, 13))
    assert log[-1]["loss_full"] < log[0]["loss_full"]
    # Stopped after 8 steps of the same 12-step schedule and resumed, the run sees the same batches.
    train(base, tmp_path / "cut", 8)
    resumed = train(base, tmp_path / "cut", 12, "--resume")
    assert [e["step"] for e in resumed] == [*range(1, 9), *range(9, 13)]
    assert [e["groups"] for e in resumed] == [e["groups"] for e in log]
    export = [sys.executable, "-m", "clover_train.export", str(tmp_path / "whole"), str(base), str(tmp_path / "model")]
    subprocess.run(export, check=True, timeout=120)
    decision = Decider(tmp_path / "model").decide(load_pack("contract").example, load_pack("contract").questions)
    assert set(decision.answers) == set(load_pack("contract").questions.questions)


def test_the_batch_stream_is_a_function_of_the_seed(tokenizer: Tokenizer) -> None:
    mask, pad = tokenizer.special(MASK), tokenizer.special(PAD)

    def first(seed: int) -> torch.Tensor:
        return next(batches(tokenizer, seed, 1500, mask, pad))[0].ids

    assert torch.equal(first(0), first(0))
    assert first(0).shape != first(1).shape or not torch.equal(first(0), first(1))


@pytest.mark.parametrize("family", list(WORLDS))
def test_targets_are_exactly_the_masked_slot_tokens(tokenizer: Tokenizer, family: str) -> None:
    mask, pad = tokenizer.special(MASK), tokenizer.special(PAD)
    rng = random.Random(3)
    builder = RowBuilder(tokenizer, pad, rng)
    rows = [builder.build(world, tiny=i < 2) for i, world in enumerate(worlds(5, "train", 6, family))]
    batch = collate(rows, 3, mask, rng)
    assert torch.equal(batch.targets != IGNORE, batch.ids == mask)
    assert not (batch.targets == mask).any()
    # Every joint branch has a fully masked copy, and copies 1 and 2 together mask every slot once.
    for r, row in enumerate(rows):
        masked = (batch.targets[r] != IGNORE).sum().item()
        slots = [sum(length for _, length in branch.slots) for branch in row.branches]
        several = [len(branch.slots) > 1 for branch in row.branches]
        assert masked >= sum(slots) + sum(s for s, many in zip(slots, several, strict=True) if many)


def test_no_position_sees_another_copy_or_a_later_question(tokenizer: Tokenizer) -> None:
    rng = random.Random(1)
    row = RowBuilder(tokenizer, tokenizer.special(PAD), rng).build(worlds(2, "train", 1, "contract")[0], tiny=False)
    batch = collate([row], 3, tokenizer.special(MASK), rng)
    mask, material = batch.tail_mask[0, 0], len(row.material)
    at = 0
    for branch in row.branches:
        q, b = len(branch.questions), len(branch.block)
        for k in range(branch.copies(3)):
            block = slice(at + q + k * b, at + q + (k + 1) * b)
            seen = torch.zeros(mask.shape[1], dtype=torch.bool)
            seen[:material] = True
            seen[batch.prefix + at : batch.prefix + at + q] = True
            seen[batch.prefix + block.start : batch.prefix + block.stop] = True
            assert torch.equal(mask[block], seen.expand(b, -1))
        at += branch.length(3)
