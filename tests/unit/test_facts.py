"""Derived facts are exact, and refuse to guess."""

from __future__ import annotations

import pytest

from clover_decide.facts import derive_facts
from clover_decide.facts.amounts import MAX_AMOUNTS
from clover_decide.facts.dates import MAX_DATES, MAX_PAIRS


def texts(material: str) -> list[str]:
    return [fact.text for fact in derive_facts(material)]


@pytest.mark.parametrize(
    ("surface", "iso"),
    [
        ("14 March 2024", "2024-03-14"),
        ("March 14, 2024", "2024-03-14"),
        ("14th of March 2024", "2024-03-14"),
        ("the 14th day of March 2024", "2024-03-14"),
        ("14 Mar 2024", "2024-03-14"),
        ("Sept. 3, 2023", "2023-09-03"),
        ("29 February 2024", "2024-02-29"),
        ("2024-03-14", "2024-03-14"),
        ("31/12/2024", "2024-12-31"),
        ("12/31/2024", "2024-12-31"),
        ("14.03.2024", "2024-03-14"),
        ("05/05/2025", "2025-05-05"),
    ],
)
def test_dates_are_normalised(surface: str, iso: str) -> None:
    fact = derive_facts(f"It was signed on {surface}.")[0]
    assert (fact.kind, fact.value) == ("date", iso)


@pytest.mark.parametrize("surface", ["31 February 2024", "2024-13-01", "45/45/2024", "99 March 2024", "1234-5678"])
def test_impossible_dates_give_no_fact(surface: str) -> None:
    assert derive_facts(f"Signed {surface}.") == ()


def test_an_ambiguous_date_is_marked_and_takes_no_part_in_arithmetic() -> None:
    facts = derive_facts("From 03/04/2025 to 1 May 2025.")
    assert [f.kind for f in facts] == ["ambiguous_date", "date"]
    assert facts[0].text == "03/04/2025 is ambiguous: 2025-03-04 or 2025-04-03"


def test_days_between_are_exact_and_compared_with_stated_durations() -> None:
    material = "Received 26 May 2025. Term ends 30 June 2025. Notice: thirty (30) days. Cure: two weeks."
    assert "26 May 2025 to 30 June 2025: 35 days, more than 2 weeks, more than 30 days" in texts(material)
    assert "1 May 2025 to 31 May 2025: 30 days, exactly 30 days" in texts("30 days from 1 May 2025 to 31 May 2025.")


def test_counts_of_the_same_thing_are_compared() -> None:
    assert texts("More than 20 failed logins fire; 23 failed logins were seen.") == ["23 failed logins is more than 20 failed logins"]
    assert texts("Engine 9 stands ready. Truck 7 stands ready.") == []
    assert texts("Within 20 port scans all is well. Detected 22 port scans.") == ["22 port scans is more than 20 port scans"]
    assert texts("At 20 port scans a day nothing fires. We saw 22 port scans.") == ["22 port scans is more than 20 port scans"]
    assert texts("More than 50 port scans fire. Host dns-1, user Frank, 53 port scans.") == ["53 port scans is more than 50 port scans"]
    assert texts("Counted: 23 failed logins by Ann. 20 failed logins a day are normal.") == [
        "23 failed logins is more than 20 failed logins"
    ]
    assert texts("Wait 20 minutes, then 30 minutes.") == []


@pytest.mark.parametrize(
    ("material", "expected"),
    [
        ("Failed logins above 42 count. There were 45 failed logins on 3 May 2024.", ["45 failed logins is more than 42 failed logins"]),
        ("The limit for late-night queries is 9: 12 late-night queries.", ["12 late-night queries is more than 9 late-night queries"]),
        ("Ticket 77 names no number. 12 failed logins were seen.", []),
        ("Failed logins over 30, within 5 minutes. 40 failed logins.", ["40 failed logins is more than 30 failed logins"]),
        ("Failed logins: 3, 4 or 5. 40 failed logins.", []),
        ("Failed logins above 20% count, and 40 failed logins.", []),
        ("Engine 9 saw failed logins. There were 40 failed logins.", []),
        ("Calls after 31 and calls after 13 minutes.", []),
    ],
)
def test_counts_apart_from_what_they_count(material: str, expected: list[str]) -> None:
    assert [fact.text for fact in derive_facts(material) if fact.kind == "comparison"] == expected


