"""Candidate answers to a question, and bag-of-words features of each. For the baselines that know no language model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from clover_decide.facts import derive_facts
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text

MOST = 60
"""Candidates of one question at most, in order of appearance."""


@dataclass(frozen=True)
class Reading:
    """What a baseline sees of a material; empty when it is to see the questions alone."""

    text: str
    words: frozenset[str] = field(default=frozenset())
    sentences: tuple[tuple[str, frozenset[str]], ...] = ()

    @classmethod
    @lru_cache(maxsize=4096)
    def of(cls, material: str) -> Reading:
        sentences = [s for s in re.split(r"(?<=[.!?])\s+", material) if s]
        return cls(material, frozenset(words(material)), tuple((s, frozenset(words(s))) for s in sentences))


NOTHING = Reading("")


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", text.lower())


def candidates(question: AnyQuestion, reading: Reading) -> list[Any]:
    """Values to choose from: the options, or what the material holds of the right form."""
    match question:
        case Boolean():
            return [True, False]
        case Choice():
            return [o.value for o in question.options]
        case Score():
            return list(range(len(question.levels)))
        case MultiChoice():
            names = [o.value for o in question.options]
            return [list(c) for size in range(len(names) + 1) for c in itertools.combinations(names, size)][:MOST]
        case Integer() | Number():
            return _numbers(question, reading.text)
        case Date():
            return _unique(fact.value for fact in derive_facts(reading.text) if fact.kind == "date")
        case Quote():
            return _unique(re.findall(r"[A-Z][\w'-]+(?: [A-Z0-9][\w'-]*)*|[a-z]+-[\w-]+", reading.text))
        case Text():
            return _unique(found.group() for found in re.finditer(question.pattern, reading.text))


def _numbers(question: Integer | Number, text: str) -> list[Any]:
    derived = [str(f.value) for f in derive_facts(text) if f.kind in ("days_between", "difference")]
    found = [0.0, *(float(n.replace(",", "")) for n in [*re.findall(r"\d[\d,]*(?:\.\d+)?", text), *derived] if n.strip(","))]
    legal = [n for n in found if question.minimum <= n <= question.maximum]
    return _unique(int(n) for n in legal if n == int(n)) if isinstance(question, Integer) else _unique(legal)


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))[:MOST]


def features(question: AnyQuestion, value: Any, place: int, reading: Reading) -> dict[str, float]:
    """Named features of "this value answers this question": words of question, options and nearby sentences, crossed with the value."""
    asked = words(question.text)
    shown = _shown(value)
    closed = isinstance(question, (Boolean, Choice, Score, MultiChoice))
    out = {f"type {question.type}": 1.0, f"place {question.type} {min(place, 9)}": 1.0}
    if closed:
        out[f"value {shown}"] = 1.0
        out |= {f"asked {word}|{shown}": 1.0 for word in asked}
    if not reading.text:
        return out
    near = _sentences(asked, shown, reading, closed)
    said = {word for _, bag in near for word in bag}
    if closed:
        out |= {f"said {word}|{shown}": 1.0 for word in said}
    out |= {f"asked+said {a}|{word}": 1.0 for a in asked[:12] for word in sorted(said)[:40]} if not closed else {}
    out["mentions"] = min(reading.text.count(str(value)), 5) if not closed or isinstance(question, Choice) else 0.0
    out["overlap"] = len(set(asked) & said) / (1 + len(set(asked)))
    return out


def _shown(value: Any) -> str:
    return " ".join(words(str(value))) or "nothing"


def _sentences(asked: list[str], shown: str, reading: Reading, closed: bool) -> list[tuple[str, frozenset[str]]]:
    """The two sentences that share most words with the question (of an open one: those that hold the value)."""
    wanted = set(asked)
    pool = reading.sentences if closed else [s for s in reading.sentences if set(shown.split()) <= s[1]]
    return sorted(pool, key=lambda s: -len(wanted & s[1]))[:2]
