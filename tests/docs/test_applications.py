"""The examples under examples/, each on its real output. What the model gets right is measured in docs/results.md, not here."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker
from starlette.testclient import TestClient

from clover_decide import Decider
from clover_decide.packs import read_questions_file
from clover_decide.tools import decide_call
from tests.conftest import ROOT
from tests.docs.notebook import NOTEBOOK, executed, shown
from tests.docs.test_examples import same

EXAMPLES = ROOT / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a program of a folder of examples, as if it were run there."""
    loaded: list[str] = []

    def load(folder: str, name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))
        before = set(sys.modules)
        module = __import__(name)
        loaded.extend(set(sys.modules) - before)
        return module

    yield load
    for name in loaded:
        if name in ("run", "server", "score", "webhook", "positions"):
            sys.modules.pop(name, None)


def test_the_notebook_prints_what_it_shows() -> None:
    for cell, printed in executed(json.loads(NOTEBOOK.read_text())):
        assert same(shown(cell), printed), f"{cell['id']}: shown\n{shown(cell)}\nreal\n{printed}"


def test_orders_of_a_message_keep_the_rules_and_are_drawn(example: Any, mini: Decider, tmp_path: Path) -> None:
    dispatch = example("dispatch", "run")
    messages = dispatch.messages()
    assert len(messages) == 100 and all(set(m["answers"]) == set(dispatch.QUESTIONS) for m in messages)
    for message in messages:
        gold = message["answers"]
        assert all(value in [o.value for o in dispatch.QUESTIONS[key].options] for key, value in gold.items()), message["id"]
        assert (gold["emergency"] == "none") == (gold["responder"] == "none")
    decision = dispatch.decide(mini, messages[4]["message"])
    assert decision.violations == () and len(decision.groups) == 1
    dispatch.draw(messages[4]["answers"], [tmp_path / "map.svg", tmp_path / "map.png"])
    drawn = (tmp_path / "map.svg").read_text()
    assert drawn.startswith("<?xml") and (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"


def test_a_step_of_the_agent_calls_a_tool_of_the_server(example: Any, mini: Decider, capfd: pytest.CaptureFixture[str]) -> None:
    agent = example("agent", "run")
    tools = [tool.model_dump(by_alias=True) for tool in asyncio.run(agent.server.list_tools())]
    schemas = {tool["name"]: Draft202012Validator(tool["inputSchema"], format_checker=FormatChecker()) for tool in tools}
    tasks = agent.tasks()
    assert len(tasks) == 60 and len(schemas) == 6
    for task in tasks:
        schemas[task["tool"]].validate(task["arguments"])
    asyncio.run(agent.steps(mini, tasks[1:2]))
    told = capfd.readouterr().out
    assert "risk " in told and ("->" in told) == ("no need to ask" in told)
    call = decide_call(mini, tasks[0]["situation"], tools, others=agent.OTHERS, rules=agent.RULES)
    schemas[call.tool].validate(dict(call.arguments))
    assert call.others["risk"] < 2 or call.others["ask_first"]


def test_agreements_and_their_gold_fit_together() -> None:
    pack = read_questions_file(EXAMPLES / "contracts" / "questions.yaml")
    gold = yaml.safe_load((EXAMPLES / "contracts" / "gold.yaml").read_text())
    assert len(gold) == 10
    for name, answers in gold.items():
        text = (EXAMPLES / "contracts" / f"{name}.txt").read_text()
        evidence = answers.pop("evidence")
        assert set(answers) == set(pack.questions.questions) == set(evidence)
        assert all(sentence in text for sentences in evidence.values() for sentence in sentences), name
        if None not in answers.values():
            assert pack.rules.violations(answers) == (), name


def test_events_are_received_judged_and_passed_on(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    webhook = example("alerts", "webhook")
    with TestClient(webhook.app) as client:
        event = {"EventID": 4625, "Computer": "dc-east", "TargetUserName": "backup_svc"}
        told = client.post("/events", content=json.dumps(event)).json()
        assert told["kind"] == "windows" and told["verdict"] in ("false positive", "true positive")
        assert client.post("/events", content=b"{").status_code == 422
        assert client.post("/events", content=b"\xff").status_code == 400
        assert client.post("/events", content=b"x" * (webhook.LARGEST + 1)).status_code == 413
        client.app.state.waiting = webhook.WAITING  # pyright: ignore[reportAttributeAccessIssue]
        late = client.post("/events", content=json.dumps(event))
        assert late.status_code == 503 and late.headers["Retry-After"]


def test_composed_positions_are_asked_and_answers_under_rules_agree(example: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    positions = {"3k5/R8/9/9/9/9/9/9/9/1R3K3 w": ["b0b9", "a8a9", "b0b8"], "4k4/9/9/9/9/9/9/4C4/9/3AKA3 w": ["e2e6", "e2a2"]}
    rows = [
        {
            "id": fen,
            "material": f"Position (FEN): {fen}",
            "questions": [{"id": "best_move", "options": moves}],
            "answers": {"best_move": moves[0]},
        }
        for fen, moves in positions.items()
    ]
    file = tmp_path / "eval.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(sys, "argv", ["positions.py", str(file)])
    printed = io.StringIO()
    with redirect_stdout(printed):
        example("xiangqi", "positions").main()
    found = [json.loads(line) for line in printed.getvalue().splitlines()]
    assert [row["asked"] for row in found] == ["joint, rules given", "joint", "independent"]
    assert found[0]["agree"] == 2 and all(row["positions"] == 2 and 0 <= row["right"] <= 2 for row in found)
