"""Kinds and units of sensors from what is there: the graph around a sensor, and its name.

A sensor that has no kind gets one from, in this order: the class of the point that it is bound to (Brick), the property
that it observes (SOSA), the part of its name that is not the name of its node (``P_J12``, ``J12_pressure``), a word for
a quantity in its name, and, if it is named like its node, the class of the node. Otherwise it is a kind of its own, so
that sensors of which nothing is known are never mixed. Kinds that are given are never changed, and neither are units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import most_specific_label
from thence.data.graph.name_rules import WATER_LETTERS
from thence.data.graph.ontology import Ontology
from thence.data.graph.records import list_values
from thence.data.readings.counters import UNKNOWN, rate_of_kind
from thence.data.readings.few_values import same_types
from thence.data.readings.sensors import Sensor, SensorData

_POINTS = ("_Sensor", "_Setpoint", "_Command", "_Status", "_Alarm", "_Parameter")
"""How the names of Brick's classes of points end."""
_OBSERVES = ("observes", "observedProperty", "actsOnProperty", "forProperty")
_PLAIN_PROPERTIES = frozenset({"ObservableProperty", "ActuatableProperty", "Property", "FeatureOfInterest"})
_UNIT_NAMES = ("hasUnit", "unit", "unitCode", "unitText", "isMeasuredIn")
_QUANTITIES = frozenset({
    "pressure", "flow", "level", "head", "demand", "status", "state", "setting", "velocity", "quality",
    "chlorine", "temperature", "humidity", "co2", "brightness", "illuminance", "power", "energy", "voltage",
    "current", "frequency", "speed", "occupancy", "setpoint", "position", "vibration", "precipitation", "rain",
    "wind", "radiation", "turbidity", "ph", "conductivity",
})  # fmt: skip
"""Words that name a quantity wherever they are in a name."""
_UNITS = {
    "DEG_C": "degC", "DEG_F": "degF", "K": "K", "PERCENT": "%", "PERCENT_RH": "%", "PPM": "ppm", "LUX": "lx",
    "PA": "Pa", "KiloPA": "kPa", "BAR": "bar", "IN_H2O": "inH2O", "W": "W", "KiloW": "kW", "KiloW-HR": "kWh",
    "V": "V", "A": "A", "HZ": "Hz", "M": "m", "M2": "m2", "M3": "m3", "M3-PER-HR": "m3/h", "M3-PER-SEC": "m3/s",
    "L-PER-SEC": "L/s", "L-PER-MIN": "L/min", "FT3-PER-MIN": "ft3/min", "CFM": "ft3/min", "GAL_US-PER-MIN": "gal/min",
    "°C": "degC", "°F": "degF", "℃": "degC", "m³/h": "m3/h", "m³/s": "m3/s", "m³": "m3", "m²": "m2", "l/s": "L/s",
    "cfm": "ft3/min", "gpm": "gal/min", "kilowatt": "kW", "%RH": "%",
    "M-PER-SEC": "m/s", "SEC": "s", "MIN": "min", "HR": "h", "UNITLESS": "",
}  # fmt: skip
"""Units of QUDT that have a short sign, and other signs of them."""


@dataclass(frozen=True)
class FoundKinds:
    """Kinds and units of sensors that had none.

    Args:
        kinds: Kind and unit by sensor id.
        notes: Where they come from, one sentence each.
    """

    kinds: Mapping[str, tuple[str, str]]
    notes: tuple[str, ...] = ()


def with_kinds_of(
    sensors: SensorData,
    graph: KnowledgeGraph,
    binding: Binding,
    ontology: Ontology | None = None,
    *,
    given: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
) -> SensorData:
    """Return readings in which every sensor that is bound to a node has a kind; the report says where it is from.

    Whole numbers of which few differ are read as states before their kind is known; then the sensors of a kind are read
    alike (``same_types``).

    Args:
        sensors: The readings.
        graph: The knowledge graph.
        binding: The node of each sensor.
        ontology: The ontology, for subclasses.
        given: Names or patterns of sensors whose readings are states, or numbers, whatever the graph says.
        units: Unit by sensor id or by kind, also by the kinds that are found here.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Node
        >>> import polars as pl
        >>> from datetime import datetime
        >>> graph = KnowledgeGraph([Node("J1", frozenset({"Junction"}))])
        >>> data = SensorData.from_wide(pl.DataFrame({"time": [datetime(2024, 1, 1)], "P_J1": [40.0]}))
        >>> with_kinds_of(data, graph, Binding({"P_J1": "J1"})).sensors
        (Sensor(id='P_J1', kind='pressure', unit='', categorical=False),)
    """
    found = find_kinds(sensors.sensors, graph, binding, ontology)
    kinds = _with_units(sensors.sensors, found.kinds, units or {})
    rates = {id: rate_of_kind(*kinds[id]) for id in sensors.readings.counters if id in kinds}
    found = replace(found, kinds={**kinds, **rates})
    if not found.kinds:
        return sensors
    data = sensors.with_kinds(found.kinds, notes=found.notes)
    return same_types([data], only=found.kinds, given=tuple(given))[0]


