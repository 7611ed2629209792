"""Data of the experiments: a system in windows, and samples of its sensors as tables in every encoding.

Tables come from ``runs.preparation``; nothing is mined here.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from thence.data.graph.binding import Binding
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, RunError
from thence.lab.experiments.files import DatasetSetup, Parameters, read_setup
from thence.lab.experiments.published_tables import Encoding, build_published_table, round_readings
from thence.lab.experiments.walk import choose_sensors
from thence.runs.configuration import INPUT_FILES, Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.inputs import load_system
from thence.runs.preparation import Prepared, window_readings
from thence.runs.provenance import hash_files
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["ExperimentData", "Sample", "find_dataset_setup", "identify_data", "load_data"]

Mode = Literal["none", "grounded", "existential"]


@dataclass(frozen=True, eq=False)
class ExperimentData:
    """A system with its readings in windows, without the windows in which all values are missing.

    Args:
        name: Name of the data set, or its configuration file.
        system: The system.
        readings: The readings in windows.
    """

    name: str
    system: System
    readings: WindowedReadings

    def sample(self, count: int, *, seed: int, repeat: int, parameters: Parameters) -> Sample:
        """Draw the sensors of one repeat, the same in every experiment with this number of sensors.

        Args:
            count: Number of sensors.
            seed: Random seed of the experiments.
            repeat: Number of the repeat.
            parameters: Parameters of the tables.
        """
        graph, binding = self.system.require_graph()
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), repeat])
        ids = [sensor.id for sensor in self.readings.sensors if sensor.id in binding]
        return Sample(self, choose_sensors(graph, binding, ids, count=count, rng=rng), parameters)


def find_dataset_setup(dataset: str) -> DatasetSetup:
    """Return how the experiments use ``dataset``: one of ``setup.toml``, another data set, or a configuration file."""
    _, sources = read_setup()
    if dataset in sources:
        return sources[dataset]
    if dataset.endswith(".toml"):
        return DatasetSetup(label=dataset, window=Config.from_toml(dataset, check=False).windows.every)
    from thence.data.datasets import info

    return DatasetSetup(label=info(dataset).name)


def identify_data(dataset: str, quick: bool = False) -> dict[str, Any]:
    """Return what determines the readings of a data set, to recognise repeats with other data.

    Args:
        dataset: Name of a data set, or a configuration file.
        quick: Whether to use the options of quick runs.

    Returns:
        The window, and the options of the data set or the hashes of the files of a configuration.
    """
    setup = find_dataset_setup(dataset)
    options = dict(setup.quick_options if quick else setup.options)
    if dataset.endswith(".toml"):
        given = Config.from_toml(dataset, check=False).input
        parts = {"config": dataset, **{name: getattr(given, name) for name in INPUT_FILES}}
        if isinstance(kinds := given.read_sensors.get("kinds"), str):
            parts["kinds"] = kinds
        options = {name: _digest(paths) for name, paths in parts.items() if paths is not None}
    return {"window": setup.window, "options": options}


def _digest(paths: str | Iterable[str]) -> str:
    """Return one hash of the contents of several files; their paths do not matter."""
    found = [file["sha256"] for file in hash_files(paths)]
    return str(found[0]) if len(found) == 1 else hashlib.sha256(" ".join(found).encode()).hexdigest()


def load_data(dataset: str, quick: bool, made: Mapping[str, Any]) -> ExperimentData:
    """Load a data set; the last one is cached.

    Args:
        dataset: Name of a data set, or a configuration file.
        quick: Whether to use the options of quick runs.
        made: What ``identify_data`` returned when the experiments were planned.

    Raises:
        ConfigError: The data set has no graph or no binding.
        RunError: The data have changed since the experiments were planned.
    """
    return _load_data(dataset, quick, json.dumps(made, sort_keys=True))


@lru_cache(maxsize=1)
def _load_data(dataset: str, quick: bool, made: str) -> ExperimentData:
    setup = find_dataset_setup(dataset)
    system: System
    if dataset.endswith(".toml"):
        system = load_system(Config.from_toml(dataset, check=False).input, "grounded")
    else:
        from thence.data.datasets import load

        system = load(dataset, **(setup.quick_options if quick else setup.options))
    if system.graph is None or system.binding is None:
        raise ConfigError("the experiments need a graph and a binding", where=dataset, hint="set both in [input]")
    if json.dumps(identify_data(dataset, quick), sort_keys=True) != made:
        raise RunError("the data changed while the experiments were running", where=dataset, hint="run them again")
    config = Config(windows=WindowsConfig(every=setup.window))
    return ExperimentData(dataset, system, window_readings(system, config).without_empty())


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of sensors and its tables, each of which is built once.

    Args:
        data: The data of the experiment.
        sensors: Ids of the sensors.
        parameters: Parameters of the tables.
    """

    data: ExperimentData
    sensors: tuple[str, ...]
    parameters: Parameters
    _tables: dict[tuple[Any, ...], TransactionTable] = field(default_factory=dict, init=False, repr=False)

    def table(self, mode: str, *, gaps: str = "missing", properties: tuple[str, ...] | None = None) -> TransactionTable:
        """Return the transactions in one encoding.

        Args:
            mode: The enrichment.
            gaps: ``"missing"``, or ``"zero"`` to replace missing values by 0, as the published code does.
            properties: Properties of nodes to use; all by default.
        """
        key = (mode, gaps, properties)
        if key not in self._tables:
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
            self._tables[key] = Prepared(self._system, config, self._readings(gaps)).table
        return self._tables[key]

    def published_table(self, mode: Mode, *, encoding: Encoding | None = None) -> TransactionTable:
        """Return the transactions as the released code of the paper makes them, with closed bins.

        Args:
            mode: The enrichment.
            encoding: How means and missing values are read; by default as in that code.
        """
        made = encoding or Encoding()
        key = ("published", mode, made)
        if key not in self._tables:
            self._tables[key] = build_published_table(
                round_readings(self._readings("missing"), made),
                self._system,
                mode=mode,
                bins=self.parameters.bins,
                sensor_type=find_dataset_setup(self.data.name).sensor_type,
            )
        return self._tables[key]

    def feature_table(self, *, encoding: Encoding | None = None) -> FeatureTable:
        """Return the grounded transactions before discretization.

        Args:
            encoding: How means and missing values are read; by default they are neither rounded nor filled.
        """
        config = Config(enrich=EnrichConfig(mode="grounded", hops=self.parameters.hops))
        readings = self._readings("missing")
        rounded = round_readings(readings, encoding) if encoding else readings
        return Prepared(self._system, config, rounded).numbers

    @property
    def _system(self) -> System:
        _, binding = self.data.system.require_graph()
        return replace(self.data.system, binding=Binding({sensor: binding[sensor] for sensor in self.sensors}))

    def _readings(self, gaps: str) -> WindowedReadings:
        chosen = self.data.readings.select(self.sensors)
        return replace(chosen, values=np.nan_to_num(chosen.values, nan=0.0)) if gaps == "zero" else chosen
