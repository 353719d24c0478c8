"""Results of one runner on one set: a JSONL file, versioned, written row by row.

The first line is the header, every other line a row; a version counts up when a field changes its meaning. A row:
`{"id", "material", "questions", "answers": {id: {"value", "probability", "probabilities"}}, "probability", "seconds",
"unsupported": [id], "failed": {"error", "path", "problem"} | null}`, where `material` and `questions` are hashes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError
from clover_decide.files import parse_json, short_hash
from clover_eval.datasets import LabelledGroup

FORMAT, VERSION = "clover-eval-results", 1


@dataclass(frozen=True)
class Given:
    """One answer as given. `probability` is None where a runner gives none.

    probabilities: by option ("true" and "false", option values, level indices from "0" on; of a multiple choice that each
        option belongs to the answer), where the runner gives them.
    """

    value: Any
    probability: float | None = None
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Row:
    """What a runner said about one group. `failed` rows have no answers and count as wrong.

    unsupported: questions of a type that the runner cannot be asked, or that it refused.
    """

    id: str
    material: str
    questions: str
    answers: Mapping[str, Given] = field(default_factory=dict)
    probability: float | None = None
    seconds: float = 0.0
    unsupported: tuple[str, ...] = ()
    failed: Mapping[str, Any] | None = None

    def line(self) -> str:
        """The row as a line of the file."""
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Header:
    """Which set and runner the rows belong to. `identity` holds all that decides the answers: model, options, prompt."""

    set: str
    set_sha256: str
    runner: str
    identity: Mapping[str, Any]

    @property
    def run(self) -> str:
        """A hash of the header: rows of two files with the same one are interchangeable."""
        return short_hash(json.dumps(asdict(self), sort_keys=True))

    def line(self) -> str:
        return json.dumps({"format": FORMAT, "version": VERSION, "run": self.run, **asdict(self)}, ensure_ascii=False)


@dataclass(frozen=True)
class Results:
    """A file of results."""

    header: Header
    rows: tuple[Row, ...]


def read_results(path: Path) -> Results:
    """Read a file of results; a last line cut off by a kill is left out, of a repeated id the first row counts.

    Raises:
        FormatError: no results file, one of another version, or a malformed row.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", path=str(path), accepted="a file of results") from None
    header = _header(lines[0], str(path))
    rows: dict[str, Row] = {}
    for number, raw in enumerate(lines[1:], 2):
        if raw.strip() and (row := _row(raw, f"{path}:{number}", last=number == len(lines))) is not None:
            rows.setdefault(row.id, row)
    return Results(header, tuple(rows.values()))


def _header(raw: bytes, where: str) -> Header:
    try:
        data = json.loads(raw)
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError("is no file of results", path=where, accepted="a file that `clover-decide eval run` wrote")
    if data.get("version") != VERSION:
        raise FormatError("is a file of another version", path=where, given=data.get("version"), accepted=f"version {VERSION}")
    try:
        return Header(data["set"], data["set_sha256"], data["runner"], data["identity"])
    except KeyError as error:
        raise FormatError(f"the header lacks {error}", path=where, accepted="set, set_sha256, runner, identity") from None


def _row(raw: bytes, where: str, *, last: bool) -> Row | None:
    try:
        data = parse_json(raw.decode("utf-8"), where)
    except (FormatError, UnicodeDecodeError):
        if last:
            return None
        raise FormatError("is no row of results", path=where, accepted="a JSON object") from None
    try:
        answers = {key: Given(**value) for key, value in data.pop("answers").items()}
        row = Row(answers=answers, unsupported=tuple(data.pop("unsupported")), **data)
        shares = [row.probability, *(p for given in answers.values() for p in (given.probability, *(given.probabilities or {}).values()))]
        if not (0.0 <= row.seconds < 1e6 and all(0.0 <= p <= 1.0 + 1e-6 for p in shares if p is not None)):
            raise ValueError(row)
    except (TypeError, KeyError, AttributeError, ValueError):
        raise FormatError("is no row of results", path=where, accepted="the fields of a row, probabilities from 0 to 1") from None
    return row


def matched(results: Results, groups: Sequence[LabelledGroup], name: str) -> dict[str, Row]:
    """Rows by group id, checked against the groups they claim to answer.

    Raises:
        FormatError: a row answers an unknown group, or another material or other questions than the group has.
    """
    known = {group.id: group for group in groups}
    for row in results.rows:
        group = known.get(row.id)
        if group is None:
            raise FormatError("answers a group that the set does not have", path=name, given=row.id, accepted="results of this set")
        if not set(row.answers) <= set(group.questions.questions):
            extra = sorted(set(row.answers) - set(group.questions.questions))
            raise FormatError(
                "answers a question that the group does not have", path=f"{name} {row.id}", given=extra[0], accepted="its questions"
            )
        if (row.material, row.questions) != (group.material_sha, group.questions_sha):
            raise FormatError(
                "answers another material or other questions", path=name, given=row.id, accepted="results of this version of the set"
            )
    return {row.id: row for row in results.rows}
