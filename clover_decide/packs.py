"""Question packs: named question sets that ship with the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError, InputError
from clover_decide.files import load_structured
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.rules import RuleSet, read_rules


@dataclass(frozen=True)
class Pack:
    """A question set with its name, a one-line title, an example material and the rules between its answers."""

    name: str
    title: str
    questions: QuestionSet
    example: str
    rules: RuleSet = field(default_factory=RuleSet)


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


def read_questions_file(path: Path) -> Pack:
    """Questions from a YAML or JSON file: a pack (which may hold rules), a mapping, a list or a JSON Schema object.

    Raises:
        InputError: unreadable or not askable.
    """
    data = load_structured(path)
    if isinstance(data, dict) and isinstance(data.get("questions"), (dict, list)) and "type" not in data["questions"]:
        return read_pack(data, path.stem)
    if not isinstance(data, (dict, list)):
        raise FormatError("holds no questions", path=str(path), accepted="a mapping id -> question, a list or a JSON Schema object")
    return Pack(path.stem, "", read_questions(data), "")


def read_pack(data: Any, name: str) -> Pack:
    """A pack from its file content."""
    unknown = set(data) - {"name", "title", "questions", "example", "rules"}
    if unknown:
        raise FormatError(f"unknown fields {sorted(unknown)}", path=name, accepted="name, title, questions, example, rules")
    questions = read_questions(data["questions"])
    return Pack(data.get("name", name), data.get("title", ""), questions, data.get("example", ""), read_rules(data.get("rules"), questions))
