"""The search for laws: candidates are screened on a sample, fitted on a larger one, and counted exactly.

Every pattern of one node with its own sensors and those of its neighbours is searched: for its class as a whole, then
for each class within it. ``thence.search.laws.telling`` decides what is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from thence._base.progress import Progress, silent
from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.matching import GraphIndex, most_specific_label, with_ancestors
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.language.patterns import NodeVariable, Pattern, SensorVariable
from thence.search.laws.candidates import proportions, sign_pairs, signed_sums, vocabulary
from thence.search.laws.fitting import Sample, fit_equal, fit_proportional, fit_sign
from thence.search.laws.one_sided import find_bounds, find_one_sided, find_zero_states
from thence.search.laws.settings import LawSettings
from thence.search.laws.telling import Told
from thence.statements.laws.law import Fitted, Laws
from thence.statements.laws.places import Clock, Places
from thence.statements.laws.terms import Condition

__all__ = ["search_laws"]

_SCREEN_CELLS, _SCREEN_PLACES = 60_000, 300
_FIT_CELLS, _FIT_PLACES = 500_000, 1_000


def search_laws(
    readings: WindowedReadings,
    system: System,
    *,
    settings: LawSettings | None = None,
    progress: Progress = silent,
) -> Laws:
    """Find the laws of a plant: balances, proportions, signs and bounds that hold at every place of a kind.

    Bands and factors are fitted on the first part of the time. Counts are exact and over all rows; a law is told only
    if it also holds in the later part.

    Args:
        readings: The readings, in windows.
        system: The system that they belong to, or several systems.
        settings: What counts as a law; by default ``LawSettings()``.
        progress: Receives the progress.

    Raises:
        ConfigError: If the system has no graph or no binding.
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
    graph, binding = system.require_graph()
    index, clock = GraphIndex(graph, system.ontology), Clock.of(readings, chosen.fit_share)
    carriers = Carriers.of(index, {sensor.id: sensor.kind for sensor in readings.sensors}, dict(binding))
    found, notes = discover(carriers, hops=1, min_embeddings=1, paths=False)
    told = Told(chosen)
    scopes = list(_scopes([*found, *_lone_nodes(carriers, found)], readings, carriers, clock))
    for number, places in enumerate(scopes):
        progress("searching laws", number, len(scopes))
        _consider(places, told)
    progress("searching laws", len(scopes), len(scopes))
    return Laws(told.best(), (*carriers.units.notes, *notes))


def _lone_nodes(carriers: Carriers, found: Iterable[Pattern]) -> Iterator[Pattern]:
    """Yield a pattern for each class of nodes with sensors that no other pattern is about."""
    index, carrying = carriers.index, carriers.mask()
    told = {pattern.nodes[0].label for pattern in found}
    members: dict[str, list[int]] = {}
    for node in np.flatnonzero(carrying).tolist():
        labels = index.graph.node(index.ids[node]).labels
        if told.isdisjoint(with_ancestors(labels, index.ontology)):
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


def _consider(places: Places, told: Told) -> None:
    """Search the places of a pattern: one form of law after the other."""
    words, (screen, fit), settings = vocabulary(places), _samples(places), told.settings

    def fitted(candidates: Iterable[Callable[..., Fitted | None]]) -> list[Fitted]:
        screened = [make for make in candidates if make(sample=screen, settings=settings) is not None]
        return [found for make in screened if (found := make(sample=fit, settings=settings)) is not None]

    sums = list(signed_sums(words, most=settings.max_parts))
    told.tell(fitted(partial(fit_equal, sum_) for sum_ in sums), places)
    for own in words.own:
        # Where a kind is not measured, such as the demand of a junction without consumers, less may add up.
        without = Condition("without", own.name)
        rest = [sum_ for sum_ in sums if any(t.form == "total" and t.unit == own.unit for _, t in sum_)]
        told.tell(fitted(partial(fit_equal, sum_, condition=without) for sum_ in rest), places)
    pairs = proportions(words, most=settings.max_parts - 1)
    told.tell(fitted(partial(fit_proportional, left, right) for left, right in pairs), places)
    told.tell(fitted(partial(fit_sign, left, right) for left, right in sign_pairs(words)), places)
    told.tell(find_zero_states(words, screen, fit, settings), places)
    told.tell(find_bounds(words, screen, settings), places)
    told.tell(find_one_sided(words, fit, settings), places)


def _samples(places: Places) -> tuple[Sample, Sample]:
    """Return a small sample for screening and a larger one for fitting."""

    def some(most: int, cells: int) -> Sample:
        chosen = places
        if len(places) > most:
            chosen = places.take(np.unique(np.linspace(0, len(places) - 1, most).astype(np.int64)))
        return Sample(chosen, chosen.sample(cells))

    return some(_SCREEN_PLACES, _SCREEN_CELLS), some(_FIT_PLACES, _FIT_CELLS)
