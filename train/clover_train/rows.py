"""Training rows: a material, and branches that ask something about it, packed under one attention mask.

A branch is what follows the shared text: the rest of a case's material, its question set, and noisy copies of its
answer block. Shared tokens are paid for once. A row holds either one case, asked jointly and one question of it alone,
which keeps joint and independent answering equally in distribution; or several cases under the same rules, each asked
jointly, so that one update contrasts what differs between them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import Codes, Prompter, answer_text, assign_codes, code_letters, question_lines, slot_width
from clover_decide.question_base import Option
from clover_decide.questions import AnyQuestion, Boolean, Choice, Integer, MultiChoice, Quote, Score, Text
from clover_decide.slots import QuoteSource, quote_source
from clover_engine.tokenizer import Tokenizer
from clover_train.evidence import Finder, Span, find_tokens, finder
from clover_train.groups import SUBJECT, World, compose

EASY = frozenset({"damage", "critical_asset", "count", "days", "patients"})
"""Questions of the first families that were learned early, and then asked less often."""
UNKNOWN = 0.06
"""Share of cases in which a clause is left out that closed questions need: the answers stay as drawn, so the loss teaches doubt."""
VERBATIM = 0.92
"""Share of choices and scores whose codes are the options' own tokens, where those allow it."""


@dataclass(frozen=True)
class Branch:
    """Tokens up to the end of the questions, the clean answer block after them, and the (start, length) of its slots.

    For the auxiliary losses, question by question: `hints` are (position within `questions`, token), the end of the
    question's line and the first token of its answer; `evidence` are token spans of the prompt to look at, step by
    step; `subjects` is where, within `questions`, the question names whom it is about, `lookup` the token of the prompt where that
    name is looked up, and `looked_up` whether the answer is what is found there; `builds` are the slots of the block that its answer
    follows from, each with whether it repeats that answer, and `next_steps` the tokens where its answer is looked up for others.
    `copied` is the span of the prompt that an answer is copied from, and `shown` are those of the sentences that show it.
    """

    questions: tuple[int, ...]
    block: tuple[int, ...]
    slots: tuple[tuple[int, int], ...]
    hints: tuple[tuple[int, int], ...]
    evidence: tuple[tuple[Span, ...], ...]
    subjects: tuple[Span | None, ...]
    lookup: Span | None
    looked_up: tuple[bool, ...]
    builds: tuple[tuple[tuple[int, bool], ...], ...]
    next_steps: tuple[Span | None, ...]
    copied: tuple[Span | None, ...]
    shown: tuple[tuple[Span, ...], ...] = ()

    def copies(self, most: int) -> int:
        """Noisy copies worth making: a single slot has only one masking."""
        return 1 if len(self.slots) == 1 else most

    def after(self, text: Sequence[int]) -> Branch:
        """The same branch with text before its questions."""
        n = len(text)
        hints = tuple((n + at, token) for at, token in self.hints)
        subjects = tuple(span and (n + span[0], n + span[1]) for span in self.subjects)
        return replace(self, questions=(*text, *self.questions), hints=hints, subjects=subjects)

    def length(self, most: int) -> int:
        return len(self.questions) + self.copies(most) * len(self.block)


@dataclass(frozen=True)
class Row:
    """The tokens that all branches share, and the branches. One branch: the material; several: as far as they agree.

    `same` and `relations` have for each branch pairs of spans of its prompt, none twice: a mention in a fact and the one in
    the text it comes from; the later of two mentions that a sentence relates and the one looked for.
    """

    material: tuple[int, ...]
    branches: tuple[Branch, ...]
    same: tuple[tuple[tuple[Span, Span], ...], ...]
    relations: tuple[tuple[tuple[Span, Span], ...], ...]

    def tail(self, copies: int) -> int:
        return sum(branch.length(copies) for branch in self.branches)


