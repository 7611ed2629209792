"""The data of an experiment: a data set in windows, and samples of its sensors as tables of every encoding."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, RunError
from thence.experiments.files import Parameters, Source, read_setup
from thence.experiments.walk import walk
from thence.graph.binding import Binding
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.ontology import Ontology
from thence.readings.windows import WindowedReadings, window
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["Sample", "World", "load_world", "made_from", "source_of"]

FILES = ("sensors", "graph", "ontology", "binding")
"""The parts of ``[input]`` that name files."""


@dataclass(frozen=True, eq=False)
class World:
    """A data set whose readings are in windows, without the windows in which nothing was read."""

    name: str
    readings: WindowedReadings
    graph: KnowledgeGraph
    binding: Binding
    ontology: Ontology | None

    def sample(self, count: int, *, seed: int, repeat: int, parameters: Parameters) -> Sample:
        """The sensors of one repeat; the same for every experiment with this many sensors."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), repeat])
        ids = [sensor.id for sensor in self.readings.sensors if sensor.id in self.binding]
        chosen = walk(self.graph, self.binding, ids, count=count, rng=rng)
        return Sample(self, chosen, parameters)


def source_of(dataset: str) -> Source:
    """How the experiments use a data set: from the setup, from a configuration file, or by its name alone."""
    _, sources = read_setup()
    if dataset in sources:
        return sources[dataset]
    if dataset.endswith(".toml"):
        from thence.runs.configuration import Config

        return Source(label=dataset, window=Config.from_toml(dataset, check=False).windows.every)
    from thence.datasets import info

    return Source(label=info(dataset).name)


def made_from(dataset: str, quick: bool = False) -> dict[str, Any]:
    """What decides the readings of a data set: the window, and its options or the contents of one's own files.

    A changed file is another data set, so that repeats of the two are never mixed.
    """
    source = source_of(dataset)
    options = dict(source.quick_options if quick else source.options)
    if dataset.endswith(".toml"):
        from thence.runs.configuration import Config

        given = Config.from_toml(dataset, check=False).input
        parts = {"config": dataset, **{name: getattr(given, name) for name in FILES}}
        if isinstance(kinds := given.read_sensors.get("kinds"), str):
            parts["kinds"] = kinds
        options = {name: _digest(paths) for name, paths in parts.items() if paths is not None}
    return {"window": source.window, "options": options}


def _digest(paths: str | Iterable[str]) -> str:
    """One hash for the contents of several files, wherever they lie."""
    from thence.runs.provenance import hash_files

    found = [file["sha256"] for file in hash_files(paths)]
    return str(found[0]) if len(found) == 1 else hashlib.sha256(" ".join(found).encode()).hexdigest()


def load_world(dataset: str, quick: bool, made: Mapping[str, Any]) -> World:
    """Load a data set once per process: one of the setup, any other by name, or a configuration file's ``[input]``.

    ``made`` is what ``made_from`` said of it when the work was planned.
    """
    return _loaded(dataset, quick, json.dumps(made, sort_keys=True))


@lru_cache(maxsize=1)
def _loaded(dataset: str, quick: bool, made: str) -> World:
    source = source_of(dataset)
    given: Any
    if dataset.endswith(".toml"):
        from thence.runs.configuration import Config
        from thence.runs.pipeline import read_inputs

        given = read_inputs(Config.from_toml(dataset, check=False).input, "grounded")
    else:
        from thence.datasets import load

        given = load(dataset, **(source.quick_options if quick else source.options))
    if given.graph is None or given.binding is None:
        raise ConfigError("the experiments need a graph and a binding", where=dataset, hint="give both in [input]")
    if json.dumps(made_from(dataset, quick), sort_keys=True) != made:
        raise RunError("these data were changed while the experiments ran", where=dataset, hint="start again")
    readings = _without_empty(window(given.sensors, source.window))
    return World(dataset, readings, given.graph, given.binding, given.ontology)


def _without_empty(readings: WindowedReadings) -> WindowedReadings:
    """Leave out windows in which no sensor read anything: days without an experiment are no transactions."""
    held = np.asarray(~np.isnan(readings.values).all(axis=1))
    for codes, _ in readings.states.values():
        held = np.asarray(held | (codes >= 0))
    return _frames(readings, held)


def _frames(readings: WindowedReadings, held: npt.NDArray[np.bool_]) -> WindowedReadings:
    return replace(
        readings,
        times=readings.times[held],
        values=readings.values[held],
        states={name: (codes[held], known) for name, (codes, known) in readings.states.items()},
        derived={},
    )


@dataclass(frozen=True, eq=False)
class Sample:
    """Some sensors of a world, and their tables, each made once."""

    world: World
    sensors: tuple[str, ...]
    parameters: Parameters
    _made: dict[tuple[Any, ...], TransactionTable] = field(default_factory=dict, repr=False)

    def table(self, mode: str, *, gaps: str = "missing", properties: tuple[str, ...] | None = None) -> TransactionTable:
        """Transactions in one encoding; ``gaps="zero"`` reads what is missing as 0, as the published code did."""
        key = (mode, gaps, properties)
        if key not in self._made:
            p = self.parameters
            lifted = mode == "lifted"
            self._made[key] = build(
                self._readings(gaps),
                mode=mode,
                discretizer=Discretizer(p.binning, p.bins, p.lifted_scope if lifted else p.scope),
                hops=p.lifted_hops if lifted else p.hops,
                properties=properties,
                min_embeddings=p.min_embeddings,
                **self._around,
            )
        return self._made[key]

    def raw(self) -> FeatureTable:
        """The grounded transactions before discretization."""
        return features(self._readings("missing"), mode="grounded", hops=self.parameters.hops, **self._around)

    @property
    def _around(self) -> Mapping[str, Any]:
        world = self.world
        bound = Binding({sensor: world.binding[sensor] for sensor in self.sensors})
        return {"graph": world.graph, "binding": bound, "ontology": world.ontology}

    def _readings(self, gaps: str) -> WindowedReadings:
        readings = self.world.readings
        wanted = set(self.sensors)
        columns = [i for i, sensor in enumerate(readings.numeric) if sensor.id in wanted]
        values = readings.values[:, columns]
        return replace(
            readings,
            sensors=tuple(sensor for sensor in readings.sensors if sensor.id in wanted),
            values=np.nan_to_num(values, nan=0.0) if gaps == "zero" else values,
            states={name: state for name, state in readings.states.items() if name in wanted},
        )
