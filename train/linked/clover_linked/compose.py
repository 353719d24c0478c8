"""From a structure to a labelled group: what is asked, the text, the gold answers, the rules, the counterfactual twin."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clover_decide.questions import AnyQuestion
from clover_linked.cases import Ask, Draw, Facts, Rule, Structure, plain
from clover_linked.graph import ancestors, execute, shape_hash
from clover_linked.wording import Money, Split, Writer

MIN_WORDS, MAX_WORDS = 80, 900


@dataclass(frozen=True)
class Order:
    """What a group is to be: the seed decides all the rest."""

    structure: Structure
    split: Split
    slice: str
    seed: str
    size: int


class Unfit(ValueError):
    """This seed gives no acceptable group; another one will."""


def single(order: Order) -> dict[str, Any]:
    """One group.

    Raises:
        Unfit: a quoted name is not in the text as it stands, or nothing links the questions.
    """
    draw = Draw(order.split, order.seed)
    facts = order.structure.sample(draw)
    return _row(order, facts, _asked(order, facts, frozenset()))


def twins(order: Order) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two groups that differ in one fact, and in at least one but not all of the asked answers.

    Raises:
        Unfit: as `single`, or no edit changes an asked answer.
    """
    draw = Draw(order.split, order.seed)
    facts = order.structure.sample(draw)
    asked = _asked(order, facts, frozenset())
    first = execute(order.structure.graph, facts)
    for edit in draw.rng.sample(list(order.structure.edits), len(order.structure.edits)):
        other = {**edit(draw, facts), **({"wrong": None} if "wrong" in facts else {})}
        second = execute(order.structure.graph, other)
        changed = sum(first[key] != second[key] for key in asked)
        if 0 < changed < len(asked):
            # A corrected first statement is left out of both: the edit could make it the right one.
            kept = {**facts, **({"wrong": None} if "wrong" in facts else {})}
            return _row(order, kept, asked), _row(order, other, asked)
    raise Unfit("no edit changes some of the answers")


def ambiguous(order: Order) -> dict[str, Any]:
    """A group whose text leaves three worlds open, with stated percentages; gold is drawn from them.

    Raises:
        Unfit: as `single`, or no two questions favour different worlds.
    """
    structure = order.structure
    assert structure.unsure is not None
    draw = Draw(order.split, order.seed)
    worlds = structure.unsure(draw, structure.sample(draw))
    answers = [execute(structure.graph, world) for _, world in worlds]
    telling = {q for q in structure.graph if len({repr(a[q]) for a in answers}) == 3}
    swaying = {q for q in structure.graph if answers[1][q] == answers[2][q] != answers[0][q]}
    if not telling or not swaying:
        raise Unfit("no two questions favour different worlds")
    named = draw.rng.sample([(percent, world[structure.open_fact]) for percent, world in worlds], 3)
    shares = [percent for percent, _ in worlds]
    facts = {**draw.rng.choices([world for _, world in worlds], shares)[0], "unsure": named}
    must = frozenset({draw.rng.choice(sorted(telling)), draw.rng.choice(sorted(swaying))})
    asked = _asked(order, facts, must)
    row = _row(order, facts, asked)
    listed = [{"probability": p / 100, "answers": _plain(order, row, a)} for p, a in zip(shares, answers, strict=True)]
    return {**row, "worlds": listed}


def _plain(order: Order, row: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _gold(row["questions"][key], answers[key]) for key in row["questions"]}


def _asked(order: Order, facts: Facts, must: frozenset[str]) -> list[str]:
    """Questions in order: at least three on one path of the rule graph, and at least one rule among them."""
    graph, rng = order.structure.graph, random.Random(f"{order.seed}/asked")
    above = {key: ancestors(graph, key) for key in graph}
    for _ in range(200):
        core = rng.choice(list(graph))
        path = sorted(above[core] | {key for key in graph if core in above[key]})
        if len(path) < 2:
            continue
        asked = {*must, core, *rng.sample(path, min(len(path), rng.choice([2, 2, 3])))}
        rest = [key for key in graph if key not in asked]
        rng.shuffle(rest)
        chosen = [*sorted(asked), *rest][: order.size]
        linked = len({core, *path} & set(chosen)) >= 3
        if linked and must <= set(chosen) and _rules(order.structure.rules(facts), chosen):
            rng.shuffle(chosen)
            return chosen
    raise Unfit("no linked questions")


def _rules(rules: Sequence[Rule], asked: Sequence[str]) -> list[Rule]:
    return [r for r in rules if r.about <= set(asked)]


