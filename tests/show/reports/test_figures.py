"""Shares in figures agree with those of the page beside them."""

from __future__ import annotations

import pytest

from thence.show.reports.facts import _percent


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (399, 404, "98.8 %"),
        (9_999, 10_000, "99.9 %"),
        (1, 10_000, "0.1 %"),
        (0, 3, "0 %"),
        (3, 3, "100 %"),
        (1, 2, "50 %"),
    ],
)
def test_shares_are_rounded_but_not_to_all_or_none(part: int, whole: int, text: str) -> None:
    assert _percent(part, whole) == text
