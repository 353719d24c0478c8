"""Which questions share a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clover_decide.errors import LimitError, QuestionError
from clover_decide.questions import MAX_GROUP, AnyQuestion

LINE = 3
"""Canvas positions of an answer line besides its slot: number, colon, line break."""


def plan_groups(
    questions: Mapping[str, AnyQuestion],
    widths: Mapping[str, int],
    largest: int,
    asked: Sequence[Sequence[str]] | None = None,
) -> tuple[tuple[str, ...], ...]:
    """Split questions into blocks of at most 8 that fit a canvas of `largest` positions.

    Without `asked`, blocks follow the given order and questions linked by `depends_on` stay together.

    Raises:
        QuestionError: `asked` names unknown questions, omits or repeats some.
        LimitError: a question, a linked cluster or an asked group does not fit one block.
    """
    if asked is not None:
        return _checked(questions, widths, largest, asked)
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
    questions: Mapping[str, AnyQuestion], widths: Mapping[str, int], largest: int, asked: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    seen: set[str] = set()
    for index, group in enumerate(asked):
        path = f"groups[{index}]"
        if not group:
            raise QuestionError("an empty group", path=path, accepted="question ids")
        for key in group:
            if key not in questions or key in seen:
                problem = "a question is in two groups" if key in seen else "an unknown question"
                raise QuestionError(problem, path=path, given=key, accepted="every question id exactly once")
            seen.add(key)
        _fit(group, widths, largest, path)
    missing = [key for key in questions if key not in seen]
    if missing:
        raise QuestionError(f"no group holds {', '.join(missing)}", path="groups", accepted="every question id exactly once")
    return tuple(tuple(group) for group in asked)
