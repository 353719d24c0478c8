"""Fixtures: a tiny random model with the shipped tokenizer, and clover-mini itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from clover_decide import Decider
from clover_engine.engine import Engine
from clover_engine.folder import SHIPPED
from clover_engine.models.base import ModelSpec
from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.tokenizer import Tokenizer

torch.set_num_threads(2)
MASK, PAD = "<empty_output>", "<file_sep>"


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer(SHIPPED / "clover-mini" / "tokenizer.json")


def random_model(seed: int = 0, hidden: int = 48, layers: int = 2) -> LlamaBlockDiffusion:
    torch.manual_seed(seed)
    model = LlamaBlockDiffusion(LlamaConfig(hidden_size=hidden, layers=layers, heads=6, kv_heads=2, mlp_size=64, rope_theta=10_000.0))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                # Large enough that attention and logits are far from uniform.
                parameter.normal_(0.0, 0.25)
    return model


@pytest.fixture(scope="session")
def random_engine(tokenizer: Tokenizer) -> Engine:
    return make_engine(tokenizer)


def make_engine(tokenizer: Tokenizer, *, shift: bool = True, seed: int = 0, cached: int = 4, context: int = 4096) -> Engine:
    spec = ModelSpec(
        name="random",
        vocab_size=tokenizer.vocab_size,
        context=context,
        pad_id=tokenizer.special(PAD),
        mask_id=tokenizer.special(MASK),
        shift=shift,
    )
    return Engine(LlamaAdapter(random_model(seed), spec), tokenizer, fingerprint="random", cached_prefixes=cached)


@pytest.fixture(scope="session")
def random_decider(random_engine: Engine) -> Decider:
    return Decider.from_engine(random_engine, "random")


@pytest.fixture(scope="session")
def mini() -> Decider:
    """With the probabilities that the model has, in full precision: invariants are of those."""
    return Decider("clover-mini", dtype="float32", calibration=None)


@pytest.fixture(params=["random", "clover-mini"])
def any_decider(request: pytest.FixtureRequest) -> Decider:
    """Invariants must hold on an untrained model as well as on the shipped one."""
    return request.getfixturevalue("random_decider" if request.param == "random" else "mini")


ROOT = Path(__file__).resolve().parent.parent
