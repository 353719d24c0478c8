"""Rules, thresholds, calibrations and explanations on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import questions, run

__all__ = ["questions"]

TEXT = ("--text", "It came two days late; the box was blue.")


def test_rules_of_the_command_line_and_of_the_file_hold_together(tmp_path: Path) -> None:
    asked = tmp_path / "asked.yaml"
    asked.write_text(
        "questions:\n  late: {type: boolean, text: 'Was it late?'}\n  days: {type: integer, text: 'How many days late?', maximum: 99}\n"
        "  which: {type: choice, text: 'Which one?', options: [red, blue]}\nrules:\n  - late == (days > 0)\n"
    )
    extra = tmp_path / "rules.json"
    extra.write_text(json.dumps({"if": {"properties": {"late": {"const": True}}}, "then": {"properties": {"which": {"const": "red"}}}}))
    done = run("decide", *TEXT, "-q", str(asked), "--rules", str(extra), "--rule", "days != 2", "--json", "--effort", "thorough")
    record = json.loads(done.stdout)
    values = {key: answer["value"] for key, answer in record["answers"].items()}
    assert values["late"] == (values["days"] > 0) and values["days"] != 2 and (not values["late"] or values["which"] == "red")
    assert record["violations"] == [] and 0 <= record["rules_probability"] <= 1
    # These rules are too improbable here for others to be found; without them there are.
    free = run("decide", *TEXT, "-q", str(asked), "--json", "--effort", "thorough", "--no-compare")
    assert json.loads(free.stdout)["alternatives"]
    assert b"3 questions, 1 block, 1 rules" in run("validate", str(asked)).stdout
    told = run("decide", *TEXT, "-q", str(asked), "--explain").stdout.decode()
    assert "Settled, pass by pass:" in told and "Together and alone:" in told and "Rules: kept." in told


def test_independent_answers_are_told_what_they_break(questions: Path) -> None:
    rule = "late ? which == 'red' : which == 'blue'"
    other = "late ? which == 'blue' : which == 'red'"
    records = [
        json.loads(run("decide", *TEXT, "-q", str(questions), "--mode", "independent", "--rule", r, "--json").stdout) for r in (rule, other)
    ]
    assert sorted(len(record["violations"]) for record in records) == [0, 1]
    broken = rule if records[0]["violations"] else other
    shown = run("decide", *TEXT, "-q", str(questions), "--mode", "independent", "--rule", broken).stdout.decode()
    assert "breaks the rule: " in shown
    moved = json.loads(run("decide", *TEXT, "-q", str(questions), "--mode", "independent", "--rule", broken, "--project", "--json").stdout)
    assert moved["violations"] == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--rule", "late &&"], "rules[0]: not a CEL expression"),
        (["--rule", "late", "--rule", "!late"], "2 rules cannot hold together: rules[0] late; rules[1] !late"),
        (["--rule", "colour == 'red'"], "unknown question 'colour'"),
        (["--rules", "/no/such/rules.yaml"], "No such file"),
        (["--abstain", "1.5"], "abstain.probability"),
        (["--abstain", "/no/such/file.json"], "No such file"),
        (["--permutations", "0"], "--permutations"),
        (["--calibration", "/no/such/file.json"], "No such file"),
    ],
)
def test_wrong_rules_and_options_exit_2(questions: Path, args: list[str], said: str) -> None:
    done = run("decide", *TEXT, "-q", str(questions), *args, expect=2)
    assert said in done.stderr.decode() and not done.stdout


def test_withheld_answers_and_batches_with_rules(questions: Path, tmp_path: Path) -> None:
    limits = tmp_path / "abstain.json"
    limits.write_text('{"probability": 0.0, "questions": {"late": 1.0}}')
    done = run("decide", *TEXT, "-q", str(questions), "--abstain", str(limits))
    assert "withheld (probability" in done.stdout.decode()
    rows = tmp_path / "rows.jsonl"
    rows.write_text('"The box was blue and late."\n"The box was red and early."\n')
    target = tmp_path / "out.jsonl"
    args = ("batch", str(rows), "-q", str(questions), "-o", str(target), "--rule", "late == (which == 'blue')", "--permutations", "2")
    run(*args)
    made = [json.loads(line) for line in target.read_text().splitlines()]
    for row in made:
        values = {key: answer["value"] for key, answer in row["decision"]["answers"].items()}
        assert values["late"] == (values["which"] == "blue")
    # Another rule is another run: the output of this one is left alone.
    before = target.read_text()
    assert "other questions, options, weights" in run(*args[:-4], "--rule", "late", "--resume", expect=2).stderr.decode()
    assert target.read_text() == before
