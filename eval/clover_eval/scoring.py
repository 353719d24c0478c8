"""Whether an answer is right."""

from __future__ import annotations

import re
from typing import Any

from clover_eval.datasets import LabelledGroup


def is_right(group: LabelledGroup, key: str, value: Any) -> bool:
    """Whether a value counts as the gold answer."""
    return same_answer(group.questions.questions[key].type, value, group.answers[key], group.tolerance.get(key, 1e-9))


def same_answer(kind: str, value: Any, gold: Any, tolerance: float = 1e-9) -> bool:
    """Whether two values of a question type count as the same answer. Any value is accepted and compared.

    Numbers within the tolerance; multiple choices as sets; quotes without regard to case, to a leading article and to
    punctuation around them; everything else exactly.
    """
    if value is None:
        return False
    if kind == "multi_choice":
        return isinstance(value, (list, tuple)) and sorted(map(repr, value)) == sorted(map(repr, gold))
    if kind == "quote":
        return isinstance(value, str) and _bare(value) == _bare(gold)
    if kind in ("integer", "number", "score"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return gold - tolerance <= value <= gold + tolerance
    return type(value) is type(gold) and value == gold


def _bare(text: str) -> str:
    words = re.sub(r"^\W+|\W+$", "", text).casefold().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)
