"""Autoregressive models under constrained decoding: the prompt, the schema of the reply, and reading it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clover_decide.files import short_hash
from clover_decide.questions import AnyQuestion, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text
from clover_eval.datasets import LabelledGroup, valid_value
from clover_eval.results import Given
from clover_eval.runners.base import Reply, RunnerError
from clover_eval.runners.wire import described

SYSTEM = "You answer questions about a text. Reply with one JSON object that holds an answer to every question, and nothing else."
USER = "Text:\n{material}\n\nQuestions:\n{questions}\n\nAnswer all questions from the text alone, as JSON."


def messages(group: LabelledGroup) -> list[dict[str, str]]:
    """The chat that asks a group. Questions are numbered q1, q2 …; their own ids are not shown."""
    lines = [f"q{i}: {question.text} {_form(question)}" for i, question in enumerate(group.questions.questions.values(), 1)]
    content = USER.format(material=group.material, questions="\n".join(lines))
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]


def _form(question: AnyQuestion) -> str:
    match question:
        case Choice():
            return "(one of: " + ", ".join(described(o) for o in question.options) + ")"
        case MultiChoice():
            return "(a list of any of: " + ", ".join(described(o) for o in question.options) + ")"
        case Score():
            return "(level: " + ", ".join(f"{i} = {described(level)}" for i, level in enumerate(question.levels)) + ")"
        case Date():
            return "(date, YYYY-MM-DD)"
        case Number():
            return f"(number from {question.minimum:g} to {question.maximum:g}, {question.decimals} decimals)"
        case Integer():
            return f"(whole number from {question.minimum} to {question.maximum})"
        case Quote():
            return "(a quote of the text)"
        case Text():
            return f"(text like {question.pattern})"
        case _:
            return f"({question.type})"


def schema(group: LabelledGroup) -> dict[str, Any]:
    """The JSON Schema of the reply, in the subset that grammar compilers share."""
    questions = group.questions.questions
    properties = {f"q{i}": _property(question) for i, question in enumerate(questions.values(), 1)}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _property(question: AnyQuestion) -> dict[str, Any]:
    match question:
        case Score():
            return {"type": "integer", "enum": list(range(len(question.levels)))}
        case Choice():
            return {"type": "string", "enum": [o.value for o in question.options]}
        case MultiChoice():
            names = [o.value for o in question.options]
            return {"type": "array", "items": {"type": "string", "enum": names}, "maxItems": len(names)}
        case Date():
            return {"type": "string", "pattern": "^(19|20)[0-9][0-9]-(0[1-9]|1[0-2])-([0-2][0-9]|3[01])$"}
        case Text():
            # Compilers differ in the expressions they take; the pattern is checked when the reply is read.
            return {"type": "string", "maxLength": 24}
        case Quote():
            return {"type": "string", "maxLength": 60}
        case Number():
            return {"type": "number"}
        case _:
            return {"type": question.type}


def read_reply(group: LabelledGroup, text: str, where: str) -> Reply:
    """The answers of a reply that are values of their questions; others count as not given. No probabilities come with them.

    Raises:
        RunnerError: the reply is no JSON object (a number that never ends is cut off, say).
    """
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, Mapping):
        raise RunnerError("the reply is no JSON object", path=where, given=text[-80:], accepted="one answer a question")
    replied = {key: data.get(f"q{i}") for i, key in enumerate(group.questions.questions, 1)}
    return Reply({key: Given(value) for key, value in replied.items() if valid_value(group.questions.questions[key], value)})


PROMPT_SHA = short_hash(Path(__file__).read_text(encoding="utf-8"))
"""Changes with anything above: the wording, the schema, how a reply is read."""
