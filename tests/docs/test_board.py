"""The board page of examples/xiangqi in a browser: a game is loaded, replayed, and what is none is told."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from clover_decide.xiangqi.game import play
from clover_decide.xiangqi.players import GreedyPlayer, RandomPlayer
from tests.conftest import ROOT
from tests.service.browser import CHROMIUM, browsing

PAGE = ROOT / "examples" / "xiangqi" / "board.html"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_game_is_replayed(tmp_path: Path) -> None:
    game = play(GreedyPlayer(random.Random(1)), RandomPlayer(random.Random(2)), most=30)
    with browsing(PAGE.as_uri(), tmp_path) as page:
        page.until("document.querySelectorAll('.piece').length === 32")
        page.value(f"load({json.dumps(game.pgn())})")
        page.until(f"document.querySelectorAll('#moves button').length === {len(game.moves)}")
        page.value("document.getElementById('last').click()")
        page.until(f"document.getElementById('at').textContent === '{len(game.moves)} of {len(game.moves)}'")
        last = game.positions()[-1]
        left = len(last.pieces("red")) + len(last.pieces("black"))
        assert page.value("document.querySelectorAll('.piece').length") == left
        page.value("document.getElementById('first').click(); document.getElementById('run').click()")
        page.until("document.getElementById('at').textContent.startsWith('2 of')")
        page.value("load('1. A0-A1 A0-A1')")
        page.until("document.getElementById('told').textContent.includes('no piece stands on a0')")
        assert not page.errors
