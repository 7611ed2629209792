"""Repeats on disk: one JSON file per repeat, written in one step when the repeat is done.

A file says what it was made with. Repeats made with other parameters are never mixed in: they are an error that names
what differs. Times are stored beside the measured values, never among them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from thence.atomic import new_file
from thence.errors import RunError

__all__ = ["Repeat", "Store"]

FORMAT = 1


@dataclass(frozen=True)
class Repeat:
    """What one repeat of a work gave, and what it was made with."""

    work: str
    dataset: str
    repeat: int
    made_with: Mapping[str, Any]
    sensors: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class Store:
    """The repeats under a folder."""

    folder: Path

    def path(self, work: str, dataset: str, repeat: int) -> Path:
        """Where a repeat is, or will be."""
        name = Path(dataset).stem if dataset.endswith(".toml") else dataset
        return self.folder / "repeats" / work / name / f"{repeat:03d}.json"

    def most_repeats(self) -> int:
        """One more than the highest number of a stored repeat; 0 where nothing is stored."""
        found = [int(p.stem) for p in self.folder.glob("repeats/*/*/*.json") if p.stem.isdigit()]
        return max(found, default=-1) + 1

    def save(self, repeat: Repeat) -> Path:
        """Write a repeat; it is there whole or not at all."""
        target = self.path(repeat.work, repeat.dataset, repeat.repeat)
        text = json.dumps({"format": FORMAT, **asdict(repeat)}, indent=1, ensure_ascii=False, sort_keys=True)
        with new_file(target) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
        return target

    def load(self, work: str, dataset: str, repeat: int, made_with: Mapping[str, Any]) -> Repeat | None:
        """A stored repeat; ``None`` where there is none, an error where it was made with something else."""
        path = self.path(work, dataset, repeat)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunError(f"this stored repeat cannot be read ({error})", where=str(path), hint="delete it") from error
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise RunError("this is not a stored repeat of this version", where=str(path), hint="delete it")
        if data["dataset"] != dataset:
            raise RunError(
                f"this repeat is of the data set {data['dataset']}, not of {dataset}",
                where=str(path),
                hint="choose another folder with out (--out)",
            )
        differing = _differences(data["made_with"], json.loads(json.dumps(made_with)))
        if differing:
            raise RunError(
                f"this repeat was made with other settings: {differing}",
                where=str(path),
                hint="choose another folder with out (--out), or delete these repeats",
            )
        return Repeat(**{**data, "sensors": tuple(data["sensors"]), "records": tuple(data["records"])})


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    before, now = _flat(stored), _flat(wanted)
    names = sorted({*before, *now})
    found = [f"{n} was {before.get(n)}, is {now.get(n)}" for n in names if before.get(n) != now.get(n)]
    return "; ".join(found[:3]) + (" …" if len(found) > 3 else "")


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tables within the settings, such as the digests of one's own files, key by key."""
    out: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            out |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            out[name] = value
    return out
