"""Evidence: on how many separate occasions a law could have failed, and how likely it held by chance.

A law that also holds when its sides are read at different times, or at different places, says nothing. So the right
side and the condition of a law are read with several shifts in time; settings and heads, which hardly change, are also
read at other places. How often the law holds then is its base rate. Time is cut into spans as long as the memory of
what is concluded: a span is one occasion, and places that move as one are one place. Occasions are those of the later
part. Only what is 0 while a state holds, of which nothing was fitted, counts all of the time, among all that was tried,
with enough occasions in the later part. This module reads and counts; what is reported is decided in
``thence.search.laws.selection``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thence.search.laws.quantities import has_zero
from thence.statements.counting.occasions import FEWEST_OCCASIONS, divergence, is_evident, likeness
from thence.statements.laws.bands import Bools, Floats
from thence.statements.laws.counting import law_places
from thence.statements.laws.forms import Rows
from thence.statements.laws.law import Law
from thence.statements.laws.places import Ints, Places

_SHIFTS = 12
_MOST_PLACES = 48  # that are looked at; fewer places are less evidence, not more
_MOST_FRAMES = 4_000


class Evidence(NamedTuple):
    """What speaks for a law in the later part.

    Args:
        occasions: Number of separate occasions on which it could have failed.
        nats: Minus the logarithm of the chance that it would have held as often without any relation.
        is_searched: Whether the occasions include time that was searched.
    """

    occasions: float
    nats: float
    is_searched: bool = False

    def is_enough(self, fitted: int, tried: int) -> bool:
        """Return whether chance would confirm none of all candidates.

        Args:
            fitted: Number of laws that were tried on the later part.
            tried: Number of laws that were tried on any time.

        Examples:
            >>> [Evidence(*one).is_enough(50, 500) for one in ((8.0, 8.0), (2.0, 8.0), (8.0, 3.0), (8.0, 8.0, True))]
            [True, False, False, False]
        """
        candidates = tried if self.is_searched else fitted
        base = math.exp(-self.nats / max(self.occasions, 1.0))
        return bool(is_evident(1.0, base, self.occasions, candidates))


@dataclass(frozen=True)
class Split:
    """How the sensors of a kind fall into two groups, and into those that keep to one side of 0 and those that do not.

    Args:
        groups: The sensors in either group, as numbers.
        sides: Those that keep to the side and those that do not. A statement about one group and its reverse about the
            other have the same groups and sides.
        chance: How often as many of the group keep to it if the groups are drawn at random.
    """

    groups: frozenset[frozenset[int]]
    sides: frozenset[frozenset[int]]
    chance: float


def split_places(keeps: Bools, group: Bools, others: Bools, values: Floats) -> Split | None:
    """Return how likely it is that all of a group keep to one side where not all sensors of the kind do.

    Sensors with the same readings are one. The chance is that of Fisher's exact test.

    Args:
        keeps: Which places keep to the side.
        group: Which places are in the group.
        others: Which other sensors of the kind keep to the side.
        values: The readings of all of them, frames × sensors.

    Returns:
        The split; ``None`` if all sensors keep to the side, or none could.

    Examples:
        >>> values = np.random.default_rng(0).standard_normal((9, 5))
        >>> true = np.ones(4, bool)
        >>> split_places(true, true, np.array([False]), values).chance
        0.2
        >>> split_places(true, true, np.array([True]), values) is None
        True
    """
    keeping = np.concatenate([keeps, others])
    inside = np.concatenate([group, np.zeros(len(others), bool)])
    marks = [hash(column.tobytes()) for column in np.ascontiguousarray(np.nan_to_num(values).T)]
    first = np.array(sorted({mark: at for at, mark in reversed(list(enumerate(marks)))}.values()), np.int64)
    keeping, inside = keeping[first], inside[first]
    number, size, kept = len(first), int(inside.sum()), int(keeping.sum())
    if not 0 < size < number or not size <= kept < number:
        return None
    chance = math.comb(number - size, kept - size) / math.comb(number, kept)
    sides = ([marks[at] for at in first[mask]] for mask in (inside, ~inside, keeping, ~keeping))
    a, b, c, d = (frozenset(side) for side in sides)
    return Split(frozenset({a, b}), frozenset({c, d}), chance)


@dataclass(frozen=True, eq=False)
class UnrelatedRows(Rows):
    """Rows whose right side and condition are read in other frames, and whose right side may be that of other places.

    Args:
        shift: By how many frames, around the end of all frames.
        partners: The position of the place whose right side is read, for each place.
    """

    shift: int = 0
    partners: Ints | None = None

    def _shifted(self, frames: Ints) -> Ints:
        return np.asarray((frames + self.shift) % max(len(self.places.readings), 1))

    @property
    def is_met(self) -> Bools:
        """Where the condition of the law is met, at the other time."""
        return self.places.meets(self.law.condition, self._shifted(self.frames))

    def right_at(self, frames: Ints) -> Floats:
        """Return the right side of the other places at the other time.

        Args:
            frames: The frames.
        """
        right = super().right_at(self._shifted(frames))
        return right if self.partners is None else right[:, self.partners]


def weigh(law: Law, places: Places) -> Evidence:
    """Return the evidence for a counted law in the later part of the time.

    Args:
        law: The law, with its counts.
        places: The places of its pattern.
    """
    law, places, factors = _comparable(law, places)
    count = len(places.readings)
    frames = np.arange(0, count, max(math.ceil(count / _MOST_FRAMES), 1))
    if not len(places) or len(frames) < 2:
        return Evidence(0.0, 0.0)
    spans, turns = _spans(law, places, frames, factors), _partners(law, places)
    is_searched = _is_at_times(law) and turns[0] is None
    first = 0 if is_searched else int(np.searchsorted(frames, int(places.clock.begins_later.min())))
    used = frames[first:]
    inside = places.within(used) if is_searched else places.is_later(used)
    _, applies, holds = law.definition.check(Rows(law, places, used, factors))
    seen, held = _kept(applies & inside, holds & inside, spans, first, law.min_confidence)
    enough = True
    if is_searched:
        _, stays, so = law.definition.check(Rows(replace(law, condition=None), places, used, factors))
        later, fails = places.is_later(used), stays & ~so
        enough = _returns(applies & later, fails & later).sum() >= FEWEST_OCCASIONS
        returns = np.minimum(_returns(applies, fails), seen)
        seen, held = returns, np.divide(held * returns, seen, out=np.zeros(len(seen)), where=seen > 0)
    if not enough:
        return Evidence(0.0, 0.0)
    expected = np.zeros(len(places))
    lines = []
    for at, shift in enumerate(np.linspace(0.08, 0.92, _SHIFTS)):
        other = UnrelatedRows(law, places, used, factors, int(shift * count), turns[at % len(turns)])
        _, applied, kept = law.definition.check(other)
        tried, successes = _kept(applied & inside, kept & inside, spans, first, law.min_confidence)
        expected += np.divide(successes, tried, out=np.ones(len(tried)), where=tried > 0) / _SHIFTS
        lines.append((kept & inside).T)
    weight = 1 / _crowding([line[seen > 0] for line in lines])
    return _joint(seen, held, expected * seen, weight)._replace(is_searched=is_searched)


def _joint(seen: Floats, held: Floats, expected: Floats, weight: float) -> Evidence:
    """The evidence of all places: of each by itself, or of all together where each has few occasions."""
    base = (expected + 1) / (seen + 1)
    share = np.divide(held, seen, out=np.zeros(len(seen)), where=seen > 0)
    own = seen * divergence(share, base)
    speaks = (seen > 0) & (base < 1)
    number = float(seen[speaks].sum()) * weight
    if not number:
        return Evidence(0.0, 0.0)
    # What is expected is never quite 0: one more success is added to it.
    common = (float(expected[speaks].sum()) * weight + 1) / (number + 1)
    together = number * float(divergence(float(held[speaks].sum() / seen[speaks].sum()), common))
    return Evidence(number, max(float(own[speaks].sum()) * weight, together))


def _is_at_times(law: Law) -> bool:
    return law.condition is not None and not law.condition.is_of_places


def _returns(applies: Bools, fails: Bools) -> Floats:
    """How often a law begins to apply at each place since what it concludes was not so.

    However often a flag flickers while a valve rests at 0: that it does is seen once.
    """
    out = np.zeros(applies.shape[1])
    for at in range(len(out)):
        own = applies[applies[:, at] | fails[:, at], at]
        out[at] = np.count_nonzero(own[1:] & ~own[:-1]) + (len(own) > 0 and bool(own[0]))
    return out


def _comparable(law: Law, places: Places) -> tuple[Law, Places, Floats | None]:
    """The law with a right side if it has several terms, and some of the distinct places that keep it."""
    places = law_places(law, places)
    keeping = {one.place: one for one in law.by_place if one.rows and one.share >= law.min_confidence}
    places = places.take(np.array([id in keeping for id in places.ids], bool))
    places = places.take(places.distinct(law.left, law.right))
    if len(places) > _MOST_PLACES:
        places = places.take(np.unique(np.linspace(0, len(places) - 1, _MOST_PLACES).astype(np.int64)))
    factors = None
    if law.definition.has_factor:
        own = [keeping[id].factor if law.factor is None else law.factor for id in places.ids]
        factors = np.array([math.nan if one is None else one for one in own], np.float64)
    if law.definition.is_equation and not law.right and len(law.left) > 1:
        law = replace(law, left=law.left[:1], right=tuple((-sign, term) for sign, term in law.left[1:]))
    return law, places, factors


def _partners(law: Law, places: Places) -> list[Ints | None]:
    """At which places the right side is read, in turn: where it is a property, or a sign that hardly changes."""
    fixed = bool(law.right) and all(term.form == "property" for _, term in law.right)
    if len(places) < 2 or not (fixed or not law.definition.is_bounded):
        return [None]
    order = np.arange(len(places))
    return [np.roll(order, by) for by in range(1, min(len(places), _SHIFTS + 1))]


def _spans(law: Law, places: Places, frames: Ints, factors: Floats | None) -> Ints:
    """For how many of the frames what a law concludes resembles itself, at each place."""
    if _is_at_times(law):
        _, _, holds = law.definition.check(Rows(replace(law, condition=None), places, frames, factors))
        return np.maximum(memories(holds.astype(np.float64)), _phases(holds))
    left = Rows(law, places, frames, factors).left
    if not law.definition.is_bounded and all(has_zero(term) for _, term in law.left):
        left = np.where(np.isnan(left), np.nan, np.sign(left))
    return memories(left)


def memories(values: Floats) -> Ints:
    """Return how many frames apart the values of each column are independent: its integrated autocorrelation.

    A column that does not change has the length of all frames.

    Args:
        values: Frames × columns; missing values count as the mean.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> white = rng.standard_normal(5000)
        >>> memories(np.column_stack([white, np.repeat(white[:250], 20), np.ones(5000)])).tolist()
        [1, 21, 5000]
    """
    number = len(values)
    known = ~np.isnan(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, values - mean, 0.0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * number, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, 2 * number, axis=0)[:number]
    moves = covariance[0] > 1e-12 * np.maximum(mean**2, 1e-300) * number
    shape = covariance / np.where(moves, covariance[0], 1.0)
    positive = np.cumsum(shape <= 0.05, axis=0) == 0
    out = np.ceil(2 * np.where(positive, shape, 0.0).sum(axis=0) - 1)
    return np.where(moves, np.maximum(out, 1), number).astype(np.int64)


def _phases(holds: Bools) -> Ints:
    """The mean length of the phases in which something holds or not."""
    return np.asarray(len(holds) // (1 + (holds[1:] != holds[:-1]).sum(axis=0)), np.int64)


def _kept(applies: Bools, holds: Bools, spans: Ints, first: int, least: float) -> tuple[Floats, Floats]:
    """In how many spans of time a law applies at each place, and in how many of them it holds."""
    seen, kept = np.zeros(len(spans)), np.zeros(len(spans))
    frames = np.arange(first, first + len(applies))
    for at, span in enumerate(spans.tolist()):
        own = frames // max(span, 1)
        own -= own[0]
        rows, held = np.bincount(own, applies[:, at]), np.bincount(own, holds[:, at])
        seen[at] = np.count_nonzero(rows)
        kept[at] = np.count_nonzero((rows > 0) & (held >= least * rows))
    return seen, kept


def _crowding(lines: list[Bools]) -> float:
    """By how much places count as fewer because they move together."""
    worst = 1.0
    for own in lines[:3]:
        moving = own[own.any(axis=1) & ~own.all(axis=1)]
        if len(moving) > 1:
            alike = likeness(moving, np.ones_like(moving))
            worst = max(worst, 1 + (len(moving) - 1) * alike)
    return worst
