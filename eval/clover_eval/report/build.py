"""From files of results to one analysis: every figure of a report, before any layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_decide.errors import FormatError
from clover_eval.datasets import LabelledGroup
from clover_eval.environment import LOG
from clover_eval.metrics import Ambiguity, Scored, ambiguity, score
from clover_eval.reliability import Outcome
from clover_eval.results import Header, matched, read_results
from clover_eval.sets import LoadedSet
from clover_eval.variants import VARIANTS


@dataclass(frozen=True)
class Run:
    """One runner's scored groups, in the order of the set."""

    name: str
    header: Header
    scored: tuple[Scored, ...]

    @property
    def variant(self) -> str:
        """In which other form it asked; empty for the form as it stands."""
        return str(self.header.identity.get("variant", ""))

    def outcomes(self, kind: str | None = None) -> list[Outcome]:
        """Probabilities of answers and whether they were right; of one question type or all."""
        found: list[Outcome] = []
        for s in self.scored:
            for key, given in s.row.answers.items():
                if given.probability is not None and kind in (None, s.group.questions.questions[key].type):
                    found.append(Outcome(given.probability, s.right[key], s.group.cluster))
        return found

    def group_outcomes(self) -> list[Outcome]:
        """Probabilities of whole assignments, and whether all of it was right."""
        return [Outcome(s.row.probability, s.whole, s.group.cluster) for s in self.scored if s.row.probability is not None]


@dataclass(frozen=True)
class Part:
    """A part of the set that is reported apart."""

    title: str
    keep: Callable[[LabelledGroup], bool]


@dataclass(frozen=True)
class Analysis:
    """Runs over the same groups. `asked` groups were wanted, `groups` have a row in every run."""

    source: LoadedSet
    asked: int
    groups: tuple[LabelledGroup, ...]
    runs: tuple[Run, ...]
    environment: tuple[Mapping[str, Any], ...]

    @property
    def plain(self) -> tuple[Run, ...]:
        """Runs that asked in the form as it stands."""
        return tuple(run for run in self.runs if not run.variant)

    @property
    def baseline(self) -> Run:
        """What others are compared with: independent answering if it was run, else the first run."""
        return next(
            (run for run in self.plain if run.header.identity.get("arm") == "independent" or run.name == "independent"), self.plain[0]
        )

    @property
    def parts(self) -> list[Part]:
        """All, then slices, then domains, as far as the set has them."""
        found = [Part("all", lambda _: True)]
        for field in ("slice", "domain"):
            names = list(dict.fromkeys(getattr(g, field) for g in self.groups if getattr(g, field)))
            if len(names) > 1:
                found += [Part(name, _field_is(field, name)) for name in names]
        return found

    def ambiguities(self) -> list[tuple[Run, Ambiguity]]:
        return [(run, found) for run in self.plain if (found := ambiguity(run.scored)) is not None]

    def variants(self) -> list[tuple[Run, Run]]:
        """Each run in another form, after the run in the form as it stands."""
        plain = {run.name: run for run in self.plain}
        named = [(run, run.name.removesuffix(f"+{run.variant}")) for run in self.runs if run.variant in VARIANTS]
        return [(plain[base], run) for run, base in named if base in plain]


def _field_is(field: str, name: str) -> Callable[[LabelledGroup], bool]:
    return lambda group: getattr(group, field) == name


def analyse(source: LoadedSet, groups: Sequence[LabelledGroup], files: Sequence[Path]) -> Analysis:
    """Score all files over the groups that every one of them has answered (or failed on).

    Raises:
        FormatError: a file is of another set or malformed, a runner is given twice, or no group is in all files.
    """
    rows = {}
    headers: dict[str, Header] = {}
    for path in files:
        results = read_results(path)
        if results.header.set_sha256 != source.sha256:
            accepted = f"results of {source.name} {source.sha256[:16]}"
            raise FormatError("holds results of another set", path=str(path), given=results.header.set, accepted=accepted)
        if results.header.runner in rows:
            raise FormatError("gives a runner a second time", path=str(path), given=results.header.runner, accepted="one file a runner")
        rows[results.header.runner] = matched(results, source.groups, str(path))
        headers[results.header.runner] = results.header
    common = tuple(g for g in groups if all(g.id in found for found in rows.values()))
    if not common or all(header.identity.get("variant") for header in headers.values()):
        accepted = "files that share groups, one of them in the form as it stands"
        raise FormatError("nothing to compare", path=", ".join(str(f) for f in files), accepted=accepted)
    runs = tuple(Run(name, headers[name], tuple(score(g, found[g.id]) for g in common)) for name, found in rows.items())
    return Analysis(source, len(groups), common, runs, environment(files))


def environment(files: Sequence[Path]) -> tuple[Mapping[str, Any], ...]:
    """What `run` wrote of machine, versions, time and memory, beside the files."""
    found: list[Mapping[str, Any]] = []
    for folder in dict.fromkeys(path.parent for path in files):
        try:
            found += [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
        except (OSError, ValueError):
            continue
    return tuple(found)
