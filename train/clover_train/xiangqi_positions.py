"""Positions of Chinese chess with an engine's choice among the candidate moves.

    python -m clover_train.xiangqi_positions --engine /usr/games/fairy-stockfish --games 300 --seed 0 --out positions-0.jsonl

A line: {"fen", "candidates": facts of the moves to choose from, "threat": facts of what is threatened, "move": the engine's choice,
"reply": the answer that it expects}. Games are played by all sorts: chance, greed, any
candidate, the engine, and mixtures of them, so that lost, won and odd positions occur, as in play against anyone. Same seed and
engine, same positions.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clover_decide.xiangqi.players import EnginePlayer, GreedyPlayer
from clover_decide.xiangqi.position import Position
from clover_decide.xiangqi.turn import choose

STYLES = ("chance", "greed", "any", "engine", "engine", "mixed", "mixed")
MIXED = (("engine", 0.65), ("any", 0.2), ("greed", 0.08), ("chance", 0.07))
MOST, SHORT = 160, 6
"""Plies of a game, and those at its beginning that chance plays in half of the games."""


def game(engine: EnginePlayer, rng: random.Random, told: float) -> Iterator[dict[str, Any]]:
    """The labelled positions of one game: `told` of those in which there is something to choose."""
    styles = {side: rng.choice(STYLES) for side in ("red", "black")}
    opening = rng.randint(0, SHORT) if rng.random() < 0.5 else 0
    position, history, move = Position(), list[str](), ""
    greedy = GreedyPlayer(rng)
    for ply in range(MOST):
        if position.over:
            return
        style = "chance" if ply < opening else styles[position.side]
        if style == "mixed":
            style = rng.choices([name for name, _ in MIXED], [share for _, share in MIXED])[0]
        label = rng.random() < told and style != "chance"
        if style == "engine" or label:
            candidates = choose(position, history)
            best, reply = engine.best(position, [fact.name for fact in candidates])
            move = best
            if label and len(candidates) > 1:
                facts, threat = [asdict(fact) for fact in candidates], position.threat()
                yield {"fen": position.fen, "candidates": facts, "threat": threat and asdict(threat), "move": best, "reply": reply}
        if style == "chance":
            move = rng.choice(position.moves)
        elif style == "greed":
            move = greedy.move(position, history)
        elif style == "any":
            move = rng.choice(choose(position, history)).name
        history.append(position.fen)
        position = position.after(move)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, required=True)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--told", type=float, default=0.6, help="share of the positions to write down, apart from those that chance plays")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with args.out.open("w") as file:
        for number in range(args.games):
            # An engine of its own for each game: what it remembers of the last one must not matter.
            engine = EnginePlayer(args.engine, {"Hash": 16}, f"depth {args.depth}")
            try:
                for line in game(engine, random.Random(f"game-{args.seed}-{number}"), args.told):
                    file.write(json.dumps(line) + "\n")
            finally:
                engine.close()
            file.flush()


if __name__ == "__main__":
    main()
