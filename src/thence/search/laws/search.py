"""The search for laws: candidates are screened on a sample, fitted on a larger one, and counted exactly.

Every pattern of one node with its own sensors and those of its neighbours is searched: for its class as a whole, then
for each class within it. ``thence.search.laws.selection`` decides what is reported. Formulas, which need no graph, are
added by ``thence.search.laws.physics``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thence._base.progress import Progress, silent
from thence._base.settings.registry import Registry
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.matching import GraphIndex, most_specific_label, with_ancestors
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.language.patterns import NodeVariable, Pattern, SensorVariable
from thence.search.laws.candidates import vocabulary
from thence.search.laws.fitting import Fitted, Sample, Scope
from thence.search.laws.one_sided import count_at_times
from thence.search.laws.physics import search_physics
from thence.search.laws.selection import LawSelection
from thence.search.laws.settings import LawSettings
from thence.statements.laws.law import Law, Laws
from thence.statements.laws.places import Clock, Places

SEARCHES: Registry[Any] = Registry(
    "search for laws",
    {
        "equal": "thence.search.laws.fitting:search_equal",
        "proportional": "thence.search.laws.fitting:search_proportional",
        "sign": "thence.search.laws.fitting:search_sign",
        "zero_states": "thence.search.laws.one_sided:search_zero_states",
        "bounds": "thence.search.laws.one_sided:search_bounds",
        "one_sided": "thence.search.laws.one_sided:search_one_sided",
    },
    group="thence.law_searches",
    of=object,
)
"""Functions from a ``Scope`` to lists of fitted laws, in the order in which they are called.

