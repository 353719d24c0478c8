"""Train the model that plays Chinese chess: a small block-diffusion network of its own, from labelled positions.

    python -m clover_train.xiangqi_positions --engine /usr/games/fairy-stockfish --games 300 --out positions.jsonl
    python -m clover_train.xiangqi positions.jsonl --out runs/xiangqi
    python -m clover_train.xiangqi positions.jsonl --out runs/xiangqi --export engine/clover_engine/weights/clover-xiangqi

Its text is what `clover_decide.xiangqi.turn` writes and nothing else, so its tokenizer is its own: words, and every move as one token,
which makes a move its own code. Every position is also seen from the other side of the mirror.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import torch
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from clover_decide.material import read_material
from clover_decide.prompt import Prompter
from clover_decide.slots import quote_source
from clover_decide.xiangqi.position import NAMES, NEAR, MoveFacts, Position
from clover_decide.xiangqi.turn import NOTHING, REPLIES, Turn, turn_of
from clover_engine.models.llama import Layer, LlamaBlockDiffusion, LlamaConfig
from clover_engine.tokenizer import Tokenizer
from clover_train.evidence import Span
from clover_train.export import export
from clover_train.groups import Guide, World
from clover_train.packing import COPY, IGNORE, Batch, collate
from clover_train.rounding import round_all, second_moments
from clover_train.rows import Row, RowBuilder
from clover_train.run import LOOKS, MASK_TOKEN, PAD_TOKEN, losses

SIZES: dict[str, int] = {"hidden_size": 192, "layers": 6, "heads": 3, "kv_heads": 3, "mlp_size": 512}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", PAD_TOKEN, MASK_TOKEN]
PIECES = r"\.?\n|\d+:|\[\d+\]|\d+\.(?= )| ?[a-i]\d[a-i]\d| ?[a-i]\d|,? ?[A-Za-z]+| ?[+-]?\d+(?:\.\d)?| ?[^\s]|\s"
"""What the tokenizer never merges across: words with the comma before them, numbers, moves, and the marks of lines."""
_MARKS = "".join([*(f"[{n}]" for n in range(1, 41)), *(f"{n}:{n}. " for n in range(1, 9)), ".\n"])
VOCABULARY, COPIES, ROWS = 3600, 2, 8
HELD_OUT = 0.05
"""Share of the games' positions that is only looked at."""
Group = tuple[str, World]
"""A material and what is asked about it."""


def moves() -> list[str]:
    """Every move that some piece can make on an empty board, by name."""
    name = "{}{}{}{}".format
    files = "abcdefghi"
    pairs = {(start, end) for near in NEAR.values() for start, ends in near.items() for end in ends}
    return sorted(name(files[a], b, files[c], d) for (a, b), (c, d) in pairs)


