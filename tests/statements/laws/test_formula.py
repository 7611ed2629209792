"""Formulas: their names, values, dimensions and Python; units and what they measure."""

from __future__ import annotations

import numpy as np
import pytest

from thence.errors import ConfigError
from thence.statements.laws.dimensions import ENERGY, POWER, TEMPERATURE, VOLUME_FLOW, find_unit, times
from thence.statements.laws.formula import Formula

PRODUCT = Formula("power = k * flow * (supply - return)")


def run_python(text: str, name: str, **values: float) -> float:
    space: dict[str, object] = {}
    exec(compile(text, "law", "exec"), space)
    return float(space[name](**values))  # type: ignore[operator]


def test_it_names_its_quantities_and_is_broadcast() -> None:
    assert PRODUCT.left == "power" and PRODUCT.names == ("k", "flow", "supply", "return")
    flow = np.array([[1.0, 2.0], [3.0, np.nan]])
    out = PRODUCT.evaluate({"k": np.array([1.0, 2.0]), "flow": flow, "supply": 50.0, "return": 40.0})
    assert out[0].tolist() == [10.0, 40.0] and np.isnan(out[1, 1])


@pytest.mark.parametrize(
    ("right", "given", "value"),
    [
        ("a + b * min(x, 4)", {"a": 1, "b": 2, "x": 9}, 9.0),
        ("clip(a - x, 0, 5)", {"a": 1, "x": -9}, 5.0),
        ("r * q * abs(q) ** (n - 1)", {"r": 2, "q": -3, "n": 2}, -18.0),
        ("a ^ 2 - (b - c) - d", {"a": 3, "b": 5, "c": 2, "d": 1}, 5.0),
        ("sign(x) * sqrt(abs(x)) + 1e-3", {"x": -4}, -1.999),
        ("-x / (2 * -z)", {"x": 6, "z": 3}, 1.0),
    ],
)
def test_the_value_is_that_of_its_python(right: str, given: dict[str, float], value: float) -> None:
    formula = Formula(f"y = {right}")
    assert float(formula.evaluate(given)) == pytest.approx(value)
    text = formula.to_python({}, name="y", about="A formula.")
    assert run_python(text, "y", **given) == pytest.approx(value)


def test_python_has_the_parameters_written_in_and_no_keyword_as_a_name() -> None:
    text = PRODUCT.to_python({"k": -4.19}, name="power", about='Says """what""" it is.')
    assert text.startswith("def power(flow, supply, return_):")
    assert run_python(text, "power", flow=2, supply=60, return_=50) == pytest.approx(-83.8)


@pytest.mark.parametrize(
    "text",
    [
        "power",
        "a = b = c",
        "2 * a = b",
        "a = __import__('os')",
        "a = b.c",
        "a = [b]",
        "a = b if c else d",
        "a = min(b)",
        "a = b +",
        "a = a * k",
        "a = 'text'",
    ],
)
def test_anything_but_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        Formula(text)


def test_units_have_dimensions_and_sizes() -> None:
    assert [find_unit(one).dimension for one in ("kW", "MWh", "m³/h", "gpm", "L/min", "°F", "degC")] == [  # type: ignore[union-attr]
        *(POWER, ENERGY, VOLUME_FLOW, VOLUME_FLOW, VOLUME_FLOW, TEMPERATURE, TEMPERATURE)
    ]
    sizes = {"kWh": 3.6e6, "m3/h": 1 / 3600, "L/s": 1e-3, "mbar": 100.0, "kg/m^3": 1.0, "W/m²": 1.0, "°F": 5 / 9}
    for text, size in sizes.items():
        unit = find_unit(text)
        assert unit is not None and unit.size == pytest.approx(size)
    assert find_unit("") is None and find_unit("furlong") is None and find_unit("m/x") is None
    assert times(POWER, (0, 0, 1, 0, 0)) == ENERGY


def test_dimensions_are_checked_before_anything_is_fitted() -> None:
    known = {"power": POWER, "flow": VOLUME_FLOW, "supply": TEMPERATURE, "return": TEMPERATURE}
    PRODUCT.require_dimensions(known, ["k"])
    Formula("change(meter) = power").require_dimensions({"meter": ENERGY, "power": POWER}, [])
    with pytest.raises(ConfigError, match="different dimensions are added in 'flow - return_'"):
        Formula("power = k * (flow - return)").require_dimensions(known, ["k"])
    with pytest.raises(ConfigError, match="have different dimensions"):
        Formula("power = flow").require_dimensions(known, [])
    with pytest.raises(ConfigError, match="have different dimensions"):
        Formula("meter = power").require_dimensions({"meter": ENERGY, "power": POWER}, [])
    Formula("power = flow").require_dimensions({"power": POWER, "flow": None}, [])  # a unit is not known
