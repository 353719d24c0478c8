"""Showing and storing what a benchmark measured."""

from __future__ import annotations

import json
from pathlib import Path

from clover_decide.errors import InputError
from clover_eval.bench import JOINT, Measured
from clover_eval.runners.base import need


def show(measured: Measured) -> None:
    """Print all settings to stdout."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    asked = f", questions of type {', '.join(measured.types)}" if measured.types else ""
    console.print(
        ", ".join(f"{key} {value}" for key, value in measured.environment.items()) + f", {measured.dtype}{asked}", highlight=False
    )
    for threads, machine in measured.machines.items():
        said = f"{machine.bytes_per_second / 1e9:.1f} GB/s copied, {machine.operations_per_second / 1e9:.0f} G operations/s multiplied"
        console.print(f"{threads} thread{'s' if threads > 1 else ''}: {said}", highlight=False)
    table = Table("threads", "tokens", "questions", "arm", "seconds", "× joint (range)", "× bound (least work)", box=None, pad_edge=False)
    for s in measured.settings:
        for t in s.timings:
            least = f"{s.bound.bytes / 1e9:.2f} GB, {s.bound.operations / 1e9:.0f} G operations: {s.bound.seconds:.3f} s"
            over = f"{t.seconds / s.bound.seconds:.1f} ({least})" if t.arm == JOINT else ""
            ratio = f"{t.ratio:.2f} ({t.low:.2f}-{t.high:.2f})"
            table.add_row(str(s.threads), str(s.tokens), str(s.questions), t.arm, f"{t.seconds:.3f}", ratio, over)
    console.print(table)
    for t in measured.throughput:
        console.print(f"{t.mode}: {t.per_second:.2f} requests/s, {t.callers} callers, {t.requests} requests", highlight=False)
    console.print("fresh process: " + ", ".join(f"{key} {value:.2f}" for key, value in measured.first_call.items()), highlight=False)
    for line in measured.skipped:
        console.print(f"left out: {line}", highlight=False)


def write(measured: Measured, path: Path) -> None:
    """JSON, and a plot beside it: seconds over the number of questions, one line an arm, one field a length.

    Raises:
        InputError: not writable.
        MissingExtraError: matplotlib is not installed.
    """
    try:
        path.write_text(json.dumps(measured.as_dict(), indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".svg").write_text(plot(measured), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path="--output", given=str(path), accepted="a writable path") from None


def plot(measured: Measured) -> str:
    """An SVG with a field for each length, at the most threads."""
    from io import StringIO

    figure_class = need("matplotlib.figure", "eval").Figure
    threads = max(s.threads for s in measured.settings)
    some = [s for s in measured.settings if s.threads == threads]
    lengths = list(dict.fromkeys(s.tokens for s in some))
    figure = figure_class(figsize=(3.4 * len(lengths), 3.4), layout="constrained")
    fields = figure.subplots(1, len(lengths), squeeze=False)[0]
    for axes, tokens in zip(fields, lengths, strict=True):
        here = sorted((s for s in some if s.tokens == tokens), key=lambda s: s.questions)
        for arm in dict.fromkeys(t.arm for s in here for t in s.timings):
            points = [(s.questions, t.seconds) for s in here for t in s.timings if t.arm == arm]
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.2, label=arm)
        axes.plot([s.questions for s in here], [s.bound.seconds for s in here], color="#888", linestyle=":", label="bound of a joint call")
        axes.set(title=f"{tokens} tokens, {threads} threads", xlabel="questions", ylabel="seconds", yscale="log")
        axes.grid(alpha=0.25, which="both")
    fields[0].legend(fontsize=6, frameon=False)
    buffer = StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
