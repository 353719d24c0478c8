"""Any server of the System One or Decisions wire format, by URL."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from clover_decide.errors import InputError
from clover_eval.datasets import LabelledGroup
from clover_eval.runners.base import Reply, RunnerError, need
from clover_eval.runners.wire import decisions_answers, decisions_questions, systemone_questions, systemone_reply, unsupported

Wire = Literal["systemone", "decisions"]
RETRIED = frozenset({408, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 60.0
"""Seconds; a server that asks for more is given up on."""


class HttpRunner:
    """Posts one request a group.

    Args:
        url: the endpoint.
        wire: its format.
        model: the name sent; servers report the real one.
        key: a bearer token.
        joint: ask for a joint answer (`mode: "joint"`, an extension that others ignore).
        timeout: seconds to wait for a connection, and for each next piece of a response.
        tries: attempts in all, on a refused connection, a timeout, or a status that may pass (`RETRIED`).
    """

    def __init__(
        self,
        url: str,
        wire: Wire,
        *,
        model: str = "jev-latest",
        key: str | None = None,
        joint: bool = False,
        timeout: float = 60.0,
        tries: int = 4,
    ) -> None:
        self._httpx: Any = need("httpx", "eval")
        _check(url, timeout)
        self._url, self._wire, self._model, self._joint, self._tries = url, wire, model, joint, tries
        self._timeout, self._headers = timeout, {"Authorization": f"Bearer {key}"} if key else {}
        self.name = f"{wire}{' joint' if joint else ''} {url}"
        self.identity: Mapping[str, Any] = {"url": url, "wire": wire, "model": model, "joint": joint}

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do: the first request finds out whether the server is there."""

    def answer(self, group: LabelledGroup) -> Reply:
        if len(unsupported(group)) == len(group.questions.questions):
            return Reply({}, None, unsupported(group))
        body = self._post(self._request(group))
        if not isinstance(body, Mapping):
            raise RunnerError("the response is no object", path=self._url, given=body, accepted="a response of the format")
        if self._wire == "systemone":
            return systemone_reply(group, body.get("answers"), self._url)
        answers, refused = decisions_answers(body.get("answers"), self._url)
        return systemone_reply(group, answers, self._url, refused)

    def _request(self, group: LabelledGroup) -> dict[str, Any]:
        extra = {"mode": "joint"} if self._joint else {}
        if self._wire == "decisions":
            return {"model": self._model, "input": group.material, "questions": decisions_questions(group), **extra}
        return {"model": self._model, "state": group.material, "questions": systemone_questions(group), **extra}

    def _post(self, body: Mapping[str, Any]) -> Any:
        problem = ""
        for attempt in range(self._tries):
            try:
                # A connection of its own, closed at once: an answer takes far longer than a handshake.
                response = self._httpx.post(self._url, json=body, timeout=self._timeout, headers=self._headers)
            except self._httpx.HTTPError as error:
                problem, wait = f"{type(error).__name__}: {error}", 0.5 * 2**attempt
            else:
                if response.is_success:
                    return self._json(response)
                problem = f"status {response.status_code}: {response.text[:200]}"
                if response.status_code not in RETRIED:
                    break
                wait = _retry_after(response, 0.5 * 2**attempt)
            if wait > LONGEST_WAIT:
                problem += f" (asks to wait {wait:.0f} s)"
                break
            if attempt + 1 < self._tries:
                time.sleep(wait)
        raise RunnerError(f"no answer from the server: {problem}", path=self._url, accepted=f"a {self._wire} server")

    def _json(self, response: Any) -> Any:
        try:
            return response.json()
        except ValueError:
            raise RunnerError(
                "the response is no JSON", path=self._url, given=response.text[:80], accepted="a response of the format"
            ) from None


def _check(url: str, timeout: float) -> None:
    """Refuse what can never work, and a password that would end up in names of files."""
    parts = urlsplit(url)
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise InputError("no URL of a server", path="--runner", given=url, accepted="http://HOST[:PORT]/PATH, the endpoint itself")
    if parts.username or parts.password:
        raise InputError("a URL with a password", path="--runner", accepted="a URL without one; a key in CLOVER_EVAL_KEY")
    if not 0.0 < timeout < 86_400.0:
        raise InputError("no such time", path="--timeout", given=timeout, accepted="seconds above 0")


def _retry_after(response: Any, otherwise: float) -> float:
    """Seconds that the server asks to wait."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(response.headers[header]) * unit)
        except (KeyError, ValueError):
            continue
    return otherwise
