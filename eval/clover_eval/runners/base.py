"""The protocol of runners."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from clover_decide.errors import CloverError, MissingExtraError
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given


class RunnerError(CloverError):
    """A runner could not answer a group. The group is recorded as failed; the run goes on."""


@dataclass(frozen=True)
class Reply:
    """Answers to a group. `unsupported` names questions of a type that the runner cannot be asked."""

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
        """Called once, before the first answer, with all groups of the run."""
        ...

    def answer(self, group: LabelledGroup) -> Reply:
        """Answer one group.

        Raises:
            CloverError: the group could not be answered.
        """
        ...


def need(module: str, extra: str) -> ModuleType:
    """An optional module.

    Raises:
        MissingExtraError: it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"this needs {error.name}", path="runner", accepted=f"pip install 'clover-decide[{extra}]'") from None
