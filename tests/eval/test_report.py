"""Reports: from files to tables, HTML, Markdown, JSON and the terminal, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from clover_decide.errors import FormatError, InputError
from clover_eval.datasets import World
from clover_eval.execute import Task, run
from clover_eval.report.build import analyse
from clover_eval.report.tables import all_tables, shown
from clover_eval.report.terminal import show
from clover_eval.report.write import write_report
from clover_eval.results import Given
from clover_eval.runners.base import Reply
from tests.conftest import ROOT
from tests.eval.makers import GOLD, LATE_MEANS_DAYS, Oracle, group, loaded

WORLDS = (World(0.6, GOLD), World(0.4, {"late": False, "kind": "a", "days": 0}))
GROUPS = [
    *(group(f"k{i}", slice="known", domain="one", pair=f"p{i // 2}", rules=(LATE_MEANS_DAYS,)) for i in range(8)),
    *(group(f"n{i}", slice="new", domain="two", rules=(LATE_MEANS_DAYS,)) for i in range(4)),
    *(group(f"a{i}", slice="ambiguous", domain="two", worlds=WORLDS) for i in range(3)),
    *(group(f"c{i}-{v}", slice=f"depth 2, {v}", pair=f"c{i}", final="days") for i in range(3) for v in ("alone", "with")),
]
SOURCE = loaded(GROUPS)


class Weak(Oracle):
    """Gets one question of every second group wrong, with <script> in its answer."""

    def answer(self, group: Any) -> Reply:
        reply = super().answer(group)
        if int(group.id[1]) % 2:
            return reply
        listed = {"a": 0.1, "b": 0.2, "c": 0.7}
        return Reply({**reply.answers, "kind": Given("<script>alert(1)</script>", 0.7, listed), "days": Given(0, 0.6)}, 0.3)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    tasks = [Task(Weak("independent")), Task(Oracle("joint", fails=["n0"])), Task(Weak("independent"), "order")]
    return run(SOURCE, GROUPS, tasks, tmp_path)


def test_the_tables_say_what_was_counted(files: list[Path]) -> None:
    analysis = analyse(SOURCE, GROUPS, files)
    tables = {table.title: table for table in all_tables(analysis)}
    assert list(tables) == [
        "Accuracy",
        "By slice and domain",
        "Differences",
        "By question type",
        "Calibration",
        "Answering only when sure (95%)",
        "Where several worlds are possible",
        "Does it help to ask what an answer builds on?",
        "Does the form of asking matter?",
        "Groups that failed",
    ]
    asked = sum(len(g.answers) for g in GROUPS)
    overall = {row[0]: dict(zip(tables["Accuracy"].columns, row, strict=True)) for row in tables["Accuracy"].rows}
    assert overall["joint"]["failed"] == 1 and overall["joint"]["questions"].value == pytest.approx(1 - 3 / asked)
    odd = sum(int(g.id[1]) % 2 for g in GROUPS)
    assert overall["independent"]["groups"].value == pytest.approx(odd / len(GROUPS))
    gaps = {(row[0], row[1]): row for row in tables["Differences"].rows}
    won = len(GROUPS) - odd - 1
    assert gaps["joint − independent", "all"][4:6] == (won, 0)
    (flip,) = tables["Does the form of asking matter?"].rows
    assert flip[:2] == ("independent", "order") and flip[2].value == 0
    worlds = {row[0]: row for row in tables["Where several worlds are possible"].rows}
    assert worlds["joint"][2].value == 1.0 and worlds["independent"][2].value == pytest.approx(1 / 3)
    causal = {row[0]: row for row in tables["Does it help to ask what an answer builds on?"].rows}
    assert causal["joint"][1:3] == ("depth 2", 3)


class Checked(HTMLParser):
    """Collects tags and everything that would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href") and not (value or "").startswith("#")]


def test_the_report_is_one_file_that_fetches_nothing_and_escapes_answers(files: list[Path], tmp_path: Path) -> None:
    written = write_report(analyse(SOURCE, GROUPS, files), tmp_path / "sub" / "out.html")
    assert [path.suffix for path in written] == [".html", ".md", ".json"]
    text = written[0].read_text()
    page = Checked()
    page.feed(text)
    assert not page.fetched and "script" not in page.tags and "link" not in page.tags
    assert text.count("<svg") == 3 and "&lt;script&gt;" in text
    assert 'name="viewport"' in text
    data = json.loads(written[2].read_text())
    assert data["set"]["groups"] == len(GROUPS) and data["tables"][0]["title"] == "Accuracy"
    assert "| joint |" in written[1].read_text()
    again = write_report(analyse(SOURCE, GROUPS, files), tmp_path / "again.html")
    assert again[0].read_text() == text, "the same results give the same report"
    with pytest.raises(InputError, match=r"ends in \.html"):
        write_report(analyse(SOURCE, GROUPS, files), tmp_path / "out.pdf")


