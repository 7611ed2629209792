"""Bounds and zeros: quantities that never go one way, that stay on one side of a property, or are 0 in a state.

Such a law says something only if others of its kind do otherwise: flow in a check valve is never negative, while other
pipes are crossed both ways. This module fits candidates on a sample, as ``thence.search.laws.fitting`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from thence.search.laws.candidates import narrow
from thence.search.laws.evidence import split_places
from thence.search.laws.fitting import Fitted, Sample, Scope, fit_equal, zero_of
from thence.search.laws.quantities import has_zero, is_state
from thence.search.laws.settings import LawSettings
from thence.statements.laws.bands import Band, Floats, central_spread, place_quantiles
from thence.statements.laws.law import Law
from thence.statements.laws.terms import Condition, Term
from thence.tables.enrich.surroundings import NAMING_PROPERTIES

_TOUCHES = 0.05  # share of the spread within which a bound has to be reached
_FEWEST_ROWS = 2  # rows of a place with the state of a bound
_MOST_VALUES = 10  # different values of a property that makes groups
_OTHERWISE = 0.5  # greatest share of rows that are 0 in other states


def search_zero_states(scope: Scope) -> Iterator[list[Fitted]]:
    """Yield readings that are 0 while a state holds, and readings that equal a property only then.

    Args:
        scope: Where to search.
    """
    words, sample, settings = scope.words, scope.fit, scope.settings
    out = []
    for kind in sample.places.state_kinds:
        for state in sample.places.states(kind):
            condition = Condition("state", kind, state)
            for term in filter(has_zero, words.own):
                law = _zero_in_state(term, condition, sample, settings)
                if law is not None:
                    out.append(Fitted(law, 0.0, len(sample.places)))
            for term in words.readings:
                for fact in words.values[term]:
                    out += scope.fitted([partial(fit_equal, ((1, term), (-1, fact)), condition=condition)])
    yield out


def count_at_times(scope: Scope) -> int:
    """Return how many pairs of a reading and a state are looked at.

    Args:
        scope: Where to search.
    """
    places = scope.fit.places
    return sum(len(places.states(kind)) for kind in places.state_kinds) * sum(map(has_zero, scope.words.own))


def _zero_in_state(term: Term, condition: Condition, sample: Sample, settings: LawSettings) -> Law | None:
    own = sample.at(((1, term),))
    if not len(own.places):
        return None
    values = own.values(((1, term),))
    zero = zero_of(values)
    known = ~np.isnan(values) & own.places.reads_state(condition.name, own.frames)
    met = known & own.places.meets(condition, own.frames)
    near = np.abs(values) <= zero
    elsewhere = known & ~met
    if not met.any() or not elsewhere.any() or near[met].mean() < settings.min_confidence:
        return None
    if near[elsewhere].mean() > _OTHERWISE:
        return None
    pattern = narrow(own.places.pattern, [term], [condition.name])
    return Law(
        "equal",
        str(pattern),
        ((1, term),),
        (),
        Band(zero),
        condition=condition,
        min_confidence=settings.min_confidence,
    )


def search_bounds(scope: Scope) -> Iterator[list[Fitted]]:
    """Yield readings that never exceed a property of their quantity, or never fall below it, and that do reach it.

    What does not hold always may hold while a state does: the pressure behind a reducing valve is at most its setting
    unless the valve is closed.

    Args:
        scope: Where to search.
    """
    words, sample, settings = scope.words, scope.screen, scope.settings
    out: list[Fitted] = []
    for term in words.readings:
        for fact in words.values[term]:
            own = sample.at(((1, term),), ((1, fact),))
            if not len(own.places):
                continue
            found = _bounded(term, fact, None, own, settings)
            for kind in () if found else own.places.state_kinds:
                for state in own.places.states(kind):
                    found += _bounded(term, fact, Condition("state", kind, state), own, settings)
            out += found
    yield out


def _bounded(term: Term, fact: Term, condition: Condition | None, own: Sample, settings: LawSettings) -> list[Fitted]:
    """Return the bounds that a property sets to a reading, in all rows or in those with a state."""
    out: list[Fitted] = []
    values, slack = own.values(((1, term),)), own.values(((1, term), (-1, fact)))
    if condition is not None:
        met = own.places.meets(condition, own.frames)
        values, slack = np.where(met, values, np.nan), np.where(met, slack, np.nan)
    enough = np.count_nonzero(~np.isnan(slack), axis=0) >= _FEWEST_ROWS
    if not enough.any():
        return out
    values, slack = values[:, enough], slack[:, enough]
    spread = central_spread(values)
    varies = np.isfinite(spread) & (spread > 0)
    if not varies.any():
        return out
    tolerance = zero_of(values)
    for form, room in (("at_most", -slack), ("at_least", slack)):
        least = place_quantiles(room, 0.001)
        reached = np.abs(least) <= np.maximum(_TOUCHES * spread, tolerance)
        if (reached & varies).sum() < max(2, 0.5 * varies.sum()) or (least < -tolerance)[varies].mean() > 0.1:
            continue
        law = Law(
            form,
            str(narrow(own.places.pattern, [term], [] if condition is None else [condition.name])),
            ((1, term),),
            ((1, fact),),
            Band(tolerance),
            condition=condition,
            min_confidence=settings.min_confidence,
        )
        looseness = float(np.median(np.maximum(least, 0)[varies] / spread[varies]))
        out.append(Fitted(law, looseness, int(varies.sum())))
    return out


def search_one_sided(scope: Scope) -> Iterator[list[Fitted]]:
    """Yield readings that never go one way in a class, or with a property value, while others of their kind do.

    Args:
        scope: Where to search.
    """
    words, sample, settings = scope.words, scope.fit, scope.settings
    out = []
    for term in words.own:
        own = sample.at(((1, term),))
        if not len(own.places) or is_state(term) or not has_zero(term):
            continue
        values = own.values(((1, term),))
        elsewhere = _elsewhere(term, own)
        zero = zero_of(np.concatenate([values.ravel(), elsewhere.ravel()]))
        for form, sign in (("at_least", 1.0), ("at_most", -1.0)):
            keeps = _keeps(sign * values, zero)
            others = _keeps(sign * elsewhere, zero)
            for condition, group in _groups(own, len(keeps)):
                split = split_places(keeps, group, others, np.concatenate([values, elsewhere], axis=1))
                if split is None:
                    continue  # however the groups fall, it would say nothing
                moved = (np.nan_to_num(sign * values[:, group]) > zero).any()
                law = Law(
                    form,
                    str(narrow(own.places.pattern, [term])),
                    ((1, term),),
                    (),
                    Band(zero),
                    condition=condition,
                    min_confidence=settings.min_confidence,
                )
                if not moved or not keeps[group].all():
                    split = replace(split, chance=1.0)
                out.append(Fitted(law, float(condition is not None), int(group.sum()), split))
                if condition is None and split.chance < 1:
                    break  # what holds for the class is not reported again for a part of it
    yield out


def _keeps(values: Floats, zero: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    known = ~np.isnan(values)
    return np.asarray((~known | (values >= -zero)).all(axis=0) & known.any(axis=0))


def _elsewhere(term: Term, own: Sample) -> Floats:
    """The readings of the other sensors of the kind, which are not at the places."""
    readings = own.places.readings
    here = {sensor for sensors in own.places.sensors_of(((1, term),)) for _, sensor in sensors}
    role_of = own.places.carriers.units.role_of if own.places.pattern.has_points else {}
    columns = [
        at
        for at, sensor in enumerate(readings.numeric)
        if role_of.get(sensor.id, sensor.kind) == term.name and sensor.id not in here
    ]
    return np.asarray(readings.values[own.frames][:, columns])


def _groups(own: Sample, size: int) -> Iterator[tuple[Condition | None, np.ndarray[tuple[int], np.dtype[np.bool_]]]]:
    """Yield all places, then those with each value of a property that is text or true or false."""
    yield None, np.ones(size, bool)
    nodes = own.places.index.graph.nodes
    found: dict[str, dict[str, list[int]]] = {}
    for at, id in enumerate(own.places.ids):
        for name, value in nodes[id].properties.items():
            if isinstance(value, (str, bool)) and name not in NAMING_PROPERTIES:
                text = str(value).lower() if isinstance(value, bool) else value
                found.setdefault(name, {}).setdefault(text, []).append(at)
    for name, values in sorted(found.items()):
        if 1 < len(values) <= _MOST_VALUES:
            for text, members in sorted(values.items()):
                group = np.zeros(size, bool)
                group[members] = True
                yield Condition("property", name, text), group
