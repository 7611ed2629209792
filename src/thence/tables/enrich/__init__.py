"""Enrichment: from windowed readings and a graph to transactions, in four ways behind one function.

``none`` is a column per sensor; ``grounded`` adds what the graph says of each sensor's node; ``existential`` speaks of
"some sensor in such a node"; ``lifted`` puts variables in the place of sensors. ``build`` makes a discretized
table, ``features`` the raw one. Enrichers do not read files, discretize on their own account, or count.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from thence.errors import ConfigError, nearest
from thence.graph.binding import Binding
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.ontology import Ontology
from thence.readings.windows import WindowedReadings
from thence.tables.discretization import Discretizer
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["MODES", "Surroundings", "build", "features"]

MODES = ("none", "grounded", "existential", "lifted")


def _check(mode: str, around: Surroundings) -> None:
    if mode not in MODES:
        raise ConfigError(f"unknown enrichment '{mode}'", hint=nearest(mode, MODES) or "one of " + ", ".join(MODES))
    if mode != "none" and (around.graph is None or around.binding is None):
        raise ConfigError(
            f"the enrichment '{mode}' needs a graph and a binding", hint="give both, or use enrich='none'"
        )


def build(
    readings: WindowedReadings,
    *,
    mode: str = "none",
    graph: KnowledgeGraph | None = None,
    binding: Binding | None = None,
    ontology: Ontology | None = None,
    discretizer: Discretizer | None = None,
    fit_frames: npt.NDArray[Any] | slice = slice(None),
    hops: int = 0,
    edges: bool = False,
    properties: tuple[str, ...] | None = None,
    patterns: Any = "auto",
    min_embeddings: int = 3,
    max_embeddings: int = 200_000,
) -> TransactionTable:
    """Transactions from windowed readings.

    An unfitted discretizer is fitted on the frames ``fit_frames`` alone and applied to all. ``hops`` is how far
    neighbours are looked at; ``edges`` adds labels and edges as items; ``properties`` limits which properties are used.
    """
    around = Surroundings(graph, binding, ontology, properties)
    _check(mode, around)
    discretizer = discretizer or Discretizer()
    if mode == "lifted":
        from thence.tables.enrich.lifted import lifted_table

        return lifted_table(
            readings,
            around,
            discretizer=discretizer,
            fit_frames=fit_frames,
            patterns=patterns,
            hops=hops or 2,
            min_embeddings=min_embeddings,
            max_embeddings=max_embeddings,
            edges=edges,
        )
    if mode == "existential":
        from thence.tables.enrich.existential import existential_table

        return existential_table(readings, around, discretizer=discretizer, fit_frames=fit_frames)
    from thence.tables.enrich.grounded import grounded_table

    return grounded_table(
        readings, around, mode=mode, discretizer=discretizer, fit_frames=fit_frames, hops=hops, edges=edges
    )


def features(
    readings: WindowedReadings,
    *,
    mode: str = "none",
    graph: KnowledgeGraph | None = None,
    binding: Binding | None = None,
    ontology: Ontology | None = None,
    hops: int = 0,
    properties: tuple[str, ...] | None = None,
) -> FeatureTable:
    """The undiscretized transactions, for miners that find their own intervals (``none`` and ``grounded`` only)."""
    around = Surroundings(graph, binding, ontology, properties)
    _check(mode, around)
    if mode not in ("none", "grounded"):
        raise ConfigError(
            f"the enrichment '{mode}' has no raw table: its items are made of bins",
            hint="use 'none' or 'grounded' with this miner",
        )
    from thence.tables.enrich.grounded import raw_table

    return raw_table(readings, around, mode=mode, hops=hops)
