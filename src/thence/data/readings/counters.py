"""Counters: meters that only rise, with resets and roll-overs, read as rates per hour.

What a counter shows says how long it has been running. What it counts is its increase: the rate between a reading and
the next one stands at the time of the first. After a reset, and over a long gap, there is no rate; at a roll-over the
increase goes on past the largest number. This module knows names and numbers, no files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.cleaning import quote_names
from thence.data.readings.sensors import Sensor, SensorData
from thence.language.names import name_words

Floats = npt.NDArray[np.float64]

PER_HOUR = "/h"
UNKNOWN = "per hour"
"""Unit of the rate of a counter whose own unit is not known."""
_UNITS = {
    "kwh": "kWh", "mwh": "MWh", "gwh": "GWh", "wh": "Wh", "kvah": "kVAh", "kvarh": "kvarh", "mj": "MJ", "gj": "GJ",
    "m3": "m3", "m³": "m³", "l": "L", "liter": "L", "litre": "L", "gal": "gal", "gallons": "gal", "ft3": "ft3",
    "cf": "ft3", "ccf": "ccf", "mcf": "mcf", "therm": "therm", "therms": "therm", "btu": "Btu", "kbtu": "kBtu",
}  # fmt: skip
"""Units of what meters count, as they are written in names."""
_WORDS = frozenset({
    "energy", "counter", "count", "totalizer", "totaliser", "totalised", "totalized", "total", "cumulative", "meter",
    "register", "usage", "consumption", "pulses", "odometer",
})  # fmt: skip
"""Words in the names of meters."""
LEAST_READINGS = 100
LEAST_RISES = 20
LEAST_RATES, LEAST_RATES_UNNAMED = 2, 10
MOST_FALLS = 0.02  # share of the steps that may be resets, of what is named like a meter
MOST_FALLS_UNNAMED = 2
RISING = 0.5  # share of the steps in which something rises that is not named like a meter
NEAR_ZERO = 0.05
NEAR_FULL = 0.9
MOST_DECIMALS = 9
LONG_GAP = 10  # in usual steps
_CAPACITIES = (*(10.0**power for power in range(3, 13)), 2.0**16, 2.0**31, 2.0**32)


@dataclass(frozen=True)
class Rates:
    """The increases of a counter.

    Args:
        per_hour: Increase per hour from each reading to the next one; NaN after resets, over gaps and at the end.
        roll_overs: Number of roll-overs.
        resets: Number of resets.
    """

    per_hour: Floats
    roll_overs: int
    resets: int


def rates_of(times: npt.NDArray[np.int64], values: Floats) -> Rates:
    """Return the rates of a counter.

    Args:
        times: Times of its readings in microseconds.
        values: Its readings.

    Examples:
        >>> hours = 3_600_000_000 * np.arange(6)
        >>> found = rates_of(hours, np.array([990.0, 994.0, 998.0, 2.0, 0.5, 4.5]))
        >>> found.per_hour.tolist(), found.roll_overs, found.resets
        ([4.0, 4.0, 4.0, nan, 4.0, nan], 1, 1)
    """
    steps = np.diff(times) / 3.6e9
    rises = np.diff(values).round(_decimals(values))  # what is added to a large number has the error of that
    falls = np.flatnonzero(rises < 0)
    usual = float(np.quantile(rises[rises > 0] / steps[rises > 0], 0.99)) if (rises > 0).any() else 0.0
    roll_overs = 0
    for at in falls.tolist():
        before, after = float(values[at]), float(values[at + 1])
        capacity = next((one for one in _CAPACITIES if NEAR_FULL * one <= before <= one and after < NEAR_ZERO * one), 0)
        whole = after + capacity - before
        if capacity and whole <= 2 * usual * float(steps[at]) + 1e-9:
            rises[at] = whole
            roll_overs += 1
        else:
            rises[at] = np.nan
    long = steps > LONG_GAP * np.median(steps) if len(steps) else np.zeros(0, bool)
    per_hour = np.append(np.where(long, np.nan, rises / steps), np.nan).round(MOST_DECIMALS)
    return Rates(per_hour, roll_overs, len(falls) - roll_overs)


def _decimals(values: Floats) -> int:
    """The number of decimals with which readings are written."""
    some = values[:LEAST_READINGS]
    exact = (n for n in range(MOST_DECIMALS) if np.allclose(some, some.round(n), rtol=0, atol=1e-9 * abs(some).max()))
    return next(exact, MOST_DECIMALS)


def is_counter(times: npt.NDArray[np.int64], values: Floats, *, named: bool) -> bool:
    """Return whether readings are those of a counter.

    Args:
        times: The times of the readings in microseconds, in order.
        values: The readings.
        named: Whether the name, kind or unit of the sensor is that of a meter.

    Examples:
        >>> hours = 3_600_000_000 * np.arange(500)
        >>> shown = (np.cumsum(np.arange(500) % 7.0), 2 + np.sin(np.arange(500)), np.arange(500.0))
        >>> [is_counter(hours, one, named=True) for one in shown]
        [True, False, False]
    """
    if len(values) < LEAST_READINGS:
        return False
    steps = np.diff(values)
    falls = np.flatnonzero(steps < 0)
    if len(falls) > max(MOST_FALLS_UNNAMED, MOST_FALLS * len(steps) if named else 0) or values.min() < 0:
        return False
    rises = steps[steps > 0].round(_decimals(values))
    if len(rises) < max(LEAST_RISES, 0 if named else RISING * len(steps)):
        return False
    # A ramp rises at one rate, also where rows are missing.
    rates = np.unique((rises / (np.diff(times)[steps > 0] / 3.6e9)).round(MOST_DECIMALS))
    if len(rates) < (LEAST_RATES if named else LEAST_RATES_UNNAMED):
        return False
    return bool((values[falls + 1] <= NEAR_ZERO * values[falls]).all())


def find_counters(data: SensorData) -> tuple[str, ...]:
    """Find the sensors that are counters.

    Args:
        data: Readings in memory.
    """
    sensors = {sensor.id: sensor for sensor in data.sensors if not sensor.categorical}
    return tuple(
        id
        for id, times, values in _series(data, sensors)
        if is_counter(times, values, named=bool(_unit_of(sensors[id]) or _is_named(sensors[id])))
    )


def _series(data: SensorData, ids: Collection[str]) -> Iterator[tuple[str, npt.NDArray[np.int64], Floats]]:
    """Yield sensors with the times and values of their readings."""
    frame = data.lazy.collect()
    if data.layout == "wide":
        times = frame["time"].to_physical().to_numpy()
        there = set(frame.columns)
        for id in (id for id in ids if id in there):
            cells = frame[id]
            own = times[cells.is_not_null().to_numpy()] if cells.null_count() else times
            yield id, own, cells.drop_nulls().to_numpy()
        return
    rows = frame.select(pl.col("sensor").cast(pl.String), "time", "value").drop_nulls()
    for (id,), part in rows.filter(pl.col("sensor").is_in(list(ids))).group_by("sensor", maintain_order=True):
        yield str(id), part["time"].to_physical().to_numpy(), part["value"].to_numpy()


def _is_named(sensor: Sensor) -> bool:
    return bool(_WORDS & (name_words(sensor.id) | name_words(sensor.kind)))


def _unit_of(sensor: Sensor) -> str:
    """The unit of a meter, from its unit or its name; empty if it is none of a meter."""
    plain = re.sub(r"[^a-z0-9³]", "", sensor.unit.lower())
    if sensor.unit:
        return sensor.unit if plain in _UNITS else ""
    words = re.split(r"[^a-z0-9³]+", sensor.id.lower())
    return next((_UNITS[word] for word in reversed(words) if word in _UNITS and word != "l"), "")


def with_rates(data: SensorData, which: str | Iterable[str] = "auto") -> SensorData:
    """Return readings in which counters are rates per hour.

    Args:
        data: The readings; those that are only scanned stay as they are.
        which: ``"auto"``, ``"none"``, or names or patterns of the counters.
    """
    given = (which,) if isinstance(which, str) else tuple(which)
    if given == ("none",) or not data.checked:
        return data
    named = (id for id in data.ids if any(id == name or fnmatchcase(id, name) for name in given))
    ids = find_counters(data) if given == ("auto",) else tuple(id for id in named if not data.sensor(id).categorical)
    if not ids:
        return data
    found = {id: rates_of(times, values) for id, times, values in _series(data, ids) if len(values)}
    made = _replaced(data.lazy.collect(), data.layout, found)
    sensors = [_described(one) if one.id in found else one for one in data.sensors]
    readings = replace(data.readings, parts=(made.lazy(),), counters=frozenset(found))
    report = data.report.extended(notes=_notes(found))
    return replace(data, readings=readings, sensors=tuple(sensors), report=report)


def _described(sensor: Sensor) -> Sensor:
    kind, unit = rate_of_kind(sensor.kind, sensor.unit or _unit_of(sensor))
    return replace(sensor, kind=kind, unit=unit)


def rate_of_kind(kind: str, unit: str) -> tuple[str, str]:
    """Return the kind and the unit of the rate of what a counter counts.

    Args:
        kind: The kind of the counter.
        unit: Its unit.

    Examples:
        >>> rate_of_kind("energy", "kWh"), rate_of_kind("", "")
        (('energy_per_hour', 'kWh/h'), ('', 'per hour'))
    """
    kind = f"{kind}_per_hour" if kind and not kind.endswith("_per_hour") else kind
    return kind, unit if unit.endswith((PER_HOUR, UNKNOWN)) else f"{unit}{PER_HOUR}" if unit else UNKNOWN


def _replaced(frame: pl.DataFrame, layout: str, found: Mapping[str, Rates]) -> pl.DataFrame:
    """The readings with the rates of counters instead of what they show."""
    if layout == "wide":
        columns = []
        for id, rates in found.items():
            at = frame[id].is_not_null().arg_true()
            empty = pl.Series(id, [None], pl.Float64).new_from_index(0, frame.height)
            columns.append(empty.scatter(at, pl.Series(rates.per_hour, nan_to_null=True)).alias(id))
        return frame.with_columns(columns)
    rows = frame.with_row_index("\\0row")
    value = frame["value"]
    for id, rates in found.items():
        at = rows.filter((pl.col("sensor").cast(pl.String) == id) & pl.col("value").is_not_null())["\\0row"]
        value = value.scatter(at, pl.Series(rates.per_hour, nan_to_null=True))
    kept = frame.with_columns(value.alias("value"))
    readings = [name for name in ("value", "state") if name in kept.columns]
    return kept.filter(pl.any_horizontal(pl.col(readings).is_not_null()))


def _notes(found: Mapping[str, Rates]) -> list[str]:
    said = []
    for id, rates in found.items():
        counted = [(rates.roll_overs, "roll-over"), (rates.resets, "reset")]
        events = [f"{n} {what}{'s' * (n > 1)}" for n, what in counted if n]
        said.append(f"{quote_names([id])}" + (f" ({', '.join(events)})" if events else ""))
    shown = ", ".join(said[:12]) + (f" and {len(said) - 12} more" if len(said) > 12 else "")
    they, which = ("it is", "a counter") if len(said) == 1 else ("they are", "counters")
    return [f"read as rates per hour, since {they} {which}: {shown} (counters='none' keeps what they show)"]
