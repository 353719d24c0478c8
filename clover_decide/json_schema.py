"""Questions from a JSON Schema object (and so from a pydantic class): one question a property.

Supported property schemas: boolean; string enum, const or oneOf of described consts; enums of other scalars; integer and
number with bounds; string with format date or with a pattern; arrays of an enum with unique items. Local `$ref`s are
followed, remote ones refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clover_decide.errors import QuestionError

_ACCEPTED = (
    "boolean, enum, oneOf of consts with descriptions, integer, number, string with format 'date' or a pattern, "
    "or an array of an enum"
)


def questions_of_schema(schema: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Question dicts by property, and for enums of non-strings the option text -> value maps.

    Raises:
        QuestionError: an unsupported property, a missing description, a `$ref` that does not resolve.
    """
    questions: dict[str, dict[str, Any]] = {}
    raw: dict[str, dict[str, Any]] = {}
    for name, given in schema["properties"].items():
        path = f"questions.properties.{name}"
        prop = _resolve(given, schema, path)
        text = prop.get("description") or ""
        if not text.strip():
            raise QuestionError(
                "no description; it is the question put to the model (names never reach it)", path=path, accepted="a description"
            )
        questions[name] = {"text": text, **_question(prop, schema, path, raw.setdefault(name, {}))}
    return questions, {name: table for name, table in raw.items() if table}


def _resolve(prop: Any, root: Mapping[str, Any], path: str) -> dict[str, Any]:
    seen: set[str] = set()
    merged: dict[str, Any] = dict(prop)
    while "$ref" in merged:
        ref = merged.pop("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            raise QuestionError(
                "only references within the schema are followed", path=f"{path}.$ref", given=ref, accepted="#/$defs/…"
            )
        if ref in seen:
            raise QuestionError("the reference leads back to itself", path=f"{path}.$ref", given=ref, accepted="a finite schema")
        seen.add(ref)
        target: Any = root
        for step in ref[2:].split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            raise QuestionError(
                "the reference does not resolve", path=f"{path}.$ref", given=ref, accepted="an existing definition"
            )
        # What stands beside the $ref (a field's own description) wins over the definition's.
        merged = {**target, **merged}
    if "allOf" in merged and len(merged["allOf"]) == 1:
        inner = _resolve(merged.pop("allOf")[0], root, path)
        merged = {**inner, **merged}
    return merged


def _question(prop: dict[str, Any], root: Mapping[str, Any], path: str, raw: dict[str, Any]) -> dict[str, Any]:
    kind = prop.get("type")
    if "const" in prop or "enum" in prop or "oneOf" in prop:
        return {"type": "choice", "options": _options(prop, path, raw)}
    if kind == "boolean":
        return {"type": "boolean"}
    if kind == "integer":
        return {"type": "integer", **_integer_bounds(prop)}
    if kind == "number":
        bounds = {"minimum": prop.get("minimum"), "maximum": prop.get("maximum")}
        return {"type": "number", **{k: v for k, v in bounds.items() if v is not None}}
    if kind == "string" and prop.get("format") == "date":
        return {"type": "date"}
    if kind == "string" and "pattern" in prop:
        # JSON Schema patterns are unanchored; a question's pattern describes the whole value.
        pattern = prop["pattern"]
        body = pattern.removeprefix("^").removesuffix("$")
        return {"type": "text", "pattern": body}
    if kind == "array" and isinstance(prop.get("items"), Mapping):
        items = _resolve(prop["items"], root, f"{path}.items")
        if "enum" in items or "oneOf" in items:
            bounds = {"minimum": prop.get("minItems"), "maximum": prop.get("maxItems")}
            found = {"type": "multi_choice", "options": _options(items, path, raw)}
            return {**found, **{k: v for k, v in bounds.items() if v is not None}}
    raise QuestionError("this property cannot be asked as a question", path=path, given=kind, accepted=_ACCEPTED)


def _integer_bounds(prop: Mapping[str, Any]) -> dict[str, int]:
    bounds: dict[str, int] = {}
    if "minimum" in prop or "exclusiveMinimum" in prop:
        bounds["minimum"] = prop["minimum"] if "minimum" in prop else prop["exclusiveMinimum"] + 1
    if "maximum" in prop or "exclusiveMaximum" in prop:
        bounds["maximum"] = prop["maximum"] if "maximum" in prop else prop["exclusiveMaximum"] - 1
    return bounds


def _options(prop: Mapping[str, Any], path: str, raw: dict[str, Any]) -> list[dict[str, Any]]:
    if "oneOf" in prop:
        items = [(item.get("const"), item.get("description")) for item in prop["oneOf"] if isinstance(item, Mapping)]
        if any(value is None for value, _ in items) or not items:
            raise QuestionError("every branch of oneOf needs a const", path=path, accepted="[{const, description}, …]")
    else:
        items = [(value, None) for value in prop.get("enum", [prop.get("const")])]
    options: list[dict[str, Any]] = []
    for value, description in items:
        if not isinstance(value, (str, int, float, bool)):
            raise QuestionError("an option must be a scalar", path=path, given=value, accepted="strings, numbers or booleans")
        text = value if isinstance(value, str) else json.dumps(value)
        if not isinstance(value, str):
            raw[text] = value
        options.append({"value": text, "description": description})
    return options
