"""Values derived from windows that come one after the other: changes, lags, switches, durations, and what follows.

A few windows are kept before those that come next, so that a value derived from the past is the same as if all windows
were there. A window is *complete* when the windows ahead that its values depend on are closed too. How long a state has
lasted is carried on from window to window. Time in which no sensor reads is kept as short as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.monitor.batches import Codes, Floats, Ints, Roster
from thence.checks.monitor.open_windows import Closed
from thence.data.readings.derived import DURATION_EDGES, RESTING, Derived, StateCodes, derive_values
from thence.data.readings.durations import parse_duration
from thence.language.time_names import TimeForm, TimeName

FILLER = -(2**62)
"""The number of a window that stands for time in which no sensor reads."""


@dataclass(frozen=True, eq=False)
class Complete:
    """Complete windows, with what is derived from them.

    Args:
        numbers: Number of each window.
        values: Windows × sensors: numbers, NaN where there is none.
        codes: Windows × sensors: codes of states, −1 where there is none.
        numbers_derived: Derived numbers by name: windows × numeric sensors, or one per window.
        states_derived: Derived states by name and sensor.
    """

    numbers: Ints
    values: Floats
    codes: Codes
    numbers_derived: Mapping[str, npt.NDArray[Any]]
    states_derived: Mapping[str, Mapping[str, StateCodes]]

    def __len__(self) -> int:
        return len(self.numbers)


class History:
    """The last windows, as far as later ones depend on them.

    Args:
        roster: The sensors.
        names: What to derive, as ``name_derived`` returned it.
        every: Length of a window in microseconds.
        timezone: Time zone of the calendar.
        resting: The kinds of numbers that are at rest at times.
    """

    def __init__(
        self, roster: Roster, names: Sequence[str], *, every: int, timezone: str, resting: frozenset[str] = frozenset()
    ) -> None:
        self.roster, self.names, self.every, self.timezone, self.resting = (
            roster,
            tuple(names),
            every,
            timezone,
            resting,
        )
        forms = [name.partition(":") for name in self.names]
        lengths = {form: [0] for form in ("lag", "within")}
        for form, _, length in forms:
            if length:
                lengths[form].append(parse_duration(length) // every)
        with_past = any(form in ("change", "switch", "duration", "within") for form, _, _ in forms)
        self.past = max(*lengths["lag"], int(with_past))
        self.ahead = max(lengths["within"])
        self.has_durations = "duration" in self.names
        n = len(roster.sensors)
        self.numbers = np.empty(0, np.int64)
        self.values = np.empty((0, n))
        self.codes = np.empty((0, n), np.int32)
        self.n_done, self.last = 0, FILLER
        # Of each sensor: the state before the first window that is kept, how long it lasts, and if its begin was seen.
        self.state = np.full(n, -1, np.int32)
        self.lasted = np.zeros(n, np.int64)
        self.seen = np.zeros(n, np.bool_)

    def nothing(self, anchor: int) -> Complete:
        """Return no windows, with the names of all that is derived from windows.

        Args:
            anchor: A moment at which a window starts, in microseconds.
        """
        empty = History(self.roster, self.names, every=self.every, timezone=self.timezone, resting=self.resting)
        derived = empty._derive(anchor)
        return Complete(empty.numbers, empty.values, empty.codes, derived.numbers, derived.states)

    def push(self, closed: Closed, *, anchor: int, final: bool = False) -> Complete:
        """Add windows, and return those that are complete now.

        Args:
            closed: The windows, all later than those before.
            anchor: A moment at which a window starts, in microseconds.
            final: Whether no further window will come.
        """
        self._append(closed)
        stop = len(self.numbers) if final else max(len(self.numbers) - self.ahead, 0)
        ready = np.arange(min(self.n_done, stop), stop)
        ready = ready[self.numbers[ready] != FILLER]
        derived = self._derive(anchor) if len(ready) and self.names else Derived({}, {})
        out = Complete(
            self.numbers[ready],
            self.values[ready],
            self.codes[ready],
            {name: values[ready] for name, values in derived.numbers.items()},
            {
                name: {id: (codes[ready], known) for id, (codes, known) in states.items()}
                for name, states in derived.states.items()
            },
        )
        self.n_done = max(stop, self.n_done)
        self._forget(max(0, self.n_done - self.past))
        return out

    def _append(self, closed: Closed) -> None:
        """Append windows, with windows without readings where time is missing."""
        numbers, values, codes = closed.numbers, closed.values, closed.codes
        real = self.numbers[self.numbers != FILLER]
        if self.past + self.ahead and len(numbers):
            # After this many windows without readings, nothing is known of what was before.
            most = self.past + self.ahead + 1
            before = np.concatenate([[self.last if not len(real) else int(real[-1])], numbers[:-1]])
            gaps = np.where(before == FILLER, 0, np.minimum(numbers - before - 1, most))
            place = np.arange(len(numbers)) + np.cumsum(gaps)
            size = int(place[-1]) + 1
            wide_numbers = np.full(size, FILLER, np.int64)
            wide_values = np.full((size, values.shape[1]), np.nan)
            wide_codes = np.full((size, codes.shape[1]), -1, np.int32)
            wide_numbers[place], wide_values[place], wide_codes[place] = numbers, values, codes
            numbers, values, codes = wide_numbers, wide_values, wide_codes
        self.numbers = np.concatenate([self.numbers, numbers])
        self.values = np.concatenate([self.values, values])
        self.codes = np.concatenate([self.codes, codes])

    def _forget(self, count: int) -> None:
        if not count:
            return
        real = self.numbers[:count][self.numbers[:count] != FILLER]
        if len(real):
            self.last = int(real[-1])
        if self.has_durations:
            runs = self._runs()[:count]
            for row in runs:
                same = row == self.state
                self.lasted = np.where(same, self.lasted + 1, 1)
                self.seen = np.where(same, self.seen, self.state >= 0)
                self.state = row
        self.numbers, self.values, self.codes = self.numbers[count:], self.values[count:], self.codes[count:]
        self.n_done -= count

    def _runs(self) -> Codes:
        """Return the states of all sensors, those of numbers that rest included; −1 where there is none."""
        out = self.codes.copy()
        for at, sensor in enumerate(self.roster.sensors):
            if not sensor.categorical and (sensor.kind or sensor.id) in self.resting:
                column = self.values[:, at]
                out[:, at] = np.where(np.isnan(column), -1, column != 0)
        return out

    def _derive(self, anchor: int) -> Derived:
        sensors = self.roster.sensors
        numeric = [at for at, sensor in enumerate(sensors) if not sensor.categorical]
        starts = np.where(self.numbers == FILLER, 0, self.numbers) * self.every + anchor
        derived = derive_values(
            self.names,
            times=starts.view("datetime64[us]"),
            sensors=sensors,
            values=self.values[:, numeric],
            states={s.id: (self.codes[:, at], self.roster.names(at)) for at, s in enumerate(sensors) if s.categorical},
            every=self.every,
            timezone=self.timezone,
            resting=self.resting,
        )
        if self.has_durations and len(self.numbers):
            self._carry_on(derived)
        return derived

    def _carry_on(self, derived: Derived) -> None:
        """Let the states of the first windows that are kept last since they began before these."""
        runs = self._runs()
        edges = np.array([edge for edge in DURATION_EDGES if edge > self.every])
        for at, sensor in enumerate(self.roster.sensors):
            now = int(runs[0, at])
            if now < 0:
                continue
            same = now == self.state[at]
            before = int(self.lasted[at]) if same else 0
            is_seen = bool(self.seen[at]) if same else bool(self.state[at] >= 0)
            names = self.roster.names(at) if sensor.categorical else RESTING
            of = str(TimeName(TimeForm.DURATION, state=names[now]))
            found = derived.states.get(of, {}).get(sensor.id)
            if found is None:
                continue
            other = runs[:, at] != now
            stop = int(np.argmax(other)) if other.any() else len(other)
            lasted = (np.arange(stop) + 1 + before) * self.every
            found[0][:stop] = np.searchsorted(edges, lasted, side="right") if is_seen else -1

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        names = ("numbers", "values", "codes", "state", "lasted", "seen")
        return {"n_done": self.n_done, "last": self.last}, {name: getattr(self, name) for name in names}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        self.n_done, self.last = int(numbers["n_done"]), int(numbers["last"])
        for name, array in arrays.items():
            setattr(self, name, array.copy())
