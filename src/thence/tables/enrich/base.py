"""What an enrichment is: how it builds a table, which settings it uses, and its defaults.

An enrichment turns windowed readings and their surroundings in the graph into transactions. It reads no files, does
not discretize on its own account, and counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from thence.data.readings.windows import WindowedReadings
    from thence.language.patterns import Pattern
    from thence.tables.discretization import Discretizer
    from thence.tables.enrich.surroundings import Surroundings
    from thence.tables.transactions import FeatureTable, TransactionTable

Frames: TypeAlias = "npt.NDArray[Any] | slice"
"""Which time frames bins are fitted on: an index array, a mask or a slice."""

Rows: TypeAlias = "Callable[[int, int], npt.NDArray[np.float64]]"
"""Series of numbers from a first one up to, but not including, a last one: a matrix (series × frames)."""


@dataclass(frozen=True, kw_only=True)
class EnrichOptions:
    """The settings of an enrichment, with every default filled in.

    Args:
        hops: How many edges away from a sensor's node the graph is used.
        edges: Whether labels and edges become items.
        patterns: ``"auto"``, ``"stars"``, ``"paths"``, or patterns in the style of Cypher.
        min_embeddings: The fewest places at which a discovered pattern must match.
        max_embeddings: The most places of one pattern.
    """

    hops: int = 0
    edges: bool = False
    patterns: str | Sequence[str | Pattern] = "auto"
    min_embeddings: int = 3
    max_embeddings: int = 200_000


@dataclass(frozen=True, kw_only=True)
class Enrichment:
    """An enrichment by name.

    Args:
        build: Builds the discretized table from readings, surroundings, a discretizer, the frames to fit it on, and
            the options.
        features: Builds the undiscretized table from readings, surroundings and options; ``None`` if items need bins.
        settings: The names of the settings in use, among ``properties`` and the fields of ``EnrichOptions``.
        needs_graph: Whether a graph and a binding are required.
        scope: What bins are fitted to by default: each ``"kind"`` of sensor or each ``"sensor"``.
        bins: The default number of bins.
        fewer_bins: Numbers of bins to try next if the default gives very few rules.
        hops: The default of ``hops``.
        min_hops: The least value of ``hops`` that makes sense.
    """

    build: Callable[[WindowedReadings, Surroundings, Discretizer, Frames, EnrichOptions], TransactionTable]
    features: Callable[[WindowedReadings, Surroundings, EnrichOptions], FeatureTable] | None = None
    settings: tuple[str, ...] = ()
    needs_graph: bool = True
    scope: str = "kind"
    bins: int = 10
    fewer_bins: tuple[int, ...] = ()
    hops: int = 0
    min_hops: int = 0
