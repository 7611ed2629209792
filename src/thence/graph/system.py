"""What every data set is: readings, graph, ontology, binding and labelled periods, with a word on where they come from.

Holds the type and what all loaders share; ``thence.datasets`` finds and loads data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from thence.errors import ConfigError, nearest

if TYPE_CHECKING:
    from thence.graph.binding import Binding
    from thence.graph.knowledge_graph import KnowledgeGraph
    from thence.graph.ontology import Ontology
    from thence.readings.sensors import SensorData

__all__ = ["Dataset", "choose_kinds", "label_frame"]


@dataclass(frozen=True, repr=False)
class Dataset:
    """A named data set, ready to be mined.

    ``labels`` has one row per labelled period, ``start`` ≤ t < ``end`` (UTC), with ``label`` ("leak", "fault"),
    ``subject`` (the id of a node of the graph, where one is known) and ``details``; ``None`` where nobody labelled
    the data, and a frame without rows where the data are known to hold nothing of the kind.
    """

    name: str
    sensors: SensorData
    graph: KnowledgeGraph
    ontology: Ontology
    binding: Binding
    labels: pl.DataFrame | None
    description: str
    source: str

    def __repr__(self) -> str:
        labelled = "no labels" if self.labels is None else f"{self.labels.height} labelled periods"
        return (
            f"Dataset '{self.name}': {len(self.sensors.sensors)} sensors, {len(self.graph.nodes)} nodes, "
            f"{len(self.graph.edges)} edges, {labelled}; {self.source}"
        )


def label_frame(rows: Iterable[Mapping[str, datetime | str | None]]) -> pl.DataFrame:
    """Labelled periods as a frame with the columns of ``Dataset.labels``, whatever the number of rows.

    >>> label_frame([]).columns
    ['start', 'end', 'label', 'subject', 'details']
    """
    moment = pl.Datetime("us", "UTC")
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "start": moment,
        "end": moment,
        "label": pl.String,
        "subject": pl.String,
        "details": pl.String,
    }
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def choose_kinds(sensors: str | Iterable[str], *, known: Sequence[str]) -> frozenset[str]:
    """The kinds of sensors asked for: "all", one kind, or several.

    >>> sorted(choose_kinds("all", known=("pressure", "flow"))), choose_kinds("flow", known=("pressure", "flow"))
    (['flow', 'pressure'], frozenset({'flow'}))
    """
    if sensors == "all":
        return frozenset(known)
    chosen = frozenset((sensors,) if isinstance(sensors, str) else sensors)
    for kind in sorted(chosen.difference(known)):
        raise ConfigError(
            f"there are no '{kind}' sensors here; kinds are {', '.join(known)}", hint=nearest(kind, known)
        )
    if not chosen:
        raise ConfigError("no kind of sensor was asked for", hint=f"kinds are {', '.join(known)}")
    return chosen
