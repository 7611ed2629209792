"""Graphs from RDF: types become labels, literals become properties, links between resources become edges.

Ids are local names (``Room1``), with a prefix if two namespaces share a name; the property ``iri`` holds the full
name. A blank node has its label as id, or its class if it is a thing of another thing (``Fan of AHU``), else the name
of the statement that refers to it (``AHU/area``), so that its id is the same every time the file is read. Vocabulary
(classes, properties, ontology headers) is left out. A property may have several values; those of names and comments are
joined by ``; ``. Of several languages English is kept, else the values without a language.

Value nodes are folded into properties: ``:room :area [ qudt:value 12.5 ; qudt:unit unit:M2 ]`` uses a node to state
that the area is 12.5 m². A node is such a value if exactly one statement refers to it, it has one number or string
under a predicate in ``VALUE_PREDICATES``, at most a unit besides, and no types other than ``VALUE_CLASSES``. Chains of
value nodes are folded too (SEAS and OPM put an evaluation between a property and its value). All other nodes stay
nodes. This module must not interpret other domain vocabularies.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.data.graph.habits import INVERSES
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import ADMINISTRATIVE
from thence.data.graph.records import Edge, Node, Value, Values, join_values
from thence.data.loaders.draft import parse_value
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.triples import (
    OWL,
    RDF,
    RDFS,
    SHACL,
    SUFFIXES,
    XSD,
    Object,
    Subject,
    Triples,
    list_files,
    local_name,
    namespace,
    parse_files,
)
from thence.errors import GraphError, quote

if TYPE_CHECKING:
    import pyoxigraph as ox

VALUE_PREDICATES = frozenset(
    {
        *("value", "numericValue", "hasValue", "hasSimpleResult", "simpleValue", "evaluation"),
        *("hasQuantityValue", "hasNumericalValue", "hasNumericValue"),
    }
)
UNIT_PREDICATES = frozenset({"unit", "hasUnit", "unitCode", "unitText", "isMeasuredIn"})
VALUE_CLASSES = frozenset(
    {"CurrentState", "EntityPropertyValue", "Measure", "PropertyValue", "Quantity", "QuantityValue", "Result", "State"}
)
_RESULT_LINKS = frozenset({"hasResult"})


@dataclass
class Description:
    """The statements about one RDF resource.

    Args:
        labels: Its types, in order.
        literals: Its literals by predicate.
        links: Its links to other resources, as (predicate, target), in order.
    """

    labels: dict[str, None] = field(default_factory=dict)
    literals: dict[str, list[ox.Literal]] = field(default_factory=dict)
    links: dict[tuple[str, Subject], None] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether nothing is stated about the resource."""
        return not (self.labels or self.literals or self.links)


def fold_values(described: dict[Subject, Description]) -> dict[str, str]:
    """Fold value nodes into properties, in place.

    If the values of a property have different units, each node gets a property ``<property>_unit``.

    Args:
        described: The statements about each resource; value nodes are removed.

    Returns:
        The unit of each property whose values all have the same unit.
    """
    import pyoxigraph as ox

    in_degree = Counter(target for content in described.values() for _, target in content.links)
    units: dict[str, dict[Subject, str]] = defaultdict(dict)
    inner_units: dict[Subject, str] = {}
    folded: set[Subject] = set()
    before = -1
    while len(folded) > before:
        before = len(folded)
        for source, content in described.items():
            for predicate, target in list(content.links):
                value = described[target]
                if in_degree[target] != 1 or not _is_value_node(value, predicate):
                    continue
                unit = _unit(value) or inner_units.get(target)
                content.literals.setdefault(predicate, []).append(_only_value(value))
                del content.links[predicate, target]
                folded.add(target)
                if unit and predicate in VALUE_PREDICATES:
                    inner_units[source] = unit
                elif unit:
                    units[predicate][source] = unit
    for term in folded:
        del described[term]
    common_units: dict[str, str] = {}
    for predicate, by_node in units.items():
        if len(set(by_node.values())) == 1:
            common_units[predicate] = next(iter(by_node.values()))
        else:
            for node, unit in by_node.items():
                described[node].literals[f"{predicate}_unit"] = [ox.Literal(unit)]
    return common_units


