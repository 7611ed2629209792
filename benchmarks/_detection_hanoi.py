"""Hanoi: leak scenarios, all sensors and a sparse set, in LeakDB's scores, beside baselines calibrated alike."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import numpy as np
from _detection_baselines import BASELINES, alarms_of

import thence as th
from thence._base.cluster import LocalExecutor, open_executor
from thence.checks.detect.detection import Detection
from thence.data.readings.windows import window

SPARSE = ("flow_1", "pressure_13", "pressure_16", "pressure_22", "pressure_27", "pressure_31")
START = datetime(2018, 1, 1, tzinfo=UTC)
STEP_S = 1800


def steps_of(system: th.System, n_steps: int) -> np.ndarray:
    """The label of each step: whether there is a leak."""
    label = np.zeros(n_steps, bool)
    for row in system.labels.iter_rows(named=True):
        first, last = (round((row[name] - START).total_seconds() / STEP_S) for name in ("start", "end"))
        label[first:last] = True
    return label


def run_scenario(scenario: int, sensors: str, noise: float) -> dict[str, Any]:
    """Learn on the year before, score the scenario, and return alarms, labels and places as numbers of steps."""
    later = th.datasets.load("hanoi", scenario=scenario, noise=noise)
    normal = th.datasets.load("hanoi", scenario=scenario, noise=noise, before=True)
    if sensors == "sparse":
        later, normal = later.select(SPARSE), normal.select(SPARSE)
    # Rules and ranges raise no alarms by default; they only say why, which nothing here looks at.
    detector = th.Detector(rules=False, ranges=False, retire_after=None).fit(normal)
    found = detector.detect(later)
    alarm = found.frame["alarm"].to_numpy()
    others = {}
    for name, make in BASELINES.items() if sensors == "sparse" else ():
        flags = alarms_of(make, window(normal.sensors), window(later.sensors))
        others[name] = [] if flags is None else [list(map(int, span)) for span in _spans(flags)]
    return {
        "scenario": scenario,
        "sensors": sensors,
        "noise": noise,
        "alarms": [list(map(int, span)) for span in _spans(alarm)],
        "others": others,
        "labels": [list(map(int, span)) for span in _spans(steps_of(later, len(alarm)))],
        "steps": len(alarm),
        "leaks": [_judge(row, found) for row in later.labels.iter_rows(named=True)],
        **detector.describe(),
    }


def _judge(row: dict[str, Any], found: Detection) -> dict[str, Any]:
    """When a leak was first alarmed, and at which rank of the places its node was then."""
    first, last = (round((row[name] - START).total_seconds() / STEP_S) for name in ("start", "end"))
    # An alarm that began before the leak may go on into it; the first alarm that begins within it locates it.
    within = [alarm for alarm in found.alarms if first <= alarm.first < last] or [
        alarm for alarm in found.alarms if alarm.first < last and alarm.last >= first
    ]
    record = {"node": row["subject"], "details": row["details"], "start": first, "end": last, "delay": None}
    # Short alarms come and go; the one that lasts longest is the one that is looked at.
    if within:
        longest = max(within, key=lambda alarm: (min(alarm.last, last) - alarm.first, -alarm.first))
        places = found.locate(longest)["place"].to_list()
        junctions = [place for place in places if place.startswith("Junction")]
        rank = junctions.index(row["subject"]) + 1 if row["subject"] in junctions else None
        record |= {"delay": max(min(alarm.first for alarm in within) - first, 0), "rank": rank}
        record["place_rank"] = places.index(row["subject"]) + 1 if row["subject"] in places else None
    return record


def _spans(flags: np.ndarray) -> np.ndarray:
    padded = np.concatenate([[False], flags, [False]])
    return np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2)


def _run_task(noise: float, task: tuple[int, str]) -> dict[str, Any]:
    return run_scenario(*task, noise)


def run_hanoi(store: Any, given: Any) -> None:
    first, _, last = given.scenarios.partition("-")
    scenarios = range(int(first), int(last or first) + 1)
    keys = {
        f"{scenario} {sensors} {given.noise:g}": (scenario, sensors)
        for scenario in list(scenarios)[: 2 if given.quick else None]
        for sensors in ("all", "sparse")
    }
    missing = [task for key, task in keys.items() if key not in store.records]
    chosen = LocalExecutor(jobs=1) if given.executor == "local" else given.executor
    with (
        open_executor(chosen, address=given.address) as executor,
        closing(executor.map(_run_task, missing, shared=given.noise)) as results,
    ):
        for key in keys:
            record = store.get(key, lambda: next(results))
            alarmed = sum(end - start for start, end in record["alarms"])
            print(
                f"{key}: {len(record['leaks'])} leaks, {len(record['alarms'])} alarms, {alarmed} steps alarmed",
                flush=True,
            )
