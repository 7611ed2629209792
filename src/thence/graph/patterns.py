"""Patterns: small graphs with variables, and their text form.

A pattern says *where* a lifted rule speaks: which nodes, how they are linked, which of them carry which readings. The
text form follows Cypher::

    (f:flow)-[in]->(p:Pipe)-[connected]-(j:Junction)<-[in]-(g:pressure)

Nodes that hang on ``[in]`` are sensors, by kind; all others are nodes of the graph, by class. ``[in?]`` is a sensor
that the node may lack, but a node with such sensors has at least one of them. Capitals count: ``[IN]`` is a relation of
the graph, and so is ``in`` in backticks. A *star* adds roles: sets of neighbours
of a focus whose readings are aggregated, behind a bar, each a path from the focus and a kind::

    (j:Junction)<-[in]-(d:demand) | arriving: <-[ends_at]-(Pipe).flow | leaving: <-[starts_at]-(Pipe).flow

This module reads and writes patterns; finding them in a graph is the job of ``thence.graph.matching``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from thence.errors import PatternError
from thence.rules.items import quote

__all__ = ["Link", "NodeVariable", "Pattern", "Role", "SensorVariable", "Step"]

BINDING = "in"


@dataclass(frozen=True, slots=True, order=True)
class NodeVariable:
    """A node of the graph, by class (an empty label matches every node)."""

    name: str
    label: str = ""

    def __str__(self) -> str:
        return f"({quote(self.name)}{':' + quote(self.label) if self.label else ''})"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """An edge between two variables; an undirected one may run either way. An empty label matches every edge."""

    source: str
    target: str
    label: str = ""
    directed: bool = True


@dataclass(frozen=True, slots=True, order=True)
class SensorVariable:
    """A sensor of a kind that is bound to the node of a variable (an empty kind matches every sensor)."""

    name: str
    kind: str
    host: str
    optional: bool = False

    def __str__(self) -> str:
        return f"({quote(self.name)}:{quote(self.kind)})-[in{'?' if self.optional else ''}]->({quote(self.host)})"


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One edge of the path to a role: ``out`` follows an edge forward, ``in`` backward, ``any`` either way."""

    label: str
    direction: str
    target: str

    def __str__(self) -> str:
        edge = f"[{quote(self.label)}]" if self.label else "[]"
        arrow = {"out": f"-{edge}->", "in": f"<-{edge}-", "any": f"-{edge}-"}[self.direction]
        return f"{arrow}({quote(self.target) if self.target else ''})"


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """Neighbours of the focus that are reached by a path, and the kind of reading that is aggregated over them."""

    name: str
    steps: tuple[Step, ...]
    kind: str

    def __str__(self) -> str:
        return f"{quote(self.name)}: {''.join(map(str, self.steps))}.{quote(self.kind)}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Variables, links between them, their sensors and, for a star, the roles around its first variable.

    >>> p = Pattern.parse("(f:flow)-[in]->(p:Pipe)-[starts_at]->(j:Junction)<-[in]-(g:pressure)")
    >>> [v.name for v in p.nodes], [(s.kind, s.host) for s in p.sensors]
    (['p', 'j'], [('flow', 'p'), ('pressure', 'j')])
    >>> Pattern.parse(str(p)) == p
    True
    """

    nodes: tuple[NodeVariable, ...]
    links: tuple[Link, ...] = ()
    sensors: tuple[SensorVariable, ...] = ()
    roles: tuple[Role, ...] = ()

    def __post_init__(self) -> None:
        # Variables stand in the order in which the text form names them, so that it reads back to an equal pattern.
        named = dict.fromkeys(end for link in self.links for end in (link.source, link.target))
        focus = [self.nodes[0].name] if self.roles else []  # roles start at the variable that was named first
        order = list(dict.fromkeys([*focus, *named, *(v.name for v in self.nodes)]))
        object.__setattr__(self, "nodes", tuple(sorted(self.nodes, key=lambda v: order.index(v.name))))

    @staticmethod
    def parse(text: str) -> Pattern:
        """Read the text form; an error points at the character where reading stopped."""
        return _Reader(text).pattern()

    @property
    def is_star(self) -> bool:
        """Whether readings of neighbours are aggregated."""
        return bool(self.roles)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the node variables, then of the sensor variables."""
        return (*(v.name for v in self.nodes), *(s.name for s in self.sensors))

    def label_of(self, variable: str) -> str:
        """The class of a node variable."""
        return next(v.label for v in self.nodes if v.name == variable)

    def __str__(self) -> str:
        parts: list[str] = []
        known = {v.name: v for v in self.nodes}
        shown: set[str] = set()

        def node(name: str) -> str:
            if name in shown:
                return f"({quote(name)})"
            shown.add(name)
            return str(known[name])

        if self.roles and self.links and self.links[0].source != self.nodes[0].name:
            parts.append(node(self.nodes[0].name))
        for link in self.links:
            label = f"[{quote(link.label)}]" if link.label else "[]"
            parts.append(f"{node(link.source)}-{label}-{'>' if link.directed else ''}{node(link.target)}")
        parts += [node(v.name) for v in self.nodes if v.name not in shown]
        parts += [str(sensor) for sensor in self.sensors]
        return " | ".join([", ".join(parts), *map(str, self.roles)])

    @property
    def english(self) -> str:
        """Where the pattern holds, in words."""
        names = {v.name: f"{v.label or 'node'} {v.name}" for v in self.nodes}
        if not self.links:
            return f"for every {names[self.nodes[0].name]}" if self.nodes else ""
        clauses = []
        for link in self.links:
            relation = link.label.replace("_", " ") or "is linked to"
            if not link.directed:
                relation = "is connected to" if link.label == "connected" else f"is linked by {relation} to"
            clauses.append(f"{link.source} {relation} {link.target}")
        return f"for every {', '.join(names.values())} where {' and '.join(clauses)}"

    def automorphisms(self) -> Iterator[dict[str, str]]:
        """Renamings of the node variables that leave the pattern as it is, the identity first."""
        names = [v.name for v in self.nodes]
        looks = {name: self._look(name) for name in names}
        links = {_canonical(link) for link in self.links}
        closing: dict[str, list[Link]] = {name: [] for name in names}
        for link in links:
            closing[max(link.source, link.target, key=names.index)].append(link)

        def extend(mapping: dict[str, str]) -> Iterator[dict[str, str]]:
            if len(mapping) == len(names):
                yield dict(mapping)
                return
            name = names[len(mapping)]
            for other in [n for n in names if looks[n] == looks[name] and n not in mapping.values()]:
                mapping[name] = other
                moved = (Link(mapping[k.source], mapping[k.target], k.label, k.directed) for k in closing[name])
                if all(_canonical(link) in links for link in moved):
                    yield from extend(mapping)
                del mapping[name]

        yield from extend({})

    def _look(self, name: str) -> tuple[object, ...]:
        """What a symmetry cannot change in a variable: class, kinds, links, and being the focus of a star."""
        ends = [
            (link.label, link.directed, link.directed and end == link.source)
            for link in {_canonical(link) for link in self.links}
            for end in (link.source, link.target)
            if end == name
        ]
        kinds = sorted((s.kind, s.optional) for s in self.sensors if s.host == name)
        return self.label_of(name), kinds, sorted(ends), bool(self.roles) and name == self.nodes[0].name


