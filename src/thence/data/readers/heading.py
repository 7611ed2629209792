"""Heading: in which line of a table the names of its columns are, which lines around it are no readings, and units.

Loggers, control systems and spreadsheets write titles and properties of a station above the names, and units below
them. They are found where the readings below leave no doubt: the lines that are left out hold no readings, and the
first reading has a date. Otherwise the names are in the first line. Only what is certainly a unit counts: ``(W/m^2)``
is one, ``(north)`` and ``(code)`` are not. This module knows nothing of files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from thence.data.readers.dates import looks_like_date
from thence.data.readers.roles import is_time_name, looks_like_time
from thence.data.readers.table import MISSING_WORDS

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
    filled = sum(bool(cell) for cell in row[1:])
    return found if 2 * len(found) >= filled else {}


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


Rows = Sequence[Sequence[str]]

NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?")
MOST_COLUMNS = 50
"""Among so many columns a time is searched: tables have thousands."""


@dataclass(frozen=True)
class Heading:
    """Where the names and the readings of a table begin.

    Args:
        names: Position of the row of names.
        readings: Position of the first row of readings.
        units: Unit by column, for columns that have one.
    """

    names: int = 0
    readings: int = 1
    units: dict[int, str] = field(default_factory=dict)

    def describe(self, what: str, numbers: Sequence[int]) -> list[str]:
        """Return notes about rows that are no readings.

        Args:
            what: What a row is called: ``"line"`` or ``"row"``.
            numbers: Number of each row in its file.

        Examples:
            >>> Heading(names=2, readings=4, units={1: "m"}).describe("line", [1, 3, 4, 5])
            ['lines 1 to 3 before the names of the columns: left out', 'line 5 below the names: read as units']
        """
        above, below = numbers[: self.names], numbers[self.names + 1 : self.readings]
        notes = [f"{_row_span(what, above)} before the names of the columns: left out"] if above else []
        if below:
            done = "left out" if not self.units else "read as units" if len(below) == 1 else "units, and left out"
            notes.append(f"{_row_span(what, below)} below the names: {done}")
        return notes


def _row_span(what: str, numbers: Sequence[int]) -> str:
    return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {numbers[0]} to {numbers[-1]}"


def find_heading(rows: Rows, *, time: str = "auto", above: int | None = None) -> Heading:
    """Find the names and the first readings among the first rows of a table.

    Args:
        rows: The first rows, with their cells stripped.
        time: Name of the time column, if it is given.
        above: Number of rows above the names, if it is given.

    Examples:
        >>> find_heading([["Station 7"], ["time", "flow"], ["", "m3/h"], ["2024-01-01", "5"], ["2024-01-02", "6"]])
        Heading(names=1, readings=3, units={1: 'm3/h'})
        >>> find_heading([["time", "flow"], ["2024-01-01", "5"], ["2024-01-02", "6"]])
        Heading(names=0, readings=1, units={})
    """
    plain = Heading(above or 0, (above or 0) + 1)
    start = _first_reading(rows, plain.names)
    if start is None:
        return plain
    names = plain.names if above is not None else _find_names(rows, start, time)
    if names is None or names >= start:
        return plain
    between = rows[names + 1 : start]
    if not all(_is_aside(row, rows[start:]) for row in between):
        return plain if names == plain.names else Heading(names, names + 1)
    return Heading(names, start, find_units(between[0]) if between else {})


def _first_reading(rows: Rows, begin: int) -> int | None:
    """Return the first row that has a date where the next one has, too."""
    width = _usual_width(rows)
    for k in range(begin, len(rows) - 1):
        row, below = rows[k], rows[k + 1]
        if len(row) == len(below) == width > 1 and any(map(_are_dates, row[:MOST_COLUMNS], below)):
            return k
    return None


def _usual_width(rows: Rows) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def _are_dates(cell: str, below: str) -> bool:
    return looks_like_date(cell) and looks_like_date(below)


def _find_names(rows: Rows, start: int, time: str) -> int | None:
    """Return the row that names the time above a date, or else the only full one above the first reading."""
    first, width = rows[start], len(rows[start])
    whole = [k for k in range(start) if len(rows[k]) == width]
    if any(_is_like(rows[k], first) for k in whole):
        return None  # a reading above the names must not be left out
    for k in whole:
        called = (is_time_name(name) or (time != "auto" and name == time) for name in rows[k])
        if any(named and looks_like_time(cell) for named, cell in zip(called, first, strict=True)):
            return k
    filled = [c for c in range(width) if any(c < len(row) and row[c] for row in rows[start:])]
    full = [k for k in whole if sum(not rows[k][c] for c in filled) <= 1]
    if not full or any(_is_reading(cell) for k in full for cell in rows[k]):
        return None
    return full[0] if all(find_units(rows[k]) for k in full[1:]) else None


def _is_like(row: Sequence[str], reading: Sequence[str]) -> bool:
    """Return whether a row has a date and a number where a reading has them."""
    dates = any(map(_are_dates, row[:MOST_COLUMNS], reading))
    return dates and any(NUMBER.fullmatch(a) and NUMBER.fullmatch(b) for a, b in zip(row, reading, strict=True))


def _is_aside(row: Sequence[str], readings: Rows) -> bool:
    """Return whether a row below the names holds no reading: no number, no date, and no state of a later row."""
    if any(_is_reading(cell) for cell in row):
        return False
    return not any(
        cell and cell not in MISSING_WORDS and any(c < len(other) and other[c] == cell for other in readings)
        for c, cell in enumerate(row)
    )


def _is_reading(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell)) or looks_like_date(cell)
