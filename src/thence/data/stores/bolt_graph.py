"""Knowledge graphs and bindings from Bolt servers: labels are classes, relationship types relations.

By default the whole graph is read, page by page in the order of element ids, and its size is compared with the size
that the server counts. A user's own Cypher for nodes, edges or a binding replaces a part. Nodes that ``store_rules``
wrote are not a part of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders.draft import Draft, as_labels
from thence.data.stores.bolt import BoltServer, open_bolt
from thence.data.stores.bolt_values import plain_properties
from thence.errors import BindingError, ConfigError, GraphError

__all__ = ["ELEMENT_ID", "OWN_LABELS", "PAGE", "map_ids", "read_bolt_binding", "read_bolt_graph"]

ELEMENT_ID = "elementId"
"""The value of ``id`` that takes the element ids of the server as ids of nodes."""
OWN_LABELS = ("ThenceRule", "ThenceClass")
"""The labels of nodes that ``store_rules`` writes."""
PAGE = 50_000
"""How many nodes or edges one query returns."""

_ID_PROPERTIES = ("id", "name")
_SHOWN = 5
_WANTED = "NOT any(label IN labels({0}) WHERE label IN $own)"
_CHOSEN = " AND ($classes IS NULL OR any(label IN labels({0}) WHERE label IN $classes))"
_MATCH_NODES = f"MATCH (n) WHERE {(_WANTED + _CHOSEN).format('n')} "
_MATCH_EDGES = f"MATCH (a)-[r]->(b) WHERE {' AND '.join((_WANTED + _CHOSEN).format(end) for end in 'ab')} "
# As a column, an element id is compared as it is sorted; some servers compare the results of elementId() differently.
_AFTER = "WHERE element > $after "
_NODES = (
    f"{_MATCH_NODES} WITH n, elementId(n) AS element {_AFTER}"
    "RETURN element, labels(n) AS labels, properties(n) AS properties ORDER BY element LIMIT $limit"
)
_EDGES = (
    f"{_MATCH_EDGES} WITH a, r, b, elementId(r) AS element {_AFTER}"
    "RETURN element, elementId(a) AS source, elementId(b) AS target, type(r) AS type, properties(r) AS properties "
    "ORDER BY element LIMIT $limit"
)
_COUNTS = (
    ("nodes", f"{_MATCH_NODES} RETURN count(n) AS total"),
    ("edges", f"{_MATCH_EDGES} RETURN count(r) AS total"),
)


def read_bolt_graph(
    url: str,
    *,
    id: str | Sequence[str] | None = None,
    classes: str | Sequence[str] | None = None,
    nodes: str | None = None,
    edges: str | None = None,
    database: str | None = None,
    page: int = PAGE,
    timeout: float = 300.0,
) -> KnowledgeGraph:
    """Read a knowledge graph from a Bolt server.

    Args:
        url: The URL; see ``thence.data.stores.bolt.parse_bolt_url``.
        id: The property that holds the ids of nodes, or several, of which each node has its first; ``"elementId"`` for
            the ids of the server. By default ``id``, else ``name``, else the id of the server.
        classes: Read only nodes with one of these labels, and the edges between them.
        nodes: A Cypher query for the nodes: it returns nodes, or the columns ``id``, ``labels`` and ``properties``;
            other columns are properties too. With the parameters ``$skip`` and ``$limit`` it is run page by page.
        edges: A Cypher query for the edges: it returns relationships, or the columns ``source``, ``target``, ``type``
            and ``properties``; other columns are properties too. By default all edges between the nodes.
        database: The database; by default the one in the URL, or that of the user.
        page: How many nodes or edges one query returns.
        timeout: The most seconds that one query may take on the server.

    Raises:
        GraphError: If the server cannot be reached or refuses, or the graph has mistakes.
        MissingExtraError: If the package ``neo4j`` is not installed.
    """
    if page < 1:
        raise ConfigError(f"'page' must be at least 1, got {page}")
    if nodes is not None and classes is not None:
        raise ConfigError("'nodes' and 'classes' exclude each other", hint="choose the labels in the query")
    with open_bolt(url, database=database, timeout=timeout) as server:
        draft = Draft(server.address.place)
        named = _Names(id, place=server.address.place)
        listed = None if classes is None else [classes] if isinstance(classes, str) else list(classes)
        chosen = {"own": list(OWN_LABELS), "classes": listed}
        if nodes is None:
            for record in _pages(server, _NODES, {**chosen, "limit": page}):
                named.add(draft, record["element"], record["labels"], record["properties"])
        else:
            for record in _answers(server, nodes, page=page):
                _add_node(draft, named, record)
        named.refuse_repeated()
        if edges is not None:
            for record in _answers(server, edges, page=page):
                _add_edge(draft, named, record)
        elif named.has_elements:
            # With nodes of the user's own, only edges between these belong to the graph.
            within = nodes is not None
            for record in _pages(server, _EDGES, {**chosen, "limit": page}):
                if not within or (record["source"] in named.by_element and record["target"] in named.by_element):
                    _add_edge(draft, named, _by_ids(record, named))
        elif draft.nodes:
            raise ConfigError(
                "'nodes' returns ids, so that edges between them are not known",
                hint="pass edges='MATCH (a)-[r]->(b) RETURN a.id AS source, b.id AS target, type(r) AS type', or "
                "return whole nodes",
            )
        if nodes is None and edges is None:
            _check_sizes(server, chosen, draft)
    if not draft.nodes and not draft.problems:
        hint = "check the database and the labels" if nodes is None else "check the query in nodes="
        raise GraphError("there is no node", where=draft.where, hint=hint)
    return draft.graph()


def read_bolt_binding(
    url: str,
    query: str,
    *,
    sensor: str = "sensor",
    node: str = "node",
    database: str | None = None,
    page: int = PAGE,
    timeout: float = 300.0,
) -> Binding:
    """Read a binding from a Bolt server.

    Args:
        url: The URL; see ``thence.data.stores.bolt.parse_bolt_url``.
        query: A Cypher query that returns one row per sensor.
        sensor: The column of sensor ids.
        node: The column of node ids.
        database: The database; by default the one in the URL, or that of the user.
        page: How many rows a query with ``$skip`` and ``$limit`` returns at a time.
        timeout: The most seconds that one query may take on the server.

    Raises:
        BindingError: If a column is missing, a value is null, or a sensor has two nodes.
        GraphError: If the server cannot be reached or refuses the query.
    """
    bound: dict[str, str] = {}
    problems: list[str] = []
    with open_bolt(url, database=database, timeout=timeout) as server:
        where = server.address.place
        for record in _answers(server, query, page=page):
            if sensor not in record or node not in record:
                raise BindingError(
                    f"the query must return the columns '{sensor}' and '{node}', got {', '.join(record)}",
                    where=where,
                    hint="name them with AS, or pass sensor= and node=",
                )
            pair = _id_text(record[sensor]), _id_text(record[node])
            if not pair[0] or not pair[1]:
                problems.append(f"sensor and node must be strings, got {record[sensor]!r} and {record[node]!r}")
            elif bound.setdefault(pair[0], pair[1]) != pair[1]:
                problems.append(f"sensor '{pair[0]}' is bound to '{pair[1]}' and to '{bound[pair[0]]}'")
    if problems:
        raise BindingError("\n  ".join(["the binding is not valid:", *_shortened(problems)]), where=where)
    return Binding(bound)


def map_ids(server: BoltServer, *, id: str | Sequence[str] | None = None, page: int = PAGE) -> dict[str, str]:
    """Return the element id of each node by the id that the node has in a graph that is read.

    Args:
        server: The server.
        id: As for ``read_bolt_graph``. Nodes that share an id, or have none, are left out.
        page: How many nodes one query returns.
    """
    named = _Names(id, place=server.address.place)
    draft = Draft(server.address.place)
    for record in _pages(server, _NODES, {"own": list(OWN_LABELS), "classes": None, "limit": page}):
        named.add(draft, record["element"], (), record["properties"])
    return {name: element for element, name in named.by_element.items() if name not in named.repeated}


class _Names:
    """The ids of nodes: which property holds them, and which element of the server has which."""

    def __init__(self, id: str | Sequence[str] | None, *, place: str) -> None:
        given = (id,) if isinstance(id, str) else None if id is None else tuple(id)
        if given is not None and (not given or not all(isinstance(one, str) and one for one in given)):
            raise ConfigError("'id' must be the name of a property, or several", hint=f"pass id='{_ID_PROPERTIES[0]}'")
        self.properties = _ID_PROPERTIES if given is None else tuple(one for one in given if one != ELEMENT_ID)
        # By default, and if asked for, a node without these properties has the id of the server.
        self.falls_back = given is None or ELEMENT_ID in given
        self.place = place
        self.by_element: dict[str, str] = {}
        self.repeated: dict[str, list[str]] = {}
        self._element_of: dict[str, str] = {}

    @property
    def has_elements(self) -> bool:
        """Whether the elements of nodes on the server are known."""
        return bool(self.by_element)

    def add(self, draft: Draft, element: str, labels: Iterable[str], properties: Mapping[str, Any]) -> None:
        """Add a node of the server to a draft."""
        found = next((name for name in self.properties if _id_text(properties.get(name))), None)
        if found is None and not self.falls_back:
            wanted = " or ".join(f"'{name}'" for name in self.properties)
            draft.problems.append(
                f"node {element} ({', '.join(sorted(labels)) or 'no label'}) has no property {wanted}"
            )
            return
        own = element if found is None else _id_text(properties[found])
        rest = {name: value for name, value in properties.items() if name != found}
        self.by_element[element] = own
        self.claim(own, element)
        _add_plain_node(draft, own, labels, rest, place=f"node {element}")

    def claim(self, own: str, element: str) -> None:
        """Record that a node has an id."""
        first = self._element_of.setdefault(own, element)
        if first != element:
            self.repeated.setdefault(own, [first]).append(element)

    def refuse_repeated(self) -> None:
        """Raise if two nodes have the same id."""
        if not self.repeated:
            return
        told = [
            f"{len(nodes)} nodes have the id '{own}': {', '.join(nodes[:3])}" for own, nodes in self.repeated.items()
        ]
        raise GraphError(
            "\n  ".join([f"{len(told)} ids are not unique", *_shortened(told)]),
            where=self.place,
            hint=f"pass id='…', a property that is unique, or id='{ELEMENT_ID}'",
        )


def _pages(server: BoltServer, query: str, parameters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All records of a query that continues after an element; each element once."""
    after, seen = "", 0
    while True:
        records = server.read(query, {**parameters, "after": after})
        yield from records
        if len(records) < parameters["limit"]:
            return
        last, seen = str(records[-1]["element"]), seen + len(records)
        if last == after:
            raise GraphError(
                "the server does not order nodes by their elementId", where=server.address.place, hint="pass nodes='…'"
            )
        after = last


