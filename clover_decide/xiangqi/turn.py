"""One turn as a group of linked questions: what is threatened, which move, what it takes, whether it checks, what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clover_decide.questions import Boolean, Choice
from clover_decide.xiangqi.position import NAMES, MoveFacts, Position

if TYPE_CHECKING:
    from clover_decide.decider import Decider
    from clover_decide.decision import Decision

CANDIDATES = 20
"""Moves that are weighed: those that win the most and lose the least by one reply, and of equals those that reach the most."""
SHORT = 1.0
"""Pawns by which they may fall short of the best of them: an engine's choice at depth 8 was among these in 0.91 of 3,129 positions."""
KINDS = tuple(NAMES.values())
NOTHING = "nothing"
REPLIES = ("takes a piece", "answers the check", "a quiet move", "none, it has lost")


@dataclass(frozen=True)
class Turn:
    """What is asked in a position: the material, the questions, the rules between them, the candidate moves, and the move by which
    the opponent would win the most."""

    position: Position
    candidates: tuple[MoveFacts, ...]
    threat: MoveFacts | None
    material: str
    questions: Mapping[str, Any]
    rules: tuple[str, ...]


def make_turn(position: Position, history: Sequence[str] = ()) -> Turn:
    """The group of a position in which at least one move is legal. `history` are the positions before (FEN), for repetitions."""
    return turn_of(position, choose(position, history), position.threat())


def turn_of(position: Position, candidates: tuple[MoveFacts, ...], threat: MoveFacts | None) -> Turn:
    """The group of a position, of the moves to choose from, which come by name, and of what the opponent threatens."""
    lines = [f"Chinese chess. {position.side.capitalize()} is to move and is {'' if position.in_check else 'not '}in check."]
    for side in (position.side, position.opponent):
        placed = ", ".join(f"{piece} {square}" for piece, square in position.pieces(side))
        lines.append(f"{side.capitalize()} has {placed}.")
    if threat is not None:
        lines.append(f"{position.opponent.capitalize()} threatens to take the {threat.takes} on {threat.name[2:]}.")
    lines += [f"{worded(fact)}." for fact in candidates]
    return Turn(position, candidates, threat, "\n".join(lines), questions(position, candidates), rules(candidates))


def choose(position: Position, history: Sequence[str]) -> tuple[MoveFacts, ...]:
    """The candidate moves, by name: a mate alone if there is one; none that repeats a position for the third time, or checks in one
    that stood before (who goes on checking loses), or lets the opponent mate, unless all do."""
    facts = position.facts()
    if mates := [fact for fact in facts if fact.mate]:
        return (min(mates, key=lambda fact: not fact.check),)
    fresh = [fact for fact in facts if history.count(position.after(fact.name).fen) < (1 if fact.check else 2)] or list(facts)
    safe = [fact for fact in fresh if not fact.mated] or fresh
    best = sorted(safe, key=lambda fact: (-fact.net, not fact.check, -fact.reach, fact.name))[:CANDIDATES]
    return tuple(sorted((fact for fact in best if fact.net >= best[0].net - SHORT), key=lambda fact: fact.name))


def worded(fact: MoveFacts) -> str:
    """What the rules say of a move, as a clause; what it does not do is left out."""
    parts = [f"{fact.name} {fact.piece}" + (f" takes {fact.takes}" if fact.takes else "")]
    parts += ["mates"] if fact.mate else ["gives check"] if fact.check else []
    parts += [f"then loses {fact.loses} to {fact.reply}"] if fact.loses else []
    parts += ["is mated"] if fact.mated else []
    return f"{', '.join(parts)}, net {fact.net:+g}, reaches {fact.reach}"


def questions(position: Position, candidates: Sequence[MoveFacts]) -> dict[str, Any]:
    """The questions of a turn. With a single candidate the move is no question."""
    asked: dict[str, Any] = {
        "threat": Choice(f"Which piece does {position.opponent} threaten to win?", options=(NOTHING, *KINDS)),
        "piece": Choice("Which piece should move?", options=KINDS),
        "wins": Choice("What does the best move take?", options=(NOTHING, *KINDS)),
        "check": Boolean("Does the best move give check?"),
        "reply": Choice(f"What will {position.opponent} do in reply?", options=REPLIES),
    }
    if len(candidates) > 1:
        move = Choice(f"Which move is best for {position.side}?", options=tuple(fact.name for fact in candidates))
        asked = {"threat": asked.pop("threat"), "move": move, **asked}
    return asked


def rules(candidates: Sequence[MoveFacts]) -> tuple[str, ...]:
    """What a move settles: its piece, what it takes, whether it checks; and that a mate has no reply."""
    if len(candidates) == 1:
        return tuple(_settled(candidates[0]))
    return tuple(f"move != '{fact.name}' || ({' && '.join(_settled(fact))})" for fact in candidates)


def _settled(fact: MoveFacts) -> list[str]:
    parts = [f"piece == '{fact.piece}'", f"wins == '{fact.takes or NOTHING}'", "check" if fact.check else "!check"]
    end = REPLIES[3]
    answers = (
        f"reply == '{end}'" if fact.mate else f"reply == '{REPLIES[1]}' || reply == '{REPLIES[0]}'" if fact.check else f"reply != '{end}'"
    )
    return [*parts, f"({answers})"]


def decide_turn(decider: Decider, turn: Turn, mode: Any = "joint", effort: Any = "standard") -> tuple[str, Decision]:
    """The move, and the decision it is part of.

    Raises:
        RuleError: never for the rules of a turn, which a candidate always keeps.
    """
    given = turn.rules if mode == "joint" else None
    decision = decider.decide(turn.material, turn.questions, mode=mode, effort=effort, rules=given, facts="off")
    move = turn.candidates[0].name if len(turn.candidates) == 1 else str(decision["move"].value)
    return move, decision
