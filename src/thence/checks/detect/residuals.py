"""Residuals: how far each reading is from what the others and the hour let expect, remembered and compared with normal.

Two channels: the worst sensor over some frames, and small errors of all sensors that last for a day. Nothing here knows
rules, laws or alarms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.detect.expected import Expected, find_step, fit_expected
from thence.checks.detect.levels import day_maxima, jackknife_levels
from thence.checks.detect.timescale import LEAST_DAYS, TimeScale, choose_scale, count_full
from thence.data.readings.windows import WindowedReadings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WORST, SLOW = "residual, worst", "residual, slow"
_OWN = ("clip", "worst", "slow", "most", "rows", "longest_still")  # arrays of their own
_MONTH = 30  # days; a level of a sensor is exceeded once in so many
_SLOW_DAYS, _SQUARE_DAYS = 28, 90
_FOLDS = 5
_READ = 0.5  # of the frames in which the usual column is read
_MOST_SQUARED = 400  # columns
_MOST_COLUMNS = 4000
_CLIP = 3.0  # times the level: one frame that is far out must not be remembered for days
_SLOW_CLIP = 1.5  # usual errors: what lasts is small
_WITHIN = 1.5  # what lasts counts at most so many times what is there now
_LEAST_WORST = 1.5
_LEAST_MAXIMUM = 0.5  # of a day
_QUARTER = 4  # of the memory: what is there now
_LASTING = 3.0  # times what is usual
_SETTLED = 7  # days whose mean says how far a sensor is off
_STEP = 0.5  # share of a change that came within a day: a step


class Signals(NamedTuple):
    """What residuals say in each frame, columns × frames; above 1 is unusual for the column.

    Args:
        worst: Errors over the memory, in units of the level of the column.
        slow: Signed errors that last, in units of what is usual.
    """

    worst: Floats
    slow: Floats


@dataclass
class ResidualState:
    """What is remembered of residuals between one frame and the next.

    Args:
        memory: Exponential means, kinds × columns.
        hour: The last frame in hours; NaN before the first.
        shift: What is subtracted from the readings of each column, because it has drifted.
        day: Number of the day of the last frame.
        today: Sums of this day, three × columns: errors in usual errors, flags, frames.
        means: Mean error of each of the last days, days × columns.
        flags: The share of each of the last days in which a column was out of the ordinary, days × columns.
        steady: Columns that went out of the ordinary at one moment: events, which stay.
        moved: When each column first drifted, in hours; NaN for never.
    """

    memory: Floats
    hour: float
    shift: Floats
    day: int
    today: Floats
    means: Floats
    flags: Floats
    steady: npt.NDArray[np.bool_]
    moved: Floats

    @staticmethod
    def new(columns: int) -> ResidualState:
        """Return the state before the first frame.

        Args:
            columns: The number of columns.
        """
        none = np.zeros(columns)
        empty = np.zeros((0, columns))
        return ResidualState(
            np.zeros((4, columns)), np.nan, none, -1, np.zeros((3, columns)), empty, empty, none > 0, none * np.nan
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the fields as arrays."""
        return {name: np.asarray(getattr(self, name)) for name in self.__dataclass_fields__}

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> ResidualState:
        """Return the state of ``to_arrays``.

        Args:
            arrays: The fields.
        """
        given: dict[str, Any] = {name: np.array(arrays[name]) for name in ResidualState.__dataclass_fields__}
        return ResidualState(**{**given, "hour": float(given["hour"]), "day": int(given["day"])})


class Residuals(NamedTuple):
    """Readings of some frames with what was expected, frames × columns.

    Args:
        values: What is read.
        errors: What is read minus what is expected.
        units: The usual error.
        hours: The start of each frame in hours.
        clock: The time of day of each frame in hours.
    """

    values: Floats
    errors: Floats
    units: Floats
    hours: Floats
    clock: Floats


