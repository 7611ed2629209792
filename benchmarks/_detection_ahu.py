"""Air handling units of LBNL: every fault, beside hand-written rules, an isolation forest and a PCA residual."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from _detection_baselines import BASELINES, alarms_of

import thence as th
from thence import scoring
from thence.data.readings.windows import WindowedReadings, window

UNITS = ("MZVAV-2-1", "SZCAV", "SZVAV")
TRAIN_DAYS = {"MZVAV-2-1": 8, "SZCAV": 1, "SZVAV": 3}
PER_MONTH = 1.0
METHODS = ("thence", "hand-written rules", "isolation forest", "PCA residual")


def split(system: th.System) -> tuple[th.System, th.System, list[Any], list[Any]]:
    """Normal readings to learn from, all other readings, and the normal days of both."""
    from dataclasses import replace

    frame = system.sensors.to_polars()
    day = frame["time"].dt.date()
    labelled = {row["start"].date() for row in system.labels.iter_rows(named=True)}
    normal = [one for one in day.unique().sort().to_list() if one not in labelled]
    unit = system.description.split(":")[0].rpartition(" ")[2]
    learn = normal[: TRAIN_DAYS[unit]]
    kinds = {sensor.id: (sensor.kind, sensor.unit) for sensor in system.sensors.sensors}
    states = [sensor.id for sensor in system.sensors.sensors if sensor.categorical]

    def part(mask: pl.Series) -> th.System:
        sensors = th.SensorData.from_wide(frame.filter(mask)).with_kinds(kinds).with_states(states)
        return replace(system, sensors=sensors)

    is_learned = day.is_in(learn)
    return part(is_learned), part(~is_learned), learn, normal[TRAIN_DAYS[unit] :]


def hand_written(readings: WindowedReadings) -> np.ndarray:
    """Supply temperature off its set point, heating and cooling at once, damper stuck; for 30 minutes, fan on."""
    column = {sensor.id.rpartition("/")[2]: at for at, sensor in enumerate(readings.numeric)}

    def read(*names: str) -> np.ndarray:
        for name in names:
            found = [at for id, at in column.items() if name in id.lower().replace(" ", "_")]
            if found:
                return readings.values[:, found[0]]
        return np.full(len(readings), np.nan)

    fan = np.ones(len(readings), bool)
    for id, (codes, known) in readings.states.items():
        if "supply" in id.lower() and "fan" in id.lower():
            fan = np.array([code >= 0 and known[code] == "on" for code in codes])
    supply = read("supply_air_temperature")
    cooling = read("temperature_cooling_set_point", "supply_air_temperature_set_point")
    heating = read("temperature_heating_set_point", "supply_air_temperature_set_point")
    off = (supply > cooling + 4) | (supply < heating - 4)
    both = (read("heating_coil_valve") > 0.05) & (read("cooling_coil_valve") > 0.05)
    outdoor, back, mixed = (
        read("outdoor_air_temperature"),
        read("return_air_temperature"),
        read("mixed_air_temperature"),
    )
    share = np.where(np.abs(back - outdoor) > 10, (back - mixed) / (back - outdoor), np.nan)
    stuck = np.abs(share - read("outdoor_air_damper")) > 0.4
    broken = fan & (np.nan_to_num(off) | np.nan_to_num(both) | np.nan_to_num(stuck)).astype(bool)
    run = np.zeros(len(broken), np.int64)
    for at, one in enumerate(broken):
        run[at] = (run[at - 1] if at else 0) + 1 if one else 0
    return run >= 6


def measure(unit: str) -> dict[str, Any]:
    system = th.datasets.load("lbnl-ahu", unit=unit)
    normal, later, learned, tested = split(system)
    detector = th.Detector(windows="5min", retire_after=None, false_alarms=PER_MONTH).fit(normal)
    found = detector.detect(later)
    readings, before = window(later.sensors, "5min"), window(normal.sensors, "5min")
    alarms = {"thence": found.frame["alarm"].to_numpy(), "hand-written rules": hand_written(readings)}
    for name, make in BASELINES.items():
        alarm = alarms_of(make, before, readings, per_month=PER_MONTH)
        if alarm is not None:
            alarms[name] = alarm
    faults: list[str | None] = [None] * len(readings)
    times = readings.times.astype("datetime64[D]").astype(object)
    what = {
        row["start"].date(): f"{row['subject'].replace('_', ' ')}: {row['details']}"
        + (" (disputed)" if row["label"] != "fault" else "")
        for row in system.labels.iter_rows(named=True)
    }
    for at, day in enumerate(times):
        faults[at] = what.get(day)
    rows: dict[str, dict[str, float]] = {}
    for method, alarm in alarms.items():
        for one in scoring.detection_by_fault(faults, alarm):
            rows.setdefault(str(one.fault or "normal days"), {})[method] = one.alarmed_share
    return {
        "unit": unit,
        "learned_days": len(learned),
        "normal_test_days": len(tested),
        "rows": rows,
        "refused": "residual, worst" not in detector.calibration.thresholds,
        **detector.describe(),
    }


def run_ahu(store: Any, given: Any) -> None:
    for unit in UNITS[: 1 if given.quick else None]:
        record = store.get(unit, lambda unit=unit: measure(unit))
        print(tell_ahu([record]), flush=True)


INTRODUCTION = """## Air handling units of LBNL

The share of each day with an alarm, at 5 minutes. Every fault lasts one day. All methods but the hand-written rules
learn on the same normal days, cross-fitted over them, with the same memory (1 h), and their thresholds come from the
greatest values of these days by the same function (one false alarm a month). With less than four normal days they are
**refused**: nothing is known about how days differ, and only states that were never seen and laws that were never
violated raise alarms. A fault is "told apart" if it is alarmed for at least a tenth of its day, and at least twice as
long as the normal days are. Settings were looked at on MZVAV-2-1.
"""


def tell_ahu(records: list[dict[str, Any]]) -> str:
    """The tables of some units."""
    lines = [INTRODUCTION] if records else []
    for found in records:
        days = {name: shares for name, shares in found["rows"].items() if name != "normal days"}
        usual = found["rows"].get("normal days", {})
        shown = [method for method in METHODS if any(method in shares for shares in found["rows"].values())]
        least = {method: max(0.1, 2 * usual.get(method, 0.0)) for method in shown}
        hit = [sum(shares[method] >= least[method] for shares in days.values()) for method in shown]
        few = f"; refused: {found['learned_days']} normal days, four are needed" if found["refused"] else ""
        lines += [
            f"**{found['unit']}**: learned on {found['learned_days']} normal days, {found['normal_test_days']} others "
            f"tested{few}.",
            "",
            f"| fault | {' | '.join(shown)} |",
            f"|---|{'---|' * len(shown)}",
        ]
        for fault, shares in sorted(found["rows"].items(), key=lambda one: (one[0] == "normal days", one[0])):
            lines.append(f"| {fault} | {' | '.join(f'{shares[method]:.0%}' for method in shown)} |")
        # Without a normal day to compare with, a method that always alarms would look perfect.
        counts = " | ".join(f"{number} of {len(days)}" if usual else "not known" for number in hit)
        lines += [f"| **faults told apart** | {counts} |", ""]
    return "\n".join(lines)
