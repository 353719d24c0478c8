"""API keys: only their hashes are stored, and every comparison takes the same time.

A key is 32 random bytes, so a plain SHA-256 of it cannot be turned back; what people choose themselves is not accepted as a key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError, InputError
from clover_decide.files import parse_yaml, read_text

PREFIX = "clv_"


@dataclass(frozen=True)
class Key:
    """A named key: its hash, the requests a minute that it may make (None: the service's), and whether it was revoked."""

    name: str
    hash: str
    per_minute: int | None = None
    revoked: bool = False


def digest(token: str) -> str:
    """The hash that is stored of a key."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: Path) -> tuple[Key, ...]:
    """The keys of a file.

    Raises:
        FormatError: unreadable, or not a mapping of names to keys.
    """
    data = parse_yaml(read_text(path), str(path))
    if not isinstance(data, dict):
        raise FormatError("holds no keys", path=str(path), accepted="a mapping of names to {hash, per_minute, revoked}")
    return tuple(_read(name, entry, str(path)) for name, entry in data.items())


def _read(name: Any, entry: Any, path: str) -> Key:
    try:
        key = Key(name, **entry)
    except TypeError:
        raise FormatError("not a key", path=f"{path}: {name}", accepted="hash, per_minute, revoked") from None
    good = isinstance(key.hash, str) and len(key.hash) == 64 and set(key.hash) <= set("0123456789abcdef")
    limit = key.per_minute
    if not isinstance(name, str) or not good:
        raise FormatError("no hash of a key", path=f"{path}: {name}", accepted="64 hex digits, as clover-decide keys writes them")
    if not isinstance(key.revoked, bool) or (limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1)):
        raise FormatError("not a key", path=f"{path}: {name}", accepted="revoked: true or false, per_minute: a whole number from 1")
    return key


class KeyRing:
    """The keys of a file, read again when it changes. A file that has become unreadable leaves the keys as they were."""

    def __init__(self, path: Path) -> None:
        self._path, self._keys, self._stamp = path, read_keys(path), _stamp(path)

    def find(self, token: str) -> Key | None:
        """The key that a token is, unless it was revoked."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._keys = read_keys(self._path)
            except FormatError:
                from structlog import get_logger

                get_logger().error("keys_unreadable", path=str(self._path))
        found, hashed = None, digest(token)
        for key in self._keys:
            # Without an early end, so that the time tells nothing.
            if hmac.compare_digest(key.hash, hashed):
                found = key
        return found if found is not None and not found.revoked else None


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def add_key(path: Path, name: str, per_minute: int | None = None) -> str:
    """A new key in a file, which is made if there is none. Returns the key; it cannot be had again.

    Raises:
        InputError: the name is taken or empty. FormatError: the file cannot be read or written.
    """
    keys = read_keys(path) if path.exists() else ()
    if not name.strip() or any(key.name == name for key in keys):
        raise InputError("empty or taken", path="name", given=name, accepted="a new name")
    token = PREFIX + secrets.token_urlsafe(32)
    _write(path, (*keys, Key(name, digest(token), per_minute)))
    return token


def revoke_key(path: Path, name: str) -> None:
    """Revoke a key; its name stays.

    Raises:
        InputError: no such key. FormatError: the file cannot be read or written.
    """
    keys = read_keys(path)
    if not any(key.name == name for key in keys):
        raise InputError("no such key", path="name", given=name, accepted=", ".join(key.name for key in keys))
    _write(path, tuple(Key(k.name, k.hash, k.per_minute, k.revoked or k.name == name) for k in keys))


def _write(path: Path, keys: tuple[Key, ...]) -> None:
    import os

    import yaml

    table = {k.name: {n: v for n, v in (("hash", k.hash), ("per_minute", k.per_minute), ("revoked", k.revoked)) if v} for k in keys}
    draft = path.with_name(path.name + ".new")
    try:
        # Readable by its owner alone, and never seen half written.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            yaml.safe_dump(table, file, sort_keys=False, allow_unicode=True)
        draft.replace(path)
    except OSError as error:
        raise FormatError(f"cannot be written ({error.strerror})", path=str(path), accepted="a writable path") from None
