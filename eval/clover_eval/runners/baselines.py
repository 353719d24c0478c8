"""Baselines that read no sentence: the most common answer, and a linear model over bags of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from clover_decide.questions import Boolean, Choice, Score
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given
from clover_eval.runners.base import Reply, need
from clover_eval.runners.candidates import NOTHING, Reading, candidates, features
from clover_eval.scoring import is_right

DEFAULT_FIT = "linked-val"


def named(kind: str, fit: str) -> str:
    """The name of a baseline; what it is fitted on is told where it is not the validation set."""
    return kind if fit.startswith(DEFAULT_FIT) else f"{kind} (fit {fit})"


class MajorityRunner:
    """The most common answer to the question of that id in that structure, or else of that type.

    Args:
        fit: labelled groups to count in.
        name_of_fit: what they are called.
    """

    def __init__(self, fit: Sequence[LabelledGroup], name_of_fit: str) -> None:
        self.name = named("majority", name_of_fit)
        self.identity: Mapping[str, Any] = {"fit": name_of_fit}
        self._counts: dict[tuple[str, ...], Counter[str]] = {}
        self._values: dict[str, Any] = {}
        for group in fit:
            for key, question in group.questions.questions.items():
                value = group.answers[key]
                self._values[repr(value)] = value
                for where in ((group.structure, key), (question.type,)):
                    self._counts.setdefault(where, Counter())[repr(value)] += 1

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do: the counts are made."""

    def answer(self, group: LabelledGroup) -> Reply:
        return Reply({key: self._given(group, key) for key in group.questions.questions})

    def _given(self, group: LabelledGroup, key: str) -> Given:
        question = group.questions.questions[key]
        legal = _legal(question)
        for where in ((group.structure, key), (question.type,)):
            counts = self._counts.get(where, Counter())
            for shown, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
                value = self._values[shown]
                if legal is None or value in legal:
                    return Given(value, count / counts.total())
        return Given(None if legal is None else legal[0])


def _legal(question: Any) -> list[Any] | None:
    """The values of a closed question."""
    return candidates(question, NOTHING) if isinstance(question, (Boolean, Choice, Score)) else None


class BagOfWordsRunner:
    """Logistic regression on "this candidate answers this question", the best candidate wins.

    Features are words of the question, the candidate and the sentences nearest to them, crossed; rare ones and common ones are
    weighted by inverse document frequency.

    Args:
        fit: labelled groups to fit on.
        name_of_fit: what they are called.
        blind: see the questions alone; what is right then leaks from their wording.
    """

    def __init__(self, fit: Sequence[LabelledGroup], name_of_fit: str, *, blind: bool = False) -> None:
        text, linear = need("sklearn.feature_extraction", "eval"), need("sklearn.linear_model", "eval")
        weighting = need("sklearn.feature_extraction.text", "eval")
        self.name = named("blind" if blind else "tfidf", name_of_fit)
        self.identity: Mapping[str, Any] = {"fit": name_of_fit, "blind": blind}
        self._blind = blind
        self._hasher: Any = text.FeatureHasher(2**18)
        self._idf: Any = weighting.TfidfTransformer()
        self._model: Any = linear.LogisticRegression(C=10.0, max_iter=200, solver="liblinear", random_state=0)
        rows, right = self._examples(fit)
        self._model.fit(self._idf.fit_transform(self._hasher.transform(rows)), right)

    def prepare(self, groups: Sequence[LabelledGroup]) -> None:
        """Nothing to do: the model is fitted."""

    def _reading(self, group: LabelledGroup) -> Reading:
        return NOTHING if self._blind else Reading.of(group.material)

    def _examples(self, groups: Sequence[LabelledGroup]) -> tuple[list[dict[str, float]], list[bool]]:
        rows: list[dict[str, float]] = []
        right: list[bool] = []
        for group in groups:
            reading = self._reading(group)
            for key, question in group.questions.questions.items():
                for place, value in enumerate(candidates(question, reading)):
                    rows.append(features(question, value, place, reading))
                    right.append(is_right(group, key, value))
        return rows, right

    def answer(self, group: LabelledGroup) -> Reply:
        return Reply({key: self._given(group, key) for key in group.questions.questions})

    def _given(self, group: LabelledGroup, key: str) -> Given:
        question, reading = group.questions.questions[key], self._reading(group)
        values = candidates(question, reading)
        if not values:
            return Given(None)
        rows = [features(question, value, place, reading) for place, value in enumerate(values)]
        odds = self._model.predict_proba(self._idf.transform(self._hasher.transform(rows)))[:, 1]
        shares = odds / max(odds.sum(), 1e-12)
        best = int(shares.argmax())
        closed = isinstance(question, (Boolean, Choice, Score))
        names = {_name(question, value): float(p) for value, p in zip(values, shares, strict=True)} if closed else None
        return Given(values[best], float(shares[best]), names)


def _name(question: Any, value: Any) -> str:
    if isinstance(question, Boolean):
        return "true" if value else "false"
    return str(value)
