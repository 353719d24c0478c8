"""Security alerts: does the detection fire, is it benign, how severe, what to do."""

from __future__ import annotations

import datetime as dt

from clover_decide.questions import AnyQuestion, Boolean, Choice, Date, Integer, Score
from clover_train.groups import Guide, World, Writer

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
    seen = dt.date(2022, 1, 1) + dt.timedelta(days=rng.randrange(1500))
    fires = count > threshold
    malicious = fires and not listed
    severity = 1 + critical if malicious else 0

    clauses = {
        "fire_rule": w.say("fire_rule", threshold=threshold, noun=noun),
        "list_rule": w.say("list_rule"),
        "severity_rule": w.say("severity_rule"),
        "action_rule": w.say("action_rule"),
        "observed": case.say("observed", count=count, noun=noun, host=host, user=user, date=case.date(seen)),
        "listed": case.say("listed" if listed else "not_listed", host=host),
        "critical": case.say("critical" if critical else "not_critical", host=host),
    }
    distractors = [w.say("filler", host=host, other=other, user=user) for _ in range(2)]
    distractors.append(w.say("other_host", other=other))
    answers = {
        "fires": fires,
        "verdict": "malicious" if malicious else "benign",
        "severity": severity,
        "action": ("close", "ticket", "page")[severity],
        "count": count,
        "critical_asset": critical,
        "seen": seen,
    }
    compared = f"fire_rule#{count}" if count == threshold else f"{count} {noun.lower()}#{count}"
    guide, questions = _guide(count, compared, fires, malicious, seen), _questions(case, noun)
    return World("alert", "count-list-asset", clauses, distractors, questions, answers, NEEDS, RULES, guide)


def _guide(count: int, compared: str, fires: bool, malicious: bool, seen: dt.date) -> Guide:
    verdict = (compared, "listed") if fires else ("listed", compared)
    severity = (compared, "listed", "critical") if malicious else ("critical", *verdict)
    evidence = {
        # Where the count stands in the comparison, before or after "is more than", is the answer.
        "fires": (f"observed#{count}", compared),
        "verdict": verdict,
        "severity": severity,
        "action": severity,
        "count": ("observed",),
        "critical_asset": ("critical",),
        "seen": ("observed", seen.isoformat()),
    }
    builds = {"verdict": ("fires",), "severity": ("verdict", "critical_asset"), "action": ("severity", "verdict")}
    return Guide(evidence, builds, {}, same=() if compared.startswith("fire_rule") else ((compared, f"observed#{count}"),))


def _questions(w: Writer, noun: str) -> dict[str, AnyQuestion]:
    return {
        "fires": Boolean(w.say("q_fires")),
        "verdict": Choice(w.say("q_verdict"), options=("benign", "malicious")),
        "severity": Score(w.say("q_severity"), levels=("low", "medium", "high")),
        "action": Choice(w.say("q_action"), options=("page", "ticket", "close")),
        "count": Integer(w.say("q_count", noun=noun), minimum=0, maximum=9999),
        "critical_asset": Boolean(w.say("q_critical")),
        "seen": Date(w.say("q_seen")),
    }
