"""Rows of public labelled groups (`clover_eval.public`), for those whose licence allows training. Their training halves only.

Nobody on the project wrote these texts. There is no guide to them, so they teach through their answers alone.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import Prompter
from clover_decide.questions import AnyQuestion, Date
from clover_decide.slots import quote_source
from clover_engine.tokenizer import Tokenizer
from clover_eval.public import load_public
from clover_train.groups import Guide, World
from clover_train.rows import Row, RowBuilder

LONGEST = 2500
"""Characters of a material: longer ones take too much of a batch."""
ALLOWED = frozenset({"orsharc", "cvss_advisories", "sgd_requests", "contractnli", "zebra", "knights"})
"""The sets, by the name of their folder, whose licence allows training."""


def load(paths: Sequence[Path]) -> list[tuple[str, World]]:
    """Materials and groups.

    Raises:
        ValueError: a file other than dev.jsonl of a set whose licence allows training, or nothing short enough in them.
        FormatError: no file of labelled groups.
    """
    for path in paths:
        if path.name != "dev.jsonl" or path.parent.name not in ALLOWED:
            raise ValueError(f"{path} is not to be trained on; accepted: dev.jsonl of {', '.join(sorted(ALLOWED))}")
    groups = [(path.parent.name, group) for path in paths for group in load_public(path).groups]
    found = [
        (group.material, _world(name, group.id, group.questions.questions, group.answers))
        for name, group in groups
        if len(group.material) <= LONGEST
    ]
    if paths and not found:
        raise ValueError(f"no material of at most {LONGEST} characters in {paths[0]}")
    return found


def _world(name: str, structure: str, questions: Mapping[str, AnyQuestion], answers: Mapping[str, Any]) -> World:
    nothing = dict.fromkeys(questions, frozenset[str]())
    typed = {key: dt.date.fromisoformat(answers[key]) if isinstance(q, Date) else answers[key] for key, q in questions.items()}
    return World(name, structure, {}, (), questions, typed, nothing, frozenset(), Guide(dict.fromkeys(questions, ()), {}, {}))


def row(builder: RowBuilder, tokenizer: Tokenizer, material: str, world: World, rng: random.Random) -> Row:
    """A group asked jointly, at most a block of eight in any order, and one of its questions alone."""
    read = read_material(material)
    prompt = Prompter(tokenizer).material(read, derive_facts(read.text))
    keys = rng.sample(sorted(world.questions), min(8, len(world.questions)))
    source = quote_source(read, tokenizer)
    branches = tuple(builder.branch(world, asked, lambda step: None, source) for asked in (keys, [rng.choice(keys)]))
    return Row(tuple(prompt), branches, ((), ()), ((), ()))