def _row(order: Order, facts: Facts, asked: Sequence[str]) -> dict[str, Any]:
    structure = order.structure
    writer = Writer(order.split, structure.domain, structure.name, order.seed)
    material = text(structure, facts, writer, order.seed)
    words = len(material.split())
    if not MIN_WORDS <= words <= MAX_WORDS:
        raise Unfit(f"{words} words")
    asks = {key: question(structure.asks[key], key, facts, writer, order.seed) for key in asked}
    gold = execute(structure.graph, facts)
    answers = {key: _gold(asks[key][0], gold[key]) for key in asked}
    for key in asked:
        if asks[key][0]["type"] == "quote" and answers[key] not in material:
            raise Unfit(f"{answers[key]!r} does not stand in the text")
    distance = structure.distance(facts)
    return {
        "domain": structure.domain,
        "slice": order.slice,
        "structure": structure.id,
        "shape": shape_hash(structure.graph),
        "near": distance is not None and distance <= 1,
        "material": material,
        "questions": {key: asked_as for key, (asked_as, _) in asks.items()},
        "answers": answers,
        "rules": [{"text": r.text, "schema": r.schema} for r in _rules(structure.rules(facts), asked)],
        "paraphrases": {key: other for key, (_, other) in asks.items()},
        "templates": dict(writer.used),
        "facts": facts,
    }


def question(ask: Ask, key: str, facts: Facts, writer: Writer, seed: str) -> tuple[dict[str, Any], str]:
    """A question in its JSON form, and a paraphrase of its text."""
    wanted, other = writer.two(f"q_{ask.key or key}", **{name: facts[name] for name in ask.fields}, **ask.words)
    fields: dict[str, Any] = dict(ask.bounds)
    options = list(ask.options(facts) if callable(ask.options) else ask.options)
    if options and ask.type.__name__ == "Score":
        fields["levels"] = options
    elif options:
        random.Random(f"{seed}/options/{key}").shuffle(options)
        fields["options"] = options
    made: AnyQuestion = ask.type(wanted, **fields)
    return {"type": made.type, "text": wanted, **fields}, other


def _gold(asked_as: Mapping[str, Any], value: Any) -> Any:
    """The gold value as a decision gives it: the chosen options in the order in which they are offered."""
    if asked_as["type"] == "multi_choice":
        return [option for option in asked_as["options"] if option in value]
    if asked_as["type"] == "number":
        return round(float(value), 2)
    return plain(value)


def text(structure: Structure, facts: Facts, writer: Writer, seed: str) -> str:
    """The material: clauses, decoys and irrelevant remarks in an order that the place of each decides."""
    rng = random.Random(f"{seed}/text")
    sentences = structure.clauses(facts, writer) + _decoys(structure, facts, writer, rng)
    names = {key: facts.get(key, facts.get(other, fallback)) for key, other, fallback in _NAMES}
    words = sum(len(sentence.split()) for _, sentence in sentences)
    wanted = math.exp(rng.uniform(math.log(MIN_WORDS + 15), math.log(MAX_WORDS - 60)))
    for i, remark in enumerate(writer.fillers(len(writer.remarks), **names)):
        if words >= wanted:
            break
        sentences.append((f"filler{i}", remark))
        words += len(remark.split())
    writer.used = {k: v for k, v in writer.used.items() if not k.startswith("filler") or k.split(":")[0] in dict(sentences)}
    sentences.sort(key=lambda s: random.Random(f"{seed}/order/{s[0]}").random())
    told = [s for name in structure.chronicle for s in sentences if s[0] == name]
    sentences = [told.pop(0) if s[0] in structure.chronicle else s for s in sentences]
    parts: list[str] = []
    for place, sentence in sentences:
        # A new paragraph after about every fifth sentence.
        parts += [sentence, "\n\n" if random.Random(f"{seed}/break/{place}").random() < 0.2 else " "]
    return re.sub(r"\s*\n\n\s*", "\n\n", "".join(parts).strip())


_NAMES = (("item", "item", "delivery van"), ("host", "host", "the gateway"), ("place", "place", "the depot"), ("a", "user", "the clerk"))


def _decoys(structure: Structure, facts: Facts, writer: Writer, rng: random.Random) -> list[tuple[str, str]]:
    """One to three statements of the same kind of thing as matters (a date, an amount, a count), about something else."""
    kinds = [key for key in writer.shared if key.startswith("decoy_")]
    days = [value for value in facts.values() if isinstance(value, dt.date)]
    out: list[tuple[str, str]] = []
    for i in range(rng.choice([1, 2, 2, 3])):
        key = rng.choice(kinds)
        near = rng.choice(days) if days else dt.date(2028, 1, 1)
        values = {
            "date": near + dt.timedelta(days=rng.choice([-1, 1]) * rng.randrange(20, 500)),
            "amount": Money(rng.randrange(5, 300)),
            "count": rng.randrange(2, 60),
            "noun": rng.choice(writer.names("counted")),
            "minutes": rng.randrange(2, 60),
        }
        name = key.removeprefix("decoy_")
        wanted = {name, "noun"} if name == "count" else {name}
        out.append((f"decoy{i}", writer.say(key, f"decoy{i}", **{k: v for k, v in values.items() if k in wanted})))
    return out