class RowBuilder:
    """Groups to rows, with the shuffles that keep the model from leaning on positions or particular codes."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        pad_id: int,
        rng: random.Random,
        verbatim: float = VERBATIM,
        once: bool = False,
        shuffled: bool = True,
    ) -> None:
        self._tokenizer, self._pad, self._rng, self._verbatim, self._once = tokenizer, pad_id, rng, verbatim, once
        self._shuffled = shuffled
        self._letters = code_letters(tokenizer)
        self._prompter = Prompter(tokenizer)

    def build(self, cases: Sequence[World]) -> Row:
        """One row of one case, or of several under one setting."""
        rng = self._rng
        several, seed = len(cases) > 1, rng.random()
        complete = several or rng.random() < 0.7
        distractors = rng.choice([rng.randint(0, 3), rng.randint(0, 12), rng.randint(4, 30)])
        # What is shared is read once a row, so a row with several cases begins with most of it.
        first = rng.choice([1.0, rng.random()]) if several else rng.choice([0.0, 0.0, rng.random()])
        prompts: list[tuple[int, ...]] = []
        branches: list[Branch] = []
        same: list[list[tuple[Span, Span]]] = []
        relations: list[list[tuple[Span, Span]]] = []
        for case in cases:
            keys = self._keys(case)
            # The same seed shuffles the shared clauses of every case alike.
            order = random.Random(seed)
            left_out = self._unknown(case, keys)
            group = compose(order, case, keys, complete=complete, distractors=distractors, first=first, left_out=left_out)
            material = read_material(group.material)
            facts = derive_facts(material.text)
            prompts.append(tuple(self._prompter.material(material, facts)))
            find = finder(self._tokenizer, case, prompts[-1], material, facts)
            same.append(_both(find, case.guide.same))
            relations.append(_both(find, case.guide.relations))
            halves = rng.random() < 0.05
            source = quote_source(material, self._tokenizer)
            branches.append(self._split(case, keys, find, source) if halves else self.branch(case, keys, find, source))
            if not several:
                prompts.append(prompts[0])
                same.append([])
                relations.append([])
                branches.append(self.branch(case, [rng.choice(keys)], find, source))
        shared = _common(prompts)
        rest = [branch.after(prompt[shared:]) for prompt, branch in zip(prompts, branches, strict=True)]
        # What stands in the shared text was found in the first case already.
        new = [tuple(pair for pair in pairs if not i or pair[0][1] > shared) for i, pairs in enumerate(relations)]
        return Row(prompts[0][:shared], tuple(rest), tuple(map(tuple, same)), tuple(new))

    def _unknown(self, world: World, keys: Sequence[str]) -> str | None:
        """At times a clause of the case's own on which only closed answers rest: an open one could not be copied."""
        if self._rng.random() >= UNKNOWN:
            return None
        open_ = [key for key in keys if not isinstance(world.questions[key], (Boolean, Choice, Score, MultiChoice))]
        needed = frozenset().union(*(world.needs[key] for key in keys)) - world.rules - frozenset().union(*(world.needs[k] for k in open_))
        needed -= world.silent
        return self._rng.choice(sorted(needed)) if needed else None

    def _keys(self, world: World) -> list[str]:
        """5 questions or more, at most a block of 8, in random order; those learned early less often."""
        rng = self._rng
        spared = EASY if world.family in ("contract", "alert", "dispatch", "chain") else frozenset[str]()
        keys = [key for key in world.questions if key not in spared or rng.random() < 0.35]
        rng.shuffle(keys)
        chosen = keys[: rng.randint(min(5, len(keys)), min(8, len(keys)))]
        return chosen if self._shuffled else sorted(chosen, key=list(world.questions).index)

    def _split(self, world: World, keys: Sequence[str], find: Finder, source: QuoteSource) -> Branch:
        """Two blocks in turn: the later one reads the committed earlier one, as request groups do."""
        half = len(keys) // 2
        first, second = (self.branch(world, part, find, source) for part in (keys[:half], keys[half:]))
        before = (*first.questions, *first.block, *self._prompter.next_turn)
        later = second.after(before)
        # The earlier block is given; its questions are read all the same. Those of the slots come first.
        return replace(
            later,
            hints=(*later.hints, *first.hints),
            evidence=(*later.evidence, *first.evidence),
            subjects=(*later.subjects, *first.subjects),
        )

    def branch(self, world: World, keys: Sequence[str], find: Finder, source: QuoteSource) -> Branch:
        """Some questions of a world in a block of their own. `find` finds the steps of its guide in the prompt, `source` its quotes."""
        block: list[int] = []
        slots: list[tuple[int, int]] = []
        questions, codes, answers = list[AnyQuestion](), list[Codes | None](), list[tuple[int, ...]]()
        letters, orders = self._shuffled_letters(), dict[frozenset[Option], tuple[Option, ...]]()
        for number, key in enumerate(keys, 1):
            questions.append(self._vary(world.questions[key], orders))
            codes.append(self._codes(questions[-1], letters))
            answers.append(answer := self._answer(questions[-1], codes[-1], world.answers[key], source))
            width = slot_width(questions[-1])
            block += self._tokenizer.encode_cached(f"{number}:")
            slots.append((len(block), width))
            block += [*answer, *[self._pad] * (width - len(answer)), *self._tokenizer.encode_cached("\n")]
        asked = self._prompter.questions(question_lines(questions, codes, self._once))
        newline = self._tokenizer.encode_cached("\n")[0]
        # The first line break follows the heading; then one a question; the rest belong to the turn's end.
        breaks = [at for at, token in enumerate(asked) if token == newline][: len(keys) + 1]
        starts, ends = [at + 1 for at in breaks[:-1]], breaks[1:]
        guide, subject = world.guide, world.guide.subject
        return Branch(
            tuple(asked),
            tuple(block),
            tuple(slots),
            hints=tuple((end, answer[0]) for end, answer in zip(ends, answers, strict=True)),
            evidence=tuple(tuple(span for step in guide.evidence[key] if step != SUBJECT and (span := find(step))) for key in keys),
            subjects=tuple(self._subject(world, asked, span) for span in zip(starts, ends, strict=True)),
            lookup=_end(find(subject[1])) if subject else None,
            looked_up=tuple(guide.evidence[key] == (SUBJECT,) and key not in guide.builds for key in keys),
            builds=tuple(
                tuple((keys.index(k), _same(world.answers[key], world.answers[k])) for k in guide.builds.get(key, ()) if k in keys)
                for key in keys
            ),
            next_steps=tuple(_end(find(guide.next_step[key])) if key in guide.next_step else None for key in keys),
            copied=tuple(self._copied(world, key, answer, find) for key, answer in zip(keys, answers, strict=True)),
            shown=tuple(tuple(span for name in sorted(world.shown.get(key, world.needs[key])) if (span := find(name))) for key in keys),
        )

    def _copied(self, world: World, key: str, answer: Sequence[int], find: Finder) -> Span | None:
        """None also where a letter stands for the answer, or the text has it in other tokens."""
        source, value = world.guide.copies.get(key), world.answers[key]
        span = find(source) if source else None
        if source is None or span is None:
            return None
        if isinstance(world.questions[key], Choice):
            # A code is one token of the option, not always its first.
            stated = self._tokenizer.encode_cached(f" {source.partition('#')[2]}")
            at = stated.index(answer[0]) if answer[0] in stated and span[1] - span[0] == len(stated) else None
            return None if at is None else (span[0] + at, span[0] + at + 1)
        spaced = self._tokenizer.encode_cached(f" {value}" if isinstance(value, str) else str(value))
        # The first token of a string that is not a quote has no space before it.
        if answer[0] != spaced[0] and (len(answer) != len(spaced) or answer[1:] != tuple(spaced[1:])):
            return None
        return span[0], min(span[1], span[0] + len(answer))

    def _subject(self, world: World, questions: Sequence[int], line: Span) -> Span | None:
        if world.guide.subject is None:
            return None
        return find_tokens(questions, self._tokenizer.encode_cached(f" {world.guide.subject[0]}"), *line)

    def _codes(self, question: AnyQuestion, letters: Sequence[str]) -> Codes | None:
        if not isinstance(question, (Choice, Score)):
            return None
        return assign_codes(question, self._tokenizer, letters, verbatim=not self._shuffled or self._rng.random() < self._verbatim)

    def _answer(self, question: AnyQuestion, codes: Codes | None, value: Any, source: QuoteSource) -> tuple[int, ...]:
        if not isinstance(question, Quote):
            return self._tokenizer.encode_cached(answer_text(question, codes, value))
        # A quote is a run of the text's own tokens, mostly the one with a space before it; a name may only begin a sentence.
        runs = source.runs(value) or source.runs(value[0].upper() + value[1:])
        spaced = tuple(self._tokenizer.encode_cached(f" {value}"))
        return spaced if spaced in runs else runs[0]

    def _shuffled_letters(self) -> list[str]:
        """Mostly the codes used at inference in their order, sometimes any of the 255 in any order."""
        rng = self._rng
        if not self._shuffled or rng.random() < 0.75:
            return self._letters
        pool = self._letters[:26] if rng.random() < 0.5 else self._letters
        return rng.sample(pool, 26)

    def _vary(self, question: AnyQuestion, orders: dict[frozenset[Option], tuple[Option, ...]]) -> AnyQuestion:
        """Option order and slot width are the caller's choice, so the model must not depend on them. The same options stand in the
        same order throughout a block, so that later questions may point to them."""
        rng = self._rng
        if not self._shuffled:
            return question
        if isinstance(question, (Choice, MultiChoice)):
            shuffled = tuple(rng.sample(question.options, len(question.options)))
            return question.model_copy(update={"options": orders.setdefault(frozenset(shuffled), shuffled)})
        if isinstance(question, Integer):
            return question.model_copy(update={"maximum": question.maximum * rng.choice([1, 1, 10, 100])})
        if isinstance(question, (Quote, Text)):
            return question.model_copy(update={"max_tokens": rng.choice([12, 12, 12, 14, 18])})
        return question


def _same(first: Any, second: Any) -> bool:
    """Equal values of one type: True is not 1."""
    return type(first) is type(second) and first == second


def _end(span: Span | None) -> Span | None:
    """The last token, which has seen the whole mention."""
    return span and (span[1] - 1, span[1])


def _both(find: Finder, steps: Sequence[tuple[str, str]]) -> list[tuple[Span, Span]]:
    """The pairs of steps of which both are found."""
    pairs = ((find(first), find(second)) for first, second in steps)
    return [(first, second) for first, second in pairs if first and second]


def _common(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the longest common prefix."""
    columns = zip(*prompts, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
