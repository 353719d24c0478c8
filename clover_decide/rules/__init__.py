"""Rules between questions: they hold in every joint answer, by construction.

A rule is a JSON Schema over the answers object or a CEL expression; helpers build the schemas that are asked for most.

    rules = [implies({"timely": False}, {"refund": 0}), "refund == deposit - damage", "end >= start"]
    decide(material, questions, rules=rules)
"""

from __future__ import annotations

from clover_decide.rules.build import at_most, exactly_one, excludes, implies, monotone
from clover_decide.rules.rule_set import MAX_RULES, Rule, RuleSet, read_rules

__all__ = ["MAX_RULES", "Rule", "RuleSet", "at_most", "exactly_one", "excludes", "implies", "monotone", "read_rules"]
