"""Tool calls: which of several tools does what is asked for, its arguments, how risky the call is, and whether to ask first.

A tool of the book (`phrases/SPLIT/tool/*.yaml`) has `names` and descriptions (`about`); `draw`, the values of a call; `arguments`, each
with `type`, `describe`, `answer` and for choices `options`; `request`, wordings that ask for a call and state every argument, with
fragments `say` for values that are not written out; and `noise`, about other calls. Entries that begin with an underscore hold what
tools share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Choice, Option, Score
from clover_decide.tools import TOOL_QUESTION
from clover_train.groups import Guide, World, Writer
from clover_train.worlds.scenario import ask, draws, evaluate, say

RISKS = ("low", "medium", "high")


def world(setting: Writer, case: Writer) -> World:
    """One situation, with tools and a policy that the setting chose."""
    tools = [name for name in sorted(setting.book) if not name.startswith("_")]
    offered = setting.rng.sample(tools, setting.rng.randint(2, 7))
    return tell(case.rng.choice(offered), setting.book, setting, case, offered)


def tell(wanted: str, book: Mapping[str, Any], setting: Writer, case: Writer, offered: Sequence[str]) -> World:
    """Draws and words a situation. KeyError, NameError or ValueError where the book does not hold together."""
    tool, shared = book[wanted], book["_shared"]
    names = dict(zip(offered, (setting.rng.choice(book[key]["names"]) for key in offered), strict=True))
    about = {key: say(setting, book[key]["about"], {}) for key in offered}
    values, fragments = _drawn(tool, case)
    clauses, policy = _policy(setting, shared, names), dict(zip(offered, (setting.rng.randrange(3) for _ in offered), strict=True))
    clauses |= {
        f"risk{level}": _risk(setting, shared, level, [names[k] for k in offered if policy[k] == level]) for level in set(policy.values())
    }
    clauses["request"] = say(case, tool["request"], values | fragments, capital=False)
    approval = case.rng.choice(["no", "no", "no", "needed", "needed", "given", "other"])
    if approval != "no":
        clauses["approval"] = say(case, shared["approval"][approval], {"who": case.names("people", 1)[0]})
    tools = tuple(Option(value=names[key], description=about[key]) for key in offered)
    text = TOOL_QUESTION if setting.rng.random() < 0.5 else say(setting, shared["ask"]["tool"], {})
    questions: dict[str, AnyQuestion] = {"tool": Choice(text, options=tools)}
    answers: dict[str, Any] = {"tool": names[wanted]}
    evidence: dict[str, tuple[str, ...]] = {"tool": ("request",)}
    copies = dict[str, str]()
    for key, form in tool["arguments"].items():
        questions[key] = _argument(case, form, values)
        value = evaluate(form["answer"], values)
        answers[key] = float(value) if form["type"] == "number" else value
        evidence[key], copied = _where(form, answers[key], clauses["request"], fragments)
        copies |= {key: copied} if copied else {}
    risk = policy[wanted]
    first = risk >= (2 if "above_high" in clauses else 1) or approval == "needed"
    questions["risk"] = Score(say(case, shared["ask"]["risk"], {}), levels=RISKS)
    questions["ask_first"] = Boolean(say(case, shared["ask"]["first"], {}))
    answers |= {"risk": risk, "ask_first": first}
    level = "above_high" if "above_high" in clauses else "above_medium"
    evidence |= {"risk": (f"risk{risk}#{names[wanted]}",), "ask_first": (level, "approval")}
    remarks = _noise(setting, book, offered)
    needs = {key: frozenset(c for step in steps if (c := step.partition("#")[0]) in clauses) for key, steps in evidence.items()}
    # What is asked for tells the tool, the tool its risk; and the rules about asking are two.
    needs["risk"] |= {"request"}
    needs["ask_first"] |= {"approvals", f"risk{risk}", "request"}
    builds = {"risk": ("tool",), "ask_first": ("risk",)}
    rules = frozenset(key for key in clauses if key not in ("request", "approval"))
    return World(
        "tool",
        wanted,
        clauses,
        remarks,
        questions,
        answers,
        needs,
        rules,
        Guide(evidence, builds, {}, copies=copies),
        silent=frozenset(["approval"]),
    )


def _drawn(tool: Mapping[str, Any], writer: Writer) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a call, and the fragments that say some of them."""
    functions, values = draws(writer), dict[str, Any]()
    for key, expression in tool["draw"].items():
        values[key] = evaluate(expression, functions | values)
    fragments = {key: say(writer, form, values, capital=False) for key, form in (tool.get("say") or {}).items()}
    return values, fragments


def _policy(setting: Writer, shared: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    level = setting.rng.choice(["above_medium", "above_high"])
    return {level: say(setting, shared[level], {}), "approvals": say(setting, shared["approvals"], {})}


def _risk(setting: Writer, shared: Mapping[str, Any], level: int, names: Sequence[str]) -> str:
    return say(setting, shared["risk"], {"level": RISKS[level], "tools": list(names)}, capital=False)


def _argument(case: Writer, form: Mapping[str, Any], values: Mapping[str, Any]) -> AnyQuestion:
    options = form.get("options")
    if isinstance(options, Mapping):
        described = tuple(Option(value=str(value), description=str(text)) for value, text in options.items())
        return Choice(say(case, form["describe"], values), options=described)
    return ask(case, {**form, "ask": form["describe"]}, values)


def _where(form: Mapping[str, Any], value: Any, request: str, fragments: Mapping[str, str]) -> tuple[tuple[str, ...], str | None]:
    """Where to look for an argument, and what it is copied from."""
    match form["type"]:
        case "date":
            return ("request", value.isoformat()), f"{value.isoformat()}#{value.isoformat()}"
        case "quote":
            return (f"request#{value}",), f"request#{value}"
        case "integer" if len(re.findall(rf"(?<![\d.,]){value}(?![\d.,]*\d)", request)) == 1:
            return (f"request#{value}",), f"request#{value}"
    text = fragments.get(str(form["answer"])) or next((f for f in fragments.values() if f in request and str(value) in f), None)
    return ((f"request#{text}" if text else f"request#{value}" if str(value) in request else "request"),), None


def _noise(setting: Writer, book: Mapping[str, Any], offered: Sequence[str]) -> list[str]:
    """Sentences about other calls of the same tools, and remarks."""
    out = [say(setting, [text], {}) for text in setting.rng.sample(book["_shared"]["remarks"], 8)]
    for key in offered:
        values, fragments = _drawn(book[key], setting)
        out.append(say(setting, book[key]["noise"], values | fragments))
    return out
