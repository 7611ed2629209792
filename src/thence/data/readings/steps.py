"""Own step: how often the sensors read, and the length of windows that follows from it.

The step of a sensor is the median time between its readings. A sensor is regular if most of these times are close to
the median, or if nearly all are whole steps of which some are missing; others read on events. The window is the
shortest conventional duration within which nearly all regular sensors read, or a step that divides a day, so sensors
that read on events, or hardly ever, do not lengthen it. Of a log of changes, in which most readings come at irregular
times, the window is that of the fastest sensor. The steps are estimated on a sample,
so that large files stay on disk. This module only chooses a length; ``thence.data.readings.windows`` makes the windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.display.percent import percent
from thence.data.readings.cleaning import reading_masks
from thence.data.readings.durations import format_duration
from thence.data.readings.frames import collect, iter_batches
from thence.data.readings.scanning import BATCH_ROWS, Readings, time_bounds
from thence.data.readings.sensors import SensorData

MAX_WINDOWS = 50_000
"""Windows are lengthened until there are at most this many with readings."""

FEWEST_WINDOWS = 100  # below this, the step of most sensors is used instead of that of nearly all
NEARLY_ALL, MOST = 0.9, 0.5  # shares of the regular sensors
NEARLY_EVERY = 0.9  # share of the windows between two pauses in which a sensor reads
SAME = 0.05  # share of the readings of a change-of-value sensor that repeat the one before
ON_GRID, EXACT = 0.9, 0.01  # share of the times between readings that are whole steps, and how exactly
FAR_APART = 5  # a sensor that reads this many times as seldom as the shortest step is not one with missing rows
FAST = 0.05  # share of the readings of a log that a sensor has at least to make the windows
SHORTER = (
    0.95  # a window may be this much shorter than the step: one reading in 20 then falls into no window of its own
)
CLOSE = 0.25  # a time between readings is close to the median if it differs by at most this share of it
PAUSE = 3  # a time between readings of more than this many steps is a pause
LONGEST_CLIMB = 4  # lengthening for readings that are late or dropped stops at this many times the step
SAMPLE_READINGS = 1_000  # readings in a row, per sensor and batch
ENOUGH_GAPS = 100  # per sensor, to stop a scan early
SLICES, SLICE_ROWS = 4, 5_000  # of wide frames
DEFAULT = 30 * 60 * 10**6

SECOND, MINUTE, HOUR, DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86400 * 10**6
CONVENTIONAL = (
    *(n * 1000 for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(n * SECOND for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * HOUR for n in (1, 2, 3, 4, 6, 8, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 28)),
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnStep:
    """The length of windows that fits the readings, and why.

    Args:
        every: Length of a window.
        reason: One sentence: ``"windows of 1 h: the step of 96 % of the sensors"``.
    """

    every: timedelta
    reason: str

    @property
    def text(self) -> str:
        """The length as an option of ``window``: ``"1h"``."""
        return format_duration(self.every).replace(" ", "")


@dataclass(frozen=True)
class _Gaps:
    """Pairs of successive readings: the position of the sensor, and the times of both in microseconds."""

    sensor: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True)
class _Steps:
    """The step of each sensor in microseconds (NaN if unknown), its readings, and whether it reads regularly.

    The steps of a sensor on a grid are exact; some may be missing.
    """

    step: Floats
    regular: npt.NDArray[np.bool_]
    gridded: npt.NDArray[np.bool_]
    count: Ints

    @property
    def is_log(self) -> bool:
        """Whether most readings come at irregular times."""
        return int(self.count[~self.regular].sum()) > int(self.count[self.regular].sum())


def own_step(sensors: SensorData) -> OwnStep:
    """Choose the length of windows from how often the sensors read.

    Args:
        sensors: The readings; lazy readings are sampled.

    Returns:
        The length and the reason for it; 30 minutes if no sensor has two readings.

    Examples:
        >>> from datetime import datetime
        >>> hours = [datetime(2024, 1, 1, h) for h in range(24)]
        >>> data = SensorData.from_wide(pl.DataFrame({"time": hours, "t1": range(24), "t2": range(24)}))
        >>> step = own_step(data)
        >>> step.text, step.reason
        ('1h', 'windows of 1 h: the step of all sensors')
    """
    readings = sensors.readings
    gaps = _sample_gaps(readings, sensors.ids)
    steps = _steps_of(gaps, len(sensors))
    bounds = time_bounds(readings)
    if bounds is None or not np.isfinite(steps.step).any():
        return OwnStep(
            timedelta(microseconds=DEFAULT), f"windows of {format_duration(DEFAULT)}: no sensor has two readings"
        )
    span = bounds[1] - bounds[0] + 1
    if steps.is_log or readings.lasting:
        length = _length_of_log(steps)
    elif steps.regular.any():
        length = _length_for(steps, gaps, NEARLY_ALL)
        if span < FEWEST_WINDOWS * length:
            length = _length_for(steps, gaps, MOST)
    else:
        length = _conventional(float(np.nanmedian(steps.step)))
    enough = _few_enough(readings, length, span)
    log = steps.is_log or bool(readings.lasting)
    return OwnStep(timedelta(microseconds=enough), _reason(steps, length, enough, log=log))


def find_logged(sensors: SensorData) -> list[str]:
    """Return the sensors of a long table that read when something changes, not at regular times.

    Of a log, in which most readings come at irregular times, these are all sensors. In other tables, a sensor counts
    if, besides, hardly any of its readings is the same as the one before.

    Args:
        sensors: The readings; lazy readings are sampled.
    """
    readings = sensors.readings
    if readings.layout != "long":
        return []
    steps = _steps_of(_sample_gaps(readings, sensors.ids), len(sensors))
    if steps.is_log:
        return list(sensors.ids)
    likely = [id for k, id in enumerate(sensors.ids) if steps.count[k] and not steps.regular[k]]
    if not likely:
        return []
    lazy = readings.lazy
    columns = [pl.col(name).cast(pl.String) for name in ("value", "state") if name in lazy.collect_schema()]
    rows = lazy.select("time", pl.col("sensor").cast(pl.String), pl.coalesce(columns).alias("reading"))
    chosen = rows.filter(pl.col("sensor").is_in(likely) & pl.col("reading").is_not_null()).sort("time")
    same = (pl.col("reading") == pl.col("reading").shift(1)).mean().alias("same")
    found = collect(chosen.group_by("sensor").agg(same), source=readings.source)
    changing = set(found.filter(pl.col("same") <= SAME)["sensor"])
    return [id for id in likely if id in changing]


def find_breaks(files: Iterable[npt.NDArray[np.int64]]) -> tuple[tuple[int, int], ...]:
    """Return when separate runs end and the next ones begin, given the times of the rows of each file.

    Files are separate runs if their rows come in regular steps, none overlap, and the time between two is a pause.

    Args:
        files: Times in microseconds.

    Examples:
        >>> find_breaks([np.arange(0, 100, 10), np.arange(500, 600, 10), np.arange(600, 700, 10)])
        ((90, 500),)
    """
    runs = sorted((np.unique(times) for times in files if times.size), key=lambda times: int(times[0]))
    if len(runs) < 2 or any(times.size < 2 for times in runs):
        return ()
    steps = []
    for times in runs:
        gaps = np.diff(times)
        steps.append(float(np.median(gaps)))
        if (np.abs(gaps - steps[-1]) <= CLOSE * steps[-1]).mean() < MOST:
            return ()
    found = []
    for before, after, step in zip(runs, runs[1:], steps, strict=False):
        if after[0] <= before[-1]:
            return ()
        if after[0] - before[-1] > PAUSE * step:
            found.append((int(before[-1]), int(after[0])))
    return tuple(found)


def typical_step(sensors: SensorData) -> timedelta | None:
    """Return the median step of the sensors that read regularly, or ``None`` if no sensor does.

    Args:
        sensors: The readings; lazy readings are sampled.
    """
    steps = _steps_of(_sample_gaps(sensors.readings, sensors.ids), len(sensors))
    if not steps.regular.any():
        return None
    return timedelta(microseconds=int(np.median(steps.step[steps.regular])))


def _length_for(steps: _Steps, gaps: _Gaps, share: float) -> int:
    """Return the shortest conventional duration within which a share of the regular sensors read."""
    known = np.sort(steps.step[steps.regular])
    base = _kept(float(known[int(np.ceil(share * known.size)) - 1]))
    for length in (base, *(d for d in CONVENTIONAL if base < d <= LONGEST_CLIMB * base)):
        filled = np.where(steps.gridded, 1.0, _filled(gaps, steps, length))
        if (filled[steps.regular] >= NEARLY_EVERY).mean() >= share:
            return length
    return base  # readings are dropped so often that longer windows do not help


def _length_of_log(steps: _Steps) -> int:
    """Return the length of windows for a log of changes: the step of the fastest of the sensors that read often."""
    often = steps.count >= FAST * steps.count.sum()
    return _kept(float(np.nanmin(steps.step[often & np.isfinite(steps.step)])))


def _kept(step: float) -> int:
    """Return a step that divides a day, and otherwise the shortest conventional duration that is hardly shorter."""
    whole = round(step / SECOND) * SECOND
    if whole and DAY % whole == 0 and abs(step - whole) <= EXACT * step:
        return whole
    return _conventional(SHORTER * step)


def _filled(gaps: _Gaps, steps: _Steps, length: int) -> Floats:
    """Return the share of windows in which each sensor reads, apart from pauses."""
    size = steps.step.size
    close = gaps.end - gaps.start <= PAUSE * np.nan_to_num(steps.step)[gaps.sensor]
    passed = (gaps.end // length - gaps.start // length)[close]
    windows = np.bincount(gaps.sensor[close], weights=passed, minlength=size)
    filled = np.bincount(gaps.sensor[close], weights=passed > 0, minlength=size)
    return np.divide(filled, windows, out=np.ones(size), where=windows > 0)


def _conventional(length: float) -> int:
    """Return the shortest conventional duration that is not shorter; beyond those, whole times four weeks."""
    found = next((d for d in CONVENTIONAL if d >= length), None)
    return found if found is not None else int(-(-length // CONVENTIONAL[-1])) * CONVENTIONAL[-1]


def _few_enough(readings: Readings, length: int, span: int) -> int:
    """Return the length, or the next conventional one that leaves at most ``MAX_WINDOWS`` windows with readings."""
    while span > MAX_WINDOWS * length and _count_windows(readings, length) > MAX_WINDOWS:
        length = _conventional(length + 1)
    return length


def _count_windows(readings: Readings, length: int) -> int:
    """Count the windows that have a row."""
    times = pl.concat([part.select("time") for part in readings.parts])
    query = times.select((pl.col("time").drop_nulls().to_physical() // length).n_unique())
    return int(collect(query, source=readings.source).item())


def _reason(steps: _Steps, length: int, enough: int, *, log: bool) -> str:
    known = np.isfinite(steps.step)
    if enough > length:
        return (
            f"windows of {format_duration(enough)}, longer than the step of the readings ({format_duration(length)}): "
            f"at most {MAX_WINDOWS:,} windows"
        )
    if log:
        return f"windows of {format_duration(length)}: readings come at irregular times, the fastest sensor as often"
    if not steps.regular.any():
        why = "the readings come at irregular times, half of the sensors read as often"
        return f"windows of {format_duration(length)}: {why}"
    within = steps.regular & (SHORTER * np.nan_to_num(steps.step, nan=np.inf) <= length)
    same = within & (steps.step >= SHORTER * length)
    share = within.sum() / steps.step.size
    text = "all" if share == 1 else percent(min(share, 0.99)) + " of the"
    if same.sum() * 2 >= within.sum():
        reason = f"windows of {format_duration(length)}: the step of {text} sensors"
    else:
        reason = f"windows of {format_duration(length)}: {text} sensors read at least as often"
    events = int((known & ~steps.regular).sum())
    return reason + (f", {events:,} others at irregular times" if events and share < NEARLY_ALL else "")


def _steps_of(gaps: _Gaps, n_sensors: int) -> _Steps:
    step, regular, gridded = np.full(n_sensors, np.nan), np.zeros(n_sensors, bool), np.zeros(n_sensors, bool)
    lengths = (gaps.end - gaps.start).astype(np.float64)
    borders = np.searchsorted(gaps.sensor, np.arange(n_sensors + 1))
    for k in np.unique(gaps.sensor).tolist():
        own = lengths[borders[k] : borders[k + 1]]
        step[k] = np.median(own)
        regular[k] = (np.abs(own - step[k]) <= CLOSE * step[k]).mean() >= MOST
        least = float(np.quantile(own, 1 - ON_GRID, method="lower")) if not regular[k] else step[k]
        gridded[k] = least * FAR_APART >= step[k] and _are_whole(own, least)
        if gridded[k] and not regular[k]:
            step[k], regular[k] = least, True
    return _Steps(step, regular, gridded, np.diff(borders))


def _are_whole(lengths: Floats, step: float) -> bool:
    """Return whether nearly all times between readings are a whole number of steps."""
    times = lengths / step
    return bool((np.abs(times - np.maximum(np.round(times), 1)) <= EXACT * times).mean() >= ON_GRID)


def _sample_gaps(readings: Readings, ids: Sequence[str]) -> _Gaps:
    """Return pairs of successive readings of a sample, in the order of the sensors."""
    position = {id: k for k, id in enumerate(ids)}
    sample = _sample_wide if readings.layout == "wide" else _sample_long
    pieces = list(sample(readings, position))
    sensor, start, end = (
        np.concatenate([np.empty(0, np.int64), *(getattr(piece, name) for piece in pieces)])
        for name in ("sensor", "start", "end")
    )
    order = np.argsort(sensor, kind="stable")
    return _Gaps(sensor[order], start[order], end[order])


def _sample_wide(readings: Readings, position: dict[str, int]) -> Iterator[_Gaps]:
    """Yield pairs of successive readings: of a whole short frame, otherwise of rows in a row at several places."""
    for part in readings.parts:
        schema = part.collect_schema()
        names = [name for name in schema if name != "time"]
        masks = [mask.alias(name) for mask, name in zip(reading_masks(schema, "wide"), names, strict=True)]
        n_rows = int(collect(part.select(pl.len()), source=readings.source).item())
        whole = n_rows <= SLICES * SLICE_ROWS
        starts = [0] if whole else np.linspace(0, n_rows - SLICE_ROWS, SLICES).astype(int).tolist()
        for start in starts:
            rows = part.slice(start, n_rows if whole else SLICE_ROWS).filter(pl.col("time").is_not_null())
            frame = collect(rows.select("time", *masks), source=readings.source).sort("time")
            times = frame["time"].to_physical().to_numpy()
            for name in names:
                own = times[frame[name].to_numpy()]
                every = max(1, own.size // SAMPLE_READINGS)
                first, after = own[:-1:every], own[1::every]
                apart = after > first
                yield _Gaps(np.full(apart.sum(), position[name]), first[apart], after[apart])


def _sample_long(readings: Readings, position: dict[str, int]) -> Iterator[_Gaps]:
    """Yield pairs of successive readings batch by batch, until nearly all sensors have enough of them."""
    lazy = readings.lazy
    given = pl.any_horizontal(reading_masks(lazy.collect_schema(), "long")) & pl.col("time").is_not_null()
    query = lazy.filter(given).select("time", pl.col("sensor").cast(pl.String))
    counted = np.zeros(len(position), np.int64)
    before: pl.DataFrame | None = None
    for batch in iter_batches(query, rows=BATCH_ROWS, ordered=True, source=readings.source):
        rows = batch if before is None else pl.concat([before, batch])
        middle = ((pl.len().cast(pl.Int64) - SAMPLE_READINGS) // 2).clip(lower_bound=0)
        times = pl.col("time").sort().slice(middle, SAMPLE_READINGS).to_physical()
        grouped = rows.group_by("sensor").agg(times.alias("times"), pl.col("time").max())
        grouped = grouped.filter(pl.col("sensor").is_in(list(position)))
        own = np.array([position[name] for name in grouped["sensor"]], dtype=np.int64)
        sizes = grouped["times"].list.len().to_numpy().astype(np.int64)
        sensor, time = np.repeat(own, sizes), grouped["times"].explode().to_numpy()
        pair = (sensor[1:] == sensor[:-1]) & (time[1:] > time[:-1])
        yield _Gaps(sensor[1:][pair], time[:-1][pair], time[1:][pair])
        counted[own] += sizes
        if (counted > ENOUGH_GAPS).mean() >= SHORTER:
            return
        # The last readings stand before those of the next batch.
        before = grouped.select("time", "sensor")
