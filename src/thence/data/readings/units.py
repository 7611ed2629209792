"""Units of readings: how they are spelled, what they measure, and how to convert one into another.

The table has the units that sensors of buildings, water networks and plants are read in, a line each. It is small on
purpose: a unit that is not in it is never converted and never mixed with another, which is what a library of all units
would have to be told too. This module converts numbers; it knows no sensors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit: value in the base unit of its dimension = ``factor`` × value + ``offset``."""

    name: str
    dimension: str
    factor: float = 1.0
    offset: float = 0.0
    spellings: str = ""


_FOOT, _GALLON, _INCH, _POUND, _BTU = 0.3048, 3.785411784e-3, 0.0254, 0.45359237, 1055.05585262
_UNITS = (
    Unit("°C", "temperature", 1, 273.15, "degc deg_c c celsius degrees_celsius degreescelsius"),
    Unit("°F", "temperature", 5 / 9, 273.15 - 160 / 9, "degf deg_f f fahrenheit degrees_fahrenheit degreesfahrenheit"),
    Unit("K", "temperature", 1, 0, "kelvin"),
    Unit("m", "length", spellings="metre meter metres meters"),
    Unit("cm", "length", 0.01, 0, "centim"),
    Unit("mm", "length", 0.001, 0, "millim"),
    Unit("km", "length", 1000, 0, "kilom"),
    Unit("ft", "length", _FOOT, 0, "foot feet"),
    Unit("in", "length", _INCH, 0, "inch inches"),
    Unit("Pa", "pressure", spellings="pascal"),
    Unit("hPa", "pressure", 100, 0, "hectopa mbar millibar"),
    Unit("kPa", "pressure", 1000, 0, "kilopa kilopascal"),
    Unit("MPa", "pressure", 1e6, 0, "megapa"),
    Unit("bar", "pressure", 1e5, 0, "bars barg"),
    Unit("psi", "pressure", 6894.757293168, 0, "psig lbf/in2 lb_f-per-in2"),
    Unit("inH2O", "pressure", 249.08891, 0, "in_h2o inwc in.w.c. inwg inh2o"),
    Unit("inHg", "pressure", 3386.389, 0, "in_hg"),
    Unit("mH2O", "pressure", 9806.65, 0, "mwc mh2o m_h2o"),
    Unit("m3/s", "volume flow", spellings="m3-per-sec cms"),
    Unit("m3/h", "volume flow", 1 / 3600, 0, "m3-per-hr m3/hr cmh"),
    Unit("m3/min", "volume flow", 1 / 60, 0, "m3-per-min"),
    Unit("L/s", "volume flow", 1e-3, 0, "l-per-sec lps"),
    Unit("L/min", "volume flow", 1e-3 / 60, 0, "l-per-min lpm"),
    Unit("L/h", "volume flow", 1e-3 / 3600, 0, "l-per-hr l/hr lph"),
    Unit("gal/min", "volume flow", _GALLON / 60, 0, "gpm gal_us-per-min usgpm"),
    Unit("ft3/min", "volume flow", _FOOT**3 / 60, 0, "cfm ft3-per-min"),
    Unit("ft3/s", "volume flow", _FOOT**3, 0, "cfs ft3-per-sec"),
    Unit("MGD", "volume flow", 1e6 * _GALLON / 86_400, 0, "mgd"),
    Unit("m3", "volume"),
    Unit("L", "volume", 1e-3, 0, "litre liter litres liters"),
    Unit("gal", "volume", _GALLON, 0, "gal_us gallon gallons"),
    Unit("ft3", "volume", _FOOT**3, 0, "cf"),
    Unit("kg/s", "mass flow", spellings="kilogm-per-sec"),
    Unit("kg/h", "mass flow", 1 / 3600, 0, "kilogm-per-hr kg/hr"),
    Unit("lb/h", "mass flow", _POUND / 3600, 0, "lb-per-hr lb/hr"),
    Unit("m/s", "speed", spellings="m-per-sec mps"),
    Unit("km/h", "speed", 1 / 3.6, 0, "kph kilom-per-hr"),
    Unit("mph", "speed", 0.44704, 0, "mi/h mi-per-hr"),
    Unit("ft/min", "speed", _FOOT / 60, 0, "fpm ft-per-min"),
    Unit("ft/s", "speed", _FOOT, 0, "fps ft-per-sec"),
    Unit("W", "power", spellings="watt watts"),
    Unit("kW", "power", 1e3, 0, "kilow kilowatt kilowatts"),
    Unit("MW", "power", 1e6, 0, "megaw megawatt"),
    Unit("Btu/h", "power", _BTU / 3600, 0, "btu/hr btu-per-hr btu_it-per-hr"),
    Unit("hp", "power", 745.699872, 0, "horsepower"),
    Unit("ton", "power", 3516.8528, 0, "tonr ton_fg refrigeration_ton"),
    Unit("J", "energy"),
    Unit("MJ", "energy", 1e6, 0, "megaj"),
    Unit("GJ", "energy", 1e9, 0, "gigaj"),
    Unit("Wh", "energy", 3600, 0, "w-hr"),
    Unit("kWh", "energy", 3.6e6, 0, "kilow-hr kw-hr"),
    Unit("MWh", "energy", 3.6e9, 0, "megaw-hr"),
    Unit("Btu", "energy", _BTU, 0, "btu_it"),
    Unit("lx", "illuminance", spellings="lux"),
    Unit("fc", "illuminance", 10.7639104, 0, "footcandle foot-candle"),
    Unit("Hz", "frequency", spellings="hertz"),
    Unit("rpm", "frequency", 1 / 60, 0, "rev-per-min rev/min"),
    Unit("s", "time", spellings="sec second seconds"),
    Unit("min", "time", 60, 0, "minute minutes"),
    Unit("h", "time", 3600, 0, "hr hour hours"),
    Unit("A", "electric current", spellings="amp ampere amps"),
    Unit("mA", "electric current", 1e-3, 0, "milliamp"),
    Unit("V", "voltage", spellings="volt volts"),
    Unit("mV", "voltage", 1e-3, 0, "milliv"),
    Unit("kV", "voltage", 1e3, 0, "kilov"),
)
_SI = frozenset(["°C", "m", "kPa", "m3/h", "L/s", "m/s", "kW", "kWh", "lx", "Hz", "s", "A", "V", "m3", "kg/s"])
_KNOWN = {name.lower(): unit for unit in _UNITS for name in (unit.name, *unit.spellings.split())}
# Units whose spellings differ in their capitals only.
_EXACT = {"mW": None, "MW": _KNOWN["mw"], "mpa": None, "M": _KNOWN["m"]}


