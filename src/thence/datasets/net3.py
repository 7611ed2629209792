"""Net3, simulated: WNTR's example network with three tanks, two pumps and noisy demands.

The network comes with WNTR, so no file is needed. Its pump schedule covers one week; here it repeats daily, so that
the pump also runs in the weeks after.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from thence.datasets.cache import Simulated, load_or_simulate
from thence.datasets.demand import draw_factors
from thence.datasets.epanet import Network
from thence.datasets.named import NamedDataset
from thence.datasets.noise import add_noise, note_noise, require_noise
from thence.datasets.water import Gauge, build_system, frame_of_readings
from thence.errors import ConfigError, InputError, require
from thence.graph.system import System, label_frame
from thence.progress import Progress, silent
from thence.settings.numbers import require_integer

__all__ = ["DATASET", "load"]

START = datetime(2024, 1, 1, tzinfo=UTC)
_VERSION = 1
_PATTERN_STEP_MINUTES = 60


def load(
    *,
    days: int = 28,
    step_minutes: int = 30,
    seed: int = 0,
    demand_noise: float = 0.05,
    noise: float = 0.0,
    progress: Progress = silent,
) -> System:
    """Simulate Net3, or read it from the cache.

    Demands follow the patterns of the network, multiplied by one random factor per day and one per junction and step,
    both N(1, ``demand_noise``).

    Args:
        days: The number of days.
        step_minutes: The interval between readings; must divide an hour.
        seed: The random seed of the demands and of the noise of readings.
        demand_noise: The spread of the random factors of the demands, from 0 to below 1.
        noise: The noise of readings, from 0 to below 1: every reading is multiplied by a factor N(1, ``noise``) of its
            own, after the simulation. With 0, the default, readings are exact.
        progress: Receives the progress of the simulation.
    """
    require_integer("days", days)
    if step_minutes < 1 or _PATTERN_STEP_MINUTES % step_minutes:
        raise ConfigError(f"step_minutes must divide an hour, got {step_minutes}")
    require_noise("demand_noise", demand_noise)
    require_noise("noise", noise)
    inp = _network_file()
    frame, _ = load_or_simulate(
        "net3",
        parameters={
            "version": _VERSION,
            "days": days,
            "step_minutes": step_minutes,
            "seed": seed,
            "noise": demand_noise,
        },
        sources=[inp],
        simulate=lambda: _simulate(
            inp, days=days, step_minutes=step_minutes, seed=seed, noise=demand_noise, progress=progress
        ),
    )
    return build_system(
        "net3",
        inp=inp,
        gauges=[Gauge.from_id(column) for column in frame.columns if column != "time"],
        frame=add_noise(frame, noise=noise, seeds=[seed]),
        leaks=label_frame([]),
        description=f"EPANET's example network Net3: {days} days at {step_minutes} min, seed {seed}{note_noise(noise)}",
        source="simulated with EPANET 2.2 from the network that comes with WNTR",
    )


def _network_file() -> Path:
    wntr = require("wntr", extra="water")
    if wntr.__file__ is None:
        raise InputError("the networks of the package 'wntr' cannot be found")
    return Path(wntr.__file__).parent / "library" / "networks" / "Net3.inp"


def _simulate(inp: Path, *, days: int, step_minutes: int, seed: int, noise: float, progress: Progress) -> Simulated:
    steps_per_day = 24 * 60 // step_minutes
    steps = days * steps_per_day
    with Network(inp) as network:
        network.add_daily_control("10", hour=1, open_=True)
        network.add_daily_control("10", hour=15, open_=False)
        consumers = []
        # One generator for the days and one per junction, so that a short period is the beginning of a longer one.
        day_factors = np.repeat(draw_factors(np.random.default_rng([seed, 0]), (days,), spread=noise), steps_per_day)
        for number, junction in enumerate(network.junctions, start=1):
            categories = [category for category in network.demands(junction) if category[0] != 0]
            if not categories:
                continue
            consumers.append(junction)
            nominal = sum(
                base * np.resize(np.repeat(pattern, _PATTERN_STEP_MINUTES // step_minutes), steps)
                for base, pattern in categories
            )
            demand = nominal * day_factors * draw_factors(np.random.default_rng([seed, number]), (steps,), spread=noise)
            network.set_demand(network.replace_demand(junction), demand)
        gauges = [
            *(Gauge("pressure", name) for name in network.junctions),
            *(Gauge("flow", name) for name in network.links),
            *(Gauge("demand", name) for name in (*network.reservoirs, *consumers)),
            *(Gauge("level", name) for name in network.tanks),
        ]
        table = network.simulate(
            [gauge.probe for gauge in gauges], steps=steps, step_s=step_minutes * 60, progress=progress
        )
    return frame_of_readings(table, gauges, start=START, step=timedelta(minutes=step_minutes)), {}


DATASET = NamedDataset(
    "net3",
    "EPANET's example network Net3, simulated: 275 sensors, 28 days at 30 min",
    "the extra 'water'",
    load,
)
