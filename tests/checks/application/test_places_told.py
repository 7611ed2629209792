"""Which places are said to have more violations than when the rules were mined."""

from __future__ import annotations

import polars as pl
import pytest

from thence.checks.application.telling import _tell_places


@pytest.mark.parametrize(
    ("violated", "then", "told"),
    [
        (11, 0.020, False),  # 0.021: one more in 521 was told as a change
        (25, 0.020, True),
        (0, 0.020, False),
        (5, 0.0, True),
        (521, 1.0, False),
    ],
)
def test_only_clearly_more_violations_are_told(violated: int, then: float, told: bool) -> None:
    row = {
        "node": "Pump 3",
        "sensor": None,
        "applied": 521,
        "violated": violated,
        "share": violated / 521,
        "then": then,
    }
    found = _tell_places(pl.DataFrame([row | {"expected": then * 521}]))
    assert bool(found["places with more violations than when the rules were mined"]) == told
