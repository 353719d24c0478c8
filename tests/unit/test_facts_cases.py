"""Facts of many short texts, written out by hand: formats, locales, bounds, and what must be left alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from clover_decide.facts import derive_facts

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("facts_cases.yaml").read_text(encoding="utf-8"))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{at}-{_slug(case['text'])}") for at, case in enumerate(CASES)])
def test_facts_of_a_text(case: dict[str, Any]) -> None:
    assert [fact.text for fact in derive_facts(case["text"])] == case["facts"]


def test_the_cases_are_many_and_well_formed() -> None:
    assert len(CASES) >= 200
    assert len({case["text"] for case in CASES}) == len(CASES)
    assert all({"text", "facts"} <= set(case) <= {"text", "facts", "why"} for case in CASES)
