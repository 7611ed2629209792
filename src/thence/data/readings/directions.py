"""Directions: angles that begin anew after a full turn, such as those of the wind.

The mean of 350° and 10° is north and not south. Readings are unrolled before they are averaged, so that a step over
north is as short as it is, and rolled up again afterwards. This module works on plain arrays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.data.readings.sensors import Sensor
from thence.language.names import DEGREES, means_angle

Floats = npt.NDArray[np.float64]

TURN = 360.0
ON_A_CIRCLE = ("mean", "median")
"""Aggregates that go wrong where angles begin anew."""


def is_direction(sensor: Sensor) -> bool:
    """Return whether a sensor reads a direction, by its names and its unit.

    Args:
        sensor: The sensor.

    Examples:
        >>> is_direction(Sensor("wd", "wind_direction", "°")), is_direction(Sensor("Pitch", unit="°"))
        (True, False)
    """
    return (not sensor.unit or sensor.unit in DEGREES) and means_angle(sensor.id, sensor.kind)


def is_turn(values: Floats) -> bool:
    """Return whether numbers may be angles of one turn.

    Args:
        values: The numbers.
    """
    return bool(len(values)) and bool(values.min() >= -TURN / 2) and bool(values.max() <= TURN)


def unroll(values: Floats) -> Floats:
    """Return angles without jumps, so that they go on above a full turn.

    Args:
        values: The angles in the order of time.

    Examples:
        >>> unroll(np.array([350.0, 5.0, 340.0])).tolist()
        [350.0, 365.0, 340.0]
    """
    return np.asarray(np.unwrap(values, period=TURN))


def roll_up(values: Floats, *, signed: bool) -> Floats:
    """Return angles within one turn.

    Args:
        values: The angles.
        signed: Whether they are from −180 to 180 and not from 0 to 360.

    Examples:
        >>> roll_up(np.array([365.0, -10.0]), signed=False).tolist(), roll_up(np.array([350.0]), signed=True).tolist()
        ([5.0, 350.0], [-10.0])
    """
    low = -TURN / 2 if signed else 0.0
    rolled = (values - low) % TURN
    return np.asarray(np.where(rolled >= TURN, 0.0, rolled) + low).round(9)