@dataclass(frozen=True, eq=False)
class ResidualChecks:
    """What each column is expected to read, and how far from it normal time goes.

    Args:
        columns: The sensor and, of a sensor with states, the state of each column; empty if there are no residuals.
        expected: What is expected.
        scale: The time scale.
        clip: Errors beyond it count as it.
        worst: The level of each column that normal days exceed once a month.
        slow: What is usual of errors that last; empty if there were too few days.
        most: The greatest error of each column in normal time, in usual errors.
        rows: Normal frames in which each column was read.
        longest_still: The most normal frames in a row in which each column did not change.
        timezone: The time zone of hours of the day.
    """

    columns: tuple[tuple[str, str], ...]
    expected: Expected
    scale: TimeScale
    clip: Floats
    worst: Floats
    slow: Floats
    most: Floats
    rows: Floats
    longest_still: Floats
    timezone: str = "UTC"

    def advance(
        self,
        state: ResidualState,
        readings: WindowedReadings,
        *,
        new: slice = slice(None),
        steps: Floats | None = None,
        retire: float | None = None,
    ) -> tuple[Signals, Residuals]:
        """Return what the next windows say, and remember it in the state.

        Args:
            state: What is remembered; it is changed.
            readings: The readings.
            new: The windows to look at; they come after those of the state.
            steps: What the readings of each column are rounded to; by default it is looked at.
            retire: Hours after which a slow drift becomes the new reference; ``None`` for never.
        """
        values = columns_of(readings, self.columns)
        expected = self.expected.at_steps(self.steps_of(values) if steps is None else steps)
        values, hours, clock = values[new], hours_of(readings)[new], clock_of(readings, self.timezone)[new]
        found = Residuals(values, *expected.errors(values - state.shift, clock), hours, clock)
        return self.signals(state, found, expected, retire=retire), found

    def steps_of(self, values: Floats) -> Floats:
        """Return the step of each column; that of states does not count.

        Args:
            values: Frames × columns.
        """
        found = [0.0 if state else find_step(one) for (_, state), one in zip(self.columns, values.T, strict=True)]
        return np.array(found, np.float64)

    def signals(
        self, state: ResidualState, found: Residuals, expected: Expected, *, retire: float | None = None
    ) -> Signals:
        """Return the signals of the next frames, day by day, and remember them in the state.

        Args:
            state: What is remembered; it is changed.
            found: Frames that come after those of the state. The errors after a drift are written anew.
            expected: What is expected.
            retire: Hours after which a slow drift becomes the new reference; ``None`` for never.
        """
        blocks = self.scale.blocks_of(found.hours)
        starts = np.flatnonzero(np.r_[True, np.diff(blocks) != 0]) if len(blocks) else np.zeros(0, np.int64)
        parts, before = [], state.shift
        for first, last in zip(starts.tolist(), [*starts[1:].tolist(), len(blocks)], strict=True):
            if state.day != blocks[first]:
                self._end_day(state, retire)
                state.day = int(blocks[first])
            today = Residuals(*(one[first:last] for one in found))
            if (state.shift != before).any():
                again = expected.errors(today.values - state.shift, today.clock)
                found.errors[first:last], found.units[first:last] = again
            parts.append(self._advance_day(state, today))
        if not parts:
            empty = np.zeros((len(self.columns), 0))
            return Signals(empty, empty)
        return Signals(*(np.concatenate(one, axis=1) for one in zip(*parts, strict=True)))

    def _advance_day(self, state: ResidualState, found: Residuals) -> Signals:
        standard = np.nan_to_num(found.errors / found.units)
        clipped = np.clip(standard, -self.clip, self.clip)
        small = np.clip(standard, -_SLOW_CLIP, _SLOW_CLIP)
        memory, scale = self.scale.memory, self.scale
        memories = np.array([memory, memory / _QUARTER, memory / _QUARTER, scale.slow])
        square = clipped**2
        inputs = np.stack([square, square, small, small], axis=1)
        out = _remember(inputs, found.hours, state, memories, scale.every)
        worst = np.minimum(np.sqrt(out[:, 0]), _WITHIN * np.sqrt(out[:, 1])) / self.worst
        slow = np.zeros_like(worst)
        if len(self.slow):
            now, lasting = out[:, 2], out[:, 3]
            within = np.where(np.sign(now) == np.sign(lasting), _WITHIN * np.abs(now), 0.0)
            slow = np.sign(lasting) * np.minimum(np.abs(lasting), within) / self.slow
        known = ~np.isnan(found.errors)
        unusual = known & ((worst > 1) | (np.abs(slow) > _LASTING))
        state.today += np.stack([standard.sum(axis=0), unusual.sum(axis=0), known.sum(axis=0)])
        return Signals(worst.T, slow.T)

    def _end_day(self, state: ResidualState, retire: float | None) -> None:
        """Decide, at the end of a day, whether a column has drifted slowly: what it reads becomes the reference.

        An error of one sensor shows in those that it tells about, so only the column that is off most is moved; and
        none while a change that began at one moment goes on.
        """
        frames = np.maximum(state.today[2], 1.0)
        if state.today[2].any():
            state.means = np.vstack([state.means, state.today[0] / frames])
            state.flags = np.vstack([state.flags, state.today[1] / frames])
        state.today = np.zeros_like(state.today)
        days = 0 if retire is None else max(int(np.ceil(retire / self.scale.block)), 2)
        state.means, state.flags = state.means[-days - 1 :], state.flags[-days - 1 :]
        if not days or len(state.flags) <= days:
            return
        long = state.flags[-days:].mean(axis=0) > 0.5
        state.steady &= long
        if not long.any() or state.steady.any():
            return
        total = np.abs(state.means[-_SETTLED:].mean(axis=0))
        column = int(np.argmax(np.where(long, total, -1.0)))
        if np.abs(np.diff(state.means[:, column])).max() >= _STEP * total[column]:
            state.steady[column] = True
            return
        state.shift = state.shift.copy()
        state.shift[column] += state.means[-1, column] * self.expected.unit[column]
        if np.isnan(state.moved[column]):
            state.moved[column] = state.hour
        state.means, state.flags = state.means[-1:] * 0.0, state.flags[-1:] * 0.0

    def alarming_above(self, threshold: float) -> ResidualChecks:
        """Return the same checks for a threshold of the worst sensor: what is clipped must still be able to exceed it.

        Args:
            threshold: The threshold, in units of the levels.
        """
        return replace(self, clip=np.maximum(self.clip, 2 * threshold * self.worst))

    def channels(self, signals: Signals) -> dict[str, Floats]:
        """Return the channels, one value per frame each.

        Args:
            signals: The signals.
        """
        out = {WORST: signals.worst.max(axis=0, initial=0.0)}
        if len(self.slow):
            out[SLOW] = np.sqrt((signals.slow**2).sum(axis=0))
        return out

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the numbers as arrays."""
        own = {name: getattr(self, name) for name in _OWN}
        return {**own, **{f"expected_{name}": one for name, one in self.expected.to_arrays().items()}}

    def to_dict(self) -> dict[str, Any]:
        """Return what is no array, ready for JSON."""
        columns = [list(one) for one in self.columns]
        return {"columns": columns, "scale": self.scale.to_dict(), "timezone": self.timezone}

    @staticmethod
    def from_parts(record: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> ResidualChecks:
        """Return the checks of ``to_dict`` and ``to_arrays``.

        Args:
            record: What is no array.
            arrays: The arrays.
        """
        start = "expected_"
        inner = {name.removeprefix(start): one for name, one in arrays.items() if name.startswith(start)}
        return ResidualChecks(
            tuple((str(sensor), str(state)) for sensor, state in record["columns"]),
            Expected.from_arrays(inner),
            TimeScale.from_dict(record["scale"]),
            **{name: np.asarray(arrays[name], np.float64) for name in _OWN},
            timezone=str(record["timezone"]),
        )


def _remember(inputs: Floats, hours: Floats, state: ResidualState, memories: Floats, every: float) -> Floats:
    """Exponential means of frames × kinds × columns; they go on from the state and fade through gaps."""
    before = hours[0] - every if np.isnan(state.hour) else state.hour
    fades = np.exp(-np.diff(hours, prepend=before)[:, None, None] / memories[:, None])
    scaled = inputs * (1 - np.exp(-every / memories))[:, None]
    memory = state.memory
    for frame in range(len(scaled)):
        memory = memory * fades[frame] + scaled[frame]
        scaled[frame] = memory
    state.memory, state.hour = memory, float(hours[-1])
    return np.asarray(scaled)


def hours_of(readings: WindowedReadings) -> Floats:
    """Return the start of each window in hours since 1970.

    Args:
        readings: The readings.
    """
    return np.asarray(readings.times.astype("datetime64[us]").astype(np.int64) / 3.6e9)


def clock_of(readings: WindowedReadings, timezone: str) -> Floats:
    """Return the time of day of each window in hours.

    Args:
        readings: The readings.
        timezone: The time zone of the clock.
    """
    utc = pl.Series(readings.times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    local = utc.dt.convert_time_zone(timezone)
    return np.asarray((local.dt.hour() + local.dt.minute() / 60).to_numpy(), np.float64)


def choose_columns(readings: WindowedReadings, *, states: bool) -> tuple[tuple[str, str], ...]:
    """Return the columns of a system: one per number, one per state if wanted, and one in all for two states.

    Args:
        readings: The readings.
        states: Whether states are columns too.
    """
    out = [(sensor.id, "") for sensor in readings.numeric]
    if states:
        for id, (codes, known) in readings.states.items():
            seen = [name for code, name in enumerate(known) if (codes == code).any()]
            out += [(id, name) for name in (seen[1:] if len(seen) == 2 else seen if len(seen) > 2 else [])]
    return tuple(out)


def columns_of(readings: WindowedReadings, columns: tuple[tuple[str, str], ...]) -> Floats:
    """Return numbers, and states as 0 and 1, frames × columns; NaN where nothing is read.

    Args:
        readings: The readings.
        columns: The sensor and the state of each column.
    """
    place = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
    out = np.full((len(readings), len(columns)), np.nan)
    for at, (id, state) in enumerate(columns):
        if not state and id in place:
            out[:, at] = readings.values[:, place[id]]
        elif state and id in readings.states:
            codes, known = readings.states[id]
            out[:, at] = np.where(codes < 0, np.nan, codes == (known.index(state) if state in known else -2))
    return out


def _often_read(readings: WindowedReadings, columns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The columns that are read half as often as the usual one: of others too little is known to rely on them."""
    known = (~np.isnan(columns_of(readings, columns))).sum(axis=0)
    usual = float(np.median(known)) if len(known) else 0.0
    return tuple(one for one, n in zip(columns, known.tolist(), strict=True) if n and n >= _READ * usual)


