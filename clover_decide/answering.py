"""From a compiled request to answers: which search runs over its blocks, and what its result says of each question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clover_decide.decision import Answer, Dependence, Effort, TraceStep, Usage, Value
from clover_decide.errors import RuleError
from clover_decide.planning import Block, Plan
from clover_decide.reading import joint_answers, read_answer
from clover_decide.rules.rule_set import RuleSet
from clover_decide.ruling import BlockRules
from clover_decide.slots import value_of
from clover_engine.denoise import DeadEndError
from clover_engine.denoise import Watch as Tell
from clover_engine.engine import Engine, RowRequest
from clover_engine.joint import Budget, JointRead, NoAssignmentError
from clover_engine.tree import BlockRead, Commit

SHARE: Mapping[Effort, float] = {"auto": 0.5, "thorough": 2.0}
"""Tokens of blocks that an effort may read, as a share of the tokens before them: what keeps its cost in proportion to one pass."""
ROWS: Mapping[Effort, tuple[int, int]] = {"auto": (4, 12), "thorough": (16, 96)}
"""Blocks that an effort may read at least and at most."""
WIDTH: Mapping[Effort, int] = {"auto": 4, "thorough": 16}
"""Blocks a pass."""
SURE_AT_MOST: Mapping[Effort, float] = {"auto": 0.8}
"""`auto` commits from here on whatever the threshold is: on 100 groups of linked-val as many answers were right as with 0.95, in 5.2 passes
in place of 8.2; with 0.6, in 2.8 passes, fewer were."""
UNREAD_AT_MOST: Mapping[Effort, float] = {"auto": 1.0, "thorough": 0.001}
"""`auto` stops once the best is known to be the best, `thorough` once so little of the probability is unread."""

Watch = Callable[[TraceStep], None]
"""Told of every commit."""
RANKED = 32
"""Assignments kept of a search."""
CANDIDATES = 8
"""Likely values listed of a question that has no options, for projection."""


@dataclass(frozen=True)
class Ranked:
    """A value for every question of a block, and the probability of all of them, given the rules."""

    values: Mapping[str, Value | None]
    probability: float


@dataclass(frozen=True)
class Reading:
    """Answers of one mode with what they cost and how they came about. `ranked`: of a single block, its likeliest assignments."""

    answers: Mapping[str, Answer]
    probability: float
    usage: Usage
    trace: tuple[TraceStep, ...]
    rules_probability: float = 1.0
    exact: bool = False
    optimal: bool = False
    ranked: tuple[Ranked, ...] = ()
    dependence: tuple[Dependence, ...] = ()


def read_joint(engine: Engine, plan: Plan, rules: RuleSet, *, effort: Effort, threshold: float, watch: Watch | None = None) -> Reading:
    """Block after block; a later block sees the committed earlier ones, and so do the rules.

    `watch` is told of every commit of a block that is denoised as it is made, of one that is searched at its end.

    Raises:
        RuleError: the search found nothing that keeps the rules.
    """
    parts: list[Reading] = []
    known: dict[str, Value | None] = {}
    continuation: tuple[int, ...] = ()
    inputs = 0
    for index, block in enumerate(plan.blocks):
        continuation += block.asking
        inputs = len(plan.prefix) + len(continuation)
        row = RowRequest(continuation, block.canvas)
        tell = _teller(engine, [(index, block)], watch)
        if rules:
            oracle = BlockRules(rules, block.keys, plan.questions.questions, plan.codes, plan.material, engine.tokenizer, dict(known))
            found = _read_ruled(engine, plan, row, oracle, effort, threshold, tell)
        else:
            found = _read_block(engine, plan, row, None, effort, threshold, tell)
        part = _of_block(engine, plan, index, block, found)
        parts.append(part)
        known |= {key: answer.value for key, answer in part.answers.items()}
        ids = (found.best if isinstance(found, JointRead) else found).ids
        continuation += (*ids, *plan.next_turn)
    return _together(plan, parts, inputs)


def _teller(engine: Engine, blocks: Sequence[tuple[int, Block]], watch: Watch | None) -> Tell | None:
    """Turns the engine's commits, row by row, into steps of a trace."""
    if watch is None:
        return None

    def tell(row: int, commits: Sequence[Commit]) -> None:
        for step in _steps(engine, *blocks[row], commits):
            watch(step)

    return tell


