"""Networks that WNTR includes, simulated: pressures, flows, demands, tank levels and the states of what switches.

One recipe for all of them: the demands of the network file with random factors, EPANET's controls as they are in the
file, and readings at a fixed step. The graph describes the network without its controls, so these can be searched for
in the readings; ``thence.lab.datasets.controls_truth`` reads them from the file. No file is needed besides WNTR.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_integer
from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System, label_frame
from thence.errors import ConfigError, InputError, require
from thence.lab.datasets.cache import Simulated, load_or_simulate
from thence.lab.datasets.demand import draw_factors
from thence.lab.datasets.epanet import Network
from thence.lab.datasets.noise import add_noise, note_noise, require_noise
from thence.lab.datasets.sensor_kinds import choose_kinds
from thence.lab.datasets.water import Gauge, build_system, frame_of_readings

__all__ = ["KY4", "KY10", "LIBRARY", "NET1", "NET6", "LibraryNetwork", "load_network"]

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


def load_network(
    network: LibraryNetwork,
    *,
    days: int,
    step_minutes: int,
    seed: int,
    demand_noise: float,
    noise: float,
    sensors: str | Iterable[str],
    progress: Progress,
) -> System:
    """Simulate a network, or read it from the cache.

    Demands follow the patterns of the network, multiplied by one random factor per day and one per junction and step,
    both N(1, ``demand_noise``).

    Args:
        network: The network.
        days: The number of days.
        step_minutes: The interval between readings; must divide an hour.
        seed: The random seed of the demands and of the noise of readings.
        demand_noise: The spread of the random factors of the demands, from 0 to below 1.
        noise: The noise of readings, from 0 to below 1: every number that is read is multiplied by a factor
            N(1, ``noise``) of its own, after the simulation. States are read without error.
        sensors: ``"all"``, or some of the kinds ``"pressure"``, ``"flow"``, ``"demand"``, ``"level"``, ``"status"``.
        progress: Receives the progress of the simulation.
    """
    require_integer("days", days)
    if step_minutes < 1 or _MINUTES_PER_HOUR % step_minutes:
        raise ConfigError(f"step_minutes must divide an hour, got {step_minutes}")
    require_noise("demand_noise", demand_noise)
    require_noise("noise", noise)
    kinds = choose_kinds(sensors, known=KINDS)
    inp = network.path
    frame, _ = load_or_simulate(
        network.name,
        parameters={
            "version": _VERSION,
            "days": days,
            "step_minutes": step_minutes,
            "seed": seed,
            "noise": demand_noise,
            "accuracy": network.accuracy,
            "daily": [list(control) for control in network.daily],
        },
        sources=[inp],
        simulate=lambda: _simulate(
            network, days=days, step_minutes=step_minutes, seed=seed, noise=demand_noise, progress=progress
        ),
    )
    gauges = [Gauge.from_id(column) for column in frame.columns if column != "time"]
    return build_system(
        network.name,
        inp=inp,
        gauges=[gauge for gauge in gauges if gauge.kind in kinds],
        frame=add_noise(frame, noise=noise, seeds=[seed]),
        leaks=label_frame([]),
        description=f"{network.title}: {days} days at {step_minutes} min, seed {seed}{note_noise(noise)}",
        source="simulated with EPANET 2.2 from the network that comes with WNTR",
    )


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


def _dataset(name: str, *, sensors: int) -> NamedDataset:
    network = LIBRARY[name]

    def load(
        *,
        days: int = 28,
        step_minutes: int = 5,
        seed: int = 0,
        demand_noise: float = 0.05,
        noise: float = 0.0,
        sensors: str | Iterable[str] = "all",
        progress: Progress = silent,
    ) -> System:
        return load_network(
            network,
            days=days,
            step_minutes=step_minutes,
            seed=seed,
            demand_noise=demand_noise,
            noise=noise,
            sensors=sensors,
            progress=progress,
        )

    summary = f"{network.title}, simulated: {sensors:,} sensors, 28 days at 5 min"
    return NamedDataset(name, summary, "the extra 'water'", load)


NET1 = _dataset("net1", sensors=33)
KY4 = _dataset("ky4", sensors=3058)
KY10 = _dataset("ky10", sensors=2885)
NET6 = _dataset("net6", sensors=8934)
