"""Tool calls: arguments always fit the schema, whatever the model."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from clover_decide import Boolean, Decider, Score
from clover_decide.errors import InputError, QuestionError, RuleError
from clover_decide.tools import arguments, decide_call


def tool(called: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": called, "description": f"The tool {called}.", "inputSchema": schema}


BILL = tool(
    "bill",
    customer={"type": "string", "description": "Who is billed?"},
    amount={"type": "number", "minimum": 0, "description": "How many dollars?"},
    due={"type": "string", "format": "date", "description": "By when?"},
    now={"type": "boolean", "description": "At once?"},
    copies={"type": "integer", "minimum": 1, "maximum": 3, "description": "How many copies?"},
)
FIND = tool(
    "find", name={"type": "string", "description": "Whom?"}, field={"type": "string", "enum": ["phone", "city"], "description": "What?"}
)
PING = tool("ping")
SITUATION = "Please bill Marlow Foods $120 by 3 May 2026. Their phone is busy."
OTHERS = {"risk": Score("How risky?", levels=("low", "medium", "high")), "ask": Boolean("Ask first?")}


@pytest.mark.parametrize("mode", ["joint", "independent"])
@pytest.mark.parametrize("seed", range(6))
def test_arguments_fit_the_schema_and_the_rules(random_decider: Decider, seed: int, mode: str) -> None:
    tools = [BILL, FIND, PING][seed % 2 :]
    rules = {t["name"]: ["risk < 2 || ask"] for t in tools if t["name"] != "ping"}
    call = decide_call(random_decider, f"{seed}. {SITUATION}", tools, others=OTHERS, rules=rules, mode=mode)
    schema = next(t["inputSchema"] for t in tools if t["name"] == call.tool)
    Draft202012Validator(schema, format_checker=FormatChecker()).validate(dict(call.arguments))
    assert 0 <= call.probability <= call.choice.probability + 1e-12
    assert set(call.others) == {"risk", "ask"}
    assert call.tool not in rules or call.others["risk"] < 2 or call.others["ask"], seed
    assert all(value in f"{seed}. {SITUATION}" for key, value in call.arguments.items() if key in ("customer", "name"))


def test_a_tool_without_arguments_and_other_questions_is_only_chosen(random_decider: Decider) -> None:
    call = decide_call(random_decider, SITUATION, [PING, tool("pong")])
    assert call.tool in ("ping", "pong") and call.arguments == call.others == {}
    assert call.probability == call.choice.probability and call.decision is call.choice


def test_questions_keep_the_order_of_the_properties() -> None:
    assert list(arguments(BILL)) == ["customer", "amount", "due", "now", "copies"]


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([BILL], "tools"),
        ([BILL, BILL], "tools[1].name"),
        ([BILL, {"description": "nameless"}], "tools[1].name"),
        ([BILL, {"name": "a"}], "tools.a.inputSchema"),
        ([BILL, tool("a", x={"type": "string"})], "tools.a.x"),
        ([BILL, tool("a", x={"type": "string", "minLength": 9, "description": "?"})], "tools.a.x.minLength"),
        ([BILL, {"name": "a", "inputSchema": {"type": "object", "properties": ["o"]}}], "tools.a.inputSchema"),
        ([BILL, {"name": "a", "inputSchema": {"type": "object", "properties": {}, "required": ["z"]}}], "tools.a.inputSchema"),
        (
            [BILL, {"name": "a", "inputSchema": {"type": "object", "properties": {}, "minProperties": 1}}],
            "tools.a.inputSchema.minProperties",
        ),
        ([BILL, tool("a", x={"enum": ["one"], "description": "?"})], "tools.a.questions.x.options"),
        ([BILL, tool("a", x={"type": "object", "description": "?"})], "tools.a.questions.properties.x"),
        ([BILL, tool("a", x={"enum": [1, 2], "description": "?"})], "tools.a.x"),
        ([BILL, tool("a", ask={"type": "boolean", "description": "?"})], "others.ask"),
    ],
)
def test_what_cannot_be_asked_is_told_before_the_model_runs(random_decider: Decider, tools: list[Any], path: str) -> None:
    with pytest.raises(QuestionError) as error:
        decide_call(random_decider, SITUATION, tools, others=OTHERS)
    assert error.value.path == path and error.value.accepted


def test_more_arguments_than_a_block_holds_are_asked_in_two(random_decider: Decider) -> None:
    wide = [tool(name, **{f"x{i}": {"type": "boolean", "description": f"Is it {i}?"} for i in range(9)}) for name in ("a", "b")]
    call = decide_call(random_decider, SITUATION, wide)
    assert len(call.arguments) == 9 and len(call.decision.groups) == 2


def test_rules_are_looked_at_before_a_tool_is_chosen(random_decider: Decider) -> None:
    for rules, path in (
        ({"none": ["x"]}, "rules.none"),
        ({"find": ["colour == 1"]}, "tools.find"),
        ({"bill": ["colour == 1"]}, "tools.bill"),
    ):
        with pytest.raises(RuleError) as error:
            decide_call(random_decider, SITUATION, [BILL, FIND], rules=rules)
        assert error.value.path.startswith(path)
    with pytest.raises(QuestionError):
        decide_call(random_decider, SITUATION, [BILL, FIND], others=["x"])  # pyright: ignore[reportArgumentType]


OPTIONAL = [
    {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "X", "description": "Which?"},
    {"oneOf": [{"type": "null"}, {"type": "integer", "minimum": 1, "maximum": 9}], "description": "Which?"},
    {"type": ["string", "null"], "format": "date", "description": "Which?"},
    {"type": ["string", "null"], "enum": ["phone", "city", None], "description": "Which?"},
]


@pytest.mark.parametrize("prop", OPTIONAL, ids=lambda prop: next(iter(prop)))
@pytest.mark.parametrize("likely", [0.0, 1.0])
def test_an_argument_that_may_be_missing_is_left_out_where_it_is_improbable(
    random_decider: Decider, prop: dict[str, Any], likely: float
) -> None:
    schema = {"type": "object", "properties": {"x": prop, "y": {"type": "boolean", "description": "At once?"}}, "required": ["y"]}
    tools = [{"name": name, "description": name, "inputSchema": schema} for name in ("a", "b")]
    call = decide_call(random_decider, SITUATION, tools, likely=likely)
    assert set(call.arguments) == ({"y"} if likely else {"x", "y"})
    assert set(call.left_out) == ({"x"} if likely else set())
    Draft202012Validator(schema, format_checker=FormatChecker()).validate(dict(call.arguments))
    assert None not in {**call.arguments, **call.left_out}.values()


def test_yes_or_no_is_left_out_where_it_is_a_toss(random_decider: Decider) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "boolean", "description": "At once?"}}}
    tools = [{"name": name, "description": name, "inputSchema": schema} for name in ("a", "b")]
    call = decide_call(random_decider, SITUATION, tools)
    assert 0.5 <= call.decision["x"].probability < 0.75 and set(call.left_out) == {"x"} and call.arguments == {}


@pytest.mark.parametrize(
    ("prop", "path"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}, "questions.properties.x"),
        ({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "null"}], "maximum": 3}, "questions.properties.x"),
        ({"anyOf": [{"type": "null"}, {"type": "null"}]}, "questions.properties.x"),
        ({"type": ["null", "null"]}, "questions.properties.x"),
        ({"type": ["string", "null"], "enum": [None]}, "questions.x.options"),
    ],
)
def test_what_null_leaves_nothing_of_is_refused(random_decider: Decider, prop: dict[str, Any], path: str) -> None:
    with pytest.raises(QuestionError) as error:
        decide_call(random_decider, SITUATION, [BILL, tool("a", x={**prop, "description": "?"})])
    assert error.value.path == f"tools.a.{path}"


@pytest.mark.parametrize("likely", ["0.5", float("nan"), 1.5, True])
def test_likely_is_a_number_from_0_to_1(random_decider: Decider, likely: Any) -> None:
    with pytest.raises(InputError) as error:
        decide_call(random_decider, SITUATION, [BILL, FIND], likely=likely)
    assert error.value.path == "likely"
