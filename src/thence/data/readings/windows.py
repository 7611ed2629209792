"""Windows: readings aggregated to one value per sensor and window of fixed length.

Windows are half-open ``[start, start + every)``, identified by their start, and all of the same length. Those in which
no sensor reads are left out and counted, unless they are requested. This module does not discretize, enrich or use a
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.display.percent import percent
from thence._base.memory import Workspace, in_memory
from thence.data.readings.derived import StateCodes, derive_values, name_derived
from thence.data.readings.directions import ON_A_CIRCLE, is_direction, is_turn, roll_up, unroll
from thence.data.readings.durations import MICROSECOND, format_duration, parse_duration
from thence.data.readings.findings import ReadReport
from thence.data.readings.health.findings import HealthFinding, Series
from thence.data.readings.holding import HELD, Hold, choose_hold, describe_hold, habit, hold_numbers, hold_states
from thence.data.readings.resolution import Resolution, learn_resolution
from thence.data.readings.scanning import (
    Readings,
    ScanCounts,
    iter_numbers,
    iter_states,
    merge_findings,
    stream_windows,
    time_bounds,
)
from thence.data.readings.sensors import Sensor, SensorData, Time, as_utc, site_of_id
from thence.data.readings.steps import SHORTER, own_step, typical_step
from thence.errors import ConfigError, nearest

AGGREGATES = ("mean", "sum", "min", "max", "last", "range", "count", "median")
"""Aggregates of numbers, in the order of their codes in the kernels."""
STATE_AGGREGATES = ("mode", "last")
"""Aggregates of states."""

Empty = Literal["drop", "keep"]
"""What happens to windows in which no sensor reads."""
EMPTY: tuple[Empty, ...] = get_args(Empty)

MAX_CELLS = 2**31
MAX_YEARS = 500
MAX_SPAN = MAX_YEARS * 365 * 86_400 * 10**6
_COLUMNS, _PART = 64, 512  # sensors that are written at a time, and windows of these
_PART_CELLS = 1 << 22  # values that are looked at in one piece
LEAST_MISSING = 0.1  # share of missing values at which the step of the readings is compared with the windows
FloatArray = npt.NDArray[np.float64]
Clean: TypeAlias = Callable[[Series], tuple[tuple[HealthFinding, ...], list[str]]]
StateColumns = dict[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]]


@dataclass(frozen=True, eq=False)
class WindowedReadings:
    """Readings in windows of one length.

    Args:
        times: Start of each window in UTC.
        sensors: All sensors, in order.
        values: Windows × numeric sensors (see ``numeric``); NaN where a window has no reading.
        states: Per categorical sensor, integer codes (−1 is missing) and the categories that they index.
        derived: The derived values that were requested: ``change`` and ``lag:…`` have the shape of ``values``; ``hour``
            (0–23) and ``weekday`` (0 is Monday) have one number per window.
        every: Length of a window.
        aggregates: Aggregate used for each sensor id.
        report: Report of the readings, with all checks done.
        notes: Why the windows have this length, and how many were left out; one sentence each.
        derived_states: The derived states that were requested, by name (``switch``, ``duration:open``) and sensor:
            integer codes (−1 is missing) and the values that they index.
        workspace: Where large arrays made from the readings lie; by default in memory.
        site_times: Of several sites, the start of each window of each, by its name: frame ``f`` of a site is its
            ``f``-th window, and ``times`` are those of the site with the most. Empty for a single site.
        calendars: Of several sites, ``hour`` and ``weekday`` if requested, which ``derived`` has of a single one: sites
            × frames, −1 after the last window of a site.
        health: What was found to be wrong with the sensors, if that was asked for.
    """

    times: npt.NDArray[np.datetime64]
    sensors: tuple[Sensor, ...]
    values: FloatArray
    states: Mapping[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]]
    derived: Mapping[str, npt.NDArray[Any]]
    every: timedelta
    aggregates: Mapping[str, str]
    report: ReadReport
    notes: tuple[str, ...] = ()
    derived_states: Mapping[str, Mapping[str, StateCodes]] = field(default_factory=dict)
    workspace: Workspace = field(default_factory=in_memory)
    site_times: Mapping[str, npt.NDArray[np.datetime64]] = field(default_factory=dict)
    calendars: Mapping[str, npt.NDArray[np.int16]] = field(default_factory=dict)
    health: tuple[HealthFinding, ...] = ()

    @property
    def by_site(self) -> Mapping[str, npt.NDArray[np.datetime64]]:
        """The start of each window of each site; that of a single one has no name."""
        return self.site_times or {"": self.times}

    def site_of(self, id: str) -> str:
        """Return the site of a sensor or a node, as it is named in ``by_site``.

        Args:
            id: The id.
        """
        return site_of_id(id) if self.site_times else ""

    def times_of(self, id: str) -> npt.NDArray[np.datetime64]:
        """Return the start of each window at the site of a sensor or a node.

        Args:
            id: The id.
        """
        return self.by_site[self.site_of(id)]

    @property
    def numeric(self) -> tuple[Sensor, ...]:
        """The numeric sensors, in the order of the columns of ``values``."""
        return tuple(sensor for sensor in self.sensors if not sensor.categorical)

    @property
    def categorical(self) -> tuple[Sensor, ...]:
        """The categorical sensors, in order."""
        return tuple(sensor for sensor in self.sensors if sensor.categorical)

    @cached_property
    def resolutions(self) -> Mapping[str, Resolution]:
        """The resolution of each numeric sensor; means of several readings have none."""
        return {sensor.id: learn_resolution(self.values[:, at]) for at, sensor in enumerate(self.numeric)}

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        if self.site_times:
            sizes = ", ".join(f"{name}: {len(times):,}" for name, times in self.site_times.items())
            return f"WindowedReadings(windows of {self.every} × {len(self.sensors)} sensors; {sizes})"
        return f"WindowedReadings({len(self):,} windows of {self.every} × {len(self.sensors)} sensors)"

    def select(self, ids: Iterable[str]) -> WindowedReadings:
        """Return the same windows with some of the sensors only.

        Args:
            ids: The ids of the sensors to keep; their order stays.
        """
        wanted = set(ids)
        columns = [i for i, sensor in enumerate(self.numeric) if sensor.id in wanted]
        return replace(
            self,
            sensors=tuple(sensor for sensor in self.sensors if sensor.id in wanted),
            values=self.values[:, columns],
            states={name: state for name, state in self.states.items() if name in wanted},
            derived={name: values[:, columns] if values.ndim == 2 else values for name, values in self.derived.items()},
            derived_states={
                name: {id: state for id, state in states.items() if id in wanted}
                for name, states in self.derived_states.items()
            },
        )

    def without_empty(self) -> WindowedReadings:
        """Return the readings without the windows in which no sensor reads, such as the gaps between separate days."""
        held = self._held()
        if held.all():
            return self
        return replace(
            self,
            times=self.times[held],
            values=self.values[held],
            derived={name: values[held] for name, values in self.derived.items()},
            **self.map_states(lambda id, codes: codes[held]),
        )

    def map_states(self, change: Callable[[str, npt.NDArray[Any]], npt.NDArray[Any]]) -> dict[str, Any]:
        """Return ``states`` and ``derived_states`` with other codes, given those of each sensor."""

        def changed(states: Mapping[str, tuple[npt.NDArray[Any], Any]]) -> dict[str, tuple[npt.NDArray[Any], Any]]:
            return {id: (change(id, codes), known) for id, (codes, known) in states.items()}

        derived = {name: changed(states) for name, states in self.derived_states.items()}
        return {"states": changed(self.states), "derived_states": derived}

    def _held(self) -> npt.NDArray[np.bool_]:
        """Return which windows have a value of any sensor."""
        held = np.zeros(len(self), bool)
        for codes, _ in self.states.values():
            held |= codes >= 0
        return _mark_held(self.values, held)

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with ``time`` (start of the window, UTC) and one column per sensor; null is missing."""
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
    every: str | timedelta = "auto",
    *,
    aggregate: str | Mapping[str, str] = "mean",
    derive: str | Iterable[str] = (),
    origin: Time = "epoch",
    timezone: str = "UTC",
    empty: Empty = "drop",
    hold: str = "none",
    workspace: Workspace | None = None,
    clean: Clean | None = None,
) -> WindowedReadings:
    """Aggregate readings into windows of one length.

    A sensor without readings in a window is missing there. Only ``"count"`` is 0, between the first and the last
    reading of the sensor.

    Args:
        sensors: The readings.
        every: Length of a window: ``"30min"``, ``"1h30min"``, ``"1d"``, a ``timedelta``, or ``"auto"`` for the step of
            the readings themselves (see ``own_step``).
        aggregate: One of ``AGGREGATES`` for all numeric sensors (categorical sensors then use ``"mode"``, or ``"last"``
            for ``"last"``), or a mapping from kind to aggregate; other kinds use ``"mean"`` or ``"mode"``.
        derive: Values to add. ``"change"``: the difference from the window just before. ``"previous"``: the value of
            the window just before; ``"lag:30min"`` or ``"lag:3"``: the value that long, or that many windows, ago.
            ``"switch"``: the state that a sensor switches to. ``"duration"``: how long its state has lasted.
            ``"within:30min"``: whether a state occurs in the next 30 minutes, and with ``"switch"``, whether the sensor
            switches to it; ``"next"``: the same in the next window. ``"hour"``, ``"weekday"``: those of the start of
            the window. What depends on a window without a reading is missing, so also after a gap.
        origin: Windows start at ``origin`` plus multiples of ``every``: ``"epoch"`` (1970-01-01T00:00 UTC: half hours
            start at :00 and :30, days at midnight UTC, weeks on Thursday), ``"start"`` (the first row) or a time.
        timezone: Time zone of the derived ``hour`` and ``weekday``; nothing else depends on it.
        empty: What happens to windows in which no sensor reads: ``"drop"`` leaves them out, and a note says how many;
            ``"keep"`` keeps all windows between the first and the last reading.
        hold: How long the last reading of a sensor lasts: ``"none"`` holds nothing; ``"auto"`` holds sensors of long
            tables that read when something changes, each up to its own habit; a duration such as ``"2h"`` is the
            limit for all sensors. What is held counts by its time; sums, counts and medians are of the readings.
        workspace: Where large arrays lie; by default in memory.
        clean: Called with the windows before anything is derived from them; sets values that cannot be trusted to NaN,
            and returns what it found and notes.

    Returns:
        The windows, with notes on their length and on those left out.

    Raises:
        ConfigError: If a setting is invalid, or there are too many windows to fit in memory.
        InputError: If lazily scanned readings fail a check.

    Examples:
        >>> from datetime import datetime
        >>> minutes = [datetime(2024, 1, 1, 0, m) for m in (0, 10, 20, 50)]
        >>> data = SensorData.from_wide(pl.DataFrame({"time": minutes, "t1": [1.0, 2.0, None, 5.0]}))
        >>> window(data, "20min", empty="keep").values[:, 0].tolist()
        [1.5, nan, 5.0]
        >>> table = window(data, "20min")
        >>> [str(start) for start in table.times.astype("datetime64[m]")]
        ['2024-01-01T00:00', '2024-01-01T00:40']
        >>> table.notes
        ('left out 1 of 3 windows (33 %) in which no sensor reads',)
    """
    if empty not in EMPTY:
        raise ConfigError(f"empty must be 'drop' or 'keep', got {empty!r}")
    space = workspace or in_memory()
    reasons = []
    made = [source["windows"] for source in sensors.report.sources if source.get("windows")]
    if every == "auto" and made:
        every = timedelta(microseconds=made[0]["microseconds"])
        reasons = [f"windows of {format_duration(every)}, as the database aggregated them"]
    elif every == "auto":
        chosen_step = own_step(sensors)
        every, reasons = chosen_step.every, [chosen_step.reason]
    length = parse_duration(every)
    sensors, far = sensors.without_far()
    numeric = [sensor for sensor in sensors.sensors if not sensor.categorical]
    states = [sensor for sensor in sensors.sensors if sensor.categorical]
    chosen = _choose_aggregates(sensors.sensors, aggregate)
    wanted = name_derived(derive, length)
    bounds = time_bounds(sensors.readings)
    if bounds is None and sensors.report.pending:
        sensors = sensors.check()  # nothing is scanned below, and rows without a usable time must not pass unseen
    grid = _lay_grid(bounds, length, origin, len(sensors))
    _require_same_windows(made, grid, {chosen[sensor.id] for sensor in numeric})
    held = choose_hold(sensors, hold)
    habits: dict[str, int] = {}
    values, of_numbers = _window_numbers(sensors.readings, numeric, chosen, grid, space, held, habits)
    codes, of_states = _window_states(sensors.readings, states, chosen, grid, held, habits)

    spanning = _spanning(sensors.readings.breaks, grid)
    values[spanning] = np.nan
    for column, _ in codes.values():
        column[spanning] = -1
    # Rows before the first and after the last reading (empty cells) do not extend the grid.
    inside = _occupied(values, codes, grid.n_windows)
    values = values[inside]
    codes = {id: (column[inside], names) for id, (column, names) in codes.items()}
    times = (grid.start + length * np.arange(grid.n_windows, dtype=np.int64)[inside]).view("datetime64[us]")
    report = sensors.report
    if report.pending:
        scans = [([s.id for s in part], counts) for part, counts in ((numeric, of_numbers), (states, of_states))]
        report = report.completed([*far, *merge_findings(sensors.readings, *scans)])
    health, cleaned = ((), []) if clean is None else clean(Series(times, numeric, values, length * MICROSECOND))
    derived = derive_values(
        wanted, times=times, sensors=sensors.sensors, values=values, states=codes, every=length, timezone=timezone
    )
    windows = WindowedReadings(
        times=times,
        sensors=sensors.sensors,
        values=values,
        states=codes,
        derived=derived.numbers,
        every=length * MICROSECOND,
        aggregates=chosen,
        report=report,
        derived_states=derived.states,
        workspace=space,
        health=health,
    )
    reasons = [*(reasons or _note_short(sensors, windows)), *describe_hold(held, habits, hold)]
    if spanning.size:
        reasons.append(f"{spanning.size:,} windows in which one run ends and another begins are left out")
    notes = [*reasons, *_note_empty(windows, empty), *cleaned, *derived.notes]
    return replace(windows.without_empty() if empty == "drop" else windows, notes=tuple(notes))


