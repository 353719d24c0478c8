"""What a set of LinkedDecisions must pass before it is frozen, and what anybody can check afterwards.

    python -m clover_linked.gates linked-500

Builds the set anew and compares: the shipped file, shape and limits, gold answers against a second evaluator, rules, twins, closeness to
thresholds, repeated answer tuples, overlap of wording with training and validation text, and whether the questions alone, or which
questions are asked together, give the answers away. What needs a model (a bag of words, another material) is measured by
`clover-decide eval run --runner tfidf --mode joint-astray`. Exit code 1 if a gate fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clover_decide.questions import Choice
from clover_eval.datasets import LabelledGroup, parse_groups, read_content
from clover_eval.rules import violated
from clover_eval.runners.baselines import BagOfWordsRunner
from clover_eval.scoring import is_right
from clover_eval.sets import DATA, SETS
from clover_linked import causal
from clover_linked.build import AMBIGUOUS, RECIPES, build, packed
from clover_linked.compose import MAX_WORDS, MIN_WORDS
from clover_linked.second import answer as second_answer
from clover_train.groups import compose
from clover_train.overlap import GRAM, LIMIT, shares
from clover_train.stream import WORLDS, worlds

Row = dict[str, Any]
CLOSED = ("boolean", "choice", "score", "multi_choice")


@dataclass
class Report:
    """Outcome of the gates, in order."""

    lines: list[tuple[bool, str, str]] = field(default_factory=list)

    def add(self, passed: bool, gate: str, said: str) -> None:
        self.lines.append((passed, gate, said))
        print(f"{'pass' if passed else 'FAIL'}  {gate}: {said}", flush=True)

    @property
    def passed(self) -> bool:
        return all(line[0] for line in self.lines)


def frozen(name: str, rows: Sequence[Row], report: Report) -> None:
    digest, shipped = packed(rows)[1], hashlib.sha256(read_content(DATA / f"{name}.jsonl.gz").encode()).hexdigest()
    report.add(digest == shipped == SETS[name].sha256, "frozen", f"SHA-256 {digest}, built anew, shipped and declared")


def limits(name: str, rows: Sequence[Row], report: Report) -> None:
    sizes = [len(row["questions"]) for row in rows]
    words = [len(row["material"].split()) for row in rows]
    good = (
        min(sizes) >= 3
        and max(sizes) <= 8
        and min(words) >= MIN_WORDS
        and max(words) <= MAX_WORDS
        and sum(sizes) == RECIPES[name].questions
    )
    said = f"{len(rows)} groups, {sum(sizes)} questions, {min(sizes)}-{max(sizes)} a group, {min(words)}-{max(words)} words"
    report.add(good and all(row["rules"] for row in rows), "limits", f"{said}, a rule in each")
    shares = Counter(row["slice"] for row in rows)
    report.add(shares[AMBIGUOUS] <= len(rows) / 10, "slices", ", ".join(f"{k} {v / len(rows):.0%}" for k, v in shares.items()))


def gold(rows: Sequence[Row], groups: Sequence[LabelledGroup], report: Report) -> None:
    wrong, checked = [], 0
    for row in rows:
        again = second_answer(row["structure"], row["facts"])
        for key, value in row["answers"].items():
            checked += 1
            if not _same(again[key], value):
                wrong.append(f"{row['id']}.{key}: {value} and {again[key]}")
    report.add(not wrong, "second evaluator", f"{checked} answers, {len(wrong)} differ {wrong[:3] if wrong else ''}".strip())
    broken = [group.id for group in groups if violated(group.rules, group.answers)]
    report.add(not broken, "rules hold in gold", f"{sum(len(g.rules) for g in groups)} rules, broken in {len(broken)} groups")


def _same(again: Any, value: Any) -> bool:
    if isinstance(value, list):
        return set(again) == set(value)
    if isinstance(value, float):
        return abs(float(again) - value) < 1e-9
    return (again.isoformat() if hasattr(again, "isoformat") else again) == value


def twins(rows: Sequence[Row], report: Report) -> None:
    pairs: dict[str, list[Row]] = {}
    for row in rows:
        if row["pair"]:
            pairs.setdefault(row["pair"], []).append(row)
    bad = [name for name, (a, b) in pairs.items() if not minimal(a, b)]
    said = f"{len(pairs)} pairs that differ in the clauses of one edit alone and in some but not all answers; {len(bad)} otherwise"
    report.add(not bad, "twins", said)


def minimal(a: Row, b: Row) -> bool:
    """Whether two twins are alike in all but one fact (a reporting line and who leads whom count as one) and what states it."""
    facts = {key for key in a["facts"] if a["facts"][key] != b["facts"][key]} - {"boss"}
    flipped = sum(a["answers"][key] != b["answers"][key] for key in a["answers"])
    first, second = (re.split(r"(?<=[.!?])\s+", row["material"]) for row in (a, b))
    lost, gained = Counter(first) - Counter(second), Counter(second) - Counter(first)
    kept = [[s for s in some if s not in changed] for some, changed in ((first, lost), (second, gained))]
    # Two units change places in two clauses, three people of a line in three; a clause has up to two sentences.
    most = 6 if "line" in facts else 4 if "free" in facts else 3
    small = max(lost.total(), gained.total()) <= most and min(lost.total() + gained.total(), 1) == 1
    return len(facts) == 1 and 0 < flipped < len(a["answers"]) and a["questions"] == b["questions"] and kept[0] == kept[1] and small


def closeness(rows: Sequence[Row], report: Report) -> None:
    counted = [row for row in rows if row["structure"] != "dispatch.units" and row["slice"] != AMBIGUOUS]
    share = sum(row["near"] for row in counted) / len(counted)
    report.add(0.45 <= share <= 0.7, "near a threshold", f"{share:.0%} of {len(counted)} groups that have one within one unit")
    common: list[tuple[int, int]] = []
    for structure in sorted({row["structure"] for row in rows}):
        tuples = Counter(json.dumps(row["answers"], sort_keys=True) for row in rows if row["structure"] == structure)
        # Names, dates and numbers included: of closed answers alone there are only a handful of tuples.
        common.append((tuples.most_common(1)[0][1], tuples.total()))
    # Of forty groups or fewer, two alike are already five percent.
    good = all(count <= max(2, total / 20) for count, total in common)
    most = max(common, key=lambda c: c[0] / c[1])
    report.add(good, "answer tuples", f"the most common within a structure has {most[0]} of {most[1]} groups")


def overlap(name: str, rows: Sequence[Row], report: Report, count: int = 500) -> None:
    """Against materials that the training generator makes, and against the other LinkedDecisions set."""
    import random

    rng = random.Random(0)
    texts: list[str] = []
    for family in WORLDS:
        texts += [compose(rng, w, list(w.questions)[:7], complete=True, distractors=2).material for w in worlds(1, "train", count, family)]
    other = next(n for n in RECIPES if n != name)
    for source, known in (("training text", texts), (other, [row["material"] for row in build(other)])):
        most = max(shares([row["material"] for row in rows], known))
        report.add(most < LIMIT, f"{GRAM}-gram overlap with {source}", f"at most {most:.3f} of a material, {len(known)} texts")


def probes(groups: Sequence[LabelledGroup], report: Report, folds: int = 5) -> None:
    """Models without the material, fitted on four fifths of the set and tried on the rest, twins kept together.

    One sees a question and its options; the other which questions are asked together.
    """
    clusters = sorted({group.cluster for group in groups})
    fold_of = {cluster: i % folds for i, cluster in enumerate(clusters)}
    right = siblings = total = 0
    common = 0.0
    for fold in range(folds):
        fit = [g for g in groups if fold_of[g.cluster] != fold]
        probe, together, majority = BagOfWordsRunner(fit, "folds", blind=True), _siblings(fit), _majority(fit)
        for group in (g for g in groups if fold_of[g.cluster] == fold):
            answers = probe.answer(group).answers
            for key, question in group.questions.questions.items():
                if question.type in CLOSED:
                    total += 1
                    right += is_right(group, key, answers[key].value)
                    siblings += together(group, key)
                    common += majority(group, key)
    most = common / total + 0.02
    against = f"of {total} closed questions, the most common answer {common / total:.3f}"
    report.add(right / total <= most, "questions alone", f"{right / total:.3f} {against}")
    report.add(siblings / total <= most, "which questions are asked together", f"{siblings / total:.3f} {against}")


def _siblings(fit: Sequence[LabelledGroup]) -> Callable[[LabelledGroup, str], bool]:
    """A naive Bayes guess at the answer from the ids and the number of the questions asked with it."""
    seen: dict[tuple[str, str], dict[str, list[frozenset[str]]]] = {}
    for group in fit:
        for key in group.answers:
            seen.setdefault((group.structure, key), {}).setdefault(json.dumps(group.answers[key]), []).append(_asked_with(group))

    def right(group: LabelledGroup, key: str) -> bool:
        known = seen.get((group.structure, key), {})
        own, every = _asked_with(group), frozenset().union(*(s for some in known.values() for s in some))

        def score(value: str) -> float:
            sets = known[value]
            shares = [(sum(name in s for s in sets) + 1) / (len(sets) + 2) for name in sorted(every)]
            fits = (math.log(p if name in own else 1 - p) for name, p in zip(sorted(every), shares, strict=True))
            return math.log(len(sets)) + sum(fits)

        return bool(known) and is_right(group, key, json.loads(max(sorted(known), key=score)))

    return right


def _asked_with(group: LabelledGroup) -> frozenset[str]:
    return frozenset({*group.answers, f"{len(group.answers)} questions"})


def _majority(fit: Sequence[LabelledGroup]) -> Callable[[LabelledGroup, str], float]:
    """The chance that the most common answer is right; where the options are names of the case, that of a guess among them."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for group in fit:
        for key in group.answers:
            counts.setdefault((group.structure, key), Counter())[json.dumps(group.answers[key])] += 1

    def right(group: LabelledGroup, key: str) -> float:
        known: Mapping[str, int] = counts.get((group.structure, key), Counter())
        question = group.questions.questions[key]
        offered = [json.dumps(o.value) for o in question.options] if isinstance(question, Choice) else list(known)
        seen = [value for value in sorted(known) if value in offered]
        if not seen:
            return 1 / max(len(offered), 1)
        return float(is_right(group, key, json.loads(max(seen, key=lambda v: known[v]))))

    return right


