"""Fitting: the band, factor or tolerance of a candidate on a sample of the first part of the time.

Each function returns a law without counts and its looseness (the width of its band as a share of the central spread of
its parts; smaller is better), or ``None`` if the candidate is not worth counting. Samples decide only what is counted
and with which band; every number that is reported is counted exactly elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from thence.data.readings.resolution import find_resolution
from thence.search.laws.candidates import Vocabulary, narrow, proportions, sign_pairs, signed_sums
from thence.search.laws.evidence import Split
from thence.search.laws.quantities import has_zero
from thence.search.laws.settings import LawSettings
from thence.statements.laws.bands import (
    COVERED,
    Band,
    Bools,
    Floats,
    central_spread,
    fit_band,
    place_quantiles,
    round_up,
)
from thence.statements.laws.counting import fit_factors
from thence.statements.laws.forms import Rows
from thence.statements.laws.law import Law
from thence.statements.laws.places import Ints, Places
from thence.statements.laws.terms import Combination, Condition

_SCREEN = 0.95  # share of the rows of a place that a screened residual covers
_MATTERS = 3.0  # a part matters where it is larger than this times the band
_SOME = 0.1  # share of the places at which every part has to matter
_ALIKE = 0.02  # factors that differ by less than this share are one factor
_ZERO = 1e-4  # of the ninth decile of the absolute values: what counts as 0 where the data show no resolution
_EXACT = 0.01  # share of the spread of the parts below which no band is reported
_AGREES = 0.999  # share of the rows beyond the tolerance in which signs agree
_DECIDED = 0.5  # smallest share of the rows that are beyond the tolerance
_RARE = 0.02  # smallest share of either sign
_MOST_VALUES = 20_000  # numbers that show a resolution
_EVIDENCE = 8  # places with a sign, those at which it changes counted three times


class Fitted(NamedTuple):
    """A law that was fitted on a sample and not counted yet.

    Args:
        law: The law, without counts.
        looseness: The width of its band as a share of the central spread of its parts; smaller is better.
        places: Number of places of the sample that say something about it.
        split: Of a law that holds because others of the kind do otherwise: how places fall into those that keep it.
    """

    law: Law
    looseness: float
    places: int
    split: Split | None = None


@dataclass(frozen=True)
class Sample:
    """Places and frames of the first part of the time, on which a candidate is fitted.

    Args:
        places: The places.
        frames: The frames.
    """

    places: Places
    frames: Ints

    def values(self, combination: Combination, condition: Condition | None = None) -> Floats:
        """Return the values of a signed sum, NaN in the later part and where a condition is not met.

        Args:
            combination: The signed sum.
            condition: The condition.
        """
        out = self.places.combined(combination, self.frames)
        out[self.places.is_later(self.frames)] = np.nan
        if condition is not None:
            out[~self.places.meets(condition, self.frames)] = np.nan
        return out

    def at(self, *combinations: Combination) -> Sample:
        """Return the sample at the places that know all terms and read no sensor twice.

        Args:
            combinations: The signed sums.
        """
        known = self.places.has_all(*combinations) & self.places.reads_once(*combinations)
        return replace(self, places=self.places.take(known))


@dataclass(frozen=True)
class Scope:
    """Where a search looks for laws: the terms of a pattern and two samples of its places.

    Args:
        words: The terms.
        screen: A small sample, on which a candidate has to hold first.
        fit: A larger sample, on which it is fitted.
        settings: The settings.
    """

    words: Vocabulary
    screen: Sample
    fit: Sample
    settings: LawSettings

    def fitted(self, candidates: Iterable[Callable[..., Fitted | None]]) -> list[Fitted]:
        """Return the candidates that can be fitted on both samples.

        Args:
            candidates: Functions of ``sample`` and ``settings``, such as partial ``fit_equal``.
        """
        screened = [make for make in candidates if make(sample=self.screen, settings=self.settings) is not None]
        made = (make(sample=self.fit, settings=self.settings) for make in screened)
        return [found for found in made if found is not None]


def search_equal(scope: Scope) -> Iterator[list[Fitted]]:
    """Yield sums that are 0, then those that are where a kind is not measured.

    Where that is so, as of the demand of a junction without consumers, less may add up.

    Args:
        scope: Where to search.
    """
    sums = list(signed_sums(scope.words, most=scope.settings.max_parts))
    yield scope.fitted(partial(fit_equal, sum_) for sum_ in sums)
    for own in scope.words.own:
        rest = [sum_ for sum_ in sums if any(t.form == "total" and t.unit == own.unit for _, t in sum_)]
        yield scope.fitted(partial(fit_equal, sum_, condition=Condition("without", own.name)) for sum_ in rest)


def search_proportional(scope: Scope) -> Iterator[list[Fitted]]:
    """Yield quantities that are proportional.

    Args:
        scope: Where to search.
    """
    pairs = proportions(scope.words, most=scope.settings.max_parts - 1)
    yield scope.fitted(partial(fit_proportional, left, right) for left, right in pairs)


def search_sign(scope: Scope) -> Iterator[list[Fitted]]:
    """Yield quantities of the same sign.

    Args:
        scope: Where to search.
    """
    yield scope.fitted(partial(fit_sign, left, right) for left, right in sign_pairs(scope.words))


def _part_sizes(sample: Sample, parts: list[Floats], combination: Combination) -> tuple[Floats, Floats]:
    """Return the spread that the band is compared with at each place, and parts × places of how large each part is."""
    spreads = np.stack([central_spread(part) for part in parts])
    levels = np.stack([np.abs(place_quantiles(part, 0.5)) for part in parts])
    widest = spreads.max(axis=0)
    if any(term.form == "property" for _, term in combination):
        # What is held at a setting does not vary: it is compared with all sensors of its kind.
        for kind in {term.name for _, term in combination if term.form == "reading"}:
            widest = np.fmax(widest, sample.places.usual_spread(kind, sample.frames))
    return widest, np.maximum(spreads, levels)


def fit_equal(
    combination: Combination, sample: Sample, settings: LawSettings, *, condition: Condition | None = None
) -> Fitted | None:
    """Fit the band of a signed sum that may be 0.

    Args:
        combination: The signed sum.
        sample: The sample.
        settings: The settings.
        condition: Which rows the law is about.
    """
    sample = sample.at(combination)
    if not len(sample.places) or not len(sample.frames):
        return None
    parts = [sample.values(((1, term),), condition) for _, term in combination]
    residual = np.zeros_like(parts[0])
    for (sign, _), part in zip(combination, parts, strict=True):
        residual += sign * part
    left, right = _sides(combination)
    states = () if condition is None or condition.form != "state" else (condition.name,)
    pattern = narrow(sample.places.pattern, [term for _, term in combination], states)
    law = Law("equal", str(pattern), left, right, condition=condition, min_confidence=settings.min_confidence)
    return _banded(law, sample, residual, parts, combination, settings)


def fit_proportional(left: Combination, right: Combination, sample: Sample, settings: LawSettings) -> Fitted | None:
    """Fit the factors and the band of two quantities that may be proportional.

    Args:
        left: The left side.
        right: The right side.
        sample: The sample.
        settings: The settings.
    """
    sample = sample.at(left, right)
    if not len(sample.places) or not len(sample.frames):
        return None
    pattern = narrow(sample.places.pattern, [term for _, term in (*left, *right)])
    law = Law("proportional", str(pattern), left, right, min_confidence=settings.min_confidence)
    factors = fit_factors(law, sample.places, sample.frames)
    known = np.isfinite(factors) & (factors != 0)
    rising = float((factors[known] > 0).mean()) if known.any() else 0.5
    if settings.max_exceptions < rising < 1 - settings.max_exceptions:
        return None  # factors of both signs hide a wrong sign of a part
    sample, factors = replace(sample, places=sample.places.take(known)), factors[known]
    middle = float(np.median(factors))
    shared = len(factors) > 1 and bool((np.abs(factors - middle) <= _ALIKE * abs(middle)).all())
    if shared:
        factors, law = np.full(len(factors), middle), replace(law, factor=middle)
    parts = [sample.values(left), sample.values(right) * factors[None, :]]
    rows = Rows(law, sample.places, sample.frames, factors)
    residual = np.where(np.isnan(parts[0]), np.nan, rows.residual)
    return _banded(law, sample, residual, parts, (*left, *right), settings, factors=factors, between=rows.slack)


def _banded(
    law: Law,
    sample: Sample,
    residual: Floats,
    parts: list[Floats],
    combination: Combination,
    settings: LawSettings,
    *,
    factors: Floats | None = None,
    between: Floats | float = 0.0,
) -> Fitted | None:
    widest, sizes = _part_sizes(sample, parts, combination)
    if any(term.form == "total" for term in law.terms):
        # Flows that cross a place may cancel out in a total, which then varies less than what it is made of.
        through = Rows(law, sample.places, sample.frames, factors).sizes
        through[np.isnan(residual)] = np.nan
        widest = np.fmax(widest, central_spread(through))
    informative = np.isfinite(widest) & (widest > 0)
    if not informative.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        screened = place_quantiles(np.abs(residual), _SCREEN) / widest
    if not np.median(screened[informative]) <= 2 * settings.max_spread:
        return None
    relative = None
    if all(has_zero(term) for term in law.terms):
        relative = np.where(np.isnan(residual), np.nan, Rows(law, sample.places, sample.frames, factors).sizes)
    resolution = 0.0
    if factors is None:
        measured = [part for (_, term), part in zip(combination, parts, strict=True) if term.form != "property"]
        resolution = max(find_resolution(_some(part)) for part in measured)
    least = max(resolution, _EXACT * float(np.quantile(widest[informative], _SOME)))
    for covered in COVERED:
        best: Fitted | None = None
        for band in fit_band(residual, relative, least=least, covered=covered):
            if not math.isfinite(band.absolute) or band.relative > settings.max_spread:
                continue
            allowed = np.full(len(sample.places), band.absolute)
            if band.relative and relative is not None:
                allowed = place_quantiles(band.allowed(relative), 0.5)
            if isinstance(between, np.ndarray):
                allowed = np.maximum(allowed, place_quantiles(between, 0.5))
            looseness = float(np.median((allowed / np.where(informative, widest, 1.0))[informative]))
            matters = (sizes[:, informative] > _MATTERS * allowed[informative][None, :]).mean(axis=1)
            if (
                looseness <= settings.max_spread
                and (matters >= _SOME).all()
                and (best is None or looseness < best.looseness)
            ):
                best = Fitted(replace(law, band=band), looseness, int(informative.sum()))
        if best is not None:
            return best
    return None


def _sides(combination: Combination) -> tuple[Combination, Combination]:
    """Put a sum that is 0 as an equation: a reading of the place on the left, if there is one."""
    order = {"reading": 0, "total": 1, "property": 2}
    first = min(combination, key=lambda part: (order[part[1].form] == 2, bool(part[1].role), order[part[1].form]))
    rest = tuple((-first[0] * sign, term) for sign, term in combination if term != first[1])
    if all(sign < 0 for sign, _ in rest):
        return ((1, first[1]), *((1, term) for _, term in rest)), ()
    return ((1, first[1]),), tuple(sorted(rest, key=lambda part: -part[0]))


def zero_of(values: Floats) -> float:
    """Return how far from 0 a number may be and still count as 0: half the resolution, or a tiny share of its size.

    Args:
        values: The numbers.

    Examples:
        >>> zero_of(np.array([0.1, 2.5])), zero_of(np.array([1 / 3, 200 / 3]))
        (0.05, 0.0061)
    """
    known = np.abs(_some(values))
    if not len(known):
        return 0.0
    resolution = find_resolution(known)
    return resolution / 2 if resolution else round_up(_ZERO * float(np.quantile(known, 0.9)))


def fit_sign(left: Combination, right: Combination, sample: Sample, settings: LawSettings) -> Fitted | None:
    """Fit the tolerance beyond which two quantities have the same sign.

    Args:
        left: The left side.
        right: The right side.
        sample: The sample.
        settings: The settings.
    """
    sample = sample.at(left, right)
    if not len(sample.places) or not len(sample.frames):
        return None
    lefts, rights = sample.values(left), sample.values(right)
    zero = zero_of(lefts)
    decided = ~np.isnan(lefts) & ~np.isnan(rights) & (np.abs(lefts) > zero)
    agrees = decided & ((lefts > 0) == (rights > 0)) & (rights != 0)
    own = decided.sum(axis=0)
    with np.errstate(invalid="ignore"):
        far = (own > 0) & (_weighted(agrees, rights) < 0.5)  # places that go the other way are exceptions
    if far.sum() > settings.max_exceptions * (own > 0).sum():
        return None
    decided, agrees = decided & ~far[None, :], agrees & ~far[None, :]
    if decided.sum() < settings.min_rows:
        return None
    distances = np.abs(rights[decided])
    order = np.argsort(-distances, kind="stable")
    held = np.cumsum(agrees[decided][order]) / np.arange(1, len(order) + 1)
    reach = np.flatnonzero(held >= _AGREES)
    if not len(reach):
        return None
    last = int(reach[-1])
    beyond = distances[order][last + 1] if last + 1 < len(order) else zero_of(rights) / 2
    tolerance = round_up(max(float(beyond), _EXACT * float(np.median(distances))), 1)
    inside = decided & (np.abs(rights) > tolerance)
    share = inside.sum() / decided.sum()
    positive = float((inside & (lefts > 0)).sum() / max(inside.sum(), 1))
    if share < _DECIDED or not _RARE <= positive <= 1 - _RARE or _evidence(inside, lefts) < _EVIDENCE:
        return None
    pattern = narrow(sample.places.pattern, [term for _, term in (*left, *right)])
    law = Law("sign", str(pattern), left, right, Band(tolerance), zero, min_confidence=settings.min_confidence)
    return Fitted(law, 1 - float(share), len(sample.places))


def _some(values: Floats) -> Floats:
    """Some of the known numbers, enough to show a resolution."""
    known = values[~np.isnan(values)]
    return known[:: max(len(known) // _MOST_VALUES, 1)]


def _weighted(agrees: Bools, rights: Floats) -> Floats:
    """The share of agreement at each place, by the size of the right side."""
    weight = np.where(np.isnan(rights), 0.0, np.abs(rights))
    total = weight.sum(axis=0)
    out = np.ones(len(total))
    np.divide((weight * agrees).sum(axis=0), total, out=out, where=total > 0)
    return out


def _evidence(inside: Bools, lefts: Floats) -> int:
    """How many places speak for a sign: one that never changes may be chance."""
    rows = np.maximum(inside.sum(axis=0), 1)
    positive = (inside & (lefts > 0)).sum(axis=0) / rows
    changing = (positive > 0.05) & (positive < 0.95) & inside.any(axis=0)
    return int(inside.any(axis=0).sum() + 2 * changing.sum())
