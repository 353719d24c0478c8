"""`Client` and `AsyncClient`: the surface of `Decider`, over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clover_decide.decision import Decision
from clover_decide.errors import CloverError, FormatError, InputError, LimitError, MissingExtraError, RefusedError, ServiceError
from clover_decide.material import read_material
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
        try:
            known = httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
        except (httpx.InvalidURL, TypeError):
            known = False
        if not known:
            raise InputError("not an address", path="url", given=url, accepted="http:// or https:// and a host")
        if key is not None and not (key.strip() and key.strip().isascii() and key.strip().isprintable() and " " not in key.strip()):
            # The key itself is not told: errors end up in logs.
            raise InputError("not a key", path="key", accepted="visible ASCII characters, as clover-decide keys prints them")
        self.retries = retries
        headers = {"Authorization": f"Bearer {key.strip()}"} if key else {}
        self._settings: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout}

    def _asked(self, questions: Any, options: Mapping[str, Any]) -> tuple[QuestionSet, dict[str, Any]]:
        """The question set, and the body of a request without its material.

        Raises:
            InputError: questions or options are not acceptable; found here, so that no request is made.
        """
        question_set = read_questions(questions)
        read_options(options, question_set)
        return question_set, {"questions": _sent(questions, question_set), **{k: _plain(v) for k, v in options.items() if v is not None}}

    def _wait(self, attempt: int, answer: httpx.Response | None, lost: Exception | None) -> float | None:
        """Seconds until another attempt; None where the answer stands.

        Raises:
            ServiceError: there is no answer, and no attempt is left.
        """
        if answer is not None and (answer.status_code not in RETRIED or attempt >= self.retries):
            return None
        if lost is not None and attempt >= self.retries:
            told = f"cannot be reached ({type(lost).__name__}: {lost})"
            raise ServiceError(told, path="url", given=str(self._settings["base_url"])) from None
        after = (answer.headers.get("retry-after") if answer is not None else None) or ""
        return min(float(after) if after.isdecimal() else 0.5 * 2**attempt, LONGEST_WAIT)


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
        return self._decide(material, *self._asked(questions, options))

    def decide_many(self, materials: Iterable[Any], questions: Any, **options: Any) -> Iterator[Decision | CloverError]:
        """As `Decider.decide_many`: a bad material yields its error and stops nothing."""
        question_set, body = self._asked(questions, options)
        for material in materials:
            try:
                yield self._decide(material, question_set, body)
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

    def _decide(self, material: Any, question_set: QuestionSet, body: Mapping[str, Any]) -> Decision:
        # As text, which is what the service would make of it; dates and the like are not JSON.
        text = read_material(material).text
        return decision_of(self._send("POST", "/v1/decide", {**body, "material": text}), text, question_set)

    def _send(self, method: str, path: str, body: Any) -> Any:
        for attempt in range(self.retries + 1):
            answer, lost = None, None
            try:
                answer = self._http.request(method, path, json=body)
            except self._httpx.TransportError as error:
                lost = error
            wait = self._wait(attempt, answer, lost)
            if wait is None and answer is not None:
                return _read(answer)
            time.sleep(wait or 0.0)
        raise AssertionError("the last attempt returns or raises")


class AsyncClient(_Base):
    """`Client` for asyncio: `await client.decide(...)`, and several at once."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 2) -> None:
        super().__init__(url, key=key, timeout=timeout, retries=retries)
        self._http = self._httpx.AsyncClient(**self._settings)

    async def decide(self, material: Any, questions: Any, **options: Any) -> Decision:
        """As `Client.decide`."""
        return await self._decide(material, *self._asked(questions, options))

    async def decide_many(self, materials: Iterable[Any], questions: Any, **options: Any) -> AsyncIterator[Decision | CloverError]:
        """As `Client.decide_many`."""
        question_set, body = self._asked(questions, options)
        for material in materials:
            try:
                yield await self._decide(material, question_set, body)
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

    async def _decide(self, material: Any, question_set: QuestionSet, body: Mapping[str, Any]) -> Decision:
        text = read_material(material).text
        return decision_of(await self._send("POST", "/v1/decide", {**body, "material": text}), text, question_set)

    async def _send(self, method: str, path: str, body: Any) -> Any:
        for attempt in range(self.retries + 1):
            answer, lost = None, None
            try:
                answer = await self._http.request(method, path, json=body)
            except self._httpx.TransportError as error:
                lost = error
            wait = self._wait(attempt, answer, lost)
            if wait is None and answer is not None:
                return _read(answer)
            await asyncio.sleep(wait or 0.0)
        raise AssertionError("the last attempt returns or raises")


def _sent(questions: Any, question_set: QuestionSet) -> Any:
    """Questions as JSON. Options that stand for numbers and the like are only known from the schema that they came from."""
    if question_set.raw:
        if question_set.model is not None:
            return question_set.model.model_json_schema()
        return dict(questions) if isinstance(questions, Mapping) else question_set.json_schema()
    return {key: question.model_dump(mode="json") for key, question in question_set.questions.items()}


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
        raise _of_kind(str(first.get("type", "")), InputError)(str(first.get("msg", "not acceptable")), path=_path(first.get("loc", ())))
    told = detail.get("message", "") if isinstance(detail, dict) else answer.text[:200]
    if answer.status_code == 413 and isinstance(detail, dict) and detail.get("path"):
        raise LimitError(told, path=detail["path"])
    request = answer.headers.get("x-request-id", "")
    kind = RefusedError if 400 <= answer.status_code < 500 and answer.status_code != 408 else ServiceError
    raise kind(f"{told or answer.reason_phrase} (status {answer.status_code}, request {request})", path="service")


def _path(loc: Sequence[str | int]) -> str:
    """A place in a body as our errors have it: rules[2].cel."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc[1:]).removeprefix(".")


def _of_kind(kind: str, otherwise: type[CloverError]) -> type[CloverError]:
    """The class of an error by the name that the service gives it."""
    from clover_decide import errors

    found = getattr(errors, "".join(word.capitalize() for word in kind.split("_")), None)
    return found if isinstance(found, type) and issubclass(found, CloverError) else otherwise
