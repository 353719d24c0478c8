"""Around every request: an id, a key, a rate, a log line, and headers that browsers heed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog import get_logger

from clover_decide.service.keys import Key, KeyRing
from clover_decide.service.metrics import Metrics
from clover_decide.service.problems import Problem, response, style_of

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json"})
"""What needs no key: the page and its files, which hold no data, and what balancers ask."""
SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "cache-control": "no-store",
}
SHOWN = 2000
"""Characters of a body in the log, where it is logged at all."""


class Guard:
    """The outermost layer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        keys: KeyRing | None,
        per_minute: int | None,
        log_material: bool,
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self.app, self._metrics, self._keys, self._per_minute = app, metrics, keys, per_minute
        self._log_material, self._origins = log_material, origins
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, state = time.perf_counter(), 500, scope.setdefault("state", {})
        state["request_id"] = _id(Headers(scope=scope).get("x-request-id"))

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                headers["x-request-id"] = headers["x-typesafe-request-id"] = state["request_id"]
                headers["server-timing"] = f"total;dur={(time.perf_counter() - start) * 1000:.1f}"
            await send(message)

        try:
            await self._answer(scope, receive, sending)
        finally:
            self._tell(scope, status, time.perf_counter() - start, state)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._admit(scope)
        except Problem as problem:
            await response(problem, style_of(scope["path"]))(scope, receive, send)
            return
        await _shielded(self.app, scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        """Check origin, key and rate.

        Raises:
            Problem: a page of another origin, no key, a wrong or revoked one, or too many requests.
        """
        path, headers = scope["path"], Headers(scope=scope)
        origin = headers.get("origin")
        if origin and origin not in self._origins and urlsplit(origin).netloc != headers.get("host"):
            # A service that needs no key would else answer whatever page its user has open.
            raise Problem(403, "origin_error", f"pages of {origin[:80]} may not call this service; accepted: origins of the setting cors")
        if path in OPEN or path.startswith("/static/") or scope["method"] == "OPTIONS":
            return
        who, per_minute = (scope.get("client") or ("unknown",))[0], self._per_minute
        if self._keys is not None:
            key = _key(self._keys, headers)
            scope["state"]["key"] = who = key.name
            per_minute = key.per_minute or per_minute
        if per_minute is not None and path.startswith("/v1/"):
            self._count(RateLimitItemPerMinute(per_minute), who)

    def _count(self, rate: RateLimitItemPerMinute, who: str) -> None:
        if not self._limiter.hit(rate, who):
            # A full window may empty while it is looked at.
            wait = max(1, round(self._limiter.get_window_stats(rate, who).reset_time - time.time() + 0.5))
            message = f"more than {rate.amount} requests a minute; try again in {wait} s"
            raise Problem(429, "rate_limit_error", message, headers={"Retry-After": str(wait)})

    def _tell(self, scope: Scope, status: int, seconds: float, state: Mapping[str, object]) -> None:
        # The path of the route and not that of the request, so that strange paths do not each become a metric of their own.
        route = str(getattr(scope.get("route"), "path", "other"))
        self._metrics.requests.labels(route, status).inc()
        self._metrics.latency.labels(route).observe(seconds)
        told = {name: state[name] for name in ("request_id", "key", "decided") if name in state}
        body = state.get("body")
        if self._log_material and isinstance(body, bytes):
            told["body"] = body.decode("utf-8", "replace")[:SHOWN]
        log = get_logger().info if route.startswith("/v1/") else get_logger().debug
        log("request", method=scope["method"], route=route, status=status, seconds=round(seconds, 4), **told)


async def _shielded(app: Callable[[Scope, Receive, Send], Awaitable[None]], scope: Scope, receive: Receive, send: Send) -> None:
    """The rest of the service. What nobody foresaw is logged with the request's id, and told without details."""
    begun = False

    async def noting(message: Message) -> None:
        nonlocal begun
        begun = True
        await send(message)

    try:
        await app(scope, receive, noting)
    except Exception:
        get_logger().exception("unexpected", request_id=scope["state"]["request_id"])
        if begun:
            raise
        message = f"an error of the service; its log has more under {scope['state']['request_id']}"
        await response(Problem(500, "internal_error", message), style_of(scope["path"]))(scope, receive, send)


def _key(ring: KeyRing, headers: Headers) -> Key:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        told = {"WWW-Authenticate": "Bearer"}
        raise Problem(401, "authentication_error", "a key is needed; accepted: the header Authorization: Bearer KEY", headers=told)
    key = ring.find(token.strip())
    if key is None:
        raise Problem(401, "authentication_error", "no such key, or it was revoked", headers={"WWW-Authenticate": "Bearer"})
    return key


def _id(given: str | None) -> str:
    """The caller's own id of the request, if it is one to log, else a new one."""
    if given and len(given) <= 64 and given.replace("-", "").replace("_", "").isalnum() and given.isascii():
        return given
    return uuid.uuid4().hex
