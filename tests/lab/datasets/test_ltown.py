"""L-Town: BattLeDIM's sensors and leaks, and how close the simulation comes to its four published channels."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.errors import ConfigError, InputError
from thence.lab.datasets import folders, ltown

FOLDER = "ltown"


def listed(config: str, section: str) -> list[str]:
    lines = config.split(f"{section}:\n", 1)[1].splitlines()
    items = []
    for line in lines:
        if not line.startswith("- "):
            break
        items.append(line[2:].strip())
    return items


@pytest.mark.parametrize("year", ["", "_historical", "_evaluation"])
def test_the_sensors_are_those_of_battledim(published: Path, year: str) -> None:
    config = (published / f"dataset_configuration{year}.yalm").read_text()
    assert tuple(listed(config, "pressure_sensors")) == ltown.PRESSURE_GAUGES and len(ltown.PRESSURE_GAUGES) == 33
    assert tuple(listed(config, "flow_sensors")) == ltown.FLOW_METERS
    assert tuple(listed(config, "level_sensors")) == ltown.LEVEL_GAUGES
    assert tuple(listed(config, "amrs")) == ltown.AMRS and len(ltown.AMRS) == 82


def test_it_is_whole() -> None:
    data = datasets.load("ltown", days=1, leaks=False)
    data.binding.check(data.sensors, data.graph)
    assert data.ontology.validate(data.graph) == ()
    assert len(data.sensors) == 119
    frame = data.sensors.to_polars()
    assert frame.shape == (288, 120) and frame.null_count().sum_horizontal().item() == 0
    assert (data.binding["flow_PUMP_1"], data.binding["level_T1"]) == ("Pump PUMP_1", "Tank T1")
    assert not [node for node in data.graph.nodes if "~" in node], "leak junctions are no part of the graph"


def test_leaks_are_labelled_and_drawn_from_their_pipes(published: Path) -> None:
    """On 15 January at 23:00 an abrupt leak of about 25 m³/h begins in p523, beside four old ones."""
    data = datasets.load("ltown", start="2019-01-15", days=2)
    dry = datasets.load("ltown", start="2019-01-15", days=2, leaks=False)
    assert data.labels is not None and dry.labels is not None and dry.labels.height == 0
    assert data.labels.height == 5
    new = data.labels.filter(pl.col("start") > data.labels["start"].min()).row(0, named=True)
    assert new["subject"] == "Pipe p523" and new["start"] == datetime(2019, 1, 15, 23, tzinfo=UTC)
    assert new["end"] == datetime(2019, 1, 17, tzinfo=UTC) and new["details"] == "abrupt, 20.2 mm"
    inflow, without = (
        run.sensors.to_polars().select(pl.col("flow_p227") + pl.col("flow_p235")).to_series().to_numpy()
        for run in (data, dry)
    )
    leaked = (
        pl.read_parquet(published / "2019_leak_flows_m3h.parquet")
        .filter(pl.col("Timestamp").is_between(datetime(2019, 1, 15), datetime(2019, 1, 17), closed="left"))
        .drop("Timestamp")
        .sum_horizontal()
        .to_numpy()
    )
    # The tank's pump switches at other moments when there are leaks, so compare day by day, not step by step.
    for part in (slice(0, 270), slice(280, 576)):
        assert (inflow - without)[part].mean() == pytest.approx(leaked[part].mean(), rel=0.25)
    assert (inflow - without)[280:].mean() - (inflow - without)[:270].mean() > 15


def test_it_is_near_the_four_published_channels(published: Path) -> None:
    """Seven days of 2019 against the original: means within 8 %, daily course alike, tank and pump in their ranges.

    Pump and tank follow the same rule (on below 2.4 m, off above 3.9 m) but drift apart in time, as the demands of
    the original are not published: their correlation is asked to be clear, not high.
    """
    days = 7
    ours = datasets.load("ltown", days=days, sensors=["flow", "level"]).sensors.to_polars()
    flows = pl.read_csv(published / "2019_SCADA_Flows.csv", separator=";", decimal_comma=True).head(days * 288)
    levels = pl.read_csv(published / "2019_SCADA_Levels.csv", separator=";", decimal_comma=True).head(days * 288)
    assert flows["Timestamp"][-1] == "2019-01-07 23:55:00"
    for sensor, theirs, tolerance, correlation in (
        ("flow_p227", flows["p227"], 0.08, 0.90),
        ("flow_p235", flows["p235"], 0.08, 0.90),
        ("flow_PUMP_1", flows["PUMP_1"], 0.08, 0.45),
        ("level_T1", levels["T1"], 0.05, 0.60),
    ):
        a, b = ours[sensor].to_numpy(), theirs.to_numpy()
        assert a.mean() == pytest.approx(b.mean(), rel=tolerance), sensor
        assert a.std() == pytest.approx(b.std(), rel=0.2), sensor
        hourly = (values.reshape(-1, 12).mean(axis=1) for values in (a, b))
        assert np.corrcoef(*hourly)[0, 1] > correlation, sensor
    assert ours["level_T1"].min() == pytest.approx(levels["T1"].min(), abs=0.05)
    assert ours["level_T1"].max() == pytest.approx(levels["T1"].max(), abs=0.05)
    assert ours["flow_PUMP_1"].max() == pytest.approx(flows["PUMP_1"].max(), rel=0.02)


def test_seeds_and_seasons_change_the_demand() -> None:
    january, other, july = (
        datasets.load("ltown", start=start, days=1, seed=seed, leaks=False).sensors.to_polars()
        for start, seed in (("2019-01-01", 0), ("2019-01-01", 1), ("2019-07-02", 0))
    )
    assert not january["demand_n1"].equals(other["demand_n1"])
    meters = [f"demand_{name}" for name in ltown.AMRS]
    winter, summer = (frame.select(pl.sum_horizontal(meters)).to_series().mean() for frame in (january, july))
    assert isinstance(winter, float) and isinstance(summer, float)
    assert 1.1 < summer / winter < 1.35


def test_a_day_is_the_same_in_every_period_that_contains_it() -> None:
    from_first, from_second = (
        datasets.load("ltown", start=start, days=days, leaks=False).sensors.to_polars().tail(288)
        for start, days in (("2019-01-01", 2), ("2019-01-02", 1))
    )
    assert np.allclose(from_first["demand_n1"], from_second["demand_n1"])


def test_the_network_of_epyt_gives_the_readings_of_battledims(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = datasets.load("ltown", days=1, leaks=False, path=published)
    monkeypatch.setattr(folders, "data_folders", lambda: (Path("/nowhere"),))
    ours = datasets.load("ltown", days=1, leaks=False)
    assert ours.sensors.to_polars().equals(theirs.sensors.to_polars())
    assert ours.graph.to_dict() == theirs.graph.to_dict()
    with pytest.raises(InputError, match=r"2019_Leakages.csv \(10.4 MB\)(.|\n)*zenodo(.|\n)*leaks=False"):
        datasets.load("ltown", days=1)


def test_the_leaks_are_those_of_battledims_generator(published: Path) -> None:
    lines = (published / "leakages_info.yalm").read_text().splitlines()[1:]
    theirs = [[part.strip() for part in line.split(",")] for line in lines if line.strip()]
    labels = ltown._labels(datetime(2018, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
    expected = [
        (start, end, pipe, f"{kind}, {float(diameter) * 1000:.1f} mm") for pipe, start, end, diameter, kind, _ in theirs
    ]
    ours = [
        (start.strftime("%Y-%m-%d %H:%M"), (end - ltown.STEP).strftime("%Y-%m-%d %H:%M"), subject, details)
        for start, end, _, subject, details in labels.iter_rows()
    ]
    assert sorted(ours) == sorted(expected) and len(ours) == 23


def test_leak_flows_are_read_as_battledim_publishes_them(tmp_path: Path) -> None:
    """Semicolons, decimal commas, and columns in any order: the pipes are split in the order of their names.

    A column that begins with many zeros was taken for integers, and its first fraction was an error of polars.
    """
    times = pl.datetime_range(datetime(2019, 1, 1), datetime(2019, 1, 1, 23, 55), "5m", eager=True)
    rows = [f"{time:%Y-%m-%d %H:%M:%S};{'6,79' if time.hour >= 12 else '0'};0,0;3" for time in times]
    (tmp_path / "2019_Leakages.csv").write_text("\n".join(["Timestamp;p427;p142;p257", *rows]) + "\n")
    shutil.copy(folders.find_in_epyt("L-TOWN.inp")[0], tmp_path)
    data = datasets.load("ltown", days=1, path=tmp_path)
    assert "2 leaks" in data.description and data.labels is not None
    assert "Pipe p257" in data.labels["subject"].to_list()
    day = datetime(2019, 1, 1, tzinfo=UTC), datetime(2019, 1, 2, tzinfo=UTC)
    flows = ltown._read_leak_flows(tmp_path / "2019_Leakages.csv", *day)
    assert flows.columns == ["p257", "p427"] and flows["p427"].to_list()[143:145] == [0.0, 6.79]
    assert flows["p257"].unique().to_list() == [3.0]
    (tmp_path / "2019_Leakages.csv").write_text("Timestamp;p1\n2019-01-01 00:00:00;much\n")
    with pytest.raises(InputError, match=r"2019_Leakages.csv: not the leak flows of BattLeDIM"):
        datasets.load("ltown", days=1, path=tmp_path)


def test_a_path_may_be_the_network_itself(tmp_path: Path) -> None:
    file = tmp_path / "my_town.inp"
    shutil.copy(folders.find_in_epyt("L-TOWN.inp")[0], file)
    assert len(datasets.load("ltown", days=1, leaks=False, path=file).sensors) == 119
    with pytest.raises(InputError, match=r"missing: 2019_Leakages.csv.*leaks=False"):
        datasets.load("ltown", days=1, path=file)
    with pytest.raises(InputError, match=r"empty: no file L-TOWN.inp of BattLeDIM"):
        datasets.load("ltown", days=1, path=tmp_path / "empty")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "2018-12-31"}, "do not lie within 2019"),
        ({"start": "2019-12-30", "days": 4}, "do not lie within 2019"),
        ({"start": "first of May"}, "a date such as 2019-01-01"),
        ({"sensors": "pressures"}, "did you mean 'pressure'"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        datasets.load("ltown", **options)
