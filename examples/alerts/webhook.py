"""A receiver of security events: each POST to /events is judged, and what is escalated is passed on.

PASS_ON=https://on-call.example/hook uvicorn --app-dir examples/alerts webhook:app --port 8100
curl -s localhost:8100/events -d '{"EventID": 4625, "Computer": "dc-east", "TargetUserName": "backup_svc"}'
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from clover_decide import CloverError, Decider, load_pack
from clover_decide.events import read_event

POLICY = (Path(__file__).parent / "policy.txt").read_text()
LARGEST, WAITING = 256 * 1024, 32
"""Bytes of an event, and events that may wait; more are told to come again."""
pack = load_pack("triage")


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    app.state.decider, app.state.waiting = Decider(), 0
    async with httpx.AsyncClient(timeout=10) as app.state.http:
        yield


async def receive(request: Request) -> JSONResponse:
    state = request.app.state
    if state.waiting >= WAITING:
        return JSONResponse({"error": "too many events wait"}, 503, headers={"Retry-After": "5"})
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            return JSONResponse({"error": f"more than {LARGEST} bytes"}, 413)
    state.waiting += 1
    try:
        event = read_event(body.decode("utf-8"))
        material = f"{POLICY}\n{event.text}"
        decision = await state.decider.adecide(material, pack.questions, rules=pack.rules)
    except UnicodeDecodeError:
        return JSONResponse({"error": "not UTF-8"}, 400)
    except CloverError as error:
        return JSONResponse(error.as_dict(), 422)
    finally:
        state.waiting -= 1
    told = {"id": event.id, "kind": event.kind, **decision.values(), "needs_review": decision.needs_review}
    if decision["escalate"].value and (url := os.environ.get("PASS_ON")):
        told["passed_on"] = await _pass_on(state.http, url, told)
    return JSONResponse(told)


async def _pass_on(http: httpx.AsyncClient, url: str, told: dict[str, Any]) -> bool:
    """Whether it got there, at the third try at most."""
    for pause in (0, 1, 4):
        await asyncio.sleep(pause)
        try:
            answer = await http.post(url, json=told)
        except httpx.TransportError:
            continue
        if answer.is_success:
            return True
    return False


app = Starlette(routes=[Route("/events", receive, methods=["POST"])], lifespan=lifespan)
