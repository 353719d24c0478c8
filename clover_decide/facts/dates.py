"""Dates and durations, and the days between the dates."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from clover_decide.facts.base import MAX_MENTIONS, Fact, surface

MAX_DATES = 6
MAX_PAIRS = 8
MAX_DURATIONS = 4

# Repetitions are bounded, so that no text can make a search slow. Whitespace may be a line break or a no-break space.
_S = r"\s{1,3}"
MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_YEAR = r"[1-9]\d{3}(?!\d)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
# The second date of a range follows the first without a space.
DATE = re.compile(
    rf"(?:(?<![\w/.-])|(?<=-\d\d/))(?P<iso>{_YEAR}(?:-\d{{2}}-\d{{2}}(?![\d-])|/\d{{2}}/\d{{2}}(?![\d/])))"
    rf"|(?:(?<![\w/.-])(?<!\d:)|(?<=\d{{4}}-))(?:(?P<numeric>\d{{1,2}}(?P<mark>[/.-])\d{{1,2}}(?P=mark){_YEAR})(?![/.]\d)"
    rf"|(?P<words>{_DAY}(?:{_S}day)?(?:{_S}of)?{_S}{MONTH},?{_S}{_YEAR}|\d{{1,2}}-{MONTH}-{_YEAR}"
    rf"|{MONTH}{_S}{_DAY}(?:,\s{{0,3}}|{_S}){_YEAR}))",
    re.IGNORECASE,
)
_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)"
)
_WORDS = rf"{_WORD}(?:[\s-](?:and\s)?{_WORD}){{0,6}}"
_DURATION = re.compile(
    rf"(?<![\w.,/:-])(?P<count>\d{{1,4}}|{_WORDS})(?P<again>\s?\((?:\d{{1,4}}|{_WORDS})\))?"
    rf"(?:{_S}|-)(?:(?:calendar|full|clear){_S})?(?P<unit>day|week)(?P<plural>s?)\b(?!-)",
    re.IGNORECASE,
)
# Together with another unit a duration is something else.
_LARGER = re.compile(r"(?:year|month|week)s?(?:,| and)? $")
_SMALLER = re.compile(r"(?:,| and)? \S{1,12} days?\b")
_YEARS = range(1900, 2101)


class _Dated(NamedTuple):
    """The possible readings of a date as it stands, and where it stands."""

    readings: tuple[dt.date, ...]
    at: tuple[int, ...]


def date_facts(text: str) -> list[Fact]:
    """What days the dates are, and how many days lie between those that read one way, compared with the durations of the text."""
    dates = _dates(text)
    durations = _durations(text)
    facts: list[Fact] = [_date_fact(shown, found) for shown, found in dates.items()]
    exact = sorted({found.readings[0]: s for s, found in reversed(dates.items()) if len(found.readings) == 1}.items())
    # Close dates are the ones compared in practice; keep those when there are too many pairs.
    pairs = sorted(sorted(combinations(exact, 2), key=lambda p: (p[1][0] - p[0][0]).days)[:MAX_PAIRS])
    for (first, first_text), (second, second_text) in pairs:
        days = (second - first).days
        line = f"{first_text} to {second_text}: {days} days{_compared(days, durations)}"
        facts.append(Fact("days_between", line, days, (*dates[first_text].at, *dates[second_text].at)))
    return facts


def dates_in(text: str) -> Iterator[dt.date]:
    """Every date of a text in every way that it can be read, in order of appearance, repeated ones too."""
    for match in DATE.finditer(text):
        yield from _readings(match)


def _dates(text: str) -> dict[str, _Dated]:
    """Distinct surfaces in order of appearance."""
    found: dict[str, _Dated] = {}
    for match in DATE.finditer(text):
        shown = surface(match.group())
        if known := found.get(shown):
            found[shown] = _Dated(known.readings, (*known.at, match.start())[:MAX_MENTIONS])
        elif len(found) < MAX_DATES and (readings := _readings(match)):
            found[shown] = _Dated(readings, (match.start(),))
    return found


def _readings(match: re.Match[str]) -> tuple[dt.date, ...]:
    """The days that a date may mean; none if it is no date, such as 31 February."""
    from dateutil import parser

    if match["numeric"]:
        return _numeric(match["numeric"], match["mark"])
    plain = surface(match.group())
    cleaned = re.sub(r"(?<=\d)(st|nd|rd|th)\b|\bday of\b|\bof\b|,", " ", plain, flags=re.IGNORECASE)
    try:
        return (parser.parse(cleaned, default=dt.datetime(2000, 1, 1)).date(),)
    except (ValueError, OverflowError):
        return ()


def _numeric(shown: str, mark: str) -> tuple[dt.date, ...]:
    """Day and month in either order; between dots the day comes first."""
    a, b, year = (int(part) for part in shown.split(mark))
    readings: list[dt.date] = []
    for month, day in [(b, a)] if mark == "." else [(a, b), (b, a)]:
        try:
            readings.append(dt.date(year, month, day))
        except ValueError:
            continue
    return tuple(dict.fromkeys(readings))


def _date_fact(shown: str, found: _Dated) -> Fact:
    if len(found.readings) > 1:
        either = " or ".join(r.isoformat() for r in sorted(found.readings))
        return Fact("ambiguous_date", f"{shown} is ambiguous: {either}", at=found.at)
    day = min(found.readings)
    iso = day.isoformat()
    return Fact("date", f"{shown} is {day:%A}" if shown == iso else f"{shown} is {iso} {day:%A}", iso, found.at)


def _durations(text: str) -> list[tuple[int, str]]:
    """Distinct stated durations in days, with a short name, ascending."""
    found: dict[int, str] = {}
    for match in _DURATION.finditer(text):
        unit = match["unit"].lower()
        before = re.sub(r"\s+", " ", text[max(0, match.start() - 24) : match.start()])
        after = re.sub(r"\s+", " ", text[match.end() : match.end() + 24])
        count = _count(match["count"].lower(), doubled=match["again"] is not None)
        compound = _LARGER.search(before) or (unit == "week" and _SMALLER.match(after))
        if count is None or compound or (count in _YEARS and not match["plural"]):
            continue
        found.setdefault(count * (7 if unit == "week" else 1), f"{count} {unit}s")
    return sorted(found.items())[:MAX_DURATIONS]


def _count(written: str, *, doubled: bool) -> int | None:
    """The number of a duration. "One day" is more often a manner of speaking than a period; "one (1) day" is a period."""
    from text_to_num import text2num

    if written.isdigit():
        return int(written)
    if written == "one" and not doubled:
        return None
    # "Between thirty and sixty days" is no number; the days belong to the last one.
    for part in (written, re.split(r"\sand\s", written)[-1]):
        try:
            return text2num(surface(part), "en")
        except ValueError:
            continue
    return None


def _compared(days: int, durations: list[tuple[int, str]]) -> str:
    if not durations:
        return ""
    words = [f"{'more than' if days > d else 'less than' if days < d else 'exactly'} {name}" for d, name in durations]
    return ", " + ", ".join(words)
