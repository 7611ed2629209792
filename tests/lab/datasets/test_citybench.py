from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import polars as pl
import pytest

import thence.data.datasets as datasets
from thence.data.graph.system import System
from thence.errors import ConfigError, InputError
from thence.lab.datasets.citybench import _digest_table, _make_table, _read_tables

FOLDER = "citybench"


@pytest.fixture
def traffic(published: Path, request: pytest.FixtureRequest) -> System:
    """Loaded once for the module: two months of 449 roads take a few seconds."""
    module = request.module
    if not hasattr(module, "_traffic"):
        module._traffic = datasets.load("citybench")
    loaded: System = module._traffic
    return loaded


def test_every_report_has_two_sensors_on_its_segment(traffic: System) -> None:
    traffic.binding.check(traffic.sensors, traffic.graph)
    assert traffic.ontology.validate(traffic.graph) == ()
    assert len(traffic.sensors) == 898
    assert traffic.binding["speed_158895"] == traffic.binding["count_158895"] == "Segment 158895"
    assert traffic.sensors.sensor("speed_158895").unit == "km/h"
    segment = traffic.graph.nodes["Segment 158895"]
    assert segment.properties["length"] == 1505.0 and segment.properties["road_type"] == "major road"


def test_segments_that_follow_each_other_share_a_point(traffic: System, published: Path) -> None:
    graph = traffic.graph
    rows = pl.read_csv(published / "trafficMetaData.csv")
    followers = rows.join(rows, left_on="POINT_2_NAME", right_on="POINT_1_NAME").height
    in_graph = sum(
        len([edge for edge in graph.in_edges(end.target) if "starts_at" in edge.labels])
        for segment in graph.with_label("RoadSegment")
        for end in graph.out_edges(segment, "ends_at")
    )
    assert in_graph == followers == 1654
    assert len(graph.with_label("RoadPoint")) == 136
    point = graph.nodes["Point 4349"].properties
    assert point["street"] == "Søftenvej" and 56.20 < float(point["latitude"]) < 56.22


def test_the_ssn_repository_is_kept_beside_the_roads(traffic: System) -> None:
    graph = traffic.graph
    assert graph.nodes["Sensor 158895"].properties["accuracy"] == pytest.approx(0.98303, abs=1e-5)
    assert set(graph.neighbours("Sensor 158895", label="observes")) == {"AvgSpeed 158895", "VehicleCount 158895"}
    assert graph.neighbours("AvgSpeed 158895", label="isPropertyOf") == {"Segment 158895": 1}


def test_gaps_stay_gaps(traffic: System) -> None:
    frame = traffic.sensors.to_polars()
    assert frame.shape == (17145, 899)
    speeds = frame.select(pl.col("^speed_.*$"))
    assert speeds.null_count().sum_horizontal().item() / (17145 * 449) == pytest.approx(0.073, abs=0.0005)
    assert frame["speed_158324"][:3].to_list() == [50.0, 50.0, 60.0]


def test_one_kind_can_be_loaded_alone(published: Path) -> None:
    counts = datasets.load("citybench", sensors="count")
    assert len(counts.sensors) == len(counts.binding) == 449
    with pytest.raises(ConfigError, match=r"no 'counts' sensors.*did you mean 'count'"):
        datasets.load("citybench", sensors="counts")


def test_absent_data_name_their_publisher(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"SensorRepository.n3.*CityBench"):
        datasets.load("citybench", path=tmp_path)


def test_the_declared_files_are_those_of_the_publisher(published: Path) -> None:
    (city,) = datasets.info("citybench").published
    assert all(file.is_intact(published / file.name) for file in city.files)


def test_tables_are_made_from_the_streams_of_citybench(tmp_path: Path) -> None:
    """One file per segment, with Windows' line ends; a time may be absent, and a row may be there twice."""
    header = "status,avgMeasuredTime,avgSpeed,extID,medianMeasuredTime,TIMESTAMP,vehicleCount,_id,REPORT_ID"
    row = "OK,34,{},887,34,2014-08-01T{}:00,{},20746942,{}"
    streams = {
        "9": [row.format(54, "08:00", 11, 9), row.format(55, "08:05", 0, 9), row.format(55, "08:05", 0, 9)],
        "158324": [row.format(0, "08:10", 3, 158324), row.format(40, "08:00", 2, 158324)],
    }
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("Benchmark-1/streams/AarhusPollutionData9.stream", "ozone\r\n1\r\n")
        for report, lines in streams.items():
            text = "\r\n".join([header, *lines]) + "\r\n"
            archive.writestr(f"Benchmark-1/streams/AarhusTrafficData{report}.stream", text)
    with ZipFile(tmp_path / "a.zip") as archive:
        for kind in ("speed", "count"):
            _make_table(kind, archive, tmp_path / f"{kind}.parquet")
    frame, series = _read_tables({kind: tmp_path / f"{kind}.parquet" for kind in ("speed", "count")})
    assert series["speed_9"] == ("9", "speed")
    assert frame.with_columns(pl.col("time").dt.strftime("%H:%M")).to_dict(as_series=False) == {
        "time": ["08:00", "08:05", "08:10"],
        "speed_9": [54.0, 55.0, None],
        "speed_158324": [40.0, None, 0.0],
        "count_9": [11.0, 0.0, None],
        "count_158324": [2.0, None, 3.0],
    }
    assert pl.read_parquet(tmp_path / "speed.parquet").schema["9"] == pl.Float32
    digest = _digest_table(tmp_path / "speed.parquet")
    shuffled = pl.read_parquet(tmp_path / "speed.parquet")[::-1].select("__index_level_0__", "158324", "9")
    shuffled.write_parquet(tmp_path / "shuffled.parquet", compression="snappy")
    assert _digest_table(tmp_path / "shuffled.parquet") == digest != _digest_table(tmp_path / "count.parquet")
    (tmp_path / "shuffled.parquet").write_bytes(b"PAR1")
    assert _digest_table(tmp_path / "shuffled.parquet") == ""


def test_an_archive_without_traffic_reports_is_an_error(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        with pytest.raises(InputError, match="no streams of traffic reports"):
            _make_table("speed", archive, tmp_path / "x")
        archive.writestr("streams/AarhusTrafficData9.stream", "a,b\n1,2\n")
    with (
        ZipFile(tmp_path / "a.zip") as archive,
        pytest.raises(InputError, match=r"AarhusTrafficData9.stream: not a stream of traffic reports"),
    ):
        _make_table("speed", archive, tmp_path / "x")
