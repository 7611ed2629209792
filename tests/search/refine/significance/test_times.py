"""Features of time on independent, slowly changing sensors: false rules are no more frequent than stated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.search.refine.by_hand import autoregressive
from tests.search.refine.significance.test_testing import most_by_chance
from thence.data.readings.sensors import Sensor, SensorData
from thence.search.exact.miner import Exact
from thence.search.refine import Null, p_values, refine
from thence.tables.transactions import TransactionTable

START = datetime(2024, 1, 1, tzinfo=UTC)


def sensors(values: np.ndarray, states: np.ndarray) -> SensorData:
    """Numbers ``n0``, ``n1`` … and states ``s0``, ``s1`` …, one reading per hour."""
    frame = {"time": [START + timedelta(hours=at) for at in range(len(values))]}
    frame |= {f"n{j}": values[:, j] for j in range(values.shape[1])}
    frame |= {f"s{j}": np.where(states[:, j], "on", "off") for j in range(states.shape[1])}
    known = [Sensor(name, name, categorical=name[0] == "s") for name in frame if name != "time"]
    return SensorData.from_wide(pl.DataFrame(frame), sensors=known)


def noise_table(seed: int, derive: list[str], *, memory: float = 0.9, frames: int = 300) -> TransactionTable:
    """Three numbers and two states that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    made = autoregressive(rng, frames, memory, 5)
    return th.transactions(sensors(made[:, :3], made[:, 3:] > 0), windows="1h", bins=3, derive=derive)


@pytest.mark.parametrize(
    "derive", [["lag:2", "lag:6"], ["switch", "within:3h"], ["duration", "within:6h"]], ids=["lags", "events", "runs"]
)
def test_noise_gives_rules_no_more_often_than_the_stated_level(derive: list[str]) -> None:
    level, tables = 0.05, 30
    bounds = {"min_support": 0.02, "min_confidence": 0.7}
    miner = Exact(max_antecedents=2, **bounds)
    alarms = with_rules = 0
    for seed in range(tables):
        table = noise_table(seed, derive)
        rules = miner.mine(table)
        with_rules += any(item.feature.time for item in rules.items)
        if len(rules):
            left = refine(rules, table, significance=level, null=Null(draws=99), seed=seed, **bounds)
            alarms += len(left) > 0
    assert with_rules > tables / 4
    assert alarms < most_by_chance(tables, level)


def test_a_true_delay_and_a_true_control_are_significant() -> None:
    """``s0`` follows ``n0`` two hours later: the lag and what follows say so, and nothing else does."""
    rng = np.random.default_rng(2)
    values = autoregressive(rng, 900, 0.8, 3)
    follows = np.roll(values[:, 0] > 0.8, 2)
    table = th.transactions(sensors(values, follows[:, None]), windows="1h", bins=3, derive=["lag:2", "switch"])
    rules = Exact(max_antecedents=1, min_support=0.02, min_confidence=0.7).mine(table)
    kept = p_values(rules, table, alpha=0.05, null=Null(draws=99))
    about = {(item.feature.subject, item.feature.name) for rule in kept for item in rule.antecedent}
    assert ("n0", "lag:2h") in about
    assert {subject for subject, _ in about} == {"n0"}
