"""`clover-decide calibrate` and `clover-decide thresholds`: fit to labelled groups, with a held-out check."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clover_decide.cli.options import CalibrationOption, DtypeOption
from clover_decide.errors import InputError
from clover_eval.cli_options import FormatOption, check_folder
from clover_eval.datasets import subset
from clover_eval.fitting import Asked, ask_all, check, fit
from clover_eval.offsets import crossed, learn
from clover_eval.public import load_as
from clover_eval.reliability import Outcome, threshold_for
from clover_eval.sets import SETS, LoadedSet

if TYPE_CHECKING:
    from clover_decide import Decider

SetArgument = Annotated[str, typer.Argument(metavar="SET", help="linked-val, or a file of labelled groups.")]
ModeOption = Annotated[Literal["joint", "independent"], typer.Option(help="The mode it is for.")]
EffortOption = Annotated[Literal["fast", "standard", "thorough", "auto"], typer.Option(help="The effort it is for.")]
SubsetOption = Annotated[int | None, typer.Option("--subset", min=2, help="About so many groups, the same ones each time.")]
ModelOption = Annotated[str, typer.Option(help="A shipped model's name or a model folder.")]


def calibrate(
    data: SetArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="JSON file of the calibration.")] = Path("calibration.json"),
    mode: ModeOption = "joint",
    effort: EffortOption = "standard",
    some: SubsetOption = None,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Also learn what each question is usually answered, which changes answers; asks twice.")
    ] = False,
    fmt: FormatOption = "groups",
    model: ModelOption = "clover-mini",
    dtype: DtypeOption = "auto",
) -> None:
    """Fit a temperature or a line a question type, and a line for all answers together, to labelled groups.

    clover-decide calibrate my-groups.jsonl -o calibration.json

    clover-decide calibrate my-groups.jsonl --offsets

    Use it with `Decider(calibration="calibration.json")` or `decide --calibration calibration.json`. The errors printed are those of
    halves that it was not fitted to (with --offsets, what scales one half has seen decisions with offsets from it); the file is fitted to
    everything.
    """
    check_folder(output)
    source, decider, asked = _asked(data, some, fmt, model, dtype, mode, effort, "none")
    learned = learn(asked) if offsets else None
    if offsets:
        before, asked = asked, _told(crossed(decider, asked, source), len(asked))
        told = [f"{share:.3f}" for share in (_right(before), _right(asked))]
        print(f"answers right: {told[0]}, with offsets, held out, {told[1]}")
    checked = check(asked, source)
    made = fit(asked, source, learned)
    output.write_text(json.dumps(made.as_dict(), indent=1) + "\n", encoding="utf-8")
    print(f"calibration error of {checked.answers} answers: {checked.before:.3f}, held out {checked.after:.3f}")
    print(f"calibration error of {checked.groups} groups as a whole: {checked.before_groups:.3f}, held out {checked.after_groups:.3f}")
    for kind, temperature in made.temperatures.items():
        print(f"  {kind}: temperature {temperature:.2f}" + (f", shift {made.shifts[kind]:+.2f}" if kind in made.shifts else ""))
    print(f"written to {output}")


def thresholds(
    data: SetArgument,
    accuracy: Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of the given answers that should be right.")] = 0.95,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file for `decide --abstain`.")] = None,
    mode: ModeOption = "joint",
    effort: EffortOption = "standard",
    some: SubsetOption = None,
    calibration: CalibrationOption = "shipped",
    fmt: FormatOption = "groups",
    model: ModelOption = "clover-mini",
    dtype: DtypeOption = "auto",
) -> int:
    """Find the probability below which answers should be withheld.

    clover-decide thresholds my-groups.jsonl --accuracy 0.95 -o abstain.json

    Chosen on one half of the groups and checked on the other. The exit code is 1 if no threshold reaches the accuracy. A calibration with
    offsets has to come from other groups, since it has seen the answers of these.
    """
    check_folder(output)
    _, _, asked = _asked(data, some, fmt, model, dtype, mode, effort, calibration)
    outcomes = [Outcome(item.decision[key].probability, right, item.group.cluster) for item in asked for key, right in item.right.items()]
    found = threshold_for(outcomes, accuracy)
    if found.threshold is None:
        print(f"no threshold reaches {accuracy} on the {found.chosen_on} answers of the first half")
        return 1
    print(f"threshold {found.threshold:.4f}: answers {found.coverage:.0%} of the first half")
    held = found.held_out_accuracy
    told = f"right in {held.value:.3f} [{held.low:.3f}, {held.high:.3f}]" if held else "none of it"
    print(f"on the other half ({found.held_out} answers) it answers {found.held_out_coverage:.0%}, {told}")
    if output is not None:
        output.write_text(json.dumps({"probability": found.threshold}) + "\n", encoding="utf-8")
        print(f"written to {output}")
    return 0


def _asked(
    data: str, size: int | None, fmt: str, model: str, dtype: str, mode: str, effort: str, calibration: str
) -> tuple[LoadedSet, Decider, list[Asked]]:
    from clover_decide import Decider

    source = load_as(data, fmt)
    if source.name in SETS and source.name != "linked-val":
        raise InputError("a test set", path="SET", given=data, accepted="linked-val, or a file of labelled groups that are not tested on")
    groups = subset(source.groups, size) if size else source.groups
    decider = Decider(model, dtype=dtype, calibration=calibration)
    own = decider.calibration
    if own is not None and own.offsets and own.data == source.sha256[:16]:
        raise InputError("has learned its offsets from this set", path="--calibration", given=calibration, accepted="one of other groups")
    items = ask_all(decider, groups, mode, effort)  # pyright: ignore[reportArgumentType] - the options' own literals
    return source, decider, _told(items, len(groups))


def _told(items: Iterable[Asked], total: int) -> list[Asked]:
    """The groups as they are asked, with their number on stderr."""
    asked: list[Asked] = []
    for item in items:
        asked.append(item)
        print(f"\r{len(asked)} of {total}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return asked


def _right(asked: list[Asked]) -> float:
    rights = [right for item in asked for right in item.right.values()]
    return sum(rights) / len(rights)
