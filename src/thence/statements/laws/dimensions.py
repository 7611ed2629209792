"""Dimensions: what a unit measures, and its size in SI units.

A unit that is not known has no dimension, and is compared with nothing. This module knows units; it must not look at
readings.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

Dimension: TypeAlias = tuple[int, int, int, int, int]
"""Exponents of length, mass, time, temperature and electric current."""

NUMBER: Dimension = (0, 0, 0, 0, 0)
_LENGTH, _MASS, _TIME = (1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0)
TEMPERATURE: Dimension = (0, 0, 0, 1, 0)
_CURRENT, _VOLUME = (0, 0, 0, 0, 1), (3, 0, 0, 0, 0)
VOLUME_FLOW: Dimension = (3, 0, -1, 0, 0)
MASS_FLOW: Dimension = (0, 1, -1, 0, 0)
POWER: Dimension = (2, 1, -3, 0, 0)
ENERGY: Dimension = (2, 1, -2, 0, 0)
_PRESSURE, _FORCE = (-1, 1, -2, 0, 0), (1, 1, -2, 0, 0)
_VOLTAGE: Dimension = (2, 1, -3, 0, -1)


class Unit(NamedTuple):
    """A unit.

    Args:
        size: Its size in SI units; of a temperature, that of one degree.
        dimension: What it measures.
    """

    size: float
    dimension: Dimension


_FOOT, _GALLON, _POUND = 0.3048, 3.785411784e-3, 0.45359237
_PLAIN: dict[str, Unit] = {
    "": Unit(1.0, NUMBER),
    "1": Unit(1.0, NUMBER),
    "%": Unit(0.01, NUMBER),
    "percent": Unit(0.01, NUMBER),
    "pct": Unit(0.01, NUMBER),
    "m": Unit(1.0, _LENGTH),
    "ft": Unit(_FOOT, _LENGTH),
    "in": Unit(0.0254, _LENGTH),
    "l": Unit(1e-3, _VOLUME),
    "liter": Unit(1e-3, _VOLUME),
    "litre": Unit(1e-3, _VOLUME),
    "gal": Unit(_GALLON, _VOLUME),
    "g": Unit(1e-3, _MASS),
    "t": Unit(1e3, _MASS),
    "lb": Unit(_POUND, _MASS),
    "s": Unit(1.0, _TIME),
    "sec": Unit(1.0, _TIME),
    "min": Unit(60.0, _TIME),
    "h": Unit(3600.0, _TIME),
    "hr": Unit(3600.0, _TIME),
    "d": Unit(86400.0, _TIME),
    "w": Unit(1.0, POWER),
    "va": Unit(1.0, POWER),
    "j": Unit(1.0, ENERGY),
    "btu": Unit(1055.06, ENERGY),
    "wh": Unit(3600.0, ENERGY),
    "pa": Unit(1.0, _PRESSURE),
    "bar": Unit(1e5, _PRESSURE),
    "psi": Unit(6894.757, _PRESSURE),
    "n": Unit(1.0, _FORCE),
    "a": Unit(1.0, _CURRENT),
    "v": Unit(1.0, _VOLTAGE),
    "k": Unit(1.0, TEMPERATURE),
    "c": Unit(1.0, TEMPERATURE),
    "degc": Unit(1.0, TEMPERATURE),
    "°c": Unit(1.0, TEMPERATURE),
    "celsius": Unit(1.0, TEMPERATURE),
    "f": Unit(5 / 9, TEMPERATURE),
    "degf": Unit(5 / 9, TEMPERATURE),
    "°f": Unit(5 / 9, TEMPERATURE),
    "gpm": Unit(_GALLON / 60, VOLUME_FLOW),
    "cfm": Unit(_FOOT**3 / 60, VOLUME_FLOW),
    "lps": Unit(1e-3, VOLUME_FLOW),
    "lpm": Unit(1e-3 / 60, VOLUME_FLOW),
    "cms": Unit(1.0, VOLUME_FLOW),
}
_PREFIXES = {"k": 1e3, "m": 1e-3, "c": 1e-2, "d": 1e-1, "h": 1e2, "M": 1e6, "G": 1e9}
_PREFIXED = frozenset({"m", "l", "g", "w", "va", "j", "wh", "pa", "bar", "v", "a", "n"})
_PART = re.compile(r"^([^\d⁻²³^-]+?)\^?(-?\d+|⁻?[²³¹])?$")
_RAISED = str.maketrans("⁻¹²³", "-123")


def find_unit(text: str) -> Unit | None:
    """Return what a unit measures; ``None`` if it is not known or there is none.

    Args:
        text: The unit.

    Examples:
        >>> find_unit("kW").dimension == POWER, find_unit("m³/h").dimension == VOLUME_FLOW
        (True, True)
        >>> round(find_unit("L/s").size, 6), find_unit("degF").dimension == TEMPERATURE, find_unit("furlong")
        (0.001, True, None)
    """
    plain = text.strip().replace("_", "").replace("·", "*")
    if not plain:
        return None
    size, total = 1.0, list(NUMBER)
    for number, group in enumerate(plain.split("/")):
        for part in group.split("*"):
            found = _find_part(part.strip())
            if found is None:
                return None
            unit, power = found
            power *= 1 if number == 0 else -1
            size *= unit.size**power
            total = [a + power * b for a, b in zip(total, unit.dimension, strict=True)]
    length, mass, time, heat, current = total
    return Unit(size, (length, mass, time, heat, current))


def _find_part(part: str) -> tuple[Unit, int] | None:
    whole = _find_atom(part)
    if whole is not None:
        return whole, 1
    found = _PART.match(part)
    atom = None if found is None else _find_atom(found[1])
    if found is None or atom is None or not found[2]:
        return None
    return atom, int(found[2].translate(_RAISED))


def _find_atom(text: str) -> Unit | None:
    plain = text.lower()
    if plain in _PLAIN:
        return _PLAIN[plain]
    prefix, rest = text[:1], plain[1:]
    if prefix in _PREFIXES and rest in _PREFIXED:
        size, dimension = _PLAIN[rest]
        return Unit(_PREFIXES[prefix] * size, dimension)
    return None


def times(one: Dimension, other: Dimension, sign: int = 1) -> Dimension:
    """Return the dimension of a product, or of a quotient with ``sign=-1``.

    Args:
        one: The first dimension.
        other: The second one.
        sign: 1 or −1.
    """
    length, mass, time, heat, current = (a + sign * b for a, b in zip(one, other, strict=True))
    return length, mass, time, heat, current


def power_of(one: Dimension, exponent: int) -> Dimension:
    """Return the dimension of a power.

    Args:
        one: The dimension.
        exponent: The exponent.
    """
    length, mass, time, heat, current = (a * exponent for a in one)
    return length, mass, time, heat, current
