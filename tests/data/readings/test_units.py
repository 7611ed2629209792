"""Units: how they are spelled, and what converts one into another."""

from __future__ import annotations

import pytest

from thence.data.readings.units import convert, find_unit, is_si, others_like


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (212.0, "°F", "°C", 100.0),
        (20.0, "degC", "K", 293.15),
        (1.0, "gpm", "L/s", 0.0630902),
        (100.0, "kPa", "psi", 14.503774),
        (10.0, "ft", "m", 3.048),
        (1500.0, "W", "kW", 1.5),
        (3.6, "m³/h", "l/s", 1.0),
        (1.0, "GAL_US-PER-MIN", "m3/h", 0.2271247),
        (1.0, "CFM", "L/s", 0.4719474),
        (1.0, "bar", "mH2O", 10.19716),
    ],
)
def test_conversions_there_and_back(value: float, unit: str, to: str, expected: float) -> None:
    there, back = convert(unit, to), convert(to, unit)
    assert there is not None and back is not None
    assert there(value) == pytest.approx(expected, rel=1e-6)
    assert back(there(value)) == pytest.approx(value, rel=1e-9)


def test_what_measures_something_else_or_is_unknown_is_not_converted() -> None:
    assert convert("kPa", "m") is None and convert("furlong", "m") is None and convert("", "m") is None
    assert find_unit("MW") != find_unit("mW") and find_unit("mW") is None
    assert "ft" in others_like("m") and others_like("smiles") == ()
    assert is_si("degC") and not is_si("°F") and not is_si("")


def test_decimals_follow_the_step() -> None:
    to_celsius, to_pascal = convert("°F", "°C"), convert("kPa", "Pa")
    assert to_celsius is not None and to_celsius.decimals(1) == 2
    assert to_pascal is not None and to_pascal.decimals(1) == 0
    assert to_celsius.decimals(None) is None
