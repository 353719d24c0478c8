"""Automata against enumeration."""

from __future__ import annotations

import datetime as dt
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_decide.material import read_material
from clover_decide.prompt import number_text
from clover_decide.slots import dates, integers, quote_source, selection
from clover_engine.constraint.automaton import EmptyLanguageError, TokenAutomaton
from clover_engine.constraint.builders import PatternError, pattern, substrings, trie
from clover_engine.tokenizer import Tokenizer


def language(automaton: TokenAutomaton, longest: int) -> set[tuple[int, ...]]:
    """All accepted strings of at most `longest` tokens, by walking the edges."""
    outgoing: dict[int, list[tuple[int, int]]] = {}
    for (source, token), target in automaton.transitions.items():
        outgoing.setdefault(source, []).append((token, target))
    found: set[tuple[int, ...]] = set()
    queue: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for state, string in queue:
        if state in automaton.finals:
            found.add(string)
        if len(string) < longest:
            queue += [(target, (*string, token)) for token, target in outgoing.get(state, [])]
    return found


@given(low=st.integers(-250, 250), span=st.integers(0, 180), decimals=st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_integer_ranges_hold_exactly_their_numbers(tokenizer: Tokenizer, low: int, span: int, decimals: int) -> None:
    automaton = integers(low, low + span, decimals, tokenizer)
    texts = {tokenizer.decode(list(s)) for s in language(automaton, 8)}
    assert texts == {number_text(n, decimals) for n in range(low, low + span + 1)}


@given(start=st.dates(dt.date(1890, 1, 1), dt.date(2110, 12, 31)), days=st.integers(0, 900))
@settings(max_examples=25, deadline=None)
def test_date_ranges_hold_exactly_their_days(tokenizer: Tokenizer, start: dt.date, days: int) -> None:
    automaton = dates(start, start + dt.timedelta(days=days), tokenizer)
    texts = {tokenizer.decode(list(s)) for s in language(automaton, 10)}
    assert texts == {(start + dt.timedelta(days=i)).isoformat() for i in range(days + 1)}


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=8))
def test_a_trie_holds_exactly_its_strings(strings: list[list[int]]) -> None:
    assert language(trie(strings), 4) == {tuple(s) for s in strings}


@given(st.lists(st.integers(0, 2), min_size=1, max_size=9), st.data())
def test_substrings_are_the_marked_runs(ids: list[int], data: st.DataObject) -> None:
    marks = st.lists(st.booleans(), min_size=len(ids), max_size=len(ids))
    starts, ends, longest = data.draw(marks), data.draw(marks), data.draw(st.integers(1, 9))
    expected = {tuple(ids[a : b + 1]) for a in range(len(ids)) for b in range(a, len(ids)) if starts[a] and ends[b] and b - a < longest}
    assert language(substrings(ids, starts, ends, longest), longest) == expected


@pytest.mark.parametrize(("options", "least", "most"), [(2, 0, 2), (3, 1, 2), (4, 0, 1), (4, 4, 4), (5, 2, 3)])
def test_selections_hold_the_allowed_counts(tokenizer: Tokenizer, options: int, least: int, most: int) -> None:
    texts = {tokenizer.decode(list(s)) for s in language(selection((None,) * options, least, most, tokenizer), 2 * options)}
    picks = [p for p in product([" yes", " no"], repeat=options) if least <= p.count(" yes") <= most]
    assert texts == {",".join(p) for p in picks}


def test_patterns_accept_what_the_expression_matches(tokenizer: Tokenizer) -> None:
    automaton = pattern("[A-C]{2}-[0-9]", tokenizer)
    for text, legal in [("AB-1", True), ("CC-9", True), ("AD-1", False), ("AB-12", False), ("A-1", False)]:
        assert automaton.accepts(tokenizer.encode(text)) is legal, text


@pytest.mark.parametrize("regex", ["(?=a)b", "a(?!b)", r"(a)\1", "[a-z ,.']{1,400}"])
def test_unusable_patterns_are_refused(tokenizer: Tokenizer, regex: str) -> None:
    with pytest.raises(PatternError):
        pattern(regex, tokenizer)


def test_unrolling_fills_with_padding_and_prunes_dead_ends() -> None:
    lattice = trie([[1], [2, 3], [4, 5, 6]]).unroll(2, pad_id=9)
    assert [sorted(set(layer.tokens.tolist())) for layer in lattice.layers] == [[1, 2], [3, 9]]
    assert lattice.forced == {}
    with pytest.raises(EmptyLanguageError, match="2 tokens"):
        trie([[4, 5, 6]]).unroll(2, pad_id=9)


@given(st.text(alphabet="ab é漢\n.,-", min_size=1, max_size=30).filter(str.strip))
@settings(max_examples=60, deadline=None)
def test_every_quotable_run_is_a_slice_of_the_material(tokenizer: Tokenizer, text: str) -> None:
    source = quote_source(read_material(text), tokenizer)
    runs = language(source.automaton(4), 4)
    for run in runs:
        start, end = source.locate(run)
        quote = text[start:end]
        assert quote == quote.strip() and quote
