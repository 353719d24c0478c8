"""The sets that ship with the package, frozen by the SHA-256 of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clover_decide.errors import FormatError
from clover_eval.datasets import LabelledGroup, numbered_rows, parse_groups, read_content, read_evidence, read_groups

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class ShippedSet:
    """What a shipped set is for, and the hash that its uncompressed content must have."""

    purpose: str
    sha256: str


SETS: Mapping[str, ShippedSet] = {
    "linked-500": ShippedSet(
        "test: report on it, never tune or train on it", "a892d2670fb3e870d9ca603cfe5934c80769a3f3173829b61f0d3139add1db9b"
    ),
    "linked-val": ShippedSet(
        "validation: for tuning, thresholds and baselines", "ec20bd04775ebd3390a2f8ccf09b539f41d5d8da2c359ac01c55fd7bf69786d0"
    ),
    "linked-causal": ShippedSet(
        "test: one final question with and without those it builds on", "4aa8ffd5494b2ed3bc57f9f670eb21bb71f308cd0e40303aa964de8344e47a30"
    ),
}


@dataclass(frozen=True)
class LoadedSet:
    """Groups with the name and hash of where they come from."""

    name: str
    sha256: str
    groups: tuple[LabelledGroup, ...]


def _with_evidence(groups: Sequence[LabelledGroup], name: str) -> Iterator[LabelledGroup]:
    """Evidence was added after the sets were frozen, so it lies in a file beside them."""
    path = DATA / f"{name}.evidence.jsonl.gz"
    rows = numbered_rows(read_content(path), path.name) if path.is_file() else ()
    known = {row["id"]: row["evidence"] for _, row in rows}
    for group in groups:
        row = {"material": group.material, "answers": group.answers}
        yield replace(group, evidence=read_evidence(known[group.id], row, group.id)) if group.id in known else group


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
        return LoadedSet(name, found, tuple(_with_evidence(list(parse_groups(content, name)), name)))
    path = Path(name)
    if not path.is_file():
        raise FormatError("no such set", path="set", given=name, accepted=f"{', '.join(SETS)}, or a file of labelled groups")
    return LoadedSet(path.name, hashlib.sha256(read_content(path).encode()).hexdigest(), tuple(read_groups(path)))
