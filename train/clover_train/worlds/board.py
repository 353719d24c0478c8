"""Order boards: one message tells several units what to do now, changes the state of places, and may send a unit to an incident.

A theme of the book (`phrases/SPLIT/board/*.yaml`) has `units`, `places` and `things`; the answers `none`, `goal`, `jobs`, `same`, `states`,
`measures` and `nowhere`; the wordings of orders `go`, `jobs`, `idle`, `correct`, `states`, `measures.say`, `untouched`, `sent` and
`unsent`; the wordings of questions `ask`; and `remarks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clover_decide.questions import AnyQuestion, Choice
from clover_train.groups import REMARKS, Guide, World, Writer
from clover_train.worlds.scenario import say

CORRECTED = 0.2
"""Share of orders that are given after another one that no longer holds."""


@dataclass
class _Told:
    """What the message says so far. `steps[id]`: where to look for an answer."""

    clauses: dict[str, str] = field(default_factory=dict)
    questions: dict[str, AnyQuestion] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    builds: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ask(self, key: str, text: str, options: list[str], answer: str, *steps: str) -> None:
        self.questions[key], self.answers[key], self.steps[key] = Choice(text, options=tuple(options)), answer, steps


def world(setting: Writer, case: Writer) -> World:
    """One message of a theme that the setting chose."""
    name = setting.rng.choice(sorted(setting.book))
    return tell(name, setting.book[name], setting, case)


def tell(name: str, book: Mapping[str, Any], setting: Writer, case: Writer) -> World:
    """Draws and words a message. KeyError or ValueError where the theme does not hold together."""
    rng, told = setting.rng, _Told()
    units = rng.sample(book["units"], rng.randint(2, 5))
    places = rng.sample(book["places"], rng.randint(3, 7))
    things = rng.sample(book["things"], rng.randint(1, 3))
    goal, none, same, nowhere = (rng.choice(book[key]) for key in ("goal", "none", "same", "nowhere"))
    # The same question of every unit, in the same words or not.
    asked = [rng.choice(book["ask"]["unit"])] if rng.random() < 0.6 else book["ask"]["unit"]
    options = [none, *(goal.format(place=place) for place in places), *book["jobs"]]
    place, sent = _incident(told, book, case, places, units, nowhere)
    for number, unit in enumerate(units):
        key, question = f"unit{number}", say(case, asked, {"unit": unit})
        if unit == sent and (place_now := place):
            told.ask(key, question, options, goal.format(place=place_now), f"incident#{unit}", f"incident#{place_now}")
            told.builds[key] = ("sent", "incident")
            if case.rng.random() < 0.5:
                told.clauses[key] = _order(book, case, unit, places)[0]
            continue
        _unit(told, book, case, key, unit, places, (question, options, none, goal))
    for number, thing in enumerate(things):
        _thing(told, book, case, f"thing{number}", thing, same)
    remarks = [say(setting, [text], {}) for text in rng.sample(book["remarks"], min(REMARKS, len(book["remarks"])))]
    needs = {key: frozenset(c for step in steps if (c := step.partition("#")[0]) in told.clauses) for key, steps in told.steps.items()}
    guide = Guide(told.steps, told.builds, {}, copies=told.copies)
    # Who is not mentioned has no new order, so nothing can be left out.
    silent = frozenset(told.clauses)
    return World("board", name, told.clauses, remarks, told.questions, told.answers, needs, frozenset(), guide, silent=silent)


def _incident(
    told: _Told, book: Mapping[str, Any], case: Writer, places: list[str], units: list[str], nowhere: str
) -> tuple[str | None, str | None]:
    """Where it is and who is sent; both None where there is none."""
    rng = case.rng
    values = {"place": rng.choice(places), "unit": rng.choice(units), "incident": rng.choice(book["incident"])}
    happens = rng.random() < 0.45
    if happens or rng.random() < 0.3:
        told.clauses["incident"] = say(case, book["sent" if happens else "unsent"], values)
    place, sent = (values["place"], values["unit"]) if happens else (nowhere, nowhere)
    told.ask("incident", say(case, book["ask"]["incident"], values), [nowhere, *places], place, "incident", f"incident#{place}")
    told.ask("sent", say(case, book["ask"]["sent"], values), [nowhere, *units], sent, "incident", f"incident#{sent}")
    if not happens:
        return None, None
    told.builds["sent"] = ("incident",)
    told.copies |= {"incident": f"incident#{place}", "sent": f"incident#{sent}"}
    return place, sent


def _order(book: Mapping[str, Any], case: Writer, unit: str, places: list[str]) -> tuple[str, str | None, str | None]:
    """A sentence, and the place or the job that it orders."""
    if case.rng.random() < 0.6:
        place = case.rng.choice(places)
        return say(case, book["go"], {"unit": unit, "place": place}), place, None
    job = case.rng.choice(sorted(book["jobs"]))
    return say(case, book["jobs"][job], {"unit": unit}), None, job


def _unit(
    told: _Told, book: Mapping[str, Any], case: Writer, key: str, unit: str, places: list[str], asked: tuple[str, list[str], str, str]
) -> None:
    question, options, none, goal = asked
    if case.rng.random() < 0.3:
        if case.rng.random() < 0.5:
            told.clauses[key] = say(case, book["idle"], {"unit": unit})
        return told.ask(key, question, options, none, f"{key}#{unit}", key)
    text, place, job = _order(book, case, unit, places)
    if case.rng.random() < CORRECTED:
        first, *before = _order(book, case, unit, places)
        if before != [place, job]:
            text = say(case, book["correct"], {"unit": unit, "first": first, "second": text})
    told.clauses[key] = text
    answer = goal.format(place=place) if place else str(job)
    told.ask(key, question, options, answer, f"{key}#{unit}", f"{key}#{place}" if place else key)
    if place:
        told.copies[key] = f"{key}#{place}"


def _thing(told: _Told, book: Mapping[str, Any], case: Writer, key: str, thing: str, same: str) -> None:
    rng, measures = case.rng, book.get("measures")
    numbers = {f"{n} {measures['unit']}": n for n in measures["of"]} if measures else {}
    answer = rng.choice([same, same, *book["states"], *(rng.sample(sorted(numbers), 2) if numbers else ())])
    values: dict[str, Any] = {"thing": thing}
    if answer != same or rng.random() < 0.5:
        if answer in numbers:
            assert measures
            form, values["n"] = measures["say"], numbers[answer]
        else:
            form = book["untouched"] if answer == same else book["states"][answer]
        told.clauses[key] = say(case, form, values)
    found = f"{key}#{numbers[answer]}" if answer in numbers else key
    told.ask(key, say(case, book["ask"]["thing"], values), [same, *book["states"], *numbers], answer, f"{key}#{thing}", found)
