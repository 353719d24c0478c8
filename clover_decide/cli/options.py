"""Options shared by the commands that ask questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from clover_decide.errors import FormatError, InputError
from clover_decide.files import load_structured
from clover_decide.packs import Pack, load_pack, pack_names, read_questions_file
from clover_decide.rules import read_rules

ModeOption = Annotated[Literal["joint", "independent"], typer.Option(help="Answer together in one block, or each alone.")]
EffortOption = Annotated[
    Literal["fast", "standard", "thorough", "auto"],
    typer.Option(help="One pass; denoising; the joint distribution; or as far as it takes to know the best answers."),
]
FactsOption = Annotated[bool, typer.Option(help="Derive dates, day counts and differences from the material.")]
DtypeOption = Annotated[str, typer.Option(help="What the model computes in: int8, bfloat16 or float32; auto: the fastest of them here.")]
ModelOption = Annotated[str, typer.Option(help="A shipped model's name or a model folder.")]
PermutationsOption = Annotated[int, typer.Option(min=1, max=16, help="Ask so often, in other orders, and average.")]
AbstainOption = Annotated[
    str | None, typer.Option(help="Withhold answers less probable than this number, or by a file of thresholds (see `thresholds`).")
]
EvidenceOption = Annotated[bool, typer.Option("--evidence", help="Also quote the sentences that show each answer.")]
CalibrationOption = Annotated[
    str,
    typer.Option(metavar="FILE", help="A calibration file (see `calibrate`); shipped: the model's own; none: probabilities as they are."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
QuestionsOption = Annotated[Path | None, typer.Option("--questions", "-q", help="YAML or JSON file of questions.")]
PackOption = Annotated[str | None, typer.Option("--pack", "-p", help=f"A question pack: {', '.join(pack_names())}.")]


RuleOption = Annotated[
    list[str] | None, typer.Option("--rule", help="A rule between answers as CEL, such as 'end >= start'; may be repeated.")
]
RulesOption = Annotated[
    Path | None, typer.Option("--rules", help="YAML or JSON file of rules: a JSON Schema over the answers, CEL, or a list.")
]


def chosen_pack(questions: Path | None, pack: str | None, rules: Path | None = None, rule: Sequence[str] | None = None) -> Pack:
    """The questions named on the command line, with the rules of their file and those given besides.

    Raises:
        InputError: no questions or two sets of them were given, or something cannot be read.
    """
    if (questions is None) == (pack is None):
        raise InputError("give the questions once", path="--questions / --pack", accepted=f"a file, or a pack: {', '.join(pack_names())}")
    if pack is not None:
        chosen = load_pack(pack)
    else:
        assert questions is not None
        chosen = read_questions_file(questions)
    given: Any = load_structured(rules) if rules else []
    listed = given if isinstance(given, list) else [given]
    return replace(chosen, rules=read_rules([*chosen.rules.rules, *listed, *(rule or ())], chosen.questions))


def chosen_limits(abstain: str | None) -> Any:
    """The thresholds of the command line: a number, or a JSON or YAML file of them."""
    if abstain is None:
        return None
    try:
        return float(abstain)
    except ValueError:
        limits = load_structured(Path(abstain))
    if not limits:
        raise InputError("holds no thresholds", path=abstain, accepted="a file of `clover-decide thresholds`")
    return limits


def json_line(value: Any) -> str:
    """One line of JSON, readable where it can be encoded (a lone surrogate cannot) and escaped where not."""
    text = json.dumps(value, ensure_ascii=False)
    return text if _encodes(text) else json.dumps(value)


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_stdin() -> str:
    """All of stdin as UTF-8.

    Raises:
        FormatError: not UTF-8.
    """
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {error.start} is {data[error.start]:#04x}", path="stdin", accepted="UTF-8 text") from None
