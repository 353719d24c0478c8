"""The benchmark's generators: gold, gates, wording of its own, and no way into training."""

from __future__ import annotations

import ast
import datetime as dt
import hashlib
import json
import random
import re
import string
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from clover_linked import causal
from clover_linked.build import RECIPES, STRUCTURES, build, packed, packed_evidence
from clover_linked.cases import Draw, Structure
from clover_linked.compose import Order, Unfit, ambiguous, single, twins
from clover_linked.gates import check
from clover_linked.graph import ancestors, ans, choose, execute, fact, holding, op, shape_hash
from clover_linked.second import answer as second_answer
from clover_linked.wording import FOLDER, Days, Money, written
from clover_train.groups import PHRASES
from tests.conftest import ROOT
from tests.train.test_phrases import skeleton, strings

BRIEFS = FOLDER.parent / "briefs"
VAL_ONLY = {"contract.amend", "alert.window"}
KNOWN = {"contract.notice", "alert.count", "dispatch.units", "access.chain"}


@pytest.mark.parametrize("name", list(RECIPES))
def test_all_gates_pass(name: str) -> None:
    failed = [line for line in check(name).lines if not line[0]]
    assert not failed, failed


def test_the_causal_set_is_the_frozen_one_and_pairs_share_all_but_the_siblings() -> None:
    from clover_eval.sets import SETS

    rows = causal.build()
    assert packed(rows)[1] == SETS["linked-causal"].sha256
    pairs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        pairs.setdefault(row["pair"], []).append(row)
    for alone, along in pairs.values():
        key = alone["final"]
        assert alone["material"] == along["material"] and list(alone["questions"]) == [key]
        assert alone["questions"][key] == along["questions"][key] and alone["answers"][key] == along["answers"][key]
        assert f"depth {len(along['questions'])}" in along["slice"]


@pytest.mark.parametrize("name", list(RECIPES))
def test_the_shipped_evidence_is_what_the_recipe_gives(name: str) -> None:
    from clover_eval.datasets import read_content
    from clover_eval.sets import DATA

    shipped = read_content(DATA / f"{name}.evidence.jsonl.gz")
    assert packed_evidence(build(name))[1] == hashlib.sha256(shipped.encode()).hexdigest()


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.id)
def test_graph_and_second_evaluator_agree_on_fresh_worlds(structure: Structure) -> None:
    seed = random.randrange(10**6)
    for i in range(200):
        facts = structure.sample(Draw("val" if structure.id in VAL_ONLY else "test", f"{seed}/{i}"))
        first, second = execute(structure.graph, facts), second_answer(structure.id, facts)
        assert set(first) == set(second)
        for key, value in first.items():
            same = set(value) == second[key] if isinstance(value, list) else value == second[key]
            assert same, f"seed {seed}/{i}: {key} {value} {second[key]}"


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: s.id)
def test_no_rule_is_broken_by_gold_and_each_can_be_broken(structure: Structure) -> None:
    from clover_eval.rules import AnswerRule, holds
    from clover_linked.cases import plain

    split = "val" if structure.id in VAL_ONLY else "test"
    worlds = [structure.sample(Draw(split, f"rules/{i}")) for i in range(60)]
    answers = [{key: plain(value) for key, value in execute(structure.graph, facts).items()} for facts in worlds]
    for facts, own in zip(worlds[:20], answers, strict=False):
        for rule in structure.rules(facts):
            checked = AnswerRule(rule.text, rule.schema)
            assert holds(checked, own), rule.text
            # Values of other worlds and those that the rule names, put together: a rule that none of them breaks says nothing.
            rng = random.Random(rule.text)
            named = [json.loads(v) for v in re.findall(r'"[^"]*"|-?\d+(?:\.\d+)?|true|false', json.dumps(rule.schema))]
            named += [v + 1 for v in named if isinstance(v, (int, float)) and not isinstance(v, bool)]
            pool = {key: [*(other[key] for other in answers), *named * 4] for key in sorted(rule.about)}
            # The condition is made true where it names values, so that what follows from it can be broken.
            given = {key: schema["const"] for key, schema in rule.schema["if"]["properties"].items() if "const" in schema}
            mixed = [{**own, **{key: rng.choice(values) for key, values in pool.items()}, **given} for _ in range(200)]
            mixed += [{**own, **{key: rng.choice(values) for key, values in pool.items()}} for _ in range(200)]
            assert any(not holds(checked, wrong) for wrong in mixed), rule.text


