"""Derived facts: dates, durations, counts and amounts found in the material, and the exact arithmetic between them.

Arithmetic belongs in code, judgement in the model. Candidates are found by compact expressions and normalised by
libraries (python-dateutil, text2num, price-parser). What reads two ways is never guessed: a numeric date such as 03/04/2025 yields a fact
saying so and takes part in no arithmetic; ranges, rates, signs and magnitude words keep an amount out.
"""

from __future__ import annotations

from collections.abc import Iterable

from clover_decide.facts.amounts import differences
from clover_decide.facts.base import Fact
from clover_decide.facts.counts import comparisons
from clover_decide.facts.dates import date_facts, dates_in

__all__ = ["Fact", "caller_facts", "dates_in", "derive_facts"]


def derive_facts(text: str) -> tuple[Fact, ...]:
    """Facts of a material in a fixed order: dates, days between dates (compared with stated durations), counts, amounts."""
    return (*date_facts(text), *comparisons(text), *differences(text))


def caller_facts(lines: Iterable[str]) -> tuple[Fact, ...]:
    """Facts the caller states; they are shown to the model as given."""
    return tuple(Fact("given", line.strip()) for line in lines)
