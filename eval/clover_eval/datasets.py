"""Labelled groups: a material, related questions, the right answers, and the rules that hold between them.

On disk one JSON object a line, plain or gzipped:
`{"id", "material", "questions": {id: question}, "answers": {id: value}}`, questions and answers in the JSON forms of
clover-decide; optional `domain`, `slice`, `structure`, `pair` (twins share one), `rules` (`[{"text", "schema"}]`, JSON
Schemas over the answers object), `paraphrases` (`{id: text}`), `final` (the question a causal slice asks about) and
`worlds` (`[{"probability", "answers"}]`, for a material that leaves several possibilities open), `evidence` (`{id: [[start,
end]]}`, the characters of the material that show the answer).
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clover_decide.errors import CloverError, FormatError
from clover_decide.files import parse_json, read_text, short_hash
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.questions import AnyQuestion
from clover_eval.rules import AnswerRule, about, holds

Span = tuple[int, int]
NEEDED = ("id", "material", "questions", "answers")


@dataclass(frozen=True)
class World:
    """One consistent assignment that the material leaves open, with its probability."""

    probability: float
    answers: Mapping[str, Any]


@dataclass(frozen=True)
class LabelledGroup:
    """A material, its questions, and the right answer to each (in the form of `Decision.values()`).

    tolerance: the largest error of a number that still counts as right, by question; exact where none is given.
    """

    id: str
    material: str
    questions: QuestionSet
    answers: Mapping[str, Any]
    domain: str = ""
    slice: str = ""
    structure: str = ""
    pair: str | None = None
    final: str | None = None
    rules: tuple[AnswerRule, ...] = ()
    paraphrases: Mapping[str, str] = field(default_factory=dict)
    worlds: tuple[World, ...] = ()
    tolerance: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """What is resampled as one: twins are not independent of each other."""
        return self.pair or self.id

    @property
    def material_sha(self) -> str:
        return short_hash(self.material)

    @property
    def questions_sha(self) -> str:
        return short_hash(json.dumps(self.questions.identity()))


def read_content(path: Path) -> str:
    """The text of a plain or gzipped file.

    Raises:
        FormatError: it cannot be read.
    """
    if path.suffix != ".gz":
        return read_text(path)
    try:
        return gzip.decompress(path.read_bytes()).decode("utf-8")
    except (OSError, EOFError, ValueError) as error:
        raise FormatError(f"cannot be read ({error})", path=str(path), accepted="a gzipped UTF-8 file") from None


def read_groups(path: Path) -> list[LabelledGroup]:
    """Groups of a file in order.

    Raises:
        InputError: malformed line, missing field, bad question, repeated id, answers that do not match the questions, no group.
    """
    groups = list(parse_groups(read_content(path), str(path)))
    if not groups:
        raise FormatError("holds no group", path=str(path), accepted="one JSON object a line")
    return groups


def parse_groups(content: str, name: str) -> Iterator[LabelledGroup]:
    """Groups of a file's content; `name` is for messages."""
    seen: set[str] = set()
    for where, row in numbered_rows(content, name):
        missing = [key for key in NEEDED if key not in row]
        if missing:
            raise FormatError(f"lacks {', '.join(missing)}", path=where, accepted=", ".join(NEEDED))
        try:
            questions = read_questions(row["questions"])
        except CloverError as error:
            raise error.at(where) from None
        group = make_group(row, questions, where)
        if group.id in seen:
            raise FormatError("the id is used twice", path=where, given=group.id, accepted="distinct ids")
        seen.add(group.id)
        yield group


