"""The protocol of runners."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from clover_decide.errors import CloverError, MissingExtraError
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given


class RunnerError(CloverError):
    """A runner could not answer a group. The group is recorded as failed; the run goes on."""


@dataclass(frozen=True)
class Reply:
    """Answers to a group. `unsupported` names questions of a type that the runner cannot be asked, or that it refused."""

    answers: Mapping[str, Given]
    probability: float | None = None
    unsupported: tuple[str, ...] = field(default=())


class Runner(Protocol):
    """Answers groups, one at a time or from several threads.

    name: how tables call it. identity: everything that decides its answers (model, options, prompt), JSON-ready.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> Mapping[str, Any]: ...

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Called once, before the first answer, with all groups of the set."""
        ...

    def answer(self, group: LabelledGroup) -> Reply:
        """Answer one group.

        Raises:
            CloverError: the group could not be answered.
        """
        ...


def files_sha(files: Sequence[Path]) -> str:
    """A hash of the content of files, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(files):
        with path.open("rb") as file:
            while piece := file.read(2**22):
                digest.update(piece)
    return digest.hexdigest()[:16]


def need(module: str, extra: str) -> ModuleType:
    """An optional module.

    Raises:
        MissingExtraError: it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"this needs {error.name}", path="runner", accepted=f"pip install 'clover-decide[{extra}]'") from None
