"""Graphs from JSON and networkx, and ontologies as a schema in TOML or JSON.

The JSON layout of ``KnowledgeGraph.to_dict`` is ``{"nodes": [{"id", "labels", "properties"}], "edges": [{"id",
"source", "target", "labels", "properties"}], "property_units": {}}``; labels, properties and edge ids are optional. A
property that changes over time is written as ``[{"from": null, "value": 1}, {"from": "2024-03-01", "value": 2}]``. In
the node-link layout of networkx and D3 every key except ``id``, ``source``, ``target``, ``key`` and the one that holds
the labels is a property. JSON-LD is passed on to the RDF loader, and records of Haystack to theirs.

networkx objects are read through their public methods; this module must not import networkx. An undirected edge gets
the direction in which networkx lists it. A string key of a multigraph becomes the id of the edge. A schema file is
read here; ``Ontology.from_dict`` gives its content a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thence._base.settings.documents import parse_json, parse_toml, read_text
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology
from thence.data.loaders import haystack, rdf
from thence.data.loaders.draft import Draft, as_labels
from thence.data.loaders.loader import Loader, LoadOptions
from thence.errors import GraphError

LABEL_KEYS = ("labels", "label", "type")
_NODE_KEYS = {"id", "labels", "label", "properties"}
_EDGE_KEYS = {"id", "source", "target", "labels", "label", "properties"}


def read_json(path: Path) -> Any:
    """Read the content of a JSON file; the ``GraphError`` about a syntax error or a repeated key names the file."""
    return parse_json(read_text(path, error=GraphError), where=str(path), error=GraphError)


def is_json_ld(content: Any) -> bool:
    """Whether JSON ``content`` is JSON-LD, which is read as RDF."""
    sample = content[0] if isinstance(content, list) and content else content
    return isinstance(sample, dict) and any(key in sample for key in ("@context", "@graph", "@id"))


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Read a JSON file; ``options.labels`` is the key of the labels in node-link JSON."""
    (path,) = paths
    content = read_json(path)
    if is_json_ld(content):
        return rdf.read(paths, replace(options, format="jsonld"))
    if haystack.is_haystack(content):
        return haystack.graph_of(content, where=str(path))
    return from_content(content, where=str(path), labels=options.labels)


def from_content(content: Any, *, where: str, labels: str | None = None) -> KnowledgeGraph:
    """Build the graph of JSON content.

    Args:
        content: The content of the file.
        where: The name of the file, for messages.
        labels: The key of the labels in node-link JSON; ``None`` for the first of ``LABEL_KEYS`` that is there.

    Raises:
        GraphError: If the content is not a graph. The error lists every problem.

    Examples:
        >>> graph = from_content(
        ...     {"nodes": [{"id": "a", "labels": ["Pump"]}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]},
        ...     where="example",
        ... )
        >>> graph.with_label("Pump"), graph.neighbours("a")
        (('a',), {'b': 1})
    """
    edges_key = "links" if isinstance(content, dict) and "links" in content and "edges" not in content else "edges"
    if (
        not isinstance(content, dict)
        or not isinstance(content.get("nodes"), list)
        or not isinstance(content.get(edges_key, []), list)
    ):
        raise GraphError(
            "this JSON is not a graph", where=where, hint='write {"nodes": [{"id": …}], "edges": [{"source": …}]}'
        )
    draft = Draft(where)
    node_link = edges_key == "links" or "multigraph" in content or "directed" in content
    attributes = content.get("graph") if node_link else content
    add_graph_attributes(draft, attributes if isinstance(attributes, dict) else {})
    for part, needs, known in (("nodes", ("id",), _NODE_KEYS), (edges_key, ("source", "target"), _EDGE_KEYS)):
        for position, record in enumerate(content.get(part, [])):
            place = f"{part}[{position}]"
            if not _is_record(draft, record, place, needs=needs):
                continue
            if node_link:
                besides = {"id"} if part == "nodes" else {"id", "source", "target", "key"}
                found, properties = split_labels(record, besides=besides, key=labels, place=f"{where}, {place}")
            else:
                found, properties = _split_record(draft, record, place, known=known)
            if part == "nodes":
                draft.add_node(str(record["id"]), labels=found, properties=properties, place=place)
                continue
            name = record.get("id")
            if name is None and isinstance(record.get("key"), str):
                # networkx numbers parallel edges 0, 1, …; only a string key is an id.
                name = record["key"]
            ends = str(record["source"]), str(record["target"])
            draft.add_edge(None if name is None else str(name), *ends, labels=found, properties=properties, place=place)
    return draft.graph()


def add_graph_attributes(draft: Draft, attributes: Mapping[str, Any]) -> None:
    """Add the units and dated values among the ``attributes`` of a graph to ``draft``."""
    units = attributes.get("property_units", {})
    if isinstance(units, Mapping):
        draft.property_units.update({str(k): str(v) for k, v in units.items()})
    else:
        draft.problems.append(f'property_units must be an object such as {{"length": "m"}}, got {units!r}')
    dated = attributes.get("dated", [])
    for position, entry in enumerate(dated if isinstance(dated, list) else []):
        place = f"dated[{position}]"
        if _is_record(draft, entry, place, needs=("subject", "property", "from", "value")):
            draft.add_dated(str(entry["subject"]), str(entry["property"]), entry["from"], entry["value"], place=place)


