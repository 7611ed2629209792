"""Sensor data, graphs and systems as HTML for notebooks. Nothing is scanned or computed for it, so showing is cheap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from thence._base.display.html import Html, counted, listed, notes, pairs, panel, table

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding
    from thence.data.graph.knowledge_graph import KnowledgeGraph
    from thence.data.graph.system import System
    from thence.data.readings.sensors import Sensor, SensorData

_MOST_ROWS = 20
_EXAMPLES = 3


def sensors_html(data: SensorData) -> str:
    """Return sensor data as HTML: the sensors by kind, and what reading found."""
    report = data.report
    remarks = str(report).splitlines() if report.findings or report.notes else []
    return panel(f"SensorData: {counted(len(data.sensors), 'sensor')}", _kinds(data.sensors), notes(remarks))


def graph_html(graph: KnowledgeGraph) -> str:
    """Return a knowledge graph as HTML: its classes with their properties, and its relations."""
    title = f"KnowledgeGraph: {counted(len(graph.nodes), 'node')}, {counted(len(graph.edges), 'edge')}"
    return panel(title, _classes(graph), _relations(graph))


def system_html(system: System) -> str:
    """Return a system as HTML: what it is, its sensors by kind, and its graph by class."""
    graph = system.graph
    facts = {
        "description": system.description,
        "source": system.source,
        "graph": "none"
        if graph is None
        else f"{counted(len(graph.nodes), 'node')}, {counted(len(graph.edges), 'edge')}",
        "binding": "" if system.binding is None else _bound(system.binding),
    }
    shown = pairs({name: value for name, value in facts.items() if value})
    parts = [shown, _kinds(system.sensors.sensors), *([] if graph is None else [_classes(graph)])]
    return panel(f"System {system.name}: {counted(len(system.sensors.sensors), 'sensor')}", *parts)


def _bound(binding: Binding) -> str:
    left = f", {len(binding.left_out):,} left out" if binding.left_out else ""
    return f"{counted(len(binding), 'sensor')} at {counted(len(binding.nodes), 'node')}{left}"


def _kinds(sensors: Sequence[Sensor]) -> Html:
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for sensor in sensors:
        groups.setdefault((sensor.kind, sensor.unit, sensor.categorical), []).append(sensor.id)
    ordered = sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    rows = [
        (kind or "(no kind)", "states" if states else unit or "–", f"{len(ids):,}", listed(ids, _EXAMPLES))
        for (kind, unit, states), ids in ordered[:_MOST_ROWS]
    ]
    return _grid(["kind", "unit", "sensors", "such as"], rows, left_out=len(ordered) - len(rows), numbers=(2,))


def _classes(graph: KnowledgeGraph) -> Html:
    counts: Counter[str] = Counter()
    names: dict[str, dict[str, None]] = {}
    for node in graph.nodes.values():
        for label in sorted(node.labels) or ["(no label)"]:
            counts[label] += 1
            names.setdefault(label, {}).update(dict.fromkeys(node.properties))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    rows = [
        (label, f"{count:,}", listed([_with_unit(name, graph) for name in names[label]], 8))
        for label, count in ordered[:_MOST_ROWS]
    ]
    return _grid(["class", "nodes", "properties"], rows, left_out=len(ordered) - len(rows), numbers=(1,))


def _relations(graph: KnowledgeGraph) -> Html:
    counts = Counter(label for edge in graph.edges.values() for label in (sorted(edge.labels) or ["(no label)"]))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    rows = [(label, f"{count:,}") for label, count in ordered[:_MOST_ROWS]]
    return _grid(["relation", "edges"], rows, left_out=len(ordered) - len(rows), numbers=(1,))


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left_out: int, numbers: Iterable[int]) -> Html:
    if not rows:
        return Html("")
    grid = table(heads, rows, numbers=numbers)
    return Html(grid.markup + notes([f"… and {left_out:,} more"]).markup) if left_out else grid


def _with_unit(name: str, graph: KnowledgeGraph) -> str:
    unit = graph.property_units.get(name, "")
    return f"{name} [{unit}]" if unit else name
