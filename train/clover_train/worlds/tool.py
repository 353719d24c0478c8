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
    values, fragments = _drawn(tool, case)
    clauses, risks = _policy(setting, shared, names)
    clauses["request"] = say(case, tool["request"], values | fragments, capital=False)
    approval = case.rng.choice(["no", "no", "no", "needed", "needed", "given", "other"])
    if approval != "no":
        clauses["approval"] = say(case, shared["approval"][approval], {"who": case.names("people", 1)[0]})
    questions: dict[str, AnyQuestion] = {"tool": _offer(setting, book, names)}
    answers: dict[str, Any] = {"tool": names[wanted]}
    evidence: dict[str, tuple[str, ...]] = {"tool": ("request",)}
    copies = dict[str, str]()
    for key, form in tool["arguments"].items():
        questions[key] = _argument(case, form, values)
        value = evaluate(form["answer"], values)
        answers[key] = float(value) if form["type"] == "number" else value
        evidence[key], copied = _where(form, answers[key], clauses["request"], fragments)
        copies |= {key: copied} if copied else {}
    risk = risks[wanted]
    first = risk >= (2 if "above_high" in clauses else 1) or approval == "needed"
    questions["risk"] = Score(say(case, shared["ask"]["risk"], {}), levels=RISKS)
    questions["ask_first"] = Boolean(say(case, shared["ask"]["first"], {}))
    answers |= {"risk": risk, "ask_first": first}
    level = "above_high" if "above_high" in clauses else "above_medium"
    evidence |= {"risk": (f"risk{risk}#{names[wanted]}",), "ask_first": (level, "approval")}
    needs = {key: frozenset(c for step in steps if (c := step.partition("#")[0]) in clauses) for key, steps in evidence.items()}
    # What is asked for tells the tool, the tool its risk; and the rules about asking are two.
    needs["risk"] |= {"request"}
    needs["ask_first"] |= {"approvals", f"risk{risk}", "request"}
    guide = Guide(evidence, {"risk": ("tool",), "ask_first": ("risk",)}, {}, copies=copies)
    rules, silent = frozenset(clauses) - {"request", "approval"}, frozenset(["approval"])
    remarks = _noise(setting, book, offered)
    return World("tool", wanted, clauses, remarks, questions, answers, needs, rules, guide, silent=silent)


def _offer(setting: Writer, book: Mapping[str, Any], names: Mapping[str, str]) -> Choice:
    """Which tool, of those offered with their descriptions."""
    tools = tuple(Option(value=name, description=say(setting, book[key]["about"], {})) for key, name in names.items())
    text = TOOL_QUESTION if setting.rng.random() < 0.5 else say(setting, book["_shared"]["ask"]["tool"], {})
    return Choice(text, options=tools)


def _drawn(tool: Mapping[str, Any], writer: Writer) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a call, and the fragments that say some of them."""
    functions, values = draws(writer), dict[str, Any]()
    for key, expression in tool["draw"].items():
        values[key] = evaluate(expression, functions | values)
    fragments = {key: say(writer, form, values, capital=False) for key, form in (tool.get("say") or {}).items()}
    return values, fragments


def _policy(setting: Writer, shared: Mapping[str, Any], names: Mapping[str, str]) -> tuple[dict[str, str], dict[str, int]]:
    """The clauses about asking and about risks, and the risk of each tool."""
    level = setting.rng.choice(["above_medium", "above_high"])
    clauses = {level: say(setting, shared[level], {}), "approvals": say(setting, shared["approvals"], {})}
    risks = {key: setting.rng.randrange(3) for key in names}
    for risk in sorted(set(risks.values())):
        listed = [names[key] for key in names if risks[key] == risk]
        clauses[f"risk{risk}"] = say(setting, shared["risk"], {"level": RISKS[risk], "tools": listed}, capital=False)
    return clauses, risks


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
