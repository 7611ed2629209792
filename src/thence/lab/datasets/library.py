"""Networks that WNTR includes, simulated: pressures, flows, demands, tank levels and the states of what switches.

One recipe for all of them: the demands of the network file with random factors, EPANET's controls as they are in the
file, and readings at a fixed step. No file is needed besides WNTR. The pump schedule of Net3 covers one week; here it
repeats daily, so that the pump also runs in the weeks after.

EPANET opens and closes links by the statements of the network file: "open the pump when the level of the tank is below
33.5 m", or at an hour. These statements are in no graph and in no reading; ``true_controls`` reads them from the file,
so that rules found in the readings can be compared with them. Only conditions with a single premise are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_integer
from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System, label_frame
from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError, InputError, nearest, require
from thence.lab.datasets.epanet import Network
from thence.lab.datasets.folders import choose_kinds
from thence.lab.datasets.water import (
    Gauge,
    Simulated,
    build_system,
    draw_factors,
    frame_of_readings,
    load_or_simulate,
    require_noise,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
KINDS = ("pressure", "flow", "demand", "level", "status")
_VERSION = 2
_MINUTES_PER_HOUR = 60
_TRIALS = 200


@dataclass(frozen=True)
class LibraryNetwork:
    """A network that WNTR includes, and how it is simulated.

    Args:
        name: The name of the data set.
        title: What the network is, for descriptions.
        file: The name of the file in WNTR.
        accuracy: Iterations stop when flows change by less than this fraction; ``None`` for the value of the file.
        daily: Links that are opened (``True``) or closed at an hour of every day, besides the controls of the file.

    Examples:
        >>> LibraryNetwork("net1", "EPANET's example network Net1", "Net1.inp").daily
        ()
    """

    name: str
    title: str
    file: str
    accuracy: float | None = 1e-5
    daily: tuple[tuple[str, float, bool], ...] = ()

    @property
    def path(self) -> Path:
        """The file in the installed WNTR."""
        wntr = require("wntr", extra="water")
        if wntr.__file__ is None:
            raise InputError("the networks of the package 'wntr' cannot be found")
        return Path(wntr.__file__).parent / "library" / "networks" / self.file


def _simulate(
    network: LibraryNetwork, *, days: int, step_minutes: int, seed: int, noise: float, progress: Progress
) -> Simulated:
    steps_per_day = 24 * 60 // step_minutes
    steps = days * steps_per_day
    with Network(network.path) as epanet:
        if network.accuracy is not None:
            epanet.set_accuracy(network.accuracy, trials=_TRIALS)
        switched = epanet.switched_links
        for link, hour, open_ in network.daily:
            epanet.add_daily_control(link, hour=hour, open_=open_)
        repeats = epanet.pattern_step_s // (60 * step_minutes)
        consumers = []
        # One generator for the days and one per junction, so that a short period is the beginning of a longer one.
        day_factors = np.repeat(draw_factors(np.random.default_rng([seed, 0]), (days,), spread=noise), steps_per_day)
        for number, junction in enumerate(epanet.junctions, start=1):
            categories = [category for category in epanet.demands(junction) if category[0] != 0]
            if not categories:
                continue
            consumers.append(junction)
            nominal = sum(base * np.resize(np.repeat(pattern, repeats), steps) for base, pattern in categories)
            demand = nominal * day_factors * draw_factors(np.random.default_rng([seed, number]), (steps,), spread=noise)
            epanet.set_demand(epanet.replace_demand(junction), demand)
        # States come last: the noise of a reading depends on its position among the numbers.
        gauges = [
            *(Gauge("pressure", name) for name in epanet.junctions),
            *(Gauge("flow", name) for name in epanet.links),
            *(Gauge("demand", name) for name in (*epanet.reservoirs, *consumers)),
            *(Gauge("level", name) for name in epanet.tanks),
            *(Gauge("status", name) for name in switched),
        ]
        table = epanet.simulate(
            [gauge.probe for gauge in gauges], steps=steps, step_s=step_minutes * 60, progress=progress
        )
    return frame_of_readings(table, gauges, start=START, step=timedelta(minutes=step_minutes)), {}


LIBRARY = {
    network.name: network
    for network in (
        LibraryNetwork("net1", "EPANET's example network Net1", "Net1.inp"),
        LibraryNetwork(
            "net3",
            "EPANET's example network Net3",
            "Net3.inp",
            accuracy=None,
            daily=(("10", 1, True), ("10", 15, False)),
        ),
        LibraryNetwork("ky4", "Kentucky water network 4", "ky4.inp"),
        LibraryNetwork("ky10", "Kentucky water network 10", "ky10.inp"),
        LibraryNetwork("net6", "WNTR's example network Net6", "Net6.inp"),
    )
}
"""The networks by the names of their data sets."""


def _dataset(name: str, *, sensors: int, step_minutes: int = 5) -> NamedDataset:
    network, step = LIBRARY[name], step_minutes

    def load(
        *,
        days: int = 28,
        step_minutes: int = step,
        seed: int = 0,
        demand_noise: float = 0.05,
        noise: float = 0.0,
        sensors: str | Iterable[str] = "all",
        progress: Progress = silent,
    ) -> System:
        """Simulate the network, or read it from the cache.

        Demands follow the patterns of the network, multiplied by one random factor per day and one per junction and
        step, both N(1, ``demand_noise``).

        Args:
            days: The number of days.
            step_minutes: The interval between readings; must divide an hour.
            seed: The random seed of the demands and of the noise of readings.
            demand_noise: The spread of the random factors of the demands, from 0 to below 1.
            noise: The noise of readings, from 0 to below 1: every number that is read is multiplied by a factor
                N(1, ``noise``) of its own, after the simulation. States are read without error.
            sensors: ``"all"``, or some of the kinds ``"pressure"``, ``"flow"``, ``"demand"``, ``"level"``,
                ``"status"``.
            progress: Receives the progress of the simulation.
        """
        require_integer("days", days)
        if step_minutes < 1 or _MINUTES_PER_HOUR % step_minutes:
            raise ConfigError(f"step_minutes must divide an hour, got {step_minutes}")
        require_noise("demand_noise", demand_noise)
        require_noise("noise", noise)
        kinds = choose_kinds(sensors, known=KINDS)
        given = {"days": days, "step_minutes": step_minutes, "seed": seed, "noise": demand_noise}
        daily = [list(control) for control in network.daily]
        frame, _ = load_or_simulate(
            name,
            parameters={"version": _VERSION, **given, "accuracy": network.accuracy, "daily": daily},
            sources=[network.path],
            simulate=lambda: _simulate(network, progress=progress, **given),  # type: ignore[arg-type]
        )
        return build_system(
            name,
            frame,
            inp=network.path,
            kinds=kinds,
            noise=noise,
            seeds=[seed],
            leaks=label_frame([]),
            description=f"{network.title}: {days} days at {step_minutes} min, seed {seed}",
            source="simulated with EPANET 2.2 from the network that comes with WNTR",
        )

    summary = f"{network.title}, simulated: {sensors:,} sensors, 28 days at {step} min"
    return NamedDataset(name, summary, "the extra 'water'", load)


NET1 = _dataset("net1", sensors=33)
NET3 = _dataset("net3", sensors=278, step_minutes=30)
KY4 = _dataset("ky4", sensors=3058)
KY10 = _dataset("ky10", sensors=2885)
NET6 = _dataset("net6", sensors=8934)


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