Of each list the best laws are kept; what was kept before is not reported again.
"""

_SCREEN_CELLS, _SCREEN_PLACES = 60_000, 300
_FIT_CELLS, _FIT_PLACES = 500_000, 1_000


def search_laws(
    readings: WindowedReadings,
    system: System,
    *,
    settings: LawSettings | None = None,
    formulas: Sequence[str] = (),
    progress: Progress = silent,
) -> Laws:
    """Find the laws of a plant: what holds at every place of a kind, and the formulas that its sensors obey.

    Bands and factors are fitted on the first part of the time. Counts are exact and over all rows; a law is
    reported only if it also holds in the later part, on so many separate occasions that chance would confirm none.

    Args:
        readings: The readings, in windows.
        system: The system that they belong to, or several systems. Without a graph, only formulas are found.
        settings: What counts as a law; by default ``LawSettings()``.
        formulas: Formulas to try beside the known ones; those that do not hold are in the notes.
        progress: Receives the progress.

    Raises:
        ConfigError: If a formula is none, or its names are those of no sensors.
        BindingError: If a sensor is bound to a node that is not in the graph.

    Examples:
        >>> import thence as th
        >>> from thence.data.readings.windows import window
        >>> data = th.datasets.load("net3", days=7)
        >>> laws = search_laws(window(data.sensors), data)
        >>> any(law.form == "equal" and law.later_share >= 0.99 for law in laws)
        True
    """
    chosen = settings or LawSettings()
    found: tuple[Law, ...] = ()
    known: frozenset[frozenset[str]] = frozenset()
    notes: tuple[str, ...] = ()
    if system.graph is not None and system.binding is not None:
        found, known, notes = _search_patterns(readings, system, chosen, progress)
    physics = search_physics(readings, system, settings=chosen, formulas=formulas, progress=progress)
    kept = {law.formula for law in physics}
    missed = [f"the formula '{text}' does not hold at any place" for text in formulas if text not in kept]
    return Laws((*found, *(law for law in physics if law.formula or not _is_known(law, known))), (*notes, *missed))


def _is_known(law: Law, known: frozenset[frozenset[str]]) -> bool:
    """Whether other laws relate the same sensors, two or more, at every place of a formula."""
    return len(law.terms) > 1 and all(frozenset(one.sensors[: len(law.terms)]) in known for one in law.by_place)


def _search_patterns(
    readings: WindowedReadings, system: System, chosen: LawSettings, progress: Progress
) -> tuple[tuple[Law, ...], frozenset[frozenset[str]], tuple[str, ...]]:
    """Return the laws of patterns of the graph, the sensors that each relates, and notes."""
    graph, binding = system.require_graph()
    index, clock = GraphIndex(graph, system.ontology), Clock.of(readings, chosen.fit_share)
    carriers = Carriers.of(index, {sensor.id: sensor.kind for sensor in readings.sensors}, dict(binding))
    found, notes = discover(carriers, hops=1, min_embeddings=1, paths=False)
    searches = [SEARCHES.load(name) for name in SEARCHES]
    scopes = list(_scopes([*found, *_lone_nodes(carriers, found)], readings, carriers, clock))
    groups: list[tuple[list[Fitted], Places]] = []
    at_times = 0
    for number, places in enumerate(scopes):
        progress("searching laws", number, len(scopes))
        screen, fit = _samples(places)
        scope = Scope(vocabulary(places), screen, fit, chosen)
        at_times += count_at_times(scope)
        for search in searches:
            groups += [(group, places) for group in search(scope) if group]
    progress("searching laws", len(scopes), len(scopes))
    found_laws = [one for group, _ in groups for one in group]
    splits = {(one.split.groups, one.split.sides) for one in found_laws if one.split is not None}
    fitted = max(sum(one.split is None for one in found_laws), 1)
    selection = LawSelection(chosen, fitted, fitted + at_times, max(len(splits), 1))
    for group, places in groups:
        selection.add_best(group, places)
    related = frozenset(
        frozenset(id for _, id in own)
        for (law, _), places_of in zip(selection.laws, selection.signatures, strict=True)
        if law.definition.is_equation or law.definition.has_factor
        for own in places_of
    )
    return selection.best(), related, (*carriers.units.notes, *notes)


def _lone_nodes(carriers: Carriers, found: Iterable[Pattern]) -> Iterator[Pattern]:
    """Yield a pattern for each class of nodes with sensors that no other pattern is about."""
    index, carrying = carriers.index, carriers.mask()
    covered = {pattern.nodes[0].label for pattern in found}
    members: dict[str, list[int]] = {}
    for node in np.flatnonzero(carrying).tolist():
        labels = index.graph.node(index.ids[node]).labels
        if covered.isdisjoint(with_ancestors(labels, index.ontology)):
            members.setdefault(most_specific_label(labels, index.ontology), []).append(node)
    for label, nodes in sorted(members.items()):
        sensors = tuple(
            SensorVariable(f"{kind}_n", kind, "n", optional=True, points=carriers.are_points(kind, nodes))
            for kind in carriers.kinds_at(nodes)
        )
        yield Pattern((NodeVariable("n", label),), (), sensors)


def _scopes(
    patterns: Iterable[Pattern], readings: WindowedReadings, carriers: Carriers, clock: Clock
) -> Iterator[Places]:
    """Yield the places of each pattern: of its class as a whole, then of each class within it."""
    for pattern in patterns:
        places = Places.of(pattern, readings, carriers, clock)
        yield places
        labels = sorted(set(map(str, places.labels)) - {pattern.nodes[0].label})
        for label in labels:
            if label:
                own = replace(pattern, nodes=(NodeVariable(pattern.nodes[0].name, label),))
                yield Places.of(own, readings, carriers, clock)


def _samples(places: Places) -> tuple[Sample, Sample]:
    """Return a small sample for screening and a larger one for fitting."""

    def some(most: int, cells: int) -> Sample:
        chosen = places
        if len(places) > most:
            chosen = places.take(np.unique(np.linspace(0, len(places) - 1, most).astype(np.int64)))
        return Sample(chosen, chosen.sample(cells))

    return some(_SCREEN_PLACES, _SCREEN_CELLS), some(_FIT_PLACES, _FIT_CELLS)
