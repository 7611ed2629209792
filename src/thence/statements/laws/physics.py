"""Forms of laws that engineers know: orders, set points, curves, products, mixing, meters and duplicates.

Each is a formula with named parameters, and how it is worded. Terms are the sensors that each place names. What is
searched, and which of it is reported, is decided in ``thence.search.laws.physics``; nothing here reads data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence.language.english import format_number, format_unit
from thence.language.patterns import Pattern
from thence.statements.laws.dimensions import TEMPERATURE, find_unit
from thence.statements.laws.forms import Form
from thence.statements.laws.sentences import call

if TYPE_CHECKING:
    from thence.statements.laws.law import Law
    from thence.statements.laws.terms import Term

WATER = 4.186e6
"""Heat capacity of a cubic metre of water, in J/(m³·K)."""
NEAR = 0.05
"""Relative distance up to which a factor is named as a known constant."""


def _digits(value: float) -> str:
    return format_number(float(f"{value:.4g}") + 0.0)


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {format_unit(unit)}" if format_unit(unit) else text


def difference(unit: str) -> str:
    """Return the unit of a difference of two readings: kelvin of degrees Celsius.

    Args:
        unit: The unit of the readings.

    Examples:
        >>> difference("degC"), difference("°F"), difference("kW")
        ('K', '°F', 'kW')
    """
    found = find_unit(unit)
    return "K" if found is not None and found.dimension == TEMPERATURE and found.size == 1.0 else unit


def _term(law: Law, role: str) -> Term:
    return next(term for term in law.terms if term.role == role)


def _named(law: Law, role: str) -> str:
    return call(law, _term(law, role).name)


def _parameter(law: Law, name: str, unit: str = "", scale: float = 1.0) -> str:
    """The value of a parameter: one number, or the smallest and the largest of all places."""
    values = [scale * value for value in law.values(name)]
    if not values:
        return _with_unit("?", unit)
    low, high = _digits(min(values)), _digits(max(values))
    return _with_unit(low if low == high else f"{low} to {high}", unit)


def _band(law: Law) -> str:
    return f"within ± {_with_unit(format_number(law.band.absolute), difference(law.unit))}"


def _per(law: Law, own: str, other: str) -> str:
    """The unit of a slope: ``K per K``."""
    one, two = format_unit(difference(own)), format_unit(difference(other))
    return f"{one} per {two}" if one and two else one


def _above(law: Law, pattern: Pattern, left: str, right: str) -> str:
    first, second = _named(law, "first"), _named(law, "second")
    margins = law.values("margin")
    if not any(margins):
        return f"{first} is not below {second}"
    return f"{first} is at least {_parameter(law, 'margin', difference(law.unit))} above {second}"


def _follows(law: Law, pattern: Pattern, left: str, right: str) -> str:
    return f"{_named(law, 'value')} follows {_named(law, 'setpoint')}, {_band(law)}"


def _held(law: Law, pattern: Pattern, left: str, right: str) -> str:
    level = _parameter(law, "level", law.unit)
    return (
        f"{_named(law, 'value')} is held at {level} ± "
        f"{_with_unit(format_number(law.band.absolute), difference(law.unit))}"
    )


def _line(law: Law, pattern: Pattern, left: str, right: str) -> str:
    driver = _term(law, "driver")
    slopes = law.values("slope")
    sign = "plus" if not slopes or min(slopes) >= 0 else "minus"
    slope = _parameter(law, "slope", _per(law, law.unit, driver.unit), 1.0 if sign == "plus" else -1.0)
    base = _parameter(law, "base", law.unit)
    return f"{_named(law, 'value')} is {base} {sign} {slope} of {call(law, driver.name)}, {_band(law)}"


def _hinge(law: Law, pattern: Pattern, left: str, right: str) -> str:
    driver = _term(law, "driver")
    low, high = law.values("slope_below"), law.values("slope_above")
    is_below = any(low) or not any(high)
    side, other, name = ("below", "above", "slope_below") if is_below else ("above", "below", "slope_above")
    slopes = low if is_below else high
    # Below its knee a curve of negative slope rises towards lower values of the driver.
    rises = bool(slopes) and (slopes[0] > 0) != is_below
    verb = "rises" if rises else "falls"
    scale = -1.0 if slopes and slopes[0] < 0 else 1.0
    slope = _parameter(law, name, _per(law, law.unit, driver.unit), scale)
    knee = _parameter(law, "knee", driver.unit)
    level = _parameter(law, "level", law.unit)
    return (
        f"{_named(law, 'value')} is {level} at or {other} {knee} of {call(law, driver.name)}, "
        f"and {verb} by {slope} {side} it, {_band(law)}"
    )


def _clipped(law: Law, pattern: Pattern, left: str, right: str) -> str:
    driver = _term(law, "driver")
    ends = [_ends(law, number) for number in range(len(law.values("slope")))] or [((0.0, 0.0), (0.0, 0.0))]
    (x_low, y_low), (x_high, y_high) = (tuple(_span([e[side][k] for e in ends]) for k in (0, 1)) for side in (0, 1))
    slopes = law.values("slope")
    verb, scale = ("rises", 1.0) if not slopes or slopes[0] > 0 else ("falls", -1.0)
    slope = _parameter(law, "slope", _per(law, law.unit, driver.unit), scale)
    return (
        f"{_named(law, 'value')} is {_with_unit(y_low, law.unit)} at or below {_with_unit(x_low, driver.unit)} of "
        f"{call(law, driver.name)} and {verb} by {slope} to {_with_unit(y_high, law.unit)} at or above "
        f"{_with_unit(x_high, driver.unit)}, {_band(law)}"
    )


def _ends(law: Law, number: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where a clipped line begins and ends, by the driver."""
    base, slope, low, high = (law.values(name)[number] for name in ("base", "slope", "low", "high"))
    if not slope:
        return (0.0, low), (0.0, high)
    first, second = ((low - base) / slope, low), ((high - base) / slope, high)
    return (first, second) if first[0] <= second[0] else (second, first)


