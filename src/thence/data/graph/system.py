"""A system: what a user brings, in one object. Sensor data, knowledge graph, binding, ontology and labels.

A system has one site or several. Nodes, edges and sensors of different sites are different things, even with the same
id; their ids get the name of the site in front. Classes, relations, properties, kinds and states are shared by name.

Holds the type and what is derived from it. Files are read by ``thence.runs.inputs.read_system``, named data sets by
``thence.data.datasets.load``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from thence.data.graph.binding import Binding
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.matching import GraphIndex
from thence.data.graph.records import DatedValue
from thence.data.notebook import system_html
from thence.data.readings.few_values import same_types
from thence.data.readings.pooling import pool_sensors
from thence.data.readings.sensors import SEPARATOR, SensorData, qualified
from thence.errors import ConfigError, nearest

if TYPE_CHECKING:
    from thence.data.graph.ontology import Ontology
    from thence.language.patterns import Pattern


@dataclass(frozen=True, repr=False, eq=False)
class System:
    """Sensor data with the knowledge graph around the sensors, ready to be mined.

    A system has one site, itself, or several that ``of_sites`` puts side by side.

    Args:
        sensors: The readings.
        graph: The knowledge graph.
        binding: Which sensor sits at which node of the graph.
        ontology: The classes and relations of the graph.
        labels: One row per labelled period, ``start`` ≤ t < ``end`` (UTC), with ``label`` ("leak", "fault"),
            ``subject`` (the id of a node, if known) and ``details``. ``None`` if the data are not labelled; a frame
            without rows if they are known to hold no such period.
        name: A short name, for messages and tables of results.
        description: What the data are, in a sentence.
        source: Where they come from.
        parts: The systems that stand side by side in this one; ``of_sites`` sets them, and a plain system has none.

    Examples:
        >>> import thence as th
        >>> th.datasets.load("toy")
        System 'toy': 5 sensors, 5 nodes, 4 edges, 0 labelled periods; made by hand for Thence
    """

    sensors: SensorData
    graph: KnowledgeGraph | None = None
    binding: Binding | None = None
    ontology: Ontology | None = None
    labels: pl.DataFrame | None = None
    name: str = ""
    description: str = ""
    source: str = ""
    parts: tuple[System, ...] = ()

    @classmethod
    def of_sites(cls, sites: Iterable[System]) -> System:
        """Put several systems side by side, as the sites of one that is mined as a whole.

        The ids of sensors, nodes and edges get the name of their site in front. There is no edge between sites, and
        labels stay with the sites. A single site is returned as it is.

        Args:
            sites: The systems; each needs a graph, a binding and a name of its own.

        Raises:
            ConfigError: If there are none, or one has no name, no graph, or the name of another.

        Examples:
            >>> import thence as th
            >>> from dataclasses import replace
            >>> toy = th.datasets.load("toy")
            >>> both = th.System.of_sites([replace(toy, name="north"), replace(toy, name="south")])
            >>> both
            System of the sites 'north', 'south': 10 sensors, 10 nodes, 8 edges
            >>> both.sensors.ids[0], [site.name for site in both.sites]
            ('north/pressure_A', ['north', 'south'])
        """
        listed = tuple(part for site in sites for part in site.sites)
        if not listed:
            raise ConfigError("no systems are given", hint="pass at least one th.System")
        if len(listed) == 1:
            return listed[0]
        _check_names(listed)
        for site in listed:
            if site.graph is None or site.binding is None:
                raise ConfigError(
                    f"the system '{site.name}' has no graph: several systems can be mined together only by what their "
                    "graphs have in common",
                    hint="pass a graph and a binding for each system, or mine them one by one",
                )
        ontologies = [site.ontology for site in listed if site.ontology is not None]
        alike = same_types([site.sensors for site in listed])
        listed = tuple(replace(site, sensors=data) for site, data in zip(listed, alike, strict=True))
        return cls(
            pool_sensors({site.name: site.sensors for site in listed}),
            _side_by_side(listed),
            _join_bindings(listed),
            ontologies[0].merged(*ontologies[1:]) if ontologies else None,
            name=", ".join(site.name for site in listed),
            parts=listed,
        )

    @property
    def sites(self) -> tuple[System, ...]:
        """The sites, each a system of its own with the ids that it had before."""
        return self.parts or (self,)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each site."""
        return tuple(site.name for site in self.sites)

    def require_one_site(self, message: str, *, hint: str) -> None:
        """Raise a ``ConfigError`` if there are several sites.

        Args:
            message: What takes one site only.
            hint: What to do instead.
        """
        if len(self.sites) > 1:
            raise ConfigError(message, hint=hint)

    def require_graph(self) -> tuple[KnowledgeGraph, Binding]:
        """Return the graph and the binding, or raise a ``ConfigError`` if one is missing."""
        if self.graph is None or self.binding is None:
            raise ConfigError(
                "a knowledge graph and a binding are needed", where=self.name or None, hint="pass both with the sensors"
            )
        return self.graph, self.binding

    def select(self, sensors: Iterable[str]) -> System:
        """Return the system with some of its sensors only.

        Args:
            sensors: The ids of the sensors to keep.
        """
        chosen = self.sensors.select(list(sensors))
        if len(self.sites) == 1:
            return self._with_sensors(chosen)
        kept = set(chosen.ids)
        own = {site: [id for id in site.sensors.ids if qualified(site.name, id) in kept] for site in self.sites}
        return System.of_sites(site.select(ids) for site, ids in own.items() if ids)

    def select_kinds(self, kinds: Iterable[str]) -> System:
        """Return the system with the sensors of some kinds only.

        Args:
            kinds: The kinds to keep, such as ``"pressure"``; a kind that no sensor has is an error.
        """
        wanted = list(kinds)
        known = {sensor.kind for sensor in self.sensors.sensors}
        for kind in wanted:
            if kind not in known:
                raise ConfigError(f"no sensor is of the kind '{kind}'", hint=nearest(kind, known))
        return self.select(sensor.id for sensor in self.sensors.sensors if sensor.kind in wanted)

    def between(self, start: Any = None, end: Any = None) -> System:
        """Return the system with the readings of a period only; labels are kept as they are.

        Args:
            start: The first moment, or ``None`` for the beginning.
            end: The moment after the last, or ``None`` for the end.
        """
        if len(self.sites) > 1:
            return System.of_sites(site.between(start, end) for site in self.sites)
        return self._with_sensors(self.sensors.between(start, end))

    def _with_sensors(self, sensors: SensorData) -> System:
        binding = None if self.binding is None else self.binding.select(sensors)
        return replace(self, sensors=sensors, binding=binding)

    def discover_patterns(
        self,
        *,
        hops: int = 2,
        min_embeddings: int = 3,
        max_embeddings: int = 200_000,
        paths: bool = True,
        stars: bool = True,
    ) -> tuple[Pattern, ...]:
        """Find the patterns of the graph: label paths between nodes with sensors, stars around such nodes, and units.

        Of the sensors only their ids and kinds are used; by the ontology similar classes share one star, and relations
        are generalised.

        Args:
            hops: The greatest length of a path, in edges.
            min_embeddings: The smallest number of embeddings of a pattern; of a unit with its points, one is enough.
            max_embeddings: The greatest number of embeddings of a path; paths with more are left out.
            paths: Whether to find paths.
            stars: Whether to find stars.

        Returns:
            The patterns: stars, units, paths, then stars of the nearest sensors of a kind, if these are sparse.

        Raises:
            ConfigError: If the system has no graph.
            BindingError: If a sensor is bound to a node that is not in the graph.

        Examples:
            >>> import thence as th
            >>> found = th.datasets.load("toy").discover_patterns(min_embeddings=2)
            >>> all(isinstance(pattern, th.language.Pattern) for pattern in found)
            True
        """
        graph, binding = self.require_graph()
        sensors = self.sensors.sensors
        patterns, _ = discover(
            Carriers.of(GraphIndex(graph, self.ontology), {one.id: one.kind for one in sensors}, dict(binding)),
            hops=hops,
            min_embeddings=min_embeddings,
            max_embeddings=max_embeddings,
            paths=paths,
            stars=stars,
            nearest=[one.id for one in sensors if not one.categorical],
        )
        return tuple(patterns)

    def describe(self) -> dict[str, Any]:
        """Return the sizes of the parts and where the data come from, ready for JSON."""
        return {
            "name": self.name,
            "sensors": len(self.sensors.sensors),
            "nodes": None if self.graph is None else len(self.graph.nodes),
            "edges": None if self.graph is None else len(self.graph.edges),
            "labelled_periods": None if self.labels is None else self.labels.height,
            "description": self.description,
            "source": self.source,
            **({"sites": [site.describe() for site in self.sites]} if len(self.sites) > 1 else {}),
        }

    def _repr_html_(self) -> str:
        return system_html(self)

    def __repr__(self) -> str:
        names = ", ".join(f"'{name}'" for name in self.names)
        graph = "no graph" if self.graph is None else f"{len(self.graph.nodes)} nodes, {len(self.graph.edges)} edges"
        sizes = f"{len(self.sensors)} sensors, {graph}"
        if len(self.sites) > 1:
            return f"System of the sites {names}: {sizes}"
        labelled = "no labels" if self.labels is None else f"{self.labels.height} labelled periods"
        return f"System {names}: {sizes}, {labelled}{f'; {self.source}' if self.source else ''}"


def label_frame(rows: Iterable[Mapping[str, datetime | str | None]]) -> pl.DataFrame:
    """Return labelled periods as a frame with the columns of ``System.labels``, whatever the number of rows.

    >>> label_frame([]).columns
    ['start', 'end', 'label', 'subject', 'details']
    """
    moment = pl.Datetime("us", "UTC")
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "start": moment,
        "end": moment,
        "label": pl.String,
        "subject": pl.String,
        "details": pl.String,
    }
    return pl.DataFrame(list(rows), schema=schema, orient="row")


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
