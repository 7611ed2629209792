"""Bindings from CSV tables, JSON, and the references in RDF graphs.

This module returns bindings as written; ``Binding.check`` compares them with sensors and a graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thence._base.settings.documents import parse_json, read_text
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import EACH_PERIOD, KnowledgeGraph, is_date_name
from thence.data.graph.name_rules import (
    NodeDirectory,
    find_devices,
    find_identifiers,
    find_series_references,
    plain_spelling,
)
from thence.data.loaders.csv_tables import read_csv_table
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.triples import SUFFIXES
from thence.errors import BindingError, GraphError, quote


def read_csv(paths: Sequence[Path], options: LoadOptions) -> Binding:
    """Read a CSV file; ``options.sensor`` and ``options.node`` are the columns."""
    (path,) = paths
    try:
        table = read_csv_table(path, needs=(options.sensor, options.node))
    except GraphError as error:
        advice = f"{error.hint}; name the columns with sensor= and node=" if error.hint else None
        raise BindingError(error.message, where=error.where, hint=advice) from error
    at = [table.position(options.sensor), table.position(options.node)]
    dated = [place for place, name in enumerate(table.columns) if place not in at and is_date_name(name)]
    for place in dated:
        if any(row[place].strip() for _, row in table.rows):
            raise _dated(table.columns[place], where=str(path))
    pairs = ((f"line {line}", row[at[0]].strip(), row[at[1]].strip()) for line, row in table.rows)
    return bind_pairs(pairs, where=str(path))


def match_table(path: Path, sensors: Iterable[str], graph: KnowledgeGraph) -> Binding:
    """Return the binding in a list of points whose columns have other heads than ``sensor`` and ``node``.

    One column has the names of the sensors, another the names, labels or references of nodes, in any case and with any
    separators: those with the most of each.

    Args:
        path: The CSV file.
        sensors: The ids of the sensors.
        graph: The graph.

    Raises:
        BindingError: If fewer than half of the rows of any two columns are a sensor and a node.
    """
    table = read_csv_table(path, needs=())
    directory = NodeDirectory(graph)
    known: dict[str, list[str]] = {}
    for sensor in sensors:
        known.setdefault(plain_spelling(sensor), []).append(sensor)
    columns = [[row[at].strip() for _, row in table.rows] for at in range(len(table.columns))]
    named = [[only[0] if len(only := known.get(plain_spelling(c), [])) == 1 else None for c in one] for one in columns]
    nodes = [[(directory.look_up(c).or_else(directory.look_up_spelling(c))).node for c in one] for one in columns]
    pairs = [
        {s: n for s, n in zip(named[at], nodes[to], strict=True) if s is not None and n is not None}
        for at in range(len(columns))
        for to in range(len(columns))
        if at != to
    ]
    best = max(pairs, key=len, default={})
    if 2 * len(best) < len(table.rows) or not best:
        raise BindingError(
            "no two columns name sensors and nodes of the graph",
            where=str(path),
            hint="name the columns 'sensor' and 'node', or pass --read-binding sensor=… and node=…",
        )
    return Binding(best)


def read_json(paths: Sequence[Path], options: LoadOptions) -> Binding:
    """Read a JSON file: an object, or a list of objects with the keys ``options.sensor`` and ``options.node``."""
    (path,) = paths
    repeated: list[tuple[str, Any]] = []

    def keep_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # A JSON object may have a key twice, and Python would drop the first value.
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                repeated.append((key, value))
            content.setdefault(key, value)
        return content

    text = read_text(path, error=BindingError)
    content = parse_json(text, where=str(path), error=BindingError, make=keep_repeated)
    if isinstance(content, dict):
        items = (*content.items(), *repeated)
        return bind_pairs(((f"key {quote(key)}", key, value) for key, value in items), where=str(path))
    if isinstance(content, list) and all(isinstance(entry, dict) for entry in content):
        for entry in content:
            for key in entry:
                if key not in (options.sensor, options.node) and is_date_name(key):
                    raise _dated(key, where=str(path))
        entries = enumerate(content)
        return bind_pairs(
            ((f"[{i}]", entry.get(options.sensor), entry.get(options.node)) for i, entry in entries), where=str(path)
        )
    raise BindingError(
        "this JSON is not a binding", where=str(path), hint='write {"sensor": "node"} or [{"sensor": …, "node": …}]'
    )


def _dated(name: str, *, where: str) -> BindingError:
    return BindingError(
        f"'{name}' says when a sensor is at a node, but a sensor is at one node at all times",
        where=where,
        hint=f"{EACH_PERIOD}; or leave '{name}' out",
    )


def read_references(paths: Sequence[Path], options: LoadOptions) -> Binding:
    """Read a graph from files or a folder, and return the binding in it; ``options.format`` is that of the graph."""
    from thence.data.loaders import read_graph

    return from_graph(read_graph(list(paths), format=options.format), where=", ".join(map(str, paths)))


def from_graph(graph: KnowledgeGraph, *, where: str) -> Binding:
    """Return the binding in ``graph``: its time series references, or else identifiers of SOSA sensors and actuators.

    Raises:
        BindingError: If there are none, or a series has several nodes; the error names the file ``where``.
    """
    found = {name: tuple(nodes) for name, nodes in find_series_references(graph).items()}
    if not found:
        names: dict[str, list[str]] = {}
        for device in find_devices(graph):
            for name in find_identifiers(graph, device) or [device]:
                names.setdefault(name, []).append(device)
        found = {name: tuple(nodes) for name, nodes in names.items()}
    if not found:
        raise BindingError(
            "the graph has no time series references and no SOSA sensors",
            where=where,
            hint="find nodes by name with bind(sensors, graph, rule=…)",
        )
    ambiguous = [f"series '{name}' belongs to {' and '.join(nodes)}" for name, nodes in found.items() if len(nodes) > 1]
    if ambiguous:
        raise BindingError("\n  ".join(["a series can belong to one node only:", *ambiguous]), where=where)
    return Binding({name: nodes[0] for name, nodes in found.items()})


def bind_pairs(pairs: Iterable[tuple[str, Any, Any]], *, where: str) -> Binding:
    """Return the binding of (place, sensor, node) triples, or raise one error that lists all problems."""
    bound: dict[str, str] = {}
    problems = []
    for place, sensor, node in pairs:
        if not isinstance(sensor, str) or not isinstance(node, str) or not sensor or not node:
            problems.append(f"{place}: sensor and node must be non-empty strings, got {sensor!r} and {node!r}")
        elif bound.setdefault(sensor, node) != node:
            problems.append(f"{place}: sensor {quote(sensor)} is bound to {quote(node)} and to {quote(bound[sensor])}")
    if problems:
        raise BindingError("\n  ".join(["the binding is not valid:", *problems]), where=where)
    return Binding(bound)


CSV = Loader(read_csv, suffixes=(".csv",))
JSON = Loader(read_json, suffixes=(".json",))
REFERENCES = Loader(read_references, suffixes=tuple(SUFFIXES), several=True)