def test_the_terminal_summary_fits_a_screen(files: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    some = [g for g in GROUPS if g.slice != "ambiguous" and "depth" not in g.slice]
    show(analyse(SOURCE, some, files))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24 and all(len(line) <= 80 for line in lines)
    assert any("joint" in line and "+." in line for line in lines)
    assert any("joint: 1 of 12 groups failed" in line for line in lines) and any("1 × no answer" in line for line in lines)


def test_files_that_do_not_belong_together_are_refused(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a second time"):
        analyse(SOURCE, GROUPS, [files[0], files[0]])
    other = type(SOURCE)("made", "1" * 64, SOURCE.groups)
    with pytest.raises(FormatError, match="results of another set"):
        analyse(other, GROUPS, files)
    with pytest.raises(FormatError, match="nothing to compare"):
        analyse(SOURCE, GROUPS, [files[2]])


def test_groups_that_are_not_in_every_file_are_left_out_and_said(files: list[Path]) -> None:
    lines = files[1].read_text().splitlines()
    files[1].write_text("\n".join(lines[:11]) + "\n")
    analysis = analyse(SOURCE, GROUPS, files)
    from clover_eval.report.write import heading

    assert len(analysis.groups) == 10 and f"{len(GROUPS) - 10} groups are not in every file" in heading(analysis)


@pytest.mark.parametrize(("cell", "said"), [(None, "–"), (0.12345, "0.123"), (3, "3"), (True, "True"), ("x", "x"), (float("nan"), "nan")])
def test_cells(cell: Any, said: str) -> None:
    assert shown(cell) == said


def cli(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "clover_decide.cli", *words], capture_output=True, text=True, cwd=cwd, check=False)


def test_the_command_line_from_run_to_report(tmp_path: Path) -> None:
    out = tmp_path / "results"
    words = ["eval", "run", "linked-500", "--subset", "4", "-r", "majority", "-r", "tfidf", "--out", str(out)]
    first = cli(*words, "--report", str(tmp_path / "r.html"))
    assert first.returncode == 0, first.stderr
    assert "majority" in first.stdout and (tmp_path / "r.html").is_file() and (out / "environment.log").is_file()
    refused = cli(*words)
    assert refused.returncode == 2 and "--resume" in refused.stderr and "Traceback" not in refused.stderr
    assert cli(*words, "--resume").returncode == 0
    again = cli("eval", "report", "linked-500", str(out), "--subset", "4")
    assert again.returncode == 0 and "tfidf" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["eval", "run", "linked-501"], "no such set"),
        (["eval", "run", "linked-500", "--mode", "jont"], "independent, joint"),
        (["eval", "run", "linked-500", "-r", "laya"], "systemone, systemone-joint"),
        (["eval", "run", "linked-500", "--vary", "colour", "-r", "majority"], "options, order, paraphrase"),
        (["eval", "run", "linked-500", "--filter", "zoo", "-r", "majority"], "no group is left"),
        (["eval", "run", "linked-val", "--format", "xml"], "groups or public"),
        (["eval", "run"], "Missing argument"),
        (["eval", "run", "linked-val", "-r", "majority"], "the set that is asked"),
        (["eval", "run", "linked-500", "-r", "systemone:nowhere"], "no URL of a server"),
        (["eval", "report", "linked-val", "/no/such/folder"], "cannot be read"),
        (["bench", "--rounds", "0"], "rounds"),
    ],
)
def test_wrong_usage_is_said_without_a_traceback(words: list[str], said: str) -> None:
    done = cli(*words)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_a_run_in_which_a_group_failed_ends_with_one(tmp_path: Path) -> None:
    done = cli(
        "eval", "run", "linked-val", "--subset", "2", "-r", "systemone:http://127.0.0.1:9/x", "--timeout", "0.2", "--out", str(tmp_path)
    )
    assert done.returncode == 1 and "2 of 2 groups failed" in done.stdout and "no answer from the server" in done.stdout