def _read_ruled(
    engine: Engine, plan: Plan, row: RowRequest, oracle: BlockRules, effort: Effort, threshold: float, tell: Tell | None
) -> BlockRead | JointRead:
    """A block under rules; where the search finds nothing, among the answers of some that the solver finds."""
    try:
        return _read_block(engine, plan, row, oracle, effort, threshold, tell)
    except NoAssignmentError as error:
        narrowed = None if error.exhausted else oracle.narrowed()
        problem = "no answers that keep the rules exist here" if error.exhausted else "no answers that keep the rules were found"
    try:
        if narrowed is not None:
            return _read_block(engine, plan, row, narrowed, "fast", threshold, tell)
    except NoAssignmentError:
        pass
    raise RuleError(problem, path="rules", accepted="fewer or wider rules")


def _read_block(
    engine: Engine, plan: Plan, row: RowRequest, oracle: BlockRules | None, effort: Effort, threshold: float, tell: Tell | None
) -> BlockRead | JointRead:
    if effort == "fast" and oracle is None:
        return engine.run(plan.prefix, [row], one_pass=True, watch=tell)[0]
    if effort == "standard":
        try:
            return engine.run(plan.prefix, [row], threshold=threshold, oracle=oracle, watch=tell)[0]
        except DeadEndError:
            # The surest way ended where no rule can be kept: look for another one.
            effort = "thorough"
    if effort == "fast" and oracle is not None:
        best = found = engine.likeliest(plan.prefix, row, oracle)[0]
    else:
        sure = min(threshold, SURE_AT_MOST.get(effort, 1.0))
        found = engine.search(plan.prefix, row, budget(effort, plan, row), threshold=sure, oracle=oracle)
        best = found.best
    if tell is not None:
        tell(0, best.commits)
    return found


def budget(effort: Effort, plan: Plan, row: RowRequest) -> Budget:
    """How far `auto` and `thorough` search a block. `standard` follows the surest way and `fast` reads one pass: neither searches."""
    least, most = ROWS[effort]
    affordable = int(SHARE[effort] * (len(plan.prefix) + len(row.continuation)) / len(row.canvas.ids))
    return Budget(min(max(affordable, least), most), UNREAD_AT_MOST[effort], WIDTH[effort])


def read_independent(
    engine: Engine, plan: Plan, *, effort: Effort, threshold: float, candidates: bool = False, watch: Watch | None = None
) -> tuple[Reading, Mapping[str, Mapping[Any, float]]]:
    """One row a question over the shared material; no answer sees another. With `candidates`, likely values of each question too."""
    rows = [RowRequest(block.asking, block.canvas) for block in plan.blocks]
    listed = CANDIDATES if candidates else 0
    tell = _teller(engine, list(enumerate(plan.blocks)), watch)
    reads = engine.run(plan.prefix, rows, threshold=threshold, one_pass=effort == "fast", candidates=listed, watch=tell)
    parts = [_of_block(engine, plan, index, block, read) for index, (block, read) in enumerate(zip(plan.blocks, reads, strict=True))]
    inputs = len(plan.prefix) + sum(len(row.continuation) for row in rows)
    whole = _together(plan, parts, inputs)
    likely = {block.keys[0]: _likely(engine, plan, block.keys[0], read) for block, read in zip(plan.blocks, reads, strict=True)}
    # Rows go through the model together, so the longest one counts.
    passes = max(part.usage.passes for part in parts)
    return replace(whole, usage=replace(whole.usage, passes=passes), exact=False, optimal=False), likely if candidates else {}


