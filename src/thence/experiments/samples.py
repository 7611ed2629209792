"""The data of an experiment: a system in windows, and samples of its sensors as tables of every encoding."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from thence.errors import ConfigError, RunError
from thence.experiments.files import Parameters, Source, read_setup
from thence.experiments.walk import walk
from thence.graph.binding import Binding
from thence.graph.system import System
from thence.readings.windows import WindowedReadings
from thence.runs.configuration import INPUT_FILES, Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.inputs import load_system
from thence.runs.pipeline import build_features, build_table, window_readings
from thence.runs.provenance import hash_files
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["ExperimentData", "Sample", "load_data", "made_from", "source_of"]


@dataclass(frozen=True, eq=False)
class ExperimentData:
    """A system whose readings are in windows, without the windows in which nothing was read."""

    name: str
    system: System
    readings: WindowedReadings

    def sample(self, count: int, *, seed: int, repeat: int, parameters: Parameters) -> Sample:
        """Draw the sensors of one repeat; they are the same for every experiment with this many sensors."""
        graph, binding = self.system.require_graph()
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), repeat])
        ids = [sensor.id for sensor in self.readings.sensors if sensor.id in binding]
        return Sample(self, walk(graph, binding, ids, count=count, rng=rng), parameters)


def source_of(dataset: str) -> Source:
    """How the experiments use a data set: from the setup, from a configuration file, or by its name alone."""
    _, sources = read_setup()
    if dataset in sources:
        return sources[dataset]
    if dataset.endswith(".toml"):
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
        given = Config.from_toml(dataset, check=False).input
        parts = {"config": dataset, **{name: getattr(given, name) for name in INPUT_FILES}}
        if isinstance(kinds := given.read_sensors.get("kinds"), str):
            parts["kinds"] = kinds
        options = {name: _digest(paths) for name, paths in parts.items() if paths is not None}
    return {"window": source.window, "options": options}


def _digest(paths: str | Iterable[str]) -> str:
    """One hash for the contents of several files, wherever they lie."""
    found = [file["sha256"] for file in hash_files(paths)]
    return str(found[0]) if len(found) == 1 else hashlib.sha256(" ".join(found).encode()).hexdigest()


def load_data(dataset: str, quick: bool, made: Mapping[str, Any]) -> ExperimentData:
    """Load a data set once per process: one of the setup, any other by name, or a configuration file's ``[input]``.

    ``made`` is what ``made_from`` said of it when the work was planned.
    """
    return _loaded(dataset, quick, json.dumps(made, sort_keys=True))


@lru_cache(maxsize=1)
def _loaded(dataset: str, quick: bool, made: str) -> ExperimentData:
    source = source_of(dataset)
    given: System
    if dataset.endswith(".toml"):
        given = load_system(Config.from_toml(dataset, check=False).input, "grounded")
    else:
        from thence.datasets import load

        given = load(dataset, **(source.quick_options if quick else source.options))
    if given.graph is None or given.binding is None:
        raise ConfigError("the experiments need a graph and a binding", where=dataset, hint="give both in [input]")
    if json.dumps(made_from(dataset, quick), sort_keys=True) != made:
        raise RunError("these data were changed while the experiments ran", where=dataset, hint="start again")
    config = Config(windows=WindowsConfig(every=source.window))
    return ExperimentData(dataset, given, window_readings(given, config).without_empty())


@dataclass(frozen=True, eq=False)
class Sample:
    """Some sensors of the data of an experiment, and their tables, each built once."""

    data: ExperimentData
    sensors: tuple[str, ...]
    parameters: Parameters
    _made: dict[tuple[Any, ...], TransactionTable] = field(default_factory=dict, repr=False)

    def table(self, mode: str, *, gaps: str = "missing", properties: tuple[str, ...] | None = None) -> TransactionTable:
        """Return the transactions in one encoding; ``gaps="zero"`` reads missing values as 0, as the published code."""
        key = (mode, gaps, properties)
        if key not in self._made:
            p = self.parameters
            lifted = mode == "lifted"
            config = Config(
                discretize=DiscretizeConfig(method=p.binning, bins=p.bins, scope=p.lifted_scope if lifted else p.scope),
                enrich=EnrichConfig(
                    mode=mode,
                    hops=p.lifted_hops if lifted else p.hops,
                    properties=properties,
                    min_embeddings=p.min_embeddings,
                ),
            )
            self._made[key] = build_table(self._readings(gaps), self._system, config)
        return self._made[key]

    def raw(self) -> FeatureTable:
        """Return the grounded transactions before discretization."""
        config = Config(enrich=EnrichConfig(mode="grounded", hops=self.parameters.hops))
        return build_features(self._readings("missing"), self._system, config)

    @property
    def _system(self) -> System:
        _, binding = self.data.system.require_graph()
        return replace(self.data.system, binding=Binding({sensor: binding[sensor] for sensor in self.sensors}))

    def _readings(self, gaps: str) -> WindowedReadings:
        chosen = self.data.readings.select(self.sensors)
        return replace(chosen, values=np.nan_to_num(chosen.values, nan=0.0)) if gaps == "zero" else chosen
