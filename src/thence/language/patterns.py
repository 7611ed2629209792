"""Patterns: small graphs with variables, and their text form.

A pattern defines *where* a lifted rule applies: which nodes, how they are linked, and which sensors they have. The text
form follows Cypher::

    (f:flow)-[in]->(p:Pipe)-[connected]-(j:Junction)<-[in]-(g:pressure)

A variable with an outgoing edge ``[in]`` is a sensor, given by its kind; all other variables are nodes of the graph,
given by their class. With ``[in?]`` the sensor is optional, but of all optional sensors of a node at least one must
exist. Case matters: ``[IN]`` is a relation of the graph, and so is ``in`` in backticks. With ``[in*]`` or ``[in*?]``
the sensor may also be at a point of the node, given by its role there (``thence.data.graph.units``); a pattern with an
asterisk finds no sensor at its point. A *star* adds roles: groups of neighbours of the focus (the first variable) whose
readings are aggregated. Each role follows a bar and consists of a name, a path from the focus, and a kind, with an
asterisk if the sensors may be at points::

    (j:Junction)<-[in]-(d:demand) | arriving: <-[ends_at]-(Pipe).flow | leaving: <-[starts_at]-(Pipe).flow

Where sensors are sparse, a role is the nearest nodes of a class with a sensor of the kind, along any number of edges of
a relation, or of any relation with ``-[*]-``::

    (j:Junction)<-[in]-(p:pressure) | around: nearest 3 -[connected*]-(Junction).pressure

This module parses and writes patterns. It must not look at a graph: ``thence.data.graph.matching`` finds the
embeddings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from thence.errors import PatternError
from thence.language.items import quote

BINDING = "in"
"""The label that binds a sensor to its node."""
MOST_NEAREST = 100
"""The greatest number of nearest nodes in a role: the search keeps that many for every node of a graph."""


@dataclass(frozen=True, slots=True, order=True)
class NodeVariable:
    """A variable for a node of the graph.

    Args:
        name: The name of the variable.
        label: The class of the node; an empty string matches every node.
    """

    name: str
    label: str = ""

    def __str__(self) -> str:
        return f"({quote(self.name)}{':' + quote(self.label) if self.label else ''})"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """An edge between two node variables.

    Args:
        source: The variable where the edge starts.
        target: The variable where the edge ends.
        label: The relation; an empty string matches every edge.
        directed: Whether the direction matters; an undirected link matches edges in both directions.
    """

    source: str
    target: str
    label: str = ""
    directed: bool = True


@dataclass(frozen=True, slots=True, order=True)
class SensorVariable:
    """A variable for a sensor that is bound to the node of another variable.

    Args:
        name: The name of the variable.
        kind: The kind of the sensor; an empty string matches every sensor.
        host: The node variable to which the sensor is bound.
        optional: Whether the node may lack this sensor.
        points: Whether the sensor may be at a point of the node, as found by ``thence.data.graph.units``.
    """

    name: str
    kind: str
    host: str
    optional: bool = False
    points: bool = False

    def __str__(self) -> str:
        label = f"in{'*' * self.points}{'?' * self.optional}"
        return f"({quote(self.name)}:{quote(self.kind)})-[{label}]->({quote(self.host)})"


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One edge of the path from the focus of a star to the nodes of a role.

    Args:
        label: The relation to follow; an empty string follows every edge.
        direction: ``"out"`` follows edges forward, ``"in"`` backward, ``"any"`` both ways.
        target: The class of the node that is reached; an empty string matches every node.
    """

    label: str
    direction: str
    target: str

    def __str__(self) -> str:
        return self.text()

    def text(self, *, repeated: bool = False) -> str:
        """Return the text form of the step.

        Args:
            repeated: Whether the step stands for any number of edges, which an asterisk says.
        """
        edge = f"[{quote(self.label) if self.label else ''}{'*' * repeated}]"
        arrow = {"out": f"-{edge}->", "in": f"<-{edge}-", "any": f"-{edge}-"}[self.direction]
        return f"{arrow}({quote(self.target) if self.target else ''})"


