"""Latency, throughput, memory and first-call time; ratios from interleaved calls in one process.

For each setting every arm is called once to warm up, then in rounds, the arms turn by turn. A round that would take a setting past
its time ends it, after at least one. The prefix cache is off except where an arm is about it.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from clover_decide import Decider
from clover_decide.errors import InputError
from clover_decide.frozen import FrozenMap
from clover_decide.question_set import QuestionSet
from clover_decide.questions import AnyQuestion
from clover_eval.bound import Bound, Machine, bound, measure_machine
from clover_eval.datasets import LabelledGroup
from clover_eval.environment import describe, peak_mib
from clover_eval.sets import load_set

SETTING_SECONDS = 60.0
JOINT = "joint"


@dataclass(frozen=True)
class Plan:
    """What is varied, and how often each is called."""

    questions: tuple[int, ...]
    tokens: tuple[int, ...]
    threads: tuple[int, ...]
    rounds: int
    concurrent: int
    runners: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Timing:
    """Seconds of one arm: the median, and the ratios to the joint call of the same round."""

    arm: str
    seconds: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Setting:
    """One point: its arms, and what the machine would need at least for the joint call."""

    questions: int
    tokens: int
    threads: int
    rounds: int
    timings: tuple[Timing, ...]
    bound: Bound


@dataclass(frozen=True)
class Throughput:
    """Requests a second with several callers of one Decider."""

    mode: str
    callers: int
    requests: int
    per_second: float


@dataclass(frozen=True)
class Measured:
    """All that was measured."""

    environment: Mapping[str, Any]
    dtype: str
    types: tuple[str, ...]
    machines: Mapping[int, Machine]
    settings: tuple[Setting, ...]
    throughput: tuple[Throughput, ...]
    first_call: Mapping[str, float]
    peak_mib: int | None
    skipped: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def run_bench(plan: Plan, model: str = "clover-mini", dtype: str = "auto") -> Measured:
    """Measure all settings of a plan.

    Raises:
        InputError: an unknown runner, or too few questions of the types. ModelError: a model cannot be loaded.
    """
    import torch

    from clover_eval.runners.registry import make_other

    source = workload(plan.types)
    decider = Decider(model, dtype=dtype, cached_materials=0)
    warm = Decider.from_engine(decider.engine.with_cache(2), "warm")
    others = [make_other(spec) for spec in plan.runners]
    before = torch.get_num_threads()
    settings: list[Setting] = []
    machines: dict[int, Machine] = {}
    skipped: list[str] = []
    for threads in plan.threads:
        torch.set_num_threads(threads)
        machines[threads] = measure_machine(decider.dtype)
        for tokens in plan.tokens:
            text = material_of(decider, source.material, tokens)
            for count in plan.questions:
                questions = dict(list(source.questions.questions.items())[:count])
                arms = local_arms(decider, warm, text, questions)
                group = LabelledGroup(source.id, text, QuestionSet(FrozenMap(questions)), {key: source.answers[key] for key in questions})
                if threads == max(plan.threads):
                    # Those take the cores they find.
                    arms |= {other.name: lambda other=other, group=group: other.answer(group) for other in others}
                settings.append(_setting(decider, arms, text, questions, threads, machines[threads], plan.rounds, skipped))
    torch.set_num_threads(before)
    text = material_of(decider, source.material, min(plan.tokens, key=lambda n: abs(n - 400)))
    calls = (
        [throughput(warm, text, dict(source.questions.questions), mode, plan.concurrent) for mode in ("joint", "independent")]
        if plan.concurrent
        else []
    )
    return Measured(
        describe(), decider.dtype, plan.types, machines, tuple(settings), tuple(calls), first_call(model, dtype), peak_mib(), tuple(skipped)
    )


def workload(types: Sequence[str] = ()) -> LabelledGroup:
    """The contract group of the validation set with most questions, its text lengthened by those of all others; with `types`, the first
    questions of those types in the set, whatever they are about.

    Raises:
        InputError: fewer than eight such questions.
    """
    groups = load_set("linked-val").groups
    if types:
        return _of_types(groups, types)
    contract = [g for g in groups if g.structure == "contract.notice"]
    chosen = max(contract, key=lambda g: (len(g.questions.questions), g.id))
    asked = {
        key: q
        for g in contract
        for key, q in g.questions.questions.items()
        if q.type in ("boolean", "choice", "integer", "date", "multi_choice", "text")
    }
    answers = {key: value for g in contract for key, value in g.answers.items()}
    questions = {**{k: q for k, q in chosen.questions.questions.items() if k in asked}, **asked}
    text = " ".join(g.material for g in [chosen, *(g for g in groups if g is not chosen)])
    eight = dict(list(questions.items())[:8])
    return LabelledGroup("bench", text, QuestionSet(FrozenMap(eight)), {key: answers[key] for key in eight})


def _of_types(groups: Sequence[LabelledGroup], types: Sequence[str]) -> LabelledGroup:
    found: dict[str, tuple[AnyQuestion, Any]] = {}
    for group in groups:
        for key, question in group.questions.questions.items():
            if question.type in types:
                found.setdefault(key, (question, group.answers[key]))
    if len(found) < 8:
        known = ", ".join(sorted({q.type for group in groups for q in group.questions.questions.values()}))
        raise InputError(f"only {len(found)} questions of these types", path="--type", given=", ".join(types), accepted=f"more of: {known}")
    eight = dict(list(found.items())[:8])
    questions, answers = ({key: pair[i] for key, pair in eight.items()} for i in (0, 1))
    return LabelledGroup("bench", " ".join(g.material for g in groups), QuestionSet(FrozenMap(questions)), answers)


def material_of(decider: Decider, text: str, tokens: int) -> str:
    """The first words of a text that make about so many tokens."""
    words = text.split()
    tokenizer = decider.engine.tokenizer
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(tokenizer.encode(" ".join(words[:middle]))) <= tokens else (low, middle - 1)
    return " ".join(words[:low])


def local_arms(decider: Decider, warm: Decider, text: str, questions: Mapping[str, AnyQuestion]) -> dict[str, Callable[[], Any]]:
    """The ways of asking the local model. Facts are off, so that the prefix has the length that is asked for."""

    def ask(d: Decider, some: Mapping[str, AnyQuestion], **options: Any) -> Any:
        return d.decide(text, some, facts="off", **options)

    return {
        JOINT: lambda: ask(decider, questions),
        "joint, one pass": lambda: ask(decider, questions, effort="fast"),
        "joint, material known": lambda: ask(warm, questions),
        "independent, shared": lambda: ask(decider, questions, mode="independent"),
        "independent, separate calls": lambda: [ask(decider, {key: q}, mode="independent") for key, q in questions.items()],
    }


def _setting(
    decider: Decider,
    arms: Mapping[str, Callable[[], Any]],
    text: str,
    questions: Mapping[str, AnyQuestion],
    threads: int,
    machine: Machine,
    rounds: int,
    skipped: list[str],
) -> Setting:
    usage = decider.decide(text, questions, facts="off").usage
    works: dict[str, Callable[[], Any]] = {}
    for name, call in arms.items():
        try:
            call()
        except Exception as error:
            skipped.append(f"{name} at {len(questions)} questions, {len(text.split())} words: {str(error)[:120]}")
        else:
            works[name] = call
    times: dict[str, list[float]] = {name: [] for name in works}
    began = time.perf_counter()
    while len(times[JOINT]) < rounds:
        for name, call in works.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
        made, spent = len(times[JOINT]), time.perf_counter() - began
        if spent * (made + 1) / made > SETTING_SECONDS:
            break
    tokens = len(decider.engine.tokenizer.encode(text))
    limits = bound(decider.engine, machine, usage)
    return Setting(len(questions), tokens, threads, len(times[JOINT]), timings(times), limits)


def timings(times: Mapping[str, Sequence[float]]) -> tuple[Timing, ...]:
    """Medians, and ratios to the joint call round by round."""
    out: list[Timing] = []
    for name, values in times.items():
        ratios = [value / joint for value, joint in zip(values, times[JOINT], strict=True)]
        out.append(Timing(name, statistics.median(values), statistics.median(ratios), min(ratios), max(ratios)))
    return tuple(out)


def throughput(decider: Decider, text: str, questions: Mapping[str, AnyQuestion], mode: Any, callers: int) -> Throughput:
    """Several callers ask at once, each three times, each about a text of its own."""
    texts = [f"Copy {i}. {text}" for i in range(callers * 3)]
    start = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(lambda t: decider.decide(t, questions, mode=mode, facts="off"), texts))
    return Throughput(mode, callers, len(texts), len(texts) / (time.perf_counter() - start))


_FIRST = """
import json, sys, time
began = time.perf_counter()
from clover_decide import Decider, load_pack
pack = load_pack("contract")
imported = time.perf_counter()
decider = Decider(sys.argv[1], dtype=sys.argv[2])
loaded = time.perf_counter()
decider.decide(pack.example, pack.questions)
first = time.perf_counter()
decider.decide(pack.example + " ", pack.questions)
second = time.perf_counter()
from clover_eval.environment import peak_mib
peak = peak_mib() or float("nan")
times = {"import": imported - began, "load": loaded - imported, "first call": first - loaded, "second call": second - first}
print(json.dumps({**times, "peak MiB": peak}))
"""


def first_call(model: str, dtype: str, tries: int = 3) -> dict[str, float]:
    """Medians over fresh processes: seconds to import, load, and answer the contract example; peak memory in MiB."""
    found: list[dict[str, float]] = []
    for _ in range(tries):
        done = subprocess.run([sys.executable, "-c", _FIRST, model, dtype], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.append(json.loads(done.stdout))
    return {key: statistics.median(f[key] for f in found) for key in found[0]} if found else {"import": math.nan}
