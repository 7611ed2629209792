"""Windows that are still open: readings are kept until no reading can come any more, then aggregated.

Time is that of the readings, never that of the clock. A window is closed when a reading has arrived that is later than
its end by the *lateness*. A reading of a closed window is late: it is counted and not used. Readings may otherwise come
in any order and more than once; of several readings of a sensor at one time the last to arrive is kept, as when a file
is read. Closed windows are aggregated by the kernels of ``thence.data.readings``, so their numbers are those of the
whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from thence.checks.monitor.batches import Batch, Codes, Floats, Ints
from thence.checks.monitor.gaps import Gaps
from thence.data.readings.windows import AGGREGATES

FOUND = ("accepted", "late", "out_of_order", "repeated", "conflicting", "overflow")
"""What is counted: readings taken, after their window was closed, after a later one of the same sensor (and taken),
the same again, another value at the same time (the last one is kept), and more than can be kept."""
ACCEPTED, LATE, OUT_OF_ORDER, REPEATED, CONFLICTING, OVERFLOW = range(6)

MOST_PENDING = 2_000_000
MOST_EMPTY = 100_000
"""Windows without a reading that are written out in a row, if windows without readings are kept."""
NEVER = -(2**62)


@njit(cache=True, nogil=True)
def _accept(times, codes, every, lateness, anchor, closed, newest, latest, keep, counts):  # type: ignore[no-untyped-def]
    """Decide reading by reading which are in time; return the latest time of all."""
    for i in range(times.size):
        time = times[i]
        if time > newest:
            newest = time
        over = max(closed, (newest - lateness - anchor) // every)
        if (time - anchor) // every < over:
            counts[LATE] += 1
            continue
        keep[i] = True
        counts[ACCEPTED] += 1
        code = codes[i]
        if time < latest[code]:
            counts[OUT_OF_ORDER] += 1
        else:
            latest[code] = time
    return newest


@dataclass(frozen=True, eq=False)
class Closed:
    """Windows that are complete.

    Args:
        numbers: Number of each window, in increasing order; its start is ``anchor + number * every``.
        values: Windows × sensors: the aggregate of numbers, NaN where there is none.
        codes: Windows × sensors: the code of states, −1 where there is none.
    """

    numbers: Ints
    values: Floats
    codes: Codes


class OpenWindows:
    """The readings of windows that are still open.

    Args:
        aggregates: The aggregate of each sensor.
        are_states: Whether each sensor reads states; by default none does.
        every: Length of a window in microseconds.
        anchor: A moment at which a window starts, in microseconds; ``None`` for the first reading.
        lateness: How much later than the end of a window its readings may come, in microseconds of their own time.
        keep_empty: Whether windows in which no sensor reads are windows too.
        most_pending: Maximum number of readings that are kept.

    Examples:
        >>> windows = OpenWindows(["mean"], every=10, anchor=0, lateness=5)
        >>> windows.add(Batch.of([(1, 0, 1.0), (12, 0, 5.0), (3, 0, 2.0), (16, 0, 7.0), (4, 0, 9.0)]))
        >>> closed = windows.take()
        >>> closed.numbers.tolist(), closed.values.tolist(), windows.found["late"]
        ([0], [[1.5]], 1)
    """

    def __init__(
        self,
        aggregates: Sequence[str],
        are_states: Sequence[bool] | None = None,
        *,
        every: int,
        anchor: int | None = 0,
        lateness: int = 0,
        keep_empty: bool = False,
        most_pending: int = MOST_PENDING,
    ) -> None:
        self.aggregates = tuple(aggregates)
        self.are_states = tuple(are_states or [False] * len(self.aggregates))
        self.every, self.lateness, self.most_pending = every, lateness, most_pending
        self.anchor = anchor
        counted = "count" in self.aggregates
        # A count is 0 in a window without readings, so that the window is not empty.
        self.full = keep_empty or counted
        self.newest, self.closed, self.last_taken = NEVER, NEVER, NEVER
        self.latest = np.full(len(self.aggregates), NEVER, np.int64)
        self.counts = np.zeros(len(FOUND), np.int64)
        self.skipped = 0
        self.gaps = Gaps(len(self.aggregates))
        self._counted: set[int] = set()  # sensors whose readings are counted, and that have read
        self._pending: list[Batch] = []

    @property
    def found(self) -> dict[str, int]:
        """What was counted, by name."""
        return dict(zip(FOUND, self.counts.tolist(), strict=True))

    @property
    def n_pending(self) -> int:
        """Number of readings that are kept."""
        return sum(len(batch) for batch in self._pending)

    @property
    def pending(self) -> Batch:
        """The readings that are kept."""
        self._pending = [_join(self._pending)]
        return self._pending[0]

    def add(self, batch: Batch) -> None:
        """Keep readings that are in time, and count the others.

        Args:
            batch: The readings, in the order of their arrival.
        """
        if not len(batch):
            return
        if self.anchor is None:
            self.anchor = int(batch.times[0])
        room = self.most_pending - self.n_pending
        if len(batch) > room:
            self._pending = [self._tidy(_join(self._pending))]
            room = max(self.most_pending - self.n_pending, 0)
            if len(batch) > room:
                self.counts[OVERFLOW] += len(batch) - room
                batch = Batch(batch.times[:room], batch.sensors[:room], batch.values[:room])
        keep = np.zeros(len(batch), np.bool_)
        self.newest = int(
            _accept(
                batch.times,
                batch.sensors,
                self.every,
                self.lateness,
                self.anchor,
                self.closed,
                self.newest,
                self.latest,
                keep,
                self.counts,
            )
        )
        if keep.all():
            self._pending.append(batch)
        elif keep.any():
            self._pending.append(Batch(batch.times[keep], batch.sensors[keep], batch.values[keep]))

    @property
    def over(self) -> int:
        """Windows with a smaller number take no more readings."""
        if self.anchor is None or self.newest == NEVER:
            return NEVER
        return max(self.closed, (self.newest - self.lateness - self.anchor) // self.every)

    def take(self, *, final: bool = False) -> Closed:
        """Return the windows that have become complete, aggregated.

        Args:
            final: Whether no further reading will come, so that all windows are complete.
        """
        over = self.over
        if final and self.anchor is not None:
            over = max(over, (self.newest - self.anchor) // self.every + 1)
        n = len(self.aggregates)
        nothing = Closed(np.empty(0, np.int64), np.empty((0, n)), np.empty((0, n), np.int32))
        if over <= self.closed or self.anchor is None:
            return nothing
        self.closed = over
        pending = _join(self._pending)
        window = (pending.times - self.anchor) // self.every
        ready = window < over
        self._pending = [Batch(pending.times[~ready], pending.sensors[~ready], pending.values[~ready])]
        if not ready.any():
            return nothing
        clean = self._tidy(Batch(pending.times[ready], pending.sensors[ready], pending.values[ready]))
        # No reading can come between these any more.
        self.gaps.add(clean)
        return self._aggregate(clean)

    def _tidy(self, batch: Batch) -> Batch:
        """Sort readings by sensor and time, and keep the last of several at one time."""
        order = np.lexsort((batch.times, batch.sensors))
        times, sensors, values = batch.times[order], batch.sensors[order], batch.values[order]
        again = (times[1:] == times[:-1]) & (sensors[1:] == sensors[:-1])
        if not again.any():
            return Batch(times, sensors, values)
        last = np.append(~again, True)
        group = np.concatenate(([0], np.cumsum(~again)))
        unique = values[last]
        sizes = np.bincount(group)
        clash = np.bincount(group, weights=values != unique[group]) > 0
        self.counts[CONFLICTING] += int((sizes[clash] - 1).sum())
        self.counts[REPEATED] += int((sizes[~clash] - 1).sum())
        return Batch(times[last], sensors[last], unique)

    def _aggregate(self, batch: Batch) -> Closed:
        assert self.anchor is not None
        window = (batch.times - self.anchor) // self.every
        numbers = np.unique(window)
        if self.full:
            numbers = self._fill(numbers)
        self.last_taken = int(numbers[-1])
        row = np.searchsorted(numbers, window)
        # Windows without readings are left out: the kernels see windows one after the other.
        times = row * self.every + (batch.times - self.anchor) % self.every
        values = np.full((len(numbers), len(self.aggregates)), np.nan)
        codes = np.full(values.shape, -1, np.int32)
        bounds = np.searchsorted(batch.sensors, np.arange(len(self.aggregates) + 1))
        for at in np.unique(batch.sensors).tolist():
            own = slice(int(bounds[at]), int(bounds[at + 1]))
            if self.are_states[at]:
                codes[:, at] = _state_column(
                    times[own], batch.values[own], self.every, self.aggregates[at], len(numbers)
                )
            else:
                values[:, at] = _number_column(
                    times[own], batch.values[own], self.every, self.aggregates[at], len(numbers)
                )
        self._zero_counts(values)
        return Closed(numbers, values, codes)

    def _fill(self, numbers: Ints) -> Ints:
        """Return all windows since the last one, as far as these are not too many."""
        first = int(numbers[0]) if self.last_taken == NEVER else self.last_taken + 1
        if int(numbers[-1]) - first < MOST_EMPTY:
            return np.arange(first, int(numbers[-1]) + 1)
        self.skipped += int(numbers[-1]) - first + 1 - len(numbers)
        return numbers

    def _zero_counts(self, values: Floats) -> None:
        """Set counts to 0 in windows without a reading of a sensor that has read before."""
        for at, name in enumerate(self.aggregates):
            if name != "count":
                continue
            column = values[:, at]
            empty = np.isnan(column)
            if at not in self._counted and empty.all():
                continue
            first = 0 if at in self._counted else int(np.argmin(empty))
            column[first:][empty[first:]] = 0.0
            self._counted.add(at)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        pending = _join(self._pending)
        numbers = {
            "anchor": self.anchor,
            "newest": self.newest,
            "closed": self.closed,
            "last_taken": self.last_taken,
            "skipped": self.skipped,
            "counted": sorted(self._counted),
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "latest": self.latest,
            "found": self.counts,
            "times": pending.times,
            "sensors": pending.sensors,
            "values": pending.values,
        }
        return numbers, arrays

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        self.anchor, self.newest, self.closed = numbers["anchor"], int(numbers["newest"]), int(numbers["closed"])
        self.last_taken, self.skipped = int(numbers["last_taken"]), int(numbers["skipped"])
        self._counted.update(numbers["counted"])
        self.latest[:] = arrays["latest"]
        self.counts[:] = arrays["found"]
        self._pending = [Batch(arrays["times"], arrays["sensors"], arrays["values"])]


def _join(batches: Sequence[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return Batch(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))
    return Batch(
        np.concatenate([batch.times for batch in batches]),
        np.concatenate([batch.sensors for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
    )


def _number_column(times: Ints, values: Floats, every: int, aggregate: str, n_windows: int) -> Floats:
    from thence.data.readings.window_kernels import window_medians, window_series

    column = np.full(n_windows, np.nan)
    if aggregate == "median":
        window_medians(times, values, 0, every, column)
    else:
        window_series(times, values, 0, every, np.int8(AGGREGATES.index(aggregate)), column)
    return column


def _state_column(times: Ints, values: Floats, every: int, aggregate: str, n_windows: int) -> Codes:
    from thence.data.readings.window_kernels import LAST, MODE, window_states

    column = np.full(n_windows, -1, np.int32)
    states = values.astype(np.int64)
    op = MODE if aggregate == "mode" else LAST
    window_states(times, states, 0, every, op, int(states.max()) + 1, column)
    return column