def _require_same_windows(made: Iterable[Mapping[str, Any]], grid: _Grid, aggregates: set[str]) -> None:
    """Raise if readings that a database has aggregated are aggregated in another way: a mean of means is no mean."""
    for one in made:
        same = one["microseconds"] == grid.length and aggregates <= {one["aggregate"]}
        if not same or (grid.start - one["start"]) % grid.length:
            raise ConfigError(
                f"the database aggregated the readings to windows of {_length(one['microseconds'])} "
                f"({one['aggregate']}), and windows of {_length(grid.length)} ({', '.join(sorted(aggregates))}) with "
                "another length, aggregate or origin have other numbers",
                hint="use the same windows, aggregate and origin for both, or read all rows: leave out windows= of "
                "read_sensors",
            )


def _length(microseconds: int) -> str:
    return format_duration(timedelta(microseconds=microseconds))


def _note_short(sensors: SensorData, windows: WindowedReadings) -> list[str]:
    """Say so if the windows are shorter than the step of the readings."""
    if not len(windows) or (missing := _share_missing(windows)) < LEAST_MISSING:
        return []
    step = typical_step(sensors)
    if step is None or windows.every >= SHORTER * step:
        return []
    return [
        f"windows of {format_duration(windows.every)} are shorter than the step of the readings "
        f"({format_duration(step)}): a sensor has no reading in {percent(missing)} of them"
    ]


