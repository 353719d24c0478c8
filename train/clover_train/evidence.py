"""Where the evidence of an answer stands in the tokens of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clover_decide.facts import Fact
from clover_decide.material import Material
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import World

Span = tuple[int, int]


Finder = Callable[[str], Span | None]
"""A step of a world's guide -> (start, end) in the prompt; None where the text left it out."""


def finder(tokenizer: Tokenizer, world: World, prompt: Sequence[int], material: Material, facts: Sequence[Fact]) -> Finder:
    """Finds the steps of a world's guide in the prompt made of it."""
    newline = tokenizer.encode_cached("\n")[0]
    digits = frozenset(tokenizer.encode_cached(d)[0] for d in "0123456789")
    ends = [at for at, token in enumerate(prompt) if token == newline]
    # After the header: one sentence a line, then a heading and one fact a line.
    lines = list(zip([end + 1 for end in ends], ends[1:], strict=False))[1:]
    sentences = list(zip(material.sentences, lines, strict=False))

    def find(step: str) -> Span | None:
        name, _, text = step.partition("#")
        if clause := world.clauses.get(name):
            # A clause may be several sentences, and a sentence that ends in "Ltd." runs on into the next clause.
            begin = material.text.find(clause)
            spans = [span for (start, end), span in sentences if -1 < begin < end and start < begin + len(clause)]
        else:
            spans = [s for f, s in zip(facts, lines[len(sentences) + 1 :], strict=False) if name in f.text][:1]
        if not spans:
            return None
        whole = spans[0][0], spans[-1][1]
        if not text:
            return whole
        # A word's token has the space before it, except after a bracket, and a name may begin a sentence; digits are tokens of their own.
        begins = text[0].upper() + text[1:]
        forms = [text] if text[0].isdigit() else dict.fromkeys([f" {text}", text, f" {begins}", begins])
        return next((at for form in forms if (at := find_tokens(prompt, tokenizer.encode_cached(form), *whole, digits))), None)

    return find


def find_tokens(tokens: Sequence[int], wanted: Sequence[int], start: int, end: int, digits: frozenset[int] = frozenset()) -> Span | None:
    """The last occurrence of `wanted` in tokens[start:end] that does not begin or end within a number."""
    n = len(wanted)
    for at in range(end - n, start - 1, -1):
        torn = {*tokens[at - 1 : at + 1]} <= digits or {*tokens[at + n - 1 : at + n + 1]} <= digits
        if tuple(tokens[at : at + n]) == tuple(wanted) and not torn:
            return at, at + n
    return None
