"""From a question to the slot that holds its answer, and from the slot's tokens back to a value."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import digits

from clover_decide.decision import Value
from clover_decide.errors import QuestionError
from clover_decide.facts import Fact
from clover_decide.material import Material
from clover_decide.prompt import Codes, answer_text, number_text, slot_width
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text, answer_names
from clover_decide.stated import FAVOUR, stated_texts
from clover_engine.canvas import SlotTemplate
from clover_engine.constraint.automaton import EmptyLanguageError, TokenAutomaton
from clover_engine.constraint.builders import PatternError, between, pattern, substrings, trie, union
from clover_engine.tokenizer import Tokenizer

_MONTHS_31, _MONTHS_30 = "(?:0[13578]|1[02])", "(?:0[469]|11)"
_LEAP = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
CALENDAR = (
    f"(?:[0-9]{{4}}-(?:{_MONTHS_31}-(?:0[1-9]|[12][0-9]|3[01])|{_MONTHS_30}-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)
"""ISO dates that exist, leap years included."""


@dataclass(frozen=True)
class QuoteSource:
    """The material as tokens with their character spans, and where a quote may begin and finish (word boundaries)."""

    text: str
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    starts: tuple[bool, ...]
    ends: tuple[bool, ...]

    def automaton(self, longest: int) -> TokenAutomaton:
        """Quotes of at most `longest` tokens."""
        return substrings(self.ids, self.starts, self.ends, longest)

    def runs(self, quote: str) -> list[tuple[int, ...]]:
        """The token runs that read as `quote`, wherever it stands in the material."""
        found: list[tuple[int, ...]] = []
        for i, (begin, _) in enumerate(self.spans):
            if self.starts[i] and self.text.startswith(quote, begin):
                ends = (j for j in range(i, len(self.spans)) if self.spans[j][1] >= begin + len(quote))
                last = next(ends, None)
                if last is not None and self.ends[last] and self.spans[last][1] == begin + len(quote):
                    found.append(self.ids[i : last + 1])
        return found

    def locate(self, tokens: Sequence[int]) -> tuple[int, int]:
        """Character offsets of the first occurrence of a legal token run."""
        size = len(tokens)
        for i in range(len(self.ids) - size + 1):
            if self.starts[i] and self.ends[i + size - 1] and self.ids[i : i + size] == tuple(tokens):
                return self.spans[i][0], self.spans[i + size - 1][1]
        raise AssertionError("a quote slot holds a run that is not in the material")


@lru_cache(maxsize=8)
def quote_source(material: Material, tokenizer: Tokenizer) -> QuoteSource:
    """Prepare a material for quote slots."""
    text = material.text
    ids, offsets = tokenizer.encode_with_offsets(text)
    spans: list[tuple[int, int]] = []
    for start, end in offsets:
        piece = text[start:end]
        spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
    starts = [a < b and not _inside_word(text, a) for a, b in spans]
    ends = [a < b and not _inside_word(text, b) for a, b in spans]
    return QuoteSource(text, tuple(ids), tuple(spans), tuple(starts), tuple(ends))


def _inside_word(text: str, at: int) -> bool:
    """Whether a cut at `at` would split a word or a character with its marks.

    Scripts written without spaces (Thai to Myanmar, and from U+2E80 on) may be cut between any two characters.
    """
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _joins(after) or before == "\u200d":
        return True
    return all((c.isalnum() or _joins(c)) and not _spaceless(c) for c in (before, after))


def _joins(c: str) -> bool:
    """Combining marks and the joiners belong to the character before them."""
    return unicodedata.category(c).startswith("M") or c in "\u200c\u200d"


def _spaceless(c: str) -> bool:
    return ord(c) >= 0x2E80 or 0x0E00 <= ord(c) <= 0x0EFF or 0x1000 <= ord(c) <= 0x109F or 0x1780 <= ord(c) <= 0x17FF


def slot_template(
    number: int,
    path: str,
    question: AnyQuestion,
    codes: Codes | None,
    material: Material,
    tokenizer: Tokenizer,
    facts: Sequence[Fact] = (),
    offsets: Mapping[str, float] | None = None,
) -> SlotTemplate:
    """The answer line of a question. offsets: what is added to the logits of its answers, by name (see `Calibration.offsets`).

    Raises:
        QuestionError: a pattern that cannot be compiled, matches nothing, or does not fit its tokens.
    """
    width = slot_width(question)
    try:
        automaton = _automaton(question, codes, material, tokenizer)
        automaton.unroll(width, -1)
    except PatternError as error:
        raise QuestionError(str(error), path=f"{path}.pattern", accepted="a simpler regular expression") from None
    except EmptyLanguageError:
        problem = "no words of the material fit" if isinstance(question, Quote) else "nothing that matches fits"
        raise QuestionError(f"{problem} {width} tokens", path=path, given=width, accepted="a larger max_tokens, or other bounds") from None
    likely = tuple(tokenizer.encode_cached(text) for text in stated_texts(question, material, facts))
    example = tuple(tokenizer.encode_cached(_example(question, codes)))
    return SlotTemplate(
        f"{number}:",
        "\n",
        automaton,
        width,
        example,
        likely,
        FAVOUR.get(question.type, 0.0),
        _offsets(question, codes, offsets or {}, tokenizer),
    )


def _offsets(
    question: AnyQuestion, codes: Codes | None, offsets: Mapping[str, float], tokenizer: Tokenizer
) -> tuple[tuple[int, float], ...]:
    """By the token that stands for each answer; none for types whose answers are not listed."""
    if isinstance(question, Boolean):
        tokens: Sequence[int] = [tokenizer.encode_cached(text)[0] for text in (" yes", " no")]
    else:
        tokens = codes.ids if codes is not None else ()
    return tuple((token, offsets[name]) for name, token in zip(answer_names(question), tokens, strict=True) if name in offsets)


def _example(question: AnyQuestion, codes: Codes | None) -> str:
    """A legal value to check the template's boundaries with; empty for free strings."""
    match question:
        case Boolean():
            return answer_text(question, codes, True)
        case Choice():
            return answer_text(question, codes, question.options[0].value)
        case MultiChoice():
            return answer_text(question, codes, ())
        case Score():
            return answer_text(question, codes, 0)
        case Integer():
            return answer_text(question, codes, question.minimum)
        case Number():
            return answer_text(question, codes, question.minimum)
        case Date():
            return answer_text(question, codes, question.earliest)
        case Quote() | Text():
            return ""


