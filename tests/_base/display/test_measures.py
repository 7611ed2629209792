"""Measures are rounded, but 1 and 0 are said of what is 1 and 0 only."""

from __future__ import annotations

import pytest

from thence._base.display.percent import percent
from thence._base.display.rules import format_measure, spread_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.9994, "0.999"),
        (0.9996, "0.9996"),  # was 1.000
        (1 - 1e-12, "0.9999"),
        (1.0, "1.000"),
        (0.0004, "0.0004"),  # was 0.000
        (1e-9, "below 0.0001"),
        (0.0, "0.000"),
    ],
)
def test_a_measure_is_not_rounded_to_1_or_0(value: float, text: str) -> None:
    assert format_measure(value) == text


@pytest.mark.parametrize(("share", "text"), [(0.9996, "99.9 %"), (0.00002, "0.002 %"), (0.0, "0 %"), (0.5, "50 %")])
def test_a_share_is_not_rounded_to_all_or_none(share: float, text: str) -> None:
    assert percent(share, "inside") == text


def test_a_share_is_rounded_as_its_use_says() -> None:
    assert percent(0.996) == percent(0.996, "nearest", 0) == "100 %" and percent(0.996, "down") == "99 %"
    assert percent(1 - 1e-12, "down") == "99 %" and percent(1 - 1e-12, "down", 2) == "99.99 %"
    assert percent(0.29, "down") == "29 %" and percent(0.5005, "down", 2) == "50.05 %"
    assert percent(0.123456, "digits", 3) == "12.3 %" and percent(0.123456, digits=2) == "12.35 %"
    assert percent(float("nan")) == "no" and percent(float("inf"), unknown="–") == "–"
    assert spread_text(float("nan"), 1.0) == "at an unknown share of the times, in 100 % of the places"
