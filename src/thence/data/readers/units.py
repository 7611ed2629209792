"""Units that a source writes beside its names: in brackets after them, or in a row below them.

Only what is certainly a unit counts: ``(W/m^2)`` is one, ``(north)`` and ``(code)`` are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["find_units", "unit_of_name"]

BRACKETS = re.compile(r"\[(.*)\]|\((.*)\)|<(.*)>")
AT_END = re.compile(r"(?<=\S)\s*(?:\[([^\[\]]*)\]|\(([^()]*)\))$")
LONGEST_UNIT = 16
PARTS = re.compile(r"[\s·*/.^\d²³⁻¹()-]+")
UNIT_WORDS = """
    % ‰ ° °c °f k c f degc degf deg degrees deg_c deg_f celsius kelvin fahrenheit pct percent m mm cm km µm um nm ft in
    inch inches mi l ml hl ltr litre liter gal g kg mg µg ug t lb lbs s ms h hr hrs hour min sec d day w kw mw gw va kva
    var kvar mvar wh kwh mwh gwh j kj mj gj v mv kv volt volts a ma amp amps hz khz mhz pa kpa mpa hpa bar mbar psi psig
    mmhg mmwc inh2o inhg wc mh2o mwc ppm ppb lx lux lm cd db dba rpm gpm gph mgd cfm lps lpm cms cfs ntu ph us µs mol
    mmol umol n kn rh %rh btu tr mbtu hp kcal cal
"""
UNITS = frozenset(UNIT_WORDS.split())
"""Units, and what they are made of, in lower case."""


def find_units(row: Sequence[str]) -> dict[int, str]:
    """Return the units in a row by column; none if most of its cells are something else.

    Args:
        row: The cells.

    Examples:
        >>> find_units(["TS", "Volts", "[°C]", "W/m^2", ""])
        {1: 'Volts', 2: '°C', 3: 'W/m^2'}
        >>> find_units(["", "Avg", "Avg"])
        {}
    """
    found: dict[int, str] = {}
    for column, cell in enumerate(row):
        bare = BRACKETS.fullmatch(cell)
        text = next(filter(None, bare.groups()), "").strip() if bare else cell
        if _is_unit(text):
            found[column] = text
    told = sum(bool(cell) for cell in row[1:])
    return found if 2 * len(found) >= told else {}


def unit_of_name(name: str) -> str:
    """Return the unit in brackets at the end of a name, or an empty string.

    Args:
        name: The name of a column or sensor.

    Examples:
        >>> [unit_of_name(name) for name in ("Flow [m³/h]", "GHI (W/m^2)", "Pump (north)", "(m)")]
        ['m³/h', 'W/m^2', '', '']
    """
    found = AT_END.search(name)
    text = (found[1] or found[2] or "").strip() if found else ""
    return text if _is_unit(text) else ""


def _is_unit(text: str) -> bool:
    if not text or len(text) > LONGEST_UNIT:
        return False
    plain = text.lower()
    parts = [part for part in PARTS.split(plain) if part]
    return plain in UNITS or (bool(parts) and plain[0] not in "-./*" and all(part in UNITS for part in parts))
