"""Public labelled groups in their converted form: questions as a list, answers by id, one JSON object a line.

`{"id", "material", "questions": [{"id", "type", "text", "options"?}], "answers": {id: value}, "source"?, "domain"?}` with types
boolean, choice, integer, number, score (a number from 0 to 10), date and time (HH:MM). Numbers count as right within
max(0.01, 0.5%), scores within 0.5, everything else exactly. Rules written as program text (`check`) are for people and are not read.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clover_decide.errors import CloverError, FormatError, InputError
from clover_decide.frozen import FrozenMap
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, Number, Text
from clover_eval.datasets import NEEDED, LabelledGroup, make_group, numbered_rows, read_content
from clover_eval.sets import SETS, LoadedSet, load_set

SCORE_TOLERANCE = 0.5
TIME = r"([01]\d|2[0-3]):[0-5]\d"


def load_public(path: Path) -> LoadedSet:
    """A file in this form. The set takes its name from the folder and the file: `cvss_advisories-dev`.

    Raises:
        FormatError: not such a file; the message says where and why.
    """
    content = read_content(path)
    groups = tuple(_group(row, where) for where, row in numbered_rows(content, str(path)))
    twice = [name for name, count in Counter(g.id for g in groups).items() if count > 1]
    if twice:
        raise FormatError("the id is used twice", path=str(path), given=twice[0], accepted="distinct ids")
    if not groups:
        raise FormatError("holds no group", path=str(path), accepted="one JSON object a line")
    return LoadedSet(f"{path.resolve().parent.name}-{path.stem}", hashlib.sha256(content.encode()).hexdigest(), groups)


def load_as(name: str, fmt: str) -> LoadedSet:
    """A shipped set by its name, or a file in the format `groups` or `public`.

    Raises:
        InputError: an unknown format. FormatError: not a file of it.
    """
    if fmt not in ("groups", "public"):
        raise InputError("unknown format", path="--format", given=fmt, accepted="groups or public")
    return load_public(Path(name)) if fmt == "public" and name not in SETS else load_set(name)


def _group(row: Mapping[str, Any], where: str) -> LabelledGroup:
    missing = [key for key in NEEDED if key not in row]
    if missing:
        raise FormatError(f"lacks {', '.join(missing)}", path=where, accepted=", ".join(NEEDED))
    listed = row["questions"]
    if not isinstance(listed, list) or not all(isinstance(q, dict) and isinstance(q.get("id"), str) for q in listed):
        raise FormatError("questions are no list of objects with an id", path=f"{where}.questions", accepted="[{id, type, text, options?}]")
    if len({q["id"] for q in listed}) < len(listed):
        raise FormatError("a question id is used twice", path=f"{where}.questions", accepted="distinct ids")
    try:
        made = {q["id"]: _question(q, f"{where}.questions.{q['id']}") for q in listed}
        questions: QuestionSet = read_questions(FrozenMap(made))
    except CloverError as error:
        raise error if error.path.startswith(where) else error.at(where) from None
    answers = row["answers"] if isinstance(row["answers"], dict) else {}
    tolerance = {q["id"]: _tolerance(q["type"], answers.get(q["id"])) for q in listed if q["type"] in ("integer", "number", "score")}
    return make_group({**row, "rules": ()}, questions, where, tolerance)


def _question(q: Mapping[str, Any], where: str) -> AnyQuestion:
    text, kind = q.get("text"), q.get("type")
    if not isinstance(text, str):
        raise FormatError("a question has no text", path=where, accepted="a text")
    match kind:
        case "boolean":
            return Boolean(text)
        case "choice":
            return Choice(text, options=q.get("options", ()))
        case "integer":
            return Integer(text)
        case "number":
            return Number(text)
        case "score":
            return Number(text, minimum=0.0, maximum=10.0, decimals=1)
        case "date":
            return Date(text)
        case "time":
            return Text(text, pattern=TIME)
        case _:
            accepted = "boolean, choice, integer, number, score, date or time"
            raise FormatError("unknown question type", path=f"{where}.type", given=kind, accepted=accepted)


def _tolerance(kind: str, gold: Any) -> float:
    if kind == "score":
        return SCORE_TOLERANCE
    return max(0.01, 0.005 * abs(gold)) if isinstance(gold, (int, float)) else 0.0
