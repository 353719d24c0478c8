"""A wired path brings what the copying heads would write about the token at its start to its end."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F

from clover_engine.models.llama import Layer, LlamaBlockDiffusion, LlamaConfig
from clover_engine.tokenizer import Tokenizer
from clover_train.stream import batches
from clover_train.wiring import wire
from tests.conftest import MASK, PAD

PATH, COPIER = ((1, 2), (2, 1), (3, 0)), (4, 0)


def test_a_code_travels_along_the_path(tokenizer: Tokenizer) -> None:
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=288, layers=5)
    model = LlamaBlockDiffusion(config)
    batch = next(batches(tokenizer, 3, tokenizer.special(MASK), tokenizer.special(PAD)))
    wire(model, [batch], PATH, COPIER)
    hops, total = (40, 60, 80), 100  # position 40 looks at a source, 60 at 40, 80 at 60
    fan = config.heads // config.kv_heads
    ids, positions = batch.ids[:, :total], torch.arange(total)[None]

    def run(source: int) -> torch.Tensor:
        """What the last step writes at the last hop when all other attention is silent."""
        states: dict[int, torch.Tensor] = {}

        def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            out = torch.zeros_like(q)
            for (at, group), to, origin in zip(PATH, hops, (source, *hops), strict=False):
                if at == layer:
                    out[0, to, group * fan : (group + 1) * fan] = v[0, origin, group]
                    states[layer] = out[0, to].flatten()
            return out

        with torch.no_grad():
            model(ids, positions, attend)
        return cast(Layer, model.layers[PATH[-1][0]]).out.weight @ states[PATH[-1][0]]

    def copied(source: int) -> torch.Tensor:
        """What the copying heads write when they look at the embedding of the source."""
        states: list[torch.Tensor] = []
        hook = model.layers[PATH[0][0]].register_forward_pre_hook(lambda _, given: states.append(given[0][0, source]))
        with torch.no_grad():
            model(ids, positions, lambda layer, q, k, v: torch.zeros_like(q))
        hook.remove()
        layer, dim = cast(Layer, model.layers[COPIER[0]]), config.head_dim
        value = F.rms_norm(states[0], states[0].shape, layer.attention_norm) @ layer.qkv.weight[-3 * dim : -2 * dim].t()
        return layer.out.weight[:, : fan * dim] @ value.repeat(fan)

    # With attention silent a state depends on its token alone.
    sources = sorted({token: at for at, token in enumerate(ids[0, : hops[0]].tolist())}.values())
    assert len(sources) > 10
    with torch.no_grad():
        brought, wanted = torch.stack([run(s) for s in sources]), torch.stack([copied(s) for s in sources])
    alike = F.cosine_similarity(brought[:, None] - brought.mean(0), wanted[None] - wanted.mean(0), dim=-1)
    assert alike.argmax(-1).tolist() == list(range(len(sources))), alike
