"""Values that a material states: what an answer of a date or a number most often is.

The model copies digit by digit, and where several dates stand in a text it may begin one and end another. So a slot of such a type is
told the values that are there, and a piece of an answer that goes on as one of them does is taken to be likelier than the model has it.
Any other legal value remains possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from clover_decide.facts import Fact, dates_in
from clover_decide.material import Material
from clover_decide.prompt import answer_text
from clover_decide.questions import AnyQuestion, Date, Integer, Number

FAVOUR: Mapping[str, float] = {"date": 4.0, "integer": 2.0, "number": 4.0}
"""By question type, how much likelier in log odds."""
MOST = 64
"""Values of a slot."""
_NUMBER = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?:\.\d{1,6})?(?![\w]|[.,]\d)")


def stated_texts(question: AnyQuestion, material: Material, facts: Sequence[Fact]) -> tuple[str, ...]:
    """The texts of legal answers to a date, integer or number question that material and facts state; none for other types."""
    found: dict[str, None] = {}
    for value in _values(question, material, facts):
        found.setdefault(answer_text(question, None, value))
        if len(found) == MOST:
            break
    return tuple(found)


def _values(question: AnyQuestion, material: Material, facts: Sequence[Fact]) -> Iterator[object]:
    match question:
        case Date():
            yield from (day for day in dates_in(material.text) if question.earliest <= day <= question.latest)
        case Integer():
            whole = (number for number in _numbers(material, facts) if number == number.to_integral_value())
            yield from (int(number) for number in whole if question.minimum <= number <= question.maximum)
        case Number():
            low, high = question.scaled
            for number in _numbers(material, facts):
                scaled = number.scaleb(question.decimals)
                if scaled == scaled.to_integral_value() and low <= scaled <= high:
                    yield float(number)


def _numbers(material: Material, facts: Sequence[Fact]) -> Iterator[Decimal]:
    for text in (material.text, *(fact.text for fact in facts)):
        for match in _NUMBER.finditer(text):
            yield Decimal(match.group().replace(",", ""))