def _span(values: list[float]) -> str:
    low, high = _digits(min(values)), _digits(max(values))
    return low if low == high else f"{low} to {high}"


def heat_capacity(law: Law) -> tuple[float, float] | None:
    """Return the smallest and largest factor of a product in kJ per litre and kelvin; ``None`` if a unit is unknown.

    Args:
        law: The law.
    """
    units = [find_unit(_term(law, role).unit) for role in ("power", "flow", "first")]
    factors = law.values("k")
    if any(unit is None for unit in units) or not factors:
        return None
    power, flow, degree = (unit for unit in units if unit is not None)
    if flow.dimension != (3, 0, -1, 0, 0):
        return None
    scale = power.size / (flow.size * degree.size) * 1e-6
    return scale * min(factors), scale * max(factors)


def _product(law: Law, pattern: Pattern, left: str, right: str) -> str:
    power, flow = _term(law, "power"), _term(law, "flow")
    capacity = heat_capacity(law)
    water, note = WATER * 1e-6, ""
    if capacity is not None and all(abs(one - water) <= NEAR * water for one in capacity):
        scale = capacity[0] / min(law.values("k"))
        factor, note = _parameter(law, "k", "", scale) + " kJ/(L·K)", ", the heat capacity of water"
    else:
        parts = [format_unit(flow.unit), format_unit(difference(_term(law, "first").unit))]
        unit = f"{format_unit(power.unit) or '1'} per {'·'.join(filter(None, parts)) or '1'}"
        factor = _parameter(law, "k", unit if power.unit or any(parts) else "")
    first, second = _named(law, "first"), _named(law, "second")
    return (
        f"{call(law, power.name)} is {factor}{note and f' ({note[2:]})'} × {call(law, flow.name)} × "
        f"({first} − {second}), {_band(law)}"
    )


def _ratio(law: Law, pattern: Pattern, left: str, right: str) -> str:
    value, other = _term(law, "value"), _term(law, "other")
    same = value.unit == other.unit
    factor = _parameter(law, "factor", "" if same else _per(law, value.unit, other.unit))
    return f"{call(law, value.name)} is {factor} × {call(law, other.name)}, {_band(law)}"


