"""Wording of a world: phrasebooks, formats of dates, amounts and numbers."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from num2words import num2words

Split = Literal["test", "val"]
FOLDER = Path(__file__).resolve().parent.parent / "phrases"


@dataclass(frozen=True)
class Money:
    """An amount in dollars."""

    amount: int | Decimal


@dataclass(frozen=True)
class Days:
    """A number of days, written with its unit."""

    count: int


@cache
def book(split: Split, domain: str) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Part ("shared" or a structure) -> clause or "q_" question -> phrasings."""
    return yaml.safe_load((FOLDER / split / f"{domain}.yaml").read_text())


@cache
def lexicon(split: Split) -> Mapping[str, Sequence[str]]:
    """Kind -> names."""
    return yaml.safe_load((FOLDER / split / "names.yaml").read_text())


class Writer:
    """Words the clauses of one case.

    Every choice is drawn from the seed and the clause's place alone, so a case in which one fact differs is worded
    alike in every clause that does not state it.
    """

    def __init__(self, split: Split, domain: str, structure: str, seed: str) -> None:
        self._split, self._seed = split, seed
        self.shared = book(split, domain)["shared"]
        self._books = book(split, domain)[structure], self.shared
        self.used: dict[str, int] = {}
        """Place -> index of the phrasing taken."""

    def say(self, key: str, place: str = "", /, **values: Any) -> str:
        """One phrasing of a clause, its first letter capitalised; `place` sets apart clauses that share a key."""
        place = place or key
        rng = random.Random(f"{self._seed}/{place}")
        phrasings = next(part[key] for part in self._books if key in part)
        index = rng.randrange(len(phrasings))
        self.used[f"{place}:{key}" if place != key else key] = index
        text = phrasings[index].format(**{name: written(value, rng) for name, value in values.items()})
        return text[0].upper() + text[1:]

    def two(self, key: str, **values: Any) -> tuple[str, str]:
        """Two different phrasings of a question: the one asked and a paraphrase."""
        rng = random.Random(f"{self._seed}/{key}")
        first, second = rng.sample(list(self._books[0][key]), 2)
        shown = {name: written(value, rng) for name, value in values.items()}
        return tuple(text[0].upper() + text[1:] for text in (first.format(**shown), second.format(**shown)))  # pyright: ignore[reportReturnType]

    @property
    def remarks(self) -> Sequence[str]:
        """The irrelevant sentences of the domain."""
        return self.shared["filler"]

    def names(self, kind: str) -> Sequence[str]:
        """All names of a kind."""
        return lexicon(self._split)[kind]

    def fillers(self, count: int, **values: Any) -> list[str]:
        """Distinct irrelevant sentences."""
        rng = random.Random(f"{self._seed}/fillers")
        pool = self.remarks
        picked = rng.sample(range(len(pool)), min(count, len(pool)))
        self.used |= {f"filler{i}:filler": index for i, index in enumerate(picked)}
        texts = [pool[i].format(**values) for i in picked]
        return [text[0].upper() + text[1:] for text in texts]


def written(value: Any, rng: random.Random) -> str:
    """A value as people write it; dates and amounts in one of several unambiguous formats."""
    match value:
        case dt.date():
            return _date(value, rng)
        case Money(amount):
            figure = f"{amount:,}" if rng.random() < 0.6 else f"{amount}"
            return rng.choice([f"${figure}", f"${figure}", f"USD {figure}", f"{figure} dollars"])
        case Days(count):
            word = num2words(count)
            return rng.choice([f"{count} days", f"{count} days", f"{word} days", f"{word} ({count}) days"])
        case _:
            return str(value)


def _date(day: dt.date, rng: random.Random) -> str:
    ordinal = num2words(day.day, to="ordinal_num")
    return rng.choice(
        [
            f"{day.day} {day:%B} {day.year}",
            f"{day:%B} {day.day}, {day.year}",
            day.isoformat(),
            f"{day.day} {day:%b} {day.year}",
            f"{ordinal} {day:%B} {day.year}",
            f"{day:%B} {ordinal}, {day.year}",
        ]
    )
