"""Property graphs as JSON: our own layout, and the node-link layout that networkx and D3 write.

Ours is ``{"nodes": [{"id", "labels", "properties"}], "edges": [{"id", "source", "target", "labels", "properties"}],
"property_units": {}}``; labels, properties and edge ids may be absent. A property that changes is written as
``[{"from": null, "value": 1}, {"from": "2024-03-01", "value": 2}]``. In node-link JSON every key besides ``id``,
``source``, ``target`` and ``key`` is a property, except the one that holds the labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thence.errors import GraphError
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.loaders.assemble import Draft, as_labels

__all__ = ["LABEL_KEYS", "add_graph_attributes", "from_content", "is_json_ld", "load_json", "read", "take_labels"]

LABEL_KEYS = ("labels", "label", "type")
_NODE_KEYS = {"id", "labels", "label", "properties"}
_EDGE_KEYS = {"id", "source", "target", "labels", "label", "properties"}


def load_json(path: Path) -> Any:
    """The content of a JSON file; a syntax error names the line."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise GraphError(f"this is not valid JSON: {error.msg}", where=place) from error
    except UnicodeDecodeError as error:
        raise GraphError(f"this is not UTF-8 text ({error.reason})", where=str(path)) from error
    except OSError as error:
        raise GraphError(f"cannot be read ({error.strerror})", where=str(path)) from error


def is_json_ld(content: Any) -> bool:
    """Whether JSON content is linked data and should be read as RDF."""
    sample = content[0] if isinstance(content, list) and content else content
    return isinstance(sample, dict) and any(key in sample for key in ("@context", "@graph", "@id"))


def read(path: Path, *, labels: str | None = None) -> KnowledgeGraph:
    """Read a property graph or node-link JSON file."""
    return from_content(load_json(path), where=str(path), labels=labels)


def from_content(content: Any, *, where: str, labels: str | None = None) -> KnowledgeGraph:
    """The graph of JSON content that was read already.

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
            "this JSON holds no graph", where=where, hint='write {"nodes": [{"id": …}], "edges": [{"source": …}]}'
        )
    draft = Draft(where)
    node_link = edges_key == "links" or "multigraph" in content or "directed" in content
    attributes = content.get("graph") if node_link else content
    add_graph_attributes(draft, attributes if isinstance(attributes, dict) else {})
    for position, record in enumerate(content["nodes"]):
        place = f"nodes[{position}]"
        if _is_record(draft, record, place, needs=("id",)):
            found, properties = (
                take_labels(record, besides={"id"}, key=labels, place=f"{where}, {place}")
                if node_link
                else _split(draft, record, place, known=_NODE_KEYS)
            )
            draft.add_node(str(record["id"]), labels=found, properties=properties, place=place)
    for position, record in enumerate(content.get(edges_key, [])):
        place = f"{edges_key}[{position}]"
        if _is_record(draft, record, place, needs=("source", "target")):
            found, properties = (
                take_labels(record, besides={"id", "source", "target", "key"}, key=labels, place=f"{where}, {place}")
                if node_link
                else _split(draft, record, place, known=_EDGE_KEYS)
            )
            name = record.get("id")
            if name is None and isinstance(record.get("key"), str):
                # networkx numbers parallel edges 0, 1, …; only a text key is a name.
                name = record["key"]
            draft.add_edge(
                None if name is None else str(name),
                str(record["source"]),
                str(record["target"]),
                labels=found,
                properties=properties,
                place=place,
            )
    return draft.graph()


def add_graph_attributes(draft: Draft, attributes: Mapping[str, Any]) -> None:
    units = attributes.get("property_units", {})
    if isinstance(units, Mapping):
        draft.property_units.update({str(k): str(v) for k, v in units.items()})
    else:
        draft.problems.append(f'property_units is {units!r}; write {{"length": "m"}}')
    dated = attributes.get("dated", [])
    for position, entry in enumerate(dated if isinstance(dated, list) else []):
        place = f"dated[{position}]"
        if _is_record(draft, entry, place, needs=("subject", "property", "from", "value")):
            draft.add_dated(str(entry["subject"]), str(entry["property"]), entry["from"], entry["value"], place=place)


def _is_record(draft: Draft, record: Any, place: str, *, needs: tuple[str, ...]) -> bool:
    if not isinstance(record, dict):
        draft.problems.append(f"{place}: {record!r} is not an object")
        return False
    absent = [f"'{key}'" for key in needs if key not in record]
    if absent:
        draft.problems.append(f"{place}: {' and '.join(absent)} missing")
    return not absent


def _split(
    draft: Draft, record: Mapping[str, Any], place: str, *, known: set[str]
) -> tuple[frozenset[str], Mapping[str, Any]]:
    strange = [f"'{key}'" for key in record if key not in known]
    if strange:
        draft.problems.append(f"{place}: {', '.join(strange)} unknown; put it under 'properties'")
    properties = record.get("properties") or {}
    if not isinstance(properties, Mapping):
        draft.problems.append(f"{place}: 'properties' is {properties!r}, not an object")
        properties = {}
    return as_labels(record.get("labels", record.get("label")), place=f"{draft.where}, {place}"), properties


def take_labels(
    attributes: Mapping[str, Any], *, besides: set[str], key: str | None, place: str = ""
) -> tuple[frozenset[str], dict[str, Any]]:
    """Labels and properties of a record whose keys are all on one level.

    Labels are under ``key``, or else under the first of ``labels``, ``label`` and ``type`` that is there.

    >>> take_labels({"id": 1, "type": "Pump", "power": 3}, besides={"id"}, key=None)
    (frozenset({'Pump'}), {'power': 3})
    """
    found = key or next((name for name in LABEL_KEYS if name in attributes), None)
    properties = {str(k): v for k, v in attributes.items() if k not in besides and k != found}
    return as_labels(attributes.get(found), place=place) if found else frozenset(), properties
