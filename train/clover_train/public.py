"""Rows of public labelled groups (a JSON object a line, see docs/evaluation.md), for those whose licence allows training.

Their training halves only. Nobody on the project wrote these texts. There is no guide to them, so they teach through their answers alone.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import Prompter
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, Number, Text
from clover_decide.slots import quote_source
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import Guide, World
from clover_train.rows import Row, RowBuilder

LONGEST = 5500
"""Characters of a material: longer ones take too much of a batch."""
HELD_OUT = 5
"""Of so many materials, by a checksum of their text, one is kept for choosing and not trained on. One text is in one part alone; texts
that share a part, such as a rule, may be in both, so what is found there flatters."""
TIME = r"([01]\d|2[0-3]):[0-5]\d"
ALLOWED = frozenset({"orsharc", "cvss_advisories", "sgd_requests", "contractnli", "zebra", "knights"})
"""The sets, by the name of their folder, whose licence allows training."""


def load(paths: Sequence[Path]) -> list[tuple[str, World]]:
    """Materials and groups.

    Raises:
        KeyError, ValueError: no file of labelled groups; a file other than dev.jsonl of a set whose licence allows training, or nothing
            short enough in them.
    """
    for path in paths:
        if path.name != "dev.jsonl" or path.parent.name not in ALLOWED:
            raise ValueError(f"{path} is not to be trained on; accepted: dev.jsonl of {', '.join(sorted(ALLOWED))}")
    lines = [(path.parent.name, line) for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    rows = [(name, json.loads(line)) for name, line in lines]
    rows = [(name, row) for name, row in rows if len(row["material"]) <= LONGEST and not held_out(row["material"])]
    found = [(row["material"], _world(name, row)) for name, row in rows]
    if paths and not found:
        raise ValueError(f"no material of at most {LONGEST} characters that is not kept for choosing in {paths[0]}")
    return found


def held_out(material: str) -> bool:
    """Whether groups about this text are for choosing."""
    return zlib.crc32(material.encode()) % HELD_OUT == 0


def _world(name: str, row: Mapping[str, Any]) -> World:
    questions = {q["id"]: _question(q) for q in row["questions"]}
    answers = {
        key: dt.date.fromisoformat(row["answers"][key]) if isinstance(q, Date) else row["answers"][key] for key, q in questions.items()
    }
    guide, nothing = Guide(dict.fromkeys(questions, ()), {}, {}), dict.fromkeys(questions, frozenset[str]())
    return World(name, row["id"], {}, (), questions, answers, nothing, frozenset(), guide)


def _question(q: Mapping[str, Any]) -> AnyQuestion:
    """As `clover_eval.public` asks it, which is not used here: the benchmark lies beside it, and training must not see that."""
    match q["type"]:
        case "boolean":
            return Boolean(q["text"])
        case "choice":
            return Choice(q["text"], options=q["options"])
        case "integer":
            return Integer(q["text"])
        case "number":
            return Number(q["text"])
        case "score":
            return Number(q["text"], minimum=0.0, maximum=10.0, decimals=1)
        case "date":
            return Date(q["text"])
        case "time":
            return Text(q["text"], pattern=TIME)
        case other:
            raise ValueError(f"unknown question type {other!r}")


def row(builder: RowBuilder, tokenizer: Tokenizer, material: str, world: World, rng: random.Random) -> Row:
    """A group asked jointly, at most a block of eight in any order, and one of its questions alone."""
    read = read_material(material)
    prompt = Prompter(tokenizer).material(read, derive_facts(read.text))
    keys = rng.sample(sorted(world.questions), min(8, len(world.questions)))
    source = quote_source(read, tokenizer)
    branches = tuple(builder.branch(world, asked, lambda step: None, source) for asked in (keys, [rng.choice(keys)]))
    return Row(tuple(prompt), branches, ((), ()), ((), ()))
