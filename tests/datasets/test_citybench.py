from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import thence.datasets as datasets
from thence.errors import ConfigError, InputError
from thence.graph.system import System

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
