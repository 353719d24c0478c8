"""Where the evidence of an answer stands in the tokens of a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from clover_decide.facts import Fact
from clover_decide.material import Material
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import World

Span = tuple[int, int]


def evidence_spans(
    tokenizer: Tokenizer, world: World, prompt: Sequence[int], material: Material, facts: Sequence[Fact]
) -> dict[str, tuple[Span, ...]]:
    """The (start, end) of each step of each question's evidence; steps the text left out are skipped."""
    newline = tokenizer.encode_cached("\n")[0]
    ends = [at for at, token in enumerate(prompt) if token == newline]
    # After the header: one sentence a line, then a heading and one fact a line.
    lines = list(zip([end + 1 for end in ends], ends[1:], strict=False))[1:]
    sentences = [material.text[start:end] for start, end in material.sentences]

    def find(step: str) -> Span | None:
        name, _, number = step.partition("#")
        if clause := world.clauses.get(name):
            # A clause may be several sentences, and a sentence that ends in "Ltd." runs on into the next clause.
            spans = [span for text, span in zip(sentences, lines, strict=False) if text in clause or clause in text]
        else:
            spans = [s for f, s in zip(facts, lines[len(sentences) + 1 :], strict=False) if step in f.text][:1]
        if not spans:
            return None
        whole = spans[0][0], spans[-1][1]
        return find_tokens(prompt, tokenizer.encode_cached(number), *whole) if number else whole

    return {key: tuple(span for step in steps if (span := find(step))) for key, steps in world.guide.evidence.items()}


def find_tokens(tokens: Sequence[int], wanted: Sequence[int], start: int, end: int) -> Span | None:
    """The last occurrence of `wanted` in tokens[start:end]."""
    n = len(wanted)
    for at in range(end - n, start - 1, -1):
        if tuple(tokens[at : at + n]) == tuple(wanted):
            return at, at + n
    return None
