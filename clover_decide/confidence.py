"""How far a distribution is from uniform; the formulas are stated in `Answer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clover_decide.questions import AnyQuestion, Boolean, Choice, Score


def confidence(question: AnyQuestion, probabilities: Mapping[str, float], probability: float) -> float:
    """The confidence of an answer from its distribution; of types without one, the probability itself."""
    values = list(probabilities.values())
    match question:
        case Boolean():
            return max(values)
        case Choice():
            return (max(values) - 1 / len(values)) / (1 - 1 / len(values))
        case Score():
            return score_confidence(values)
        case _:
            return probability


def score_confidence(levels: Sequence[float]) -> float:
    """max(0, 1 - Σ p_i |i - mode| / D) with D = (1/n) Σ |i - (n - 1)/2|."""
    count = len(levels)
    mode = max(range(count), key=lambda i: levels[i])
    spread = sum(p * abs(i - mode) for i, p in enumerate(levels))
    uniform = sum(abs(i - (count - 1) / 2) for i in range(count)) / count
    return max(0.0, 1.0 - spread / uniform)
