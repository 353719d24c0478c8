"""What is usually answered, learned from labelled groups: offsets of the log odds of each answer to each closed question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from clover_decide import Decider
from clover_decide.calibration import BOUND, CLOSED, LARGEST, Calibration
from clover_decide.errors import InputError
from clover_decide.frozen import FrozenMap
from clover_eval.fitting import Asked, ask_all, distributions
from clover_eval.sets import LoadedSet

PULL = 0.3
"""Weight of the squares that keep offsets near 0: an answer never seen keeps a chance, and a question seen a few times moves little.
Chosen among 0.1, 0.3, 1 and 3 on training halves of four public sets, where it makes little difference."""

Offsets = Mapping[str, Mapping[str, float]]


def learn(asked: Sequence[Asked]) -> Offsets:
    """Offsets by question and answer, of least log loss: p_i ∝ exp(a · log p_i + b_i) with a slope a type and an offset b_i a question and
    answer (vector scaling, Guo et al. 2017), as offsets b_i / a before a temperature 1 / a. Those of a question sum to 0, within bounds.

    Raises:
        InputError: no question has listed answers, or questions of several types have one id.
    """
    _check(asked)
    seen: list[tuple[str, str, Mapping[str, float], int]] = [
        (item.group.questions.questions[key].type, key, shares, right) for item in asked for key, shares, right in distributions(item)
    ]
    kinds = sorted({kind for kind, *_ in seen})
    names = {pair: i for i, pair in enumerate(dict.fromkeys((key, name) for _, key, shares, _ in seen for name in shares))}
    rows = [
        (kinds.index(kind), np.array([names[key, name] for name in shares]), np.log(np.clip([*shares.values()], BOUND, 1.0)), right)
        for kind, key, shares, right in seen
    ]
    found: Any = minimize(_loss, np.zeros(len(kinds) + len(names)), args=(rows, len(kinds)), jac=True, method="L-BFGS-B")
    slopes, added = np.exp(found.x[: len(kinds)]), found.x[len(kinds) :]
    slope_of = {key: float(slopes[kinds.index(kind)]) for kind, key, *_ in seen}
    out: dict[str, dict[str, float]] = {}
    for (key, name), i in names.items():
        out.setdefault(key, {})[name] = float(added[i]) / slope_of[key]
    return FrozenMap({key: FrozenMap(_centred(own)) for key, own in out.items()})


def _centred(own: Mapping[str, float]) -> dict[str, float]:
    mean = sum(own.values()) / len(own)
    # Where the model says nothing its slope is near 0 and offsets would grow without end.
    return {name: round(min(max(value - mean, -LARGEST), LARGEST), 4) for name, value in own.items()}


def _check(asked: Sequence[Asked]) -> None:
    kinds: dict[str, str] = {}
    for item in asked:
        for key, question in item.group.questions.questions.items():
            if kinds.setdefault(key, question.type) != question.type:
                given = f"{kinds[key]} and {question.type}"
                raise InputError(
                    "questions of several types have one id", path=key, given=given, accepted="ids that stay with their question"
                )
    if not set(kinds.values()) & set(CLOSED):
        raise InputError("no question has listed answers", path="--offsets", given=sorted(set(kinds.values())), accepted=", ".join(CLOSED))


def _loss(x: np.ndarray, rows: Sequence[tuple[int, np.ndarray, np.ndarray, int]], kinds: int) -> tuple[float, np.ndarray]:
    """Log loss with the pull, and its gradient. x: logarithms of the slopes, then offsets."""
    slopes, added = np.exp(x[:kinds]), x[kinds:]
    gradient = PULL * np.concatenate([x[:kinds], added])
    total = 0.5 * PULL * float(x @ x)
    for kind, where, logs, right in rows:
        z = slopes[kind] * logs + added[where]
        z -= np.logaddexp.reduce(z)
        total -= z[right]
        miss = np.exp(z)
        miss[right] -= 1.0
        gradient[kind] += slopes[kind] * float(miss @ logs)
        np.add.at(gradient, kinds + where, miss)
    return total, gradient


def crossed(decider: Decider, asked: Sequence[Asked], source: LoadedSet) -> Iterator[Asked]:
    """Every group asked again, with offsets learned from the half of the groups that it is not in, and nothing scaled.

    Raises:
        InputError: all groups are in one half.
    """
    if len({item.side for item in asked}) < 2:
        raise InputError("too few groups for a held-out check", path="SET", accepted="groups of several materials")
    nothing = FrozenMap[str, float]()
    for side in (0, 1):
        own, rest = ([item for item in asked if (item.side == side) == same] for same in (True, False))
        first, data = own[0].decision, source.sha256[:16]
        made = Calibration(first.fingerprint, first.mode, first.effort, None, nothing, 1.0, 0.0, len(rest), data, offsets=learn(rest))
        yield from ask_all(decider.calibrated(made), [item.group for item in own], first.mode, first.effort)
