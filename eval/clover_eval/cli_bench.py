"""`clover-decide bench`: how fast joint answering is, against what, and against what the machine could do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clover_decide.cli.options import DtypeOption
from clover_eval.cli_options import check_folder


def bench(
    questions: Annotated[
        list[int] | None, typer.Option("--questions", min=1, max=8, help="Questions a call; may be repeated. 1, 2, 4, 8 by default.")
    ] = None,
    tokens: Annotated[
        list[int] | None, typer.Option("--tokens", min=1, help="Tokens of the material; may be repeated. 100, 400, 1000, 4000 by default.")
    ] = None,
    threads: Annotated[list[int] | None, typer.Option("--threads", min=1, help="Threads; may be repeated. 1 and 2 by default.")] = None,
    kind: Annotated[list[str] | None, typer.Option("--type", help="Ask questions of this type; may be repeated.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds a setting.")] = 3,
    concurrent: Annotated[int, typer.Option(min=0, help="Callers at once for the throughput; 0 leaves it out.")] = 4,
    runner: Annotated[
        list[str] | None, typer.Option("--runner", "-r", help="An autoregressive runner to time too: outlines:MODEL or llamacpp:FILE.")
    ] = None,
    model: Annotated[str, typer.Option(help="The local model: a shipped one's name or a folder.")] = "clover-mini",
    dtype: DtypeOption = "auto",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file; a plot (.svg) is written beside it.")] = None,
) -> None:
    """Time joint against independent answering, interleaved in one process: medians, ratios, spread.

    clover-decide bench --questions 8 --tokens 400 --threads 2 -o bench.json
    """
    from clover_eval.bench import Plan, run_bench
    from clover_eval.bench_report import show, write

    check_folder(output)
    plan = Plan(
        tuple(questions or (1, 2, 4, 8)),
        tuple(tokens or (100, 400, 1000, 4000)),
        tuple(threads or (1, 2)),
        rounds,
        concurrent,
        tuple(runner or ()),
        tuple(kind or ()),
    )
    measured = run_bench(plan, model, dtype)
    show(measured)
    if output is not None:
        write(measured, output)
