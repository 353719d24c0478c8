"""Matches of many games with alternating colours."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

from clover_decide.xiangqi.game import MOST_PLIES, Game, play
from clover_decide.xiangqi.players import Player
from clover_decide.xiangqi.position import START, Position


@dataclass
class Score:
    """Games of the first player against the second, from the first one's side."""

    won: int = 0
    drawn: int = 0
    lost: int = 0
    games: list[Game] = field(default_factory=list)

    @property
    def played(self) -> int:
        return self.won + self.drawn + self.lost

    @property
    def points(self) -> float:
        """Share of the points: a win counts one, a draw a half."""
        return (self.won + self.drawn / 2) / self.played

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """Normal interval of the share of points, from the variance of single games, within [0, 1]."""
        mean, n = self.points, self.played
        variance = (self.won * (1 - mean) ** 2 + self.drawn * (0.5 - mean) ** 2 + self.lost * mean**2) / n
        half = z * sqrt(variance / n)
        return max(0.0, mean - half), min(1.0, mean + half)


def match(
    first: Player,
    second: Player,
    games: int,
    *,
    start: str = START,
    most: int = MOST_PLIES,
    opening: int = 0,
    seed: int = 0,
    watch: Callable[[Score], None] = lambda score: None,
) -> Score:
    """Play so many games; the first player has red in the first, third, … of them.

    opening: plies that are drawn by lot before the players begin, the same for two games in a row. Players that draw no lots
    themselves would else play the same two games over and over.
    """
    score = Score()
    for number in range(games):
        red, black = (first, second) if number % 2 == 0 else (second, first)
        begun = _opening(start, opening, random.Random(f"opening-{seed}-{number // 2}"))
        game = play(red, black, Game(red.name, black.name, start, begun), most=most)
        own = "1-0" if red is first else "0-1"
        if game.result == "1/2-1/2":
            score.drawn += 1
        elif game.result == own:
            score.won += 1
        else:
            score.lost += 1
        score.games.append(game)
        watch(score)
    return score


def _opening(start: str, plies: int, rng: random.Random) -> tuple[str, ...]:
    """Moves by lot, fewer if the game would be over."""
    position, moves = Position(start), list[str]()
    while len(moves) < plies and not position.over:
        moves.append(rng.choice(position.moves))
        position = position.after(moves[-1])
    return tuple(moves) if not position.over else ()