def test_shapes_tell_structures_apart_and_names_do_not() -> None:
    assert len({shape_hash(s.graph) for s in STRUCTURES}) == len(STRUCTURES)
    graph = {"a": op("gt", fact("x"), 3), "b": choose((ans("a"), "p"), otherwise="q")}
    renamed = {"m": choose((ans("n"), "r"), otherwise="s"), "n": op("gt", fact("y"), 7)}
    assert shape_hash(graph) == shape_hash(renamed) != shape_hash({"a": op("lt", fact("x"), 3), "b": graph["b"]})
    rows = build("linked-500")
    assert {row["structure"] for row in rows if row["slice"].startswith("known")} == KNOWN
    assert not {row["shape"] for row in rows if row["slice"] == "new structure"} & {
        shape_hash(s.graph) for s in STRUCTURES if s.id in KNOWN
    }


def test_execution_by_hand() -> None:
    graph = {
        "days": op("days", fact("from"), fact("to")),
        "late": op("gt", ans("days"), 10),
        "fee": choose((ans("late"), op("percent", fact("price"), 15)), otherwise=0),
        "holds": holding(is_late=ans("late"), is_cheap=op("lt", fact("price"), 50)),
    }
    facts = {"from": dt.date(2028, 2, 20), "to": dt.date(2028, 3, 2), "price": 33}
    found = execute(graph, facts)
    assert (found["days"], found["late"], str(found["fee"]), found["holds"]) == (11, True, "4.95", ["is late", "is cheap"])
    assert ancestors(graph, "fee") == {"late", "days"} and ancestors(graph, "days") == frozenset()


@pytest.mark.parametrize("split", ["test", "val"])
def test_no_skeleton_or_name_of_the_benchmark_occurs_in_training_text(split: str) -> None:
    def texts(path: Path) -> list[str]:
        return list(strings(yaml.safe_load(path.read_text())))

    own = {skeleton(t) for path in (FOLDER / split).glob("*.yaml") if path.stem != "names" for t in texts(path)}
    others = [*PHRASES.rglob("*.yaml"), *(p for p in FOLDER.rglob("*.yaml") if p.parent.name != split)]
    known = {skeleton(t) for path in others if path.stem != "names" for t in texts(path)}
    shared = sorted(s for s in own & known if len(s.split()) > 1)
    assert not shared, f"{len(shared)} skeletons"
    names = {n.lower() for n in texts(FOLDER / split / "names.yaml")}
    known_names = {n.lower() for path in others if path.stem == "names" for n in texts(path)}
    assert not names & known_names, f"{len(names & known_names)} names"


@pytest.mark.parametrize("split", ["test", "val"])
def test_phrasebooks_keep_to_their_briefs(split: str) -> None:
    for path in (FOLDER / split).glob("*.yaml"):
        if path.stem == "names":
            continue
        brief, book = yaml.safe_load((BRIEFS / path.name).read_text()), yaml.safe_load(path.read_text())
        for part, clauses in book.items():
            wanted = (
                brief["shared"]
                if part == "shared"
                else brief["structures"][part]["clauses"]
                | {f"q_{key}": value for key, value in brief["structures"][part]["questions"].items()}
            )
            assert set(clauses) == set(wanted), (path.name, part)
            for key, phrasings in clauses.items():
                fields = wanted[key]["fields"]
                needed = {f for f in fields if not f.startswith("?")}
                assert len(set(phrasings)) == len(phrasings) >= (6 if key.startswith("q_") else 9)
                for text in phrasings:
                    named = {name for _, name, _, _ in string.Formatter().parse(text) if name}
                    assert needed <= named <= {f.strip("?") for f in fields}, (path.name, key, text)


