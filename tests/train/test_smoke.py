"""The training recipe end to end on a tiny random base: run, kill and resume, export, answer."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from clover_decide import Decider, load_pack
from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import Prompter
from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
from clover_engine.tokenizer import Tokenizer
from clover_train.evidence import find_tokens, finder
from clover_train.groups import SUBJECT, Split, compose, later
from clover_train.packing import BUILD_COPY, BUILD_READ, COPY, IGNORE, LOOKUP, OWN, READ, RELATE, collate, masked_positions
from clover_train.rows import RowBuilder
from clover_train.stream import WORLDS, batches, cases, families, worlds
from tests.conftest import MASK, PAD


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    folder = tmp_path_factory.mktemp("base")
    torch.manual_seed(0)
    model = LlamaBlockDiffusion(LlamaConfig(hidden_size=288, layers=2))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, 0.05)
    save_file(model.state_dict(), folder / "base.safetensors")
    tokenizer._backend.save(str(folder / "tokenizer.json"))
    return folder


def train(base: Path, out: Path, steps: int, *extra: str) -> list[dict[str, float]]:
    command = [sys.executable, "-m", "clover_train.run", "--base", str(base), "--out", str(out), "--steps", str(steps)]
    options = ["--layers", "2", "--decay", "4", "--warmup", "2", "--lr", "3e-3", "--save-every", "4"]
    subprocess.run([*command, *options, *extra], check=True, timeout=240)
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_train_resume_export_answer(base: Path, tmp_path: Path) -> None:
    log = train(base, tmp_path / "whole", 8, "--wire")
    assert [entry["step"] for entry in log] == list(range(1, 9))
    assert log[-1]["loss_full"] < log[0]["loss_full"]
    # Stopped after 4 steps and resumed, the run goes on with the batches it would have seen.
    train(base, tmp_path / "cut", 4)
    resumed = train(base, tmp_path / "cut", 8, "--resume")
    for key in ("step", "groups", "tokens"):
        assert [e[key] for e in resumed] == [e[key] for e in log]
    export = [sys.executable, "-m", "clover_train.export", str(tmp_path / "whole"), str(base), str(tmp_path / "model"), "--batches", "1"]
    subprocess.run(export, check=True, timeout=120)
    decision = Decider(tmp_path / "model").decide(load_pack("contract").example, load_pack("contract").questions)
    assert set(decision.answers) == set(load_pack("contract").questions.questions)


def test_the_batch_stream_is_a_function_of_the_seed(tokenizer: Tokenizer) -> None:
    mask, pad = tokenizer.special(MASK), tokenizer.special(PAD)

    def ids(seed: int, start: int = 0) -> torch.Tensor:
        return next(batches(tokenizer, seed, mask, pad, start)).ids

    assert torch.equal(ids(0), ids(0))
    assert not torch.equal(ids(0), ids(1))
    stream = batches(tokenizer, 0, mask, pad)
    next(stream)
    assert torch.equal(next(stream).ids, ids(0, start=1))


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("family", list(WORLDS))
def test_targets_are_exactly_the_masked_slot_tokens(tokenizer: Tokenizer, family: str, number: int) -> None:
    mask, pad = tokenizer.special(MASK), tokenizer.special(PAD)
    rng = random.Random(3)
    builder = RowBuilder(tokenizer, pad, rng)
    rows = [builder.build(cases(family, "train", f"{i}", number)) for i in range(4)]
    batch = collate(rows, 3, mask, rng)
    assert torch.equal(batch.targets != IGNORE, batch.ids == mask)
    assert not (batch.targets == mask).any()
    assert batch.groups == 4 * number
    # Every branch has a fully masked copy, and in joint ones copies 1 and 2 together mask every slot at least once.
    slots = [(sum(length for _, length in branch.slots), len(branch.slots)) for row in rows for branch in row.branches]
    assert (batch.targets != IGNORE).sum().item() >= sum(size * (2 if many > 1 else 1) for size, many in slots)
    assert batch.full.sum().item() == sum(size for size, _ in slots)


def test_slots_that_are_begun_are_masked_from_somewhere_to_their_end() -> None:
    slots, begun = [(2, 1), (5, 10), (18, 5), (26, 12)], 0
    for seed in range(200):
        masked = set(masked_positions(slots, 1, random.Random(seed), []))
        parts = [sorted(masked & set(range(start, start + length))) for start, length in slots]
        assert masked == {p for part in parts for p in part} != set()
        runs = [part == list(range(part[0], start + length)) for part, (start, length) in zip(parts, slots, strict=True) if part]
        # A quarter of the copies masks any positions.
        begun += all(runs) and any(0 < len(part) < length for part, (_, length) in zip(parts, slots, strict=True))
        rest = masked_positions(slots, 2, random.Random(seed), sorted(masked))
        assert not masked & set(rest) or len(masked) == sum(length for _, length in slots)
    assert begun > 80, begun


def test_answers_point_at_the_clauses_that_show_them(tokenizer: Tokenizer) -> None:
    rng = random.Random(2)
    for family in WORLDS:
        (world,) = cases(family, "train", "pointing", 1)
        row = RowBuilder(tokenizer, tokenizer.special(PAD), rng).build([world])
        batch = collate([row], 2, tokenizer.special(MASK), rng)
        assert {p.row for p in batch.pointings if p.part == 1}
        for pointing in batch.pointings:
            branch = row.branches[pointing.part - 1]
            assert pointing.row >= len(branch.questions) - 1
            for start, end in pointing.spans:
                lines = re.findall(r"^\[\d+\] (.+)$", tokenizer.decode(row.material[start:end]), re.MULTILINE)
                # A sentence that ends in "min." runs on into the next clause.
                said = world.clauses.values()
                assert lines and all(line in " ".join(said) or any(one in line for one in said) for line in lines), lines


@pytest.mark.parametrize("number", [1, 3])
def test_no_position_sees_another_copy_case_or_later_question(tokenizer: Tokenizer, number: int) -> None:
    rng = random.Random(1)
    row = RowBuilder(tokenizer, tokenizer.special(PAD), rng).build(cases("contract", "train", "1", number))
    batch = collate([row], 3, tokenizer.special(MASK), rng)
    shared, *branches = batch.parts
    material = len(row.material)
    assert shared.sees is None
    assert torch.equal(shared.mask[0, 0], torch.ones(material, material, dtype=torch.bool).tril())
    for branch, part in zip(row.branches, branches, strict=True):
        q, b = len(branch.questions), len(branch.block)
        assert part.sees == 0
        assert torch.equal(part.mask[0, 0, :q], torch.ones(q, part.mask.shape[3], dtype=torch.bool).tril(material))
        for k in range(branch.copies(3)):
            seen = torch.zeros(part.mask.shape[3], dtype=torch.bool)
            seen[: material + q] = True
            seen[material + q + k * b : material + q + (k + 1) * b] = True
            assert torch.equal(part.mask[0, 0, q + k * b : q + (k + 1) * b], seen.expand(b, -1))


def test_cases_of_a_row_share_their_rules_and_read_as_whole_prompts(tokenizer: Tokenizer) -> None:
    """Shared text plus branch is the prompt inference builds: one material, its facts, the questions."""
    row = RowBuilder(tokenizer, tokenizer.special(PAD), random.Random(4)).build(cases("alert", "train", "9", 3))
    assert len(row.branches) == 3 and len(row.material) > 80
    for branch in row.branches:
        text = tokenizer.decode([*row.material, *branch.questions])
        assert text.count("Material:") == text.count("Questions:") == text.count("<|im_start|>user") == 1


def flat(text: str) -> str:
    """A clause may be several lines, the sentences of a material are not."""
    return " ".join(text.split())


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("family", list(WORLDS))
def test_looks_point_at_evidence_subjects_and_visible_answers(tokenizer: Tokenizer, family: str, number: int) -> None:
    rng = random.Random(6)
    kinds: set[str] = set()
    steps_seen: set[int] = set()
    for seed in range(8):
        group = cases(family, "train", f"looks-{seed}", number)
        row = RowBuilder(tokenizer, tokenizer.special(PAD), rng).build(group)
        batch = collate([row], 3, tokenizer.special(MASK), rng)
        clauses = " ".join(flat(text) for case in group for text in case.clauses.values())
        ends = [len(row.material), *(part.mask.shape[2] for part in batch.parts[1:])]
        for look in batch.looks:
            steps_seen.add(look.step)
            branch, start = row.branches[max(0, look.part - 1)], sum(ends[: look.part])
            own = batch.ids[0, start : start + ends[look.part]].tolist()
            seen = [*row.material, *own] if look.part else own
            assert batch.parts[look.part].mask[0, 0, look.row, slice(*look.span)].all(), "a look at what cannot be seen"
            text = tokenizer.decode(seen[slice(*look.span)])
            if look.step == COPY:
                kinds.add("copied")
                answers = [branch.block[slot : slot + width] for slot, width in branch.slots]
                at = (look.row - len(branch.questions)) % len(branch.block)
                owed = [branch.block[at + 1]] if look.row >= len(branch.questions) else [answer[0] for answer in answers]
                ended = owed == [tokenizer.special(PAD)]
                # The first token of a reference has no space before it, as that in the text has.
                read = {tokenizer.decode([token]).strip().lower() for token in owed}
                assert not text.strip().isdigit() if ended else text.strip().lower() in read, text
                continue
            in_block = look.part > 0 and look.row >= len(branch.questions)
            if look.step == OWN:
                kinds.add("own question")
                assert in_block and text == "\n"
                asked = tokenizer.decode(seen[: look.span[0]]).rsplit("\n", 1)[-1]
                answered = tokenizer.decode(own[len(branch.questions) : look.row + 1]).rsplit("\n", 1)[-1]
                assert asked.split(".")[0] == answered.split(":")[0]
                continue
            if lines := re.findall(r"^(?:\[\d+\]|F\d+) (.+)$", text, re.MULTILINE):
                kinds.add("fact" if text.startswith("F") else "clause")
                # A sentence that ends in "min." runs on into the next clause; in books of many hands a signature may, into one of
                # several sentences.
                parts = r"(?<=[.!?])\s" if family in ("scenario", "board", "tool") else r"(?!)"
                said = [part for case in group for text in case.clauses.values() for part in re.split(parts, flat(text))]
                assert text.startswith("F") or all(flat(line) in clauses or any(one in line for one in said) for line in lines), text
            elif look.span[0] >= len(row.material) + len(branch.questions):
                kinds.add("answer")
                assert in_block
                assert tokenizer.special(MASK) not in seen[slice(*look.span)]
            else:
                kinds.add("name, number or date")
                steps = [step for case in group for steps in case.guide.evidence.values() for step in steps]
                named = {(case.guide.subject or [""])[0] for case in group} | {step.partition("#")[2] for step in steps}
                # A name that begins a sentence has a capital there.
                assert look.step in (LOOKUP, RELATE) or text.strip() in named | {name[:1].upper() + name[1:] for name in named}, text
            at = (look.row - len(branch.questions)) % len(branch.block)
            if in_block:
                assert any(slot <= at + (look.step != LOOKUP) < slot + width for slot, width in branch.slots)
            elif look.step == RELATE:
                assert text.strip() in clauses
            elif look.step != LOOKUP:
                assert branch.questions[look.row] == tokenizer.encode_cached("\n")[0]
    assert {"clause", "answer", "own question"} <= kinds
    wanted = {"chain": {LOOKUP, READ, RELATE, BUILD_COPY}, "dispatch": {LOOKUP, COPY, RELATE}}
    assert wanted.get(family, set()) | {OWN, BUILD_READ} <= steps_seen


def test_a_number_is_not_found_inside_a_longer_one(tokenizer: Tokenizer) -> None:
    tokens, digits = tokenizer.encode("limits 8, 18 and 80"), frozenset(tokenizer.encode_cached(d)[0] for d in "0123456789")
    eight = tokenizer.encode_cached("8")
    span = find_tokens(tokens, eight, 0, len(tokens), digits)
    assert span is not None and tokenizer.decode(tokens[: span[1]]) == "limits 8"
    assert find_tokens(tokens, eight, span[1], len(tokens), digits) is None


def test_the_later_mention_of_a_sentence_is_the_one_that_has_seen_both() -> None:
    assert later("c", "Ray manages Paul.", "Ray", "Paul") == "c#Paul"
    assert later("c", "Paul reports to Ray.", "Ray", "Paul") == "c#Ray"


@pytest.mark.parametrize("split", ["train", "val", "heldout"])
@pytest.mark.parametrize("family", families("val"))
def test_every_step_of_evidence_is_found_in_a_complete_material(tokenizer: Tokenizer, family: str, split: Split) -> None:
    prompter, underived = Prompter(tokenizer), 0
    for world in worlds(3, split, 40, family):
        assert set(world.guide.evidence) == set(world.questions)
        group = compose(random.Random(1), world, list(world.questions), complete=True, distractors=2)
        material = read_material(group.material)
        facts = derive_facts(material.text)
        find = finder(tokenizer, world, prompter.material(material, facts), material, facts)
        steps = {step for steps in world.guide.evidence.values() for step in steps} - {SUBJECT}
        steps |= {*world.guide.next_step.values(), *world.guide.copies.values()}
        steps |= {step for pair in (*world.guide.relations, *world.guide.same) for step in pair}
        missed = {step for step in steps if not find(step)}
        # Counts that stand apart from what they count, in every sentence, are not compared.
        apart = {step for step in missed if step.partition("#")[0] not in world.clauses and family == "alert"}
        assert missed == apart
        underived += bool(apart)
    assert underived <= 4
