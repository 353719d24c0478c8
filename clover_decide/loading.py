"""From a model's name or folder to an engine, with errors that say what is wrong with it."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clover_decide.errors import InputError, MissingExtraError, ModelError
from clover_engine.folder import SHIPPED, ModelFilesError

if TYPE_CHECKING:
    from clover_engine.engine import Engine

DTYPES = ("auto", "int8", "bfloat16", "float32")
MAX_BATCH = 64
"""Calls side by side."""
Check = Callable[[], None]
Turn = Callable[[Check], AbstractContextManager[None]]
"""What a call holds while it uses the engine; its check is called before the model is."""


def load_model(model: str | Path, device: str, dtype: str, cached: int) -> Engine:
    """The engine of a shipped model's name or a model folder.

    Raises:
        MissingExtraError: the packages that run models are not installed.
        ModelError: no such model, a broken one, or one that cannot be loaded as asked.
    """
    try:
        from clover_engine.engine import load_engine
    except ImportError as error:
        raise MissingExtraError(
            f"running a model needs {error.name}", path="model", accepted="pip install 'clover-decide[local]'"
        ) from None
    folder = find_model(model)
    if not folder.is_dir():
        names = ", ".join(sorted(p.parent.name for p in SHIPPED.glob("*/config.json"))) or "none"
        raise ModelError("no such model", path="model", given=str(model), accepted=f"a model folder or one of: {names}")
    if dtype not in DTYPES:
        raise ModelError("unknown dtype", path="dtype", given=dtype, accepted=", ".join(DTYPES))
    _check_device(device)
    try:
        return load_engine(folder, device=device, dtype=_chosen(device) if dtype == "auto" else dtype, cached_prefixes=cached)
    except ModelFilesError as error:
        raise ModelError(str(error), path="model", accepted="a complete model folder") from None
    except Exception as error:
        # Whatever torch, safetensors or the tokenizer say of broken files or a missing device, it is about the model.
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"cannot be loaded on {device}: {said[:200]}", path="model", given=str(folder)) from error


def _check_device(device: str) -> None:
    """Raises ModelError unless models run there."""
    import torch

    able = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    try:
        kind = torch.device(device).type
    except (RuntimeError, TypeError):
        kind = ""
    if not able.get(kind):
        raise ModelError("no such device here", path="device", given=repr(device), accepted=", ".join(k for k, v in able.items() if v))


def _chosen(device: str) -> str:
    """bfloat16 where the device has instructions for it (without, it is slower than float32), else int8 on x86 processors where it is
    exact, else float32."""
    import torch

    from clover_engine.kernels.int8_linear.matmul import exact

    kind = torch.device(device).type
    if kind != "cpu":
        return "bfloat16" if kind == "cuda" and torch.cuda.get_device_capability(device)[0] >= 8 else "float32"
    # Told since torch 2.10; without it a processor that could is taken for one that cannot.
    able = getattr(torch.cpu, "get_capabilities", dict[str, bool])()
    if able.get("avx512_bf16") or able.get("amx_bf16"):
        return "bfloat16"
    return "int8" if platform.machine().lower() in ("x86_64", "amd64") and exact() else "float32"


def find_model(model: str | Path) -> Path:
    """The folder of a model. A shipped name wins over a folder of the same name in the working directory; write ./name for the folder.

    Raises:
        ModelError: neither a name nor a path.
    """
    if not isinstance(model, (str, Path)):
        raise ModelError("no such model", path="model", given=model, accepted="a model folder or a shipped model's name")
    return SHIPPED / str(model) if (SHIPPED / str(model) / "config.json").is_file() else Path(model)


def share(engine: Engine, batch: int, watch: Callable[[int, int, float], None] | None = None) -> tuple[Engine, Turn]:
    """The engine for so many calls at once, and how each takes its turn.

    Raises:
        InputError: not a number of calls.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= MAX_BATCH:
        raise InputError("out of range", path="batch", given=batch, accepted=f"a whole number from 1 to {MAX_BATCH}")
    gate = threading.BoundedSemaphore(batch)
    if batch == 1:

        @contextmanager
        def alone(check: Check) -> Iterator[None]:
            with gate:
                check()
                yield

        return engine, alone
    from clover_engine.batching import BatchingAdapter

    adapter = BatchingAdapter(engine.adapter, watch)

    @contextmanager
    def among(check: Check) -> Iterator[None]:
        with gate, adapter.session(check):
            yield

    return engine.over(adapter), among
