"""`clover-decide folder`: the same questions about every document of a folder, as a table and as a page."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from clover_decide.cli.options import (
    AbstainOption,
    DtypeOption,
    EffortOption,
    EvidenceOption,
    ModelOption,
    ModeOption,
    PackOption,
    QuestionsOption,
    RuleOption,
    RulesOption,
    chosen_limits,
    chosen_pack,
)
from clover_decide.decision import Decision, shown
from clover_decide.documents import documents, read_document
from clover_decide.errors import CloverError, InputError
from clover_decide.explain import evidence_lines

STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}"
    "table{border-collapse:collapse;margin:.5rem 0}th,td{border:1px solid #d0d0d0;padding:.3rem .6rem;text-align:left;vertical-align:top}"
    "caption{text-align:left;padding:.3rem 0;color:#555}.bad{color:#a40000}.review{background:#fff4d6}blockquote{margin:.2rem 0;color:#444}"
    "pre{white-space:pre-wrap}"
)


@dataclass(frozen=True)
class Read:
    """A document by its path below the folder, and its decision, or why there is none."""

    name: str
    result: Decision | CloverError


def folder(
    path: Annotated[Path, typer.Argument(help="A folder, whose .txt, .md, .pdf and .docx are read, or one document.")],
    questions: QuestionsOption = None,
    pack: PackOption = None,
    table: Annotated[Path | None, typer.Option("--csv", help="The answers, a document a row; stdout by default.")] = None,
    page: Annotated[Path | None, typer.Option("--html", help="A page of the answers with what they rest on.")] = None,
    mode: ModeOption = "joint",
    effort: EffortOption = "standard",
    rules: RulesOption = None,
    rule: RuleOption = None,
    abstain: AbstainOption = None,
    evidence: EvidenceOption = False,
    model: ModelOption = "clover-mini",
    dtype: DtypeOption = "auto",
) -> int:
    """Answer the same questions about every document of a folder, as a table.

    clover-decide folder contracts/ --pack contract --csv answers.csv --html answers.html --evidence

    A document that cannot be read gets its error in the table and stops nothing; the exit code is 1 if there was one.
    """
    chosen = chosen_pack(questions, pack, rules, rule)
    paths = [path] if path.is_file() else list(documents(path))
    if not paths:
        raise InputError("no documents", path=str(path), accepted="a folder with .txt, .md, .pdf or .docx files")
    _check_outputs(table, page)
    options: dict[str, Any] = {"mode": mode, "effort": effort, "rules": chosen.rules, "abstain": chosen_limits(abstain)}
    options |= {"evidence": evidence, "independent": page is not None and mode == "joint"}
    from clover_decide.decider import Decider

    decider = Decider(model, dtype=dtype)
    decider.check(chosen.questions, **options)
    reads: list[Read] = []
    for document in paths:
        name = path.name if document == path else str(document.relative_to(path))
        # A name need not be UTF-8; what is written is.
        name = name.encode("utf-8", "backslashreplace").decode()
        reads.append(Read(name, _decide(decider, document, chosen.questions, options)))
        print(f"{len(reads)}/{len(paths)} {reads[-1].name}", file=sys.stderr)
    with table.open("x", encoding="utf-8", newline="") if table else nullcontext(sys.stdout) as file:
        _write_table(file, reads, list(chosen.questions.questions))
    if page is not None:
        page.write_text(_page(path.name, reads, list(chosen.questions.questions)), encoding="utf-8")
    failed = sum(isinstance(read.result, CloverError) for read in reads)
    print(f"{len(reads)} documents, {failed} not answered", file=sys.stderr)
    return 1 if failed else 0


def _check_outputs(table: Path | None, page: Path | None) -> None:
    """Before anything is asked: what is answered must find its place."""
    if table is not None and table == page:
        raise InputError("is the same file twice", path="--csv / --html", given=str(table), accepted="two files")
    for output in (table, page):
        if output is None:
            continue
        if output.exists():
            raise InputError("the output file exists", path=str(output), accepted="a new file")
        if not output.parent.is_dir():
            raise InputError("no such folder", path=str(output.parent), accepted="an existing folder")


def _decide(decider: Any, document: Path, questions: Any, options: dict[str, Any]) -> Decision | CloverError:
    try:
        return decider.decide(read_document(document), questions, **options)
    except CloverError as error:
        return error


def _write_table(file: IO[str], reads: Sequence[Read], keys: Sequence[str]) -> None:
    """Columns: document, an answer and its probability for each question, the probability of all, whether to review, the error."""
    writer = csv.writer(file, lineterminator="\n")
    pairs = [column for key in keys for column in (key, f"{key} probability")]
    writer.writerow(["document", *pairs, "all together", "needs review", "broken rules", "error"])
    for read in reads:
        match read.result:
            case Decision() as decision:
                answers = [decision.answers[key] for key in keys]
                cells = [cell for a in answers for cell in (shown(a.value, a.label), f"{a.probability:.4f}")]
                review = "yes" if decision.needs_review else "no"
                writer.writerow([read.name, *cells, f"{decision.probability:.4f}", review, "; ".join(decision.violations), ""])
            case error:
                writer.writerow([read.name, *[""] * (len(pairs) + 3), str(error)])


def _page(title: str, reads: Sequence[Read], keys: Sequence[str]) -> str:
    rows = "".join(_summary(i, read, keys) for i, read in enumerate(reads))
    head = "".join(f"<th>{escape(key)}</th>" for key in keys)
    parts = "".join(_section(i, read) for i, read in enumerate(reads))
    table = f"<table><tr><th>document</th>{head}<th>all together</th></tr>{rows}</table>"
    begin = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{STYLE}</style><h1>{escape(title)}</h1>"
    return f"{begin}<p>{len(reads)} documents. A coloured row needs review.</p>{table}{parts}</html>\n"


def _summary(number: int, read: Read, keys: Sequence[str]) -> str:
    link = f'<a href="#d{number}">{escape(read.name)}</a>'
    if isinstance(read.result, CloverError):
        return f"<tr><td>{link}</td><td class=bad colspan={len(keys) + 1}>{escape(str(read.result))}</td></tr>"
    answers = [read.result.answers[key] for key in keys]
    cells = "".join(f"<td>{escape(shown(a.value, a.label))} <small>{a.probability:.2f}</small></td>" for a in answers)
    mark = " class=review" if read.result.needs_review else ""
    return f"<tr{mark}><td>{link}</td>{cells}<td>{read.result.probability:.2f}</td></tr>"


def _section(number: int, read: Read) -> str:
    head = f"<h2 id=d{number}>{escape(read.name)}</h2>"
    if isinstance(read.result, CloverError):
        return f"{head}<p class=bad>{escape(str(read.result))}</p>"
    quotes = "".join(f"<blockquote>{escape(line.strip())}</blockquote>" for line in evidence_lines(read.result))
    text = f"<details><summary>the text</summary><pre>{escape(read.result.material_text)}</pre></details>"
    return f"{head}{read.result._repr_html_()}{quotes}{text}"
