"""The ontology: classes, relations, properties and known rules, and the validation of a graph against them.

Subclass reasoning walks the declared parents and caches the result; nothing is added to the graph or the ontology. This
module must not parse files (see ``thence.data.loaders``), except the water ontology that ships with the package.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeVar

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.errors import ConfigError, GraphError, nearest
from thence.language.known import KnownRule

Single = TypeVar("Single", str, bool)
ADMINISTRATIVE = frozenset(
    {
        *("iri", "label", "prefLabel", "altLabel", "comment", "definition", "description", "title", "seeAlso"),
        *("isDefinedBy", "identifier", "created", "modified", "creator", "license"),
    }
)
"""Properties with names, comments and sources, which ``Ontology.validate`` skips by default."""


@dataclass(frozen=True)
class Relation:
    """The declaration of a relation: which classes it may connect.

    Args:
        domain: The classes at which the relation may start; empty for any.
        range: The classes at which it may end; empty for any.
        parents: More general relations, whose domain and range apply too: ``starts_at`` has the parent ``connected``.
        inverse: The name of the inverse relation, or an empty string.
        symmetric: Whether the relation also holds in the other direction.
        ranges: For some source classes, the only target classes allowed (SHACL property shapes, OWL
            ``allValuesFrom``); an empty set forbids the relation for that class.

    Examples:
        >>> Relation(domain=frozenset({"Link"}), range=frozenset({"Node"})).symmetric
        False
    """

    domain: frozenset[str] = frozenset()
    range: frozenset[str] = frozenset()
    parents: frozenset[str] = frozenset()
    inverse: str = ""
    symmetric: bool = False
    ranges: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)

    def joined(self, other: Relation) -> Relation:
        """Combine this declaration with ``other``; a domain or range that one of them leaves open stays open."""
        ranges = dict(self.ranges)
        for holder, allowed in other.ranges.items():
            ranges[holder] = ranges[holder] | allowed if holder in ranges else allowed
        return Relation(
            self.domain | other.domain if self.domain and other.domain else frozenset(),
            self.range | other.range if self.range and other.range else frozenset(),
            self.parents | other.parents,
            inverse=self.inverse or other.inverse,
            symmetric=self.symmetric or other.symmetric,
            ranges=ranges,
        )


@dataclass(frozen=True)
class Breach:
    """One violation of an ontology by a graph.

    Args:
        kind: ``label``, ``property``, ``owner``, ``domain``, ``range`` or ``deprecated``.
        subject: Id of the node or edge.
        detail: What is wrong, in words.

    Examples:
        >>> print(Breach("label", "Pipe 1", "'Pip' is neither a class nor a relation"))
        Pipe 1: 'Pip' is neither a class nor a relation
    """

    kind: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.detail}"


class Ontology:
    """The schema of a knowledge graph: classes, relations and properties. Read-only.

    Args:
        classes: Each class with its parent classes.
        relations: Each relation with its declaration.
        properties: Each property with the classes or relations that may have it; empty if anything may have it.
        name: The name of the ontology, for messages.
        units: The unit of each property where it is known.
        deprecated: Each deprecated class with the class that replaces it, or an empty string.
        known: Rules that are known in this domain. ``mine`` counts them, and leaves out what follows from them.

    Raises:
        GraphError: If a parent, domain, range or owner is not declared. The error lists all of them.

    Examples:
        >>> water = Ontology.water()
        >>> water.is_a("Pipe", "Link"), water.is_relation("starts_at", "connected"), water.validate(KnowledgeGraph([]))
        (True, True, ())
    """

    def __init__(
        self,
        classes: Mapping[str, Iterable[str]],
        relations: Mapping[str, Relation] | None = None,
        properties: Mapping[str, Iterable[str]] | None = None,
        *,
        name: str = "",
        units: Mapping[str, str] | None = None,
        deprecated: Mapping[str, str] | None = None,
        known: Iterable[KnownRule] = (),
    ) -> None:
        self.name = name
        self.classes: Mapping[str, frozenset[str]] = {c: frozenset(parents) for c, parents in classes.items()}
        self.relations: Mapping[str, Relation] = dict(relations or {})
        self.properties: Mapping[str, frozenset[str]] = {p: frozenset(o) for p, o in (properties or {}).items()}
        self.units: Mapping[str, str] = dict(units or {})
        self.deprecated: Mapping[str, str] = dict(deprecated or {})
        self.known: tuple[KnownRule, ...] = tuple(known)
        self._up: dict[str, frozenset[str]] = {}
        self._up_relations: dict[str, frozenset[str]] = {}
        self._down: dict[str, frozenset[str]] = {}
        self._children: dict[str, set[str]] | None = None
        self._advice: dict[tuple[str, str], str] = {}
        self._check_references()

    def _check_references(self) -> None:
        known = self.classes.keys() | self.relations.keys()
        undeclared = [
            (f"class '{c}' has the parent", p) for c, ps in self.classes.items() for p in ps if p not in known
        ]
        for name, relation in self.relations.items():
            ends = [("domain", relation.domain), ("range", relation.range), ("parent", relation.parents)]
            undeclared += [(f"relation '{name}' has the {end}", c) for end, cs in ends for c in cs if c not in known]
        undeclared += [
            (f"property '{p}' has the owner", o) for p, os in self.properties.items() for o in os if o not in known
        ]
        if undeclared:
            listed = (f"{what} '{target}'" for what, target in sorted(undeclared))
            raise GraphError(
                "\n  ".join(["the ontology refers to names that are not declared:", *listed]), where=self.name or None
            )

    @classmethod
    def water(cls) -> Ontology:
        """Return the ontology of EPANET networks that ships with Thence."""
        text = resources.files("thence.data.graph").joinpath("data/water.toml").read_text(encoding="utf-8")
        return cls.from_dict(tomllib.loads(text), where="water.toml")

    @classmethod
    def brick(cls, graph: KnowledgeGraph) -> Ontology | None:
        """Return the classes of Brick above those of a graph, or ``None`` if the graph has none of Brick's.

        Everything else in the graph is declared without conditions, so that the graph never violates it.

        Args:
            graph: The graph.
        """
        known = brick_classes()
        if known.keys().isdisjoint(graph.labels):
            return None
        wanted = {name for label in graph.labels for name in (label, *known.get(label, ()))}
        parents = _brick_parents()
        records: list[Node | Edge] = [*graph.nodes.values(), *graph.edges.values()]
        properties = {name for record in records for name in record.properties} | {one.property for one in graph.dated}
        return cls(
            {name: parents.get(name, ()) for name in sorted(wanted)},
            {name: Relation() for name in graph.edge_labels},
            dict.fromkeys(sorted(properties), ()),
            name="Brick",
        )

    @classmethod
    def from_dict(cls, schema: Mapping[str, Any], *, where: str = "schema") -> Ontology:
        """Build an ontology from the schema that the guide on knowledge graphs documents.

        Args:
            schema: The content of a schema file in TOML or JSON.
            where: The name of the file, for messages; also the name of the ontology if the schema has no ``name``.

        Raises:
            GraphError: If the schema has unknown keys or wrong types. The error lists every problem.

        Examples:
            >>> Ontology.from_dict({"classes": {"Asset": {}, "Pump": {"parents": ["Asset"]}}}).is_a("Pump", "Asset")
            True
        """
        problems: list[str] = []
        _check_keys("", schema, {"name", "classes", "relations", "properties", "known"}, problems)
        entries = {
            part: _entries(part, schema.get(part, {}), keys, problems)
            for part, keys in (
                ("classes", {"parents", "deprecated"}),
                ("relations", {"domain", "range", "parents", "inverse", "symmetric"}),
                ("properties", {"owners", "unit"}),
            )
        }

        def names(part: str, entry: str, key: str) -> frozenset[str]:
            value = entries[part][entry].get(key, [])
            if isinstance(value, str):
                value = [value]
            if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                problems.append(f"'{part}.{entry}.{key}' must be a list of names, got {value!r}")
                return frozenset()
            return frozenset(value)

        def single(part: str, entry: str, key: str, kind: type[Single]) -> Single:
            value = entries[part][entry].get(key, kind())
            if not isinstance(value, kind):
                wanted = "true or false" if kind is bool else "a string"
                problems.append(f"'{part}.{entry}.{key}' must be {wanted}, got {value!r}")
                return kind()
            return value

        classes = {entry: names("classes", entry, "parents") for entry in entries["classes"]}
        relations = {
            entry: Relation(
                names("relations", entry, "domain"),
                names("relations", entry, "range"),
                names("relations", entry, "parents"),
                inverse=single("relations", entry, "inverse", str),
                symmetric=single("relations", entry, "symmetric", bool),
            )
            for entry in entries["relations"]
        }
        properties = {entry: names("properties", entry, "owners") for entry in entries["properties"]}
        units = {e: single("properties", e, "unit", str) for e, c in entries["properties"].items() if "unit" in c}
        deprecated = {
            e: single("classes", e, "deprecated", str) for e, c in entries["classes"].items() if "deprecated" in c
        }
        known = _known_rules(schema.get("known", []), problems)
        name = schema.get("name", where)
        if not isinstance(name, str):
            problems.append(f"'name' must be a string, got {name!r}")
        if problems:
            raise GraphError("\n  ".join(["the schema is not valid:", *problems]), where=where)
        return cls(
            classes,
            relations,
            properties,
            name=name,
            units=units,
            deprecated=deprecated,
            known=known,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the ontology as the schema that ``from_dict`` reads back.

        The schema cannot express a range that applies to one class only; such ranges are left out.

        Examples:
            >>> Ontology({"Asset": [], "Pump": ["Asset"]}).to_dict()["classes"]["Pump"]
            {'parents': ['Asset']}
        """
        classes: dict[str, dict[str, Any]] = {name: _sorted_names(parents=own) for name, own in self.classes.items()}
        for name, replacement in self.deprecated.items():
            classes.setdefault(name, {})["deprecated"] = replacement
        relations: dict[str, dict[str, Any]] = {}
        for name, relation in self.relations.items():
            relations[name] = _sorted_names(domain=relation.domain, range=relation.range, parents=relation.parents)
            if relation.inverse:
                relations[name]["inverse"] = relation.inverse
            if relation.symmetric:
                relations[name]["symmetric"] = True
        properties: dict[str, dict[str, Any]] = {
            name: _sorted_names(owners=own) for name, own in self.properties.items()
        }
        for name, unit in self.units.items():
            if name in properties:
                properties[name]["unit"] = unit
        content = {"name": self.name, "classes": classes, "relations": relations, "properties": properties}
        return {**content, "known": [rule.to_mapping() for rule in self.known]} if self.known else content

    def ancestors(self, name: str) -> frozenset[str]:
        """Return all superclasses of a class, including equivalent classes but not the class itself.

        Args:
            name: The class.

        Raises:
            GraphError: If there is no such class.
        """
        self._check_class(name)
        return self._above(name) - {name}

    def descendants(self, name: str) -> frozenset[str]:
        """Return all subclasses of a class, including equivalent classes but not the class itself.

        Args:
            name: The class.

        Raises:
            GraphError: If there is no such class.
        """
        self._check_class(name)
        if self._children is None:
            self._children = defaultdict(set)
            for child, parents in self.classes.items():
                for parent in parents:
                    self._children[parent].add(child)
        if name not in self._down:
            children = self._children
            self._down[name] = _closure(name, lambda c: children.get(c, ()))
        return self._down[name] - {name}

    def is_a(self, name: str, ancestor: str) -> bool:
        """Whether a class is another class or a subclass of it.

        Args:
            name: The class. An undeclared class has no superclasses.
            ancestor: The other class.
        """
        return name == ancestor or ancestor in self._above(name)

    def is_relation(self, name: str, ancestor: str) -> bool:
        """Whether a relation is another relation or a sub-relation of it.

        Args:
            name: The relation. An undeclared relation has no parents.
            ancestor: The other relation.
        """
        return name == ancestor or ancestor in self._above_relation(name)

    def relations_within(self, name: str) -> frozenset[str]:
        """Return a relation and all its sub-relations.

        Args:
            name: The relation, such as ``connected``, which includes ``starts_at`` and ``ends_at``.

        Raises:
            GraphError: If there is no such relation.
        """
        if name not in self.relations:
            raise GraphError(
                f"there is no relation '{name}'", where=self.name or None, hint=nearest(name, self.relations)
            )
        return frozenset(relation for relation in self.relations if self.is_relation(relation, name))

    def merged(self, *others: Ontology) -> Ontology:
        """Return the union of this ontology and others.

        Declarations of the same name are combined: parents and owners are united, and what one of them leaves open
        (a domain, a range, the owners of a property) is open.

        Args:
            *others: The other ontologies.
        """
        parts = (self, *others)
        classes: dict[str, set[str]] = defaultdict(set)
        properties: dict[str, set[str] | None] = {}
        relations: dict[str, Relation] = {}
        for part in parts:
            for name, parents in part.classes.items():
                classes[name] |= parents
            for name, owners in part.properties.items():
                # Without owners in one of them, anything may have the property.
                before = properties.get(name, set())
                properties[name] = {*before, *owners} if owners and before is not None else None
            for name, relation in part.relations.items():
                relations[name] = relations[name].joined(relation) if name in relations else relation
        return Ontology(
            classes,
            relations,
            {name: owners or () for name, owners in properties.items()},
            name=", ".join(part.name for part in parts if part.name),
            units={k: u for part in parts for k, u in part.units.items()},
            deprecated={k: r for part in parts for k, r in part.deprecated.items()},
            known=dict.fromkeys(rule for part in parts for rule in part.known),
        )

    def validate(
        self, graph: KnowledgeGraph, *, exempt: Iterable[str] = ADMINISTRATIVE, deprecated: bool = False
    ) -> tuple[Breach, ...]:
        """List every violation of the ontology by a graph.

        Labels must be classes or relations. Properties must be declared, and owned by a class (or superclass) of the
        node or edge that has them. An edge must connect a class of its domain to a class of its range. Nodes without a
        known label are not checked against domain, range and owners. A relation may also appear as a property, when its
        target was a plain value.

        Args:
            graph: The graph to validate.
            exempt: Properties that are not checked.
            deprecated: Whether to list the use of deprecated classes too.

        Returns:
            The violations; an empty tuple if the graph is valid.
        """
        exempted = frozenset(exempt)
        breaches: list[Breach] = []
        for node in graph.nodes.values():
            breaches += self._record_breaches(node, exempted, deprecated)
        for edge in graph.edges.values():
            breaches += self._record_breaches(edge, exempted, deprecated)
            for label in sorted(edge.labels & self.relations.keys()):
                breaches += self._edge_breaches(edge, label, graph)
        known = self.properties.keys() | self.relations.keys() | exempted
        for item in graph.dated:
            if item.property not in known:
                breaches.append(Breach("property", item.subject, self._unknown("property", item.property)))
        return tuple(dict.fromkeys(breaches))

    def _record_breaches(self, record: Node | Edge, exempt: frozenset[str], deprecated: bool) -> list[Breach]:
        found: list[Breach] = []
        for label in sorted(record.labels):
            if label not in self.classes and label not in self.relations:
                found.append(Breach("label", record.id, self._unknown("label", label)))
            elif deprecated and label in self.deprecated:
                successor = self.deprecated[label]
                detail = f"'{label}' is deprecated" + (f", use '{successor}'" if successor else "")
                found.append(Breach("deprecated", record.id, detail))
        own = self._types(record.labels)
        for name in record.properties:
            if name in exempt or name in self.relations:
                continue
            owners = self.properties.get(name)
            if owners is None:
                found.append(Breach("property", record.id, self._unknown("property", name)))
            elif owners and own and not owners & own:
                detail = f"'{name}' belongs to {_either(owners)}, not to {_either(record.labels)}"
                found.append(Breach("owner", record.id, detail))
        return found

    def _edge_breaches(self, edge: Edge, label: str, graph: KnowledgeGraph) -> list[Breach]:
        found: list[Breach] = []
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        from_types, to_types = self._types(source.labels), self._types(target.labels)
        for name in sorted({label} | self._above_relation(label)):
            relation = self.relations[name]
            if relation.domain and from_types and not relation.domain & from_types:
                detail = f"'{label}' starts at {_either(relation.domain)}; {source.id} is {_either(source.labels)}"
                found.append(Breach("domain", edge.id, detail))
            if relation.range and to_types and not relation.range & to_types:
                detail = f"'{label}' ends at {_either(relation.range)}; {target.id} is {_either(target.labels)}"
                found.append(Breach("range", edge.id, detail))
            for holder in sorted(relation.ranges.keys() & from_types):
                allowed = relation.ranges[holder]
                if not allowed:
                    found.append(Breach("domain", edge.id, f"{_either({holder})} cannot have '{label}'"))
                elif to_types and not allowed & to_types:
                    detail = f"'{label}' of {_either({holder})} ends at {_either(allowed)}; "
                    found.append(Breach("range", edge.id, f"{detail}{target.id} is {_either(target.labels)}"))
        return found

    def _types(self, labels: Iterable[str]) -> frozenset[str]:
        """All declared classes and relations that these labels imply."""
        found: set[str] = set()
        for label in labels:
            if label in self.classes:
                found |= self._above(label)
            if label in self.relations:
                found |= self._above_relation(label)
        return frozenset(found)

    def _above(self, name: str) -> frozenset[str]:
        """A class and its superclasses."""
        if name not in self._up:
            self._up[name] = _closure(name, lambda c: self.classes.get(c, ()))
        return self._up[name]

    def _above_relation(self, name: str) -> frozenset[str]:
        """A relation and all its parents, direct and indirect."""
        if name not in self._up_relations:
            relations = self.relations
            self._up_relations[name] = _closure(name, lambda r: relations[r].parents if r in relations else ())
        return self._up_relations[name]

    def _check_class(self, name: str) -> None:
        if name not in self.classes:
            raise GraphError(f"there is no class '{name}'", where=self.name or None, hint=nearest(name, self.classes))

    def _unknown(self, kind: str, name: str) -> str:
        # Searching thousands of classes for the nearest name is slow, and a graph repeats its mistakes.
        if (kind, name) not in self._advice:
            known = self.properties if kind == "property" else (*self.classes, *self.relations)
            hint = nearest(name, known)
            what = "not a property of the ontology" if kind == "property" else "neither a class nor a relation"
            self._advice[kind, name] = f"'{name}' is {what}" + (f" ({hint})" if hint else "")
        return self._advice[kind, name]

    def __repr__(self) -> str:
        sizes = f"{len(self.classes)} classes, {len(self.relations)} relations, {len(self.properties)} properties"
        sizes += f", {len(self.known)} known rule{'s' * (len(self.known) > 1)}" if self.known else ""
        return f"Ontology({self.name + ': ' if self.name else ''}{sizes})"


