"""Data of the experiments: a system in windows, and samples of its sensors as tables in every encoding.

Sensors are sampled as the paper does it: from a random sensor, the sensors nearest in the graph are added until there
are enough. The paper leaves two points open: here the sensors at the same distance are taken in random order, and if
the component of the graph has too few sensors, the walk continues from another random sensor.

Tables as the released code of the paper makes them, for the variant *published*, differ from ours in these points:

- window means are rounded to integers, and an empty window is 0;
- edge k of n bins is the sorted value at the fractional index k · N / n, interpolated. Bins are closed at both ends,
  and the first bin that matches counts, so that a value on an edge goes to the lower bin. Equal edges leave bins into
  which nothing falls; they are values of the column, but no row has them;
- readings share their bins per type of sensor in the sample, properties over the whole graph;
- every sensor has the properties of its node for itself, and the type of the node is one of them. A property has one
  value for each that is found in the graph.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, RunError
from thence.lab.experiments.files import DatasetSetup, Parameters, read_setup
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.runs.configuration import INPUT_FILES, Config, DiscretizeConfig, EnrichConfig, WindowsConfig
from thence.runs.inputs import load_system
from thence.runs.preparation import Prepared, window_readings
from thence.runs.provenance import hash_files
from thence.tables.blocks import Block, Column
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import FeatureTable, TransactionTable

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

    def sample(self, count: int, *, seed: int, repeat: int, parameters: Parameters) -> ExperimentSample:
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
        return ExperimentSample(self, choose_sensors(graph, binding, ids, count=count, rng=rng), parameters)


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
class ExperimentSample:
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


def choose_sensors(
    graph: KnowledgeGraph,
    binding: Mapping[str, str],
    sensors: Sequence[str],
    *,
    count: int,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """Choose sensors that are near each other.

    Args:
        graph: The graph.
        binding: The node of each sensor.
        sensors: Ids of the sensors to choose from.
        count: Number of sensors to choose; if there are fewer, all are chosen.
        rng: Random generator.

    Returns:
        The chosen sensors, in the order of ``sensors``.

    Examples:
        >>> import thence as th
        >>> data = th.datasets.load("toy")
        >>> chosen = choose_sensors(data.graph, data.binding, data.sensors.ids, count=3, rng=np.random.default_rng(0))
        >>> len(chosen), set(chosen) <= set(data.sensors.ids)
        (3, True)
    """
    if count >= len(sensors):
        return tuple(sensors)
    at: dict[str, list[str]] = {}
    for sensor in sensors:
        at.setdefault(binding[sensor], []).append(sensor)
    chosen: list[str] = []
    left = dict.fromkeys(sensors)
    while len(chosen) < count:
        waiting = list(left)
        start = binding[waiting[int(rng.integers(len(waiting)))]]
        distance = {start: 0, **graph.neighbours(start, hops=len(graph.nodes))}
        rings: dict[int, list[str]] = {}
        for node, steps in distance.items():
            rings.setdefault(steps, []).extend(s for s in at.get(node, ()) if s in left)
        for steps in sorted(rings):
            # Sort first, so that the result does not depend on the order in which the graph lists neighbours.
            ring = sorted(rings[steps])
            for position in rng.permutation(len(ring)).tolist():
                if len(chosen) < count:
                    chosen.append(ring[position])
                    del left[ring[position]]
    found = set(chosen)
    return tuple(sensor for sensor in sensors if sensor in found)


PROPERTIES = ("diameter", "length", "roughness", "elevation")
"""Properties that the released code uses beside the type of a node."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How readings are put into a table of the released code; the defaults are the code's.

    Args:
        rounding: ``"integer"`` rounds window means to integers, ``"none"`` does not.
        gaps: ``"zero"`` replaces missing values by 0, ``"missing"`` keeps them missing.

    Examples:
        >>> Encoding(rounding="none").gaps
        'zero'
    """

    rounding: Literal["integer", "none"] = "integer"
    gaps: Literal["zero", "missing"] = "zero"


@dataclass(frozen=True, eq=False)
class ClosedBins:
    """Bins that are closed at both ends, of which the first that matches counts.

    Args:
        bin_edges: All edges, ascending, possibly with repetitions.

    Examples:
        >>> bins = ClosedBins.fit(np.array([0.0, 0, 0, 0, 1, 2, 3, 4]), bins=4)
        >>> bins.bin_edges.tolist()
        [0.0, 0.0, 1.0, 3.0, 4.0]
        >>> bins.encode(np.array([0.0, 1, 2, 3, 4])).tolist()
        [0, 1, 2, 2, 3]
    """

    bin_edges: Floats

    @staticmethod
    def fit(values: npt.ArrayLike, *, bins: int) -> ClosedBins:
        """Fit bins to numbers: edge k is the sorted value at index k · N / bins, interpolated, at most the last.

        Args:
            values: The numbers; NaN is ignored.
            bins: Number of bins.
        """
        known = np.sort(np.asarray(values, np.float64).ravel())
        known = known[~np.isnan(known)]
        if not len(known):
            return ClosedBins(np.zeros(bins + 1))
        at = np.minimum(np.arange(bins + 1) * (len(known) / bins), len(known) - 1)
        return ClosedBins(np.interp(at, np.arange(len(known)), known))

    @property
    def values(self) -> tuple[Interval | str, ...]:
        """The bins as half-open intervals with the same numbers; a bin into which nothing can fall is a text."""
        inner = [math.nextafter(edge, math.inf) for edge in self.bin_edges[1:-1].tolist()]
        bounds = list(pairwise([-math.inf, *inner, math.inf]))
        return tuple(
            Interval(low, high) if low < high else f"no number (bin {code})" for code, (low, high) in enumerate(bounds)
        )

    def encode(self, values: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Return the code of each number, −1 for NaN: how many inner edges are below it.

        Args:
            values: The numbers.
        """
        given = np.asarray(values, np.float64)
        codes = np.searchsorted(self.bin_edges[1:-1], given, side="left").astype(np.int16)
        return np.where(np.isnan(given), np.int16(-1), codes)


