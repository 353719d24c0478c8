"""The tables of a report. A table is the same in HTML, Markdown, JSON and in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clover_eval.metrics import Scored, accuracy, by_type, difference, flips
from clover_eval.reliability import area_under_risk, calibration, threshold_for
from clover_eval.report.build import Analysis, Part, Run
from clover_eval.statistics import Interval

WISHED = 0.95
"""The accuracy for which a threshold is sought."""


@dataclass(frozen=True)
class Table:
    """Cells are strings, numbers, intervals or None; the first column names the row."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def shown(cell: Any) -> str:
    """A cell as people read it."""
    match cell:
        case None:
            return "–"
        case Interval(value, low, high):
            return "–" if value != value else f"{value:.3f} [{low:.3f}, {high:.3f}]"
        case bool() | int() | str():
            return str(cell)
        case float():
            return f"{cell:.3f}"
        case _:
            return str(cell)


def all_tables(analysis: Analysis) -> list[Table]:
    """Every table that has something to say."""
    made = [overall(analysis), by_part(analysis), differences(analysis), types(analysis), reliability(analysis), selective(analysis)]
    made += [open_worlds(analysis), causal(analysis), changes(analysis), failures(analysis)]
    return [table for table in made if table.rows]


def overall(analysis: Analysis) -> Table:
    rows = []
    for run in analysis.plain:
        a = accuracy(run.scored)
        rows.append((run.name, a.question, a.group, a.expected, a.beyond, a.violations, a.pairs, a.failed, a.unsupported, a.seconds))
    note = (
        "Brackets: 95% intervals, 10,000 bootstrap resamples of clusters (a group, or a pair of twins), seed 0. p^k: the group accuracy "
        "that independent errors would give. Broken rules: share of completely answered groups that break one. Twins: pairs right in both. "
        "Failed groups and questions not askable (or refused) count as wrong. Seconds a group: runners of one model share the "
        "reading of a material, so these are no benchmark."
    )
    columns = ("runner", "questions", "groups", "p^k", "groups − p^k", "broken rules", "twins", "failed", "not askable", "s/group")
    return Table("Accuracy", note, columns, tuple(rows))


def by_part(analysis: Analysis) -> Table:
    rows = []
    for part in analysis.parts:
        for run in analysis.plain:
            some = _in(part, run)
            a = accuracy(some)
            rows.append((part.title, run.name, a.groups, a.questions, a.question, a.group, a.beyond, a.violations))
    columns = ("part", "runner", "groups", "questions", "questions right", "groups right", "groups − p^k", "broken rules")
    return Table("By slice and domain", "", columns, tuple(rows))


def _in(part: Part, run: Run) -> list[Scored]:
    return [s for s in run.scored if part.keep(s.group)]


def differences(analysis: Analysis) -> Table:
    base, rows = analysis.baseline, []
    for run in analysis.plain:
        for part in analysis.parts if run is not base else ():
            d = difference(_in(part, run), _in(part, base))
            rows.append((f"{run.name} − {base.name}", part.title, d.question, d.group, d.test.gained, d.test.lost, f"{d.test.p:.2g}"))
    note = (
        "Paired on the same groups. Won and lost: groups right in one alone; p is the exact two-sided McNemar test of these "
        "(it takes twins as independent; the intervals do not). Not corrected for the number of rows."
    )
    columns = ("difference", "part", "questions", "groups", "won", "lost", "p")
    return Table("Differences", note, columns, tuple(rows))


def types(analysis: Analysis) -> Table:
    rows = []
    for run in analysis.plain:
        rows += [(kind, run.name, count, found) for kind, (count, found) in by_type(run.scored).items()]
    rows.sort(key=lambda row: row[0])
    return Table("By question type", "", ("type", "runner", "questions", "right"), tuple(rows))


def reliability(analysis: Analysis) -> Table:
    rows = []
    for run in analysis.plain:
        kinds = sorted({q.type for s in run.scored for q in s.group.questions.questions.values()})
        for title, outcomes in [
            ("whole group", run.group_outcomes()),
            ("all questions", run.outcomes()),
            *((kind, run.outcomes(kind)) for kind in kinds),
        ]:
            c = calibration(outcomes)
            if c:
                rows.append((run.name, title, c.count, c.accuracy, c.mean_probability, c.ece, c.brier, c.log_loss))
    note = (
        "Of the answer given: its probability against how often it is right. ECE over ten bins of equal numbers; Brier score and log "
        "loss of “the answer is right”. Runners that give no probability are left out."
    )
    columns = ("runner", "of", "answers", "right", "mean p", "ECE", "Brier", "log loss")
    return Table("Calibration", note, columns, tuple(rows))


