"""Windowed readings of several systems on one axis of frame numbers.

Frame ``f`` of a system is its ``f``-th window, whenever that was: systems need neither the same period nor the same
number of windows. Shorter ones are padded with missing values, which are no rows of a table. Sensors of different
systems are different sensors, so their ids get the name of the system in front.

This module arranges arrays; it reads, discretizes and bins nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.cleaning import ORIGIN
from thence.data.readings.derived import StateCodes
from thence.data.readings.findings import ReadReport
from thence.data.readings.scanning import Readings
from thence.data.readings.sensors import SEPARATOR, TIME, Sensor, SensorData, qualified
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError

CALENDAR = ("hour", "weekday")
MOST_NAMED = 3


def pool_readings(parts: Mapping[str, WindowedReadings]) -> WindowedReadings:
    """Put the windowed readings of several systems on one axis of frame numbers; those of one stay as they are.

    Args:
        parts: The readings by name of the system.

    Raises:
        ConfigError: If windows differ in length, or sensors of the same kind have different units.
    """
    if len(parts) == 1:
        return next(iter(parts.values()))
    lengths = {name: part.every for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{every} in '{name}'" for name, every in lengths.items())
        raise ConfigError(f"the windows of the systems differ in length: {listed}", hint="use windows of one length")
    units = _units_of_kinds(parts)
    n_frames = max((len(part) for part in parts.values()), default=0)
    sensors: list[Sensor] = []
    states: dict[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]] = {}
    aggregates: dict[str, str] = {}
    for name, part in parts.items():
        for sensor in part.sensors:
            unit = sensor.unit or units.get(sensor.kind, "")
            sensors.append(replace(sensor, id=qualified(name, sensor.id), unit=unit))
        for id, (codes, categories) in part.states.items():
            states[qualified(name, id)] = (_pad(codes, n_frames, -1), categories)
        aggregates |= {qualified(name, id): how for id, how in part.aggregates.items()}
    names = dict.fromkeys(n for part in parts.values() for n, array in part.derived.items() if array.ndim == 2)
    derived = {n: _side_by_side([part.derived[n] for part in parts.values()], n_frames) for n in names}
    derived_states: dict[str, dict[str, StateCodes]] = {}
    for name, part in parts.items():
        for derived_name, series in part.derived_states.items():
            into = derived_states.setdefault(derived_name, {})
            into |= {qualified(name, id): (_pad(codes, n_frames, -1), known) for id, (codes, known) in series.items()}
    calendars = {
        name: np.stack([_pad(part.derived[name].astype(np.int16), n_frames, -1) for part in parts.values()])
        for name in CALENDAR
        if any(name in part.derived for part in parts.values())
    }
    longest = max(parts.values(), key=len)
    own: dict[str, Any] = {
        "times": longest.times,
        "sensors": tuple(sensors),
        "values": _side_by_side([part.values for part in parts.values()], n_frames),
        "states": states,
        "derived": derived,
        "derived_states": derived_states,
        "aggregates": aggregates,
        "report": _join_reports(parts),
        "notes": tuple(_merge_notes({name: part.notes for name, part in parts.items()})),
        "site_times": {name: part.times for name, part in parts.items()},
        "calendars": calendars,
        "health": tuple(one.at_site(name) for name, part in parts.items() for one in part.health),
    }
    # What windows of all systems have in common, such as their length, is taken from the longest.
    rest = {f.name: getattr(longest, f.name) for f in fields(WindowedReadings) if f.name not in own}
    return WindowedReadings(**rest, **own)


def cut_sites(readings: WindowedReadings, frames: Mapping[str, tuple[int, int]]) -> WindowedReadings:
    """Return some of the windows of each system.

    Args:
        readings: The readings.
        frames: The first window of each system to keep, and the one after the last, by the names of ``by_site``.
    """
    site_times = {name: times[slice(*frames[name])] for name, times in readings.by_site.items()}
    n_frames = max((len(times) for times in site_times.values()), default=0)

    def moved(series: npt.NDArray[Any], site: str, filler: float) -> npt.NDArray[Any]:
        first, last = frames[site]
        return _pad(series[first : min(last, len(readings.by_site[site]))], n_frames, filler)

    def columns(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if values.ndim == 1:  # the calendar of a single system
            return values[slice(*frames[""])]
        series = [moved(values[:, at], readings.site_of(s.id), np.nan) for at, s in enumerate(readings.numeric)]
        return np.stack(series, axis=1) if series else np.empty((n_frames, 0))

    def states(some: Mapping[str, tuple[npt.NDArray[Any], Any]]) -> dict[str, tuple[npt.NDArray[Any], Any]]:
        return {id: (moved(codes, readings.site_of(id), -1), known) for id, (codes, known) in some.items()}

    return replace(
        readings,
        times=max(site_times.values(), key=len),
        values=columns(readings.values),
        states=states(readings.states),
        derived={name: columns(values) for name, values in readings.derived.items()},
        derived_states={name: states(some) for name, some in readings.derived_states.items()},
        site_times=site_times if readings.site_times else {},
        calendars={
            name: np.stack([moved(row, site, -1) for row, site in zip(codes, site_times, strict=True)])
            for name, codes in readings.calendars.items()
        },
    )


def pool_sensors(parts: Mapping[str, SensorData]) -> SensorData:
    """Put the readings of several systems into one object, lazily and without checking them again.

    Args:
        parts: The readings by name of the system.
    """
    sensors = [replace(one, id=qualified(name, one.id)) for name, part in parts.items() for one in part.sensors]
    frames = [
        frame.with_columns(pl.lit(name + SEPARATOR).add(pl.col("sensor").cast(pl.String)).alias("sensor"))
        for name, part in parts.items()
        for frame in _long_frames(part)
    ]
    lazy = pl.concat(frames, how="diagonal") if frames else pl.LazyFrame(schema={"time": TIME, "sensor": pl.String})
    readings = Readings((lazy,), "long", "raise", ", ".join(parts))
    return SensorData(readings, tuple(sensors), _join_reports(parts))


def _long_frames(data: SensorData) -> list[pl.LazyFrame]:
    """The readings of one system as long frames: ``time``, ``sensor``, ``value`` and ``state``."""
    if data.layout == "long":
        return [frame.drop(*ORIGIN, strict=False) for frame in data.readings.parts]
    out = []
    for frame in data.readings.parts:
        schema = frame.collect_schema()
        for column, categorical in (("value", False), ("state", True)):
            ids = [one.id for one in data.sensors if one.id in schema and one.categorical is categorical]
            if ids:
                out.append(frame.unpivot(ids, index="time", variable_name="sensor", value_name=column))
    return out


def _join_reports(parts: Mapping[str, SensorData | WindowedReadings]) -> ReadReport:
    """What reading found in each system, with the names of their sensors here."""
    report = ReadReport()
    for name, part in parts.items():
        found = [replace(f, sensor=qualified(name, f.sensor) if f.sensor else "") for f in part.report.findings]
        report = report.extended(found)
        pending = tuple(dict.fromkeys((*report.pending, *part.report.pending)))
        report = replace(report, sources=(*report.sources, *part.report.sources), pending=pending)
    return report.extended(notes=_merge_notes({name: part.report.notes for name, part in parts.items()}))


def _merge_notes(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the notes of all systems, each once, with the systems that it is about.

    Examples:
        >>> _merge_notes({"north": ["times are UTC", "no kind"], "south": ["times are UTC"]})
        ['north, south: times are UTC', 'north: no kind']
    """
    about: dict[str, list[str]] = {}
    for name, some in notes.items():
        for note in some:
            about.setdefault(note, []).append(name)
    every = f"all {len(notes)} systems"
    return [
        f"{every if len(names) == len(notes) > MOST_NAMED else ', '.join(names)}: {note}"
        for note, names in about.items()
    ]


