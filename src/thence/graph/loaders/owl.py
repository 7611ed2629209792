"""OWL, RDFS and SHACL vocabularies as an ``Ontology``.

Names are local names, as in the graphs that ``loaders.rdf`` reads; two vocabularies that share a name share
the class (Brick's and RealEstateCore's ``Room``). What is read:

- classes, ``rdfs:subClassOf``, ``owl:equivalentClass``, members of unions and intersections;
- object and datatype properties, ``rdfs:subPropertyOf``, ``owl:equivalentProperty``, ``owl:inverseOf``;
- domain and range from RDFS or schema.org's ``domainIncludes``/``rangeIncludes``; several are alternatives;
- targets allowed for one class only: SHACL property shapes with ``sh:class`` (or ``sh:or`` of such), OWL restrictions
  with ``owl:allValuesFrom``; ``sh:maxCount 0`` forbids the relation for the class. A shape declares its property but
  does not reserve it for its class;
- deprecated classes count as a kind of the class that replaces them.

Everything else (cardinalities, rules, disjointness) is left out: it has no part in the paper's conditions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from thence.errors import GraphError
from thence.graph.loaders.triples import Object, Triples, local_name, parse
from thence.graph.ontology import Ontology, Relation

__all__ = ["read"]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_SH = "http://www.w3.org/ns/shacl#"
_BUILT_IN = (_RDF, _RDFS, _OWL, _XSD, _SH)
_INCLUDES = ("http://schema.org/", "https://schema.org/")
_REPLACED_BY = ("https://brickschema.org/schema/Brick#isReplacedBy", "http://purl.org/dc/terms/isReplacedBy")
_CLASSES = {_OWL + "Class", _RDFS + "Class"}
_OBJECT_PROPERTIES = {_OWL + kind for kind in ("ObjectProperty", "SymmetricProperty", "TransitiveProperty")}
_DATA_PROPERTIES = {_OWL + "DatatypeProperty", _OWL + "AnnotationProperty"}
_Kind: TypeAlias = Literal["object", "data", "either"]


def read(paths: Sequence[Path], *, syntax: str | None = None) -> Ontology:
    """Read vocabulary files together into one ontology."""
    vocabulary = _Vocabulary(parse(paths, syntax=syntax))
    classes = vocabulary.parents()
    kinds = vocabulary.kinds()
    relations, properties = vocabulary.relations(kinds), vocabulary.owners(kinds)
    if not classes and not relations:
        raise GraphError(
            "there is no class and no relation in this RDF",
            where=", ".join(map(str, paths)),
            hint="read it with read_graph if it is a graph",
        )
    # What is only mentioned (a parent or a domain from a vocabulary that was not given) is known by name.
    mentioned = {parent for parents in classes.values() for parent in parents}
    for relation in relations.values():
        mentioned |= relation.domain | relation.range
    mentioned |= {owner for owners in properties.values() for owner in owners}
    classes |= dict.fromkeys(sorted(mentioned - classes.keys() - relations.keys()), frozenset[str]())
    return Ontology(
        classes,
        relations,
        properties,
        name=", ".join(path.stem for path in paths),
        deprecated=vocabulary.deprecated(),
    )


class _Vocabulary:
    """RDF statements by subject and predicate; terms are text: IRIs as they are, ``_:x`` blank, ``"x`` a literal."""

    def __init__(self, parsed: Triples) -> None:
        import pyoxigraph as ox

        def text(term: Object) -> str:
            if isinstance(term, ox.NamedNode):
                return term.value
            return f"_:{term.value}" if isinstance(term, ox.BlankNode) else f'"{term.value}'

        self._said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, value in parsed.triples:
            self._said[text(subject)][predicate].append(text(value))
        self._classes = [
            term
            for term, said in self._said.items()
            if _is_name(term) and (_CLASSES & set(said.get(_RDF + "type", ())) or _RDFS + "subClassOf" in said)
        ]

    def parents(self) -> dict[str, frozenset[str]]:
        """Every class with the classes right above it; equivalent classes are above each other."""
        found: dict[str, set[str]] = defaultdict(set)
        for term in self._classes:
            name = local_name(term)
            same = self._get(term, _OWL + "equivalentClass")
            for above in (*self._get(term, _RDFS + "subClassOf"), *same):
                found[name] |= _names((above, *self._members(above, _OWL + "intersectionOf")))
            for below in _names(
                m for expression in same for m in (expression, *self._members(expression, _OWL + "unionOf"))
            ):
                found[below].add(name)
            found[name] |= self._replacements(term)
        return {name: frozenset(above - {name}) for name, above in found.items()}

    def deprecated(self) -> dict[str, str]:
        """Deprecated classes and what replaces them; a name that another vocabulary uses on is not deprecated."""
        old = {term for term in self._classes if '"true' in self._get(term, _OWL + "deprecated")}
        current = _names(term for term in self._classes if term not in old)
        names = {local_name(term): self._replacements(term) for term in self._classes if term in old}
        return {name: min(by, default="") for name, by in names.items() if name not in current}

    def _replacements(self, term: str) -> set[str]:
        return _names(successor for predicate in _REPLACED_BY for successor in self._get(term, predicate))

    def kinds(self) -> dict[str, _Kind]:
        """Each property of the vocabulary: to things, to data or, where nothing tells, either."""
        kinds: dict[str, _Kind] = {}
        for term, said in self._said.items():
            types = set(said.get(_RDF + "type", ()))
            if not _is_name(term):
                continue
            if types & _OBJECT_PROPERTIES:
                kinds[term] = "object"
            elif types & _DATA_PROPERTIES:
                kinds[term] = "data"
            elif _RDF + "Property" in types:
                literal = [r.startswith(_XSD) or r == _RDFS + "Literal" for r in said.get(_RDFS + "range", ())]
                kinds[term] = "either" if not literal else "data" if all(literal) else "object"
        for said in list(self._said.values()):
            for path in said.get(_SH + "path", ()):
                if _is_name(path) and path not in kinds:
                    things = _SH + "class" in said or _SH + "node" in said
                    kinds[path] = "data" if _SH + "datatype" in said else "object" if things else "either"
        return kinds

    def owners(self, kinds: dict[str, _Kind]) -> dict[str, frozenset[str]]:
        """Properties with the classes of their domain; a name that one vocabulary leaves open is open."""
        domains: dict[str, list[frozenset[str]]] = defaultdict(list)
        for term, kind in kinds.items():
            if kind != "object":
                domains[local_name(term)].append(self._ends(term, "domain"))
        return {name: frozenset().union(*found) if all(found) else frozenset() for name, found in domains.items()}

    def relations(self, kinds: dict[str, _Kind]) -> dict[str, Relation]:
        """Relations with what they connect."""
        narrowed = self._ranges_by_class({term for term, kind in kinds.items() if kind != "data"})
        names = _names(term for term, kind in kinds.items() if kind != "data")
        relations: dict[str, Relation] = {}
        for term, kind in kinds.items():
            if kind == "data":
                continue
            name = local_name(term)
            wider = (*self._get(term, _RDFS + "subPropertyOf"), *self._get(term, _OWL + "equivalentProperty"))
            relation = Relation(
                self._ends(term, "domain"),
                self._ends(term, "range"),
                frozenset(_names(wider) & names - {name}),
                inverse=min(_names(self._get(term, _OWL + "inverseOf")), default=""),
                symmetric=_OWL + "SymmetricProperty" in self._get(term, _RDF + "type"),
                ranges=narrowed.get(name, {}),
            )
            relations[name] = relations[name].joined(relation) if name in relations else relation
        return relations

    def _ends(self, term: str, which: str) -> frozenset[str]:
        """Domain or range of a property: alternatives, or nothing where anything goes."""
        stated = [*self._get(term, _RDFS + which)]
        stated += [end for base in _INCLUDES for end in self._get(term, f"{base}{which}Includes")]
        choices = [self._alternatives(end) for end in stated]
        return frozenset().union(*choices) if all(choices) else frozenset()

    def _ranges_by_class(self, relations: set[str]) -> dict[str, dict[str, frozenset[str]]]:
        """For each relation, the targets that sources of one class are held to."""
        found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)

        def narrow(relation: str, holders: Iterable[str], allowed: frozenset[str] | None) -> None:
            if relation in relations and allowed is not None:
                ranges = found[local_name(relation)]
                for holder in holders:
                    # Where two shapes of a class speak of a relation, satisfying either is enough: no false alarms.
                    ranges[holder] = ranges.get(holder, frozenset()) | allowed

        classes = set(self._classes)
        for term in self._classes:
            for restriction in self._get(term, _RDFS + "subClassOf"):
                for allowed in self._get(restriction, _OWL + "allValuesFrom"):
                    for relation in self._get(restriction, _OWL + "onProperty"):
                        narrow(relation, (local_name(term),), self._alternatives(allowed) or None)
        for shape in list(self._said):
            holders = _names((*self._get(shape, _SH + "targetClass"), *([shape] if shape in classes else [])))
            for constraint in self._get(shape, _SH + "property") if holders else ():
                for path in self._get(constraint, _SH + "path"):
                    narrow(path, holders, self._shape_range(constraint))
        return found

    def _shape_range(self, shape: str) -> frozenset[str] | None:
        """Classes that a property shape allows: none at all for ``maxCount 0``, ``None`` where it does not say."""
        if '"0' in self._get(shape, _SH + "maxCount"):
            return frozenset()
        choices = [self._value_classes(shape)] if self._value_classes(shape) else []
        for collection in self._get(shape, _SH + "or"):
            choices += [self._value_classes(member) for member in self._list(collection)]
        # One open choice (a datatype, a shape that is no class) leaves the range open.
        return frozenset().union(*choices) if choices and all(choices) else None

    def _value_classes(self, shape: str) -> frozenset[str]:
        values = [*self._get(shape, _SH + "class"), *self._get(shape, _SH + "node")]
        return frozenset(_names(values)) if all(map(self._is_class, values)) else frozenset()

    def _is_class(self, term: str) -> bool:
        types = set(self._get(term, _RDF + "type"))
        # A class of another vocabulary is not described here; a shape that is no class is.
        return _SH + "NodeShape" not in types or bool(types & _CLASSES)

    def _alternatives(self, expression: str) -> frozenset[str]:
        """The classes that a class expression lists; nothing where it is open."""
        members = self._members(expression, _OWL + "unionOf")
        if not members:
            return frozenset(_names((expression,)))
        choices = [self._alternatives(member) for member in members]
        return frozenset().union(*choices) if all(choices) else frozenset()

    def _members(self, expression: str, kind: str) -> list[str]:
        return [member for collection in self._get(expression, kind) for member in self._list(collection)]

    def _list(self, cell: str) -> Iterator[str]:
        seen: set[str] = set()
        while cell not in seen:
            seen.add(cell)
            yield from self._get(cell, _RDF + "first")
            cell = next(iter(self._get(cell, _RDF + "rest")), cell)

    def _get(self, subject: str, predicate: str) -> Sequence[str]:
        said = self._said.get(subject)
        return said.get(predicate, ()) if said else ()


def _is_name(term: str) -> bool:
    return not term.startswith(("_:", '"', *_BUILT_IN))


def _names(terms: Iterable[str]) -> set[str]:
    """Local names of the terms that a vocabulary declares: no blank nodes, no built-ins."""
    return {local_name(term) for term in terms if _is_name(term)}
