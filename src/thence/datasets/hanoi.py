"""Hanoi, regenerated after LeakDB: a year of demands, pressures and flows with the leaks of a LeakDB scenario.

The network, the Fourier coefficients of the demands and the table of leaks are LeakDB's (Vrachimis & Kyriakou 2018).
The series are simulated here by its published recipe with other random seeds, so they resemble LeakDB's series but are
not the same. Do not call the result "LeakDB".
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from thence.datasets.cache import Simulated, load_or_simulate
from thence.datasets.demand import Floats, Fourier, draw_leakdb_multipliers
from thence.datasets.epanet import Network, Probe, SimulationError
from thence.datasets.folders import find_folder
from thence.datasets.named import NamedDataset
from thence.datasets.noise import add_noise, note_noise, require_noise
from thence.datasets.sensor_kinds import choose_kinds
from thence.datasets.water import Gauge, build_system, frame_of_readings
from thence.errors import ConfigError, InputError, nearest, require
from thence.graph.system import System, label_frame
from thence.progress import Progress, silent
from thence.settings.numbers import require_integer

__all__ = ["DATASET", "Leak", "load"]

START = datetime(2018, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=30)
_STEPS_A_DAY = 48
_STEPS_A_YEAR = 365 * _STEPS_A_DAY
_VERSION = 1
_ATTEMPTS = 25
_UNCERTAINTY = (0.0, 0.05, 0.10, 0.15, 0.20)
_REQUIRED_PRESSURE_M = 20.0
_DISCHARGE = 0.75
_GRAVITY = 9.81
_NETWORK, _WEEK, _YEAR, _TABLE = (
    "Hanoi_CMH.inp",
    "weekPat_30min.mat",
    "yearOffset_30min.mat",
    "hanoi_leak_scenarios.json",
)
_PUBLISHER = (
    "LeakDB, KIOS Research Center, University of Cyprus (Hanoi_CMH.inp and the two .mat files of its generator) "
    "and EPyT-Flow (its table of the leaks of LeakDB's Hanoi scenarios, as hanoi_leak_scenarios.json)"
)


@dataclass(frozen=True)
class Leak:
    """A leak at a junction. Times are numbers of 30-minute steps; the leak lasts for steps start ≤ k < end.

    Args:
        node: EPANET's name of the junction.
        start: The first step with the leak.
        end: The step after the last.
        diameter: The diameter of the hole in m.
        type: ``"abrupt"`` for the full diameter from the start, ``"incipient"`` for one that grows linearly from
            ``start`` to ``peak``.
        peak: The step at which an incipient leak has its full diameter.

    Examples:
        >>> Leak("14", start=2, end=4, diameter=0.1).coefficient(5).round(1).tolist()
        [0.0, 0.0, 93.9, 93.9, 0.0]
    """

    node: str
    start: int
    end: int
    diameter: float
    type: Literal["abrupt", "incipient"] = "abrupt"
    peak: int | None = None

    def __post_init__(self) -> None:
        peak = self.start if self.peak is None else self.peak
        if self.type not in ("abrupt", "incipient"):
            raise ConfigError(f"the type of a leak must be 'abrupt' or 'incipient', got {self.type!r}")
        if not 0 <= self.start < self.end or not self.start <= peak <= self.end:
            raise ConfigError(
                f"the leak at node {self.node} needs 0 ≤ start ≤ peak ≤ end and start < end, "
                f"got {self.start}, {peak}, {self.end}"
            )
        if not self.diameter > 0:
            raise ConfigError(f"the leak at node {self.node} needs a diameter above 0 m, got {self.diameter}")
        if self.type == "incipient" and peak == self.start:
            raise ConfigError(f"the incipient leak at node {self.node} needs a peak after its start")

    def coefficient(self, steps: int) -> Floats:
        """Return the outflow in m³/h at a pressure of 1 m, for each of ``steps`` steps."""
        diameter = np.zeros(steps)
        k = np.arange(self.start, min(self.end, steps))
        if self.type == "incipient" and self.peak is not None:
            diameter[k] = self.diameter * np.minimum((k - self.start + 1) / (self.peak - self.start), 1.0)
        else:
            diameter[k] = self.diameter
        area = math.pi * (diameter / 2) ** 2
        return np.asarray(_DISCHARGE * area * math.sqrt(2 * _GRAVITY) * 3600)


def load(
    *,
    scenario: int = 1,
    seed: int = 0,
    days: int = 365,
    noise: float = 0.0,
    sensors: str | Iterable[str] = "all",
    leaks: Iterable[Leak | Mapping[str, object]] | None = None,
    before: bool = False,
    path: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> System:
    """Simulate the first days of a scenario, or read them from the cache.

    Args:
        scenario: A scenario of LeakDB's table of leaks, 1 to 1000; 238 of them, such as 1, have no leak. Together with
            ``seed`` it determines the random draws.
        seed: The random seed.
        days: The number of days, 1 to 365.
        noise: The noise of readings, from 0 to below 1: every reading is multiplied by a factor N(1, ``noise``) of its
            own, after the simulation; ``seed`` and ``scenario`` determine the factors. With 0, the default, readings
            are exact.
        sensors: ``"all"``, or some of the kinds ``"pressure"``, ``"flow"`` and ``"demand"``.
        leaks: Leaks instead of those of the table: ``Leak`` objects or mappings of its fields, with times as step
            numbers, ISO strings or datetimes.
        before: Load the first days of the year before instead: the same network and consumers without leaks, with other
            random deviations of the demands from their patterns. What is normal can be learned from it.
        path: The folder of LeakDB's files, or its parent; ``None`` to search for it.
        progress: Receives the progress of the simulation.
    """
    require_integer("scenario", scenario, most=1000)
    require_integer("days", days, most=365)
    require_noise("noise", noise)
    kinds = choose_kinds(sensors, known=("pressure", "flow", "demand"))
    needed = [_NETWORK, _WEEK, _YEAR] + ([_TABLE] if leaks is None else [])
    folder = find_folder("hanoi", folder="leakdb", files=needed, path=path, publisher=_PUBLISHER)
    chosen = _read_leaks(folder / _TABLE, scenario) if leaks is None else tuple(map(_as_leak, leaks))
    steps = days * _STEPS_A_DAY
    active = tuple(leak for leak in chosen if leak.start < steps)
    frame, notes = load_or_simulate(
        "hanoi",
        parameters={
            "version": _VERSION,
            "scenario": scenario,
            "seed": seed,
            "days": days,
            "leaks": [asdict(leak) for leak in active],
        },
        sources=[folder / _NETWORK, folder / _WEEK, folder / _YEAR],
        simulate=lambda: _simulate(folder, scenario=scenario, seed=seed, steps=steps, leaks=active, progress=progress),
    )
    start = START
    if before:
        start, attempt, active = START.replace(year=START.year - 1), _attempt_of(notes, scenario, seed), ()
        frame, notes = load_or_simulate(
            "hanoi",
            parameters={"version": _VERSION, "scenario": scenario, "seed": seed, "days": days, "before": attempt},
            sources=[folder / _NETWORK, folder / _WEEK, folder / _YEAR],
            simulate=lambda: _simulate(
                folder, scenario=scenario, seed=seed, steps=steps, leaks=(), progress=progress, before=attempt
            ),
        )
    gauges = [Gauge.from_id(column) for column in frame.columns if column != "time"]
    return build_system(
        "hanoi",
        inp=folder / _NETWORK,
        gauges=[gauge for gauge in gauges if gauge.kind in kinds],
        frame=add_noise(frame, noise=noise, seeds=[seed, scenario, *([1] if before else [])]),
        leaks=_labels(active, end=start + steps * STEP),
        description=(
            f"Hanoi water network, scenario {scenario}, seed {seed}: {days} days at 30 min"
            f"{' of the year before' if before else ''}, "
            f"{len(active)} leak{'' if len(active) == 1 else 's'}; uncertainty {notes['uncertainty']}"
            f"{note_noise(noise)}"
        ),
        source="regenerated after LeakDB (Vrachimis & Kyriakou 2018)",
    )


def _read_leaks(table: Path, scenario: int) -> tuple[Leak, ...]:
    rows = json.loads(table.read_text(encoding="utf-8")).get(str(scenario), [])
    return tuple(
        Leak(
            node=str(row["node_id"]),
            start=int(row["leak_start_time"]),
            end=int(row["leak_end_time"]),
            diameter=float(row["leak_diameter"]),
            type=row["leak_type"],
            peak=int(row["leak_peak_time"]),
        )
        for row in rows
    )


def _as_leak(given: Leak | Mapping[str, object]) -> Leak:
    if isinstance(given, Leak):
        return given
    fields = dict(given)
    if "node" in fields:
        fields["node"] = str(fields["node"])
    for name in ("start", "end", "peak"):
        if fields.get(name) is not None:
            fields[name] = _as_step(fields[name], name=name)
    try:
        return Leak(**fields)  # type: ignore[arg-type]
    except TypeError as error:
        raise ConfigError(
            f"a leak needs node, start, end and diameter, and may have type and peak ({error})"
        ) from error


def _as_step(when: object, *, name: str) -> int:
    if isinstance(when, int):
        return when
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError as error:
            raise ConfigError(
                f"the {name} of a leak must be a step number, a datetime or an ISO string: {error}"
            ) from error
    if not isinstance(when, datetime):
        raise ConfigError(f"the {name} of a leak must be a step number, a datetime or an ISO string, got {when!r}")
    moment = when if when.tzinfo else when.replace(tzinfo=UTC)
    return round((moment - START) / STEP)


def _attempt_of(notes: Mapping[str, str], scenario: int, seed: int) -> int:
    """Return which draw a simulated year is; notes of earlier versions do not say it, but show its levels."""
    if "attempt" in notes:
        return int(notes["attempt"])
    draws = (np.random.default_rng([seed, scenario, attempt]) for attempt in range(_ATTEMPTS))
    return next(number for number, rng in enumerate(draws) if _levels(*_draw_levels(rng)) == notes["uncertainty"])


def _simulate(
    folder: Path,
    *,
    scenario: int,
    seed: int,
    steps: int,
    leaks: Sequence[Leak],
    progress: Progress,
    before: int | None = None,
) -> Simulated:
    """Simulate a scenario; with ``before``, the year before the draw of this number."""
    week, year = _read_curve(folder / _WEEK, "Aw", 7), _read_curve(folder / _YEAR, "Ay", 365)
    for attempt in range(_ATTEMPTS) if before is None else (before,):
        rng = np.random.default_rng([seed, scenario, attempt])
        noise = None if before is None else np.random.default_rng([seed, scenario, attempt, 1])
        frame, levels = _draw(
            folder / _NETWORK, rng, noise, week=week, year=year, steps=steps, leaks=leaks, progress=progress
        )
        lowest = frame.select(pl.min_horizontal(pl.col("^pressure_.*$").min())).item()
        if lowest > 0 or before is not None:  # as in LeakDB: a scenario with a pressure of zero or less is drawn again
            return frame, {"uncertainty": levels, "attempt": str(attempt)}
    described = ", ".join(f"{leak.diameter:g} m at node {leak.node}" for leak in leaks) or "none"
    raise SimulationError(
        f"all {_ATTEMPTS} draws of scenario {scenario} ran out of pressure (leaks: {described})",
        hint="use smaller leaks or another scenario",
    )


def _read_curve(file: Path, name: str, days: int) -> Fourier:
    values = require("scipy.io", extra="water").loadmat(file)
    if name not in values:
        raise InputError(f"no array '{name}' in the file", where=str(file))
    return Fourier(np.asarray(values[name], dtype=np.float64).ravel(), period=days * _STEPS_A_DAY)


def _draw(
    inp: Path,
    rng: np.random.Generator,
    noise: np.random.Generator | None,
    *,
    week: Fourier,
    year: Fourier,
    steps: int,
    leaks: Sequence[Leak],
    progress: Progress,
) -> tuple[pl.DataFrame, str]:
    length, diameter, roughness, base = _draw_levels(rng)
    with Network(inp) as network:
        network.use_pressure_driven_demand(required_m=_REQUIRED_PRESSURE_M)
        network.set_accuracy(1e-5, trials=200)
        links, junctions = network.links, network.junctions
        for leak in leaks:
            if leak.node not in junctions:
                hint = nearest(leak.node, junctions)
                raise InputError(f"no junction '{leak.node}' in the network for the leak", where=str(inp), hint=hint)
        for link in links:
            network.scale_link(
                link,
                length=1 + length * rng.uniform(-1, 1),
                diameter=1 + diameter * rng.uniform(-1, 1),
                roughness=1 + roughness * rng.uniform(-1, 1),
            )
        # Always draw the whole year, so that a short period is the beginning of a longer one.
        whole_year = draw_leakdb_multipliers(
            rng, week=week, year=year, junctions=len(junctions), steps=_STEPS_A_YEAR, noise=noise
        )
        multipliers = whole_year[:steps]
        wanted = {}
        for column, junction in enumerate(junctions):
            nominal = sum(value for value, _ in network.demands(junction))
            wanted[junction] = nominal * (1 + base * rng.uniform(-1, 1)) * multipliers[:, column]
            network.set_demand(network.replace_demand(junction), wanted[junction])
        gauges = [
            *(Gauge("pressure", name) for name in junctions),
            *(Gauge("flow", name) for name in links),
            *(Gauge("demand", name) for name in (*network.reservoirs, *junctions)),
        ]
        leaking = sorted({leak.node for leak in leaks})
        probes = [gauge.probe for gauge in gauges] + [Probe("deficit", node) for node in leaking]
        table = network.simulate(
            probes,
            steps=steps,
            step_s=round(STEP.total_seconds()),
            before=_emitter_setter(network, leaks, steps=steps),
            progress=progress,
        )
    for offset, node in enumerate(leaking):
        # EPANET adds the leak to the demand of the junction; consumers receive their demand less the deficit.
        column = gauges.index(Gauge("demand", node))
        table[:, column] = wanted[node] - table[:, len(gauges) + offset]
    start = START if noise is None else START.replace(year=START.year - 1)
    frame = frame_of_readings(table[:, : len(gauges)], gauges, start=start, step=STEP)
    return frame, _levels(length, diameter, roughness, base)


def _draw_levels(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Draw how uncertain lengths, diameters, roughness and base demands are."""
    length, diameter, roughness, base = rng.choice(_UNCERTAINTY, 4).tolist()
    return length, diameter, roughness, base


