"""What error bodies look like, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Issue(BaseModel):
    """What is wrong with a field, and what would be accepted."""

    loc: list[str | int]
    msg: str
    type: str
    accepted: str | None = None


class Unprocessable(BaseModel):
    """A request that is not acceptable."""

    detail: list[Issue]


class FailureDetail(BaseModel):
    """Why there is no answer."""

    error_type: str
    message: str
    path: str | None = None


class Failure(BaseModel):
    """A request that is not answered."""

    detail: FailureDetail


class OpenAIError(BaseModel):
    """Why there is no answer."""

    message: str
    type: str
    param: str | None
    code: str


class OpenAIFailure(BaseModel):
    """A request that is not answered."""

    error: OpenAIError


_TOLD = {
    400: "Unknown model, or a body that cannot be decoded.",
    403: "A page of an origin that may not call the service.",
    401: "No key, a wrong or a revoked one.",
    408: "The body did not arrive in time.",
    413: "The body, or material and questions together, are too large. Nothing is truncated.",
    415: "A media type or content encoding that is not understood.",
    429: "Too many requests; Retry-After says when to try again.",
    500: "A fault of the service; the request id is in its log.",
    504: "Not answered within the deadline.",
}


def native_failures() -> dict[int | str, dict[str, Any]]:
    """Responses of the native routes besides 200."""
    plain: dict[int | str, dict[str, Any]] = {status: {"model": Failure, "description": told} for status, told in _TOLD.items()}
    busy = {"model": Failure, "description": "Too many requests are waiting; Retry-After says when to try again."}
    return {**plain, 422: {"model": Unprocessable, "description": "Not acceptable: where, why, and what would be."}, 503: busy}


def systemone_failures() -> dict[int | str, dict[str, Any]]:
    """Responses of /v1/systemone besides 200."""
    failures = native_failures()
    return {**{status: told for status, told in failures.items() if status != 503}, 529: failures[503]}


def decisions_failures() -> dict[int | str, dict[str, Any]]:
    """Responses of /v1/decisions besides 200: in the format of the request."""
    both = {**native_failures(), **systemone_failures()}
    return {status: {**told, "model": OpenAIFailure | told["model"]} for status, told in both.items()}
