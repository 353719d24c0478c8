"""The small public decision models of the package sparrow-decider (Apache-2.0, weights in its wheel)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clover_decide.errors import ModelError
from clover_eval.datasets import LabelledGroup
from clover_eval.runners.base import Reply, need
from clover_eval.runners.wire import systemone_questions, systemone_reply, unsupported


class SparrowRunner:
    """Each question alone, as those models do.

    Args:
        model: one of its model names; its default if empty.
    """

    def __init__(self, model: str = "") -> None:
        sparrow = need("sparrow_decider", "sparrow")
        try:
            self._decider: Any = sparrow.Decider.load(model or None)
        except FileNotFoundError as error:
            raise ModelError(str(error), path="runner", given=model, accepted=", ".join(sparrow.available_models())) from None
        self.name = model or sparrow.DEFAULT_MODEL
        self.identity: Mapping[str, Any] = {"model": self.name, "sparrow_decider": sparrow.__version__}

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do."""

    def answer(self, group: LabelledGroup) -> Reply:
        asked = systemone_questions(group)
        if not asked:
            return Reply({}, None, unsupported(group))
        return systemone_reply(group, self._decider.ask(group.material, asked), self.name)
