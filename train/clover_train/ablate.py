"""Compare variants of the training recipe at a small scale: each trained from the base alike, then asked the same groups.

    python -m clover_train.ablate --base base --out runs/ablate

Writes ablate.jsonl, a line a variant, as they are done; run again, it goes on with those that are missing.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from clover_decide import Decider
from clover_decide.decision import Effort, Mode
from clover_decide.question_set import read_questions
from clover_engine.engine import Engine
from clover_engine.models.base import ModelSpec
from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.tokenizer import Tokenizer
from clover_train.heldout import as_row
from clover_train.run import MASK_TOKEN, PAD_TOKEN
from clover_train.stream import worlds

FAMILIES = ("contract", "alert")
"""Worlds whose questions are learned in few updates; a row of two cases each an update."""
WAYS: tuple[tuple[str, Mode, Effort], ...] = (
    ("joint", "joint", "standard"),
    ("one pass", "joint", "fast"),
    ("independent", "independent", "standard"),
)


@dataclass(frozen=True)
class Variant:
    """One change of the recipe, and of the command's options."""

    name: str
    recipe: dict[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    one_pass_first: bool = False
    """Fully masked copies alone in the first half of the updates."""


VARIANTS = (
    Variant("as shipped"),
    Variant("as shipped, another seed", options=("--seed", "1")),
    Variant("one copy, fully masked", {"copies": 1}),
    Variant("four copies", {"copies": 4}),
    Variant("masks token by token", {"whole_slots": 0.0}),
    Variant("no look loss", {"look_weight": 0.0}),
    Variant("no autoregressive loss", {"hint_weight": 0.0}),
    Variant("fully masked copies alone in the first half", one_pass_first=True),
    Variant("fully masked copy counts threefold", {"full_weight": 3.0}),
    # In training alone: inference asks in the order of the texts, which is another one.
    Variant("nothing shuffled", {"shuffled": False}),
    Variant("first 8 layers frozen", options=("--freeze", "8")),
    Variant("rate 6e-4", options=("--lr", "6e-4")),
)


def train(variant: Variant, args: argparse.Namespace, out: Path) -> None:
    """One run of the training script; a later option wins over an earlier one."""
    recipe = {"families": FAMILIES, "one_step": args.steps // 2 if variant.one_pass_first else 0, **variant.recipe}
    command = [sys.executable, "-m", "clover_train.run", "--base", str(args.base), "--out", str(out), "--steps", str(args.steps)]
    given = ["--decay", str(args.steps // 3), "--warmup", "10", "--save-every", str(args.steps), "--threads", str(args.threads)]
    subprocess.run([*command, *given, "--recipe", json.dumps(recipe), *variant.options], check=True)


def loaded(checkpoint: Path, base: Path) -> Decider:
    """The trained network, in bfloat16."""
    tokenizer = Tokenizer(base / "tokenizer.json")
    state = torch.load(checkpoint, map_location="cpu")["model"]
    vocab, hidden = state["embedding.weight"].shape
    model = LlamaBlockDiffusion(LlamaConfig(vocab_size=vocab, hidden_size=hidden), blank=True)
    model.load_state_dict({name: tensor.to(torch.bfloat16) for name, tensor in state.items()}, assign=True)
    pad, mask = tokenizer.special(PAD_TOKEN), tokenizer.special(MASK_TOKEN)
    spec = ModelSpec(name="ablation", vocab_size=vocab, context=8192, pad_id=pad, mask_id=mask, shift=True)
    return Decider.from_engine(Engine(LlamaAdapter(model, spec), tokenizer))


def groups(count: int) -> Iterator[dict[str, Any]]:
    """The same groups for every variant, in the wording of the validation split."""
    rng = random.Random("ablate")
    for family in FAMILIES:
        for number, world in enumerate(worlds(4, "val", count // len(FAMILIES), family)):
            yield json.loads(json.dumps(as_row(world, number, rng)))


def asked(decider: Decider, count: int) -> dict[str, float]:
    """Shares of questions and groups right, in each way of asking."""
    out: dict[str, float] = {}
    for name, mode, effort in WAYS:
        rights: list[list[bool]] = []
        for row in groups(count):
            decision = decider.decide(row["material"], read_questions(row["questions"]), mode=mode, effort=effort)
            given = json.loads(json.dumps(decision.values()))
            rights.append([given[key] == value for key, value in row["answers"].items()])
        out[f"{name}: questions"] = sum(map(sum, rights)) / sum(map(len, rights))
        out[f"{name}: groups"] = sum(map(all, rights)) / len(rights)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder of `convert`")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=600, help="updates of each variant")
    parser.add_argument("--count", type=int, default=40, help="groups that each is asked")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results, how = args.out / "ablate.jsonl", {"steps": args.steps, "count": args.count, "base": str(args.base)}
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    if any(line["how"] != how for line in lines):
        parser.error(f"{results} was made with other options; accepted: {lines[0]['how']}, or another --out")
    done = {line["variant"] for line in lines}
    torch.set_num_threads(args.threads)
    for variant in VARIANTS:
        if variant.name in done:
            continue
        run, began = args.out / "run", time.perf_counter()
        (run / "log.jsonl").unlink(missing_ok=True)
        train(variant, args, run)
        log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        spent = {"updates": len(log), "tokens": sum(entry["tokens"] for entry in log), "seconds": round(time.perf_counter() - began)}
        found = asked(loaded(run / "checkpoint.pt", args.base), args.count)
        with results.open("a") as file:
            file.write(json.dumps({"variant": variant.name, "how": how, **spent, **{k: round(v, 4) for k, v in found.items()}}) + "\n")


if __name__ == "__main__":
    main()
