"""Tool calls as joint decisions: which tool, and then all of its arguments and what the caller asks besides together.

Tools are described as the Model Context Protocol lists them: `name`, `description`, and `inputSchema`, a JSON Schema object. Each
property is a question, put by its description; a string without format, pattern or enum is a quote of the situation. So the arguments
always fit the schema, and what is written in them was said. One that the schema does not require is left out where the model is
not sure of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clover_decide.errors import InputError, QuestionError, RuleError
from clover_decide.json_schema import questions_of_schema
from clover_decide.questions import Choice, Quote
from clover_decide.rules import read_rules

if TYPE_CHECKING:
    from clover_decide.decider import Decider
    from clover_decide.decision import Answer, Decision

_KNOWN = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "title",
    "description",
    "$schema",
    "$defs",
    "definitions",
    "$id",
    "$comment",
}
_PLAIN = {"type", "title", "description", "default", "examples", "$comment", "deprecated"}
"""What a schema and a free string may say: a keyword that were passed over could make a call invalid."""
TOOL_QUESTION = "Which tool does what is asked for?"
LIKELY = 0.5
"""Confidence from which an argument that need not be given is given; of yes or no its distance from a toss, 0.75 against 0.25."""
_NOTES = _PLAIN - {"type"}


@dataclass(frozen=True)
class ToolCall:
    """A call that was decided. `arguments` validate against the tool's schema; `others` are the answers to the caller's own questions.

    left_out: arguments that need not be given, of which the model was not sure.
    probability: of the tool, times that of all answers together, given the tool and the rules.
    """

    tool: str
    arguments: Mapping[str, Any]
    others: Mapping[str, Any]
    left_out: Mapping[str, Any]
    probability: float
    choice: Decision
    decision: Decision


def decide_call(
    decider: Decider,
    situation: Any,
    tools: Sequence[Mapping[str, Any]],
    *,
    others: Mapping[str, Any] | None = None,
    rules: Mapping[str, Sequence[Any]] | None = None,
    mode: Any = "joint",
    likely: float = LIKELY,
) -> ToolCall:
    """Decide which tool to call, and how.

    Args:
        decider: the model.
        situation: the material: what was asked for, and any policy.
        tools: two or more tools as `tools/list` gives them.
        others: questions that are answered along with the arguments, such as how risky the call is.
        rules: by tool, rules over its arguments and the other questions (see `clover_decide.rules`).
        mode: "joint", or "independent" for a call of the model for each argument.
        likely: `confidence` from which an argument is given that the schema does not require.

    Raises:
        InputError: `likely` is out of range.
        QuestionError: fewer than two tools, a repeated name, or a schema that cannot be asked; the message has the path.
        LimitError: more arguments and other questions than a request holds.
        RuleError: rules that cannot be read, or that leave no call.
    """
    if isinstance(likely, bool) or not isinstance(likely, (int, float)) or not 0.0 <= likely <= 1.0:
        raise InputError("out of range", path="likely", given=likely, accepted="a number from 0 to 1")
    named, given_rules = _named(tools), rules or {}
    stray = sorted(set(given_rules) - set(named))
    if stray:
        raise RuleError("names an unknown tool", path=f"rules.{stray[0]}", accepted=", ".join(named))
    if others is not None and not isinstance(others, Mapping):
        raise QuestionError("no questions by id", path="others", given=others, accepted="a mapping id -> question")
    asked = {name: {**arguments(tool, f"tools.{name}"), **_own(others or {}, tool)} for name, tool in named.items()}
    options = [{"value": name, "description": str(tool.get("description") or name)} for name, tool in named.items()]
    # Every tool is looked at before one is chosen: whether a call can be made must not depend on the model.
    for name, questions in asked.items():
        if questions:
            _checked(decider, name, questions, given_rules.get(name, ()))
    choice = decider.decide(situation, {"tool": Choice(TOOL_QUESTION, options=options)}, mode=mode)
    tool = str(choice["tool"].value)
    kept = list(given_rules.get(tool, ()))
    if not asked[tool]:
        return ToolCall(tool, {}, {}, {}, choice.probability, choice, choice)
    decision = decider.decide(situation, asked[tool], mode=mode, rules=kept or None, project=mode == "independent" and bool(kept))
    values = decision.values()
    own = {key: values[key] for key in others or {}}
    required = set(named[tool]["inputSchema"].get("required") or ()) | set(own)
    left_out = {key: value for key, value in values.items() if key not in required and _sure(decision[key]) < likely}
    given = {key: value for key, value in values.items() if key not in own and key not in left_out}
    return ToolCall(tool, given, own, left_out, choice.probability * decision.probability, choice, decision)


def _sure(answer: Answer) -> float:
    """Between two answers the more probable one has at least one half, which says nothing: how far it is from there."""
    return 2.0 * answer.confidence - 1.0 if answer.type == "boolean" else answer.confidence


def _checked(decider: Decider, name: str, questions: Mapping[str, Any], rules: Sequence[Any]) -> None:
    try:
        read_rules(list(rules), decider.check(questions))
    except InputError as error:
        raise error.at(f"tools.{name}") from None


def arguments(tool: Mapping[str, Any], path: str = "tool") -> dict[str, Any]:
    """Questions for the arguments of a tool, by name.

    Raises:
        QuestionError: its schema is no object, or a property has no description or cannot be asked.
    """
    schema = tool.get("inputSchema")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise QuestionError("no schema of an object", path=f"{path}.inputSchema", given=schema, accepted='{"type": "object", …}')
    unknown = sorted(set(schema) - _KNOWN)
    if unknown:
        raise QuestionError(
            f"keyword {unknown[0]!r} is not supported", path=f"{path}.inputSchema.{unknown[0]}", accepted=", ".join(sorted(_KNOWN))
        )
    properties = schema.get("properties") or {}
    missing = sorted(set(schema.get("required") or ()) - set(properties)) if isinstance(properties, Mapping) else []
    if not isinstance(properties, Mapping) or missing:
        given = missing or properties
        raise QuestionError("no property for what is required", path=f"{path}.inputSchema", given=given, accepted="properties by name")
    properties = {name: _without_null(prop) for name, prop in properties.items()}
    free = {name for name, prop in properties.items() if _free(prop)}
    typed = {name: prop for name, prop in properties.items() if name not in free}
    questions: dict[str, Any] = {}
    if typed:
        try:
            questions, raw = questions_of_schema({**schema, "properties": typed})
        except QuestionError as error:
            raise QuestionError(error.problem, path=f"{path}.{error.path}", given=error.given, accepted=error.accepted) from None
        if raw:
            raise QuestionError("options that are no strings", path=f"{path}.{next(iter(raw))}", accepted="enums of strings")
    for name in free:
        refused = sorted(set(properties[name]) - _PLAIN)
        if refused:
            where = f"{path}.{name}.{refused[0]}"
            raise QuestionError(
                f"keyword {refused[0]!r} is not supported for a string that is quoted", path=where, accepted="a pattern or an enum"
            )
        text = properties[name].get("description")
        if not isinstance(text, str) or not text.strip():
            raise QuestionError("no description; it is the question put to the model", path=f"{path}.{name}", accepted="a description")
        questions[name] = Quote(text)
    return {name: questions[name] for name in properties}


def _without_null(prop: Any) -> Any:
    """A property that may also be null, as one that may not: what need not be given is left out, never null."""
    if not isinstance(prop, Mapping):
        return prop
    for key in ("anyOf", "oneOf"):
        listed = prop.get(key)
        # What else is said beside the branches holds as well, and is not merged here.
        if isinstance(listed, list) and len(listed) == 2 and set(prop) - _NOTES == {key} and all(isinstance(b, Mapping) for b in listed):
            branches = [branch for branch in listed if branch.get("type") != "null"]
            if len(branches) == 1:
                return {**branches[0], **{name: value for name, value in prop.items() if name != key}}
    kinds, enum = prop.get("type"), prop.get("enum")
    others = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else []
    if len(others) == 1:
        prop = {**prop, "type": others[0]}
        return {**prop, "enum": [value for value in enum if value is not None]} if isinstance(enum, list) else prop
    return prop


def _free(prop: Any) -> bool:
    """Whether a property is a string about which the schema says no more."""
    return isinstance(prop, Mapping) and prop.get("type") == "string" and not {"format", "pattern", "enum", "const", "oneOf"} & set(prop)


def _named(tools: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    named: dict[str, Mapping[str, Any]] = {}
    for i, tool in enumerate(tools):
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str) or not name or name in named:
            raise QuestionError("no name of its own", path=f"tools[{i}].name", given=name, accepted="a name that no other tool has")
        named[name] = tool
    if len(named) < 2:
        raise QuestionError("nothing to choose from", path="tools", given=list(named), accepted="two tools or more")
    return named


def _own(others: Mapping[str, Any], tool: Mapping[str, Any]) -> Mapping[str, Any]:
    taken = sorted(set(others) & set((tool.get("inputSchema") or {}).get("properties") or {}))
    if taken:
        raise QuestionError(f"{tool['name']} has an argument of that name", path=f"others.{taken[0]}", accepted="another id")
    return others
