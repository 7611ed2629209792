"""The ontology: classes, relations and properties, and the check that a graph keeps to them.

Subclass reasoning walks the declared parents and remembers what it found; nothing is added to graph or ontology. This
module must not parse files (see ``thence.graph.loaders``), apart from the water ontology that ships with the package.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from thence.errors import GraphError, nearest
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.records import Edge, Node

__all__ = ["ADMINISTRATIVE", "Breach", "Ontology", "Relation"]

ADMINISTRATIVE = frozenset(
    {
        *("iri", "label", "prefLabel", "altLabel", "comment", "definition", "description", "title", "seeAlso"),
        *("isDefinedBy", "identifier", "created", "modified", "creator", "license"),
    }
)
"""Properties that say what something is called or where it is written, exempt from ``Ontology.validate``."""


@dataclass(frozen=True)
class Relation:
    """What a relation may connect: one of the classes of ``domain`` to one of ``range``; empty means anything.

    ``ranges`` narrows the targets for sources of one class only (SHACL property shapes, OWL ``allValuesFrom``); an
    empty set there forbids the relation for that class. ``parents`` are wider relations: ``starts_at`` is a kind of
    ``connected``, and what holds for ``connected`` holds for it.

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
        """Both descriptions of one relation together; what one of them leaves open is open."""
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
    """One way in which a graph departs from an ontology.

    ``kind`` is ``label``, ``property``, ``owner``, ``domain``, ``range`` or ``deprecated``.

    >>> print(Breach("label", "Pipe 1", "'Pip' is neither a class nor a relation"))
    Pipe 1: 'Pip' is neither a class nor a relation
    """

    kind: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.detail}"


