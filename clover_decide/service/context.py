"""What every route needs: the model, the queue, the counters; and one way to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request

from clover_decide.decider import Decider
from clover_decide.decision import Decision, Mode, TraceStep
from clover_decide.errors import CloverError, ModelError
from clover_decide.service.metrics import Metrics
from clover_decide.service.problems import Problem, Style
from clover_decide.service.running import Check, Runner
from clover_decide.service.settings import Settings
from clover_decide.service.spans import span

Watch = Callable[[TraceStep], None]


@dataclass
class Context:
    """One service in one process."""

    settings: Settings
    decider: Decider
    runner: Runner
    metrics: Metrics
    ready: bool = field(default=True)

    @property
    def compatible_mode(self) -> Mode:
        """Of System One and OpenAI Decisions requests that name none."""
        own = self.decider.calibration
        return self.settings.compatible_mode or (own.mode if own is not None else "independent")

    def name_of(self, asked: str | None) -> str:
        """The served model's name, if that is what a request asks for.

        Raises:
            Problem: another one.
        """
        if asked is None or asked == self.decider.model or asked in self.settings.aliases:
            return self.decider.model
        accepted = ", ".join((self.decider.model, *self.settings.aliases))
        raise Problem(400, "api_usage_error", f"no model {asked[:80]!r}; accepted: {accepted}", ("body", "model"))

    async def decide(
        self,
        request: Request,
        style: Style,
        material: Any,
        questions: Any,
        options: dict[str, Any],
        watch: Watch | None = None,
        called: str = "material",
    ) -> Decision:
        """A decision, in turn. `called` is the material's name in the request.

        Raises:
            Problem: the service cannot take or finish it. CloverError: it cannot be asked.
        """
        try:
            return await self.runner.run(request, lambda check: self._decide(request, material, questions, options, check, watch), style)
        except CloverError as error:
            if error.path != "material":
                raise
            raise type(error)(error.problem, path=called, given=error.given, accepted=error.accepted) from None

    async def decide_many(
        self, request: Request, materials: Sequence[Any], questions: Any, options: dict[str, Any]
    ) -> list[Decision | CloverError]:
        """The same questions about some materials, one after another in one turn; a bad material costs only its own answer.

        Raises:
            Problem, CloverError: as `decide`; for the questions and options.
        """

        def work(check: Check) -> list[Decision | CloverError]:
            checked = self.decider.check(questions, **options)
            return [self._one(request, material, checked, options, check) for material in materials]

        return await self.runner.run(request, work, "native")

    def _one(self, request: Request, material: Any, questions: Any, options: dict[str, Any], check: Check) -> Decision | CloverError:
        try:
            return self._decide(request, material, questions, options, check, None)
        except CloverError as error:
            return error

    def _decide(
        self, request: Request, material: Any, questions: Any, options: dict[str, Any], check: Check, watch: Watch | None
    ) -> Decision:
        with span("decide", {"clover.mode": options["mode"], "clover.effort": options["effort"]}) as current:
            try:
                decision = self.decider.decide(material, questions, **options, watch=watch, check=check)
            except ModelError as error:
                raise error.at("body") if not error.path else error from None
            if current is not None:
                current.set_attribute("clover.passes", decision.usage.passes)
                current.set_attribute("clover.questions", len(decision.answers))
        self.metrics.decided(decision)
        done = request.scope["state"].get("decided", 0)
        request.scope["state"]["decided"] = done + 1
        return decision


def context_of(request: Request) -> Context:
    """The context of the service that a request came to."""
    return request.app.state.context


Serving = Annotated[Context, Depends(context_of)]
