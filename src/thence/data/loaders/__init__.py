"""Read graphs, ontologies and bindings; the format follows from the suffix of a file or is given by name.

There is one module per format, imported when it is needed. A loader returns a complete, checked object or raises one
error that lists all problems, with file and line. This package must not depend on sensors, rules or miners.

A new format is one module that defines a ``Loader`` (see ``thence.data.loaders.loader``) and one line in ``LOADERS``,
``ONTOLOGY_LOADERS`` or ``BINDING_LOADERS``. The suffixes of the format are declared in its ``Loader``. Another package
adds a format with an entry point, for which nothing in this package changes. With this module::

    from thence.data.graph.knowledge_graph import KnowledgeGraph, Node
    from thence.data.loaders import Loader

    def read(paths, options):
        return KnowledgeGraph([Node(line) for line in paths[0].read_text().split()])

    LOADER = Loader(read, suffixes=(".names",))

and this entry point, ``read_graph("rooms.names")`` returns a graph::

    [project.entry-points."thence.loaders"]
    names = "my_package.names:LOADER"

The groups are ``thence.loaders`` (graphs), ``thence.ontology_loaders`` and ``thence.binding_loaders``. Formats of this
package take precedence over those of other packages with the same name or suffix. The URL of a graph server is read by
what ``thence.data.loaders.loader.GRAPH_SERVERS`` has for its scheme.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from thence._base.settings.registry import Registry
from thence.data.loaders.loader import (
    Loader,
    LoadOptions,
    choose_formats,
    collector_paused,
    find_graph_server,
    given_options,
    iterate_loaders,
    only_path,
)
from thence.data.loaders.triples import SYNTAXES
from thence.errors import BindingError, GraphError, reported_as, show_path

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding
    from thence.data.graph.knowledge_graph import KnowledgeGraph
    from thence.data.graph.ontology import Ontology

__all__ = [
    "BINDING_LOADERS",
    "LOADERS",
    "ONTOLOGY_LOADERS",
    "LoadOptions",
    "Loader",
    "read_binding",
    "read_graph",
    "read_ontology",
]

_DAMAGED = "check that the file is whole, and of the format that it is read as"

_OF_FILES = ("format", "fold", "labels", "sensor", "node")

Source: TypeAlias = "str | Path | Sequence[str | Path]"

LOADERS = Registry(
    "graph format",
    {
        "epanet": "thence.data.loaders.epanet:LOADER",
        "rdf": "thence.data.loaders.rdf:LOADER",
        **dict.fromkeys(SYNTAXES, "thence.data.loaders.rdf:LOADER"),
        "json": "thence.data.loaders.propertyjson:LOADER",
        "csv": "thence.data.loaders.tables:LOADER",
        "graphml": "thence.data.loaders.graphml:LOADER",
        "haystack": "thence.data.loaders.haystack:LOADER",
        "networkx": "thence.data.loaders.propertyjson:NETWORKX",
    },
    group="thence.loaders",
    of=Loader,
    error=GraphError,
)
ONTOLOGY_LOADERS = Registry(
    "ontology format",
    {
        "toml": "thence.data.loaders.propertyjson:SCHEMA",
        "json": "thence.data.loaders.propertyjson:SCHEMA",
        "rdf": "thence.data.loaders.owl:LOADER",
        **dict.fromkeys(SYNTAXES, "thence.data.loaders.owl:LOADER"),
    },
    group="thence.ontology_loaders",
    of=Loader,
    error=GraphError,
)
BINDING_LOADERS = Registry(
    "binding format",
    {
        "csv": "thence.data.loaders.bindings:CSV",
        "json": "thence.data.loaders.bindings:JSON",
        "rdf": "thence.data.loaders.bindings:REFERENCES",
    },
    group="thence.binding_loaders",
    of=Loader,
    error=BindingError,
)


def read_graph(
    source: Any,
    *,
    format: str | None = None,
    fold: bool = True,
    labels: str | None = None,
    id: str | Sequence[str] | None = None,
    classes: str | Sequence[str] | None = None,
    nodes: str | None = None,
    edges: str | None = None,
    database: str | None = None,
    graph: str | None = None,
    query: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    page: int | None = None,
    timeout: float | None = None,
    max_bytes: int | None = None,
) -> KnowledgeGraph:
    """Read a knowledge graph from a file, several files, a folder, a graph server, or a graph object.

    Args:
        source: An EPANET ``.inp`` file or WNTR model; one or several RDF files; property-graph or node-link ``.json``;
            ``nodes.csv``, with ``edges.csv`` and ``values.csv`` beside it (or their folder, or a tuple of the files);
            ``.graphml``; a networkx graph; or a ``KnowledgeGraph``, which is returned as it is. A folder without
            ``nodes.csv`` is read as the RDF files in it. Or the URL of a server: ``bolt://host:7687/database`` (or
            ``neo4j://``) for Neo4j and compatible ones, ``sparql+https://host/query`` for a SPARQL endpoint. User name
            and password are taken from the URL, or from ``NEO4J_USERNAME`` and ``NEO4J_PASSWORD``, or
            ``SPARQL_USERNAME`` and ``SPARQL_PASSWORD``.
        format: A name in ``LOADERS``, which overrides the suffix; ``None`` to go by the suffix.
        fold: Whether RDF nodes that only hold a value, with or without a unit, become properties.
        labels: The attribute that holds the labels in GraphML, node-link JSON and networkx; by default ``labels``,
            ``label`` or ``type``.
        id: The property of a Bolt server that holds the ids of nodes, or several, of which each node has its first;
            ``"elementId"`` for the ids of the server. By default ``id``, else ``name``, else the id of the server.
        classes: Read only nodes of a Bolt server with one of these labels, and the edges between them.
        nodes: Cypher query for the nodes of a Bolt server: it returns nodes, or the columns ``id``, ``labels`` and
            ``properties``; other columns are properties. With ``$skip`` and ``$limit`` it is run page by page.
        edges: Cypher query for the edges: it returns relationships, or the columns ``source``, ``target``, ``type``
            and ``properties``; other columns are properties. By default all edges between the nodes.
        database: The database of a Bolt server; by default the one in the URL, or that of the user.
        graph: The IRI of a named graph of a SPARQL endpoint; by default the default graph.
        query: CONSTRUCT or DESCRIBE query for a SPARQL endpoint, instead of the whole graph.
        prefixes: Prefix to namespace, for nodes of a SPARQL endpoint with the same local name.
        page: How many nodes, edges or triples to read from a server at a time.
        timeout: The most seconds that a server may take for one query.
        max_bytes: The longest answer of a SPARQL endpoint, in bytes.

    Returns:
        The graph.

    Raises:
        GraphError: If the source does not exist, is of no known format, or has mistakes. The error lists all of them.
            Or a server does not answer, refuses, or changes while it is read.
        ConfigError: If an option does not apply to the source.
        MissingExtraError: If the format needs an optional package that is not installed.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "nodes.csv").write_text("id,labels,length [m]\\np1,Pipe,820\\nj1,Junction,\\n")
        ...     _ = (Path(folder) / "edges.csv").write_text("source,target,labels\\np1,j1,starts_at\\n")
        ...     graph = read_graph(folder)
        >>> graph.value("p1", "length"), graph.property_units["length"], list(graph.edges)
        (820, 'm', ['p1 starts_at j1'])
    """
    requested = {name: value for name, value in locals().items() if name != "source"}
    from thence.data.graph.knowledge_graph import KnowledgeGraph

    if (server := find_graph_server(_only(source))) is not None:
        requested |= {"fold": None if fold else False}
        return server.read_graph(
            _only(source), **given_options(requested, server.options, server.read_graph, server=True)
        )
    given_options({name: requested[name] for name in requested if name not in _OF_FILES}, (), read_graph, server=False)
    if format is not None:
        LOADERS.check(format)
    if isinstance(source, KnowledgeGraph):
        return source
    options = LoadOptions(format, fold, labels)
    if not isinstance(source, str | Path | list | tuple):
        for _, loader in iterate_loaders(LOADERS):
            if loader.accepts is not None and loader.convert is not None and loader.accepts(source):
                with reported_as(GraphError, where=f"{type(source).__name__} object"):
                    converted: KnowledgeGraph = loader.convert(source, options)
                return converted
    paths = _existing_paths(source)
    name = format or _choose_graph_format(paths)
    loader = LOADERS.load(name)
    chosen = paths if loader.several else only_path(paths, name)
    with reported_as(GraphError, where=_listed(chosen), hint=_DAMAGED), collector_paused():
        read: KnowledgeGraph = loader.read(chosen, options)
    return read


def read_ontology(source: Source, *, format: str | None = None) -> Ontology:
    """Read an ontology from files, or the water ontology that ships with Thence.

    Args:
        source: OWL, RDFS or SHACL in any RDF syntax, or a schema in TOML or JSON: a file, a folder of RDF files, or a
            list of these, which are merged. ``"water"``, alone or in a list, is the ontology of EPANET networks.
        format: A name in ``ONTOLOGY_LOADERS``, which overrides the suffix; ``None`` to go by the suffix.

    Returns:
        The ontology.

    Raises:
        GraphError: If a file does not exist, is of no known format, or has mistakes.

    Examples:
        >>> read_ontology("water").is_a("Pump", "Link")
        True
    """
    from thence.data.graph.ontology import Ontology

    if format is not None:
        ONTOLOGY_LOADERS.check(format)
    listed = list(source) if isinstance(source, list | tuple) else [source]
    files_given = [entry for entry in listed if entry != "water"]
    parts: list[Ontology] = [Ontology.water()] if len(files_given) < len(listed) else []
    if parts and not files_given:
        return parts[0]
    paths = _existing_paths(files_given if parts else source)
    names = [format] * len(paths) if format else choose_formats(ONTOLOGY_LOADERS, paths)
    files: dict[Loader[Ontology], list[Path]] = {}
    for name, path in zip(names, paths, strict=True):
        files.setdefault(ONTOLOGY_LOADERS.load(name), []).append(path)
    # After the ontology of the package come single files, then all files of a format that reads several together.
    for loader in sorted(files, key=lambda loader: loader.several):
        groups = [files[loader]] if loader.several else [[path] for path in files[loader]]
        for group in groups:
            with reported_as(GraphError, where=_listed(group), hint=_DAMAGED), collector_paused():
                parts.append(loader.read(group, LoadOptions(format)))
    return parts[0].merged(*parts[1:]) if len(parts) > 1 else parts[0]


def read_binding(
    source: Source,
    *,
    format: str | None = None,
    sensor: str = "sensor",
    node: str = "node",
    query: str | None = None,
    database: str | None = None,
    graph: str | None = None,
    page: int | None = None,
    timeout: float | None = None,
    max_bytes: int | None = None,
) -> Binding:
    """Read which node each sensor belongs to, from CSV, JSON, the references in RDF files, or a graph server.

    Args:
        source: A CSV file with the columns ``sensor`` and ``node``; a JSON file with an object ``{sensor: node}`` or a
            list of ``{"sensor": …, "node": …}``; or RDF files, or a folder of them, from which the time series
            references are taken (``ref:hasTimeseriesId``, ``brick:timeseries``), or else the identifiers of the SOSA
            sensors and actuators. Or the URL of a graph server, as for ``read_graph``.
        format: A name in ``BINDING_LOADERS``, which overrides the suffix; ``None`` to go by the suffix.
        sensor: The column or key of the sensor ids.
        node: The column or key of the node ids.
        query: Cypher query for a Bolt server that returns the columns ``sensor`` and ``node``, or CONSTRUCT query for a
            SPARQL endpoint. Without it, the references in the graph are taken.
        database: The database of a Bolt server; by default the one in the URL, or that of the user.
        graph: The IRI of a named graph of a SPARQL endpoint; by default the default graph.
        page: How many rows or triples to read from a server at a time.
        timeout: The most seconds that a server may take for one query.
        max_bytes: The longest answer of a SPARQL endpoint, in bytes.

    Returns:
        The binding.

    Raises:
        BindingError: If the format is unknown, or the file has mistakes. The error lists all of them.
        GraphError: If a file does not exist, or an RDF file cannot be read.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "binding.csv"
        ...     _ = file.write_text("sensor,node\\nflow_1,Pipe 1\\n")
        ...     read_binding(file)["flow_1"]
        'Pipe 1'
    """
    requested = {name: value for name, value in locals().items() if name != "source"}
    requested |= {"sensor": None if sensor == "sensor" else sensor, "node": None if node == "node" else node}
    if (server := find_graph_server(_only(source), what="bindings")) is not None:
        given = given_options(requested, server.binding_options, read_binding, server=True)
        return server.read_binding(_only(source), **given)
    given_options(
        {name: requested[name] for name in requested if name not in _OF_FILES}, (), read_binding, server=False
    )
    paths = _existing_paths(source)
    if format is not None:
        BINDING_LOADERS.check(format)
    names = {format} if format else set(choose_formats(BINDING_LOADERS, paths))
    loader = BINDING_LOADERS.load(names.pop())
    if names or not loader.several:
        paths = only_path(paths, "a binding")
    with reported_as(BindingError, where=_listed(paths), hint=_DAMAGED):
        binding: Binding = loader.read(paths, LoadOptions(format, sensor=sensor, node=node))
    return binding


def _only(source: Any) -> Any:
    """The only entry of a list, or what is not a list."""
    return source[0] if isinstance(source, list | tuple) and len(source) == 1 else source


def _existing_paths(source: Any) -> list[Path]:
    listed = [source] if isinstance(source, str | Path) else list(source) if isinstance(source, Iterable) else None
    if listed is None or not all(isinstance(entry, str | Path) for entry in listed):
        raise GraphError(f"cannot read from {type(source).__name__}", hint="pass a path, a list of paths, or a graph")
    if any(isinstance(entry, str) and find_graph_server(entry) is not None for entry in listed):
        # The message must not show the URL, which may hold a password.
        raise GraphError(
            "the URL of a graph server cannot be read here", hint="pass it alone, as graph or binding; export the rest"
        )
    paths = [Path(entry) for entry in listed]
    if "" in listed:
        raise GraphError("the path is empty", hint="pass a path or a list of paths")
    if not paths:
        raise GraphError("no file given", hint="pass a path or a list of paths")
    for at, path in enumerate(paths):
        # A name that is too long, or of a user that does not exist.
        with reported_as(GraphError, where=show_path(path), hint="check the path"):
            paths[at] = path.expanduser()
            paths[at].exists()
    missing = [show_path(path) for path in paths if not path.exists()]
    if missing:
        raise GraphError(f"no such file or folder: {', '.join(missing)}", hint="check the path")
    return paths


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths[:3])) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _choose_graph_format(paths: list[Path]) -> str:
    if len(paths) == 1 and (paths[0] / "nodes.csv").is_file():
        return "csv"
    formats = set(choose_formats(LOADERS, paths))
    if len(formats) > 1:
        raise GraphError(f"files of different formats: {', '.join(map(str, paths))}", hint="read them one at a time")
    return formats.pop()
