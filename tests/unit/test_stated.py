"""Values that a material states are found, and favoured without shutting out others."""

from __future__ import annotations

import datetime as dt

import pytest

from clover_decide import Boolean, Date, Decider, Integer, Number, Quote
from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.questions import AnyQuestion
from clover_decide.stated import MOST, stated_texts

TEXT = "Signed 3 May 2024, due 03/04/2025 or 2025-06-30. It costs $1,800.50 for 12 pieces, less 5%; clause 7.2 applies. Room B12."


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (Date("When?"), {"2024-05-03", "2025-03-04", "2025-04-03", "2025-06-30"}),
        (Date("When?", earliest="2025-04-01"), {"2025-04-03", "2025-06-30"}),
        (Integer("How many?", maximum=100), {"3", "12", "5", "30"}),
        (Number("How much?", decimals=2), {"1800.50", "12.00", "5.00", "7.20"}),
        (Number("How much?", decimals=1, maximum=8.0), {"3.0", "5.0", "7.2"}),
        (Boolean("Is it?"), set()),
        (Quote("Who?"), set()),
    ],
    ids=lambda value: value.type if hasattr(value, "type") else "",
)
def test_legal_values_that_stand_in_the_text(question: AnyQuestion, expected: set[str]) -> None:
    found = set(stated_texts(question, read_material(TEXT), ()))
    assert expected <= found and (expected or not found)
    assert not {"B12", "1800", "2"} & found


def test_what_facts_work_out_is_stated_too() -> None:
    material = read_material("From 1 May 2025 to 31 May 2025. $1800 less $250.")
    assert {"30", "1550"} <= set(stated_texts(Integer("How many?"), material, derive_facts(material.text)))


def test_the_number_of_values_is_bounded() -> None:
    assert len(stated_texts(Integer("How many?"), read_material(" ".join(map(str, range(100, 900)))), ())) == MOST


def test_a_stated_date_is_likelier_and_another_remains_possible(random_decider: Decider) -> None:
    questions = {"day": Date("Which day?", earliest="2020-01-01", latest="2029-12-31")}
    without = random_decider.decide("It was then.", questions, effort="thorough", facts="off")
    assert without["day"].value != dt.date(2024, 5, 3)
    stated = random_decider.decide("It was then. 3 May 2024.", questions, effort="thorough", facts="off")
    # An untrained model knows nothing of dates: what it says is what is favoured, and not with certainty.
    assert stated["day"].value == dt.date(2024, 5, 3) and stated["day"].probability < 1.0