def make_tokenizer(texts: Sequence[str], path: Path) -> Tokenizer:
    """Byte-level BPE over the words of the texts, with all moves."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(  # pyright: ignore[reportAttributeAccessIssue]
        [pre_tokenizers.Split(Regex(PIECES), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    backend.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    backend.train_from_iterator(
        [*texts, *[" " + " ".join([*moves(), *ascii_uppercase, *NAMES.values(), NOTHING])] * 60, *[_MARKS] * 200], trainer
    )
    backend.save(str(path))
    tokenizer = Tokenizer(path)
    torn = [move for move in moves() if tokenizer.single(f" {move}") is None]
    assert not torn, f"{len(torn)} moves are several tokens, such as {torn[:3]}"
    return tokenizer


def mirrored(fen: str) -> str:
    placed, side = fen.split()[:2]
    return f"{'/'.join(row[::-1] for row in placed.split('/'))} {side}"


def mirrored_move(move: str) -> str:
    return "".join(chr(ord("a") + ord("i") - ord(c)) if c.isalpha() else c for c in move)


def told(turn: Turn, move: str, reply: str | None) -> Group:
    """A turn's material, and its group with the answers that belong to the engine's move."""
    fact = next(fact for fact in turn.candidates if fact.name == move)
    # What stands where the reply goes, once the move is made: the piece that was moved, or one of before.
    takes = reply is not None and (reply[2:] == move[2:] or (reply[2:] != move[:2] and turn.position.piece_at(reply[2:]) is not None))
    answer = REPLIES[3] if fact.mate else REPLIES[0] if takes else REPLIES[1] if fact.check else REPLIES[2]
    answers: dict[str, Any] = {
        "threat": turn.threat.takes if turn.threat else NOTHING,
        "move": move,
        "piece": fact.piece,
        "wins": fact.takes or NOTHING,
        "check": fact.check,
        "reply": answer,
    }
    if reply is None and not fact.mate:
        # An engine need not say what it expects.
        del answers["reply"]
    # All but the threat is seen from the line of the move. Clauses are found by how they begin.
    clauses = {"best": f"{move} ", "threat": f"{turn.position.opponent.capitalize()} threatens "}
    needs = {key: frozenset(["threat" if key == "threat" else "best"]) for key in answers}
    builds: dict[str, tuple[str, ...]] = dict.fromkeys(("piece", "wins", "check", "reply"), ("move",))
    guide = Guide({key: tuple(needed) for key, needed in needs.items()}, builds, {}, copies={"move": "best#"})
    asked = {key: turn.questions[key] for key in answers}
    return turn.material, World("xiangqi", turn.position.fen, clauses, (), asked, answers, needs, frozenset(), guide)


def groups(paths: Sequence[Path]) -> Iterator[Group]:
    """Material and group of each labelled position, and of its mirror image."""
    for line in (line for path in paths for line in path.read_text().splitlines()):
        labelled = json.loads(line)
        facts = [MoveFacts(**fact) for fact in labelled["candidates"]]
        threat = MoveFacts(**labelled["threat"]) if labelled["threat"] else None
        move, reply, position = labelled["move"], labelled["reply"], Position(labelled["fen"])
        yield told(turn_of(position, tuple(facts), threat), move, reply)
        flipped = tuple(sorted(map(flip, facts), key=lambda fact: fact.name))
        turn = turn_of(Position(mirrored(labelled["fen"])), flipped, threat and flip(threat))
        yield told(turn, mirrored_move(move), reply and mirrored_move(reply))


def flip(fact: MoveFacts) -> MoveFacts:
    return replace(fact, name=mirrored_move(fact.name), reply=fact.reply and mirrored_move(fact.reply))


def row(builder: RowBuilder, tokenizer: Tokenizer, material: str, case: World, asked: Sequence[Sequence[str]]) -> Row:
    """A position, and a block for each of some lists of questions."""
    read, prompter = read_material(material), Prompter(tokenizer)
    lines, _ = prompter.line_spans(read, ())

    def find(step: str) -> Span | None:
        name, _, _ = step.partition("#")
        begins = (read.text[start:end].startswith(case.clauses[name]) for start, end in read.sentences)
        span = next((line for line, found in zip(lines, begins, strict=True) if found), None)
        # The move itself is the token after the line's number.
        return (span[0] + 1, span[0] + 2) if span and step.endswith("#") else span

    source = quote_source(read, tokenizer)
    branches = tuple(builder.branch(case, keys, find, source) for keys in asked)
    nothing = tuple(() for _ in branches)
    return Row(tuple(prompter.material(read, ())), branches, nothing, nothing)


def batches(tokenizer: Tokenizer, found: Sequence[Group], seed: int, start: int = 0) -> Iterator[Batch]:
    """Positions asked jointly, their questions in any order, and one of these alone, mostly the move. Batch i is a function of
    the seed and i alone."""
    mask_id, pad_id = tokenizer.special(MASK_TOKEN), tokenizer.special(PAD_TOKEN)
    for index in count(start):
        rng = random.Random(f"xiangqi-{seed}-{index}")
        builder, rows = RowBuilder(tokenizer, pad_id, rng, 1.0, once=True), list[Row]()
        for material, case in rng.choices(found, k=ROWS):
            keys = list(case.answers)
            rng.shuffle(keys)
            rows.append(row(builder, tokenizer, material, case, [keys, ["move" if rng.random() < 0.5 else keys[0]]]))
        yield collate(rows, COPIES, mask_id, rng)


def _read_text(material: str, case: World) -> str:
    """About what the model reads, for the tokenizer's words."""
    asked = "".join(f"1. {q.text} ({' / '.join(o.value for o in getattr(q, 'options', ()))})\n" for q in case.questions.values())
    return f"user\nMaterial:\n[1] {material}\nQuestions:\n{asked}(yes/no)\nassistant\n1: yes\n2: no\n"