def _levels(length: float, diameter: float, roughness: float, base: float) -> str:
    return f"length {length:.0%}, diameter {diameter:.0%}, roughness {roughness:.0%}, base demand {base:.0%}"


def _emitter_setter(network: Network, leaks: Sequence[Leak], *, steps: int) -> Callable[[int], None]:
    """Return a function that sets the emitters of the leaking junctions before a step, if they change."""
    series: dict[int, Floats] = {}
    for leak in leaks:
        node = network.node_index(leak.node)
        series[node] = series.get(node, np.zeros(steps)) + leak.coefficient(steps)

    def before(step: int) -> None:
        for node, coefficient in series.items():
            if coefficient[step] != (coefficient[step - 1] if step else 0.0):
                network.set_emitter(node, float(coefficient[step]))

    return before


def _labels(leaks: Sequence[Leak], *, end: datetime) -> pl.DataFrame:
    return label_frame(
        {
            "start": START + leak.start * STEP,
            "end": min(START + leak.end * STEP, end),
            "label": "leak",
            "subject": leak.node,
            "details": f"{leak.type}, {leak.diameter * 1000:.0f} mm",
        }
        for leak in sorted(leaks, key=lambda leak: leak.start)
    )


DATASET = NamedDataset(
    "hanoi",
    "Hanoi, regenerated after LeakDB: 97 sensors, a year at 30 min, leaks of 1000 scenarios, labelled",
    "the extra 'water'; network, demand coefficients and leak table of LeakDB",
    load,
)