def _answers(server: BoltServer, query: str, *, page: int) -> Iterator[dict[str, Any]]:
    """All records of a user's query, page by page if it has the parameters for that."""
    if not (re.search(r"\$skip\b", query) and re.search(r"\$limit\b", query)):
        yield from (dict(record.items()) for record in server.read(query))
        return
    skip = 0
    while True:
        records = server.read(query, {"skip": skip, "limit": page})
        yield from (dict(record.items()) for record in records)
        if len(records) < page:
            return
        skip += len(records)


def _check_sizes(server: BoltServer, chosen: Mapping[str, Any], draft: Draft) -> None:
    """Raise if the server has more or fewer nodes or edges than were read."""
    for what, query in _COUNTS:
        (record,) = server.read(query, chosen)
        total, found = int(record["total"]), len(draft.nodes if what == "nodes" else draft.edges)
        if total != found and not draft.problems:
            raise GraphError(
                f"the graph changed while it was read: {found:,} {what} were read, now there are {total:,}",
                where=draft.where,
                hint="read it again",
            )


def _add_plain_node(
    draft: Draft, own: str, labels: Iterable[str], properties: Mapping[str, Any], *, place: str
) -> None:
    plain, problems = plain_properties(properties)
    draft.problems += [f"{place}: {problem}" for problem in problems]
    draft.add_node(own, labels=labels, properties=plain, place=place)


