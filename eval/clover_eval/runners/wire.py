"""Questions and answers in the System One and Decisions wire formats, as far as an evaluation needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clover_decide.question_base import Option
from clover_decide.questions import AnyQuestion, Boolean, Choice, MultiChoice, Score
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given
from clover_eval.runners.base import Reply, RunnerError

SUPPORTED = (Boolean, Choice, MultiChoice, Score)
"""A multiple choice is asked as one yes/no question an option."""


def unsupported(group: LabelledGroup) -> tuple[str, ...]:
    """Questions of types that the wire formats do not know."""
    return tuple(key for key, question in group.questions.questions.items() if not isinstance(question, SUPPORTED))


def systemone_questions(group: LabelledGroup) -> dict[str, dict[str, Any]]:
    """The questions as a System One request has them. An option of a multiple choice has the id "id/index"."""
    asked: dict[str, dict[str, Any]] = {}
    for key, question in group.questions.questions.items():
        match question:
            case Boolean():
                asked[key] = {"type": "noul", "instructions": question.text}
            case Choice():
                asked[key] = {
                    "type": "choice",
                    "instructions": question.text,
                    "criteria": {o.value: o.description for o in question.options},
                }
            case Score():
                asked[key] = {"type": "score", "instructions": question.text, "criteria": [described(level) for level in question.levels]}
            case MultiChoice():
                for i, option in enumerate(question.options):
                    text = f"{question.text} Does this one apply: {described(option)}?"
                    asked[f"{key}/{i}"] = {"type": "noul", "instructions": text}
            case _:
                continue
    return asked


def described(option: Option) -> str:
    return f"{option.value}: {option.description}" if option.description else option.value


def systemone_reply(group: LabelledGroup, answers: Any, where: str) -> Reply:
    """The answers of a System One response.

    Raises:
        RunnerError: an answer is missing or has another form.
    """
    if not isinstance(answers, Mapping):
        raise RunnerError("the response has no answers", path=where, given=answers, accepted="an object of answers")
    try:
        out = {
            key: _given(key, question, answers) for key, question in group.questions.questions.items() if isinstance(question, SUPPORTED)
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"an answer is missing or has another form ({type(error).__name__}: {error})"
        raise RunnerError(
            problem, path=f"{where}.answers", given=dict(answers), accepted="one answer a question, as the format has it"
        ) from None
    probability = 1.0
    for answer in out.values():
        probability *= answer.probability or 0.0
    return Reply(out, probability, unsupported(group))


def _given(key: str, question: AnyQuestion, answers: Mapping[str, Any]) -> Given:
    match question:
        case Boolean():
            p = _probability(answers[key]["noul"])
            return Given(p >= 0.5, max(p, 1 - p), {"true": p, "false": 1 - p})
        case Choice():
            listed = {name: _probability(p) for name, p in answers[key]["probabilities"].items()}
            chosen = answers[key]["choice"]
            return Given(chosen, listed[chosen], listed)
        case Score():
            listed = {question.levels[int(i)].value: _probability(p) for i, p in answers[key]["probabilities"].items()}
            best = max(range(len(question.levels)), key=lambda i: listed[question.levels[i].value])
            return Given(best, listed[question.levels[best].value], listed)
        case MultiChoice():
            each = [_probability(answers[f"{key}/{i}"]["noul"]) for i in range(len(question.options))]
            probability = 1.0
            for p in each:
                probability *= max(p, 1 - p)
            return Given([o.value for o, p in zip(question.options, each, strict=True) if p >= 0.5], probability)
        case _:
            raise ValueError(question.type)


def _probability(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not 0.0 <= number <= 1.0:
        raise ValueError(f"{value!r} is no probability")
    return number


def decisions_questions(group: LabelledGroup) -> list[dict[str, Any]]:
    """The questions as a Decisions request has them; `name` carries the id."""
    asked: list[dict[str, Any]] = []
    for name, question in systemone_questions(group).items():
        base = {"name": name, "instructions": question["instructions"]}
        criteria = question.get("criteria")
        match question["type"]:
            case "choice":
                choices = [{"value": v, **({"description": d} if d else {})} for v, d in criteria.items()]
                asked.append({**base, "type": "choice", "choices": choices})
            case "score":
                asked.append({**base, "type": "score", "levels": [{"label": label} for label in criteria]})
            case _:
                asked.append({**base, "type": "predicate"})
    return asked


def decisions_answers(answers: Any, where: str) -> dict[str, Any]:
    """The answers of a Decisions response in the System One form, by name.

    Raises:
        RunnerError: an answer has another form, or is a refusal.
    """
    out: dict[str, Any] = {}
    try:
        for answer in answers:
            match answer["type"]:
                case "predicate":
                    out[answer["name"]] = {"noul": answer["probability"]}
                case "choice":
                    out[answer["name"]] = {
                        "choice": answer["choice"],
                        "probabilities": {p["value"]: p["probability"] for p in answer["probabilities"]},
                    }
                case "score":
                    out[answer["name"]] = {"probabilities": {str(p["value"]): p["probability"] for p in answer["probabilities"]}}
                case kind:
                    raise RunnerError(f"the server answered with a {kind}", path=f"{where}.answers", accepted="an answer a question")
    except (KeyError, TypeError) as error:
        problem = f"an answer has another form ({type(error).__name__}: {error})"
        raise RunnerError(problem, path=f"{where}.answers", accepted="a list of answers, as the format has it") from None
    return out
