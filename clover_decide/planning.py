"""A request as token rows: what is asked in which block, and reading the blocks back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from clover_decide.decision import Answer, TraceStep, Usage
from clover_decide.errors import LimitError, QuestionError
from clover_decide.facts import Fact
from clover_decide.grouping import plan_groups
from clover_decide.material import Material
from clover_decide.prompt import Codes, Prompter, assign_codes, code_letters, question_line, slot_width
from clover_decide.question_set import QuestionSet
from clover_decide.questions import Choice, Score
from clover_decide.reading import read_answer
from clover_decide.slots import slot_template
from clover_engine.canvas import Canvas, CanvasError, SlotTemplate, build_canvas
from clover_engine.denoise import BlockRead
from clover_engine.engine import Engine, RowRequest
from clover_engine.models.base import ModelSpec
from clover_engine.tokenizer import Tokenizer


@dataclass(frozen=True)
class Block:
    """Questions answered together: their ids, the tokens that ask them, and the canvas of answer lines."""

    keys: tuple[str, ...]
    asking: tuple[int, ...]
    canvas: Canvas


@dataclass(frozen=True)
class Plan:
    """A checked request: prefix tokens of the material, option codes, and the compiled blocks."""

    material: Material
    facts: tuple[Fact, ...]
    questions: QuestionSet
    codes: Mapping[str, Codes | None]
    prefix: tuple[int, ...]
    blocks: tuple[Block, ...]
    next_turn: tuple[int, ...]


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
    spec: ModelSpec,
    material: Material,
    facts: tuple[Fact, ...],
    questions: QuestionSet,
    *,
    alone: bool = False,
    groups: Sequence[Sequence[str]] | None = None,
) -> Plan:
    """Compile a request completely, so that whatever is wrong with it shows before the model runs.

    With `alone` every question is a block of its own, all of them rows over the same material; otherwise blocks follow
    each other, and a later one reads the earlier ones.

    Raises:
        LimitError: the request does not fit the model's context, or questions that must share a block do not fit one.
        QuestionError: a pattern, or the given groups, cannot be used.
    """
    prompter, letters = _fixed(tokenizer)
    prefix = tuple(prompter.material(material, facts))
    _fit(len(prefix), spec)
    items = questions.questions
    codes = {key: assign_codes(q, tokenizer, letters) if isinstance(q, (Choice, Score)) else None for key, q in items.items()}
    widths = {key: slot_width(question) for key, question in items.items()}
    largest = max(spec.block_sizes)
    planned = plan_groups(items, widths, largest, [(key,) for key in items] if alone else groups, linked=not alone)
    blocks = [_compile(keys, questions, codes, material, tokenizer, prompter, largest) for keys in planned]
    sizes = [len(b.asking) + len(b.canvas.ids) for b in blocks]
    tail = max(sizes) if alone else sum(sizes) + (len(blocks) - 1) * len(prompter.next_turn)
    _fit(len(prefix) + tail, spec)
    return Plan(material, facts, questions, codes, prefix, tuple(blocks), tuple(prompter.next_turn))


def _compile(
    keys: tuple[str, ...],
    questions: QuestionSet,
    codes: Mapping[str, Codes | None],
    material: Material,
    tokenizer: Tokenizer,
    prompter: Prompter,
    largest: int,
) -> Block:
    lines: list[str] = []
    templates: list[SlotTemplate] = []
    for number, key in enumerate(keys, 1):
        question = questions.questions[key]
        lines.append(question_line(number, question, codes[key]))
        templates.append(slot_template(number, f"questions.{key}", question, codes[key], material, tokenizer))
    try:
        canvas = build_canvas(templates, tokenizer, largest)
    except CanvasError as error:
        raise QuestionError(str(error), path=f"questions.{keys[0]}", accepted="other option names or a smaller group") from None
    return Block(keys, tuple(prompter.questions(lines)), canvas)


def _fit(tokens: int, spec: ModelSpec) -> None:
    if tokens > spec.context:
        raise LimitError(f"material and questions need {tokens} tokens", path="material", accepted=f"at most {spec.context} tokens")


def read_joint(engine: Engine, plan: Plan, *, threshold: float, one_pass: bool) -> Reading:
    """Block after block; a later block sees the committed earlier ones."""
    answers: dict[str, Answer] = {}
    trace: list[TraceStep] = []
    continuation: tuple[int, ...] = ()
    inputs = tokens = passes = 0
    for index, block in enumerate(plan.blocks):
        continuation += block.asking
        inputs = len(plan.prefix) + len(continuation)
        read = engine.run(plan.prefix, [RowRequest(continuation, block.canvas)], threshold=threshold, one_pass=one_pass)[0]
        answers |= _answers(engine, plan, block, read)
        trace += _trace(engine, index, block, read)
        tokens, passes = tokens + len(read.ids), passes + read.steps
        continuation += (*read.ids, *plan.next_turn)
    ordered = {key: answers[key] for key in plan.questions.questions}
    return Reading(ordered, Usage(inputs, tokens, passes), tuple(trace))


def read_independent(engine: Engine, plan: Plan, *, threshold: float, one_pass: bool) -> Reading:
    """One row a question over the shared material; no answer sees another."""
    rows = [RowRequest(block.asking, block.canvas) for block in plan.blocks]
    reads = engine.run(plan.prefix, rows, threshold=threshold, one_pass=one_pass)
    answers: dict[str, Answer] = {}
    trace: list[TraceStep] = []
    for index, (block, read) in enumerate(zip(plan.blocks, reads, strict=True)):
        answers |= _answers(engine, plan, block, read)
        trace += _trace(engine, index, block, read)
    inputs = len(plan.prefix) + sum(len(row.continuation) for row in rows)
    usage = Usage(inputs, sum(len(read.ids) for read in reads), max(read.steps for read in reads))
    return Reading(answers, usage, tuple(trace))


def _answers(engine: Engine, plan: Plan, block: Block, read: BlockRead) -> dict[str, Answer]:
    return {
        key: read_answer(plan.questions.questions[key], plan.codes[key], slot, plan.material, engine.tokenizer)
        for key, slot in zip(block.keys, read.slots, strict=True)
    }


def _trace(engine: Engine, index: int, block: Block, read: BlockRead) -> list[TraceStep]:
    pad = engine.spec.pad_id
    return [
        TraceStep(index, c.step, block.keys[c.slot], engine.tokenizer.decode([c.token]) if c.token != pad else "", c.confidence)
        for c in read.commits
    ]
