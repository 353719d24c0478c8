"""The search over fillings against enumeration: random models, slots and constraints, by brute force."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

import pytest

from clover_engine.canvas import Canvas, Slot
from clover_engine.constraint.automaton import TokenAutomaton
from clover_engine.constraint.builders import trie
from clover_engine.denoise import denoise
from clover_engine.joint import Budget, JointRead, NoAssignmentError, search
from clover_engine.product import likeliest
from tests.engine.fakes import PAD, PlantedAdapter

CASES = 510
EVERYTHING = Budget(rows=100_000, unread=0.0)
Strings = list[tuple[int, ...]]
Whole = tuple[tuple[int, ...], ...]


class Table:
    """Allowed assignments, listed."""

    def __init__(self, allowed: Sequence[Whole]) -> None:
        self.allowed = list(allowed)

    def related(self, slot: int) -> frozenset[int]:
        return frozenset(range(len(self.allowed[0]) if self.allowed else 1)) | {slot}

    def language(self, slot: int, filled: Mapping[int, tuple[int, ...]]) -> TokenAutomaton | None:
        return trie([a[slot] for a in self.allowed if all(a[s] == v for s, v in filled.items())])

    def possible(self, filled: Mapping[int, tuple[int, ...]]) -> bool:
        return any(all(a[s] == v for s, v in filled.items()) for a in self.allowed)


def random_problem(seed: int) -> tuple[PlantedAdapter, Canvas, list[Strings]]:
    """Two to four slots of one to three tokens over a model whose every logit depends on all that is visible."""
    rng = random.Random(seed)
    languages: list[Strings] = []
    slots, ids = list[Slot](), [0]
    for _ in range(rng.choice([2, 2, 3, 3, 4])):
        longest = rng.choice([1, 1, 2, 3])
        strings: Strings = [tuple(rng.randint(1, 4) for _ in range(rng.randint(1, longest))) for _ in range(rng.randint(2, 4))]
        languages.append(sorted(set(strings)))
        slots.append(Slot(len(ids), longest, trie(languages[-1])))
        ids += [0] * longest + [7]
    scale = rng.choice([0.5, 2.0, 5.0])

    @cache
    def logits(block: tuple[int, ...]) -> list[dict[int, float]]:
        draw = random.Random(f"{seed} {block}")
        return [{token: draw.gauss(0, scale) for token in (1, 2, 3, 4, PAD)} for _ in block]

    return PlantedAdapter(lambda block, position: logits(tuple(block))[position]), Canvas(tuple(ids), tuple(slots)), languages


def enumerate_all(adapter: PlantedAdapter, canvas: Canvas, languages: list[Strings], threshold: float) -> dict[Whole, float]:
    """Every assignment with its probability, from the description alone: no lattice, no tree."""
    padded = [[s + (PAD,) * (slot.length - len(s)) for s in strings] for slot, strings in zip(canvas.slots, languages, strict=True)]
    forced = [{i: strings[0][i] for i in range(len(strings[0])) if len({s[i] for s in strings}) == 1} for strings in padded]
    total = {whole: _probability(adapter, canvas, padded, forced, whole, threshold) for whole in product(*padded)}
    return {tuple(tuple(t for t in s if t != PAD) for s in whole): p for whole, p in total.items()}


def _probability(
    adapter: PlantedAdapter, canvas: Canvas, padded: list[Strings], forced: list[dict[int, int]], whole: Whole, threshold: float
) -> float:
    done = [0] * len(padded)
    probability = 1.0

    def skip(s: int) -> None:
        while done[s] in forced[s]:
            done[s] += 1

    for s in range(len(padded)):
        skip(s)
    begun: int | None = None
    while any(done[s] < len(padded[s][0]) for s in range(len(padded))):
        block = list(canvas.ids)
        for s, slot in enumerate(canvas.slots):
            for i in range(slot.length):
                known = whole[s][i] if i < done[s] else forced[s].get(i)
                block[slot.start + i] = 22 if known is None else known
        logits = [adapter.rule(block, p) for p in range(len(block))]

        def weight(s: int, string: tuple[int, ...], logits: list[dict[int, float]] = logits) -> float:
            return sum(logits[canvas.slots[s].start + i][t] for i, t in enumerate(string))

        def run(s: int) -> list[tuple[int, int, float]]:
            """(position, likeliest string's token, its probability) until one is not sure."""
            out: list[tuple[int, int, float]] = []
            prefix = whole[s][: done[s]]
            while len(prefix) < len(padded[s][0]):
                live = [x for x in padded[s] if x[: len(prefix)] == prefix]
                best = max(live, key=lambda x: weight(s, x))[len(prefix)]
                mass = sum(math.exp(weight(s, x)) for x in live)
                if len(prefix) not in forced[s]:
                    p = sum(math.exp(weight(s, x)) for x in live if x[len(prefix)] == best) / mass
                    out.append((len(prefix), best, p))
                    if not p > threshold:
                        break
                prefix = (*prefix, best)
            return out

        open_slots = [s for s in range(len(padded)) if done[s] < len(padded[s][0])]
        runs = {s: run(s) for s in open_slots}
        sure = sorted((s for s in open_slots if runs[s][-1][2] > threshold), key=lambda s: s != begun)
        if sure and begun in (None, sure[0]):
            plan = [(s, *piece) for s in sure for piece in runs[s]]
        else:
            chosen = begun if begun is not None else max(open_slots, key=lambda s: runs[s][0][2])
            pieces = [piece for piece in runs[chosen] if piece[2] > threshold] or runs[chosen][:1]
            plan = [(chosen, *piece) for piece in pieces]
        for s, position, best, _ in plan:
            live = [x for x in padded[s] if x[:position] == whole[s][:position]]
            mass = sum(math.exp(weight(s, x)) for x in live)
            probability *= sum(math.exp(weight(s, x)) for x in live if x[position] == whole[s][position]) / mass
            done[s] = position + 1
            skip(s)
            begun = s if done[s] < len(padded[s][0]) else None
            if whole[s][position] != best:
                break
    return probability


def find(read: JointRead) -> dict[Whole, float]:
    return {a.tokens: math.exp(a.log_probability) for a in read.assignments}


@pytest.mark.parametrize("threshold", [0.7, 0.95, 1.0])
def test_against_enumeration_of_random_problems(threshold: float) -> None:
    constrained = 0
    for seed in range(CASES // 3):
        adapter, canvas, languages = random_problem(seed)
        expected = enumerate_all(adapter, canvas, languages, threshold)
        assert sum(expected.values()) == pytest.approx(1.0, abs=1e-6), seed
        rng = random.Random(-seed)
        allowed = [whole for whole in expected if rng.random() < 0.5] if seed % 2 else list(expected)
        if not allowed:
            continue
        constrained += len(allowed) < len(expected)
        oracle = Table(allowed) if seed % 2 else None
        read = search(adapter, adapter.empty(), canvas, EVERYTHING, threshold=threshold, oracle=oracle)
        assert read.exact and read.optimal and read.unread == 0, seed
        ranked = sorted(((expected[a], a) for a in allowed), reverse=True)
        found = find(read)
        assert set(found) == set(allowed), seed
        for whole, p in found.items():
            assert p == pytest.approx(expected[whole], abs=1e-6), seed
        assert list(found.values())[:5] == pytest.approx([p for p, _ in ranked[:5]], abs=1e-6), seed
        assert read.kept == pytest.approx(sum(expected[a] for a in allowed), abs=1e-6), seed
        assert read.broken == pytest.approx(1 - read.kept, abs=1e-6), seed
        assert tuple(slot.tokens for slot in read.best.slots) == read.assignments[0].tokens, seed
    assert constrained > 40


def test_a_search_that_its_budget_stopped_is_never_called_exact() -> None:
    stopped = 0
    for seed in range(200):
        adapter, canvas, languages = random_problem(seed)
        expected = enumerate_all(adapter, canvas, languages, 0.95)
        for rows in (1, 2, 5):
            read = search(adapter, adapter.empty(), canvas, Budget(rows, 0.0), threshold=0.95)
            assert read.exact == (len(read.assignments) == len(expected)), (seed, rows)
            assert read.kept + read.unread == pytest.approx(1.0, abs=1e-6), (seed, rows)
            if read.optimal:
                assert math.exp(read.assignments[0].log_probability) == pytest.approx(max(expected.values()), abs=1e-6), (seed, rows)
            stopped += not read.exact
    assert stopped > 100


def test_it_stops_early_once_the_best_is_known_to_be_the_best() -> None:
    fewer = 0
    for seed in range(100):
        adapter, canvas, _ = random_problem(seed)
        everything = search(adapter, adapter.empty(), canvas, EVERYTHING, threshold=0.95)
        best = search(adapter, adapter.empty(), canvas, Budget(1000, 1.0, width=1), threshold=0.95)
        assert best.optimal and best.assignments[0].log_probability == pytest.approx(everything.assignments[0].log_probability), seed
        fewer += best.rows < everything.rows
    assert fewer > 80


def test_denoising_follows_the_tree_and_keeps_constraints() -> None:
    for seed in range(200):
        adapter, canvas, languages = random_problem(seed)
        expected = enumerate_all(adapter, canvas, languages, 0.95)
        read = denoise(adapter, adapter.empty(), [canvas], threshold=0.95)[0]
        tokens = tuple(slot.tokens for slot in read.slots)
        assert math.exp(read.log_probability) == pytest.approx(expected[tokens], abs=1e-6), seed
        allowed = [whole for whole in expected if random.Random(f"{seed} {whole}").random() < 0.3]
        if allowed:
            for one_pass in (False, True):
                kept = denoise(adapter, adapter.empty(), [canvas], threshold=0.95, oracle=Table(allowed), one_pass=one_pass)[0]
                assert tuple(slot.tokens for slot in kept.slots) in allowed, (seed, one_pass)


def test_one_pass_gives_the_likeliest_allowed_assignment_of_the_product() -> None:
    for seed in range(200):
        adapter, canvas, languages = random_problem(seed)
        padded = [[s + (PAD,) * (slot.length - len(s)) for s in strings] for slot, strings in zip(canvas.slots, languages, strict=True)]
        block = [22 if any(0 <= p - s.start < s.length for s in canvas.slots) else t for p, t in enumerate(canvas.ids)]
        for slot, strings in zip(canvas.slots, padded, strict=True):
            for i in range(slot.length):
                if len({s[i] for s in strings}) == 1:
                    block[slot.start + i] = strings[0][i]
        logits = [adapter.rule(block, p) for p in range(len(block))]
        weights = {w: sum(logits[canvas.slots[s].start + i][t] for s, x in enumerate(w) for i, t in enumerate(x)) for w in product(*padded)}
        allowed = [w for w in weights if random.Random(f"{seed} {w}").random() < 0.4]
        if not allowed:
            continue
        table = Table([tuple(tuple(t for t in s if t != PAD) for s in w) for w in allowed])
        adapter.seen.clear()
        found = likeliest(adapter, adapter.empty(), canvas, table, count=5)
        best = sorted(allowed, key=lambda w: -weights[w])[:5]
        assert [tuple(slot.tokens for slot in read.slots) for read in found] == [
            tuple(tuple(t for t in s if t != PAD) for s in w) for w in best
        ], seed
        assert adapter.seen == [1], seed


def test_constraints_that_nothing_keeps_are_told_apart_from_a_search_that_was_too_short() -> None:
    adapter, canvas, _ = random_problem(1)
    with pytest.raises(NoAssignmentError) as caught:
        search(adapter, adapter.empty(), canvas, Budget(50), threshold=0.95, oracle=Table([]))
    assert caught.value.exhausted


class Kind(Table):
    """Tells only at the very end: `language` restricts nothing and `possible` accepts everything incomplete."""

    def language(self, slot: int, filled: Mapping[int, tuple[int, ...]]) -> TokenAutomaton | None:
        return None

    def possible(self, filled: Mapping[int, tuple[int, ...]]) -> bool:
        return super().possible(filled) if len(filled) == len(self.allowed[0]) else True


def test_an_oracle_that_is_too_kind_costs_rows_but_no_wrong_answer() -> None:
    for seed in range(60):
        adapter, canvas, languages = random_problem(seed)
        expected = enumerate_all(adapter, canvas, languages, 0.95)
        allowed = random.Random(seed).sample(sorted(expected), max(1, len(expected) // 4))
        read = search(adapter, adapter.empty(), canvas, EVERYTHING, threshold=0.95, oracle=Kind(allowed))
        assert find(read) == pytest.approx({a: expected[a] for a in allowed}, abs=1e-6), seed
