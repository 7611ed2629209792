"""Readings as they arrive, as plain arrays: the numbers of known sensors, and the states that they were seen in.

This module names and numbers; it parses no messages and keeps no readings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thence.data.readers.table import MISSING_WORDS, NUMBER
from thence.data.readings.sensors import Sensor
from thence.language.states import state_key

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

EARLIEST, LATEST = 0, 7_258_118_400_000_000
"""Times that are accepted, in microseconds: from 1970 on and before 2200."""
MOST_STATES = 1_000
"""States of one kind; further ones are rejected, so that a sensor that sends free text cannot fill the memory."""

_LONGEST = 256  # characters of a reading


@dataclass(frozen=True, eq=False)
class Batch:
    """Some readings in the order of their arrival.

    Args:
        times: Microseconds since 1970, UTC.
        sensors: Positions of the sensors.
        values: The numbers; of a categorical sensor, the code of its state.
    """

    times: Ints
    sensors: Codes
    values: Floats

    def __len__(self) -> int:
        return len(self.times)

    @staticmethod
    def of(rows: Sequence[tuple[int, int, float]]) -> Batch:
        """Create a batch from rows of time, sensor and value.

        Args:
            rows: The rows.
        """
        times, sensors, values = zip(*rows, strict=True) if rows else ((), (), ())
        return Batch(np.array(times, np.int64), np.array(sensors, np.int32), np.array(values, np.float64))


@dataclass
class Roster:
    """The sensors of a monitor, and the states that each was seen in.

    Args:
        sensors: The sensors.
        known: The states of each kind (of a sensor without a kind, by its id) when the rules were mined.
        most_states: Maximum number of states of a kind, unless more are known.

    Examples:
        >>> roster = Roster((Sensor("flow"), Sensor("valve", "valve", categorical=True)), {"valve": ("closed", "open")})
        >>> roster.encode(1, "OPEN"), roster.encode(1, "open"), roster.encode(0, 2)
        (2.0, 1.0, 2.0)
        >>> roster.encode(0, "high") is None
        True
    """

    sensors: tuple[Sensor, ...]
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    most_states: int = MOST_STATES

    def __post_init__(self) -> None:
        self.position = {sensor.id: at for at, sensor in enumerate(self.sensors)}
        self.is_state = np.array([sensor.categorical for sensor in self.sensors], bool)
        self._kinds = [sensor.kind or sensor.id for sensor in self.sensors]
        self.states: dict[str, dict[str, int]] = {}
        for kind, sensor in zip(self._kinds, self.sensors, strict=True):
            if sensor.categorical:
                self.states[kind] = {state: code for code, state in enumerate(self.known.get(kind, ()))}

    def encode(self, at: int, value: object) -> float | None:
        """Return the number of a reading, or ``None`` if it cannot be one of this sensor.

        Text is a number if it would be one in a file. A boolean is a state, not a number.

        Args:
            at: Position of the sensor.
            value: A number, string or boolean.
        """
        if not self.is_state[at]:
            return _as_number(value)
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if not isinstance(value, (str, int, float)) or (isinstance(value, str) and len(value) > _LONGEST):
            return None
        try:
            key = state_key(value)
        except OverflowError:
            return None
        own = self.states[self._kinds[at]]
        if key not in own:
            if not key or len(own) >= max(self.most_states, len(self.known.get(self._kinds[at], ()))):
                return None
            own[key] = len(own)
        return float(own[key])

    def names(self, at: int) -> tuple[str, ...]:
        """Return the states of the kind of a categorical sensor in the order of their codes.

        Args:
            at: Position of the sensor.
        """
        return tuple(self.states[self._kinds[at]])

    def to_dict(self) -> dict[str, list[str]]:
        """Return the states of every kind, for JSON."""
        return {kind: list(states) for kind, states in self.states.items()}

    def restore(self, states: Mapping[str, Sequence[str]]) -> None:
        """Take over the states that ``to_dict`` returned.

        Args:
            states: The states by kind.
        """
        for kind, names in states.items():
            if kind in self.states:
                self.states[kind] = {state: code for code, state in enumerate(names)}


def is_missing(value: object) -> bool:
    """Return whether a reading means that there is none, as in a file: null, NaN, and words such as ``"NA"``.

    Args:
        value: The reading.

    Examples:
        >>> [is_missing(one) for one in (None, float("nan"), " NaN ", "n/a", 0, "open")]
        [True, True, True, False, False, False]
    """
    if isinstance(value, str):
        return len(value) <= _LONGEST and value.strip() in MISSING_WORDS
    return value is None or (isinstance(value, float) and math.isnan(value))


def _as_number(value: object) -> float | None:
    """Return a number; Python's ``float`` would also take ``"1_000"`` and digits of other scripts."""
    if isinstance(value, str):
        value = value.strip()
        if len(value) > _LONGEST or not NUMBER.fullmatch(value):
            return None
    elif not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
