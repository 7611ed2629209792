"""CityPulse traffic in Aarhus, as CityBench publishes it: speed and vehicle count on 449 road segments.

The graph is built from the publisher's metadata: a segment starts at one point of the road network and ends at
another, so consecutive segments share a point. The nodes of CityBench's SSN repository are added for each traffic
sensor. The files give no time zone; times are taken as UTC.

CityBench publishes one CSV file per segment, within its repository. They are read once, from an archive of the
repository, and kept as two tables; rows that a file repeats count once.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl

from thence._base.integrity.checksums import content_digest
from thence._base.progress import Progress, silent
from thence.data.datasets.named import NamedDataset
from thence.data.datasets.published import Published
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node, Value, Values
from thence.data.graph.system import System
from thence.data.loaders import read_graph, read_ontology
from thence.data.readings.findings import ReadReport
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import InputError, reported_as
from thence.lab.datasets.folders import choose_kinds, declared, find_folder, packaged_file

_METADATA, _REPOSITORY = "trafficMetaData.csv", "SensorRepository.n3"
_TABLES = {"speed": "traffic_avgSpeed.parquet", "count": "traffic_vehicleCount.parquet"}
_UNITS = {"speed": "km/h", "count": "vehicles"}
_OBSERVED = {"AvgSpeed": "speed", "VehicleCount": "count"}
_QUALITIES = ("Accuracy", "Latency", "Price", "Reliability", "Security")
_TIME = "__index_level_0__"
_COLUMNS = {"speed": "avgSpeed", "count": "vehicleCount"}
_STREAM = re.compile(r"AarhusTrafficData(\d+)\.stream")


def _make_table(kind: str, archive: ZipFile, target: Path) -> None:
    """Write the table of one quantity from the streams of CityBench: a row per time, a column per segment."""
    column, parts = _COLUMNS[kind], {}
    for member in sorted(archive.namelist(), key=len, reverse=True):
        if found := _STREAM.fullmatch(PurePosixPath(member).name):
            with reported_as(InputError, "not a stream of traffic reports", where=member):
                rows = pl.read_csv(archive.read(member), columns=["TIMESTAMP", column])
                parts[int(found[1])] = rows.unique("TIMESTAMP", keep="first").select(
                    pl.col("TIMESTAMP").str.to_datetime(time_unit="us").alias(_TIME),
                    pl.col(column).cast(pl.Float32),
                    pl.lit(int(found[1]), dtype=pl.Int32).alias("report"),
                )
    if not parts:
        raise InputError("no streams of traffic reports in the archive", where=str(archive.filename))
    table = pl.concat(parts.values()).pivot("report", index=_TIME, values=column).sort(_TIME)
    table.select(*(str(report) for report in sorted(parts)), _TIME).write_parquet(target)


def _digest_table(file: Path) -> str:
    """The checksum of what a table says, since the bytes of a Parquet file depend on who writes it."""
    try:
        table = pl.read_parquet(file).sort(_TIME)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return ""
    reports = sorted(name for name in table.columns if name != _TIME)
    times = table[_TIME].cast(pl.Datetime("us")).to_physical().to_numpy()
    values = table.select(pl.col(reports).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return content_digest({"reports": reports}, {"times": times, "values": np.ascontiguousarray(values)})


def _declare() -> Published:
    """Return the declared files with how the two tables are made."""
    made = {file: partial(_make_table, kind) for kind, file in _TABLES.items()}
    found = declared("citybench")
    files = (
        replace(file, make=made[file.name], digest=_digest_table) if file.name in made else file for file in found.files
    )
    return replace(found, files=tuple(files))


_CITYBENCH = _declare()


def load(
    *,
    sensors: str | Iterable[str] = "all",
    path: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> System:
    """Load speed and vehicle count of August and September 2014, at 5 minutes.

    Args:
        sensors: ``"speed"``, ``"count"`` or ``"all"``.
        path: The folder of the data set, or its parent; ``None`` to search for it.
        progress: Receives the progress of a download.
    """
    kinds = [kind for kind in _TABLES if kind in choose_kinds(sensors, known=tuple(_TABLES))]
    files = [_METADATA, _REPOSITORY, *(_TABLES[kind] for kind in kinds)]
    folder = find_folder("citybench", _CITYBENCH, files, path=path, progress=progress)
    segments = pl.read_csv(folder / _METADATA).sort("REPORT_ID")
    frame, series = _read_tables({kind: folder / _TABLES[kind] for kind in kinds})
    known = set(segments["REPORT_ID"].cast(pl.String))
    undescribed = sorted({report for report, _ in series.values()} - known)
    if undescribed:
        raise InputError(f"no metadata for the reports {', '.join(undescribed)}", where=str(folder / _METADATA))
    return System(
        name="citybench",
        sensors=SensorData.from_wide(
            frame,
            sensors=[Sensor(sensor_id, kind=kind, unit=_UNITS[kind]) for sensor_id, (_, kind) in series.items()],
            report=ReadReport(notes=("times without a zone are taken as UTC",)),
            source=str(folder),
        ),
        graph=_build_graph(segments, folder / _REPOSITORY),
        ontology=read_ontology(packaged_file("city_traffic.toml")),
        binding=Binding({sensor_id: f"Segment {report}" for sensor_id, (report, _) in series.items()}),
        labels=None,
        description=f"traffic on {segments.height} road segments in Aarhus, August and September 2014, 5 min",
        source="CityBench / CityPulse (Ali et al. 2015), open data of Aarhus, as published",
    )


def _read_tables(tables: Mapping[str, Path]) -> tuple[pl.DataFrame, dict[str, tuple[str, str]]]:
    """The wide frame of all tables, and for each sensor its report and kind."""
    parts: list[pl.DataFrame] = []
    series: dict[str, tuple[str, str]] = {}
    for kind, file in tables.items():
        table = pl.read_parquet(file)
        if _TIME not in table.columns:
            raise InputError(f"no column '{_TIME}', which holds the times", where=str(file))
        names = {report: f"{kind}_{report}" for report in table.columns if report != _TIME}
        series |= {sensor_id: (report, kind) for report, sensor_id in names.items()}
        parts.append(table.rename({_TIME: "time", **names}).select("time", *names.values()))
    frame = reduce(lambda left, right: left.join(right, on="time", how="full", coalesce=True), parts)
    return frame.sort("time").with_columns(pl.col("time").dt.replace_time_zone("UTC")), series


def _build_graph(segments: pl.DataFrame, repository: Path) -> KnowledgeGraph:
    nodes, edges = [], []
    ends: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in segments.iter_rows(named=True):
        segment = f"Segment {row['REPORT_ID']}"
        nodes.append(Node(segment, frozenset({"RoadSegment"}), _segment_properties(row)))
        for number, label in ((1, "starts_at"), (2, "ends_at")):
            point = row[f"POINT_{number}_NAME"]
            ends[point].append({key: row[f"POINT_{number}_{key}"] for key in _POINT_COLUMNS})
            edges.append(Edge(f"{segment} {label} Point {point}", segment, f"Point {point}", frozenset({label})))
    nodes += [Node(f"Point {point}", frozenset({"RoadPoint"}), _point_properties(at)) for point, at in ends.items()]
    sensor_nodes, sensor_edges = _convert_ssn(read_graph(repository), reports=segments["REPORT_ID"].to_list())
    return KnowledgeGraph(
        [*nodes, *sensor_nodes],
        [*edges, *sensor_edges],
        property_units={"length": "m", "free_flow_time": "s", "free_flow_speed": "km/h"},
    )


_POINT_COLUMNS = {
    "LAT": "latitude",
    "LNG": "longitude",
    "STREET": "street",
    "CITY": "city",
    "POSTAL_CODE": "postal_code",
}


def _segment_properties(row: Mapping[str, Any]) -> dict[str, Value]:
    properties: dict[str, Value] = {
        "report": str(row["REPORT_ID"]),
        "name": row["REPORT_NAME"],
        "length": float(row["DISTANCE_IN_METERS"]),
        "free_flow_time": float(row["DURATION_IN_SEC"]),
        "free_flow_speed": float(row["NDT_IN_KMH"]),
        "road_type": row["ROAD_TYPE"].lower().replace("_", " "),
    }
    if row["POINT_1_STREET"] and row["POINT_1_STREET"] == row["POINT_2_STREET"]:
        properties["street"] = row["POINT_1_STREET"]
    return properties


def _point_properties(seen: Sequence[Mapping[str, Any]]) -> dict[str, Value]:
    """Properties of a point that several segments describe: mean coordinates, most frequent names.

    Segments give coordinates of the same point that differ by up to 35 m, and in a few cases other street names.
    """
    properties: dict[str, Value] = {}
    for column, name in _POINT_COLUMNS.items():
        values = [entry[column] for entry in seen if entry[column] is not None]
        if name in ("latitude", "longitude"):
            properties[name] = fmean(values)
        elif values:
            counts = Counter(str(value) for value in values)
            properties[name] = min(counts, key=lambda value: (-counts[value], value))
    return properties


def _convert_ssn(repository: KnowledgeGraph, *, reports: Sequence[int]) -> tuple[list[Node], list[Edge]]:
    """Sensors with their quality and the two properties that they observe, from CityBench's SSN repository."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    for report in reports:
        name = f"AarhusTrafficData{report}"
        if name not in repository.nodes:
            continue
        sensor = f"Sensor {report}"
        quality: dict[str, Values] = {}
        for profile in repository.out_edges(name, "presents"):
            for edge in repository.out_edges(profile.target):
                parameter = repository.nodes[edge.target]
                for label in parameter.labels.intersection(_QUALITIES):
                    quality[label.lower()] = parameter.properties["sParameter"]
        nodes.append(Node(sensor, frozenset({"Sensor"}), quality))
        for edge in repository.out_edges(name, "observes"):
            for label in repository.nodes[edge.target].labels.intersection(_OBSERVED):
                observed = f"{label} {report}"
                nodes.append(Node(observed, frozenset({label})))
                for source, relation, target in (
                    (sensor, "observes", observed),
                    (observed, "isPropertyOf", f"Segment {report}"),
                ):
                    edges.append(Edge(f"{source} {relation} {target}", source, target, frozenset({relation})))
    return nodes, edges


DATASET = NamedDataset(
    "citybench",
    "speed and vehicle count on 449 road segments in Aarhus, two months at 5 min",
    "an archive of CityBench, with the extra 'datasets'",
    load,
    (_CITYBENCH,),
)
