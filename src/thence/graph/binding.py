"""The binding: which sensor sits at which node of the graph, total on the sensors and checked both ways.

``bind`` finds the node of each sensor by id, by what the graph itself says about its time series, by a table or by
a rule over names (``name_rules``). Nothing is guessed: a sensor that fits no node, or several, is an error that
lists them all, or is reported where ``partial=True`` allows it. This module must not read files.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from thence.errors import BindingError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.name_rules import DEFAULT, Directory, Finding, Rule, compile_rule

__all__ = ["Binding", "HasIds", "bind"]

_MOST_NEAR_MISSES = 25


@runtime_checkable
class HasIds(Protocol):
    """Anything with sensor ids, such as ``SensorData``."""

    @property
    def ids(self) -> tuple[str, ...]: ...


Sensors: TypeAlias = HasIds | Iterable[str]


class Binding(Mapping[str, str]):
    """Sensor id → node id, as a read-only mapping. ``left_out`` holds the sensors that were not bound, and why.

    >>> binding = Binding({"flow_1": "Pipe 1", "pressure_1": "Pipe 1"})
    >>> binding["flow_1"], binding.sensors_at("Pipe 1")
    ('Pipe 1', ('flow_1', 'pressure_1'))
    """

    def __init__(self, mapping: Mapping[str, str], *, left_out: Mapping[str, str] | None = None) -> None:
        self._nodes = dict(mapping)
        self._left_out = dict(left_out or {})
        at: dict[str, list[str]] = defaultdict(list)
        for sensor, node in self._nodes.items():
            at[node].append(sensor)
        self._sensors = {node: tuple(sensors) for node, sensors in at.items()}

    def __getitem__(self, sensor: str) -> str:
        try:
            return self._nodes[sensor]
        except KeyError:
            raise UnboundSensorError(sensor, hint=self._left_out.get(sensor) or nearest(sensor, self._nodes)) from None

    def __contains__(self, sensor: object) -> bool:
        return sensor in self._nodes

    def get(self, sensor: str, default: Any = None) -> Any:
        return self._nodes.get(sensor, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def left_out(self) -> Mapping[str, str]:
        """Sensors without a node and the reason, after a partial ``bind``."""
        return MappingProxyType(self._left_out)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that carry at least one sensor."""
        return tuple(self._sensors)

    @property
    def report(self) -> str:
        """How many sensors are bound and which were left out, as text."""
        lines = [f"{len(self._nodes)} sensors bound to {len(self._sensors)} nodes"]
        if self._left_out:
            lines[0] += f", {len(self._left_out)} left out:"
            lines += [f"  {sensor}: {reason}" for sensor, reason in self._left_out.items()]
        return "\n".join(lines)

    def sensors_at(self, node: str) -> tuple[str, ...]:
        """The sensors at a node, none where there are none."""
        return self._sensors.get(node, ())

    def select(self, sensors: Sensors) -> Binding:
        """The binding of these sensors only; those that it does not bind are left out as they were."""
        wanted = set(_ids(sensors))
        return Binding(
            {s: n for s, n in self._nodes.items() if s in wanted},
            left_out={s: r for s, r in self._left_out.items() if s in wanted},
        )

    def check(self, sensors: Sensors, graph: KnowledgeGraph, *, allow_extra: bool = False) -> None:
        """Raise one error that lists sensors without a node, nodes that do not exist, and sensors that do not exist.

        With ``allow_extra`` the binding may speak of more sensors than are given (after ``SensorData.select``).
        """
        ids = dict.fromkeys(_ids(sensors))
        unbound = [(s, f"sensor '{s}' is not bound to a node") for s in ids if s not in self._nodes]
        extra = [(s, f"'{s}' is bound to '{n}' but is no sensor of the data") for s, n in self.items() if s not in ids]
        lost = [
            (n, f"sensor '{s}' is bound to '{n}', which is no node of the graph")
            for s, n in self.items()
            if n not in graph.nodes and (s in ids or not allow_extra)
        ]
        problems = [*_advised(unbound, self._nodes), *_advised(lost, graph.nodes)]
        if not allow_extra:
            problems += _advised(extra, ids)
        if problems:
            count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
            raise BindingError(
                "\n  ".join([f"the binding does not fit: {count}", *problems]) + "\n ",
                hint="bind(sensors, graph, …) makes one that fits; select(sensors) drops what is not in the data",
            )

    def __eq__(self, other: object) -> bool:
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        left = f", {len(self._left_out)} left out" if self._left_out else ""
        return f"Binding({len(self._nodes)} sensors at {len(self._sensors)} nodes{left})"


