"""Model folders: config.json, tokenizer.json, model.safetensors. Readable without torch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).resolve().parent / "weights"
"""Where the models that ship with the package lie."""
FILES = ("config.json", "tokenizer.json", "model.safetensors")


class ModelFilesError(ValueError):
    """A model folder is missing files or not of a known family."""


def read_config(folder: Path) -> dict[str, Any]:
    """The config of a complete model folder.

    Raises:
        ModelFilesError: files are missing or malformed, or the family is unknown.
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise ModelFilesError(f"{folder} lacks {', '.join(missing)}")
    try:
        config = json.loads((folder / "config.json").read_text())
    except ValueError as error:
        raise ModelFilesError(f"{folder / 'config.json'} is not JSON ({error})") from None
    if not isinstance(config, dict) or not all(isinstance(config.get(part), dict) for part in ("network", "spec")):
        raise ModelFilesError(f"{folder / 'config.json'} lacks what describes a model; accepted: an object with family, network and spec")
    if config.get("family") != "llama":
        raise ModelFilesError(f"{folder / 'config.json'}: family {config.get('family')!r}; accepted: 'llama'")
    spec, size = config["spec"], config["network"].get("vocab_size")
    inside = all(isinstance(spec.get(name), int) and 0 <= spec[name] < (size or 0) for name in ("mask_id", "pad_id"))
    if not inside or spec.get("vocab_size") != size or not spec.get("block_sizes"):
        problem = "mask_id and pad_id below the network's vocab_size, the same vocab_size, block_sizes"
        raise ModelFilesError(f"{folder / 'config.json'}: the spec does not fit the network; accepted: {problem}")
    return config


def fingerprint(folder: Path) -> str:
    """First 16 hex digits of SHA-256 over config and weights."""
    digest = hashlib.sha256()
    for name in ("config.json", "model.safetensors"):
        with (folder / name).open("rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
    return digest.hexdigest()[:16]


def shipped_models() -> list[dict[str, Any]]:
    """Name, family, sizes and fingerprint of each shipped model, by name."""
    found: list[dict[str, Any]] = []
    for path in sorted(SHIPPED.glob("*/config.json")):
        config = read_config(path.parent)
        found.append(
            {
                "name": path.parent.name,
                "family": config["family"],
                "layers": config["network"]["layers"],
                "context": config["spec"]["context"],
                "block_sizes": config["spec"]["block_sizes"],
                "megabytes": round(sum((path.parent / name).stat().st_size for name in FILES) / 1e6, 1),
                "fingerprint": fingerprint(path.parent),
                "path": str(path.parent),
            }
        )
    return found
