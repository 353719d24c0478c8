"""Writing a report: one HTML file that needs no network, and the same as Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from clover_decide.errors import InputError
from clover_eval.metrics import Scored
from clover_eval.report.build import Analysis, Run
from clover_eval.report.plots import coverage_plot, reliability_plot
from clover_eval.report.tables import Table, all_tables, shown
from clover_eval.runners.base import need

TEMPLATE = Path(__file__).resolve().parent / "template.html.j2"
SHOWN_GROUPS = 60
"""Groups listed in the HTML at most; the results have them all."""


def write_report(analysis: Analysis, path: Path) -> list[Path]:
    """Write `path` (HTML) and the files of the same name with the endings .md and .json.

    Raises:
        InputError: another ending than .html, or not writable.
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    check_name(path)
    tables = all_tables(analysis)
    made = {
        path: html(analysis, tables),
        path.with_suffix(".md"): markdown(analysis, tables),
        path.with_suffix(".json"): as_json(analysis, tables),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, content in made.items():
            file.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path="--report", given=str(path), accepted="a writable path") from None
    return list(made)


def check_name(path: Path) -> None:
    """Raise InputError if the name of a report has another ending than .html."""
    if path.suffix != ".html":
        raise InputError("a report is an HTML file", path="--report", given=str(path), accepted="a name that ends in .html")


def heading(analysis: Analysis) -> str:
    """What was asked, in one line."""
    questions = sum(len(g.questions.questions) for g in analysis.groups)
    text = f"{analysis.source.name} (SHA-256 {analysis.source.sha256[:16]}), {len(analysis.groups)} groups, {questions} questions"
    missing = analysis.asked - len(analysis.groups)
    return f"{text}; {missing} groups are not in every file and left out" if missing else text


def conditions(analysis: Analysis) -> list[str]:
    """Machine, versions, time and memory of the runs, and what each runner was."""
    lines = [", ".join(f"{key} {value}" for key, value in entry.items()) for entry in analysis.environment]
    return [*lines, *(f"{run.name}: {', '.join(f'{k} {v}' for k, v in run.header.identity.items() if v != '')}" for run in analysis.runs)]


def markdown(analysis: Analysis, tables: Sequence[Table]) -> str:
    parts = [f"# {heading(analysis)}\n", *(f"* {line}" for line in conditions(analysis))]
    for table in tables:
        parts += [f"\n## {table.title}\n"]
        if table.note:
            parts += [table.note + "\n"]
        parts += ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
        parts += ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join(parts) + "\n"


def as_json(analysis: Analysis, tables: Sequence[Table]) -> str:
    content = {
        "set": {"name": analysis.source.name, "sha256": analysis.source.sha256, "groups": len(analysis.groups)},
        "environment": list(analysis.environment),
        "runs": {run.name: dict(run.header.identity) for run in analysis.runs},
        "tables": [
            {"title": t.title, "note": t.note, "rows": [dict(zip(t.columns, map(_plain, row), strict=True)) for row in t.rows]}
            for t in tables
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n"


def _plain(cell: Any) -> Any:
    if is_dataclass(cell) and not isinstance(cell, type):
        return {key: _plain(value) for key, value in asdict(cell).items()}
    # JSON has no NaN.
    return None if isinstance(cell, float) and cell != cell else cell


def html(analysis: Analysis, tables: Sequence[Table]) -> str:
    jinja = need("jinja2", "eval")
    template = jinja.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE.read_text(encoding="utf-8"))
    runs = [run for run in analysis.plain if run.outcomes()]
    plots = []
    if runs:
        plots.append(reliability_plot("Answers: probability and truth", [(r.name, r.outcomes()) for r in runs]))
    if whole := [run for run in analysis.plain if run.group_outcomes()]:
        plots.append(reliability_plot("Whole groups: probability and truth", [(r.name, r.group_outcomes()) for r in whole]))
        plots.append(coverage_plot("Groups: answering only the surest", [(r.name, r.group_outcomes()) for r in whole]))
    disagreeing = disagreements(analysis)
    return template.render(
        heading=heading(analysis),
        conditions=conditions(analysis),
        tables=tables,
        shown=shown,
        plots=plots,
        runs=[run.name for run in analysis.plain],
        groups=[_entry(analysis.plain, index) for index in disagreeing[:SHOWN_GROUPS]],
        disagreeing=len(disagreeing),
    )


def disagreements(analysis: Analysis) -> list[int]:
    """Groups in which the runs do not get the same questions right, spread over the slices."""
    found = [i for i in range(len(analysis.groups)) if len({tuple(run.scored[i].right.values()) for run in analysis.plain}) > 1]
    by_slice: dict[str, list[int]] = {}
    for i in found:
        by_slice.setdefault(analysis.groups[i].slice, []).append(i)
    rank = {i: n for some in by_slice.values() for n, i in enumerate(some)}
    return sorted(found, key=lambda i: (rank[i], i))


def _entry(runs: Sequence[Run], index: int) -> dict[str, Any]:
    group = runs[0].scored[index].group
    questions = [
        {
            "id": key,
            "text": question.text,
            "gold": _value(group.answers[key]),
            "answers": [_answer(run.scored[index], key) for run in runs],
        }
        for key, question in group.questions.questions.items()
    ]
    marks = ", ".join(f"{run.name} {run.scored[index].hits}/{len(questions)}" for run in runs)
    broken = [f"{run.name} breaks {run.scored[index].broken} of {len(group.rules)} rules" for run in runs if run.scored[index].broken]
    return {"id": group.id, "slice": group.slice, "marks": marks, "material": group.material, "questions": questions, "broken": broken}


def _answer(scored: Scored, key: str) -> dict[str, Any]:
    given = scored.row.answers.get(key)
    if given is None:
        return {"value": "failed" if scored.row.failed else "not asked", "probability": "", "right": False, "others": ""}
    listed = sorted((given.probabilities or {}).items(), key=lambda item: -item[1])[:4]
    others = ", ".join(f"{name} {p:.2f}" for name, p in listed)
    probability = "" if given.probability is None else f"{given.probability:.2f}"
    return {"value": _value(given.value), "probability": probability, "right": scored.right[key], "others": others}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
