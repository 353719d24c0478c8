"""A request as token rows: what is asked in which block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from clover_decide.decision import Value
from clover_decide.errors import LimitError, QuestionError
from clover_decide.facts import Fact
from clover_decide.frozen import FrozenMap
from clover_decide.grouping import plan_groups
from clover_decide.material import Material
from clover_decide.ordering import ordered_keys, ordered_options
from clover_decide.prompt import Codes, Prompter, assign_codes, code_letters, question_lines, slot_width
from clover_decide.question_set import QuestionSet
from clover_decide.questions import Choice, Score
from clover_decide.slots import slot_template, value_of
from clover_engine.canvas import Canvas, CanvasError, SlotTemplate, build_canvas
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

    def values(self, keys: Sequence[str], tokens: Sequence[tuple[int, ...]], tokenizer: Tokenizer) -> dict[str, Value]:
        """Values by id of the token strings of some questions' slots."""
        return {
            key: value_of(self.questions.questions[key], self.codes[key], string, self.material, tokenizer)[0]
            for key, string in zip(keys, tokens, strict=True)
        }


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
    permutation: int = 0,
    offsets: Mapping[str, Mapping[str, float]] | None = None,
) -> Plan:
    """Compile a request completely, so that whatever is wrong with it shows before the model runs.

    With `alone` every question is a block of its own, all of them rows over the same material; otherwise blocks follow
    each other, and a later one reads the earlier ones. Within a block questions, and within a question options, stand in the
    order of number `permutation` (see `ordering`), whatever order they were given in. offsets: what is added to the logits of answers, by
    question and name.

    Raises:
        LimitError: the request does not fit the model's context, or questions that must share a block do not fit one.
        QuestionError: a pattern, or the given groups, cannot be used.
    """
    prompter, letters = _fixed(tokenizer)
    prefix = tuple(prompter.material(material, facts))
    _fit(len(prefix), spec)
    planned = _groups(questions, alone, groups, max(spec.block_sizes))
    questions = replace(questions, questions=FrozenMap({key: ordered_options(q, permutation) for key, q in questions.questions.items()}))
    items = questions.questions
    codes = {key: assign_codes(q, tokenizer, letters) if isinstance(q, (Choice, Score)) else None for key, q in items.items()}
    keyed = [ordered_keys(keys, items, permutation) for keys in planned]
    blocks = [_compile(keys, questions, codes, material, facts, tokenizer, prompter, spec, offsets or {}) for keys in keyed]
    sizes = [len(b.asking) + len(b.canvas.ids) for b in blocks]
    tail = max(sizes) if alone else sum(sizes) + (len(blocks) - 1) * len(prompter.next_turn)
    _fit(len(prefix) + tail, spec)
    return Plan(material, facts, questions, codes, prefix, tuple(blocks), tuple(prompter.next_turn))


def check_length(tokenizer: Tokenizer, spec: ModelSpec, material: Material) -> None:
    """Whether the material alone fits the context: asked before anything else is done with it.

    Raises:
        LimitError: it does not.
    """
    prompter, _ = _fixed(tokenizer)
    _fit(len(prompter.material(material, ())), spec)


def _groups(questions: QuestionSet, alone: bool, asked: Sequence[Sequence[str]] | None, largest: int) -> tuple[tuple[str, ...], ...]:
    widths = {key: slot_width(question) for key, question in questions.questions.items()}
    return plan_groups(questions.questions, widths, largest, [(key,) for key in widths] if alone else asked, linked=not alone)


def _compile(
    keys: tuple[str, ...],
    questions: QuestionSet,
    codes: Mapping[str, Codes | None],
    material: Material,
    facts: tuple[Fact, ...],
    tokenizer: Tokenizer,
    prompter: Prompter,
    spec: ModelSpec,
    offsets: Mapping[str, Mapping[str, float]],
) -> Block:
    templates: list[SlotTemplate] = []
    for number, key in enumerate(keys, 1):
        question = questions.questions[key]
        templates.append(slot_template(number, f"questions.{key}", question, codes[key], material, tokenizer, facts, offsets.get(key)))
    try:
        canvas = build_canvas(templates, tokenizer, max(spec.block_sizes))
    except CanvasError as error:
        raise QuestionError(str(error), path=f"questions.{keys[0]}", accepted="other option names or a smaller group") from None
    lines = question_lines([questions.questions[key] for key in keys], [codes[key] for key in keys], spec.options_once)
    return Block(keys, tuple(prompter.questions(lines)), canvas)


def _fit(tokens: int, spec: ModelSpec) -> None:
    if tokens > spec.context:
        raise LimitError(f"material and questions need {tokens} tokens", path="material", accepted=f"at most {spec.context} tokens")
