"""What is counted: questions, groups, twins, broken rules, by any part of a set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from clover_decide.questions import Boolean, Choice, Score
from clover_eval.datasets import LabelledGroup, World
from clover_eval.results import Given, Row
from clover_eval.rules import violated
from clover_eval.scoring import is_right, same_answer
from clover_eval.statistics import Interval, McNemar, beyond_independence, mcnemar, paired_difference, ratio
from clover_eval.variants import touched


@dataclass(frozen=True)
class Scored:
    """One group under one runner: which questions are right, and how many of its rules the answers break.

    broken: None where not every question is answered.
    """

    group: LabelledGroup
    row: Row
    right: Mapping[str, bool]
    broken: int | None

    @property
    def whole(self) -> bool:
        """The group is right as a whole."""
        return all(self.right.values())

    @property
    def hits(self) -> int:
        return sum(self.right.values())


def score(group: LabelledGroup, row: Row) -> Scored:
    """A failed group and an unanswered question are wrong; rules are counted where every question is answered."""
    right = {key: key in row.answers and is_right(group, key, row.answers[key].value) for key in group.questions.questions}
    values = {key: given.value for key, given in row.answers.items()}
    complete = not row.failed and all(values.get(key) is not None for key in right)
    return Scored(group, row, right, len(violated(group.rules, values)) if complete else None)


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one runner on one part of a set.

    expected: the group accuracy that independent errors would give, the mean over groups of p^k with p the question accuracy
        of this part and k the questions of the group. beyond: group accuracy minus that.
    violations: the share of groups with rules, all questions answered, whose answers break at least one.
    pairs: the share of twin pairs of which both groups are right.
    failed, unsupported: groups that failed and questions that could not be asked; both count as wrong.
    """

    groups: int
    questions: int
    question: Interval
    group: Interval
    expected: float
    beyond: Interval
    violations: Interval | None
    pairs: Interval | None
    failed: int
    unsupported: int
    seconds: float


def accuracy(scored: Sequence[Scored]) -> Accuracy:
    """The figures of a non-empty part."""
    clusters = [s.group.cluster for s in scored]
    sizes = [float(len(s.right)) for s in scored]
    question = ratio([float(s.hits) for s in scored], sizes, clusters)
    ones = [1.0] * len(scored)
    ruled = [s for s in scored if s.group.rules and s.broken is not None]
    return Accuracy(
        groups=len(scored),
        questions=int(sum(sizes)),
        question=question,
        group=ratio([float(s.whole) for s in scored], ones, clusters),
        expected=mean(question.value**size for size in sizes),
        beyond=beyond_independence([float(s.hits) for s in scored], sizes, [float(s.whole) for s in scored], clusters),
        violations=ratio([float(bool(s.broken)) for s in ruled], [1.0] * len(ruled), [s.group.cluster for s in ruled]) if ruled else None,
        pairs=pair_accuracy(scored),
        failed=sum(s.row.failed is not None for s in scored),
        unsupported=sum(len(s.row.unsupported) for s in scored),
        seconds=mean(s.row.seconds for s in scored),
    )


def pair_accuracy(scored: Sequence[Scored]) -> Interval | None:
    """The share of twin pairs answered right in both groups; None where there is no pair."""
    pairs: dict[str, list[bool]] = {}
    for s in scored:
        if s.group.pair and not s.group.final:
            pairs.setdefault(s.group.pair, []).append(s.whole)
    both = [float(all(right)) for right in pairs.values() if len(right) == 2]
    return ratio(both, [1.0] * len(both)) if both else None


def by_type(scored: Sequence[Scored]) -> dict[str, tuple[int, Interval]]:
    """Question accuracy by question type, with the number of questions."""
    out: dict[str, tuple[int, Interval]] = {}
    for kind in sorted({q.type for s in scored for q in s.group.questions.questions.values()}):
        keys = [[key for key, q in s.group.questions.questions.items() if q.type == kind] for s in scored]
        hits = [float(sum(s.right[key] for key in some)) for s, some in zip(scored, keys, strict=True)]
        asked = [float(len(some)) for some in keys]
        out[kind] = (int(sum(asked)), ratio(hits, asked, [s.group.cluster for s in scored]))
    return out


@dataclass(frozen=True)
class Difference:
    """One runner minus another on the same groups, with the exact McNemar test of whole groups."""

    question: Interval
    group: Interval
    test: McNemar


def difference(first: Sequence[Scored], second: Sequence[Scored]) -> Difference:
    """Paired by group; the intervals resample clusters."""
    clusters = [s.group.cluster for s in first]
    sizes, ones = [float(len(s.right)) for s in first], [1.0] * len(first)
    return Difference(
        paired_difference([float(s.hits) for s in first], [float(s.hits) for s in second], sizes, clusters),
        paired_difference([float(s.whole) for s in first], [float(s.whole) for s in second], ones, clusters),
        mcnemar([s.whole for s in first], [s.whole for s in second]),
    )