@dataclass(frozen=True, slots=True, order=True)
class StarRole:
    """A group of neighbours of the focus of a star, whose readings are aggregated.

    Args:
        name: The name of the role, such as ``"Pipes that end there"``.
        steps: The path from the focus to the neighbours.
        kind: The kind of sensor whose readings are aggregated.
        points: Whether the sensors may be at points of the neighbours.
        nearest: If not 0, the role is this many nodes: the nearest with such a sensor, by the number of edges. The path
            is then one step, which is repeated; its class is that of the nodes of the role.
    """

    name: str
    steps: tuple[Step, ...]
    kind: str
    points: bool = False
    nearest: int = 0

    def __post_init__(self) -> None:
        if self.nearest and len(self.steps) != 1:
            raise PatternError(f"the role '{self.name}' of nearest nodes must have one step, got {len(self.steps)}")

    @property
    def name_of_one(self) -> str:
        """The name of the role with one member: ``Pipe that starts there`` for ``Pipes that start there``."""
        target = self.steps[-1].target
        name = self.name.removeprefix(f"{self.nearest} ") if self.nearest else self.name
        for noun in (target.replace("_", " ") or "node", target):
            if noun and f"{noun}s" in name:
                name = name.replace(f"{noun}s", noun, 1)
                break
        before, that, verbs = name.partition(" that ")
        if not that or verbs.startswith("it "):
            return name
        verb, _, rest = verbs.partition(" ")
        verb = {"have": "has", "are": "is"}.get(verb, f"{verb}s")
        return f"{before} that {verb} {rest}".rstrip()

    def __str__(self) -> str:
        path = (
            f"nearest {self.nearest} {self.steps[0].text(repeated=True)}"
            if self.nearest
            else "".join(map(str, self.steps))
        )
        return f"{quote(self.name)}: {path}.{quote(self.kind)}{'*' * self.points}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A small graph with variables; usually created by ``Pattern.parse``.

    Args:
        nodes: The node variables.
        links: The edges between them.
        sensors: The sensor variables.
        roles: For a star, the groups of neighbours around its focus, the first node variable.

    Examples:
        >>> p = Pattern.parse("(f:flow)-[in]->(p:Pipe)-[starts_at]->(j:Junction)<-[in]-(g:pressure)")
        >>> [v.name for v in p.nodes], [(s.kind, s.host) for s in p.sensors]
        (['p', 'j'], [('flow', 'p'), ('pressure', 'j')])
        >>> Pattern.parse(str(p)) == p
        True
    """

    nodes: tuple[NodeVariable, ...]
    links: tuple[Link, ...] = ()
    sensors: tuple[SensorVariable, ...] = ()
    roles: tuple[StarRole, ...] = ()

    def __post_init__(self) -> None:
        # Variables are ordered as in the text form, so that parsing the text gives an equal pattern.
        named = dict.fromkeys(end for link in self.links for end in (link.source, link.target))
        focus = [self.nodes[0].name] if self.roles else []  # the first variable is the focus
        order = list(dict.fromkeys([*focus, *named, *(v.name for v in self.nodes)]))
        object.__setattr__(self, "nodes", tuple(sorted(self.nodes, key=lambda v: order.index(v.name))))

    @staticmethod
    def parse(text: str) -> Pattern:
        """Parse the text form of a pattern.

        Args:
            text: The pattern, such as ``"(f:flow)-[in]->(p:Pipe)"``.

        Raises:
            PatternError: If the text is not a pattern; the message points at the character.
        """
        return _PatternParser(text).pattern()

    @property
    def is_star(self) -> bool:
        """Whether the pattern has roles, over which readings are aggregated."""
        return bool(self.roles)

    @property
    def has_points(self) -> bool:
        """Whether a sensor of the pattern may be at a point of its node."""
        return any(sensor.points for sensor in self.sensors) or any(role.points for role in self.roles)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the node variables, then of the sensor variables."""
        return (*(v.name for v in self.nodes), *(s.name for s in self.sensors))

    def label_of(self, variable: str) -> str:
        """Return the class of a node variable.

        Args:
            variable: The name of the variable.
        """
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
        """Where the pattern applies, in words."""
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
        """Yield the renamings of node variables that leave the pattern unchanged, the identity first."""
        names = [v.name for v in self.nodes]
        invariants = {name: self._invariants(name) for name in names}
        links = {_canonical(link) for link in self.links}
        closing: dict[str, list[Link]] = {name: [] for name in names}
        for link in links:
            closing[max(link.source, link.target, key=names.index)].append(link)

        def extend(mapping: dict[str, str]) -> Iterator[dict[str, str]]:
            if len(mapping) == len(names):
                yield dict(mapping)
                return
            name = names[len(mapping)]
            for other in [n for n in names if invariants[n] == invariants[name] and n not in mapping.values()]:
                mapping[name] = other
                moved = (Link(mapping[k.source], mapping[k.target], k.label, k.directed) for k in closing[name])
                if all(_canonical(link) in links for link in moved):
                    yield from extend(mapping)
                del mapping[name]

        yield from extend({})

    def _invariants(self, name: str) -> tuple[object, ...]:
        """What an automorphism cannot change about a variable: class, kinds, links, being the focus of a star."""
        ends = [
            (link.label, link.directed, link.directed and end == link.source)
            for link in {_canonical(link) for link in self.links}
            for end in (link.source, link.target)
            if end == name
        ]
        kinds = sorted((s.kind, s.optional, s.points) for s in self.sensors if s.host == name)
        return self.label_of(name), kinds, sorted(ends), bool(self.roles) and name == self.nodes[0].name


def _canonical(link: Link) -> Link:
    """An undirected link with its ends in order; a directed link as it is."""
    if link.directed or link.source <= link.target:
        return link
    return Link(link.target, link.source, link.label, False)


_NAME = r"[^\W\d]\w*|`(?:[^`]|``)*`"
_NODE = re.compile(rf"\(\s*(?P<name>{_NAME})?\s*(?::\s*(?P<label>{_NAME}))?\s*\)")
_EDGE = re.compile(
    rf"(?P<left><)?-\s*(?:\[\s*:?\s*(?P<label>{_NAME})?(?P<points>\*)?(?P<optional>\?)?\s*\]\s*)?-?(?P<right>>)?"
)
_SPACE = re.compile(r"\s*")
_NEAREST = re.compile(r"nearest\b")


