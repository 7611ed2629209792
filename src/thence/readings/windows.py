"""From readings to windows: one value per sensor and fixed-length window, and nothing where nothing was read.

Windows are half-open ``[start, start + every)``, named by their start, all of one length, and every window between
the first and the last reading is present. This module does not discretize, enrich or look at a graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.errors import ConfigError, nearest
from thence.readings import scanning as _stream
from thence.readings.sensors import ReadReport, Sensor, SensorData, Time, as_utc

__all__ = ["AGGREGATES", "DERIVED", "STATE_AGGREGATES", "WindowedReadings", "duration", "window"]

AGGREGATES = ("mean", "sum", "min", "max", "last", "range", "count", "median")
"""Ways to make one number of the readings in a window; their order is the order of the kernels' codes."""
STATE_AGGREGATES = ("mode", "last")
"""Ways to make one state of the states in a window."""
DERIVED = ("change", "hour", "weekday")
"""What can be derived from the windows: see ``window``."""

MAX_CELLS = 2**31
MICROSECOND = timedelta(microseconds=1)
UNITS = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86400 * 10**6,
    "w": 604800 * 10**6,
}
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WindowedReadings:
    """Readings on a regular grid of windows.

    ``values`` has a column per numeric sensor (``numeric``), NaN where a window has no reading. ``states`` has, per
    categorical sensor, integer codes (−1 missing) and the categories they index. ``derived`` holds what was asked
    for: ``change`` like ``values``, ``hour`` (0–23) and ``weekday`` (0 is Monday) one number per window.
    """

    times: npt.NDArray[np.datetime64]
    sensors: tuple[Sensor, ...]
    values: FloatArray
    states: Mapping[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]]
    derived: Mapping[str, npt.NDArray[Any]]
    every: timedelta
    aggregates: Mapping[str, str]
    report: ReadReport

    @property
    def numeric(self) -> tuple[Sensor, ...]:
        """The sensors of the columns of ``values``, in order."""
        return tuple(sensor for sensor in self.sensors if not sensor.categorical)

    @property
    def categorical(self) -> tuple[Sensor, ...]:
        """The sensors of ``states``, in order."""
        return tuple(sensor for sensor in self.sensors if sensor.categorical)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"WindowedReadings({len(self):,} windows of {self.every} × {len(self.sensors)} sensors)"

    def to_polars(self) -> pl.DataFrame:
        """A frame with ``time`` (start of the window, UTC) and a column per sensor; missing is null."""
        columns: dict[str, pl.Series] = {
            "time": pl.Series(self.times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        }
        position = {sensor.id: k for k, sensor in enumerate(self.numeric)}
        for sensor in self.sensors:
            if sensor.id in position:
                columns[sensor.id] = pl.Series(self.values[:, position[sensor.id]], nan_to_null=True)
            else:
                codes, categories = self.states[sensor.id]
                names = pl.Series([*categories, None], dtype=pl.String)
                columns[sensor.id] = names[np.where(codes < 0, len(categories), codes)]
        return pl.DataFrame(columns)


def window(
    sensors: SensorData,
    every: str | timedelta = "30min",
    *,
    aggregate: str | Mapping[str, str] = "mean",
    derive: str | Iterable[str] = (),
    origin: Time = "epoch",
    timezone: str = "UTC",
) -> WindowedReadings:
    """Aggregate readings into windows of one length.

    ``aggregate`` is one of `AGGREGATES` for every numeric sensor (states then take their mode, or their last for
    ``"last"``), or a mapping from kind to aggregate; kinds that it leaves out take the mean or the mode. A window
    without readings is missing; only ``"count"`` is 0 there, between the sensor's first and last reading.

    Windows start at ``origin`` plus whole multiples of ``every``: ``"epoch"`` (1970-01-01T00:00 UTC: half hours start
    at :00 and :30, days at midnight UTC, weeks on Thursday), ``"start"`` (the first row) or any time. ``timezone``
    is for the derived ``hour`` and ``weekday`` only.

    >>> from datetime import datetime
    >>> minutes = [datetime(2024, 1, 1, 0, m) for m in (0, 10, 20, 50)]
    >>> data = SensorData.from_wide(pl.DataFrame({"time": minutes, "t1": [1.0, 2.0, None, 5.0]}))
    >>> table = window(data, "20min")
    >>> table.values[:, 0].tolist()
    [1.5, nan, 5.0]
    >>> [str(start) for start in table.times.astype("datetime64[m]")]
    ['2024-01-01T00:00', '2024-01-01T00:20', '2024-01-01T00:40']
    """
    length = duration(every)
    numeric = [sensor for sensor in sensors.sensors if not sensor.categorical]
    states = [sensor for sensor in sensors.sensors if sensor.categorical]
    chosen = _aggregates(sensors.sensors, aggregate)
    wanted = _derived(derive)
    bounds = _stream.time_bounds(sensors.readings)
    start, n_windows = _grid(bounds, length, origin, len(sensors))
    values, number_tally = _numbers(sensors.readings, numeric, chosen, start, length, n_windows)
    codes, state_tally = _states(sensors.readings, states, chosen, start, length, n_windows)

    # Rows may lie outside the first and last reading (empty cells): the grid ends where the readings do.
    inside = _occupied(values, codes, n_windows)
    values = values[inside]
    codes = {id: (column[inside], names) for id, (column, names) in codes.items()}
    times = (start + length * np.arange(n_windows, dtype=np.int64)[inside]).view("datetime64[us]")
    report = sensors.report
    if report.pending:
        walks = [([s.id for s in part], tally) for part, tally in ((numeric, number_tally), (states, state_tally))]
        report = report.settled(_stream.merged_findings(sensors.readings, *walks))
    return WindowedReadings(
        times=times,
        sensors=sensors.sensors,
        values=values,
        states=codes,
        derived=_derive(wanted, times, values, timezone),
        every=length * MICROSECOND,
        aggregates=chosen,
        report=report,
    )


def duration(text: str | timedelta) -> int:
    """A length of time in microseconds: ``"30min"``, ``"1h30min"``, ``"1d"``, or a timedelta.

    >>> duration("1h30min") == duration("90 min") == 5_400_000_000
    True
    """
    if isinstance(text, timedelta):
        total = text // MICROSECOND
    else:
        compact = str(text).replace(" ", "")
        parts = re.findall(r"(\d+)([a-z]+)", compact)
        aliases = {"m": "min", "sec": "s", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w"}
        units = [aliases.get(unit, unit) for _, unit in parts]
        if not parts or "".join(n + unit for n, unit in parts) != compact or not set(units) <= set(UNITS):
            raise ConfigError(f"'{text}' is not a length of time", hint="write it as 30min, 1h, 1h30min or 1d")
        total = sum(int(n) * UNITS[unit] for (n, _), unit in zip(parts, units, strict=True))
    if total <= 0:
        raise ConfigError(f"a window of {text} has no length", hint="give a positive length such as 30min")
    return int(total)


def _aggregates(sensors: Sequence[Sensor], aggregate: str | Mapping[str, str]) -> dict[str, str]:
    by_kind: Mapping[str, str] = {} if isinstance(aggregate, str) else aggregate
    kinds = {sensor.kind for sensor in sensors}
    for kind, name in by_kind.items():
        if kind not in kinds:
            raise ConfigError(
                f"aggregate names the kind '{kind}', which no sensor has; there are {', '.join(sorted(kinds))}",
                hint=nearest(kind, kinds),
            )
        _check_aggregate(name)
    if isinstance(aggregate, str):
        _check_aggregate(aggregate)
    chosen = {}
    for sensor in sensors:
        allowed = STATE_AGGREGATES if sensor.categorical else AGGREGATES
        if isinstance(aggregate, str):
            fallback = "mode" if sensor.categorical and aggregate not in STATE_AGGREGATES else aggregate
        else:
            fallback = "mode" if sensor.categorical else "mean"
        name = by_kind.get(sensor.kind, fallback)
        if name not in allowed:
            what = "states" if sensor.categorical else "numbers"
            raise ConfigError(
                f"'{name}' cannot aggregate sensor '{sensor.id}', which reads {what}", hint=f"use {', '.join(allowed)}"
            )
        chosen[sensor.id] = name
    return chosen


def _check_aggregate(name: str) -> None:
    known = (*AGGREGATES, "mode")
    if name not in known:
        raise ConfigError(
            f"there is no aggregate '{name}'; there are {', '.join(known)}", hint=nearest(str(name), known)
        )


def _derived(derive: str | Iterable[str]) -> tuple[str, ...]:
    names = (derive,) if isinstance(derive, str) else tuple(dict.fromkeys(derive))
    for name in names:
        if name not in DERIVED:
            raise ConfigError(f"cannot derive '{name}'; there are {', '.join(DERIVED)}", hint=nearest(name, DERIVED))
    return names


def _grid(bounds: tuple[int, int] | None, length: int, origin: Any, n_sensors: int) -> tuple[int, int]:
    """Start of the first window and number of windows that cover all rows."""
    if bounds is None:
        return 0, 0
    first, last = bounds
    if isinstance(origin, str) and origin == "epoch":
        anchor = 0
    elif isinstance(origin, str) and origin == "start":
        anchor = first
    else:
        anchor = (as_utc(origin) - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND
    start = anchor + (first - anchor) // length * length
    n_windows = (last - start) // length + 1
    if n_windows * max(1, n_sensors) > MAX_CELLS:
        when = " to ".join(str(np.datetime64(t, "us").astype("datetime64[s]")) for t in bounds)
        raise ConfigError(
            f"{n_windows:,} windows × {n_sensors:,} sensors are more than fit in memory; the rows run from {when}",
            hint="take longer windows, or cut stray times off with between(...)",
        )
    return start, n_windows


def _numbers(
    readings: _stream.Readings,
    sensors: Sequence[Sensor],
    chosen: Mapping[str, str],
    start: int,
    length: int,
    n_windows: int,
) -> tuple[FloatArray, _stream.Tally]:
    tally = _stream.Tally(len(sensors))
    if not sensors or not n_windows:
        return np.full((n_windows, len(sensors)), np.nan), tally
    ids = [sensor.id for sensor in sensors]
    ops = np.array([AGGREGATES.index(chosen[id]) for id in ids], dtype=np.int8)
    median = AGGREGATES.index("median")
    if readings.layout == "long" and not (ops == median).any():
        values = _streamed(readings, ids, ops, tally, start, length, n_windows)
        if values is not None:
            return values, tally
        tally = _stream.Tally(len(sensors))
    from thence.readings.window_kernels import window_series

    values = np.full((n_windows, len(sensors)), np.nan)
    for series in _stream.iter_numbers(readings, ids, tally):
        column = np.full(n_windows, np.nan)
        window_series(series.times, series.values, start, length, ops[series.position], column)
        values[:, series.position] = column
    _zero_counts(values, ops)
    return values, tally


def _streamed(
    readings: _stream.Readings,
    ids: Sequence[str],
    ops: npt.NDArray[np.int8],
    tally: _stream.Tally,
    start: int,
    length: int,
    n_windows: int,
) -> FloatArray | None:
    """All windows in one pass over the rows, or ``None`` where the rows are not in order."""
    shape = (n_windows, len(ids))
    used = {AGGREGATES[op] for op in ops}
    values = np.full(shape, np.nan)
    largest = np.full(shape if "range" in used else (0, 0), np.nan)
    counts = np.zeros(shape if used & {"mean", "count"} else (0, 0), dtype=np.int32)
    if not _stream.stream_windows(
        readings, ids, tally, start=start, every=length, ops=ops, main=values, other=largest, counts=counts
    ):
        return None
    for name in used & {"mean", "range", "count"}:
        columns = np.flatnonzero(ops == AGGREGATES.index(name))
        every_column: Any = slice(None) if columns.size == len(ids) else columns
        if name == "mean":
            # 0 / 0 in a window without readings is the NaN that was there before.
            with np.errstate(invalid="ignore"):
                values[:, every_column] /= counts[:, every_column]
        elif name == "range":
            values[:, every_column] = largest[:, every_column] - values[:, every_column]
        else:
            found = counts[:, every_column]
            values[:, every_column] = np.where(found > 0, found, np.nan)
    _zero_counts(values, ops)
    return values


def _zero_counts(values: FloatArray, ops: npt.NDArray[np.int8]) -> None:
    """No reading in a window between two readings of the sensor is a count of 0."""
    for k in np.flatnonzero(ops == AGGREGATES.index("count")):
        found = np.flatnonzero(~np.isnan(values[:, k]))
        if found.size:
            inner = values[found[0] : found[-1] + 1, k]
            inner[np.isnan(inner)] = 0.0


def _states(
    readings: _stream.Readings,
    sensors: Sequence[Sensor],
    chosen: Mapping[str, str],
    start: int,
    length: int,
    n_windows: int,
) -> tuple[dict[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]], _stream.Tally]:
    tally = _stream.Tally(len(sensors))
    ids = [sensor.id for sensor in sensors]
    columns: dict[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]] = {
        id: (np.full(n_windows, -1, dtype=np.int32), ()) for id in ids
    }
    if not sensors or not n_windows:
        return columns, tally
    from thence.readings.window_kernels import LAST, MODE, window_states

    for series in _stream.iter_states(readings, ids, tally):
        id = ids[series.position]
        op = MODE if chosen[id] == "mode" else LAST
        codes, _ = columns[id]
        window_states(series.times, series.values, start, length, op, len(series.categories), codes)
        columns[id] = (codes, series.categories)
    return columns, tally


def _occupied(
    values: FloatArray, codes: Mapping[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]], n_windows: int
) -> slice:
    def filled(row: int) -> bool:
        return not np.isnan(values[row]).all() or any(column[row] >= 0 for column, _ in codes.values())

    first, after = 0, n_windows
    while first < after and not filled(first):
        first += 1
    while after > first and not filled(after - 1):
        after -= 1
    return slice(first, after)


def _derive(
    names: Sequence[str], times: npt.NDArray[np.datetime64], values: FloatArray, timezone: str
) -> dict[str, npt.NDArray[Any]]:
    derived: dict[str, npt.NDArray[Any]] = {}
    if "change" in names:
        change = np.full_like(values, np.nan)
        change[1:] = values[1:] - values[:-1]
        derived["change"] = change
    if {"hour", "weekday"} & set(names):
        try:
            ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ConfigError(f"there is no time zone '{timezone}'", hint="write it as Europe/Berlin") from error
        local = pl.Series(times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
        if "hour" in names:
            derived["hour"] = local.dt.hour().to_numpy().astype(np.int8)
        if "weekday" in names:
            derived["weekday"] = local.dt.weekday().to_numpy().astype(np.int8) - np.int8(1)
    return {name: derived[name] for name in names}