def _add_node(draft: Draft, named: _Names, record: dict[str, Any]) -> None:
    """Add a node of a user's query: a node of the server, or columns."""
    node = next((value for value in record.values() if _is_node(value)), None)
    rest = {name: value for name, value in record.items() if node is None or value is not node}
    if node is not None and not rest:
        if node.element_id not in named.by_element:  # a query may return the same node twice
            named.add(draft, node.element_id, node.labels, dict(node.items()))
        return
    if "id" not in rest:
        raise GraphError(
            f"the query for nodes must return nodes, or the column id, got {', '.join(record)}",
            where=draft.where,
            hint="nodes='MATCH (n) RETURN n.id AS id, labels(n) AS labels, properties(n) AS properties'",
        )
    own = _id_text(rest.pop("id"))
    if not own:
        draft.problems.append(f"node {len(draft.nodes) + 1} of the query: id must be a string, got null")
        return
    labels = rest.pop("labels", rest.pop("label", None if node is None else list(node.labels)))
    inner = rest.pop("properties", None if node is None else dict(node.items()))
    if node is not None:
        if node.element_id in named.by_element:
            return
        named.by_element[node.element_id] = own
    place = f"node '{own}'"
    named.claim(own, node.element_id if node is not None else f"row {len(draft.nodes) + 1}")
    _add_plain_node(draft, own, as_labels(labels, place=place), {**_mapping(inner, draft), **rest}, place=place)


