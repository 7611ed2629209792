"""Rule sets for tests of exporters: one of every item form, and random ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.language.test_items import items
from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import COUNT_FIELDS, Rule, RuleSet

PATTERN = "(p:Pipe)-[starts_at]->(j:Junction), (f:flow)-[in]->(p), (g:pressure)-[in]->(j)"

FLOW = Feature("f1", label="flow", unit="m3/h", place="Pipe 28", classes=frozenset({"Pipe", "Link"}))
LEVEL = Feature("t1", label="level", unit="m", place="Tank 1")
LENGTH = Feature("Pipe 28", Aspect.PROPERTY, "length", role=Role.NODE, label="Pipe", unit="m")


def varied() -> RuleSet:
    """Rules with every form of item, a pattern, an extra column, facts and a note."""
    lifted_flow = Feature("f", label="flow", role=Role.VARIABLE, relative=True, place="p")
    lifted_pressure = Feature("g", label="pressure", role=Role.VARIABLE, relative=True, place="j")
    some_flow = Feature("Pipe", label="flow", role=Role.SOME, unit="m3/h")
    some = replace(some_flow, where=(Item.compare(some_flow, "<", -1e-9),))
    rules = [
        Rule(
            (Item.among(FLOW, Interval(23, 31)), Item.among(LENGTH, Interval(843, 895))), Item.compare(LEVEL, ">=", 4.0)
        ),
        Rule((Item.is_(Feature("Pipe 28", Aspect.LABEL, "Pipe", role=Role.NODE), True),), Item.is_(LEVEL, 0.1 + 0.2)),
        Rule((Item.is_(Feature("e1", Aspect.LABEL, "ends_at", role=Role.EDGE), True),), Item.among(LEVEL, [1.0, 2.0])),
        Rule(
            (Item.is_(Feature("Pipe 28", Aspect.EDGE, "ends_at", role=Role.NODE, other="Tank 1"), True),),
            Item.among(LEVEL, Interval(1, 2), negated=True),
        ),
        Rule((Item.is_(Feature('door | "x" <&>'), "open, `shut` or\n'ajar'"),), Item.among(FLOW, Interval(23, 31))),
        Rule((Item.is_(some, True),), Item.compare(Feature("", name="hour", role=Role.TIME), "=", 7.0)),
        Rule(
            (Item.compare(lifted_flow, ">=", 0.8),), Item.compare(lifted_pressure, "<", 0.2), PATTERN, "for every pipe"
        ),
    ]
    counts = Counts(
        np.array([100, 100, 100, 90, 100, 80, 5000]),
        np.array([10, 100, 30, 20, 7, 1, 900]),
        np.array([20, 25, 35, 40, 60, 50, 1100]),
        np.array([9, 25, 11, 20, 6, 0, 899]),
        np.array([100, 100, 100, 100, 100, 100, 5000]),
    )
    return RuleSet.from_rules(
        rules,
        counts,
        extras={"probability": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1 / 3]), "runs": np.arange(7)},
        facts={"n_transactions": 5000, "n_features": 9, "n_items": 40, "data_coverage": 0.75},
        notes=("stopped at 7 rules",),
    )


def _makes_sense(item: Item) -> bool:
    """Hours are numbers of a day, ranks lie between 0 and 1, and above a number there is room for the next one."""
    if item.feature.relative:
        return isinstance(item.value, float) and 0.001 < item.value < 0.999
    if item.feature.role is Role.TIME:
        return isinstance(item.value, float) and 0 <= item.value < 24
    return not isinstance(item.value, float) or abs(item.value) < 1e300


def _with_pattern(rule: Rule) -> Rule:
    """Variables belong to a pattern."""
    lifted = any(item.feature.role is Role.VARIABLE for item in (*rule.antecedent, rule.consequent))
    return replace(rule, pattern=PATTERN) if lifted else rule


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    """Rule sets of arbitrary items, with names and values that no format likes."""
    usual = items().filter(_makes_sense)
    rules = draw(
        st.lists(
            st.builds(
                Rule,
                st.lists(usual, min_size=1, max_size=3).map(tuple),
                usual,
                st.sampled_from(["", PATTERN]),
                st.just("somewhere"),
            ).map(_with_pattern),
            max_size=5,
        )
    )
    columns = []
    for _ in rules:
        n = draw(st.integers(1, 10**12))
        x, y = draw(st.integers(0, n)), draw(st.integers(0, n))
        columns.append((n, x, y, draw(st.integers(max(x + y - n, 0), min(x, y))), n + draw(st.integers(0, 9))))
    arrays = np.array(columns, np.int64).reshape(-1, 5).T
    extra = np.array([draw(st.floats(allow_nan=False, allow_infinity=False)) for _ in rules], np.float64)
    return RuleSet.from_rules(rules, Counts(*arrays), extras={"score": extra}, facts={"n_transactions": 7})


def told(rules: RuleSet) -> list[dict[str, Any]]:
    """Everything about every rule that must survive a round trip, units and places included."""
    counts = np.stack([getattr(rules.counts, name) for name in COUNT_FIELDS], axis=1).tolist()
    extras = {name: np.asarray(values).tolist() for name, values in rules.extras.items()}
    return [
        {**rule.to_dict(), "counts": counts[r], "extras": {name: column[r] for name, column in extras.items()}}
        for r, rule in enumerate(rules)
    ]
