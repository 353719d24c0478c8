"""Access requests: a reporting chain with an approval limit, and a matrix of grades with a course that expires."""

from __future__ import annotations

import datetime as dt
import itertools

from clover_decide.questions import Choice, MultiChoice
from clover_linked.cases import COUNT, DATE, DOLLARS, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, has, is_, lacks, rule
from clover_linked.graph import ans, choose, fact, holding, op
from clover_linked.odds import around, odds
from clover_linked.wording import Days, Money, Writer


def _people(d: Draw, count: int) -> list[str]:
    """Names of which none contains another and no two share a word."""
    people = d.names("people", count)
    while len({word for name in people for word in name.split()}) < sum(len(name.split()) for name in people):
        people = d.names("people", count)
    return people


def chain_facts(d: Draw, length: int | None = None, steps: int = 3) -> Facts:
    """A line of people, one of whom, at least `steps` below the top, asks for access near the limit."""
    line = _people(d, length or d.pick(5, 5, 6, 6, 7))
    limit = d.pick(300, 400, 600, 750, 800, 1200, 1500, 2500, 3000)
    asking = d.rng.randrange(len(line) - steps)
    return {
        "line": line,
        "boss": dict(itertools.pairwise(line)),
        "a": line[asking],
        "limit": limit,
        "amount": d.near(limit, 200, low=20),
        "ref": d.ref(),
    }