class Ontology:
    """Classes with their parents, relations with domain and range, properties with the classes that own them.

    Owners of a property are classes or relations; an empty set of owners means that anything may have it.

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
    ) -> None:
        self.name = name
        self.classes: Mapping[str, frozenset[str]] = {c: frozenset(parents) for c, parents in classes.items()}
        self.relations: Mapping[str, Relation] = dict(relations or {})
        self.properties: Mapping[str, frozenset[str]] = {p: frozenset(o) for p, o in (properties or {}).items()}
        self.units: Mapping[str, str] = dict(units or {})
        self.deprecated: Mapping[str, str] = dict(deprecated or {})
        self._up: dict[str, frozenset[str]] = {}
        self._up_relations: dict[str, frozenset[str]] = {}
        self._down: dict[str, frozenset[str]] = {}
        self._children: dict[str, set[str]] | None = None
        self._advice: dict[tuple[str, str], str] = {}
        self._refuse_loose_ends()

    def _refuse_loose_ends(self) -> None:
        known = self.classes.keys() | self.relations.keys()
        loose = [(f"class '{c}' has the parent", p) for c, ps in self.classes.items() for p in ps if p not in known]
        for name, relation in self.relations.items():
            ends = [("domain", relation.domain), ("range", relation.range), ("parent", relation.parents)]
            loose += [(f"relation '{name}' has the {end}", c) for end, cs in ends for c in cs if c not in known]
        loose += [
            (f"property '{p}' has the owner", o) for p, os in self.properties.items() for o in os if o not in known
        ]
        if loose:
            listed = (f"{what} '{target}', which is not declared" for what, target in sorted(loose))
            raise GraphError("\n  ".join(["the ontology has loose ends:", *listed]), where=self.name or None)

    @classmethod
    def water(cls) -> Ontology:
        """The ontology of EPANET networks that ships with Thence."""
        text = resources.files("thence.graph").joinpath("data/water.toml").read_text(encoding="utf-8")
        return cls.from_dict(tomllib.loads(text), where="water.toml")

    @classmethod
    def from_dict(cls, schema: Mapping[str, Any], *, where: str = "schema") -> Ontology:
        """An ontology from the small schema (TOML or JSON) that the guide documents.

        >>> Ontology.from_dict({"classes": {"Asset": {}, "Pump": {"parents": ["Asset"]}}}).is_a("Pump", "Asset")
        True
        """
        problems: list[str] = []
        _check_keys("", schema, {"name", "classes", "relations", "properties"}, problems)
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
                problems.append(f"{part}.{entry}.{key} is {value!r}; write a list of names")
                return frozenset()
            return frozenset(value)

        classes = {entry: names("classes", entry, "parents") for entry in entries["classes"]}
        relations = {
            entry: Relation(
                names("relations", entry, "domain"),
                names("relations", entry, "range"),
                names("relations", entry, "parents"),
                inverse=str(content.get("inverse", "")),
                symmetric=bool(content.get("symmetric", False)),
            )
            for entry, content in entries["relations"].items()
        }
        properties = {entry: names("properties", entry, "owners") for entry in entries["properties"]}
        if problems:
            raise GraphError("\n  ".join(["the schema is not understood:", *problems]), where=where)
        return cls(
            classes,
            relations,
            properties,
            name=str(schema.get("name", where)),
            units={p: str(c["unit"]) for p, c in entries["properties"].items() if "unit" in c},
            deprecated={c: str(e["deprecated"]) for c, e in entries["classes"].items() if "deprecated" in e},
        )

    def ancestors(self, name: str) -> frozenset[str]:
        """All classes above a class, itself not included (but equivalent classes are)."""
        self._known(name)
        return self._above(name) - {name}

    def descendants(self, name: str) -> frozenset[str]:
        """All classes below a class, itself not included (but equivalent classes are)."""
        self._known(name)
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
        """Whether a class is the other one or below it; an undeclared class is only itself."""
        return name == ancestor or ancestor in self._above(name)

    def is_relation(self, name: str, ancestor: str) -> bool:
        """Whether a relation is the other one or a kind of it."""
        return name == ancestor or ancestor in self._above_relation(name)

    def relations_within(self, name: str) -> frozenset[str]:
        """A relation and all kinds of it: ``connected`` gives ``starts_at`` and ``ends_at`` too."""
        if name not in self.relations:
            raise GraphError(
                f"there is no relation '{name}'", where=self.name or None, hint=nearest(name, self.relations)
            )
        return frozenset(relation for relation in self.relations if self.is_relation(relation, name))

    def instances(self, graph: KnowledgeGraph, name: str) -> tuple[str, ...]:
        """Ids of the nodes of a class or of any class below it, in the order of the graph."""
        wanted = self.descendants(name) | {name}
        return tuple(node.id for node in graph.nodes.values() if node.labels & wanted)

    def merged(self, *others: Ontology) -> Ontology:
        """This ontology and others as one; what two of them say of the same name holds together."""
        parts = (self, *others)
        classes: dict[str, set[str]] = defaultdict(set)
        properties: dict[str, set[str] | None] = {}
        relations: dict[str, Relation] = {}
        for part in parts:
            for name, parents in part.classes.items():
                classes[name] |= parents
            for name, owners in part.properties.items():
                # Owned by no one in particular in one of them: anything may have it.
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
        )

    def validate(
        self, graph: KnowledgeGraph, *, exempt: Iterable[str] = ADMINISTRATIVE, deprecated: bool = False
    ) -> tuple[Breach, ...]:
        """Every breach of the ontology by the graph; an empty tuple when it keeps to it.

        Labels must be classes or relations, properties must be declared and be owned by (a parent of) what carries
        them, and an edge must connect its domain to its range. What has no known label is not judged by domain and
        range, because nothing is known about it. A relation may also be carried as a property, where its target was a
        mere value. With ``deprecated=True`` the use of deprecated classes is listed too.
        """
        exempted = frozenset(exempt)
        breaches: list[Breach] = []
        for node in graph.nodes.values():
            breaches += self._element_breaches(node, exempted, deprecated)
        for edge in graph.edges.values():
            breaches += self._element_breaches(edge, exempted, deprecated)
            for label in sorted(edge.labels & self.relations.keys()):
                breaches += self._edge_breaches(edge, label, graph)
        known = self.properties.keys() | self.relations.keys() | exempted
        for item in graph.dated:
            if item.property not in known:
                breaches.append(Breach("property", item.subject, self._unknown("property", item.property)))
        return tuple(dict.fromkeys(breaches))

    def _element_breaches(self, element: Node | Edge, exempt: frozenset[str], deprecated: bool) -> list[Breach]:
        found: list[Breach] = []
        for label in sorted(element.labels):
            if label not in self.classes and label not in self.relations:
                found.append(Breach("label", element.id, self._unknown("label", label)))
            elif deprecated and label in self.deprecated:
                successor = self.deprecated[label]
                detail = f"'{label}' is deprecated" + (f", use '{successor}'" if successor else "")
                found.append(Breach("deprecated", element.id, detail))
        own = self._types(element.labels)
        for name in element.properties:
            if name in exempt or name in self.relations:
                continue
            owners = self.properties.get(name)
            if owners is None:
                found.append(Breach("property", element.id, self._unknown("property", name)))
            elif owners and own and not owners & own:
                detail = f"'{name}' belongs to {_either(owners)}, not to {_either(element.labels)}"
                found.append(Breach("owner", element.id, detail))
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
        """All declared classes and relations that these labels stand for."""
        found: set[str] = set()
        for label in labels:
            if label in self.classes:
                found |= self._above(label)
            if label in self.relations:
                found |= self._above_relation(label)
        return frozenset(found)

    def _above(self, name: str) -> frozenset[str]:
        if name not in self._up:
            self._up[name] = _closure(name, lambda c: self.classes.get(c, ()))
        return self._up[name]

    def _above_relation(self, name: str) -> frozenset[str]:
        if name not in self._up_relations:
            relations = self.relations
            self._up_relations[name] = _closure(name, lambda r: relations[r].parents if r in relations else ())
        return self._up_relations[name]

    def _known(self, name: str) -> None:
        if name not in self.classes:
            raise GraphError(f"there is no class '{name}'", where=self.name or None, hint=nearest(name, self.classes))

    def _unknown(self, kind: str, name: str) -> str:
        # Looking for near misses among thousands of classes is slow, and a graph repeats its mistakes.
        if (kind, name) not in self._advice:
            known = self.properties if kind == "property" else (*self.classes, *self.relations)
            hint = nearest(name, known)
            what = "not a property of the ontology" if kind == "property" else "neither a class nor a relation"
            self._advice[kind, name] = f"'{name}' is {what}" + (f" ({hint})" if hint else "")
        return self._advice[kind, name]

    def __repr__(self) -> str:
        sizes = f"{len(self.classes)} classes, {len(self.relations)} relations, {len(self.properties)} properties"
        return f"Ontology({self.name + ': ' if self.name else ''}{sizes})"


def _closure(start: str, step: Any) -> frozenset[str]:
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
            problems.append(f"'{path}' is unknown ({hint or 'known are ' + ', '.join(sorted(known))})")


def _entries(part: str, content: Any, known: set[str], problems: list[str]) -> dict[str, Mapping[str, Any]]:
    if not isinstance(content, Mapping):
        problems.append(f"'{part}' is {content!r}, not a table")
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    for entry, inner in content.items():
        if isinstance(inner, Mapping):
            _check_keys(f"{part}.{entry}", inner, known, problems)
            found[entry] = inner
        else:
            problems.append(f"{part}.{entry} is {inner!r}, not a table")
    return found
