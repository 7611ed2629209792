"""Open Smart Home: a flat in Nuremberg with its SOSA/SSN/BOT graph (Fraunhofer IBP, 2017).

Reads the publisher's folder as published. The 37 series contain the same outdoor temperature six times, once per room.
The graph has one outdoor sensor, in Room3, so that series is kept and the five copies are left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from thence.datasets.folders import find_folder, packaged_file
from thence.datasets.named import NamedDataset
from thence.errors import InputError
from thence.graph.binding import Binding
from thence.graph.loaders import read_graph, read_ontology
from thence.graph.system import System
from thence.readings.sensors import ReadReport, Sensor, SensorData

__all__ = ["DATASET", "load"]

_GRAPH_FILES = (
    "00_OpenSmartHomeData.ttl",
    "01_LinkOsh.ttl",
    "02_BotFromRevit.ttl",
    "02_PropsFromRevit.ttl",
)
_PUBLISHER = "the Open Smart Home data set, Fraunhofer Institute for Building Physics (OpenSmartHomeData)"


@dataclass(frozen=True)
class _Quantity:
    node: str  # the name of the sensor in the graph, after the room
    kind: str
    unit: str


_QUANTITIES = {
    "Temperature": _Quantity("temp-Sensor", "temperature", "°C"),
    "Humidity": _Quantity("humid-Sensor", "humidity", "%"),
    "Brightness": _Quantity("brigh-Sensor", "brightness", "lx"),
    "ThermostatTemperature": _Quantity("tempT-Sensor", "thermostat temperature", "°C"),
    "left_ThermostatTemperature": _Quantity("tempTli-Sensor", "thermostat temperature", "°C"),
    "right_ThermostatTemperature": _Quantity("tempTre-Sensor", "thermostat temperature", "°C"),
    "SetpointHistory": _Quantity("tempS-Actuator", "temperature setpoint", "°C"),
    "Virtual_OutdoorTemperature": _Quantity("outTemp-OutSensor", "outdoor temperature", "°C"),
}


def load(*, path: str | os.PathLike[str] | None = None) -> System:
    """Load the 32 series that the graph describes, bound to the sensors and actuators in their rooms.

    Args:
        path: The folder of the data set, or its parent; ``None`` to search for it.
    """
    folder = find_folder("open-smart-home", folder="opensmarthome", files=_GRAPH_FILES, path=path, publisher=_PUBLISHER)
    graph = read_graph([folder / name for name in _GRAPH_FILES])
    files = sorted((folder / "Measurements").glob("*.csv"))
    if not files:
        raise InputError(
            "no series in this folder", where=str(folder / "Measurements"), hint=f"get them from {_PUBLISHER}"
        )
    bound: dict[str, str] = {}
    sensors: list[Sensor] = []
    left_out: dict[str, str] = {}
    for file in files:
        room, _, rest = file.stem.partition("_")
        quantity = _QUANTITIES.get(rest)
        node = f"{room}-{quantity.node}" if quantity else ""
        if quantity is None or node not in graph.nodes:
            left_out[file.stem] = "the graph has no such sensor"
            continue
        bound[file.stem] = node
        sensors.append(Sensor(file.stem, kind=quantity.kind, unit=quantity.unit))
    rows = pl.concat(_read_series(file) for file in files if file.stem in bound)
    notes = [f"series without a sensor in the graph, left out: {', '.join(left_out)}"] if left_out else []
    return System(
        name="open-smart-home",
        sensors=SensorData.from_long(rows, sensors=sensors, report=ReadReport(notes=tuple(notes)), source=str(folder)),
        graph=graph,
        ontology=read_ontology(packaged_file("open_smart_home.toml")),
        binding=Binding(bound, left_out=left_out),
        labels=None,
        description=(
            f"a flat with {len(sensors)} sensors in six rooms, about 10 min, March to June 2017; "
            f"{len(left_out)} copies of the outdoor temperature left out"
        ),
        source="Open Smart Home data set (Schneider et al. 2018, Fraunhofer IBP), as published",
    )


def _read_series(file: Path) -> pl.DataFrame:
    try:
        table = pl.read_csv(
            file,
            separator="\t",
            has_header=False,
            schema={"seconds": pl.Int64, "value": pl.Float64},
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"not a table of Unix seconds and values ({error})", where=str(file)) from error
    return table.select(
        pl.from_epoch("seconds", time_unit="s").cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("time"),
        pl.lit(file.stem).alias("sensor"),
        "value",
    )


DATASET = NamedDataset(
    "open-smart-home",
    "a flat with 32 sensors and its SOSA/SSN/BOT graph, three months",
    "Fraunhofer IBP's Open Smart Home data",
    load,
)
