"""Strict reading of files and payloads: UTF-8, JSON without NaN or duplicate keys, YAML without duplicate keys."""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError


def read_text(path: Path, *, tolerant: bool = False) -> str:
    """The text of a UTF-8 file; a byte order mark is dropped. Tolerant, bad bytes stay, as the surrogates that `bad_byte` finds, unless the
    file begins as UTF-16 or UTF-32 does, or holds zeros as they do.

    Raises:
        FormatError: no such file, a folder, or not UTF-8 (with the offset of the first bad byte).
    """
    try:
        data = path.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data
        return data.decode("utf-8-sig", "surrogateescape" if tolerant and not wide else "strict")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"not UTF-8: byte {error.start} is {error.object[error.start]:#04x}", path=str(path), accepted="UTF-8 text"
        ) from None
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", path=str(path), accepted="an existing file") from None


def bad_byte(text: str, where: str) -> FormatError | None:
    """What is wrong with a piece of a tolerantly read text, if it held bytes that are not UTF-8."""
    found = next((i for i, c in enumerate(text) if 0xDC80 <= ord(c) <= 0xDCFF), None)
    if found is None:
        return None
    byte, before = ord(text[found]) - 0xDC00, len(text[:found].encode())
    return FormatError(f"not UTF-8: byte {before} is {byte:#04x}", path=where, accepted="UTF-8 text")


def parse_json(text: str, where: str) -> Any:
    """JSON as the standard has it: NaN, Infinity and repeated keys are refused."""

    def constant(name: str) -> None:
        raise FormatError(f"{name} is not JSON", path=where, accepted="finite numbers")

    def number(text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise FormatError(f"the number {text[:40]} is out of range", path=where, accepted="numbers up to 1e308")
        return value

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in items:
            if key in table:
                raise FormatError(f"key {key!r} is repeated", path=where, accepted="distinct keys")
            table[key] = value
        return table

    try:
        return json.loads(text, parse_constant=constant, parse_float=number, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise FormatError(f"malformed JSON, line {error.lineno} column {error.colno}: {error.msg}", path=where, accepted="JSON") from None
    except RecursionError:
        raise FormatError("nested too deeply", path=where, accepted="JSON of moderate depth") from None
    except ValueError as error:
        raise FormatError(f"a number is out of range ({error})", path=where, accepted="numbers of moderate length") from None


def parse_yaml(text: str, where: str) -> Any:
    """YAML (safe subset), repeated keys refused."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        table: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise FormatError("a key is not a scalar", path=where, given=key, accepted="text keys")
            if key in table:
                raise FormatError(f"key {key!r} is repeated on line {key_node.start_mark.line + 1}", path=where, accepted="distinct keys")
            table[key] = loader.construct_object(value_node, deep=True)
        return table

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise FormatError(f"malformed YAML{place}: {getattr(error, 'problem', error)}", path=where, accepted="YAML") from None
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else f"a value cannot be read ({error})"
        raise FormatError(problem, path=where, accepted="YAML of plain values") from None


def load_structured(path: Path) -> Any:
    """A .json, .yaml or .yml file.

    Raises:
        FormatError: unreadable, malformed, or another ending.
    """
    if path.suffix == ".json":
        return parse_json(read_text(path), str(path))
    if path.suffix in (".yaml", ".yml"):
        return parse_yaml(read_text(path), str(path))
    raise FormatError(f"unknown file ending {path.suffix!r}", path=str(path), accepted=".json, .yaml or .yml")


def short_hash(text: str) -> str:
    """The first 16 hex digits of the SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
