"""Random rule sets for tests of the explorer: every role of features, with and without patterns and extras."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from thence.language.items import Aspect, Feature, Interval, Item, Role
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet

HOSTILE = ["<script>alert(1)</script>", 'a"b', "{x}", "line\nbreak", "שלום", "if", "", " ", "a'b", "🚰"]
FEATURES = [
    Feature("s1", label="flow", unit="m3/h", place="Pipe 1", classes=frozenset({"Pipe", "Link"})),
    Feature("s2", label="pressure", place="Junction 2", classes=frozenset({"Junction"})),
    Feature("f_l", role=Role.VARIABLE, label="flow", place="l", relative=True, classes=frozenset({"Link"})),
    Feature("l", Aspect.PROPERTY, "length", role=Role.VARIABLE, label="Pipe", classes=frozenset({"Pipe", "Link"})),
    Feature("Pipe 1", Aspect.PROPERTY, "diameter", role=Role.NODE, label="Pipe"),
    Feature("Pipe 1", Aspect.LABEL, "Valve", role=Role.NODE),
    Feature("Pipe 1", Aspect.EDGE, "ends_at", role=Role.NODE, other="Junction 2"),
    Feature("hour", name="hour", role=Role.TIME),
    Feature("column"),
    *(Feature(name or "x", label=name) for name in HOSTILE),
]
ITEMS = [Item.among(feature, Interval(low, low + 1)) for feature in FEATURES for low in (0, 1)]
PATTERNS = (
    ("(l:Link)", "for every Link l"),
    ("(n:Node)", "for every Node n"),
    ("(n:Node)-[x]->(m)", "for every Node n"),
)


@st.composite
def rule_sets(draw: st.DrawFn, *, most: int = 12) -> RuleSet:
    """Draw a rule set; rules may occur twice, and counts may be 0."""
    size = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    width = draw(st.integers(1, 3))
    antecedents = rng.integers(-1, len(ITEMS), (size, width)).astype(np.int32)
    antecedents[:, 0] = np.abs(antecedents[:, 0])
    n = rng.integers(0, 6, size)
    x, y = rng.integers(0, n + 1), rng.integers(0, n + 1)
    low = np.maximum(x + y - n, 0)
    both = rng.integers(low, np.minimum(x, y) + 1)
    counts = Counts.from_matrix(np.stack([n, x, y, both], axis=1)) if size else RuleSet.empty().counts
    lifted = draw(st.booleans())
    return RuleSet(
        tuple(ITEMS),
        antecedents,
        rng.integers(0, len(ITEMS), size).astype(np.int32),
        counts,
        PATTERNS if lifted else (),
        rng.integers(-1, len(PATTERNS), size).astype(np.int32) if lifted else None,
        {"p_value": rng.choice([0.1, 0.2, np.nan], size)} if draw(st.booleans()) else {},
    )
