"""Evidence: quotes of whole sentences, with offsets that hold, whatever the material and the model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_decide import Boolean, Choice, Decider, InputError, Integer, ModelError
from clover_decide.evidence import LIKELY, MOST
from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import HEADER, Prompter
from clover_engine.engine import Engine
from clover_engine.folder import SHIPPED
from clover_engine.models.base import Pointer
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.tokenizer import Tokenizer
from tests.conftest import make_engine, random_model

QUESTIONS = {"paid": Boolean("Paid?"), "days": Integer("Days?", maximum=99), "who": Choice("Who?", options=["Ann", "Bob"])}
TEXT = "Ann paid on 3 May 2024. Bob paid on 9 May 2024.\nNobody else did; it was 5 €. The end"


@pytest.fixture(scope="module")
def pointing(tokenizer: Tokenizer) -> Decider:
    spec = replace(make_engine(tokenizer).spec, pointer=Pointer(1, (0, 3), (1.0, 0.5, 1.0), -9.0))
    return Decider.from_engine(Engine(LlamaAdapter(random_model(), spec), tokenizer), "pointing")


@pytest.mark.parametrize("options", [{}, {"mode": "independent"}, {"effort": "thorough"}, {"permutations": 2}, {"abstain": 1.0}])
@pytest.mark.parametrize("material", [TEXT, {"paid": [{"who": "Ann", "on": "2024-05-03"}], "note": "a b\nc"}, "x"])
def test_quotes_are_sentences_of_the_material(pointing: Decider, material: Any, options: dict[str, Any]) -> None:
    decision = pointing.decide(material, QUESTIONS, evidence=True, **options)
    sentences = read_material(material).sentences
    for answer in decision.answers.values():
        assert 1 <= len(answer.evidence) <= MOST
        assert [(s.start, s.end) for s in answer.evidence] == sorted(set(sentences) & {(s.start, s.end) for s in answer.evidence})
        assert all(decision.material_text[s.start : s.end] == s.quote for s in answer.evidence)
        assert sum(s.probability < LIKELY for s in answer.evidence) <= (len(answer.evidence) == 1)
    told = decision.as_dict()["answers"]["paid"]["evidence"]
    assert told == [dict(vars(s)) for s in decision["paid"].evidence]
    assert decision["paid"].evidence[0].quote.split()[0] in decision.explain()


def test_evidence_is_the_same_alone_and_in_any_company(pointing: Decider) -> None:
    alone = pointing.decide(TEXT, {"paid": QUESTIONS["paid"]}, mode="independent", evidence=True)
    together = pointing.decide(TEXT, QUESTIONS, mode="independent", evidence=True)
    assert [s.quote for s in alone["paid"].evidence] == [s.quote for s in together["paid"].evidence]


def test_no_evidence_unless_asked_for(pointing: Decider) -> None:
    decision = pointing.decide(TEXT, QUESTIONS)
    assert all(answer.evidence == () for answer in decision.answers.values())
    assert "evidence" not in decision.as_dict()["answers"]["paid"]


def test_a_model_that_cannot_point_says_so(random_decider: Decider) -> None:
    with pytest.raises(ModelError, match="evidence"):
        random_decider.decide(TEXT, QUESTIONS, evidence=True)
    with pytest.raises(InputError, match="evidence"):
        random_decider.decide(TEXT, QUESTIONS, evidence="yes")


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab 5€é\n.[]F:\t$-"), min_size=1).filter(str.strip))
def test_line_spans_cut_the_prompt_into_its_lines(text: str) -> None:
    tokenizer = _tokenizer()
    material = read_material(text)
    facts = (*derive_facts(material.text), *derive_facts("On 3 May 2024 and 4 May 2024."))
    prompt = Prompter(tokenizer)
    tokens = prompt.material(material, facts)
    sentences, told = prompt.line_spans(material, facts)
    assert [tokenizer.decode(tokens[a:b]) for a, b in told] == [f"F{i} {fact.text}\n" for i, fact in enumerate(facts, 1)]
    assert len(sentences) == len(material.sentences)
    whole = "".join(tokenizer.decode(tokens[a:b]) for a, b in sentences)
    assert whole == tokenizer.decode(tokens).partition(HEADER)[2].partition("Facts:\n")[0] or "Facts:" in text


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer(SHIPPED / "clover-mini" / "tokenizer.json")
