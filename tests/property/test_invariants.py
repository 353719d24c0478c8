"""What must not change an answer does not, on a random model and on clover-mini."""

from __future__ import annotations

import json
import random

import pytest

from clover_decide import Boolean, Choice, Date, Decider, Decision, Integer, Score, load_pack
from clover_decide.questions import AnyQuestion

PACK = load_pack("contract")
EXTRA: dict[str, AnyQuestion] = {
    "ends": Date("On which date does the contract expire?"),
    "days": Integer("How many days lie between notice and expiry?", minimum=0, maximum=999),
    "kept": Boolean("Is any of the deposit kept?"),
    "who": Choice("Who owns the place?", options={"Harbour Lofts": "the lessor", "Ines Moreau": "the lessee"}),
    "risk": Score("How clear is the case?", levels=["low", "medium", "high"]),
}


def numbers(decision: Decision, key: str) -> dict[str, float]:
    return dict(decision[key].probabilities)


@pytest.mark.parametrize("seed", range(3))
def test_adding_removing_or_reordering_leaves_an_independent_answer_unchanged(any_decider: Decider, seed: int) -> None:
    everything = {**PACK.questions.questions, **EXTRA}
    full = any_decider.decide(PACK.example, everything, mode="independent")
    rng = random.Random(seed)
    keys = rng.sample(list(everything), rng.randint(1, len(everything) - 1))
    fewer = any_decider.decide(PACK.example, {k: everything[k] for k in keys}, mode="independent")
    for key in keys:
        assert fewer[key].value == full[key].value, seed
        assert numbers(fewer, key) == pytest.approx(numbers(full, key), abs=1e-5), seed


def test_renaming_ids_changes_nothing(any_decider: Decider) -> None:
    original = any_decider.decide(PACK.example, PACK.questions)
    renamed = any_decider.decide(PACK.example, {f"id with ünïcode {k}": q for k, q in PACK.questions.questions.items()})
    for key in PACK.questions.questions:
        assert vars(renamed[f"id with ünïcode {key}"]) == vars(original[key])


def test_same_input_same_bytes(any_decider: Decider) -> None:
    def once() -> str:
        record = any_decider.decide(PACK.example, PACK.questions, independent=True).as_dict()
        return json.dumps({k: v for k, v in record.items() if k != "timing"})

    first = once()
    any_decider._engine.prefixes.clear()
    assert once() == first


def test_a_later_block_sees_the_earlier_one(any_decider: Decider) -> None:
    keys = list(PACK.questions.questions)
    decision = any_decider.decide(PACK.example, PACK.questions, groups=[keys[:2], keys[2:]])
    assert decision.groups == (tuple(keys[:2]), tuple(keys[2:]))
    assert {step.block for step in decision.trace} == {0, 1}
    swapped = any_decider.decide(PACK.example, PACK.questions, groups=[keys[2:], keys[:2]])
    assert list(swapped.answers) == keys
    assert any(numbers(decision, k) != numbers(swapped, k) for k in keys)


def test_many_questions_split_into_blocks_of_eight(random_decider: Decider) -> None:
    questions = {f"q{i}": Boolean(f"Is it {i}?") for i in range(64)}
    decision = random_decider.decide("It is what it is.", questions)
    assert [len(g) for g in decision.groups] == [8] * 8
    assert list(decision.answers) == list(questions)


def test_the_trace_replays_the_answers(any_decider: Decider) -> None:
    decision = any_decider.decide(PACK.example, PACK.questions)
    assert {step.question for step in decision.trace} == set(decision.answers)
    timely = next(step for step in decision.trace if step.question == "timely")
    assert timely.confidence == pytest.approx(decision["timely"].probability)
    refund = "".join(s.text for s in sorted((s for s in decision.trace if s.question == "refund"), key=lambda s: s.step))
    assert sorted(refund) == sorted(str(decision["refund"].value))
