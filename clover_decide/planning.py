"""A request as token rows: what is asked in which block, and reading the blocks back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from clover_decide.decision import Answer, TraceStep, Usage
from clover_decide.facts import Fact
from clover_decide.grouping import plan_groups
from clover_decide.material import Material
from clover_decide.prompt import Codes, Prompter, assign_codes, code_letters, question_line, slot_width
from clover_decide.question_set import QuestionSet
from clover_decide.questions import AnyQuestion, Choice, Score
from clover_decide.reading import read_answer
from clover_decide.slots import slot_template
from clover_engine.canvas import Canvas, build_canvas
from clover_engine.denoise import BlockRead
from clover_engine.engine import Engine, RowRequest
from clover_engine.tokenizer import Tokenizer


@dataclass(frozen=True)
class Plan:
    """A checked request: prefix tokens of the material, codes of each question, and the blocks."""

    material: Material
    facts: tuple[Fact, ...]
    questions: QuestionSet
    codes: Mapping[str, Codes | None]
    groups: tuple[tuple[str, ...], ...]
    prefix: tuple[int, ...]
    prompter: Prompter


@dataclass(frozen=True)
class Reading:
    """Answers of one mode with what they cost and how they came about."""

    answers: Mapping[str, Answer]
    usage: Usage
    trace: tuple[TraceStep, ...]


@lru_cache(maxsize=4)
def _fixed(tokenizer: Tokenizer) -> tuple[Prompter, tuple[str, ...]]:
    return Prompter(tokenizer), tuple(code_letters(tokenizer))


def make_plan(
    tokenizer: Tokenizer,
    largest: int,
    material: Material,
    facts: tuple[Fact, ...],
    questions: QuestionSet,
    groups: Sequence[Sequence[str]] | None,
) -> Plan:
    """Assign codes, plan the blocks and compile every slot once, so that bad questions fail before the model runs."""
    prompter, letters = _fixed(tokenizer)
    items = questions.questions
    codes = {key: assign_codes(q, tokenizer, letters) if isinstance(q, (Choice, Score)) else None for key, q in items.items()}
    for key, question in items.items():
        slot_template(1, f"questions.{key}", question, codes[key], material, tokenizer)
    widths = {key: slot_width(question) for key, question in items.items()}
    planned = plan_groups(items, widths, largest, groups)
    return Plan(material, facts, questions, codes, planned, tuple(prompter.material(material, facts)), prompter)


def read_joint(engine: Engine, plan: Plan, *, threshold: float, one_pass: bool) -> Reading:
    """Block after block; a later block sees the committed earlier ones."""
    answers: dict[str, Answer] = {}
    trace: list[TraceStep] = []
    continuation: tuple[int, ...] = ()
    tokens = passes = 0
    for index, group in enumerate(plan.groups):
        lines, canvas = _block(engine, plan, group)
        continuation += tuple(plan.prompter.questions(lines))
        block = engine.run(plan.prefix, [RowRequest(continuation, canvas)], threshold=threshold, one_pass=one_pass)[0]
        answers |= _answers(engine, plan, group, block)
        trace += _trace(engine, index, group, block)
        tokens, passes = tokens + len(block.ids), passes + block.steps
        last = continuation
        continuation += (*block.ids, *plan.prompter.next_turn)
    ordered = {key: answers[key] for key in plan.questions.questions}
    return Reading(ordered, Usage(len(plan.prefix) + len(last), tokens, passes), tuple(trace))


def read_independent(engine: Engine, plan: Plan, *, threshold: float, one_pass: bool) -> Reading:
    """One row a question over the shared material; no answer sees another."""
    keys = list(plan.questions.questions)
    rows: list[RowRequest] = []
    for key in keys:
        lines, canvas = _block(engine, plan, (key,))
        rows.append(RowRequest(tuple(plan.prompter.questions(lines)), canvas))
    blocks = engine.run(plan.prefix, rows, threshold=threshold, one_pass=one_pass)
    answers: dict[str, Answer] = {}
    trace: list[TraceStep] = []
    for index, (key, block) in enumerate(zip(keys, blocks, strict=True)):
        answers |= _answers(engine, plan, (key,), block)
        trace += _trace(engine, index, (key,), block)
    inputs = len(plan.prefix) + sum(len(row.continuation) for row in rows)
    usage = Usage(inputs, sum(len(b.ids) for b in blocks), max(b.steps for b in blocks))
    return Reading(answers, usage, tuple(trace))


def _block(engine: Engine, plan: Plan, group: Sequence[str]) -> tuple[list[str], Canvas]:
    """The question lines of a block and its canvas."""
    lines, templates = list[str](), []
    for number, key in enumerate(group, 1):
        question, codes = plan.questions.questions[key], plan.codes[key]
        lines.append(question_line(number, question, codes))
        path = f"questions.{key}"
        templates.append(slot_template(number, path, question, codes, plan.material, engine.tokenizer))
    return lines, build_canvas(templates, engine.tokenizer, max(engine.spec.block_sizes))


def _answers(engine: Engine, plan: Plan, group: Sequence[str], block: BlockRead) -> dict[str, Answer]:
    return {
        key: read_answer(_question(plan, key), plan.codes[key], slot, plan.material, engine.tokenizer)
        for key, slot in zip(group, block.slots, strict=True)
    }


def _question(plan: Plan, key: str) -> AnyQuestion:
    return plan.questions.questions[key]


def _trace(engine: Engine, index: int, group: Sequence[str], block: BlockRead) -> list[TraceStep]:
    pad = engine.spec.pad_id
    return [
        TraceStep(index, c.step, group[c.slot], engine.tokenizer.decode([c.token]) if c.token != pad else "", c.confidence)
        for c in block.commits
    ]
