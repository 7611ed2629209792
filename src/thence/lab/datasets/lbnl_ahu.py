"""Three air handling units of LBNL's automated fault detection data, with Brick models written for them.

Readings are as published, at 1 minute; experiments lasted single days, and days without one are gaps. Cells without a
number, such as ``#VALUE!``, are missing values. The files give no time zone; times are taken as UTC, so that the hour
of the day is local time in the building. Labels combine the ground-truth column with the fault tables of the inventory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib import util
from pathlib import Path
from typing import Any, Literal

import polars as pl

from thence._base.progress import Progress, silent
from thence.data.datasets.named import NamedDataset
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.system import System, label_frame
from thence.data.loaders import read_binding, read_graph, read_ontology
from thence.data.readings.findings import ReadReport
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import ConfigError, InputError, nearest
from thence.lab.datasets.folders import declared, find_folder, packaged_facts, packaged_file, search_folder

Unit = Literal["MZVAV-2-1", "SZCAV", "SZVAV"]
UNITS: tuple[Unit, ...] = ("MZVAV-2-1", "SZCAV", "SZVAV")
_LBNL, _BRICK, _ONTOLOGY = declared("lbnl"), declared("brick"), "Brick-1.3.ttl"
_TRUTH = "Fault Detection Ground Truth"
_TIME = "Datetime"


def load(*, unit: str = "MZVAV-2-1", path: str | os.PathLike[str] | None = None, progress: Progress = silent) -> System:
    """Load one air handling unit.

    A label is "fault", or "disputed" on the one day that is faulty in the inventory but not in the ground truth
    (2007-08-30 of MZVAV-2-1). Leave disputed days out of training data.

    Args:
        unit: ``"MZVAV-2-1"`` (multi-zone), ``"SZCAV"`` or ``"SZVAV"`` (single zone, constant and variable air volume).
        path: The folder of the data set, or its parent; ``None`` to search for it.
        progress: Receives the progress of a download.
    """
    known = {name: name for name in UNITS}
    if unit not in known:
        raise ConfigError(f"unknown unit '{unit}'; units are {', '.join(UNITS)}", hint=nearest(unit.upper(), UNITS))
    chosen = known[unit]
    folder = find_folder("lbnl-ahu", _LBNL, [f"{chosen}.csv"], path=path, progress=progress)
    sensors, truth = _read(folder / f"{chosen}.csv")
    graph, binding = brick_model(chosen)
    return System(
        name="lbnl-ahu",
        sensors=sensors,
        graph=graph,
        ontology=_read_brick(folder, progress),
        binding=binding,
        labels=label_frame(_labels(chosen, truth)),
        description=f"air handling unit {chosen}: {truth.height} days at 1 min, with imposed faults",
        source="LBNL fault detection data (Granderson & Lin 2019), readings as published; Brick model by Thence",
    )


def brick_model(unit: Unit) -> tuple[KnowledgeGraph, Binding]:
    """Return the Brick model of a unit and the binding of its sensors, without readings."""
    model = packaged_file(f"lbnl_{unit.lower().replace('-', '_')}.ttl")
    full = read_graph(model)
    # References link a point to its series. The binding has them already; as nodes they would distort patterns.
    references = set(full.with_label("TimeseriesReference"))
    graph = full.subgraph(node for node in full.nodes if node not in references)
    return graph, read_binding(model)


def _read_brick(folder: Path, progress: Progress) -> Ontology:
    for path in (folder.parent, None):
        if found := search_folder(_BRICK, [_ONTOLOGY], path=path):
            return read_ontology(found / _ONTOLOGY)
    package = util.find_spec("brickschema")
    for folder_name in package.submodule_search_locations or () if package else ():
        file = Path(folder_name) / "ontologies" / "1.3" / "Brick.ttl"
        if file.is_file():
            return read_ontology(file)
    return read_ontology(find_folder("lbnl-ahu", _BRICK, [_ONTOLOGY], progress=progress) / _ONTOLOGY)


def _sensor_id(column: str) -> str:
    return column.strip().removeprefix("AHU: ").lower().replace(" ", "_")


def _read(file: Path) -> tuple[SensorData, pl.DataFrame]:
    """The readings, and the ground truth per day."""
    points = packaged_facts("lbnl.toml")["points"]
    text = pl.read_csv(file, infer_schema=False)
    text.columns = [column.strip() for column in text.columns]
    missing = {_TIME, _TRUTH} - set(text.columns)
    unknown = [c for c in text.columns if c not in (_TIME, _TRUTH) and _sensor_id(c) not in points]
    if missing or unknown:
        raise InputError(
            f"not a file of LBNL's air handling units: columns missing {sorted(missing)}, unknown {unknown}",
            where=str(file),
        )
    time = pl.col(_TIME).str.to_datetime("%m/%d/%Y %H:%M", time_unit="us").dt.replace_time_zone("UTC").alias("time")
    columns = {column: _sensor_id(column) for column in text.columns if column not in (_TIME, _TRUTH)}
    frame = text.select(time, *(_values(column, sensor_id, points[sensor_id]) for column, sensor_id in columns.items()))
    notes = ["times without a zone are taken as UTC"]
    for column, sensor_id in columns.items():
        lost = text[column].filter(frame[sensor_id].is_null()).drop_nulls()
        if len(lost):
            what = ", ".join(f"'{value}'" for value in lost.unique().sort())
            notes.append(
                f"{len(lost)} cell{'s' * (len(lost) > 1)} of '{sensor_id}' without a number ({what}), taken as missing"
            )
    report = ReadReport(notes=tuple(notes))
    sensors = SensorData.from_wide(
        frame,
        sensors=[_sensor(sensor_id, points[sensor_id]) for sensor_id in columns.values()],
        report=report,
        source=str(file),
    )
    truth = (
        text.select(time.dt.date().alias("day"), pl.col(_TRUTH).cast(pl.Int8))
        .group_by("day", maintain_order=True)
        .agg(pl.col(_TRUTH).max().alias("faulty"))
    )
    return sensors, truth


def _values(column: str, sensor_id: str, point: Mapping[str, Any]) -> pl.Expr:
    number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    if "states" not in point:
        return number.alias(sensor_id)
    return number.replace_strict([0.0, 1.0], point["states"], default=None, return_dtype=pl.String).alias(sensor_id)


def _sensor(sensor_id: str, point: Mapping[str, Any]) -> Sensor:
    return Sensor(sensor_id, kind=point["kind"], unit=point.get("unit", ""), categorical="states" in point)


def _labels(unit: Unit, truth: pl.DataFrame) -> Iterator[dict[str, datetime | str | None]]:
    faults = packaged_facts("lbnl.toml")["faults"][unit]
    for day, faulty in truth.iter_rows():
        subject, details = faults.get(day.isoformat(), (None, "not in the inventory"))
        if not faulty and subject is None:
            continue
        label = "fault" if faulty and subject else "disputed"
        if label == "disputed":
            details = f"ground truth {'faulty' if faulty else 'unfaulted'}, inventory: {details}"
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        yield {
            "start": start,
            "end": start + timedelta(days=1),
            "label": label,
            "subject": subject,
            "details": details,
        }


DATASET = NamedDataset(
    "lbnl-ahu",
    "three air handling units with imposed faults, labelled, at 1 min, with Brick models",
    "6 MB of LBNL and Brick, with the extra 'datasets'",
    load,
    (_LBNL, _BRICK),
)
