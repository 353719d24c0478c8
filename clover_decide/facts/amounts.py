"""Amounts of money of one currency, and their differences."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import combinations

from clover_decide.facts.base import MAX_MENTIONS, Fact, surface

MAX_AMOUNTS = 4

_CODE = r"(?:USD|EUR|GBP|CHF|CAD|AUD)"
_NAMED = r"(?:[Dd]ollars?|DOLLARS?|[Ee]uros?|EUROS?|[Pp]ounds|POUNDS)"
# Groups of three may stand apart by a space or an apostrophe.
_FIGURE = r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,3}(?:[.,]\d{1,2})?(?!\d)|\d(?:[\d,.'’]{0,14}\d)?)"
_GAP = r"[ \u00a0\u202f]?"
_COUNTRY = r"(?: (?:US|Canadian|Australian)\b)?"
# No sign, range, rate, bracket or magnitude word around an amount: those change what the figure means.
_BEFORE = r"(?<![\w.,'’(−–—-])(?<![−–—(-] )(?<!minus )"
_AFTER = (
    r"(?![\d%]|[.,'’/–—-][\d$€£]|\s?[–—-]\s?[$€£\d]"
    r"|[\s-]?(?:k|m|mm|b|bn|tn|mio|mrd)\b|[\s-]?(?:thousand|million|billion|trillion|millionen|milliarden)\b"
    r"|[\s-]?(?:/|(?:per|an?|each|every|pp)\b|p\.a\.)|\s(?:for (?:each|every|a)|hourly|daily|weekly|monthly|yearly|annually)\b"
    r"|\sand \d{1,2} cents\b)"
)
_AMOUNT = re.compile(
    rf"{_BEFORE}(?:(?:{_CODE}{_GAP})?(?:US|CA|AU)?[$€£]{_GAP}{_FIGURE}(?:{_GAP}{_CODE}\b|{_COUNTRY})|{_CODE}{_GAP}{_FIGURE}"
    rf"|{_FIGURE}{_GAP}(?:{_CODE}\b|[€£]|{_NAMED}\b))(?i:{_AFTER})"
)
_WEIGHED = re.compile(r"\b(?:weigh(?:s|ing|ed|t)?|parcels?|kg|lbs?)\b", re.IGNORECASE)
"""Where things are weighed, written-out pounds are a weight."""
_CURRENCIES = {
    "us$": "usd",
    "dollar": "$",
    "dollars": "$",
    "$us": "usd",
    "ca$": "cad",
    "$canadian": "cad",
    "au$": "aud",
    "$australian": "aud",
    "€": "eur",
    "euro": "eur",
    "euros": "eur",
    "£": "gbp",
    "pounds": "gbp",
}


def differences(text: str) -> list[Fact]:
    """Differences between the first few distinct amounts of a currency, the larger one first."""
    found = [(surface(match.group()), match.start()) for match in _AMOUNT.finditer(text)]
    if _WEIGHED.search(text):
        found = [(shown, at) for shown, at in found if not shown.lower().endswith("pounds")]
    # "$" is the dollar of the text: the US one, unless the text has another.
    alone = not {"cad", "aud"} & {_currency(shown) for shown, _ in found}
    amounts: dict[tuple[str, Decimal], str] = {}
    places: dict[str, tuple[int, ...]] = {}
    for shown, at in found:
        unit, value = _currency(shown), _value(shown)
        if value is not None:
            first = amounts.setdefault(("usd" if unit == "$" and alone else unit, value), shown)
            places[first] = (*places.get(first, ()), at)[:MAX_MENTIONS]
    facts: list[Fact] = []
    for ((unit_a, a), text_a), ((unit_b, b), text_b) in combinations(list(amounts.items())[:MAX_AMOUNTS], 2):
        if unit_a != unit_b:
            continue
        if a < b:
            (a, text_a), (b, text_b) = (b, text_b), (a, text_a)
        plain = format((a - b).normalize(), "f")
        facts.append(Fact("difference", f"{text_a} - {text_b} = {plain}", plain, (*places[text_a], *places[text_b])))
    return facts


def _currency(shown: str) -> str:
    """One name a currency, however it is written; a bare "$" stays one."""
    mark = re.sub(r"[\d.,'’\s]", "", shown).lower()
    code = re.search(_CODE, mark, re.IGNORECASE)
    return code.group() if code else _CURRENCIES.get(mark, mark)


def _value(shown: str) -> Decimal | None:
    from price_parser import Price

    figure = re.sub(r"[^\d.,]", "", shown)
    # A figure below one has no thousands to set apart.
    decimal = figure[1] if re.match(r"0[.,]", figure) else None
    return Price.fromstring(figure, decimal_separator=decimal).amount
