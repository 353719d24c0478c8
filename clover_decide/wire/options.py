"""Options of a decision as requests have them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from clover_decide.decision import Effort, Mode
from clover_decide.options import MAX_PERMUTATIONS

Probability = Annotated[float, Field(ge=0.0, le=1.0, strict=True)]
"""Not true or false, which would pass for 1 and 0."""


class Thresholds(BaseModel):
    """Below which an answer is withheld."""

    model_config = {"extra": "forbid"}

    probability: Probability | None = None
    coverage: Probability | None = None
    gap: Probability | None = Field(None, description="Joint mode: the largest dependence gap of an answer. Reads the dependence.")
    questions: dict[str, Probability] | None = Field(None, description="A probability for some questions, by id.")


class Options(BaseModel):
    """What both compatible formats take besides their own fields, and the native one has too."""

    effort: Effort = Field("standard", description="How far the joint answers are searched: fast, standard, auto or thorough.")
    groups: list[list[str]] | None = Field(None, description="Joint mode: ids that share a block of at most 8; by default in order.")
    rules: Any = Field(
        None, description="Rules between the answers: a JSON Schema over the answers object, a CEL expression, or a list of either."
    )
    permutations: int = Field(1, ge=1, le=MAX_PERMUTATIONS, description="Orders that the answers are averaged over.")
    evidence: bool = Field(False, description="Also list the sentences that show each answer.")
    abstain: Probability | Thresholds | None = Field(None, description="Thresholds below which an answer is withheld.")
    independent: bool = Field(False, description="Joint mode: also tell what each question alone would get.")
    facts: Literal["auto", "off"] | list[str] = Field("auto", description="Derived facts, none, or the caller's own.")

    def chosen(self, mode: Mode) -> dict[str, Any]:
        """Keyword arguments of `Decider.decide`."""
        given = {name: getattr(self, name) for name in Options.model_fields}
        if isinstance(self.abstain, Thresholds):
            given["abstain"] = self.abstain.model_dump(exclude_none=True)
        return {**given, "mode": mode}