def chain_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    if "unsure" in f:
        shown = {**f, "unsure": [(percent, Money(value)) for percent, value in f["unsure"]]}
        request = w.say("request_unsure", "request", a=f["a"], **odds(shown))
    else:
        request = w.say("request", a=f["a"], amount=Money(f["amount"]))
    return [
        *((f"reports{i}", w.say("reports", f"reports{i}", a=a, b=b)) for i, (a, b) in enumerate(f["boss"].items())),
        ("approval_rule", w.say("approval_rule", limit=Money(f["limit"]))),
        ("request", request),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _chain_rules(f: Facts) -> list[Rule]:
    boss = f["boss"]
    steps = [("manager", "second"), ("second", "third")]
    each = [rule(f"above {a} stands {b}", {low: is_(a)}, {high: is_(b)}) for low, high in steps for a, b in boss.items()]
    over = {"exclusiveMinimum": f["limit"]}
    top = f["line"][-1]
    return [
        *each,
        rule("nobody stands above the top", {"third": {}}, {"second": {"not": is_(top)}}),
        rule("over exactly above the limit", {"amount": over}, {"over": is_(True)}, {"over": is_(False)}),
        *(
            rule(f"up to the limit {name} approves as manager", {"over": is_(False), "manager": is_(name)}, {"approver": is_(name)})
            for name in boss.values()
        ),
        *(
            rule(f"above the limit {name} approves as second manager", {"over": is_(True), "second": is_(name)}, {"approver": is_(name)})
            for name in boss.values()
        ),
    ]


def _move_amount(d: Draw, f: Facts) -> Facts:
    over = f["amount"] > f["limit"]
    return {**f, "amount": f["limit"] - d.pick(0, 1) if over else f["limit"] + d.pick(1, 1, 20)}


def _swap_line(d: Draw, f: Facts) -> Facts:
    """The person above the one who asks changes places with the next: three sentences of the line change."""
    at = f["line"].index(f["a"])
    line = list(f["line"])
    line[at + 1], line[at + 2] = line[at + 2], line[at + 1]
    return {**f, "line": line, "boss": dict(itertools.pairwise(line))}


def _unsure_amount(d: Draw, f: Facts) -> list[tuple[int, Facts]]:
    return [(p, {**f, "amount": n}) for p, n in around(d, f["limit"], reaching=False, spread=60)]


def _people_options(f: Facts) -> list[str]:
    # Sorted, so that twins whose line differs are offered the same list.
    return sorted(name for name in f["line"] if name != f["a"])


PERSON = Ask(Choice, fields=("a",), options=_people_options)

CHAIN = Structure(
    domain="access",
    name="chain",
    graph={
        "manager": op("lookup", fact("boss"), fact("a")),
        "second": op("lookup", fact("boss"), ans("manager")),
        "third": op("lookup", fact("boss"), ans("second")),
        "over": op("gt", ans("amount"), fact("limit")),
        "approver": choose((ans("over"), ans("second")), otherwise=ans("manager")),
        "amount": fact("amount"),
        "ref": fact("ref"),
    },
    asks={
        "manager": PERSON,
        "second": PERSON,
        "third": PERSON,
        "over": Ask(YES_NO.type, fields=("a",)),
        "approver": PERSON,
        "amount": DOLLARS,
        "ref": REF,
    },
    sample=chain_facts,
    clauses=chain_clauses,
    rules=_chain_rules,
    edits=(_move_amount, _swap_line),
    distance=lambda f: abs(f["amount"] - f["limit"]),
    unsure=_unsure_amount,
    open_fact="amount",
)


def _matrix_facts(d: Draw) -> Facts:
    roles, resources = d.names("roles", 4), d.names("resources", 2)
    user, sponsor = _people(d, 2)
    needed = d.pick(2, 3, 4)
    own = min(5, max(1, needed + d.pick(-1, 0, 0, 1, 2)))
    days = d.pick(90, 120, 180, 200, 365)
    passed = d.day()
    requested = passed + dt.timedelta(days=d.near(days, 60, low=5))
    return {
        "user": user,
        "role": roles[0],
        "grades": {roles[0]: own, **{role: d.rng.randrange(1, 6) for role in roles[1:]}},
        "resource": resources[0],
        "needs": {resources[0]: needed, resources[1]: d.rng.randrange(1, 6)},
        "passed": passed,
        "wrong": passed + dt.timedelta(days=d.pick(-3, -2, 2, 3)) if d.chance(0.25) else None,
        "days": days,
        "requested": requested,
        "emergency": d.chance(),
        "sponsor": sponsor if d.chance(0.6) else None,
        "ref": d.ref(),
    }


def _matrix_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    if f["wrong"]:
        training = w.say("training_corrected", "training", user=f["user"], wrong=f["wrong"], date=f["passed"])
    else:
        training = w.say("training", "training", user=f["user"], date=f["passed"])
    return [
        *((f"grade{i}", w.say("grade_row", f"grade{i}", role=role, grade=n)) for i, (role, n) in enumerate(f["grades"].items())),
        *((f"needs{i}", w.say("needs_row", f"needs{i}", resource=r, grade=n)) for i, (r, n) in enumerate(f["needs"].items())),
        ("person", w.say("person", user=f["user"], role=f["role"])),
        ("request", w.say("request", user=f["user"], resource=f["resource"], date=f["requested"])),
        ("training", training),
        ("training_rule", w.say("training_rule", days=Days(f["days"]))),
        ("grant_rule", w.say("grant_rule")),
        ("emergency", w.say("emergency" if f["emergency"] else "no_emergency", "emergency")),
        ("sponsor", w.say("sponsor", sponsor=f["sponsor"]) if f["sponsor"] else w.say("no_sponsor", "sponsor")),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _matrix_rules(f: Facts) -> list[Rule]:
    both, lacking = {"cleared": is_(True), "trained": is_(True)}, {"enum": ["temporary", "deny"]}
    return [
        rule("grant needs the grade", {"outcome": is_("grant")}, {"cleared": is_(True)}),
        rule("grant needs a valid course", {"outcome": is_("grant")}, {"trained": is_(True)}),
        rule("grade and course together grant", both, {"outcome": is_("grant")}, {"outcome": lacking}),
        rule("the grade is high enough exactly if it reaches the need", {"grade": {"minimum": f["needs"][f["resource"]]}},
             {"cleared": is_(True)}, {"cleared": is_(False)}, tells=["needed"]),
        rule("the course is among what is given exactly if valid", {"trained": is_(True)}, {"holds": has("course valid")},
             {"holds": lacks("course valid")}),
    ]  # fmt: skip


def _move_course(d: Draw, f: Facts) -> Facts:
    valid = (f["requested"] - f["passed"]).days <= f["days"]
    days = f["days"] + d.pick(1, 1, 2) if valid else f["days"] - d.pick(0, 1)
    return {**f, "passed": f["requested"] - dt.timedelta(days=days)}


def _move_grade(d: Draw, f: Facts) -> Facts:
    own, needed = f["grades"][f["role"]], f["needs"][f["resource"]]
    return {**f, "grades": {**f["grades"], f["role"]: needed - 1 if own >= needed else needed}}


MATRIX = Structure(
    domain="access",
    name="matrix",
    graph={
        "grade": op("lookup", fact("grades"), fact("role")),
        "needed": op("lookup", fact("needs"), fact("resource")),
        "cleared": op("ge", ans("grade"), ans("needed")),
        "expiry": op("plus_days", fact("passed"), fact("days")),
        "trained": op("not", op("gt", fact("requested"), ans("expiry"))),
        "outcome": choose(
            (op("and", ans("cleared"), ans("trained")), "grant"),
            (op("and", fact("emergency"), op("not", op("eq", fact("sponsor"), None))), "temporary"),
            otherwise="deny",
        ),
        "holds": holding(
            grade_high_enough=ans("cleared"), course_valid=ans("trained"), sponsor_signed=op("not", op("eq", fact("sponsor"), None))
        ),
        "requested": fact("requested"),
        "ref": fact("ref"),
    },
    asks={
        "grade": Ask(COUNT.type, fields=("user",), bounds={"maximum": 9}),
        "needed": Ask(COUNT.type, bounds={"maximum": 9}),
        "cleared": YES_NO,
        "expiry": DATE,
        "trained": YES_NO,
        "outcome": Ask(Choice, options=("grant", "temporary", "deny")),
        "holds": Ask(MultiChoice, options=("grade high enough", "course valid", "sponsor signed")),
        "requested": DATE,
        "ref": REF,
    },
    sample=_matrix_facts,
    clauses=_matrix_clauses,
    rules=_matrix_rules,
    edits=(
        _move_course,
        _move_grade,
        lambda d, f: {**f, "emergency": not f["emergency"]},
    ),
    distance=lambda f: abs((f["requested"] - f["passed"]).days - f["days"]),
)
