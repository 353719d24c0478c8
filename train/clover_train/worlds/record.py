"""Records of many kinds: what is said of one is not what is said of another, and two can be compared."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score
from clover_train.groups import Guide, World, Writer

ORDERED = frozenset({"money", "cents", "date", "count", "percent"})
NAMES = {"company": "parties", "person": "people", "place": "places"}


class Said(NamedTuple):
    """A field of a record: its value, the sentences that say it, and the text in them that the answer is copied from, if any."""

    value: Any
    text: str
    source: str | None


def world(setting: Writer, case: Writer) -> World:
    """A record and another of its kind, which all cases of a setting share; questions about both."""
    w, rng = setting, setting.rng
    kind = rng.choice(sorted(w.book))
    book = w.book[kind]
    fields = rng.sample(sorted(book["fields"]), min(len(book["fields"]), rng.randint(5, 8)))
    subject, other = (f"{w.ref()}" for _ in range(2))
    said = {name: _say(case, book, name, subject) for name in fields}
    of_other = {f"other_{name}": _say(w, book, name, other) for i, name in enumerate(fields) if not i or rng.random() < 0.6}
    clauses = {name: field.text for name, field in (said | of_other).items()}
    questions: dict[str, AnyQuestion] = {}
    answers: dict[str, Any] = {}
    needs: dict[str, frozenset[str]] = {}
    for name, field in (said | of_other).items():
        form = book["fields"][name.removeprefix("other_")]
        asked = case.fill(form["ask"], subject=_named(case, book, other if name in of_other else subject))
        questions[name], answers[name], needs[name] = _question(form, asked), field.value, frozenset({name})
    for name in fields:
        form, there = book["fields"][name], of_other.get(f"other_{name}")
        if form["type"] in ORDERED and there and there.value != said[name].value:
            asked = case.fill(form["more"], subject=_named(case, book, subject), other=_named(case, book, other))
            key = f"more_{name}"
            questions[key], answers[key], needs[key] = Boolean(asked), said[name].value > there.value, frozenset({name, f"other_{name}"})
    remarks = [w.fill([text], subject=_named(w, book, w.rng.choice([subject, other]))) for text in book["other"]]
    guide = _guide(said | of_other, [key for key in questions if key.startswith("more_")])
    return World("record", kind, clauses, remarks, questions, answers, needs, frozenset(of_other), guide)


def _guide(said: Mapping[str, Said], compared: Sequence[str]) -> Guide:
    dates = {name: field.value.isoformat() for name, field in said.items() if hasattr(field.value, "isoformat")}
    evidence = {name: (name, dates[name]) if name in dates else (name,) for name in said}
    builds: dict[str, tuple[str, ...]] = {}
    for key in compared:
        name = key.removeprefix("more_")
        evidence[key], builds[key] = (name, f"other_{name}"), (name, f"other_{name}")
    copies = {name: f"{name}#{field.source}" for name, field in said.items() if field.source} | {n: f"{d}#{d}" for n, d in dates.items()}
    return Guide(evidence, builds, {}, copies=copies)


def _named(w: Writer, book: Mapping[str, Any], ref: str) -> str:
    return w.rng.choice(book["subject"]).format(id=ref)


def _say(w: Writer, book: Mapping[str, Any], name: str, ref: str) -> Said:
    """Draws a value and says it."""
    form, rng = book["fields"][name], w.rng
    drawn = _draw(w, form)
    if "say" in form:
        value, written, source = drawn
        text = w.fill(form["say"], subject=_named(w, book, ref), value=written)
        if isinstance(value, str) and value not in text:
            # It begins the sentence, and is quoted as it stands.
            value = source = value[0].upper() + value[1:]
        return Said(value, text, source)
    if form["type"] == "flag":
        return Said(drawn, w.fill(form["yes" if drawn else "no"], subject=_named(w, book, ref)), None)
    if form["type"] == "several":
        told = [form["options"][o] if o in drawn else form["absent"][o] for o in form["options"] if o in drawn or rng.random() < 0.5]
        rng.shuffle(told)
        sentences = [w.fill(texts, subject=_named(w, book, ref)) for texts in told] or [w.fill([_NOTHING], subject=_named(w, book, ref))]
        return Said(drawn, " ".join(sentences), None)
    label = drawn if form["type"] == "choice" else list(form["options"])[drawn]
    return Said(drawn, w.fill(form["options"][label], subject=_named(w, book, ref)), None)


_NOTHING = "nothing more is on file about {subject}."


def _draw(w: Writer, form: Mapping[str, Any]) -> Any:
    """A value; for types that are written out, (value, as written, the text an answer is copied from)."""
    rng = w.rng
    match form["type"]:
        case "money":
            amount = rng.choice([rng.randrange(5, 200), rng.randrange(200, 20_000, 10)])
            return amount, w.money(amount), None
        case "cents":
            exact = Decimal(rng.randrange(100, 500_000)) / 100
            return float(exact), w.money(exact.quantize(Decimal("0.01"))), None
        case "date":
            day = w.day()
            return day, w.date(day), None
        case "count":
            count = _number(rng)
            return count, str(count), str(count)
        case "percent":
            share = rng.randrange(1, 100)
            return share, f"{share}%", str(share)
        case "phrase":
            text = rng.choice(form["values"])
            return text, text, text
        case "company" | "person" | "place":
            name = w.names(NAMES[form["type"]], 1)[0]
            return name, name, name
        case "choice":
            return rng.choice(list(form["options"]))
        case "level":
            return rng.randrange(len(form["options"]))
        case "several":
            return tuple(o for o in form["options"] if rng.random() < 0.5)
        case _:
            return rng.random() < 0.5


def _number(rng: random.Random) -> int:
    return rng.choice([rng.randrange(2, 10), rng.randrange(10, 100), rng.randrange(100, 1000)])


def _question(form: Mapping[str, Any], text: str) -> AnyQuestion:
    match form["type"]:
        case "money":
            return Integer(text, minimum=0, maximum=99999)
        case "cents":
            return Number(text, minimum=0, maximum=99999, decimals=2)
        case "date":
            return Date(text)
        case "count":
            return Integer(text, minimum=0, maximum=9999)
        case "percent":
            return Integer(text, minimum=0, maximum=100)
        case "choice":
            return Choice(text, options=tuple(form["options"]))
        case "level":
            return Score(text, levels=tuple(form["options"]))
        case "several":
            return MultiChoice(text, options=tuple(form["options"]))
        case "flag":
            return Boolean(text)
        case _:
            return Quote(text)
