"""Speed of one joint call against separate calls, as ratios measured in one process.

    python -m clover_eval.speed [--material examples/contract.txt] [--rounds 7] [--json out.json]

Each round times, interleaved: five questions jointly; the same five in separate independent calls with nothing shared;
the same five in one independent call (shared material). The questions are the contract pack's, the material its example
unless a file is given. The prefix cache is emptied before every timed call, so no arm
profits from an earlier one. Medians, and the range of the per-round ratios.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from clover_decide import Decider, load_pack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--material", type=Path, help="a text about a contract")
    parser.add_argument("--model", default="clover-mini")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    import torch

    decider = Decider(args.model, dtype=args.dtype, cached_materials=0)
    pack = load_pack("contract")
    material = args.material.read_text() if args.material else pack.example
    questions = dict(pack.questions.questions)
    arms: dict[str, Callable[[], object]] = {
        "joint": lambda: decider.decide(material, questions),
        "joint, one pass": lambda: decider.decide(material, questions, effort="fast"),
        "separate calls": lambda: [decider.decide(material, {k: q}, mode="independent") for k, q in questions.items()],
        "one independent call": lambda: decider.decide(material, questions, mode="independent"),
    }
    for run in arms.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(args.rounds):
        for name, run in arms.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    decision = decider.decide(material, questions)
    tokens = decision.usage.input_tokens
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}, {args.dtype}")
    print(f"{len(questions)} questions, material {len(material.split())} words, prefix {tokens} tokens with facts and questions")
    print(f"{decision.usage.passes} passes, {args.rounds} rounds\n")
    print("| arm | median s | times joint (median, range) |\n|---|---|---|")
    report: dict[str, dict[str, float]] = {}
    for name, values in times.items():
        ratios = [v / j for v, j in zip(values, times["joint"], strict=True)]
        row = {"seconds": statistics.median(values), "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
        report[name] = row
        print(f"| {name} | {row['seconds']:.3f} | {row['ratio']:.2f} ({row['low']:.2f}-{row['high']:.2f}) |")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