def test_training_code_neither_imports_nor_reads_the_benchmark() -> None:
    for path in (ROOT / "train" / "clover_train").rglob("*.py"):
        source = path.read_text()
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(source))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        }
        assert not imported & {"clover_linked", "clover_eval"}, path
        assert "clover_linked" not in source and '"linked"' not in source, path
    # Nor could it in an installation: the package is on no path of it.
    code = "from importlib.util import find_spec; print(find_spec('clover_train') is not None, find_spec('clover_linked'))"
    assert _output(code, PYTHONPATH=str(ROOT / "train")).split() == ["True", "None"]


def _output(code: str, **env: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/", env=env).stdout


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    code = "from clover_linked.build import build, packed; print(packed(build('linked-val'))[1])"
    path = ":".join(str(ROOT / p) for p in ("train/linked", "train", "eval", "engine", "."))
    runs = [_output(code, PYTHONPATH=path, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    assert runs[0] == runs[1]


def test_twins_differ_in_one_sentence_and_some_answers() -> None:
    made = 0
    for i in range(30):
        try:
            a, b = twins(Order(STRUCTURES[0], "val", "x", f"twins/{i}", 5))
        except Unfit:
            continue
        made += 1
        sentences = [Counter(re.split(r"(?<=[.!?])\s+", row["material"])) for row in (a, b)]
        assert a["questions"] == b["questions"]
        assert 1 <= sum((sentences[0] - sentences[1]).values()) <= 4
        changed = sum(a["answers"][key] != b["answers"][key] for key in a["answers"])
        assert 0 < changed < len(a["answers"])
    assert made > 10


def test_an_ambiguous_case_names_its_worlds_and_their_marginals_disagree() -> None:
    for structure in STRUCTURES:
        if structure.unsure is None or structure.id in VAL_ONLY:
            continue
        row = next(made for i in range(50) if (made := _try(structure, i)) is not None)
        worlds = row["worlds"]
        assert sum(w["probability"] for w in worlds) == pytest.approx(1.0)
        assert row["answers"] in [w["answers"] for w in worlds]
        for share in (round(100 * w["probability"]) for w in worlds):
            assert str(share) in row["material"]
        # The favourite of each question alone is not the assignment of any one world.
        favourites = {key: _favourite(key, worlds) for key in row["answers"]}
        assert favourites not in [w["answers"] for w in worlds], structure.id


def _try(structure: Structure, i: int) -> dict[str, Any] | None:
    try:
        return ambiguous(Order(structure, "test", "ambiguous", f"open/{i}", 4))
    except Unfit:
        return None


def _favourite(key: str, worlds: list[dict[str, Any]]) -> Any:
    shares: dict[str, float] = {}
    for world in worlds:
        shown = json.dumps(world["answers"][key])
        shares[shown] = shares.get(shown, 0.0) + world["probability"]
    return json.loads(max(shares, key=lambda shown: shares[shown]))


def test_a_quoted_name_that_is_not_in_the_text_makes_another_seed() -> None:
    made = 0
    for i in range(40):
        try:
            row = single(Order(STRUCTURES[0], "val", "x", f"quotes/{i}", 8))
        except Unfit:
            continue
        made += 1
        for key, question in row["questions"].items():
            if question["type"] == "quote":
                assert row["answers"][key] in row["material"]
    assert made > 20


@pytest.mark.parametrize("value", [dt.date(2031, 11, 3), Money(1250), Days(30), 7, "frost"])
def test_formats_read_one_way(value: Any) -> None:
    from clover_decide import derive_facts

    for i in range(30):
        shown = written(value, random.Random(i))
        match value:
            case dt.date():
                facts = derive_facts(f"It happened on {shown} there.")
                assert [f.value for f in facts if f.kind == "date"] == [value.isoformat()], shown
            case Money():
                assert re.sub(r"[^\d]", "", shown) == "1250"
            case Days():
                assert "30" in shown or "thirty" in shown
            case _:
                assert shown == str(value)
