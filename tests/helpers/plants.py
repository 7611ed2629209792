"""A plant with a pump, for tests of monitors: the pump is on or off, and flow and pressure follow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

import thence as th
from thence.checks.monitor.batches import Batch, Roster
from thence.runs.run import Run

START = datetime(2024, 1, 1, tzinfo=UTC)


def plant(days: int, *, seed: int = 0, broken_from: int | None = None, first_day: int = 0) -> pl.DataFrame:
    """Readings every 10 minutes; from a day on, the flow no longer follows the pump."""
    random = np.random.default_rng(seed)
    n = days * 144
    step = np.arange(n)
    on = (step // 9 + random.integers(0, 2, n) * 0) % 2 == 0
    flow = np.where(on, 20 + random.normal(0, 1, n), 0.0)
    if broken_from is not None:
        late = step >= broken_from * 144
        flow = np.where(late, random.permutation(flow), flow)
    pressure = 5 - flow / 10 + random.normal(0, 0.05, n)
    begin = START + timedelta(days=first_day)
    return pl.DataFrame(
        {
            "time": [begin + timedelta(minutes=10 * k) for k in range(n)],
            "pump": np.where(on, "on", "off"),
            "flow": np.round(flow, 2),
            "pressure": np.round(pressure, 2),
        }
    )


def mined(path: Path | None = None, *, days: int = 30, **settings: object) -> Run:
    """A run on normal days of the plant."""
    given: dict[str, object] = {"windows": "30min", "bins": 3, "max_antecedents": 1, "min_confidence": 0.7}
    return th.mine(plant(days), progress="off", out=path, **{**given, **settings})  # type: ignore[arg-type]


def rows_of(frame: pl.DataFrame, roster: Roster) -> list[tuple[int, int, float]]:
    """The readings of a wide frame in the order of their times."""
    out = []
    times = (frame["time"].dt.epoch("us")).to_list()
    columns = {name: frame[name].to_list() for name in frame.columns if name in roster.position}
    for row, time in enumerate(times):
        for name, values in columns.items():
            if values[row] is not None:
                number = roster.encode(roster.position[name], values[row])
                assert number is not None
                out.append((time, roster.position[name], number))
    return out


def batch_of(frame: pl.DataFrame, roster: Roster) -> Batch:
    """All readings of a wide frame as one batch."""
    return Batch.of(rows_of(frame, roster))
