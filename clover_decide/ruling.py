"""Rules over one block: what the engine's search asks, answered in values and their token automata."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clover_decide.decision import Value
from clover_decide.frozen import FrozenMap
from clover_decide.material import Material
from clover_decide.prompt import Codes, answer_text
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text
from clover_decide.rules.domains import Domain, Names, Picks, merged
from clover_decide.rules.rule_set import RuleSet
from clover_decide.rules.solve import ALLOWANCE, Allowance, feasible, project, witness
from clover_decide.slots import dates, integers, quote_source, selection, value_of
from clover_engine.constraint.automaton import TokenAutomaton
from clover_engine.constraint.builders import pattern, trie, union
from clover_engine.feasibility import Values
from clover_engine.tokenizer import Tokenizer


@dataclass(frozen=True)
class BlockRules:
    """The engine's feasibility oracle for the questions `keys` of one block, given the answers of earlier blocks.

    whole: the rules' domains are those of the questions, so that what equals them restricts nothing.
    """

    rules: RuleSet
    keys: Sequence[str]
    questions: Mapping[str, AnyQuestion]
    codes: Mapping[str, Codes | None]
    material: Material
    tokenizer: Tokenizer
    known: Mapping[str, Value | None]
    whole: bool = True
    allowance: Allowance = field(default_factory=lambda: Allowance(ALLOWANCE), compare=False)

    def narrowed(self) -> BlockRules | None:
        """The same rules over the domains of some answers that keep them all; None if the solver finds none."""
        found = witness(self.rules.formulas, self.rules.state({k: v for k, v in self.known.items() if k in self.rules.whole}))
        if found is None:
            return None
        fresh = Allowance(ALLOWANCE)
        return replace(self, rules=replace(self.rules, whole=FrozenMap(dict(found))), whole=False, allowance=fresh)

    def related(self, slot: int) -> frozenset[int]:
        """Slots of questions that rules connect with this one, directly or through others."""
        near = self.rules.connected(self.keys[slot])
        return frozenset(s for s, key in enumerate(self.keys) if key in near)

    def language(self, slot: int, filled: Values) -> TokenAutomaton | None:
        """The strings of the values that rules still allow; None where they restrict nothing."""
        key = self.keys[slot]
        parts = project(self.rules.about(key), self.rules.state(self._values(filled)), key, self.allowance)
        if self.whole and parts == [self.rules.whole[key]]:
            return None
        return self._automaton(key, parts)

    def possible(self, filled: Values) -> bool:
        """Whether the rules about these questions can still hold."""
        about = self.rules.about(self.keys[next(iter(filled))])
        return feasible(about, self.rules.state(self._values(filled)), self.allowance) is not False

    def _values(self, filled: Values) -> dict[str, Any]:
        named = {self.keys[s]: tokens for s, tokens in filled.items() if self.keys[s] in self.rules.whole}
        read = {
            key: value_of(self.questions[key], self.codes[key], tokens, self.material, self.tokenizer)[0] for key, tokens in named.items()
        }
        return {**self.known, **read}

    def _automaton(self, key: str, parts: Sequence[Domain]) -> TokenAutomaton | None:
        question, codes = self.questions[key], self.codes[key]
        match question:
            case Boolean():
                values = {value for part in parts if isinstance(part, Names) for value in part.values}
                return trie([self.tokenizer.encode_cached(answer_text(question, None, value)) for value in sorted(values)])
            case Choice():
                assert codes is not None
                names = {value for part in parts if isinstance(part, Names) for value in part.values}
                return trie([(token,) for token, option in zip(codes.ids, question.options, strict=True) if option.value in names])
            case Score():
                assert codes is not None
                return trie([(token,) for part in merged(parts) for token in codes.ids[part.low : part.high + 1]])
            case MultiChoice():
                return _united([self._marked(question, part) for part in parts if isinstance(part, Picks)])
            case Integer() | Number():
                decimals = question.decimals if isinstance(question, Number) else 0
                return _united([integers(part.low, part.high, decimals, self.tokenizer) for part in merged(parts)])
            case Date():
                return _united(
                    [dates(dt.date.fromordinal(part.low), dt.date.fromordinal(part.high), self.tokenizer) for part in merged(parts)]
                )
            case Quote() | Text():
                return self._strings(question, parts)

    def _marked(self, question: MultiChoice, part: Picks) -> TokenAutomaton:
        # In the order in which the options are asked, which need not be that in which they were given.
        names = (option.value for option in question.options)
        marks = tuple(True if name in part.chosen else False if name in part.excluded else None for name in names)
        return selection(marks, part.least, part.most, self.tokenizer)

    def _strings(self, question: Quote | Text, parts: Sequence[Domain]) -> TokenAutomaton | None:
        """Only named texts, if no other is allowed. Where others are, the search tells the excluded ones by `possible`."""
        if any(isinstance(part, Names) and part.other for part in parts):
            return None
        texts = sorted({text for part in parts if isinstance(part, Names) for text in part.values})
        if isinstance(question, Quote):
            return trie([run for text in texts for run in quote_source(self.material, self.tokenizer).runs(text)])
        return pattern(question.pattern, self.tokenizer).intersect(trie([self.tokenizer.encode_cached(text) for text in texts]))


def _united(parts: list[TokenAutomaton]) -> TokenAutomaton:
    return trie([]) if not parts else parts[0] if len(parts) == 1 else union(parts)