def _is_record(draft: Draft, record: Any, place: str, *, needs: tuple[str, ...]) -> bool:
    if not isinstance(record, dict):
        draft.problems.append(f"{place}: must be an object, got {record!r}")
        return False
    missing = [f"'{key}'" for key in needs if key not in record]
    if missing:
        draft.problems.append(f"{place}: missing {' and '.join(missing)}")
    return not missing


def _split_record(
    draft: Draft, record: Mapping[str, Any], place: str, *, known: set[str]
) -> tuple[frozenset[str], Mapping[str, Any]]:
    """Labels and properties of a record in the layout of ``KnowledgeGraph.to_dict``."""
    unknown = [f"'{key}'" for key in record if key not in known]
    if unknown:
        draft.problems.append(f"{place}: unknown key {', '.join(unknown)}; move it to 'properties'")
    properties = record.get("properties") or {}
    if not isinstance(properties, Mapping):
        draft.problems.append(f"{place}: 'properties' must be an object, got {properties!r}")
        properties = {}
    return as_labels(record.get("labels", record.get("label")), place=f"{draft.where}, {place}"), properties


def split_labels(
    attributes: Mapping[str, Any], *, besides: set[str], key: str | None, place: str = ""
) -> tuple[frozenset[str], Mapping[str, Any]]:
    """Split the attributes of a flat record into labels and properties.

    Args:
        attributes: All attributes of a node or edge.
        besides: Attributes that are neither labels nor properties.
        key: The attribute of the labels; ``None`` for the first of ``LABEL_KEYS`` that is there.
        place: Where the record was read, for messages.

    Examples:
        >>> split_labels({"id": 1, "type": "Pump", "power": 3}, besides={"id"}, key=None)
        (frozenset({'Pump'}), {'power': 3})
    """
    found = key or next((name for name in LABEL_KEYS if name in attributes), None)
    properties = {str(k): v for k, v in attributes.items() if k not in besides and k != found}
    return as_labels(attributes.get(found), place=place) if found else frozenset(), properties


LOADER = Loader(read, suffixes=(".json",))


def is_networkx(source: object) -> bool:
    """Whether ``source`` is a networkx graph of any type."""
    return any(cls.__module__.split(".")[0] == "networkx" and cls.__name__ == "Graph" for cls in type(source).__mro__)


def _refuse_files(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Refuse files: the format is for objects."""
    raise GraphError("the format 'networkx' is for networkx graphs, not for files", where=", ".join(map(str, paths)))


def from_networkx(source: Any, options: LoadOptions) -> KnowledgeGraph:
    """Convert a networkx graph; ids become strings and ``options.labels`` is the attribute with the labels."""
    draft = Draft("networkx graph")
    add_graph_attributes(draft, source.graph)
    names: dict[str, Any] = {}
    for name, attributes in source.nodes(data=True):
        node_id = str(name)
        if node_id in names:
            raise GraphError(
                f"nodes {names[node_id]!r} and {name!r} both become '{node_id}'",
                where=draft.where,
                hint="relabel one of them (networkx.relabel_nodes)",
            )
        names[node_id] = name
        place = f"node {name!r}"
        found, properties = split_labels(attributes, besides=set(), key=options.labels, place=place)
        draft.add_node(node_id, labels=found, properties=properties, place=place)
    keyed = source.edges(keys=True, data=True) if source.is_multigraph() else source.edges(data=True)
    for start, end, *key, attributes in keyed:
        place = f"edge {start!r} – {end!r}"
        found, properties = split_labels(attributes, besides=set(), key=options.labels, place=place)
        name = key[0] if key and isinstance(key[0], str) else None
        draft.add_edge(name, str(start), str(end), labels=found, properties=properties, place=place)
    return draft.graph()


NETWORKX = Loader(_refuse_files, accepts=is_networkx, convert=from_networkx)


def _read_schema(paths: Sequence[Path], options: LoadOptions) -> Ontology:
    """Read a schema file; ``options.format`` is ``"toml"``, ``"json"``, or ``None`` to go by the suffix."""
    (path,) = paths
    if (options.format or path.suffix.lower().removeprefix(".")) == "json":
        content: Any = read_json(path)
        if is_json_ld(content):
            raise GraphError("this is JSON-LD, not a schema", where=str(path), hint="pass format='jsonld'")
    else:
        content = parse_toml(read_text(path, error=GraphError), where=str(path), error=GraphError)
    if not isinstance(content, dict):
        raise GraphError(
            f"a schema must be a table of classes, relations and properties, got {type(content).__name__}",
            where=str(path),
        )
    return Ontology.from_dict(content, where=str(path))


SCHEMA = Loader(_read_schema, suffixes=(".toml", ".json"))
