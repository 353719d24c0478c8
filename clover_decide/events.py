"""Security events as materials: Windows and Sysmon, CloudTrail, Suricata EVE, syslog, or any JSON object, one a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clover_decide.errors import FormatError
from clover_decide.files import parse_json

Kind = Literal["windows", "cloudtrail", "suricata", "syslog", "json"]
MAX_VALUE = 400
"""Characters of a value that are shown; encoded scripts and packets run to thousands. What is left out is counted in the text."""
MAX_NAME = 120
"""Characters of a field's name that are shown."""
MAX_FIELDS = 80
"""Fields of an event that are shown; what is left out is counted in the text."""

# RFC 3164 and RFC 5424, as far as both say who and when; the priority may be missing in files.
_SYSLOG = re.compile(
    r"^(?:<(?P<priority>1[0-8]\d|19[01]|\d{1,2})>)?(?:1 )?"
    r"(?P<when>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]{8,15}(?:Z|[+-]\d\d:?\d\d)?|-) "
    r"(?P<host>[\w.:-]{1,255}) (?P<message>.+)$"
)
# Where each kind says what the event is called, when it was, and on what.
_NAMES: dict[Kind, tuple[str, ...]] = {
    "windows": ("EventRecordID", "RecordNumber"),
    "cloudtrail": ("eventID",),
    "suricata": ("flow_id",),
    "json": ("id", "event_id", "uuid"),
}
_FIRST: dict[Kind, tuple[str, ...]] = {
    "windows": ("EventID", "Channel", "Computer", "UtcTime", "User", "Image", "CommandLine", "ParentImage", "ParentCommandLine"),
    "cloudtrail": ("eventName", "eventSource", "eventTime", "awsRegion", "sourceIPAddress", "userIdentity.type", "userIdentity.arn"),
    "suricata": ("event_type", "timestamp", "src_ip", "src_port", "dest_ip", "dest_port", "proto", "alert.signature", "alert.severity"),
    "json": (),
}


@dataclass(frozen=True)
class Event:
    """One event. `text`: what the model reads, a field a line, the telling ones first; `left_out`: how many fields and parts of
    values the bounds kept from it."""

    kind: Kind
    id: str | None
    text: str
    left_out: int = 0


def read_event(line: str, where: str = "event") -> Event:
    """An event from a line: a JSON object of a known or unknown format, or a syslog message.

    Raises:
        FormatError: neither; or JSON that ends too early or is otherwise malformed.
    """
    text = line.strip().removeprefix("\ufeff")
    if text.startswith(("{", "[", '"')):
        data = parse_json(text, where)
        if not isinstance(data, dict) or not data:
            raise FormatError("is no event", path=where, given=data, accepted="a JSON object with fields")
        return _json_event(data, where)
    found = _SYSLOG.match(text)
    if not found:
        raise FormatError("is no event", path=where, given=text[:120], accepted="a JSON object or a syslog message on one line")
    fields = {"Time": found["when"], "Host": found["host"], "Message": found["message"]}
    if found["priority"]:
        fields = {"Priority": _priority(int(found["priority"])), **fields}
    return _worded("syslog", None, fields)


def _json_event(data: Mapping[str, Any], where: str) -> Event:
    fields = dict(_flat(data))
    if not fields:
        raise FormatError("is an event without content", path=where, accepted="a JSON object with fields that are not empty")
    if "detail-type" in fields:
        # Amazon EventBridge wraps the events that it passes on.
        fields = _shortened(fields, ("detail.",))
    if "eventSource" in fields and "eventName" in fields:
        kind: Kind = "cloudtrail"
    elif "event_type" in fields and ("flow_id" in fields or "src_ip" in fields):
        kind = "suricata"
    elif any(_short(name) in ("EventID", "event_id", "EventID.#text") for name in fields):
        # Event logs come as they are, or nested in System and EventData.
        kind, fields = "windows", _shortened(fields)
    else:
        kind = "json"
    name = next((str(fields[key]) for key in _NAMES[kind] if key in fields), None)
    first = {key: fields[key] for key in _FIRST[kind] if key in fields}
    return _worded(kind, name, {**first, **fields})


def _flat(data: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Fields with dotted names; empty ones are nothing to read."""
    for key, value in data.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            if all(not isinstance(one, (dict, list)) for one in value) and value:
                yield name, ", ".join(map(str, value))
            else:
                for i, one in enumerate(value):
                    yield from _flat({str(i): one}, f"{name}.")
        elif value not in (None, ""):
            yield name, value


_WINDOWS = ("Event.", "System.", "EventData.", "winlog.", "event_data.")


def _shortened(fields: Mapping[str, Any], envelopes: Sequence[str] = _WINDOWS) -> dict[str, Any]:
    """Fields without their envelopes, but for those whose short name another has as well."""
    short = Counter(_short(name, envelopes) for name in fields)
    out: dict[str, Any] = {}
    for name, value in fields.items():
        shorter = _short(name, envelopes)
        out[shorter if short[shorter] == 1 and (shorter == name or shorter not in fields) else name] = value
    return out


def _short(name: str, envelopes: Sequence[str] = _WINDOWS) -> str:
    """A field without the envelopes around it."""
    # One after the other, as they are nested.
    for envelope in envelopes:
        name = name.removeprefix(envelope)
    return name


def _worded(kind: Kind, name: str | None, fields: Mapping[str, Any]) -> Event:
    shown = list(fields.items())[:MAX_FIELDS]
    left_out = len(fields) - len(shown)
    lines = [f"Event ({kind}):"]
    for key, value in shown:
        text = str(value)
        if len(text) > MAX_VALUE:
            left_out += 1
            text = f"{text[:MAX_VALUE]} … ({len(text) - MAX_VALUE} more characters)"
        name_shown = " ".join(str(key).split())
        if len(name_shown) > MAX_NAME:
            left_out += 1
            name_shown = f"{name_shown[:MAX_NAME]}…"
        lines.append(f"{name_shown}: {' '.join(text.split())}")
    if len(fields) > MAX_FIELDS:
        lines.append(f"({len(fields) - MAX_FIELDS} more fields)")
    return Event(kind, name, "\n".join(lines), left_out)


_SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "informational", "debug")


def _priority(value: int) -> str:
    """RFC 5424, section 6.2.1: eight times the facility plus the severity."""
    return f"{value} ({_SEVERITIES[value % 8]})"
