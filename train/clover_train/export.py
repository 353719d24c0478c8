"""Turn a training checkpoint into a model folder: quantised weights, tokenizer and config.

python -m clover_train.export runs/mini base OUT

Rounds by what layers see in batches of training text (`rounding`), unless told otherwise.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import torch
from safetensors.torch import save_file

from clover_engine.models.base import ModelSpec, Pointer
from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
from clover_engine.quant import pack
from clover_engine.tokenizer import Tokenizer
from clover_train.public import load
from clover_train.rounding import round_all, second_moments
from clover_train.run import MASK_TOKEN, PAD_TOKEN, POINTER
from clover_train.stream import batches


def _pointer(network: LlamaConfig) -> Pointer:
    """The heads that were trained to point; how to read them is fitted afterwards (`pointer`)."""
    fan = network.heads // network.kv_heads
    heads = tuple(group * fan + i for group in POINTER[1] for i in range(fan))
    return Pointer(int(network.layers * POINTER[0]), heads, (1.0, 0.0, 0.0), 0.0)


def export(
    state: dict[str, torch.Tensor], base: Path, out: Path, name: str, *, quantise: bool = True, network: LlamaConfig | None = None
) -> None:
    """Write config.json, tokenizer.json and model.safetensors. `network`: of a model that does not point and reads options once."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(base / "tokenizer.json")
    vocab, hidden = state["embedding.weight"].shape
    spec = ModelSpec(
        name=name,
        vocab_size=vocab,
        context=8192,
        pad_id=tokenizer.special(PAD_TOKEN),
        mask_id=tokenizer.special(MASK_TOKEN),
        shift=True,
    )
    if network is None:
        network = LlamaConfig(vocab_size=vocab, hidden_size=hidden, layers=_layers(state))
        spec = replace(spec, pointer=_pointer(network))
    else:
        spec = replace(spec, options_once=True)
    config = {"family": "llama", "network": asdict(network), "spec": asdict(spec)}
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    shutil.copy(base / "tokenizer.json", out / "tokenizer.json")
    stored = pack(state) if quantise else {k: v.contiguous() for k, v in state.items()}
    save_file(stored, out / "model.safetensors")


def _rounded(state: dict[str, torch.Tensor], base: Path, count: int, seed: int, public: Sequence[Path]) -> dict[str, torch.Tensor]:
    tokenizer = Tokenizer(base / "tokenizer.json")
    vocab, hidden = state["embedding.weight"].shape
    model = LlamaBlockDiffusion(LlamaConfig(vocab_size=vocab, hidden_size=hidden, layers=_layers(state)))
    model.load_state_dict(state)
    stream = batches(tokenizer, seed, tokenizer.special(MASK_TOKEN), tokenizer.special(PAD_TOKEN), groups=load(public))
    return round_all(state, second_moments(model.eval(), list(islice(stream, count))))


def _layers(state: dict[str, torch.Tensor]) -> int:
    return 1 + max(int(key.split(".")[1]) for key in state if key.startswith("layers."))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--plain", action="store_true", help="keep float32 weights (to measure what quantising costs)")
    parser.add_argument("--batches", type=int, default=12, help="batches of training text to round by; 0 rounds to the nearest")
    parser.add_argument("--seed", type=int, default=777, help="of those batches")
    parser.add_argument("--public", type=Path, nargs="*", default=(), help="as `run` was given")
    args = parser.parse_args()
    state = torch.load(args.run / "checkpoint.pt", map_location="cpu")["model"]
    if args.batches and not args.plain:
        state = _rounded(state, args.base, args.batches, args.seed, args.public)
    export(state, args.base, args.out, args.out.name, quantise=not args.plain)
    size = sum(path.stat().st_size for path in args.out.iterdir())
    print(f"{args.out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
