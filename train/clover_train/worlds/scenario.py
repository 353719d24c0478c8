"""Scenarios written as data: each has a rule structure of its own, its facts, derived values, wording and questions.

A book (`phrases/SPLIT/scenario/*.yaml`) maps the name of a scenario to:

* `setting`, `case`: what is drawn, in order, name -> expression. Cases of one setting share what `setting` draws.
* `rules`, `facts`: clause -> phrasings; `rules` may only name what `setting` draws. For a clause that reads differently by a
  value, a mapping: `by: name`, then `say: {value: phrasings}`.
* `remarks`: sentences that decide nothing.
* `questions`: name -> `type`, `ask` (phrasings), `answer` (expression), `from` (clauses it rests on, the most decisive last; `a ~ b`
  stands for the days between two drawn dates), and where they apply `options` or `levels`, `builds` (questions that it follows from).

Expressions are Python over the names drawn before and the functions of `draws`; in phrasings `{name}` is a value as text, `{name:money}`,
`{name:days}` and `{name:word}` write a number as such. `python -m clover_train.worlds.scenario FILE` checks a book.
"""

from __future__ import annotations

import datetime as dt
import random
import string
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from num2words import num2words

from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score
from clover_train.groups import REMARKS, Guide, World, Writer, compose

_BUILTINS = {f.__name__: f for f in (format, min, max, sum, len, sorted, round, abs, any, all, int, dict, list, tuple, zip)}
CHECKED = 300
"""Cases drawn by a check of one scenario."""
MOST = 0.85
"""Share of the cases that may have the same answer to a question."""


def world(setting: Writer, case: Writer) -> World:
    """One case of a scenario that the setting chose."""
    name = setting.rng.choice(sorted(setting.book))
    return tell(name, setting.book[name], setting, case)


def tell(name: str, book: Mapping[str, Any], setting: Writer, case: Writer) -> World:
    """Draws and words a case. KeyError, NameError or ValueError where the book does not hold together."""
    values: dict[str, Any] = {}
    for writer, section in ((setting, "setting"), (case, "case")):
        functions = draws(writer)
        for key, expression in (book.get(section) or {}).items():
            values[key] = evaluate(expression, functions | values)
    shared = {key: values[key] for key in book.get("setting") or {}}
    clauses = {key: say(setting, form, shared) for key, form in book["rules"].items()}
    clauses |= {key: say(case, form, values) for key, form in book["facts"].items()}
    # Remarks are shared as well, so those that name something of the case are left out.
    remarks = [text for text in book["remarks"] if _named(text) <= set(shared)]
    remarks = [say(setting, [text], shared) for text in setting.rng.sample(remarks, min(REMARKS, len(remarks)))]
    questions = {key: ask(case, form, values) for key, form in book["questions"].items()}
    answers = {key: _answer(form, evaluate(form["answer"], values)) for key, form in book["questions"].items()}
    needs = {key: frozenset(step for step in form["from"] if "~" not in step) for key, form in book["questions"].items()}
    guide = _guide(book, clauses, values, answers)
    return World("scenario", name, clauses, remarks, questions, answers, needs, frozenset(book["rules"]), guide)


def evaluate(expression: Any, names: Mapping[str, Any]) -> Any:
    """A Python expression of a book, which is part of this repository, without builtins."""
    if not isinstance(expression, str):
        return expression
    # As globals, so that comprehensions see them.
    return eval(expression, {"__builtins__": _BUILTINS, **names})


def draws(w: Writer) -> dict[str, Callable[..., Any]]:
    """The functions of expressions, drawing with one writer's generator."""
    rng = w.rng

    def near(threshold: int) -> int:
        """At least 1; half of the draws within three of a threshold."""
        close = rng.random() < 0.5
        return max(1, threshold + (rng.randint(-3, 3) if close else rng.randint(-threshold, threshold)))

    def names(kind: str) -> Callable[[], str]:
        return lambda: w.names(kind, 1)[0]

    return {
        "whole": lambda low, high, step=1: rng.randrange(low, high + 1, step),
        "near": near,
        "flag": lambda chance=0.5: rng.random() < chance,
        "one": lambda *options: rng.choice(options),
        "some": lambda *options: tuple(o for o in options if rng.random() < 0.5),
        "distinct": lambda count, *options: rng.sample(options, count),
        "date": w.day,
        "days": lambda count: dt.timedelta(days=count),
        "person": names("people"),
        "party": names("parties"),
        "place": names("places"),
        "host": names("hosts"),
        "people": lambda count: w.names("people", count),
        "parties": lambda count: w.names("parties", count),
        "ref": w.ref,
    }


