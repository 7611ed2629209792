"""Rules that derive node names from sensor names, and the directory in which these names are looked up.

A rule extracts a node name (and, if it can, a class and a quantity) from a sensor name. The directory knows the nodes
by id, by the time series references of Brick, by the identifiers of SOSA sensors, by the property ``name`` and by IRI.
Class and quantity choose between nodes of the same name, which EPANET allows. A name that still matches several nodes
matches none. References to other files than those that are read (``ref:storedAt``) do not count. This module must not
guess: similar names appear in messages only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from string import Formatter
from types import MappingProxyType
from typing import TypeAlias

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.point_names import is_point
from thence.data.graph.records import join_values, list_values
from thence.errors import BindingError, ConfigError, nearest

SingleRule: TypeAlias = "str | re.Pattern[str] | Mapping[str, str | Iterable[str]] | Callable[[str], str | None]"
NameRule: TypeAlias = "SingleRule | list[SingleRule] | tuple[SingleRule, ...]"
Matcher: TypeAlias = "Callable[[str, NodeDirectory], NodeMatch]"

_LINKS = frozenset({"Link", "Pipe", "Pump", "Valve"})
_LINK_KINDS = frozenset({"flow", "velocity", "headloss", "status", "setting", "power", "energy"})
_NODE_KINDS = frozenset({"pressure", "head", "demand", "level", "quality", "chlorine", "age"})
_WATER_NODES = frozenset({"Junction", "Reservoir", "Tank", "Node"})
WATER_LETTERS: Mapping[str, tuple[str, frozenset[str]]] = MappingProxyType(
    {
        "p": ("pressure", _WATER_NODES),
        "h": ("head", _WATER_NODES),
        "d": ("demand", frozenset({"Junction", "Node"})),
        "l": ("level", frozenset({"Tank", "Reservoir"})),
        "f": ("flow", _LINKS),
        "q": ("flow", _LINKS),
        "s": ("status", _LINKS),
        "v": ("velocity", _LINKS),
    }
)
"""What a single letter means beside an element of a water network, and the classes of such elements."""
_REFERENCE_LINKS = ("hasExternalReference", "hasTimeseriesReference", "timeseries")
SERIES_PROPERTIES = ("hasTimeseriesId", "timeseries", "timeseriesId")
"""The properties that refer to a time series by its id."""
_OBJECT_PROPERTIES = ("object-name", "objectName", "object-identifier", "objectIdentifier", "BACnetURI", "bacnetUri")
_PLACEHOLDERS = {"node", "kind", "label"}
# Tried in this order; the plain name comes first, so that an exact match takes precedence over a composed name.
DEFAULT_RULES: tuple[str, ...] = ("{node}", "{label}_{node}_{kind}", "{label}_{node}", "{kind}_{node}")


@dataclass(frozen=True)
class NodeMatch:
    """The result of looking for the node of a sensor.

    Args:
        node: The node, or ``None`` if there is no single match.
        sought: The node names that were looked up without success.
        candidates: The nodes that match, if there are several.
        mistake: Why the input is not valid, if it is not.
        way: By what the node was found, for messages; empty for its id.
    """

    node: str | None = None
    sought: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    mistake: str = ""
    way: str = ""

    def or_else(self, other: NodeMatch) -> NodeMatch:
        """Return ``other`` if it has a node, else a failure that combines both."""
        if other.node is not None:
            return other
        sought = tuple(dict.fromkeys((*self.sought, *other.sought)))
        return NodeMatch(None, sought, tuple(dict.fromkeys((*self.candidates, *other.candidates))))

    def explain_failure(self, directory: NodeDirectory, sensor: str, *, suggest: bool) -> str:
        """Return why ``sensor`` has no node; with ``suggest``, add the nearest name in ``directory``."""
        if self.mistake:
            return self.mistake
        if self.candidates:
            return f"matches several nodes: {', '.join(self.candidates)}"
        hint = directory.suggest((*self.sought, sensor)) if suggest else None
        tried = [f"'{name}'" for name in self.sought if name != sensor]
        what = f"there is no node {' or '.join(tried)}" if tried else "no node has this name"
        return what + (f" ({hint})" if hint else "")


class NodeDirectory:
    """The nodes of a graph by all their names: references, ids, names and labels, objects of BACnet.

    Args:
        graph: The knowledge graph.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph

    @cached_property
    def _ways(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """The nodes by name, for each way of naming them, in the order in which they are looked up."""
        return {
            "time series reference": {name: tuple(ids) for name, ids in find_series_references(self.graph).items()},
            "": {id: (id,) for id in self.graph.nodes},
            "identifier": find_references(self.graph),
            "name": self._named(("name", "iri")),
            "label": self._named(("label", "prefLabel", "altLabel", "dis", "title")),
            "BACnet object": self._objects(),
        }

    def _named(self, keys: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for node in self.graph.nodes.values():
            for key in keys:
                for name in list_values(node.properties.get(key)):
                    found[str(name)][node.id] = None
        return {name: tuple(ids) for name, ids in found.items()}

    def _objects(self) -> dict[str, tuple[str, ...]]:
        """The nodes by the names and addresses of their objects of BACnet, which may be on a node of their own."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for key in _OBJECT_PROPERTIES:
            for node in self.graph.with_property(key):
                holders = [edge.source for edge in self.graph.in_edges(node, _REFERENCE_LINKS)] or [node]
                for value in list_values(self.graph.value(node, key)):
                    found[str(value)] |= dict.fromkeys(holders)
        return {name: tuple(ids) for name, ids in found.items()}

    @cached_property
    def _spellings(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes by all their names, whatever the case and the separators."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for names in self._ways.values():
            for name, nodes in names.items():
                found[plain_spelling(name)] |= dict.fromkeys(nodes)
        return {name: tuple(nodes) for name, nodes in found.items()}

    def look_up_spelling(self, name: str) -> NodeMatch:
        """Look up the only node with a name in any case and with any separators.

        Args:
            name: An id, reference, name or label.
        """
        nodes = self._only_points(self._spellings.get(plain_spelling(name), ())) if plain_spelling(name) else ()
        if len(nodes) == 1:
            return NodeMatch(nodes[0], way="spelling")
        return NodeMatch(None, (name,), nodes)

    def look_up_part(self, name: str) -> NodeMatch:
        """Look up the only node whose name is a part of a name with parts, such as ``site/ahu_1/oat``.

        Args:
            name: A name whose parts are separated by slashes, dots, colons or bars; the longest run of them counts.
        """
        parts = re.split(r"[/.:|]+", name.strip("/.:|"))
        for length in range(len(parts) - 1, 0, -1):
            runs = (" ".join(parts[at : at + length]) for at in range(len(parts) - length + 1))
            found = {node for run in runs if (key := plain_spelling(run)) for node in self._spellings.get(key, ())}
            if found:
                only = self._only_points(tuple(sorted(found)))
                return (
                    NodeMatch(only[0], way="part of their names") if len(only) == 1 else NodeMatch(None, (name,), only)
                )
        return NodeMatch(None, (name,))

    def _only_points(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """The only point among several nodes of the same name; otherwise all of them."""
        points = tuple(node for node in nodes if is_point(self.graph.nodes[node].labels)) if len(nodes) > 1 else ()
        return points if len(points) == 1 else nodes

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return {label.lower(): label for label in self.graph.labels}

    def look_up(self, name: str, *, label: str | None = None, kind: str | None = None) -> NodeMatch:
        """Look up the only node with a name.

        Args:
            name: A series reference, an id, an identifier, a name or IRI, a label, or the name of an object of BACnet,
                looked up in this order.
            label: Only nodes of this class; ``Node`` and ``Link`` are the two kinds of EPANET elements.
            kind: The quantity measured, which chooses between a node and a link of the same name.
        """
        if label is not None and label.lower() not in ("node", "link") and label.lower() not in self._labels:
            return NodeMatch()
        way, candidates = next(
            ((way, found) for way, names in self._ways.items() if (found := names.get(name))), ("", ())
        )
        if label is not None:
            candidates = tuple(c for c in candidates if self._has_label(c, label))
        if len(candidates) > 1 and kind is not None:
            side = "link" if kind.lower() in _LINK_KINDS else "node" if kind.lower() in _NODE_KINDS else None
            candidates = tuple(c for c in candidates if side is None or self._has_label(c, side))
            _, classes = WATER_LETTERS.get(kind.lower(), ("", frozenset()))
            candidates = tuple(c for c in candidates if not classes or self.graph.nodes[c].labels & classes)
        candidates = self._only_points(candidates)
        if len(candidates) == 1:
            return NodeMatch(candidates[0], way=way)
        return NodeMatch(None, (name,), candidates)

    def _has_label(self, node_id: str, label: str) -> bool:
        labels = self.graph.nodes[node_id].labels
        if label.lower() in ("node", "link") and label.lower() not in self._labels:
            return bool(labels & _LINKS) == (label.lower() == "link")
        return self._labels[label.lower()] in labels

    def suggest(self, names: Iterable[str]) -> str | None:
        """Return a hint with a known name near one of ``names``, or ``None``."""
        known = {name: None for names in self._ways.values() for name in names}
        return next((hint for name in names if (hint := nearest(name, known))), None)


def plain_spelling(name: str) -> str:
    """Return a name in lower case without separators; numbers next to each other stay apart.

    >>> plain_spelling("AHU-1 OA-T") == plain_spelling("ahu1_oat"), plain_spelling("R1 2") == plain_spelling("R12")
    (True, False)
    """
    parts = re.findall(r"\d+|[^\W\d_]+", name.casefold())
    return re.sub(r"(?<=\D) | (?=\D)", "", " ".join(parts))


def find_references(graph: KnowledgeGraph) -> Mapping[str, tuple[str, ...]]:
    """Return the nodes of the time series that ``graph`` refers to, by the id of the series.

    A series is referred to by ``hasTimeseriesId`` or ``timeseries``, on the node or on a reference node that the node
    links to by ``hasExternalReference`` (Brick, old and new), or by the ``identifier`` of a SOSA sensor or actuator or
    of the point that it links to by ``connectsAt``.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Edge, Node
        >>> graph = KnowledgeGraph(
        ...     [Node("zone_temp", frozenset({"Point"})), Node("ref", properties={"hasTimeseriesId": "42"})],
        ...     [Edge("e", "zone_temp", "ref", frozenset({"hasExternalReference"}))],
        ... )
        >>> dict(find_references(graph))
        {'42': ('zone_temp',)}
    """
    found = find_series_references(graph)
    for device in find_devices(graph):
        for name in find_identifiers(graph, device):
            found.setdefault(name, {})[device] = None
    return {name: tuple(nodes) for name, nodes in found.items()}


def find_devices(graph: KnowledgeGraph) -> tuple[str, ...]:
    """Return the ids of the SOSA sensors and actuators of ``graph``."""
    return tuple(dict.fromkeys((*graph.with_label("Sensor"), *graph.with_label("Actuator"))))


def find_series_references(graph: KnowledgeGraph) -> dict[str, dict[str, None]]:
    """Return only explicit time series references (``ref:hasTimeseriesId``, ``brick:timeseries``) of ``graph``."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for key in SERIES_PROPERTIES:
        for node in graph.with_property(key):
            holders = [edge.source for edge in graph.in_edges(node, _REFERENCE_LINKS)] or [node]
            for holder in holders:
                for value in list_values(graph.value(node, key)):
                    found[str(value)][holder] = None
    return found


def find_identifiers(graph: KnowledgeGraph, sensor: str) -> list[str]:
    """Return the identifiers of a ``sensor`` node and of the points where it connects."""
    holders = [sensor, *(edge.target for edge in graph.out_edges(sensor, "connectsAt"))]
    return [str(value) for holder in holders for value in list_values(graph.value(holder, "identifier"))]


def compile_rule(rule: NameRule) -> list[Matcher]:
    """Compile a rule, in any form that ``bind`` accepts, to functions that are tried in order."""
    if isinstance(rule, list | tuple):
        return [matcher for part in rule for matcher in compile_rule(part)]
    if isinstance(rule, re.Pattern):
        return [_expression_matcher(rule)]
    if isinstance(rule, str):
        return [_expression_matcher(_compile_expression(rule))] if "(?P<" in rule else [_template_matcher(rule)]
    if isinstance(rule, Mapping):
        return [_mapping_matcher(rule)]
    if callable(rule):
        return [_function_matcher(rule)]
    raise ConfigError(
        f"a rule cannot be of type {type(rule).__name__}",
        hint="pass a template, a regular expression, a mapping or a function",
    )


def _compile_expression(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise ConfigError(f"the rule {expression!r} is not a valid regular expression: {error}") from error


def _expression_matcher(pattern: re.Pattern[str]) -> Matcher:
    if "node" not in pattern.groupindex:
        raise ConfigError(f"the rule {pattern.pattern!r} has no group 'node'", hint="name the group with (?P<node>…)")

    def match_sensor(sensor: str, directory: NodeDirectory) -> NodeMatch:
        match = pattern.fullmatch(sensor)
        if match is None:
            return NodeMatch()
        groups = match.groupdict()
        return directory.look_up(groups["node"] or "", label=groups.get("label"), kind=groups.get("kind"))

    return match_sensor


def _template_matcher(template: str) -> Matcher:
    try:
        parts = [(literal, name) for literal, name, _, _ in Formatter().parse(template)]
    except ValueError as error:
        raise ConfigError(f"the rule {template!r} is not a valid template: {error}") from error
    names = [name for _, name in parts if name is not None]
    if "node" not in names or not set(names) <= _PLACEHOLDERS or len(set(names)) < len(names):
        raise ConfigError(
            f"the rule {template!r} is not a valid template",
            hint="use {node} once, and optionally {kind} and {label}, as in '{kind}_{node}'",
        )

    def match_sensor(sensor: str, directory: NodeDirectory) -> NodeMatch:
        combined = NodeMatch()
        nodes: dict[str, None] = {}
        for values in _parse_template(parts, sensor):
            match = directory.look_up(values["node"], label=values.get("label"), kind=values.get("kind"))
            if match.node is not None:
                nodes[match.node] = None
            combined = combined.or_else(match)
        # 'a_b_c' can be split in several ways; all that lead to a node must lead to the same one.
        if len(nodes) == 1:
            way = combined.way if len(parts) == 1 else "parts of their names"
            return NodeMatch(next(iter(nodes)), way=way)
        return NodeMatch(None, combined.sought, tuple(nodes) or combined.candidates)

    return match_sensor


def _parse_template(parts: list[tuple[str, str | None]], text: str) -> Iterator[dict[str, str]]:
    """All values of the placeholders with which a template gives ``text``."""
    (literal, name), rest = parts[0], parts[1:]
    if not text.startswith(literal):
        return
    text = text[len(literal) :]
    if name is None:
        if not text and not rest:
            yield {}
        return
    if not rest:
        if text:
            yield {name: text}
        return
    mark = rest[0][0]
    position = text.find(mark, 1)
    while position > 0:
        for others in _parse_template(rest, text[position:]):
            yield {name: text[:position], **others}
        position = text.find(mark, position + 1)


def _mapping_matcher(rules: Mapping[str, str | Iterable[str]]) -> Matcher:
    compiled = [
        (_compile_expression(expression), (templates,) if isinstance(templates, str) else tuple(templates))
        for expression, templates in rules.items()
    ]
    for pattern, templates in compiled:
        for template in templates:
            used = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
            if not used <= pattern.groupindex.keys():
                undefined = ", ".join(sorted(used - pattern.groupindex.keys()))
                raise ConfigError(
                    f"'{template}' uses {undefined}, which is not a group of {pattern.pattern!r}",
                    hint="name the group with (?P<name>…)",
                )

    def match_sensor(sensor: str, directory: NodeDirectory) -> NodeMatch:
        combined = NodeMatch()
        for pattern, templates in compiled:
            match = pattern.fullmatch(sensor)
            for template in templates if match else ():
                assert match is not None
                groups = {key: value or "" for key, value in match.groupdict().items()}
                combined = combined.or_else(directory.look_up(template.format(**groups)))
                if combined.node is not None:
                    return combined
        return combined

    return match_sensor


def _function_matcher(function: Callable[[str], str | None]) -> Matcher:
    def match_sensor(sensor: str, directory: NodeDirectory) -> NodeMatch:
        name = function(sensor)
        if name is None:
            return NodeMatch()
        if not isinstance(name, str):
            raise BindingError(
                f"the rule must return a string or None, got {name!r} for sensor '{sensor}'",
                hint="return the id of a node, or None for no match",
            )
        return directory.look_up(name)

    return match_sensor


_STORED_AT = "storedAt"


def references_in(graph: KnowledgeGraph, files: Iterable[str]) -> KnowledgeGraph:
    """Return a graph without the time series references to other files.

    A reference without ``storedAt`` is kept. If no reference names one of the files, nothing is left out.

    Args:
        graph: The knowledge graph.
        files: The paths of the files that are read.

    Examples:
        >>> from thence.data.graph.knowledge_graph import Node
        >>> both = [Node(x, properties={"timeseries": "1", "storedAt": f"{x}.csv"}) for x in ("north", "south")]
        >>> [sorted(node.properties) for node in references_in(KnowledgeGraph(both), ["data/south.csv"]).nodes.values()]
        [['storedAt'], ['storedAt', 'timeseries']]
    """
    wanted = {name for path in files for name in _file_names(path)}
    stored = {id: set(_file_names(text)) for id in graph.nodes if (text := _stored_at(graph, id))}
    if not any(names & wanted for names in stored.values()):
        return graph
    nodes = []
    for node in graph.nodes.values():
        if node.id in stored and not stored[node.id] & wanted:
            kept = {name: value for name, value in node.properties.items() if name not in SERIES_PROPERTIES}
            node = replace(node, properties=kept)
        nodes.append(node)
    return KnowledgeGraph(nodes, graph.edges.values(), dated=graph.dated, property_units=graph.property_units)


def _stored_at(graph: KnowledgeGraph, id: str) -> str:
    """Return where the series of a reference is stored: a value, or the name of the node that it links to."""
    value = graph.nodes[id].properties.get(_STORED_AT)
    if value is not None:
        return join_values(list_values(value))
    linked = [edge.target for edge in graph.out_edges(id, _STORED_AT)]
    return join_values(list_values(graph.value(linked[0], "name"))) or linked[0] if linked else ""


def _file_names(path: str) -> tuple[str, str]:
    """Return the name of a file with and without its suffix, whatever the case and the folder."""
    name = PurePath(path.replace("\\", "/")).name.casefold()
    return name, PurePath(name).stem