def _mixing(law: Law, pattern: Pattern, left: str, right: str) -> str:
    damper = _term(law, "damper")
    first, second = _named(law, "first"), _named(law, "second")
    scale, unit = (100.0, "%") if damper.unit == "%" else (1.0, "")
    slope = _parameter(law, "share", f"{unit} per {format_unit(damper.unit)}" if unit else "", scale)
    base = f"{_parameter(law, 'base', unit, scale)} plus " if any(law.values("base")) else ""
    times = " of " if unit else " × "
    return (
        f"{_named(law, 'mixed')} is mixed of {first} and {second}: the share of {first} is "
        f"{base}{slope}{times}{call(law, damper.name)}, {_band(law)}"
    )


def _offset(law: Law, pattern: Pattern, left: str, right: str) -> str:
    copy, original = _named(law, "value"), _named(law, "other")
    if not any(law.values("offset")):
        return f"{copy} reads the same as {original}{', ' + _band(law) if law.band.absolute else ''}"
    values = law.values("offset")
    sign, scale = ("plus", 1.0) if min(values) >= 0 else ("minus", -1.0)
    return f"{copy} is {original} {sign} {_parameter(law, 'offset', difference(law.unit), scale)}, {_band(law)}"


def _counter(law: Law, pattern: Pattern, left: str, right: str) -> str:
    meter, rate = _term(law, "meter"), _term(law, "rate")
    named = f"{call(law, meter.name)} counts {call(law, rate.name)}"
    units = find_unit(meter.unit), find_unit(rate.unit)
    scale = 1.0
    if units[0] is not None and units[1] is not None:
        scale = 3600 * units[1].size / units[0].size
    if all(abs(value / scale - 1) <= NEAR for value in law.values("factor")):
        return f"{named}: its growth per hour is that, {_band(law)}"
    factor = _parameter(law, "factor", _per(law, law.unit, rate.unit))
    return f"{named}: its growth per hour is {factor} × that, {_band(law)}"


def _head_loss(law: Law, pattern: Pattern, left: str, right: str) -> str:
    first = _term(law, "first")
    what = call(law, first.name) + (f" plus {first.plus}" if first.plus else "")
    factors = _parameter(law, "factor")
    each = f"a factor × {_named(law, 'flow')}" if " to " in factors else f"{factors} × {_named(law, 'flow')}"
    of = f" (factor of each place {factors})" if " to " in factors else ""
    return f"{what} falls along the way by {each} to the power of {_parameter(law, 'exponent')}{of}, {_band(law)}"


def _formula(law: Law, pattern: Pattern, left: str, right: str) -> str:
    values = ", ".join(f"{name} = {_parameter(law, name)}" for name in law.parameters)
    roles = [f"{term.role} is {call(law, term.name)}" for term in law.terms if term.role != term.name]
    named = f" ({'; '.join(roles)})" if roles else ""
    return f"{law.formula}{f' with {values}' if values else ''}, {_band(law)}{named}"


ABOVE = Form(words=_above, order=5, low=True, formula="first = second + margin")
FOLLOWS = Form(words=_follows, order=4, low=True, high=True, formula="value = setpoint")
HELD = Form(words=_held, order=6, low=True, high=True, formula="value = level")
LINE = Form(words=_line, order=4, low=True, high=True, formula="value = base + slope * driver")
HINGE = Form(
    words=_hinge,
    order=4,
    low=True,
    high=True,
    formula="value = level + slope_below * min(driver - knee, 0) + slope_above * max(driver - knee, 0)",
)
CLIPPED = Form(words=_clipped, order=4, low=True, high=True, formula="value = clip(base + slope * driver, low, high)")
PRODUCT = Form(words=_product, order=4, low=True, high=True, formula="power = k * flow * (first - second)")
RATIO = Form(words=_ratio, order=5, low=True, high=True, formula="value = factor * other")
MIXING = Form(
    words=_mixing, order=4, low=True, high=True, formula="mixed = second + (base + share * damper) * (first - second)"
)
OFFSET = Form(words=_offset, order=5, low=True, high=True, formula="value = other + offset")
COUNTER = Form(
    words=_counter,
    order=5,
    low=True,
    high=True,
    formula="change(meter) = factor * rate",
    # A meter that is reset or starts again from 0 has counted nothing backwards.
    applies=lambda rows: rows.left >= 0,
)
HEAD_LOSS = Form(
    words=_head_loss, order=4, low=True, high=True, formula="drop = factor * flow * abs(flow) ** (exponent - 1)"
)
FORMULA = Form(words=_formula, order=4, low=True, high=True)
