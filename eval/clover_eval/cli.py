"""`clover-decide eval …`: run sets of labelled groups past runners, report, list what there is."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from clover_decide.cli.options import CalibrationOption, DtypeOption
from clover_decide.errors import InputError
from clover_eval.cli_evidence import evidence
from clover_eval.cli_options import FilterOption, FormatOption, ReportOption, SetArgument, SubsetOption, chosen
from clover_eval.datasets import LabelledGroup
from clover_eval.environment import describe, log, peak_mib
from clover_eval.execute import Task
from clover_eval.execute import run as execute
from clover_eval.public import load_as
from clover_eval.report.write import check_name
from clover_eval.runners.base import need
from clover_eval.runners.registry import FITTED
from clover_eval.sets import SETS, LoadedSet, load_set
from clover_eval.variants import VARIANTS, touched

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure answers on labelled groups of related questions.")
app.command("evidence")(evidence)


@app.command("run")
def run(
    name: SetArgument,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode",
            "-m",
            help="A way of asking the local model; may be repeated; independent and joint if nobody is named. See `eval runners`.",
        ),
    ] = None,
    runner: Annotated[list[str] | None, typer.Option("--runner", "-r", help="Another runner; may be repeated. See `eval runners`.")] = None,
    vary: Annotated[
        list[str] | None, typer.Option("--vary", help=f"Also ask in another form: {', '.join(VARIANTS)}. May be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the results; eval-results/SET by default.")] = None,
    report: ReportOption = None,
    resume: Annotated[bool, typer.Option(help="Go on where an earlier run stopped; failed groups are asked again.")] = False,
    only: FilterOption = None,
    count: SubsetOption = None,
    fmt: FormatOption = "groups",
    model: Annotated[str, typer.Option(help="The local model: a shipped one's name or a folder.")] = "clover-mini",
    dtype: DtypeOption = "auto",
    calibration: CalibrationOption = "shipped",
    facts: Annotated[bool, typer.Option(help="Derive facts from the material (local model).")] = True,
    fit: Annotated[str, typer.Option(help="The set that baselines are fitted on; a file in the same --format.")] = "linked-val",
    wire_model: Annotated[str, typer.Option(help="The model name sent to servers.")] = "jev-latest",
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for a connection to a server, and for each piece of its response.")
    ] = 60.0,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Groups asked at once; for servers.")] = 1,
) -> int:
    """Ask every group of a set; results are written as they come.

    clover-decide eval run linked-500 --mode independent --mode joint --report out.html

    A server's key is read from CLOVER_EVAL_KEY. The exit code is 1 if a group failed.
    """
    ready(report)
    source = load_as(name, fmt)
    groups = chosen(source, only, count)
    folder = out or Path("eval-results") / source.name
    _check_use(source, groups, vary or [], fit if set(runner or []) & FITTED else "", fmt)
    tasks = _tasks(
        mode or ([] if runner else ["independent", "joint"]),
        runner or [],
        vary or [],
        {"model": model, "dtype": dtype, "calibration": calibration},
        facts,
        fit,
        fmt,
        wire_model,
        timeout,
    )
    began = time.perf_counter()
    with _progress(len(tasks) * len(groups)) as (advance, failures):
        try:
            files = execute(source, groups, tasks, folder, resume=resume, concurrency=concurrency, progress=advance)
        except KeyboardInterrupt:
            print(f"stopped; what was answered is in {folder}, --resume goes on from there", file=sys.stderr)
            raise
    log(
        folder,
        {**describe(), "asked": [task.name for task in tasks], "seconds": round(time.perf_counter() - began), "peak MiB": peak_mib()},
    )
    _summary(source, groups, files, report)
    return 1 if failures() else 0


@app.command("report")
def make_report(
    name: SetArgument,
    results: Annotated[list[Path], typer.Argument(help="Files of results, or folders of them.")],
    report: ReportOption = None,
    only: FilterOption = None,
    count: SubsetOption = None,
    fmt: FormatOption = "groups",
) -> int:
    """Score files of results again: a summary here, and a report if one is named."""
    ready(report)
    source = load_as(name, fmt)
    files = [f for path in results for f in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    if not files:
        raise InputError("no file of results", path="results", given=[str(r) for r in results], accepted="files that `eval run` wrote")
    _summary(source, chosen(source, only, count), files, report)
    return 0


@app.command("sets")
def sets() -> None:
    """List the sets that ship."""
    for name, shipped in SETS.items():
        loaded = load_set(name)
        questions = sum(len(group.questions.questions) for group in loaded.groups)
        print(f"{name:14} {len(loaded.groups)} groups, {questions} questions; {shipped.purpose}; SHA-256 {shipped.sha256[:16]}")


@app.command("runners")
def runners() -> None:
    """List the ways of asking the local model, and the other runners."""
    from clover_eval.runners.local import ARMS
    from clover_eval.runners.registry import OTHERS

    print("--mode")
    for arm, described in ARMS.items():
        print(f"  {arm:20} {described.says}")
    print("--runner")
    for said in OTHERS.values():
        print(f"  {said}")


def ready(report: Path | None) -> None:
    """Find out before a long run that what its end needs is there.

    Raises:
        MissingExtraError: a package is not installed. InputError: the report's name has another ending.
    """
    for module in ("numpy", "scipy", "jsonschema", *(("jinja2", "matplotlib") if report else ())):
        need(module, "eval")
    if report is not None:
        check_name(report)


def _check_use(source: LoadedSet, groups: list[LabelledGroup], vary: list[str], fit: str, fmt: str) -> None:
    """Refuse a baseline fitted on what it is tried on, and a variant that changes no question."""
    if fit == source.name or (fit and Path(fit).is_file() and load_as(fit, fmt).sha256 == source.sha256):
        raise InputError("the set that is asked", path="--fit", given=fit, accepted="another set")
    for variant in vary:
        if variant in VARIANTS and not any(touched(variant, group) for group in groups):
            raise InputError("no question of the set can be asked in that form", path="--vary", given=variant, accepted="another form")


def _tasks(
    modes: list[str],
    specs: list[str],
    vary: list[str],
    loading: dict[str, Any],
    facts: bool,
    fit: str,
    fmt: str,
    wire_model: str,
    timeout: float,
) -> list[Task]:
    from clover_decide import Decider
    from clover_eval.runners.local import ARMS
    from clover_eval.runners.registry import make_local, make_other

    for given, known, path in ((modes, ARMS, "--mode"), (vary, VARIANTS, "--vary")):
        unknown = [value for value in given if value not in known]
        if unknown:
            raise InputError("unknown value", path=path, given=unknown[0], accepted=", ".join(known))
    key = os.environ.get("CLOVER_EVAL_KEY")
    others = [make_other(spec, fit=fit, fmt=fmt, model=wire_model, key=key, timeout=timeout) for spec in specs]
    local = make_local(modes, Decider(**loading), "auto" if facts else "off") if modes else []
    runners = {runner.name: runner for runner in [*local, *others]}
    for runner in [*local, *others]:
        if runner.identity != runners[runner.name].identity:
            raise InputError("two runners have one name", path="--runner", given=runner.name, accepted="files with other names")
    return [Task(runner, variant) for runner in runners.values() for variant in dict.fromkeys(["", *vary])]


def _summary(source: LoadedSet, groups: list[LabelledGroup], files: list[Path], report: Path | None) -> None:
    from clover_eval.report.build import analyse
    from clover_eval.report.terminal import show
    from clover_eval.report.write import write_report

    analysis = analyse(source, groups, files)
    show(analysis)
    if report is not None:
        written = write_report(analysis, report)
        print(f"report: {', '.join(str(path) for path in written)}", file=sys.stderr)


@contextmanager
def _progress(total: int) -> Iterator[tuple[Callable[[str, bool], None], Callable[[], int]]]:
    """A bar on stderr where a person is watching, else a line now and then; and the number of failures so far."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    failed = done = 0
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("asking", total=total)

        lock = threading.Lock()

        def advance(name: str, was_failed: bool) -> None:
            nonlocal failed, done
            with lock:
                failed, done = failed + was_failed, done + 1
                bar.update(task, advance=1, description=f"{failed} failed" if failed else "asking")
                if not console.is_terminal and done % 100 == 0:
                    print(f"{done} of {total}, {failed} failed", file=sys.stderr, flush=True)

        yield advance, lambda: failed