@torch.no_grad()
def evaluate(model: LlamaBlockDiffusion, tokenizer: Tokenizer, held: Sequence[Group], rng: random.Random) -> dict[str, float]:
    """Share of held-out answers that are right with every slot masked, question by question."""
    mask_id, builder = tokenizer.special(MASK_TOKEN), RowBuilder(tokenizer, tokenizer.special(PAD_TOKEN), rng, 1.0, once=True)
    right: dict[str, list[bool]] = {key: [] for key in held[0][1].answers}
    for material, case in held:
        keys = list(case.answers)
        batch = collate([row(builder, tokenizer, material, case, [keys])], 1, mask_id, rng)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model.packed(batch.ids, batch.positions, batch.parts)[0].float() @ model.embedding.weight.t()
        logits = logits.masked_fill(~allowed(batch, tokenizer)[0].roll(-1, 0), float("-inf"))
        for key, at in zip(keys, (batch.targets[0] != IGNORE).nonzero()[:, 0].tolist(), strict=True):
            right[key].append(bool(logits[at - 1].argmax() == batch.targets[0, at]))
    return {key: round(sum(values) / len(values), 3) for key, values in right.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("positions", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--start", type=Path, help="a checkpoint to begin with, of the same tokenizer")
    parser.add_argument("--export", type=Path, help="write the trained model to this folder and stop")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    found = list(groups(args.positions))
    # Neighbours are of one game and each position stands beside its mirror image, so a whole stretch is held out, and what else is like it.
    cut = max(2, int(len(found) * HELD_OUT) // 2 * 2)
    held, seen = found[:cut], {material for material, _ in found[:cut]}
    found = [group for group in found[cut:] if group[0] not in seen]
    path = args.out / "tokenizer.json"
    tokenizer = Tokenizer(path) if path.is_file() else make_tokenizer([_read_text(*group) for group in found[:3000]], path)
    model = LlamaBlockDiffusion(LlamaConfig(vocab_size=tokenizer.vocab_size, **SIZES))
    checkpoint = args.out / "checkpoint.pt"
    if args.export:
        model.load_state_dict(torch.load(checkpoint))
        sample = [batch for batch, _ in zip(batches(tokenizer, found, 777), range(12), strict=False)]
        state = round_all(model.state_dict(), second_moments(model.eval(), sample))
        export(state, args.out, args.export, args.export.name, network=model.config)
        return
    if args.start:
        model.load_state_dict(torch.load(args.start))
    else:
        begin(model)
    train(model, tokenizer, found, held, args)


def allowed(batch: Batch, tokenizer: Tokenizer) -> torch.Tensor:
    """(1, T, vocab) bool: the moves that a position's own text names, and the words of the other answers. The engine asks no more
    of a slot either, and two thousand moves to tell apart would be most of what there is to learn."""
    words = [*NAMES.values(), NOTHING, *REPLIES, "yes", "no"]
    spaced = tokenizer.encode_cached(" " + " ".join(moves()))
    named = torch.zeros(tokenizer.vocab_size, dtype=torch.bool)
    named[list(spaced)] = True
    open_ = torch.zeros(1, batch.ids.shape[1], tokenizer.vocab_size, dtype=torch.bool)
    open_[..., [tokenizer.encode_cached(f" {word}")[0] for word in words]] = True
    start, told = 0, torch.zeros(0, dtype=torch.long)
    for part in batch.parts:
        end = start + part.mask.shape[2]
        if part.sees is None:
            told = batch.ids[0, start:end]
        else:
            open_[0, start:end, told[named[told]]] = True
        start = end
    return open_


@torch.no_grad()
def begin(model: LlamaBlockDiffusion) -> None:
    """First weights. What a token is stays the larger part of what is carried along, and the head that is taught to look at the move
    passes it on, an identity in as many directions as the head has: otherwise copying was not learned in 1,000 updates."""
    c = model.config
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            deep = name.endswith(("out.weight", "down.weight"))
            parameter.normal_(std=0.3 if name == "embedding.weight" else 0.02 / (2 * c.layers) ** 0.5 if deep else 0.02)
    # The output matrix is the embedding matrix: logits of a few units.
    model.norm.fill_(0.25)
    depth, group = LOOKS[COPY]
    layer, size = model.layers[int(c.layers * depth)], c.head_dim
    assert isinstance(layer, Layer) and c.heads == c.kv_heads
    directions = torch.linalg.qr(torch.randn(c.hidden_size, size))[0]
    values = c.hidden_size + c.kv_heads * size + group * size
    layer.qkv.weight[values : values + size] = directions.T
    layer.out.weight[:, group * size : (group + 1) * size] = directions / 2


def train(
    model: LlamaBlockDiffusion, tokenizer: Tokenizer, found: Sequence[Group], held: Sequence[Group], args: argparse.Namespace
) -> None:
    """The rate rises over the first 3% of the steps and falls to 3% over all of them."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    mask_id, pad_id = tokenizer.special(MASK_TOKEN), tokenizer.special(PAD_TOKEN)
    log = (args.out / "log.jsonl").open("a")
    for step, batch in enumerate(batches(tokenizer, found, args.seed)):
        done = step / args.steps
        if step % 500 == 0 or step == args.steps:
            torch.save(model.state_dict(), args.out / "checkpoint.pt")
            log.write(json.dumps({"step": step, "held out": evaluate(model, tokenizer, held[:150], random.Random(0))}) + "\n")
            log.flush()
        if step == args.steps:
            return
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, done / 0.03 + 0.02, 1.03 - done)
        loss, report = losses(model, batch, mask_id, pad_id, allowed(batch, tokenizer))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        log.write(json.dumps({"step": step + 1, "tokens": batch.ids.numel(), **report}) + "\n")


if __name__ == "__main__":
    main()