def _automaton(question: AnyQuestion, codes: Codes | None, material: Material, tokenizer: Tokenizer) -> TokenAutomaton:
    match question:
        case Boolean():
            return trie([tokenizer.encode_cached(" yes"), tokenizer.encode_cached(" no")])
        case Choice() | Score():
            assert codes is not None
            return trie([(token,) for token in codes.ids])
        case MultiChoice():
            return selection((None,) * len(question.options), question.minimum, question.most, tokenizer)
        case Integer():
            return integers(question.minimum, question.maximum, 0, tokenizer)
        case Number():
            return integers(*question.scaled, question.decimals, tokenizer)
        case Date():
            return dates(question.earliest, question.latest, tokenizer)
        case Quote():
            return quote_source(material, tokenizer).automaton(question.max_tokens)
        case Text():
            return pattern(question.pattern, tokenizer)


@lru_cache(maxsize=256)
def selection(marks: tuple[bool | None, ...], least: int, most: int, tokenizer: Tokenizer) -> TokenAutomaton:
    """yes/no an option, separated by commas: as `marks` say where they do, with between `least` and `most` times yes."""
    yes, no, comma = (tokenizer.encode_cached(text)[0] for text in (" yes", " no", ","))
    names = {(0, 0, False): 0}
    edges: list[tuple[int, int, int]] = []
    queue = [(0, 0, False)]
    for state in queue:
        done, picked, separate = state
        if separate:
            moves = [(comma, (done, picked, False))] if done < len(marks) else []
        else:
            ways = [(yes, True), (no, False)]
            moves = [
                (token, (done + 1, picked + said, True)) for token, said in ways if marks[done] in (None, said) and picked + said <= most
            ]
        for token, following in moves:
            if following not in names:
                names[following] = len(names)
                queue.append(following)
            edges.append((names[state], token, names[following]))
    return TokenAutomaton.from_edges(len(names), edges, [n for (d, p, _), n in names.items() if d == len(marks) and p >= least])


@lru_cache(maxsize=128)
def integers(low: int, high: int, decimals: int, tokenizer: Tokenizer) -> TokenAutomaton:
    """Decimal notation of low..high units of the last decimal; negative numbers start with the token " -"."""
    parts: list[TokenAutomaton] = []
    if high >= 0:
        parts += _magnitudes(max(low, 0), high, decimals, "", tokenizer)
    if low < 0:
        parts += _magnitudes(max(1, -high), -low, decimals, " -", tokenizer)
    return union(parts) if len(parts) > 1 else parts[0]


def _magnitudes(low: int, high: int, decimals: int, sign: str, tokenizer: Tokenizer) -> list[TokenAutomaton]:
    """One automaton a string length."""
    parts: list[TokenAutomaton] = []
    at = low
    while at <= high:
        text = number_text(at, decimals)
        top = min(high, 10 ** max(decimals + 1, len(str(at))) - 1)
        part = between(text, number_text(top, decimals), digits, tokenizer)
        parts.append(_prefixed(tokenizer.encode_cached(sign), part) if sign else part)
        at = top + 1
    return parts


def _prefixed(prefix: Sequence[int], automaton: TokenAutomaton) -> TokenAutomaton:
    """`prefix` then the automaton's strings."""
    shift = len(prefix)
    edges = [(i, token, i + 1) for i, token in enumerate(prefix)]
    edges += [(s + shift, t, d + shift) for (s, t), d in automaton.transitions.items()]
    return TokenAutomaton.from_edges(automaton.states + shift, edges, (f + shift for f in automaton.finals))


@lru_cache(maxsize=64)
def dates(earliest: dt.date, latest: dt.date, tokenizer: Tokenizer) -> TokenAutomaton:
    return between(earliest.isoformat(), latest.isoformat(), digits, tokenizer).intersect(pattern(CALENDAR, tokenizer))


def value_of(
    question: AnyQuestion, codes: Codes | None, tokens: Sequence[int], material: Material, tokenizer: Tokenizer
) -> tuple[Value, tuple[int, int] | None]:
    """The value a slot's tokens stand for, and the character span of a quote."""
    if isinstance(question, Quote):
        start, end = quote_source(material, tokenizer).locate(tokens)
        return material.text[start:end], (start, end)
    text = tokenizer.decode(list(tokens))
    match question:
        case Boolean():
            return text == " yes", None
        case Choice():
            assert codes is not None
            return question.options[codes.ids.index(tokens[0])].value, None
        case MultiChoice():
            marks = text.split(",")
            return tuple(o.value for o, mark in zip(question.options, marks, strict=True) if mark == " yes"), None
        case Score():
            assert codes is not None
            return codes.ids.index(tokens[0]), None
        case Integer():
            return int(text), None
        case Number():
            return float(text), None
        case Date():
            return dt.date.fromisoformat(text), None
        case Text():
            return text, None
