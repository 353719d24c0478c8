"""Chinese chess: legal moves, facts, ends of games, and games written down and read back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from clover_decide import Decider
from clover_decide.errors import InputError, ModelError
from clover_decide.xiangqi import players
from clover_decide.xiangqi.game import Game, play, read_game
from clover_decide.xiangqi.match import match
from clover_decide.xiangqi.players import EnginePlayer, GreedyPlayer, ModelPlayer, RandomPlayer, read_move
from clover_decide.xiangqi.position import START, Position, _exposed, _possible
from clover_decide.xiangqi.turn import CANDIDATES, decide_turn, make_turn
from clover_decide.xiangqi.view import board_text

MATE_IN_ONE = "3k5/R8/9/9/9/9/9/9/9/1R3K3 w"
ONE_MOVE = "3k5/9/3P5/9/9/9/9/9/9/5K3 b"


@dataclass
class Script:
    """Plays given moves."""

    moves: list[str]
    name: str = "script"

    def move(self, position: Position, history: Sequence[str]) -> str:
        return self.moves.pop(0)


def test_as_many_moves_as_others_have_counted() -> None:
    # Perft of the first position: 44, 1,920 (fairy-stockfish 11.1, `go perft`).
    start = Position()
    assert len(start.moves) == 44
    assert sum(len(start.after(move).moves) for move in start.moves) == 1920


def test_a_position_is_not_changed_by_looking_at_it() -> None:
    position = Position()
    before = position.fen
    position.facts()
    position.threat()
    position.after("h2e2")
    assert position.fen == before and len(position.moves) == 44


def test_facts_of_moves() -> None:
    cannon = next(f for f in Position().facts(["b2b9"]))
    assert (cannon.piece, cannon.takes, cannon.loses, cannon.reply, cannon.net) == ("cannon", "horse", "cannon", "a9b9", -0.5)
    mate = next(f for f in Position(MATE_IN_ONE).facts() if f.mate and f.check)
    assert mate.name == "b0b9" and mate.loses is None


def test_a_threat_is_what_the_opponent_would_win() -> None:
    threat = Position("4k4/9/9/9/r4R3/9/9/9/9/3K5 w").threat()
    assert threat is not None and (threat.takes, threat.name) == ("rook", "a5f5")
    assert Position("4k4/9/9/9/9/9/9/9/9/3K5 w").threat() is None


@pytest.mark.parametrize(
    ("fen", "said"),
    [
        ("9/9", "is no position"),
        ("", "is no position"),
        ("4k4/9/9/9/9/9/9/9/9/4X4 w", "is no position"),
        ("4k4/9/9/9/9/9/9/9/9/9 w", "one king of each side"),
        ("k8/9/9/9/9/9/9/9/9/4K4 b", "not in its palace"),
        ("3k5/4K4/9/9/9/9/9/9/9/9 w", "not in its palace"),
        ("3k5/9/9/9/9/9/9/9/9/3\u00b2K4 w", "is no position"),
        ("4k4/4R4/9/9/9/9/9/9/9/3K5 w", "the side that has moved is in check"),
    ],
)
def test_what_is_no_position_is_refused(fen: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Position(fen)


def test_moves_as_people_type_them() -> None:
    assert read_move(" H2-E2\n", Position()) == "h2e2"
    for text, said in (("hello", "is no move"), ("h2h2", "is not legal"), ("", "is no move")):
        with pytest.raises(InputError, match=said):
            read_move(text, Position())


@pytest.mark.parametrize(
    ("fen", "result", "reason"),
    [("3k5/R8/9/9/9/9/9/9/3R5/4K4 b", "1-0", "mate"), ("3k5/9/3P5/9/9/9/9/9/9/4K4 b", "1-0", "stalemate")],
)
def test_who_cannot_move_has_lost(fen: str, result: str, reason: str) -> None:
    game = play(Script([]), Script([]), Game("a", "b", fen))
    assert (game.result, game.reason) == (result, reason)


def test_perpetual_check_loses_and_other_repetition_is_a_draw() -> None:
    checks = ["a8a9", "a9a8"] * 6
    king = ["d9d8", "d8d9"] * 6
    game = play(Script(checks), Script(king), Game("a", "b", "3k5/R8/9/9/9/9/9/9/9/4K4 w"))
    assert (game.result, game.reason) == ("0-1", "perpetual check")
    still = play(Script(["a0b0", "b0a0"] * 6), Script(["d9d8", "d8d9"] * 6), Game("a", "b", "3k5/9/9/9/9/9/9/9/9/R3K4 w"))
    assert (still.result, still.reason) == ("1/2-1/2", "repetition")


@pytest.mark.parametrize("seed", range(3))
def test_games_of_chance_are_legal_to_their_end_and_are_read_back(seed: int, tmp_path: Path) -> None:
    game = play(RandomPlayer(random.Random(seed)), GreedyPlayer(random.Random(seed)), most=60)
    assert game.result != "*" and len(game.positions()) == len(game.moves) + 1
    for name, text in (("game.pgn", game.pgn()), ("game.txt", game.ucci())):
        (tmp_path / name).write_text(text)
        again = read_game(tmp_path / name)
        assert (again.start.split()[:2], again.moves) == (game.start.split()[:2], game.moves)


def test_a_saved_game_goes_on_where_it_stopped() -> None:
    whole = play(RandomPlayer(random.Random(1)), Script(["h9g7", "b9c7", "a9a8"]), most=6)
    begun = Game("a", "b", START, whole.moves[:4])
    rest = Script(list(whole.moves[4:5])), Script(list(whole.moves[5:6]))
    assert play(*rest, begun, most=6).moves == whole.moves


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "1. C2=5 H8+7 *",
        '[Red "a"]\n\n1. H2-E2 H2-E2 *',
        "1. H2-E2 H9-G",
        "1. H2-E2 * 1. H2-E2 *",
        "position startpos moves h2e2 h2e2",
        "position startpos moves h2e2 zz",
    ],
)
def test_what_is_no_game_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "game.pgn").write_text(text)
    with pytest.raises(InputError) as error:
        read_game(tmp_path / "game.pgn")
    assert error.value.accepted and "game.pgn" in error.value.path


def test_comments_and_variations_are_no_moves(tmp_path: Path) -> None:
    (tmp_path / "game.pgn").write_text("1. H2-E2 {better was b2-e2} (1. B2-E2 (1. A0-A1) B9-C7) H9-G7 ; h9-g7 is usual\n2. H0-G2 *\n")
    assert read_game(tmp_path / "game.pgn").moves == ("h2e2", "h9g7", "h0g2")


def test_names_do_not_break_a_game_and_black_may_begin(tmp_path: Path) -> None:
    game = Game('a "q"]', "b\\c", "3k5/9/9/9/9/9/9/9/9/4K4 b - - 0 1", ("d9d8", "e0f0"))
    (tmp_path / "game.pgn").write_text(game.pgn())
    again = read_game(tmp_path / "game.pgn")
    assert (again.red, again.black, again.moves) == (game.red, game.black, game.moves) and "1... D9-D8 2. E0-F0" in game.pgn()


@pytest.mark.parametrize("mode", ["joint", "independent"])
def test_the_model_moves_legally_and_says_what_fits_the_move(mini: Decider, mode: str) -> None:
    turn = make_turn(Position())
    assert 1 < len(turn.candidates) <= CANDIDATES and len(turn.questions) == 6
    move, decision = decide_turn(mini, turn, mode, effort="fast")
    assert move in turn.position.moves
    if mode == "joint":
        fact = next(f for f in turn.candidates if f.name == move)
        assert decision["piece"].value == fact.piece and decision["check"].value == fact.check
        assert decision["wins"].value == (fact.takes or "nothing") and decision.violations == ()


def test_the_model_of_the_game_ships_and_its_answers_fit_its_moves() -> None:
    player, rng, position = ModelPlayer(Decider("clover-xiangqi")), random.Random(6), Position()
    for _ in range(12):
        move = player.move(position, ())
        assert move in position.moves and player.last is not None and player.last.violations == (), position.fen
        if "piece" in player.last.answers:
            assert player.last["piece"].value == position.piece_at(move[:2]), position.fen
        position = position.after(move)
        position = position.after(rng.choice(position.moves))


def test_a_mate_is_played_and_a_single_move_is_no_question(mini: Decider) -> None:
    player = ModelPlayer(mini, effort="fast")
    assert player.move(Position(MATE_IN_ONE), []) == "b0b9"
    turn = make_turn(Position(ONE_MOVE))
    assert len(turn.position.moves) == len(turn.candidates) == 1 and "move" not in turn.questions
    assert decide_turn(mini, turn)[0] == turn.position.moves[0]


def test_a_position_is_not_repeated_a_third_time_if_there_is_another_move() -> None:
    position = Position("4k4/9/9/9/9/9/9/9/9/R2K5 w")
    names = {fact.name for fact in make_turn(position).candidates}
    stale = [position.after(name).fen for name in names for _ in range(2) if name == "a0b0"]
    assert "a0b0" in names and "a0b0" not in {fact.name for fact in make_turn(position, stale).candidates}


def test_matches_alternate_colours_and_count_points() -> None:
    score = match(GreedyPlayer(random.Random(0)), RandomPlayer(random.Random(1)), 4, most=40)
    assert score.played == 4 and [game.red for game in score.games] == ["greedy", "random"] * 2
    low, high = score.interval()
    assert 0 <= low <= score.points <= high <= 1


def test_games_may_begin_with_moves_by_lot_the_same_for_both_colours() -> None:
    players_ = (RandomPlayer(random.Random(1), "a"), RandomPlayer(random.Random(2), "b"))
    games = match(*players_, 4, most=12, opening=6, seed=3).games
    begun = [game.moves[:6] for game in games]
    assert begun[0] == begun[1] != begun[2] == begun[3]
    assert [game.red for game in games] == ["a", "b", "a", "b"]
    assert all(len(game.positions()) == len(game.moves) + 1 for game in games)


def test_the_board_shows_every_piece_and_the_last_move() -> None:
    text = board_text(Position().after("h2e2"), "h2e2")
    assert text.count("[C]") == 1 and text.count("[.]") == 1 and text.splitlines()[0].startswith("9  r  n  b  a  k")
    assert sum(c in "rnbakcpRNBAKCP" for line in text.splitlines()[:11] for c in line) == 32
    assert "帥" in board_text(Position(), glyphs=True)


def test_a_program_that_is_no_engine_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "PATIENCE", 0.3)
    with pytest.raises(ModelError, match="does not answer"):
        EnginePlayer(Path("/bin/cat"))
    with pytest.raises(ModelError, match="cannot be started"):
        EnginePlayer(Path("/no/such/engine"))


def test_an_engine_chooses_among_the_moves_it_is_given_and_counts_ranks_from_one(tmp_path: Path) -> None:
    script, told = tmp_path / "engine", tmp_path / "told"
    script.write_text(
        '#!/bin/sh\nn=0\nwhile read -r line; do echo "$line" >> ' + str(told) + "\n"
        'case "$line" in isready) echo readyok;; go*) n=$((n+1)); '
        'if [ $n = 1 ]; then echo "bestmove b3b10 ponder a10b10"; else echo "bestmove a1a2"; fi;; esac; done\n'
    )
    script.chmod(0o755)
    engine = EnginePlayer(script, {"Hash": 16}, "depth 3")
    try:
        assert engine.best(Position(), ["b2b9", "a0a1"]) == ("b2b9", "a9b9")
        assert engine.move(Position(), ()) == "a0a1"
    finally:
        engine.close()
    lines = told.read_text().splitlines()
    assert "go depth 3 searchmoves b3b10 a1a2" in lines and "setoption name Hash value 16" in lines and lines[-1] == "go depth 3"


def test_facts_agree_with_what_the_library_generates_move_by_move() -> None:
    """Squares that no piece could come from are not asked about; none that one could may be left out."""
    rng, position = random.Random(4), Position()
    for _ in range(60):
        board = position._board.copy()
        assert sorted(_possible(board)) == sorted(board.create_moves()), position.fen
        other = board.copy()
        other.next_turn()
        assert _exposed(board) == board.is_checking() and _exposed(other) == other.is_checking(), position.fen
        if position.over:
            break
        position = position.after(rng.choice(position.moves))