def _folds(blocks: Ints, days: int) -> Ints:
    """Folds of weeks, or of fewer days if there are less than ten weeks: days that follow one another are alike."""
    parts = (blocks - blocks[:1]) // min(max(days // 10, 1), 7)
    return np.asarray(np.unique(parts, return_inverse=True)[1].ravel() % _FOLDS)


def fit_residuals(
    readings: WindowedReadings, *, memory: float | None = None, timezone: str = "UTC"
) -> tuple[ResidualChecks | None, dict[str, Floats], str]:
    """Learn what to expect of normal readings, and what normal days look like to what was learned without them.

    Args:
        readings: Normal readings.
        memory: The memory in hours, if it is not to follow from the step.
        timezone: The time zone of hours of the day.

    Returns:
        What was learned, the greatest value of each channel on each normal day, and, if nothing could be learned, why.
    """
    hours, every = hours_of(readings), readings.every.total_seconds() / 3600
    scale = choose_scale(hours, every=every, memory=memory)
    days = count_full(hours, scale.block, every=every)
    if len(days) < LEAST_DAYS:
        return None, {}, f"{len(days)} normal day{'' if len(days) == 1 else 's'} cannot show how days differ"
    long = not scale.is_short and len(days) >= _SLOW_DAYS
    columns = _often_read(readings, choose_columns(readings, states=long))
    if not columns or len(columns) > _MOST_COLUMNS:
        return None, {}, f"{len(columns)} columns, and 1 to {_MOST_COLUMNS:,} can be compared with one another"
    values = columns_of(readings, columns)
    clock = clock_of(readings, timezone)
    folds = _folds(scale.blocks_of(hours), len(days))
    squares = not scale.is_short and len(days) >= _SQUARE_DAYS and len(columns) <= _MOST_SQUARED
    expected, errors = fit_expected(values, clock, folds, hours=long and every <= 6, squares=squares)
    if scale.is_short:
        again = choose_scale(hours, every=every, memory=memory, correlated=_correlated(errors) * every)
        scale, days = again, count_full(hours, again.block, every=every)
        if len(days) < LEAST_DAYS:
            return None, {}, f"{len(days)} parts of {again.block:.2g} h cannot show how they differ"
    n, none = len(columns), np.zeros(0)
    plain = ResidualChecks(
        columns,
        expected,
        scale,
        np.full(n, np.inf),
        np.ones(n),
        np.ones(n) if long else none,
        np.nan_to_num(np.abs(errors)).max(axis=0, initial=0.0),
        (~np.isnan(errors)).sum(axis=0).astype(np.float64),
        _longest_still(values),
        timezone,
    )
    return *_calibrated(plain, values, errors, hours, days), ""


