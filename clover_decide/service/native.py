"""The native routes: decisions, packs, contracts, alerts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, create_model
from starlette.requests import Request
from starlette.responses import Response

from clover_decide.decision import Decision, TraceStep
from clover_decide.packs import load_pack, pack_names
from clover_decide.questions import AnyQuestion, Boolean, Choice, Score
from clover_decide.service.context import Context, Serving
from clover_decide.service.problems import Problem, of_any
from clover_decide.wire.failures import native_failures
from clover_decide.wire.native import AlertRequest, Asking, BatchRequest, BatchResponse, ContractRequest, DecideRequest, DecideResponse

router = APIRouter(prefix="/v1", tags=["native"], responses=native_failures())


def _type_of(question: AnyQuestion) -> Any:
    match question:
        case Boolean():
            return bool
        case Choice():
            return Literal[tuple(option.value for option in question.options)]
        case Score():
            return Literal[tuple(level.value for level in question.levels)]
        case _:
            return int


def _judgement(name: str, pack: str) -> type[BaseModel]:
    """The answers of a pack as a model; a withheld one is null."""
    fields: dict[str, Any] = {key: (_type_of(question) | None, ...) for key, question in load_pack(pack).questions.questions.items()}
    made: Any = create_model(name, __doc__=f"{load_pack(pack).title}. A withheld answer is null.", **fields)
    return made


ContractJudgement = _judgement("ContractJudgement", "contract")
AlertJudgement = _judgement("AlertJudgement", "alert")


class ContractResponse(BaseModel):
    """What the contract's questions come to, and the whole decision."""

    judgement: ContractJudgement  # pyright: ignore[reportInvalidTypeForm]
    decision: DecideResponse


class AlertResponse(BaseModel):
    """What the alert's questions come to, and the whole decision."""

    judgement: AlertJudgement  # pyright: ignore[reportInvalidTypeForm]
    decision: DecideResponse


class PackBody(BaseModel):
    """A shipped question pack."""

    name: str
    title: str
    questions: dict[str, dict[str, Any]]
    example: str


class PacksResponse(BaseModel):
    """The shipped question packs."""

    packs: list[PackBody]


@router.post(
    "/decide",
    response_model=DecideResponse,
    response_model_exclude_unset=True,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def decide(body: DecideRequest, request: Request, context: Serving) -> Response:
    """Answer questions about a material.

    With `Accept: text/event-stream` each denoising step is sent as it happens (`event: step`), then the decision (`event: decision`) or
    what went wrong (`event: error`).
    """
    context.name_of(body.model)
    pack = body.chosen_pack()
    options = body.decision_options(pack)
    if "text/event-stream" in request.headers.get("accept", ""):
        return await _stream(context, request, body.material, pack.questions, options)
    decision = await context.decide(request, "native", body.material, pack.questions, options)
    return JSONResponse(decision.as_dict())


@router.post("/decide/batch", response_model=BatchResponse)
async def batch(body: BatchRequest, request: Request, context: Serving) -> Response:
    """The same questions about up to 32 materials. A material that cannot be answered gets its error and costs no other its answer."""
    context.name_of(body.model)
    pack = body.chosen_pack()
    results = await context.decide_many(request, body.materials, pack.questions, body.decision_options(pack))
    return JSONResponse({"results": [{"decision": r.as_dict()} if isinstance(r, Decision) else {"error": r.as_dict()} for r in results]})


@router.post("/contracts/adjudicate", response_model=ContractResponse, response_model_exclude_unset=True)
async def contracts(body: ContractRequest, request: Request, context: Serving) -> Response:
    """Notice, deposit, refund and next step at the end of a contract (the pack `contract`)."""
    return await _adjudicate("contract", body, body.material, request, context)


@router.post("/alerts/adjudicate", response_model=AlertResponse, response_model_exclude_unset=True)
async def alerts(body: AlertRequest, request: Request, context: Serving) -> Response:
    """Verdict, severity and response to a security alert (the pack `alert`)."""
    return await _adjudicate("alert", body, body.material, request, context)


@router.get("/packs", response_model=PacksResponse)
async def packs() -> Response:
    """The shipped question packs, each with an example of its material."""
    loaded = [load_pack(name) for name in pack_names()]
    return JSONResponse({"packs": [_pack_body(pack) for pack in loaded]})


def _pack_body(pack: Any) -> dict[str, Any]:
    questions = {key: q.model_dump(mode="json", exclude_defaults=True) | {"type": q.type} for key, q in pack.questions.questions.items()}
    return {"name": pack.name, "title": pack.title, "questions": questions, "example": pack.example}


async def _adjudicate(name: str, body: Asking, material: Any, request: Request, context: Context) -> Response:
    context.name_of(body.model)
    pack = load_pack(name)
    options = body.options()
    if options["rules"] is None:
        options["rules"] = pack.rules
    decision = await context.decide(request, "native", material, pack.questions, options, called=name)
    values = {key: answer.label if answer.label is not None else answer.value for key, answer in decision.answers.items()}
    return JSONResponse({"judgement": values, "decision": decision.as_dict()})


async def _stream(context: Context, request: Request, material: Any, questions: Any, options: dict[str, Any]) -> Response:
    """Steps as they happen. What is wrong before the first of them is an ordinary error."""
    loop, events = asyncio.get_running_loop(), asyncio.Queue[tuple[str, Any]]()

    def watch(step: TraceStep) -> None:
        loop.call_soon_threadsafe(events.put_nowait, ("step", dict(vars(step))))

    async def answer() -> None:
        try:
            decision = await context.decide(request, "native", material, questions, options, watch)
            events.put_nowait(("decision", decision.as_dict()))
        except Exception as error:
            # Whoever waits for the next event must hear of it.
            events.put_nowait(("error", error))

    task = asyncio.create_task(answer())
    first = await events.get()
    if first[0] == "error":
        raise first[1]

    async def lines() -> AsyncIterator[str]:
        event = first
        try:
            while True:
                name, data = event
                if isinstance(data, Exception):
                    problem = data if isinstance(data, Problem) else of_any(data)
                    data = {"status": problem.status, "error_type": problem.kind, "message": problem.message}
                yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
                if name != "step":
                    return
                event = await events.get()
        finally:
            task.cancel()

    return StreamingResponse(lines(), media_type="text/event-stream")
