"""The lower bound of a confidence keeps its promise for what follows within some time, whose rows overlap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

import thence as th
from tests.search.refine.by_hand import autoregressive
from thence.data.readings.sensors import Sensor, SensorData
from thence.statements.counting.recount import recount

STAYS, AHEAD = 0.9, 6
# A chain that is off stays off, and one that is on stays on or goes off once: neither switches to on.
TRUE = 1 - (STAYS**AHEAD + AHEAD * (1 - STAYS) * STAYS ** (AHEAD - 1) / 2)


def chain(rng: np.random.Generator, frames: int) -> np.ndarray:
    """A state that stays with probability ``STAYS``."""
    turns = rng.random(frames) >= STAYS
    return np.asarray((np.cumsum(turns) + rng.integers(2)) % 2 == 1)


def test_the_bound_of_what_follows_keeps_its_promise() -> None:
    rng = np.random.default_rng(0)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    times = [start + timedelta(hours=at) for at in range(1000)]
    sensors = [Sensor("n", "n"), Sensor("s", "s", categorical=True)]
    missed = judged = 0
    for _ in range(80):
        frame = pl.DataFrame(
            {"time": times, "n": autoregressive(rng, 1000, 0.95, 1)[:, 0], "s": np.where(chain(rng, 1000), "on", "off")}
        )
        data = SensorData.from_wide(frame, sensors=sensors)
        table = th.transactions(data, windows="1h", bins=3, derive=["lag:2", "switch", f"within:{AHEAD}"])
        block = table.blocks[0]
        items = [block.item(number) for number in range(block.n_items)]
        (right,) = (k for k, item in enumerate(items) if item.feature.name == "within:6h:to:on" and item.value is True)
        left = [k for k, item in enumerate(items) if item.feature.subject == "n"]
        rules = recount(np.array(left)[:, None], np.full(len(left), right), table)
        bounds = th.evaluate.add_confidence_bound(rules, table, assurance=0.95).measure("assured_confidence")
        judged += int(np.isfinite(bounds).sum())
        missed += int((bounds > TRUE).sum())
    assert judged > 400
    assert missed <= 0.08 * judged
