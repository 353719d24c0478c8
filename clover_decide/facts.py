"""Derived facts: dates, durations and amounts found in the material, and the exact arithmetic between them.

Arithmetic belongs in code, judgement in the model. Candidates are found by compact expressions and normalised by
libraries (python-dateutil, text2num, price-parser). A numeric date that reads two ways (03/04/2025) yields a fact
saying so, and takes part in no arithmetic.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, islice
from typing import Literal, NamedTuple

MAX_DATES = 6
MAX_PAIRS = 8
MAX_DURATIONS = 4
MAX_AMOUNTS = 4
MAX_COMPARISONS = 4
MAX_NOUNS = 64
"""Things counted that are looked for; without a bound a long text of many would take minutes."""
MAX_MENTIONS = 4

# Repetitions are bounded, so that no text can make a search slow.
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_YEAR = r"[1-9]\d{3}(?!\d)"
_DATE = re.compile(
    rf"(?<![\w/.-])(?:(?P<iso>{_YEAR}-\d{{2}}-\d{{2}})(?![\d-])"
    rf"|(?P<numeric>\d{{1,2}}[/.]\d{{1,2}}[/.]{_YEAR})(?![/.]\d)"
    rf"|(?P<words>\d{{1,2}}(?:st|nd|rd|th)?(?: day)?(?: of)? {_MONTH},? {_YEAR}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}))",
    re.IGNORECASE,
)
_NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)"
)
_DURATION = re.compile(
    rf"(?<![\w.,/:-])(?P<count>\d{{1,4}}|{_NUMBER_WORD}(?:[ -](?:and )?{_NUMBER_WORD}){{0,6}})(?: \(\d{{1,4}}\))?"
    rf"[ -](?:calendar |full |clear )?(?P<unit>day|week)s?\b",
    re.IGNORECASE,
)
_CURRENCY = r"(?:USD|EUR|GBP|CHF|CAD|AUD)"
_CURRENCIES = {
    "us$": "usd",
    "dollars": "$",
    "ca$": "cad",
    "au$": "aud",
    "€": "eur",
    "euros": "eur",
    "£": "gbp",
    "pounds": "gbp",
}
_FIGURE = r"\d(?:[\d,.']{0,14}\d)?"
# No sign, range, rate, bracket or magnitude word around an amount: those change what the figure means.
_AMOUNT = re.compile(
    rf"(?<![\w.,'(-])(?<![-(] )(?:(?:US|CA|AU)?[$€£]{_FIGURE}|{_CURRENCY} ?{_FIGURE}"
    rf"|{_FIGURE} ?(?:{_CURRENCY}|dollars|euros|pounds)\b)"
    r"(?![\d%]|[.,'/-]\d|[kKmMbB]n?\b| ?(?:thousand|million|billion|per|an?|each|/)\b)"
)
_COUNT = re.compile(r"(?<![\w.,/:#$€£-])(?<!\d )(?P<count>\d{1,6}) (?P<noun>(?:[A-Za-z]{2,20}-)?[A-Za-z]{2,20}[ -][A-Za-z]{2,20}s)\b")
_BARE = re.compile(r"(?<![\w.,/:#$€£-])\d{1,6}(?![\w%/-]|[.,:]\d)")
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s)[^.!?\n]*)*")
_VERBS = frozenset(
    re.findall(
        r"\w+",
        "is was has does this its as us plus less always stops opens applies runs needs gets goes takes comes "
        "and or but for by at of in on to per",
    )
)
_LEADS = frozenset(
    re.findall(
        r"\w+",
        "over above exactly about only than to least most exceeding some all the after nearly with at from by beyond "
        "past under below between until since during if once when every any each just for in on of within around "
        "before without roughly approximately detected logged counted recorded observed there another",
    )
)
_TIME_UNIT = re.compile(r"(?:second|minute|hour|day|week|month|year|dollar|euro|pound)s$", re.IGNORECASE)


@dataclass(frozen=True)
class Fact:
    """One derived fact. `text` is what the model reads; `value` is exact (days for differences, ISO for dates).

    `at` are the characters of the material where what it is derived from begins.
    """

    kind: Literal["date", "ambiguous_date", "days_between", "comparison", "difference", "given"]
    text: str
    value: str | int | None = None
    at: tuple[int, ...] = ()


def derive_facts(text: str) -> tuple[Fact, ...]:
    """Facts of a material in a fixed order: dates, days between dates (compared with stated durations), amounts."""
    dates = _dates(text)
    durations = _durations(text)
    facts: list[Fact] = [_date_fact(surface, found) for surface, found in dates.items()]
    exact = sorted({found.readings[0]: s for s, found in reversed(dates.items()) if len(found.readings) == 1}.items())
    pairs = list(combinations(exact, 2))
    # Close dates are the ones compared in practice; keep those when there are too many pairs.
    pairs = sorted(sorted(pairs, key=lambda p: (p[1][0] - p[0][0]).days)[:MAX_PAIRS])
    for (first, first_text), (second, second_text) in pairs:
        days = (second - first).days
        line = f"{first_text} to {second_text}: {days} days{_compared(days, durations)}"
        facts.append(Fact("days_between", line, days, (*dates[first_text].at, *dates[second_text].at)))
    facts.extend(_comparisons(text))
    facts.extend(_differences(text))
    return tuple(facts)


def caller_facts(lines: Iterable[str]) -> tuple[Fact, ...]:
    """Facts the caller states; they are shown to the model as given."""
    return tuple(Fact("given", line.strip()) for line in lines)


def dates_in(text: str) -> Iterator[dt.date]:
    """Every date of a text in every way that it can be read, in order of appearance, repeated ones too."""
    for match in _DATE.finditer(text):
        yield from _numeric_readings(match.group()) if match.group("numeric") else _reading(match.group())


class _Dated(NamedTuple):
    """The possible readings of a date as it stands, and where it stands."""

    readings: tuple[dt.date, ...]
    at: tuple[int, ...]


def _dates(text: str) -> dict[str, _Dated]:
    """Distinct surfaces in order of appearance."""
    found: dict[str, _Dated] = {}
    for match in _DATE.finditer(text):
        surface = match.group()
        if known := found.get(surface):
            found[surface] = _Dated(known.readings, (*known.at, match.start())[:MAX_MENTIONS])
        elif len(found) < MAX_DATES and (readings := _numeric_readings(surface) if match.group("numeric") else _reading(surface)):
            found[surface] = _Dated(readings, (match.start(),))
    return found


def _reading(surface: str) -> tuple[dt.date, ...]:
    from dateutil import parser

    cleaned = re.sub(r"(?<=\d)(st|nd|rd|th)\b|\bday of\b|\bof\b", " ", surface, flags=re.IGNORECASE)
    try:
        return (parser.parse(cleaned, default=dt.datetime(2000, 1, 1)).date(),)
    except (ValueError, OverflowError):
        return ()


def _numeric_readings(surface: str) -> tuple[dt.date, ...]:
    a, b, year = (int(part) for part in re.split(r"[/.]", surface))
    orders = [(b, a)] if "." in surface else [(a, b), (b, a)]
    readings: list[dt.date] = []
    for month, day in orders:
        try:
            readings.append(dt.date(year, month, day))
        except ValueError:
            continue
    return tuple(dict.fromkeys(readings))


def _date_fact(surface: str, found: _Dated) -> Fact:
    if len(found.readings) > 1:
        either = " or ".join(r.isoformat() for r in sorted(found.readings))
        return Fact("ambiguous_date", f"{surface} is ambiguous: {either}", at=found.at)
    day = min(found.readings)
    iso = day.isoformat()
    return Fact("date", f"{surface} is {day:%A}" if surface == iso else f"{surface} is {iso} {day:%A}", iso, found.at)


def _durations(text: str) -> list[tuple[int, str]]:
    """Distinct stated durations in days, with a short name, ascending."""
    from text_to_num import text2num

    found: dict[int, str] = {}
    for match in _DURATION.finditer(text):
        count_text = match.group("count").lower()
        try:
            count = int(count_text) if count_text.isdigit() else text2num(count_text, "en")
        except ValueError:
            continue
        if count_text == "one":
            continue  # "one day" is more often a manner of speaking than a period
        unit = match.group("unit").lower()
        days = count * (7 if unit == "week" else 1)
        found.setdefault(days, f"{count} {unit}s")
    return sorted(found.items())[:MAX_DURATIONS]


def _compared(days: int, durations: list[tuple[int, str]]) -> str:
    if not durations:
        return ""
    words = [f"{'more than' if days > d else 'less than' if days < d else 'exactly'} {name}" for d, name in durations]
    return ", " + ", ".join(words)


def _comparisons(text: str) -> list[Fact]:
    """Counts of the same thing compared: "42 failed logins" with "40 failed logins", or with "failed logins above 40".

    Only an adjective and a plural count as a thing; single words are too often verbs ("gate 4 opens").
    """
    counts: dict[str, dict[int, tuple[int, ...]]] = {}
    for match in _COUNT.finditer(text):
        noun = match.group("noun").lower()
        if len(counts) == MAX_NOUNS and noun not in counts:
            continue
        if not (_VERBS & set(re.split("[ -]", noun)) or _TIME_UNIT.search(noun) or _names(text, match.start())):
            _mention(counts.setdefault(noun, {}), int(match.group("count")), match.start())
    for noun, value, at in _apart(text, list(counts)) if counts else ():
        _mention(counts[noun], value, at)
    facts = (
        Fact("comparison", f"{max(a, b)} {noun} is more than {min(a, b)} {noun}", at=(*values[a], *values[b]))
        for noun, values in counts.items()
        for a, b in combinations(list(values)[:MAX_COMPARISONS], 2)
    )
    return list(islice(facts, MAX_COMPARISONS))


def _mention(values: dict[int, tuple[int, ...]], value: int, at: int) -> None:
    known = values.get(value, ())
    values[value] = known if at in known else (*known, at)[:MAX_MENTIONS]


def _apart(text: str, nouns: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """(noun, number, where) of numbers apart from what they count: one or two bare ones in a sentence that speaks of one such thing."""
    for match in _SENTENCE.finditer(text):
        sentence = _DATE.sub(lambda date: " " * len(date.group()), match.group())
        said = [noun for noun in nouns if noun in sentence.lower()]
        if len(said) == 1:
            found = [m for m in _BARE.finditer(sentence) if not _names(sentence, m.start()) and not _unit_after(sentence, m.end())]
            if len(found) <= 2:
                yield from ((said[0], int(m.group()), match.start() + m.start()) for m in found)


def _unit_after(text: str, at: int) -> bool:
    """Whether the number that ends at `at` counts time or money."""
    following = re.match(r"[ -]([A-Za-z]+)", text[at : at + 24])
    return following is not None and _TIME_UNIT.search(following.group(1).rstrip("s") + "s") is not None


def _names(text: str, at: int) -> bool:
    """Whether the number at `at` belongs to a name: "Engine 9 stands ready" counts nothing."""
    before = text[max(0, at - 40) : at].split()[-1:]
    # A word that ends a sentence or a phrase names nothing after it.
    return bool(before) and before[0][0].isupper() and before[0][-1] not in ".!?:;," and before[0].lower() not in _LEADS


def _currency(surface: str) -> str:
    """One name a currency, however it is written; a bare "$" stays one."""
    mark = re.sub(r"[\d.,' ]", "", surface).lower()
    return _CURRENCIES.get(mark, mark)


def _differences(text: str) -> list[Fact]:
    from price_parser import Price

    found = [(match.group().strip(), match.start()) for match in _AMOUNT.finditer(text)]
    # "$" is the dollar of the text: the US one, unless the text has another.
    alone = not {"cad", "aud"} & {_currency(surface) for surface, _ in found}
    amounts: dict[tuple[str, Decimal], str] = {}
    places: dict[str, tuple[int, ...]] = {}
    for surface, at in found:
        unit, price = _currency(surface), Price.fromstring(surface)
        if price.amount is not None:
            shown = amounts.setdefault(("usd" if unit == "$" and alone else unit, price.amount), surface)
            places[shown] = (*places.get(shown, ()), at)[:MAX_MENTIONS]
    items = list(amounts.items())[:MAX_AMOUNTS]
    facts: list[Fact] = []
    for ((unit_a, a), text_a), ((unit_b, b), text_b) in combinations(items, 2):
        if unit_a != unit_b:
            continue
        if a < b:
            (a, text_a), (b, text_b) = (b, text_b), (a, text_a)
        difference = a - b
        plain = format(difference.normalize(), "f")
        facts.append(Fact("difference", f"{text_a} - {text_b} = {plain}", plain, (*places[text_a], *places[text_b])))
    return facts
