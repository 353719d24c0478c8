"""The material: one text, rendered deterministically and cut into sentences by offsets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from clover_decide.errors import MaterialError

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
        from clover_decide.errors import LimitError

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
        plain = json.loads(json.dumps(material, ensure_ascii=False, allow_nan=False, default=str))
    except (ValueError, TypeError, RecursionError) as error:
        raise MaterialError(f"not representable as JSON ({error})", path="material", accepted="JSON values") from None
    return "\n".join(_lines(plain, 0))


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    pairs = value.items() if isinstance(value, dict) else (("-", item) for item in value)
    out: list[str] = []
    for key, item in pairs:
        label = f"{pad}- " if isinstance(value, list) else f"{pad}{key}: "
        if isinstance(item, (dict, list)) and item:
            out.append(label.rstrip())
            out.extend(_lines(item, depth + 1))
        else:
            out.append(label + (item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)))
    return out


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
