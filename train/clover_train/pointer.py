"""Fit how the heads that point to evidence are read, and write it into the config of an exported model.

    python -m clover_train.pointer engine/clover_engine/weights/clover-mini

A logistic regression over the sentences of materials of training wording. Prints precision and recall on validation wording.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import torch
import torch.nn.functional as F

from clover_decide.evidence import targets_of
from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.planning import make_plan
from clover_decide.question_base import MAX_GROUP
from clover_decide.question_set import read_questions
from clover_engine.engine import Engine, RowRequest, load_engine
from clover_engine.pointing import features_of
from clover_train.groups import Group, Split, World, compose
from clover_train.stream import families, worlds


def sentences(engine: Engine, split: Split, count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features (N, 3) and whether it shows the answer (N,), for each sentence and question of `count` groups."""
    features: list[torch.Tensor] = []
    labels: list[torch.Tensor] = []
    for world, group in _groups(split, count, seed):
        material = read_material(group.material)
        facts = derive_facts(material.text)
        plan = make_plan(engine.tokenizer, engine.spec, material, facts, read_questions(dict(group.questions)))
        block, targets = plan.blocks[0], targets_of(engine, plan)
        state = engine.state(plan.prefix, RowRequest(block.asking, block.canvas))
        for key, found in zip(block.keys, features_of(engine.adapter, state, block.canvas, targets), strict=True):
            clauses = [world.clauses[name] for name in world.shown.get(key, world.needs[key])]
            spans = [(at, at + len(clause)) for clause in clauses if (at := group.material.index(clause)) >= 0]
            shown = [any(a < end and start < b for a, b in spans) for start, end in material.sentences]
            features.append(found)
            labels.append(torch.tensor(shown, dtype=torch.float32))
    return torch.cat(features), torch.cat(labels)


def _groups(split: Split, count: int, seed: int) -> Iterator[tuple[World, Group]]:
    rng = random.Random(f"pointer-{split}-{seed}")
    chosen = families(split)
    for family in chosen:
        for world in worlds(seed, split, count // len(chosen), family):
            keys = rng.sample(list(world.questions), min(len(world.questions), MAX_GROUP))
            yield world, compose(rng, world, keys, complete=True, distractors=rng.randint(0, 20), first=rng.random())


def fit(features: torch.Tensor, labels: torch.Tensor) -> tuple[tuple[float, float, float], float]:
    """Weights and bias of the logistic function."""
    parameters = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(features @ parameters[:3] + parameters[3], labels)
        value.backward()
        return value

    optimizer.step(loss)  # pyright: ignore[reportArgumentType] - the stub wants a float, LBFGS takes the loss
    first, second, third, bias = parameters.tolist()
    return (first, second, third), bias


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--count", type=int, default=100, help="groups to fit to")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    engine = load_engine(args.model, dtype="bfloat16")
    assert engine.spec.pointer is not None, "exported without heads that point"
    weights, bias = fit(*sentences(engine, "train", args.count, args.seed))
    pointer = replace(engine.spec.pointer, weights=weights, bias=bias)
    path = args.model / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "spec": {**config["spec"], "pointer": asdict(pointer)}}, indent=2) + "\n")
    features, labels = sentences(engine, "val", args.count // 2, args.seed)
    listed = (features @ torch.tensor(weights) + bias) > 0
    both = (listed & (labels > 0)).sum()
    print(f"validation wording: precision {both / listed.sum():.3f}, recall {both / labels.sum():.3f}")


if __name__ == "__main__":
    main()
