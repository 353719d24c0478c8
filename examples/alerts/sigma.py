"""Detection rules and events as labelled groups: what each line of a Sigma rule finds is worked out, what follows is asked.

python examples/alerts/sigma.py sigma_events/dev.jsonl dev.jsonl
python examples/alerts/sigma.py sigma_events/eval.jsonl eval.jsonl
clover-decide eval run eval.jsonl --fit dev.jsonl --runner joint-rules --runner independent --runner tfidf

Reads groups whose material is a Sigma rule (YAML) and an event (`field: value` lines), and whose questions are its search blocks by name,
`fires`, `severity` and `escalate`. Without `--plain` the material gains a line for each search block; either way the rules between
the answers come along, as JSON Schemas.
"""

from __future__ import annotations

import argparse
import fnmatch
import ipaddress
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

RULE, EVENT = "Detection rule (Sigma):\n", "\n\nEvent:\n"
SHOWN = 3
"""Values of a search line that are written out."""
VERBS = {"contains": "contains", "startswith": "begins with", "endswith": "ends with", "re": "matches", "cidr": "is in", "": "is"}
KNOWN = {*VERBS, "all", "windash", "cased", "exists", "i", "m", "s"}
DASHES = "[-/\u2013\u2014\u2015]"
"""What the modifier windash lets the dash before an option be."""


def finds(value: str, verb: str, wanted: str, modifiers: Sequence[str]) -> bool:
    """Whether a field's value is as a search line wants it: * and ? stand for any text and any character, case does not matter."""
    if verb == "cidr":
        try:
            return ipaddress.ip_address(value) in ipaddress.ip_network(wanted, strict=False)
        except ValueError:
            return False
    if verb == "re":
        flags = sum((getattr(re, flag.upper()) for flag in modifiers if flag in ("i", "m", "s")), re.RegexFlag(0))
        return re.search(wanted, value, flags) is not None
    before, after = (".*" if verb in (kind, "contains") else "" for kind in ("endswith", "startswith"))
    case = re.RegexFlag(0) if "cased" in modifiers else re.IGNORECASE
    return re.fullmatch(before + _pattern(wanted, "windash" in modifiers) + after, value, case | re.DOTALL) is not None


def _pattern(wanted: str, windash: bool) -> str:
    """A backslash before a backslash or a wildcard takes its meaning away; any other one is itself."""
    wild, tokens = {"*": ".*", "?": "."}, re.findall(r"\\[\\*?]|.", wanted, re.DOTALL)
    parts = [wild.get(token) or re.escape(token[-1]) for token in tokens]
    if windash:
        # Before an option, not within a word.
        spots = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
        options = [token in "-/" and not before.isalnum() and after.isalnum() for before, token, after in spots]
        parts = [DASHES if option else part for option, part in zip(options, parts, strict=True)]
    return "".join(parts)


def line(event: Mapping[str, str], key: str, wanted: Any) -> tuple[bool, str]:
    """Whether a line of a search block holds, and what it says.

    Raises:
        ValueError: a modifier that is not worked out here.
    """
    name, *modifiers = key.split("|")
    if unknown := set(modifiers) - KNOWN:
        raise ValueError(f"modifier {sorted(unknown)[0]!r} of {key}; accepted: {', '.join(sorted(KNOWN - {''}))}")
    if "exists" in modifiers or wanted is None:
        there = name in event if "exists" in modifiers else bool(event.get(name))
        return there == bool(wanted), f"{name} is {'there' if wanted else 'empty or missing'}: {'yes' if there == bool(wanted) else 'no'}"
    verb = next((m for m in modifiers if m in VERBS), "" if name else "contains")
    # Without a field, any value of the event may be meant.
    texts = [event[name]] if name in event else [] if name else list(event.values())
    values = [str(v) for v in (wanted if isinstance(wanted, list) else [wanted])]
    held = [value for value in values if any(finds(text, verb, value, modifiers) for text in texts)]
    holds = len(held) == len(values) if "all" in modifiers else bool(held)
    # What was found comes first, so that it is among what is shown.
    shown = [value.strip() or repr(value) for value in [*held, *(v for v in values if v not in held)][:SHOWN]]
    more = f" (of {len(values)})" if len(values) > SHOWN else ""
    choice = "" if len(values) == 1 else "all of " if "all" in modifiers else "one of "
    said = "not in the event" if not texts else "yes" if holds else "no"
    return holds, f"{name or 'the event'} {VERBS[verb]} {choice}{', '.join(shown)}{more}: {said}"


def block(event: Mapping[str, str], name: str, search: Any) -> str:
    """What the lines of a search block find: several fields must all hold, of a list one entry."""
    entries = [entry if isinstance(entry, dict) else {"": entry} for entry in (search if isinstance(search, list) else [search])]
    said = [", and ".join(line(event, key, wanted)[1] for key, wanted in entry.items()) for entry in entries]
    return f"Search block {name}: {'; or '.join(said)}."


