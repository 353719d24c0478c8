"""Blocks hold at most 8 questions, in order, with dependent ones together."""

from __future__ import annotations

import pytest

from clover_decide import Boolean, LimitError, QuestionError
from clover_decide.grouping import LINE, plan_groups
from clover_decide.questions import AnyQuestion


def questions(count: int, **depends: tuple[str, ...]) -> dict[str, AnyQuestion]:
    return {f"q{i}": Boolean(f"{i}?", depends_on=depends.get(f"q{i}", ())) for i in range(count)}


def widths(count: int, width: int = 1) -> dict[str, int]:
    return {f"q{i}": width for i in range(count)}


def test_blocks_of_eight_in_order() -> None:
    assert [len(g) for g in plan_groups(questions(20), widths(20), 128)] == [8, 8, 4]


def test_wide_slots_make_smaller_blocks() -> None:
    groups = plan_groups(questions(8), widths(8, 20), 64)
    assert all(len(g) * (20 + LINE) <= 64 for g in groups) and sum(groups, ()) == tuple(f"q{i}" for i in range(8))


def test_dependent_questions_share_a_block() -> None:
    groups = plan_groups(questions(10, q9=("q0",)), widths(10), 128)
    assert next(g for g in groups if "q0" in g) == next(g for g in groups if "q9" in g)
    assert sorted(sum(groups, ())) == sorted(widths(10))


def test_a_cluster_too_large_for_a_block_is_refused() -> None:
    with pytest.raises(LimitError, match="9 questions"):
        plan_groups(questions(9, q8=tuple(f"q{i}" for i in range(8))), widths(9), 128)
    with pytest.raises(LimitError, match="203 answer tokens"):
        plan_groups(questions(1), widths(1, 200), 128)


@pytest.mark.parametrize(
    ("asked", "path", "problem"),
    [
        ([["q0", "q0"], ["q1"]], "groups[0]", "in two groups"),
        ([["q0", "zz"]], "groups[0]", "unknown question"),
        ([["q0"], []], "groups[1]", "empty group"),
        ([["q0"]], "groups", "no group holds q1"),
    ],
)
def test_bad_groups_are_refused(asked: list[list[str]], path: str, problem: str) -> None:
    with pytest.raises(QuestionError) as caught:
        plan_groups(questions(2), widths(2), 128, asked)
    assert caught.value.path == path and problem in caught.value.problem


def test_the_callers_groups_are_kept() -> None:
    assert plan_groups(questions(3), widths(3), 128, [["q2", "q0"], ["q1"]]) == (("q2", "q0"), ("q1",))


def test_the_callers_groups_may_not_separate_dependent_questions() -> None:
    with pytest.raises(QuestionError, match="separated from 'q0'"):
        plan_groups(questions(2, q1=("q0",)), widths(2), 128, [["q0"], ["q1"]])


@pytest.mark.parametrize("asked", [5, ["q0", "q1"], [[["q0"]], ["q1"]]])
def test_groups_of_a_wrong_type_are_refused(asked: object) -> None:
    with pytest.raises(QuestionError):
        plan_groups(questions(2), widths(2), 128, asked)  # pyright: ignore[reportArgumentType]
