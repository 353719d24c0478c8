"""Questions from a JSON Schema object (and so from a pydantic class): one question a property.

Supported property schemas: boolean; string enum, const or oneOf of described consts; enums of other scalars; integer and
number with bounds; string with format date or with an anchored pattern; arrays of an enum. Local `$ref`s are followed,
remote ones refused. A keyword that would be ignored is refused by name: silence would break the promise that every
answer is valid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from clover_decide.errors import QuestionError

_ACCEPTED = (
    "boolean, enum, oneOf of consts with descriptions, integer, number, string with format 'date' or a pattern, or an array of an enum"
)
_NOTES = {"title", "description", "default", "examples", "$comment", "deprecated", "type", "readOnly", "writeOnly"}
MAX_BOUND = 10**15
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_DEPTH = 20


def questions_of_schema(schema: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Question dicts by property, and for enums of non-strings the option text -> value maps.

    Raises:
        QuestionError: an unsupported property or keyword, a missing description, a `$ref` that does not resolve.
    """
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, Mapping):
        raise QuestionError("only an object with properties can be asked", path="questions", accepted='{"type": "object", "properties": …}')
    questions: dict[str, dict[str, Any]] = {}
    raw: dict[str, dict[str, Any]] = {}
    for name, given in properties.items():
        path = f"questions.properties.{name}"
        prop = _resolve(given, schema, path)
        text = prop.get("description")
        if not isinstance(text, str) or not text.strip():
            raise QuestionError(
                "no description; it is the question put to the model (names never reach it)", path=path, accepted="a description"
            )
        values: dict[str, Any] = {}
        questions[name] = {"text": text, **_question(prop, schema, path, values)}
        if values:
            raw[name] = values
    return questions, raw


def _resolve(prop: Any, root: Mapping[str, Any], path: str, depth: int = 0) -> dict[str, Any]:
    if not isinstance(prop, Mapping):
        raise QuestionError("a property must be a schema object", path=path, given=prop, accepted=_ACCEPTED)
    if depth > _DEPTH:
        raise QuestionError("the reference leads back to itself", path=f"{path}.$ref", accepted="a finite schema")
    merged = dict(prop)
    wrapped = merged.pop("allOf") if isinstance(merged.get("allOf"), list) and len(merged["allOf"]) == 1 else None
    if wrapped is None and "$ref" not in merged:
        return merged
    target = wrapped[0] if wrapped else _target(merged.pop("$ref"), root, path)
    found = _resolve(target, root, path, depth + 1)
    # A shared definition says what the values are, not what is asked: its own description is a docstring.
    return {**{k: v for k, v in found.items() if k not in ("description", "title")}, **merged}


def _target(ref: Any, root: Mapping[str, Any], path: str) -> Any:
    if not isinstance(ref, str) or not ref.startswith("#/"):
        raise QuestionError("only references within the schema are followed", path=f"{path}.$ref", given=ref, accepted="#/$defs/…")
    target: Any = root
    for step in ref[2:].split("/"):
        target = target.get(step) if isinstance(target, Mapping) else None
    if target is None:
        raise QuestionError("the reference does not resolve", path=f"{path}.$ref", given=ref, accepted="an existing definition")
    return target


def _question(prop: dict[str, Any], root: Mapping[str, Any], path: str, raw: dict[str, Any]) -> dict[str, Any]:
    kind = prop.get("type")
    if {"const", "enum", "oneOf"} & set(prop):
        _only(prop, {"const", "enum", "oneOf"}, path)
        return {"type": "choice", "options": _options(prop, path, raw)}
    if kind == "boolean":
        _only(prop, set(), path)
        return {"type": "boolean"}
    if kind == "integer":
        _only(prop, _BOUNDS, path)
        return {"type": "integer", **_integer_bounds(_numbers(prop, path))}
    if kind == "number":
        _only(prop, _BOUNDS, path)
        return {"type": "number", **_number_bounds(_numbers(prop, path))}
    if kind == "string" and prop.get("format") == "date":
        _only(prop, {"format"}, path)
        return {"type": "date"}
    if kind == "string" and "pattern" in prop:
        _only(prop, {"pattern"}, path)
        return {"type": "text", "pattern": _whole(prop["pattern"], path)}
    if kind == "array":
        _only(prop, {"items", "minItems", "maxItems", "uniqueItems"}, path)
        items = _resolve(prop.get("items"), root, f"{path}.items")
        bounds = {"minimum": prop.get("minItems"), "maximum": prop.get("maxItems")}
        found = {"type": "multi_choice", "options": _options(items, f"{path}.items", raw)}
        return {**found, **{k: v for k, v in bounds.items() if v is not None}}
    raise QuestionError("this property cannot be asked as a question", path=path, given=kind, accepted=_ACCEPTED)


