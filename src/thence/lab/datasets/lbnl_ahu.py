"""Three air handling units of LBNL's automated fault detection data, with Brick models written for them.

Readings are as published, at 1 minute; experiments lasted single days, and days without one are gaps. Cells without a
number, such as ``#VALUE!``, are missing values. The files give no time zone; times are taken as UTC, so that the hour
of the day is local time in the building. Labels combine the ground-truth column with the fault tables of the inventory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import util
from pathlib import Path
from typing import Literal

import polars as pl

from thence._base.progress import Progress, silent
from thence.data.datasets.named import NamedDataset
from thence.data.datasets.published import Archive, Published, Remote
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.graph.system import System, label_frame
from thence.data.loaders import read_binding, read_graph, read_ontology
from thence.data.readings.sensors import ReadReport, Sensor, SensorData
from thence.errors import ConfigError, InputError, nearest
from thence.lab.datasets.folders import find_folder, packaged_file, search_folder

__all__ = ["DATASET", "UNITS", "brick_model", "load"]

Unit = Literal["MZVAV-2-1", "SZCAV", "SZVAV"]
UNITS: tuple[Unit, ...] = ("MZVAV-2-1", "SZCAV", "SZVAV")
_ARCHIVE = Archive(
    "Data Sets for AFDD Evauluation of Building FDD Algorithms.zip",
    (
        "https://data.openei.org/files/910/"
        "Data%20Sets%20for%20AFDD%20Evauluation%20of%20Building%20FDD%20Algorithms.zip",
    ),
)
_COPIES = "https://raw.githubusercontent.com/pkrysztopa/HVAC-equipment-fault-detection/cb00551180cef21fd27ec0be7611fc022511c320/"


def _readings(unit: Unit, size: int, sha256: str, *urls: str) -> Remote:
    name = f"{unit}.csv"
    return Remote(name, size, sha256, (*urls, f"{_COPIES}{name}"), archive=_ARCHIVE, newlines=True)


_LBNL = Published(
    folder="lbnl_fdd_2020",
    files=(
        _readings(
            "MZVAV-2-1",
            1_733_505,
            "676ddef09f965bbce945774e841b2ffa1a4706ce7d6a80efd123efaffc5771d2",
            "https://ndownloader.figshare.com/files/21403011",
        ),
        _readings("SZCAV", 1_560_920, "71d99ef1e5880ccc1c42cda3e6c519eb67c1e5fefbc3f079249cd907c5755b5f"),
        _readings("SZVAV", 1_191_684, "27a713b27c63bcaf6a396ab53c157d6fcc061b26253d6085c439fcc3077cc97a"),
    ),
    publisher="Lawrence Berkeley National Laboratory",
    page="https://doi.org/10.6084/m9.figshare.11752740",
    licence="CC0 1.0",
    citation=(
        "Granderson, Lin, Harding, Im, Chen (2020): Building fault detection data to aid diagnostic algorithm creation "
        "and performance testing. Scientific Data 7, 65. doi:10.1038/s41597-020-0398-6"
    ),
)
_ONTOLOGY = "Brick-1.3.ttl"
_BRICK = Published(
    folder="ontologies",
    files=(
        Remote(
            _ONTOLOGY,
            size=1_749_633,
            sha256="b7fe18651b4616eef3b2ed376d77049981fdda6555f90afbc3936afd6eb5f4cf",
            urls=("https://github.com/BrickSchema/Brick/releases/download/v1.3.0/Brick.ttl",),
        ),
    ),
    publisher="the Brick Consortium (Brick 1.3; the package brickschema contains it too)",
    page="https://brickschema.org",
    licence="BSD 3-Clause",
    citation="Balaji et al. (2016): Brick: towards a unified metadata schema for buildings. BuildSys",
)
_TRUTH = "Fault Detection Ground Truth"
_TIME = "Datetime"


@dataclass(frozen=True)
class _Point:
    kind: str
    unit: str = ""
    states: tuple[str, str] | None = None  # names of the values 0 and 1 of a categorical point


_TEMPERATURE, _SETPOINT = _Point("temperature", "°F"), _Point("temperature setpoint", "°F")
_STATUS = _Point("fan status", states=("off", "on"))
_SPEED, _DAMPER, _VALVE = _Point("fan speed"), _Point("damper position"), _Point("valve position")
_POINTS = {
    "supply_air_temperature": _TEMPERATURE,
    "supply_air_temperature_set_point": _SETPOINT,
    "supply_air_temperature_heating_set_point": _SETPOINT,
    "supply_air_temperature_cooling_set_point": _SETPOINT,
    "outdoor_air_temperature": _TEMPERATURE,
    "mixed_air_temperature": _TEMPERATURE,
    "return_air_temperature": _TEMPERATURE,
    "supply_air_fan_status": _STATUS,
    "return_air_fan_status": _STATUS,
    "supply_air_fan_speed_control_signal": _SPEED,
    "return_air_fan_speed_control_signal": _SPEED,
    "exhaust_air_damper_control_signal": _DAMPER,
    "outdoor_air_damper_control_signal": _DAMPER,
    "return_air_damper_control_signal": _DAMPER,
    "cooling_coil_valve_control_signal": _VALVE,
    "heating_coil_valve_control_signal": _VALVE,
    "supply_air_duct_static_pressure_set_point": _Point("static pressure setpoint", "psi"),
    "supply_air_duct_static_pressure": _Point("static pressure", "psi"),
    "occupancy_mode_indicator": _Point("occupancy", states=("unoccupied", "occupied")),
}

# Fault days from the inventory's tables 2-2, 3-3 and 3-4: the faulty component and the fault.
_HEATING, _COOLING, _DAMPER_NODE = "Heating_Coil_Valve", "Cooling_Coil_Valve", "Outdoor_Air_Damper"
_FAULTS: dict[Unit, dict[str, tuple[str, str]]] = {
    "MZVAV-2-1": {
        "2007-08-28": (_HEATING, "leaking, stage 1: 0.4 GPM"),
        "2007-08-29": (_HEATING, "leaking, stage 2: 1.0 GPM"),
        "2007-08-30": (_HEATING, "leaking, stage 3: 2.0 GPM"),
    },
    "SZCAV": {
        "2017-03-11": (_COOLING, "stuck fully closed"),
        "2017-03-12": (_COOLING, "stuck fully open"),
        "2017-03-15": (_COOLING, "leaking, 5% of maximum flow"),
        "2017-03-16": (_COOLING, "leaking, 50% of maximum flow"),
        "2017-03-18": (_DAMPER_NODE, "stuck fully open"),
        "2017-03-19": (_DAMPER_NODE, "stuck 50% open"),
        "2017-03-20": (_DAMPER_NODE, "leaking, 20% of maximum flow"),
        "2017-03-21": (_DAMPER_NODE, "leaking, 50% of maximum flow"),
        "2017-03-22": (_HEATING, "leaking, 5% of maximum flow"),
        "2017-03-23": (_HEATING, "leaking, 40% of maximum flow"),
        "2017-03-24": (_HEATING, "stuck fully closed"),
        "2017-03-25": (_HEATING, "stuck fully open"),
        "2017-03-26": (_HEATING, "stuck 50% open"),
        "2017-03-31": (_COOLING, "stuck 50% open"),
    },
    "SZVAV": {
        "2017-09-11": (_COOLING, "leaking, 50% of maximum flow"),
        "2017-09-12": (_HEATING, "leaking, 40% of maximum flow"),
        "2017-09-14": (_HEATING, "stuck fully open"),
        "2017-09-15": (_HEATING, "stuck 50% open"),
        "2017-09-18": (_DAMPER_NODE, "stuck at minimum position"),
        "2017-09-19": (_DAMPER_NODE, "stuck fully open"),
        "2017-09-22": (_COOLING, "stuck fully open"),
    },
}


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
    text = pl.read_csv(file, infer_schema=False)
    text.columns = [column.strip() for column in text.columns]
    missing = {_TIME, _TRUTH} - set(text.columns)
    unknown = [c for c in text.columns if c not in (_TIME, _TRUTH) and _sensor_id(c) not in _POINTS]
    if missing or unknown:
        raise InputError(
            f"not a file of LBNL's air handling units: columns missing {sorted(missing)}, unknown {unknown}",
            where=str(file),
        )
    time = pl.col(_TIME).str.to_datetime("%m/%d/%Y %H:%M", time_unit="us").dt.replace_time_zone("UTC").alias("time")
    columns = {column: _sensor_id(column) for column in text.columns if column not in (_TIME, _TRUTH)}
    frame = text.select(time, *(_values(column, sensor_id) for column, sensor_id in columns.items()))
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
        frame, sensors=[_sensor(sensor_id) for sensor_id in columns.values()], report=report, source=str(file)
    )
    truth = (
        text.select(time.dt.date().alias("day"), pl.col(_TRUTH).cast(pl.Int8))
        .group_by("day", maintain_order=True)
        .agg(pl.col(_TRUTH).max().alias("faulty"))
    )
    return sensors, truth


def _values(column: str, sensor_id: str) -> pl.Expr:
    number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    states = _POINTS[sensor_id].states
    if states is None:
        return number.alias(sensor_id)
    return number.replace_strict([0.0, 1.0], list(states), default=None, return_dtype=pl.String).alias(sensor_id)


def _sensor(sensor_id: str) -> Sensor:
    point = _POINTS[sensor_id]
    return Sensor(sensor_id, kind=point.kind, unit=point.unit, categorical=point.states is not None)


def _labels(unit: Unit, truth: pl.DataFrame) -> Iterator[dict[str, datetime | str | None]]:
    for day, faulty in truth.iter_rows():
        subject, details = _FAULTS[unit].get(day.isoformat(), (None, "not in the inventory"))
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
