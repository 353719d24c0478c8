"""Security alerts: does the detection fire, is it benign, how severe, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, MultiChoice, Quote, Score, Text
from clover_train.groups import REF, REMARKS, Guide, World, Writer

HOLDS = ("detection fired", "host allow-listed", "critical asset")
RULES = frozenset({"fire_rule", "list_rule", "severity_rule", "action_rule"})
_FIRES = frozenset({"observed", "fire_rule"})
_VERDICT = _FIRES | {"listed", "list_rule"}
_SEVERITY = _VERDICT | {"critical", "severity_rule"}
NEEDS = {
    "fires": _FIRES,
    "verdict": _VERDICT,
    "severity": _SEVERITY,
    "action": _SEVERITY | {"action_rule"},
    "count": frozenset({"observed"}),
    "critical_asset": frozenset({"observed", "critical"}),
    "seen": frozenset({"observed"}),
    "listed": frozenset({"observed", "listed"}),
    "host": frozenset({"observed"}),
    "user": frozenset({"observed"}),
    "holds": _FIRES | {"listed", "critical"},
    "threshold": frozenset({"fire_rule"}),
    "ref": frozenset({"file_ref"}),
}


def world(setting: Writer, case: Writer) -> World:
    """An alert with a counting rule, an allow-list, asset criticality and a policy for severity and action."""
    w, rng = setting, case.rng
    host, other = w.names("hosts", 2)
    user = w.names("people", 1)[0]
    noun = w.names("events", 1)[0]
    threshold = w.rng.choice([5, 8, 10, 12, 15, 20, 25, 30, 40, 50])
    count = max(1, threshold + rng.choice([-4, -2, -1, 0, 1, 2, 3, 5, 7, 15, 30]))
    critical, listed = rng.random() < 0.5, rng.random() < 0.35
    seen, ref = case.day(), case.ref()
    fires = count > threshold
    malicious = fires and not listed
    severity = 1 + critical if malicious else 0

    clauses = {
        "fire_rule": w.say("fire_rule", threshold=threshold, noun=noun),
        "list_rule": w.say("list_rule"),
        "severity_rule": w.say("severity_rule"),
        "action_rule": w.say("action_rule"),
        "observed": _observed(case, count, noun=noun, host=host, user=user, date=case.date(seen)),
        "listed": case.say("listed" if listed else "not_listed", host=host),
        "critical": case.say("critical" if critical else "not_critical", host=host),
        "file_ref": case.say("file_ref", ref=ref),
    }
    distractors = w.remarks(REMARKS, host=host, other=other, user=user)
    distractors += [w.say("other_host", other=other) for _ in range(2)]
    distractors += [w.say("decoy_date", date=w.date(w.day())) for _ in range(2)]
    distractors += [w.say("decoy_count", count=w.rng.randrange(2, 60), noun=thing) for thing in w.names("counted", 2)]
    answers = {
        "fires": fires,
        "verdict": "malicious" if malicious else "benign",
        "severity": severity,
        "action": ("close", "ticket", "page")[severity],
        "count": count,
        "critical_asset": critical,
        "seen": seen,
        "listed": listed,
        "host": host,
        "user": user,
        "holds": tuple(h for h, true in zip(HOLDS, (fires, listed, critical), strict=True) if true),
        "threshold": threshold,
        "ref": ref,
    }
    compared = f"fire_rule#{count}" if count == threshold else f"{count} {noun.lower()}#{count}"
    guide, questions = _guide(answers, compared), _questions(case, noun)
    return World("alert", "count-list-asset", clauses, distractors, questions, answers, NEEDS, RULES, guide)


def _observed(w: Writer, count: int, **values: Any) -> str:
    """What was counted; at times a first count was wrong."""
    if w.rng.random() < 0.3:
        wrong = max(1, count + w.rng.choice([-6, -4, -2, 2, 4, 9])) + 1
        return w.say("observed_corrected", wrong=wrong, count=count, **values)
    return w.say("observed", count=count, **values)


def _guide(answers: Mapping[str, Any], compared: str) -> Guide:
    count, fires, seen = answers["count"], answers["fires"], answers["seen"].isoformat()
    verdict = (compared, "listed") if fires else ("listed", compared)
    severity = (compared, "listed", "critical") if answers["verdict"] == "malicious" else ("critical", *verdict)
    evidence = {
        # Where the count stands in the comparison, before or after "is more than", is the answer.
        "fires": (f"observed#{count}", compared),
        "verdict": verdict,
        "severity": severity,
        "action": severity,
        "count": ("observed",),
        "critical_asset": ("critical",),
        "seen": ("observed", seen),
        "listed": ("listed",),
        "host": ("observed",),
        "user": ("observed",),
        "holds": (compared, "listed", "critical"),
        "threshold": ("fire_rule",),
        "ref": ("file_ref",),
    }
    builds = {
        "verdict": ("fires",),
        "severity": ("verdict", "critical_asset"),
        "action": ("severity", "verdict"),
        "holds": ("fires", "listed"),
    }
    copies = {
        "count": f"observed#{count}",
        "seen": f"{seen}#{seen}",
        "threshold": f"fire_rule#{answers['threshold']}",
        "ref": f"file_ref#{answers['ref']}",
        **{name: f"observed#{answers[name]}" for name in ("host", "user")},
    }
    same = () if compared.startswith("fire_rule") else ((compared, f"observed#{count}"),)
    return Guide(evidence, builds, {}, same=same, copies=copies)


def _questions(w: Writer, noun: str) -> dict[str, AnyQuestion]:
    return {
        "fires": Boolean(w.say("q_fires")),
        "verdict": Choice(w.say("q_verdict"), options=("benign", "malicious")),
        "severity": Score(w.say("q_severity"), levels=("low", "medium", "high")),
        "action": Choice(w.say("q_action"), options=("page", "ticket", "close")),
        "count": Integer(w.say("q_count", noun=noun), minimum=0, maximum=9999),
        "critical_asset": Boolean(w.say("q_critical")),
        "seen": Date(w.say("q_seen")),
        "listed": Boolean(w.say("q_listed")),
        "host": Quote(w.say("q_host")),
        "user": Quote(w.say("q_user")),
        "holds": MultiChoice(w.say("q_holds"), options=HOLDS),
        "threshold": Integer(w.say("q_threshold"), minimum=0, maximum=9999),
        "ref": Text(w.say("q_ref"), pattern=REF),
    }
