"""`clover-decide decide`: one material, one question set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clover_decide.cli.options import (
    AbstainOption,
    CalibrationOption,
    DtypeOption,
    EffortOption,
    EvidenceOption,
    FactsOption,
    JsonOption,
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
    read_stdin,
)
from clover_decide.documents import read_document
from clover_decide.errors import InputError
from clover_decide.files import load_structured, read_text


def decide_command(
    material: Annotated[str | None, typer.Argument(help="A text, .pdf, .docx, .json or .yaml file; - reads stdin.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="The material itself.")] = None,
    questions: QuestionsOption = None,
    pack: PackOption = None,
    mode: ModeOption = "joint",
    effort: EffortOption = "standard",
    facts: FactsOption = True,
    rules: RulesOption = None,
    rule: RuleOption = None,
    project: Annotated[bool, typer.Option(help="With --mode independent: move the answers to the likeliest that keep the rules.")] = False,
    permutations: PermutationsOption = 1,
    abstain: AbstainOption = None,
    dependence: Annotated[
        bool, typer.Option("--dependence", help="Also read how much each pair of answers depends on each other.")
    ] = False,
    evidence: EvidenceOption = False,
    calibration: CalibrationOption = "shipped",
    compare: Annotated[bool, typer.Option(help="Also show what each question alone would get.")] = True,
    min_probability: Annotated[float | None, typer.Option(help="Gate: exit 1 if any answer is less probable.", min=0.0, max=1.0)] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also show how the answers came about.")] = False,
    model: ModelOption = "clover-mini",
    dtype: DtypeOption = "auto",
    as_json: JsonOption = False,
) -> int:
    """Answer questions about one material.

    clover-decide decide contract.txt --pack contract

    clover-decide decide --text "Invoice 17 was paid." -q questions.yaml --json

    clover-decide decide contract.txt --pack contract --rule "timely == (days >= 30)" --explain
    """
    chosen = chosen_pack(questions, pack, rules, rule)
    content = _material(material, text)
    from clover_decide.decider import Decider

    decision = Decider(model, dtype=dtype, calibration=calibration).decide(
        content,
        chosen.questions,
        mode=mode,
        effort=effort,
        facts="auto" if facts else "off",
        independent=compare and mode == "joint",
        rules=chosen.rules,
        project=project,
        permutations=permutations,
        dependence=dependence,
        evidence=evidence,
        abstain=chosen_limits(abstain),
    )
    if as_json:
        print(json_line({**decision.as_dict(), **({"explanation": decision.explain()} if explain else {})}))
    else:
        from clover_decide.cli.view import print_decision

        print_decision(decision, explain=explain)
    lowest = min(answer.probability for answer in decision.answers.values())
    return 1 if min_probability is not None and lowest < min_probability else 0


def _material(material: str | None, text: str | None) -> Any:
    if (material is None) == (text is None):
        raise InputError("give the material once", path="MATERIAL / --text", accepted="a file, - for stdin, or --text")
    if text is not None:
        return text
    if material == "-":
        return read_stdin()
    assert material is not None
    path = Path(material)
    if path.suffix in (".json", ".yaml", ".yml"):
        return load_structured(path)
    return read_document(path) if path.suffix.lower() in (".pdf", ".docx") else read_text(path)
