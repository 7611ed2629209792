"""From the names of sensors to nodes of a graph: rules over names and the directory they are looked up in.

A rule reads a node's name (and, where it can, a class and a quantity) out of a sensor's name; the directory knows
which nodes go by a name: by id, by the time series references of Brick, by the identifiers of SOSA sensors, by the
property ``name``, by IRI. Class and quantity decide between nodes of the same name, as EPANET allows them. A name that
still fits several nodes fits none. This module must not guess: near misses are for messages only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter
from typing import TypeAlias

from thence.errors import BindingError, ConfigError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph

__all__ = [
    "DEFAULT",
    "Directory",
    "Finding",
    "Rule",
    "compile_rule",
    "devices",
    "identifiers",
    "references",
    "series_references",
]

SimpleRule: TypeAlias = "str | re.Pattern[str] | Mapping[str, str | Iterable[str]] | Callable[[str], str | None]"
Rule: TypeAlias = "SimpleRule | list[SimpleRule] | tuple[SimpleRule, ...]"
Attempt: TypeAlias = "Callable[[str, Directory], Finding]"

_LINKS = frozenset({"Link", "Pipe", "Pump", "Valve"})
_LINK_KINDS = frozenset({"flow", "velocity", "headloss", "status", "setting", "power", "energy"})
_NODE_KINDS = frozenset({"pressure", "head", "demand", "level", "quality", "chlorine", "age"})
_REFERENCE_LINKS = ("hasExternalReference", "hasTimeseriesReference", "timeseries")
_SERIES_PROPERTIES = ("hasTimeseriesId", "timeseries", "timeseriesId")
_PLACEHOLDERS = {"node", "kind", "label"}
# Tried in this order; the plain name comes first, so an exact match is never read as a composed name.
DEFAULT: tuple[str, ...] = ("{node}", "{label}_{node}_{kind}", "{label}_{node}", "{kind}_{node}")


@dataclass(frozen=True)
class Finding:
    """What a rule made of a sensor's name: a node, or the names it looked for and the nodes between which it stood."""

    node: str | None = None
    sought: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    mistake: str = ""

    def or_else(self, other: Finding) -> Finding:
        """The other finding where it found a node, else both failures together."""
        if other.node is not None:
            return other
        sought = tuple(dict.fromkeys((*self.sought, *other.sought)))
        return Finding(None, sought, tuple(dict.fromkeys((*self.candidates, *other.candidates))))

    def reason(self, directory: Directory, sensor: str, *, near_miss: bool) -> str:
        """Why there is no node, for people."""
        if self.mistake:
            return self.mistake
        if self.candidates:
            return f"fits several nodes: {', '.join(self.candidates)}"
        hint = directory.near_miss((*self.sought, sensor)) if near_miss else None
        tried = [f"'{name}'" for name in self.sought if name != sensor]
        what = f"there is no node {' or '.join(tried)}" if tried else "no node is called that"
        return what + (f" ({hint})" if hint else "")


class Directory:
    """The nodes of a graph under all the names they go by."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for node in self.graph.nodes.values():
            for key in ("name", "iri"):
                if key in node.properties:
                    found[str(node.properties[key])].append(node.id)
        return {name: tuple(ids) for name, ids in found.items()}

    @cached_property
    def _references(self) -> Mapping[str, tuple[str, ...]]:
        return references(self.graph)

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return {label.lower(): label for label in self.graph.labels}

    def look_up(self, name: str, *, label: str | None = None, kind: str | None = None) -> Finding:
        """The one node of that name; ``label`` (a class, ``Node`` or ``Link``) and ``kind`` (a quantity) choose."""
        if label is not None and label.lower() not in ("node", "link") and label.lower() not in self._labels:
            return Finding()
        candidates: tuple[str, ...] = (name,) if name in self.graph.nodes else ()
        candidates = candidates or self._references.get(name, ()) or self._by_name.get(name, ())
        if label is not None:
            candidates = tuple(c for c in candidates if self._is(c, label))
        if len(candidates) > 1 and kind is not None:
            side = "link" if kind.lower() in _LINK_KINDS else "node" if kind.lower() in _NODE_KINDS else None
            candidates = tuple(c for c in candidates if side is None or self._is(c, side))
        if len(candidates) == 1:
            return Finding(candidates[0])
        return Finding(None, (name,), candidates)

    def _is(self, node_id: str, label: str) -> bool:
        labels = self.graph.nodes[node_id].labels
        if label.lower() in ("node", "link") and label.lower() not in self._labels:
            return bool(labels & _LINKS) == (label.lower() == "link")
        return self._labels[label.lower()] in labels

    def near_miss(self, names: Iterable[str]) -> str | None:
        """A hint with the nearest name that a node goes by."""
        known = {**self.graph.nodes, **self._references, **self._by_name}
        return next((hint for name in names if (hint := nearest(name, known))), None)


def references(graph: KnowledgeGraph) -> Mapping[str, tuple[str, ...]]:
    """The nodes of the time series that the graph itself speaks of, by the id of the series.

    A series is referred to by ``hasTimeseriesId`` or ``timeseries``, on the node or on a reference node that it
    ``hasExternalReference`` to (Brick, old and new), or by the ``identifier`` of a SOSA sensor or actuator or of the
    point that it ``connectsAt``.

    >>> from thence.graph.knowledge_graph import Edge, Node
    >>> graph = KnowledgeGraph(
    ...     [Node("zone_temp", frozenset({"Point"})), Node("ref", properties={"hasTimeseriesId": "42"})],
    ...     [Edge("e", "zone_temp", "ref", frozenset({"hasExternalReference"}))],
    ... )
    >>> dict(references(graph))
    {'42': ('zone_temp',)}
    """
    found = series_references(graph)
    for device in devices(graph):
        for name in identifiers(graph, device):
            found.setdefault(name, {})[device] = None
    return {name: tuple(nodes) for name, nodes in found.items()}


def devices(graph: KnowledgeGraph) -> tuple[str, ...]:
    """The SOSA sensors and actuators of the graph."""
    return tuple(dict.fromkeys((*graph.with_label("Sensor"), *graph.with_label("Actuator"))))


def series_references(graph: KnowledgeGraph) -> dict[str, dict[str, None]]:
    """Only what is written as a time series reference (``ref:hasTimeseriesId``, ``brick:timeseries``)."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for key in _SERIES_PROPERTIES:
        for node in graph.with_property(key):
            holders = [edge.source for edge in graph.in_edges(node, _REFERENCE_LINKS)] or [node]
            for holder in holders:
                found[str(graph.value(node, key))][holder] = None
    return found