def selective(analysis: Analysis) -> Table:
    rows = []
    for run in analysis.plain:
        for title, outcomes in (("questions", run.outcomes()), ("groups", run.group_outcomes())):
            if outcomes:
                t = threshold_for(outcomes, WISHED)
                found = t.threshold if t.threshold is not None else "none reaches it"
                area = area_under_risk(outcomes)
                rows.append((run.name, title, area, found, t.coverage, t.held_out_accuracy, t.held_out_coverage, t.held_out))
    note = (
        f"The lowest probability from which on answers were right {WISHED:.0%} of the time on one half of the clusters, and what it does "
        "on the other half, which had no part in choosing it. Area: mean risk over all coverages, lower is better."
    )
    columns = ("runner", "of", "area", "threshold", "answered", "held out: right", "held out: answered", "held out")
    return Table(f"Answering only when sure ({WISHED:.0%})", note, columns, tuple(rows))


def open_worlds(analysis: Analysis) -> Table:
    rows = [(run.name, a.groups, a.consistent, a.likeliest, a.scored, a.log_probability, a.stated) for run, a in analysis.ambiguities()]
    note = (
        "Groups whose text leaves several worlds open, with stated probabilities; gold is drawn from them. Consistent: the answers are "
        "those of one of the worlds. log p: of the gold answers to yes/no questions, choices and scores, mean over the groups of their sum "
        "(in a joint answer each is conditional on those committed before). Stated: the same by the text's own probabilities."
    )
    columns = ("runner", "groups", "consistent", "likeliest world", "with probabilities", "log p", "stated")
    return Table("Where several worlds are possible", note, columns, tuple(rows))


def causal(analysis: Analysis) -> Table:
    """The final question of each pair, asked alone and with the questions it builds on."""
    rows = []
    for run in analysis.plain:
        pairs: dict[tuple[str, str], dict[str, bool]] = {}
        for s in run.scored:
            if s.group.final and s.group.pair:
                depth, _, variant = s.group.slice.rpartition(", ")
                pairs.setdefault((depth, s.group.pair), {})[variant] = s.right[s.group.final]
        for depth in dict.fromkeys(depth for depth, _ in pairs):
            rows.append(
                (run.name, depth, *_with_and_alone([v for (d, _), v in pairs.items() if d == depth and set(v) == {"alone", "with"}]))
            )
    note = (
        "The same final question of the same material. Gained and lost: right in one alone; p: exact McNemar. With one step there is "
        "nothing to build on, and both are the same request."
    )
    columns = ("runner", "steps", "pairs", "alone", "with the questions it builds on", "difference", "gained", "lost", "p")
    return Table("Does it help to ask what an answer builds on?", note, columns, tuple(rows))


def _with_and_alone(pairs: Sequence[dict[str, bool]]) -> tuple[Any, ...]:
    from clover_eval.statistics import mcnemar, paired_difference, ratio

    given, alone, ones = [p["with"] for p in pairs], [p["alone"] for p in pairs], [1.0] * len(pairs)
    test = mcnemar(given, alone)
    gain = paired_difference([float(x) for x in given], [float(x) for x in alone], ones)
    each = [ratio([float(x) for x in some], ones) for some in (alone, given)]
    return (len(pairs), *each, gain, test.gained, test.lost, f"{test.p:.2g}")


def changes(analysis: Analysis) -> Table:
    rows = []
    for base, varied in analysis.variants():
        f = flips(base.scored, varied.scored, varied.variant)
        a = accuracy(varied.scored)
        rows.append((base.name, varied.variant, f.questions, f.groups, a.question, a.group))
    note = (
        "The same asked with turned options, in another order of questions, or in other words: how many of the answers to questions "
        "asked in another form change, and the accuracy of all then."
    )
    columns = ("runner", "changed", "answers that flip", "groups with a flip", "questions right", "groups right")
    return Table("Does the form of asking matter?", note, columns, tuple(rows))


def failures(analysis: Analysis) -> Table:
    """What went wrong, how often."""
    rows = []
    for run in analysis.runs:
        problems = Counter(str(s.row.failed.get("problem", s.row.failed)) for s in run.scored if s.row.failed)
        rows += [(run.name, problem, count) for problem, count in problems.most_common(5)]
    return Table("Groups that failed", "Counted as wrong above; `--resume` asks them again.", ("runner", "problem", "groups"), tuple(rows))
