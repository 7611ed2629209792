"""Measures against fractions worked out by hand, against mlxtend, and at the edges of their ranges."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from math import inf, nan, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.errors import InputError
from thence.statements.rules import measures
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import MLXTEND_COLUMNS
from thence.tables.bitmaps import bits
from thence.tables.bitmaps import counts as counting

# Of ten rows X holds in seven, Y in six, both in five: b = 5, x = 7, y = 6, n = 10.
HAND = Counts.from_matrix([[10, 7, 6, 5]], n_rows=12)
BY_HAND = {
    "support": Fraction(5, 10),
    "confidence": Fraction(5, 7),
    "rule_coverage": Fraction(7, 10),
    "consequent_support": Fraction(6, 10),
    "zhang": (Fraction(5, 7) - Fraction(1, 3)) / Fraction(5, 7),
    "lift": Fraction(50, 42),
    "leverage": Fraction(5, 10) - Fraction(7, 10) * Fraction(6, 10),
    "conviction": Fraction(4, 10) / Fraction(2, 7),
    "yules_q": Fraction(5 * 2 - 2 * 1, 5 * 2 + 2 * 1),
    "interestingness": Fraction(5, 7) * Fraction(5, 6) * Fraction(5, 10),
    "jaccard": Fraction(5, 8),
    "certainty": (Fraction(5, 7) - Fraction(6, 10)) / Fraction(4, 10),
    "kulczynski": (Fraction(5, 7) + Fraction(5, 6)) / 2,
    "all_confidence": Fraction(5, 7),
    "representativity": Fraction(10, 12),
    "odds_ratio": Fraction(5 * 2, 2 * 1),
    "chi_squared": Fraction(10 * (10 * 5 - 7 * 6) ** 2, 7 * 6 * 3 * 4),
}


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"cosine"}))
def test_hand_computed_fractions(name: str) -> None:
    assert MEASURES[name](HAND)[0] == pytest.approx(float(BY_HAND[name]), rel=1e-15)


def test_cosine_by_hand() -> None:
    assert MEASURES["cosine"](HAND)[0] == pytest.approx(5 / sqrt(42), rel=1e-15)


# (n, x, y, b) for every way in which a denominator can be zero.
NOTHING, NEVER_X, NEVER_Y, ALWAYS_X, ALWAYS_Y, NEVER_BOTH, ALWAYS_BOTH, SAME = (
    (0, 0, 0, 0),
    (8, 0, 3, 0),
    (8, 3, 0, 0),
    (8, 8, 3, 3),
    (8, 3, 8, 3),
    (8, 3, 5, 0),
    (8, 8, 8, 8),
    (8, 3, 3, 3),
)
EDGES = {
    "support": (0, 0, 0, 3 / 8, 3 / 8, 0, 1, 3 / 8),
    "confidence": (nan, nan, 0, 3 / 8, 1, 0, 1, 1),
    "rule_coverage": (0, 0, 3 / 8, 1, 3 / 8, 3 / 8, 1, 3 / 8),
    "consequent_support": (0, 3 / 8, 0, 3 / 8, 1, 5 / 8, 1, 3 / 8),
    "zhang": (0, 0, 0, 0, 0, -1, 0, 1),
    "lift": (0, 0, 0, 1, 1, 0, 1, 8 / 3),
    "leverage": (0, 0, 0, 0, 0, -15 / 64, 0, 15 / 64),
    "conviction": (1, 1, 1, 1, 1, 3 / 8, 1, inf),
    "yules_q": (0, 0, 0, 0, 0, -1, 0, 1),
    "interestingness": (0, 0, 0, 15 / 64, 15 / 64, 0, 0, 5 / 8),
    "jaccard": (0, 0, 0, 3 / 8, 3 / 8, 0, 1, 1),
    "certainty": (0, 0, 0, 0, 0, -5 / 3, 0, 1),
    "kulczynski": (0, 0, 0, 11 / 16, 11 / 16, 0, 1, 1),
    "all_confidence": (0, 0, 0, 3 / 8, 3 / 8, 0, 1, 1),
    "representativity": (0, 1, 1, 1, 1, 1, 1, 1),
    "cosine": (0, 0, 0, 3 / sqrt(24), 3 / sqrt(24), 0, 1, 1),
    "odds_ratio": (1, 1, 1, 1, 1, 0, 1, inf),
    "chi_squared": (0, 0, 0, 0, 0, 8, 0, 8),
}


@pytest.mark.parametrize("name", MEASURES)
def test_every_vanishing_denominator_is_defined(name: str) -> None:
    edges = Counts.from_matrix([NOTHING, NEVER_X, NEVER_Y, ALWAYS_X, ALWAYS_Y, NEVER_BOTH, ALWAYS_BOTH, SAME])
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert MEASURES[name](edges).tolist() == pytest.approx(list(EDGES[name]), rel=1e-15, nan_ok=True)


@st.composite
def counts_of_one_rule(draw: st.DrawFn, *, most: int = 60) -> tuple[int, int, int, int]:
    cells = draw(st.tuples(*(st.integers(0, most) for _ in range(4))))
    return sum(cells), cells[0] + cells[1], cells[0] + cells[2], cells[0]


@settings(max_examples=examples(500))
@given(st.lists(counts_of_one_rule(), min_size=1, max_size=20))
def test_values_stay_in_their_range(matrix: list[tuple[int, int, int, int]]) -> None:
    counts = Counts.from_matrix(matrix)
    for measure in MEASURES.values():
        values = measure(counts)
        assert values.dtype == np.float64 and values.shape == (len(matrix),)
        # A rule that never applied has no confidence; every other measure is always a number.
        assert not np.isnan(values[counts.n_antecedent > 0] if measure is MEASURES["confidence"] else values).any()
        known = values[~np.isnan(values)]
        assert (known >= measure.low - 1e-12).all() and (known <= measure.high + 1e-12).all()
    assert (measures.lift(counts) <= np.maximum(counts.n, 1)).all()
    assert (measures.chi_squared(counts) <= counts.n * (1 + 1e-12)).all()
    applied = counts.n_antecedent > 0
    assert (measures.support(counts) <= measures.confidence(counts))[applied].all()


@settings(max_examples=examples(200))
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
def test_independence_has_the_promised_value(a: int, b: int, c: int, d: int) -> None:
    """Outer products are independent by construction."""
    x, not_x, y, not_y = a, b, c, d
    counts = Counts.from_matrix([[(x + not_x) * (y + not_y), x * (y + not_y), y * (x + not_x), x * y]])
    for measure in MEASURES.values():
        if measure.independent is not None:
            assert measure(counts)[0] == measure.independent, measure.name


@settings(max_examples=examples(300))
@given(counts_of_one_rule(most=10**12))
def test_zhang_is_the_papers_formula_for_any_size(row: tuple[int, int, int, int]) -> None:
    """Also where products of counts need more than 64 bits, as over billions of virtual rows."""
    n, x, y, b = row
    value = measures.zhang(Counts.from_matrix([row]))[0]
    if x in (0, n) or y == 0:
        assert value == 0
    else:
        with_x, without_x = Fraction(b, x), Fraction(y - b, n - x)
        assert value == pytest.approx(float((with_x - without_x) / max(with_x, without_x)), rel=1e-15, abs=0)


def test_large_counts_do_not_overflow() -> None:
    huge = Counts.from_matrix([[4 * 10**12, 2 * 10**12, 2 * 10**12, 10**12 + 1]])
    assert measures.lift(huge)[0] == pytest.approx(1 + 1e-12, rel=1e-15)
    assert measures.leverage(huge)[0] == pytest.approx(1 / (4 * 10**12), rel=1e-15)
    assert measures.chi_squared(huge)[0] == pytest.approx(4 / 10**12, rel=1e-12)


def random_table(*, missing: float = 0.0) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(5)
    base = rng.integers(0, 4, size=400)
    codes = np.stack([(base + (rng.random(400) < 0.25)) % 4, base // 2, rng.integers(0, 3, size=400)], axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    return codes.astype(np.int8), [4, 2, 3]


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_agrees_with_mlxtend(missing: float) -> None:
    """Every column of mlxtend's association_rules; with missing values, those with the same denominator."""
    pd = pytest.importorskip("pandas")
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    codes, cardinalities = random_table(missing=missing)
    columns = [(feature, code) for feature, size in enumerate(cardinalities) for code in range(size)]
    flags = np.stack([codes[:, f] == code for f, code in columns], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mlxtend's own
        if missing:
            frame = pd.DataFrame(np.where(codes[:, [f for f, _ in columns]] < 0, np.nan, flags.astype(float)))
            itemsets = patterns.fpgrowth(frame, min_support=0.01, null_values=True)
            table = patterns.association_rules(
                itemsets, num_itemsets=len(frame), df_orig=frame, null_values=True, min_threshold=0.0
            )
            names = ["support", "confidence", "representativity"]
        else:
            frame = pd.DataFrame(flags)
            itemsets = patterns.fpgrowth(frame, min_support=0.01)
            table = patterns.association_rules(itemsets, num_itemsets=len(frame), min_threshold=0.0)
            names = list(MLXTEND_COLUMNS.values())
            assert list(MLXTEND_COLUMNS) == [
                name for name in table.columns if name not in ("antecedents", "consequents")
            ]
    table = table[table["consequents"].map(len) == 1]
    assert len(table) > 50
    bitmaps, present = bits.pack_codes(codes, cardinalities=cardinalities)
    counted = counting.count_bitmaps(
        bitmaps,
        n_rows=len(codes),
        antecedents=[[*map(int, left), -1, -1][:2] for left in table["antecedents"]],
        consequents=[int(next(iter(right))) for right in table["consequents"]],
        present=present,
        feature_of_item=[f for f, _ in columns],
    )
    counts = Counts(*counted, np.full(len(table), len(codes)))
    column_of = {ours: theirs for theirs, ours in MLXTEND_COLUMNS.items()}
    for name in names:
        theirs = table[column_of[name]].to_numpy(dtype=float)
        assert MEASURES[name](counts) == pytest.approx(theirs, rel=1e-12, abs=1e-12), name


def test_conviction_of_a_consequent_that_always_holds_differs_from_mlxtend_knowingly() -> None:
    assert measures.conviction(Counts.from_matrix([ALWAYS_Y])).tolist() == [1.0]


def test_counts_behave_like_columns() -> None:
    counts = Counts.from_matrix([[10, 5, 6, 4], [20, 7, 6, 5]], n_rows=25)
    assert counts[1:] == Counts.from_matrix([[20, 7, 6, 5]], n_rows=25)
    assert counts[np.array([False, True])] == counts[1] == counts[[1]]
    assert len(counts[[]]) == 0
    assert counts + counts == Counts.from_matrix([[20, 10, 12, 8], [40, 14, 12, 10]], n_rows=50)
    assert (counts + counts).n_rows.tolist() == [50, 50]
    assert Counts.concatenate([counts[:1], counts[1:]]) == counts
    assert counts != counts[:1] and counts != "counts"
    assert Counts.from_matrix([[10, 5, 6, 4], [20, 7, 6, 5]]).n_rows.tolist() == [10, 20]


def test_counts_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(InputError, match="n_antecedent must hold integers, got float64"):
        Counts(np.array([1]), np.array([0.5]), np.array([1]), np.array([1]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n must have as many entries as n_both, got 2 and 1"):
        Counts(np.array([1, 2]), np.array([1]), np.array([1]), np.array([1]))
    with pytest.raises(InputError, match="one-dimensional"):
        Counts(np.ones((1, 1), int), np.ones((1, 1), int), np.ones((1, 1), int), np.ones((1, 1), int))
    with pytest.raises(InputError, match="same rules, got 2 and 1"):
        Counts.from_matrix([[1, 1, 1, 1]] * 2) + Counts.from_matrix([[1, 1, 1, 1]])


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_every_measure_is_documented(measure: measures.Measure) -> None:
    for word in ("Formula: ", "Range: ", "Where ", "Reference: "):
        assert word in (measure.function.__doc__ or "")
    assert measure.function.__name__ == measure.name


def test_the_guide_lists_every_measure() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "measures.md").read_text(encoding="utf-8")
    table = guide.partition("## Measures")[2]
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) == list(MEASURES)