def _share_missing(windows: WindowedReadings) -> float:
    """Return the share of windows × sensors without a reading."""
    missing = sum(int(np.isnan(part).sum()) for part in _parts_of(windows.values))
    missing += sum(int((codes < 0).sum()) for codes, _ in windows.states.values())
    return missing / max(1, len(windows) * len(windows.sensors))


def _note_empty(windows: WindowedReadings, empty: Empty) -> list[str]:
    """Say how many windows have no reading, and which gap is the longest if several windows in a row have none."""
    held = np.flatnonzero(windows._held())
    lost = len(windows) - held.size
    if not lost:
        return []
    counted = f"{lost:,} of {len(windows):,} windows ({percent(lost / len(windows))})"
    note = f"left out {counted} in which no sensor reads" if empty == "drop" else f"no sensor reads in {counted}"
    longest = int(np.argmax(np.diff(held)))
    size = int(held[longest + 1] - held[longest]) - 1
    if size > 1:
        first = windows.times[held[longest] + 1].astype("datetime64[m]").item()
        note += f"; the longest gap is {format_duration(size * windows.every)} from {first:%Y-%m-%d %H:%M} UTC"
    return [note]


def _choose_aggregates(sensors: Sequence[Sensor], aggregate: str | Mapping[str, str]) -> dict[str, str]:
    by_kind: Mapping[str, str] = {} if isinstance(aggregate, str) else aggregate
    kinds = {sensor.kind for sensor in sensors}
    for kind, name in by_kind.items():
        if kind not in kinds:
            raise ConfigError(
                f"aggregate names the kind '{kind}', but no sensor has it; kinds are {', '.join(sorted(kinds))}",
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
            what = "categorical" if sensor.categorical else "numeric"
            raise ConfigError(
                f"aggregate '{name}' does not apply to sensor '{sensor.id}', which is {what}",
                hint=f"use {', '.join(allowed)}"
                + (f", or read it as numbers: read_sensors(…, numeric=['{sensor.id}'])" if sensor.categorical else ""),
            )
        chosen[sensor.id] = name
    return chosen


def _check_aggregate(name: str) -> None:
    known = (*AGGREGATES, "mode")
    if name not in known:
        raise ConfigError(
            f"unknown aggregate '{name}'", hint=nearest(str(name), known) or f"use one of {', '.join(known)}"
        )


@dataclass(frozen=True)
class _Grid:
    """Start of the first window and length of all windows in microseconds, and the number of windows."""

    start: int
    length: int
    n_windows: int


def _lay_grid(bounds: tuple[int, int] | None, length: int, origin: Any, n_sensors: int) -> _Grid:
    """Return the grid that covers all rows."""
    if bounds is None:
        return _Grid(0, length, 0)
    first, last = bounds
    if isinstance(origin, str) and origin == "epoch":
        anchor = 0
    elif isinstance(origin, str) and origin == "start":
        anchor = first
    else:
        anchor = (as_utc(origin) - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND
    start = anchor + (first - anchor) // length * length
    n_windows = (last - start) // length + 1
    when = " to ".join(str(np.datetime64(t, "us").astype("datetime64[s]")) for t in bounds)
    if last - first > MAX_SPAN:
        raise ConfigError(
            f"the rows span {when}, which are {(last - first) // (MAX_SPAN // MAX_YEARS):,} years",
            hint="correct the times, or keep those of one period with between(...)",
        )
    if n_windows * max(1, n_sensors) > MAX_CELLS:
        raise ConfigError(
            f"{n_windows:,} windows × {n_sensors:,} sensors do not fit in memory; the rows span {when}",
            hint="use longer windows, or remove stray times with between(...)",
        )
    return _Grid(start, length, n_windows)


def _spanning(breaks: Sequence[tuple[int, int]], grid: _Grid) -> npt.NDArray[np.int64]:
    """Return the windows in which one run ends and another begins."""
    first, after = (np.array(times, dtype=np.int64) for times in (zip(*breaks, strict=True) if breaks else ((), ())))
    at = (first - grid.start) // grid.length
    inside = (at >= 0) & (at < grid.n_windows)
    return np.unique(at[inside & (at == (after - grid.start) // grid.length)])


def _empty_values(n_windows: int, n_sensors: int, workspace: Workspace) -> FloatArray:
    """Return a matrix (windows × sensors) of NaN.

    In a file, the windows of a sensor lie one after the other: it is written and read sensor by sensor.
    """
    stage = f"the matrix of {n_windows:,} windows × {n_sensors:,} sensors"
    if workspace.fits(8 * n_windows * n_sensors):
        return workspace.full((n_windows, n_sensors), np.nan, np.float64, stage=stage)
    return workspace.full((n_sensors, n_windows), np.nan, np.float64, stage=stage).T


def _parts_of(values: FloatArray) -> Iterator[FloatArray]:
    """Yield a matrix in parts that lie in one piece: some of its sensors, or some of its windows."""
    lying = values if values.flags.c_contiguous else values.T
    step = max(1, _PART_CELLS // max(1, lying.shape[1]))
    for start in range(0, len(lying), step):
        yield lying[start : start + step]


def _mark_held(values: FloatArray, held: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mark the windows with a number, beside those that are marked already."""
    for start in range(0, values.shape[1], _COLUMNS):
        if held.all():
            break
        todo = np.flatnonzero(~held) if held.any() else slice(None)
        held[todo] = ~np.isnan(values[todo, start : start + _COLUMNS]).all(axis=1)
    return held


def _window_numbers(
    readings: Readings,
    sensors: Sequence[Sensor],
    chosen: Mapping[str, str],
    grid: _Grid,
    workspace: Workspace,
    hold: Hold,
    habits: dict[str, int],
) -> tuple[FloatArray, ScanCounts]:
    counts = ScanCounts(len(sensors))
    if not sensors or not grid.n_windows:
        return np.full((grid.n_windows, len(sensors)), np.nan), counts
    ids = [sensor.id for sensor in sensors]
    ops = np.array([AGGREGATES.index(chosen[id]) for id in ids], dtype=np.int8)
    median = AGGREGATES.index("median")
    turning = {sensor.id for sensor in sensors if chosen[sensor.id] in ON_A_CIRCLE and is_direction(sensor)}
    settled = turning or (ops == median).any() or any(id in hold.limits for id in ids)
    if readings.layout == "long" and not settled:
        values = _window_in_one_pass(readings, ids, ops, counts, grid, workspace)
        if values is not None:
            return values, counts
        counts = ScanCounts(len(sensors))
    from thence.data.readings.window_kernels import window_medians, window_series

    values = _empty_values(grid.n_windows, len(sensors), workspace)
    columns: dict[int, FloatArray] = {}
    for series in iter_numbers(readings, ids, counts):
        in_place = values.flags.f_contiguous
        column = values[:, series.position] if in_place else np.full(grid.n_windows, np.nan)
        id = ids[series.position]
        turns = id in turning and is_turn(series.values.astype(np.float64))
        signed = turns and bool(series.values.min() < 0)
        if turns:
            series = replace(series, values=unroll(series.values.astype(np.float64)))
        until = hold.until(id, series.times) if chosen[id] in HELD else None
        if until is not None:
            if hold.limits[id] is None:
                habits[id] = habit(series.times)
            numbers = series.values.astype(np.float64)
            hold_numbers(
                series.times, numbers, until, start=grid.start, every=grid.length, aggregate=chosen[id], out=column
            )
        elif ops[series.position] == median:
            window_medians(series.times, series.values, grid.start, grid.length, column)
        else:
            window_series(series.times, series.values, grid.start, grid.length, ops[series.position], column)
        if turns:
            column[:] = roll_up(column, signed=signed)
        if not in_place:
            columns[series.position] = column
        if len(columns) == _COLUMNS:
            _write_columns(values, columns)
            columns = {}
    _write_columns(values, columns)
    _zero_counts(values, ops)
    return values, counts


def _write_columns(values: FloatArray, columns: Mapping[int, FloatArray]) -> None:
    """Write columns of a matrix, part by part: one after the other would go through all of its memory each time."""
    if columns:
        at, rows = list(columns), np.stack(list(columns.values()))
        for start in range(0, len(values), _PART):
            values[start : start + _PART, at] = rows[:, start : start + _PART].T


def _window_in_one_pass(
    readings: Readings,
    ids: Sequence[str],
    ops: npt.NDArray[np.int8],
    counts: ScanCounts,
    grid: _Grid,
    workspace: Workspace,
) -> FloatArray | None:
    """Aggregate all windows in one pass over the rows; ``None`` if the rows are not in order."""
    shape = (grid.n_windows, len(ids))
    used = {AGGREGATES[op] for op in ops}
    values = workspace.full(shape, np.nan, np.float64, stage="windows")
    largest = workspace.full(shape if "range" in used else (0, 0), np.nan, np.float64, stage="windows")
    sizes = workspace.zeros(shape if used & {"mean", "count"} else (0, 0), np.int32, stage="windows")
    if not stream_windows(
        readings,
        ids,
        counts,
        start=grid.start,
        every=grid.length,
        ops=ops,
        main=values,
        other=largest,
        sizes=sizes,
    ):
        return None
    for name in used & {"mean", "range", "count"}:
        columns = np.flatnonzero(ops == AGGREGATES.index(name))
        every_column: Any = slice(None) if columns.size == len(ids) else columns
        if name == "mean":
            # A window without readings is 0 / 0 and stays NaN.
            with np.errstate(invalid="ignore"):
                values[:, every_column] /= sizes[:, every_column]
        elif name == "range":
            values[:, every_column] = largest[:, every_column] - values[:, every_column]
        else:
            found = sizes[:, every_column]
            values[:, every_column] = np.where(found > 0, found, np.nan)
    _zero_counts(values, ops)
    return values


def _zero_counts(values: FloatArray, ops: npt.NDArray[np.int8]) -> None:
    """Set counts to 0 in windows without readings between two readings of the sensor."""
    for k in np.flatnonzero(ops == AGGREGATES.index("count")):
        found = np.flatnonzero(~np.isnan(values[:, k]))
        if found.size:
            inner = values[found[0] : found[-1] + 1, k]
            inner[np.isnan(inner)] = 0.0


def _window_states(
    readings: Readings,
    sensors: Sequence[Sensor],
    chosen: Mapping[str, str],
    grid: _Grid,
    hold: Hold,
    habits: dict[str, int],
) -> tuple[StateColumns, ScanCounts]:
    counts = ScanCounts(len(sensors))
    ids = [sensor.id for sensor in sensors]
    columns: StateColumns = {id: (np.full(grid.n_windows, -1, dtype=np.int32), ()) for id in ids}
    if not sensors or not grid.n_windows:
        return columns, counts
    from thence.data.readings.window_kernels import LAST, MODE, window_states

    for series in iter_states(readings, ids, counts):
        id = ids[series.position]
        op = MODE if chosen[id] == "mode" else LAST
        codes, _ = columns[id]
        until = hold.until(id, series.times)
        if until is not None:
            if hold.limits[id] is None:
                habits[id] = habit(series.times)
            hold_states(
                series.times,
                series.values.astype(np.int64),
                until,
                start=grid.start,
                every=grid.length,
                aggregate=chosen[id],
                n_states=len(series.categories),
                out=codes,
            )
            columns[id] = (codes, series.categories)
            continue
        window_states(series.times, series.values, grid.start, grid.length, op, len(series.categories), codes)
        columns[id] = (codes, series.categories)
    return columns, counts


def _occupied(values: FloatArray, codes: StateColumns, n_windows: int) -> slice:
    """Return the windows from the first to the last one that holds a reading."""
    held = np.zeros(n_windows, bool)
    for column, _ in codes.values():
        held |= column >= 0
    _mark_held(values, held)
    if not held.any():
        return slice(0, 0)
    return slice(int(held.argmax()), n_windows - int(held[::-1].argmax()))