@dataclass(frozen=True)
class Conversion:
    """What turns readings in one unit into another: ``factor`` × reading + ``offset``."""

    factor: float
    offset: float

    def __call__(self, value: float) -> float:
        """Convert one reading.

        Args:
            value: The reading.
        """
        return self.factor * value + self.offset

    def decimals(self, before: int | None) -> int | None:
        """Return how many decimals converted readings have: enough that neighbouring ones stay apart.

        Args:
            before: With how many they are written; ``None`` if they have all digits of a float.

        Examples:
            >>> convert("°F", "°C").decimals(1), convert("gpm", "L/s").decimals(1), convert("psi", "Pa").decimals(1)
            (2, 3, 0)
        """
        return None if before is None else max(0, before - math.floor(math.log10(abs(self.factor))))


def find_unit(text: str) -> Unit | None:
    """Return the unit that a text names, in any usual spelling; ``None`` if it is not in the table.

    Args:
        text: The text, such as ``"degF"``, ``"GAL_US-PER-MIN"``, ``"m³/h"``.

    Examples:
        >>> [find_unit(text).name for text in ("degF", "gpm", "m³/h", "KiloPA")]
        ['°F', 'gal/min', 'm3/h', 'kPa']
        >>> find_unit("furlong") is None
        True
    """
    plain = text.strip().strip("[]()")
    if plain in _EXACT:
        return _EXACT[plain]
    plain = plain.lower().replace("³", "3").replace("²", "2").replace("^", "").replace("º", "°")
    return _KNOWN.get(plain) or _KNOWN.get(plain.replace(" ", ""))


def convert(unit: str, to: str) -> Conversion | None:
    """Return what converts one unit into another; ``None`` if one is not known or they measure different things.

    Args:
        unit: The unit of the readings.
        to: The unit wanted.

    Examples:
        >>> round(convert("°F", "degC")(212.0), 6), round(convert("gpm", "L/s")(1.0), 6)
        (100.0, 0.06309)
        >>> convert("kPa", "m") is None
        True
    """
    one, other = find_unit(unit), find_unit(to)
    if one is None or other is None or one.dimension != other.dimension:
        return None
    return Conversion(one.factor / other.factor, (one.offset - other.offset) / other.factor)


def others_like(unit: str) -> tuple[str, ...]:
    """Return the other units that measure the same.

    Args:
        unit: A unit, in any usual spelling.

    Examples:
        >>> others_like("degC")
        ('°F', 'K')
    """
    own = find_unit(unit)
    return () if own is None else tuple(one.name for one in _UNITS if one.dimension == own.dimension and one is not own)


def is_si(unit: str) -> bool:
    """Return whether a unit is preferred where neither of two is more common.

    Args:
        unit: A unit, in any usual spelling.
    """
    known = find_unit(unit)
    return known is not None and known.name in _SI
