"""Bounds on measures are decided as the decimal numbers that were written, by every part that takes one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.examples import examples
from thence.errors import ConfigError
from thence.search.refine.merging import merge_intervals
from thence.search.refine.redundancy import simplify
from thence.statements.counting.recount import recount
from thence.statements.rules.bounds import as_fraction, exact_threshold, is_within
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

INFINITE = math.inf


def ratio(top: int, bottom: int, otherwise: int = 0) -> Fraction | float:
    if bottom == 0:
        return INFINITE if top > 0 else Fraction(otherwise)
    return Fraction(top, bottom)


def values(n: int, x: int, y: int, b: int, rows: int) -> dict[str, Fraction | float]:
    """All measures by the formulas of the guide, as fractions; ``cosine`` as its square."""
    d, e, f = n - x - y + b, x - b, y - b
    share, conf, cover, often = ratio(b, n), ratio(b, x), ratio(x, n), ratio(y, n)
    assert isinstance(conf, Fraction) and isinstance(share, Fraction)
    assert isinstance(cover, Fraction) and isinstance(often, Fraction)
    back = Fraction(b, y) if y else Fraction(0)
    rest = Fraction(f, n - x) if n > x else Fraction(0)
    largest = max(conf, rest)
    informative = 0 < x < n and y > 0
    return {
        "support": share,
        "confidence": conf if x else math.nan,
        "rule_coverage": cover,
        "consequent_support": often,
        "zhang": (conf - rest) / largest if informative and largest else Fraction(0),
        "lift": ratio(n * b, x * y),
        "leverage": share - cover * often,
        "conviction": Fraction(1) if not x or y == n else INFINITE if conf == 1 else (1 - often) / (1 - conf),
        "yules_q": ratio(b * d - e * f, b * d + e * f) if b * d + e * f else Fraction(0),
        "interestingness": conf * back * (1 - share),
        "jaccard": ratio(b, x + y - b),
        "certainty": Fraction(0) if not x or y == n else (conf - often) / (1 - often),
        "kulczynski": (conf + back) / 2,
        "all_confidence": ratio(b, max(x, y)),
        "representativity": ratio(n, rows),
        "cosine": ratio(b * b, x * y),
        "odds_ratio": ratio(b * d, e * f, 1),
        "chi_squared": Fraction(0) if x in (0, n) or y in (0, n) else
        Fraction(n * (n * b - x * y) ** 2, x * y * (n - x) * (n - y)),
    }  # fmt: skip


@st.composite
def counted(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int, int, int]:
    n = draw(st.integers(0, most))
    x, y = draw(st.integers(0, n)), draw(st.integers(0, n))
    b = draw(st.integers(max(0, x + y - n), min(x, y)))
    return n, x, y, b, n + draw(st.integers(0, 5))


def decide(counts: tuple[int, int, int, int, int], name: str, bound: float | Fraction, *, least: bool) -> bool:
    table = Counts.from_matrix([counts[:4]], n_rows=[counts[4]])
    return bool(is_within(table, name, bound, least=least)[0])


@settings(max_examples=examples(400), deadline=None)
@given(counted(), st.sampled_from(sorted(MEASURES)), st.integers(-100, 300), st.integers(0, 3))
# Before, floats decided: (3/5)·(3/3)·(1 − 3/9) is 0.39999999999999997 in binary, and so not at least 0.4.
@example((9, 5, 3, 3, 9), "interestingness", 4, 1)
def test_decimal_bounds_are_decided_like_fractions(
    counts: tuple[int, int, int, int, int], name: str, digits: int, places: int
) -> None:
    value, bound = values(*counts)[name], Fraction(digits, 10**places)
    compared = bound if name != "cosine" else bound * abs(bound)
    assert decide(counts, name, digits / 10**places, least=True) == (value >= compared)
    assert decide(counts, name, digits / 10**places, least=False) == (value <= compared)


@settings(max_examples=examples(400), deadline=None)
@given(counted(most=1 << 45), st.sampled_from(sorted(MEASURES)), st.integers(-1, 1))
def test_bounds_next_to_the_value_are_decided_like_fractions(
    counts: tuple[int, int, int, int, int], name: str, step: int
) -> None:
    """The smallest differences, far below the spacing of floats, and counts whose products need hundreds of bits."""
    value = values(*counts)[name]
    if isinstance(value, float):
        return
    bound = value + Fraction(step, 10**40)
    if name == "cosine":
        root = math.isqrt(value.numerator * 10**60 // value.denominator)
        bound = Fraction(root + step, 10**30)
        value = Fraction(value.numerator, value.denominator)
        assert decide(counts, name, bound, least=True) == (bound < 0 or value >= bound**2)
        return
    assert decide(counts, name, bound, least=True) == (step <= 0)
    assert decide(counts, name, bound, least=False) == (step >= 0)


@settings(max_examples=examples(300), deadline=None)
@given(counted(), st.sampled_from(sorted(MEASURES)))
def test_measures_equal_their_fractions_and_reach_bounds_computed_from_them(
    counts: tuple[int, int, int, int, int], name: str
) -> None:
    """A float of many digits, such as 0.8333333333333334 for 5/6, was computed: the rule it came from is within it."""
    computed = float(MEASURES[name](Counts.from_matrix([counts[:4]], n_rows=[counts[4]]))[0])
    value = values(*counts)[name]
    if math.isnan(value):
        assert math.isnan(computed)
        return
    assert computed == pytest.approx(math.sqrt(value) if name == "cosine" else float(value), rel=1e-14)
    assert decide(counts, name, computed, least=True) and decide(counts, name, computed, least=False)


@settings(max_examples=examples(500), deadline=None)
@given(st.integers(0, 10**17), st.integers(1, 10**17), st.integers(1, 60))
def test_threshold_decides_like_the_number_itself(numerator: int, denominator: int, most: int) -> None:
    wanted = Fraction(min(numerator, denominator), denominator)
    limit = exact_threshold(wanted, max_denominator=most)
    assert limit >= wanted and limit.denominator <= max(most, 1)
    for n in range(1, most + 1):
        least = -(-wanted.numerator * n // wanted.denominator)
        assert -(-limit.numerator * n // limit.denominator) == least


def test_bounds_mean_the_number_that_was_written() -> None:
    written = [0.4, "2/5", "0.4", Fraction(2, 5), np.float32(0.4), np.float64(0.4)]
    assert {as_fraction(bound) for bound in written} == {Fraction(2, 5)}  # type: ignore[arg-type]
    assert as_fraction(2) == 2 and as_fraction(1e-3) == Fraction(1, 1000)


@pytest.mark.parametrize("bound", [math.nan, "high", None, True])
def test_bounds_that_are_no_numbers_are_refused(bound: object) -> None:
    with pytest.raises(ConfigError, match="a bound must be a number"):
        is_within(Counts.from_matrix([[1, 1, 1, 1]]), "lift", bound, least=True)  # type: ignore[arg-type]


def test_infinite_bounds() -> None:
    counts = Counts.from_matrix([[10, 4, 6, 4], [10, 5, 6, 4]])
    assert is_within(counts, "conviction", math.inf, least=True).tolist() == [True, False]
    assert is_within(counts, "conviction", math.inf, least=False).tolist() == [True, True]
    assert is_within(counts, "conviction", 10.0**9, least=False).tolist() == [False, True]


def table_of(*rows: tuple[str, str, int]) -> TransactionTable:
    """A table of two categories, each pair repeated."""
    left = [a for a, _, times in rows for _ in range(times)]
    right = [b for _, b, times in rows for _ in range(times)]
    return TransactionTable.from_frame(pl.DataFrame({"a": left, "b": right}))


def test_filter_and_exact_decide_bounds_of_every_measure_exactly() -> None:
    """The rule has (3/5)·(3/3)·(1 − 3/9) = 0.4, in floating point 0.39999999999999997; it was dropped."""
    table = table_of(("x", "u", 3), ("x", "v", 2), ("y", "v", 4))
    wanted = "(a).value = 'x' → (b).value = 'u'"
    rules = th.Exact(min_support=0.0, min_confidence=0.0).mine(table)
    assert wanted in map(str, rules.filter(min_interestingness=0.4))
    assert wanted in map(str, rules.filter(max_interestingness=0.4))
    bounds = {"min_interestingness": 0.4}
    assert wanted in map(str, th.Exact(min_support=0.0, min_confidence=0.0, bounds=bounds).mine(table))


def test_a_computed_threshold_keeps_the_rule_it_came_from() -> None:
    """5/6 is 0.8333333333333334 as a float, which is a little more."""
    table = table_of(("x", "u", 5), ("x", "v", 1), ("y", "v", 6))
    found = th.Exact(min_support=0.0, min_confidence=0.0).mine(table)
    lowest = found.filter(min_confidence=0.8, max_confidence=0.9).measure("confidence").min()
    assert str(lowest) == "0.8333333333333334"
    assert len(found.filter(min_confidence=lowest)) == len(found.filter(min_confidence=0.8))
    mined = th.Exact(min_support=0.0, min_confidence=float(lowest)).mine(table)
    assert set(mined) == set(found.filter(min_confidence=0.8))


def test_simplification_sees_the_smallest_improvement() -> None:
    """The confidence 1/10⁶ is 5·10⁻¹³ above the frequency 2/(2·10⁶ + 1); a tolerance of 1e-12 made it equal."""
    many = 1_000_000
    row = np.arange(2 * many + 1)
    frame = pl.DataFrame({"a": np.where(row < many, "x", "y"), "b": np.where((row == 0) | (row == many), "u", "v")})
    table = TransactionTable.from_frame(frame)
    items = list(map(str, table.iter_items()))
    at = items.index("(a).value = 'x'"), items.index("(b).value = 'u'")
    rules = recount(np.array([[at[0]]]), np.array([at[1]]), table)
    assert rules.counts == Counts.from_matrix([[2 * many + 1, many, 2, 1]])
    assert len(simplify(rules, table, min_confidence=0)) == 1


@pytest.mark.parametrize(("bound", "merged"), [(0.8, True), (0.800001, False), (Fraction(4, 5), True)])
def test_merged_rules_reach_min_confidence_exactly(bound: float, merged: bool) -> None:
    """Bins with 7 of 10 and 9 of 10 rows make 16 of 20."""
    frame = pl.DataFrame({"a": [1.0] * 10 + [2.0] * 10 + [3.0] * 10, "b": [*"u" * 7, *"v" * 3, *"u" * 9, *"v" * 11]})
    table = TransactionTable.from_frame(frame, bins=3)
    rules = recount(np.array([[0], [1]]), np.array([3, 3]), table)
    made = merge_intervals(rules, table, min_confidence=bound)
    assert (len(made) == 1) == merged


def test_extra_columns_are_compared_as_the_floats_that_they_are() -> None:
    table = table_of(("x", "u", 3), ("y", "v", 4))
    rules = th.Exact(min_support=0.0, min_confidence=0.0).mine(table)
    spread = RuleSet(**{**vars(rules), "extras": {"spread": np.array([0.4, 0.1 + 0.3, np.nan, 0.5][: len(rules)])}})
    assert len(spread.filter(max_spread=0.4)) == 2
