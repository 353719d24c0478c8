"""What a generator produces: a linked group with gold answers, and the phrasebook it is worded from."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from num2words import num2words

from clover_decide.questions import AnyQuestion

Split = Literal["train", "val", "heldout"]
PHRASES = Path(__file__).resolve().parent.parent / "phrases"

REF = "[A-Z]{2}-[0-9]{4}"
"""The pattern of `Writer.ref`."""
REMARKS = 30
"""Irrelevant sentences that a world has in store; a group takes as many as it is asked to."""

SUBJECT = "subject"
"""The step of evidence that is the question's own mention of its subject: there the look-up has brought what it found."""


def later(clause: str, text: str, *mentions: str) -> str:
    """A step to the mention that comes last in a clause: only there has a causal reading seen them all."""

    def begin(mention: str) -> int:
        return max((found.start() for found in re.finditer(rf"(?<!\w){re.escape(mention)}(?!\w)", text)), default=-1)

    return f"{clause}#{max(mentions, key=begin)}"


@dataclass(frozen=True)
class Guide:
    """How the answers follow, for a training signal beyond the answers themselves.

    A step is where to look: the name of a clause, a piece of a derived fact, or either with "#text" for a text in it, or SUBJECT.
    `evidence[id]`: the steps to an answer. `builds[id]`: answers that this one follows from. `next_step[id]`: where an
    answer, once known, is looked up for those that build on it. `subject`: the name that questions are about, and where
    it is looked up. `same`: pairs of steps, a mention in a fact and the one in the text that it was derived from.
    `relations`: for each sentence that relates two mentions, the step to the later one and to the one that a look-up wants.
    `copies[id]`: where an answer that is copied stands.
    """

    evidence: Mapping[str, tuple[str, ...]]
    builds: Mapping[str, tuple[str, ...]]
    next_step: Mapping[str, str]
    subject: tuple[str, str] | None = None
    same: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """Everything that is true in one instance, worded, before anything is asked.

    `clauses` are the sentences that carry facts and rules, by name; `needs[question]` names those its answer rests on.
    `rules` names the clauses that every case under the same setting shares word for word.
    `answers[id]` is the gold value, by execution of the rules, in the type a decision would return.
    `shown[id]` names the clauses that a reader would point to, where they are fewer than `needs[id]`.
    `silent` names the clauses whose absence is an answer of its own: they are never left out.
    """

    family: str
    structure: str
    clauses: Mapping[str, str]
    distractors: Sequence[str]
    questions: Mapping[str, AnyQuestion]
    answers: Mapping[str, Any]
    needs: Mapping[str, frozenset[str]]
    rules: frozenset[str]
    guide: Guide
    shown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Group:
    """One material with the linked questions asked about it, in order, and their gold answers."""

    family: str
    structure: str
    material: str
    questions: Mapping[str, AnyQuestion]
    answers: Mapping[str, Any]


def compose(
    rng: random.Random,
    world: World,
    asked: Sequence[str],
    *,
    complete: bool,
    distractors: int,
    first: float = 0.0,
    left_out: str | None = None,
) -> Group:
    """Ask some questions: all clauses if `complete`, else those the asked ones need, in random order with distractors.

    One clause may be left out, so that what depends on it cannot be known.

    `first` is the share of shared clauses and distractors that come before any of the case's own, as a policy may precede
    its incident.
    """
    needed = frozenset().union(*(world.needs[key] for key in asked))
    used = [name for name in world.clauses if (complete or name in needed) and name != left_out]
    shared = [world.clauses[name] for name in used if name in world.rules]
    shared += rng.sample(list(world.distractors), min(len(world.distractors), distractors))
    own = [world.clauses[name] for name in used if name not in world.rules]
    rng.shuffle(shared)
    before = round(first * len(shared))
    rest = shared[before:] + own
    rng.shuffle(rest)
    paragraphs = rng.random() < 0.5
    parts = [part for sentence in shared[:before] + rest for part in (sentence, "\n\n" if paragraphs and rng.random() < 0.25 else " ")]
    questions = {key: world.questions[key] for key in asked}
    return Group(world.family, world.structure, "".join(parts[:-1]), questions, {key: world.answers[key] for key in asked})


@cache
def phrases(split: Split, family: str) -> Mapping[str, Any]:
    """Clause name -> phrasings of one split; for records kind -> its fields and their phrasings; for scenarios, a folder of files,
    name -> scenario.

    No two splits share a sentence (a test compares their skeletons).
    """
    folder = PHRASES / split / family
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else [folder.with_suffix(".yaml")]
    return {name: entry for path in paths for name, entry in yaml.safe_load(path.read_text()).items()}


class Writer:
    """Words clauses, questions and names from one split's phrasebook with one random generator."""

    def __init__(self, rng: random.Random, split: Split, family: str) -> None:
        self.rng = rng
        self.book: Mapping[str, Any] = phrases(split, family)
        self._names = phrases(split, "names")

    def say(self, clause: str, **values: Any) -> str:
        """One phrasing of a clause, its first letter capitalised."""
        return self.fill(self.book[clause], **values)

    def fill(self, phrasings: Sequence[str], **values: Any) -> str:
        """One of several phrasings, its first letter capitalised."""
        text = self.rng.choice(phrasings).format(**values)
        return text[0].upper() + text[1:]

    def names(self, kind: str, count: int) -> list[str]:
        """Distinct names of a kind."""
        return self.rng.sample(self._names[kind], count)

    def date(self, day: dt.date) -> str:
        """A date in one of several unambiguous formats."""
        ordinal = num2words(day.day, to="ordinal_num")
        return self.rng.choice(
            [
                f"{day.day} {day:%B} {day.year}",
                f"{day:%B} {day.day}, {day.year}",
                day.isoformat(),
                f"{day.day} {day:%b} {day.year}",
                f"{ordinal} {day:%B} {day.year}",
                f"{day:%B} {ordinal}, {day.year}",
            ]
        )

    def money(self, amount: float | Decimal) -> str:
        if isinstance(amount, float):
            amount = int(amount) if amount.is_integer() else Decimal(f"{amount:.2f}")
        figure = f"{amount:,}" if self.rng.random() < 0.5 else f"{amount}"
        return self.rng.choice([f"${figure}", f"${figure}", f"USD {figure}", f"{figure} dollars"])

    def days(self, count: int) -> str:
        """A number of days with its unit."""
        word, unit = num2words(count), "day" if count == 1 else "days"
        return self.rng.choice([f"{count} {unit}", f"{count} {unit}", f"{word} {unit}", f"{word} ({count}) {unit}"])

    def ref(self) -> str:
        """The number of a file, unlike any other."""
        letters = "".join(self.rng.choice("ABCDEFGHKLMNPRSTVWXYZ") for _ in range(2))
        return f"{letters}-{self.rng.randrange(1000, 10000)}"

    def remarks(self, count: int, **values: Any) -> list[str]:
        """Up to `count` different irrelevant sentences."""
        pool = self.book["filler"]
        return [self.fill([text], **values) for text in self.rng.sample(pool, min(count, len(pool)))]

    def day(self) -> dt.date:
        """Any day of some years."""
        return dt.date(2019, 1, 1) + dt.timedelta(days=self.rng.randrange(4500))
