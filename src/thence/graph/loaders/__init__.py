"""Graphs, ontologies and bindings from files: the reader is chosen by the suffix of a file or by name.

One module per format; each is imported when it is needed. Readers return complete, checked objects or raise one error
that lists what is wrong, with file and line. This package must not know sensors, rules or miners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from thence.errors import GraphError, nearest
from thence.graph.loaders.triples import SUFFIXES as RDF_SUFFIXES
from thence.graph.loaders.triples import SYNTAXES as RDF_SYNTAXES

if TYPE_CHECKING:
    from thence.graph.binding import Binding
    from thence.graph.knowledge_graph import KnowledgeGraph
    from thence.graph.ontology import Ontology

__all__ = ["FORMATS", "read_binding", "read_graph", "read_ontology"]

Source: TypeAlias = "str | Path | Sequence[str | Path]"
FORMATS = ("epanet", "rdf", *RDF_SYNTAXES, "json", "csv", "graphml", "networkx")


def read_graph(
    source: Any, *, format: str | None = None, fold: bool = True, labels: str | None = None
) -> KnowledgeGraph:
    """Read a knowledge graph from a file, several files, a folder, or a graph object.

    ``source`` is an EPANET ``.inp`` file or WNTR model; one or more RDF files; property-graph or node-link ``.json``;
    ``nodes.csv`` with ``edges.csv`` beside it (or the folder of both, or a tuple of the files); ``.graphml``; a
    networkx graph; or a ``KnowledgeGraph``, which is returned as it is. A folder without
    ``nodes.csv`` is read as the RDF files in it. ``format`` (one of ``FORMATS``) overrides what the suffix says.
    ``fold=False`` keeps RDF value nodes as nodes; ``labels`` names the attribute that holds labels in GraphML,
    node-link JSON and networkx.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "nodes.csv").write_text("id,labels,length [m]\\np1,Pipe,820\\nj1,Junction,\\n")
    ...     _ = (Path(folder) / "edges.csv").write_text("source,target,labels\\np1,j1,starts_at\\n")
    ...     graph = read_graph(folder)
    >>> graph.value("p1", "length"), graph.property_units["length"], list(graph.edges)
    (820, 'm', ['p1 starts_at j1'])
    """
    from thence.graph.knowledge_graph import KnowledgeGraph
    from thence.graph.loaders import nxgraph

    if format is not None and format not in FORMATS:
        raise GraphError(f"there is no graph format '{format}'", hint=nearest(format, FORMATS) or ", ".join(FORMATS))
    if isinstance(source, KnowledgeGraph):
        return source
    if nxgraph.is_networkx(source):
        return nxgraph.from_networkx(source, labels=labels)
    if type(source).__module__.startswith("wntr."):
        from thence.graph.loaders import epanet

        return epanet.from_model(source)
    paths = _paths(source)
    kind = format or _format_of(paths)
    if kind in ("rdf", *RDF_SYNTAXES):
        from thence.graph.loaders import rdf

        return rdf.read(_rdf_files(paths), syntax=None if kind == "rdf" else kind, fold=fold)
    if kind == "csv":
        return _read_tables(paths)
    return _read_single(_only(paths, kind), kind, fold=fold, labels=labels)


def _read_single(path: Path, kind: str, *, fold: bool, labels: str | None) -> KnowledgeGraph:
    if kind == "epanet":
        from thence.graph.loaders import epanet

        return epanet.read(path)
    if kind == "graphml":
        from thence.graph.loaders import graphml

        return graphml.read(path, labels=labels)
    if kind == "json":
        from thence.graph.loaders import propertyjson, rdf

        content = propertyjson.load_json(path)
        if propertyjson.is_json_ld(content):
            return rdf.read([path], syntax="jsonld", fold=fold)
        return propertyjson.from_content(content, where=str(path), labels=labels)
    raise GraphError("format 'networkx' is for networkx graphs, not for files", where=str(path))


def read_ontology(source: Source, *, format: str | None = None) -> Ontology:
    """Read an ontology: OWL, RDFS or SHACL in any RDF syntax, a small TOML or JSON schema, or ``"water"``.

    Several sources are taken together. ``format`` is an RDF syntax, ``toml`` or ``json``.

    >>> read_ontology("water").is_a("Pump", "Link")
    True
    """
    from thence.graph.loaders import owl, schema
    from thence.graph.ontology import Ontology

    if source == "water":
        return Ontology.water()
    known = ("rdf", *RDF_SYNTAXES, "toml", "json")
    if format is not None and format not in known:
        raise GraphError(f"there is no ontology format '{format}'", hint=nearest(format, known) or ", ".join(known))
    paths = [file for path in _paths(source) for file in (_rdf_files([path]) if path.is_dir() else [path])]
    small = [p for p in paths if (format or p.suffix.lower().lstrip(".")) in ("toml", "json")]
    vocabularies = [p for p in paths if p not in small]
    parts = [schema.read(path) for path in small]
    if vocabularies:
        parts.append(owl.read(vocabularies, syntax=None if format == "rdf" else format))
    return parts[0].merged(*parts[1:]) if len(parts) > 1 else parts[0]


def read_binding(source: Source, *, sensor: str = "sensor", node: str = "node") -> Binding:
    """Read which sensor sits at which node: from CSV, JSON, or the references in RDF files.

    CSV has the columns ``sensor`` and ``node`` (or those named); JSON is an object ``{sensor: node}`` or a list of
    ``{"sensor": …, "node": …}``; of RDF the time series references are taken (``ref:hasTimeseriesId``,
    ``brick:timeseries``), or else the identifiers of its SOSA sensors and actuators.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "binding.csv"
    ...     _ = file.write_text("sensor,node\\nflow_1,Pipe 1\\n")
    ...     read_binding(file)["flow_1"]
    'Pipe 1'
    """
    from thence.graph.loaders import bindings

    paths = _paths(source)
    if all(path.is_dir() or path.suffix.lower() in RDF_SUFFIXES for path in paths):
        return bindings.from_graph(read_graph(source), where=", ".join(map(str, paths)))
    return bindings.read(_only(paths, "binding"), sensor=sensor, node=node)


def _paths(source: Any) -> list[Path]:
    listed = [source] if isinstance(source, str | Path) else list(source) if isinstance(source, Iterable) else None
    if listed is None or not all(isinstance(entry, str | Path) for entry in listed):
        raise GraphError(f"cannot read from {type(source).__name__}", hint="give a path, a list of paths, or a graph")
    paths = [Path(entry).expanduser() for entry in listed]
    if not paths:
        raise GraphError("no file was given", hint="give a path or a list of paths")
    absent = [str(path) for path in paths if not path.exists()]
    if absent:
        raise GraphError(f"there is no {', no '.join(absent)}", hint="check the path")
    return paths


def _format_of(paths: list[Path]) -> str:
    if len(paths) == 1 and paths[0].is_dir():
        return "csv" if (paths[0] / "nodes.csv").is_file() else "rdf"
    known = {
        ".inp": "epanet",
        ".json": "json",
        ".csv": "csv",
        ".graphml": "graphml",
        **dict.fromkeys(RDF_SUFFIXES, "rdf"),
    }
    kinds = {path: "rdf" if path.is_dir() else known.get(path.suffix.lower()) for path in paths}
    strange = [str(path) for path, kind in kinds.items() if kind is None]
    if strange:
        raise GraphError(
            f"the suffix does not say which format this is: {', '.join(strange)}",
            hint=f"known suffixes are {', '.join(known)}; or give format= one of {', '.join(FORMATS)}",
        )
    if len(set(kinds.values())) > 1:
        raise GraphError(f"these files are of different formats: {', '.join(map(str, paths))}", hint="read them apart")
    return kinds[paths[0]] or ""


def _rdf_files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted(f for f in path.iterdir() if f.suffix.lower() in RDF_SUFFIXES) if path.is_dir() else [path]
        if not inside:
            raise GraphError("there is no nodes.csv and no RDF file in this folder", where=str(path))
        files += inside
    return files


def _read_tables(paths: list[Path]) -> KnowledgeGraph:
    from thence.graph.loaders import tables

    if len(paths) == 1:
        folder = paths[0] if paths[0].is_dir() else paths[0].parent
        nodes = folder / "nodes.csv" if paths[0].is_dir() else paths[0]
        beside = [folder / name for name in ("edges.csv", "values.csv")]
        return tables.read(nodes, *(file if file.is_file() else None for file in beside))
    if len(paths) > 3:
        raise GraphError("a graph has at most three tables", hint="give nodes.csv, edges.csv and values.csv")
    return tables.read(*paths)


def _only(paths: list[Path], kind: str) -> Path:
    if len(paths) > 1:
        raise GraphError(
            f"{kind} takes one file, not {len(paths)}", hint="only RDF files and CSV tables can be read together"
        )
    return paths[0]
