"""The command line: data on stdout, logs on stderr, exit codes, no traceback for a caller's mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clover_decide.cli.rows import BatchRow, completed
from clover_decide.packs import load_pack
from tests.cli.running import run

QUESTIONS = "late: {type: boolean, text: 'Was it late?'}\nwhich: {type: choice, text: 'Which one?', options: [red, blue]}\n"


def run_apart(*args: str, stdin: bytes = b"", expect: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """In a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "clover_decide.cli", *args],
        input=stdin,
        capture_output=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "120", **(env or {})},
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert done.returncode == expect, (args, done.stdout.decode(), done.stderr.decode())
    return done


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS)
    return path


def test_the_demo_shows_joint_beside_independent() -> None:
    out = run_apart("demo").stdout.decode()
    for key in load_pack("contract").questions.questions:
        assert key in out
    assert "asked alone" in out and "█" in out and "35 days" in out


def test_decide_prints_json_only_on_stdout(questions: Path) -> None:
    done = run("decide", "-", "-q", str(questions), "--json", stdin=b"It came two days late; the box was blue.")
    record = json.loads(done.stdout)
    assert set(record["answers"]) == {"late", "which"}
    assert record["answers"]["which"]["independent"]["value"] in ("red", "blue")
    assert record["fingerprint"] and record["usage"]["input_tokens"] > 20


def test_a_structured_material_and_the_independent_mode(tmp_path: Path, questions: Path) -> None:
    material = tmp_path / "event.json"
    material.write_text('{"colour": "blue", "days late": 2}')
    record = json.loads(run("decide", str(material), "-q", str(questions), "--mode", "independent", "--json").stdout)
    assert record["mode"] == "independent" and record["groups"] == [["late"], ["which"]]


