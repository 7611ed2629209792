"""Net3, simulated: WNTR's example network with three tanks, two pumps and noisy demands.

The network comes with WNTR, so no file is needed. Its pump schedule covers one week; here it repeats daily, so that
the pump also runs in the weeks after.
"""

from __future__ import annotations

from collections.abc import Iterable

from thence._base.progress import Progress, silent
from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System
from thence.lab.datasets.library import LIBRARY, load_network

__all__ = ["DATASET", "load"]


def load(
    *,
    days: int = 28,
    step_minutes: int = 30,
    seed: int = 0,
    demand_noise: float = 0.05,
    noise: float = 0.0,
    sensors: str | Iterable[str] = "all",
    progress: Progress = silent,
) -> System:
    """Simulate Net3, or read it from the cache.

    Args:
        days: The number of days.
        step_minutes: The interval between readings; must divide an hour.
        seed: The random seed of the demands and of the noise of readings.
        demand_noise: The spread of the random factors of the demands, from 0 to below 1.
        noise: The noise of readings, from 0 to below 1: every number that is read is multiplied by a factor
            N(1, ``noise``) of its own, after the simulation. With 0, the default, readings are exact.
        sensors: ``"all"``, or some of the kinds ``"pressure"``, ``"flow"``, ``"demand"``, ``"level"``, ``"status"``.
        progress: Receives the progress of the simulation.
    """
    return load_network(
        LIBRARY["net3"],
        days=days,
        step_minutes=step_minutes,
        seed=seed,
        demand_noise=demand_noise,
        noise=noise,
        sensors=sensors,
        progress=progress,
    )


DATASET = NamedDataset(
    "net3",
    "EPANET's example network Net3, simulated: 278 sensors, 28 days at 30 min",
    "the extra 'water'",
    load,
)
