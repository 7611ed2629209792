"""RDF as a property graph: types become labels, literals properties, links between resources edges.

Ids are local names (``Room1``), made unique with a prefix where two namespaces share one; the full name stays in the
property ``iri``. A blank node is called after the statement that leads to it (``AHU/area``), so its id is the same at
every reading. What describes the vocabulary and not the building (classes, properties, ontology headers) is left out.
Several values of one property are joined by ``; ``; of several languages English is kept, then none.
This module must not interpret domain vocabularies beyond values with units (see ``thence.graph.loaders.fold``).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thence.errors import GraphError
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.loaders.fold import UNIT_PREDICATES, Description, fold_values
from thence.graph.loaders.triples import Object, Subject, Triples, local_name, namespace, parse
from thence.graph.records import Edge, Node, Value

if TYPE_CHECKING:
    import pyoxigraph as ox

__all__ = ["read"]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_SHACL = "http://www.w3.org/ns/shacl#"
_TYPE, _FIRST, _REST, _NIL = _RDF + "type", _RDF + "first", _RDF + "rest", _RDF + "nil"

# Types that say nothing about a thing, and types of things that belong to a vocabulary, not to the graph.
_EMPTY_TYPES = {_OWL + "NamedIndividual", _OWL + "Thing", _RDFS + "Resource"}
_SCHEMA_TYPES = {
    *(_OWL + name for name in ("Ontology", "Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    *(_OWL + name for name in ("SymmetricProperty", "TransitiveProperty", "FunctionalProperty", "Restriction")),
    *(_RDFS + name for name in ("Class", "Datatype")),
    _RDF + "Property",
    *(_SHACL + name for name in ("NodeShape", "PropertyShape")),
}
_ANNOTATIONS = {_RDFS + "seeAlso", _RDFS + "isDefinedBy", "http://purl.org/dc/terms/license"}
_INTEGERS = {
    *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
    *("negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
}


def read(paths: Sequence[Path], *, syntax: str | None = None, fold: bool = True) -> KnowledgeGraph:
    """Read RDF files together into one graph.

    >>> import tempfile
    >>> text = '''@prefix ex: <http://example.org/> .
    ... ex:r1 a ex:Room ; ex:area [ ex:value 12.5 ; ex:hasUnit ex:M2 ] ; ex:contains ex:s1 .
    ... ex:s1 a ex:Sensor .'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rooms.ttl"
    ...     _ = file.write_text(text)
    ...     graph = read([file])
    >>> graph.value("r1", "area"), graph.property_units["area"], graph.neighbours("r1")
    (12.5, 'M2', {'s1': 1})
    """
    parsed = parse(paths, syntax=syntax)
    where = ", ".join(map(str, paths))
    described = _describe(parsed, where)
    if not described:
        raise GraphError(
            "there is no node in this RDF: no statement about anything but classes and properties",
            where=where,
            hint="read it with read_ontology if it is an ontology",
        )
    units = fold_values(described) if fold else {}
    names = _Names(described, parsed.prefixes).all()
    nodes = [_node(term, content, names[term]) for term, content in described.items()]
    return KnowledgeGraph(nodes, _edges(described, names), property_units=units)


def _describe(parsed: Triples, where: str) -> dict[Subject, Description]:
    """What is said about each resource, in the order of the files; resources that are only named come last."""
    import pyoxigraph as ox

    schema = {
        s for s, p, o in parsed.triples if p == _TYPE and isinstance(o, ox.NamedNode) and o.value in _SCHEMA_TYPES
    }
    lists = _Lists(parsed, where)
    subjects = {s for s, _, _ in parsed.triples} - schema - lists.cells
    described: dict[Subject, Description] = {}
    named: dict[Subject, None] = {}
    for subject, predicate, value in parsed.triples:
        if subject not in subjects:
            continue
        content = described.setdefault(subject, Description())
        for target in lists.members(value):
            if predicate == _TYPE:
                if isinstance(target, ox.NamedNode) and target.value not in _EMPTY_TYPES:
                    content.labels[local_name(target.value)] = None
            elif isinstance(target, ox.Literal):
                content.literals.setdefault(local_name(predicate), []).append(target)
            elif target in schema:
                continue
            elif isinstance(target, ox.NamedNode) and (
                predicate in _ANNOTATIONS or (local_name(predicate) in UNIT_PREDICATES and target not in subjects)
            ):
                text = target.value if predicate in _ANNOTATIONS else local_name(target.value)
                content.literals.setdefault(local_name(predicate), []).append(ox.Literal(text))
            else:
                content.links.setdefault((local_name(predicate), target))
                named[target] = None
    for target in named:
        described.setdefault(target, Description())
    return described


class _Lists:
    """RDF collections: their cells are not nodes, their members are said of whoever holds the list."""

    def __init__(self, parsed: Triples, where: str) -> None:
        self._where = where
        self._first = {s: o for s, p, o in parsed.triples if p == _FIRST}
        self._rest = {s: o for s, p, o in parsed.triples if p == _REST}
        self.cells: set[Subject] = {*self._first, *self._rest}

    def members(self, value: Object, inside: frozenset[Object] = frozenset()) -> Iterable[Object]:
        """What a list holds, the members of lists in it included; anything else is its own only member."""
        import pyoxigraph as ox

        if isinstance(value, ox.Literal) or (value not in self.cells and value.value != _NIL):
            yield value
            return
        seen: set[Object] = set()
        while value in self.cells and value not in seen and not isinstance(value, ox.Literal):
            if value in inside:
                raise GraphError("an RDF list contains itself", where=self._where, hint="correct its rdf:first")
            seen.add(value)
            if value in self._first:
                yield from self.members(self._first[value], inside | seen)
            value = self._rest.get(value, value)


class _Names:
    """Readable, unique and stable ids for resources."""

    def __init__(self, described: dict[Subject, Description], prefixes: dict[str, str]) -> None:
        self._described = described
        self._prefixes = prefixes

    def all(self) -> dict[Subject, str]:
        import pyoxigraph as ox

        sharing: dict[str, list[ox.NamedNode]] = defaultdict(list)
        for term in self._described:
            if isinstance(term, ox.NamedNode):
                sharing[local_name(term.value)].append(term)
        names: dict[Subject, str] = {}
        for short, terms in sharing.items():
            told = [t for t in terms if not self._described[t].is_empty()]
            # The only one that anything is said about keeps the short name; otherwise all of them are qualified.
            owner = terms[0] if len(terms) == 1 else told[0] if len(told) == 1 else None
            qualified = {t: f"{self._prefix(t.value)}:{short}" for t in terms}
            repeated = Counter(qualified.values())
            for term in terms:
                unique = repeated[qualified[term]] == 1
                names[term] = short if term is owner else qualified[term] if unique else term.value
        return names | self._blanks(names)

    def _prefix(self, iri: str) -> str:
        space = namespace(iri)
        return self._prefixes.get(space) or local_name(space)

    def _blanks(self, names: dict[Subject, str]) -> dict[Subject, str]:
        import pyoxigraph as ox

        leading: dict[Subject, tuple[Subject, str]] = {}
        for source, content in self._described.items():
            for predicate, target in content.links:
                if isinstance(target, ox.BlankNode):
                    leading.setdefault(target, (source, predicate))
        found: dict[Subject, str] = {}
        taken = set(names.values())

        def claim(name: str) -> str:
            unique, n = name, 1
            while unique in taken:
                n += 1
                unique = f"{name}#{n}"
            taken.add(unique)
            return unique

        for blank in (t for t in self._described if isinstance(t, ox.BlankNode)):
            trail: list[Subject] = []
            here: Subject = blank
            while here not in names and here not in found and here in leading and here not in trail:
                trail.append(here)
                here = leading[here][0]
            if here not in names and here not in found:
                # Nothing with a name leads here: a top level blank node, or a circle of them.
                found[here] = claim("_:blank")
                trail = [term for term in trail if term != here]
            for term in reversed(trail):
                source, predicate = leading[term]
                found[term] = claim(f"{names.get(source) or found[source]}/{predicate}")
        return found


def _node(term: Subject, content: Description, name: str) -> Node:
    import pyoxigraph as ox

    properties: dict[str, Value] = {}
    if isinstance(term, ox.NamedNode):
        properties["iri"] = term.value
    for key, literals in content.literals.items():
        value = _value(literals)
        if value is not None:
            properties[key] = value
    return Node(name, frozenset(content.labels), properties)


def _edges(described: dict[Subject, Description], names: dict[Subject, str]) -> list[Edge]:
    edges: dict[str, Edge] = {}
    for source, content in described.items():
        for predicate, target in content.links:
            name = f"{names[source]} {predicate} {names[target]}"
            edges[name] = Edge(name, names[source], names[target], frozenset((predicate,)))
    return list(edges.values())


def _value(literals: list[ox.Literal]) -> Value | None:
    """One value for a property: the only one, the English one, or all of them joined."""
    if len(literals) > 1 and any(literal.language for literal in literals):
        by_language: dict[str, list[ox.Literal]] = defaultdict(list)
        for literal in literals:
            by_language[(literal.language or "").partition("-")[0].lower()].append(literal)
        literals = by_language.get("en") or by_language.get("") or by_language[min(by_language)]
    values = list(dict.fromkeys(v for v in map(_typed, literals) if v is not None))
    if len(values) <= 1:
        return values[0] if values else None
    return "; ".join(sorted(str(value) for value in values))


def _typed(literal: ox.Literal) -> Value | None:
    """The literal as text, number or truth value; NaN and infinity count as missing, malformed numbers as text."""
    kind = literal.datatype.value.removeprefix(_XSD)
    text = literal.value
    try:
        if kind == "boolean":
            return {"true": True, "1": True, "false": False, "0": False}.get(text.strip(), text)
        if kind in _INTEGERS:
            return int(text)
        if kind in ("decimal", "double", "float"):
            number = float(text)
            return number if math.isfinite(number) else None
    except ValueError:
        return text
    return text
