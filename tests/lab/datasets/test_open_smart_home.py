from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.cli.datasets import _write as write_files
from thence.data.graph.system import System
from thence.errors import InputError
from thence.runs.configuration import Config
from thence.runs.inputs import load_job

FOLDER = "opensmarthome"


def test_every_sensor_of_the_graph_is_bound(published: Path) -> None:
    home = datasets.load("open-smart-home")
    home.binding.check(home.sensors, home.graph)
    assert home.ontology.validate(home.graph) == ()
    devices = {*home.graph.with_label("Sensor"), *home.graph.with_label("Actuator")}
    assert len(devices) == 32
    assert set(home.binding.values()) == devices
    assert home.binding["Room3_left_ThermostatTemperature"] == "Room3-tempTli-Sensor"
    assert home.binding["Kitchen_SetpointHistory"] == "Kitchen-tempS-Actuator"
    assert home.graph.neighbours("Kitchen-temp-Sensor", label="containsElement") == {"Kitchen": 1}
    assert home.ontology.is_a("Kitchen", "Space")


def test_only_copies_of_the_outdoor_temperature_are_left_out(published: Path) -> None:
    home = datasets.load("open-smart-home")
    series = published / "Measurements"
    assert len(home.binding.left_out) == 5 and len(list(series.glob("*.csv"))) == 37
    kept = (series / "Room3_Virtual_OutdoorTemperature.csv").read_bytes()
    assert all((series / f"{name}.csv").read_bytes() == kept for name in home.binding.left_out)
    assert "Kitchen_Virtual_OutdoorTemperature" in str(home.sensors.report)


def test_no_reading_is_lost_or_invented(published: Path) -> None:
    home = datasets.load("open-smart-home")
    frame = home.sensors.to_polars()
    for sensor in ("Room1_Temperature", "Toilet_SetpointHistory", "Room3_Virtual_OutdoorTemperature"):
        lines = (published / "Measurements" / f"{sensor}.csv").read_text().splitlines()
        readings = frame.select("time", sensor).drop_nulls()
        assert readings.height == len(lines)
        seconds, value = lines[0].split("\t")
        assert (readings["time"].dt.epoch("s")[0], readings[sensor][0]) == (int(seconds), float(value))
    assert home.sensors.sensor("Bathroom_Humidity").unit == "%"
    assert isinstance(home.sensors.lazy, pl.LazyFrame)


def test_a_series_that_is_no_table_is_an_error_with_its_name(published: Path, tmp_path: Path) -> None:
    for file in published.glob("*.ttl"):
        shutil.copy(file, tmp_path)
    with pytest.raises(InputError, match=r"are missing: Measurements/Bathroom_Brightness.csv.* and 28 more"):
        datasets.load("open-smart-home", path=tmp_path)
    shutil.copytree(published / "Measurements", tmp_path / "Measurements")
    for name in datasets.load("open-smart-home").binding.left_out:
        (tmp_path / "Measurements" / f"{name}.csv").unlink()
    assert datasets.load("open-smart-home", path=tmp_path).binding.left_out == {}
    (tmp_path / "Measurements" / "Room1_Humidity.csv").write_text("1489021895\t40\nlater\t41\n")
    with pytest.raises(InputError, match=r"Room1_Humidity.csv: not a table of Unix seconds"):
        datasets.load("open-smart-home", path=tmp_path)


def test_the_declared_files_are_those_of_the_publisher(published: Path) -> None:
    (home,) = datasets.info("open-smart-home").published
    assert len(home.files) == 41 and all(file.is_intact(published / file.name) for file in home.files)


def test_absent_data_name_their_publisher(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Fraunhofer"):
        datasets.load("open-smart-home", path=tmp_path)


def test_written_files_give_the_same_system(published: Path, tmp_path: Path) -> None:
    """Long readings were written as a wide table."""
    whole = datasets.load("open-smart-home")
    few = replace(whole, sensors=whole.sensors.select(whole.sensors.ids[:3]))
    write_files(few, tmp_path / "home", force=False)
    again = load_job(Config.from_toml(tmp_path / "home" / "config.toml"))
    assert isinstance(again, System)
    assert again.sensors.sensors == few.sensors.sensors and again.sensors.layout == few.sensors.layout == "long"
    assert again.sensors.to_polars().equals(few.sensors.to_polars())
