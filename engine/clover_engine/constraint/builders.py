"""Token automata of the value types: enumerations, digit ranges, calendar dates, patterns, substrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from clover_engine.constraint.automaton import TokenAutomaton
from clover_engine.constraint.expansion import expansion
from clover_engine.tokenizer import Tokenizer

MAX_EDGES = 400_000
"""Largest pattern automaton accepted; a larger one would make one request cost seconds."""

BEYOND_REGULAR = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?<?[=!]|\\[1-9]|\(\?P=)")
"""What the compiler says of these is about itself."""


class PatternError(ValueError):
    """A pattern cannot be compiled, matches nothing, or is too large."""


def trie(strings: Iterable[Sequence[int]]) -> TokenAutomaton:
    """Exactly the given token strings."""
    table: dict[tuple[int, int], int] = {}
    finals: set[int] = set()
    size = 1
    for string in strings:
        state = 0
        for token in string:
            if (state, token) not in table:
                table[state, token] = size
                size += 1
            state = table[state, token]
        finals.add(state)
    return TokenAutomaton.from_edges(size, ((s, t, d) for (s, t), d in table.items()), finals)


def between(low: str, high: str, alphabet: Sequence[str], tokenizer: Tokenizer) -> TokenAutomaton:
    """Strings of one length between `low` and `high` in character order; each character must be one token.

    Characters of `low` and `high` outside `alphabet` (a decimal point, a hyphen) must agree and are literal.
    """
    ids = {c: _single(c, tokenizer) for c in {*alphabet, *low, *high}}
    # A state is (position, still equal to low, still equal to high).
    names: dict[tuple[int, bool, bool], int] = {(0, True, True): 0}
    edges: list[tuple[int, int, int]] = []
    queue = [(0, True, True)]
    for state in queue:
        at, tight_low, tight_high = state
        if at == len(low):
            continue
        literal = low[at] not in alphabet
        for c in [low[at]] if literal else alphabet:
            if not literal and ((tight_low and c < low[at]) or (tight_high and c > high[at])):
                continue
            following = (at + 1, tight_low and c == low[at], tight_high and c == high[at])
            if following not in names:
                names[following] = len(names)
                queue.append(following)
            edges.append((names[state], ids[c], names[following]))
    return TokenAutomaton.from_edges(len(names), edges, [n for s, n in names.items() if s[0] == len(low)])


def union(parts: Sequence[TokenAutomaton]) -> TokenAutomaton:
    """The union, determinised by the subset construction."""
    outgoing: list[dict[int, list[tuple[int, int]]]] = []
    for part in parts:
        table: dict[int, list[tuple[int, int]]] = {}
        for (source, token), target in part.transitions.items():
            table.setdefault(source, []).append((token, target))
        outgoing.append(table)
    start = frozenset((p, 0) for p in range(len(parts)))
    names = {start: 0}
    edges: list[tuple[int, int, int]] = []
    queue = [start]
    for subset in queue:
        moves: dict[int, set[tuple[int, int]]] = {}
        for part, state in subset:
            for token, target in outgoing[part].get(state, []):
                moves.setdefault(token, set()).add((part, target))
        for token, targets in moves.items():
            following = frozenset(targets)
            if following not in names:
                names[following] = len(names)
                queue.append(following)
            edges.append((names[subset], token, names[following]))
    finals = [n for s, n in names.items() if any(state in parts[part].finals for part, state in s)]
    return TokenAutomaton.from_edges(len(names), edges, finals)


def pattern(regex: str, tokenizer: Tokenizer, excluded: Iterable[int] = ()) -> TokenAutomaton:
    """Token strings whose text matches the regular expression as a whole (compiled by outlines-core).

    Raises:
        PatternError: not supported by the compiler, matches nothing, or too large.
    """
    return _pattern(regex, tokenizer, frozenset(excluded))


@lru_cache(maxsize=64)
def _pattern(regex: str, tokenizer: Tokenizer, excluded: frozenset[int]) -> TokenAutomaton:
    from outlines_core import Index

    expected = expansion(regex, tokenizer)
    if expected > 2 * MAX_EDGES:
        raise PatternError(f"the pattern would need about {expected} token transitions, more than {MAX_EDGES}; narrow it")
    try:
        index = Index(regex, _vocabulary(tokenizer))
    except ValueError as error:
        said = "looking around and back-references have no automaton" if BEYOND_REGULAR.search(regex) else str(error).strip()
        raise PatternError(f"the pattern cannot be compiled to tokens: {said}") from None
    table = index.get_transitions()
    end = tokenizer.special("<|endoftext|>")
    edge_count = sum(len(row) for row in table.values())
    if edge_count > MAX_EDGES:
        raise PatternError(f"the pattern needs {edge_count} token transitions, more than {MAX_EDGES}; narrow it")
    names: dict[int, int] = {index.get_initial_state(): 0}
    edges: list[tuple[int, int, int]] = []
    for source, row in table.items():
        for token, target in row.items():
            if token != end and token not in excluded:
                a, b = (names.setdefault(s, len(names)) for s in (source, target))
                edges.append((a, token, b))
    finals = [names[s] for s in index.get_final_states() if s in names]
    return TokenAutomaton.from_edges(len(names), edges, finals)


def substrings(ids: Sequence[int], starts: Sequence[bool], ends: Sequence[bool], longest: int) -> TokenAutomaton:
    """Runs of 1 to `longest` of `ids` that begin where `starts` and finish where `ends` is true.

    A suffix automaton (Blumer et al. 1985) restricted to marked positions. A run is legal if at least one of its
    occurrences begins and finishes at marked positions. Some longer runs may be accepted too; the length of the slot
    excludes them.
    """
    # Subsets of positions reached by the same run; a run of length n is identified by where it may end.
    names: dict[frozenset[int], int] = {frozenset({-1}): 0}
    edges: list[tuple[int, int, int]] = []
    first: dict[int, set[int]] = {}
    for i, token in enumerate(ids):
        if starts[i]:
            first.setdefault(token, set()).add(i)
    queue: list[tuple[frozenset[int], int]] = []

    def link(source: int, moves: dict[int, set[int]], length: int) -> None:
        for token, positions in moves.items():
            subset = frozenset(positions)
            if subset not in names:
                names[subset] = len(names)
                queue.append((subset, length))
            edges.append((source, token, names[subset]))

    link(0, first, 1)
    # Breadth first: a state is met at its shortest run. Not going past `longest` bounds the work on repetitive text.
    for subset, length in queue:
        moves: dict[int, set[int]] = {}
        for i in subset:
            if i + 1 < len(ids) and length < longest:
                moves.setdefault(ids[i + 1], set()).add(i + 1)
        link(names[subset], moves, length + 1)
    finals = [n for s, n in names.items() if n and any(ends[i] for i in s)]
    return TokenAutomaton.from_edges(len(names), edges, finals)


def _single(text: str, tokenizer: Tokenizer) -> int:
    token = tokenizer.single(text)
    if token is None:
        raise ValueError(f"{text!r} is not one token of this tokenizer")
    return token


@lru_cache(maxsize=4)
def _vocabulary(tokenizer: Tokenizer):  # noqa: ANN202 - outlines-core ships no public type for it
    """outlines-core's vocabulary: token bytes -> ids, control tokens left out."""
    from outlines_core import Vocabulary

    decode = _byte_decoder()
    table: dict[bytes, list[int]] = {}
    for text, token in tokenizer.vocabulary().items():
        if all(c in decode for c in text) and not (text.startswith("<") and text.endswith(">") and token < 17):
            table.setdefault(bytes(decode[c] for c in text), []).append(token)
    return Vocabulary(tokenizer.special("<|endoftext|>"), table)


def _byte_decoder() -> dict[str, int]:
    """The byte-level BPE alphabet (GPT-2): printable bytes stand for themselves, the others for U+0100 onwards."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in printable}
    shifted = (b for b in range(256) if b not in set(printable))
    table.update({chr(256 + i): b for i, b in enumerate(shifted)})
    return table
