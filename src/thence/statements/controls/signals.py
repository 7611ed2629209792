"""The numeric readings of a plant as rows, each with the same reading one window later at the same pace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.statements.controls.thresholds import at_same_pace
from thence.tables.bitmaps.bits import run_threads

FloatArray = npt.NDArray[np.float64]

BLOCK_COLUMNS = 64
"""Sensors that are read together."""
_SAMPLE = 50  # sensors from which the roughness of a kind is estimated
_RIVALS = 500  # sensors of a kind that a reading is compared with


@dataclass(frozen=True, eq=False)
class Signals:
    """The numeric readings, and which windows follow each other.

    Args:
        readings: The windows.
        linked: For each window, whether the next one follows without a gap.
    """

    readings: WindowedReadings
    linked: npt.NDArray[np.bool_]

    @cached_property
    def sensors(self) -> tuple[Sensor, ...]:
        """The numeric sensors, in the order of their columns."""
        return self.readings.numeric

    def rows(self, columns: slice | list[int], *, end: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return some readings and the same one window later at the same pace, one row per sensor.

        Args:
            columns: The numbers of the sensors.
            end: The first window that is left out; by default none is.
        """
        values = np.ascontiguousarray(self.readings.values[:end, columns].T)
        return values, at_same_pace(values.T, self.linked[:end]).T

    def row(self, column: int) -> tuple[FloatArray, FloatArray]:
        """Return one reading, and the same one window later at the same pace."""
        values, pace = self.rows(slice(column, column + 1))
        return values[0], pace[0]

    def kind_roughness(self, column: int) -> float:
        """Return the median roughness of the sensors of the same kind."""
        return self._by_kind.get(self.sensors[column].kind, math.inf)

    def of_kind(self, column: int) -> tuple[FloatArray, FloatArray]:
        """Return readings of the same kind, and the same one window later at the same pace, one row per sensor."""
        kind = self.sensors[column].kind
        if kind not in self._rows:
            columns = self._columns[kind]
            self._rows[kind] = self.rows(columns[:: -(-len(columns) // _RIVALS)])
        return self._rows[kind]

    @cached_property
    def _rows(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        return {}

    @cached_property
    def _columns(self) -> dict[str, list[int]]:
        columns: dict[str, list[int]] = {}
        for column, sensor in enumerate(self.sensors):
            columns.setdefault(sensor.kind, []).append(column)
        # The order of the columns of a file must not change what is found.
        return {kind: sorted(some, key=lambda at: self.sensors[at].id) for kind, some in columns.items()}

    @cached_property
    def _by_kind(self) -> dict[str, float]:
        sampled = {kind: some[:: -(-len(some) // _SAMPLE)] for kind, some in self._columns.items()}
        return {kind: float(np.median(self.roughness(some))) for kind, some in sampled.items()}

    @cached_property
    def _roughness(self) -> dict[int, float]:
        return {}

    def roughness(self, columns: Sequence[int]) -> list[float]:
        """Return the mean change of pace of readings, relative to their spread; 0 is perfectly smooth.

        Args:
            columns: The numbers of the sensors; each is computed once.
        """
        missing = sorted({*columns}.difference(self._roughness))

        def work(start: int) -> None:
            some = missing[start : start + BLOCK_COLUMNS]
            for column, values, pace in zip(some, *self.rows(some), strict=True):
                self._roughness[column] = _roughness(values, pace, self.linked)

        run_threads(work, range(0, len(missing), BLOCK_COLUMNS))
        return [self._roughness[column] for column in columns]


def _roughness(values: FloatArray, pace: FloatArray, linked: npt.NDArray[np.bool_]) -> float:
    surprise = np.abs(values[1:] - pace[:-1])
    known = linked[:-1] & ~np.isnan(surprise)
    if not known.all():
        surprise = surprise[known]
    spread = float(np.nanstd(values)) if surprise.size else 0.0
    return float(surprise.mean()) / spread if spread > 0 else math.inf


def coarsen(readings: WindowedReadings, size: int) -> WindowedReadings:
    """Return the readings in windows that are several times as long: means of numbers, and the last state.

    Args:
        readings: The windows.
        size: How many windows become one. Those of which one is missing are left out.
    """
    if size == 1:
        return readings
    starts = block_starts(readings, size)
    inside = starts[:, None] + np.arange(size)
    values = readings.values[inside]
    known = np.count_nonzero(~np.isnan(values), axis=1)
    means = np.nansum(values, axis=1) / np.maximum(known, 1)
    return replace(
        readings,
        times=readings.times[starts],
        values=np.where(2 * known >= size, means, np.nan),
        states={name: (codes[starts + size - 1], names) for name, (codes, names) in readings.states.items()},
        derived={},
        every=readings.every * size,
    )


def block_starts(readings: WindowedReadings, size: int) -> npt.NDArray[np.int64]:
    """Return the first window of each whole block of adjacent windows.

    Args:
        readings: The windows.
        size: The number of windows of a block.
    """
    step = np.timedelta64(readings.every, "us")
    times = readings.times.astype("datetime64[us]")
    number = ((times - np.datetime64(0, "us")) // step).astype(np.int64)
    first = np.flatnonzero(number % size == 0)
    first = first[first + size <= number.size]
    return np.asarray(first[number[first + size - 1] - number[first] == size - 1])
