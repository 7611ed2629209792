"""Faults in small systems in the shapes of the field: found, when, named how, and false alarms before and after them.

The systems are a folder that is no part of the package (``--field FOLDER``): readings, models and a ``truth.json`` with
the faults, which is read after everything was detected.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import thence as th


@dataclass(frozen=True)
class Case:
    """A system of the folder."""

    normal: str
    later: str
    graph: str = ""
    step: str = ""


CASES = {
    "process": Case("d00.dat", "d01_later.dat", step="3min"),
    "rig": Case("data/normal/*.csv", "data/valve*/*.csv"),
    "scada_water": Case("scada.csv", "scada_later.csv", "town.inp"),
    "bas_titles": Case("trend_export.csv", "trend_export_later.csv", "model.ttl"),
    "brick_haspart": Case("building17.csv", "building17_later.csv", "building17.ttl"),
    "pilot": Case("pilot.csv", "pilot_later.csv", "model.ttl"),
    "weekday": Case("log.csv", "log_later.csv", "model.ttl"),
    "noise_building": Case("readings.csv", "readings_later.csv", "model.ttl"),
}
MEMORIES = 4  # after a fault, alarms so many memories later still belong to it


def measure(folder: Path, case: Case) -> list[dict[str, Any]]:
    """Learn on the normal files, and detect in each later one; then compare with the faults."""
    options = {"step": case.step} if case.step else {}

    def files(pattern: str) -> list[str]:
        return sorted(str(path) for path in folder.glob(pattern))

    graph = str(folder / case.graph) if case.graph else None
    normal = files(case.normal)
    system = th.read_system(normal if len(normal) > 1 else normal[0], graph, sensor_options=options)
    detector = th.Detector(rules=False, ranges=False).fit(system)
    out = []
    for path in files(case.later):
        found = detector.detect(th.read_sensors(path, **options))
        out.append(_compared(folder, Path(path), found))
    return out


def _compared(folder: Path, path: Path, found: Any) -> dict[str, Any]:
    name = str(path.relative_to(folder))
    times = pl.Series(found.readings.times).cast(pl.Datetime("us"))
    faults = [one for one in json.loads((folder / "truth.json").read_text())["faults"] if one["file"] == name]
    alarm = found.scores > 1
    label, rows = np.zeros(len(alarm), bool), []
    for fault in faults:
        first, last = (_frame(times, fault[at]) for at in ("start", "end"))
        label[first:last] = True
        own = [one for one in found.alarms if one.first < last and one.last >= first]
        rows.append(
            {
                "kind": fault["kind"],
                "place": fault.get("place", ""),
                "hours": (last - first) * found.calibration.every,
                "delay_h": None if not own else max(own[0].first - first, 0) * found.calibration.every,
                "cause": "" if not own else str(max(own, key=lambda one: min(one.last, last) - one.first).cause),
            }
        )
    kept = round(MEMORIES * found.calibration.memory / found.calibration.every)
    near = np.array([label[max(at - kept, 0) : at + 1].any() for at in range(len(label))])
    wrong = [one for one in found.alarms if not near[one.first : one.last + 1].any()]
    share = float(alarm[~near].mean()) if (~near).any() else 0.0
    return {"file": name, "faults": rows, "false_alarms": len(wrong), "false_share": share}


def _frame(times: pl.Series, moment: str) -> int:
    if moment == "end":
        return len(times)
    if moment.startswith("row "):
        return int(moment.split()[1]) - 1
    clock = moment.replace("T", " ").removesuffix("Z")
    stamp = pl.Series([clock]).str.to_datetime("%Y-%m-%d %H:%M:%S" if clock.count(":") == 2 else "%Y-%m-%d %H:%M")[0]
    return int((times < stamp).sum())


def run_field(store: Any, given: Any) -> None:
    if given.field is None:
        print("pass --field FOLDER")
        return
    for name, case in list(CASES.items())[: 1 if given.quick else None]:
        record = store.get(name, lambda name=name, case=case: {"files": measure(given.field / name, case)})
        print(name, record["files"], flush=True)


def tell_field(records: list[dict[str, Any]]) -> str:
    """The table of faults."""
    if not records:
        return ""
    lines = [
        "## Small systems in the shapes of the field",
        "",
        "Made-up systems with known faults. False: alarms that touch no fault, and the share of the other time that",
        "is alarmed. Two of them led to changes of the detector: *process*, where an alarm could not exceed its own",
        "threshold, and *noise_building*, where days were judged by their neighbours. The others did not.",
        "",
        "| system | fault | found after | named | false |",
        "|---|---|---|---|---|",
    ]
    for found in records:
        for part in found["files"]:
            name = found["key"] if len(found["files"]) == 1 else f"{found['key']} {part['file']}"
            false = f"{part['false_alarms']} ({part['false_share']:.1%})"
            if not part["faults"]:
                lines.append(f"| {name} | none | | | {false} |")
            for at, fault in enumerate(part["faults"]):
                delay = fault["delay_h"]
                after = (
                    "not found"
                    if delay is None
                    else f"{delay:.3g} h"
                    if fault["hours"] > 2
                    else f"{delay * 3600:.0f} s"
                )
                first = at == 0
                lines.append(
                    f"| {name if first else ''} | {fault['kind']} at {fault['place']} | {after} | {fault['cause']} | "
                    f"{false if first else ''} |"
                )
    return "\n".join([*lines, ""])
