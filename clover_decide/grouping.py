"""Which questions share a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clover_decide.errors import LimitError, QuestionError
from clover_decide.question_base import MAX_GROUP
from clover_decide.questions import AnyQuestion

LINE = 3
"""Canvas positions of an answer line besides its slot: number, colon, line break."""


def plan_groups(
    questions: Mapping[str, AnyQuestion],
    widths: Mapping[str, int],
    largest: int,
    asked: Sequence[Sequence[str]] | None = None,
    *,
    linked: bool = True,
) -> tuple[tuple[str, ...], ...]:
    """Split questions into blocks of at most 8 that fit a canvas of `largest` positions.

    Without `asked`, blocks follow the given order. Questions linked by `depends_on` stay together unless `linked` is
    false (when each is asked alone there is no block to share).

    Raises:
        QuestionError: `asked` names unknown questions, omits or repeats some, or separates linked ones.
        LimitError: a question, a linked cluster or an asked group does not fit one block.
    """
    if asked is not None:
        return _checked(questions, widths, largest, asked, linked)
    groups: list[list[str]] = []
    placed: set[str] = set()
    for key in questions:
        if key in placed:
            continue
        cluster = _cluster(key, questions)
        _fit(cluster, widths, largest, f"questions.{key}")
        if groups and _fits([*groups[-1], *cluster], widths, largest):
            groups[-1] += cluster
        else:
            groups.append(cluster)
        placed.update(cluster)
    return tuple(tuple(group) for group in groups)


def _cluster(key: str, questions: Mapping[str, AnyQuestion]) -> list[str]:
    """All questions connected to `key` by `depends_on`, in the given order."""
    linked, queue = {key}, [key]
    for current in queue:
        near = {*questions[current].depends_on, *(k for k, q in questions.items() if current in q.depends_on)}
        queue += sorted(near - linked)
        linked |= near
    return [k for k in questions if k in linked]


def _fits(keys: Sequence[str], widths: Mapping[str, int], largest: int) -> bool:
    return len(keys) <= MAX_GROUP and sum(widths[k] + LINE for k in keys) <= largest


def _fit(keys: Sequence[str], widths: Mapping[str, int], largest: int, path: str) -> None:
    if _fits(keys, widths, largest):
        return
    size = sum(widths[k] + LINE for k in keys)
    raise LimitError(
        f"{len(keys)} questions of {size} answer tokens cannot share one block",
        path=path,
        accepted=f"at most {MAX_GROUP} questions and {largest} answer tokens a group",
    )


def _checked(
    questions: Mapping[str, AnyQuestion],
    widths: Mapping[str, int],
    largest: int,
    asked: Sequence[Sequence[str]],
    linked: bool,
) -> tuple[tuple[str, ...], ...]:
    seen: set[str] = set()
    if not isinstance(asked, (list, tuple)):
        raise QuestionError("not a list of groups", path="groups", given=asked, accepted="[[id, …], …]")
    for index, group in enumerate(asked):
        path = f"groups[{index}]"
        if not isinstance(group, (list, tuple)) or not group:
            raise QuestionError("an empty group, or not a list", path=path, given=group, accepted="question ids")
        for key in group:
            if not isinstance(key, str) or key not in questions or key in seen:
                problem = "a question is in two groups" if isinstance(key, str) and key in seen else "an unknown question"
                raise QuestionError(problem, path=path, given=key, accepted="every question id exactly once")
            seen.add(key)
        _fit(group, widths, largest, path)
        apart = [other for key in group for other in questions[key].depends_on if linked and other not in group]
        if apart:
            raise QuestionError(f"separated from {apart[0]!r}, which a question here depends on", path=path, accepted="both in one group")
    missing = [key for key in questions if key not in seen]
    if missing:
        raise QuestionError(f"no group holds {', '.join(missing)}", path="groups", accepted="every question id exactly once")
    return tuple(tuple(group) for group in asked)