def _canonical(link: Link) -> Link:
    if link.directed or link.source <= link.target:
        return link
    return Link(link.target, link.source, link.label, False)


_NAME = r"[^\W\d]\w*|`(?:[^`]|``)*`"
_NODE = re.compile(rf"\(\s*(?P<name>{_NAME})?\s*(?::\s*(?P<label>{_NAME}))?\s*\)")
_EDGE = re.compile(rf"(?P<left><)?-\s*(?:\[\s*:?\s*(?P<label>{_NAME})?(?P<maybe>\?)?\s*\]\s*)?-?(?P<right>>)?")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class _Written:
    """An edge as it stands in the text: whether it binds a sensor, whether with a question mark, and where."""

    link: Link
    binding: bool
    maybe: bool
    at: int


class _Reader:
    """A hand-written reader: the grammar is small, and errors must point at a character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nodes: dict[str, str] = {}
        self.links: list[_Written] = []
        self.anonymous = 0

    def fail(self, message: str, at: int | None = None) -> PatternError:
        place = self.at if at is None else at
        pointer = " " * place + "^"
        return PatternError(f"{message} at character {place + 1} of the pattern\n  {self.text}\n  {pointer}")

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def take(self, expression: re.Pattern[str], expected: str) -> re.Match[str]:
        self.skip()
        match = expression.match(self.text, self.at)
        if match is None:
            raise self.fail(f"expected {expected}")
        self.at = match.end()
        return match

    def more(self, character: str) -> bool:
        self.skip()
        if self.text[self.at : self.at + 1] == character:
            self.at += 1
            return True
        return False

    def node(self) -> str:
        start = self.at
        match = self.take(_NODE, "a node such as (j:Junction)")
        label = _unquote(match["label"])
        name = _unquote(match["name"])
        if not name:
            self.anonymous += 1
            name = f"_{self.anonymous}"
        if self.nodes.get(name) and label and self.nodes[name] != label:
            raise self.fail(f"variable '{name}' already has the label '{self.nodes[name]}'", start)
        self.nodes[name] = label or self.nodes.get(name, "")
        return name

    def chain(self) -> None:
        left = self.node()
        while True:
            self.skip()
            start = self.at
            if self.text[start : start + 1] not in ("-", "<"):
                return
            match = self.take(_EDGE, "an edge such as -[connected]->")
            if match["left"] and match["right"]:
                raise self.fail("an edge points one way only", start)
            right = self.node()
            ends = (right, left) if match["left"] else (left, right)
            link = Link(*ends, _unquote(match["label"]), bool(match["left"] or match["right"]))
            # A relation of the graph may be called `in` too, and is then written in backticks.
            self.links.append(_Written(link, match["label"] == BINDING, bool(match["maybe"]), start))
            left = right

    def pattern(self) -> Pattern:
        if not self.text.strip():
            raise PatternError("the pattern is empty", hint="for example (f:flow)-[in]->(p:Pipe)")
        self.chain()
        while self.more(","):
            self.chain()
        roles = []
        while self.more("|"):
            roles.append(self.role())
        self.skip()
        if self.at < len(self.text):
            raise self.fail("unexpected text")
        return self.build(tuple(roles))

    def role(self) -> Role:
        match = self.take(re.compile(rf"(?P<name>{_NAME})\s*:"), "a role such as arriving: <-[ends_at]-(Pipe).flow")
        steps = []
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] not in ("-", "<"):
                break
            edge = self.take(_EDGE, "an edge")
            target = self.take(re.compile(rf"\(\s*(?P<label>{_NAME})?\s*\)"), "a class such as (Pipe)")
            direction = "in" if edge["left"] else "out" if edge["right"] else "any"
            steps.append(Step(_unquote(edge["label"]), direction, _unquote(target["label"])))
        if not steps:
            raise self.fail("a role needs a path such as <-[ends_at]-(Pipe)")
        kind = self.take(re.compile(rf"\.\s*(?P<kind>{_NAME})"), "a kind such as .flow")
        return Role(_unquote(match["name"]), tuple(steps), _unquote(kind["kind"]))

    def build(self, roles: tuple[Role, ...]) -> Pattern:
        sensors: dict[str, SensorVariable] = {}
        links: list[Link] = []
        for written in self.links:
            link, source = written.link, written.link.source
            if written.binding:
                if not link.directed:
                    raise self.fail("[in] points from the sensor to its node", written.at)
                if source in sensors:
                    raise self.fail(f"sensor '{source}' can be in one node only", written.at)
                sensors[source] = SensorVariable(source, self.nodes[source], link.target, written.maybe)
            else:
                if written.maybe:
                    raise self.fail("only [in?] may be optional", written.at)
                links.append(link)
        for link in links:
            for end in (link.source, link.target):
                if end in sensors:
                    raise PatternError(
                        f"'{end}' is a sensor and takes part in the edge '{link.label}'",
                        hint="sensors only have the edge [in]",
                    )
        for sensor in sensors.values():
            if sensor.host in sensors:
                raise PatternError(f"sensor '{sensor.name}' is in '{sensor.host}', which is a sensor itself")
        nodes = tuple(NodeVariable(name, label) for name, label in self.nodes.items() if name not in sensors)
        return Pattern(nodes, tuple(links), tuple(sensors.values()), roles)


def _unquote(name: str | None) -> str:
    if name is None:
        return ""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
