"""L-Town, simulated with the sensors and the 2019 leaks of BattLeDIM.

The published network contains one week of nominal demands; BattLeDIM's series come from a network that was never
published. Here the nominal week repeats with a seasonal factor and noise, both fitted to the published inflows of 2019
(see ``_SEASON``), and the published leak flows are taken from the middle of their pipes. The result resembles
BattLeDIM's data but is not the same. The network is taken from the package EPyT, the table of leaks is part of this
package, and the leak flows are downloaded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_integer
from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System, label_frame
from thence.errors import ConfigError, InputError, reported_as
from thence.lab.datasets.epanet import Network
from thence.lab.datasets.folders import (
    choose_kinds,
    declared,
    find_folder,
    find_in_epyt,
    packaged_facts,
    search_folder,
)
from thence.lab.datasets.water import (
    Floats,
    Gauge,
    Simulated,
    build_system,
    draw_factors,
    frame_of_readings,
    load_or_simulate,
    require_noise,
)

STEP = timedelta(minutes=5)
_STEPS_A_DAY = 288
_STEPS_A_WEEK = 7 * _STEPS_A_DAY
_FIRST_DAY = date(2019, 1, 1)
_VERSION = 1
_NETWORK = "L-TOWN.inp"
_LEAK_FLOWS, _CONVERTED_FLOWS = "2019_Leakages.csv", "2019_leak_flows_m3h.parquet"
_BATTLEDIM = declared("battledim")

# (Inflow − leaks) / nominal demand in the published year 2019: a constant and the first harmonic of the year.
_SEASON = (0.997, -0.088, -0.047)

_PRESSURE_NUMBERS = (
    *(1, 4, 31, 54, 105, 114, 163, 188, 215, 229, 288, 296, 332, 342, 410, 415, 429, 458, 469, 495, 506, 516, 519),
    *(549, 613, 636, 644, 679, 722, 726, 740, 752, 769),
)
_NOT_METERED = (5, 12, 14, 15, 37, 38, 348, 359, 363, 380)
PRESSURE_GAUGES = tuple(f"n{number}" for number in _PRESSURE_NUMBERS)
FLOW_METERS = ("PUMP_1", "p227", "p235")
LEVEL_GAUGES = ("T1",)
AMRS = tuple(f"n{number}" for number in (*range(1, 46), *range(343, 390)) if number not in _NOT_METERED)
_GAUGES = (
    *(Gauge("pressure", name) for name in PRESSURE_GAUGES),
    *(Gauge("flow", name) for name in FLOW_METERS),
    *(Gauge("level", name) for name in LEVEL_GAUGES),
    *(Gauge("demand", name) for name in AMRS),
)


def load(
    *,
    start: str | date = "2019-01-01",
    days: int = 14,
    leaks: bool = True,
    seed: int = 0,
    demand_noise: float = 0.07,
    noise: float = 0.0,
    sensors: str | Iterable[str] = "all",
    path: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> System:
    """Simulate L-Town at 5 minutes, or read it from the cache; a year takes about a minute.

    Args:
        start: The first day.
        days: The number of days.
        leaks: Whether to simulate and label the published leaks of 2019; the period must then lie within 2019.
        seed: The random seed of the demands and of the noise of readings.
        demand_noise: The spread of the random demand factors, from 0 to below 1: one factor per step for all customers
            of a class (residential, commercial, industrial), and one per step and junction.
        noise: The noise of readings, from 0 to below 1: every reading is multiplied by a factor N(1, ``noise``) of its
            own, after the simulation. With 0, the default, readings are exact.
        sensors: ``"all"``, or some of the kinds ``"pressure"``, ``"flow"``, ``"level"`` and ``"demand"``.
        path: L-TOWN.inp, or the folder of the BattLeDIM files, or its parent; ``None`` to search for it. Without the
            file, the network of the package EPyT is used.
        progress: Receives the progress of a download and of the simulation.
    """
    first = _as_day(start)
    require_integer("days", days)
    if leaks and not _FIRST_DAY <= first <= first + timedelta(days - 1) <= date(2019, 12, 31):
        raise ConfigError(
            f"{days} days from {first} do not lie within 2019, the year of the published leaks",
            hint="choose other days, or leaks=False",
        )
    require_noise("demand_noise", demand_noise)
    require_noise("noise", noise)
    kinds = choose_kinds(sensors, known=("pressure", "flow", "level", "demand"))
    inp = _find_network(path)
    begin = datetime(first.year, first.month, first.day, tzinfo=UTC)
    end = begin + timedelta(days=days)
    leak_file = _find_leak_flows(path, progress) if leaks else None
    flows = _read_leak_flows(leak_file, begin, end) if leak_file else pl.DataFrame()
    frame, _ = load_or_simulate(
        "ltown",
        parameters={
            "version": _VERSION,
            "start": first.isoformat(),
            "days": days,
            "seed": seed,
            "noise": demand_noise,
            "leaks": leaks,
        },
        sources=[inp, leak_file] if leak_file else [inp],
        simulate=lambda: _simulate(
            inp, begin=begin, days=days, seed=seed, noise=demand_noise, leak_flows=flows, progress=progress
        ),
    )
    return build_system(
        "ltown",
        frame,
        inp=inp,
        kinds=kinds,
        noise=noise,
        seeds=[seed],
        leaks=_labels(begin, end) if leaks else label_frame([]),
        leaks_in_links=True,
        description=f"L-Town water network: {days} days from {first} at 5 min, seed {seed}, {flows.width} leaks",
        source="simulated with EPANET 2.2 after BattLeDIM (Vrachimis et al. 2020), with its sensors and leaks",
    )


def _as_day(start: str | date) -> date:
    try:
        return date.fromisoformat(start) if isinstance(start, str) else date(start.year, start.month, start.day)
    except ValueError as error:
        raise ConfigError(f"start must be a date such as 2019-01-01: {error}") from error


def _find_network(path: str | os.PathLike[str] | None) -> Path:
    if path is not None and Path(path).expanduser().is_file():
        return Path(path).expanduser()
    if folder := search_folder(_BATTLEDIM, [_NETWORK], path=path):
        return folder / _NETWORK
    if path is not None:
        raise InputError(f"no file {_NETWORK} of BattLeDIM here", where=str(path), hint="leave out path= to use EPyT's")
    return find_in_epyt(_NETWORK)[0]


def _find_leak_flows(path: str | os.PathLike[str] | None, progress: Progress) -> Path:
    given = None if path is None else Path(path).expanduser()
    parent = given.parent if given is not None and given.is_file() else given
    if folder := search_folder(_BATTLEDIM, [_CONVERTED_FLOWS], path=parent):
        return folder / _CONVERTED_FLOWS
    return find_folder("ltown", _BATTLEDIM, [_LEAK_FLOWS], path=parent, progress=progress) / _LEAK_FLOWS


def _read_leak_flows(file: Path, begin: datetime, end: datetime) -> pl.DataFrame:
    """The flows in m³/h of the pipes that leak in a period, one row per step."""
    if file.suffix == ".parquet":
        table = pl.read_parquet(file)
    else:
        with reported_as(InputError, "not the leak flows of BattLeDIM", where=str(file)):
            # As text, since a column may begin with zeros that look like integers.
            table = pl.read_csv(file, separator=";", infer_schema=False).select(
                pl.col("Timestamp").str.to_datetime(time_unit="us"),
                pl.exclude("Timestamp").str.replace(",", ".", literal=True).cast(pl.Float64),
            )
    first, last = begin.replace(tzinfo=None), end.replace(tzinfo=None)
    period = table.filter(pl.col("Timestamp").is_between(first, last, closed="left")).sort("Timestamp")
    if period.height != (end - begin) // STEP:
        raise InputError(
            f"the leak flows have {period.height} rows from {first} to {last}, not one every 5 minutes",
            where=str(file),
        )
    # The pipes are split in the order of their names, whatever the order of the columns.
    pipes = period.select(pl.col(column).cast(pl.Float64) for column in sorted(period.columns) if column != "Timestamp")
    return pipes.select(column for column in pipes.columns if pipes[column].max() != 0)


def _labels(begin: datetime, end: datetime) -> pl.DataFrame:
    leaks = packaged_facts("battledim_leaks.toml")["leaks"]
    labels = []
    for pipe, first, last, diameter, kind in sorted(leaks, key=lambda leak: leak[1]):
        starts, ends = first.replace(tzinfo=UTC), last.replace(tzinfo=UTC) + STEP
        if starts < end and ends > begin:
            labels.append(
                {
                    "start": max(starts, begin),
                    "end": min(ends, end),
                    "label": "leak",
                    "subject": pipe,
                    "details": f"{kind}, {diameter * 1000:.1f} mm",
                }
            )
    return label_frame(labels)


def _simulate(
    inp: Path,
    *,
    begin: datetime,
    days: int,
    seed: int,
    noise: float,
    leak_flows: pl.DataFrame,
    progress: Progress,
) -> Simulated:
    with Network(inp) as network:
        demands = _WeeklyDemands(network, first_day=begin.date(), seed=seed, noise=noise)
        for pipe in leak_flows.columns:
            network.split_pipe(pipe, junction=f"{pipe}~leak")
            network.set_demand(network.replace_demand(f"{pipe}~leak"), leak_flows[pipe].to_numpy())
        table = network.simulate(
            [gauge.probe for gauge in _GAUGES],
            steps=days * _STEPS_A_DAY,
            step_s=round(STEP.total_seconds()),
            before=demands,
            progress=progress,
        )
    return frame_of_readings(table, _GAUGES, start=begin, step=STEP), {}


class _WeeklyDemands:
    """Sets the demands of all junctions week by week, since a year of them would need too much memory.

    The noise of a day depends on its date only, so a day is the same in every period that contains it.
    """

    def __init__(self, network: Network, *, first_day: date, seed: int, noise: float) -> None:
        self._network = network
        self._first_day = first_day
        self._seed, self._noise = seed, noise
        categories = {junction: network.demands(junction) for junction in network.junctions}
        patterns: dict[bytes, Floats] = {}
        shares: list[dict[bytes, float]] = []
        for demands in categories.values():
            share: dict[bytes, float] = {}
            for base, pattern in demands:
                patterns[pattern.tobytes()] = pattern
                share[pattern.tobytes()] = share.get(pattern.tobytes(), 0.0) + base
            shares.append(share)
        self._nominal = np.stack([np.resize(pattern, _STEPS_A_WEEK) for pattern in patterns.values()])
        self._base = np.array([[share.get(key, 0.0) for key in patterns] for share in shares])
        self._series = [network.replace_demand(junction) for junction in categories]

    def __call__(self, step: int) -> None:
        if step % _STEPS_A_WEEK:
            return
        first = self._first_day + timedelta(days=step // _STEPS_A_DAY)
        week = np.hstack([self._draw_day(first + timedelta(days=day)) for day in range(7)])
        for series, values in zip(self._series, week, strict=True):
            self._network.set_demand(series, values)

    def _draw_day(self, day: date) -> Floats:
        rng = np.random.default_rng([self._seed, day.toordinal()])
        moments = (day - _FIRST_DAY).days * _STEPS_A_DAY + np.arange(_STEPS_A_DAY)
        nominal = self._nominal[:, moments % _STEPS_A_WEEK] * _season(moments)
        wanted = self._base @ (nominal * draw_factors(rng, nominal.shape, spread=self._noise))
        return np.asarray(wanted * draw_factors(rng, wanted.shape, spread=self._noise))


def _season(moments: NDArray[np.int64]) -> Floats:
    angle = 2 * math.pi * moments / (365 * _STEPS_A_DAY)
    constant, cosine, sine = _SEASON
    return np.asarray(constant + cosine * np.cos(angle) + sine * np.sin(angle))


DATASET = NamedDataset(
    "ltown",
    "L-Town, simulated with BattLeDIM's 119 sensors and its leaks of 2019, labelled, at 5 min",
    "the extra 'water'; unless leaks=False, 10 MB with the extra 'datasets'",
    load,
    (_BATTLEDIM,),
)
