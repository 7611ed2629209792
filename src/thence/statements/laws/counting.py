"""Exact counts of laws: in which rows a law applies and holds, per place, over all frames.

Frames are read in blocks, so memory does not grow with the data. A row counts only where all parts are known. This
module counts; it fits nothing but the factor of a proportion at places that have none yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thence.data.graph.discovery import Carriers
from thence.data.graph.matching import GraphIndex
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import PatternError
from thence.language.patterns import Pattern
from thence.statements.counting.assurance import wilson_bounds
from thence.statements.laws.bands import Floats
from thence.statements.laws.forms import Rows
from thence.statements.laws.law import Law, Laws, PlaceCounts
from thence.statements.laws.places import Bools, Clock, Ints, Places
from thence.statements.laws.sensor_places import SensorPlaces, no_carriers
from thence.statements.statement import States

STRETCHES = 20
"""Stretches of time into which the later part is cut, to see how failures cluster."""
_Z = 1.6448536269514722  # one-sided 95 %


def check_rows(law: Law, places: Places, frames: Ints, factors: Floats | None = None) -> tuple[Bools, Bools, Bools]:
    """Return in which rows a law is known, applies and holds, each frames × places.

    Args:
        law: The law.
        places: The places.
        frames: The frames.
        factors: The factor of a proportion at each place, or places × the parameters of a formula.
    """
    return law.definition.check(Rows(law, places, frames, factors))


def fit_factors(law: Law, places: Places, frames: Ints) -> Floats:
    """Fit the factor of a proportion at each place by least squares, leaving out the largest tenth of the residuals.

    Args:
        law: The law.
        places: The places.
        frames: The frames to fit on.
    """
    left, right = places.combined(law.left, frames), places.combined(law.right, frames)
    if law.left[0][1].change:
        right = (right + places.combined(law.right, places.ahead(frames))) / 2
    known = ~np.isnan(left) & ~np.isnan(right) & ~places.is_later(frames)
    return _robust_slopes(np.where(known, left, np.nan), np.where(known, right, np.nan))


def _robust_slopes(left: Floats, right: Floats) -> Floats:
    used = ~np.isnan(left) & ~np.isnan(right)
    slopes = np.full(left.shape[1], np.nan)
    for _ in range(3):
        x, y = np.where(used, right, 0.0), np.where(used, left, 0.0)
        square = (x * x).sum(axis=0)
        slopes = np.divide((x * y).sum(axis=0), square, out=np.full_like(square, np.nan), where=square > 0)
        residual = np.abs(left - slopes[None, :] * right)
        ordered = np.sort(residual, axis=0)
        counts = (~np.isnan(residual)).sum(axis=0)
        at = np.maximum(np.ceil(0.9 * counts).astype(np.int64) - 1, 0)
        if not len(ordered):
            break
        used = residual <= np.take_along_axis(ordered, at[None, :], axis=0)
    return slopes


def count_at(law: Law, places: Places, *, keepers: bool = False) -> Law:
    """Return a law with its exact counts at places.

    Args:
        law: The law.
        places: The places.
        keepers: Whether the lower bound is about the places only that kept the law before the later part.
    """
    places = law_places(law, places)
    size = len(places)
    factors = _fitted(law, places)
    parts = [
        _tally(law, places.take(at) if len(at) < size else places, None if factors is None else factors[at])
        for at in places.pieces()
    ]
    table = np.concatenate([part[0] for part in parts], axis=1)
    by_stretch = np.concatenate([part[1] for part in parts], axis=2)
    rows, held, later_rows, later_held, _ = table
    kept = np.ones(size, bool)
    if keepers:
        earlier = rows - later_rows
        kept = (held - later_held) >= law.min_confidence * earlier
    bound = lower_bound(by_stretch[1][:, kept].sum(axis=1), by_stretch[0][:, kept].sum(axis=1))
    has_own = law.definition.has_factor and law.factor is None and factors is not None
    own = [float(value) for value in factors] if has_own and factors is not None else [None] * size
    named = {one.place: (one.parameters, one.sensors) for one in law.by_place}
    counts = tuple(
        PlaceCounts(id, known, kept_rows, late_rows, late_kept, near_zero, factor, *named.get(id, ()))
        for id, (known, kept_rows, late_rows, late_kept, near_zero), factor in zip(
            places.ids, table.T.tolist(), own, strict=True
        )
        if known or near_zero
    )
    return replace(law, by_place=counts, later_bound=bound)


def law_places(law: Law, places: Places) -> Places:
    """Return the places that know all terms of a law and read no sensor twice; of those that read the same, the first.

    Args:
        law: The law.
        places: The places of its pattern.
    """
    places = places.take(places.has_all(law.left, law.right) & places.reads_once(law.left, law.right))
    if law.condition is not None and not law.condition.is_of_places:
        return places  # their states may differ
    return places.take(places.distinct(law.left, law.right))


def _tally(law: Law, places: Places, factors: Floats | None) -> tuple[Ints, Ints]:
    """Count a law at some places.

    Returns:
        At each place: the rows in which the law applies and holds, those of the later part, and the rows that are known
        but to which it does not apply; and for each stretch of time, the later rows in which it applies and holds.
    """
    rows, held, apart, later_rows, later_held = (np.zeros(len(places), np.int64) for _ in range(5))
    by_stretch = np.zeros((2, STRETCHES, len(places)), np.int64)
    for frames in places.blocks():
        known, applies, holds = check_rows(law, places, frames, factors)
        later = places.is_later(frames)
        rows += applies.sum(axis=0)
        held += holds.sum(axis=0)
        apart += (known & ~applies).sum(axis=0)
        late, late_held = applies & later, holds & later
        later_rows += late.sum(axis=0)
        later_held += late_held.sum(axis=0)
        stretch = frames * STRETCHES // max(len(places.readings), 1)
        for number in np.unique(stretch):
            by_stretch[0, number] += late[stretch == number].sum(axis=0)
            by_stretch[1, number] += late_held[stretch == number].sum(axis=0)
    return np.stack([rows, held, later_rows, later_held, apart]), by_stretch


def _fitted(law: Law, places: Places) -> Floats | None:
    """The factor of a proportion at each place, or the parameters of a formula, places × parameters."""
    if law.definition.has_factor:
        return _factors(law, places)
    return None if law.expression is None else _parameters(law, places)


def _parameters(law: Law, places: Places) -> Floats:
    known = {one.place: one.parameters for one in law.by_place}
    return np.array([known[id] for id in places.ids], np.float64).reshape(len(places), len(law.parameters))


def _factors(law: Law, places: Places) -> Floats:
    if law.factor is not None:
        return np.full(len(places), law.factor)
    known = {one.place: one.factor for one in law.by_place if one.factor is not None}
    own = np.array([known.get(id, math.nan) for id in places.ids], np.float64)
    if np.isnan(own).any():
        own = np.where(np.isnan(own), fit_factors(law, places, places.sample(2_000_000)), own)
    return own


def lower_bound(held: Ints, rows: Ints) -> float | None:
    """Return a lower bound (95 %) of the share of rows in which a law holds.

    It is Wilson's bound. Where failures cluster in some stretches of time, rows count as fewer.

    Args:
        held: Rows in which the law holds, by stretch of time.
        rows: Rows, by stretch.

    Returns:
        The bound; ``None`` without rows.

    Examples:
        >>> even = np.array([99, 99, 99, 99])
        >>> round(lower_bound(even, np.array([100] * 4)), 3)
        0.978
        >>> round(lower_bound(np.array([100, 100, 100, 96]), np.array([100] * 4)), 3)
        0.956
    """
    n, k = int(rows.sum()), int(held.sum())
    if not n:
        return None
    p, effective = k / n, float(n)
    occupied = int((rows > 0).sum())
    if k < n and occupied > 1:
        variance = float(((held - p * rows) ** 2).sum()) * occupied / (occupied - 1) / n**2
        if variance > 0:
            effective = min(effective, max(p * (1 - p) / variance, 1.0))
    return float(wilson_bounds(p, effective, _Z)[0])


def carriers_of(laws: Sequence[Law], readings: WindowedReadings, system: System) -> Carriers:
    """Return the graph with the nodes that carry the sensors that laws are about.

    Args:
        laws: The laws.
        readings: The readings, in windows.
        system: The system that they belong to.

    Raises:
        ConfigError: If the system has no graph, and a law is about a pattern of it.
    """
    if (system.graph is None or system.binding is None) and all(law.names_sensors for law in laws):
        return no_carriers()
    graph, binding = system.require_graph()
    kind_of = {sensor.id: sensor.kind for sensor in readings.sensors}
    patterns = [Pattern.parse(law.pattern) for law in laws if not law.names_sensors]
    return Carriers.of(GraphIndex(graph, system.ontology), kind_of, dict(binding), patterns=patterns)


def places_of(law: Law, readings: WindowedReadings, carriers: Carriers, clock: Clock) -> Places:
    """Return the places of a law, those that a pattern finds or those that name their sensors.

    Args:
        law: The law.
        readings: The readings, in windows.
        carriers: The graph with the sensors (``carriers_of``).
        clock: The frames.

    Raises:
        PatternError: If the graph has no such pattern.
    """
    if law.names_sensors:
        return SensorPlaces.of_law(law, readings, carriers, clock)
    return Places.of(carriers.with_known_kinds(Pattern.parse(law.pattern)), readings, carriers, clock)


def known_places(law: Law, readings: WindowedReadings, carriers: Carriers) -> tuple[Places, Floats | None] | None:
    """Return the places that a law was counted at, as far as they are still found, with its factors there.

    Args:
        law: The law.
        readings: The readings, in windows.
        carriers: The graph with the sensors (``carriers_of``).

    Returns:
        The places, and the factor of a proportion or the parameters of a formula at each of them; ``None`` if the
        graph has no such pattern.
    """
    try:
        places = places_of(law, readings, carriers, Clock.of(readings, 0.0))
        places = places.take(places.has_all(law.left, law.right))
    except PatternError:
        return None
    own = {one.place: one.factor if law.factor is None else law.factor for one in law.by_place}
    places = places.take(np.array([id in own for id in places.ids], bool))
    if not law.definition.has_factor:
        return places, _fitted(law, places)
    return places, np.array([math.nan if own[id] is None else own[id] for id in places.ids], np.float64)


def law_states(law: Law, readings: WindowedReadings, system: System) -> States:
    """Return the state of a law at each of its places in each window; see ``Law.check``.

    Args:
        law: The law.
        readings: The readings, in windows.
        system: The system that they belong to.
    """
    found = known_places(law, readings, carriers_of([law], readings, system))
    if found is None:
        return States((), np.zeros((0, len(readings)), np.int8))
    places, factors = found
    masks = [np.zeros((len(places), len(readings)), bool) for _ in range(3)]
    for frames in places.blocks():
        _, applies, holds = check_rows(law, places, frames, factors)
        unknown = np.isnan(places.combined(law.left, frames)) | np.isnan(places.combined(law.right, frames))
        for mask, part in zip(masks, (applies, holds, unknown & places.within(frames)), strict=True):
            mask[:, frames] = part.T
    return States.of(places.ids, applies=masks[0], holds=masks[1], missing=masks[2])


def law_sensors(law: Law, readings: WindowedReadings, system: System, place: str) -> list[str]:
    """Return the ids of the sensors that a law is about at a place.

    Args:
        law: The law.
        readings: The readings, in windows.
        system: The system that they belong to.
        place: The id of the node.
    """
    found = known_places(law, readings, carriers_of([law], readings, system))
    if found is None or place not in found[0].ids:
        return []
    one = found[0].take(np.array([found[0].ids.index(place)]))
    return sorted(id for _, id in one.sensors_of(law.left, law.right)[0] if not id.startswith("property "))


def count_law(law: Law, readings: WindowedReadings, system: System, *, fit_share: float = 0.6) -> Law:
    """Count a law on other data: a later time, other places, another system.

    Bands and factors stay as they are. A proportion whose places have factors of their own is fitted at places that
    it does not know yet, on the first part of the time. A law whose classes or relations the graph does not have gets
    no rows.

    Args:
        law: The law.
        readings: The readings, in windows.
        system: The system that they belong to.
        fit_share: Share of the time before the later part.

    Returns:
        The same law with other counts.

    Examples:
        >>> import thence as th
        >>> from thence.search.laws.search import search_laws
        >>> from thence.data.readings.windows import window
        >>> data = th.datasets.load("net3", days=7)
        >>> law = search_laws(window(data.sensors), data)[0]
        >>> count_law(law, window(data.sensors), data).by_place == law.by_place
        True
    """
    return count_laws([law], readings, system, fit_share=fit_share)[0]


def count_laws(laws: Sequence[Law], readings: WindowedReadings, system: System, *, fit_share: float = 0.6) -> Laws:
    """Count several laws on other data; see ``count_law``.

    Args:
        laws: The laws.
        readings: The readings, in windows.
        system: The system that they belong to.
        fit_share: Share of the time before the later part.
    """
    carriers, clock = carriers_of(laws, readings, system), Clock.of(readings, fit_share)
    counted = []
    for law in laws:
        try:
            counted.append(count_at(law, places_of(law, readings, carriers, clock)))
        except PatternError:
            counted.append(replace(law, by_place=(), later_bound=None))
    return Laws(tuple(counted))
