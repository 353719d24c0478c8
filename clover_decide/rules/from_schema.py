"""JSON Schema over the answers object, compiled to a formula.

Objects: properties, required, if/then/else, allOf, anyOf, oneOf, not, dependentSchemas, dependentRequired, local $ref. Answers:
const, enum, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, contains, minItems, maxItems, type and the same
combinations. Any other keyword is refused by name: a rule that was only half understood would not be kept.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from clover_decide.errors import RuleError
from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Number, Quote, Score, Text
from clover_decide.rules.domains import unit
from clover_decide.rules.formula import Count, Fixed, Formula, Has, In, Linear, Multiple, Not, all_of, any_of, if_else, one_of

_NOTES = {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "examples", "default"}
_COMBINED = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref"}
_OBJECT = _COMBINED | {"properties", "required", "dependentSchemas", "dependentRequired", "type"}
_ANSWER = {"const", "enum", "type"}
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_ITEMS = {"contains", "minItems", "maxItems"}
_DEPTH, _PARTS, _LARGEST = 64, 2_000, 1e15


@dataclass
class _Reader:
    """What a compilation needs: the questions, values of non-string options, the whole schema, and how much was read."""

    questions: Mapping[str, AnyQuestion]
    raw: Mapping[str, Mapping[str, Any]]
    root: Any
    parts: int = 0


def schema_formula(schema: Any, questions: Mapping[str, AnyQuestion], raw: Mapping[str, Mapping[str, Any]], path: str) -> Formula:
    """The condition a schema states about the answers.

    Raises:
        RuleError: an unknown question or keyword, a value that is no answer of its question, a reference that is
            remote, missing or recursive, or a schema too large.
    """
    return _object(schema, _Reader(questions, raw, schema), path, ())


def _object(schema: Any, reader: _Reader, path: str, refs: tuple[str, ...]) -> Formula:
    if isinstance(schema, bool):
        return Fixed(schema)
    _check(schema, _OBJECT, reader, path, refs)
    if schema.get("type", "object") != "object":
        raise RuleError("the answers are an object", path=f"{path}.type", given=schema["type"], accepted="object")
    parts = _combined(schema, reader, path, refs, _object)
    for key, value in _mapping(schema, "properties", path).items():
        question = _question(key, reader, f"{path}.properties")
        parts.append(_answer(value, key, question, reader, f"{path}.properties.{key}", refs))
    # Every question is answered, so what is required is there, once it is known to be a question.
    for key in _list(schema, "required", path):
        _question(key, reader, f"{path}.required")
    for key, value in _mapping(schema, "dependentSchemas", path).items():
        _question(key, reader, f"{path}.dependentSchemas")
        parts.append(_object(value, reader, f"{path}.dependentSchemas.{key}", refs))
    for key, needed in _mapping(schema, "dependentRequired", path).items():
        for name in (key, *(needed if isinstance(needed, list) else [needed])):
            _question(name, reader, f"{path}.dependentRequired")
    return all_of(parts)


def _answer(schema: Any, key: str, question: AnyQuestion, reader: _Reader, path: str, refs: tuple[str, ...]) -> Formula:
    if isinstance(schema, bool):
        return Fixed(schema)
    known = (
        _ANSWER
        | _COMBINED
        | (_BOUNDS | {"multipleOf"} if _numeric(question) else set())
        | (_ITEMS if isinstance(question, MultiChoice) else set())
    )
    _check(schema, known, reader, path, refs)
    wanted = _json_type(question)
    given = schema.get("type", wanted)
    types = given if isinstance(given, list) else [given]
    if wanted not in types and not (wanted == "integer" and "number" in types):
        raise RuleError(f"{key!r} is a question of type {question.type}", path=f"{path}.type", given=given, accepted=wanted)
    parts = _combined(schema, reader, path, refs, lambda s, r, p, f: _answer(s, key, question, r, p, f))
    if "const" in schema:
        parts.append(_equals(schema["const"], key, question, reader, f"{path}.const"))
    if "enum" in schema:
        parts.append(_one_of_values(_list(schema, "enum", path), key, question, reader, f"{path}.enum"))
    parts += [_bound(name, schema[name], key, question, f"{path}.{name}") for name in sorted(_BOUNDS & set(schema))]
    if "multipleOf" in schema:
        parts.append(_multiple(schema["multipleOf"], key, question, f"{path}.multipleOf"))
    return all_of(parts + _items(schema, key, question, reader, path))


def _one_of_values(values: list[Any], key: str, question: AnyQuestion, reader: _Reader, path: str) -> Formula:
    reader.parts += len(values)
    if reader.parts > _PARTS:
        raise RuleError("too many values", path=path, accepted=f"{_PARTS} parts of a schema, values among them")
    found = [_equals(value, key, question, reader, path) for value in values]
    single = [part.values for part in found if isinstance(part, In)]
    return In(key, frozenset().union(*single)) if found and len(single) == len(found) else any_of(found)


def _combined(
    schema: Mapping[str, Any],
    reader: _Reader,
    path: str,
    refs: tuple[str, ...],
    read: Callable[[Any, _Reader, str, tuple[str, ...]], Formula],
) -> list[Formula]:
    """The parts that keywords for combining schemas state, read as objects or as answers."""
    parts: list[Formula] = []
    if "$ref" in schema:
        target, name = _target(schema["$ref"], reader, f"{path}.$ref", refs)
        parts.append(read(target, reader, f"{path}.$ref", (*refs, name)))
    for word, join in (("allOf", all_of), ("anyOf", any_of), ("oneOf", one_of)):
        if word in schema:
            listed = _list(schema, word, path)
            if not listed:
                raise RuleError("an empty list", path=f"{path}.{word}", accepted="at least one schema")
            parts.append(join([read(part, reader, f"{path}.{word}[{i}]", refs) for i, part in enumerate(listed)]))
    if "not" in schema:
        parts.append(Not(read(schema["not"], reader, f"{path}.not", refs)))
    # Without an "if" the other two say nothing, but what they say is read all the same.
    branches = [read(schema.get(word, True), reader, f"{path}.{word}", refs) for word in ("if", "then", "else")]
    if "if" in schema:
        parts.append(if_else(*branches))
    return parts


def _check(schema: Any, known: set[str], reader: _Reader, path: str, refs: tuple[str, ...]) -> None:
    if not isinstance(schema, Mapping):
        raise RuleError("not a schema", path=path, given=schema, accepted="an object, true or false")
    reader.parts += 1
    if reader.parts > _PARTS or path.count(".") > _DEPTH or len(refs) > _DEPTH:
        raise RuleError("the schema is too large or nested too deeply", path=path, accepted=f"{_PARTS} parts, {_DEPTH} keywords deep")
    unknown = sorted(set(schema) - known - _NOTES)
    if unknown:
        raise RuleError(f"keyword {unknown[0]!r} is not supported here", path=f"{path}.{unknown[0]}", accepted=", ".join(sorted(known)))


def _target(ref: Any, reader: _Reader, path: str, refs: tuple[str, ...]) -> tuple[Any, str]:
    if not isinstance(ref, str) or not ref.startswith("#/"):
        raise RuleError("only references within the schema are followed", path=path, given=ref, accepted="#/$defs/…")
    if ref in refs:
        raise RuleError("the reference leads back to itself", path=path, given=ref, accepted="a finite schema")
    target = reader.root
    for step in ref[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, Mapping) else None
    if target is None:
        raise RuleError("the reference does not resolve", path=path, given=ref, accepted="an existing definition")
    return target, ref


def _question(key: Any, reader: _Reader, path: str) -> AnyQuestion:
    if not isinstance(key, str) or key not in reader.questions:
        raise RuleError("names an unknown question", path=path, given=key, accepted=", ".join(reader.questions))
    return reader.questions[key]


def _mapping(schema: Mapping[str, Any], word: str, path: str) -> Mapping[str, Any]:
    value = schema.get(word, {})
    if not isinstance(value, Mapping):
        raise RuleError("not an object", path=f"{path}.{word}", given=value, accepted="question ids with schemas")
    return value


def _list(schema: Mapping[str, Any], word: str, path: str) -> list[Any]:
    value = schema.get(word, [])
    if not isinstance(value, list):
        raise RuleError("not a list", path=f"{path}.{word}", given=value, accepted="a list")
    return value


def _numeric(question: AnyQuestion) -> bool:
    return isinstance(question, (Integer, Number, Score))


def _json_type(question: AnyQuestion) -> str:
    match question:
        case Boolean():
            return "boolean"
        case MultiChoice():
            return "array"
        case Integer() | Score():
            return "integer"
        case Number():
            return "number"
        case Choice() | Date() | Quote() | Text():
            return "string"


def _bound(word: str, value: Any, key: str, question: AnyQuestion, path: str) -> Formula:
    if not _is_number(value):
        raise RuleError("a bound must be a number", path=path, given=value, accepted=f"a number, at most {_LARGEST:.0e} in size")
    limit, step = Fraction(str(value)), unit(question)
    relation = "<" if word.startswith("exclusive") else "<="
    lower = word.lower().endswith("minimum")
    return Linear.of({key: -step if lower else step}, limit if lower else -limit, relation)


def _multiple(value: Any, key: str, question: AnyQuestion, path: str) -> Formula:
    if not _is_number(value) or value <= 0:
        raise RuleError("not a positive number", path=path, given=value, accepted="a number above 0")
    # A multiple of p/q steps that is a whole number of steps is a multiple of p.
    return Multiple(key, (Fraction(str(value)) / unit(question)).numerator)


def _items(schema: Mapping[str, Any], key: str, question: AnyQuestion, reader: _Reader, path: str) -> list[Formula]:
    if not isinstance(question, MultiChoice):
        return []
    parts: list[Formula] = []
    if "contains" in schema:
        parts.append(_contains(schema["contains"], key, question, f"{path}.contains"))
    if "minItems" in schema or "maxItems" in schema:
        least, most = schema.get("minItems", 0), schema.get("maxItems", len(question.options))
        if any(isinstance(n, bool) or not isinstance(n, int) for n in (least, most)):
            raise RuleError("a number of items must be whole", path=path, given=[least, most], accepted="minItems and maxItems as integers")
        parts.append(Count(key, least, most))
    return parts


def _contains(schema: Any, key: str, question: MultiChoice, path: str) -> Formula:
    if isinstance(schema, Mapping) and set(schema) - _NOTES == {"const"}:
        return Has(key, _option(schema["const"], question, f"{path}.const"))
    if isinstance(schema, Mapping) and set(schema) - _NOTES == {"enum"} and isinstance(schema["enum"], list):
        return any_of([Has(key, _option(value, question, f"{path}.enum")) for value in schema["enum"]])
    raise RuleError(
        "only an option, or a list of them, can be contained", path=path, given=schema, accepted='{"const": …} or {"enum": […]}'
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _option(value: Any, question: Choice | MultiChoice, path: str) -> str:
    names = [option.value for option in question.options]
    if value not in names:
        raise RuleError("not an option of the question", path=path, given=value, accepted=", ".join(names))
    return value


def _equals(value: Any, key: str, question: AnyQuestion, reader: _Reader, path: str) -> Formula:
    match question:
        case Boolean() if isinstance(value, bool):
            return In(key, frozenset({value}))
        case Choice():
            back = {(type(v), v): name for name, v in reader.raw.get(key, {}).items()}
            scalar = isinstance(value, (str, int, float, bool))
            return In(key, frozenset({_option(back.get((type(value), value), value) if scalar else value, question, path)}))
        case MultiChoice() if isinstance(value, list):
            names = {_option(item, question, path) for item in value}
            return all_of([Has(key, o.value) if o.value in names else Not(Has(key, o.value)) for o in question.options])
        case Integer() | Score() | Number() if _is_number(value):
            return In(key, frozenset({_step(value, question, path)}))
        case Date() if isinstance(value, str):
            return In(key, frozenset({_ordinal(value, path)}))
        case Quote() | Text() if isinstance(value, str):
            return In(key, frozenset({value}))
    raise RuleError(f"never the answer to a question of type {question.type}", path=path, given=value, accepted=_json_type(question))


def _step(value: int | float, question: AnyQuestion, path: str) -> int:
    steps = Fraction(str(value)) / unit(question)
    if floor(steps) != ceil(steps):
        raise RuleError("more decimals than the question has", path=path, given=value, accepted=f"multiples of {unit(question)}")
    return int(steps)


def _ordinal(value: str, path: str) -> int:
    try:
        return dt.date.fromisoformat(value).toordinal()
    except ValueError:
        raise RuleError("not a date", path=path, given=value, accepted="an ISO date, YYYY-MM-DD") from None