def identifiers(graph: KnowledgeGraph, sensor: str) -> list[str]:
    """The identifiers of a sensor and of the points where it connects."""
    holders = [sensor, *(edge.target for edge in graph.out_edges(sensor, "connectsAt"))]
    return [str(value) for holder in holders if (value := graph.value(holder, "identifier")) is not None]


def compile_rule(rule: Rule) -> list[Attempt]:
    """A rule, in any of the forms that ``bind`` takes, as functions to try in order."""
    if isinstance(rule, list | tuple):
        return [attempt for part in rule for attempt in compile_rule(part)]
    if isinstance(rule, re.Pattern):
        return [_expression(rule)]
    if isinstance(rule, str):
        return [_expression(_compiled(rule))] if "(?P<" in rule else [_template(rule)]
    if isinstance(rule, Mapping):
        return [_rewriting(rule)]
    if callable(rule):
        return [_function(rule)]
    raise ConfigError(
        f"a rule cannot be a {type(rule).__name__}", hint="give a template, an expression, a mapping or a function"
    )


def _compiled(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise ConfigError(f"the rule {expression!r} is not a regular expression: {error}") from error


def _expression(pattern: re.Pattern[str]) -> Attempt:
    if "node" not in pattern.groupindex:
        raise ConfigError(f"the rule {pattern.pattern!r} has no group 'node'", hint="write (?P<node>…)")

    def attempt(sensor: str, directory: Directory) -> Finding:
        match = pattern.fullmatch(sensor)
        if match is None:
            return Finding()
        groups = match.groupdict()
        return directory.look_up(groups["node"] or "", label=groups.get("label"), kind=groups.get("kind"))

    return attempt


def _template(template: str) -> Attempt:
    try:
        parts = [(literal, name) for literal, name, _, _ in Formatter().parse(template)]
    except ValueError as error:
        raise ConfigError(f"the rule {template!r} is not a template: {error}") from error
    names = [name for _, name in parts if name is not None]
    if "node" not in names or not set(names) <= _PLACEHOLDERS or len(set(names)) < len(names):
        raise ConfigError(
            f"the rule {template!r} cannot be used",
            hint="a template has {node} once and may have {kind} and {label}, such as '{kind}_{node}'",
        )

    def attempt(sensor: str, directory: Directory) -> Finding:
        finding = Finding()
        fitting: dict[str, None] = {}
        for values in _readings(parts, sensor):
            reading = directory.look_up(values["node"], label=values.get("label"), kind=values.get("kind"))
            if reading.node is not None:
                fitting[reading.node] = None
            finding = finding.or_else(reading)
        # 'a_b_c' can be read in several ways; all that lead to a node must lead to the same one.
        if len(fitting) == 1:
            return Finding(next(iter(fitting)))
        return Finding(None, finding.sought, tuple(fitting) or finding.candidates)

    return attempt


def _readings(parts: list[tuple[str, str | None]], text: str) -> Iterator[dict[str, str]]:
    """All ways in which a template can be read into a text."""
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
        for others in _readings(rest, text[position:]):
            yield {name: text[:position], **others}
        position = text.find(mark, position + 1)


def _rewriting(rules: Mapping[str, str | Iterable[str]]) -> Attempt:
    compiled = [
        (_compiled(expression), (templates,) if isinstance(templates, str) else tuple(templates))
        for expression, templates in rules.items()
    ]
    for pattern, templates in compiled:
        for template in templates:
            used = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
            if not used <= pattern.groupindex.keys():
                strange = ", ".join(sorted(used - pattern.groupindex.keys()))
                raise ConfigError(
                    f"'{template}' uses {strange}, which {pattern.pattern!r} does not name", hint="write (?P<name>…)"
                )

    def attempt(sensor: str, directory: Directory) -> Finding:
        finding = Finding()
        for pattern, templates in compiled:
            match = pattern.fullmatch(sensor)
            for template in templates if match else ():
                assert match is not None
                groups = {key: value or "" for key, value in match.groupdict().items()}
                finding = finding.or_else(directory.look_up(template.format(**groups)))
                if finding.node is not None:
                    return finding
        return finding

    return attempt


def _function(function: Callable[[str], str | None]) -> Attempt:
    def attempt(sensor: str, directory: Directory) -> Finding:
        name = function(sensor)
        if name is None:
            return Finding()
        if not isinstance(name, str):
            raise BindingError(f"the rule gave {name!r} for sensor '{sensor}'", hint="return a node id or None")
        return directory.look_up(name)

    return attempt
