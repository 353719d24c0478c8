"""Rules against independent oracles: jsonschema, cel-python and enumeration of small domains."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Mapping
from typing import Any

import celpy
import pytest
from celpy import celtypes
from jsonschema import Draft202012Validator

from clover_decide import Boolean, Choice, Date, Integer, LimitError, MultiChoice, Number, RuleError, Score, Text, read_questions
from clover_decide.rules import RuleSet, at_most, exactly_one, excludes, implies, monotone, read_rules
from clover_decide.rules.domains import Domain, Names, Span, singleton
from clover_decide.rules.solve import feasible, project

QUESTIONS = read_questions(
    {
        "late": Boolean("Late?"),
        "kind": Choice("Which?", options=["a", "b", "c"]),
        "days": Integer("How many?", minimum=-2, maximum=4),
        "level": Score("How bad?", levels=["low", "mid", "high"]),
        "points": MultiChoice("What applies?", options=["x", "y"]),
        "fee": Number("How much?", minimum=0, maximum=1, decimals=1),
        "start": Date("From?", earliest="2024-02-27", latest="2024-03-01"),
        "end": Date("Until?", earliest="2024-02-27", latest="2024-03-01"),
    }
)
VALUES: Mapping[str, list[Any]] = {
    "late": [False, True],
    "kind": ["a", "b", "c"],
    "days": list(range(-2, 5)),
    "level": [0, 1, 2],
    "points": [[], ["x"], ["y"], ["x", "y"]],
    "fee": [n / 10 for n in range(11)],
    "start": [f"2024-0{day}" for day in ("2-27", "2-28", "2-29", "3-01")],
    "end": [f"2024-0{day}" for day in ("2-27", "2-28", "2-29", "3-01")],
}


def random_schema(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    kind = rng.choice(["properties", "if", "allOf", "anyOf", "oneOf", "not", "dependentSchemas"]) if depth else "properties"
    if kind == "properties":
        keys = rng.sample(["late", "kind", "days", "level", "points", "fee"], rng.randint(1, 2))
        return {"properties": {key: random_answer(rng, key) for key in keys}, "required": keys}
    if kind == "if":
        words = ["if", "then", *(["else"] if rng.random() < 0.5 else [])]
        return {word: random_schema(rng, depth - 1) for word in words}
    if kind == "not":
        return {"not": random_schema(rng, depth - 1)}
    if kind == "dependentSchemas":
        return {"dependentSchemas": {"late": random_schema(rng, depth - 1)}}
    return {kind: [random_schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]}


def random_answer(rng: random.Random, key: str) -> dict[str, Any]:
    values = VALUES[key]
    if key == "points":
        return rng.choice(
            [
                {"contains": {"const": "x"}},
                {"not": {"contains": {"enum": ["y"]}}},
                {"minItems": 1},
                {"maxItems": 1},
                {"const": rng.choice(values)},
            ]
        )
    some = {"const": rng.choice(values)}, {"enum": rng.sample(values, min(2, len(values)))}, {"not": {"const": rng.choice(values)}}
    if key in ("days", "level", "fee"):
        word = rng.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])
        return rng.choice(
            [
                *some,
                {"multipleOf": rng.choice([1, 2, 3] if key != "fee" else [0.5])},
                {word: rng.choice(values)},
                {word: rng.choice(values), "type": "number" if key == "fee" else "integer"},
            ]
        )
    return rng.choice(some)


def random_answers(rng: random.Random) -> dict[str, Any]:
    return {key: rng.choice(values) for key, values in VALUES.items()}


def read_or_refusal(rules: list[Any]) -> RuleSet | RuleError:
    try:
        return read_rules(rules, QUESTIONS)
    except RuleError as error:
        return error


def test_schemas_mean_what_jsonschema_says_they_mean() -> None:
    held = 0
    for seed in range(2_000):
        rng = random.Random(seed)
        schema = random_schema(rng)
        rules = read_or_refusal([schema])
        if isinstance(rules, RuleError):
            assert "never hold" in rules.problem, (seed, schema)
            assert not any(Draft202012Validator(schema).is_valid(random_answers(rng)) for _ in range(50)), (seed, schema)
            continue
        for _ in range(5):
            answers = random_answers(rng)
            expected = Draft202012Validator(schema).is_valid(answers)
            assert (not rules.violations(answers)) == expected, (seed, schema, answers)
            held += expected
    assert 2_000 < held < 9_000


CEL = [
    "late || days > 1",
    "!late && level >= 1",
    "kind == 'a' ? days < 2 : days >= 2",
    "kind in ['a', 'b'] && 'x' in points",
    "late == (days >= 2)",
    "size(points) == 1",
    "size(points) < 2 || late",
    "points == ['x']",
    "2 * days - level <= 3",
    "-days + 1 > level",
    "days / 2 == 1",
    "days % 2 == 0 || kind != 'c'",
    "level % 2 == 1 || days % 3 != 1",
    "2 == level % 3",
    "kind.startsWith('a') != late",
    "end >= start",
    "end - start <= duration('24h')",
    "start + duration('24h') == end",
    "end.getMonth() == 2",
    "days in [1, 2, 4]",
    "(days > 0 ? days : -days) >= 2",
    "1 / days == 1",
    *(
        CHOSEN := [
            "kind == (days > 2 ? 'a' : late ? 'b' : 'c')",
            "days + (late ? 1 : 0) - (level > 0 ? level : 2) >= 2",
            "(late ? days : level) == (kind == 'a' ? 2 : 1)",
            "-(late ? days : 1) < (level == 0 ? -1 : 0)",
            "(late ? end : start) >= (level > 0 ? start : end)",
        ]
    ),
]


def as_cel(answers: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in answers.items():
        if key in ("start", "end"):
            out[key] = celtypes.TimestampType(f"{value}T00:00:00Z")
        elif isinstance(value, bool):
            out[key] = celtypes.BoolType(value)
        elif isinstance(value, int):
            out[key] = celtypes.IntType(value)
        elif isinstance(value, list):
            out[key] = celtypes.ListType([celtypes.StringType(item) for item in value])
        else:
            out[key] = celtypes.StringType(value) if isinstance(value, str) else celtypes.DoubleType(value)
    return out


@pytest.mark.parametrize("source", CEL)
def test_expressions_mean_what_cel_python_says_they_mean(source: str) -> None:
    rules = read_rules(source, QUESTIONS)
    environment = celpy.Environment()
    program = environment.program(environment.compile(source))
    rng = random.Random(0)
    seen: set[bool] = set()
    for _ in range(150):
        answers = random_answers(rng)
        try:
            expected = bool(program.evaluate(as_cel(answers)))
        except celpy.CELEvalError:
            expected = False
        assert (not rules.violations(answers)) == expected, answers
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("source", CHOSEN)
def test_values_chosen_by_conditions_are_known_before_all_answers_are(source: str) -> None:
    (formula,) = read_rules(source, QUESTIONS).formulas
    assert "Opaque" not in repr(formula)


def test_an_answer_that_follows_from_two_amounts_is_found_among_ten_thousand_millions() -> None:
    amounts = {key: Integer("?", minimum=0, maximum=99999) for key in ("back", "fee")}
    questions = read_questions({**amounts, "step": Choice("?", options=("both", "refund", "bill", "close"))})
    rules = read_rules("step == (back > 0 ? (fee > 0 ? 'both' : 'refund') : (fee > 0 ? 'bill' : 'close'))", questions)
    assert feasible(rules.formulas, rules.state({"step": "both"})) is True
    assert feasible(rules.formulas, rules.state({"step": "both", "fee": 0})) is False


def test_decimal_sums_are_exact() -> None:
    """0.1 + 0.2 is 0.3 here, as people who write about money expect."""
    money = read_questions({name: Number(f"{name}?", maximum=10) for name in ("refund", "deposit", "damage")})
    rules = read_rules("refund == deposit - damage", money)
    assert rules.violations({"refund": 0.1, "deposit": 0.3, "damage": 0.2}) == ()
    assert rules.violations({"refund": 0.11, "deposit": 0.3, "damage": 0.2}) == ("refund == deposit - damage",)


def all_answers(keys: list[str]) -> list[dict[str, Any]]:
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*(VALUES[key] for key in keys))]


def random_rules(rng: random.Random) -> list[Any]:
    sources = [s for s in CEL if not any(name in s for name in ("start", "end"))]
    return [rng.choice(sources) if rng.random() < 0.4 else random_schema(rng, 1) for _ in range(rng.randint(1, 5))]


def kept(rules: list[Any]) -> list[dict[str, Any]]:
    """All answers that jsonschema and cel-python accept."""
    keys = ["late", "kind", "days", "level", "points"]
    environment = celpy.Environment()
    programs = [environment.program(environment.compile(rule)) if isinstance(rule, str) else Draft202012Validator(rule) for rule in rules]

    def holds(program: Any, answers: dict[str, Any]) -> bool:
        if isinstance(program, Draft202012Validator):
            return program.is_valid(answers)
        try:
            return bool(program.evaluate(as_cel(answers)))
        except celpy.CELEvalError:
            return False

    return [answers for answers in all_answers(keys) if all(holds(p, answers) for p in programs)]


def test_feasibility_and_what_is_left_of_an_answer_against_enumeration() -> None:
    infeasible = 0
    for seed in range(80):
        rng = random.Random(seed)
        rules = [rule for rule in random_rules(rng) if "fee" not in str(rule)]
        expected = kept(rules)
        read = read_or_refusal(rules)
        if isinstance(read, RuleError):
            assert "hold" in read.problem, (seed, rules)
            assert not expected, (seed, rules)
            infeasible += 1
            continue
        assert expected, (seed, rules)
        known = {key: rng.choice(expected)[key] for key in rng.sample(sorted(expected[0]), 2)}
        live = [a for a in expected if all(a[key] == value for key, value in known.items())]
        state = read.state(known)
        assert feasible(read.formulas, state) is bool(live), (seed, rules, known)
        for key in set(read.whole) - set(known):
            left = project(read.formulas, state, key)
            allowed = [v for v in VALUES[key] if any(within(key, v, part, read) for part in left)]
            assert allowed == [v for v in VALUES[key] if any(a[key] == v for a in live)], (seed, rules, known, key)
    assert 3 < infeasible < 60


def within(key: str, value: Any, part: Domain, rules: RuleSet) -> bool:
    one = singleton(QUESTIONS.questions[key], value, rules.whole[key])
    if isinstance(part, Span) and isinstance(one, Span):
        return part.low <= one.low <= part.high
    if isinstance(part, Names) and isinstance(one, Names):
        return one.values[0] in part.values
    return getattr(part, "chosen", None) <= one.chosen and part.excluded <= one.excluded  # pyright: ignore[reportAttributeAccessIssue, reportOptionalOperand]


def test_a_contradiction_names_a_smallest_set_of_rules() -> None:
    for rules, broken in [
        (["days > 1", "late", "level < 1", "days < 2"], ("rules[0]", "rules[3]")),
        (["start < end", "kind == 'a'", "end < start"], ("rules[0]", "rules[2]")),
        (["late", implies({"late": True}, {"kind": "b"}), "days > 0", "kind != 'b'"], ("rules[0]", "rules[1]", "rules[3]")),
        (["days > 9"], ("rules[0]",)),
    ]:
        with pytest.raises(RuleError) as caught:
            read_rules(rules, QUESTIONS)
        named = {f"rules[{i}]" for i in range(len(rules)) if f"rules[{i}]" in caught.value.problem}
        assert named == set(broken), caught.value


def test_helpers() -> None:
    def broken(rule: Any, **values: Any) -> bool:
        return bool(read_rules([rule], QUESTIONS).violations(values))

    assert broken(implies({"late": True}, {"days": {"minimum": 2}}), late=True, days=1)
    assert not broken(implies({"late": True}, {"days": {"minimum": 2}}), late=False, days=1)
    assert broken(excludes({"late": True}, {"kind": "a"}), late=True, kind="a")
    assert not broken(excludes({"late": True}, {"kind": "a"}), late=True, kind="b")
    one = exactly_one({"late": True}, {"kind": "a"}, {"level": 2})
    assert [broken(one, late=a, kind=b, level=c) for a, b, c in [(True, "b", 0), (True, "a", 0), (False, "b", 0)]] == [False, True, True]
    two = at_most(2, {"late": True}, {"kind": "a"}, {"level": 2})
    assert broken(two, late=True, kind="a", level=2) and not broken(two, late=True, kind="a", level=1)
    assert broken(monotone("level", "days"), level=2, days=1) and not broken(monotone("level", "days"), level=1, days=1)
    assert broken(implies({"points": ("x",)}, {"start": dt.date(2024, 2, 28)}), points=["x"], start="2024-02-29")


@pytest.mark.parametrize(
    ("rule", "path", "problem"),
    [
        ({"properties": {"dais": {"const": 1}}}, "rules[0].properties", "unknown question"),
        ({"required": ["dais"]}, "rules[0].required", "unknown question"),
        ("dais > 1", "rules[0]", "unknown question 'dais'"),
        ({"properties": {"kind": {"const": "d"}}}, "rules[0].properties.kind.const", "not an option"),
        ("kind == 'd'", "rules[0]", "not an option"),
        ({"properties": {"kind": {"minimum": 1}}}, "rules[0].properties.kind.minimum", "not supported here"),
        ({"properties": {"days": {"const": "one"}}}, "rules[0].properties.days.const", "never the answer"),
        ({"properties": {"days": {"minimum": "1"}}}, "rules[0].properties.days.minimum", "must be a number"),
        ({"properties": {"fee": {"const": 0.55}}}, "rules[0].properties.fee.const", "more decimals"),
        ({"properties": {"days": {"type": "string"}}}, "rules[0].properties.days.type", "question of type integer"),
        ({"patternProperties": {}}, "rules[0].patternProperties", "not supported here"),
        ({"$ref": "https://example.org/rules.json"}, "rules[0].$ref", "within the schema"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, "rules[0].$ref.allOf[0].$ref", "leads back"),
        ({"$ref": "#/$defs/b", "$defs": {}}, "rules[0].$ref", "does not resolve"),
        ({"anyOf": []}, "rules[0].anyOf", "empty"),
        ({"anyOf": {}}, "rules[0].anyOf", "not a list"),
        ({"properties": {"start": {"const": "yesterday"}}}, "rules[0].properties.start.const", "not a date"),
        ("days + 1", "rules[0]", "not a condition"),
        ("days / 2", "rules[0]", "not a condition"),
        ("kind", "rules[0]", "not a condition"),
        ("'x'", "rules[0]", "not a condition"),
        ("days ==", "rules[0]", "not a CEL expression"),
        ("days = 1", "rules[0]", "not a CEL expression"),
        ("days == 'one'", "rules[0]", "different types"),
        ("end - start > 3", "rules[0]", "different types"),
        ("start + end == start", "rules[0]", "no meaning"),
        ("points.all(p, p == 'x')", "rules[0]", "all() is not available"),
        ("[1, 2].map(x, [1, 2].map(y, x * y)) == [days]", "rules[0]", "map() is not available"),
        ("late && days / 2", "rules[0]", "not a condition"),
        ("late || days / fee > 1.0", "rules[0]", "cannot be evaluated"),
        ("days / fee > 1.0", "rules[0]", "cannot be evaluated"),
        ("days > 1" + " && days > 1" * 200, "rules[0]", "too long"),
        ("days < 1e999999999", "rules[0]", "out of range"),
        ("days < 1" + "0" * 60, "rules[0]", "out of range"),
        ("late ? days > 3 : days", "rules[0]", "not a condition"),
        ("late || days.foo", "rules[0]", "cannot be evaluated"),
        ("days.foo > 1", "rules[0]", "cannot be evaluated"),
        ("kind < 'b'", "rules[0]", "no order"),
        ({"properties": {"days": {"minimum": float("nan")}}}, "rules[0].properties.days.minimum", "must be a number"),
        ({"properties": {"days": {"const": float("inf")}}}, "rules[0].properties.days.const", "never the answer"),
        ({"properties": {"days": {"minimum": 10**5000}}}, "rules[0].properties.days.minimum", "must be a number"),
        ({"properties": {"days": {"enum": list(range(100_000))}}}, "rules[0].properties.days.enum", "too many values"),
        ({"properties": {"kind": {"const": ["a"]}}}, "rules[0].properties.kind.const", "not an option"),
        ({"required": [["days"]]}, "rules[0].required", "unknown question"),
        ({"then": 3}, "rules[0].then", "not a schema"),
        (7, "rules[0]", "not a rule"),
        ({"cel": "late", "schema": True}, "rules[0]", "not a named rule"),
        ({"cel": "late", "name": "x"}, "rules[0]", "not a named rule"),
        ({"cel": True}, "rules[0].cel", "not a CEL expression"),
    ],
)
def test_bad_rules_are_refused_with_their_place(rule: Any, path: str, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        read_rules([rule], QUESTIONS)
    assert caught.value.path == path and problem in caught.value.problem and caught.value.accepted, caught.value


@pytest.mark.parametrize(
    "build",
    [
        lambda: at_most(1.5, {}, {}),
        lambda: at_most(-1, {}, {}),
        lambda: at_most(10, *[{"late": True}] * 24),
        lambda: monotone("days", 4),
        lambda: excludes({}, {}),
    ],
)  # pyright: ignore[reportArgumentType]
def test_bad_helpers_are_refused(build: Any) -> None:
    with pytest.raises(RuleError) as caught:
        build()
    assert caught.value.accepted


def test_a_failure_is_not_kept_even_where_it_is_denied() -> None:
    """As in CEL, where the failure of a part is the failure of the whole unless the rest decides it."""
    rules = read_rules(["!(late && 10 / days == 2)"], QUESTIONS)
    assert rules.violations({"late": True, "days": 0}) and not rules.violations({"late": False, "days": 0})
    assert not rules.violations({"late": True, "days": 3}) and rules.violations({"late": True, "days": 5})


def test_times_of_day_and_parts_of_a_second_count() -> None:
    assert not read_rules("start < timestamp('2024-02-28T12:00:00Z')", QUESTIONS).violations({"start": "2024-02-28"})
    assert read_rules("start >= timestamp('2024-02-28T00:00:00+02:00')", QUESTIONS).violations({"start": "2024-02-27"})
    assert read_rules("start + duration('500ms') >= end", QUESTIONS).violations({"start": "2024-02-28", "end": "2024-02-29"})
    with pytest.raises(RuleError, match="never hold"):
        read_rules("start == timestamp('2024-02-28T12:00:00Z')", QUESTIONS)
    assert not read_rules(".days == 3", QUESTIONS).violations({"days": 3})


def test_rules_read_for_other_questions_are_refused() -> None:
    with pytest.raises(RuleError, match="other questions"):
        read_rules(read_rules("days > 3", QUESTIONS), read_questions({"late": Boolean("Late?")}))
    with pytest.raises(RuleError, match="other questions"):
        read_rules(read_rules("days > 3", QUESTIONS), read_questions({"days": Boolean("Days?")}))


def test_size_is_bounded() -> None:
    deep: dict[str, Any] = {"properties": {"late": {"const": True}}}
    for _ in range(5_000):
        deep = {"not": deep}
    with pytest.raises(RuleError, match="too large or nested too deeply"):
        read_rules([deep], QUESTIONS)
    with pytest.raises(RuleError, match="too large"):
        read_rules([{"anyOf": [{"properties": {"days": {"const": 1}}}] * 3_000}], QUESTIONS)
    with pytest.raises(LimitError, match="101 rules"):
        read_rules(["late"] * 101, QUESTIONS)
    with pytest.raises(RuleError, match="not a list"):
        read_rules(5, QUESTIONS)


def test_a_question_whose_solution_would_take_for_ever_is_left_open() -> None:
    """An even sum that must be odd: no proof within bounds, so the rule is not called impossible, and asking goes on."""
    wide = read_questions({"m": Integer("m?", maximum=10**9), "n": Integer("n?", maximum=10**9)})
    assert read_rules("2 * m == 2 * n + 1", wide).rules[0].text == "2 * m == 2 * n + 1"


def test_named_rules_free_text_and_values_of_other_types() -> None:
    names = read_questions({"who": Text("Who?", pattern="[A-Z][a-z]+"), "ok": Boolean("Ok?")})
    rules = read_rules([{"text": "Bob is not ok", "cel": "who == 'Bob' ? !ok : true"}], names)
    assert rules.violations({"who": "Bob", "ok": True}) == ("Bob is not ok",)
    assert rules.violations({"who": "Anna", "ok": True}) == ()
    schema = {"type": "object", "properties": {"n": {"enum": [1, 2, "x"], "description": "Which?"}}}
    typed = read_questions(schema)
    number = read_rules({"properties": {"n": {"const": 2}}}, typed)
    assert number.violations({"n": "2"}) == () and number.violations({"n": "1"}) != ()
    with pytest.raises(RuleError, match="free text"):
        read_rules("who.size() > 3", names)
