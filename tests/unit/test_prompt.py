"""What the model reads: which token stands for an option, and options that are not read twice."""

from __future__ import annotations

import pytest

from clover_decide.prompt import assign_codes, code_letters, question_lines
from clover_decide.questions import Boolean, Choice, Score
from clover_engine.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        (("refund", "replace"), (" refund", " replace")),
        (("closed", "not closed"), (" closed", " not")),
        (("fly to Mill", "fly to Ridge", "hold"), (" Mill", " Ridge", " hold")),
        (("none", "Falcon 1", "Falcon 2"), (" none", "1", "2")),
        (("200 m", "400 m", "unchanged"), ("2", "4", " unchanged")),
        (("a b", "a", "b"), (" A", " B", " C")),
        (("2 days", "3 days", "12 days"), (" A", " B", " C")),
        (("10 days", "25 days", "31 days"), (" A", " B", " C")),
        (("Paris, France", "Paris - Texas"), (" France", " Texas")),
        (("refund (full)", "refund later"), ("full", " later")),
        (("fly\nto Mill", "fly to\tRidge"), (" Mill", " Ridge")),
    ],
)
def test_a_code_is_the_first_token_or_else_one_that_no_other_option_has(
    options: tuple[str, ...], codes: tuple[str, ...], tokenizer: Tokenizer
) -> None:
    found = assign_codes(Choice("which?", options=options), tokenizer, code_letters(tokenizer))
    assert found.texts == codes and len(set(found.ids)) == len(options)
    assert found.verbatim == (codes[0] != " A")


def test_levels_with_a_word_in_common(tokenizer: Tokenizer) -> None:
    found = assign_codes(Score("how bad?", levels=("level one", "level two", "level three")), tokenizer, code_letters(tokenizer))
    assert found.texts == (" one", " two", " three")


def test_options_that_stand_there_already_are_pointed_to(tokenizer: Tokenizer) -> None:
    long, short = ("no new order", "fly to Mill", "fly to Ridge"), ("left", "right")
    questions = [
        Choice("A?", options=long),
        Choice("B?", options=short),
        Choice("C?", options=long),
        Boolean("D?"),
        Choice("E?", options=short),
    ]
    codes = [assign_codes(q, tokenizer, code_letters(tokenizer)) if isinstance(q, Choice) else None for q in questions]
    assert "as 1" not in "".join(question_lines(questions, codes))
    assert "".join(question_lines(questions, codes, once=True)) == (
        "1. A? (no new order / fly to Mill / fly to Ridge)\n2. B? (left / right)\n3. C? (as 1)\n4. D? (yes/no)\n5. E? (left / right)\n"
    )
    turned = Choice("C?", options=long[::-1])
    lines = question_lines([questions[0], turned], [codes[0], assign_codes(turned, tokenizer, code_letters(tokenizer))], once=True)
    assert "as 1" not in lines[1], "another order is another list"