def check(name: str) -> Report:
    """All gates of a set that need no model."""
    rows, report = build(name), Report()
    content = "".join(json.dumps({k: v for k, v in row.items() if k != "facts"}) + "\n" for row in rows)
    groups = list(parse_groups(content, name))
    frozen(name, rows, report)
    limits(name, rows, report)
    gold(rows, groups, report)
    twins(rows, report)
    closeness(rows, report)
    overlap(name, rows, report)
    probes(groups, report)
    return report


def check_causal() -> Report:
    """The causal set: frozen, its gold by walking up the line, its pairs alike in all but the siblings."""
    rows, report = causal.build(), Report()
    frozen("linked-causal", rows, report)
    wrong = 0
    for row in rows:
        place = row["facts"]["a"]
        for step in range(1, max(causal.DEPTHS) + 1):
            place = row["facts"]["boss"].get(place)
            wrong += row["answers"].get(causal.key_of(step), place) != place
    report.add(not wrong, "second evaluator", f"{sum(len(row['answers']) for row in rows)} answers, {wrong} differ")
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    alike = all(
        alone["material"] == along["material"]
        and list(alone["questions"]) == [alone["final"]]
        and alone["questions"].items() <= along["questions"].items()
        for alone, along in pairs
    )
    report.add(alike, "pairs", f"{len(pairs)} pairs of one material and one final question")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=list(SETS))
    name = parser.parse_args().name
    sys.exit(0 if (check_causal() if name == "linked-causal" else check(name)).passed else 1)


if __name__ == "__main__":
    main()
