"""`clover-decide triage`: security events as they come, one line of JSON out for each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from clover_decide.cli.batch import answer
from clover_decide.cli.options import (
    AbstainOption,
    DtypeOption,
    EffortOption,
    ModelOption,
    ModeOption,
    QuestionsOption,
    RuleOption,
    RulesOption,
    chosen_limits,
    chosen_pack,
    json_line,
)
from clover_decide.cli.rows import BatchRow
from clover_decide.errors import CloverError, FormatError, InputError
from clover_decide.events import read_event
from clover_decide.files import bad_byte, read_text, short_hash
from clover_decide.material import MAX_MATERIAL_BYTES


def triage(
    events: Annotated[str, typer.Argument(help="A file of events, one a line; - reads stdin as it comes.")] = "-",
    policy: Annotated[Path | None, typer.Option(help="A text file, read before each event: what counts, and what is done.")] = None,
    questions: QuestionsOption = None,
    pack: Annotated[str | None, typer.Option("--pack", "-p", help="A question pack; triage, unless --questions is given.")] = None,
    mode: ModeOption = "joint",
    effort: EffortOption = "standard",
    rules: RulesOption = None,
    rule: RuleOption = None,
    abstain: AbstainOption = None,
    model: ModelOption = "clover-mini",
    dtype: DtypeOption = "auto",
) -> int:
    """Judge security events: Windows and Sysmon JSON, CloudTrail, Suricata EVE, any other JSON object, or syslog.

    tail -F events.jsonl | clover-decide triage --policy policy.txt

    Each line gives one: {"row", "id", "sha", "kind", "left_out", "decision"}, or "error" in place of the last three. The next line is read
    when the one before is answered, so a pipe holds its writer back. A bad line never stops the others; the exit code is 1 if any failed.
    """
    chosen = chosen_pack(questions, pack if pack or questions else "triage", rules, rule)
    options: dict[str, Any] = {"mode": mode, "effort": effort, "rules": chosen.rules, "abstain": chosen_limits(abstain)}
    before = read_text(policy).strip() + "\n\n" if policy else ""
    from clover_decide.decider import Decider

    decider = Decider(model, dtype=dtype)
    decider.check(chosen.questions, **options)
    failed = 0
    for number, line in lines(events):
        row, told = _row(number, line, before)
        result = answer(decider, row, chosen.questions, options)
        failed += "error" in result
        print(json_line({"row": number, "id": row.id, "sha": row.sha, **(told if "decision" in result else {}), **result}), flush=True)
    return 1 if failed else 0


def lines(events: str) -> Iterator[tuple[int, bytes | CloverError]]:
    """The lines of a file or of stdin with their numbers from 1; empty ones are passed over, too long ones are errors.

    Raises:
        FormatError: the file cannot be read.
    """
    if events == "-":
        yield from _lines(sys.stdin.buffer)
        return
    try:
        with Path(events).open("rb") as file:
            yield from _lines(file)
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", path=events, accepted="an existing file, or - for stdin") from None


def _lines(source: IO[bytes]) -> Iterator[tuple[int, bytes | CloverError]]:
    number = 0
    while line := source.readline(MAX_MATERIAL_BYTES + 1):
        number += 1
        if len(line) > MAX_MATERIAL_BYTES and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = source.readline(MAX_MATERIAL_BYTES)
            yield number, InputError("is too long", path=f"row {number}", accepted=f"lines of at most {MAX_MATERIAL_BYTES} bytes")
        elif line.strip():
            yield number, line


def _row(number: int, line: bytes | CloverError, before: str) -> tuple[BatchRow, dict[str, Any]]:
    """The event as a row with its material, or with its error; and what is told of it beside the decision."""
    where = f"row {number}"
    if isinstance(line, CloverError):
        return BatchRow(number, None, short_hash(str(number)), error=line), {}
    text = line.decode("utf-8-sig", "surrogateescape")
    sha = short_hash(text.strip())
    if problem := bad_byte(text, where):
        return BatchRow(number, None, sha, error=problem), {}
    try:
        event = read_event(text, where)
    except CloverError as error:
        return BatchRow(number, None, sha, error=error), {}
    return BatchRow(number, event.id, sha, before + event.text), {"kind": event.kind, "left_out": event.left_out}