def _with_units(
    sensors: Iterable[Sensor], kinds: Mapping[str, tuple[str, str]], units: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """The kinds and units that were found, and those of all sensors to which a unit is given, by id or by kind."""
    out = dict(kinds)
    for sensor in sensors:
        kind, found = kinds.get(sensor.id, (sensor.kind, sensor.unit))
        if (unit := units.get(sensor.id, units.get(kind, found))) != found:
            out[sensor.id] = (kind, unit)
    return out


def find_kinds(
    sensors: Iterable[Sensor], graph: KnowledgeGraph, binding: Mapping[str, str], ontology: Ontology | None = None
) -> FoundKinds:
    """Find the kinds and units of sensors that have none.

    Args:
        sensors: The sensors.
        graph: The knowledge graph.
        binding: The node of each sensor; sensors that are not bound are left as they are.
        ontology: The ontology, for subclasses.
    """
    kinds: dict[str, tuple[str, str]] = {}
    origins: dict[str, dict[str, list[str]]] = {}
    for sensor in sensors:
        node = binding.get(sensor.id)
        if node is None or (sensor.kind and sensor.unit):
            continue
        unit = sensor.unit.removesuffix(UNKNOWN) or _unit_of(node, graph)
        if sensor.kind:
            if unit:
                kinds[sensor.id] = (sensor.kind, unit)
            continue
        kind, origin = _kind_of(sensor.id, node, graph, ontology)
        kinds[sensor.id] = (kind, unit)
        origins.setdefault(origin, {}).setdefault(kind, []).append(sensor.id)
    return FoundKinds(kinds, tuple(_note(origin, found) for origin, found in origins.items()))


def _note(origin: str, found: Mapping[str, list[str]]) -> str:
    total = sum(map(len, found.values()))
    sensors = f"{total} sensor{'s' * (total > 1)}"
    if not origin:
        names = ", ".join(f"'{id}'" for ids in found.values() for id in ids[:1])
        return f"{sensors} without a kind, each a kind of its own (pass kinds=): {_first(names)}"
    listed = ", ".join(f"{kind} ({len(ids)})" for kind, ids in sorted(found.items(), key=lambda pair: -len(pair[1])))
    return f"kinds of {sensors} from {origin}: {_first(listed)}"


def _first(listed: str) -> str:
    parts = listed.split(", ")
    return ", ".join(parts[:6]) + (f" and {len(parts) - 6} more" if len(parts) > 6 else "")


def _kind_of(sensor: str, node: str, graph: KnowledgeGraph, ontology: Ontology | None) -> tuple[str, str]:
    """The kind of a sensor and where it is from; its id and nothing if there is no sign of its kind."""
    labels = graph.node(node).labels
    points = [label for label in labels if label.endswith(_POINTS)]
    if points:
        point = most_specific_label(points, ontology)
        return plain_name(point.removesuffix("_Sensor")), "the classes of their points"
    observed = _observed(node, graph, ontology)
    if observed:
        return observed, "the properties that they observe"
    rest = _rest_of_name(sensor, node, graph)
    if rest:
        return _spelled(rest, labels), "their names"
    for word in _words(sensor):
        if word in _QUANTITIES:
            return word, "their names"
    if rest == "" and labels:
        return (
            f"{plain_name(most_specific_label(labels, ontology))}_reading",
            "the classes of the nodes that they are named after",
        )
    return sensor, ""


def _observed(node: str, graph: KnowledgeGraph, ontology: Ontology | None) -> str:
    """The property that a SOSA sensor observes: its class, or its name if it has no class of its own."""
    for edge in graph.out_edges(node, _OBSERVES):
        target = graph.node(edge.target)
        classes = target.labels - _PLAIN_PROPERTIES
        if classes:
            return plain_name(most_specific_label(classes, ontology))
        shared = len([e for e in graph.in_edges(edge.target, _OBSERVES) if e.source != node]) > 0
        words = [word for word in _words(edge.target) if word in _QUANTITIES]
        if words or shared:
            return words[-1] if words else plain_name(edge.target)
    return ""


def _rest_of_name(sensor: str, node: str, graph: KnowledgeGraph) -> str | None:
    """What a sensor's name has beside the name of its node; ``None`` if it does not have the name of its node."""
    names = {node, *map(str, list_values(graph.node(node).properties.get("name")))}
    for name in sorted(names, key=len, reverse=True):
        parts = re.split(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", sensor)
        if len(parts) == 2:
            known = {label.lower() for label in graph.node(node).labels} | {"node", "link"}
            words = [word for part in parts for word in _words(part) if word not in known]
            return "_".join(words)
    return None


def _spelled(rest: str, labels: frozenset[str]) -> str:
    word, classes = WATER_LETTERS.get(rest, (rest, frozenset()))
    return word if labels & classes else rest


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", plain_name(name)) if word and not word.isdigit()] if name else []


def plain_name(name: str) -> str:
    """Return a name in lower case, with underscores between its words."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[\s\-./:]+", "_", split).strip("_").lower()


def _unit_of(node: str, graph: KnowledgeGraph) -> str:
    """The unit of a point, or of the property that a sensor observes."""
    near = [node, *(edge.target for edge in graph.out_edges(node, _OBSERVES))]
    for holder in near:
        for name in _UNIT_NAMES:
            value = next(iter(list_values(graph.value(holder, name))), None)
            if value is None:
                value = next((edge.target for edge in graph.out_edges(holder, name)), None)
            if value is not None:
                # The name of a unit may be an IRI; a sign such as L/s is none.
                short = re.split(r"[/#:]", str(value))[-1] if ":" in str(value) else str(value)
                return _UNITS.get(short, short)
    return ""