def round_readings(readings: WindowedReadings, encoding: Encoding) -> WindowedReadings:
    """Return the readings with integers for means and 0 for missing values, where the encoding says so.

    Args:
        readings: The readings.
        encoding: The encoding.
    """
    values = readings.values
    if encoding.rounding == "integer":
        values = np.rint(values) + 0.0  # no negative zeros
    states = readings.states
    if encoding.gaps == "zero":
        values = np.nan_to_num(values, nan=0.0)
        states = {
            name: (np.where(codes < 0, known.index("0"), codes), known) if "0" in known else (codes, known)
            for name, (codes, known) in states.items()
        }
    return replace(readings, values=values, states=states)


def build_published_table(
    readings: WindowedReadings,
    system: System,
    *,
    mode: Literal["none", "grounded", "existential"],
    bins: int = 10,
    sensor_type: Literal["kind", "sensor"] = "kind",
) -> TransactionTable:
    """Build a table with closed bins, and with the properties of its node for every sensor.

    Args:
        readings: The readings, rounded and filled by ``round_readings`` if that is wanted.
        system: The system, with graph and binding.
        mode: ``"none"`` has a column per sensor. ``"grounded"`` adds the properties of its node for each.
            ``"existential"`` has the items of Naive SemRL: some sensor of a type reads in a range, and the same with a
            property of its node.
        bins: Number of bins.
        sensor_type: Whether readings share bins per ``"kind"``, or each ``"sensor"`` is a type of its own.
    """
    graph, binding = system.require_graph()
    around = Surroundings(graph, binding, system.ontology)
    order = sorted(readings.sensors, key=lambda sensor: (sensor.id, sensor.kind))
    columns = _encode_readings(readings, around, order, bins=bins, sensor_type=sensor_type)
    if mode == "none":
        return _as_table(columns, readings, "none")
    found = _encode_properties(around, [sensor.id for sensor in order], bins=bins)
    if mode == "grounded":
        pairs = zip(columns, order, strict=True)
        return _as_table([part for column, sensor in pairs for part in (column, *found[sensor.id])], readings, mode)
    types = {sensor.id: _name_type(sensor, sensor_type) for sensor in order}
    return _as_table(_make_existential(columns, order, types, found), readings, mode)


