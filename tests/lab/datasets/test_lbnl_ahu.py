from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

import thence.data.datasets as datasets
from tests.helpers.publishers import publish
from thence.errors import ConfigError, InputError
from thence.lab.datasets import folders
from thence.lab.datasets.lbnl_ahu import UNITS, Unit, brick_model

FOLDER = "lbnl_fdd_2020"


@pytest.mark.parametrize("unit", UNITS)
def test_the_model_knows_every_point_and_the_way_of_the_air(unit: Unit) -> None:
    graph, binding = brick_model(unit)
    facts = folders.packaged_facts("lbnl.toml")
    assert set(binding) <= set(facts["points"])
    assert len(binding) == (17 if unit == "MZVAV-2-1" else 14)
    for sensor, node in binding.items():
        (equipment,) = graph.in_edges(node, "hasPoint")
        assert sensor.startswith(("supply", "return", "outdoor", "exhaust", "mixed", "cooling", "heating", "occup"))
        assert equipment.source in graph.nodes
    reached = graph.neighbours("Outdoor_Air_Damper", hops=4, label="feeds", direction="out")
    assert {"Cooling_Coil", "Heating_Coil", "Supply_Fan"} < set(reached)
    assert reached["Supply_Fan"] == 3
    assert not graph.with_label("TimeseriesReference")
    assert {subject for subject, _ in facts["faults"][unit].values()} <= set(graph.nodes)


@pytest.mark.parametrize("unit", UNITS)
def test_the_data_are_whole_and_keep_to_brick(published: Path, unit: str) -> None:
    data = datasets.load("lbnl-ahu", unit=unit)
    data.binding.check(data.sensors, data.graph)
    assert data.ontology.name.startswith("Brick")
    assert data.ontology.validate(data.graph, deprecated=True) == ()
    assert not [sensor for sensor in data.sensors.ids if "truth" in sensor]
    frame = data.sensors.to_polars()
    assert frame.height == {"MZVAV-2-1": 21600, "SZCAV": 21600, "SZVAV": 15839}[unit]
    assert set(frame["supply_air_fan_status"].unique()) <= {"off", "on"}
    occupied = frame.filter(pl.col("occupancy_mode_indicator") == "occupied")["time"].dt.hour()
    assert (occupied.min(), occupied.max()) == (6, 17)
    assert data.sensors.sensor("supply_air_temperature").unit == "°F"


def test_days_without_an_experiment_are_gaps(published: Path) -> None:
    frame = datasets.load("lbnl-ahu").sensors.to_polars()
    days = frame["time"].dt.date().unique().sort().to_list()
    assert len(days) == 15 and days[0] == date(2007, 8, 28) and days[-1] == date(2009, 5, 31)


def test_faults_are_labelled_with_component_and_intensity(published: Path) -> None:
    labels = datasets.load("lbnl-ahu", unit="SZCAV").labels
    assert labels is not None and labels.height == 14 and set(labels["label"]) == {"fault"}
    row = labels.filter(pl.col("start") == datetime(2017, 3, 21, tzinfo=UTC)).row(0, named=True)
    assert row["end"] == datetime(2017, 3, 22, tzinfo=UTC)
    assert (row["subject"], row["details"]) == ("Outdoor_Air_Damper", "leaking, 50% of maximum flow")
    variable = datasets.load("lbnl-ahu", unit="SZVAV").labels
    assert variable is not None and variable.height == 7


def test_where_ground_truth_and_inventory_differ_the_day_is_disputed(published: Path) -> None:
    """The file calls 30 August 2007 unfaulted; the inventory lists it as the third stage of a leak."""
    labels = datasets.load("lbnl-ahu").labels
    assert labels is not None
    assert labels["label"].to_list() == ["fault", "fault", "disputed"]
    assert labels["details"][2] == "ground truth unfaulted, inventory: leaking, stage 3: 2.0 GPM"


def test_cells_without_a_number_are_missing_and_reported(published: Path) -> None:
    data = datasets.load("lbnl-ahu", unit="SZCAV").sensors
    assert data.to_polars()["mixed_air_temperature"].null_count() == 90
    assert "90 cells of 'mixed_air_temperature' without a number ('#VALUE!'), taken as missing" in str(data.report)
    setpoint = datasets.load("lbnl-ahu", unit="SZVAV").sensors.to_polars()["supply_air_temperature_heating_set_point"]
    assert setpoint.null_count() == 590


def test_an_unknown_unit_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"unknown unit 'szvav'.*did you mean 'SZVAV'"):
        datasets.load("lbnl-ahu", unit="szvav")


def test_absent_and_foreign_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"SZCAV.csv.*Lawrence Berkeley"):
        datasets.load("lbnl-ahu", unit="SZCAV", path=tmp_path)
    (tmp_path / "SZCAV.csv").write_text("Datetime,AHU: Humidity\n3/11/2017 0:00,1\n")
    with pytest.raises(
        InputError, match=r"SZCAV.csv: .*missing \['Fault Detection Ground Truth'\], unknown \['AHU: Hum"
    ):
        datasets.load("lbnl-ahu", unit="SZCAV", path=tmp_path)


def test_the_declared_files_are_those_of_the_publishers(published: Path) -> None:
    lbnl, brick = datasets.info("lbnl-ahu").published
    assert all(file.is_intact(published / file.name) for file in lbnl.files)
    assert all(file.is_intact(published.parent / "ontologies" / file.name) for file in brick.files)


def test_what_is_downloaded_gives_the_same_data_set(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LBNL's files have Windows' line ends where they are published; the checksums are those without."""
    here = datasets.load("lbnl-ahu", unit="SZVAV")
    with publish() as server:
        windows = (published / "SZVAV.csv").read_bytes().replace(b"\n", b"\r\n")
        server.files["/lbnl_fdd_2020/SZVAV.csv"] = windows
        server.files["/ontologies/Brick-1.3.ttl"] = (published.parent / "ontologies" / "Brick-1.3.ttl").read_bytes()
        monkeypatch.setattr(folders, "data_folders", lambda: (tmp_path / "data",))
        for name, value in (("CACHE", str(tmp_path)), ("MIRROR", server.url), ("OFFLINE", "")):
            monkeypatch.setenv(f"THENCE_{name}", value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        fetched = datasets.load("lbnl-ahu", unit="SZVAV")
    assert fetched.sensors.to_polars().equals(here.sensors.to_polars())
    assert fetched.ontology.to_dict() == here.ontology.to_dict()
    # By hand, a file may also be put into the cache as it is published.
    (tmp_path / "data" / "lbnl_fdd_2020" / "SZVAV.csv").write_bytes(windows)
    assert datasets.load("lbnl-ahu", unit="SZVAV").sensors.to_polars().equals(here.sensors.to_polars())
