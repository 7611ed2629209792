"""Constants on windows that come one after the other: a sensor that reads what it never read is told at once, once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thence.checks.monitor.batches import Roster
from thence.checks.monitor.history import Complete
from thence.language.states import state_key
from thence.statements.constants import Constant, same_number


class Changed(NamedTuple):
    """A sensor that reads what it never read.

    Args:
        frame: The position of the window.
        constant: What it always read.
        value: What it reads.
    """

    frame: int
    constant: Constant
    value: str | float


class ConstantWatch:
    """The constants of a run on later windows.

    Args:
        constants: The constants; those of sensors that are not there are left out.
        roster: The sensors.
    """

    def __init__(self, constants: Sequence[Constant], roster: Roster) -> None:
        self._roster = roster
        self.constants = tuple(one for one in constants if one.sensor in roster.position)
        self._told = np.zeros(len(self.constants), bool)

    def push(self, windows: Complete, first: int, last: int) -> Iterator[Changed]:
        """Yield the constants that change in some windows and did not before.

        Args:
            windows: Windows.
            first: The first one to look at.
            last: The one after the last.
        """
        for at in np.flatnonzero(~self._told).tolist():
            one = self.constants[at]
            other = self._differs(one, windows, first, last)
            if other.any():
                self._told[at] = True
                frame = first + int(other.argmax())
                yield Changed(frame, one, self._value(one, windows, frame))

    def _differs(self, one: Constant, windows: Complete, first: int, last: int) -> npt.NDArray[np.bool_]:
        at = self._roster.position[one.sensor]
        if self._roster.is_state[at]:
            codes = windows.codes[first:last, at]
            names = self._roster.names(at)
            own = [code for code, name in enumerate(names) if state_key(name) == state_key(one.value)]
            return np.asarray((codes >= 0) & ~np.isin(codes, own))
        values = windows.values[first:last, at]
        return np.asarray(~np.isnan(values) & ~same_number(values, one.value))

    def _value(self, one: Constant, windows: Complete, frame: int) -> str | float:
        at = self._roster.position[one.sensor]
        if self._roster.is_state[at]:
            return self._roster.names(at)[int(windows.codes[frame, at])]
        return float(windows.values[frame, at])

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        return {}, {"told": self._told}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        self._told = arrays["told"].copy()
