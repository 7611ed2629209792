"""RDF files in any syntax as plain triples; errors name the file and line.

The loaders of RDF graphs and of OWL ontologies share it. It must not interpret the triples. Parsing is done by
pyoxigraph, which reads the 44,213 triples of CityPulse's sensor repository in 0.07 s, where rdflib needs 1.4 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from thence._base.settings.documents import check_json_depth, check_xml
from thence.errors import GraphError, reported_as

if TYPE_CHECKING:
    import pyoxigraph as ox

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SHACL = "http://www.w3.org/ns/shacl#"

_FIRST = RDF + "first"
_DEEPEST_XML = 1000
MOST_MEMBERS = 1_000_000
"""The most members of all lists of a file; each takes about 1 kB of memory."""

Subject: TypeAlias = "ox.NamedNode | ox.BlankNode"
Object: TypeAlias = "ox.NamedNode | ox.BlankNode | ox.Literal"

SYNTAXES = ("turtle", "ntriples", "n3", "rdfxml", "jsonld", "trig", "nquads")
SUFFIXES = {
    ".ttl": "turtle",
    ".turtle": "turtle",
    ".nt": "ntriples",
    ".n3": "n3",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
    ".xml": "rdfxml",
    ".jsonld": "jsonld",
    ".trig": "trig",
    ".nq": "nquads",
}


@dataclass(frozen=True)
class Triples:
    """The triples of some files.

    Args:
        triples: Subject, predicate and object, in the order of the files.
        prefixes: Namespace to prefix, as the files declare them.
    """

    triples: Sequence[tuple[Subject, str, Object]]
    prefixes: dict[str, str]


def list_files(paths: Iterable[Path]) -> list[Path]:
    """Replace each folder in ``paths`` by the RDF files in it; raise a ``GraphError`` if there are none."""
    files: list[Path] = []
    for path in paths:
        found = sorted(f for f in path.iterdir() if f.suffix.lower() in SUFFIXES) if path.is_dir() else [path]
        if not found:
            raise GraphError("there is no nodes.csv and no RDF file in this folder", where=str(path))
        files += found
    return files


def parse_files(paths: Iterable[Path], *, format: str | None = None) -> Triples:
    """Parse RDF files together; blank nodes of different files stay distinct.

    Args:
        paths: The files.
        format: One of ``SYNTAXES``; ``None`` or ``"rdf"`` to go by the suffix of each file.

    Raises:
        GraphError: If a file cannot be read or parsed, or its suffix is unknown.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "a.ttl"
        ...     _ = file.write_text('@prefix ex: <http://example.org/> . ex:a ex:near ex:b .')
        ...     parsed = parse_files([file])
        >>> [predicate for _, predicate, _ in parsed.triples], parsed.prefixes
        (['http://example.org/near'], {'http://example.org/': 'ex'})
    """
    triples: list[tuple[Subject, str, Object]] = []
    prefixes: dict[str, str] = {}
    for path in paths:
        syntax = _choose_syntax(path) if format in (None, "rdf") else format
        for prefix, iri in _parse_file(path, syntax=syntax, into=triples).items():
            prefixes.setdefault(iri, prefix)
    return Triples(triples, prefixes)


def _choose_syntax(path: Path) -> str:
    try:
        return SUFFIXES[path.suffix.lower()]
    except KeyError:
        known = ", ".join(SUFFIXES)
        raise GraphError(
            "no RDF syntax has the suffix of this file",
            where=str(path),
            hint=f"known suffixes are {known}; or pass format=, one of {', '.join(SYNTAXES)}",
        ) from None


def _parse_file(path: Path, *, syntax: str, into: list[tuple[Subject, str, Object]]) -> dict[str, str]:
    import pyoxigraph as ox

    formats = {
        "turtle": ox.RdfFormat.TURTLE,
        "ntriples": ox.RdfFormat.N_TRIPLES,
        "n3": ox.RdfFormat.N3,
        "rdfxml": ox.RdfFormat.RDF_XML,
        "jsonld": ox.RdfFormat.JSON_LD,
        "trig": ox.RdfFormat.TRIG,
        "nquads": ox.RdfFormat.N_QUADS,
    }
    # Relative IRIs are resolved against the name of the file alone, so that ids are the same on every machine.
    base = f"file:///{path.name}" if re.fullmatch(r"[\w.-]+", path.name) else "file:///graph"
    skip_formulas = syntax == "n3"
    _refuse_dangers(path, syntax)
    predicates: dict[str, str] = {}
    members = 0
    try:
        parser = ox.parse(path=path, format=formats[syntax], base_iri=base, rename_blank_nodes=True)
        for quad in parser:
            subject, target = quad.subject, quad.object
            # In N3 a named graph is a formula: it is quoted, not stated.
            if skip_formulas and not isinstance(quad.graph_name, ox.DefaultGraph):
                continue
            if not isinstance(subject, ox.NamedNode | ox.BlankNode) or not isinstance(
                target, ox.NamedNode | ox.BlankNode | ox.Literal
            ):
                raise GraphError(
                    f"'{quad}' is a statement about a statement, which a property graph cannot hold",
                    where=str(path),
                    hint="remove the quoted triples",
                )
            # A file has few predicates: each is kept once, not with every triple.
            predicate = quad.predicate.value
            into.append((subject, predicates.setdefault(predicate, predicate), target))
            if predicate == _FIRST:
                members += 1
                if members > MOST_MEMBERS:
                    raise GraphError(
                        f"the RDF lists of this file have more than {MOST_MEMBERS:,} members",
                        where=str(path),
                        hint="readings and other long series belong in a table of sensor data, not in the graph",
                    )
        return dict(parser.prefixes)
    except SyntaxError as error:
        place = f"{path}, line {error.lineno}" if error.lineno else str(path)
        raise GraphError(
            f"not valid {syntax}: {error.msg}", where=place, hint="correct the file, or pass format="
        ) from error
    except OSError as error:
        raise GraphError(f"cannot be read ({error.strerror or error})", where=str(path)) from error
    except ValueError as error:
        raise GraphError(f"not valid {syntax}: {error}", where=str(path)) from error


def _refuse_dangers(path: Path, syntax: str) -> None:
    """Refuse what would exhaust the memory or the stack of the parser."""
    if syntax not in ("rdfxml", "jsonld"):
        return
    with reported_as(GraphError, where=str(path)):
        raw = path.read_bytes()
    if syntax == "rdfxml":
        check_xml(raw, where=str(path), error=GraphError, deepest=_DEEPEST_XML)
    else:
        check_json_depth(raw, where=str(path), error=GraphError)


@lru_cache(maxsize=8192)
def local_name(iri: str) -> str:
    """Return the last part of ``iri``, which is readable.

    Examples:
        >>> local_name("https://brickschema.org/schema/Brick#hasPoint"), local_name("http://x.org/streams/A/")
        ('hasPoint', 'A')
    """
    return unquote(_split_iri(iri)[1]) or iri


def namespace(iri: str) -> str:
    """Return the part of ``iri`` before its local name.

    Examples:
        >>> namespace("https://brickschema.org/schema/Brick#hasPoint")
        'https://brickschema.org/schema/Brick#'
    """
    return _split_iri(iri)[0]


def _split_iri(iri: str) -> tuple[str, str]:
    stem = iri.rstrip("#/:")
    mark = "#" if "#" in stem else "/" if "/" in stem else ":"
    head, found, tail = stem.rpartition(mark)
    return head + found, tail
