"""A summary that fits a screen."""

from __future__ import annotations

from clover_eval.metrics import Difference, accuracy, difference, flips
from clover_eval.report.build import Analysis
from clover_eval.report.tables import failures
from clover_eval.report.write import heading
from clover_eval.statistics import Interval

MOST_RUNS = 4
"""With more runs than this, the slices are left to the report."""
FORMS = {"options": "order of options", "order": "order of questions", "paraphrase": "words"}


def show(analysis: Analysis) -> None:
    """Print accuracy and the differences from the baseline to stdout: of all groups, and by slice where that fits."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(heading(analysis), style="bold", highlight=False)
    slices = {g.slice for g in analysis.groups}
    parts = [p for p in analysis.parts if p.title == "all" or (p.title in slices and max(len(analysis.plain), len(slices)) <= MOST_RUNS)]
    base = analysis.baseline
    table = Table("runner", box=None, pad_edge=False)
    for title in ("questions", "groups", "difference", "p"):
        table.add_column(title, no_wrap=True)
    for part in parts:
        table.add_row(f"{part.title}, {sum(part.keep(g) for g in analysis.groups)} groups", style="dim")
        for run in analysis.plain:
            some = [s for s in run.scored if part.keep(s.group)]
            a = accuracy(some)
            d = difference(some, [s for s in base.scored if part.keep(s.group)]) if run is not base else None
            table.add_row(f"  {run.name}", _shown(a.question), _shown(a.group), *_compared(d))
    console.print(table)
    for line in _notes(analysis):
        console.print(line, highlight=False, markup=False)


def _notes(analysis: Analysis) -> list[str]:
    """What the figures mean, what a change of form changed, and what went wrong."""
    compared = f"; difference: groups − {analysis.baseline.name}; p: exact McNemar" if len(analysis.plain) > 1 else ""
    lines = [f"Right, with 95% intervals (pairs of twins are one){compared}."]
    for first, varied in analysis.variants():
        changed = flips(first.scored, varied.scored, varied.variant).questions
        lines.append(f"{first.name}: {_shown(changed)} of the answers change with other {FORMS[varied.variant]}")
    for run in analysis.runs:
        a = accuracy(run.scored)
        if a.failed or a.unsupported:
            lines.append(f"{run.name}: {a.failed} of {a.groups} groups failed, {a.unsupported} questions not askable; all count as wrong")
    return lines + [f"  {name}: {count} × {problem}" for name, problem, count in failures(analysis).rows]


def _compared(d: Difference | None) -> tuple[str, str]:
    return (_shown(d.group, signed=True), f"{d.test.p:.2g}") if d else ("", "")


def _shown(x: Interval, *, signed: bool = False) -> str:
    """Without leading zeros, so that a row fits 80 columns."""
    value, low, high = (f"{v:{'+' if signed else ''}.{d}f}".replace("0.", ".", 1) for v, d in ((x.value, 3), (x.low, 2), (x.high, 2)))
    return f"{value} [{low},{high}]"