def _add_edge(draft: Draft, named: _Names, record: dict[str, Any]) -> None:
    """Add an edge of a query: a relationship of the server, or columns."""
    edge = next((value for value in record.values() if _is_edge(value)), None)
    rest = {name: value for name, value in record.items() if not _is_edge(value) and not _is_node(value)}
    if edge is not None:
        if not named.has_elements and "source" not in rest:
            raise GraphError(
                "the query for edges returns relationships, but the one for nodes returns ids",
                where=draft.where,
                hint="return whole nodes in nodes=, or source, target and type in edges=",
            )
        ends = [named.by_element.get(end.element_id, end.element_id) for end in (edge.start_node, edge.end_node)]
        rest = {"source": ends[0], "target": ends[1], "type": edge.type, "properties": dict(edge.items()), **rest}
    if "source" not in rest or "target" not in rest:
        raise GraphError(
            f"the query for edges must return relationships, or the columns source and target, got {', '.join(record)}",
            where=draft.where,
            hint="edges='MATCH (a)-[r]->(b) RETURN a.id AS source, b.id AS target, type(r) AS type'",
        )
    source, target = _id_text(rest.pop("source")), _id_text(rest.pop("target"))
    own = _id_text(rest.pop("id", None))
    given = [rest.pop(name) for name in ("type", "labels", "label") if name in rest]
    place = f"edge {own or len(draft.edges) + 1}"
    if not source or not target:
        draft.problems.append(f"{place}: source and target must be ids of nodes, got null")
        return
    inner = _mapping(rest.pop("properties", None), draft)
    plain, problems = plain_properties({**inner, **rest})
    draft.problems += [f"{place}: {problem}" for problem in problems]
    labels = as_labels(given[0], place=place) if given else ()
    draft.add_edge(own or None, source, target, labels=labels, properties=plain, place=place)


def _by_ids(record: Mapping[str, Any], named: _Names) -> dict[str, Any]:
    """An edge between elements of the server as one between ids of nodes."""
    ends = {end: named.by_element.get(record[end], record[end]) for end in ("source", "target")}
    return {**ends, "type": [record["type"]], "properties": record["properties"]}


def _mapping(given: Any, draft: Draft) -> Mapping[str, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise GraphError(f"the column properties must be a map, got {given!r}", where=draft.where, hint="properties(n)")


def _id_text(value: Any) -> str:
    """An id as text; empty if the value cannot be one."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _is_node(value: Any) -> bool:
    return hasattr(value, "element_id") and hasattr(value, "labels")


def _is_edge(value: Any) -> bool:
    return hasattr(value, "element_id") and hasattr(value, "start_node")


def _shortened(problems: Sequence[str]) -> list[str]:
    """The first problems, and how many more there are."""
    more = len(problems) - _SHOWN
    return [*problems[:_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]
