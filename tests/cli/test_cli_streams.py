"""`triage` and `folder`: many inputs, of which some are bad."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.conftest import ROOT
from tests.unit.test_documents import LINES, pdf, scan, word

EVENTS = ROOT / "examples" / "alerts" / "events.jsonl"
POLICY = ROOT / "examples" / "alerts" / "policy.txt"


def test_each_event_gets_a_line_and_a_bad_one_stops_nothing() -> None:
    cut_off = b'{"EventID": 1, "Computer": "build-07", "Image": "C:\\\\Windows\\\\System32\\\\whoami.exe", "Comm'
    done = run("triage", "--policy", str(POLICY), stdin=EVENTS.read_bytes() + cut_off, expect=1)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row.get("kind") for row in rows] == ["windows", "windows", "cloudtrail", "suricata", "syslog", None]
    assert [row["row"] for row in rows] == [1, 2, 3, 4, 5, 6] and rows[1]["id"] == "88121"
    for row in rows[:5]:
        answers = {key: answer["value"] for key, answer in row["decision"]["answers"].items()}
        assert row["decision"]["violations"] == [] and (answers["verdict"] == "false positive") == (answers["tactic"] == "none")
    assert rows[5]["error"]["path"] == "row 6" and "malformed JSON" in rows[5]["error"]["problem"]


def test_events_are_answered_as_they_come() -> None:
    """The answer to a line is there before the next line is written."""
    command = [sys.executable, "-m", "clover_decide.cli", "triage", "--pack", "alert", "--effort", "fast"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        assert process.stdin and process.stdout
        for number in (1, 2):
            process.stdin.write(b'{"id": "e%d", "what": "23 failed logins on fin-db-1"}\n' % number)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == f"e{number}"
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [(b"\xff\xfe\n", "not UTF-8"), (b"x" * (1 << 21) + b"\n", "is too long"), (b'{"a": 1', "malformed JSON"), (b"hello\n", "is no event")],
)
def test_a_bad_event_is_told_and_the_next_is_read(line: bytes, said: str) -> None:
    after = b'{"id": "last", "what": "nothing"}\n'
    done = run("triage", "--effort", "fast", stdin=line + (b"" if line.endswith(b"\n") else b"\n") + after, expect=1)
    bad, good = (json.loads(text) for text in done.stdout.splitlines())
    assert said in bad["error"]["problem"] and bad["row"] == 1
    assert good["id"] == "last" and good["row"] == 2 and "decision" in good


def test_one_document_is_read_as_a_folder_reads_it(tmp_path: Path) -> None:
    document, asked = pdf(tmp_path / "a.pdf"), tmp_path / "asked.yaml"
    asked.write_text("sum: {type: quote, text: 'How much is the deposit?'}")
    done = run("decide", str(document), "--pack", "contract", "--json", "--effort", "fast", "--no-compare")
    quoted = run("decide", str(document), "--json", "--effort", "fast", "--no-compare", "-q", str(asked))
    assert json.loads(quoted.stdout)["answers"]["sum"]["value"] in " ".join(LINES) and json.loads(done.stdout)["answers"]
    assert b"has no text" in run("decide", str(scan(tmp_path / "b.pdf")), "--pack", "contract", expect=2).stderr


def test_a_folder_becomes_a_table_and_a_page(tmp_path: Path) -> None:
    folder, table, page = tmp_path / "in", tmp_path / "out.csv", tmp_path / "out.html"
    folder.mkdir()
    text = (ROOT / "examples" / "contract.txt").read_text()
    (folder / "a <b>.txt").write_text(text)
    pdf(folder / "b.pdf"), word(folder / "c.docx"), scan(folder / "d.pdf")
    args = ("--pack", "contract", "--csv", str(table), "--html", str(page), "--evidence")
    done = run("folder", str(folder), *args, expect=1)
    assert b"4 documents, 1 not answered" in done.stderr
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["document"] for row in rows] == ["a <b>.txt", "b.pdf", "c.docx", "d.pdf"]
    assert rows[0]["refund"] == "1550" and rows[0]["timely"] == "yes" and 0 < float(rows[0]["all together"]) <= 1
    assert "has no text" in rows[3]["error"] and rows[3]["refund"] == "" and rows[1]["error"] == ""
    shown = page.read_text()
    assert "a &lt;b&gt;.txt" in shown and "<b>.txt" not in shown and "<blockquote>" in shown and "has no text" in shown
    assert b"the output file exists" in run("folder", str(folder), *args, expect=2).stderr
    (tmp_path / "empty").mkdir()
    assert b"no documents" in run("folder", str(tmp_path / "empty"), "--pack", "contract", expect=2).stderr


def test_outputs_are_looked_at_before_anything_is_asked(tmp_path: Path) -> None:
    document = tmp_path / "a.txt"
    document.write_text("The deposit is $900.")
    same = str(tmp_path / "o")
    for words, said in (
        (("--csv", str(tmp_path / "no" / "o.csv")), b"no such folder"),
        (("--html", str(tmp_path / "no" / "o.html")), b"no such folder"),
        (("--csv", same, "--html", same), b"the same file twice"),
    ):
        assert said in run("folder", str(document), "--pack", "contract", *words, expect=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--games", "2", "--quiet"), b"one game at a time"),
        (("--save", "/no/such/x.pgn"), b"no such folder"),
        (("--fen", ""), b"is no position"),
        (("--fen", "k8/9/9/9/9/9/9/9/9/4K4 b"), b"not in its palace"),
        (("--resume", "/no/such.pgn"), b"No such file"),
    ],
)
def test_games_that_cannot_be_played_are_refused(words: tuple[str, ...], said: bytes) -> None:
    assert said in run("play", "xiangqi", "--black", "random", *words, expect=2).stderr


def test_a_game_is_played_by_typed_moves_and_goes_on_later(tmp_path: Path) -> None:
    saved = tmp_path / "game.pgn"
    done = run("play", "xiangqi", "--black", "random", "--save", str(saved), stdin=b"h2e2\nh2e2\nzz\nquit\n")
    assert b"is not legal here" in done.stderr and b"is no move" in done.stderr and b"1. H2-E2 " in done.stdout
    again = run("play", "xiangqi", "--black", "random", "--resume", str(saved), "--quiet", stdin=b"quit\n")
    assert again.stdout.split(b"\n\n")[1] == saved.read_bytes().split(b"\n\n")[1]
