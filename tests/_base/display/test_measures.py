"""Measures are rounded, but 1 and 0 are said of what is 1 and 0 only."""

from __future__ import annotations

import pytest

from thence._base.display.rules import format_measure, format_percent


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


@pytest.mark.parametrize(
    ("share", "text"), [(0.9996, "99.9 %"), (0.00002, "0.002 %"), (float("nan"), "an unknown share"), (0.0, "0 %")]
)
def test_a_share_is_not_rounded_to_all_or_none(share: float, text: str) -> None:
    assert format_percent(share) == text