def test_a_failed_gate_answers_and_exits_1(questions: Path) -> None:
    done = run("decide", "--text", "Nothing.", "-q", str(questions), "--min-probability", "1", "--json", expect=1)
    assert json.loads(done.stdout)["answers"]


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (["decide", "--text", "x"], b"", "--questions / --pack"),
        (["decide", "--text", "x", "-p", "nope"], b"", "accepted: alert, contract, dispatch"),
        (["decide", "-p", "contract"], b"", "MATERIAL / --text"),
        (["decide", "a.txt", "--text", "x", "-p", "contract"], b"", "MATERIAL / --text"),
        (["decide", "/no/such/file.txt", "-p", "contract"], b"", "No such file"),
        (["decide", "-", "-p", "contract"], b"caf\xe9", "stdin: not UTF-8: byte 3 is 0xe9"),
        (["decide", "-", "-p", "contract"], b"  \n", "material: the material is empty"),
        (
            ["decide", "--text", "x", "-p", "contract", "--mode", "both"],
            b"",
            "--mode: unknown value 'both'; accepted: 'joint', 'independent'",
        ),
        (["decide", "--text", "x", "-p", "contract", "--min-probability", "2"], b"", "--min-probability: "),
        (["decide", "--text", "x", "-p", "contract", "--permutations", "17"], b"", "--permutations: "),
        (["decide", "--text", "x", "-p", "contract", "--project"], b"", "project: joint answers keep the rules"),
        (["decide", "--text", "x", "--nonsense"], b"", "No such option: --nonsense; accepted: Usage: "),
        (["decide", "--text", "x", "-p", "contract", "--model", "nope"], b"", "clover-mini"),
        (["nonsense"], b"", "No such command"),
    ],
)
def test_usage_and_input_errors_exit_2(args: list[str], stdin: bytes, said: str) -> None:
    done = run(*args, stdin=stdin, expect=2)
    assert said in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.yaml", b"a: {type: boolean, text: x", "malformed YAML"),
        ("q.yaml", b"a: {type: boolean, text: x}\na: {type: boolean, text: y}", "key 'a' is repeated"),
        ("q.yaml", b"just text", "holds no questions"),
        ("q.yaml", b"\xff\xfe", "not UTF-8"),
        ("q.json", b'{"a": {"type": "number", "text": "x", "minimum": NaN}}', "NaN is not JSON"),
        ("q.json", b'{"a": ', "malformed JSON, line 1"),
        ("q.json", b"[" * 5000, "nested too deeply"),
        ("q.json", b'{"a": {"type": "choice", "text": "x", "options": ["y"]}}', "questions.a.options: 1 options given"),
        ("q.json", b'{"a": {"type": "text", "text": "x", "pattern": "a(?=b)"}}', "looking around and back-references have no automaton"),
        ("q.json", b'{"a": {"type": "choice", "text": "x"}}', "questions.a.options: is required"),
        ("q.json", b'{"a": {"type": "multi_choice", "text": "x", "options": ["p", "q"], "minimum": -1}}', "accepted: at least 0"),
        ("q.yaml", b"a: {type: date, text: x, earliest: 2024-02-30}", "a value cannot be read"),
        ("q.yaml", b"? [a, b]\n: x", "key is not a scalar"),
        ("q.yaml", b"[" * 3000, "nested too deeply"),
        ("q.yaml", b"a: {type: choice, text: x, options: [yes, no]}", "in YAML an unquoted yes"),
        (
            "q.yaml",
            b"a: {type: choice, text: x, options: ['3 days', never]}\nb: {type: text, text: x, pattern: 'a(?=b)'}",
            "questions.b.pattern",
        ),
        ("q.json", b'{"a": {"type": "integer", "text": "x", "minimum": ' + b"9" * 5000 + b"}}", "out of range"),
        ("q.txt", b"a", "accepted: .json, .yaml or .yml"),
    ],
)
def test_validate_says_what_is_wrong_with_a_questions_file(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = run("validate", str(path), "--json", expect=2)
    assert said in done.stderr.decode()
    error = json.loads(done.stdout)["error"]
    assert error["path"] and error["problem"] and error["accepted"]


def test_validate_accepts_and_prints_the_answer_schema(questions: Path) -> None:
    report = json.loads(run("validate", str(questions), "--json").stdout)
    assert report["questions"] == {"late": "boolean", "which": "choice"}
    assert report["groups"] == [["late", "which"]]
    assert report["schema"]["properties"]["which"]["enum"] == ["red", "blue"]
    assert "ok: 2 questions, 1 block" in run("validate", str(questions)).stdout.decode()


def test_models_lists_what_ships() -> None:
    found = json.loads(run("models", "--json").stdout)
    assert [m["name"] for m in found] == ["clover-mini", "clover-xiangqi"]
    assert found[0]["megabytes"] <= 95


JSONL = [
    b'{"id": "first", "material": "It was late. The box was blue."}',
    b'{"material": ""}',
    b"not json",
    b'{"material": {"box": "red"}}',
    b'{"text": "x"}',
    b'"A bare string, on time."',
    b'{"material": NaN}',
    b'{"material": ' + b"9" * 5000 + b"}",
    b'{"id": "\\ud800", "material": "Blue."}',
]


def test_a_bad_batch_row_never_stops_the_others(tmp_path: Path, questions: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join(JSONL) + b"\n")
    done = run("batch", str(source), "-q", str(questions), "-o", str(target), expect=1)
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["row"] for row in rows] == list(range(1, 10))
    assert [row["row"] for row in rows if "decision" in row] == [1, 4, 6, 9]
    assert rows[0]["id"] == "first"
    assert "9 rows, 0 kept, 5 failed" in done.stderr.decode()
    problems = {row["row"]: row["error"]["problem"] for row in rows if "error" in row}
    assert "empty" in problems[2] and "malformed JSON" in problems[3] and "no material" in problems[5]
    assert "NaN" in problems[7]


