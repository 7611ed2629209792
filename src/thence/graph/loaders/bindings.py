"""Bindings from files: CSV tables, JSON, and the references that an RDF graph carries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thence.errors import BindingError, GraphError
from thence.graph.binding import Binding
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.loaders.tables import read_table
from thence.graph.name_rules import devices, identifiers, series_references

__all__ = ["from_graph", "read"]


def read(path: Path, *, sensor: str = "sensor", node: str = "node") -> Binding:
    """Read a CSV or JSON file of sensors and nodes."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        pairs = _from_table(path, sensor=sensor, node=node)
    elif suffix == ".json":
        pairs = _from_json(path, sensor=sensor, node=node)
    else:
        raise BindingError(
            "the suffix does not say how the binding is written", where=str(path), hint="use .csv, .json or an RDF file"
        )
    bound: dict[str, str] = {}
    problems = []
    for place, name, target in pairs:
        if not isinstance(name, str) or not isinstance(target, str) or not name or not target:
            problems.append(f"{place}: sensor is {name!r} and node is {target!r}; both must be texts")
        elif bound.setdefault(name, target) != target:
            problems.append(f"{place}: sensor '{name}' is bound to '{target}' and to '{bound[name]}'")
    if problems:
        raise BindingError("\n  ".join(["the binding cannot be used:", *problems]), where=str(path))
    return Binding(bound)


def from_graph(graph: KnowledgeGraph, *, where: str) -> Binding:
    """The binding that a graph carries: time series references, or else identifiers of SOSA sensors and actuators."""
    found = {name: tuple(nodes) for name, nodes in series_references(graph).items()}
    if not found:
        names: dict[str, list[str]] = {}
        for device in devices(graph):
            for name in identifiers(graph, device) or [device]:
                names.setdefault(name, []).append(device)
        found = {name: tuple(nodes) for name, nodes in names.items()}
    if not found:
        raise BindingError(
            "the graph refers to no time series and has no SOSA sensors",
            where=where,
            hint="bind(sensors, graph, rule=…) finds nodes by name",
        )
    shared = [f"series '{name}' belongs to {' and '.join(nodes)}" for name, nodes in found.items() if len(nodes) > 1]
    if shared:
        raise BindingError("\n  ".join(["a series belongs to one node:", *shared]), where=where)
    return Binding({name: nodes[0] for name, nodes in found.items()})


def _from_table(path: Path, *, sensor: str, node: str) -> list[tuple[str, Any, Any]]:
    try:
        table = read_table(path, needs=(sensor, node))
    except GraphError as error:
        advice = f"{error.hint}; sensor= and node= name the columns" if error.hint else None
        raise BindingError(error.message, where=error.where, hint=advice) from error
    at = [table.position(sensor), table.position(node)]
    return [(f"line {line}", row[at[0]].strip(), row[at[1]].strip()) for line, row in table.rows]


def _from_json(path: Path, *, sensor: str, node: str) -> list[tuple[str, Any, Any]]:
    repeated: list[tuple[str, Any]] = []

    def keep_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # A JSON object may name a key twice, and the first would be lost.
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                repeated.append((key, value))
            content.setdefault(key, value)
        return content

    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=keep_repeated)
    except json.JSONDecodeError as error:
        raise BindingError(f"this is not valid JSON: {error.msg}", where=f"{path}, line {error.lineno}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BindingError(f"cannot be read ({error})", where=str(path)) from error
    if isinstance(content, dict):
        return [(f"key '{key}'", key, value) for key, value in (*content.items(), *repeated)]
    if isinstance(content, list) and all(isinstance(entry, dict) for entry in content):
        return [(f"[{i}]", entry.get(sensor), entry.get(node)) for i, entry in enumerate(content)]
    raise BindingError(
        "this JSON is no binding", where=str(path), hint='write {"sensor": "node"} or [{"sensor": …, "node": …}]'
    )
