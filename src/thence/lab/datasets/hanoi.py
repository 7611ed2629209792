"""Hanoi, regenerated after LeakDB: a year of demands, pressures and flows with the leaks of a LeakDB scenario.

The network, the Fourier coefficients of the demands and the leaks are LeakDB's (Vrachimis & Kyriakou 2018). The series
are simulated here by its published recipe with other random seeds, so they resemble LeakDB's series but are not the
same. Do not call the result "LeakDB". The network is taken from the package EPyT, the coefficients and the leaks of the
first scenarios are part of this package, and the leaks of other scenarios are in a table that is downloaded.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_integer
from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System, label_frame
from thence.errors import ConfigError, InputError, nearest, reported_as
from thence.lab.datasets.epanet import Network, Probe, SimulationError
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
    Fourier,
    Gauge,
    Simulated,
    build_system,
    draw_leakdb_multipliers,
    frame_of_readings,
    load_or_simulate,
    require_noise,
)

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
_NETWORK, _EPYT_NETWORK = "Hanoi_CMH.inp", "Hanoi.inp"
# SHA-256 of the words of LeakDB's network that describe its elements.
_ELEMENTS = "d28f6b9a71258ca2b99cc95a150744a662097083020a07977c4ebc2eff33eaa2"
_TABLE, _CONVERTED_TABLE = "leakdb_data.py", "hanoi_leak_scenarios.json"
_LEAKS = declared("leakdb")


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
        path: A folder with LeakDB's network (``Hanoi_CMH.inp``) and, for scenarios above 10, the table of leaks, or its
            parent; ``None`` to search for them.
        progress: Receives the progress of a download and of the simulation.
    """
    require_integer("scenario", scenario, most=1000)
    require_integer("days", days, most=365)
    require_noise("noise", noise)
    kinds = choose_kinds(sensors, known=("pressure", "flow", "demand"))
    chosen = _find_leaks(scenario, path, progress) if leaks is None else tuple(map(_as_leak, leaks))
    steps = days * _STEPS_A_DAY
    active = tuple(leak for leak in chosen if leak.start < steps)
    with _open_network(path) as inp:

        def simulated(given: Mapping[str, object], leaks: Sequence[Leak], before: int | None = None) -> Simulated:
            drawn = {"version": _VERSION, "scenario": scenario, "seed": seed, "days": days}
            return load_or_simulate(
                "hanoi",
                parameters={**drawn, **given},
                sources=[inp],
                simulate=lambda: _simulate(
                    inp, scenario=scenario, seed=seed, steps=steps, leaks=leaks, progress=progress, before=before
                ),
            )

        frame, notes = simulated({"leaks": [asdict(leak) for leak in active]}, active)
        start = START
        if before:
            start, attempt, active = START.replace(year=START.year - 1), _attempt_of(notes, scenario, seed), ()
            frame, notes = simulated({"before": attempt}, (), attempt)
        return build_system(
            "hanoi",
            frame,
            inp=inp,
            kinds=kinds,
            noise=noise,
            seeds=[seed, scenario, *([1] if before else [])],
            leaks=_labels(active, end=start + steps * STEP),
            description=(
                f"Hanoi water network, scenario {scenario}, seed {seed}: {days} days at 30 min"
                f"{' of the year before' if before else ''}, "
                f"{len(active)} leak{'' if len(active) == 1 else 's'}; uncertainty {notes['uncertainty']}"
            ),
            source="regenerated after LeakDB (Vrachimis & Kyriakou 2018)",
        )