def _only(prop: Mapping[str, Any], known: set[str], path: str) -> None:
    unknown = sorted(set(prop) - known - _NOTES)
    if unknown:
        accepted = ", ".join(sorted(known)) or "no further keyword"
        raise QuestionError(f"keyword {unknown[0]!r} is not supported here", path=f"{path}.{unknown[0]}", accepted=accepted)


def _numbers(prop: Mapping[str, Any], path: str) -> dict[str, int | float]:
    bounds = {k: prop[k] for k in _BOUNDS if prop.get(k) is not None}
    for key, value in bounds.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise QuestionError("a bound must be a number", path=f"{path}.{key}", given=value, accepted="a number")
        if not -MAX_BOUND <= value <= MAX_BOUND:
            raise QuestionError("a bound is out of range", path=f"{path}.{key}", given=value, accepted=f"a number up to {MAX_BOUND:.0e}")
    return bounds


def _integer_bounds(bounds: Mapping[str, int | float]) -> dict[str, int]:
    import math

    low = [math.ceil(bounds["minimum"])] if "minimum" in bounds else []
    low += [math.floor(bounds["exclusiveMinimum"]) + 1] if "exclusiveMinimum" in bounds else []
    high = [math.floor(bounds["maximum"])] if "maximum" in bounds else []
    high += [math.ceil(bounds["exclusiveMaximum"]) - 1] if "exclusiveMaximum" in bounds else []
    # A missing bound is the documented default, moved where it would contradict the given one.
    minimum = max(low) if low else min([0, *(h - 999_999 for h in high if h < 0)])
    maximum = min(high) if high else max(999_999, minimum + 999_999 if minimum > 0 else 0)
    return {"minimum": minimum, "maximum": maximum}


def _number_bounds(bounds: Mapping[str, int | float]) -> dict[str, Any]:
    decimals = max([2, *(-int(Decimal(repr(v)).normalize().as_tuple().exponent) for v in bounds.values())])
    step = 10.0**-decimals
    low = [float(bounds["minimum"])] if "minimum" in bounds else []
    low += [round(bounds["exclusiveMinimum"] + step, decimals)] if "exclusiveMinimum" in bounds else []
    high = [float(bounds["maximum"])] if "maximum" in bounds else []
    high += [round(bounds["exclusiveMaximum"] - step, decimals)] if "exclusiveMaximum" in bounds else []
    minimum = max(low) if low else min([0.0, *(h - 999_999 for h in high if h < 0)])
    maximum = min(high) if high else max(999_999.0, minimum + 999_999 if minimum > 0 else 0.0)
    return {"minimum": minimum, "maximum": maximum, "decimals": decimals}


def _whole(pattern: Any, path: str) -> str:
    """The body of an anchored pattern. JSON Schema patterns match anywhere in the value; a question's is the whole value."""
    if not isinstance(pattern, str) or not pattern.startswith("^") or not pattern.endswith("$") or pattern.endswith("\\$"):
        raise QuestionError("the pattern must describe the whole value", path=f"{path}.pattern", given=pattern, accepted="^…$")
    body, depth = pattern[1:-1], 0
    for at, c in enumerate(body):
        if at and body[at - 1] == "\\":
            continue
        depth += (c in "([") - (c in ")]")
        if c == "|" and depth == 0:
            raise QuestionError("the anchors bind only the outer branches", path=f"{path}.pattern", given=pattern, accepted="^(?:…|…)$")
    return body


def _options(prop: Mapping[str, Any], path: str, raw: dict[str, Any]) -> list[dict[str, Any]]:
    key = next((k for k in ("oneOf", "enum", "const") if k in prop), None)
    if key is None:
        raise QuestionError("no options", path=path, accepted="enum, or oneOf of consts")
    listed = [prop[key]] if key == "const" else prop[key]
    if not isinstance(listed, list):
        raise QuestionError(f"{key} must be a list", path=f"{path}.{key}", given=listed, accepted="a list of options")
    options: list[dict[str, Any]] = []
    for item in listed:
        value, description = item, None
        if key == "oneOf":
            if not isinstance(item, Mapping) or "const" not in item:
                raise QuestionError("every branch of oneOf needs a const", path=f"{path}.oneOf", accepted="[{const, description}, …]")
            value, description = item["const"], item.get("description")
        if not isinstance(value, (str, int, float, bool)):
            raise QuestionError("an option must be a scalar", path=path, given=value, accepted="strings, numbers or booleans")
        text = value if isinstance(value, str) else json.dumps(value)
        if not isinstance(value, str):
            raw[text] = value
        options.append({"value": text, "description": description})
    return options
