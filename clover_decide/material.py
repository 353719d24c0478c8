"""The material: one text, rendered deterministically and cut into sentences by offsets."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from clover_decide.errors import LimitError, MaterialError

MAX_MATERIAL_BYTES = 1 << 20


@dataclass(frozen=True)
class Material:
    """A rendered material. `sentences` are (start, end) character offsets into `text`, ascending, without gaps of text."""

    text: str
    sentences: tuple[tuple[int, int], ...]


def read_material(material: Any) -> Material:
    """Render a str, dict or list as one text and find its sentences.

    Structured material becomes indented `key: value` lines in the given key order (YAML without line folding), so the
    same object always gives the same text.

    Raises:
        MaterialError: wrong type, empty, lone surrogates, or NaN/Infinity inside.
    """
    text = material if isinstance(material, str) else _render(material)
    if not text.strip():
        raise MaterialError("the material is empty", path="material", given=material, accepted="text, an object or an array")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise MaterialError("not encodable as UTF-8 (lone surrogate)", path="material", accepted="valid Unicode") from None
    if size > MAX_MATERIAL_BYTES:
        raise LimitError(f"{size} bytes", path="material", accepted=f"at most {MAX_MATERIAL_BYTES} bytes")
    return Material(text, _sentences(text))


def _render(material: Any) -> str:
    if not isinstance(material, (dict, list)):
        raise MaterialError(
            f"a {type(material).__name__} is not a material",
            path="material",
            given=material,
            accepted="text, an object or an array",
        )
    if not material:
        raise MaterialError("the material is empty", path="material", given=material, accepted="a non-empty object or array")
    try:
        return "\n".join(_lines(material, 0))
    except RecursionError:
        raise MaterialError("nested too deeply", path="material", accepted="objects of moderate depth") from None


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    pairs = value.items() if isinstance(value, dict) else (("-", item) for item in value)
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        raise MaterialError("a key is not a string", path="material", given=list(value), accepted="string keys")
    out: list[str] = []
    for key, item in pairs:
        label = f"{pad}- " if isinstance(value, list) else f"{pad}{key}: "
        if isinstance(item, (dict, list)) and item:
            out.append(label.rstrip())
            out.extend(_lines(item, depth + 1))
        else:
            out.append(label + (item if isinstance(item, str) else _scalar(item)))
    return out


def _scalar(item: Any) -> str:
    """JSON notation of a leaf; dates, decimals, enums and UUIDs as their text."""
    if isinstance(item, enum.Enum):
        item = item.value
    if isinstance(item, (dt.date, dt.time, Decimal, uuid.UUID, str)):
        return str(item)
    try:
        return json.dumps(item, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise MaterialError(f"holds something that is not data ({error})", path="material", given=item, accepted="JSON values") from None


def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue] - a compiled module without stubs

    spans: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start = at
        for piece in segment("en", line):
            begin = text.index(piece, start)
            start = begin + len(piece)
            stripped = piece.strip()
            if stripped:
                lead = len(piece) - len(piece.lstrip())
                spans.append((begin + lead, begin + lead + len(stripped)))
        at += len(line)
    return tuple(spans)