@cache
def _brick_parents() -> Mapping[str, tuple[str, ...]]:
    text = resources.files("thence.data.graph").joinpath("data/brick.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return MappingProxyType({name: tuple(above) for name, *above in rows})


@cache
def brick_classes() -> Mapping[str, frozenset[str]]:
    """Return the classes of Brick that ship with Thence, each with all classes above it.

    >>> sorted(brick_classes()["Boiler"])
    ['Equipment', 'HVAC_Equipment', 'Water_Heater']
    """
    parents = _brick_parents()
    return MappingProxyType({name: _closure(name, lambda c: parents.get(c, ())) - {name} for name in parents})


def _closure(start: str, step: Any) -> frozenset[str]:
    """Everything that repeated steps reach from ``start``, itself included."""
    seen = {start}
    waiting = [start]
    while waiting:
        for found in step(waiting.pop()):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return frozenset(seen)


def _either(names: Iterable[str]) -> str:
    return " or ".join(sorted(names)) or "nothing"


def _check_keys(place: str, content: Mapping[str, Any], known: set[str], problems: list[str]) -> None:
    for key in content:
        if key not in known:
            hint = nearest(key, known)
            path = f"{place}.{key}" if place else key
            problems.append(f"unknown key '{path}' ({hint or 'known: ' + ', '.join(sorted(known))})")


def _entries(part: str, content: Any, known: set[str], problems: list[str]) -> dict[str, Mapping[str, Any]]:
    if not isinstance(content, Mapping):
        problems.append(f"'{part}' must be a table, got {content!r}")
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    for entry, inner in content.items():
        if isinstance(inner, Mapping):
            _check_keys(f"{part}.{entry}", inner, known, problems)
            found[entry] = inner
        else:
            problems.append(f"'{part}.{entry}' must be a table, got {inner!r}")
    return found


def _known_rules(content: Any, problems: list[str]) -> list[KnownRule]:
    if not isinstance(content, list):
        problems.append(f"'known' must be a list of tables [[known]], got {content!r}")
        return []
    found = []
    for number, one in enumerate(content, start=1):
        try:
            if not isinstance(one, Mapping):
                raise ConfigError(f"a known rule must be a table, got {one!r}", hint="with the keys 'if' and 'then'")
            found.append(KnownRule.from_mapping(one))
        except ConfigError as error:
            problems.append(f"[[known]] {number}: {error}")
    return found


def _sorted_names(**sets: Iterable[str]) -> dict[str, Any]:
    """Each set of names as a sorted list; empty sets are left out."""
    return {key: names for key, values in sets.items() if (names := sorted(values))}