def _is_value_node(content: Description, predicate: str) -> bool:
    values = [name for name in content.literals if name in VALUE_PREDICATES]
    return (
        len(values) == 1
        and len(content.literals[values[0]]) == 1
        and all(name in UNIT_PREDICATES for name in content.literals if name not in VALUE_PREDICATES)
        and all(name in UNIT_PREDICATES for name, _ in content.links)
        and (content.labels.keys() <= VALUE_CLASSES or predicate in _RESULT_LINKS)
    )


def _only_value(content: Description) -> ox.Literal:
    return next(values[0] for name, values in content.literals.items() if name in VALUE_PREDICATES)


def _unit(content: Description) -> str | None:
    for name, values in content.literals.items():
        if name in UNIT_PREDICATES:
            return values[0].value
    for name, target in content.links:
        if name in UNIT_PREDICATES:
            return local_name(target.value)
    return None


_MOST_DIGITS = 308
_LONGEST_ID = 500
"""The longest id, in characters, that the id of a nested blank node begins with."""
_TYPE, _FIRST, _REST, _NIL = RDF + "type", RDF + "first", RDF + "rest", RDF + "nil"

# Types that every resource has, and types of resources that belong to a vocabulary, not to the graph.
_GENERIC_TYPES = {OWL + "NamedIndividual", OWL + "Thing", RDFS + "Resource"}
_SCHEMA_TYPES = {
    *(OWL + name for name in ("Ontology", "Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    *(OWL + name for name in ("SymmetricProperty", "TransitiveProperty", "FunctionalProperty", "Restriction")),
    *(RDFS + name for name in ("Class", "Datatype")),
    RDF + "Property",
    *(SHACL + name for name in ("NodeShape", "PropertyShape")),
}
_TEXTS = ADMINISTRATIVE | {"name"}
_LABELS = ("label", "prefLabel")
_OF_THINGS = frozenset({*INVERSES, *INVERSES.values(), "contains"})
"""Relations between things, to which people refer by name."""
_ANNOTATIONS = {RDFS + "seeAlso", RDFS + "isDefinedBy", "http://purl.org/dc/terms/license"}
_INTEGERS = {
    *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
    *("negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
}


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Read RDF files, and folders of them, together into one graph.

    Args:
        paths: Files and folders.
        options: ``format`` is an RDF syntax, or ``None`` or ``"rdf"`` to go by the suffix; ``fold`` folds value nodes.

    Raises:
        GraphError: If a file cannot be parsed, or there is no node in the files.

    Examples:
        >>> import tempfile
        >>> text = '''@prefix ex: <http://example.org/> .
        ... ex:r1 a ex:Room ; ex:area [ ex:value 12.5 ; ex:hasUnit ex:M2 ] ; ex:contains ex:s1 .
        ... ex:s1 a ex:Sensor .'''
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "rooms.ttl"
        ...     _ = file.write_text(text)
        ...     graph = read([file], LoadOptions())
        >>> graph.value("r1", "area"), graph.property_units["area"], graph.neighbours("r1")
        (12.5, 'M2', {'s1': 1})
    """
    files = list_files(paths)
    parsed = parse_files(files, format=options.format)
    where = ", ".join(map(str, files))
    described = _describe_resources(parsed, where)
    if not described:
        found = "only classes and properties" if parsed.triples else "which has no triples"
        hint = "read an ontology with read_ontology, or --ontology" if parsed.triples else "check the path"
        raise GraphError(f"no node in this RDF, {found}", where=where, hint=hint)
    units = fold_values(described) if options.fold else {}
    names = _ResourceNames(described, parsed.prefixes).all()
    nodes = [_make_node(term, content, names[term], where) for term, content in described.items()]
    return KnowledgeGraph(nodes, _make_edges(described, names), property_units=units)


def _describe_resources(parsed: Triples, where: str) -> dict[Subject, Description]:
    """The statements about each resource, in the order of the files; resources without statements come last."""
    import pyoxigraph as ox

    schema = {
        s for s, p, o in parsed.triples if p == _TYPE and isinstance(o, ox.NamedNode) and o.value in _SCHEMA_TYPES
    }
    collections = _Collections(parsed, where)
    subjects = {s for s, _, _ in parsed.triples} - schema - collections.cells
    described: dict[Subject, Description] = {}
    named: dict[Subject, None] = {}
    for subject, predicate, value in parsed.triples:
        if subject not in subjects:
            continue
        content = described.setdefault(subject, Description())
        for target in collections.members(value):
            if predicate == _TYPE:
                if isinstance(target, ox.NamedNode) and target.value not in _GENERIC_TYPES:
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


class _Collections:
    """RDF collections: their cells are not nodes, and a link to a collection is a link to each of its members."""

    def __init__(self, parsed: Triples, where: str) -> None:
        self._where = where
        self._first = {s: o for s, p, o in parsed.triples if p == _FIRST}
        self._rest = {s: o for s, p, o in parsed.triples if p == _REST}
        self.cells: set[Subject] = {*self._first, *self._rest}

    def members(self, value: Object) -> Iterable[Object]:
        """Yield the members of a collection and of collections in it; any other value yields itself."""
        if not self._is_collection(value):
            yield value
            return
        # The cells that come next, the innermost last, and the cells of the collections around each.
        waiting: list[Any] = [value]
        visited: list[list[Any]] = [[]]
        inside: set[Any] = set()
        n_visited = 0
        while waiting:
            cell = waiting.pop()
            if cell not in self.cells or cell in visited[-1][-1:]:
                # The end of a collection: rdf:nil, or a cell without another.
                inside.difference_update(visited.pop())
                continue
            if cell in inside:
                raise GraphError(
                    "an RDF list contains itself", where=self._where, hint="correct its rdf:first or rdf:rest"
                )
            n_visited += 1
            if n_visited > len(self.cells):
                # Otherwise a few lists could have billions of members.
                raise GraphError("an RDF list is part of another one twice", where=self._where, hint="write it twice")
            inside.add(cell)
            visited[-1].append(cell)
            waiting.append(self._rest.get(cell, cell))
            member = self._first.get(cell)
            if member is not None and self._is_collection(member):
                waiting.append(member)
                visited.append([])
            elif member is not None:
                yield member

    def _is_collection(self, value: Object) -> bool:
        import pyoxigraph as ox

        return not isinstance(value, ox.Literal) and (value in self.cells or value.value == _NIL)


class _ResourceNames:
    """Readable, unique and stable ids of resources."""

    def __init__(self, described: dict[Subject, Description], prefixes: dict[str, str]) -> None:
        self._described = described
        self._prefixes = prefixes

    def all(self) -> dict[Subject, str]:
        """Return the id of each resource."""
        import pyoxigraph as ox

        sharing: dict[str, list[ox.NamedNode]] = defaultdict(list)
        for term in self._described:
            if isinstance(term, ox.NamedNode):
                sharing[local_name(term.value)].append(term)
        names: dict[Subject, str] = {}
        for short, terms in sharing.items():
            described = [t for t in terms if not self._described[t].is_empty()]
            # The only resource with statements keeps the short name; otherwise all of them get a prefix.
            owner = terms[0] if len(terms) == 1 else described[0] if len(described) == 1 else None
            qualified = {t: f"{self._prefix(t.value)}:{short}" for t in terms}
            repeated = Counter(qualified.values())
            for term in terms:
                unique = repeated[qualified[term]] == 1
                names[term] = short if term is owner else qualified[term] if unique else term.value
        return names | self._name_blank_nodes(names)

    def _prefix(self, iri: str) -> str:
        space = namespace(iri)
        return self._prefixes.get(space) or local_name(space)

    def _name_blank_nodes(self, names: dict[Subject, str]) -> dict[Subject, str]:
        import pyoxigraph as ox

        referrers: dict[Subject, tuple[Subject, str]] = {}
        for source, content in self._described.items():
            for predicate, target in content.links:
                if isinstance(target, ox.BlankNode):
                    referrers.setdefault(target, (source, predicate))
        found: dict[Subject, str] = {}
        taken = set(names.values())
        numbers: dict[str, int] = {}

        def claim(name: str) -> str:
            unique, n = name, numbers.get(name, 1)
            while unique in taken:
                n += 1
                unique = f"{name}#{n}"
            numbers[name] = n
            taken.add(unique)
            return unique

        for blank in (t for t in self._described if isinstance(t, ox.BlankNode)):
            trail: dict[Subject, None] = {}
            here: Subject = blank
            while here not in names and here not in found and here in referrers and here not in trail:
                trail[here] = None
                here = referrers[here][0]
            if here not in names and here not in found:
                # No named resource refers to it: a top-level blank node, or a cycle of blank nodes.
                found[here] = claim("_:blank")
                trail.pop(here, None)
            for term in reversed(trail):
                source, predicate = referrers[term]
                above = names.get(source) or found[source]
                # Names of nested nodes would grow with each level.
                short = above if len(above) <= _LONGEST_ID else "_:blank"
                found[term] = claim(self._title(term, short, predicate) or f"{short}/{predicate}")
        return found

    def _title(self, term: Subject, above: str, predicate: str) -> str:
        """What a blank node is called for people: its label, or its class if it is a thing of another thing."""
        content = self._described[term]
        labels = [str(value) for name in _LABELS for value in _combine(content.literals.get(name, []))]
        if labels and labels[0].strip():
            return labels[0]
        return f"{next(iter(content.labels))} of {above}" if content.labels and predicate in _OF_THINGS else ""


def _make_node(term: Subject, content: Description, name: str, where: str) -> Node:
    import pyoxigraph as ox

    properties: dict[str, Values] = {}
    if isinstance(term, ox.NamedNode):
        properties["iri"] = term.value
    for key, literals in content.literals.items():
        if any(len(literal.value) > _MOST_DIGITS and _is_integer(literal) for literal in literals):
            raise GraphError(
                f"{quote(name)}: {quote(key)} is a number of more than {_MOST_DIGITS} digits",
                where=where,
                hint="write it as an xsd:double or as a string",
            )
        values = _combine(literals)
        if values:
            # What names or describes a node for people is one text.
            properties[key] = join_values(sorted(values, key=str)) if key in _TEXTS and len(values) > 1 else values
    return Node(name, frozenset(content.labels), properties)


def _make_edges(described: dict[Subject, Description], names: dict[Subject, str]) -> list[Edge]:
    edges: dict[str, Edge] = {}
    for source, content in described.items():
        for predicate, target in content.links:
            name = f"{names[source]} {predicate} {names[target]}"
            edges[name] = Edge(name, names[source], names[target], frozenset((predicate,)))
    return list(edges.values())


def _combine(literals: list[ox.Literal]) -> tuple[Value, ...]:
    """The values of a property, each once: those in English, if they are in several languages."""
    if len(literals) > 1 and any(literal.language for literal in literals):
        by_language: dict[str, list[ox.Literal]] = defaultdict(list)
        for literal in literals:
            by_language[(literal.language or "").partition("-")[0].lower()].append(literal)
        literals = by_language.get("en") or by_language.get("") or by_language[min(by_language)]
    return tuple(v for v in map(_typed, literals) if v is not None)


def _is_integer(literal: ox.Literal) -> bool:
    return literal.datatype.value.removeprefix(XSD) in _INTEGERS


def _typed(literal: ox.Literal) -> Value | None:
    """A literal as a string, number or boolean; NaN and infinity are missing values, malformed numbers strings."""
    kind = literal.datatype.value.removeprefix(XSD)
    kind = "integer" if _is_integer(literal) else "number" if kind in ("decimal", "double", "float") else kind
    value = parse_value(literal.value, kind) if kind in ("integer", "number", "boolean") else None
    if value is None:
        return literal.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


LOADER = Loader(read, suffixes=tuple(SUFFIXES), several=True)
