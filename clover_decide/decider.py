"""`Decider`: one loaded model."""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clover_decide.abstain import Abstain
from clover_decide.assembling import Answerer, assembled
from clover_decide.calibration import Calibration, read_calibration, shipped_calibrations
from clover_decide.decision import Decision, Effort, Mode, Timing, TraceStep
from clover_decide.errors import CloverError, InputError, ModelError
from clover_decide.facts import Fact
from clover_decide.loading import Check, find_model, load_model, share
from clover_decide.material import Material, read_material
from clover_decide.options import THRESHOLD, Facts, Options, read_facts, read_options
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.rules import RuleSet, read_rules

if TYPE_CHECKING:
    from clover_decide.answering import Reading, Watch
    from clover_decide.planning import Plan
    from clover_engine.engine import Engine

DEFAULT_MODEL = "clover-mini"


class Decider:
    """Answers typed questions about a material with one loaded model.

    Thread-safe: calls on one Decider run one after another, or, with `batch`, side by side. The prefix of a material is
    remembered, so asking about the same material again is cheaper.

    Args:
        model: a shipped model's name or a folder with config.json, tokenizer.json and model.safetensors.
        device: torch device, such as "cpu" or "cuda".
        dtype: "int8", "bfloat16" or "float32"; "auto" takes bfloat16 on devices with instructions for it (x86 with AVX512-BF16 or AMX,
            CUDA since Ampere), else int8 on x86 with VNNI, else float32. The same call gives the same answer to the last bit on one
            machine; two dtypes may differ where the model is in two minds.
        cached_materials: how many material prefixes to remember; 0 switches the cache off.
        calibration: "shipped", the ones that lie beside the model, if there are any; a fitted calibration, its dict or its file (see
            `clover-decide calibrate`); or None, or "none", for probabilities as the model has them. One of the other mode than a
            comparison's (`independent=True`) leaves that as it is.
        batch: how many calls of different threads may run at once; their passes go through the model together.
        watch_passes: with `batch`, told of every pass: how many calls share it, their tokens, and its seconds.

    Raises:
        InputError: `batch` is no number of calls.
        MissingExtraError: torch is not installed.
        ModelError: no such model, broken files, or a calibration of another model.
        FormatError: not a calibration.
    """

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        *,
        device: str = "cpu",
        dtype: str = "auto",
        cached_materials: int = 8,
        calibration: Calibration | Mapping[str, Any] | str | Path | None = "shipped",
        batch: int = 1,
        watch_passes: Callable[[int, int, float], None] | None = None,
    ) -> None:
        self.model = str(model)
        own = calibration if calibration not in ("shipped", "none") else None
        self.calibration = read_calibration(own) if own is not None else None
        self._engine, self._turn = share(load_model(model, device, dtype, cached_materials), batch, watch_passes)
        self.shipped: tuple[Calibration, ...] = ()
        if self.calibration is not None:
            self.calibration.check_model(self.fingerprint)
        elif calibration == "shipped":
            self.shipped = shipped_calibrations(find_model(model), self.fingerprint)

    @property
    def fingerprint(self) -> str:
        """Identifies the loaded weights and config."""
        return self._engine.fingerprint

    @property
    def engine(self) -> Engine:
        """The engine behind it, for measurements. Calls on it are not serialised."""
        return self._engine

    @property
    def dtype(self) -> str:
        """The number type it computes in, such as "int8"."""
        return self._engine.dtype

    def calibrated(self, calibration: Calibration | Mapping[str, Any] | str | Path | None) -> Decider:
        """The same loaded model with another calibration of the caller's (itself, its dict or its file), or with none.

        Raises:
            ModelError: it is of another model. FormatError: not a calibration.
        """
        other = copy.copy(self)
        other.calibration, other.shipped = None if calibration is None else read_calibration(calibration), ()
        if other.calibration is not None:
            other.calibration.check_model(self.fingerprint)
        return other

    @classmethod
    def from_engine(cls, engine: Engine, name: str = "custom", batch: int = 1) -> Decider:
        """A Decider over an engine built elsewhere (tests, own checkpoints)."""
        self = cls.__new__(cls)
        self.model, self.calibration, self.shipped = name, None, ()
        self._engine, self._turn = share(engine, batch)
        return self

    def decide(
        self,
        material: Any,
        questions: Any,
        *,
        mode: Mode = "joint",
        effort: Effort = "standard",
        facts: Facts = "auto",
        groups: Sequence[Sequence[str]] | None = None,
        independent: bool = False,
        threshold: float = THRESHOLD,
        rules: Any = None,
        project: bool = False,
        permutations: int = 1,
        dependence: bool = False,
        evidence: bool = False,
        abstain: float | Mapping[str, Any] | Abstain | None = None,
        watch: Callable[[TraceStep], None] | None = None,
        check: Check = lambda: None,
    ) -> Decision:
        """Answer the questions about the material.

        Args:
            material: text, or a dict or list that is rendered as indented `key: value` lines.
            questions: a mapping id -> question, a list, a pydantic class, a JSON Schema object or a QuestionSet.
            mode: "joint" answers up to 8 questions in one block, each seeing the others; "independent" asks each
                alone, so adding, removing or reordering others changes nothing.
            effort: "standard" denoises (sure answers are committed first, the rest is read again with them in view);
                "fast" reads every answer in one pass; "auto" searches until no better assignment can exist, within few
                passes; "thorough" reads the joint distribution, which also gives alternatives.
            facts: "auto" derives dates, day counts, comparisons and differences from the material; "off" does not; a
                list of strings is shown to the model in their place.
            groups: ids that share a block; by default blocks of at most 8 in the given order.
            independent: in joint mode also read each question alone and attach that to the answers.
            threshold: probability above which a piece of an answer is committed in a pass; with `effort="auto"` 0.8 if that is less.
            rules: a JSON Schema over the answers object, a CEL expression, or a list of either (see `clover_decide.rules`).
                Joint answers keep them, at every effort; independent answers are told which they break.
            project: in independent mode move the answers to the likeliest ones that keep the rules.
            permutations: how often to ask, each time with questions and options in another order; the probabilities are
                averaged (at most 16).
            dependence: also read how much each pair of answers depends on each other.
            evidence: also list the sentences of the material that show each answer.
            abstain: a probability below which an answer is withheld, or a mapping with `probability`, `coverage`, `gap` and
                `questions` (a probability for some questions); `gap` reads the dependence.
            watch: told of every piece of an answer as it is committed (of a search, at its end; not of the independent comparison).
            check: called before the model is asked, with `batch` before each pass; what it raises ends the call.

        Raises:
            InputError: material, questions, rules or options are not acceptable; the message has the field path.
            RuleError: rules cannot be read or cannot hold together, found before the model runs; or no answers that keep
                them were found.
            LimitError: more than 64 questions, 8 a group, or the model's context; nothing is truncated.
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "material", "questions", "watch", "check")}
        for name, function in (("watch", watch), ("check", check)):
            if not callable(function) and not (name == "watch" and function is None):
                raise InputError("cannot be called", path=name, given=function, accepted="a function")
        began = time.perf_counter()
        question_set = read_questions(questions)
        options = read_options(given, question_set)
        if self.calibration is not None:
            self.calibration.check(question_set, options.mode, options.effort)
        read = self._read_material(material)
        check()
        found = read_facts(read, options.facts)
        self._check_model(options)
        with self._turn(check):
            # Everything is compiled before anything is answered, so that an error costs no model pass.
            plans: list[Plan] = []
            for i in range(options.permutations):
                check()
                plans.append(self._plan(read, found, question_set, options, i))
            alone = (
                replace(options, mode="independent", rules=RuleSet(), evidence=False)
                if options.independent and options.mode == "joint"
                else None
            )
            solo_plan = self._plan(read, found, question_set, alone) if alone else None
            start = time.perf_counter()
            reading = self._read(plans, question_set, options, watch)
            middle = time.perf_counter()
            solo = self._read([solo_plan], question_set, alone) if alone and solo_plan else None
        end = time.perf_counter()
        timing = Timing(end - began, middle - start, end - middle if solo else 0.0)
        return assembled(self._who, plans[0], question_set, options, reading, solo, timing)

    def decide_many(self, materials: Iterable[Any], questions: Any, **options: Any) -> Iterator[Decision | CloverError]:
        """The same questions about many materials, in order. A bad material yields its error and stops nothing.

        Options are those of `decide`.

        Raises:
            InputError: the questions or options themselves are not acceptable (on the first item).
        """
        question_set = self.check(questions, **options)
        ready = {**options, "rules": read_rules(options.get("rules"), question_set)}
        for material in materials:
            try:
                yield self.decide(material, question_set, **ready)
            except InputError as error:
                yield error

    def check(self, questions: Any, **options: Any) -> QuestionSet:
        """Read questions and options of `decide`, and compile every slot and block, without running the model.

        Raises:
            InputError: as `decide` would, whatever the material.
        """
        question_set = read_questions(questions)
        read = read_options(options, question_set)
        self._check_model(read)
        # Quote slots are compiled over a material; any word will do.
        material = read_material("Material.")
        self._plan(material, read_facts(material, read.facts), question_set, replace(read, mode="joint"))
        return question_set

    async def adecide(self, material: Any, questions: Any, **options: Any) -> Decision:
        """`decide` in a worker thread; the event loop stays free."""
        return await asyncio.to_thread(self.decide, material, questions, **options)

    async def adecide_many(self, materials: Iterable[Any], questions: Any, **options: Any) -> AsyncIterator[Decision | CloverError]:
        """`decide_many` in a worker thread, item by item."""
        results = self.decide_many(materials, questions, **options)
        while (item := await asyncio.to_thread(next, results, None)) is not None:
            yield item

    def _read_material(self, material: Any) -> Material:
        """The material, if it can fit the context at all: what cannot is not worked on."""
        from clover_decide.planning import check_length

        read = read_material(material)
        check_length(self._engine.tokenizer, self._engine.spec, read)
        return read

    def _check_model(self, options: Options) -> None:
        if options.evidence and self._engine.spec.pointer is None:
            raise ModelError("the model was not trained to point to evidence", path="evidence", given=self.model, accepted="False")

    def _plan(self, material: Material, facts: tuple[Fact, ...], questions: QuestionSet, options: Options, permutation: int = 0) -> Plan:
        from clover_decide.planning import make_plan

        engine, alone = self._engine, options.mode == "independent"
        how = {"alone": alone, "groups": None if alone else options.groups, "permutation": permutation}
        fitted = self._who.fitted(options.mode)
        offsets = fitted.offsets if fitted is not None else None
        return make_plan(engine.tokenizer, engine.spec, material, facts, questions, **how, offsets=offsets)

    @property
    def _who(self) -> Answerer:
        return Answerer(self.model, self._engine.fingerprint, self._engine.dtype, self.calibration, self.shipped)

    def _read(self, plans: Sequence[Plan], questions: QuestionSet, options: Options, watch: Watch | None = None) -> Reading:
        from clover_decide.answering import read_dependence
        from clover_decide.averaging import averaged
        from clover_decide.evidence import read_evidence
        from clover_decide.projection import projected

        results = [self._read_once(plan, options, watch if i == 0 else None) for i, plan in enumerate(plans)]
        reading = averaged([reading for reading, _ in results], questions.questions, options.mode)
        if options.project and options.mode == "independent":
            answers = projected(options.rules, reading.answers, results[0][1], plans[0].material.text)
            reading = replace(reading, answers=answers, probability=math.prod(answer.probability for answer in answers.values()))
        if options.evidence:
            shown = read_evidence(self._engine, plans[0])
            reading = replace(reading, answers={key: replace(a, evidence=shown[key]) for key, a in reading.answers.items()})
        wanted = options.dependence or options.abstain.gap is not None
        if wanted and options.mode == "joint":
            reading = replace(reading, dependence=read_dependence(self._engine, plans[0]))
        return reading

    def _read_once(self, plan: Plan, options: Options, watch: Watch | None) -> tuple[Reading, Mapping[str, Mapping[Any, float]]]:
        from clover_decide.answering import read_independent, read_joint

        effort, threshold = options.effort, options.threshold
        if options.mode == "joint":
            return read_joint(self._engine, plan, options.rules, effort=effort, threshold=threshold, watch=watch), {}
        candidates = options.project and bool(options.rules)
        return read_independent(self._engine, plan, effort=effort, threshold=threshold, candidates=candidates, watch=watch)
