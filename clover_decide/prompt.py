"""From questions to what the model sees: prefix text, option codes and answer lines.

The same functions serve training and inference. Nothing here depends on question ids, so renaming an id cannot change
an answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from clover_decide.facts import Fact
from clover_decide.material import Material
from clover_decide.question_base import Option
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text

if TYPE_CHECKING:
    from clover_engine.tokenizer import Tokenizer

HEADER = "Material:\n"
REPEATED = 24
"""Characters of the options from which on it pays to point to where they stand already."""
Span = tuple[int, int]


@dataclass(frozen=True)
class Codes:
    """The single token that stands for each option, in option order.

    `verbatim` codes are tokens of the options themselves: the first ones where those differ, else of each option the first one that
    no other option has ("fly to Mill", "fly to Quarry": " Mill", " Quarry"). The model then answers in the option's own words,
    which its pre-training already understands. Otherwise letters with a legend (digits for score levels).
    """

    texts: tuple[str, ...]
    ids: tuple[int, ...]
    verbatim: bool


def code_letters(tokenizer: Tokenizer) -> list[str]:
    """255 single-token letter codes with a leading space: A..Z, then two letters, in alphabetical order."""
    names = [*ascii_uppercase, *("".join(pair) for pair in product(ascii_uppercase, repeat=2))]
    codes = [f" {name}" for name in names if tokenizer.single(f" {name}") is not None]
    return codes[:255]


def assign_codes(question: Choice | Score, tokenizer: Tokenizer, letters: Sequence[str], *, verbatim: bool = True) -> Codes:
    """Codes of one question; depends on the question alone."""
    options = question.options if isinstance(question, Choice) else question.levels
    if verbatim:
        ids = _telling([tokenizer.encode_cached(f" {' '.join(o.value.split())}") for o in options], tokenizer)
        if ids is not None:
            return Codes(tuple(tokenizer.decode([t]) for t in ids), ids, True)
    texts = tuple(str(i) for i in range(len(options))) if isinstance(question, Score) else tuple(letters[: len(options)])
    ids = tuple(tokenizer.single(t) for t in texts)
    assert all(i is not None for i in ids), texts
    return Codes(texts, tuple(i for i in ids if i is not None), False)


def _telling(options: Sequence[Sequence[int]], tokenizer: Tokenizer) -> tuple[int, ...] | None:
    """Of each option's tokens the first, or else the first that no other option has; None if some option has no such token."""
    firsts = [tokens[0] for tokens in options]
    if len(set(firsts)) == len(firsts) and all(_usable(token, tokenizer) for token in firsts):
        return tuple(firsts)
    found = Counter(token for tokens in options for token in set(tokens))
    own = [next((t for t in _wordlike(tokens, tokenizer) if found[t] == 1 and _usable(t, tokenizer)), None) for tokens in options]
    return tuple(t for t in own if t is not None) if None not in own else None


