"""Decimal signs: which one a table has, and when the evidence is contradictory or ambiguous."""

from __future__ import annotations

import pytest

from thence.data.readings.frames import DecimalSign, detect_decimal_sign


@pytest.mark.parametrize(
    ("separator", "cells", "found"),
    [
        (",", ["1,5"], DecimalSign(".")),
        (";", ["1.5"], DecimalSign(".")),
        (";", ["7"], DecimalSign(".")),
        (";", ["12,500", "0,5"], DecimalSign(",", "12,500")),
        (";", ["12,500", "-1,050"], DecimalSign(",", "12,500", ambiguous=True)),
        (";", ["1,5", "1.25"], DecimalSign(".", "1,5", "1.25")),
        (";", ["1,5", "1.250"], DecimalSign(".", "1,5", "1.250", ambiguous=True)),
    ],
)
def test_decimal_signs(separator: str, cells: list[str], found: DecimalSign) -> None:
    assert detect_decimal_sign(separator, lambda sign: (cell for cell in cells if sign in cell)) == found
