"""Runners by the name that the command line gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clover_decide.errors import InputError
from clover_eval.public import load_as
from clover_eval.runners.base import Runner
from clover_eval.runners.local import ARMS, LocalRunner

if TYPE_CHECKING:
    from clover_decide import Decider

NEED_ARGUMENT = frozenset({"systemone", "systemone-joint", "decisions", "decisions-joint", "outlines", "llamacpp"})
FITTED = frozenset({"majority", "tfidf", "blind"})
OTHERS = {
    "systemone": "systemone:URL, a server of the System One format",
    "systemone-joint": "systemone-joint:URL, the same asked for joint answers",
    "decisions": "decisions:URL, a server of the Decisions format",
    "decisions-joint": "decisions-joint:URL, the same asked for joint answers",
    "outlines": "outlines:MODEL, a transformers checkpoint or GGUF file under outlines (extra `ar`)",
    "llamacpp": "llamacpp:FILE, a GGUF model under a llama.cpp grammar (extra `llamacpp`)",
    "sparrow": "sparrow or sparrow:MODEL, the package sparrow-decider (extra `sparrow`)",
    "majority": "majority, the most common answer of the fit set",
    "tfidf": "tfidf, a linear model over bags of words, fitted on the fit set",
    "blind": "blind, the same without the material",
}


def make_local(arms: Sequence[str], decider: Decider, facts: str = "auto") -> list[Runner]:
    """The arms of a loaded model.

    Raises:
        InputError: an unknown arm.
    """
    for arm in arms:
        if arm not in ARMS:
            raise InputError("unknown mode", path="--mode", given=arm, accepted=", ".join(ARMS))
        own, ways = decider.calibration, ARMS[arm]
        if own is not None and (own.mode, own.effort) != (ways.mode, ways.effort):
            fit = [name for name, other in ARMS.items() if (other.mode, other.effort) == (own.mode, own.effort)]
            raise InputError("is for another way of asking", path="--calibration", given=arm, accepted=f"--mode {', '.join(fit)}")
    return [LocalRunner(decider, arm, facts) for arm in arms]


def make_other(
    spec: str,
    *,
    fit: str = "linked-val",
    fmt: str = "groups",
    model: str = "jev-latest",
    key: str | None = None,
    timeout: float = 60.0,
) -> Runner:
    """The runner that a specification names; `fmt` is the format of the set that it is fitted on.

    Raises:
        InputError: an unknown runner, or one that lacks what follows its colon.
        MissingExtraError: its package is not installed.
    """
    kind, _, argument = spec.partition(":")
    if kind not in OTHERS or (kind in NEED_ARGUMENT and not argument):
        raise InputError("unknown runner", path="--runner", given=spec, accepted=f"{', '.join(OTHERS)}; see `clover-decide eval runners`")
    if kind in FITTED:
        return _baseline(kind, fit, fmt)
    if kind == "outlines":
        from clover_eval.runners.outlines_runner import OutlinesRunner

        return OutlinesRunner(argument)
    if kind == "llamacpp":
        from clover_eval.runners.llamacpp_runner import LlamaCppRunner

        return LlamaCppRunner(argument)
    if kind == "sparrow":
        from clover_eval.runners.sparrow import SparrowRunner

        return SparrowRunner(argument)
    from clover_eval.runners.http import HttpRunner

    wire = "decisions" if kind.startswith("decisions") else "systemone"
    return HttpRunner(argument, wire, model=model, key=key, joint=kind.endswith("-joint"), timeout=timeout)


def _baseline(kind: str, fit: str, fmt: str) -> Runner:
    from clover_eval.runners.baselines import BagOfWordsRunner, MajorityRunner

    source = load_as(fit, fmt)
    if source.name in ("linked-500", "linked-causal"):
        raise InputError("a test set", path="--fit", given=fit, accepted="linked-val, or a file of labelled groups that are not tested on")
    name = f"{source.name} {source.sha256[:16]}"
    return MajorityRunner(source.groups, name) if kind == "majority" else BagOfWordsRunner(source.groups, name, blind=kind == "blind")
