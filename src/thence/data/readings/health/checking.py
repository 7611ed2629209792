"""From readings in windows to what is wrong with their sensors, and to readings without what cannot be trusted.

Each series is looked at alone; what is found there is left out before series are compared with each other. This module
turns the spans of the detectors into findings with times and sentences.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from thence.data.readings.durations import MICROSECOND, format_duration
from thence.data.readings.health.alone import (
    LEAST_CHANGES,
    Runs,
    Span,
    find_clipped,
    find_gaps,
    find_precision,
    find_runs,
    find_shift,
    find_spikes,
    find_stuck,
    find_unit_change,
    find_zeros,
    is_counter,
)
from thence.data.readings.health.findings import LEFT_OUT, HealthFinding, Series
from thence.data.readings.health.together import (
    MOST_ROWS,
    Relation,
    find_clocks_of,
    find_copies,
    find_drifts,
    find_spikes_apart,
    mean_rows,
    normal_changes,
)
from thence.data.readings.resolution import find_decimals
from thence.data.readings.sensors import Sensor

if TYPE_CHECKING:
    from thence.data.readings.windows import WindowedReadings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Times = npt.NDArray[np.datetime64]
_DIGITS = 5_000  # readings that show how many decimals a sensor has
_EVENT = 0.1  # share of the sensors that change much when something happens in the system
_MUCH = 0.99  # share of the changes of a sensor that are not much
_MOST_NAMED = 5  # findings that a note tells
MOST_TOGETHER = 1_000  # sensors that are compared with each other
_JUMPS = ("spiking", "drifting")  # findings that rest on one change
_IDLE = 0.5  # share of the other sensors that hold too when the whole system is at rest
_ZEROS = 0.01  # share of readings of 0 from which on 0 is a usual value of a kind


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SET = frozenset({
    "setpoint", "setpoints", "sp", "spt", "set", "command", "cmd", "signal", "position", "pos", "valve", "vlv",
    "damper", "dmp", "dpr", "speed", "output", "out", "control", "limit",
})  # fmt: skip
"""Words in names of set points and commands."""


class Found(NamedTuple):
    """A finding with the column that it is about and its frames."""

    finding: HealthFinding
    column: int
    start: int
    end: int


def check_series(series: Series, node_of: Mapping[str, str] | None = None) -> list[Found]:
    """Return what is wrong with the numeric sensors of a system, in the order of the sensors.

    Args:
        series: The readings.
        node_of: The node of each sensor that has one.
    """
    n_frames = len(series.times)
    if n_frames < 4 * LEAST_CHANGES:
        return []
    found: list[Found] = []
    active, holds = [], dict[int, list[Span]]()
    for column in range(len(series.sensors)):
        values = np.ascontiguousarray(series.values[:, column])
        at = np.flatnonzero(np.isfinite(values))
        known = values[at]
        runs = find_runs(known)
        say = _Teller(series, column, at, known)
        if not at.size:
            found.append(say.about("dead", "has no readings"))
            continue
        if runs.varies and not is_counter(known):
            active.append(column)
        zeros = find_zeros(runs)
        holds[column] = zeros + [one for one in find_stuck(runs) if not zeros or one.size != 0]
        found += _alone(say, runs, n_frames, holds[column])
    found += _constant_zero(series, found)
    found = _of_sensors(series, found, active)
    found += _together(series, active, found, node_of or {})
    return sorted(found, key=lambda one: (one.column, one.start))


def check_states(readings: WindowedReadings) -> list[HealthFinding]:
    """Return which sensors of states stop reading, or pause for much longer than they ever do.

    Args:
        readings: The readings in windows, without those in which no sensor reads.
    """
    out = []
    for sensor in readings.categorical:
        codes, known = readings.states[sensor.id]
        at = np.flatnonzero(codes >= 0)
        say = _Teller(Series(readings.times, [sensor], np.empty((len(codes), 0)), readings.every), 0, at, np.zeros(0))
        if not at.size:
            out.append(say.about("dead", "has no readings").finding)
        elif len(codes) >= 4 * LEAST_CHANGES and known:
            out += [one.finding for one in _gaps(say, len(codes))]
    return out


class _Teller:
    """Makes findings about one sensor of spans of its known readings."""

    def __init__(self, series: Series, column: int, at: Ints, known: Floats) -> None:
        self.series, self.column, self.at = series, column, at
        self.sensor = series.sensors[column]
        self.known = known

    @cached_property
    def decimals(self) -> int | None:
        """How many decimals its readings are written with."""
        return find_decimals(self.known[:_DIGITS])

    def number(self, value: float) -> str:
        """A reading as it is written, with its unit."""
        text = f"{value:.4g}" if self.decimals is None else f"{value:.{self.decimals}f}"
        return f"{text} {self.sensor.unit}".rstrip()

    def about(self, what: str, text: str, *, size: float = 0.0, ratio: float = 0.0, other: str = "") -> Found:
        """A finding about the sensor at all times."""
        finding = HealthFinding(self.sensor.id, what, None, None, self.at.size, size, ratio, text, other)
        return Found(finding, self.column, 0, len(self.series.times))

    def of_frames(
        self, what: str, start: int, end: int, text: str, *, size: float, ratio: float, other: str = ""
    ) -> Found:
        """A finding about some frames."""
        times = self.series.times
        end = min(end, len(times))
        finding = HealthFinding(
            self.sensor.id, what, times[start], times[end - 1], end - start, size, ratio, text, other
        )
        return Found(finding, self.column, start, end)

    def of(self, what: str, span: Span, text: str) -> Found:
        """A finding about some of the known readings."""
        start, end = int(self.at[span.start]), int(self.at[span.end - 1]) + 1
        one = self.of_frames(what, start, end, text, size=span.size, ratio=span.ratio)
        return one._replace(finding=replace(one.finding, readings=span.end - span.start))


def _alone(say: _Teller, runs: Runs, n_frames: int, stuck: Sequence[Span]) -> list[Found]:
    """What one series shows."""
    values = say.series.values[say.at, say.column]
    out = []
    for span in stuck:
        times = f"{span.ratio:,.0f} times longer than ever else"
        if span.size == 0 and span.note == "only":
            out.append(say.of("dead", span, f"reads 0, which it does at no other time, for {_count(span)}"))
        else:
            out.append(say.of("stuck", span, f"holds {say.number(span.size)} for {_count(span)}, {times},"))
    out += _gaps(say, n_frames)
    if not runs.varies or is_counter(values):
        return out
    follows = np.diff(say.at) == 1
    spikes = find_spikes(values, runs, follows)
    for span in spikes:
        text = f"jumps to {say.number(span.size)} and back, {span.ratio:,.1f} times its other changes,"
        out.append(say.of("spiking", span, text))
    if spikes:  # they would hide the changes that are looked for next
        values = np.array(values)
        at = np.array([span.start for span in spikes])
        values[at] = values[at - 1]
        runs = find_runs(values)
    clipped = None if is_set(say.sensor) else find_clipped(values, runs)
    if clipped is not None:
        text = f"is never {clipped.note} {say.number(clipped.size)}, where its peaks are cut off,"
        out.append(say.of("clipped", clipped, text))
    if (unit := find_unit_change(values, runs, say.sensor.unit)) is not None:
        return [*out, say.of("unit", unit, f"reads as if its unit changed from {unit.note}")]
    shift = None if is_set(say.sensor) else find_shift(values, runs, follows)
    if shift is not None:
        moved = f"{say.number(abs(shift.size))} {'higher' if shift.size > 0 else 'lower'}"
        text = f"reads {moved} after a jump {shift.ratio:,.1f} times its other changes,"
        out.append(say.of("drifting", shift, text))
    if (written := find_precision(values, runs)) is not None:
        text = f"has {written.note} decimals ({written.size:.0f}) than otherwise"
        out.append(say.of("precision", written, text))
    return out


def _gaps(say: _Teller, n_frames: int) -> list[Found]:
    """When the sensor pauses for long, or stops reading."""
    out = []
    for span in find_gaps(say.at, n_frames):
        length = format_duration(timedelta(microseconds=int(span.size) * (say.series.every // MICROSECOND)))
        what, text = ("dead", "stops reading") if span.note == "end" else ("gap", f"has no readings for {length}")
        out.append(say.of_frames(what, span.start, span.end, text, size=span.size, ratio=span.ratio))
    return out


def is_set(sensor: Sensor) -> bool:
    """Return whether a sensor is a set point or a command by its name, so that people or programs limit and change it.

    Args:
        sensor: The sensor.

    Examples:
        >>> is_set(Sensor("AHU1_DaTempSp")), is_set(Sensor("AHU1_DaTemp", "temperature"))
        (True, False)
    """
    words = _WORD.findall(f"{sensor.id} {sensor.kind}")
    return not _SET.isdisjoint(word.lower() for word in words)


def _count(span: Span) -> str:
    return f"{span.end - span.start:,} readings"


def _constant_zero(series: Series, found: Iterable[Found]) -> list[Found]:
    """Sensors that read only 0, where 0 is not what others of their kind read."""
    by_kind = defaultdict(list)
    for column, sensor in enumerate(series.sensors):
        if sensor.kind:
            by_kind[sensor.kind].append(column)
    dead = {one.column for one in found if one.finding.what == "dead"}
    out = []
    for columns in by_kind.values():
        if len(columns) < 3:
            continue
        zeros = [column for column in columns if column not in dead and _is_zero(series.values[:, column])]
        others = [column for column in columns if column not in dead and column not in zeros]
        usual = any(np.mean(series.values[:, column] == 0) > _ZEROS for column in others)
        if zeros and len(others) >= max(2, len(zeros)) and not usual:
            for column in zeros:
                at = np.flatnonzero(np.isfinite(series.values[:, column]))
                say = _Teller(series, column, at, np.zeros(0))
                kind = series.sensors[column].kind
                out.append(say.about("dead", f"reads only 0, which no other sensor of the kind {kind} does"))
    return out


def _is_zero(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return bool(known.size) and not known.any()


def _of_sensors(series: Series, found: list[Found], active: Sequence[int]) -> list[Found]:
    """The findings without what the whole system does: it rests, or something happens in it."""
    if len(active) < 3:
        return found
    held = [one for one in found if one.finding.what in ("stuck", "dead") and one.finding.start is not None]
    idle = {one for one in held if _is_idle(series.values[one.start : one.end, list(active)])}
    jumps = [one for one in found if one.finding.what in _JUMPS]
    # What two sensors do in the same moment happens to what they measure, unless they fall to 0.
    shared = Counter(one.start for one in jumps if one.finding.size != 0)
    frames = _events(series.values, sorted({one.start for one in jumps}), active)
    events = {one for one in jumps if one.start in frames or (one.finding.size != 0 and shared[one.start] > 1)}
    return [one for one in found if one not in idle and one not in events]


def _is_idle(part: Floats) -> bool:
    """Whether most sensors hold one value or are silent."""
    high = np.where(np.isnan(part), -np.inf, part).max(axis=0)
    low = np.where(np.isnan(part), np.inf, part).min(axis=0)
    return bool((high <= low).sum() - 1 >= _IDLE * (part.shape[1] - 1))


def _events(values: Floats, frames: Sequence[int], active: Sequence[int]) -> set[int]:
    """Which of some frames are those of events: several sensors change more than they usually do.

    A sensor that falls to 0, which it never reads otherwise, does not count: that is how a logger fails.
    """
    if not frames:
        return set()
    counts = np.zeros(len(frames), np.int64)
    at = np.asarray(frames)
    for column in active:
        own = values[:, column]
        change = np.abs(np.diff(own))
        known = change[np.isfinite(change)]
        if known.size:
            usual = np.partition(known, int(_MUCH * (known.size - 1)))[int(_MUCH * (known.size - 1))]
            never_zero = own[at] == 0
            if never_zero.any():
                never_zero &= (own == 0).sum() <= at.size
            counts += (change[at - 1] > usual) & ~never_zero
    return {frame for frame, count in zip(frames, counts, strict=True) if count - 1 >= max(2, _EVENT * len(active))}


def _rows_of(series: Series, active: Sequence[int], found: Iterable[Found], size: int) -> Floats:
    """The readings of some sensors without those that cannot be trusted, in means of ``size`` windows."""
    spans = defaultdict(list)
    for one in found:
        if one.finding.what in LEFT_OUT:
            spans[one.column].append((one.start, one.end))
    out = np.empty((len(series.times) // size, len(active)))
    for at, column in enumerate(active):
        values = np.array(series.values[:, column])
        for start, end in spans[column]:
            values[start:end] = np.nan
        out[:, at] = values if size == 1 else mean_rows(values[:, None], size)[:, 0]
    return out


def _together(series: Series, active: Sequence[int], found: Iterable[Found], node_of: Mapping[str, str]) -> list[Found]:
    """What series show about each other; nothing of more than can be compared in pairs."""
    if not 2 <= len(active) <= MOST_TOGETHER:
        return []
    per_row = -(-len(series.times) // MOST_ROWS)
    rows = _rows_of(series, active, found, per_row)
    starts = series.times[::per_row][: len(rows)]
    breaks = np.diff(starts) != np.timedelta64(series.every * per_row)
    change = normal_changes(rows, breaks)
    copies = find_copies(rows, change)
    unique = np.ones(rows.shape[1], bool)
    unique[[one.column for one in copies]] = False
    kept = np.flatnonzero(unique)

    def told(one: Relation, what: str, text: str, columns: Ints, *, size: float | None = None) -> Found:
        column, other = active[int(columns[one.column])], active[int(columns[one.other])]
        say = _Teller(series, column, np.flatnonzero(np.isfinite(series.values[:, column])), np.zeros(0))
        name = series.sensors[other].id
        value = one.size if size is None else size
        if what == "copy":
            return say.about(what, text.format(other=name), size=value, ratio=one.ratio, other=name)
        return say.of_frames(
            what,
            min(one.start * per_row, len(series.times) - 1),
            one.end * per_row,
            text.format(other=name, unit=say.sensor.unit).replace("  ", " "),
            size=value,
            ratio=one.ratio,
            other=name,
        )

    out = []
    every = np.arange(rows.shape[1])
    linked = change.T @ change
    np.fill_diagonal(linked, 0.0)
    seen = {(one.column, one.start) for one in found}
    for one in find_spikes_apart(rows[:, kept], linked[np.ix_(kept, kept)]) if per_row == 1 else ():
        times = f"{one.ratio:,.1f} times as far as ever"
        text = f"jumps to {one.size:.5g} {{unit}} and back while {{other}} does not, {times},"
        spike = told(one, "spiking", text, kept)
        out += [spike] if (spike.column, spike.start) not in seen else []
    for one in copies:
        # Simulated flows of two pipes in a row are equal to all digits, and two sensors that round differ by noise.
        ids = (series.sensors[active[at]].id for at in (one.column, one.other))
        if one.resolution or len({node_of.get(id, "") for id in ids}) == 1:
            out.append(told(one, "copy", _copy_text(one, series.every * per_row), every))
    for one in find_drifts(rows[:, kept]):
        unit = series.sensors[active[int(kept[one.column])]].unit
        text = f"moves away from what {{other}} and others explain, by {one.size:+.3g} {unit}".rstrip() + ","
        out.append(told(one, "drifting", text, kept))
    for one in find_clocks_of(rows[:, kept], change[:, kept], breaks):
        by = format_duration(abs(int(one.size)) * per_row * series.every)
        way = "later" if one.size > 0 else "earlier"
        text = f"changes {by} {way} in relation to {{other}} and others than before"
        out.append(told(one, "clock", text, kept, size=one.size * per_row))
    return out


def _copy_text(one: Relation, every: timedelta) -> str:
    parts = []
    if not np.isclose(one.ratio, 1.0, rtol=1e-6):
        parts.append(f"times {one.ratio:.4g}")
    if abs(one.offset) > 1e-9:
        parts.append(f"{one.offset:+.4g}")
    if one.size:
        parts.append(f"{format_duration(int(one.size) * every)} later")
    return "is a copy of {other}" + (f" ({', '.join(parts)})" if parts else "")


def cleaner(node_of: Mapping[str, str]) -> Callable[[Series], tuple[tuple[HealthFinding, ...], list[str]]]:
    """Return a function that removes the readings of a system that cannot be trusted, in place, for ``window``.

    A copy is removed if it is at the node of the original, or if neither has a node.

    Args:
        node_of: The node of each sensor that has one.
    """

    def clean(series: Series) -> tuple[tuple[HealthFinding, ...], list[str]]:
        found = check_series(series, node_of)
        left, readings = [], 0
        for one in found:
            what, own, other = one.finding.what, one.finding.sensor, one.finding.other
            if what in LEFT_OUT or (what == "copy" and node_of.get(own, "") == node_of.get(other, "")):
                part = series.values[one.start : one.end, one.column]
                lost = int(np.isfinite(part).sum())
                readings += lost
                left += [one.finding] if lost else []
                part[:] = np.nan
        return tuple(one.finding for one in found), _describe_left_out(left, readings)

    return clean


def _describe_left_out(left: Sequence[HealthFinding], readings: int) -> list[str]:
    """Notes on the readings that are left out, if there are any: how many, and the first findings."""
    if not left:
        return []
    counts = Counter(one.what for one in left)
    n_sensors = len({one.sensor for one in left})
    whats = ", ".join(f"{count} {what}" for what, count in counts.items())
    more = len(left) - _MOST_NAMED
    named = "; ".join(one.sentence for one in left[:_MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
    return [
        f"left out {readings:,} readings of {n_sensors:,} sensor{'s' * (n_sensors > 1)} that cannot be trusted "
        f"({whats}; keep_unhealthy keeps them): {named}"
    ]
