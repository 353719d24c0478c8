"""What goes wrong with a request, and how each wire format tells it.

The native and the System One format: 422 with `detail`, a list of {loc, msg, type}, for a request that is not acceptable; else `detail`
with error_type and message. The Decisions format: `error` with message, type, param and code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import JSONResponse

from clover_decide.errors import CloverError, InputError, LimitError, ModelError

Style = Literal["native", "systemone", "openai"]
MATERIALS = frozenset({"material", "state", "input", "contract", "alert"})
"""Names that requests have for the material."""
FORMS = frozenset({"str", "bool", "int", "float"})
SHOWN = 20
"""Errors of a request that are listed."""


@dataclass
class Problem(Exception):
    """A request that is not answered. `where` is the path of a field, from `body` on, if one is to blame."""

    status: int
    kind: str
    message: str
    where: tuple[str | int, ...] = ()
    accepted: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[Mapping[str, Any]] = ()

    def __str__(self) -> str:
        return self.message


def overloaded(style: Style) -> Problem:
    """The queue is full. System One clients know 529 for it."""
    status = 529 if style == "systemone" else 503
    return Problem(status, "overloaded_error", "too many requests are waiting; try again", headers={"Retry-After": "1"})


def too_late(seconds: float) -> Problem:
    """The deadline has passed."""
    return Problem(504, "timeout_error", f"not answered within {seconds:g} s; ask less at once or raise the deadline of the service")


def of_clover(error: CloverError) -> Problem:
    """An error of the library: what the caller did wrong is theirs, what the model cannot do is too, the rest is ours."""
    # rules[2].cel is the step rules, then 2, then cel.
    steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", error.path)
    where = ("body", *(int(number) if number else name for number, name in steps))
    message = error.problem if error.given is None else f"{error.problem}; given {error.as_dict()['given'][:80]}"
    if isinstance(error, LimitError) and error.path in MATERIALS:
        return Problem(413, "limit_error", _whole(message, error.accepted), where, error.accepted)
    if isinstance(error, (InputError, ModelError)):
        return Problem(422, _snake(type(error).__name__), _whole(message, error.accepted), where, error.accepted)
    return Problem(500, "internal_error", "the answer could not be made")


def of_any(error: Exception) -> Problem:
    """Any error, without details of what nobody foresaw."""
    return of_clover(error) if isinstance(error, CloverError) else Problem(500, "internal_error", "the answer could not be made")


def of_validation(errors: Sequence[Mapping[str, Any]], body: Any = None) -> Problem:
    """What pydantic found wrong with a body.

    Where something may have several forms, it complains of each: what is told is where the body is wrong, not which form was tried, and of
    complaints about a place those that are about something further inside it.
    """
    placed = [{"loc": ["body", *_steps(e["loc"][1:], body)], "msg": e["msg"], "type": e["type"]} for e in errors]
    inner = [e for e in placed if not any(len(o["loc"]) > len(e["loc"]) and o["loc"][: len(e["loc"])] == e["loc"] for o in placed)]
    listed = inner[:SHOWN]
    first = listed[0] if listed else {"loc": ["body"], "msg": "not acceptable", "type": "value_error"}
    return Problem(422, first["type"], first["msg"], tuple(first["loc"]), more=listed)


def _steps(loc: Sequence[Any], body: Any) -> list[str | int]:
    """The steps of a path that exist in the body, and a last one that is missing there; others are names of forms."""
    steps: list[str | int] = []
    value: Any = body
    for number, step in enumerate(loc, 1):
        inside = (isinstance(value, dict) and step in value) or (isinstance(value, list) and isinstance(step, int) and step < len(value))
        missing = isinstance(value, dict) and number == len(loc) and isinstance(step, str) and step.isidentifier() and step not in FORMS
        if not inside and not missing:
            continue
        holder: Any = value
        value = holder[step] if inside else None
        steps.append(step)
    return steps


def response(problem: Problem, style: Style) -> JSONResponse:
    """A problem as its wire format tells it."""
    body: dict[str, Any]
    if style == "openai":
        body = {"error": {"message": problem.message, "type": _openai_type(problem), "param": _param(problem), "code": problem.kind}}
    elif problem.status == 422:
        own = {"loc": list(problem.where) or ["body"], "msg": problem.message, "type": problem.kind}
        body = {"detail": list(problem.more) or [{**own, **({"accepted": problem.accepted} if problem.accepted else {})}]}
    else:
        own = {"error_type": problem.kind, "message": problem.message}
        body = {"detail": {**own, **({"path": _param(problem)} if problem.where else {})}}
    return JSONResponse(body, problem.status, headers=dict(problem.headers))


def style_of(path: str) -> Style:
    """The format whose errors a path has. A System One body sent to /v1/decisions is told apart once it is read."""
    return "openai" if path == "/v1/decisions" else "systemone" if path == "/v1/systemone" else "native"


def _openai_type(problem: Problem) -> str:
    by_status = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    return by_status.get(problem.status, "invalid_request_error" if problem.status < 500 else "server_error")


def _param(problem: Problem) -> str | None:
    return ".".join(str(step) for step in problem.where[1:]) or None


def _whole(message: str, accepted: str) -> str:
    return f"{message}; accepted: {accepted}" if accepted else message


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
