"""Verdicts on claims, for hand-made numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.errors import ConfigError
from thence.lab.experiments.files import Claim, PublishedRow, read_experiment
from thence.lab.experiments.results import NO_VERDICT, Cell, ClaimVerdict, Repeat, Results, check_claims, summarise


def results_of(claim: Claim, records: list[list[tuple[Any, ...]]], **changes: Any) -> Results:
    """Results of repeats whose records are (row, at, value of the metric of the claim), all of them corrected.

    A record may have a fourth part, its facts.
    """
    experiment = replace(read_experiment("6"), claims=(claim,), rows={}, **{"published": (), **changes})
    repeats = [
        Repeat("arm-ae", "hanoi", n, {"sensors": 20}, (), tuple(map(_record(claim.metric), rows)), {})
        for n, rows in enumerate(records)
    ]
    return summarise(experiment, repeats, datasets=("hanoi",))


def _record(metric: str) -> Any:
    def make(row: tuple[Any, ...]) -> dict[str, Any]:
        seconds = row[2] if metric == "seconds" else None
        return {
            "row": row[0],
            "at": row[1],
            "variant": "corrected",
            "values": {} if metric == "seconds" else {metric: row[2]},
            "seconds": seconds,
            "facts": row[3] if len(row) > 3 else {},
        }

    return make


def only(results: Results) -> ClaimVerdict:
    (verdict,) = check_claims(results)
    return verdict


def claim(test: str, metric: str = "support", **sides: Any) -> Claim:
    return Claim(**{"id": "c", "text": "…", "test": test, "metric": metric, "left": "a", **sides})


@pytest.mark.parametrize(
    ("left", "right", "factor", "held"), [(3.0, 2.0, 1.0, "yes"), (2.0, 2.0, 1.0, "no"), (19.0, 2.0, 10.0, "no")]
)
def test_greater(left: float, right: float, factor: float, held: str) -> None:
    verdict = only(results_of(claim("greater", right="b", factor=factor), [[("a", None, left), ("b", None, right)]]))
    assert verdict.held == held


def test_greater_counts_repeats_independently_of_the_mean() -> None:
    repeats = [[("a", None, a), ("b", None, 1.0)] for a in (5.0, 0.5, 0.5)]
    verdict = only(results_of(claim("greater", right="b"), repeats))
    assert (verdict.held, verdict.repeats_held, verdict.repeats) == ("yes", 1, 3)


def test_greater_at_some_values_holds_in_part() -> None:
    rows = [("a", 1.0, 5.0), ("b", 1.0, 1.0), ("a", 2.0, 1.0), ("b", 2.0, 5.0), ("a", 3.0, 9.0)]
    assert only(results_of(claim("greater", right="b"), [rows])).held == "in part"


@pytest.mark.parametrize(("left", "held"), [(1.9, "no"), (2.0, "yes"), (3.0, "yes"), (3.1, "no")])
def test_between_compares_the_ratio(left: float, held: str) -> None:
    bounds = {"right": "b", "low": 2.0, "high": 3.0}
    verdict = only(results_of(claim("between", "seconds", **bounds), [[("a", None, left), ("b", None, 1.0)]]))
    assert verdict.held == held


@pytest.mark.parametrize(
    ("test", "value", "held"), [("at-least", 0.5, "yes"), ("at-most", 0.5, "yes"), ("at-least", 0.6, "no")]
)
def test_bounds(test: str, value: float, held: str) -> None:
    assert only(results_of(claim(test, value=value), [[("a", None, 0.5)]])).held == held


@pytest.mark.parametrize(
    ("values", "rising", "falling"),
    [((1, 2, 3), "yes", "no"), ((1, 3, 2), "in part", "no"), ((3, 2, 1), "no", "yes"), ((2, 2, 2), "no", "no")],
)
def test_rising_and_falling(values: tuple[float, ...], rising: str, falling: str) -> None:
    rows = [("a", float(at), float(value)) for at, value in reversed(list(enumerate(values)))]
    assert only(results_of(claim("rising"), [rows])).held == rising
    assert only(results_of(claim("falling"), [rows])).held == falling


def test_what_was_not_measured_gets_no_verdict() -> None:
    assert check_claims(results_of(claim("greater", right="b"), [[("a", None, 1.0)]])) == []
    assert check_claims(results_of(claim("rising"), [[("a", 1.0, 1.0)]])) == []


def test_published_numbers_are_checked_too() -> None:
    experiment = replace(
        read_experiment("6"),
        claims=(claim("greater", right="b"),),
        published=(
            PublishedRow(dataset="hanoi", row="a", support=0.5),
            PublishedRow(dataset="hanoi", row="b", support=0.2),
            PublishedRow(dataset="ltown", row="a", support=0.1),
        ),
    )
    (verdict,) = check_claims(summarise(experiment, [], datasets=("hanoi", "ltown")))
    assert (verdict.dataset, verdict.variant, verdict.held, verdict.share) == ("hanoi", "paper", "yes", "")


def test_cell_is_mean_and_sample_deviation() -> None:
    cell = Cell({0: 1.0, 1: 2.0, 2: 6.0})
    assert cell.mean == 3.0
    assert cell.deviation == pytest.approx(7**0.5)
    assert Cell({4: 2.0}).deviation is None


STOPPED = {"stopped": "stopped at 10 rules"}


def test_a_search_that_was_cut_off_gives_no_verdict() -> None:
    rows = [("a", 1.0, 5.0), ("a", 2.0, 10.0, STOPPED)]
    for test in ("rising", "falling"):
        verdict = only(results_of(claim(test, "rules"), [rows, rows]))
        assert (verdict.held, verdict.numbers, verdict.share) == (NO_VERDICT, "1: 5, 2: ≥ 10", "")
    verdict = only(results_of(claim("greater", "rules", right="b"), [[("a", None, 90.0, STOPPED), ("b", None, 1.0)]]))
    assert (verdict.held, verdict.numbers) == (NO_VERDICT, "≥ 90 against 1")


def test_one_repeat_that_was_cut_off_is_enough() -> None:
    repeats: list[list[tuple[Any, ...]]] = [[("a", None, 5.0)], [("a", None, 9.0, STOPPED)]]
    assert only(results_of(claim("at-least", "rules", value=1.0), repeats)).held == NO_VERDICT


def test_a_row_that_was_cut_off_does_not_touch_other_rows() -> None:
    rows = [("a", None, 5.0), ("b", None, 1.0), ("c", None, 2.0, STOPPED)]
    assert only(results_of(claim("greater", "rules", right="b"), [rows])).held == "yes"


@pytest.mark.parametrize(("best", "held"), [(0.9, "yes"), (0.8, "no"), (0.7, "no")])
def test_highest_is_judged_against_every_row(best: float, held: str) -> None:
    rows = [("a", None, best), ("b", None, 0.1), ("c", None, 0.8)]
    verdict = only(results_of(claim("highest", right=("b", "c")), [rows]))
    assert (verdict.held, verdict.numbers) == (held, f"a {best:.3f} against b 0.100, c 0.800")


def test_highest_needs_every_row() -> None:
    assert check_claims(results_of(claim("highest", right=("b", "c")), [[("a", None, 1.0), ("b", None, 0.1)]])) == []


def test_several_rows_are_judged_one_by_one() -> None:
    rows = [("a", None, 0.2), ("b", None, 0.9)]
    verdict = only(results_of(claim("at-most", left=("a", "b"), value=0.5), [rows]))
    assert (verdict.held, verdict.numbers) == ("in part", "a 0.200; b 0.900")
    assert only(results_of(claim("at-most", left=("a", "b"), value=1.0), [rows])).held == "yes"


def test_rows_are_taken_at_the_values_that_a_claim_gives() -> None:
    rows = [("a", 1.0, 1.0), ("a", 9.0, 5.0), ("b", 0.05, 3.0), ("b", 0.1, 7.0)]
    verdict = only(results_of(claim("greater", "rules", right="b", left_at=9.0, right_at=0.05), [rows]))
    assert (verdict.held, verdict.numbers) == ("yes", "5 at 9 against 3 at 0.05")
    verdict = only(results_of(claim("greater", "rules", right="b", left_at=9.0), [rows]))
    assert (verdict.held, verdict.numbers) == ("in part", "5 at 9 against 3 at 0.05, 7 at 0.1")


def test_a_row_may_be_replaced_in_a_variant() -> None:
    rows = [("a", None, 1.0), ("a, whole", None, 3.0), ("b", None, 1.0)]
    verdict = only(results_of(claim("greater", right="b", instead={"corrected": {"a": "a, whole"}}), [rows]))
    assert (verdict.held, verdict.numbers) == ("yes", "a, whole: 3.000 against 1.000 (× 3)")
    verdict = only(results_of(claim("greater", right="b", instead={"faithful": {"a": "a, whole"}}), [rows]))
    assert verdict.held == "no"


def test_a_claim_is_checked_in_its_variants_only() -> None:
    rows = [[("a", None, 1.0)]]
    assert check_claims(results_of(claim("at-least", variants=("published",)), rows)) == []
    assert only(results_of(claim("at-least", variants=("corrected",)), rows)).held == "yes"


def test_two_empty_rule_sets_are_not_compared() -> None:
    assert check_claims(results_of(claim("greater", "rules", right="b"), [[("a", None, 0.0), ("b", None, 0.0)]])) == []


@pytest.mark.parametrize(("factor", "held"), [(1.5, "yes"), (1.2, "no")])
def test_level(factor: float, held: str) -> None:
    rows = [("a", 1.0, 1.0), ("a", 2.0, 1.4), ("a", 3.0, 1.2)]
    verdict = only(results_of(claim("level", factor=factor), [rows]))
    assert verdict.held == held
    assert verdict.numbers.endswith("(highest / lowest: 1.4)")


@given(
    exponent=st.floats(0.1, 3.0),
    scale=st.floats(0.01, 100.0),
    places=st.lists(st.integers(1, 10_000), min_size=2, max_size=6, unique=True),
)
def test_power_finds_the_exponent(exponent: float, scale: float, places: list[int]) -> None:
    rows = [("a", float(at), scale * at**exponent) for at in places]
    around = {"low": exponent - 0.01, "high": exponent + 0.01}
    assert only(results_of(claim("power", "seconds", **around), [rows])).held == "yes"
    assert only(results_of(claim("power", "seconds", low=exponent + 0.01, high=9.0), [rows])).held == "no"


def test_power_of_numbers_that_have_no_logarithm() -> None:
    verdict = only(results_of(claim("power", "rules", low=0.0, high=1.0), [[("a", 1.0, 0.0), ("a", 2.0, 1.0)]]))
    assert verdict.held == "no"
    assert "no exponent" in verdict.numbers


@pytest.mark.parametrize(
    ("metric", "published", "ours", "held"),
    [
        ("support", 0.5, (0.50, 0.58), "yes"),
        ("support", 0.5, (0.58, 0.58), "no"),
        ("rules", 100.0, (90.0, 112.0), "yes"),
        ("rules", 100.0, (90.0, 140.0), "no"),
    ],
)
def test_as_published_compares_the_mean_and_gives_the_spread(
    metric: str, published: float, ours: tuple[float, ...], held: str
) -> None:
    row = PublishedRow(dataset="hanoi", row="a", **{metric: published})  # type: ignore[arg-type]
    records = [[("a", None, value), ("b", None, value)] for value in ours]
    found = check_claims(
        results_of(claim("as-published", metric, left=("a", "b"), value=0.05), records, published=(row,))
    )
    (verdict,) = found  # not of the paper itself, and not of the row that the paper does not have
    assert (verdict.variant, verdict.held) == ("corrected", held)
    assert "±" in verdict.numbers
    assert "(paper " in verdict.numbers


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"test": "highest", "left": ("a", "b"), "right": "c"}, "one row as 'left'"),
        ({"test": "highest"}, "needs 'right'"),
        ({"test": "power", "low": 2.0, "high": 1.0}, "'low' must be less than 'high'"),
        ({"test": "level", "right": "b"}, "must not have 'right'"),
        ({"test": "at-most", "instead": {"correct": {"a": "b"}}}, "unknown variant 'correct' in 'instead'"),
        ({"test": "at-most", "variants": ("papers",)}, "unknown variant 'papers' in 'variants'"),
    ],
)
def test_claims_that_cannot_be_checked_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        claim(**wrong)
