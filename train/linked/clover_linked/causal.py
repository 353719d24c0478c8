"""The causal slice: one final question, asked alone and with the questions it builds on, over chains of one to six steps."""

from __future__ import annotations

import random
from typing import Any

from clover_linked.cases import Ask, Draw, Rule, Structure, is_, plain, rule
from clover_linked.compose import question, text
from clover_linked.graph import Graph, ans, execute, fact, op, shape_hash
from clover_linked.structures.access import PERSON, chain_clauses, chain_facts
from clover_linked.wording import Writer

DEPTHS = range(1, 7)
A_DEPTH = 25
_WORDS = ("one", "two", "three", "four", "five", "six")
_STEPS = ("manager", "second", "third")


def key_of(step: int) -> str:
    """The id of the question that is so many steps up."""
    return _STEPS[step - 1] if step <= len(_STEPS) else f"above{step}"


def _graph(depth: int) -> Graph:
    below = {step: fact("a") if step == 1 else ans(key_of(step - 1)) for step in range(1, depth + 1)}
    return {key_of(step): op("lookup", fact("boss"), start) for step, start in below.items()}


def _ask(step: int) -> Ask:
    if step <= len(_STEPS):
        return PERSON
    return Ask(PERSON.type, PERSON.fields, PERSON.options, key="above", words={"steps": _WORDS[step - 1]})


def _structure(depth: int) -> Structure:
    return Structure(
        domain="access",
        name="chain",
        graph=_graph(depth),
        asks={key_of(step): _ask(step) for step in range(1, depth + 1)},
        sample=lambda d: chain_facts(d, length=8, steps=depth),
        clauses=chain_clauses,
        rules=lambda f: _rules(depth, f),
        edits=(),
        distance=lambda f: None,
    )


def _rules(depth: int, facts: Any) -> list[Rule]:
    steps = [(key_of(step), key_of(step + 1)) for step in range(1, depth)]
    return [rule(f"above {a} stands {b}", {low: is_(a)}, {high: is_(b)}) for low, high in steps for a, b in facts["boss"].items()]


def build() -> list[dict[str, Any]]:
    """For each depth, groups in pairs: `alone` has the final question only, `with` all questions on the way to it.

    The material is the same in both, and so is the wording of the final question.
    """
    rows: list[dict[str, Any]] = []
    for depth in DEPTHS:
        structure = _structure(depth)
        for number in range(A_DEPTH):
            seed = f"linked-causal/{depth}/{number}"
            draw = Draw("test", seed)
            facts = {**structure.sample(draw), "anchor": draw.anchor}
            writer = Writer("test", structure.domain, structure.name, seed)
            material = text(structure, facts, writer, seed)
            asks = {key: question(structure.asks[key], key, facts, writer, seed) for key in structure.graph}
            gold = {key: plain(value) for key, value in execute(structure.graph, facts).items()}
            keys = list(structure.graph)
            random.Random(f"{seed}/order").shuffle(keys)
            for variant, asked in (("alone", [key_of(depth)]), ("with", keys)):
                rows.append(
                    {
                        "id": f"causal-{depth}-{number:02}-{variant}",
                        "pair": f"causal-{depth}-{number:02}",
                        "domain": structure.domain,
                        "slice": f"depth {depth}, {variant}",
                        "structure": f"access.chain-{depth}",
                        "shape": shape_hash(structure.graph),
                        "final": key_of(depth),
                        "material": material,
                        "questions": {key: asks[key][0] for key in asked},
                        "answers": {key: gold[key] for key in asked},
                        "rules": [{"text": r.text, "schema": r.schema} for r in structure.rules(facts) if r.about <= set(asked)],
                        "paraphrases": {key: asks[key][1] for key in asked},
                        "templates": dict(writer.used),
                        "facts": facts,
                    }
                )
    return rows
