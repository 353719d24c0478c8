"""Batch input: JSONL and CSV rows, each readable or carrying its own error; and what an earlier run finished."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_decide.errors import CloverError, FormatError
from clover_decide.files import bad_byte, parse_json, read_text, short_hash
from clover_decide.material import MAX_MATERIAL_BYTES


@dataclass(frozen=True)
class BatchRow:
    """Row `number` (from 1) of the input; `sha` identifies its content. Exactly one of material and error is set."""

    number: int
    id: str | None
    sha: str
    material: Any = None
    error: CloverError | None = None


def read_rows(path: Path) -> Iterator[BatchRow]:
    """Rows of a .jsonl, .ndjson or .csv file.

    Raises:
        FormatError: the file as a whole cannot be read; a bad row is yielded with its error instead.
    """
    if path.suffix in (".jsonl", ".ndjson"):
        yield from _jsonl(read_text(path, tolerant=True))
    elif path.suffix == ".csv":
        yield from _csv(read_text(path, tolerant=True), path)
    else:
        raise FormatError(f"unknown file ending {path.suffix!r}", path=str(path), accepted=".jsonl, .ndjson or .csv")


def _jsonl(text: str) -> Iterator[BatchRow]:
    number = 0
    for line in text.split("\n"):
        if not line.strip():
            continue
        number += 1
        sha = short_hash(line.strip())
        if problem := bad_byte(line, f"row {number}"):
            yield BatchRow(number, None, sha, error=problem)
            continue
        try:
            data = parse_json(line, f"row {number}")
            row_id, material = _fields(data, number)
        except CloverError as error:
            yield BatchRow(number, None, sha, error=error)
            continue
        yield BatchRow(number, row_id, sha, material)


def _fields(data: Any, number: int) -> tuple[str | None, Any]:
    if isinstance(data, str):
        return None, data
    if not isinstance(data, dict) or "material" not in data:
        raise FormatError("has no material", path=f"row {number}", given=data, accepted='a string or {"material": …, "id": …}')
    unknown = sorted(set(data) - {"material", "id"})
    if unknown:
        raise FormatError(f"unknown fields {unknown}", path=f"row {number}", accepted="material, id")
    row_id = data.get("id")
    return (None if row_id is None else str(row_id)), data["material"]


def _csv(text: str, path: Path) -> Iterator[BatchRow]:
    csv.field_size_limit(2 * MAX_MATERIAL_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise FormatError(f"malformed CSV header: {error}", path=str(path), accepted="CSV with a material column") from None
    if problem := bad_byte(",".join(header), str(path)):
        raise problem
    if len(set(header)) != len(header):
        raise FormatError("a column name is repeated", path=str(path), given=header, accepted="distinct column names")
    if "material" not in header:
        raise FormatError("no material column", path=str(path), given=header, accepted="a header with `material`, optional `id`")
    number = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            number += 1
            problem = FormatError(f"malformed CSV near line {reader.line_num}: {error}", path=f"row {number}", accepted="quoted CSV")
            yield BatchRow(number, None, short_hash(str(reader.line_num)), error=problem)
            continue
        if cells is None:
            return
        if not cells:
            continue
        number += 1
        sha = short_hash(json.dumps(cells))
        problem = bad_byte(",".join(cells), f"row {number}")
        if problem is None and len(cells) != len(header):
            problem = FormatError(f"{len(cells)} cells", path=f"row {number}", accepted=f"{len(header)} cells, as in the header")
        if problem is not None:
            yield BatchRow(number, None, sha, error=problem)
            continue
        row = dict(zip(header, cells, strict=True))
        yield BatchRow(number, row.get("id"), sha, row["material"])


def completed(output: Path, items: Sequence[BatchRow], run: str) -> set[int]:
    """Row numbers an earlier run finished; failed rows and a line cut off by a kill are removed from the file.

    Raises:
        FormatError: the file cannot be read, holds something else than rows of a batch, or belongs to another input, or
            to other questions, options, weights, number type or calibration (`run`). It is left as it is.
    """
    if not output.exists():
        return set()
    try:
        lines = output.read_bytes().split(b"\n")
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", path=str(output), accepted="the output of an earlier batch") from None
    by_number = {item.number: item for item in items}
    kept: dict[int, str] = {}
    for number, raw in enumerate(lines, 1):
        where = f"{output}:{number}"
        row = _finished(raw, where, last=number == len(lines))
        if row is None:
            continue
        item = by_number.get(row["row"])
        if item is None or item.sha != row.get("sha"):
            raise FormatError("holds a row that is not in the input", path=where, accepted="the output of the same input file")
        if row.get("run") != run:
            raise FormatError(
                "was made with other questions, options, weights, number type or calibration",
                path=where,
                accepted="the same, or a new file",
            )
        kept.setdefault(item.number, raw.decode("utf-8"))
    partial = output.with_suffix(output.suffix + ".tmp")
    partial.write_text("".join(line + "\n" for line in kept.values()), encoding="utf-8")
    partial.replace(output)
    return set(kept)


def _finished(raw: bytes, where: str, *, last: bool) -> dict[str, Any] | None:
    """A finished row of an output; None for a failed one, an empty line, and a last line that a kill cut off."""
    start = b'{"row"'
    if not raw.strip():
        return None
    try:
        row = json.loads(raw.decode("utf-8"))
    except ValueError:
        if last and raw[: len(start)] == start[: len(raw)]:
            return None
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("row"), int):
        raise FormatError("is no row of a batch", path=where, accepted="the output of an earlier batch, or a new file")
    return None if "error" in row else row