def _as_table(columns: Iterable[Column], readings: WindowedReadings, mode: str) -> TransactionTable:
    return TransactionTable((Block(tuple(columns), len(readings), times=readings.times),), mode)


def _name_type(sensor: Sensor, sensor_type: str) -> str:
    return sensor.id if sensor_type == "sensor" or not sensor.kind else sensor.kind


def _encode_readings(
    readings: WindowedReadings, around: Surroundings, order: Sequence[Sensor], *, bins: int, sensor_type: str
) -> list[Column]:
    """Return a column per sensor; numbers are binned together with those of all sensors of the same type."""
    series = {sensor.id: readings.values[:, at] for at, sensor in enumerate(readings.numeric)}
    pooled: dict[str, list[Floats]] = {}
    for sensor in readings.numeric:
        pooled.setdefault(_name_type(sensor, sensor_type), []).append(series[sensor.id])
    fitted = {name: ClosedBins.fit(np.concatenate(parts), bins=bins) for name, parts in pooled.items()}
    out = []
    for sensor in order:
        if sensor.categorical:
            codes, known = readings.states[sensor.id]
            out.append(Column(around.reading(sensor), tuple(known), codes.astype(np.int16)[None, :]))
        else:
            made = fitted[_name_type(sensor, sensor_type)]
            out.append(Column(around.reading(sensor), made.values, made.encode(series[sensor.id])[None, :]))
    return out


def _encode_properties(around: Surroundings, sensors: Sequence[str], *, bins: int) -> dict[str, list[Column]]:
    """Return a constant column per sensor and property of its node; its values are those found in the graph."""
    assert around.graph is not None
    facts = {node: around.graph.node(node).properties for node in around.graph.nodes}
    labels: dict[str, dict[str, Value | Interval]] = {"type": {node: around.label_of(node) for node in facts}}
    for name in PROPERTIES:
        given = {node: properties[name] for node, properties in facts.items() if name in properties}
        numbers = {
            node: float(value)
            for node, value in given.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        if numbers:
            made = ClosedBins.fit(list(numbers.values()), bins=bins)
            codes = made.encode(list(numbers.values())).tolist()
            labels[name] = {node: made.values[code] for node, code in zip(numbers, codes, strict=True)}
    known = {name: tuple(dict.fromkeys(sorted(by_node.values(), key=_order))) for name, by_node in labels.items()}
    out: dict[str, list[Column]] = {}
    for sensor in sensors:
        node = around.node_of(sensor)
        features = {name: Feature(sensor, Aspect.PROPERTY, name, role=Role.NODE, place=node) for name in labels}
        out[sensor] = [
            Column(
                features[name],
                known[name],
                np.array([[known[name].index(by_node[node]) if node in by_node else -1]], np.int16),
                context=True,
            )
            for name, by_node in labels.items()
        ]
    return out


def _order(value: Value | Interval) -> tuple[float, str]:
    return (value.low, "") if isinstance(value, Interval) else (math.inf, str(value))


def _make_existential(
    columns: Sequence[Column], order: Sequence[Sensor], types: Mapping[str, str], found: Mapping[str, Sequence[Column]]
) -> list[Column]:
    """Return a boolean column per type and range, and per type, range, property and value."""
    held: dict[Feature, npt.NDArray[np.bool_]] = {}
    for column, sensor in zip(columns, order, strict=True):
        reading = Feature("", Aspect.MEASUREMENT, role=Role.SOME, label=types[sensor.id])
        conditions: list[tuple[Item, ...]] = [()]
        for one in found[sensor.id]:
            code = int(one.codes[0, 0])
            if code >= 0:
                where = Feature("", Aspect.PROPERTY, one.feature.name, role=Role.SOME)
                conditions.append((Item.is_(where, one.values[code]),))
        for code in np.unique(column.codes[column.codes >= 0]).tolist():
            item = Item.is_(reading, column.values[code])
            for condition in conditions:
                feature = replace(reading, where=(*condition, item))
                before = held.get(feature)
                now = column.codes[0] == code
                held[feature] = now if before is None else before | now
    return [
        Column(feature, (False, True), where.astype(np.int16)[None, :], minable=(False, True))
        for feature, where in held.items()
    ]