def _calibrated(
    plain: ResidualChecks, values: Floats, errors: Floats, hours: Floats, days: Ints
) -> tuple[ResidualChecks, dict[str, Floats]]:
    """The levels of each column, and the greatest value of each channel on each day, learned without that day."""
    found = Residuals(values, errors, np.ones(values.shape), hours, hours)
    blocks, rate = plain.scale.blocks_of(hours), 1 / _MONTH

    def signals(checks: ResidualChecks) -> Signals:
        return checks.signals(ResidualState.new(len(checks.columns)), found, checks.expected)

    unclipped = jackknife_levels(day_maxima(signals(plain).worst, blocks, days), rate, least=_LEAST_MAXIMUM)[0]
    clipped = replace(plain, clip=_CLIP * np.maximum(unclipped, _LEAST_WORST))
    first = signals(clipped)
    maxima = day_maxima(first.worst, blocks, days)
    worst, without = (np.maximum(one, _LEAST_WORST) for one in jackknife_levels(maxima, rate, least=_LEAST_MAXIMUM))
    daily = {WORST: (maxima / without).max(axis=0)}
    usual = plain.slow
    if len(usual):
        usual = np.maximum(np.sqrt((first.slow**2).mean(axis=1)), 1e-3)
        together = np.sqrt(((first.slow / usual[:, None]) ** 2).sum(axis=0))
        daily[SLOW] = day_maxima(together[None], blocks, days)[0]
    return replace(clipped, worst=worst, slow=usual), daily


def _longest_still(values: Floats) -> Floats:
    """The most frames in a row in which each column does not change."""
    out = np.zeros(values.shape[1])
    for at, column in enumerate(values.T):
        changes = np.flatnonzero(np.r_[True, column[1:] != column[:-1], True])
        out[at] = np.diff(changes).max(initial=0)
    return out


def _correlated(errors: Floats) -> float:
    """The median number of frames after which errors are no longer alike: their correlation has fallen to 1/e."""
    known = np.nan_to_num(errors)
    centred = known - known.mean(axis=0)
    size = 2 ** int(np.ceil(np.log2(2 * max(len(centred), 1))))
    power = np.abs(np.fft.rfft(centred, n=size, axis=0)) ** 2
    correlation = np.fft.irfft(power, n=size, axis=0)[: len(centred)]
    alike = correlation > correlation[:1] / np.e
    lengths = np.where(alike.all(axis=0), len(centred), np.argmin(alike, axis=0))
    return float(np.median(lengths))
