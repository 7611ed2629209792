"""The files of a system in a folder, found by their names and suffixes. Must not read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thence.data.loaders import LOADERS
from thence.data.readers.files import READERS
from thence.errors import ConfigError
from thence.runs.configuration import SystemConfig

_NAMES = ("binding", "ontology", "kinds")
_GRAPH_TABLES = ("nodes", "edges")
_NOT_READ = ("labels", "config", "dataset", "readme", "license")


def find_system_files(name: str, folder: str | Path) -> SystemConfig:
    """Find the files of a system in a folder, by their names and suffixes.

    A file whose name contains "binding", "ontology" or "kinds" is that part. Files of a graph format, and tables whose
    name contains "nodes" or "edges", are the graph. All other files of a readings format are readings.

    Args:
        name: The name of the system.
        folder: The folder; its subfolders are not read.

    Raises:
        ConfigError: If there is no such folder, or it has no readings.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ConfigError("no such folder", where=str(folder), hint=f"pass --system {name}=FOLDER")
    graphs = {suffix for one in LOADERS for suffix in LOADERS.load(one).suffixes}
    readings = {f".{suffix.removeprefix('.')}" for suffix in READERS}
    found: dict[str, list[str]] = {"sensors": [], "graph": [], "binding": [], "ontology": [], "kinds": []}
    for path in sorted(place.iterdir()):
        stem, suffix = path.stem.lower(), path.suffix.lower()
        if not path.is_file() or path.name.startswith(".") or stem in _NOT_READ:
            continue
        part = next((part for part in _NAMES if part in stem), None)
        if part is not None and suffix in graphs | readings:
            found[part].append(str(path.absolute()))
        elif any(word in stem for word in _GRAPH_TABLES) and suffix in graphs | readings:
            found["graph"].append(str(path.absolute()))
        elif suffix in readings and (suffix not in graphs or "graph" not in stem):
            found["sensors"].append(str(path.absolute()))
        elif suffix in graphs:
            found["graph"].append(str(path.absolute()))
    if not found["sensors"]:
        listed = ", ".join(sorted(readings))
        raise ConfigError("the folder has no readings", where=str(folder), hint=f"put files there: {listed}")
    kinds = found.pop("kinds")
    options = {"kinds": kinds[0]} if kinds else {}
    parts: dict[str, Any] = {part: tuple(paths) for part, paths in found.items() if paths}
    return SystemConfig(name=name, read_sensors=options, **parts)
