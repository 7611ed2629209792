"""Knowledge graphs and bindings from Bolt servers (Neo4j and compatible ones), through the official driver.

Queries that read run in read transactions that are rolled back, so that a query cannot change the graph. A query that
fails for a reason that may pass, such as a dropped connection, is run again from its beginning; no part of an answer
is ever returned. What the driver reports becomes a ``GraphError`` without credentials.

Labels are classes, relationship types relations. By default the whole graph is read, page by page in the order of
element ids, and its size is compared with the size that the server counts. A user's own Cypher for nodes, edges or a
binding replaces a part. Nodes that ``store_rules`` wrote are not a part of the graph. Dates, times and durations
become ISO 8601 strings, points one number per coordinate, lists several values of one property; null, NaN and infinity
are missing values.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from time import sleep
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Values, as_values, list_values
from thence.data.loaders.bindings import bind_pairs, from_graph
from thence.data.loaders.draft import Draft, as_labels, is_history
from thence.data.loaders.loader import GraphServer
from thence.data.stores.urls import credentials_of, mask, scheme_of, without_credentials
from thence.errors import BindingError, ConfigError, GraphError, require

BOLT_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
"""The schemes of the driver: ``neo4j`` for clusters, ``+s`` with TLS, ``+ssc`` with a certificate of one's own."""

_USER, _PASSWORD, _DATABASE = "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"
_WAITS = (0.2, 1.0, 3.0)
_CONNECT = 15.0

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class BoltAddress:
    """Where a Bolt server is, and as whom to connect.

    Args:
        url: The URL without credentials and database.
        user: The user name; an empty string to connect without authentication.
        password: The password.
        database: The database; ``None`` for the default one of the user.
    """

    url: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    database: str | None = None

    @property
    def place(self) -> str:
        """The server and database, for messages."""
        return f"{self.url}/{self.database}" if self.database else self.url


def parse_bolt_url(url: str, *, database: str | None = None) -> BoltAddress:
    """Return the address that a URL names, with credentials from the environment where the URL has none.

    Args:
        url: ``bolt://[user:password@]host[:port][/database]``, or another of ``BOLT_SCHEMES``. Without a user name,
            ``NEO4J_USERNAME`` and ``NEO4J_PASSWORD`` are used.
        database: The database; by default the one in the URL, or else ``NEO4J_DATABASE``.

    Raises:
        GraphError: If the URL has no host, or another scheme.

    Examples:
        >>> address = parse_bolt_url("bolt://reader:s3cret@localhost:7687/plant")
        >>> address
        BoltAddress(url='bolt://localhost:7687', database='plant')
        >>> address.user
        'reader'
    """
    shown = without_credentials(url)
    try:
        bare, user, password = credentials_of(url)
        parts = urlsplit(bare)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise GraphError("not a valid URL", where=shown, hint="write bolt://host:7687") from None
    if scheme_of(url) not in BOLT_SCHEMES:
        raise GraphError("not the URL of a Bolt server", where=shown, hint=f"use one of {', '.join(BOLT_SCHEMES)}")
    in_path = unquote(parts.path.strip("/"))
    if not host or "/" in in_path or "@" in in_path:
        hint = "write bolt://host:7687 or bolt://host:7687/database; in a user name or password, write / as %2F"
        raise GraphError("not the URL of a Bolt server", where=shown, hint=hint)
    if not user:
        # A password without a user name belongs to the user of the environment.
        user = os.environ.get(_USER, "neo4j" if password or _PASSWORD in os.environ else "")
        password = password or os.environ.get(_PASSWORD, "")
    named = database or in_path or os.environ.get(_DATABASE) or None
    return BoltAddress(urlunsplit(parts._replace(path="", fragment="")), user, password, named)


