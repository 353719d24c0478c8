"""`clover-decide batch`: many materials, one line out a row."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from clover_decide.cli.options import (
    AbstainOption,
    CalibrationOption,
    DtypeOption,
    EffortOption,
    EvidenceOption,
    FactsOption,
    ModelOption,
    ModeOption,
    PackOption,
    PermutationsOption,
    QuestionsOption,
    RuleOption,
    RulesOption,
    chosen_limits,
    chosen_pack,
    json_line,
)
from clover_decide.cli.rows import BatchRow, completed, read_rows
from clover_decide.errors import CloverError, InputError
from clover_decide.files import short_hash
from clover_decide.question_set import QuestionSet


def batch(
    rows: Annotated[
        Path, typer.Argument(help="JSONL (a string or an object with `material`, optional `id`) or CSV with a `material` column.")
    ],
    questions: QuestionsOption = None,
    pack: PackOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSONL file; stdout by default.")] = None,
    resume: Annotated[bool, typer.Option(help="Keep finished rows of OUTPUT, redo failed and missing ones.")] = False,
    mode: ModeOption = "joint",
    effort: EffortOption = "standard",
    facts: FactsOption = True,
    rules: RulesOption = None,
    rule: RuleOption = None,
    permutations: PermutationsOption = 1,
    abstain: AbstainOption = None,
    evidence: EvidenceOption = False,
    calibration: CalibrationOption = "shipped",
    model: ModelOption = "clover-mini",
    dtype: DtypeOption = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Rows are JSON anyway; also print the counts as JSON on stderr.")] = False,
) -> int:
    """Answer the same questions about every row of a file.

    Each row gives one line: {"row", "id", "sha", "run", "decision"}, or "error" in place of "decision"; "sha" identifies
    the row's content, "run" the questions, options, weights, number type and calibration. A bad row never stops the
    others; the exit code is 1 if any row failed.
    """
    chosen = chosen_pack(questions, pack, rules, rule)
    question_set = chosen.questions
    if resume and output is None:
        raise InputError("nothing to resume", path="--resume", accepted="--resume with --output FILE")
    items = list(read_rows(rows))
    options: dict[str, Any] = {"mode": mode, "effort": effort, "facts": "auto" if facts else "off"}
    options |= {"permutations": permutations, "abstain": chosen_limits(abstain), "evidence": evidence}
    from clover_decide.decider import Decider

    decider = Decider(model, dtype=dtype, calibration=calibration)
    decider.check(question_set, **options)
    fitted = [calibration.as_dict() for calibration in (decider.calibration, *decider.shipped) if calibration]
    run = short_hash(json.dumps([question_set.identity(), options, decider.fingerprint, decider.dtype, *chosen.rules.identity(), *fitted]))
    options["rules"] = chosen.rules
    done = completed(output, items, run) if resume and output else set[int]()
    with _sink(output, resume) as sink, _progress(len(items) - len(done)) as advance:
        failed = 0
        for item in items:
            if item.number not in done:
                result = answer(decider, item, question_set, options)
                failed += "error" in result
                sink.write(json_line({"row": item.number, "id": item.id, "sha": item.sha, "run": run, **result}) + "\n")
                sink.flush()
                advance()
    counts = {"rows": len(items), "kept": len(done), "failed": failed}
    print(json.dumps(counts) if as_json else f"{len(items)} rows, {len(done)} kept, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


def answer(decider: Any, item: BatchRow, questions: QuestionSet, options: dict[str, Any]) -> dict[str, Any]:
    """The row's `decision`, or its `error`; never raises for a row's sake."""
    if item.error is not None:
        return {"error": item.error.as_dict()}
    try:
        return {"decision": decider.decide(item.material, questions, **options).as_dict()}
    except CloverError as error:
        return {"error": error.as_dict()}
    except Exception as error:
        # Not expected, but one row's trouble must not cost the others; the type says where to look.
        return {"error": {"error": type(error).__name__, "path": f"row {item.number}", "problem": str(error)}}


@contextmanager
def _sink(output: Path | None, resume: bool) -> Iterator[IO[str]]:
    if output is None:
        yield sys.stdout
        return
    if output.exists() and not resume:
        raise InputError("the output file exists", path="--output", given=str(output), accepted="a new file, or --resume")
    try:
        file = output.open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path="--output", given=str(output), accepted="a writable path") from None
    with file:
        yield file


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """A progress bar on stderr where a person is watching."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("rows", total=total)
        yield lambda: progress.advance(task)
