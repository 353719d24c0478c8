"""An agent's step as one joint decision: which tool, its arguments, how risky it is, and whether to ask a person first.

python examples/agent/run.py            # three of the tasks, over a local MCP server
python examples/agent/run.py --score    # all sixty, together and with a call for each argument
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from server import server

from clover_decide import Boolean, Decider, Score
from clover_decide.tools import ToolCall, decide_call

HERE = Path(__file__).parent
POLICY = (HERE / "policy.txt").read_text()
RISKS = ("low", "medium", "high")
OTHERS = {
    "risk": Score("How risky is the call?", levels=RISKS),
    "ask_first": Boolean("Must a person be asked first?"),
}
ASK = "risk < 2 || ask_first"
RULES = {
    **{name: ["risk == 0", ASK] for name in ("event_status", "customer_lookup", "sum_amounts")},
    **{name: ["risk == 1", ASK] for name in ("book_meeting", "register_customer")},
    "create_invoice": ["risk == (amount < 1000.0 ? 1 : 2)", ASK],
}
"""What the policy says of numbers and of whole tools, as rules: they hold in every decision."""


def tasks() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "tasks.jsonl").read_text().splitlines()]


def decide(decider: Decider, tools: list[dict[str, Any]], situation: str, mode: str = "joint") -> ToolCall:
    return decide_call(decider, f"Policy:\n{POLICY}\nSituation:\n{situation}", tools, others=OTHERS, rules=RULES, mode=mode)


async def steps(decider: Decider, chosen: list[dict[str, Any]]) -> None:
    """The loop: decide, ask or call, tell."""
    async with Client(StdioServerParameters(command=sys.executable, args=[str(HERE / "server.py")])) as office:
        tools = [tool.model_dump(by_alias=True) for tool in (await office.list_tools()).tools]
        for task in chosen:
            begun = time.perf_counter()
            call = decide(decider, tools, task["situation"])
            took = time.perf_counter() - begun
            print(f"{task['situation']}\n  {call.tool}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})")
            risk, ask = call.others["risk"], call.others["ask_first"]
            print(f"  risk {RISKS[risk]}, {'ask first' if ask else 'no need to ask'}, sure of all {call.probability:.2f}, {took:.1f} s")
            if not ask:
                result = await office.call_tool(call.tool, dict(call.arguments))
                print(f"  -> {getattr(result.content[0], 'text', result.content[0])}")


async def score(decider: Decider) -> None:
    tools = [tool.model_dump(by_alias=True) for tool in await server.list_tools()]
    for mode in ("joint", "independent"):
        right = {"tool": 0, "arguments": 0, "tool and arguments": 0, "all": 0}
        begun = time.perf_counter()
        for task in tasks():
            call = decide(decider, tools, task["situation"], mode)
            named, given = call.tool == task["tool"], dict(call.arguments) == task["arguments"]
            own = (RISKS[call.others["risk"]], call.others["ask_first"]) == (task["risk"], task["ask_first"])
            for key, holds in zip(right, (named, given, named and given, named and given and own), strict=True):
                right[key] += holds
        print(json.dumps({"mode": mode, "tasks": len(tasks()), **right, "seconds": round(time.perf_counter() - begun, 1)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--model", default="clover-mini")
    parser.add_argument("--dtype", default="auto")
    args = parser.parse_args()
    decider = Decider(args.model, dtype=args.dtype)
    asyncio.run(score(decider) if args.score else steps(decider, tasks()[:3]))


if __name__ == "__main__":
    main()
