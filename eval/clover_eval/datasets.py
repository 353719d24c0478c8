"""Labelled groups on disk: one JSON object a line.

`{"id", "material", "questions": {id: question}, "answers": {id: value}, "family"}`; questions and answers in the JSON
forms of clover-decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError
from clover_decide.files import parse_json, read_text
from clover_decide.question_set import QuestionSet, read_questions


@dataclass(frozen=True)
class LabelledGroup:
    """A material, its questions, and the right answer to each (in the form of `Decision.values()`)."""

    id: str
    family: str
    material: str
    questions: QuestionSet
    answers: Mapping[str, Any]


def read_groups(path: Path) -> Iterator[LabelledGroup]:
    """Groups of a JSONL file in order.

    Raises:
        FormatError: malformed line, missing field, or answers that do not match the questions.
    """
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        row = parse_json(line, where)
        missing = [key for key in ("id", "material", "questions", "answers") if key not in row]
        if missing:
            raise FormatError(f"lacks {', '.join(missing)}", path=where, accepted="id, material, questions, answers")
        questions = read_questions(row["questions"])
        if set(row["answers"]) != set(questions.questions):
            raise FormatError("answers and questions name different ids", path=where, accepted="one answer a question")
        yield LabelledGroup(row["id"], row.get("family", ""), row["material"], questions, row["answers"])
