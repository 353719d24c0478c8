"""The application: routes, layers, errors."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from clover_decide.decider import Decider
from clover_decide.errors import CloverError, InputError
from clover_decide.service import compatible, native
from clover_decide.service.bodies import Bodies
from clover_decide.service.context import Context, Serving
from clover_decide.service.guard import Guard
from clover_decide.service.keys import KeyRing
from clover_decide.service.metrics import Metrics
from clover_decide.service.problems import Problem, of_clover, of_validation, response, style_of
from clover_decide.service.running import Runner
from clover_decide.service.settings import Settings, read_settings
from clover_decide.wire.failures import Failure

operations = APIRouter(tags=["operations"])
STATIC = Path(__file__).resolve().parent / "static"
TITLE = "clover-decide"
ABOUT = "Related, typed questions about one material, answered jointly by a block-diffusion model."


def create_app(settings: Settings, decider: Decider | None = None) -> FastAPI:
    """The service over a loaded model; it is loaded now unless it is given.

    Raises:
        CloverError: the model, the keys or the calibration cannot be loaded, or settings that do not go together.
    """
    metrics = Metrics()
    if decider is None:
        decider = load_decider(settings, metrics)
    fitted, compatible = decider.calibration, settings.compatible_mode
    if fitted is not None and compatible not in (None, fitted.mode):
        raise InputError("the calibration is for the other mode", path="compatible_mode", given=compatible, accepted=fitted.mode)
    context = Context(settings, decider, Runner(settings.batch, settings.queue, settings.deadline, metrics), metrics)
    keys = KeyRing(settings.keys) if settings.keys is not None else None

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        context.ready = False
        context.runner.close()

    # No pages of documentation: they would load scripts from elsewhere. /openapi.json is what tools read.
    about: dict[str, Any] = {"title": TITLE, "description": ABOUT, "version": _version()}
    # A redirect would be built from whatever host the request names.
    app = FastAPI(**about, lifespan=life, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.context = context
    _routes(app)
    _tell_errors(app)
    posts = frozenset(path for path, methods in app.openapi()["paths"].items() if "post" in methods)
    app.add_middleware(Bodies, paths=posts, limit=settings.body_limit, seconds=settings.body_seconds)
    app.add_middleware(
        Guard,
        metrics=metrics,
        keys=keys,
        per_minute=settings.per_minute,
        log_material=settings.log_material,
        origins=frozenset(settings.cors),
    )
    if settings.cors:
        # Outermost, so that pages see refusals too.
        told = ["x-request-id", "retry-after", "server-timing"]
        methods, origins = ["GET", "POST"], settings.cors
        app.add_middleware(CORSMiddleware, allow_origins=origins, allow_methods=methods, allow_headers=["*"], expose_headers=told)
    return app


def load_decider(settings: Settings, metrics: Metrics) -> Decider:
    """The model as the settings have it."""
    import torch

    torch.set_num_threads(settings.threads or max(1, (os.cpu_count() or 1) // settings.workers))
    return Decider(
        settings.model,
        device=settings.device,
        dtype=settings.dtype,
        cached_materials=settings.cached_materials,
        calibration=settings.calibration,
        batch=settings.batch,
        watch_passes=metrics.passed,
    )


def from_environment() -> FastAPI:
    """The service as the environment says; what each worker process runs."""
    from clover_decide.service.logs import configure

    settings = read_settings()
    configure(settings.log_level)
    if settings.otel:
        from clover_decide.service.spans import export

        export()
    return create_app(settings)


def _version() -> str:
    from clover_decide import __version__

    return __version__


def _routes(app: FastAPI) -> None:
    app.include_router(native.router)
    app.include_router(compatible.router)
    app.include_router(operations)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


@operations.get("/", include_in_schema=False)
async def page() -> Response:
    """A page that tries a pack in both modes."""
    return FileResponse(STATIC / "page.html")


@operations.head("/healthz", response_class=PlainTextResponse, include_in_schema=False)
@operations.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """The process is alive."""
    return "ok\n"


@operations.head("/readyz", response_class=PlainTextResponse, include_in_schema=False)
@operations.get("/readyz", response_class=PlainTextResponse, responses={503: {"description": "Not now.", "content": {"text/plain": {}}}})
async def readyz(context: Serving) -> Response:
    """A request would be taken now."""
    free = context.ready and not context.runner.full
    return PlainTextResponse("ready\n" if free else "busy\n", 200 if free else 503)


@operations.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={401: {"model": Failure, "description": "A key is needed."}, 403: {"model": Failure, "description": "Another origin."}},
)
async def metrics(context: Serving) -> Response:
    """Counters of this process for Prometheus."""
    return Response(context.metrics.text(), media_type="text/plain; version=0.0.4")


def _tell_errors(app: FastAPI) -> None:
    def told(request: Request, problem: Problem) -> Response:
        style = request.scope.get("state", {}).get("style") or style_of(request.url.path)
        return response(problem, style)

    @app.exception_handler(Problem)
    async def of_ours(request: Request, error: Problem) -> Response:
        return told(request, error)

    @app.exception_handler(CloverError)
    async def of_library(request: Request, error: CloverError) -> Response:
        return told(request, of_clover(error))

    @app.exception_handler(RequestValidationError)
    async def of_body(request: Request, error: RequestValidationError) -> Response:
        errors, body = [dict(e) for e in error.errors()], json.loads(request.scope["state"].get("body", b"null"))
        if style_of(request.url.path) == "openai":
            # The tag says which format was understood; callers know nothing of it.
            tags = {e["loc"][1] for e in errors if len(e["loc"]) > 1}
            request.scope["state"]["style"] = "systemone" if "systemone" in tags else "openai"
            errors = [{**e, "loc": (e["loc"][0], *e["loc"][2:])} for e in errors]
        return told(request, of_validation(errors, body))

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        kind = {404: "not_found_error", 405: "method_not_allowed_error"}.get(error.status_code, "api_usage_error")
        listed = ", ".join(sorted(app.openapi()["paths"]))
        message = (
            f"{request.method} {request.url.path[:80]} is not served; accepted: {listed}"
            if error.status_code in (404, 405)
            else error.detail
        )
        return told(request, Problem(error.status_code, kind, message, headers=dict(error.headers or {})))


def openapi() -> dict[str, Any]:
    """The OpenAPI document, without a model."""
    app = FastAPI(title=TITLE, description=ABOUT, version=_version(), docs_url=None, redoc_url=None)
    _routes(app)
    return app.openapi()