class _Wording(string.Formatter):
    """Writes dates and, where asked, money, days and numbers in words, in one of the writer's ways."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, dt.date):
            return self._writer.date(value)
        if isinstance(value, (tuple, list)):
            return " and ".join([", ".join(value[:-1]), value[-1]] if len(value) > 1 else value) or "none"
        match format_spec:
            case "money":
                return self._writer.money(value)
            case "days":
                return self._writer.days(value)
            case "word":
                return num2words(value)
            case _:
                return format(value, format_spec)


def say(w: Writer, form: Any, values: Mapping[str, Any], *, capital: bool = True) -> str:
    """One phrasing of a clause, mostly with a capital; by the value it depends on, if any."""
    if isinstance(form, Mapping):
        form = form["say"][values[form["by"]]]
    text = _Wording(w).vformat(w.rng.choice(form), (), values)
    return text[0].upper() + text[1:] if capital else text


def _named(text: str) -> set[str]:
    """The values that a phrasing shows."""
    return {name.partition(".")[0].partition("[")[0] for _, name, _, _ in string.Formatter().parse(text) if name}


def ask(w: Writer, form: Mapping[str, Any], values: Mapping[str, Any]) -> AnyQuestion:
    """A question in one of its wordings."""
    text = say(w, form["ask"], values)
    match form["type"]:
        case "boolean":
            return Boolean(text)
        case "choice":
            options = form["options"]
            return Choice(text, options=tuple(evaluate(options, values) if isinstance(options, str) else options))
        case "multi_choice":
            return MultiChoice(text, options=tuple(form["options"]))
        case "score":
            return Score(text, levels=tuple(form["levels"]))
        case "integer":
            return Integer(text, minimum=0, maximum=form.get("maximum", 99999))
        case "number":
            return Number(text, minimum=0, maximum=99999, decimals=2)
        case "date":
            return Date(text)
        case "quote":
            return Quote(text)
        case other:
            raise ValueError(f"unknown type {other!r}")


def _answer(form: Mapping[str, Any], value: Any) -> Any:
    """The answer as a decision would return it: a level by its number, options in the order given."""
    if form["type"] == "score" and isinstance(value, str):
        return form["levels"].index(value)
    if form["type"] == "multi_choice":
        return tuple(option for option in form["options"] if option in value)
    return float(value) if form["type"] == "number" else value


def _guide(book: Mapping[str, Any], clauses: Mapping[str, str], values: Mapping[str, Any], answers: Mapping[str, Any]) -> Guide:
    evidence: dict[str, tuple[str, ...]] = {}
    copies: dict[str, str] = {}
    for key, form in book["questions"].items():
        steps = [_between(step, values) if "~" in step else step for step in form["from"]]
        value, kind = answers[key], form["type"]
        shown = [step for step in form["from"] if "~" not in step and str(value) in clauses[step]]
        stated = shown if kind == "quote" else [step for step in shown if _states(book, step, form["answer"])]
        if kind == "date":
            steps.append(value.isoformat())
            copies[key] = f"{value.isoformat()}#{value.isoformat()}"
        elif kind in ("integer", "quote") and stated:
            copies[key] = f"{stated[-1]}#{value}"
        elif kind == "integer":
            steps.append(f" = {value}")
        evidence[key] = tuple(steps)
    builds = {key: tuple(form["builds"]) for key, form in book["questions"].items() if form.get("builds")}
    return Guide(evidence, builds, {}, copies=copies)


def _states(book: Mapping[str, Any], clause: str, answer: Any) -> bool:
    """Whether a clause says the value of a name, and does not merely show the same digits."""
    form = (book["rules"] | book["facts"])[clause]
    texts = [text for some in form["say"].values() for text in some] if isinstance(form, Mapping) else form
    return any(name == answer for text in texts for _, name, _, _ in string.Formatter().parse(text))


def _between(step: str, values: Mapping[str, Any]) -> str:
    """The piece of a derived fact that says how many days lie between two dates."""
    first, second = (values[name.strip()] for name in step.split("~"))
    return f": {abs((first - second).days)} days"


def check(name: str, book: Mapping[str, Any]) -> list[str]:
    """What is wrong with a scenario, drawn many times; nothing if it holds together."""
    problems: list[str] = []
    seen: dict[str, Counter[Any]] = {key: Counter() for key in book["questions"]}
    for number in range(CHECKED):
        writers = [Writer(random.Random(f"{part}-{number}"), "train", "scenario") for part in ("setting", "case")]
        try:
            told = tell(name, book, *writers)
        except Exception as error:  # whatever a book does wrong is told to its writer
            return [f"{name}: {type(error).__name__}: {error}"]
        for key, answer in told.answers.items():
            seen[key][answer] += 1
        problems += faults(told)
        if problems:
            return problems
    problems += [f"{name}: fewer than 5 questions"] if len(seen) < 5 else []
    for key, counted in seen.items():
        answer, count = counted.most_common(1)[0]
        problems += [f"{name}.{key}: {answer!r} in {count} of {CHECKED} cases"] if count > MOST * CHECKED else []
    problems += [f"{name}.{key}: {len(texts)} phrasings" for key, texts in _phrasings(book) if len(texts) < 4]
    return problems + ([f"{name}: fewer than 10 remarks"] if len(book["remarks"]) < 10 else [])


def faults(told: World) -> list[str]:
    """Answers that are none of their question's, and steps that lead nowhere."""
    return [f"{told.structure}.{key}: {problem}" for key, answer in told.answers.items() for problem in _wrong(told, key, answer)]


