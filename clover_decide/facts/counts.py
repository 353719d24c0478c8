"""Counts of the same thing, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from clover_decide.facts.base import MAX_MENTIONS, Fact
from clover_decide.facts.dates import DATE, MONTH

MAX_COMPARISONS = 4
MAX_NOUNS = 64
"""Things counted that are looked for; without a bound a long text of many would take minutes."""

_COUNT = re.compile(
    r"(?<![\w.,/:#$€£-])(?<!\d )(?P<count>\d{1,3}(?:,\d{3}){1,2}|\d{1,6}) (?P<noun>(?:[A-Za-z]{2,20}-)?[A-Za-z]{2,20}[ -][A-Za-z]{2,20}s)\b"
)
_BARE = re.compile(r"(?<![\w.,/:#$€£-])\d{1,6}(?![\w%/-]|[.,:]\d)")
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s)[^.!?\n]*)*")
_NO_THINGS = frozenset(
    re.findall(
        r"\w+",
        "is was has does this its as us plus less always stops opens applies runs needs gets goes takes comes covers lists shows says "
        "and or but for by at of in on to per am pm also across versus access process unless towards besides perhaps afterwards",
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
_LABELS = re.compile(
    r"(?:invoice|order|page|section|clause|chapter|version|step|figure|number|no|nr)\.?$",
    re.IGNORECASE,
)
"""What a number after it is the name of."""
_LIMITS = frozenset(re.findall(r"\w+", "than over above exceeding exceeds exceed exceeded beyond past"))
_LIMIT_SAID = re.compile(r"\b(?:limit|threshold|maximum|ceiling|cap)\b[^,;]{0,60}$", re.IGNORECASE)
_YEAR_AFTER = frozenset(re.findall(r"\w+", "in since until during of by from before after"))
_TIME_UNIT = re.compile(r"(?:second|minute|hour|day|week|month|year|dollar|euro|pound)s$", re.IGNORECASE)


def comparisons(text: str) -> list[Fact]:
    """Counts of the same thing compared: "42 failed logins" with "40 failed logins", or with "failed logins above 40".

    Only an adjective and a plural count as a thing; single words are too often verbs ("gate 4 opens").
    """
    plain = DATE.sub(lambda date: "|" * len(date.group()), text)
    counts: dict[str, dict[int, tuple[int, ...]]] = {}
    for match in _COUNT.finditer(plain):
        noun = match["noun"].lower()
        if len(counts) == MAX_NOUNS and noun not in counts:
            continue
        if _is_thing(noun) and not _names(plain, match.start(), match["count"]):
            _mention(counts.setdefault(noun, {}), int(match["count"].replace(",", "")), match.start())
    for noun, value, at in _apart(plain, list(counts)) if counts else ():
        _mention(counts[noun], value, at)
    facts = (
        Fact("comparison", f"{max(a, b)} {noun} is more than {min(a, b)} {noun}", at=(*values[a], *values[b]))
        for noun, values in counts.items()
        for a, b in combinations(list(values)[:MAX_COMPARISONS], 2)
    )
    return list(islice(facts, MAX_COMPARISONS))


def _is_thing(noun: str) -> bool:
    words = re.split("[ -]", noun)
    return not (_NO_THINGS & set(words) or _TIME_UNIT.search(noun) or re.fullmatch(MONTH, words[0], re.IGNORECASE))


def _mention(values: dict[int, tuple[int, ...]], value: int, at: int) -> None:
    known = values.get(value, ())
    values[value] = known if at in known else (*known, at)[:MAX_MENTIONS]


def _apart(text: str, nouns: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """(noun, number, where) of numbers apart from what they count: one or two bare ones in a sentence that speaks of one such thing. Where
    the sentence also counts it outright, only what a limit is said of."""
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        said = [noun for noun in nouns if noun in sentence.lower()]
        if len(said) != 1:
            continue
        found = [m for m in _BARE.finditer(sentence) if not _names(sentence, m.start(), m.group()) and not _unit_after(sentence, m.end())]
        outright = any(m["noun"].lower() == said[0] for m in _COUNT.finditer(sentence))
        if len(found) <= 2:
            kept = [m for m in found if not outright or _is_limit(sentence, m.start())]
            yield from ((said[0], int(m.group()), match.start() + m.start()) for m in kept)


def _is_limit(sentence: str, at: int) -> bool:
    return _word_before(sentence, at).lower() in _LIMITS or _LIMIT_SAID.search(sentence[:at]) is not None


def _unit_after(text: str, at: int) -> bool:
    """Whether the number that ends at `at` counts time or money."""
    following = re.match(r"[ -]([A-Za-z]+)", text[at : at + 24])
    return following is not None and _TIME_UNIT.search(following.group(1).rstrip("s") + "s") is not None


def _word_before(text: str, at: int) -> str:
    return next(iter(text[max(0, at - 40) : at].split()[-1:]), "")


def _names(text: str, at: int, number: str) -> bool:
    """Whether the number at `at` is part of a name, or a year: "Engine 9 stands ready" counts nothing."""
    before = _word_before(text, at)
    if not before:
        return False
    if len(number) == 4 and number[:2] in ("19", "20") and before.lower() in _YEAR_AFTER:
        return True
    # A word that ends a sentence or a phrase names nothing after it, unless it is short for one that does.
    capital = before[0].isupper() and before[-1] not in ".!?:;," and before.lower() not in _LEADS
    return capital or _LABELS.match(before) is not None
