"""The networks that WNTR includes, simulated: their sensors, their physics, and that no control is in the graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.data.loaders import read_graph
from thence.errors import ConfigError
from thence.lab.datasets.library import LIBRARY

KINDS = {
    "net1": {"demand": 9, "flow": 13, "level": 1, "pressure": 9, "status": 1},
    "ky4": {"demand": 935, "flow": 1158, "level": 4, "pressure": 959, "status": 2},
    "ky10": {"demand": 873, "flow": 1061, "level": 13, "pressure": 920, "status": 18},
    "net6": {"demand": 1622, "flow": 3892, "level": 32, "pressure": 3323, "status": 65},
}


@pytest.mark.parametrize("name", KINDS)
def test_every_element_has_its_sensors(name: str) -> None:
    data = datasets.load(name, days=1, step_minutes=60)
    data.binding.check(data.sensors, data.graph)
    assert data.ontology is not None and data.ontology.validate(data.graph) == ()
    kinds = [sensor.kind for sensor in data.sensors.sensors]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == KINDS[name]
    assert f"{len(kinds):,} sensors" in datasets.info(name).summary
    frame = data.sensors.to_polars()
    assert frame.shape == (24, len(kinds) + 1)
    assert frame.null_count().sum_horizontal().item() == 0
    assert data.labels is not None and data.labels.height == 0


@pytest.mark.parametrize("name", LIBRARY)
def test_no_control_is_in_the_data_set(name: str, tmp_path: Path) -> None:
    """Controls are to be found in the readings: the graph is the one of the network file without its controls."""
    text = LIBRARY[name].path.read_text(encoding="utf-8", errors="replace")
    bare = re.sub(r"(?ims)^\[(CONTROLS|RULES)\].*?(?=^\[)", "", text)
    assert len(bare) < len(text)
    (tmp_path / "bare.inp").write_text(bare, encoding="utf-8")
    data = datasets.load(name, days=1, step_minutes=60)
    without = read_graph(tmp_path / "bare.inp")
    assert dict(data.graph.nodes) == dict(without.nodes)
    assert dict(data.graph.edges) == dict(without.edges)
    assert data.labels is not None and data.labels.is_empty()
    assert "level" not in data.description and "threshold" not in data.description


def test_net1_repeats_a_demand_pattern_of_two_hours() -> None:
    """The values of a pattern hold as long as the file says, not one step of the readings."""
    demand = datasets.load("net1", days=2, demand_noise=0.0).sensors.to_polars()["demand_11"].to_numpy()
    assert np.ptp(demand[:24]) == 0 and demand[24] != demand[23]
    assert demand[:288] == pytest.approx(demand[288:])


def test_the_pump_of_net1_follows_the_level_of_its_tank() -> None:
    frame = datasets.load("net1", days=7).sensors.to_polars()
    switches_on = (frame["status_9"] == "open") & (frame["status_9"].shift(1) == "closed")
    levels = frame.filter(switches_on)["level_2"]
    assert len(levels) >= 4
    assert levels.to_numpy() == pytest.approx(33.528, abs=0.1)


def test_closed_links_carry_no_water() -> None:
    frame = datasets.load("ky10", days=1, step_minutes=60).sensors.to_polars()
    for name in (column for column in frame.columns if column.startswith("status_")):
        flow = frame.filter(pl.col(name) == "closed")[name.replace("status_", "flow_")]
        assert flow.is_empty() or np.abs(flow.to_numpy()).max() < 1e-2


def test_a_short_period_is_the_beginning_of_a_longer_one() -> None:
    short, longer = (datasets.load("net1", days=days).sensors.to_polars() for days in (1, 2))
    assert short.equals(longer.head(288))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": 0}, "days must be an integer >= 1"),
        ({"step_minutes": 7}, "must divide an hour"),
        ({"demand_noise": 1.0}, "demand_noise must be >= 0"),
        ({"sensors": ()}, "no kind of sensor was asked for"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        datasets.load("net1", **options)


def test_every_network_is_in_wntr() -> None:
    for name, network in LIBRARY.items():
        assert network.name == name and network.path.is_file()
