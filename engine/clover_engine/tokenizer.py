"""Text to token ids and back. User text can never produce a control token: those are inserted by id."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


class Tokenizer:
    """A byte-level BPE tokenizer read from a `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Backend

        self._backend = Backend.from_file(str(path))
        # "<|im_end|>" inside a contract is eight ordinary tokens, not the end of a turn.
        self._backend.encode_special_tokens = True
        self.encode_cached = lru_cache(maxsize=4096)(self._encode_tuple)

    @property
    def vocab_size(self) -> int:
        return self._backend.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; no token is added."""
        return self._backend.encode(text, add_special_tokens=False).ids

    def _encode_tuple(self, text: str) -> tuple[int, ...]:
        return tuple(self.encode(text))

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and the (start, end) characters each came from."""
        encoding = self._backend.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def decode(self, ids: list[int] | tuple[int, ...]) -> str:
        return self._backend.decode(list(ids), skip_special_tokens=False)

    def special(self, name: str) -> int:
        """Id of a control token.

        Raises:
            KeyError: the tokenizer has no such token.
        """
        token = self._backend.token_to_id(name)
        if token is None:
            raise KeyError(name)
        return token

    def single(self, text: str) -> int | None:
        """The id of `text` if it is one token, else None."""
        ids = self.encode_cached(text)
        return ids[0] if len(ids) == 1 else None

    def vocabulary(self) -> dict[str, int]:
        """Token strings in the byte-level alphabet, control tokens included."""
        return self._backend.get_vocab(with_added_tokens=True)
