"""`Client` and `AsyncClient`: the surface of `Decider`, over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clover_decide.decision import Decision
from clover_decide.errors import CloverError, FormatError, InputError, MissingExtraError, RefusedError, ServiceError
from clover_decide.options import read_options
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.wire.native import decision_of

if TYPE_CHECKING:
    import httpx

RETRIED = frozenset({408, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 30.0
"""Seconds waited at most before a retry."""


class _Base:
    """What both clients share: how a request is put and how an answer is read."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 2) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError(
                "calling a service needs httpx", path="client", accepted="pip install 'clover-decide[client]'"
            ) from None
        self._httpx = httpx
        if not url.startswith(("http://", "https://")):
            raise InputError("not an address", path="url", given=url, accepted="http:// or https://")
        self.retries = retries
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._settings: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout}

    def _asked(self, material: Any, questions: Any, options: Mapping[str, Any]) -> tuple[QuestionSet, dict[str, Any]]:
        """The question set and the body of a request.

        Raises:
            InputError: questions or options are not acceptable; found here, so that no request is made.
        """
        question_set = read_questions(questions)
        read_options(options, question_set)
        asked = {key: question.model_dump(mode="json") for key, question in question_set.questions.items()}
        return question_set, {"material": material, "questions": asked, **{k: _plain(v) for k, v in options.items() if v is not None}}

    def _wait(self, attempt: int, answer: httpx.Response | None) -> float | None:
        """Seconds until another attempt, None for none."""
        if attempt >= self.retries or (answer is not None and answer.status_code not in RETRIED):
            return None
        told = (answer.headers.get("retry-after") if answer is not None else None) or ""
        return min(float(told) if told.isdecimal() else 0.5 * 2**attempt, LONGEST_WAIT)

    def _failed(self, error: Exception) -> ServiceError:
        return ServiceError(f"cannot be reached ({type(error).__name__}: {error})", path="url", given=str(self._settings["base_url"]))


class Client(_Base):
    """A `Decider` behind an address.

    Args:
        url: where the service listens. key: an API key, where it needs one.
        timeout: seconds for one attempt. retries: further attempts after an overload, a timeout or a lost connection; they wait as long
            as the service asks.

    Raises:
        MissingExtraError: httpx is not installed. InputError: not an address.
    """

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 2) -> None:
        super().__init__(url, key=key, timeout=timeout, retries=retries)
        self._http = self._httpx.Client(**self._settings)

    def decide(self, material: Any, questions: Any, **options: Any) -> Decision:
        """As `Decider.decide`, whose options it takes.

        Raises:
            InputError: the request is not acceptable. ServiceError: the service cannot be reached or does not answer; RefusedError: it
                refuses the key, the rate or the request.
        """
        question_set, body = self._asked(material, questions, options)
        return decision_of(self._post("/v1/decide", body), material, question_set)

    def decide_many(self, materials: Iterable[Any], questions: Any, **options: Any) -> Iterator[Decision | CloverError]:
        """As `Decider.decide_many`: a bad material yields its error and stops nothing."""
        question_set = read_questions(questions)
        for material in materials:
            try:
                yield self.decide(material, question_set, **options)
            except InputError as error:
                yield error

    def packs(self) -> list[dict[str, Any]]:
        """The question packs of the service."""
        return self._send("GET", "/v1/packs", None)["packs"]

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(self, path: str, body: Any) -> Any:
        return self._send("POST", path, body)

    def _send(self, method: str, path: str, body: Any) -> Any:
        for attempt in range(self.retries + 1):
            answer, lost = None, None
            try:
                answer = self._http.request(method, path, json=body)
            except self._httpx.TransportError as error:
                lost = error
            wait = self._wait(attempt, answer)
            if answer is not None and (answer.is_success or wait is None):
                return _read(answer)
            if wait is None and lost is not None:
                raise self._failed(lost) from None
            time.sleep(wait or 0.0)
        raise AssertionError("the last attempt returns or raises")


class AsyncClient(_Base):
    """`Client` for asyncio: `await client.decide(...)`, and several at once."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 2) -> None:
        super().__init__(url, key=key, timeout=timeout, retries=retries)
        self._http = self._httpx.AsyncClient(**self._settings)

    async def decide(self, material: Any, questions: Any, **options: Any) -> Decision:
        """As `Client.decide`."""
        question_set, body = self._asked(material, questions, options)
        return decision_of(await self._send("POST", "/v1/decide", body), material, question_set)

    async def decide_many(self, materials: Iterable[Any], questions: Any, **options: Any) -> AsyncIterator[Decision | CloverError]:
        """As `Client.decide_many`."""
        question_set = read_questions(questions)
        for material in materials:
            try:
                yield await self.decide(material, question_set, **options)
            except InputError as error:
                yield error

    async def packs(self) -> list[dict[str, Any]]:
        """The question packs of the service."""
        return (await self._send("GET", "/v1/packs", None))["packs"]

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, method: str, path: str, body: Any) -> Any:
        for attempt in range(self.retries + 1):
            answer, lost = None, None
            try:
                answer = await self._http.request(method, path, json=body)
            except self._httpx.TransportError as error:
                lost = error
            wait = self._wait(attempt, answer)
            if answer is not None and (answer.is_success or wait is None):
                return _read(answer)
            if wait is None and lost is not None:
                raise self._failed(lost) from None
            await asyncio.sleep(wait or 0.0)
        raise AssertionError("the last attempt returns or raises")


def _plain(option: Any) -> Any:
    """An option as JSON has it."""
    from dataclasses import asdict, is_dataclass

    from clover_decide.abstain import Abstain
    from clover_decide.rules import RuleSet

    if isinstance(option, RuleSet):
        return [rule.source for rule in option.rules]
    if isinstance(option, Abstain):
        return {name: dict(v) if isinstance(v, Mapping) else v for name, v in vars(option).items() if v is not None}
    return asdict(option) if is_dataclass(option) and not isinstance(option, type) else option


def _read(answer: httpx.Response) -> Any:
    """The body of an answer, or what was wrong as the error that `Decider` would raise.

    Raises:
        InputError, RefusedError, ServiceError, FormatError.
    """
    try:
        body = answer.json()
    except ValueError:
        raise FormatError("the answer is not JSON", path="url", given=answer.text[:80], accepted="a clover-decide service") from None
    if answer.is_success:
        return body
    detail = body.get("detail") if isinstance(body, dict) else None
    if isinstance(detail, list) and detail:
        first = detail[0]
        path = ".".join(str(step) for step in first.get("loc", ())[1:])
        raise _of_kind(str(first.get("type", "")))(str(first.get("msg", "not acceptable")), path=path)
    told = detail.get("message", "") if isinstance(detail, dict) else answer.text[:200]
    request = answer.headers.get("x-request-id", "")
    kind = RefusedError if 400 <= answer.status_code < 500 and answer.status_code != 408 else ServiceError
    raise kind(f"{told or answer.reason_phrase} (status {answer.status_code}, request {request})", path="service")


def _of_kind(kind: str) -> type[InputError]:
    """The class of an error by the name that the service gives it."""
    from clover_decide import errors

    found = getattr(errors, "".join(word.capitalize() for word in kind.split("_")), None)
    return found if isinstance(found, type) and issubclass(found, InputError) else InputError
