"""Bins that are used again: those of kinds and roles, and those of single sensors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

import thence as th
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import window
from thence.tables.discretization import Discretizer
from thence.tables.later import reuse_bins


def test_bins_of_a_kind_that_has_the_name_of_a_sensor_are_those_of_the_kind() -> None:
    """Regression: they were taken for the sensor's own, dropped, and fitted on the later readings.

    Of 50 rules of an air handler with ``scope="kind"`` 24 were "not bound" on later data of the same system.
    """
    times = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=at) for at in range(48)]
    frame = pl.DataFrame({"time": times, "supply": np.arange(48.0), "other": np.arange(48.0), "alone": np.arange(48.0)})
    sensors = [Sensor("supply", kind="temperature"), Sensor("other", kind="temperature"), Sensor("alone")]
    data = th.SensorData.from_wide(frame, sensors=sensors)
    readings = window(data, "1h")
    values = {key: np.arange(9.0) for key in ("supply", "temperature", "alone", "supply.change")}
    bins = Discretizer(bins=3, systems=("plant",), places={"alone": "n1"}).fit(values)

    def kept(node: str) -> set[str]:
        return set(reuse_bins(bins, readings, lambda _: node, ("plant",)).discretizer.binnings)

    assert kept("n1") == {"supply", "supply.change", "temperature", "alone"}
    assert kept("n2") == {"supply", "supply.change", "temperature"}  # the sensor without a kind is at another node
