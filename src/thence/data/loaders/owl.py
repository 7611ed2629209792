"""Ontologies from OWL, RDFS and SHACL vocabularies.

Names are local names, as in the graphs that ``thence.data.loaders.rdf`` reads; classes of two vocabularies with the
same name are one class (``Room`` of Brick and of RealEstateCore). What is read:

- classes, ``rdfs:subClassOf``, ``owl:equivalentClass``, members of unions and intersections;
- object and datatype properties, ``rdfs:subPropertyOf``, ``owl:equivalentProperty``, ``owl:inverseOf``;
- domain and range from RDFS or schema.org's ``domainIncludes``/``rangeIncludes``; several are alternatives;
- ranges for one class only: SHACL property shapes with ``sh:class`` (or ``sh:or`` of several), OWL restrictions with
  ``owl:allValuesFrom``; ``sh:maxCount 0`` forbids the relation for the class. A shape declares its property but does
  not restrict it to its class;
- deprecated classes, as subclasses of the class that replaces them;
- known rules, as strings: the values of ``urn:thence:known`` of anything, named by its ``rdfs:label``.

Everything else (cardinalities, rules in SWRL, disjointness) is ignored, because the paper's conditions do not use it.
This module must not read graphs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from thence.data.graph.ontology import Ontology, Relation
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.triples import (
    OWL,
    RDF,
    RDFS,
    SHACL,
    SUFFIXES,
    XSD,
    Object,
    Triples,
    list_files,
    local_name,
    parse_files,
)
from thence.errors import ConfigError, GraphError
from thence.language.known import KnownRule

_BUILT_IN = (RDF, RDFS, OWL, XSD, SHACL)
_INCLUDES = ("http://schema.org/", "https://schema.org/")
_REPLACED_BY = ("https://brickschema.org/schema/Brick#isReplacedBy", "http://purl.org/dc/terms/isReplacedBy")
_CLASSES = {OWL + "Class", RDFS + "Class"}
_OBJECT_PROPERTIES = {OWL + kind for kind in ("ObjectProperty", "SymmetricProperty", "TransitiveProperty")}
_DATA_PROPERTIES = {OWL + "DatatypeProperty", OWL + "AnnotationProperty"}
_KNOWN = "urn:thence:known"
_Kind: TypeAlias = Literal["object", "data", "either"]


def read(paths: Sequence[Path], options: LoadOptions) -> Ontology:
    """Read vocabulary files, and folders of them, together; ``options.format`` is an RDF syntax or ``None``."""
    files = list_files(paths)
    vocabulary = _Vocabulary(parse_files(files, format=options.format))
    classes = vocabulary.parents()
    kinds = vocabulary.kinds()
    relations, properties = vocabulary.relations(kinds), vocabulary.owners(kinds)
    known = vocabulary.known(where=", ".join(map(str, files)))
    if not classes and not relations and not known:
        raise GraphError(
            "no class and no relation in this RDF",
            where=", ".join(map(str, files)),
            hint="read a graph with read_graph",
        )
    # Parents, domains and ranges from vocabularies that were not given become classes without parents.
    mentioned = {parent for parents in classes.values() for parent in parents}
    for relation in relations.values():
        mentioned |= relation.domain | relation.range
    mentioned |= {owner for owners in properties.values() for owner in owners}
    classes |= dict.fromkeys(sorted(mentioned - classes.keys() - relations.keys()), frozenset[str]())
    return Ontology(
        classes,
        relations,
        properties,
        name=", ".join(path.stem for path in files),
        deprecated=vocabulary.deprecated(),
        known=known,
    )


class _Vocabulary:
    """RDF statements by subject and predicate. Terms are strings: an IRI, ``_:x`` (blank node) or ``"x`` (literal)."""

    def __init__(self, parsed: Triples) -> None:
        import pyoxigraph as ox

        def text(term: Object) -> str:
            if isinstance(term, ox.NamedNode):
                return term.value
            return f"_:{term.value}" if isinstance(term, ox.BlankNode) else f'"{term.value}'

        self._statements: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, value in parsed.triples:
            self._statements[text(subject)][predicate].append(text(value))
        self._classes = [
            term
            for term, stated in self._statements.items()
            if _is_name(term) and (_CLASSES & set(stated.get(RDF + "type", ())) or RDFS + "subClassOf" in stated)
        ]

    def parents(self) -> dict[str, frozenset[str]]:
        """Each class with its direct superclasses; equivalent classes are superclasses of each other."""
        found: dict[str, set[str]] = defaultdict(set)
        for term in self._classes:
            name = local_name(term)
            same = self._get(term, OWL + "equivalentClass")
            for above in (*self._get(term, RDFS + "subClassOf"), *same):
                found[name] |= _names((above, *self._members(above, OWL + "intersectionOf")))
            for below in _names(
                m for expression in same for m in (expression, *self._members(expression, OWL + "unionOf"))
            ):
                found[below].add(name)
            found[name] |= self._replacements(term)
        return {name: frozenset(above - {name}) for name, above in found.items()}

    def deprecated(self) -> dict[str, str]:
        """Deprecated classes and their replacements, except names that another vocabulary still uses."""
        old = {term for term in self._classes if '"true' in self._get(term, OWL + "deprecated")}
        current = _names(term for term in self._classes if term not in old)
        names = {local_name(term): self._replacements(term) for term in self._classes if term in old}
        return {name: min(by, default="") for name, by in names.items() if name not in current}

    def known(self, *, where: str) -> list[KnownRule]:
        """The known rules, in the order of their names and texts."""
        found = []
        for term, stated in self._statements.items():
            label = min((text[1:] for text in stated.get(RDFS + "label", ()) if text.startswith('"')), default="")
            for text in stated.get(_KNOWN, ()):
                try:
                    found.append(KnownRule.parse(text.removeprefix('"'), name=label))
                except ConfigError as error:
                    raise GraphError(f"{term}: {error.message}", where=where, hint=error.hint) from error
        return sorted(found, key=lambda rule: (rule.name, str(rule)))

    def _replacements(self, term: str) -> set[str]:
        return _names(successor for predicate in _REPLACED_BY for successor in self._get(term, predicate))

    def kinds(self) -> dict[str, _Kind]:
        """Each property of the vocabulary: whether its values are objects, data, or either if that is not stated."""
        kinds: dict[str, _Kind] = {}
        for term, stated in self._statements.items():
            types = set(stated.get(RDF + "type", ()))
            if not _is_name(term):
                continue
            if types & _OBJECT_PROPERTIES:
                kinds[term] = "object"
            elif types & _DATA_PROPERTIES:
                kinds[term] = "data"
            elif RDF + "Property" in types:
                literal = [r.startswith(XSD) or r == RDFS + "Literal" for r in stated.get(RDFS + "range", ())]
                kinds[term] = "either" if not literal else "data" if all(literal) else "object"
        for stated in list(self._statements.values()):
            for path in stated.get(SHACL + "path", ()):
                if _is_name(path) and path not in kinds:
                    objects = SHACL + "class" in stated or SHACL + "node" in stated
                    kinds[path] = "data" if SHACL + "datatype" in stated else "object" if objects else "either"
        return kinds

    def owners(self, kinds: dict[str, _Kind]) -> dict[str, frozenset[str]]:
        """Properties with the classes of their domain; open if one vocabulary leaves the domain open."""
        domains: dict[str, list[frozenset[str]]] = defaultdict(list)
        for term, kind in kinds.items():
            if kind != "object":
                domains[local_name(term)].append(self._ends(term, "domain"))
        return {name: frozenset().union(*found) if all(found) else frozenset() for name, found in domains.items()}

    def relations(self, kinds: dict[str, _Kind]) -> dict[str, Relation]:
        """The relations, with domain and range."""
        narrowed = self._ranges_by_class({term for term, kind in kinds.items() if kind != "data"})
        names = _names(term for term, kind in kinds.items() if kind != "data")
        relations: dict[str, Relation] = {}
        for term, kind in kinds.items():
            if kind == "data":
                continue
            name = local_name(term)
            wider = (*self._get(term, RDFS + "subPropertyOf"), *self._get(term, OWL + "equivalentProperty"))
            relation = Relation(
                self._ends(term, "domain"),
                self._ends(term, "range"),
                frozenset(_names(wider) & names - {name}),
                inverse=min(_names(self._get(term, OWL + "inverseOf")), default=""),
                symmetric=OWL + "SymmetricProperty" in self._get(term, RDF + "type"),
                ranges=narrowed.get(name, {}),
            )
            relations[name] = relations[name].joined(relation) if name in relations else relation
        return relations

    def _ends(self, term: str, which: str) -> frozenset[str]:
        """Domain or range of a property: the alternative classes, or an empty set if it is open."""
        stated = [*self._get(term, RDFS + which)]
        stated += [end for base in _INCLUDES for end in self._get(term, f"{base}{which}Includes")]
        choices = [self._alternatives(end) for end in stated]
        return frozenset().union(*choices) if all(choices) else frozenset()

    def _ranges_by_class(self, relations: set[str]) -> dict[str, dict[str, frozenset[str]]]:
        """For each relation, the target classes that are allowed for sources of one class."""
        found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)

        def narrow(relation: str, holders: Iterable[str], allowed: frozenset[str] | None) -> None:
            if relation in relations and allowed is not None:
                ranges = found[local_name(relation)]
                for holder in holders:
                    # If two shapes of a class constrain a relation, satisfying either is enough: no false alarms.
                    ranges[holder] = ranges.get(holder, frozenset()) | allowed

        classes = set(self._classes)
        for term in self._classes:
            for restriction in self._get(term, RDFS + "subClassOf"):
                for allowed in self._get(restriction, OWL + "allValuesFrom"):
                    for relation in self._get(restriction, OWL + "onProperty"):
                        narrow(relation, (local_name(term),), self._alternatives(allowed) or None)
        for shape in list(self._statements):
            holders = _names((*self._get(shape, SHACL + "targetClass"), *([shape] if shape in classes else [])))
            for constraint in self._get(shape, SHACL + "property") if holders else ():
                for path in self._get(constraint, SHACL + "path"):
                    narrow(path, holders, self._shape_range(constraint))
        return found

    def _shape_range(self, shape: str) -> frozenset[str] | None:
        """The classes that a property shape allows: none for ``maxCount 0``, ``None`` if it does not restrict them."""
        if '"0' in self._get(shape, SHACL + "maxCount"):
            return frozenset()
        choices = [self._value_classes(shape)] if self._value_classes(shape) else []
        for collection in self._get(shape, SHACL + "or"):
            choices += [self._value_classes(member) for member in self._list(collection)]
        # One open choice (a datatype, a shape that is not a class) leaves the range open.
        return frozenset().union(*choices) if choices and all(choices) else None

    def _value_classes(self, shape: str) -> frozenset[str]:
        values = [*self._get(shape, SHACL + "class"), *self._get(shape, SHACL + "node")]
        return frozenset(_names(values)) if all(map(self._is_class, values)) else frozenset()

    def _is_class(self, term: str) -> bool:
        types = set(self._get(term, RDF + "type"))
        # A class of another vocabulary has no type here; a shape that is not a class has one.
        return SHACL + "NodeShape" not in types or bool(types & _CLASSES)

    def _alternatives(self, expression: str) -> frozenset[str]:
        """The classes that a class expression lists, unions in it included; an empty set if one of them is open."""
        found: set[str] = set()
        seen = {expression}
        waiting = [expression]
        while waiting:
            here = waiting.pop()
            members = self._members(here, OWL + "unionOf")
            # A union may be a member of itself, or of many others.
            waiting += [member for member in dict.fromkeys(members) if member not in seen]
            seen.update(members)
            if not members:
                names = _names((here,))
                if not names:
                    return frozenset()
                found |= names
        return frozenset(found)

    def _members(self, expression: str, kind: str) -> list[str]:
        return [member for collection in self._get(expression, kind) for member in self._list(collection)]

    def _list(self, cell: str) -> Iterator[str]:
        seen: set[str] = set()
        while cell not in seen:
            seen.add(cell)
            yield from self._get(cell, RDF + "first")
            cell = next(iter(self._get(cell, RDF + "rest")), cell)

    def _get(self, subject: str, predicate: str) -> Sequence[str]:
        stated = self._statements.get(subject)
        return stated.get(predicate, ()) if stated else ()


def _is_name(term: str) -> bool:
    return not term.startswith(("_:", '"', *_BUILT_IN))


def _names(terms: Iterable[str]) -> set[str]:
    """Local names of the terms, without blank nodes, literals and built-in terms."""
    return {local_name(term) for term in terms if _is_name(term)}


LOADER = Loader(read, suffixes=tuple(SUFFIXES), several=True)
