"""Ten agreements with their letters: seven linked judgements each, together and alone, against what is right.

python examples/contracts/score.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from clover_decide import Decider
from clover_decide.packs import read_questions_file

HERE = Path(__file__).parent
DOUBT = 0.6
"""Answers less probable than this are withheld in agreements that do not tell."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="clover-mini")
    parser.add_argument("--dtype", default="auto")
    args = parser.parse_args()
    pack = read_questions_file(HERE / "questions.yaml")
    gold = yaml.safe_load((HERE / "gold.yaml").read_text())
    decider = Decider(args.model, dtype=args.dtype)
    totals = {"joint": [0, 0, 0], "independent": [0, 0, 0]}
    for name, answers in gold.items():
        text = (HERE / f"{name}.txt").read_text()
        known = [key for key in pack.questions.questions if answers[key] is not None]
        for mode in ("joint", "independent"):
            decision = decider.decide(text, pack.questions, mode=mode, rules=pack.rules, abstain=DOUBT)
            # What was withheld is not wrong where nothing can be known.
            said = {key: a.abstained.value if a.abstained else a.value for key, a in decision.answers.items()}
            right = sum(said[key] == answers[key] for key in known)
            unknown = [key for key in pack.questions.questions if answers[key] is None]
            doubted = sum(decision.answers[key].abstained is not None for key in unknown)
            total = totals[mode]
            total[0], total[1] = total[0] + right, total[1] + (right == len(known))
            total[2] += len(decision.violations)
            told = f", {doubted} of {len(unknown)} that the text does not tell withheld" if unknown else ""
            broken = f", contradicts itself: {len(decision.violations)} rules broken" if decision.violations else ""
            print(f"{name} {mode}: {right} of {len(known)} right, all {decision.probability:.2f}{told}{broken}")
    asked = sum(value is not None for answers in gold.values() for key, value in answers.items() if key in pack.questions.questions)
    for mode, (right, groups, broken) in totals.items():
        print(f"{mode}: {right} of {asked} answers, {groups} of {len(gold)} agreements all right, {broken} rules broken")


if __name__ == "__main__":
    main()
