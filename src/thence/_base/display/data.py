"""Sensor data, graphs, systems and tables as HTML. Nothing is scanned or computed for it, so that showing is cheap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from thence._base.display.html import Html, code, folded, join, notes, pairs, panel, table

__all__ = ["Graph", "Readings", "System", "Table", "graph_html", "sensors_html", "system_html", "table_html"]

_MOST_ROWS = 20
_EXAMPLES = 3


class Readings(Protocol):
    """What is shown of sensor data."""

    @property
    def sensors(self) -> Sequence[Any]:
        """The sensors, each with ``id``, ``kind``, ``unit`` and ``categorical``."""
        ...

    @property
    def report(self) -> Any:
        """What reading found."""
        ...


class Graph(Protocol):
    """What is shown of a knowledge graph."""

    @property
    def nodes(self) -> Mapping[str, Any]:
        """The nodes by id."""
        ...

    @property
    def edges(self) -> Mapping[str, Any]:
        """The edges by id."""
        ...

    @property
    def property_units(self) -> Mapping[str, str]:
        """The units of properties."""
        ...


class System(Protocol):
    """What is shown of a system."""

    @property
    def sensors(self) -> Readings:
        """The readings."""
        ...

    @property
    def graph(self) -> Any:
        """The knowledge graph, if there is one."""
        ...

    @property
    def binding(self) -> Any:
        """The binding, if there is one."""
        ...

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def description(self) -> str:
        """What the data are."""
        ...

    @property
    def source(self) -> str:
        """Where they come from."""
        ...


class Table(Protocol):
    """What is shown of a transaction table."""

    @property
    def blocks(self) -> Sequence[Any]:
        """The blocks."""
        ...

    @property
    def enrichment(self) -> str:
        """The name of the enrichment."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on how the table was built."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features."""
        ...

    @property
    def n_items(self) -> int:
        """Number of items."""
        ...


def sensors_html(data: Readings) -> str:
    """Return sensor data as HTML: the sensors by kind, and what reading found."""
    report = data.report
    remarks = str(report).splitlines() if report.findings or report.notes else []
    return panel(f"SensorData: {_count(len(data.sensors), 'sensor')}", _kinds(data.sensors), notes(remarks))


def graph_html(graph: Graph) -> str:
    """Return a knowledge graph as HTML: its classes with their properties, and its relations."""
    title = f"KnowledgeGraph: {_count(len(graph.nodes), 'node')}, {_count(len(graph.edges), 'edge')}"
    return panel(title, _classes(graph), _relations(graph))


def system_html(system: System) -> str:
    """Return a system as HTML: what it is, its sensors by kind, and its graph by class."""
    graph = system.graph
    facts = {
        "description": system.description,
        "source": system.source,
        "graph": "none" if graph is None else f"{_count(len(graph.nodes), 'node')}, {_count(len(graph.edges), 'edge')}",
        "binding": "" if system.binding is None else _bound(system.binding),
    }
    shown = pairs({name: value for name, value in facts.items() if value})
    parts = [shown, _kinds(system.sensors.sensors), *([] if graph is None else [_classes(graph)])]
    return panel(f"System {system.name}: {_count(len(system.sensors.sensors), 'sensor')}", *parts)


def table_html(data: Table) -> str:
    """Return a transaction table as HTML: its sizes, its blocks, and the notes."""
    sizes = (
        f"{_count(data.n_rows, 'transaction')} × {_count(data.n_features, 'feature')}, {_count(data.n_items, 'item')}"
    )
    blocks = [block for block in data.blocks if block.pattern is not None]
    rows = [
        (_pattern(b.pattern), f"{b.n_embeddings:,}", f"{b.n_frames:,}", f"{len(b.columns):,}", f"{b.n_items:,}")
        for b in blocks[:_MOST_ROWS]
    ]
    grid = table(["pattern", "places", "frames", "features", "items"], rows, numbers=(1, 2, 3, 4)) if rows else Html("")
    names = [] if blocks else [str(column.feature) for block in data.blocks for column in block.columns]
    columns = pairs({"features": _listed(names, 8)}) if names else Html("")
    facts = pairs({"enrichment": data.enrichment})
    more = [f"… and {len(blocks) - _MOST_ROWS:,} more patterns"] if len(blocks) > _MOST_ROWS else []
    return panel(f"TransactionTable: {sizes}", facts, columns, grid, notes([*more, *data.notes]))


def _pattern(pattern: Any) -> Html:
    """A pattern in words, and its exact text when asked for."""
    return join([pattern.english, folded("exact text", code(str(pattern)))])


def _bound(binding: Any) -> str:
    left = f", {len(binding.left_out):,} left out" if binding.left_out else ""
    return f"{_count(len(binding), 'sensor')} at {_count(len(binding.nodes), 'node')}{left}"


def _kinds(sensors: Sequence[Any]) -> Html:
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for sensor in sensors:
        groups.setdefault((sensor.kind, sensor.unit, sensor.categorical), []).append(sensor.id)
    ordered = sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    rows = [
        (kind or "(no kind)", "states" if states else unit or "–", f"{len(ids):,}", _listed(ids, _EXAMPLES))
        for (kind, unit, states), ids in ordered[:_MOST_ROWS]
    ]
    return _grid(["kind", "unit", "sensors", "such as"], rows, left_out=len(ordered) - len(rows), numbers=(2,))


def _classes(graph: Graph) -> Html:
    counts: Counter[str] = Counter()
    names: dict[str, dict[str, None]] = {}
    for node in graph.nodes.values():
        for label in sorted(node.labels) or ["(no label)"]:
            counts[label] += 1
            names.setdefault(label, {}).update(dict.fromkeys(node.properties))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    rows = [
        (label, f"{count:,}", _listed([_with_unit(name, graph) for name in names[label]], 8))
        for label, count in ordered[:_MOST_ROWS]
    ]
    return _grid(["class", "nodes", "properties"], rows, left_out=len(ordered) - len(rows), numbers=(1,))


def _relations(graph: Graph) -> Html:
    counts = Counter(label for edge in graph.edges.values() for label in (sorted(edge.labels) or ["(no label)"]))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    rows = [(label, f"{count:,}") for label, count in ordered[:_MOST_ROWS]]
    return _grid(["relation", "edges"], rows, left_out=len(ordered) - len(rows), numbers=(1,))


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left_out: int, numbers: Iterable[int]) -> Html:
    if not rows:
        return Html("")
    grid = table(heads, rows, numbers=numbers)
    return Html(grid.markup + notes([f"… and {left_out:,} more"]).markup) if left_out else grid


def _with_unit(name: str, graph: Graph) -> str:
    unit = graph.property_units.get(name, "")
    return f"{name} [{unit}]" if unit else name


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
