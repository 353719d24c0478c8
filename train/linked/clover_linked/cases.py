"""What a structure is, and what a case of it holds."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Date, Integer, Number, Quote, Text
from clover_linked.graph import Graph
from clover_linked.wording import Split, Writer, lexicon

Facts = Mapping[str, Any]


class Draw:
    """Random facts of one world."""

    def __init__(self, split: Split, seed: str) -> None:
        self.rng = random.Random(f"{seed}/facts")
        self.anchor = dt.date(2030, 1, 1)
        """The last day drawn: dates that do not matter lie around it, whatever is changed afterwards."""
        self._names = lexicon(split)

    def names(self, kind: str, count: int) -> list[str]:
        """Distinct names of a kind."""
        return self.rng.sample(list(self._names[kind]), count)

    def name(self, kind: str) -> str:
        return self.names(kind, 1)[0]

    def pick(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def chance(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def day(self) -> dt.date:
        self.anchor = dt.date(2027, 1, 1) + dt.timedelta(days=self.rng.randrange(2900))
        return self.anchor

    def ref(self) -> str:
        letters = "".join(self.rng.choice("ABCDEFGHKLMNPRSTVWXYZ") for _ in range(2))
        return f"{letters}-{self.rng.randrange(1000, 10000)}"

    def near(self, threshold: int, spread: int, low: int = 0) -> int:
        """Half the draws within one unit of the threshold, the others up to `spread` away; never below `low`."""
        if self.chance():
            return max(low, threshold + self.pick(-1, 0, 1))
        return max(low, threshold + self.pick(-1, 1) * self.rng.randrange(2, spread + 1))


@dataclass(frozen=True)
class Rule:
    """A rule between answers: a sentence, and the JSON Schema over the answers object that says the same.

    tells: questions whose answer is a constant of the schema; where one is asked, the rule is not stated.
    """

    text: str
    schema: Mapping[str, Any]
    about: frozenset[str]
    tells: frozenset[str] = frozenset()


def rule(
    text: str,
    when: Mapping[str, Any],
    then: Mapping[str, Any],
    otherwise: Mapping[str, Any] | None = None,
    tells: Sequence[str] = (),
) -> Rule:
    """If the answers satisfy `when`, they satisfy `then`, else `otherwise`; each maps question ids to schemas of a value."""

    def part(properties: Mapping[str, Any]) -> dict[str, Any]:
        return {"properties": dict(properties), "required": list(properties)}

    schema = {"if": part(when), "then": part(then)}
    about = {*when, *then}
    if otherwise is not None:
        schema["else"] = part(otherwise)
        about |= {*otherwise}
    return Rule(text, schema, frozenset(about), frozenset(tells))


def is_(value: Any) -> dict[str, Any]:
    """The schema of one value."""
    return {"const": plain(value)}


def has(value: Any) -> dict[str, Any]:
    """The schema of a list that holds a value."""
    return {"contains": is_(value)}


def lacks(value: Any) -> dict[str, Any]:
    """The schema of a list that does not."""
    return {"not": has(value)}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return list(value) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Ask:
    """How a question is asked: its type, the facts its wording names, its options (fixed, or read off the facts), its bounds.

    `key` is the phrasebook's, where it is not the question's own id; `words` are constants for its wording.
    """

    type: type[AnyQuestion]
    fields: tuple[str, ...] = ()
    options: tuple[str, ...] | Callable[[Facts], Sequence[str]] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


YES_NO = Ask(Boolean)
DATE = Ask(Date)
NAME = Ask(Quote)
REF = Ask(Text, bounds={"pattern": "[A-Z]{2}-[0-9]{4}"})
COUNT = Ask(Integer, bounds={"maximum": 9999})
DOLLARS = Ask(Integer, bounds={"maximum": 99999})
CENTS = Ask(Number, bounds={"maximum": 99999, "decimals": 2})


@dataclass(frozen=True)
class Structure:
    """A kind of case.

    sample: draws the facts. clauses: words them, as (place, sentence); places are the same for all cases of a seed.
    edits: functions that change one fact, for counterfactual twins. distance: units between a number that decides an
    answer and its threshold, None where none does. unsure: variants of the facts with percentages, for ambiguous cases; they differ in
    `open_fact`. chronicle: places that keep this order in the text.
    """

    domain: str
    name: str
    graph: Graph
    asks: Mapping[str, Ask]
    sample: Callable[[Draw], Facts]
    clauses: Callable[[Facts, Writer], list[tuple[str, str]]]
    rules: Callable[[Facts], list[Rule]]
    edits: Sequence[Callable[[Draw, Facts], Facts]]
    distance: Callable[[Facts], int | None]
    unsure: Callable[[Draw, Facts], list[tuple[int, Facts]]] | None = None
    open_fact: str = ""
    chronicle: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.domain}.{self.name}"