def _wordlike(tokens: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Tokens that say something by themselves: with a letter, or the first digit of a number."""
    texts = [tokenizer.decode([token]) for token in tokens]
    begins = (text.isdigit() and not before.isdigit() for before, text in zip(["", *texts], texts, strict=False))
    return [token for token, text, first in zip(tokens, texts, begins, strict=True) if first or any(c.isalpha() for c in text)]


def _usable(token: int, tokenizer: Tokenizer) -> bool:
    """Whether a token can stand for its option: visible, and one token of its own on an answer line."""
    text = tokenizer.decode([token])
    line = (*tokenizer.encode_cached("1:"), token, *tokenizer.encode_cached("\n"))
    return bool(text.strip()) and tokenizer.encode_cached(f"1:{text}\n") == line


def slot_width(question: AnyQuestion) -> int:
    """Positions of the question's slot."""
    match question:
        case Boolean() | Choice() | Score():
            return 1
        case MultiChoice():
            return 2 * len(question.options) - 1
        case Integer():
            return _widest(question.minimum, question.maximum, 0)
        case Number():
            return _widest(*question.scaled, question.decimals)
        case Date():
            return 10
        case Quote() | Text():
            return question.max_tokens


def _widest(low: int, high: int, decimals: int) -> int:
    """Tokens of the longest number: one a character, the minus sign and its space being one."""
    return max(len(number_text(n, decimals).strip()) for n in (low, high))


def number_text(scaled: int, decimals: int) -> str:
    """Decimal notation of `scaled` units of the last decimal, always with all `decimals` digits."""
    digits = f"{abs(scaled):0{decimals + 1}d}"
    # A space before the minus keeps it from merging with the colon of the answer line.
    sign = " -" if scaled < 0 else ""
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def answer_text(question: AnyQuestion, codes: Codes | None, value: Any) -> str:
    """What stands in the slot for a value: the text of a code, digits, an ISO date, a quote."""
    match question:
        case Boolean():
            return " yes" if value else " no"
        case Choice() | Score():
            assert codes is not None
            index = value if isinstance(question, Score) else [o.value for o in question.options].index(value)
            return codes.texts[index]
        case MultiChoice():
            return ",".join(" yes" if o.value in value else " no" for o in question.options)
        case Number():
            return number_text(round(value * 10**question.decimals), question.decimals)
        case Date():
            return value.isoformat()
        case Integer():
            return number_text(value, 0)
        case Quote() | Text():
            return str(value)


def question_lines(questions: Sequence[AnyQuestion], codes: Sequence[Codes | None], once: bool = False) -> list[str]:
    """The questions of a block as the model reads them. With `once`, for models that were trained so, long options that an earlier
    question has already are not read again."""
    lines, first = list[str](), dict[str, int]()
    for number, (question, own) in enumerate(zip(questions, codes, strict=True), 1):
        expected = _expected(question, own)
        same = first.setdefault(expected, number)
        if once and same < number and len(expected) >= REPEATED:
            expected = f"(as {same})"
        lines.append(f"{number}. {question.text.strip()} {expected}\n")
    return lines


def _expected(question: AnyQuestion, codes: Codes | None) -> str:
    match question:
        case Boolean():
            return "(yes/no)"
        case Choice() | Score():
            assert codes is not None
            options = question.options if isinstance(question, Choice) else question.levels
            return _legend(options, codes, " < " if isinstance(question, Score) else " / ")
        case MultiChoice():
            return "(yes/no each: " + " / ".join(_described(o) for o in question.options) + ")"
        case Integer():
            return "(whole number)"
        case Number():
            return "(number)"
        case Date():
            return "(date)"
        case Quote():
            return "(quote)"
        case Text():
            return "(text)"


def _legend(options: Sequence[Option], codes: Codes, joiner: str) -> str:
    if codes.verbatim:
        return "(" + joiner.join(_described(o) for o in options) + ")"
    return " ".join(f"{code.strip()}) {_described(o)}" for code, o in zip(codes.texts, options, strict=True))


def _described(option: Option) -> str:
    value = " ".join(option.value.split())
    return f"{value}: {' '.join(option.description.split())}" if option.description else value


def _lines(material: Material, facts: Sequence[Fact]) -> list[str]:
    """Numbered sentences, and numbered facts under a heading of their own."""
    lines = [f"[{i}] {material.text[start:end]}\n" for i, (start, end) in enumerate(material.sentences, 1)]
    return [*lines, "Facts:\n", *(f"F{i} {fact.text}\n" for i, fact in enumerate(facts, 1))] if facts else lines


class Prompter:
    """Assembles prefix token ids: control tokens by id, everything else as plain text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        encode, special = tokenizer.encode, tokenizer.special
        self._encode, self._encode_with_offsets = encode, tokenizer.encode_with_offsets
        start, end, newline = special("<|im_start|>"), special("<|im_end|>"), encode("\n")
        self._open = [start, *encode("user\n")]
        self._answer = [end, *newline, start, *encode("assistant\n")]
        self.next_turn: list[int] = [end, *newline, *self._open]
        """Stands between a committed block and the questions of the next one."""

    def material(self, material: Material, facts: Sequence[Fact]) -> list[int]:
        """Header, material with numbered sentences, and the numbered facts."""
        return [*self._open, *self._encode(HEADER + "".join(_lines(material, facts)))]

    def line_spans(self, material: Material, facts: Sequence[Fact]) -> tuple[list[Span], list[Span]]:
        """Which tokens of `material` are the line of each sentence and of each fact."""
        lines = _lines(material, facts)
        _, offsets = self._encode_with_offsets(HEADER + "".join(lines))
        ends, spans, at, begin = [end for _, end in offsets], list[Span](), len(HEADER), 0
        begin = bisect_right(ends, at)
        for line in lines:
            at += len(line)
            # A token that ends beyond the line belongs to the next one.
            end = bisect_right(ends, at)
            spans.append((len(self._open) + begin, len(self._open) + end))
            begin = end
        count = len(material.sentences)
        return spans[:count], spans[count + 1 :]

    def questions(self, lines: Sequence[str]) -> list[int]:
        """The questions of one block, up to where the block begins."""
        return [*self._encode("Questions:\n" + "".join(lines)), *self._answer]
