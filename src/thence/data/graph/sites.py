"""Several systems that are mined together: their graphs side by side, without an edge between them.

Nodes, edges and sensors of different systems are different things, even with the same id; their ids get the name of
the system in front. Classes, relations, properties, kinds and states are shared by name. This module must not read
files or windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import DatedValue
from thence.data.graph.system import System
from thence.data.readings.pooling import SEPARATOR, qualified
from thence.errors import ConfigError

if TYPE_CHECKING:
    from thence.data.graph.ontology import Ontology

__all__ = ["AnySystem", "Sites", "pool_systems"]


@dataclass(frozen=True, repr=False, eq=False)
class Sites:
    """Several systems that are mined together.

    Args:
        systems: The systems, each with a name of its own.
        graph: The graphs of all, side by side.
        binding: The bindings of all.
        ontology: The ontologies of all, united.

    Examples:
        >>> import thence as th
        >>> from dataclasses import replace
        >>> toy = th.datasets.load("toy")
        >>> pool_systems([replace(toy, name="north"), replace(toy, name="south")])
        Sites 'north', 'south': 10 sensors, 10 nodes, 8 edges
    """

    systems: tuple[System, ...]
    graph: KnowledgeGraph
    binding: Binding
    ontology: Ontology | None = None

    @property
    def name(self) -> str:
        """The names of the systems."""
        return ", ".join(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each system."""
        return tuple(system.name for system in self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    def __iter__(self) -> Iterator[System]:
        return iter(self.systems)

    def require_graph(self) -> tuple[KnowledgeGraph, Binding]:
        """Return the graph and the binding."""
        return self.graph, self.binding

    def describe(self) -> dict[str, Any]:
        """Return the sizes of the systems, ready for JSON."""
        return {"systems": [system.describe() for system in self.systems]}

    def __repr__(self) -> str:
        sensors = sum(len(system.sensors.sensors) for system in self.systems)
        names = ", ".join(f"'{name}'" for name in self.names)
        return f"Sites {names}: {sensors} sensors, {len(self.graph.nodes)} nodes, {len(self.graph.edges)} edges"


AnySystem: TypeAlias = System | Sites
"""One system, or several that are mined together."""


def pool_systems(systems: Iterable[System]) -> Sites:
    """Put several systems side by side.

    Args:
        systems: The systems; each needs a graph, a binding and a name of its own.

    Raises:
        ConfigError: If there are none, or one has no name, no graph, or the name of another.
    """
    listed = tuple(systems)
    if not listed:
        raise ConfigError("no systems are given", hint="pass at least one th.System")
    _check_names(listed)
    for system in listed:
        if system.graph is None or system.binding is None:
            raise ConfigError(
                f"the system '{system.name}' has no graph: several systems can be mined together only by what their "
                "graphs have in common",
                hint="pass a graph and a binding for each system, or mine them one by one",
            )
    ontologies = [system.ontology for system in listed if system.ontology is not None]
    return Sites(
        listed,
        _side_by_side(listed),
        _join_bindings(listed),
        ontologies[0].merged(*ontologies[1:]) if ontologies else None,
    )


def _check_names(systems: tuple[System, ...]) -> None:
    seen: set[str] = set()
    for number, system in enumerate(systems, start=1):
        if not system.name:
            raise ConfigError(
                f"system {number} has no name", hint="name it: read_system(…, name='north') or replace(system, name=…)"
            )
        if SEPARATOR in system.name:
            raise ConfigError(f"the name of a system must not contain '{SEPARATOR}', got '{system.name}'")
        if system.name in seen:
            raise ConfigError(
                f"two systems are named '{system.name}'", hint="rename one: dataclasses.replace(system, name='…')"
            )
        seen.add(system.name)


def _side_by_side(systems: tuple[System, ...]) -> KnowledgeGraph:
    nodes, edges, dated = [], [], []
    units: dict[str, tuple[str, str]] = {}
    for system in systems:
        assert system.graph is not None
        name = system.name
        nodes += [replace(node, id=qualified(name, node.id)) for node in system.graph.nodes.values()]
        edges += [
            replace(
                edge,
                id=qualified(name, edge.id),
                source=qualified(name, edge.source),
                target=qualified(name, edge.target),
            )
            for edge in system.graph.edges.values()
        ]
        dated += [
            DatedValue(qualified(name, value.subject), value.property, value.start, value.value)
            for value in system.graph.dated
        ]
        for prop, unit in system.graph.property_units.items():
            first, where = units.setdefault(prop, (unit, name))
            if unit != first:
                raise ConfigError(
                    f"the property '{prop}' has the unit '{first}' in '{where}' and '{unit}' in '{name}'",
                    hint="convert it to one unit, or leave it out of properties=",
                )
    return KnowledgeGraph(nodes, edges, dated=dated, property_units={prop: unit for prop, (unit, _) in units.items()})


def _join_bindings(systems: tuple[System, ...]) -> Binding:
    bound: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for system in systems:
        assert system.binding is not None
        bound |= {qualified(system.name, s): qualified(system.name, n) for s, n in system.binding.items()}
        left_out |= {qualified(system.name, s): reason for s, reason in system.binding.left_out.items()}
    return Binding(bound, left_out=left_out)
