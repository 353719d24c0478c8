"""From labelled positions to a folder that plays: the text of a turn, its mirror image, and a few updates."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from clover_decide import Decider
from clover_decide.question_set import read_questions
from clover_decide.rules import read_rules
from clover_decide.xiangqi.players import ModelPlayer
from clover_decide.xiangqi.position import START, Position
from clover_decide.xiangqi.turn import choose, make_turn
from clover_engine.tokenizer import Tokenizer
from clover_train.xiangqi import batches, groups, mirrored, mirrored_move, moves


@pytest.fixture(scope="module")
def positions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled by what wins the most, as an engine might."""
    path, rng, position = tmp_path_factory.mktemp("positions") / "positions.jsonl", random.Random(1), Position()
    with path.open("w") as file:
        for _ in range(24):
            candidates, threat = choose(position, ()), position.threat()
            move = max(candidates, key=lambda fact: (fact.net, fact.reach)).name
            replies = position.after(move).moves
            line = {"fen": position.fen, "candidates": [asdict(fact) for fact in candidates], "threat": threat and asdict(threat)}
            if len(candidates) > 1:
                file.write(json.dumps({**line, "move": move, "reply": rng.choice(replies) if replies else None}) + "\n")
            position = position.after(rng.choice(position.moves))
    return path


def test_answers_keep_the_rules_of_their_turn_and_the_mirror_image_says_the_same(positions: Path) -> None:
    found = list(groups([positions]))
    lines = positions.read_text().splitlines()
    assert len(found) == 2 * len(lines)
    for number, line in enumerate(lines):
        labelled = json.loads(line)
        (material, world), (flipped, image) = found[2 * number : 2 * number + 2]
        turn = make_turn(Position(labelled["fen"]))
        assert material == turn.material and world.questions == turn.questions
        assert read_rules(list(turn.rules), read_questions(turn.questions)).violations(world.answers) == ()
        fact = next(fact for fact in turn.candidates if fact.name == world.answers["move"])
        assert (world.answers["piece"], world.answers["wins"], world.answers["check"]) == (fact.piece, fact.takes or "nothing", fact.check)
        assert (world.answers["reply"] == "none, it has lost") == fact.mate
        assert image.answers == {**world.answers, "move": mirrored_move(world.answers["move"])}
        # Every square of the text, of replies and threats too, is on the other side; lines and pieces may stand in another order.
        turned = re.sub(r"\b(?:[a-i]\d){1,2}\b", lambda square: mirrored_move(square[0]), material)
        assert sorted(re.split(r"[\n,.] ?| has ", turned)) == sorted(re.split(r"[\n,.] ?| has ", flipped))


def test_mirroring_twice_changes_nothing() -> None:
    assert mirrored(mirrored(START)) == " ".join(START.split()[:2])
    assert mirrored_move("a0b2") == "i0h2" and mirrored_move(mirrored_move("c3g3")) == "c3g3"


def test_there_is_a_name_for_every_move() -> None:
    position, rng, named = Position(), random.Random(2), set(moves())
    for _ in range(80):
        assert set(position.moves) <= named
        if position.over:
            break
        position = position.after(rng.choice(position.moves))


def test_training_and_export_give_a_model_that_plays(positions: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clover_train.xiangqi", str(positions), "--out", str(tmp_path / "run"), "--steps", "12"]
    subprocess.run(command, check=True, timeout=240)
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    losses = [entry["loss_full"] for entry in log if "loss_full" in entry]
    assert losses[-1] < losses[0]
    subprocess.run([*command, "--export", str(tmp_path / "model")], check=True, timeout=240)
    tokenizer = Tokenizer(tmp_path / "model" / "tokenizer.json")
    assert all(tokenizer.single(f" {move}") is not None for move in moves())
    # The same batches again, whatever was drawn before.
    found = list(groups([positions]))
    first, second = (next(batches(tokenizer, found, 5, start=3)) for _ in range(2))
    assert (first.ids == second.ids).all()
    player = ModelPlayer(Decider(tmp_path / "model"))
    assert player.move(Position(), ()) in Position().moves
    assert player.last is not None and player.last.violations == ()
