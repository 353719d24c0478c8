"""What is counted: questions, groups, twins, broken rules, by any part of a set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from clover_decide.questions import Boolean, Choice, Score
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given, Row
from clover_eval.scoring import is_right, violated
from clover_eval.statistics import Interval, McNemar, mcnemar, paired_difference, ratio


@dataclass(frozen=True)
class Scored:
    """One group under one runner: which questions are right, and how many of its rules the answers break."""

    group: LabelledGroup
    row: Row
    right: Mapping[str, bool]
    broken: int

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
    return Scored(group, row, right, len(violated(group.rules, values)) if complete else 0)


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one runner on one part of a set.

    expected: the group accuracy that independent errors would give, the mean over groups of p^k with p the question accuracy
        of this part and k the questions of the group.
    violations: the share of groups with rules, all questions answered, whose answers break at least one.
    pairs: the share of twin pairs of which both groups are right.
    failed, unsupported: groups that failed and questions that could not be asked; both count as wrong.
    """

    groups: int
    questions: int
    question: Interval
    group: Interval
    expected: float
    violations: Interval | None
    pairs: Interval | None
    failed: int
    unsupported: int
    seconds: float

    @property
    def beyond(self) -> float:
        """Group accuracy minus what independent errors would give."""
        return self.group.value - self.expected


def accuracy(scored: Sequence[Scored]) -> Accuracy:
    """The figures of a non-empty part."""
    clusters = [s.group.cluster for s in scored]
    sizes = [float(len(s.right)) for s in scored]
    question = ratio([float(s.hits) for s in scored], sizes, clusters)
    ones = [1.0] * len(scored)
    ruled = [s for s in scored if s.group.rules and not s.row.failed and set(s.row.answers) == set(s.right)]
    return Accuracy(
        groups=len(scored),
        questions=int(sum(sizes)),
        question=question,
        group=ratio([float(s.whole) for s in scored], ones, clusters),
        expected=mean(question.value**size for size in sizes),
        violations=ratio([float(s.broken > 0) for s in ruled], [1.0] * len(ruled), [s.group.cluster for s in ruled]) if ruled else None,
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
    log_probability: the mean over groups of Σ log p(gold answer); of a question whose distribution is not given, all that is
        left of its probability goes to the gold answer, so this is at most what the runner says. best: the same of the
        stated probabilities, which no answerer that knows no more can beat on average.
    """

    groups: int
    consistent: Interval
    likeliest: Interval
    log_probability: float | None
    best: float


def ambiguity(scored: Sequence[Scored]) -> Ambiguity | None:
    """None where no group has worlds."""
    open_groups = [s for s in scored if s.group.worlds]
    if not open_groups:
        return None
    fits = [_fits(s) for s in open_groups]
    ones = [1.0] * len(fits)
    logs = [log_probability(s) for s in open_groups]
    stated = [math.log(next(w.probability for w in s.group.worlds if w.answers == s.group.answers)) for s in open_groups]
    return Ambiguity(
        len(fits),
        ratio([float(any(f)) for f in fits], ones),
        ratio([float(f[_likeliest(s)]) for f, s in zip(fits, open_groups, strict=True)], ones),
        mean(x for x in logs if x is not None) if all(x is not None for x in logs) else None,
        mean(stated),
    )


def _fits(s: Scored) -> list[bool]:
    values = {key: given.value for key, given in s.row.answers.items()}
    return [values == world.answers for world in s.group.worlds]


def _likeliest(s: Scored) -> int:
    return max(range(len(s.group.worlds)), key=lambda i: s.group.worlds[i].probability)


def log_probability(s: Scored) -> float | None:
    """Σ log p(gold answer) over the questions; None where an answer or its probability is missing."""
    logs = [gold_probability(s, key) for key in s.right]
    return sum(math.log(max(p, 1e-9)) for p in logs if p is not None) if None not in logs else None


def gold_probability(s: Scored, key: str) -> float | None:
    """The probability given to the gold answer; of an open type, all that is left where another value was answered."""
    given = s.row.answers.get(key)
    if given is None or given.probability is None:
        return None
    name = option_name(s.group, key)
    if name is not None and given.probabilities:
        return given.probabilities.get(name)
    return given.probability if s.right[key] else 1.0 - given.probability


def option_name(group: LabelledGroup, key: str) -> str | None:
    """How the gold answer is called in `Given.probabilities`; None for types without a full distribution."""
    question, gold = group.questions.questions[key], group.answers[key]
    if isinstance(question, Boolean):
        return "true" if gold else "false"
    if isinstance(question, Score):
        return question.levels[gold].value
    return gold if isinstance(question, Choice) else None


@dataclass(frozen=True)
class Flips:
    """How often an answer changed when the same was asked in another form: of questions, and of groups with any change."""

    questions: Interval
    groups: Interval


def flips(base: Sequence[Scored], varied: Sequence[Scored]) -> Flips:
    """Both on the same groups, failed ones left out."""
    pairs = [(a, b) for a, b in zip(base, varied, strict=True) if not a.row.failed and not b.row.failed]
    clusters = [a.group.cluster for a, _ in pairs]
    changed = [float(sum(_differs(a.row.answers.get(key), b.row.answers.get(key)) for key in a.right)) for a, b in pairs]
    asked = [float(len(a.right)) for a, _ in pairs]
    return Flips(ratio(changed, asked, clusters), ratio([float(c > 0) for c in changed], [1.0] * len(changed), clusters))


def _differs(a: Given | None, b: Given | None) -> bool:
    first, second = a.value if a else None, b.value if b else None
    if isinstance(first, list) and isinstance(second, list):
        return set(first) != set(second)
    return first != second