def test_facts_know_where_they_come_from() -> None:
    text = "Given 3 May 2024, again 3 May 2024; ends 2024-06-01. $500 less $20. Failed logins over 30: 45 failed logins."
    found = {fact.text: [text[at : at + 4] for at in fact.at] for fact in derive_facts(text)}
    assert found == {
        "3 May 2024 is 2024-05-03 Friday": ["3 Ma", "3 Ma"],
        "2024-06-01 is Saturday": ["2024"],
        "3 May 2024 to 2024-06-01: 29 days": ["3 Ma", "3 Ma", "2024"],
        "45 failed logins is more than 30 failed logins": ["45 f", "30: "],
        "$500 - $20 = 480": ["$500", "$20."],
    }


@pytest.mark.parametrize(
    ("material", "expected"),
    [
        ("The deposit is $1,800. Damage is $250.", "$1,800 - $250 = 1550"),
        ("Damage USD 250, deposit USD 1800.50.", "USD 1800.50 - USD 250 = 1550.5"),
        ("250 dollars of 1800 dollars", "1800 dollars - 250 dollars = 1550"),
        ("A limit of $1,000; USD 850 requested.", "$1,000 - USD 850 = 150"),
        ("A limit of 1000 dollars; US$850 requested.", "1000 dollars - US$850 = 150"),
        ("A limit of 1000 euros; €850 requested.", "1000 euros - €850 = 150"),
    ],
)
def test_differences_of_amounts(material: str, expected: str) -> None:
    assert texts(material) == [expected]


def test_amounts_of_different_currencies_are_not_subtracted() -> None:
    assert texts("It costs $100 or €90.") == []
    assert texts("It costs $100, USD 90 or CAD 80.") == []


def test_the_number_of_facts_is_bounded() -> None:
    many = " ".join(f"{d} March {y}." for y in range(2000, 2040) for d in range(1, 29))
    facts = derive_facts(many + " ".join(f" ${n}" for n in range(100, 400)))
    assert len([f for f in facts if f.kind == "date"]) == MAX_DATES
    assert len([f for f in facts if f.kind == "days_between"]) == MAX_PAIRS
    assert len([f for f in facts if f.kind == "difference"]) == MAX_AMOUNTS * (MAX_AMOUNTS - 1) // 2


@pytest.mark.parametrize(
    "material",
    [
        "He paid $5 million; she paid $300,000.",
        "Revenue $1.5m vs $2.5m",
        "$12.5k vs $300",
        "a loss of -$50 and a gain of $20; ($30)",
        "$5 per hour, $200 total",
        "$10-20 and $5",
        "in 2023 sales fell and in 2024 sales rose",
        "clause 4 applies as clause 7 applies",
        "at 14:30 guests and 15:45 guests",
        "over 1 000 failed logins and 20 failed logins",
        "1 May 0045",
        "5 March 20245",
        "dismay 5, 2024",
        "version 5.12.2024.1",
    ],
)
def test_what_only_looks_like_a_quantity_gives_no_fact(material: str) -> None:
    assert texts(material) == []


@pytest.mark.parametrize("prefix", ["1,500 days", "1/2 day notice", "one day someone said"])
def test_only_whole_durations_are_compared(prefix: str) -> None:
    assert texts(f"{prefix}, 1 May 2020 to 1 May 2021")[-1] == "1 May 2020 to 1 May 2021: 365 days"


@pytest.mark.parametrize("text", ["seven ", "1,", "5 cats ", "5 fat cats ", "$1 ", "1 May ", "2024-01-01 "])
def test_long_repetitive_material_is_read_to_the_end(text: str) -> None:
    # Quadratic searches would take minutes on these; the bound on the number of facts is what is asserted.
    assert len(derive_facts(text * 40_000)) < 60


def test_no_numbers_no_facts() -> None:
    assert derive_facts("Nothing to compute here, not even on a Monday.") == ()
