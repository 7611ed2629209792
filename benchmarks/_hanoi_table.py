"""The table of the benchmarks: a year of Hanoi, regenerated after LeakDB, with bins at the deciles of each sensor."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

import thence as th


@cache
def _whole() -> th.TransactionTable:
    data = th.datasets.load("hanoi", scenario=1)
    return th.transactions(data.sensors, windows="30min", bins=10, scope="sensor")


def hanoi_table(n_sensors: int) -> th.TransactionTable:
    """Return 17,520 transactions of sensors that are spread evenly over pressures, flows and demands."""
    whole = _whole()
    chosen = np.linspace(0, whole.n_features - 1, n_sensors).round().astype(int)
    return whole.select([whole.features[place] for place in chosen])


def fresh(table: th.TransactionTable) -> th.TransactionTable:
    """Return the same table without cached values."""
    return replace(table, blocks=tuple(replace(block) for block in table.blocks))


def plain(table: th.TransactionTable) -> tuple[NDArray[np.int8], list[int]]:
    """Return the codes (rows × features) and the number of codes of each feature."""
    return table.codes.astype(np.int8), [column.n_codes for column in table.blocks[0].columns]
