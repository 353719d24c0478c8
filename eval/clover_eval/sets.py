"""The sets that ship with the package, frozen by the SHA-256 of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clover_decide.errors import FormatError
from clover_eval.datasets import LabelledGroup, parse_groups, read_content, read_groups

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class ShippedSet:
    """What a shipped set is for, and the hash that its uncompressed content must have."""

    purpose: str
    sha256: str


SETS: Mapping[str, ShippedSet] = {
    "linked-500": ShippedSet(
        "test: report on it, never tune or train on it", "4d073748be3b328a8532d106638ef004a177630d685520c41ee1f887a533d5fa"
    ),
    "linked-val": ShippedSet(
        "validation: for tuning, thresholds and baselines", "3de65848c8dbc2c3315a1bcce0bf1bebd6af298a1f16efaaade5d9e91b16e3df"
    ),
    "linked-causal": ShippedSet(
        "test: one final question with and without those it builds on", "504743d5c2cace3c13ef62124d6c4f9bf1ab1e9d82cda6cb07a09f5d01e4dcba"
    ),
}


@dataclass(frozen=True)
class LoadedSet:
    """Groups with the name and hash of where they come from."""

    name: str
    sha256: str
    groups: tuple[LabelledGroup, ...]


def load_set(name: str) -> LoadedSet:
    """A shipped set by name, or a file of labelled groups by path.

    Raises:
        FormatError: no such set or file, a malformed one, or a shipped file whose content is not the frozen one.
    """
    if name in SETS:
        path = DATA / f"{name}.jsonl.gz"
        content = read_content(path)
        found = hashlib.sha256(content.encode()).hexdigest()
        if found != SETS[name].sha256:
            raise FormatError("is not the frozen set", path=str(path), given=found, accepted=f"content with SHA-256 {SETS[name].sha256}")
        return LoadedSet(name, found, tuple(parse_groups(content, name)))
    path = Path(name)
    if not path.is_file():
        raise FormatError("no such set", path="set", given=name, accepted=f"{', '.join(SETS)}, or a file of labelled groups")
    return LoadedSet(path.name, hashlib.sha256(read_content(path).encode()).hexdigest(), tuple(read_groups(path)))
