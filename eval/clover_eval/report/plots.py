"""Plots of a report, as SVG text without a date or a random id."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from clover_eval.reliability import Outcome, coverage_curve, reliability_curve
from clover_eval.runners.base import need

SIZE = (4.6, 3.6)


def reliability_plot(title: str, curves: Sequence[tuple[str, Sequence[Outcome]]]) -> str:
    """Accuracy over probability, ten bins of equal numbers a runner."""
    figure, axes = _axes(title, "probability given", "right")
    axes.plot([0, 1], [0, 1], color="#999", linewidth=1, linestyle=":")
    for name, outcomes in curves:
        bins = reliability_curve(outcomes)
        axes.plot([b.probability for b in bins], [b.accuracy for b in bins], marker="o", markersize=3, linewidth=1.4, label=name)
    return _svg(figure, axes)


def coverage_plot(title: str, curves: Sequence[tuple[str, Sequence[Outcome]]]) -> str:
    """Accuracy of what is answered over the share that is answered, surest first."""
    figure, axes = _axes(title, "share answered, surest first", "right among these")
    for name, outcomes in curves:
        points = coverage_curve(outcomes)
        axes.plot([p.coverage for p in points], [p.accuracy for p in points], linewidth=1.4, label=name)
    return _svg(figure, axes)


def _axes(title: str, x: str, y: str) -> tuple[Any, Any]:
    matplotlib = need("matplotlib", "eval")
    matplotlib.rcParams.update({"svg.hashsalt": "clover", "font.size": 9, "svg.fonttype": "none"})
    figure_class: Any = need("matplotlib.figure", "eval").Figure
    figure = figure_class(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y, xlim=(0, 1.01), ylim=(0, 1.01))
    axes.grid(alpha=0.25)
    return figure, axes


def _svg(figure: Any, axes: Any) -> str:
    axes.legend(fontsize=7, frameon=False, loc="best")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    # Scales with the page: the view box stays, the fixed size goes.
    return re.sub(
        r'(<svg[^>]*?) height="[^"]*"([^>]*?) width="[^"]*"|(<svg[^>]*?) width="[^"]*"([^>]*?) height="[^"]*"',
        r"\1\2\3\4",
        text[text.index("<svg") :],
        count=1,
    )
