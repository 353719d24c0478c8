"""Train clover-mini: convert the autoregressive base to block diffusion on linked groups. Resumable.

    python -m clover_train.run --base base --out runs/mini

Writes log.jsonl, and checkpoint.pt every `--save-every` steps; the same command with `--resume` continues from it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
from clover_engine.quant import unpack
from clover_engine.tokenizer import Tokenizer
from clover_train.packing import BUILD_COPY, COPY, IGNORE, LOOKUP, READ, RELATE, Batch
from clover_train.public import load
from clover_train.recipe import SHIPPED, Recipe
from clover_train.stream import batches
from clover_train.wiring import wire

LOOKS = ((0.5, 0), (0.6, 0), (0.7, 0), (0.74, 0), (0.57, 1), (0.77, 0), (0.67, 0), (0.47, 2), (0.6, 2), (0.67, 0), (0.77, 0))
"""Depth of the layer, and the key/value head whose query heads are taught, for each step (packing.STEPS and on). In the
base model those of LOOKUP already attend to earlier mentions of the same token, and those of COPY write the word they look at
(train/README.md, Wiring)."""
assert len(LOOKS) == BUILD_COPY + 1
POINTER = (0.85, (1, 2))
"""Depth of the layer, and the key/value heads whose query heads point to the evidence of an answer, between them."""
PAD_WEIGHT, POINT_WEIGHT = 0.1, 0.3
MASK_TOKEN, PAD_TOKEN = "<empty_output>", "<file_sep>"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--base", type=Path, required=True, help="folder with base.safetensors and tokenizer.json, or a model folder to go on from"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--decay", type=int, default=600, help="steps of linear decay at the end")
    parser.add_argument("--warmup", type=int, default=30)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--layers", type=int, default=30, help="keep only the first layers (smoke runs)")
    parser.add_argument("--freeze", type=int, default=0, help="leave the embeddings and so many first layers as they are: for going on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save-every", type=int, default=50)
    parser.add_argument("--public", type=Path, nargs="*", default=(), help="training halves of public labelled groups, to mix in")
    parser.add_argument("--recipe", type=_recipe, default=SHIPPED, help="what to change of the recipe (recipe.py), as JSON")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--wire", action="store_true", help="lend the look-up path its value and output weights first (wiring.py)")
    return parser.parse_args()


def _recipe(text: str) -> Recipe:
    try:
        return Recipe(**json.loads(text))
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no recipe; accepted: a JSON object with some of {', '.join(vars(SHIPPED))}"
        ) from None


def load_base(folder: Path, layers: int, tokenizer: Tokenizer) -> LlamaBlockDiffusion:
    """The network to start from in float32, in which only two embeddings can move: the converted base, or an exported
    model, whose mask and pad tokens already mean something."""
    source = folder / "base.safetensors"
    fresh = source.is_file()
    state = unpack(load_file(source if fresh else folder / "model.safetensors"))
    vocab, hidden = state["embedding.weight"].shape
    model = LlamaBlockDiffusion(LlamaConfig(vocab_size=vocab, hidden_size=hidden, layers=layers))
    model.load_state_dict({k: v for k, v in state.items() if k in model.state_dict()})
    # Words keep their pre-trained embeddings, so that unseen names and options stay readable; only the mask and pad
    # tokens are learned. The mask starts as the blank of a fill-in-the-blank text, which the base already knows.
    mask, pad = tokenizer.special(MASK_TOKEN), tokenizer.special(PAD_TOKEN)
    weight = model.embedding.weight
    if fresh:
        with torch.no_grad():
            weight[mask] = weight[tokenizer.encode_cached("____")[0]]
    learned = torch.zeros(vocab, 1)
    learned[[mask, pad]] = 1.0
    weight.register_hook(lambda grad: grad * learned.to(grad.device))
    return model


def losses(
    model: LlamaBlockDiffusion, batch: Batch, mask_id: int, pad_id: int, allowed: torch.Tensor | None = None, recipe: Recipe = SHIPPED
) -> tuple[torch.Tensor, dict[str, float | None]]:
    """Weighted mean cross-entropy over masked slot tokens, each predicted from the position before it (in-block shift).

    The padding behind an answer is easily predicted and often longer than the answer, so it counts less.

    Two auxiliary losses are added, which cost no token and are not needed for inference. An
    autoregressive one: the end of a question's line predicts the first token of its answer, as the base model would
    continue the text. And a look loss: a few heads attend to the evidence of the answer, one step of it a layer, as
    strongly supervised memory networks do (arXiv 1410.3916); answers alone say too little about where to look.
    The report's `right_*` count the first token of a masked stretch. `allowed`: (1, T, vocab) bool, False where a token cannot be
    the answer at a position, if only some can.
    """
    layers, pointer = [int(model.config.layers * depth) for depth, _ in LOOKS], int(model.config.layers * POINTER[0])
    watch: dict[int, list[torch.Tensor]] = {layer: [] for layer in (*layers, pointer)}
    with torch.autocast(batch.ids.device.type, torch.bfloat16):
        hidden = model.packed(batch.ids, batch.positions, batch.parts, watch)
        chosen = batch.targets[:, 1:] != IGNORE
        head = model.embedding.weight.t().to(hidden.dtype)
        logits = hidden[:, :-1][chosen] @ head
        hinted = batch.hints != IGNORE
        hint_logits = (hidden[hinted] @ head).float()
    logits = logits.float()
    hint_loss = F.cross_entropy(hint_logits, batch.hints[hinted])
    logits[:, mask_id] = float("-inf")
    if allowed is not None:
        logits = logits.masked_fill(~allowed[:, 1:][chosen], float("-inf"))
    targets, full = batch.targets[:, 1:][chosen], batch.full[:, 1:][chosen]
    first = (batch.targets[:, :-1] == IGNORE)[chosen]
    each = F.cross_entropy(logits, targets, reduction="none")
    right = (logits.argmax(-1) == targets).float()
    report = {
        "loss_full": _mean(each[full]),
        "loss_partial": _mean(each[~full]),
        "right_full": _mean(right[full & first]),
        "right_partial": _mean(right[~full & first]),
        "right_hint": _mean((hint_logits.argmax(-1) == batch.hints[hinted]).float()),
    }
    fan = model.config.heads // model.config.kv_heads
    heads = [slice(group * fan, (group + 1) * fan) for _, group in LOOKS]
    look_loss = _look_loss(batch, [[w[:, h] for w in watch[layer]] for layer, h in zip(layers, heads, strict=True)])
    weight = torch.where(targets == pad_id, PAD_WEIGHT, 1.0) * torch.where(full, recipe.full_weight, 1.0)
    point_loss = _point_loss(batch, [w[:, [group * fan + i for group in POINTER[1] for i in range(fan)]] for w in watch[pointer]])
    report |= {"look": round(look_loss.item(), 4), "point": round(point_loss.item(), 4)}
    helped = recipe.hint_weight * hint_loss + recipe.look_weight * look_loss + POINT_WEIGHT * point_loss
    return (each * weight).sum() / weight.sum() + helped, report


def _point_loss(batch: Batch, watched: Sequence[torch.Tensor]) -> torch.Tensor:
    """Mean of -log of the attention that an answer's evidence gets, sentence by sentence, from all heads together; at best each
    sentence gets its share. watched: by part (1,heads,own,seen)."""
    terms: list[torch.Tensor] = []
    for part, weights in enumerate(watched):
        pointing = [p for p in batch.pointings if p.part == part]
        if not pointing:
            continue
        mass = weights[0][:, [p.row for p in pointing]].float().mean(0)  # (pointings, seen)
        terms += [
            torch.stack([m[start:end].sum() for start, end in p.spans]).add(1e-6).log().mean() for m, p in zip(mass, pointing, strict=True)
        ]
    return -torch.stack(terms).mean()


def _look_loss(batch: Batch, watched: Sequence[Sequence[torch.Tensor]]) -> torch.Tensor:
    """Mean over steps of the mean of -log of the attention put where it belongs. watched: by step, then by part
    (1,heads,own,seen)."""
    means: list[torch.Tensor] = []
    for step, weights in enumerate(watched):
        terms: list[torch.Tensor] = []
        for part in range(len(batch.parts)):
            looks = [look for look in batch.looks if look.part == part and look.step == step]
            if not looks:
                continue
            rows = weights[part][0][:, [look.row for look in looks]].float()
            there = torch.zeros(len(looks), rows.shape[-1], device=rows.device)
            for i, look in enumerate(looks):
                for span in (look.span, *look.more):
                    there[i, slice(*span)] = 1.0
            terms.append(-(rows * there).sum(-1).add(1e-6).log().flatten())
        means += [torch.cat(terms).mean()] if terms else []
    return torch.stack(means).mean()


def _mean(values: torch.Tensor) -> float | None:
    """None where a batch has no such targets (NaN is not JSON)."""
    return round(values.mean().item(), 4) if values.numel() else None


def rate(step: int, args: argparse.Namespace) -> float:
    """Warm-up, constant, linear decay to a twentieth."""
    left = (args.steps - step) / max(1, args.decay)
    return args.lr * min(1.0, (step + 1) / max(1, args.warmup), max(0.05, left))


def main() -> None:
    args = arguments()
    groups = load(args.public)  # first: what must not be trained on is told before minutes have passed
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = Tokenizer(args.base / "tokenizer.json")
    mask_id, pad_id = tokenizer.special(MASK_TOKEN), tokenizer.special(PAD_TOKEN)
    model = load_base(args.base, args.layers, tokenizer).to(device)
    if args.freeze:
        for module in [model.embedding, *list(model.layers)[: args.freeze]]:
            module.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint, first, seen = args.out / "checkpoint.pt", 0, 0
    if args.resume:
        saved = torch.load(checkpoint, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first, seen = saved["step"], saved["groups"]
    if args.wire:
        relate, lookup, read, copier = ((int(args.layers * LOOKS[s][0]), LOOKS[s][1]) for s in (RELATE, LOOKUP, READ, COPY))
        wire(model, [_to(b, device) for b in islice(batches(tokenizer, args.seed, mask_id, pad_id), 3)], (relate, lookup, read), copier)
    log = (args.out / "log.jsonl").open("a")
    stream = batches(tokenizer, args.seed, mask_id, pad_id, first, groups, args.recipe)
    for step, batch in enumerate(islice(stream, args.steps - first), first):
        began = time.perf_counter()
        report = _step(model, optimizer, _to(batch, device), (mask_id, pad_id), rate(step, args), args.recipe)
        seen += batch.groups
        entry: dict[str, Any] = {"step": step + 1, "groups": seen, **report, "tokens": batch.ids.numel()}
        log.write(json.dumps({**entry, "seconds": round(time.perf_counter() - began, 2)}) + "\n")
        log.flush()
        if (step + 1) % args.save_every == 0 or step + 1 == args.steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step + 1, "groups": seen}, checkpoint.with_suffix(".tmp"))
            checkpoint.with_suffix(".tmp").replace(checkpoint)


def _step(
    model: LlamaBlockDiffusion, optimizer: torch.optim.Optimizer, batch: Batch, special: tuple[int, int], lr: float, recipe: Recipe
) -> dict[str, float | None]:
    for group in optimizer.param_groups:
        group["lr"] = lr
    loss, report = losses(model, batch, *special, recipe=recipe)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return report | {"lr": round(lr, 8)}


def _to(batch: Batch, device: torch.device) -> Batch:
    moved = {name: getattr(batch, name).to(device) for name in ("ids", "positions", "targets", "full", "hints")}
    return replace(batch, parts=tuple(replace(part, mask=part.mask.to(device)) for part in batch.parts), **moved)


if __name__ == "__main__":
    main()
