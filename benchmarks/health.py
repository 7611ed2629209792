"""Health of sensors: which injected faults are found, how soon, and what is found where there is no fault.

    python benchmarks/health.py                  Net3, an air handling unit and a flat; THENCE_DATA has the last two
    python benchmarks/health.py net3 --repeats 3 only one system, with three repeats of each fault
    python benchmarks/health.py --quick          Net3 with one repeat
    python benchmarks/health.py --record         stores the tables of docs/guide/health.md

Each fault is put into one sensor at a random time between 40 and 70 % of the readings, one at a time. It is *found* if
a finding of its kind is about this sensor and overlaps the fault; a sensor held at 0 counts as dead or stuck. The
*delay* is how much of the data after the start of the fault is needed: the shortest of 6 hours, 1, 3, 7 days and all
with which it is found. *False* are findings about other sensors that the data without the fault do not have, and in
healthy systems all findings. Numbers of the published data may have faults of their own, so what is found there without
an injection is listed and not counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

import numpy as np
from _record import Table, record

import thence as th
from thence.data.readings.health.alone import count_decimals, find_runs
from thence.data.readings.health.checking import Found, check_series
from thence.data.readings.health.findings import Series
from thence.data.readings.sensors import Sensor
from thence.data.readings.units import convert
from thence.data.readings.windows import window
from thence.errors import ThenceError

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "net3": ("net3", {}),
    "lbnl-ahu": ("lbnl-ahu", {"unit": "MZVAV-2-1"}),
    "open-smart-home": ("open-smart-home", {}),
}
HEALTHY: dict[str, tuple[str, dict[str, Any]]] = {
    "net3": ("net3", {}),
    "hanoi": ("hanoi", {}),
}
CHOSEN_ON = ("net3", "noise 1", "noise 2")
SEEDS = (1, 2, 3, 4, 5, 6)
MOST_SENSORS = 60  # of a system, so that a run takes minutes
DAYS = (0.25, 1.0, 3.0)
DELAYS = (0.25, 1.0, 3.0, 7.0)
MONTH = 30.4
OTHER_UNIT = {"m": "ft", "m3/h": "gpm", "°C": "°F", "°F": "°C", "degF": "degC", "inH2O": "Pa", "ft3/min": "L/s"}


@dataclass(frozen=True)
class Case:
    """Readings in which a fault is put, and where.

    Args:
        series: The readings.
        column: The sensor.
        other: Another sensor, of which it may be a copy.
        start: The first reading of the fault.
    """

    series: Series
    column: int
    other: int
    start: int

    @property
    def per_day(self) -> int:
        """Windows in a day."""
        return round(86_400 / self.series.every.total_seconds())

    def after(self, days: float) -> int:
        """The reading so many days after the start."""
        return min(len(self.series.times), self.start + max(2, round(days * self.per_day)))


def hold(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    end = case.after(DAYS[size])
    x[case.start : end] = np.where(np.isfinite(x[case.start : end]), x[case.start], np.nan)
    return end


def die(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    end = case.after(DAYS[size])
    x[case.start : end] = np.where(np.isfinite(x[case.start : end]), 0.0, np.nan)
    return end


def drift(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    x[case.start :] += written(np.linspace(0, 1, len(x) - case.start) * (1, 2, 4)[size] * np.nanstd(x))
    return len(x)


def clip(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    x[case.start :] = np.minimum(x[case.start :], written(np.nanquantile(x, (0.97, 0.9, 0.8)[size])))
    return len(x)


def spike(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    x[case.start] += written((3, 6, 12)[size] * np.nanstd(x) * (-1) ** case.start)
    return case.start + 1


def change_unit(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    end = (case.after(1), case.after(3), len(x))[size]
    unit = case.series.sensors[case.column].unit
    by = convert(unit, OTHER_UNIT.get(unit, ""))
    part = x[case.start : end]
    known = int(np.median(count_decimals(x[np.isfinite(x)])))
    decimals = min(known, 4) + 2 if by is None else by.decimals(min(known, 4)) or 0
    x[case.start : end] = np.round(0.01 * part if by is None else by.factor * part + by.offset, decimals)
    return end


def coarsen(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    end = case.after((3, 7, 28)[size])
    known = count_decimals(x[np.isfinite(x)])
    decimals = min(3, int(np.median(known)))
    x[case.start : end] = np.round(x[case.start : end], max(0, decimals - 1))
    return end


def shift_clock(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    rows = max(1, round((0.5, 1, 3)[size] * case.per_day / 24))
    x[case.start + rows :] = x[case.start : len(x) - rows].copy()
    return len(x)


def pause(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    end = case.after(DAYS[size])
    x[case.start : end] = np.nan
    return end


def copy(case: Case, x: np.ndarray, size: int, written: Callable[[Any], Any]) -> int:
    y = case.series.values[:, case.other]
    x[:] = (y, y + 5, np.concatenate([np.full(4, np.nan), y[:-4]]))[size]
    return len(x)


FAULTS: Mapping[str, tuple[Callable[..., int], tuple[str, str, str]]] = {
    "dead": (die, ("6 h at 0", "1 d", "3 d")),
    "stuck": (hold, ("6 h", "1 d", "3 d")),
    "drifting": (drift, ("by 1 sd", "2 sd", "4 sd")),
    "clipped": (clip, ("top 3 %", "10 %", "20 %")),
    "spiking": (spike, ("3 sd", "6 sd", "12 sd")),
    "unit": (change_unit, ("1 d", "3 d", "to the end")),
    "precision": (coarsen, ("3 d", "7 d", "28 d")),
    "clock": (shift_clock, ("30 min", "1 h", "3 h")),
    "gap": (pause, ("6 h", "1 d", "3 d")),
    "copy": (copy, ("exact", "with offset", "4 rows later")),
}


def read(name: str, options: Mapping[str, Any]) -> tuple[Series, dict[str, str]]:
    """The numeric sensors of a data set in windows of its own step, and their nodes."""
    system = th.datasets.load(name, progress="off", **options)
    windows = window(system.sensors)
    return Series(windows.times, windows.numeric, np.asarray(windows.values), windows.every), dict(system.binding or {})


def some_of(series: Series) -> Series:
    """At most ``MOST_SENSORS`` of the sensors."""
    if len(series.sensors) <= MOST_SENSORS:
        return series
    kept = np.sort(np.random.default_rng(0).choice(len(series.sensors), MOST_SENSORS, replace=False))
    return series._replace(sensors=[series.sensors[at] for at in kept], values=series.values[:, kept])


def inject(case: Case, what: str, size: int) -> tuple[np.ndarray, int, int]:
    """The readings with a fault, its first reading and the one after its last."""
    values = case.series.values.copy()
    x = values[:, case.column].copy()
    decimals = int(np.median(count_decimals(x[np.isfinite(x)])))
    end = FAULTS[what][0](case, x, size, (lambda v: v) if decimals > 6 else (lambda v: np.round(v, decimals)))
    values[:, case.column] = x
    return values, 0 if what == "copy" else case.start, end


def is_hit(found: Found, case: Case, what: str, start: int, end: int) -> bool:
    """Whether a finding is about the fault."""
    kinds = ("dead", "stuck") if what == "dead" else (what,)
    columns = (case.column, case.other) if what == "copy" else (case.column,)
    return found.finding.what in kinds and found.column in columns and found.start < end and found.end > start


def delay_of(case: Case, what: str, values: np.ndarray, start: int, end: int, nodes: Mapping[str, str]) -> float | None:
    """How many days after the start of the fault it is found; ``None`` if only with all data."""
    for days in DELAYS:
        upto = case.after(days)
        part = case.series._replace(times=case.series.times[:upto], values=values[:upto])
        if any(is_hit(one, case, what, start, end) for one in check_series(part, nodes)):
            return days
    return None


def measure(name: str, series: Series, nodes: Mapping[str, str], repeats: int) -> list[tuple[Any, ...]]:
    """A row for each kind of fault: how many of each size are found, the delay, and the false findings."""
    series = some_of(series)
    columns = range(len(series.sensors))
    active = [at for at in columns if find_runs(series.values[np.isfinite(series.values[:, at]), at]).varies]
    before = {(one.column, one.finding.what) for one in check_series(series, nodes)}
    months = len(series.sensors) * len(series.times) * series.every.total_seconds() / 86_400 / MONTH
    rng, rows = np.random.default_rng(1), []
    for what in FAULTS:
        hits, delays, wrong = [0, 0, 0], [], 0
        for size in range(3):
            for _ in range(repeats):
                column, other = (int(at) for at in rng.choice(active, 2, replace=False))
                known = np.flatnonzero(np.isfinite(series.values[:, column]))
                case = Case(series, column, other, int(known[int(len(known) * rng.uniform(0.4, 0.7))]))
                values, start, end = inject(case, what, size)
                own = nodes if what != "copy" else {}
                found = [
                    one
                    for one in check_series(series._replace(values=values), own)
                    if (one.column, one.finding.what) not in before
                ]
                hit = any(is_hit(one, case, what, start, end) for one in found)
                hits[size] += hit
                wrong += sum(one.column not in (column, other) for one in found)
                if hit and what not in ("copy", "gap"):
                    delays.append(delay_of(case, what, values, start, end, own))
        shown = [one if one is not None else float("inf") for one in delays]
        soon = median(shown) if shown else None
        text = "" if soon is None else "with all" if soon > DELAYS[-1] else f"{soon:g} d"
        counts = [f"{count} of {repeats}" for count in hits]
        rows.append((name, what, *counts, text, wrong / (3 * repeats * months)))
        print(" | ".join(map(str, rows[-1])), flush=True)
    return rows


def noise(seed: int, rows: int = 5_000, each: int = 8) -> Series:
    """Healthy sensors of many habits, of which none has to do with another: nothing is to be found."""
    rng, columns = np.random.default_rng(seed), {}

    def smooth(memory: float) -> np.ndarray:
        steps, out = rng.normal(size=rows), np.zeros(rows)
        for at in range(1, rows):
            out[at] = memory * out[at - 1] + steps[at]
        return out

    day = np.arange(rows) * 2 * np.pi / 96
    on = (np.arange(rows) % 96 > 28) & (np.arange(rows) % 96 < 72) & ((np.arange(rows) // 96) % 7 < 5)
    for k in range(each):
        changes = np.maximum.accumulate(np.where(rng.random(rows) < 0.05, np.arange(rows), 0))
        rare = np.maximum.accumulate(np.where(rng.random(rows) < 0.004, np.arange(rows), 0))
        lengths = np.clip((rng.pareto(1.2, rows) * 3).astype(int), 1, 200)
        columns |= {
            f"AR .98 {k}": smooth(0.98),
            f"AR .8, 2 decimals {k}": np.round(smooth(0.8), 2),
            f"white {k}": rng.normal(size=rows),
            f"random walk {k}": np.cumsum(rng.normal(size=rows)),
            f"held {k}": np.round(rng.normal(20, 2, rows), 1)[changes],
            f"held for heavy-tailed times {k}": np.repeat(np.round(rng.normal(20, 3, rows), 1), lengths)[:rows],
            f"sticky integers {k}": np.round(smooth(0.99) * 0.3),
            f"state that rarely changes {k}": rng.integers(0, 3, rows).astype(float)[rare],
            f"constant {k}": np.full(rows, 21.5),
            f"heavy tails {k}": rng.standard_t(3, size=rows),
            f"flow by day {k}": np.where(on, np.round(np.abs(smooth(0.9)) + 5, 2), 0.0),
            f"daily {k}": np.round(20 + 5 * np.sin(day) + smooth(0.95) * 0.3, 1),
            f"missing at random {k}": np.where(rng.random(rows) < 0.1, np.nan, np.round(smooth(0.9), 2)),
        }
    times = np.datetime64("2024-01-01", "us") + np.arange(rows) * np.timedelta64(900_000_000, "us")
    sensors = [Sensor(name, name.rpartition(" ")[0]) for name in columns]
    return Series(times, sensors, np.column_stack(list(columns.values())), timedelta(minutes=15))


def measure_healthy(name: str, series: Series, nodes: Mapping[str, str]) -> tuple[Any, ...]:
    """A row: findings where there is no fault, per sensor and month, and the seconds that the check took."""
    months = len(series.sensors) * len(series.times) * series.every.total_seconds() / 86_400 / MONTH
    began = time.perf_counter()
    found = check_series(series, nodes)
    seconds = time.perf_counter() - began
    role = "chosen on" if name in CHOSEN_ON else "confirmed on"
    row = (name, role, len(series.sensors), len(series.times), len(found), len(found) / months, seconds)
    print(" | ".join(map(str, row)), *(f"\n  {one.finding.sentence}" for one in found[:5]), flush=True)
    return row


def main() -> None:
    """Print, and record if asked for, what is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--repeats", type=int, default=10, help="sensors and times of each fault and size")
    parser.add_argument("--quick", action="store_true", help="Net3 with one repeat")
    parser.add_argument("--record", action="store_true", help="store the tables")
    given = parser.parse_args()
    if unknown := {*given.systems} - {*SYSTEMS}:
        parser.error(f"unknown systems {sorted(unknown)}; there are {', '.join(SYSTEMS)}")
    names, repeats, seeds = (["net3"], 1, SEEDS[:1]) if given.quick else (given.systems, given.repeats, SEEDS)
    healthy = {"net3": HEALTHY["net3"]} if given.quick else HEALTHY
    rows, quiet = [], [measure_healthy(f"noise {seed}", noise(seed), {}) for seed in seeds]
    for title, (name, options) in healthy.items():
        try:
            quiet.append(measure_healthy(title, *read(name, options)))
        except ThenceError as error:
            print(f"{title} is left out: {error}", file=sys.stderr)
    for name in names:
        try:
            series, nodes = read(*SYSTEMS[name])
        except ThenceError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        rows += measure(name, series, nodes, repeats)
    if given.record:
        kinds = ("system", ""), ("fault", ""), ("small", ""), ("medium", ""), ("large", ""), ("delay", "")
        false = ("false per sensor and month", ".4f")
        systems = (("system", ""), ("", ""), ("sensors", ","), ("windows", ","), ("findings", ","))
        tables = {
            "faults": Table((*kinds, false), tuple(rows)),
            "healthy": Table((*systems, ("per sensor and month", ".4f"), ("time", ".2f s")), tuple(quiet)),
        }
        record("health", tables)


if __name__ == "__main__":
    main()
