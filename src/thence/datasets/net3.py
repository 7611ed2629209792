"""Net3, simulated on the spot: WNTR's example network with three tanks, two pumps and noisy demands.

Nothing to fetch: the network comes with WNTR. EPANET's pump schedule covers one week; it is repeated daily here, so
that the fourth week is like the first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from thence.datasets.cache import Made, cached
from thence.datasets.demand import noisy
from thence.datasets.epanet import Network
from thence.datasets.water import Gauge, assemble, readings
from thence.errors import ConfigError, InputError, require
from thence.graph.system import System, label_frame
from thence.progress import Progress, silent

__all__ = ["load"]

START = datetime(2024, 1, 1, tzinfo=UTC)
_VERSION = 1
_PATTERN_STEP_MINUTES = 60


def load(
    *, days: int = 28, step_minutes: int = 30, seed: int = 0, noise: float = 0.05, progress: Progress = silent
) -> System:
    """Simulate (or read from the cache) ``days`` days of Net3.

    Demands follow the patterns of the network, times a factor of the day and one of each junction and step, both
    N(1, ``noise``): no two days are alike.
    """
    if days < 1:
        raise ConfigError(f"days must be at least 1, not {days}")
    if step_minutes < 1 or _PATTERN_STEP_MINUTES % step_minutes:
        raise ConfigError(f"step_minutes must divide an hour, not {step_minutes}")
    if not 0 <= noise < 1:
        raise ConfigError(f"noise must be 0 or more and below 1, not {noise}")
    inp = _network_file()
    frame, _ = cached(
        "net3",
        parameters={
            "version": _VERSION,
            "days": days,
            "step_minutes": step_minutes,
            "seed": seed,
            "noise": noise,
        },
        sources=[inp],
        make=lambda: _simulate(inp, days=days, step_minutes=step_minutes, seed=seed, noise=noise, progress=progress),
    )
    return assemble(
        "net3",
        inp=inp,
        gauges=[Gauge.from_id(column) for column in frame.columns if column != "time"],
        frame=frame,
        leaks=label_frame([]),
        description=f"EPANET's example network Net3: {days} days at {step_minutes} min, seed {seed}",
        source="simulated with EPANET 2.2 from the network that comes with WNTR",
    )


def _network_file() -> Path:
    wntr = require("wntr", extra="water")
    if wntr.__file__ is None:
        raise InputError("the package 'wntr' has no folder, so its networks cannot be found")
    return Path(wntr.__file__).parent / "library" / "networks" / "Net3.inp"


def _simulate(inp: Path, *, days: int, step_minutes: int, seed: int, noise: float, progress: Progress) -> Made:
    a_day = 24 * 60 // step_minutes
    steps = days * a_day
    with Network(inp) as network:
        network.daily_control("10", hour=1, open_=True)
        network.daily_control("10", hour=15, open_=False)
        consumers = []
        # One generator for the days and one per junction: a short period is the beginning of a longer one.
        of_day = np.repeat(noisy(np.random.default_rng([seed, 0]), (days,), spread=noise), a_day)
        for number, junction in enumerate(network.junctions, start=1):
            categories = [category for category in network.demands(junction) if category[0] != 0]
            if not categories:
                continue
            consumers.append(junction)
            nominal = sum(
                base * np.resize(np.repeat(pattern, _PATTERN_STEP_MINUTES // step_minutes), steps)
                for base, pattern in categories
            )
            own = nominal * of_day * noisy(np.random.default_rng([seed, number]), (steps,), spread=noise)
            network.fill_demand(network.own_demand(junction), own)
        gauges = [
            *(Gauge("pressure", name) for name in network.junctions),
            *(Gauge("flow", name) for name in network.links),
            *(Gauge("demand", name) for name in (*network.reservoirs, *consumers)),
            *(Gauge("level", name) for name in network.tanks),
        ]
        table = network.simulate(
            [gauge.read for gauge in gauges], steps=steps, step_s=step_minutes * 60, progress=progress
        )
    return readings(table, gauges, start=START, step=timedelta(minutes=step_minutes)), {}
