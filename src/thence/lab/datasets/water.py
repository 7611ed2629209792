"""Simulated water networks: their demands, sensors and noise, the cache of their readings, and their ``System``.

Water data sets name a sensor by its kind and EPANET's name of the element: ``pressure_12`` at junction 12, ``flow_5``
in pipe 5, ``demand_12`` of junction 12 (of a reservoir: the negative of its supply), ``level_T1`` in tank T1,
``status_10`` of pump 10. Pressures and levels are in m, flows and demands in m³/h; a flow is positive from the start of
its link to the end; a status is ``open`` or ``closed``.

The cache has one folder per set of parameters, named by a hash of the parameters, the source files and the versions of
generator and simulator, with the readings and a manifest of their checksums. Folders are written atomically, so
parallel processes may share the cache. Readings that were changed on disk are simulated again. If the cache cannot be
written, a warning is logged and the readings are simulated each time.

Noise multiplies simulated readings by random factors, as if real sensors had taken them. The factors are drawn after
the simulation and are not cached: the same simulation is read with any noise. The noise of a day depends on the seeds,
the date and the step only, so a day is the same in every period that contains it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thence._base.atomic import new_folder
from thence._base.integrity.manifest import CheckedFolder, write_manifest
from thence._base.settings.numbers import require_number
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.system import System
from thence.data.loaders import read_graph, read_ontology
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import ConfigError, GraphError, RunError, quote
from thence.lab.datasets.epanet import Probe, Quantity
from thence.lab.datasets.folders import cache_folder

Floats = NDArray[np.float64]

_COEFFICIENT_SPREAD = 0.1
_STEP_NOISE = 0.05
_WEEK_VARIATION = (0.75, 0.07)


@dataclass(frozen=True)
class Fourier:
    """A periodic series.

    Args:
        coefficients: In the order constant, sin 1, cos 1, sin 2, cos 2, ….
        period: The period in steps.
    """

    coefficients: Floats
    period: int

    def basis(self, steps: int) -> Floats:
        """Return one column per coefficient for steps 1, 2, …, ``steps``; LeakDB counts from one."""
        harmonics = (len(self.coefficients) - 1) // 2
        angle = 2 * np.pi / self.period * np.outer(np.arange(1, steps + 1), np.arange(1, harmonics + 1))
        table = np.empty((steps, 1 + 2 * harmonics))
        table[:, 0] = 1.0
        table[:, 1::2] = np.sin(angle)
        table[:, 2::2] = np.cos(angle)
        return table


def draw_leakdb_multipliers(
    rng: np.random.Generator,
    *,
    week: Fourier,
    year: Fourier,
    junctions: int,
    steps: int,
    noise: np.random.Generator | None = None,
) -> Floats:
    """Draw demand multipliers by LeakDB's recipe, one column per junction.

    They are (year + 1) · (week · v + 1) · (1 + N(0, 0.05)) with v = 0.75 + N(0, 0.07); every Fourier coefficient is
    scaled by U(0.9, 1.1) per junction.

    Args:
        rng: The random generator.
        week: The weekly pattern.
        year: The yearly pattern.
        junctions: The number of junctions.
        steps: The number of steps.
        noise: Another generator for the noise of single steps, for another year of the same consumers.
    """
    bases = year.basis(steps), week.basis(steps)
    table = np.empty((steps, junctions))
    for column in range(junctions):
        yearly, weekly = (
            basis @ (curve.coefficients * rng.uniform(1 - _COEFFICIENT_SPREAD, 1 + _COEFFICIENT_SPREAD, basis.shape[1]))
            for basis, curve in zip(bases, (year, week), strict=True)
        )
        variation = rng.normal(*_WEEK_VARIATION)
        deviation = rng.normal(0.0, _STEP_NOISE, steps)
        if noise is not None:
            deviation = noise.normal(0.0, _STEP_NOISE, steps)
        table[:, column] = (yearly + 1) * (weekly * variation + 1) * (1 + deviation)
    return table


def draw_factors(rng: np.random.Generator, shape: tuple[int, ...], *, spread: float) -> Floats:
    """Draw factors from N(1, ``spread``), with negative ones set to zero.

    >>> draw_factors(np.random.default_rng(0), (2,), spread=0.0).tolist()
    [1.0, 1.0]
    """
    return np.maximum(1.0 + rng.normal(0.0, spread, shape), 0.0)


Simulated = tuple[pl.DataFrame, dict[str, str]]
"""A frame of readings, and notes about the simulation."""
_log = logging.getLogger(__name__)
_READINGS = "readings.parquet"
# Panics of polars are no ``Exception``.
_FOREIGN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, KeyError, TypeError)


def fingerprint(parameters: Mapping[str, object], *, sources: Iterable[Path]) -> str:
    """Return a hash of ``parameters`` (JSON values) and of the content of the ``sources``.

    >>> fingerprint({"days": 7}, sources=[]) == fingerprint({"days": 7}, sources=[])
    True
    >>> fingerprint({"days": 7}, sources=[]) == fingerprint({"days": 8}, sources=[])
    False
    """
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:24]


def load_or_simulate(
    dataset: str, *, parameters: Mapping[str, object], sources: Iterable[Path], simulate: Callable[[], Simulated]
) -> Simulated:
    """Return cached readings, or simulate and cache them.

    Args:
        dataset: The name of the data set, which is the name of its folder in the cache.
        parameters: Everything besides the source files that the result depends on, the version of the generator
            included.
        sources: The files that the simulation reads.
        simulate: Returns the readings and their notes.
    """
    versions = {"wntr": _version("wntr")}
    key = fingerprint({**parameters, "versions": versions}, sources=sources)
    folder = cache_folder() / dataset / key
    if folder.is_dir():
        try:
            return _read(folder)
        except (RunError, *_FOREIGN) as error:
            _log.warning("%s cannot be used (%s); simulating again", folder, _reason(error))
    simulated = simulate()
    try:
        _write(simulated, folder=folder)
    except RunError as error:
        # Another process may have been faster; its readings are the same.
        if not _is_whole(folder):
            _log.warning("readings are not cached: %s", error)
    return simulated


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _read(folder: Path) -> Simulated:
    checked = CheckedFolder.open(folder)
    if checked.manifest is None:
        raise RunError("has no checksums", where=str(folder))
    file = checked.require(_READINGS)
    notes = json.loads(pl.read_parquet_metadata(file)["thence"])
    return pl.read_parquet(file), notes


def _is_whole(folder: Path) -> bool:
    try:
        CheckedFolder.open(folder).require(_READINGS)
    except RunError:
        return False
    return True


def _write(simulated: Simulated, *, folder: Path) -> None:
    frame, notes = simulated
    try:
        # A folder that is there could not be used, so it is replaced.
        with new_folder(folder, force=True) as draft:
            frame.write_parquet(draft / _READINGS, metadata={"thence": json.dumps(notes)})
            write_manifest(draft)
        # Earlier versions wrote a file without a checksum.
        folder.with_name(f"{folder.name}.parquet").unlink(missing_ok=True)
    except _FOREIGN as error:
        # Polars has errors of its own for a disk that is full.
        raise RunError(f"cannot be written ({_reason(error)})", where=str(folder)) from error


def _reason(error: BaseException) -> str:
    return error.message if isinstance(error, RunError) else quote(error)[1:-1]


_STREAM = 7
"""Keeps the generators of the noise apart from those of the demands."""


def require_noise(name: str, value: float) -> None:
    """Raise a ``ConfigError`` unless a spread is from 0 to below 1.

    >>> require_noise("noise", 1.5)
    Traceback (most recent call last):
    ...
    thence.errors.ConfigError: noise must be >= 0 and < 1, got 1.5
    """
    require_number(name, value)
    if not 0 <= value < 1:
        raise ConfigError(f"{name} must be >= 0 and < 1, got {value}")


def add_noise(frame: pl.DataFrame, *, noise: float, seeds: Sequence[int]) -> pl.DataFrame:
    """Return readings multiplied by independent factors N(1, ``noise``), one per sensor and step.

    Args:
        frame: Readings with the column ``time`` and one column per sensor; all sensors of the data set, since the
            factors of a sensor depend on its position among the numeric ones. States are returned as they are.
        noise: The standard deviation of a reading, relative to its value; with 0 the frame is returned as it is.
        seeds: The random seeds.

    Examples:
        >>> from datetime import datetime
        >>> readings = pl.DataFrame({"time": [datetime(2024, 1, 1)], "a": [100.0], "b": [0.0]})
        >>> add_noise(readings, noise=0.01, seeds=[0]).drop("time").row(0) != (100.0, 0.0)
        True
    """
    if not noise:
        return frame
    sensors = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    values = frame.select(sensors).to_numpy()
    dates = frame["time"].dt.date()
    first = np.flatnonzero(np.r_[True, (dates[1:] != dates[:-1]).to_numpy()])
    parts = []
    for rows in np.split(np.arange(len(values)), first[1:]):
        day = dates[int(rows[0])].toordinal()
        rng = np.random.default_rng([_STREAM, *seeds, day])
        parts.append(values[rows] * (1.0 + noise * rng.standard_normal((len(rows), len(sensors)))))
    noisy = np.concatenate(parts)
    return frame.with_columns(pl.Series(name, noisy[:, column]) for column, name in enumerate(sensors))


Kind = Literal["pressure", "flow", "demand", "level", "status"]
_UNITS: dict[Kind, str] = {"pressure": "m", "flow": "m3/h", "demand": "m3/h", "level": "m", "status": ""}


@dataclass(frozen=True)
class Gauge:
    """A sensor of one kind at one element of the network.

    Args:
        kind: What the sensor measures.
        name: EPANET's name of the element.

    Examples:
        >>> Gauge("pressure", "12").id, Gauge.from_id("level_T1")
        ('pressure_12', Gauge(kind='level', name='T1'))
    """

    kind: Kind
    name: str

    @classmethod
    def from_id(cls, sensor_id: str) -> Gauge:
        """The gauge with this sensor id."""
        kind, _, name = sensor_id.partition("_")
        return cls(cast(Kind, kind), name)

    @property
    def id(self) -> str:
        """The id of the sensor."""
        return f"{self.kind}_{self.name}"

    @property
    def probe(self) -> Probe:
        """What to read from a simulation."""
        # EPANET reports the water level of a tank as the pressure at its bottom.
        return Probe(cast(Quantity, "pressure" if self.kind == "level" else self.kind), self.name)

    @property
    def sensor(self) -> Sensor:
        """The sensor with its kind and unit."""
        return Sensor(self.id, kind=self.kind, unit=_UNITS[self.kind], categorical=self.kind == "status")

    @property
    def in_link(self) -> bool:
        """Whether the element is a link (pipe, pump, valve) and not a node (junction, reservoir, tank)."""
        return self.kind in ("flow", "status")


def frame_of_readings(table: Floats, gauges: Sequence[Gauge], *, start: datetime, step: timedelta) -> pl.DataFrame:
    """Return the wide frame of a simulation: ``time`` in UTC and one column per gauge.

    Args:
        table: The readings, one row per step and one column per gauge; the status of a link is 0 if it is closed.
        gauges: The gauges.
        start: The time of the first row.
        step: The interval between rows.
    """
    times = pl.datetime_range(start, start + (len(table) - 1) * step, interval=step, time_unit="us", eager=True).alias(
        "time"
    )
    columns = [_series(gauge, table[:, column]) for column, gauge in enumerate(gauges)]
    return pl.DataFrame([times, *columns])


def _series(gauge: Gauge, values: Floats) -> pl.Series:
    if gauge.kind != "status":
        return pl.Series(gauge.id, values)
    return pl.Series(gauge.id, np.where(values > 0, "open", "closed"), dtype=pl.String)


def find_node(graph: KnowledgeGraph, name: str, *, link: bool) -> str:
    """Return the id of the graph node of a network element.

    Args:
        graph: The graph of the network.
        name: EPANET's name of the element.
        link: Whether the element is a link (pipe, pump, valve) and not a node (junction, reservoir, tank).
    """
    classes = ("Pipe", "Pump", "Valve") if link else ("Junction", "Reservoir", "Tank")
    for label in classes:
        if f"{label} {name}" in graph.nodes:
            return f"{label} {name}"
    raise GraphError(f"the graph has no {'link' if link else 'node'} for '{name}'")


def build_system(
    name: str,
    frame: pl.DataFrame,
    *,
    inp: Path,
    kinds: Container[str],
    noise: float,
    seeds: Sequence[int],
    leaks: pl.DataFrame,
    leaks_in_links: bool = False,
    description: str,
    source: str,
) -> System:
    """Return the system of a water network.

    Args:
        name: The name of the data set.
        frame: Readings with the column ``time`` and one column per gauge.
        inp: The EPANET file of the network.
        kinds: The kinds of sensors to include.
        noise: The noise of readings.
        seeds: The random seeds of the noise.
        leaks: Labelled periods whose subjects are EPANET's names.
        leaks_in_links: Whether the subjects of ``leaks`` are links and not nodes.
        description: What the data are; the noise is added.
        source: Where they come from.
    """
    graph = read_graph(inp)
    gauges = [Gauge.from_id(column) for column in frame.columns if column != "time"]
    gauges = [gauge for gauge in gauges if gauge.kind in kinds]
    binding = Binding({gauge.id: find_node(graph, gauge.name, link=gauge.in_link) for gauge in gauges})
    subjects = [find_node(graph, subject, link=leaks_in_links) for subject in leaks["subject"]]
    noisy = add_noise(frame, noise=noise, seeds=seeds).select("time", *(gauge.id for gauge in gauges))
    sensors = SensorData.from_wide(noisy, sensors=[gauge.sensor for gauge in gauges], source=name)
    return System(
        name=name,
        sensors=sensors,
        graph=graph,
        ontology=read_ontology("water"),
        binding=binding,
        labels=leaks.with_columns(pl.Series("subject", subjects, dtype=pl.String)),
        description=description + (f", {100 * noise:.3g}% noise on every reading" if noise else ""),
        source=source,
    )
