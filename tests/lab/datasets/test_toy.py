from __future__ import annotations

import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.data.graph.system import System


@pytest.fixture(scope="module")
def toy() -> System:
    return datasets.load("toy")


def test_it_is_whole(toy: System) -> None:
    toy.binding.check(toy.sensors, toy.graph)
    assert toy.ontology.validate(toy.graph) == ()
    assert toy.labels is not None and toy.labels.height == 0
    assert {sensor.id: (sensor.kind, sensor.unit) for sensor in toy.sensors.sensors} == {
        "pressure_A": ("pressure", "m"),
        "pressure_B": ("pressure", "m"),
        "pressure_C": ("pressure", "m"),
        "flow_AB": ("flow", "m3/h"),
        "flow_BC": ("flow", "m3/h"),
    }


def test_it_has_two_days_without_a_gap(toy: System) -> None:
    frame = toy.sensors.to_polars()
    assert frame.shape == (96, 6)
    assert frame["time"].diff().drop_nulls().unique().dt.total_minutes().to_list() == [30]
    assert frame.null_count().sum_horizontal().item() == 0


def test_the_known_rule_holds_without_exception(toy: System) -> None:
    frame = toy.sensors.to_polars()
    high_flow = frame.filter(pl.col("flow_AB") >= 40)
    assert high_flow.height == 20
    assert high_flow["pressure_C"].max() < 41  # type: ignore[operator]
    assert frame.filter(pl.col("pressure_C") < 41).height < 96


def test_water_runs_from_a_to_c(toy: System) -> None:
    frame = toy.sensors.to_polars()
    assert (frame["flow_AB"] > frame["flow_BC"]).all()
    head = {name: frame[f"pressure_{name}"] + toy.graph.value(f"Junction {name}", "elevation") for name in "ABC"}
    assert (head["A"] > head["B"]).all() and (head["B"] > head["C"]).all()
