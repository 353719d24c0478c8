"""What a call must move and compute at least, against what this machine does for a copy and a matrix product."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clover_decide.decision import Usage
from clover_engine.engine import Engine


@dataclass(frozen=True)
class Machine:
    """Measured: bytes a second of a large copy (read and written), operations a second of a matrix product."""

    bytes_per_second: float
    operations_per_second: float


@dataclass(frozen=True)
class Bound:
    """Least work of a call. seconds: the larger of bytes and operations, each at the machine's best."""

    bytes: float
    operations: float
    seconds: float


def measure_machine(dtype: str, seconds: float = 0.4) -> Machine:
    """Copy and multiply for a while, with the threads that torch has now."""
    import torch

    source = torch.ones(16 * 2**20, dtype=torch.float32)
    target = torch.empty_like(source)
    a, b = (torch.ones(rows, 1536, dtype=getattr(torch, dtype)) for rows in (1024, 1536))
    multiply = torch.ops.aten._int_mm if dtype == "int8" else torch.matmul
    copies = _per_second(lambda: target.copy_(source), seconds)
    products = _per_second(lambda: multiply(a, b), seconds)
    return Machine(copies * 2 * source.nbytes, products * 2 * 1024 * 1536 * 1536)


def _per_second(work: Callable[[], Any], seconds: float) -> float:
    work()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        work()
        count += 1
    return count / (time.perf_counter() - began)


def bound(engine: Engine, machine: Machine, usage: Usage) -> Bound:
    """The roofline of one joint call (Williams, Waterman & Patterson 2009).

    Weights are read once for the prefix, once for the questions and once a pass over the block; each token takes two operations a
    weight, and 4·d operations a head for every earlier token it looks at. The cheap parts (norms, head, softmax) are left out; so are, in
    int8, second products of inputs that are rounded twice, and attention is taken at the speed of integers, though it is float32 there.
    """
    network: Any = engine.adapter.model  # pyright: ignore[reportAttributeAccessIssue]
    config, embedding = network.config, network.embedding.weight
    weights = sum(t.numel() for name, t in network.state_dict().items() if not name.endswith("scales")) - embedding.numel()
    prefix, block, passes = usage.input_tokens, usage.output_tokens, usage.passes
    tokens = prefix + block * passes
    looked_at = prefix * prefix / 2 + passes * block * (prefix + block)
    operations = 2.0 * weights * tokens + 4.0 * config.layers * config.heads * config.head_dim * looked_at
    cache = 2.0 * config.layers * config.kv_heads * config.head_dim * prefix * network.norm.element_size()
    moved = weights * embedding.element_size() * (2.0 + passes) + cache * (1 + passes)
    return Bound(moved, operations, max(moved / machine.bytes_per_second, operations / machine.operations_per_second))
