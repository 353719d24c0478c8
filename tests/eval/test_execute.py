"""Running: failures are rows, an interrupted run goes on, and nothing is asked or written twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from clover_decide.errors import FormatError, InputError
from clover_eval.datasets import LabelledGroup
from clover_eval.execute import Task, run
from clover_eval.results import Given, read_results
from clover_eval.runners.base import Reply
from clover_eval.variants import VARIANTS
from tests.conftest import ROOT
from tests.eval.makers import Oracle, group, loaded

GROUPS = [group(f"g{i:02}") for i in range(12)]
SOURCE = loaded(GROUPS)


def test_every_runner_answers_every_group_once(tmp_path: Path) -> None:
    first, second = Oracle("first"), Oracle("second")
    files = run(SOURCE, GROUPS, [Task(first), Task(second)], tmp_path)
    assert first.asked == second.asked == [g.id for g in GROUPS]
    for path in files:
        results = read_results(path)
        assert [row.id for row in results.rows] == [g.id for g in GROUPS]
        assert results.rows[0].material == GROUPS[0].material_sha and results.rows[0].answers["days"].value == 4


def test_a_failing_group_is_a_row_and_is_asked_again_on_resume(tmp_path: Path) -> None:
    oracle = Oracle(fails=["g03"], broken=["g07"])
    (path,) = run(SOURCE, GROUPS, [Task(oracle)], tmp_path)
    failed = {row.id: row.failed for row in read_results(path).rows if row.failed}
    assert {k: v["error"] for k, v in failed.items() if v} == {"g03": "RunnerError", "g07": "ZeroDivisionError"}
    again = Oracle()
    run(SOURCE, GROUPS, [Task(again)], tmp_path, resume=True)
    assert again.asked == ["g03", "g07"]
    rows = read_results(path).rows
    assert len(rows) == 12 and not any(row.failed for row in rows)


def test_results_are_not_overwritten_nor_mixed(tmp_path: Path) -> None:
    run(SOURCE, GROUPS[:2], [Task(Oracle())], tmp_path)
    with pytest.raises(InputError, match=r"results exist.*--resume"):
        run(SOURCE, GROUPS, [Task(Oracle())], tmp_path)
    with pytest.raises(InputError, match="results of another run"):
        run(SOURCE, GROUPS, [Task(Oracle(identity={"model": "other"}))], tmp_path, resume=True)
    other = loaded([group("g00", answers={"late": False, "kind": "b", "days": 4})])
    changed = type(SOURCE)(SOURCE.name, SOURCE.sha256, other.groups)
    with pytest.raises(FormatError, match="does not have"):
        run(changed, changed.groups, [Task(Oracle())], tmp_path, resume=True)


def test_a_file_of_another_version_or_kind_is_refused(tmp_path: Path) -> None:
    task = Task(Oracle())
    path = task.file(tmp_path)
    path.write_text(json.dumps({"format": "clover-eval-results", "version": 99}) + "\n")
    with pytest.raises(FormatError, match=r"another version; given 99; accepted: version 1"):
        run(SOURCE, GROUPS, [task], tmp_path, resume=True)
    path.write_text("my notes\nof today\n")
    with pytest.raises(FormatError, match="is no file of results"):
        run(SOURCE, GROUPS, [task], tmp_path, resume=True)
    assert path.read_text() == "my notes\nof today\n"


@pytest.mark.parametrize(
    "change",
    [
        {"probability": "high"},
        {"probability": 7.5},
        {"seconds": -1e308},
        {"answers": {"late": {"value": True, "probability": 2.0}}},
        {"extra": 1},
    ],
)
def test_a_damaged_row_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    (path,) = run(SOURCE, GROUPS, [Task(Oracle())], tmp_path)
    lines = path.read_text().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), **change})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FormatError, match="is no row of results"):
        read_results(path)


def test_an_answer_to_a_question_that_was_not_asked_is_refused(tmp_path: Path) -> None:
    (path,) = run(SOURCE, GROUPS, [Task(Oracle())], tmp_path)
    path.write_text(path.read_text().replace('"late"', '"zzz"'))
    with pytest.raises(FormatError, match="does not have; given 'zzz'"):
        run(SOURCE, GROUPS, [Task(Oracle())], tmp_path, resume=True)


def test_a_cut_off_line_is_asked_again_and_a_broken_one_refused(tmp_path: Path) -> None:
    (path,) = run(SOURCE, GROUPS, [Task(Oracle())], tmp_path)
    whole = path.read_text()
    for cut in range(len(whole.splitlines()[0]) + 2, len(whole), 97):
        path.write_text(whole[:cut])
        kept = len(whole[:cut].split("\n")) - 2
        again = Oracle()
        run(SOURCE, GROUPS, [Task(again)], tmp_path, resume=True)
        assert len(again.asked) in (12 - kept, 12 - kept - 1), cut
        assert sorted(row.id for row in read_results(path).rows) == [g.id for g in GROUPS], cut
    lines = whole.splitlines()
    path.write_text("\n".join([*lines[:3], "broken", *lines[3:]]) + "\n")
    with pytest.raises(FormatError, match="is no row of results"):
        run(SOURCE, GROUPS, [Task(Oracle())], tmp_path, resume=True)


class Odd(Oracle):
    """Answers with what cannot be written as JSON or as text."""

    def answer(self, group: LabelledGroup) -> Reply:
        reply = super().answer(group)
        odd = {"g01": float("inf"), "g02": "\ud800"}.get(group.id)
        return Reply({**reply.answers, "days": Given(odd)}) if odd is not None else reply


def test_an_answer_that_cannot_be_written_is_a_failed_row(tmp_path: Path) -> None:
    (path,) = run(SOURCE, GROUPS, [Task(Odd())], tmp_path)
    assert [row.id for row in read_results(path).rows if row.failed] == ["g01", "g02"]


class Counting(Oracle):
    """Notes how many are asked at once."""

    def __init__(self) -> None:
        super().__init__()
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def answer(self, group: LabelledGroup) -> Reply:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.02)
        with self.lock:
            self.now -= 1
        return super().answer(group)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_as_many_are_asked_at_once_as_was_said(tmp_path: Path, concurrency: int) -> None:
    runner = Counting()
    run(SOURCE, GROUPS, [Task(runner)], tmp_path, concurrency=concurrency)
    assert runner.most == concurrency


def test_rows_that_are_kept_count_as_progress(tmp_path: Path) -> None:
    run(SOURCE, GROUPS[:5], [Task(Oracle())], tmp_path)
    seen: list[str] = []
    run(SOURCE, GROUPS, [Task(Oracle())], tmp_path, resume=True, progress=lambda name, failed: seen.append(name))
    assert len(seen) == len(GROUPS)


def test_several_at_once_give_the_same_rows(tmp_path: Path) -> None:
    (one,) = run(SOURCE, GROUPS, [Task(Oracle())], tmp_path / "one")
    (many,) = run(SOURCE, GROUPS, [Task(Oracle())], tmp_path / "many", concurrency=6)
    plain = [{row.id: row.answers for row in read_results(path).rows} for path in (one, many)]
    assert plain[0] == plain[1]


def test_variants_ask_in_another_form_and_keep_the_ids(tmp_path: Path) -> None:
    files = run(SOURCE, GROUPS, [Task(Oracle(), variant) for variant in ("", *VARIANTS)], tmp_path)
    assert len(set(files)) == 4
    for name, vary in VARIANTS.items():
        g = group(paraphrases={"late": "Was it too late?"})
        varied = vary(g)
        assert set(varied.questions.questions) == set(g.questions.questions), name
        assert list(varied.questions.questions.items()) != list(g.questions.questions.items()), name
        assert varied == vary(g), name


_SLOW = """
import sys, time
from pathlib import Path
from clover_eval.execute import Task, run
from tests.eval.makers import Oracle, group, loaded

