"""Everything a caller may ask of a decision besides the questions, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from clover_decide.abstain import Abstain, read_abstain
from clover_decide.decision import Effort, Mode
from clover_decide.errors import InputError, QuestionError
from clover_decide.facts import Fact, caller_facts, derive_facts
from clover_decide.material import Material
from clover_decide.question_set import QuestionSet
from clover_decide.rules import RuleSet, read_rules

Facts = Literal["auto", "off"] | Sequence[str]
MAX_PERMUTATIONS = 16
THRESHOLD = 0.9
"""A commit below this can settle an answer that another one is to be read from."""


@dataclass(frozen=True)
class Options:
    """The options of `Decider.decide`, which documents them, read and checked."""

    mode: Mode = "joint"
    effort: Effort = "standard"
    facts: Facts = "auto"
    groups: Sequence[Sequence[str]] | None = None
    independent: bool = False
    threshold: float = THRESHOLD
    rules: RuleSet = field(default_factory=RuleSet)
    project: bool = False
    permutations: int = 1
    dependence: bool = False
    evidence: bool = False
    abstain: Abstain = field(default_factory=Abstain)


def read_options(given: Mapping[str, Any], questions: QuestionSet) -> Options:
    """Options by name.

    Raises:
        InputError: an unknown option, or one out of range; the path is its name. RuleError: rules cannot be read or kept.
    """
    known = [option.name for option in fields(Options)]
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise InputError("unknown option", path=unknown, accepted=", ".join(known))
    options = Options(
        **{**given, "rules": read_rules(given.get("rules"), questions), "abstain": read_abstain(given.get("abstain"), questions.questions)}
    )
    _named("mode", options.mode, get_args(Mode))
    _named("effort", options.effort, get_args(Effort))
    threshold, count = options.threshold, options.permutations
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0.0 < threshold <= 1.0:
        raise InputError("out of range", path="threshold", given=threshold, accepted="a probability in (0, 1]")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_PERMUTATIONS:
        raise InputError("out of range", path="permutations", given=count, accepted=f"a whole number from 1 to {MAX_PERMUTATIONS}")
    for name in ("independent", "project", "dependence", "evidence"):
        if not isinstance(getattr(options, name), bool):
            raise InputError("not a switch", path=name, given=getattr(options, name), accepted="True or False")
    if options.mode == "joint" and options.project:
        raise InputError("joint answers keep the rules as they are", path="project", given=True, accepted="mode='independent'")
    if options.mode == "independent" and options.groups is not None:
        raise InputError("answers asked alone share no block", path="groups", accepted="mode='joint'")
    if options.mode == "independent" and (options.dependence or options.abstain.gap is not None):
        path = "dependence" if options.dependence else "abstain.gap"
        raise InputError("answers asked alone do not depend on each other", path=path, accepted="mode='joint'")
    return options


def read_facts(material: Material, facts: Any) -> tuple[Fact, ...]:
    """The facts shown to the model: derived, none, or the caller's own.

    Raises:
        QuestionError: neither "auto", "off" nor a list of texts.
    """
    if facts == "auto":
        return derive_facts(material.text)
    if facts == "off":
        return ()
    good = isinstance(facts, (list, tuple)) and all(isinstance(line, str) and line.strip() for line in facts)
    if not good or any(0xD800 <= ord(c) <= 0xDFFF for line in facts for c in line):
        raise QuestionError("not a list of facts", path="facts", given=facts, accepted="'auto', 'off' or a list of non-empty strings")
    return caller_facts(facts)


def _named(path: str, value: Any, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise InputError(f"unknown {path}", path=path, given=value, accepted=", ".join(accepted))
