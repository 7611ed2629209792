"""Enrichment: from windowed readings and a graph to transactions.

``none`` has a column per sensor; ``grounded`` adds what the graph says of each sensor's node; ``existential`` speaks of
"some sensor in such a node"; ``lifted`` replaces sensors by variables. ``build`` makes the discretized table,
``features`` the raw one. A further enrichment is a module with an ``Enrichment`` and a line in ``ENRICHMENTS``, or an
entry point of another package in the group ``thence.enrichments``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thence._base.settings.registry import Registry
from thence.errors import ConfigError
from thence.tables.enrich.base import Enrichment, EnrichOptions, Frames

if TYPE_CHECKING:
    from thence.data.graph.binding import Binding
    from thence.data.graph.knowledge_graph import KnowledgeGraph
    from thence.data.graph.ontology import Ontology
    from thence.data.readings.windows import WindowedReadings
    from thence.language.patterns import Pattern
    from thence.tables.discretization import Discretizer
    from thence.tables.enrich.surroundings import Surroundings
    from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["ENRICHMENTS", "Enrichment", "build", "features", "find_enrichment"]

_NAMED = 10
"""How many sensors a note names."""

ENRICHMENTS = Registry(
    "enrichment",
    {
        "none": "thence.tables.enrich.grounded:NONE",
        "grounded": "thence.tables.enrich.grounded:GROUNDED",
        "existential": "thence.tables.enrich.existential:EXISTENTIAL",
        "lifted": "thence.tables.enrich.lifted:LIFTED",
    },
    group="thence.enrichments",
    of=Enrichment,
)


def find_enrichment(mode: str) -> Enrichment:
    """Return the enrichment with this name, or raise a ``ConfigError`` that suggests the nearest one."""
    return ENRICHMENTS.load(mode)


def build(
    readings: WindowedReadings,
    *,
    mode: str = "none",
    graph: KnowledgeGraph | None = None,
    binding: Binding | None = None,
    ontology: Ontology | None = None,
    discretizer: Discretizer | None = None,
    fit_frames: Frames = slice(None),
    hops: int | None = None,
    edges: bool = False,
    properties: tuple[str, ...] | None = None,
    patterns: str | Sequence[str | Pattern] = "auto",
    min_embeddings: int = 3,
    max_embeddings: int = 200_000,
) -> TransactionTable:
    """Build transactions from windowed readings.

    Args:
        readings: The readings in windows.
        mode: The name of the enrichment.
        graph: The knowledge graph; all enrichments but ``none`` need it.
        binding: Which sensor sits at which node.
        ontology: The ontology, for subclasses.
        discretizer: How numbers become bins. An unfitted one is fitted on ``fit_frames`` and applied to all frames.
        fit_frames: The frames on which an unfitted discretizer is fitted.
        hops: How many edges away from a sensor's node the graph is used; the default depends on the enrichment.
        edges: Whether labels and edges become items.
        properties: The properties to use; all by default.
        patterns: The patterns of lifted rules.
        min_embeddings: The fewest places at which a discovered pattern must match.
        max_embeddings: The most places of one pattern.
    """
    # Heavy modules are imported when a table is built, so that a configuration can be checked without them.
    from thence.data.graph.knowledge_graph import note_dated_structure
    from thence.tables.discretization import FINE_BINS, FINE_RANKS, Discretizer, is_supervised
    from thence.tables.enrich.rare import note_switches
    from thence.tables.enrich.surroundings import Surroundings

    chosen, around = _check(mode, Surroundings(graph, binding, ontology, properties))
    given = discretizer or Discretizer()
    if is_supervised(given.method) and mode in ("lifted", "existential"):
        raise ConfigError(
            f"the method '{given.method}' does not apply to the enrichment '{mode}': its rows have no single target",
            hint="use enrich='none' or 'grounded', or sharpen the rules: refine={'sharpen': True}",
        )
    options = EnrichOptions(
        hops=_hops(mode, chosen, hops),
        edges=edges,
        patterns=patterns,
        min_embeddings=min_embeddings,
        max_embeddings=max_embeddings,
    )
    table = chosen.build(readings, around, given, fit_frames, options)
    if not given.binnings and given.parts == 1:
        # Bins that were fitted on other data cannot be cut into finer ones of these readings.
        ranks = mode == "lifted" and given.scope == "sensor"
        again = partial(
            build,
            readings,
            mode=mode,
            graph=graph,
            binding=binding,
            ontology=ontology,
            discretizer=given.finer(FINE_RANKS if ranks else FINE_BINS),
            fit_frames=fit_frames,
            hops=hops,
            edges=edges,
            properties=properties,
            patterns=patterns,
            min_embeddings=min_embeddings,
            max_embeddings=max_embeddings,
        )
        table = replace(table, finer=again)
    unbound = _unbound_note(readings, around, mode) if chosen.needs_graph else ()
    if chosen.needs_graph and around.graph is not None:
        unbound += note_dated_structure(around.graph)
    rare = note_switches(table) if readings.derived_states else ()
    return replace(table, notes=(*unbound, *table.notes, *rare)) if unbound or rare else table


def _unbound_note(readings: WindowedReadings, around: Surroundings, mode: str) -> tuple[str, ...]:
    """What happens to sensors that belong to no node, and how to change it; nothing if there are none."""
    lost = [sensor.id for sensor in readings.sensors if around.node_of(sensor.id) == ""]
    if not lost:
        return ()
    names = ", ".join(f"'{name}'" for name in lost[:_NAMED]) + (", …" if len(lost) > _NAMED else "")
    one = len(lost) == 1
    who = f"{len(lost)} sensor{'' if one else 's'} belong{'s' if one else ''} to no node of the graph"
    effect = f" and {'is' if one else 'are'} left out of the table" if mode == "lifted" else ""
    return (
        f"{who}{effect}: {names}; "
        f"name {'its node' if one else 'their nodes'} with bind(table=…) or --bind SENSOR=NODE, "
        f"or leave {'it' if one else 'them'} out with ignore=… or --ignore SENSOR",
    )


def features(
    readings: WindowedReadings,
    *,
    mode: str = "none",
    graph: KnowledgeGraph | None = None,
    binding: Binding | None = None,
    ontology: Ontology | None = None,
    hops: int | None = None,
    properties: tuple[str, ...] | None = None,
) -> FeatureTable:
    """Build the undiscretized transactions, for miners that find their own intervals; parameters as in ``build``."""
    from thence.tables.enrich.surroundings import Surroundings

    chosen, around = _check(mode, Surroundings(graph, binding, ontology, properties))
    if chosen.features is None:
        raise ConfigError(
            f"the enrichment '{mode}' has no raw table: its items are made of bins",
            hint="use 'none' or 'grounded' with this miner",
        )
    return chosen.features(readings, around, EnrichOptions(hops=_hops(mode, chosen, hops)))


def _check(mode: str, around: Surroundings) -> tuple[Enrichment, Surroundings]:
    chosen = find_enrichment(mode)
    if chosen.needs_graph and (around.graph is None or around.binding is None):
        raise ConfigError(
            f"the enrichment '{mode}' needs a graph and a binding", hint="pass both, or use enrich='none'"
        )
    return chosen, around


def _hops(mode: str, chosen: Enrichment, hops: int | None) -> int:
    if hops is not None and hops < chosen.min_hops:
        raise ConfigError(
            f"'hops' must be at least {chosen.min_hops} for the enrichment '{mode}', got {hops}",
            hint=f"leave it out to use {chosen.hops}",
        )
    return chosen.hops if hops is None else hops
