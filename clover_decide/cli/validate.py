"""`clover-decide validate`: is this questions file askable?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from clover_decide.cli.options import JsonOption
from clover_decide.material import read_material
from clover_decide.packs import read_questions_file
from clover_decide.question_set import QuestionSet
from clover_engine.folder import shipped_models


def validate(
    questions: Annotated[Path, typer.Argument(help="YAML or JSON file of questions.")],
    as_json: JsonOption = False,
) -> None:
    """Check a questions file: form, limits, and (with the local extra) that every answer slot compiles.

    With --json the answers' JSON Schema is printed too.
    """
    question_set = read_questions_file(questions)
    groups = _compiled(question_set)
    report: dict[str, Any] = {
        "questions": {key: question.type for key, question in question_set.questions.items()},
        "groups": groups,
        "schema": question_set.json_schema(),
    }
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
        return
    for key, kind in report["questions"].items():
        print(f"{key}: {kind}")
    blocks = f", {len(groups)} block{'s' if len(groups) != 1 else ''}" if groups is not None else ""
    print(f"ok: {len(question_set.questions)} questions{blocks}")


def _compiled(question_set: QuestionSet) -> list[list[str]] | None:
    """The blocks the questions would form, or None where the engine is not installed."""
    try:
        from clover_decide.planning import make_plan
        from clover_engine.tokenizer import Tokenizer
    except ImportError:
        return None
    shipped = shipped_models()
    if not shipped:
        return None
    tokenizer = Tokenizer(Path(shipped[0]["path"]) / "tokenizer.json")
    # Quote slots are compiled over a material; any non-empty one will do here.
    plan = make_plan(tokenizer, max(shipped[0]["block_sizes"]), read_material("Material."), (), question_set, None)
    return [list(group) for group in plan.groups]
