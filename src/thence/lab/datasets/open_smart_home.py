"""Open Smart Home: a flat in Nuremberg with its SOSA/SSN/BOT graph (Fraunhofer IBP, 2017).

Reads the publisher's folder as published. The 37 series contain the same outdoor temperature six times, once per room.
The graph has one outdoor sensor, in Room3, so that series is kept and the five copies are left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from thence._base.progress import Progress, silent
from thence.data.datasets.named import NamedDataset
from thence.data.datasets.published import Published, Remote
from thence.data.graph.binding import Binding
from thence.data.graph.system import System
from thence.data.loaders import read_graph, read_ontology
from thence.data.readings.sensors import ReadReport, Sensor, SensorData
from thence.errors import InputError
from thence.lab.datasets.folders import find_folder, packaged_file

__all__ = ["DATASET", "load"]

_REPOSITORY = "https://raw.githubusercontent.com/TechnicalBuildingSystems/OpenSmartHomeData/"
_OUTDOOR = (57_191, "18a2310e99934d4e2b1296d96c5f083973bcbf45d4b66c8feaa6484b9a8bf062")


def _graph_file(name: str, size: int, sha256: str, commit: str) -> Remote:
    return Remote(name, size, sha256, (f"{_REPOSITORY}{commit}/{name}",))


def _series(name: str, size: int, sha256: str) -> Remote:
    # The copies of the outdoor temperature are the same file.
    source = "Room2_OutdoorTemperature" if (size, sha256) == _OUTDOOR else name
    commit = "4db3c2c4791c165d4fb177b25fcfb25dbe122ed4"
    return Remote(f"Measurements/{name}.csv", size, sha256, (f"{_REPOSITORY}{commit}/Measurements/{source}.csv",))


_FILES = (
    _graph_file(
        "00_OpenSmartHomeData.ttl",
        27_654,
        "5d2085558d9b95fdec415f4f3904f1257ffec8374e4856c62fec30dc59d2ccaf",
        "b551050bfd1a3c31342e1f41e4853cee9aa0abb0",
    ),
    _graph_file(
        "01_LinkOsh.ttl",
        10_278,
        "5fab8e3976a60cd9fbc91db232cbc94d112c2f3324d49ccea0b7e8c8b2f111cb",
        "67ef5caf0049e4c0d9ee0adbe6bcaca9756bb2b2",
    ),
    _graph_file(
        "02_BotFromRevit.ttl",
        17_987,
        "fedfec1cb0e7d49f42108e296ecd7d614b63ab72cd260b374512cd316efc5a2a",
        "ef37614f6ffa766abdea3faec5ee7adf899546ae",
    ),
    _graph_file(
        "02_PropsFromRevit.ttl",
        45_834,
        "13203ed73d22f4a980601e12b89515c0ed06e5685f065bd61f2dd3a6ff82f456",
        "ef37614f6ffa766abdea3faec5ee7adf899546ae",
    ),
    _series("Bathroom_Brightness", 177_112, "76a2bb5b3539d08418bf59bf8e2250935beeef39d9b5e0ca56554c873f8fe01c"),
    _series("Bathroom_Humidity", 149_114, "baaac00493771aa50c04452f1ad9849b7b629c1a665d3c4d69190ad8bd214725"),
    _series("Bathroom_SetpointHistory", 4_822, "fce4c69cfec23efd2a8f1f85da576a9c16f496219c2eec84ee6a0a0fb3d5e08c"),
    _series("Bathroom_Temperature", 180_002, "e7f04276479ab6eaa092e9113f2efd1d9ae64b0f0ebd0c99e1f8c2c5ba9bf38b"),
    _series(
        "Bathroom_ThermostatTemperature", 185_390, "614d028d0747468856a1bd4be449cbc9f07fd5ddde4ee5b83ff73ac55720735c"
    ),
    _series("Bathroom_Virtual_OutdoorTemperature", *_OUTDOOR),
    _series("Kitchen_Brightness", 172_969, "1e150f2a284a3d6d4d2fcb23c0b0c46c60a6efa2f7059f05dac5c98cd42ef343"),
    _series("Kitchen_Humidity", 141_456, "65770731640a2b0a7925135ab20cec67836e79f1af85b128069ab3c5a63afdbc"),
    _series("Kitchen_SetpointHistory", 4_998, "c2a4721634e0b642933da10cb93e149683ae8ce0632bad62e06043b6caf82600"),
    _series("Kitchen_Temperature", 175_785, "c1f13491b0c62e2e8e6975354ec5cf708060ae0582044ce3a3aac9d1dc835383"),
    _series(
        "Kitchen_ThermostatTemperature", 172_842, "fada69052e999a10c63d8cc959ec95d016d572fdd54a813779fbc418b40e6710"
    ),
    _series("Kitchen_Virtual_OutdoorTemperature", *_OUTDOOR),
    _series("Room1_Brightness", 166_262, "f08151d759b57f44e5e7630c929cf933ad95476f8271ad85eda4d14bacfb9dd1"),
    _series("Room1_Humidity", 144_606, "02664e3bfc820c5957eda40470c5efc191bac4169861c500de4f89de532b32eb"),
    _series("Room1_SetpointHistory", 4_760, "0cfc06a757fe8c20adf54036b0d03b25319fd5d07a73d765ecb3ca45645c0225"),
    _series("Room1_Temperature", 177_989, "9d246ba2cab801543dc7a11e79555e005fe9c0b2e532caf05f978c736d38587b"),
    _series("Room1_ThermostatTemperature", 186_231, "b7526929be63527f298ae2689e3508c9403e74612521a06fc454734122bfb7f2"),
    _series("Room1_Virtual_OutdoorTemperature", *_OUTDOOR),
    _series("Room2_Brightness", 172_523, "46f2c4cfb1bf57f68fc8eb244e6acea6922320194df50ef8b7bf27e222c5cb90"),
    _series("Room2_Humidity", 144_382, "4d58acc1842e2174bc3a695b0aca331d2b79cc19fed8576837c9c5bad966346c"),
    _series("Room2_OutdoorTemperature", *_OUTDOOR),
    _series("Room2_SetpointHistory", 5_014, "832f94022753b7525558dfeaa7c87bebf658db91cabc5569db662324abf92492"),
    _series("Room2_Temperature", 181_037, "4c84279bffdf6affefb830fd54d2257592e8335c1514dff115e28c111eb0051e"),
    _series("Room2_ThermostatTemperature", 185_639, "99eddbb821b1d9e7a29286e2eb5b444bb59852e575e94e94acd60e7ac31bc4de"),
    _series("Room3_Brightness", 176_408, "eb5feb95eab1795323831cd69b411a47a622d0c693183bf936a0dec6fded5c33"),
    _series("Room3_Humidity", 144_998, "bfc1df3f9b777937f6e7e305ee570d7071d8cd5053a38266183b95f182caef25"),
    _series("Room3_SetpointHistory", 4_834, "cbee7c33e5664a6ac20b5b333612143758a6f72d18122a5233aad4fdfc13b235"),
    _series("Room3_Temperature", 184_412, "215daec34b439850992964d9200d2c89d7c56db0d403cccbfed843c109cacbcc"),
    _series("Room3_Virtual_OutdoorTemperature", *_OUTDOOR),
    _series(
        "Room3_left_ThermostatTemperature", 187_580, "129e3b50406434d633dc8e7b2debb1471f8d3652a86fbc9d505945c7b76d4772"
    ),
    _series(
        "Room3_right_ThermostatTemperature", 183_267, "8bf51b142981a7ba12c10773c5d4c4bb2629d8ca09201df0edb4dbf337862516"
    ),
    _series("Toilet_Brightness", 149_995, "392adedda42d1d0b7f3116662944115a0276b16cefbb5670b388b7b54553560b"),
    _series("Toilet_Humidity", 121_828, "5f85a3dbae2f5d2f98be698d0ada84d6d8a926b4f06d7138fac26942e2ab8d52"),
    _series("Toilet_SetpointHistory", 4_760, "9e77d73a4a281307f2c1e764dbe1dc4ff00fca5762cf702aec387dad2e2b83f6"),
    _series("Toilet_Temperature", 151_562, "9da40e9a1f309708c39e8c9989c82e02445aaec42f0fa29b033a2e1df288e436"),
    _series(
        "Toilet_ThermostatTemperature", 147_067, "054e7807d6f42de7595b47f884b935c13aaebbe3df909516eb2e75d73d40bbe0"
    ),
    _series("Toilet_Virtual_OutdoorTemperature", *_OUTDOOR),
)
_HOME = Published(
    folder="opensmarthome",
    files=_FILES,
    publisher="Fraunhofer Institute for Building Physics (OpenSmartHomeData)",
    page="https://doi.org/10.5281/zenodo.1244602",
    licence="CC BY-SA 4.0",
    citation="Schneider, Rasmussen, Bonsma, Oraskari, Pauwels (2018): Open Smart Home Data Set. "
    "doi:10.5281/zenodo.1244602",
)


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


def load(*, path: str | os.PathLike[str] | None = None, progress: Progress = silent) -> System:
    """Load the 32 series that the graph describes, bound to the sensors and actuators in their rooms.

    Args:
        path: The folder of the data set, or its parent; ``None`` to search for it.
        progress: Receives the progress of a download.
    """
    # A folder of your own need not have the copies.
    names = [file.name for file in _FILES if path is None or file.sha256 != _OUTDOOR[1] or "Room3" in file.name]
    folder = find_folder("open-smart-home", _HOME, names, path=path, progress=progress)
    graph = read_graph([folder / name for name in names if name.endswith(".ttl")])
    files = sorted((folder / "Measurements").glob("*.csv"))
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
    "4.6 MB of Fraunhofer IBP, with the extra 'datasets'",
    load,
    (_HOME,),
)