def _units_of_kinds(parts: Mapping[str, WindowedReadings]) -> dict[str, str]:
    """Return the unit of each kind; a kind with two units cannot be pooled."""
    found: dict[str, tuple[str, str]] = {}
    for name, part in parts.items():
        for sensor in part.sensors:
            if not sensor.unit or not sensor.kind:
                continue
            unit, first = found.setdefault(sensor.kind, (sensor.unit, name))
            if unit != sensor.unit and first != name:
                raise ConfigError(
                    f"sensors of the kind '{sensor.kind}' have the unit '{unit}' in '{first}' and '{sensor.unit}' in "
                    f"'{name}'",
                    hint="convert the readings to one unit, or give the kinds different names",
                )
    return {kind: unit for kind, (unit, _) in found.items()}


def _pad(series: npt.NDArray[Any], n_frames: int, filler: float) -> npt.NDArray[Any]:
    return np.concatenate([series, np.full(n_frames - len(series), filler, series.dtype)])


def _side_by_side(parts: list[npt.NDArray[np.float64]], n_frames: int) -> npt.NDArray[np.float64]:
    out = np.full((n_frames, sum(part.shape[1] for part in parts)), np.nan)
    at = 0
    for part in parts:
        out[: len(part), at : at + part.shape[1]] = part
        at += part.shape[1]
    return out
