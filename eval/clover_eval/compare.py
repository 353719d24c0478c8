"""Joint against independent on labelled groups, with the same model and the same groups.

    python -m clover_eval.compare groups.jsonl [--model FOLDER] [--json out.json]

Prints question and group accuracy of independent, one-pass joint and denoised joint, their paired differences with 95%
bootstrap intervals (groups resampled whole), and the same by family and by question type.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clover_decide import Decider, Decision
from clover_eval.datasets import LabelledGroup, read_groups
from clover_eval.statistics import Interval, paired_difference, ratio

ARMS: dict[str, dict[str, Any]] = {
    "independent": {"mode": "independent"},
    "one-pass": {"mode": "joint", "effort": "fast"},
    "joint": {"mode": "joint", "effort": "standard"},
}


@dataclass(frozen=True)
class Scored:
    """One group: per arm, which questions were right (in question order)."""

    family: str
    types: tuple[str, ...]
    right: dict[str, tuple[bool, ...]]


def score(decider: Decider, group: LabelledGroup) -> Scored:
    """Answer one group in every arm."""
    right: dict[str, tuple[bool, ...]] = {}
    for arm, options in ARMS.items():
        decision: Decision = decider.decide(group.material, group.questions, **options)
        values = decision.values()
        right[arm] = tuple(values[key] == group.answers[key] for key in group.questions.questions)
    types = tuple(question.type for question in group.questions.questions.values())
    return Scored(group.family, types, right)


def table(scored: Sequence[Scored]) -> dict[str, Any]:
    """All figures: overall, by family, by type."""
    families = sorted({s.family for s in scored})
    types = sorted({t for s in scored for t in s.types})
    return {
        "groups": len(scored),
        "questions": sum(len(s.types) for s in scored),
        "overall": _row(scored, lambda _: True),
        "family": {f: _row([s for s in scored if s.family == f], lambda _: True) for f in families},
        "type": {t: _row([s for s in scored if t in s.types], lambda kind, t=t: kind == t) for t in types},
    }


def _row(scored: Sequence[Scored], keep: Callable[[str], bool]) -> dict[str, Any]:
    counted = [[keep(t) for t in s.types] for s in scored]
    totals = [sum(c) for c in counted]
    hits = {arm: [sum(r for r, k in zip(s.right[arm], c, strict=True) if k) for s, c in zip(scored, counted, strict=True)] for arm in ARMS}
    whole = {arm: [float(h == t) for h, t in zip(hits[arm], totals, strict=True)] for arm in ARMS}
    ones = [1.0] * len(scored)
    out: dict[str, Any] = {"groups": len(scored), "questions": sum(totals)}
    for arm in ARMS:
        out[arm] = {"question": ratio(hits[arm], totals), "group": ratio(whole[arm], ones)}
    for arm in ("one-pass", "joint"):
        out[f"{arm} - independent"] = {
            "question": paired_difference(hits[arm], hits["independent"], totals),
            "group": paired_difference(whole[arm], whole["independent"], ones),
        }
    p = out["joint"]["question"].value
    mean_size = sum(totals) / len(totals)
    out["joint group - p^k"] = out["joint"]["group"].value - p**mean_size
    return out


def render(figures: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    names = [*ARMS, "one-pass - independent", "joint - independent"]
    lines = [
        "| slice | groups | questions | " + " | ".join(f"{n}: question · group" for n in names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    slices = [("all", figures["overall"])]
    slices += [(f"family {k}", v) for k, v in figures["family"].items()]
    slices += [(f"type {k}", v) for k, v in figures["type"].items()]
    for name, row in slices:
        cells = [f"{row[n]['question']} · {row[n]['group']}" for n in names]
        lines.append(f"| {name} | {row['groups']} | {row['questions']} | " + " | ".join(cells) + " |")
    lines.append(f"\nJoint group accuracy minus p^k (p joint question accuracy): {figures['overall']['joint group - p^k']:+.3f}")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return asdict(value)
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", type=Path)
    parser.add_argument("--model", default="clover-mini")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--limit", type=int, help="only the first groups")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    args = parser.parse_args()
    decider = Decider(args.model, dtype=args.dtype)
    scored: list[Scored] = []
    for group in list(read_groups(args.groups))[: args.limit]:
        scored.append(score(decider, group))
        print(f"\r{len(scored)} groups", end="", file=sys.stderr)
    print(file=sys.stderr)
    figures = table(scored)
    print(render(figures))
    if args.json:
        args.json.write_text(json.dumps(_plain(figures), indent=1) + "\n")


if __name__ == "__main__":
    main()