def test_resume_keeps_finished_rows_and_redoes_the_rest(tmp_path: Path, questions: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join([JSONL[0], JSONL[3], JSONL[5]]) + b"\n")
    run("batch", str(source), "-q", str(questions), "-o", str(target))
    whole = target.read_text().splitlines()
    # A kill in the middle of the second line.
    target.write_bytes(whole[0].encode() + b"\n" + whole[1].encode()[:40] + "é".encode()[:1])
    run("batch", str(source), "-q", str(questions), "-o", str(target), expect=2)
    done = run("batch", str(source), "-q", str(questions), "-o", str(target), "--resume")
    assert "3 rows, 1 kept, 0 failed" in done.stderr.decode()

    def stable(lines: list[str]) -> list[object]:
        rows = [json.loads(line) for line in lines]
        for row in rows:
            row["decision"].pop("timing")
        return rows

    assert stable(target.read_text().splitlines()) == stable(whole)
    other = run("batch", str(source), "-q", str(questions), "-o", str(target), "--resume", "--mode", "independent", expect=2)
    assert "other questions, options, weights" in other.stderr.decode()
    source.write_bytes(JSONL[5] + b"\n")
    other = run("batch", str(source), "-q", str(questions), "-o", str(target), "--resume", expect=2)
    assert "not in the input" in other.stderr.decode()


@pytest.mark.parametrize("text", ["my own notes\nsecond line, keep\n", "garbage", '{"row": "x"}\n', '[1]\n{"row": 1'])
def test_resume_leaves_a_file_that_is_no_output_alone(tmp_path: Path, questions: Path, text: str) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "notes.txt"
    source.write_bytes(JSONL[0] + b"\n")
    target.write_text(text)
    done = run("batch", str(source), "-q", str(questions), "-o", str(target), "--resume", expect=2)
    assert "notes.txt:1: is no row of a batch" in done.stderr.decode()
    assert target.read_text() == text


