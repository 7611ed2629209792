"""The binding: which node of the graph each sensor belongs to.

``bind`` finds the node of each sensor by its id, by the time series references in the graph, by a table, or by rules
over names (``thence.data.graph.name_rules``). It never guesses: a sensor that matches no node, or several, is an error,
or is reported in ``Binding.left_out`` with ``partial=True``. Errors list all such sensors. This module must not read
files.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.name_rules import DEFAULT_RULES, NameRule, NodeDirectory, NodeMatch, compile_rule, plain_spelling
from thence.errors import BindingError, nearest

_MAX_SUGGESTIONS = 25


@runtime_checkable
class HasIds(Protocol):
    """Anything with sensor ids, such as ``SensorData``."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The sensor ids."""
        ...


Sensors: TypeAlias = HasIds | Iterable[str]


class Binding(Mapping[str, str]):
    """A read-only mapping from sensor id to node id.

    Args:
        mapping: Sensor id to node id.
        left_out: Sensors that could not be bound, each with the reason.
        ways: By what each sensor was bound, where it was not by the id of its node: ``"label"``, ``"spelling"``.

    Examples:
        >>> binding = Binding({"flow_1": "Pipe 1", "pressure_1": "Pipe 1"})
        >>> binding["flow_1"], binding.sensors_at("Pipe 1")
        ('Pipe 1', ('flow_1', 'pressure_1'))
    """

    def __init__(
        self,
        mapping: Mapping[str, str],
        *,
        left_out: Mapping[str, str] | None = None,
        ways: Mapping[str, str] | None = None,
    ) -> None:
        self._nodes = dict(mapping)
        self._left_out = dict(left_out or {})
        self._ways = dict(ways or {})
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
        """Return the node of a sensor, or a default.

        Args:
            sensor: The sensor id.
            default: What to return if the sensor is not bound.
        """
        return self._nodes.get(sensor, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def left_out(self) -> Mapping[str, str]:
        """The sensors that a partial ``bind`` left out, each with the reason."""
        return MappingProxyType(self._left_out)

    @property
    def ways(self) -> Mapping[str, str]:
        """By what sensors were bound, where it was not by the id of their node."""
        return MappingProxyType(self._ways)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes with at least one sensor."""
        return tuple(self._sensors)

    def summary(self) -> str:
        """Return the number of bound sensors and the sensors left out, as text for people."""
        lines = [f"{len(self._nodes)} sensors bound to {len(self._sensors)} nodes"]
        if self._left_out:
            lines[0] += f", {len(self._left_out)} left out:"
            lines += [f"  {sensor}: {reason}" for sensor, reason in self._left_out.items()]
        return "\n".join(lines)

    def sensors_at(self, node: str) -> tuple[str, ...]:
        """Return the sensors that are bound to a node.

        Args:
            node: The node id.
        """
        return self._sensors.get(node, ())

    def select(self, sensors: Sensors) -> Binding:
        """Return the binding of some sensors only.

        Args:
            sensors: Sensor ids, or an object with ``ids``. Sensors that are not bound are ignored.
        """
        wanted = set(_ids(sensors))
        return Binding(
            {s: n for s, n in self._nodes.items() if s in wanted},
            left_out={s: r for s, r in self._left_out.items() if s in wanted},
            ways={s: way for s, way in self._ways.items() if s in wanted},
        )

    def check(self, sensors: Sensors, graph: KnowledgeGraph, *, allow_extra: bool = False) -> None:
        """Check that the binding matches the sensors and the graph.

        Args:
            sensors: Sensor ids, or an object with ``ids``, such as ``SensorData``.
            graph: The knowledge graph.
            allow_extra: Whether the binding may contain sensors that are not in ``sensors``, such as after
                ``SensorData.select``.

        Raises:
            BindingError: If a sensor is not bound, a node does not exist, or a bound sensor does not exist. The error
                lists all of them.
        """
        ids = dict.fromkeys(_ids(sensors))
        unbound = [(s, f"sensor '{s}' is not bound to a node") for s in ids if s not in self._nodes]
        extra = [(s, f"'{s}' is bound to '{n}' but is not in the data") for s, n in self.items() if s not in ids]
        dangling = [
            (n, f"sensor '{s}' is bound to '{n}', which is not a node of the graph")
            for s, n in self.items()
            if n not in graph.nodes and (s in ids or not allow_extra)
        ]
        problems = [*_with_suggestions(unbound, self._nodes), *_with_suggestions(dangling, graph.nodes)]
        if not allow_extra:
            problems += _with_suggestions(extra, ids)
        if problems:
            count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
            raise BindingError(
                "\n  ".join([f"the binding does not match the sensors and the graph: {count}", *problems]) + "\n ",
                hint="create one with bind(sensors, graph, …), or drop extra sensors with select(sensors)",
            )

    def __eq__(self, other: object) -> bool:
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        left = f", {len(self._left_out)} left out" if self._left_out else ""
        return f"Binding({len(self._nodes)} sensors at {len(self._sensors)} nodes{left})"


class UnboundSensorError(BindingError, KeyError):
    """A sensor that is not bound; also a ``KeyError``, as mappings raise it.

    Args:
        sensor: The sensor id.
        hint: Why it is not bound, or the nearest sensor id.
    """

    def __init__(self, sensor: str, *, hint: str | None) -> None:
        BindingError.__init__(self, f"sensor '{sensor}' is not bound to a node", hint=hint)

    __str__ = BindingError.__str__


def bind(
    sensors: Sensors,
    graph: KnowledgeGraph,
    *,
    rule: NameRule | None = None,
    table: Mapping[str, str] | None = None,
    partial: bool = False,
) -> Binding:
    """Find the node of every sensor.

    Without ``rule`` and ``table``, default rules are tried: the sensor id is the series reference, id, identifier,
    name, IRI, label or BACnet object of a node; then forms such as ``Node_12_pressure``, ``Link_12_flow`` and
    ``Pipe_12``; then ``pressure_12``; then one of these names in another case or with other separators, if it is the
    only such name among the sensors and among the nodes; then a part of a name with parts: ``site/pump_1/flow`` belongs
    to ``Pump 1``.

    Args:
        sensors: Sensor ids, or an object with ``ids``, such as ``SensorData``.
        graph: The knowledge graph.
        rule: How sensor names lead to nodes: a template (``"{kind}_{node}"``), a regular expression with a group
            ``node``, a mapping from regular expressions to node ids
            (``{"(?P<room>.+)_Temperature": "{room}-temp-Sensor"}``), a function from sensor id to node id or ``None``,
            or a list of these, tried in order.
        table: Sensor id to node id, or to the ``name`` of exactly one node. It takes precedence over ``rule``.
        partial: Whether to leave out sensors that match no node, or several, instead of raising an error.

    Returns:
        The binding; with ``partial=True`` its ``left_out`` says which sensors were left out and why.

    Raises:
        BindingError: If sensors match no node, or several, or ``table`` names sensors that do not exist.
        ConfigError: If ``rule`` is not valid.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Node
        >>> graph = KnowledgeGraph([Node("Junction 12", frozenset({"Junction"}), {"name": "12"})])
        >>> dict(bind(["Node_12_pressure"], graph))
        {'Node_12_pressure': 'Junction 12'}
    """
    ids = _ids(sensors)
    directory = NodeDirectory(graph)
    matchers = [] if table is not None and rule is None else compile_rule(DEFAULT_RULES if rule is None else rule)
    by_spelling = bool(matchers) and (rule is None or rule == list(DEFAULT_RULES))
    spelled = Counter(map(plain_spelling, ids)) if by_spelling else Counter[str]()
    bound: dict[str, str] = {}
    ways: dict[str, str] = {}
    failed: dict[str, NodeMatch] = {}
    for sensor in ids:
        if table is not None and sensor in table:
            match = _match_table(table[sensor], directory)
        else:
            match = NodeMatch()
            for matcher in matchers:
                match = match.or_else(matcher(sensor, directory))
                if match.node is not None:
                    break
            if match.node is None and not match.candidates and spelled[plain_spelling(sensor)] == 1:
                match = match.or_else(directory.look_up_spelling(sensor))
                if match.node is None and not match.candidates:
                    match = match.or_else(directory.look_up_part(sensor))
        if match.node is None:
            failed[sensor] = match
        else:
            bound[sensor] = match.node
            if match.way:
                ways[sensor] = match.way
    reasons = {
        sensor: match.explain_failure(directory, sensor, suggest=number < _MAX_SUGGESTIONS)
        for number, (sensor, match) in enumerate(failed.items())
    }
    known = set(ids)
    unknown = {s: "is in the table but not in the data" for s in table or () if s not in known}
    if (reasons or unknown) and not partial:
        headline = []
        if reasons:
            headline.append(f"{len(reasons)} of {len(ids)} sensors cannot be bound")
        if unknown:
            headline.append(
                f"the table names {len(unknown)} sensor{'s' * (len(unknown) > 1)} that the data does not have"
            )
        problems = [f"{sensor}: {reason}" for sensor, reason in reasons.items()]
        problems += _with_suggestions([(s, f"{s}: {reason}") for s, reason in unknown.items()], known)
        raise BindingError(
            "\n  ".join([f"{' and '.join(headline)}:", *problems]) + "\n ",
            hint="correct the names, pass table={sensor: node} or rule=…, or bind the rest with partial=True",
        )
    return Binding(bound, left_out=reasons | unknown, ways=ways)


def _match_table(target: object, directory: NodeDirectory) -> NodeMatch:
    """The node that a table gives for a sensor."""
    if isinstance(target, str):
        return directory.look_up(target)
    if target is None or (isinstance(target, float) and math.isnan(target)):
        return NodeMatch(mistake="the node id in the table is missing")
    return NodeMatch(mistake=f"the node id in the table must be a string, got {target!r}")


def _ids(sensors: Sensors) -> tuple[str, ...]:
    if isinstance(sensors, str):
        raise BindingError(
            f"sensors must be a list of sensor ids, got the string '{sensors}'", hint=f"pass ['{sensors}']"
        )
    ids = tuple(sensors.ids) if isinstance(sensors, HasIds) else tuple(sensors)
    invalid = next((id for id in ids if not isinstance(id, str)), None)
    if invalid is not None:
        raise BindingError(f"sensor id must be a string, got {invalid!r}", hint="pass a list of sensor ids")
    return ids


def _with_suggestions(problems: Iterable[tuple[str, str]], known: Iterable[str]) -> list[str]:
    """The text of each (name, text) problem; the first ones suggest the known name nearest to theirs."""
    names = list(known)
    lines = []
    for number, (name, text) in enumerate(problems):
        hint = nearest(str(name), names) if number < _MAX_SUGGESTIONS else None
        lines.append(f"{text} ({hint})" if hint else text)
    return lines