class Slow(Oracle):
    def answer(self, group):
        time.sleep(0.01)
        with open(sys.argv[2], "a") as log:
            log.write(group.id + "\\n")
        return super().answer(group)

groups = [group(f"g{i:02}") for i in range(40)]
run(loaded(groups), groups, [Task(Slow())], Path(sys.argv[1]), resume=True)
print("done")
"""


def test_killed_at_random_points_it_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    log = tmp_path / "asked"
    command = [sys.executable, "-c", _SLOW, str(tmp_path / "out"), str(log)]
    done, kills = False, 0
    while not done:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        # Wait for it to begin, so that each try gets somewhere.
        began, before = time.monotonic(), log.stat().st_size if log.exists() else 0
        while process.poll() is None and (log.stat().st_size if log.exists() else 0) == before:
            assert time.monotonic() - began < 60, f"seed {seed}"
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.2))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        out, _ = process.communicate()
        done = b"done" in out
    (path,) = (tmp_path / "out").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert sorted(row["id"] for row in rows) == [f"g{i:02}" for i in range(40)], f"seed {seed}"
    asked = log.read_text().split()
    # At most the group that was being answered is asked again after a kill.
    assert kills >= 1 and len(asked) <= 40 + kills, f"seed {seed}: {len(asked)} asked, {kills} kills"