def _wrong(told: World, key: str, answer: Any) -> list[str]:
    """Why an answer is none of its question's."""
    question, missing = told.questions[key], [step for step in told.needs[key] if step not in told.clauses]
    problems = [f"no clause {step!r}" for step in missing]
    problems += [f"builds on unknown {b!r}" for b in told.guide.builds.get(key, ()) if b not in told.questions]
    text = " ".join(told.clauses[step] for step in told.needs[key] if step in told.clauses)
    match question:
        case Quote():
            bad = not isinstance(answer, str) or answer not in text
        case Choice():
            bad = answer not in [option.value for option in question.options]
        case Score():
            bad = not isinstance(answer, int) or not 0 <= answer < len(question.levels)
        case Boolean():
            bad = not isinstance(answer, bool)
        case Integer():
            bad = type(answer) is not int or not 0 <= answer <= question.maximum
        case Date():
            bad = not isinstance(answer, dt.date)
        case _:
            bad = False
    return problems + ([f"answer {answer!r} is not one that {question!r} accepts, over: {text!r}"] if bad else [])


def _phrasings(book: Mapping[str, Any]) -> list[tuple[str, Sequence[str]]]:
    """Every list of phrasings of a scenario, by where it stands."""
    out: list[tuple[str, Sequence[str]]] = [(key, form["ask"]) for key, form in book["questions"].items()]
    for key, form in (book["rules"] | book["facts"]).items():
        out += [(f"{key}.{v}", texts) for v, texts in form["say"].items()] if isinstance(form, Mapping) else [(key, form)]
    return out


def main() -> None:
    book = yaml.safe_load(Path(sys.argv[1]).read_text())
    problems = [problem for name, scenario in book.items() for problem in check(name, scenario)]
    for name, scenario in book.items() if not problems else ():
        writers = [Writer(random.Random(f"{part}-shown"), "train", "scenario") for part in ("setting", "case")]
        told = tell(name, scenario, *writers)
        group = compose(random.Random(0), told, list(told.questions), complete=True, distractors=2)
        print(f"== {name}\n{group.material}")
        for key, question in group.questions.items():
            print(f"  {question.text} -> {group.answers[key]}")
    print("\n".join(problems) or "holds together")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
