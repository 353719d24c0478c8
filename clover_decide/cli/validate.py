"""`clover-decide validate`: is this questions file askable?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clover_decide.cli.options import JsonOption, json_line
from clover_decide.decider import DEFAULT_MODEL
from clover_decide.material import read_material
from clover_decide.packs import read_questions_file
from clover_decide.question_set import QuestionSet
from clover_engine.folder import SHIPPED, read_config


def validate(
    questions: Annotated[Path, typer.Argument(help="YAML or JSON file of questions.")],
    as_json: JsonOption = False,
) -> None:
    """Check a questions file: form, limits, and (with the local extra) that every answer slot compiles.

    With --json the answers' JSON Schema is printed too.
    """
    pack = read_questions_file(questions)
    question_set = pack.questions
    groups = _compiled(question_set)
    report: dict[str, Any] = {
        "questions": {key: question.type for key, question in question_set.questions.items()},
        "groups": groups,
        "schema": question_set.json_schema(),
        "rules": [rule.text for rule in pack.rules.rules],
    }
    if as_json:
        print(json_line(report))
        return
    for key, kind in report["questions"].items():
        print(f"{key}: {kind}")
    blocks = f", {len(groups)} block{'s' if len(groups) != 1 else ''}" if groups is not None else ""
    ruled = f", {len(pack.rules.rules)} rules" if pack.rules else ""
    print(f"ok: {len(question_set.questions)} questions{blocks}{ruled}")


def _compiled(question_set: QuestionSet) -> list[list[str]] | None:
    """The blocks the questions would form, or None where the engine is not installed."""
    try:
        from clover_decide.planning import make_plan
        from clover_engine.models.base import ModelSpec
        from clover_engine.tokenizer import Tokenizer
    except ImportError:
        return None
    folder = SHIPPED / DEFAULT_MODEL
    spec = ModelSpec.read(read_config(folder))
    # Quote slots are compiled over a material; any word will do here.
    plan = make_plan(Tokenizer(folder / "tokenizer.json"), spec, read_material("Material."), (), question_set)
    return [list(block.keys) for block in plan.blocks]