def condition(text: str, blocks: Sequence[str]) -> dict[str, Any]:
    """The condition of a rule as a JSON Schema over the answers: and, or, not, brackets, `all of x*`, `1 of x*` and `any of x*`.

    Raises:
        ValueError: another condition, or a search block that is not asked about.
    """
    tokens = [*re.findall(r"\(|\)|(?:all|any|1) of \S+?(?=[\s)]|$)|[^\s()]+", text), ""]

    def several(word: str, kind: str, part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        parts = [part()]
        while tokens[0] == word:
            tokens.pop(0)
            parts.append(part())
        return parts[0] if len(parts) == 1 else {kind: parts}

    def either() -> dict[str, Any]:
        return several("or", "anyOf", lambda: several("and", "allOf", one))

    def one() -> dict[str, Any]:
        token = tokens.pop(0)
        if token == "not":
            return {"not": one()}
        if token == "(":
            inner = either()
            if tokens.pop(0) != ")":
                raise ValueError(f"condition {text!r} is not understood")
            return inner
        many, _, pattern = token.rpartition(" of ")
        chosen = [name for name in blocks if (pattern == "them" and many) or fnmatch.fnmatchcase(name, pattern)]
        if not chosen or (not many and chosen != [token]):
            raise ValueError(f"condition {text!r}: no search block {pattern!r}; accepted: {', '.join(blocks)}")
        return {"allOf" if many == "all" else "anyOf": [answered(name, True) for name in chosen]} if many else answered(token, True)

    whole = either()
    if tokens != [""]:
        raise ValueError(f"condition {text!r} is not understood at {tokens[0]!r}")
    return whole


def answered(key: str, value: Any) -> dict[str, Any]:
    return {"properties": {key: {"const": value}}, "required": [key]}


def rules(rule: Mapping[str, Any], blocks: Sequence[str], levels: Sequence[str]) -> list[dict[str, Any]]:
    """How the answers hang together, each with a text for people."""
    holds, level = condition(str(rule["detection"]["condition"]), blocks), str(rule.get("level", "none"))
    found = {"if": holds, "then": answered("fires", True), "else": answered("fires", False)}
    raised = {"if": answered("fires", True), "then": answered("severity", level), "else": answered("severity", "none")}
    urgent = [level for level in levels if level in ("high", "critical")]
    high = {"properties": {"severity": {"enum": urgent}}, "required": ["severity"]} if urgent else False
    passed = {"if": high, "then": answered("escalate", True), "else": answered("escalate", False)}
    told = ("fires as the condition says", "severity is the rule's level if it fires, else none", "escalate what is high or critical")
    return [{"text": text, "schema": schema} for text, schema in zip(told, (found, raised, passed), strict=True)]


def group(row: Mapping[str, Any], plain: bool) -> dict[str, Any]:
    """A row in the form that `clover-decide eval` reads.

    Raises:
        ValueError: it is no rule with an event.
    """
    told, separator, happened = row["material"].removeprefix(RULE).partition(EVENT)
    if not separator or not isinstance(rule := yaml.safe_load(told), dict):
        raise ValueError("no rule and event")
    event = dict(entry.split(": ", 1) for entry in happened.split("\n") if ": " in entry)
    asked = {q["id"]: q for q in row["questions"]}
    blocks = [name for name in rule["detection"] if name in asked]
    worked_out = "\n".join(block(event, name, rule["detection"][name]) for name in blocks)
    material = row["material"] if plain else f"{row['material']}\n\nWhat the search blocks find in the event:\n{worked_out}"
    kinds: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "boolean": lambda q: {"type": "boolean", "text": q["text"]},
        "choice": lambda q: {"type": "choice", "text": q["text"], "options": q["options"]},
    }
    questions = {key: kinds[q["type"]](q) for key, q in asked.items()}
    made = rules(rule, blocks, asked["severity"]["options"])
    return {
        "id": row["id"],
        "material": material,
        "questions": questions,
        "answers": row["answers"],
        "rules": made,
        "domain": "alert-triage",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--plain", action="store_true", help="leave the material as it is")
    args = parser.parse_args()
    entries = [entry for entry in args.groups.read_text(encoding="utf-8").split("\n") if entry.strip()]
    made: list[str] = []
    for number, entry in enumerate(entries, 1):
        try:
            made.append(json.dumps(group(json.loads(entry), args.plain), ensure_ascii=False) + "\n")
        except (ValueError, KeyError, TypeError) as error:
            print(f"{args.groups}: group {number} is passed over: {error}", file=sys.stderr)
    args.out.write_text("".join(made), encoding="utf-8")
    print(f"{len(made)} groups in {args.out}")


if __name__ == "__main__":
    main()
