"""Laws and controls on windows that come one after the other: their states, when a span of time is over.

Whether a law holds depends on the next window, and a control on the windows before. So statements are checked on the
windows of a span together, with a fixed number of windows before and one after it. Spans follow from the numbers of the
windows alone, not from how they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.application.bound import NotBound
from thence.checks.monitor.alerts import Watched
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.history import Complete
from thence.checks.monitor.rule_frames import Counted, RuleFrames
from thence.data.readings.findings import ReadReport
from thence.data.readings.windows import WindowedReadings
from thence.errors import ThenceError
from thence.runs.preparation import Prepared
from thence.statements.statement import HOLDS, MISSING, NOT_APPLICABLE, VIOLATED, States

_BEFORE = 200  # windows before a span, on which the usual step of a reading is known


class RecentWindows:
    """The last windows of all sensors.

    Args:
        roster: The sensors.
    """

    def __init__(self, roster: Roster) -> None:
        n = len(roster.sensors)
        self.roster = roster
        self.numbers = np.empty(0, np.int64)
        self.values = np.empty((0, n))
        self.codes = np.empty((0, n), np.int32)

    def append(self, windows: Complete, start: int, stop: int, *, kept: int) -> None:
        """Add windows, and forget the first ones.

        Args:
            windows: Windows, of which some are new.
            start: The first new one.
            stop: The one after the last.
            kept: How many to keep.
        """
        for name in _ARRAYS:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(windows, name)[start:stop]])[-kept:])

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        return {}, {name: getattr(self, name) for name in _ARRAYS}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        for name in _ARRAYS:
            setattr(self, name, arrays[name].copy())


_ARRAYS = ("numbers", "values", "codes")


@dataclass(frozen=True, eq=False)
class Checked:
    """The states of statements in the windows of a span.

    Args:
        frame: Position of the window with which they became known; −1 if none came after them.
        starts: Start of each window in microseconds.
        states: The states of each statement that binds, by its position.
        n_statements: Number of statements.
    """

    frame: int
    starts: npt.NDArray[np.int64]
    states: Mapping[int, States]
    n_statements: int

    @property
    def counted(self) -> Counted:
        """Numbers of rows of every statement by state."""
        out = np.zeros((self.n_statements, 4), np.int64)
        for at, one in self.states.items():
            out[at] = [(one.codes == code).sum() for code in (HOLDS, VIOLATED, NOT_APPLICABLE, MISSING)]
        return Counted(*out.T)


class StatementWatch(RecentWindows):
    """Laws and controls that are checked on parts of the windows.

    Args:
        watched: The statements.
        frames: The rules beside them, with the sensors, the system and the configuration.
        span: The length of a span in microseconds: a multiple of the windows.
        same_system: Whether the data are of the system that was mined.
    """

    def __init__(self, watched: Sequence[Watched], frames: RuleFrames, *, span: int, same_system: bool = True) -> None:
        super().__init__(frames.roster)
        self.watched, self._frames, self._span = tuple(watched), frames, span
        self._every = frames.every
        self.new = 0
        lacking = [(at, self._why_not(one, same_system)) for at, one in enumerate(self.watched)]
        self.not_bound = tuple(NotBound(at, "statement", "", why) for at, why in lacking if why)
        self.bound = np.array([at for at, why in lacking if not why], np.int64)

    def _why_not(self, watched: Watched, same_system: bool) -> str:
        """Why a statement cannot be watched; empty if it can."""
        one = watched.statement
        if not watched.is_used:
            return "left out because of its review"
        if not same_system:
            return f"the {one.kind} is about places of the system that was mined"
        known = {sensor.id for sensor in self.roster.sensors}
        missing = [sensor for sensor in one.about.sensors if sensor not in known]
        if missing:
            return f"there are no readings of the sensor '{missing[0]}'"
        n = len(self.roster.sensors)
        nothing = (np.arange(3), np.full((3, n), np.nan), np.full((3, n), -1, np.int32))
        try:
            return "" if one.check(self._data(*nothing, anchor=0)).places else "no place has all its readings"
        except ThenceError as error:
            return str(error)

    def push(self, windows: Complete, start: int, stop: int, anchor: int) -> list[Checked]:
        """Add windows, and return what was found in the spans that are over now.

        Args:
            windows: Windows, of which some are new.
            start: The first new one.
            stop: The one after the last.
            anchor: A moment at which a window starts, in microseconds.
        """
        out: list[Checked] = []
        if not self.watched:
            return out
        spans = (windows.numbers[start:stop] * self._every + anchor) // self._span
        cuts = [start, *(np.flatnonzero(np.diff(spans)) + 1 + start).tolist(), stop]
        for first, last in pairwise(cuts):
            if self.new and (int(self.numbers[-1]) * self._every + anchor) // self._span != spans[first - start]:
                out += self.finish(anchor, windows, first)
            self.new += last - first
            self.append(windows, first, last, kept=self.new + _BEFORE)
        return out

    def finish(self, anchor: int, windows: Complete | None = None, following: int = -1) -> list[Checked]:
        """Check the statements on the windows that were not checked yet.

        Args:
            anchor: A moment at which a window starts, in microseconds.
            windows: Windows, of which one comes after these; ``None`` if no further window will come.
            following: The position of that window.
        """
        if not self.new:
            return []
        n, first = len(self.numbers), len(self.numbers) - self.new
        parts: list[npt.NDArray[Any]] = [self.numbers, self.values, self.codes]
        if windows is not None and windows.numbers[following] == self.numbers[-1] + 1:
            own = slice(following, following + 1)
            parts = [np.concatenate([a, b]) for a, b in zip(parts, _arrays(windows, own), strict=True)]
        data = self._data(*parts, anchor=anchor)
        states = {int(at): self.watched[at].statement.check(data) for at in self.bound}
        cut = {at: replace(one, codes=one.codes[:, first:n]) for at, one in states.items()}
        starts = self.numbers[first:] * self._every + anchor
        self.new = 0
        return [Checked(following, starts, cut, len(self.watched))]

    def _data(
        self,
        numbers: npt.NDArray[np.int64],
        values: npt.NDArray[np.float64],
        codes: npt.NDArray[np.int32],
        *,
        anchor: int,
    ) -> Prepared:
        """Windows as data on which statements are checked."""
        sensors = self.roster.sensors
        readings = WindowedReadings(
            times=(numbers * self._every + anchor).view("datetime64[us]"),
            sensors=sensors,
            values=values[:, [at for at, sensor in enumerate(sensors) if not sensor.categorical]],
            states={s.id: (codes[:, at], self.roster.names(at)) for at, s in enumerate(sensors) if s.categorical},
            derived={},
            every=timedelta(microseconds=self._every),
            aggregates=self._frames.aggregates,
            report=ReadReport(),
            derived_states={},
        )
        return Prepared(self._frames.system, self._frames.config, readings)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        numbers, arrays = super().to_arrays()
        return {**numbers, "new": self.new}, arrays

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        super().restore(numbers, arrays)
        self.new = int(numbers["new"])


def _arrays(windows: Complete, own: slice) -> list[npt.NDArray[Any]]:
    return [getattr(windows, name)[own] for name in _ARRAYS]