def _likely(engine: Engine, plan: Plan, key: str, read: BlockRead) -> dict[Any, float]:
    question, slot = plan.questions.questions[key], read.slots[0]
    values: dict[Any, float] = {}
    for tokens, probability in slot.candidates:
        value, _ = value_of(question, plan.codes[key], tokens, plan.material, engine.tokenizer)
        values[value] = values.get(value, 0.0) + probability
    return values


def _of_block(engine: Engine, plan: Plan, index: int, block: Block, found: BlockRead | JointRead) -> Reading:
    read = found.best if isinstance(found, JointRead) else found
    answers: Mapping[str, Answer] = {
        key: read_answer(plan.questions.questions[key], plan.codes[key], slot, plan.material, engine.tokenizer)
        for key, slot in zip(block.keys, read.slots, strict=True)
    }
    trace = _steps(engine, index, block, read.commits)
    if isinstance(found, BlockRead):
        usage, probability = Usage(0, len(read.ids), read.steps), math.exp(read.log_probability)
        ranked = (Ranked({key: answer.value for key, answer in answers.items()}, probability),)
        return Reading(answers, probability, usage, trace, read.kept, ranked=ranked)
    usage = Usage(0, len(read.ids), found.passes)
    kept = min(1.0, found.kept / (found.kept + found.broken)) if found.broken else 1.0
    ranked = _ranked(engine, plan, block, found)
    probability = next(iter(ranked)).probability
    answers = joint_answers(plan, block, found, answers, engine.tokenizer)
    return Reading(answers, probability, usage, trace, kept, found.exact, found.optimal, ranked)


def _ranked(engine: Engine, plan: Plan, block: Block, found: JointRead) -> tuple[Ranked, ...]:
    """The block's likeliest assignments, as far as the distribution was read."""
    allowed = found.kept + found.unread
    return tuple(
        Ranked(plan.values(block.keys, assignment.tokens, engine.tokenizer), min(1.0, math.exp(assignment.log_probability) / allowed))
        for assignment in found.assignments[:RANKED]
    )


def read_dependence(engine: Engine, plan: Plan) -> tuple[Dependence, ...]:
    """The pairwise dependence of the answers of a plan with one block; of several, that of the first is no longer what was asked."""
    block = plan.blocks[0]
    found = engine.pairs(plan.prefix, RowRequest(block.asking, block.canvas))
    return tuple(Dependence(block.keys[pair.first], block.keys[pair.second], pair.information, pair.gap) for pair in found)


def _together(plan: Plan, parts: Sequence[Reading], inputs: int) -> Reading:
    """Blocks as one reading: probabilities multiply, the rest is put side by side."""
    found = {key: answer for part in parts for key, answer in part.answers.items()}
    usage = Usage(inputs, sum(part.usage.output_tokens for part in parts), sum(part.usage.passes for part in parts))
    return Reading(
        answers={key: found[key] for key in plan.questions.questions},
        probability=math.prod(part.probability for part in parts),
        usage=usage,
        trace=tuple(step for part in parts for step in part.trace),
        rules_probability=math.prod(part.rules_probability for part in parts),
        # Each block was read given the best answers of the blocks before it: of several, the whole is not known to be the best.
        exact=len(parts) == 1 and parts[0].exact,
        optimal=len(parts) == 1 and parts[0].optimal,
        ranked=parts[0].ranked if len(parts) == 1 else (),
    )


def _steps(engine: Engine, index: int, block: Block, commits: Sequence[Commit]) -> tuple[TraceStep, ...]:
    pad, decode = engine.spec.pad_id, engine.tokenizer.decode
    return tuple(TraceStep(index, c.step, block.keys[c.slot], decode([c.token]) if c.token != pad else "", c.confidence) for c in commits)
