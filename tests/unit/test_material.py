"""Materials are rendered deterministically, cut into sentences without loss, and refused when unusable."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_decide import LimitError, MaterialError
from clover_decide.material import read_material


def test_structured_material_becomes_key_value_lines() -> None:
    material = read_material({"host": "web-01", "events": [{"id": 7, "ok": True}, "plain"], "none": None, "empty": {}})
    assert material.text == "host: web-01\nevents:\n  -\n    id: 7\n    ok: true\n  - plain\nnone: null\nempty: {}"


def test_dates_decimals_and_enums_are_rendered_as_text() -> None:
    assert read_material({"on": dt.date(2025, 1, 2), "sum": Decimal("1.50")}).text == "on: 2025-01-02\nsum: 1.50"


def test_sentences_are_offsets_into_the_text() -> None:
    material = read_material("Dr. Lee paid $1.50 on 3 May.  It was late!\nA new line")
    assert [material.text[a:b] for a, b in material.sentences] == ["Dr. Lee paid $1.50 on 3 May.", "It was late!", "A new line"]


@given(st.text(min_size=1).filter(str.strip))
def test_no_text_is_lost_between_sentences(text: str) -> None:
    material = read_material(text)
    covered = "".join(material.text[a:b] for a, b in material.sentences)
    assert "".join(covered.split()) == "".join(text.split())
    assert all(a < b for a, b in material.sentences)


@pytest.mark.parametrize(
    "bad", ["", "  \n", {}, [], None, 3, 2.5, True, "\ud800", {"x": float("nan")}, b"bytes", {1: "a"}, {"x": object()}, {"x": {1, 2}}]
)
def test_unusable_material_is_refused(bad: object) -> None:
    with pytest.raises(MaterialError) as caught:
        read_material(bad)
    assert caught.value.path == "material" and caught.value.accepted


def test_more_than_a_mebibyte_is_refused() -> None:
    with pytest.raises(LimitError, match="1048577 bytes"):
        read_material("x" * (2**20 + 1))