@dataclass(frozen=True, slots=True)
class _ParsedEdge:
    """An edge in the text: whether it binds a sensor, has an asterisk, has a question mark, and its position."""

    link: Link
    binding: bool
    points: bool
    optional: bool
    at: int


class _PatternParser:
    """A hand-written parser: the grammar is small, and errors must point at a character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nodes: dict[str, str] = {}
        self.edges: list[_ParsedEdge] = []
        self.anonymous = 0

    def error(self, message: str, at: int | None = None) -> PatternError:
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
            raise self.error(f"expected {expected}")
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
            raise self.error(f"variable '{name}' already has the label '{self.nodes[name]}'", start)
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
                raise self.error("an edge can point one way only", start)
            right = self.node()
            ends = (right, left) if match["left"] else (left, right)
            link = Link(*ends, _unquote(match["label"]), bool(match["left"] or match["right"]))
            # A relation of the graph that is called `in` is written in backticks.
            is_binding = match["label"] == BINDING
            self.edges.append(_ParsedEdge(link, is_binding, bool(match["points"]), bool(match["optional"]), start))
            left = right

    def pattern(self) -> Pattern:
        if not self.text.strip():
            raise PatternError("the pattern is empty", hint="write, for example, (f:flow)-[in]->(p:Pipe)")
        self.chain()
        while self.more(","):
            self.chain()
        roles = []
        while self.more("|"):
            roles.append(self.role())
        self.skip()
        if self.at < len(self.text):
            raise self.error("unexpected text")
        return self.build(tuple(roles))

    def role(self) -> StarRole:
        match = self.take(re.compile(rf"(?P<name>{_NAME})\s*:"), "a role such as arriving: <-[ends_at]-(Pipe).flow")
        nearest = self.nearest()
        steps: list[Step] = []
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] not in ("-", "<"):
                break
            start = self.at
            edge = self.take(_EDGE, "an edge")
            if nearest and (steps or not edge["points"] or edge["optional"]):
                raise self.error("the path to the nearest nodes is one edge with an asterisk, -[connected*]-", start)
            if not nearest and (edge["points"] or edge["optional"]):
                raise self.error("the path of a role is made of plain edges such as <-[ends_at]-", start)
            target = self.take(re.compile(rf"\(\s*(?P<label>{_NAME})?\s*\)"), "a class such as (Pipe)")
            direction = "in" if edge["left"] else "out" if edge["right"] else "any"
            steps.append(Step(_unquote(edge["label"]), direction, _unquote(target["label"])))
        if not steps:
            path = "-[connected*]-(Junction)" if nearest else "<-[ends_at]-(Pipe)"
            raise self.error(f"a role needs a path such as {path}")
        kind = self.take(re.compile(rf"\.\s*(?P<kind>{_NAME})(?P<points>\*)?"), "a kind such as .flow")
        return StarRole(_unquote(match["name"]), tuple(steps), _unquote(kind["kind"]), bool(kind["points"]), nearest)

    def nearest(self) -> int:
        """The number after the word ``nearest``, or 0 if the role does not begin with it."""
        self.skip()
        if not _NEAREST.match(self.text, self.at):
            return 0
        start = self.at
        count = int(
            self.take(re.compile(r"nearest\s+(?P<count>[0-9]{1,9})"), "a number of nodes such as nearest 3")["count"]
        )
        if not 1 <= count <= MOST_NEAREST:
            raise self.error(f"the number of nearest nodes must be from 1 to {MOST_NEAREST}, got {count}", start)
        return count

    def build(self, roles: tuple[StarRole, ...]) -> Pattern:
        sensors: dict[str, SensorVariable] = {}
        links: list[Link] = []
        for edge in self.edges:
            link, source = edge.link, edge.link.source
            if edge.binding:
                if not link.directed:
                    raise self.error("[in] must point from the sensor to its node", edge.at)
                if source in sensors:
                    raise self.error(f"sensor '{source}' can be bound to one node only", edge.at)
                kind = self.nodes[source]
                sensors[source] = SensorVariable(source, kind, link.target, edge.optional, edge.points)
            else:
                if edge.optional:
                    raise self.error("only [in?] can be optional", edge.at)
                if edge.points:
                    raise self.error("only [in*] can have an asterisk", edge.at)
                links.append(link)
        for link in links:
            for end in (link.source, link.target):
                if end in sensors:
                    raise PatternError(
                        f"'{end}' is a sensor and cannot have the edge '{link.label}'",
                        hint="sensors can only have the edge [in]",
                    )
        for sensor in sensors.values():
            if sensor.host in sensors:
                raise PatternError(f"sensor '{sensor.name}' is bound to '{sensor.host}', which is a sensor itself")
        nodes = tuple(NodeVariable(name, label) for name, label in self.nodes.items() if name not in sensors)
        return Pattern(nodes, tuple(links), tuple(sensors.values()), roles)


def _unquote(name: str | None) -> str:
    if name is None:
        return ""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
