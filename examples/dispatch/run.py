"""One message, several orders: what changes for every drone and zone, answered in one block, and drawn before and after.

python examples/dispatch/run.py                        # one message, and map.svg and map.png in --out
python examples/dispatch/run.py --message "Falcon 2, hold. Red zone cleared."
python examples/dispatch/run.py --score                # all hundred messages: together, each question alone, and a call for each question
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clover_decide import Choice, Decider, Decision

HERE = Path(__file__).parent
PLACES = {"Mill": (1, 5), "Harbour": (6, 1), "Quarry": (8, 6), "Chapel": (3, 3), "Depot": (5, 5), "Ridge": (9, 3)}
"""Kilometres east and north of the corner of the map."""
BASE = (1.0, 1.0)
DRONES = {"Falcon 1": (2, 4), "Falcon 2": (4, 2), "Falcon 3": (7, 4), "Falcon 4": (6, 6)}
ZONES = {"red_zone": ((3.0, 5.5), 500, "tab:red"), "blue_zone": ((7.5, 2.0), 500, "tab:blue")}
"""Middle, radius in metres and colour."""
TASKS = ("survey", "deliver", "hold", "return to base")
ORDERS = ("no new order", *(f"fly to {place}" for place in PLACES), *TASKS)
SIZES = ("unchanged", "cleared", "200 m", "400 m", "600 m", "800 m")
QUESTIONS = {
    **{drone.lower().replace(" ", "_"): Choice(f"What is {drone} ordered to do now?", options=ORDERS) for drone in DRONES},
    "red_zone": Choice("What becomes of the red zone?", options=SIZES),
    "blue_zone": Choice("What becomes of the blue zone?", options=SIZES),
    "emergency": Choice("Where is an emergency?", options=("none", *PLACES)),
    "responder": Choice("Which drone is sent to the emergency?", options=("none", *DRONES)),
}
RULES = [
    "(emergency == 'none') == (responder == 'none')",
    *(f"responder != '{drone}' || {drone.lower().replace(' ', '_')} == 'fly to ' + emergency" for drone in DRONES),
]
"""Who is sent to an emergency flies to it, and somebody is."""


def messages() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "messages.jsonl").read_text().splitlines()]


def decide(decider: Decider, message: str, mode: Any = "joint", effort: Any = "standard") -> Decision:
    return decider.decide(message, QUESTIONS, mode=mode, effort=effort, rules=RULES if mode == "joint" else None)


def calls(decider: Decider, message: str) -> dict[str, Any]:
    """The answers of a call for each question."""
    return {key: decider.decide(message, {key: question}).values()[key] for key, question in QUESTIONS.items()}


def draw(values: dict[str, Any], paths: list[Path]) -> None:
    """The map before and after the orders."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    from matplotlib.patches import Circle

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axis, title, orders in zip(axes, ("before", "after"), ({}, values), strict=True):
        axis.set(title=title, xlim=(0, 10), ylim=(0, 7), aspect="equal", xlabel="km", ylabel="km")
        for place, at in PLACES.items():
            axis.plot(*at, "s", color="grey", markersize=5)
            axis.annotate(place, at, xytext=(5, 4), textcoords="offset points", fontsize=8, color="dimgrey")
        axis.plot(*BASE, "^", color="black")
        axis.annotate("base", BASE, xytext=(5, -10), textcoords="offset points", fontsize=8)
        for zone, (middle, radius, colour) in ZONES.items():
            size = orders.get(zone, "unchanged")
            radius = radius if size == "unchanged" else 0 if size == "cleared" else int(size.split()[0])
            # Drawn twice as large as they are, to be seen.
            axis.add_patch(Circle(middle, 2 * radius / 1000, color=colour, alpha=0.25))
            axis.annotate(f"{radius} m" if radius else "cleared", middle, ha="center", va="center", fontsize=8, color=colour)
        if (emergency := orders.get("emergency", "none")) != "none":
            axis.plot(*PLACES[emergency], "*", color="tab:red", markersize=18, alpha=0.5)
        for drone, start in DRONES.items():
            order = orders.get(drone.lower().replace(" ", "_"), "no new order")
            goal = PLACES[order.removeprefix("fly to ")] if order.startswith("fly to ") else BASE if order == "return to base" else start
            if goal != start:
                axis.annotate("", goal, start, arrowprops={"arrowstyle": "->", "color": "tab:green", "shrinkB": 6})
            told = f"{drone}: {order}" if order in TASKS else drone
            axis.plot(*start, "o", color="tab:green")
            axis.annotate(told, start, xytext=(6, -11), textcoords="offset points", fontsize=8, color="darkgreen")
    for path in paths:
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def show(decider: Decider, message: str, out: Path) -> None:
    print(message)
    decide(decider, message)
    for mode in ("joint", "independent"):
        begun = time.perf_counter()
        if mode == "joint":
            decision = decide(decider, message + "\n")
            values = decision.values()
        else:
            values = calls(decider, message + "\n\n")
        took = time.perf_counter() - begun
        print(f"{'in one block' if mode == 'joint' else 'a call for each question'}, {took:.2f} s")
        print("\n".join(f"  {key}: {value}" for key, value in values.items() if value not in ("no new order", "unchanged", "none")))
        if mode == "joint":
            out.mkdir(parents=True, exist_ok=True)
            draw(values, [out / "map.svg", out / "map.png"])
    print(f"drawn in {out / 'map.svg'} and {out / 'map.png'}")


def score(decider: Decider) -> None:
    """Nothing is remembered between calls here: every call reads the message."""
    arms: dict[str, Callable[[str], dict[str, Any]]] = {
        "joint": lambda message: decide(decider, message).values(),
        "joint, one pass": lambda message: decide(decider, message, effort="fast").values(),
        "independent": lambda message: decide(decider, message, "independent").values(),
        "a call for each question": lambda message: calls(decider, message),
    }
    for mode, ask in arms.items():
        groups = questions = 0
        begun = time.perf_counter()
        for task in messages():
            values = ask(task["message"])
            right = [values[key] == value for key, value in task["answers"].items()]
            groups, questions = groups + all(right), questions + sum(right)
        seconds = round(time.perf_counter() - begun, 1)
        total = len(messages())
        print(json.dumps({"mode": mode, "messages": total, "all right": groups, "questions": questions / (8 * total), "seconds": seconds}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--message", default=messages()[4]["message"])
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "dispatch-map")
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--model", default="clover-mini")
    parser.add_argument("--dtype", default="auto")
    args = parser.parse_args()
    decider = Decider(args.model, dtype=args.dtype, cached_materials=0 if args.score else 8)
    if args.score:
        score(decider)
    else:
        show(decider, args.message, args.out)


if __name__ == "__main__":
    main()
