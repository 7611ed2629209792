"""Verdicts on claims, for hand-made numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from thence.experiments.claims import Verdict, check_claims
from thence.experiments.files import Claim, PublishedRow, read_experiment
from thence.experiments.store import Repeat
from thence.experiments.summary import Cell, Results, summarise


def results_of(claim: Claim, records: list[list[tuple[str, float | None, float]]], **changes: Any) -> Results:
    """Results of repeats whose records are (row, at, value of the metric of the claim), all of them corrected."""
    experiment = replace(read_experiment("6"), claims=(claim,), published=(), rows={}, **changes)
    repeats = [
        Repeat("arm-ae", "hanoi", n, {"sensors": 20}, (), tuple(map(_record(claim.metric), rows)), {})
        for n, rows in enumerate(records)
    ]
    return summarise(experiment, repeats, datasets=("hanoi",))


def _record(metric: str) -> Any:
    def make(row: tuple[str, float | None, float]) -> dict[str, Any]:
        seconds = row[2] if metric == "seconds" else None
        return {
            "row": row[0],
            "at": row[1],
            "variant": "corrected",
            "values": {} if metric == "seconds" else {metric: row[2]},
            "seconds": seconds,
            "facts": {},
        }

    return make


def only(results: Results) -> Verdict:
    (verdict,) = check_claims(results)
    return verdict


def claim(test: str, metric: str = "support", **sides: Any) -> Claim:
    return Claim(id="c", text="…", test=test, metric=metric, left="a", **sides)


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
