"""How well evidence points: sentences listed against those that show an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clover_decide.decision import Mode
from clover_decide.material import read_material
from clover_eval.datasets import LabelledGroup, Span
from clover_eval.statistics import Interval, ratio

if TYPE_CHECKING:
    from clover_decide import Decider


@dataclass(frozen=True)
class Pointed:
    """Sentences of one group, over its questions: listed, to be listed, and both. `offsets`: all quotes stand where they should."""

    group: LabelledGroup
    listed: int
    gold: int
    both: int
    offsets: bool


@dataclass(frozen=True)
class Score:
    """Shares of sentences with 95% intervals over clusters: right among those listed, and found among the right ones."""

    groups: int
    questions: int
    precision: Interval
    recall: Interval
    offsets: bool


def point_all(decider: Decider, groups: Iterable[LabelledGroup], mode: Mode) -> Iterator[Pointed]:
    """Asks each group that has evidence. A sentence is right if it shares a character with a right span."""
    for group in groups:
        if not group.evidence:
            continue
        decision = decider.decide(group.material, group.questions, mode=mode, effort="fast", evidence=True)
        listed = gold = both = 0
        for key, spans in group.evidence.items():
            found = {(s.start, s.end) for s in decision[key].evidence}
            right = {sentence for sentence in read_material(group.material).sentences if _shares(sentence, spans)}
            listed, gold, both = listed + len(found), gold + len(right), both + len(found & right)
        offsets = all(group.material[s.start : s.end] == s.quote for answer in decision.answers.values() for s in answer.evidence)
        yield Pointed(group, listed, gold, both, offsets)


def score(pointed: list[Pointed]) -> Score:
    """Sums over groups."""
    clusters = [p.group.cluster for p in pointed]
    both = [float(p.both) for p in pointed]
    return Score(
        len(pointed),
        sum(len(p.group.evidence) for p in pointed),
        ratio(both, [float(p.listed) for p in pointed], clusters),
        ratio(both, [float(p.gold) for p in pointed], clusters),
        all(p.offsets for p in pointed),
    )


def _shares(sentence: Span, spans: Iterable[Span]) -> bool:
    return any(sentence[0] < end and start < sentence[1] for start, end in spans)