@dataclass(frozen=True)
class Ambiguity:
    """How a runner does where the material leaves several worlds open.

    consistent: the share of groups whose answers are those of one of the worlds. likeliest: … of the most probable one.
    log_probability: the mean over `scored` groups of Σ log p(gold answer) over the questions with a full distribution (yes/no, choices,
        scores), each p at least 1e-6. Of a joint answer these are conditional on what was committed before.
    stated: the same of the text's own probabilities taken together, log P(the gold answers to those questions).
    """

    groups: int
    consistent: Interval
    likeliest: Interval
    scored: int
    log_probability: float | None
    stated: float | None


def ambiguity(scored: Sequence[Scored]) -> Ambiguity | None:
    """None where no group has worlds."""
    open_groups = [s for s in scored if s.group.worlds]
    if not open_groups:
        return None
    fits = [[_fits(s, world) for world in s.group.worlds] for s in open_groups]
    ones, clusters = [1.0] * len(fits), [s.group.cluster for s in open_groups]
    likeliest = [f[_likeliest(s)] for f, s in zip(fits, open_groups, strict=True)]
    logs = [(found, stated_log_probability(s.group)) for s in open_groups if (found := log_probability(s)) is not None]
    return Ambiguity(
        len(fits),
        ratio([float(any(f)) for f in fits], ones, clusters),
        ratio([float(f) for f in likeliest], ones, clusters),
        len(logs),
        mean(found for found, _ in logs) if logs else None,
        mean(stated for _, stated in logs) if logs else None,
    )


def _fits(s: Scored, world: World) -> bool:
    """Whether the answers are those of a world."""
    kinds = {key: question.type for key, question in s.group.questions.questions.items()}
    values = {key: given.value for key, given in s.row.answers.items()}
    return all(same_answer(kind, values.get(key), world.answers[key]) for key, kind in kinds.items())


def _likeliest(s: Scored) -> int:
    return max(range(len(s.group.worlds)), key=lambda i: s.group.worlds[i].probability)


def log_probability(s: Scored) -> float | None:
    """Σ log p(gold answer) over the questions with a full distribution; None if such a question has none, or there is none."""
    names = {key: name for key in s.right if (name := option_name(s.group, key)) is not None}
    listed = [((s.row.answers.get(key) or Given(None)).probabilities or {}).get(name) for key, name in names.items()]
    if not listed or any(p is None for p in listed):
        return None
    return sum(math.log(max(p, 1e-6)) for p in listed if p is not None)


def stated_log_probability(group: LabelledGroup) -> float:
    """log P(gold answers to the questions with a full distribution), by the text's own probabilities."""
    keys = [key for key in group.answers if option_name(group, key) is not None]
    return math.log(sum(w.probability for w in group.worlds if all(w.answers[key] == group.answers[key] for key in keys)))


def option_name(group: LabelledGroup, key: str) -> str | None:
    """How the gold answer is called in `Given.probabilities`; None for types without a full distribution."""
    question, gold = group.questions.questions[key], group.answers[key]
    if isinstance(question, Boolean):
        return "true" if gold else "false"
    if isinstance(question, Score):
        return str(gold)
    return gold if isinstance(question, Choice) else None


@dataclass(frozen=True)
class Flips:
    """How often an answer changed when the same was asked in another form: of questions, and of groups with any change."""

    questions: Interval
    groups: Interval


def flips(base: Sequence[Scored], varied: Sequence[Scored], variant: str) -> Flips:
    """Both on the same groups. Only questions that the variant asks in another form are counted, and no failed group."""
    pairs = [(a, b) for a, b in zip(base, varied, strict=True) if not a.row.failed and not b.row.failed and touched(variant, a.group)]
    clusters = [a.group.cluster for a, _ in pairs]
    keys = [touched(variant, a.group) for a, _ in pairs]
    changed = [
        float(sum(_differs(a.row.answers.get(key), b.row.answers.get(key)) for key in some))
        for (a, b), some in zip(pairs, keys, strict=True)
    ]
    asked = [float(len(some)) for some in keys]
    return Flips(ratio(changed, asked, clusters), ratio([float(c > 0) for c in changed], [1.0] * len(changed), clusters))


def _differs(a: Given | None, b: Given | None) -> bool:
    first, second = a.value if a else None, b.value if b else None
    if isinstance(first, list) and isinstance(second, list):
        return not same_answer("multi_choice", first, second)
    return first != second
