"""How large a pattern's automaton becomes, told before it is built: building it is what takes the time and the memory."""

from __future__ import annotations

import re
from functools import lru_cache
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue] - the syntax tree of `re`, which has no public name
from typing import Any

from clover_engine.tokenizer import Tokenizer


def expansion(regex: str, tokenizer: Tokenizer) -> int:
    """About how many token transitions a regular expression needs: one position a repetition of a character class, and from each
    position as many tokens as consist of such characters. 0 for what `re` cannot parse."""
    try:
        return _size(parser.parse(regex), tokenizer)
    except (re.error, RecursionError, OverflowError):
        return 0


def _size(parsed: Any, tokenizer: Tokenizer) -> int:
    return sum(_of(str(kind), argument, tokenizer) for kind, argument in parsed)


def _of(kind: str, argument: Any, tokenizer: Tokenizer) -> int:
    match kind:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = argument
            # An endless repetition is a loop over what stands there once.
            return _size(inner, tokenizer) * int(least + 1 if str(most) == "MAXREPEAT" else most)
        case "SUBPATTERN":
            return _size(argument[-1], tokenizer)
        case "ATOMIC_GROUP":
            return _size(argument, tokenizer)
        case "BRANCH":
            return sum(_size(branch, tokenizer) for branch in argument[1])
        case "ANY" | "NOT_LITERAL":
            return _tokens_of(".", tokenizer)
        case "IN":
            return _tokens_of(_written(argument), tokenizer)
        case _:
            return 1


def _written(items: Any) -> str:
    """A character class as it is written."""
    out = ""
    for kind, argument in items:
        match str(kind):
            case "NEGATE":
                out += "^"
            case "LITERAL":
                out += re.escape(chr(argument))
            case "RANGE":
                out += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
            case "CATEGORY":
                name = str(argument).removeprefix("CATEGORY_")
                letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.removeprefix("NOT_")]
                out += f"\\{letter.upper() if name.startswith('NOT_') else letter}"
    return f"[{out}]"


@lru_cache(maxsize=256)
def _tokens_of(written: str, tokenizer: Tokenizer) -> int:
    """How many tokens consist of characters of a class."""
    only = re.compile(f"{written}+", re.DOTALL)
    return sum(only.fullmatch(text) is not None for text in _texts(tokenizer))


@lru_cache(maxsize=4)
def _texts(tokenizer: Tokenizer) -> tuple[str, ...]:
    return tuple(tokenizer.decode([token]) for token in range(tokenizer.vocab_size))
