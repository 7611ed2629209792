"""Open Smart Home: a flat in Nuremberg with its SOSA/SSN/BOT graph (Fraunhofer IBP, 2017).

Reads the publisher's folder as published. The 37 series contain the same outdoor temperature six times, once per room.
The graph has one outdoor sensor, in Room3, so that series is kept and the five copies are left out.
"""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from thence._base.progress import Progress, silent
from thence.data.datasets.named import NamedDataset
from thence.data.graph.binding import Binding
from thence.data.graph.system import System
from thence.data.loaders import read_graph, read_ontology
from thence.data.readings.findings import ReadReport
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import InputError
from thence.lab.datasets.folders import declared, find_folder, packaged_file

_HOME = declared("open-smart-home")


# Of each series: the name of the sensor in the graph, after the room; its kind and unit.
_QUANTITIES = {
    "Temperature": ("temp-Sensor", "temperature", "°C"),
    "Humidity": ("humid-Sensor", "humidity", "%"),
    "Brightness": ("brigh-Sensor", "brightness", "lx"),
    "ThermostatTemperature": ("tempT-Sensor", "thermostat temperature", "°C"),
    "left_ThermostatTemperature": ("tempTli-Sensor", "thermostat temperature", "°C"),
    "right_ThermostatTemperature": ("tempTre-Sensor", "thermostat temperature", "°C"),
    "SetpointHistory": ("tempS-Actuator", "temperature setpoint", "°C"),
    "Virtual_OutdoorTemperature": ("outTemp-OutSensor", "outdoor temperature", "°C"),
}


def load(*, path: str | os.PathLike[str] | None = None, progress: Progress = silent) -> System:
    """Load the 32 series that the graph describes, bound to the sensors and actuators in their rooms.

    Args:
        path: The folder of the data set, or its parent; ``None`` to search for it.
        progress: Receives the progress of a download.
    """
    # A folder of your own need not have the copies.
    copies = ("Virtual_OutdoorTemperature.csv", "Room2_OutdoorTemperature.csv")
    names = [
        file.name for file in _HOME.files if path is None or "Room3" in file.name or not file.name.endswith(copies)
    ]
    folder = find_folder("open-smart-home", _HOME, names, path=path, progress=progress)
    graph = read_graph([folder / name for name in names if name.endswith(".ttl")])
    files = sorted((folder / "Measurements").glob("*.csv"))
    bound: dict[str, str] = {}
    sensors: list[Sensor] = []
    left_out: dict[str, str] = {}
    for file in files:
        room, _, rest = file.stem.partition("_")
        name, kind, unit = _QUANTITIES.get(rest, ("", "", ""))
        if f"{room}-{name}" not in graph.nodes:
            left_out[file.stem] = "the graph has no such sensor"
            continue
        bound[file.stem] = f"{room}-{name}"
        sensors.append(Sensor(file.stem, kind=kind, unit=unit))
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
    "4.6 MB of Fraunhofer IBP, with the extra 'datasets'",
    load,
    (_HOME,),
)
