"""The routes whose formats others have set: System One, OpenAI Decisions, and the list of models."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Discriminator, Tag
from starlette.requests import Request
from starlette.responses import Response

from clover_decide.service.context import Context, Serving
from clover_decide.wire.failures import Failure, decisions_failures, systemone_failures
from clover_decide.wire.openai import DecisionsRequest, DecisionsResponse, decisions_response
from clover_decide.wire.systemone import SystemOneRequest, SystemOneResponse, systemone_response

router = APIRouter(prefix="/v1", tags=["compatible"])
RELEASED = "2026-11-30"


def _which(body: Any) -> str:
    """A System One body has a state, and its questions by id."""
    if isinstance(body, dict):
        return "systemone" if "state" in body or isinstance(body.get("questions"), dict) else "openai"
    return "systemone" if isinstance(body, SystemOneRequest) else "openai"


EitherRequest = Annotated[Annotated[DecisionsRequest, Tag("openai")] | Annotated[SystemOneRequest, Tag("systemone")], Discriminator(_which)]


class ModelBody(BaseModel):
    """A served model, in both list formats."""

    name: str
    description: str
    release_date: str
    id: str
    object: str
    created: int
    owned_by: str


class ModelsResponse(BaseModel):
    """The served models: `models` as System One clients read it, `data` as OpenAI clients do."""

    object: str
    models: list[ModelBody]
    data: list[ModelBody]


@router.post("/systemone", response_model=SystemOneResponse, responses=systemone_failures())
async def systemone(body: SystemOneRequest, request: Request, context: Serving) -> Response:
    """The System One format: independent unless the body, or the setting `compatible_mode`, says joint."""
    return await _systemone(body, request, context)


@router.post("/decisions", response_model=DecisionsResponse | SystemOneResponse, responses=decisions_failures())
async def decisions(body: EitherRequest, request: Request, context: Serving) -> Response:
    """The OpenAI Decisions format: independent unless the body, or the setting `compatible_mode`, says joint. A System One body is answered
    as such."""
    if isinstance(body, SystemOneRequest):
        request.scope["state"]["style"] = "systemone"
        return await _systemone(body, request, context)
    name = context.name_of(body.model)
    decision = await context.decide(
        request, "openai", body.material, body.asked(), body.chosen(body.mode or context.compatible_mode), called="input"
    )
    return JSONResponse(decisions_response(body, decision, name))


@router.get("/models", response_model=ModelsResponse, responses={status: {"model": Failure} for status in (401, 403, 429)})
async def models(context: Serving) -> Response:
    """The served model and the names it goes by."""
    from clover_decide import __version__

    told = f"clover-decide {__version__}, weights {context.decider.fingerprint}"
    names = (context.decider.model, *(alias for alias in context.settings.aliases if alias != context.decider.model))
    listed = [
        {
            "name": name,
            "description": told,
            "release_date": RELEASED,
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "clover-decide",
        }
        for name in names
    ]
    return JSONResponse({"object": "list", "models": listed, "data": listed})


async def _systemone(body: SystemOneRequest, request: Request, context: Context) -> Response:
    name = context.name_of(body.model)
    decision = await context.decide(
        request, "systemone", body.state, body.asked(), body.chosen(body.mode or context.compatible_mode), called="state"
    )
    return JSONResponse(systemone_response(body, decision, name))
