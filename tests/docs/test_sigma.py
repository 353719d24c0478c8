"""The example that works out what Sigma rules find: its matching, its rules, and the command on a small file."""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from clover_eval.datasets import read_groups

PATH = Path(__file__).parents[2] / "examples" / "alerts" / "sigma.py"
spec = importlib.util.spec_from_file_location("sigma_example", PATH)
assert spec and spec.loader
sigma: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sigma)

EVENT = {"Image": "C:\\Windows\\System32\\cmd.exe", "CommandLine": "cmd /c copy \\\\host\\share [x] a?b", "EventID": "1", "Ip": "10.1.2.3"}
MATERIAL = """Detection rule (Sigma):
title: A copy from a share
detection:
  selection:
    Image|endswith: \\cmd.exe
    CommandLine|contains|all:
    - copy
    - share
  filter:
    EventID:
    - 2
    - 3
  condition: selection and not filter
level: high

Event:
Image: C:\\Windows\\System32\\cmd.exe
CommandLine: cmd /c copy \\\\host\\share
EventID: 1"""


@pytest.mark.parametrize(
    ("key", "wanted", "holds"),
    [
        ("Image|endswith", "\\CMD.exe", True),
        ("Image|endswith", "\\cmd", False),
        ("Image|startswith", ["D:", "C:"], True),
        ("Image", "C:\\\\*\\cmd.exe", True),  # two backslashes: one, and then any text
        ("Image", "cmd.exe", False),
        ("CommandLine|contains", "\\\\\\\\host", True),  # four backslashes stand for two
        ("CommandLine|contains", "\\\\\\\\\\\\host", False),
        ("CommandLine|contains", "[x]", True),
        ("CommandLine|contains", "a\\?b", True),
        ("CommandLine|contains", "a\\?c", False),
        ("CommandLine|contains|all", ["copy", "paste"], False),
        ("CommandLine|contains|windash", " -c ", True),
        ("CommandLine|contains", " -c ", False),
        ("CommandLine|contains|windash", "x-c", False),
        ("CommandLine|contains|cased", "COPY", False),
        ("CommandLine|contains|cased", "copy", True),
        ("CommandLine|re|i", "COPY", True),
        ("Ip|cidr", "10.0.0.0/8", True),
        ("Ip|cidr", ["192.168.0.0/16", "10.2.0.0/16"], False),
        ("Image|exists", True, True),
        ("Image|exists", False, False),
        ("Parent", None, True),
        ("Image", None, False),
        ("", "share", True),
        ("", ["nothing", "of this"], False),
        ("CommandLine|re", "cop[yz] ", True),
        ("CommandLine|re", "COPY", False),
        ("EventID", 1, True),
        ("Hashes|contains", "ab", False),
    ],
)
def test_a_line_holds_as_sigma_says(key: str, wanted: Any, holds: bool) -> None:
    found, said = sigma.line(EVENT, key, wanted)
    assert found is holds
    assert said.endswith(": yes" if holds else ": not in the event" if key.startswith("Hashes") else ": no")


def test_what_is_not_worked_out_is_said() -> None:
    with pytest.raises(ValueError, match="modifier 'base64offset'"):
        sigma.line(EVENT, "CommandLine|base64offset|contains", "http")
    assert (
        sigma.block(EVENT, "words", ["copy", "paste"])
        == "Search block words: the event contains copy: yes; or the event contains paste: no."
    )


@pytest.mark.parametrize("text", ["a and", "(a or b", "a b", "2 of x*", "sel | count() > 5", "1 of y*", "c"])
def test_a_condition_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="condition"):
        sigma.condition(text, ["a", "b", "x_1"])


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a and not b", lambda a, b, c: a and not b),
        ("a or b and c", lambda a, b, c: a or (b and c)),
        ("(a or b) and c", lambda a, b, c: (a or b) and c),
        ("not (a and b) or c", lambda a, b, c: not (a and b) or c),
        ("all of them", lambda a, b, c: a and b and c),
        ("1 of x*", lambda a, b, c: a or b or c),
        ("any of x*", lambda a, b, c: a or b or c),
        ("not 1 of x*", lambda a, b, c: not (a or b or c)),
    ],
)
def test_a_condition_becomes_a_schema_that_says_the_same(text: str, holds: Any) -> None:
    named = {"a": "x_a", "b": "x_b", "c": "x_c"}
    written = " ".join(named.get(word, word) for word in text.replace("(", "( ").replace(")", " )").split())
    validator = Draft202012Validator(sigma.condition(written, list(named.values())))
    for values in product((False, True), repeat=3):
        assert validator.is_valid(dict(zip(named.values(), values, strict=True))) is bool(holds(*values)), values


def test_a_file_is_written_that_can_be_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = ["none", "low", "medium", "high", "critical"]
    questions = [{"id": key, "type": "boolean", "text": f"{key}?"} for key in ("selection", "filter", "fires", "escalate")]
    answers = {"selection": True, "filter": False, "fires": True, "escalate": True, "severity": "high"}
    asked = [*questions, {"id": "severity", "type": "choice", "text": "severity?", "options": levels}]
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "one", "material": MATERIAL, "questions": asked, "answers": answers}) + "\n")
    monkeypatch.setattr(sys, "argv", ["sigma.py", str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")])
    sigma.main()
    assert capsys.readouterr().out == f"1 groups in {tmp_path / 'out.jsonl'}\n"
    (group,) = read_groups(tmp_path / "out.jsonl")
    assert group.material.endswith(
        "What the search blocks find in the event:\n"
        "Search block selection: Image ends with \\cmd.exe: yes, and CommandLine contains all of copy, share: yes.\n"
        "Search block filter: EventID is one of 2, 3: no."
    )
    assert len(group.rules) == 3
    for change in ({"fires": False}, {"severity": "low"}, {"escalate": False}, {"selection": False}):
        assert not all(Draft202012Validator(rule.schema).is_valid(answers | change) for rule in group.rules), change