def test_a_kill_may_cut_the_last_line_anywhere(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    items = [BatchRow(1, None, "aa"), BatchRow(2, None, "bb")]
    rows = [
        '{"row": 1, "sha": "aa", "run": "r", "decision": {"x": {"y": "é"}}}',
        '{"row": 2, "sha": "bb", "run": "r", "decision": {"x": {"y": "é"}}}',
    ]
    whole = "\n".join(rows).encode()
    for end in range(len(rows[0].encode()) + 1, len(whole) + 1):
        target.write_bytes(whole[:end])
        assert completed(target, items, "r") == ({1, 2} if end == len(whole) else {1}), end
        assert target.read_text().splitlines()[:1] == rows[:1]


def test_resume_into_a_folder_is_refused(tmp_path: Path, questions: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(JSONL[0] + b"\n")
    done = run("batch", str(source), "-q", str(questions), "-o", str(tmp_path), "--resume", expect=2)
    assert "cannot be read (Is a directory)" in done.stderr.decode()


def test_resume_redoes_a_row_that_was_mended(tmp_path: Path, questions: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(JSONL[0] + b"\n" + JSONL[1] + b"\n")
    run("batch", str(source), "-q", str(questions), "-o", str(target), expect=1)
    source.write_bytes(JSONL[0] + b"\n" + JSONL[3] + b"\n")
    done = run("batch", str(source), "-q", str(questions), "-o", str(target), "--resume")
    assert "2 rows, 1 kept, 0 failed" in done.stderr.decode()
    # Level names are not part of the answer schema, but they are part of the question.
    levels = tmp_path / "levels.yaml"
    levels.write_text("a: {type: score, text: x, levels: [low, high]}")
    fresh = tmp_path / "fresh.jsonl"
    run("batch", str(source), "-q", str(levels), "-o", str(fresh))
    levels.write_text("a: {type: score, text: x, levels: [good, bad]}")
    assert "other questions" in run("batch", str(source), "-q", str(levels), "-o", str(fresh), "--resume", expect=2).stderr.decode()


@pytest.mark.parametrize(
    ("name", "content", "bad"),
    [
        ("in.jsonl", b'"Blue."\n"R\xffd."\n{"material": "Late.", "id": "3"}\n', "row 2: not UTF-8: byte 2 is 0xff"),
        ("in.csv", b"material\nBlue.\nR\xffd.\nLate.\n", "row 2: not UTF-8: byte 1 is 0xff"),
    ],
)
def test_a_bad_byte_costs_its_own_row(tmp_path: Path, questions: Path, name: str, content: bytes, bad: str) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    rows = [json.loads(line) for line in run("batch", str(source), "-q", str(questions), expect=1).stdout.splitlines()]
    assert ["decision" in row for row in rows] == [True, False, True]
    assert "{path}: {problem}".format(**rows[1]["error"]) == bad


def test_resume_with_another_number_type_is_refused(tmp_path: Path, questions: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"Blue."\n')
    args = ("batch", str(source), "-q", str(questions), "-o", str(target))
    run(*args, "--dtype", "float32")
    assert "number type" in run(*args, "--resume", "--dtype", "bfloat16", expect=2).stderr.decode()
    assert b"1 kept" in run(*args, "--resume", "--dtype", "float32").stderr


def test_a_file_of_another_encoding_is_refused_as_a_whole(tmp_path: Path, questions: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes('"Blue."\n"Red."\n'.encode("utf-16"))
    done = run("batch", str(source), "-q", str(questions), expect=2)
    assert "not UTF-8: byte 0 is 0xff" in done.stderr.decode() and done.stdout == b""


def test_dependence_is_shown_where_it_was_asked_for(questions: Path) -> None:
    shown = run("decide", "--text", "Late, and blue.", "-q", str(questions), "--dependence", "--no-compare").stdout.decode()
    assert "late and which: " in shown and " nats, gap " in shown


def test_a_byte_order_mark_and_a_narrow_terminal_do_no_harm(tmp_path: Path, questions: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(b"\xef\xbb\xbfmaterial\nBlue.\n")
    assert "decision" in json.loads(run("batch", str(source), "-q", str(questions)).stdout)
    shown = run_apart("decide", "--text", "Blue.", "-q", str(questions), env={"PYTHONIOENCODING": "ascii"})
    assert b"which" in shown.stdout


def test_usage_errors_are_json_too_when_asked() -> None:
    error = json.loads(run("decide", "--text", "x", "-p", "contract", "--mode", "both", "--json", expect=2).stdout)["error"]
    assert "both" in error["problem"] and error["accepted"]


def test_csv_rows_and_their_errors(tmp_path: Path, questions: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(b'id,material\n1,"Late, and blue."\n2\n3,"On time,\nand red."\n4,\n')
    done = run("batch", str(source), "-q", str(questions), expect=1)
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [(row["id"], "decision" in row) for row in rows] == [("1", True), (None, False), ("3", True), ("4", False)]
    assert "1 cells" in rows[1]["error"]["problem"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("in.csv", b"id,text\n1,x\n", "no material column"),
        ("in.csv", b"\xff\xfe\n", "not UTF-8"),
        ("in.tsv", b"x", "accepted: .jsonl, .ndjson or .csv"),
    ],
)
def test_an_unreadable_batch_file_exits_2(tmp_path: Path, questions: Path, name: str, content: bytes, said: str) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    assert said in run("batch", str(source), "-q", str(questions), expect=2).stderr.decode()


def test_resume_needs_an_output_file(tmp_path: Path, questions: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(JSONL[0])
    assert "--resume" in run("batch", str(source), "-q", str(questions), "--resume", expect=2).stderr.decode()


def test_an_empty_file_of_thresholds_is_no_gate(tmp_path: Path, questions: Path) -> None:
    (tmp_path / "none.yaml").write_text("")
    done = run_apart("decide", "--text", "A van.", "-q", str(questions), "--abstain", str(tmp_path / "none.yaml"), expect=2)
    assert b"holds no thresholds" in done.stderr and b"clover-decide thresholds" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["bench", "--threads", "0"], "--threads"),
        (["bench", "--tokens", "-5"], "--tokens"),
        (["bench", "--questions", "9"], "--questions"),
        (["bench", "-o", "/no/such/folder/b.json"], "no such folder"),
        (["calibrate", "linked-val", "-o", "/no/such/folder/c.json"], "no such folder"),
        (["thresholds", "linked-val", "-o", "/no/such/folder/t.json"], "no such folder"),
    ],
)
def test_work_that_could_not_be_kept_is_not_begun(args: list[str], said: str) -> None:
    done = run_apart(*args, expect=2)
    assert said in done.stderr.decode() and b"Traceback" not in done.stderr
