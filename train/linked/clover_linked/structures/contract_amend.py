"""Orders under an amended price: bands of quantity, a later clause that overrides, an approval limit."""

from __future__ import annotations

import datetime as dt

from clover_decide.questions import Choice, Score
from clover_linked.cases import COUNT, DATE, DOLLARS, NAME, REF, YES_NO, Ask, Draw, Facts, Rule, Structure, is_, rule
from clover_linked.graph import ans, choose, fact, op
from clover_linked.wording import Money, Writer


def _amend_facts(d: Draw) -> Facts:
    buyer, seller = d.names("parties", 2)
    small = d.pick(10, 20, 25, 40, 50)
    large = small * d.pick(3, 4, 5)
    quantity = d.near(d.pick(small, large), 8, low=2)
    prices = sorted(d.rng.sample(range(5, 40), 4), reverse=True)
    amended = d.day()
    limit = quantity * prices[1] + d.pick(-30, -10, 10, 30)
    return {
        "buyer": buyer,
        "seller": seller,
        "item": d.name("goods"),
        "quantity": quantity,
        "ordered": amended + dt.timedelta(days=d.pick(-20, -2, -1, 0, 1, 2, 20)),
        "small": small,
        "large": large,
        "prices": prices,
        "amended": amended,
        "limit": max(20, limit),
        "ref": d.ref(),
    }


def _amend_clauses(f: Facts, w: Writer) -> list[tuple[str, str]]:
    high, middle, low, new = (Money(price) for price in f["prices"])
    who = {key: f[key] for key in ("buyer", "seller", "item", "quantity")}
    return [
        ("order", w.say("order", date=f["ordered"], **who)),
        ("band_rule", w.say("band_rule", small=f["small"], large=f["large"])),
        ("price_rule", w.say("price_rule", small=high, medium=middle, large=low)),
        ("amendment", w.say("amendment", date=f["amended"], price=new)),
        ("approval_rule", w.say("approval_rule", limit=Money(f["limit"]))),
        ("file_ref", w.say("file_ref", ref=f["ref"])),
    ]


def _amend_rules(f: Facts) -> list[Rule]:
    high, middle, low, new = f["prices"]
    over = {"exclusiveMinimum": f["limit"]}
    return [
        rule("the price of a small lot", {"lot": is_(0)}, {"price": is_(high)}, {"price": {"enum": [middle, low, new]}}),
        rule("the price of a medium lot", {"lot": is_(1)}, {"price": is_(middle)}),
        rule("the amended price exactly for amended large lots", {"lot": is_(2), "amended": is_(True)}, {"price": is_(new)}),
        rule("the director approves above the limit", {"total": over}, {"approver": is_("director")}, {"approver": is_("manager")}),
        rule("large lots begin at the stated quantity", {"lot": is_(2)}, {"quantity": {"minimum": f["large"]}}),
    ]


AMEND = Structure(
    domain="contract",
    name="amend",
    graph={
        "lot": choose((op("lt", fact("quantity"), fact("small")), 0), (op("lt", fact("quantity"), fact("large")), 1), otherwise=2),
        "amended": op("ge", fact("ordered"), fact("amended")),
        "price": choose(
            (op("and", op("eq", ans("lot"), 2), ans("amended")), op("lookup", fact("prices"), 3)),
            otherwise=op("lookup", fact("prices"), ans("lot")),
        ),
        "total": op("mul", fact("quantity"), ans("price")),
        "approver": choose((op("gt", ans("total"), fact("limit")), "director"), otherwise="manager"),
        "ordered": fact("ordered"),
        "quantity": fact("quantity"),
        "buyer": fact("buyer"),
        "ref": fact("ref"),
    },
    asks={
        "lot": Ask(Score, options=("small", "medium", "large")),
        "amended": YES_NO,
        "price": COUNT,
        "total": DOLLARS,
        "approver": Ask(Choice, options=("manager", "director")),
        "ordered": DATE,
        "quantity": COUNT,
        "buyer": NAME,
        "ref": REF,
    },
    sample=_amend_facts,
    clauses=_amend_clauses,
    rules=_amend_rules,
    edits=(
        lambda d, f: {**f, "ordered": f["amended"] + dt.timedelta(days=-1 if f["ordered"] >= f["amended"] else 1)},
        lambda d, f: {**f, "quantity": f["large"] - 1 if f["quantity"] >= f["large"] else f["large"]},
    ),
    distance=lambda f: min(abs(f["quantity"] - f["small"]), abs(f["quantity"] - f["large"]), abs((f["ordered"] - f["amended"]).days)),
)