@dataclass(frozen=True)
class BoltServer:
    """An open connection to a Bolt server; made by ``open_bolt``.

    Args:
        address: Where the server is.
        driver: The driver of the package ``neo4j``.
        timeout: The most seconds that a transaction may take on the server.
    """

    address: BoltAddress
    driver: Any
    timeout: float

    def read(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Return all records that a query answers with.

        Args:
            query: A Cypher query that reads.
            parameters: Its parameters.

        Raises:
            GraphError: If the server refuses the query, or does not answer.
        """

        def run(transaction: Any) -> list[Any]:
            return list(transaction.run(query, dict(parameters or {})))

        return self._attempt(run, access="READ", commit=False)

    def write(self, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[Any]]:
        """Run statements in one transaction, of which all take effect or none; return the records of each.

        Args:
            statements: Cypher statements with their parameters. Since they are run again after a lost connection, they
                must have the same effect twice as once.

        Raises:
            GraphError: If the server refuses a statement, or does not answer.
        """

        def run(transaction: Any) -> list[list[Any]]:
            return [list(transaction.run(query, dict(parameters))) for query, parameters in statements]

        return self._attempt(run, access="WRITE", commit=True)

    def _attempt(self, work: Callable[[Any], Answer], *, access: str, commit: bool) -> Answer:
        failures = _failures()
        for wait in (*_WAITS, None):
            try:
                with self.driver.session(database=self.address.database, default_access_mode=access) as session:
                    transaction = session.begin_transaction(timeout=self.timeout)
                    try:
                        answer = work(transaction)
                        if commit:
                            transaction.commit()
                        return answer
                    finally:
                        transaction.close()  # rolls back what was not committed
            except failures as error:
                if wait is None or not getattr(error, "is_retryable", bool)():
                    raise _explain(error, self.address) from None
                sleep(wait)
        raise AssertionError("unreachable")


@contextmanager
def open_bolt(url: str, *, database: str | None = None, timeout: float = 300.0) -> Iterator[BoltServer]:
    """Connect to a Bolt server, and close the connection in the end.

    Args:
        url: The URL; see ``parse_bolt_url``.
        database: The database; by default the one in the URL.
        timeout: The most seconds that a transaction may take on the server.

    Raises:
        GraphError: If the server cannot be reached, or refuses the user.
        MissingExtraError: If the package ``neo4j`` is not installed.
    """
    address = parse_bolt_url(url, database=database)
    neo4j = require("neo4j", extra="neo4j")
    failures = _failures()
    refused: tuple[type[Exception], ...] = (*failures, ValueError)
    try:
        driver = neo4j.GraphDatabase.driver(
            address.url,
            auth=(address.user, address.password) if address.user else None,
            connection_timeout=_CONNECT,
            connection_acquisition_timeout=2 * _CONNECT,
            user_agent="thence",
        )
    except refused as error:
        raise _explain(error, address) from None
    with driver:
        try:
            # Fails at once if nobody answers or the user is refused; queries only retry what once worked.
            driver.verify_connectivity()
        except failures as error:
            raise _explain(error, address) from None
        yield BoltServer(address, driver, timeout)


def _failures() -> tuple[type[Exception], ...]:
    """What the driver raises for a server that does not answer or refuses."""
    exceptions = require("neo4j.exceptions", extra="neo4j")
    return (exceptions.Neo4jError, exceptions.DriverError, OSError)


def _explain(error: Exception, address: BoltAddress) -> GraphError:
    """A failure in our words, without credentials; chained to nothing, since the driver's text may hold them."""
    lines = mask(str(getattr(error, "message", None) or error), [address.password]).strip().splitlines()
    reason = lines[0][:300] if lines else type(error).__name__
    kind = {cls.__name__ for cls in type(error).__mro__}
    code = str(getattr(error, "code", "") or "")
    if kind & {"AuthError", "TokenExpired", "AuthConfigurationError"} or ".Security." in code:
        if "Forbidden" in kind and "AuthError" not in kind:
            return GraphError(f"the user may not do this: {reason}", where=address.place)
        hint = f"write bolt://user:password@host:port, or set {_USER} and {_PASSWORD}"
        return GraphError("the server refuses the user name or the password", where=address.place, hint=hint)
    if "DatabaseNotFound" in code or "DatabaseUnavailable" in kind:
        return GraphError(f"no such database: {reason}", where=address.place, hint="pass database='…'")
    if kind & {"ServiceUnavailable", "SessionExpired", "ReadServiceUnavailable", "OSError"}:
        hint = "check host and port, and that the server is running; the Bolt port is usually 7687"
        return GraphError(f"the server does not answer: {reason}", where=address.place, hint=hint)
    if "TransactionTimedOut" in code or "Terminated" in code:
        return GraphError(f"the server ended the query: {reason}", where=address.place, hint="pass a greater timeout=")
    if "ConfigurationError" in kind or isinstance(error, ValueError):
        return GraphError(f"cannot connect: {reason}", where=address.place, hint="write bolt://host:7687")
    return GraphError(f"the server refuses the query: {reason}", where=address.place, hint="correct the query")


_GEOGRAPHIC = frozenset({4326, 4979})
_FRACTION = re.compile(r"(\.\d*?)0+(?=[Z+-]|$)")


def plain_properties(properties: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return properties as a graph can hold them, and what is wrong with the others.

    A point ``location`` becomes ``location_x`` and ``location_y``, or ``location_longitude`` and ``location_latitude``.

    Args:
        properties: Values by name, as the driver returns them.

    Returns:
        The properties, and a list of problems.

    Examples:
        >>> plain_properties({"tags": ["a", "b"], "built": date(2001, 2, 3), "depth": None, "length": 820.5})
        ({'tags': ('a', 'b'), 'built': '2001-02-03', 'length': 820.5}, [])
    """
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in properties.items():
        parts = _coordinates(str(name), value) or {str(name): value}
        for key, part in parts.items():
            try:
                plain = _dated(part) if is_history(part) else plain_value(part)
            except TypeError as error:
                problems.append(f"property '{key}' {error}")
                continue
            if plain is None:
                continue
            if key in found or (key != name and properties.get(key) is not None):
                problems.append(f"property '{key}' is a coordinate of '{name}' and a property of its own")
                continue
            found[key] = plain
    return found, problems


def plain_value(value: Any) -> Values | None:
    """Return a value as a string, a finite number or a boolean, a list as several; ``None`` for a missing value.

    Args:
        value: The value, as the driver returns it.

    Raises:
        TypeError: If the value is of no type that can be written as text.

    Examples:
        >>> plain_value([1, 2.5]), plain_value(float("nan")), plain_value(True), plain_value(b"ab"), plain_value([])
        ((1, 2.5), None, True, '6162', None)
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    text = _time_text(value)
    if text is not None:
        return text
    if isinstance(value, Mapping):
        return json.dumps({str(key): plain_value(inner) for key, inner in value.items()}, ensure_ascii=False)
    if not isinstance(value, Sequence) and callable(native := getattr(value, "to_native", None)):
        value = native()
    if isinstance(value, Sequence | set | frozenset):
        listed = [one for inner in value for one in list_values(plain_value(inner))]
        return cast(Values, as_values(listed)) if listed else None
    raise TypeError(f"has the type '{type(value).__name__}', which a graph cannot hold")


def _time_text(value: Any) -> str | None:
    """A date, time or duration in ISO 8601, without a fraction that says nothing."""
    if callable(written := getattr(value, "iso_format", None)):
        return _FRACTION.sub(lambda found: found[1].rstrip("."), str(written()))
    if isinstance(value, datetime | date | clock_time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"
    return None


def _coordinates(name: str, value: Any) -> dict[str, Any]:
    """The coordinates of a point by name; empty for other values."""
    system = getattr(value, "srid", None)
    if system is None or not isinstance(value, tuple):
        return {}
    axes = ("longitude", "latitude", "height") if system in _GEOGRAPHIC else ("x", "y", "z")
    return {f"{name}_{axis}": float(at) for axis, at in zip(axes, value, strict=False)}


def _dated(entries: list[Any]) -> list[dict[str, Any]]:
    """The values of a property over time, with moments as text."""
    return [{"from": plain_value(entry["from"]), "value": plain_value(entry["value"])} for entry in entries]


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
    pairs = []
    with open_bolt(url, database=database, timeout=timeout) as server:
        where = server.address.place
        for number, record in enumerate(_answers(server, query, page=page), start=1):
            if sensor not in record or node not in record:
                raise BindingError(
                    f"the query must return the columns '{sensor}' and '{node}', got {', '.join(record)}",
                    where=where,
                    hint="name them with AS, or pass sensor= and node=",
                )
            pairs.append((f"row {number}", _id_text(record[sensor]), _id_text(record[node])))
    return bind_pairs(pairs, where=where)


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
        # By default, and on request, a node without these properties has the id of the server.
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
        repeated = [
            f"{len(nodes)} nodes have the id '{own}': {', '.join(nodes[:3])}" for own, nodes in self.repeated.items()
        ]
        raise GraphError(
            "\n  ".join([f"{len(repeated)} ids are not unique", *_shortened(repeated)]),
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


def _read_binding(url: str, *, query: str | None = None, **options: Any) -> Binding:
    """The binding of a query; without one, that of the time series references in the graph."""
    if query is not None:
        return read_bolt_binding(url, query, **options)
    reading = {name: value for name, value in options.items() if name not in ("sensor", "node")}
    return from_graph(read_bolt_graph(url, **reading), where=without_credentials(url))


SERVER = GraphServer(
    read_bolt_graph,
    _read_binding,
    options=("id", "classes", "nodes", "edges", "database", "page", "timeout"),
    binding_options=("query", "sensor", "node", "database", "page", "timeout"),
)
