"""A local copy of a system: Parquet, CSV and JSON files with their hashes, from which a run can be repeated.

The copy holds what was read, with kinds and states decided, so reading it again gives the same sensors in their order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from thence._base.integrity.manifest import write_manifest
from thence.data.graph.system import System
from thence.data.readings.sensors import SensorData

SOURCES = "sources.json"
"""The file that says what was read from which store."""
# Options of reading that also hold for the copy: what is repaired when it is read again.
_KEPT = ("on_error", "max_loss")


def write_copy(system: System, folder: Path, *, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Write a system as files.

    Args:
        system: The system.
        folder: An empty folder.
        options: The options with which its readings were read.

    Returns:
        The section ``[input]`` of a configuration that reads the copy, with paths relative to the folder.
    """
    given = _write_readings(system.sensors, folder)
    reading = {name: value for name, value in (options or {}).items() if name in _KEPT}
    given["read_sensors"] = {**reading, **given["read_sensors"]}
    kinds = [(sensor.id, sensor.kind, sensor.unit) for sensor in system.sensors.sensors]
    pl.DataFrame(kinds, schema=["sensor", "kind", "unit"], orient="row").write_csv(folder / "kinds.csv")
    for name, part in (("graph", system.graph), ("ontology", system.ontology)):
        if part is not None:
            given[name] = f"{name}.json"
            text = json.dumps(part.to_dict(), ensure_ascii=False, indent=1)
            (folder / f"{name}.json").write_text(text, encoding="utf-8")
    if system.binding is not None:
        given["binding"] = "binding.csv"
        pairs = list(system.binding.items())
        schema = {"sensor": pl.String, "node": pl.String}
        pl.DataFrame(pairs, schema=schema, orient="row").write_csv(folder / "binding.csv")
        if system.binding.left_out:
            given["bind"] = {"partial": True}
    if system.labels is not None:
        system.labels.write_csv(folder / "labels.csv")
    return given


def _write_readings(sensors: SensorData, folder: Path) -> dict[str, Any]:
    """Write readings in their own layout, and return how to read them."""
    states = [sensor.id for sensor in sensors.sensors if sensor.categorical]
    reading: dict[str, Any] = {"kinds": "kinds.csv", "numeric": ["*"]}
    if states:
        reading["categorical"] = states
    given: dict[str, Any] = {"sensors": "sensors.parquet", "read_sensors": reading}
    if sensors.layout == "wide":
        sensors.to_polars().write_parquet(folder / "sensors.parquet")
        reading |= {"layout": "wide", "time": "time"}
        return given
    reading |= {"layout": "long", "time": "time", "sensor": "sensor", "value": "value"}
    rows = sensors.lazy.with_columns(pl.col("sensor").cast(pl.String))
    of_state = pl.col("sensor").is_in(states)
    parts = {
        "sensors.parquet": rows.filter(~of_state).select("time", "sensor", "value"),
        "states.parquet": rows.filter(of_state).select("time", "sensor", pl.col("state").alias("value"))
        if states
        else None,
    }
    written = []
    for name, part in parts.items():
        if part is not None and (name != "sensors.parquet" or len(states) < len(sensors)):
            part.sink_parquet(folder / name)
            written.append(name)
    given["sensors"] = written[0] if len(written) == 1 else written
    if len(written) > 1:
        # The order of the sensors is that of the files; this is their own.
        given["select"] = list(sensors.ids)
    return given


def finish_copy(folder: Path, *, sources: Any = ()) -> dict[str, Any]:
    """Write what was read from where, and the manifest of a folder, with which ``thence verify`` compares its files.

    Args:
        folder: The folder.
        sources: What was read from stores; see ``ReadReport``.

    Returns:
        What was written: version, time, sources, and every file with its size and hash.
    """
    record = {
        "thence": version("thence"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "sources": [dict(source) for source in sources],
    }
    (folder / SOURCES).write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    listed = write_manifest(folder).files
    return {**record, "files": {name: {"bytes": one.size, "sha256": one.sha256} for name, one in listed.items()}}
