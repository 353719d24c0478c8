"""Bodies: bounded in bytes and seconds, decompressed within the same bounds, and strict JSON before anything reads them."""

from __future__ import annotations

import asyncio
import codecs
import json
import zlib
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clover_decide.errors import CloverError
from clover_decide.files import parse_json
from clover_decide.service.problems import Problem, response, style_of

MAX_DEPTH = 64
"""Levels of a JSON body."""


class Bodies:
    """Reads the whole body of a POST to one of `paths` before its route does, and answers for what is wrong with it. Elsewhere bodies
    are not read at all."""

    def __init__(self, app: ASGIApp, *, paths: frozenset[str], limit: int, seconds: float) -> None:
        self.app, self._paths, self._limit, self._seconds = app, paths, limit, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self._paths:
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            _check_type(headers.get("content-type", ""))
            self._check_length(headers.get("content-length"))
            try:
                raw = await asyncio.wait_for(self._read(receive), self._seconds)
            except TimeoutError:
                raise Problem(408, "timeout_error", f"the body did not arrive within {self._seconds:g} s") from None
            body = decompress(raw, headers.get("content-encoding", ""), self._limit)
            check_json(body)
        except Problem as problem:
            # What was not read of the body would be taken for the next request.
            problem.headers = {**problem.headers, "Connection": "close"} if problem.status in (408, 413) else problem.headers
            await response(problem, style_of(scope["path"]))(scope, receive, send)
            return
        scope.setdefault("state", {})["body"] = body
        scope["headers"] = _plain(scope["headers"], len(body))
        await self.app(scope, _replay(body, receive), send)

    def _check_length(self, told: str | None) -> None:
        if told is not None and (not told.isdecimal() or int(told) > self._limit):
            raise too_large(self._limit)

    async def _read(self, receive: Receive) -> bytes:
        chunks, size = list[bytes](), 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(499, "client_closed_request", "the client went away")
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self._limit:
                raise too_large(self._limit)
            if not message.get("more_body"):
                return b"".join(chunks)


def too_large(limit: int) -> Problem:
    """More bytes than are read."""
    return Problem(413, "limit_error", f"the body is too large; accepted: at most {limit} bytes, decompressed as well")


def decompress(raw: bytes, encoding: str, limit: int) -> bytes:
    """The body behind its content encoding: gzip, deflate or zstd, one of them at most.

    Raises:
        Problem: unknown, damaged, or larger than the limit.
    """
    name = encoding.strip().lower()
    try:
        match name:
            case "" | "identity":
                return raw
            case "gzip" | "x-gzip" | "deflate":
                stream = zlib.decompressobj(zlib.MAX_WBITS | 32)
                body = stream.decompress(raw, limit + 1)
                whole = stream.eof and not stream.unused_data
            case "zstd":
                import zstandard

                reader = zstandard.ZstdDecompressor(max_window_size=1 << 23).stream_reader(raw, read_across_frames=True)
                body = reader.read(limit + 1)
                whole = bool(body) or not raw
            case _:
                raise Problem(415, "encoding_error", f"content encoding {name[:40]!r} is not understood; accepted: gzip, deflate, zstd")
    except (zlib.error, MemoryError) as error:
        raise Problem(400, "encoding_error", f"the body is not {name}: {error}") from None
    except Exception as error:
        if isinstance(error, Problem):
            raise
        # zstandard has an error class of its own, which is imported only where it is needed.
        raise Problem(400, "encoding_error", f"the body is not {name}: {error}") from None
    if len(body) > limit:
        raise too_large(limit)
    if not whole:
        raise Problem(400, "encoding_error", f"the body is not a whole {name} stream")
    return body


def check_json(body: bytes) -> Any:
    """The value of a body.

    Raises:
        Problem: not UTF-8, not JSON as the standard has it, nested too deeply, or with a lone surrogate inside.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(422, "json_invalid", f"not UTF-8: byte {error.start}", ("body",)) from None
    if not text.strip():
        raise Problem(422, "json_invalid", "the body is empty; accepted: a JSON object", ("body",))
    try:
        value = parse_json(text, "body")
    except CloverError as error:
        raise Problem(422, "json_invalid", f"{error.problem}; accepted: {error.accepted}", ("body",)) from None
    if _deep(value, MAX_DEPTH):
        raise Problem(422, "json_invalid", f"nested too deeply; accepted: at most {MAX_DEPTH} levels", ("body",))
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Problem(422, "json_invalid", "contains a lone surrogate; accepted: valid Unicode", ("body",)) from None
    return value


def _deep(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [
            item
            for holder in layer
            if isinstance(holder, (dict, list))
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not layer:
            return False
    return any(isinstance(item, (dict, list)) for item in layer)


def _check_type(told: str) -> None:
    kind = told.partition(";")[0].strip().lower()
    # Tools that do not say what they send say that it is a form.
    if kind not in ("", "application/json", "application/x-www-form-urlencoded", "text/plain") and not kind.endswith("+json"):
        message = f"a {kind[:60]} body is not understood; accepted: application/json (images are not read)"
        raise Problem(415, "media_type_error", message)
    charset = next(
        (value for name, _, value in (part.partition("=") for part in told.split(";")[1:]) if name.strip().lower() == "charset"), ""
    )
    if charset and _codec(charset.strip(" \"'")) not in ("utf-8", "ascii"):
        raise Problem(415, "media_type_error", f"a body in {charset.strip()[:60]} is not understood; accepted: utf-8, us-ascii")


def _codec(name: str) -> str | None:
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return None


def _plain(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    gone = {b"content-encoding", b"content-length", b"content-type", b"transfer-encoding"}
    kept = [(name, value) for name, value in headers if name.lower() not in gone]
    return [*kept, (b"content-type", b"application/json"), (b"content-length", str(length).encode())]


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
