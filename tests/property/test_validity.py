"""Whatever the model, every produced value is valid against the JSON Schema of its question set."""

from __future__ import annotations

import datetime as dt
import json

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from clover_decide import Boolean, Choice, Date, Decider, Integer, MultiChoice, Number, Quote, Score, Text, read_questions
from clover_decide.questions import AnyQuestion

WORDS = st.text(alphabet="abcdefgh ABC-é漢", min_size=1, max_size=9).filter(str.strip).map(str.strip)
PATTERNS = st.sampled_from(["[A-Z]{2}-[0-9]{3}", "(?:red|green|blue)", "[a-z]{1,6}", "[0-9]{2}:[0-9]{2}", "v[0-9]\\.[0-9]"])


def options(least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(WORDS, min_size=least, max_size=most, unique=True)


@st.composite
def multi_choices(draw: st.DrawFn) -> AnyQuestion:
    names = draw(options(2, 6))
    maximum = draw(st.integers(1, len(names)))
    return MultiChoice("Which?", options=names, minimum=draw(st.integers(0, maximum)), maximum=maximum)


@st.composite
def integers(draw: st.DrawFn) -> AnyQuestion:
    low, high = sorted(draw(st.tuples(st.integers(-3000, 90_000), st.integers(-3000, 90_000))))
    return Integer("How many?", minimum=low, maximum=high)


@st.composite
def numbers(draw: st.DrawFn) -> AnyQuestion:
    low = draw(st.integers(-500, 900))
    return Number("How much?", minimum=low / 10, maximum=(low + draw(st.integers(1, 700))) / 10, decimals=draw(st.integers(1, 3)))


@st.composite
def dates(draw: st.DrawFn) -> AnyQuestion:
    first = draw(st.dates(dt.date(1950, 1, 1), dt.date(2090, 1, 1)))
    return Date("When?", earliest=first, latest=first + dt.timedelta(days=draw(st.integers(0, 3000))))


QUESTIONS: st.SearchStrategy[AnyQuestion] = st.one_of(
    st.builds(Boolean, WORDS),
    options(2, 12).map(lambda o: Choice("Which one?", options=o)),
    options(2, 10).map(lambda o: Score("How much?", levels=o)),
    multi_choices(),
    integers(),
    numbers(),
    dates(),
    st.builds(lambda n: Quote("Where?", max_tokens=n), st.integers(9, 14)),
    st.builds(lambda p: Text("Which code?", pattern=p), PATTERNS),
)


@given(
    questions=st.lists(QUESTIONS, min_size=1, max_size=6),
    material=st.lists(WORDS, min_size=1, max_size=12).map(" ".join),
    mode=st.sampled_from(["joint", "independent"]),
    effort=st.sampled_from(["fast", "standard"]),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_value_is_valid(random_decider: Decider, questions: list[AnyQuestion], material: str, mode: str, effort: str) -> None:
    asked = read_questions(questions)
    decision = random_decider.decide(material, asked, mode=mode, effort=effort)  # pyright: ignore[reportArgumentType]
    values = decision.values()
    note(f"values: {values}")
    Draft202012Validator(asked.json_schema(), format_checker=FormatChecker()).validate(json.loads(json.dumps(values)))
    for key, question in asked.questions.items():
        answer = decision[key]
        assert 0.0 <= answer.probability <= 1.0 + 1e-9 and 0.0 <= answer.coverage <= 1.0 + 1e-6
        assert -1e-9 <= answer.confidence <= 1.0 + 1e-9
        if isinstance(question, Quote):
            assert answer.span is not None
            assert decision.material_text[slice(*answer.span)] == answer.value
        if isinstance(question, Date):
            assert question.earliest <= dt.date.fromisoformat(values[key]) <= question.latest
        if isinstance(question, (Choice, Score, Boolean)):
            assert abs(sum(answer.probabilities.values()) - 1.0) < 1e-6
    json.dumps(decision.as_dict(), allow_nan=False)
