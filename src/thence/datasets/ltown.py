"""L-Town, simulated with the sensors and the 2019 leaks of BattLeDIM.

The published network carries one week of nominal demands; BattLeDIM's own series come from a network that was never
published. Here the nominal week is repeated with a season of the year and noise (both fitted to the published 2019
inflows, see ``_SEASON``), and the published leak flows are drawn from the middle of their pipes. The result is
like BattLeDIM's data, not the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from importlib import util
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thence.datasets.cache import Made, cached
from thence.datasets.demand import Floats, noisy
from thence.datasets.epanet import Network
from thence.datasets.places import find_folder
from thence.datasets.sensor_kinds import choose_kinds
from thence.datasets.water import Gauge, assemble, readings
from thence.errors import ConfigError, InputError
from thence.graph.system import System, label_frame
from thence.progress import Progress, silent

__all__ = ["AMRS", "FLOW_METERS", "LEVEL_GAUGES", "PRESSURE_GAUGES", "load"]

STEP = timedelta(minutes=5)
_STEPS_A_DAY = 288
_STEPS_A_WEEK = 7 * _STEPS_A_DAY
_FIRST_DAY = date(2019, 1, 1)
_VERSION = 1
_LEAK_INFO = "2019_leak_info.csv"
_LEAK_FLOWS = ("2019_leak_flows_m3h.parquet", "2019_Leakages.csv")
_PUBLISHER = "BattLeDIM, the Battle of the Leakage Detection and Isolation Methods, KIOS Research Center (L-TOWN.inp)"

# Inflow less leaks over nominal demand in the published year 2019: a constant and the first harmonic of the year.
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
    noise: float = 0.07,
    sensors: str | Iterable[str] = "all",
    path: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> System:
    """Simulate (or read from the cache) ``days`` days of L-Town at 5 minutes; a year takes about a minute.

    With ``leaks`` the published leaks of 2019 run and are labelled. ``noise`` is the spread of the demand of all
    residential (commercial, industrial) customers together from step to step, and of each junction on its own.
    ``path`` is L-TOWN.inp itself or the folder of the BattLeDIM files; without either the network is taken from the
    package EPyT, where it is installed.
    """
    first = _day(start)
    if days < 1 or (leaks and not _FIRST_DAY <= first <= first + timedelta(days - 1) <= date(2019, 12, 31)):
        raise ConfigError(
            f"{days} days from {first} do not lie within 2019, the year of the published leaks",
            hint="choose other days, or leaks=False",
        )
    if not 0 <= noise < 1:
        raise ConfigError(f"noise must be 0 or more and below 1, not {noise}")
    kinds = choose_kinds(sensors, known=("pressure", "flow", "level", "demand"))
    inp = _network_file(path)
    begin = datetime(first.year, first.month, first.day, tzinfo=UTC)
    end = begin + timedelta(days=days)
    leak_file, leak_info = _leak_files(inp, path) if leaks else (None, None)
    flows = _leak_flows(leak_file, begin, end) if leak_file else pl.DataFrame()
    frame, _ = cached(
        "ltown",
        parameters={
            "version": _VERSION,
            "start": first.isoformat(),
            "days": days,
            "seed": seed,
            "noise": noise,
            "leaks": leaks,
        },
        sources=[inp, leak_file] if leak_file else [inp],
        make=lambda: _simulate(
            inp, begin=begin, days=days, seed=seed, noise=noise, leak_flows=flows, progress=progress
        ),
    )
    return assemble(
        "ltown",
        inp=inp,
        gauges=[gauge for gauge in _GAUGES if gauge.kind in kinds],
        frame=frame,
        leaks=_labels(leak_info, begin, end) if leak_info else label_frame([]),
        leaks_in_links=True,
        description=f"L-Town water network: {days} days from {first} at 5 min, seed {seed}, {flows.width} leaks",
        source="simulated with EPANET 2.2 after BattLeDIM (Vrachimis et al. 2020), with its sensors and leaks",
    )


def _day(start: str | date) -> date:
    try:
        return date.fromisoformat(start) if isinstance(start, str) else date(start.year, start.month, start.day)
    except ValueError as error:
        raise ConfigError(f"start must be a day such as 2019-01-01: {error}") from error


def _network_file(path: str | os.PathLike[str] | None) -> Path:
    if path is not None and Path(path).expanduser().is_file():
        return Path(path).expanduser()
    try:
        folder = find_folder("ltown", folder="ltown", files=["L-TOWN.inp"], path=path, publisher=_PUBLISHER)
    except InputError:
        package = util.find_spec("epyt")
        for place in package.submodule_search_locations or () if package else ():
            file = Path(place) / "networks" / "L-TOWN.inp"
            if path is None and file.is_file():
                return file
        raise
    return folder / "L-TOWN.inp"


def _leak_files(inp: Path, path: str | os.PathLike[str] | None) -> tuple[Path, Path]:
    place = path if path is None or Path(path).expanduser().is_dir() else inp.parent
    publisher = "BattLeDIM (flows and table of the leaks of 2019), or pass leaks=False"
    problems = []
    for name in _LEAK_FLOWS:
        try:
            folder = find_folder("ltown", folder="ltown", files=[name, _LEAK_INFO], path=place, publisher=publisher)
        except InputError as problem:
            problems.append(problem)
        else:
            return folder / name, folder / _LEAK_INFO
    raise problems[0]


def _leak_flows(file: Path, begin: datetime, end: datetime) -> pl.DataFrame:
    """Flows in m³/h of the pipes that leak between two moments, one row per step."""
    if file.suffix == ".parquet":
        table = pl.read_parquet(file)
    else:
        table = pl.read_csv(file, separator=";", decimal_comma=True, try_parse_dates=True)
    first, last = begin.replace(tzinfo=None), end.replace(tzinfo=None)
    period = table.filter(pl.col("Timestamp").is_between(first, last, closed="left")).sort("Timestamp")
    if period.height != (end - begin) // STEP:
        raise InputError(
            f"the leak flows have {period.height} rows from {first} to {last}, not one every 5 minutes",
            where=str(file),
        )
    pipes = period.drop("Timestamp").cast(pl.Float64)
    return pipes.select(column for column in pipes.columns if pipes[column].max() != 0)


def _labels(info: Path, begin: datetime, end: datetime) -> pl.DataFrame:
    rows = pl.read_csv(info, schema_overrides={"Leak Diameter": pl.Float64}).sort("Leak Start")
    labels = []
    for row in rows.iter_rows(named=True):
        starts = datetime.fromisoformat(row["Leak Start"]).replace(tzinfo=UTC)
        ends = datetime.fromisoformat(row["Leak End"]).replace(tzinfo=UTC) + STEP
        if starts < end and ends > begin:
            labels.append(
                {
                    "start": max(starts, begin),
                    "end": min(ends, end),
                    "label": "leak",
                    "subject": row["Leak Pipe"],
                    "details": f"{row['Leak Type'].strip()}, {row['Leak Diameter'] * 1000:.1f} mm",
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
) -> Made:
    with Network(inp) as network:
        week = _WeekOfDemands(network, first_day=begin.date(), seed=seed, noise=noise)
        for pipe in leak_flows.columns:
            network.split_pipe(pipe, junction=f"{pipe}~leak")
            network.fill_demand(network.own_demand(f"{pipe}~leak"), leak_flows[pipe].to_numpy())
        table = network.simulate(
            [gauge.read for gauge in _GAUGES],
            steps=days * _STEPS_A_DAY,
            step_s=round(STEP.total_seconds()),
            before=week,
            progress=progress,
        )
    return readings(table, _GAUGES, start=begin, step=STEP), {}


class _WeekOfDemands:
    """Fills the demands of all junctions, a week at a time: a year of them would not be held in memory.

    The noise of a day depends on its date, so a day is the same in every period that contains it.
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
        self._series = [network.own_demand(junction) for junction in categories]

    def __call__(self, step: int) -> None:
        if step % _STEPS_A_WEEK:
            return
        first = self._first_day + timedelta(days=step // _STEPS_A_DAY)
        week = np.hstack([self._day(first + timedelta(days=day)) for day in range(7)])
        for series, values in zip(self._series, week, strict=True):
            self._network.fill_demand(series, values)

    def _day(self, day: date) -> Floats:
        rng = np.random.default_rng([self._seed, day.toordinal()])
        moments = (day - _FIRST_DAY).days * _STEPS_A_DAY + np.arange(_STEPS_A_DAY)
        nominal = self._nominal[:, moments % _STEPS_A_WEEK] * _season(moments)
        wanted = self._base @ (nominal * noisy(rng, nominal.shape, spread=self._noise))
        return np.asarray(wanted * noisy(rng, wanted.shape, spread=self._noise))


def _season(moments: NDArray[np.int64]) -> Floats:
    angle = 2 * math.pi * moments / (365 * _STEPS_A_DAY)
    constant, cosine, sine = _SEASON
    return np.asarray(constant + cosine * np.cos(angle) + sine * np.sin(angle))