def numbered_rows(content: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file with where each stands."""
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            row = parse_json(line, where)
        except FormatError as error:
            raise FormatError(error.problem, path=where, accepted="one JSON object a line, each on a line of its own") from None
        if not isinstance(row, dict):
            raise FormatError("is no object", path=where, given=row, accepted="one JSON object a line")
        yield where, row


def make_group(row: Mapping[str, Any], questions: QuestionSet, where: str, tolerance: Mapping[str, float] | None = None) -> LabelledGroup:
    """A group of a row whose questions have been read.

    Raises:
        FormatError: answers and questions name different ids, an answer is no value of its question, or an optional
            field has another form than documented.
    """
    answers = row["answers"]
    if not isinstance(answers, dict) or set(answers) != set(questions.questions):
        raise FormatError("answers and questions name different ids", path=where, accepted="one answer a question")
    _check_values(questions, answers, f"{where}.answers")
    for key in ("id", "material"):
        if not isinstance(row[key], str) or not row[key].strip():
            raise FormatError("is no text", path=f"{where}.{key}", given=row[key], accepted="a non-empty string")
    for key, accepted in (("pair", "a name"), ("final", ", ".join(answers))):
        if row.get(key) is not None and (not isinstance(row[key], str) or (key == "final" and row[key] not in answers)):
            raise FormatError("has another form", path=f"{where}.{key}", given=row[key], accepted=accepted)
    other = row.get("paraphrases", {})
    if not isinstance(other, dict) or not all(key in answers and isinstance(text, str) and text.strip() for key, text in other.items()):
        raise FormatError("has another form", path=f"{where}.paraphrases", given=other, accepted="{question id: text}")
    rules, worlds = _rules(row, where), _worlds(row, questions, where)
    return LabelledGroup(
        id=row["id"],
        material=row["material"],
        questions=questions,
        answers=answers,
        domain=str(row.get("domain") or row.get("family") or ""),
        slice=str(row.get("slice", "")),
        structure=str(row.get("structure", "")),
        pair=row.get("pair"),
        final=row.get("final"),
        rules=rules,
        paraphrases=other,
        worlds=worlds,
        tolerance=tolerance or {},
        evidence=read_evidence(row.get("evidence") or {}, row, where),
    )


def read_evidence(given: Any, row: Mapping[str, Any], where: str) -> dict[str, tuple[Span, ...]]:
    """Evidence by question.

    Raises:
        FormatError: it has another form, or points outside the material.
    """
    size, accepted = len(row["material"]), "{question id: [[start, end], …]} in characters of the material"
    try:
        found = {key: tuple((start, end) for start, end in spans) for key, spans in dict(given).items()}
        good = set(found) <= set(row["answers"]) and all(0 <= a < b <= size for spans in found.values() for a, b in spans)
    except (TypeError, ValueError):
        good, found = False, {}
    if not good:
        raise FormatError("the evidence has another form", path=f"{where}.evidence", accepted=accepted)
    return found


def _rules(row: Mapping[str, Any], where: str) -> tuple[AnswerRule, ...]:
    from jsonschema import Draft202012Validator, SchemaError

    try:
        rules = tuple(AnswerRule(str(r["text"]), r["schema"]) for r in row.get("rules", ()))
        for rule in rules:
            Draft202012Validator.check_schema(rule.schema)
    except (TypeError, KeyError, SchemaError) as error:
        said = str(getattr(error, "message", error))[:120]
        raise FormatError(f"a rule has another form ({said})", path=f"{where}.rules", accepted="[{text, schema}], schemas valid") from None
    for rule in rules:
        if "$ref" in json.dumps(rule.schema) or "$dynamicRef" in json.dumps(rule.schema):
            raise FormatError("a rule refers to another schema", path=f"{where}.rules", given=rule.text, accepted="a schema without $ref")
        unknown = sorted(about(rule) - set(row["answers"]))
        if unknown:
            accepted = ", ".join(row["answers"])
            raise FormatError("a rule is about a question that is not asked", path=f"{where}.rules", given=unknown[0], accepted=accepted)
        if not holds(rule, row["answers"]):
            raise FormatError("the gold answers break a rule", path=f"{where}.rules", given=rule.text, accepted="rules that gold keeps")
    return rules


def _worlds(row: Mapping[str, Any], questions: QuestionSet, where: str) -> tuple[World, ...]:
    accepted = "[{probability, answers}], one of them the gold answers, probabilities above 0 that sum to 1"
    try:
        worlds = tuple(World(float(w["probability"]), w["answers"]) for w in row.get("worlds", ()))
        good = not worlds or (
            min(w.probability for w in worlds) > 0
            and abs(sum(w.probability for w in worlds) - 1.0) < 1e-6
            and any(w.answers == row["answers"] for w in worlds)
            and all(set(w.answers) == set(questions.questions) for w in worlds)
        )
    except (TypeError, KeyError, ValueError):
        good, worlds = False, ()
    if not good:
        raise FormatError("the worlds have another form", path=f"{where}.worlds", accepted=accepted)
    return worlds


def _check_values(questions: QuestionSet, answers: Mapping[str, Any], where: str) -> None:
    for key, value in answers.items():
        question = questions.questions[key]
        if not valid_value(question, value):
            accepted = json.dumps(question.json_schema(), ensure_ascii=False)
            problem = f"the gold answer is no value of a {question.type} question"
            raise FormatError(problem, path=f"{where}.{key}", given=value, accepted=accepted)


def valid_value(question: AnyQuestion, value: Any) -> bool:
    """Whether a value, as JSON has it, answers a question of this type."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(question.json_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(value)


def subset(groups: Sequence[LabelledGroup], count: int) -> list[LabelledGroup]:
    """About `count` groups, the same ones each time: whole pairs in the order of their hashes, listed as in the file.

    Raises:
        FormatError: a count below one.
    """
    if count < 1:
        raise FormatError("no group would be left", path="subset", given=count, accepted="a number of at least 1")
    sizes = Counter(g.cluster for g in groups)
    picked: set[str] = set()
    taken = 0
    for cluster in sorted(sizes, key=short_hash):
        size = sizes[cluster]
        if taken + size <= count or not picked:
            picked.add(cluster)
            taken += size
    return [g for g in groups if g.cluster in picked]
