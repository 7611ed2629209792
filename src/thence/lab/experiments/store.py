"""Stored repeats: one JSON file per repeat, written in one step when the repeat is complete.

A file carries its own checksum, and records the settings of the repeat. Loading a repeat that was changed, or has other
settings, is an error that says so, so that repeats are never mixed. Times are stored beside the measured values, not
among them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from thence._base.atomic import new_file
from thence._base.integrity.checksums import CHECKSUM, read_sealed, seal
from thence.errors import RunError, quote

__all__ = ["Repeat", "Store"]

FORMAT = 1
_DELETE = "delete the file; the repeat is then run again"
_TYPES: Mapping[str, type] = {"work": str, "dataset": str, "repeat": int, "sensors": list, "records": list}


@dataclass(frozen=True)
class Repeat:
    """One repeat of a procedure; its fields are the keys of the stored file.

    Args:
        work: Name of the procedure.
        dataset: Name of the data set, or a configuration file.
        repeat: Number of the repeat.
        made_with: Settings that determine the records.
        sensors: Ids of the sampled sensors.
        records: Measurements of rule sets.
        environment: Versions and machine.
    """

    work: str
    dataset: str
    repeat: int
    made_with: Mapping[str, Any]
    sensors: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class Store:
    """The repeats that are stored in a folder.

    Args:
        folder: The folder.
    """

    folder: Path

    def path(self, procedure: str, dataset: str, repeat: int) -> Path:
        """Return the file of a repeat, whether it exists or not."""
        name = Path(dataset).stem if dataset.endswith(".toml") else dataset
        return self.folder / "repeats" / procedure / name / f"{repeat:03d}.json"

    def count_repeats(self) -> int:
        """Return the highest number of a stored repeat plus one; 0 if nothing is stored."""
        found = [int(p.stem) for p in self.folder.glob("repeats/*/*/*.json") if p.stem.isdigit()]
        return max(found, default=-1) + 1

    def save(self, repeat: Repeat) -> Path:
        """Write a repeat in one step and return its file."""
        target = self.path(repeat.work, repeat.dataset, repeat.repeat)
        record = seal({"format": FORMAT, **asdict(repeat)})
        text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
        with new_file(target) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
        return target

    def load(self, procedure: str, dataset: str, repeat: int, made_with: Mapping[str, Any]) -> Repeat | None:
        """Load a repeat.

        Args:
            procedure: Name of the procedure.
            dataset: Name of the data set, or a configuration file.
            repeat: Number of the repeat.
            made_with: Settings that the repeat must have.

        Returns:
            The repeat; ``None`` if it is not stored.

        Raises:
            RunError: The file cannot be read, was changed, or is a repeat of other data or with other settings.
        """
        path = self.path(procedure, dataset, repeat)
        try:
            data, _ = read_sealed(path, hint=_DELETE)
        except FileNotFoundError:
            return None
        data.pop(CHECKSUM, None)
        if data.pop("format", None) != FORMAT:
            raise RunError("not a repeat that this version can read", where=str(path), hint=_DELETE)
        found = _build(data, path)
        if found.dataset != dataset:
            raise RunError(
                f"this repeat is of the data set {quote(found.dataset)}, not {quote(dataset)}",
                where=str(path),
                hint="use another folder with out= (--out)",
            )
        if (found.work, found.repeat) != (procedure, repeat):
            raise RunError(
                f"this file is repeat {found.repeat} of {quote(found.work)}, not repeat {repeat} of {quote(procedure)}",
                where=str(path),
                hint="the file was renamed or copied; delete it, and the repeat is run again",
            )
        differing = _find_differences(found.made_with, json.loads(json.dumps(made_with)))
        if differing:
            raise RunError(
                f"this repeat has other settings: {differing}",
                where=str(path),
                hint="use another folder with out= (--out), or delete these repeats",
            )
        return found


def _build(data: Mapping[str, Any], path: Path) -> Repeat:
    """The repeat that a file holds."""
    types: dict[str, type] = {field.name: _TYPES.get(field.name, dict) for field in fields(Repeat)}
    wrong = [name for name, type_ in types.items() if not isinstance(data.get(name), type_)]
    wrong += sorted(data.keys() - types.keys())
    if not wrong and not all(isinstance(record, dict) for record in data["records"]):
        wrong = ["records"]
    if wrong:
        raise RunError(f"not a repeat: {quote(wrong[0])} is missing or wrong", where=str(path), hint=_DELETE)
    return Repeat(**{**data, "sensors": tuple(data["sensors"]), "records": tuple(data["records"])})


def _find_differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    before, now = _flatten(stored), _flatten(wanted)
    names = sorted({*before, *now})
    found = [f"{n} was {before.get(n)}, is {now.get(n)}" for n in names if before.get(n) != now.get(n)]
    return "; ".join(found[:3]) + (" …" if len(found) > 3 else "")


def _flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with nested mappings, such as hashes of files, flattened to dotted keys."""
    out: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            out |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            out[name] = value
    return out
