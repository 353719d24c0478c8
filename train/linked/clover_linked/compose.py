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
from clover_linked.evidence import evidence
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
    _, facts = _sampled(order)
    return _row(order, facts, _asked(order, facts))


def _sampled(order: Order) -> tuple[Draw, Facts]:
    draw = Draw(order.split, order.seed)
    facts = order.structure.sample(draw)
    return draw, {**facts, "anchor": draw.anchor}


def twins(order: Order) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two groups that differ by one edit, and in at least one but not all of the asked answers.

    The edit is chosen first and the questions to suit it, so that which questions are asked says little about the world.

    Raises:
        Unfit: as `single`, or the edit changes no answer.
    """
    draw, facts = _sampled(order)
    other = draw.pick(*order.structure.edits)(draw, facts)
    first, second = (execute(order.structure.graph, world) for world in (facts, other))
    flipped = frozenset(key for key in first if first[key] != second[key])
    if not flipped:
        raise Unfit("the edit changes no answer")
    asked = _asked(order, facts, flipped=flipped)
    if facts.get("wrong") in [world[key] for world in (facts, other) for key in facts if facts[key] != other[key]]:
        # The mistaken first statement of one twin would be the right one of the other.
        facts, other = {**facts, "wrong": None}, {**other, "wrong": None}
    return _row(order, facts, asked), _row(order, other, asked)


def ambiguous(order: Order) -> dict[str, Any]:
    """A group whose text leaves three worlds open, with stated percentages; gold is drawn from them.

    Raises:
        Unfit: as `single`, or no two questions favour different worlds.
    """
    structure = order.structure
    assert structure.unsure is not None
    draw, base = _sampled(order)
    worlds = structure.unsure(draw, base)
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


def _asked(order: Order, facts: Facts, must: frozenset[str] = frozenset(), flipped: frozenset[str] | None = None) -> list[str]:
    """Questions in order: three or more that build on each other, and at least one rule that tells two cases apart.

    must: questions to ask in any case. flipped: of these at least one is asked, and at least one other.
    """
    graph, rng = order.structure.graph, random.Random(f"{order.seed}/asked")
    rules = order.structure.rules(facts)
    above = {key: ancestors(graph, key) for key in graph}
    for _ in range(500):
        core = rng.choice(list(graph))
        kin = sorted(above[core] | {key for key in graph if core in above[key]})
        if len(kin) < 2:
            continue
        asked = {*must, core, *rng.sample(kin, min(len(kin), rng.choice([2, 2, 3])))}
        rest = [key for key in graph if key not in asked]
        rng.shuffle(rest)
        chosen = [*sorted(asked), *rest][: order.size]
        linked = len({core, *kin} & set(chosen)) >= 3 and must <= set(chosen)
        mixed = flipped is None or (bool(flipped & set(chosen)) and not set(chosen) <= flipped)
        # Whether a rule without an `else` says anything depends on the answers, so it does not count here.
        if linked and mixed and any("else" in r.schema for r in _stated(rules, chosen)):
            rng.shuffle(chosen)
            return chosen
    raise Unfit("no linked questions")


def _stated(rules: Sequence[Rule], asked: Sequence[str]) -> list[Rule]:
    """Rules about asked questions only, without those that tell the answer to one."""
    return [r for r in rules if r.about <= set(asked) and not r.tells & set(asked)]


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
        "rules": [{"text": r.text, "schema": r.schema} for r in _stated(structure.rules(facts), asked)],
        "paraphrases": {key: other for key, (_, other) in asks.items()},
        "templates": dict(writer.used),
        "facts": facts,
        "evidence": evidence(structure, facts, asked, material, structure.clauses(facts, writer)),
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
    """The material: clauses, decoys and irrelevant remarks in an order that the seed and the place of each decide."""
    rng = random.Random(f"{seed}/text")
    sentences = structure.clauses(facts, writer) + _decoys(facts, writer, rng)
    names = {key: facts.get(key, facts.get(other, fallback)) for key, other, fallback in _NAMES}
    wanted = math.exp(rng.uniform(math.log(MIN_WORDS + 15), math.log(MAX_WORDS - 60)))
    # How many remarks is a matter of the seed alone: twins have the same ones.
    count = max(0, round((wanted - CLAUSE_WORDS) / REMARK_WORDS))
    sentences += [(f"filler{i}", remark) for i, remark in enumerate(writer.fillers(count, **names))]
    rank = {place: random.Random(f"{seed}/order/{place}").random() for place in [*dict(sentences), *structure.chronicle]}
    # Messages keep their order among themselves; one that a twin lacks leaves its place empty.
    told = sorted(rank[place] for place in structure.chronicle)
    rank |= dict(zip(structure.chronicle, told, strict=True))
    parts: list[str] = []
    for place, sentence in sorted(sentences, key=lambda s: rank[s[0]]):
        # A new paragraph after about every fifth sentence.
        parts += [sentence, "\n\n" if random.Random(f"{seed}/break/{place}").random() < 0.2 else " "]
    return re.sub(r"\s*\n\n\s*", "\n\n", "".join(parts).strip())


CLAUSE_WORDS, REMARK_WORDS = 190, 12.5
"""About what the clauses of a case and one remark have."""
_NAMES = (("item", "item", "delivery van"), ("host", "host", "the gateway"), ("place", "place", "the depot"), ("a", "user", "the clerk"))


def _decoys(facts: Facts, writer: Writer, rng: random.Random) -> list[tuple[str, str]]:
    """One to three statements of the same kind of thing as matters (a date, an amount, a count), about something else."""
    kinds = [key for key in writer.shared if key.startswith("decoy_")]
    out: list[tuple[str, str]] = []
    for i in range(rng.choice([1, 2, 2, 3])):
        key = rng.choice(kinds)
        values = {
            "date": facts["anchor"] + dt.timedelta(days=rng.choice([-1, 1]) * rng.randrange(20, 500)),
            "amount": Money(rng.randrange(5, 300)),
            "count": rng.randrange(2, 60),
            "noun": rng.choice(writer.names("counted")),
            "minutes": rng.randrange(2, 60),
        }
        name = key.removeprefix("decoy_")
        wanted = {name, "noun"} if name == "count" else {name}
        out.append((f"decoy{i}", writer.say(key, f"decoy{i}", **{k: v for k, v in values.items() if k in wanted})))
    return out
