"""Readings of a file in the order of their times, as fast as they can be read or at a multiple of their own speed."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.monitor.batches import Batch, Roster
from thence.checks.monitor.sources.base import Delivery
from thence.data.readings.frames import collect
from thence.data.readings.scanning import time_bounds
from thence.data.readings.sensors import SensorData

_AT_ONCE = 200_000  # readings of a delivery


class FileSource:
    """The readings of files.

    Args:
        sensors: The readings.
        roster: The sensors of the monitor; readings of others are counted as unknown.
        every: Length of a window in microseconds.
        speed: How many times faster than they were made readings are delivered; ``None`` for as fast as possible.
    """

    needs_journal = False

    def __init__(self, sensors: SensorData, roster: Roster, *, every: int, speed: float | None = None) -> None:
        self._readings, self._roster, self._every, self._speed = sensors.readings, roster, every, speed
        self._unknown = [sensor.id for sensor in sensors.sensors if sensor.id not in roster.position]

    def facts(self) -> dict[str, float]:
        """Return no numbers: a file has none of interest."""
        return {}

    def deliveries(self, stop: Event, position: Any) -> Iterator[Delivery]:
        """Yield the readings in slices of time; see ``Source``.

        Args:
            stop: Set when the monitor is to stop.
            position: The time in microseconds from which to go on; ``None`` for the beginning.
        """
        bounds = time_bounds(self._readings)
        if bounds is None:
            return
        first, last = bounds
        step = self._every if self._speed else self._slice_length(first, last)
        # Slices are the same however often the monitor was restarted.
        at = first if position is None else int(position)
        begun = time.monotonic()
        origin = at
        while at <= last and not stop.is_set():
            end = at + step
            batch, rejected = self._read(at, end)
            if self._speed:
                wait = (end - origin) / 1e6 / self._speed - (time.monotonic() - begun)
                if wait > 0 and stop.wait(wait):
                    return
            # A later file may go on right after the last reading of this one.
            yield Delivery(batch, rejected, min(end, last + 1))
            at = end

    def _slice_length(self, first: int, last: int) -> int:
        rows: int = sum(
            collect(part.select(pl.len()), source=self._readings.source).item() for part in self._readings.parts
        )
        width = 1 if self._readings.layout == "long" else len(self._roster.sensors)
        parts = max(1, math.ceil(rows * width / _AT_ONCE))
        return max(1, math.ceil((last - first + 1) / parts / self._every)) * self._every

    def _read(self, start: int, end: int) -> tuple[Batch, Counter[str]]:
        moment = pl.col("time").to_physical()
        batches: list[Batch] = []
        rejected: Counter[str] = Counter()
        for part in self._readings.parts:
            query = part.filter((moment >= start) & (moment < end))
            frame = collect(query, source=self._readings.source)
            batches.append(
                self._from_wide(frame, rejected)
                if self._readings.layout == "wide"
                else self._from_long(frame, rejected)
            )
        times = np.concatenate([batch.times for batch in batches])
        order = np.argsort(times, kind="stable")
        joined = Batch(
            times[order],
            np.concatenate([batch.sensors for batch in batches])[order],
            np.concatenate([batch.values for batch in batches])[order],
        )
        return joined, rejected

    def _from_wide(self, frame: pl.DataFrame, rejected: Counter[str]) -> Batch:
        names = [name for name in frame.columns if name in self._roster.position]
        for name in frame.columns:
            if name != "time" and name not in self._roster.position:
                rejected["unknown_sensor"] += frame.height - frame[name].null_count()
        times = frame["time"].to_physical().to_numpy()
        values = np.empty((frame.height, len(names)))
        for at, name in enumerate(names):
            values[:, at] = self._numbers(self._roster.position[name], frame[name], rejected)
        rows, columns = np.nonzero(~np.isnan(values))
        sensors = np.array([self._roster.position[name] for name in names], np.int32)
        return Batch(times[rows], sensors[columns] if len(names) else np.empty(0, np.int32), values[rows, columns])

    def _from_long(self, frame: pl.DataFrame, rejected: Counter[str]) -> Batch:
        parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64]]] = []
        frame = frame.with_columns(pl.col("sensor").cast(pl.String)).with_row_index("_at")
        for (name,), own in frame.group_by("sensor", maintain_order=True):
            at = self._roster.position.get(str(name))
            if at is None:
                rejected["unknown_sensor"] += own.height
                continue
            column = own["state"] if self._roster.is_state[at] and "state" in own.columns else own["value"]
            values = self._numbers(at, column, rejected)
            keep = ~np.isnan(values)
            times = own["time"].to_physical().to_numpy()[keep]
            parts.append((times, np.full(len(times), at, np.int32), values[keep]))
        if not parts:
            return Batch.of([])
        times, sensors, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Batch(times, sensors, values)

    def _numbers(self, at: int, column: pl.Series, rejected: Counter[str]) -> npt.NDArray[np.float64]:
        """Return a column as numbers, NaN where there is no reading."""
        if not self._roster.is_state[at] and column.dtype.is_numeric():
            values = column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
            infinite = np.isinf(values)
            if infinite.any():
                rejected["bad_value"] += int(infinite.sum())
                values[infinite] = np.nan
            return values
        known: dict[Any, float] = {}
        for value in column.drop_nulls().unique(maintain_order=True).to_list():
            number = self._roster.encode(at, value)
            if number is None:
                rejected["bad_value"] += int((column == value).sum())
            known[value] = np.nan if number is None else number
        return np.array([np.nan if value is None else known[value] for value in column.to_list()], np.float64)
