"""The true controls of a simulated network: what the network file says, and how often it acted in the readings.

EPANET opens and closes links by the statements of the network file: "open the pump when the level of the tank is below
33.5 m", or at an hour. These statements are in no graph and in no reading; here they are read from the file, so that
rules found in the readings can be compared with them. Only conditions with a single premise are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError, InputError, nearest, require
from thence.lab.datasets.library import LIBRARY
from thence.lab.datasets.water import Gauge

__all__ = ["TrueControl", "count_actions", "true_controls"]

Direction = Literal["below", "above"]
_HOURS_PER_DAY = 24
_DIRECTIONS: dict[str, Direction] = {"<": "below", "<=": "below", ">": "above", ">=": "above"}


@dataclass(frozen=True, kw_only=True)
class TrueControl:
    """A control of a network file: a link gets a status when a reading passes a threshold, or at an hour of the day.

    Args:
        actuator: The sensor of the status of the link that is switched.
        status: The status that it gets: ``"open"`` or ``"closed"``.
        sensor: The sensor that is compared with the threshold; empty for a control by the clock.
        direction: On which side of the threshold the control acts; ``None`` for a control by the clock.
        threshold: The threshold in the unit of the sensor, or the hour of the day (0 to below 24).
        acted: How often the actuator changed to this status while the condition held; see ``count_actions``.
        sensor_range: The difference between the largest and the smallest reading of the sensor; 24 for the clock.

    Examples:
        >>> print(TrueControl(actuator="status_9", status="open", sensor="level_2", direction="below", threshold=33.5))
        status_9 becomes open when level_2 is below 33.5
        >>> print(TrueControl(actuator="status_10", status="closed", threshold=15.0))
        status_10 becomes closed at 15:00
    """

    actuator: str
    status: str
    sensor: str = ""
    direction: Direction | None = None
    threshold: float
    acted: int = 0
    sensor_range: float = float("nan")

    @property
    def by_clock(self) -> bool:
        """Whether the control acts at an hour of the day and not by a reading."""
        return self.direction is None

    def __str__(self) -> str:
        if self.by_clock:
            hour, minutes = divmod(round(60 * self.threshold), 60)
            return f"{self.actuator} becomes {self.status} at {hour:02}:{minutes:02}"
        return f"{self.actuator} becomes {self.status} when {self.sensor} is {self.direction} {self.threshold:.6g}"


def true_controls(name: str, sensors: SensorData | None = None) -> tuple[TrueControl, ...]:
    """Return the controls of a network, in the order of its file.

    Controls at a time of the simulation are given as an hour of the day, once: the schedule of Net3 repeats daily.

    Args:
        name: The name of the data set: ``"net1"``, ``"net3"``, ``"ky4"``, ``"ky10"`` or ``"net6"``.
        sensors: Readings of the data set, in which the actions of the controls are counted; ``None`` to count nothing.

    Raises:
        ConfigError: If there is no such network.
        InputError: If a control of the file has several premises or an ELSE clause, or does not set a status.

    Examples:
        >>> for control in true_controls("net1"):
        ...     print(control)
        status_9 becomes open when level_2 is below 33.528
        status_9 becomes closed when level_2 is above 42.672
    """
    if name not in LIBRARY:
        raise ConfigError(
            f"no controls are known for '{name}'; networks are {', '.join(LIBRARY)}", hint=nearest(name, LIBRARY)
        )
    wntr = require("wntr", extra="water")
    path = LIBRARY[name].path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # WNTR warns about curves that no link uses
        model = wntr.network.WaterNetworkModel(str(path))
    controls: dict[TrueControl, None] = {}
    for label, control in model.controls():
        try:
            controls.update(dict.fromkeys(_read(control)))
        except (AttributeError, KeyError, ValueError) as error:
            raise InputError(f"control '{label}' is not of a known form: {control}", where=str(path)) from error
    found = tuple(controls)
    return found if sensors is None else count_actions(found, sensors)


def _read(control: Any) -> Iterator[TrueControl]:
    """Yield the controls that one control of WNTR is: one per action."""
    condition = control.condition
    if getattr(control, "_else_actions", None):
        raise ValueError("the rule has an ELSE clause")
    direction: Direction | None
    if hasattr(condition, "_source_obj"):
        kind: Literal["level", "pressure"] = "level" if condition._source_obj.node_type == "Tank" else "pressure"
        sensor = Gauge(kind, condition._source_obj.name).id
        direction = _DIRECTIONS[condition._relation.symbol]
        threshold = float(f"{condition._threshold:.12g}")  # conversion of units leaves noise in the last digits
    else:
        sensor, direction = "", None
        threshold = condition._threshold / 3600 % _HOURS_PER_DAY
    for action in control.actions():
        link, attribute = action.target()
        if attribute != "status":
            raise ValueError(attribute)
        status = {0: "closed", 1: "open"}[int(action._value)]
        yield TrueControl(
            actuator=Gauge("status", link.name).id,
            status=status,
            sensor=sensor,
            direction=direction,
            threshold=threshold,
        )


def count_actions(controls: Iterable[TrueControl], sensors: SensorData) -> tuple[TrueControl, ...]:
    """Return controls with the number of times that they acted, and the range of the sensor that they watch.

    A control acted between two readings if its actuator had another status in the first and the status of the control
    in the second, and the watched reading passed the threshold between them. A control acts within a step and the
    reading may turn at once, so it counts as passed if it came as near as it moves in one step at most. A control by
    the clock acted if its hour lies after the first reading and not after the second.

    Args:
        controls: The controls.
        sensors: Readings, with the status of the actuators and the readings that the controls watch. A control whose
            sensors are missing has acted 0 times.

    Examples:
        >>> from datetime import datetime
        >>> frame = pl.DataFrame({
        ...     "time": [datetime(2024, 1, 1, hour) for hour in range(4)],
        ...     "level_T": [4.0, 3.0, 2.0, 3.0],
        ...     "status_P": ["closed", "closed", "open", "open"],
        ... })
        >>> control = TrueControl(
        ...     actuator="status_P", status="open", sensor="level_T", direction="below", threshold=2.5
        ... )
        >>> count_actions([control], SensorData.from_wide(frame))[0].acted
        1
    """
    chosen = tuple(controls)
    known = {sensor.id for sensor in sensors.sensors}
    needed = sorted({name for control in chosen for name in (control.actuator, control.sensor)} & known)
    frame = sensors.select(needed).to_polars()
    return tuple(_count(control, frame) for control in chosen)


def _count(control: TrueControl, frame: pl.DataFrame) -> TrueControl:
    if control.actuator not in frame.columns:
        return control
    states = frame[control.actuator].to_numpy()
    switched = (states[:-1] != control.status) & (states[1:] == control.status)
    if control.by_clock:
        times = frame["time"].dt.replace_time_zone(None).to_numpy()
        due = times.astype("datetime64[D]") + np.timedelta64(round(control.threshold * 3600), "s")
        held = (times[:-1] < due[1:]) & (due[1:] <= times[1:])
        return replace(control, acted=int((switched & held).sum()), sensor_range=float(_HOURS_PER_DAY))
    if control.sensor not in frame.columns:
        return control
    values: NDArray[np.float64] = frame[control.sensor].to_numpy()
    reach = np.nanmax(np.abs(np.diff(values)), initial=0.0)
    if control.direction == "below":
        held = np.fmin(values[:-1], values[1:]) - reach < control.threshold
    else:
        held = np.fmax(values[:-1], values[1:]) + reach > control.threshold
    return replace(
        control,
        acted=int((switched & held).sum()),
        sensor_range=float(np.nanmax(values) - np.nanmin(values)),
    )
