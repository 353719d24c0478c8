"""Order, averaging, abstention, dependence and explanation of decisions."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from clover_decide import Abstain, Boolean, Choice, Decider, InputError, Integer, MultiChoice, ResultError, RuleError, Score, load_pack
from clover_decide.decision import Effort
from clover_decide.questions import AnyQuestion

QUESTIONS: dict[str, AnyQuestion] = {
    "timely": Boolean("Was the notice timely?"),
    "kind": Choice("Which kind?", options=["loader", "truck", "crane"]),
    "points": MultiChoice("What applies?", options=["noise", "arrears", "damage"]),
    "days": Integer("How many days?", maximum=99),
    "level": Score("How bad?", levels=["low", "mid", "high"]),
}
TEXT = "The loader came back on 3 May 2025, five days late and with damage."


def turned(question: AnyQuestion, rng: random.Random) -> AnyQuestion:
    if isinstance(question, (Choice, MultiChoice)):
        return question.model_copy(update={"options": tuple(rng.sample(question.options, len(question.options)))})
    return question


@pytest.mark.parametrize("options", [{}, {"effort": "fast"}, {"effort": "thorough"}, {"mode": "independent"}, {"permutations": 2}])
def test_the_order_in_which_questions_and_options_are_given_changes_nothing(random_decider: Decider, options: dict[str, Any]) -> None:
    _order_changes_nothing(random_decider, options)


def test_nor_does_it_for_the_shipped_model(mini: Decider) -> None:
    _order_changes_nothing(mini, {})


def _order_changes_nothing(any_decider: Decider, options: dict[str, Any]) -> None:
    first = any_decider.decide(TEXT, QUESTIONS, **options)
    for seed in range(2):
        rng = random.Random(seed)
        keys = rng.sample(list(QUESTIONS), len(QUESTIONS))
        again = any_decider.decide(TEXT, {key: turned(QUESTIONS[key], rng) for key in keys}, **options)
        assert again.probability == pytest.approx(first.probability, abs=1e-5)
        for key in QUESTIONS:
            assert dict(again[key].probabilities) == pytest.approx(dict(first[key].probabilities), abs=1e-5)
            value = again[key].value
            assert (sorted(value) if isinstance(value, tuple) else value) == (
                sorted(first[key].value) if isinstance(first[key].value, tuple) else first[key].value  # pyright: ignore[reportArgumentType]
            )


def test_options_come_back_in_the_order_in_which_they_were_given(random_decider: Decider) -> None:
    decision = random_decider.decide(TEXT, QUESTIONS)
    assert list(decision["kind"].probabilities) == ["loader", "truck", "crane"]
    value = decision["points"].value
    assert isinstance(value, tuple) and list(value) == [o for o in ("noise", "arrears", "damage") if o in value]
    assert decision.groups == (tuple(QUESTIONS),)


def test_permutations_average_readings_that_differ(random_decider: Decider) -> None:
    questions = {key: QUESTIONS[key] for key in ("timely", "kind", "level")}
    single = random_decider.decide(TEXT, questions, mode="independent")
    several = random_decider.decide(TEXT, questions, mode="independent", permutations=4)
    assert several.usage.passes == 4 * single.usage.passes
    for answer in several.answers.values():
        assert sum(answer.probabilities.values()) == pytest.approx(1.0)
        assert answer.probability == pytest.approx(max(answer.probabilities.values()))
    assert any(dict(several[key].probabilities) != pytest.approx(dict(single[key].probabilities)) for key in questions)
    joint = random_decider.decide(TEXT, questions, effort="thorough", permutations=3)
    assert 0 < joint.probability <= 1 and all(other.probability <= joint.probability for other in joint.alternatives)
    assert random_decider.decide(TEXT, questions, effort="thorough", permutations=3).answers == joint.answers


def test_a_thorough_decision_holds_the_joint_distribution(random_decider: Decider) -> None:
    questions = {key: QUESTIONS[key] for key in ("timely", "kind", "level")}
    decision = random_decider.decide(TEXT, questions, effort="thorough")
    assert decision.exact and decision.optimal
    assert decision.probability >= max(other.probability for other in decision.alternatives)
    for key, question in questions.items():
        shares = decision[key].probabilities
        assert sum(shares.values()) == pytest.approx(1.0), question
    # The marginal of an answer is at least the probability of any assignment that holds it.
    for other in decision.alternatives:
        for key, value in other.values.items():
            name = str(value).lower() if isinstance(value, bool) else str(value)
            assert decision[key].probabilities[name] >= other.probability - 1e-9


def test_answers_under_a_threshold_are_withheld_with_the_reason(random_decider: Decider) -> None:
    full = random_decider.decide(TEXT, QUESTIONS)
    limit = sorted(answer.probability for answer in full.answers.values())[2]
    decision = random_decider.decide(TEXT, QUESTIONS, abstain=limit)
    for key, answer in decision.answers.items():
        before = full[key]
        assert (answer.value is None) == (before.probability < limit)
        if answer.abstained:
            assert (answer.abstained.reason, answer.abstained.limit) == ("probability", limit)
            assert answer.abstained.value == before.value and answer.abstained.measured == before.probability
    assert decision.needs_review and not full.needs_review
    record = json.loads(json.dumps(decision.as_dict(), allow_nan=False))
    withheld = [key for key, answer in record["answers"].items() if answer["value"] is None]
    assert withheld == [key for key, answer in decision.answers.items() if answer.value is None]
    assert all(record["answers"][key]["abstained"]["reason"] == "probability" for key in withheld)
    with pytest.raises(ResultError, match="withheld: "):
        decision.as_model(type("Never", (), {}))  # pyright: ignore[reportArgumentType]


def test_thresholds_of_coverage_gap_and_single_questions(random_decider: Decider) -> None:
    by_question = random_decider.decide(TEXT, QUESTIONS, abstain={"questions": {"kind": 1.0}})
    assert [key for key, answer in by_question.answers.items() if answer.value is None] == ["kind"]
    covered = random_decider.decide(TEXT, QUESTIONS, abstain=Abstain(coverage=1.0))
    reasons = {answer.abstained.reason for answer in covered.answers.values() if answer.abstained}
    assert reasons == {"coverage"}
    gapped = random_decider.decide(TEXT, QUESTIONS, abstain={"gap": 0.0})
    assert gapped.dependence and {a.abstained.reason for a in gapped.answers.values() if a.abstained} == {"gap"}
    assert gapped["days"].value is not None, "a number has no part in the dependence"


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"abstain": 1.5}, "abstain.probability"),
        ({"abstain": "often"}, "abstain"),
        ({"abstain": {"probably": 0.5}}, "abstain"),
        ({"abstain": {"coverage": True}}, "abstain.coverage"),
        ({"abstain": {"questions": {"nobody": 0.5}}}, "abstain.questions"),
        ({"abstain": {"questions": [0.5]}}, "abstain.questions"),
        ({"abstain": {"questions": {"days": 2}}}, "abstain.questions.days"),
        ({"permutations": 0}, "permutations"),
        ({"permutations": 17}, "permutations"),
        ({"permutations": True}, "permutations"),
        ({"dependence": 1}, "dependence"),
        ({"project": "yes"}, "project"),
    ],
)
def test_bad_options_name_their_field(random_decider: Decider, options: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        random_decider.decide(TEXT, QUESTIONS, **options)
    assert caught.value.path == path and caught.value.accepted


def test_dependence_lists_every_pair_of_one_token_answers(random_decider: Decider) -> None:
    decision = random_decider.decide(TEXT, QUESTIONS, dependence=True)
    told = {frozenset((pair.first, pair.second)) for pair in decision.dependence}
    assert told == {frozenset(pair) for pair in itertools.combinations(("timely", "kind", "level"), 2)}
    assert all(pair.information >= 0 and 0 <= pair.gap <= 1 for pair in decision.dependence)
    assert random_decider.decide(TEXT, QUESTIONS).dependence == ()


def test_an_explanation_tells_steps_comparison_rules_and_runners_up(random_decider: Decider) -> None:
    rules = ["timely == (days > 50)"]
    decision = random_decider.decide(TEXT, QUESTIONS, effort="thorough", independent=True, rules=rules, dependence=True)
    text = decision.explain()
    for piece in ("pass 1: ", "Together and alone:", "Rules: kept.", "All answers together:", "  instead ", "nats, gap"):
        assert piece in text, piece
    for key in QUESTIONS:
        assert f"  {key}: " in text
    assert "<pre>" in decision._repr_html_()
    broken = random_decider.decide(TEXT, QUESTIONS, mode="independent", rules=["kind == 'crane'", "kind != 'crane' || timely"])
    if broken.violations:
        assert "Rules that these answers break:" in broken.explain()
    plain = random_decider.decide(TEXT, QUESTIONS).explain()
    assert "Rules" not in plain and "instead" not in plain and "alone" not in plain


def test_rules_hold_across_blocks(random_decider: Decider) -> None:
    """More than eight questions: a later block keeps the rules with the answers that earlier blocks gave."""
    questions = {f"q{i}": Boolean(f"Is it number {i}?") for i in range(12)}
    rules = ["q0 != q11", "q10 == q3", "q9 ? q8 : !q8"]
    for effort in ("fast", "standard", "auto", "thorough"):
        decision = random_decider.decide(TEXT, questions, rules=rules, effort=effort)  # pyright: ignore[reportArgumentType]
        values = decision.values()
        assert len(decision.groups) == 2
        assert values["q0"] != values["q11"] and values["q10"] == values["q3"] and values["q9"] == values["q8"], effort
        assert decision.violations == () and not decision.exact


def test_an_answer_that_rules_leave_one_way_is_given_that_way(random_decider: Decider) -> None:
    questions = {"n": Integer("How many?", maximum=999_999), "m": Integer("How many more?", maximum=999_999), "ok": Boolean("Is it?")}
    for effort in ("fast", "standard", "auto", "thorough"):
        decision = random_decider.decide(TEXT, questions, rules=["n == 417", "m == 2 * n + 1", "ok == (m > 800)"], effort=effort)  # pyright: ignore[reportArgumentType]
        assert decision.values() == {"n": 417, "m": 835, "ok": True}, effort
        # What a search did not read counts against it, even if rules would have cut it.
        assert decision.needs_review and 0.5 < decision.probability <= 1 + 1e-9, effort


def test_more_effort_never_ends_with_less_probable_answers(random_decider: Decider) -> None:
    efforts: tuple[Effort, ...] = ("standard", "auto", "thorough")
    from clover_engine.engine import Engine
    from tests.engine.random_model import RandomFeatures

    engine = random_decider.engine
    better = 0
    for seed in range(30):
        decider = Decider.from_engine(Engine(RandomFeatures(seed, engine.spec), engine.tokenizer))
        # A text that states no values: favouring those would have every way agree on them.
        # One threshold, one tree: of itself `auto` commits from 0.8 on.
        standard, auto, thorough = (decider.decide("Nothing is known.", QUESTIONS, effort=e, threshold=0.8) for e in efforts)
        # The standard way's probability is that of its tokens; a search tells how probable the same answers are at least.
        for searched in (auto, thorough):
            assert searched.probability >= standard.probability * 0.999 or searched.values() == standard.values(), seed
            for answer in searched.answers.values():
                assert answer.probability >= searched.probability - 1e-9, seed
        better += thorough.values() != standard.values()
    assert better > 0


def test_a_multiple_choice_keeps_its_rules_whatever_the_order_of_its_options(random_decider: Decider) -> None:
    for options in itertools.permutations(["noise", "arrears", "damage"]):
        questions = {"points": MultiChoice("What applies?", options=list(options))}
        for effort in ("fast", "standard", "auto", "thorough"):
            decision = random_decider.decide(TEXT, questions, rules=["points == ['damage']"], effort=effort)  # pyright: ignore[reportArgumentType]
            assert decision["points"].value == ("damage",), (options, effort)


def test_a_needle_is_found_or_the_search_says_that_it_was_not(random_decider: Decider) -> None:
    """Conditions that only complete answers decide: bounded work, and no answer that breaks them."""
    questions = {"n": Integer("How many?"), "m": Integer("How many more?", maximum=12)}
    for effort in ("fast", "standard", "auto", "thorough"):
        decision = random_decider.decide(TEXT, questions, rules=["n * n == 49", "m == n - 1"], effort=effort)  # pyright: ignore[reportArgumentType]
        assert decision.values() == {"n": 7, "m": 6}, effort
    with pytest.raises(RuleError, match="no answers that keep the rules were found"):
        random_decider.decide(TEXT, {"n": Integer("?"), "m": Integer("?")}, rules=["n * m == 999331 * 17"])


def test_auto_commits_from_eight_tenths_on_at_the_latest(mini: Decider) -> None:
    pack = load_pack("contract")
    passes = {
        (effort, threshold): mini.decide(pack.example, pack.questions, effort=effort, threshold=threshold).usage.passes
        for effort in ("standard", "auto")
        for threshold in (0.8, 1.0)
    }
    assert passes["standard", 1.0] > passes["standard", 0.8]
    assert passes["auto", 1.0] == passes["auto", 0.8]
