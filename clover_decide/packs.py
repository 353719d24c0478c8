"""Question packs: named question sets that ship with the package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError, InputError
from clover_decide.files import load_structured
from clover_decide.question_set import QuestionSet, read_questions


@dataclass(frozen=True)
class Pack:
    """A question set with its name, a one-line title and an example material."""

    name: str
    title: str
    questions: QuestionSet
    example: str


def _folder() -> Path:
    here = Path(__file__).resolve().parent
    # In a wheel the packs lie inside the package, in a checkout beside it.
    inside = here / "schemas" / "packs"
    return inside if inside.is_dir() else here.parent / "schemas" / "packs"


@cache
def pack_names() -> tuple[str, ...]:
    """Names of the shipped packs."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


@cache
def load_pack(name: str) -> Pack:
    """A shipped pack by name.

    Raises:
        InputError: no such pack; the message lists them.
    """
    if name not in pack_names():
        raise InputError("no such question pack", path="pack", given=name, accepted=", ".join(pack_names()))
    return read_pack(load_structured(_folder() / f"{name}.yaml"), name)


def read_questions_file(path: Path) -> QuestionSet:
    """Questions from a YAML or JSON file: a pack, a mapping, a list or a JSON Schema object.

    Raises:
        InputError: unreadable or not askable.
    """
    data = load_structured(path)
    if isinstance(data, dict) and isinstance(data.get("questions"), (dict, list)) and "type" not in data["questions"]:
        return read_pack(data, path.stem).questions
    if not isinstance(data, (dict, list)):
        raise FormatError("holds no questions", path=str(path), accepted="a mapping id -> question, a list or a JSON Schema object")
    return read_questions(data)


def read_pack(data: Any, name: str) -> Pack:
    """A pack from its file content."""
    unknown = set(data) - {"name", "title", "questions", "example"}
    if unknown:
        raise FormatError(f"unknown fields {sorted(unknown)}", path=name, accepted="name, title, questions, example")
    return Pack(data.get("name", name), data.get("title", ""), read_questions(data["questions"]), data.get("example", ""))
