"""Tables as the released code of the paper makes them, for the variant *published*.

They differ from our tables in five points, and each is a field of ``Encoding``:

- window means are rounded to integers, and an empty window is 0;
- edge k of n bins is the sorted value at the fractional index k · N / n, interpolated. Bins are closed at both ends,
  and the first bin that matches counts, so that a value on an edge goes to the lower bin. Equal edges leave bins into
  which nothing falls; they are values of the column, but no row has them;
- readings share their bins per type of sensor in the sample, properties over the whole graph;
- every sensor has the properties of its node for itself, and the type of the node is one of them. A property has one
  value for each that is found in the graph.

Nothing is mined here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import Block, Column, TransactionTable

__all__ = ["PROPERTIES", "ClosedBins", "Encoding", "build_published_table", "round_readings"]

PROPERTIES = ("diameter", "length", "roughness", "elevation")
"""Properties that the released code uses beside the type of a node."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How a table is made, in the points in which the released code differs from ours; the defaults are the code's.

    Args:
        rounding: ``"integer"`` rounds window means to integers, ``"none"`` does not.
        gaps: ``"zero"`` replaces missing values by 0, ``"missing"`` keeps them missing.
        bins: ``"closed"`` for the bins of the code, ``"half-open"`` for ours.
        properties: ``"sensor"`` repeats the properties of a node for each of its sensors, with its type and with bins
            over the whole graph; ``"node"`` has them once, with bins over the sample and without the type.

    Examples:
        >>> Encoding(rounding="none").bins
        'closed'
    """

    rounding: Literal["integer", "none"] = "integer"
    gaps: Literal["zero", "missing"] = "zero"
    bins: Literal["closed", "half-open"] = "closed"
    properties: Literal["sensor", "node"] = "sensor"

    def __post_init__(self) -> None:
        for name, known in (
            ("rounding", ("integer", "none")),
            ("gaps", ("zero", "missing")),
            ("bins", ("closed", "half-open")),
            ("properties", ("sensor", "node")),
        ):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} must be '{known[0]}' or '{known[1]}', got {getattr(self, name)!r}")


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
