"""Questions and answers in the System One and Decisions wire formats, as far as an evaluation needs them."""

from __future__ import annotations

import math
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


def systemone_reply(group: LabelledGroup, answers: Any, where: str, refused: frozenset[str] = frozenset()) -> Reply:
    """The answers of a System One response, but for those that were refused.

    Raises:
        RunnerError: an answer is missing or has another form.
    """
    if not isinstance(answers, Mapping):
        raise RunnerError("the response has no answers", path=where, given=answers, accepted="an object of answers")
    try:
        asked = {key: q for key, q in group.questions.questions.items() if isinstance(q, SUPPORTED) and key not in refused}
        out = {key: _given(key, question, answers) for key, question in asked.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"an answer is missing or has another form ({type(error).__name__}: {error})"
        raise RunnerError(
            problem, path=f"{where}.answers", given=dict(answers), accepted="one answer a question, as the format has it"
        ) from None
    left = (*unsupported(group), *(key for key in group.questions.questions if key in refused))
    # Of a group answered in part there is no probability as a whole.
    whole = math.prod(answer.probability or 0.0 for answer in out.values()) if not left else None
    return Reply(out, whole, left)


def _given(key: str, question: AnyQuestion, answers: Mapping[str, Any]) -> Given:
    match question:
        case Boolean():
            p = _probability(answers[key]["noul"])
            return Given(p >= 0.5, max(p, 1 - p), {"true": p, "false": 1 - p})
        case Choice():
            listed = _distribution(answers[key]["probabilities"], [option.value for option in question.options])
            chosen = answers[key]["choice"]
            if listed[chosen] < max(listed.values()) - 0.005:
                raise ValueError(f"{chosen!r} is not the most probable option")
            return Given(chosen, listed[chosen], listed)
        case Score():
            listed = _distribution(answers[key]["probabilities"], [str(i) for i in range(len(question.levels))])
            best = max(range(len(question.levels)), key=lambda i: listed[str(i)])
            return Given(best, listed[str(best)], listed)
        case MultiChoice():
            each = {option.value: _probability(answers[f"{key}/{i}"]["noul"]) for i, option in enumerate(question.options)}
            return Given([name for name, p in each.items() if p >= 0.5], math.prod(max(p, 1 - p) for p in each.values()), each)
        case _:
            raise ValueError(question.type)


def _probability(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not 0.0 <= number <= 1.0:
        raise ValueError(f"{value!r} is no probability")
    return number


def _distribution(given: Any, names: list[str]) -> dict[str, float]:
    """Probabilities of exactly these names, summing to one within 0.05 as the formats promise."""
    listed = {name: _probability(p) for name, p in given.items()}
    if set(listed) != set(names):
        raise ValueError(f"probabilities of {sorted(listed)}, not of {sorted(names)}")
    if abs(sum(listed.values()) - 1.0) > 0.05:
        raise ValueError(f"probabilities sum to {sum(listed.values()):.3f}")
    return {name: listed[name] for name in names}


def decisions_questions(group: LabelledGroup) -> list[dict[str, Any]]:
    """The questions as a Decisions request has them; `name` carries the id."""
    asked: list[dict[str, Any]] = []
    for name, question in systemone_questions(group).items():
        base = {"name": name, "instructions": question["instructions"]}
        criteria: Any = question.get("criteria")
        match question["type"]:
            case "choice":
                choices = [{"value": v, **({"description": d} if d else {})} for v, d in criteria.items()]
                asked.append({**base, "type": "choice", "choices": choices})
            case "score":
                asked.append({**base, "type": "score", "levels": [{"label": label} for label in criteria]})
            case _:
                asked.append({**base, "type": "predicate"})
    return asked


def decisions_answers(answers: Any, where: str) -> tuple[dict[str, Any], frozenset[str]]:
    """The answers of a Decisions response in the System One form, by name, and the ids of refused questions.

    Raises:
        RunnerError: an answer has another form.
    """
    out: dict[str, Any] = {}
    refused: set[str] = set()
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
                case "refusal":
                    # A refused option of a multiple choice ("id/index") leaves the whole question without an answer.
                    refused |= {answer["name"], answer["name"].rpartition("/")[0]}
                case kind:
                    raise RunnerError(f"the server answered with a {kind}", path=f"{where}.answers", accepted="an answer a question")
    except (KeyError, TypeError) as error:
        problem = f"an answer has another form ({type(error).__name__}: {error})"
        raise RunnerError(problem, path=f"{where}.answers", accepted="a list of answers, as the format has it") from None
    return out, frozenset(refused)