class UnboundSensorError(BindingError, KeyError):
    """A sensor that the binding does not know; also a ``KeyError``, as mappings raise."""

    def __init__(self, sensor: str, *, hint: str | None) -> None:
        BindingError.__init__(self, f"sensor '{sensor}' is not bound to a node", hint=hint)

    __str__ = BindingError.__str__


def bind(
    sensors: Sensors,
    graph: KnowledgeGraph,
    *,
    rule: Rule | None = None,
    table: Mapping[str, str] | None = None,
    partial: bool = False,
) -> Binding:
    """Find the node of every sensor.

    ``table`` maps sensors to nodes (ids, or the ``name`` of exactly one node) and comes first. ``rule`` is a template
    of sensor names (``"{kind}_{node}"``), a regular expression with a group ``node``, a mapping from regular
    expressions to node ids (``{"(?P<room>.+)_Temperature": "{room}-temp-Sensor"}``), a function, or a list of these,
    tried in order. Without both the default rules are tried: the sensor's id is a node's id, series reference, ``name``
    or IRI; ``Node_12_pressure``, ``Link_12_flow``, ``Pipe_12``; ``pressure_12``. With ``partial=True`` what fits no
    node is left out and reported in ``Binding.left_out``.

    >>> from thence.graph.knowledge_graph import Node
    >>> graph = KnowledgeGraph([Node("Junction 12", frozenset({"Junction"}), {"name": "12"})])
    >>> dict(bind(["Node_12_pressure"], graph))
    {'Node_12_pressure': 'Junction 12'}
    """
    ids = _ids(sensors)
    directory = Directory(graph)
    rules = [] if table is not None and rule is None else compile_rule(DEFAULT if rule is None else rule)
    bound: dict[str, str] = {}
    failed: dict[str, Finding] = {}
    for sensor in ids:
        if table is not None and sensor in table:
            finding = _from_table(table[sensor], directory)
        else:
            finding = Finding()
            for attempt in rules:
                finding = finding.or_else(attempt(sensor, directory))
                if finding.node is not None:
                    break
        if finding.node is None:
            failed[sensor] = finding
        else:
            bound[sensor] = finding.node
    reasons = {
        sensor: finding.reason(directory, sensor, near_miss=number < _MOST_NEAR_MISSES)
        for number, (sensor, finding) in enumerate(failed.items())
    }
    known = set(ids)
    strange = {s: "is in the table but is no sensor of the data" for s in table or () if s not in known}
    if (reasons or strange) and not partial:
        headline = []
        if reasons:
            headline.append(f"{len(reasons)} of {len(ids)} sensors cannot be bound")
        if strange:
            headline.append(
                f"the table names {len(strange)} sensor{'s' * (len(strange) > 1)} that the data does not have"
            )
        problems = [f"{sensor}: {reason}" for sensor, reason in reasons.items()]
        problems += _advised([(s, f"{s}: {reason}") for s, reason in strange.items()], known)
        raise BindingError(
            "\n  ".join([f"{' and '.join(headline)}:", *problems]) + "\n ",
            hint="correct the names, give table={sensor: node} or rule=…, or bind the rest with partial=True",
        )
    return Binding(bound, left_out=reasons | strange)


def _from_table(target: object, directory: Directory) -> Finding:
    if isinstance(target, str):
        return directory.look_up(target)
    if target is None or (isinstance(target, float) and math.isnan(target)):
        return Finding(mistake="the table gives no node")
    return Finding(mistake=f"the table gives {target!r}, which is no text; node ids are texts")


def _ids(sensors: Sensors) -> tuple[str, ...]:
    if isinstance(sensors, str):
        raise BindingError(f"the sensors are given as one text, '{sensors}'", hint="give a list of sensor ids")
    ids = tuple(sensors.ids) if isinstance(sensors, HasIds) else tuple(sensors)
    strange = next((id for id in ids if not isinstance(id, str)), None)
    if strange is not None:
        raise BindingError(f"the sensor id {strange!r} is no text", hint="give a list of sensor ids")
    return ids


def _advised(problems: Iterable[tuple[str, str]], known: Iterable[str]) -> list[str]:
    """Problems, each given with the name that it is about; the first ones say the nearest known name."""
    names = list(known)
    lines = []
    for number, (name, text) in enumerate(problems):
        hint = nearest(str(name), names) if number < _MOST_NEAR_MISSES else None
        lines.append(f"{text} ({hint})" if hint else text)
    return lines