@contextmanager
def _open_network(path: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield LeakDB's network: its own file if there is one, else a temporary one made from that of EPyT."""
    if folder := search_folder(_LEAKS, [_NETWORK], path=path):
        yield folder / _NETWORK
        return
    if path is not None:
        raise InputError(f"no file {_NETWORK} of LeakDB here", where=str(path), hint="leave out path= to use EPyT's")
    with tempfile.TemporaryDirectory(prefix="thence-hanoi-") as scratch:
        inp = Path(scratch) / _NETWORK
        inp.write_text(_convert_network(find_in_epyt(_EPYT_NETWORK)), encoding="utf-8")
        yield inp


def _convert_network(files: Sequence[Path]) -> str:
    """The network of EPyT, which differs from LeakDB's in the unit of its demands and in options left at defaults."""
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if _digest_elements(text) == _ELEMENTS:
            return re.sub(r"^(\s*Units\s+)LPS\b", r"\1CMH", text, flags=re.M)
    raise InputError(
        "not the network of LeakDB: its elements differ",
        where=", ".join(map(str, files)),
        hint=f"install another version of epyt, or pass path=, a folder with {_NETWORK}",
    )


def _digest_elements(text: str) -> str:
    sections = dict(re.findall(r"^\[(\w+)\]([^\[]*)", text, flags=re.M))
    words = [sections.get(name, "").split() for name in ("JUNCTIONS", "RESERVOIRS", "PIPES", "COORDINATES")]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def _find_leaks(scenario: int, path: str | os.PathLike[str] | None, progress: Progress) -> tuple[Leak, ...]:
    facts = packaged_facts("leakdb.toml")
    if scenario <= facts["scenarios"]:
        rows = [row for row in facts["leaks"] if row["scenario"] == scenario]
        return tuple(Leak(**{name: value for name, value in row.items() if name != "scenario"}) for row in rows)
    if folder := search_folder(_LEAKS, [_CONVERTED_TABLE], path=path):
        return _read_leaks((folder / _CONVERTED_TABLE).read_text(encoding="utf-8"), scenario)
    file = find_folder("hanoi", _LEAKS, [_TABLE], path=path, progress=progress) / _TABLE
    # A module of EPyT-Flow that assigns the table as text; it is not executed.
    with reported_as(InputError, "not the table of leaks of EPyT-Flow", where=str(file)):
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "HANOI_LEAKAGES":
                return _read_leaks(ast.literal_eval(statement.value), scenario)
        raise ValueError("no HANOI_LEAKAGES")


def _read_leaks(table: str, scenario: int) -> tuple[Leak, ...]:
    return tuple(
        Leak(
            node=str(row["node_id"]),
            start=int(row["leak_start_time"]),
            end=int(row["leak_end_time"]),
            diameter=float(row["leak_diameter"]),
            type=row["leak_type"],
            peak=int(row["leak_peak_time"]),
        )
        for row in json.loads(table).get(str(scenario), [])
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
    inp: Path,
    *,
    scenario: int,
    seed: int,
    steps: int,
    leaks: Sequence[Leak],
    progress: Progress,
    before: int | None = None,
) -> Simulated:
    """Simulate a scenario; with ``before``, the year before the draw of this number."""
    facts = packaged_facts("leakdb.toml")
    week, year = (
        Fourier(np.array(facts[name]), period=days * _STEPS_A_DAY) for name, days in (("week", 7), ("year", 365))
    )
    for attempt in range(_ATTEMPTS) if before is None else (before,):
        rng = np.random.default_rng([seed, scenario, attempt])
        noise = None if before is None else np.random.default_rng([seed, scenario, attempt, 1])
        frame, levels = _draw(inp, rng, noise, week=week, year=year, steps=steps, leaks=leaks, progress=progress)
        lowest = frame.select(pl.min_horizontal(pl.col("^pressure_.*$").min())).item()
        if lowest > 0 or before is not None:  # as in LeakDB: a scenario with a pressure of zero or less is drawn again
            return frame, {"uncertainty": levels, "attempt": str(attempt)}
    described = ", ".join(f"{leak.diameter:g} m at node {leak.node}" for leak in leaks) or "none"
    raise SimulationError(
        f"all {_ATTEMPTS} draws of scenario {scenario} ran out of pressure (leaks: {described})",
        hint="use smaller leaks or another scenario",
    )


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
                raise InputError(f"no junction '{leak.node}' in the network for the leak", where=inp.name, hint=hint)
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
    "the extra 'water'; for scenarios above 10, 0.5 MB with the extra 'datasets'",
    load,
    (_LEAKS,),
)
