"""The search for laws: candidates are screened on a sample, fitted, counted exactly, and told once.

A law is told if its lower bound on the later part of the time reaches ``min_confidence`` and few places break it. Of
laws with nested terms the tighter is told; a law that follows from told ones is not; neither is the same law for another
pattern. This module decides what is told; it formats nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np

from thence.graph.binding import Binding
from thence.graph.discovery import Carriers, discover
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.matching import GraphIndex
from thence.graph.ontology import Ontology
from thence.graph.patterns import NodeVariable, Pattern
from thence.graph.sites import AnySystem
from thence.graph.system import System
from thence.laws.candidates import proportions, sign_pairs, signed_sums, vocabulary
from thence.laws.counting import count_at
from thence.laws.fitting import Sample, fit_equal, fit_proportional, fit_sign
from thence.laws.law import Law, Laws
from thence.laws.one_sided import find_bounds, find_one_sided, find_zero_states
from thence.laws.places import Clock, Places
from thence.laws.settings import LawSettings
from thence.laws.terms import Term
from thence.progress import Progress, silent
from thence.readings.sensors import SensorData
from thence.readings.windows import WindowedReadings, window

__all__ = ["find_laws", "search_laws"]

_SCREEN_CELLS, _SCREEN_PLACES = 60_000, 300
_FIT_CELLS, _FIT_PLACES = 1_000_000, 2_000
_OCCAM = 0.5  # a law with one more term has to be tighter by this factor

Fitted = tuple[Law, float]
Sensors = frozenset[tuple[int, str]]
Signature = dict[str, Sensors]


def find_laws(
    sensors: SensorData,
    graph: KnowledgeGraph,
    binding: Binding | Mapping[str, str],
    *,
    ontology: Ontology | None = None,
    windows: str | timedelta = "auto",
    aggregate: str | Mapping[str, str] = "mean",
    settings: LawSettings | None = None,
    progress: Progress = silent,
) -> Laws:
    """Find the laws of a plant: balances, proportions, signs and bounds that hold at every place of a kind.

    Bands and factors are fitted on the first part of the time. Counts are exact and over all rows; a law is told only
    if it also holds in the later part.

    Args:
        sensors: The readings.
        graph: The knowledge graph.
        binding: The node of each sensor.
        ontology: The ontology, for classes and relations in general.
        windows: Length of a window; ``"auto"`` for the step of the readings.
        aggregate: How readings become the value of a window, for all kinds or by kind.
        settings: What counts as a law; by default ``LawSettings()``.
        progress: Receives the progress.

    Returns:
        The laws, the tightest first.

    Raises:
        BindingError: If a sensor is bound to a node that is not in the graph.

    Examples:
        >>> import thence as th
        >>> from thence.laws.search import find_laws
        >>> data = th.datasets.load("net3", days=7)
        >>> laws = find_laws(data.sensors, data.graph, data.binding, ontology=data.ontology)
        >>> any(law.form == "equal" and law.later_share >= 0.99 for law in laws)
        True
    """
    bound = binding if isinstance(binding, Binding) else Binding(dict(binding))
    system = System(sensors, graph, bound, ontology)
    readings = window(sensors, windows, aggregate=aggregate)
    return search_laws(readings, system, settings=settings, progress=progress)


def search_laws(
    readings: WindowedReadings,
    system: AnySystem,
    *,
    settings: LawSettings | None = None,
    progress: Progress = silent,
) -> Laws:
    """Find the laws of windowed readings; see ``find_laws``.

    Args:
        readings: The readings, in windows.
        system: The system that they belong to, or several systems.
        settings: What counts as a law; by default ``LawSettings()``.
        progress: Receives the progress.

    Raises:
        ConfigError: If the system has no graph or no binding.
        BindingError: If a sensor is bound to a node that is not in the graph.
    """
    chosen = settings or LawSettings()
    graph, binding = system.require_graph()
    index, clock = GraphIndex(graph, system.ontology), Clock.of(readings, chosen.fit_share)
    carriers = Carriers.of(index, {sensor.id: sensor.kind for sensor in readings.sensors}, dict(binding))
    found, notes = discover(carriers, hops=1, min_embeddings=1, paths=False)
    told = _Told(chosen)
    scopes = list(_scopes(found, readings, carriers, clock))
    for number, places in enumerate(scopes):
        progress("searching laws", number, len(scopes))
        told.consider(places)
    progress("searching laws", len(scopes), len(scopes))
    return Laws(told.best(), (*carriers.units.notes, *notes))


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


@dataclass
class _Told:
    """The laws told so far."""

    settings: LawSettings
    laws: list[tuple[Law, float]] = field(default_factory=list)
    signatures: list[set[Sensors]] = field(default_factory=list)

    def consider(self, places: Places) -> None:
        """Search the places of a pattern."""
        words = vocabulary(places)
        screen, fit = _samples(places)
        settings = self.settings

        def fitted(candidates: Iterable[Callable[[Sample], Fitted | None]]) -> list[Fitted]:
            screened = [make for make in candidates if make(screen) is not None]
            return [found for make in screened if (found := make(fit)) is not None]

        equal = fitted(
            lambda sample, sum_=sum_: fit_equal(sum_, sample, settings)  # type: ignore[misc]
            for sum_ in signed_sums(words, most=settings.max_parts)
        )
        self._tell_all(equal, places)
        self._tell_all(
            fitted(
                lambda sample, sides=sides: fit_proportional(*sides, sample, settings)  # type: ignore[misc]
                for sides in proportions(words, most=settings.max_parts - 1)
            ),
            places,
        )
        signs = fitted(
            lambda sample, sides=sides: fit_sign(*sides, sample, settings)  # type: ignore[misc]
            for sides in sign_pairs(words)
        )
        self._tell_all(signs, places)
        self._tell_all(find_zero_states(words, fit, settings), places)
        self._tell_all(find_bounds(words, fit, settings), places)
        self._tell_all(find_one_sided(words, fit, settings), places)

    def _tell_all(self, candidates: list[Fitted], places: Places) -> None:
        """Count the best candidates of one form and tell those that hold and are new."""
        kept: list[Law] = []

        def cost(pair: Fitted) -> tuple[float, int, str]:
            law, looseness = pair
            return looseness / _OCCAM ** max(len(law.terms) - 2, 0), len(law.terms), str(law.terms)

        for law, looseness in sorted(candidates, key=cost):
            if any(_is_nested(law, other) for other in kept) or _follows(law, kept):
                continue
            if self._is_known(law, places):
                continue
            counted = count_at(law, places, keepers=True)
            if self._holds(counted):
                kept.append(counted)
                self._add(counted, looseness, places)

    def _holds(self, law: Law) -> bool:
        later = sum(one.later_rows for one in law.counts)
        if later < self.settings.min_rows or law.later_bound is None:
            return False
        if law.places_held < (1 - self.settings.max_exceptions) * law.places:
            return False
        return law.later_bound >= self.settings.min_confidence

    def _signature(self, law: Law, places: Places) -> Signature:
        """The signed sensors of a law at each place, whichever side they are on."""
        at = places.take(places.has_all(law.left, law.right))
        if law.condition is not None and law.condition.form == "property":
            at = at.take(at.meets(law.condition, np.zeros(1, np.int64))[0])
        minus = tuple((-sign, term) for sign, term in law.right)
        out = {}
        for id, sensors in zip(at.ids, at.sensors_of(law.left, minus), strict=True):
            mirrored = frozenset((-sign, sensor) for sign, sensor in sensors)
            out[id] = min(sensors, mirrored, key=sorted)
        return out

    def _alike(self, law: Law, signature: Signature) -> Iterator[int]:
        """Yield the told laws that say the same of at least the same sensors."""
        sensors = set(signature.values())
        for at, (other, _) in enumerate(self.laws):
            if other.form != law.form or _has_change(other) != _has_change(law) or not sensors <= self.signatures[at]:
                continue
            if other.condition == law.condition or (not law.right and law.form != "equal"):
                yield at

    def _is_known(self, law: Law, places: Places) -> bool:
        """Whether a told law without exceptions says the same of the same sensors."""
        return any(not self.laws[at][0].exceptions for at in self._alike(law, self._signature(law, places)))

    def _add(self, law: Law, looseness: float, places: Places) -> None:
        """Add a law; a general one with exceptions gives way to that of a class which has none of them."""
        signature = self._signature(law, places)
        held = {one.place for one in law.counts} - {one.place for one in law.exceptions}
        dropped = set()
        for at in self._alike(law, signature):
            other = self.laws[at][0]
            if law.exceptions or not {one.place for one in other.counts if one not in other.exceptions} <= held:
                return
            dropped.add(at)
        sensors = set(signature.values())
        dropped |= {
            at for at, (other, _) in enumerate(self.laws) if self._is_part(other, self.signatures[at], law, sensors)
        }
        kept = [at for at in range(len(self.laws)) if at not in dropped]
        self.laws = [*(self.laws[at] for at in kept), (law, looseness)]
        self.signatures = [*(self.signatures[at] for at in kept), sensors]

    def _is_part(self, other: Law, theirs: set[Sensors], law: Law, sensors: set[Sensors]) -> bool:
        """Whether a bound that was told of some sensors is told again of more."""
        one_sided = law.form in ("at_least", "at_most") and not law.right
        return one_sided and other.form == law.form and not other.right and theirs <= sensors

    def best(self) -> tuple[Law, ...]:
        """Return the best laws: by form, those with the most rows first."""
        order = {"equal": 0, "proportional": 1, "sign": 2, "at_least": 3, "at_most": 3}
        ranked = sorted(self.laws, key=lambda pair: (order[pair[0].form], -pair[0].rows, pair[1]))
        return tuple(law for law, _ in ranked)[: self.settings.max_laws]


def _samples(places: Places) -> tuple[Sample, Sample]:
    """Return a small sample for screening and a larger one for fitting."""

    def some(most: int, cells: int) -> Sample:
        chosen = places
        if len(places) > most:
            chosen = places.take(np.unique(np.linspace(0, len(places) - 1, most).astype(np.int64)))
        return Sample(chosen, chosen.sample(cells))

    return some(_SCREEN_PLACES, _SCREEN_CELLS), some(_FIT_PLACES, _FIT_CELLS)


def _has_change(law: Law) -> bool:
    return any(term.change for term in law.terms)


def _key(law: Law) -> frozenset[Term]:
    return frozenset(replace(term, change=False) for term in law.terms)


def _is_nested(law: Law, other: Law) -> bool:
    return law.condition == other.condition and (_key(law) <= _key(other) or _key(other) <= _key(law))


def _follows(law: Law, told: list[Law]) -> bool:
    """Whether an equation is a sum of told ones."""
    equal = [other for other in told if other.form == "equal" and other.condition == law.condition]
    if law.form != "equal" or not equal:
        return False
    terms = sorted({term for one in (law, *equal) for term in one.terms})

    def row(one: Law) -> list[int]:
        signs = dict.fromkeys(terms, 0)
        for sign, term in (*one.left, *((-sign, term) for sign, term in one.right)):
            signs[term] = sign
        return list(signs.values())

    known = np.array([row(other) for other in equal])
    return int(np.linalg.matrix_rank(np.vstack([known, row(law)]))) == int(np.linalg.matrix_rank(known))
