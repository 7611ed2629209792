"""Selection: which of the fitted laws are counted and reported.

A law is reported if its lower bound on the later part of the time reaches ``min_confidence``, few places break it, and
it rests there on so many separate occasions that chance would confirm none of all candidates. Of laws with nested terms
the tighter is reported; a law that follows from others is not; neither is the same law for another pattern. Of laws
that differ in a state only, where the states come and go together, the one that holds more often is reported. This
module chooses; it fits and formats nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from thence.search.laws.evidence import weigh
from thence.search.laws.fitting import Fitted
from thence.search.laws.settings import LawSettings
from thence.statements.counting.occasions import FALSE_STATEMENTS
from thence.statements.laws.counting import count_at, law_places
from thence.statements.laws.law import Law
from thence.statements.laws.places import Places
from thence.statements.laws.terms import Condition, Term

Sensors: TypeAlias = frozenset[tuple[int, str]]
_OCCAM = 0.5  # a law with one more term has to be tighter by this factor
_SAMPLE = 1_000_000  # cells of which two states are compared
_TOGETHER = 0.99  # share of the moments of either state at which both hold
_REACH = 0.95  # share of the places of a nested law below which the other law comes first


@dataclass
class LawSelection:
    """The laws that are kept so far.

    Args:
        settings: What counts as a law.
        fitted: Number of fitted laws, which are tried on the later part.
        tried: Number of these and of all that were looked at while a state holds.
        splits: Number of different splits of sensors into groups that were tried.
        laws: The laws with their looseness.
        signatures: The signed sensors of each law at its places.
    """

    settings: LawSettings
    fitted: int = 1
    tried: int = 1
    splits: int = 1
    laws: list[tuple[Law, float]] = field(default_factory=list)
    signatures: list[set[Sensors]] = field(default_factory=list)

    def add_best(self, candidates: list[Fitted], places: Places) -> None:
        """Count the best candidates of one form and keep those that hold and are new.

        Args:
            candidates: The fitted laws.
            places: The places of their pattern.
        """
        kept: list[Law] = []

        def cost(one: Fitted) -> tuple[bool, float, int, str]:
            terms = one.law.terms
            most = max(other.places for other in candidates if _is_nested(one.law, other.law))
            simple = _OCCAM ** max(len(terms) - 2, 0)
            return one.places < _REACH * most, one.looseness / simple, len(terms), str(terms)

        for law, looseness, _, split in sorted(candidates, key=cost):
            if split is not None and split.chance * self.splits > FALSE_STATEMENTS:
                continue
            if any(_is_nested(law, other) for other in kept) or _follows(law, kept):
                continue
            if self._is_known(law, places):
                continue
            counted = count_at(law, places, keepers=True)
            if not self._holds(counted) or _breaks_in_class(counted, places):
                continue
            if split is None and not weigh(counted, places).is_enough(self.fitted, self.tried):
                continue
            if not self._is_kept_with(counted, places):
                kept.append(counted)
                self._add(counted, looseness, places)

    def _holds(self, law: Law) -> bool:
        later = sum(one.later_rows for one in law.by_place)
        if later < self.settings.min_rows or law.later_bound is None:
            return False
        if law.places_held < (1 - self.settings.max_exceptions) * law.places:
            return False
        return law.later_bound >= self.settings.min_confidence

    def _signature(self, law: Law, places: Places) -> set[Sensors]:
        """The signed sensors of a law at its places, whichever side they are on."""
        at = law_places(law, places)
        if law.condition is not None and law.condition.is_of_places:
            at = at.take(at.meets(law.condition, np.zeros(1, np.int64))[0])
        minus = tuple((-sign, term) for sign, term in law.right)
        found = at.sensors_of(law.left, minus)
        return {min(own, frozenset((-sign, sensor) for sign, sensor in own), key=sorted) for own in found}

    def _alike(self, law: Law, sensors: set[Sensors]) -> Iterator[int]:
        """Yield the kept laws that say the same of at least the same sensors."""
        for at, (other, _) in enumerate(self.laws):
            if other.form != law.form or _has_change(other) != _has_change(law) or not sensors <= self.signatures[at]:
                continue
            if other.condition == law.condition or (law.condition is None or law.condition.is_of_places):
                yield at

    def _is_known(self, law: Law, places: Places) -> bool:
        """Whether a kept law without exceptions says the same of the same sensors."""
        return any(not self.laws[at][0].exceptions for at in self._alike(law, self._signature(law, places)))

    def _is_kept_with(self, law: Law, places: Places) -> bool:
        """Whether the same is kept while another state holds at the same moments, as of two fans that run together.

        If the law holds more often than the kept one, that one is taken back.
        """
        for at, (other, _) in enumerate(self.laws):
            if (other.form, other.left, other.right) != (law.form, law.left, law.right):
                continue
            if not _same_moments(other.condition, law.condition, places):
                continue
            if law.held * other.rows <= other.held * law.rows:
                return True
            del self.laws[at], self.signatures[at]
            return False
        return False

    def _add(self, law: Law, looseness: float, places: Places) -> None:
        """Add a law; a general one with exceptions gives way to that of a class which has none of them."""
        sensors = self._signature(law, places)
        held = {one.place for one in law.by_place} - {one.place for one in law.exceptions}
        dropped = set()
        for at in self._alike(law, sensors):
            other = self.laws[at][0]
            broken = {one.place for one in other.exceptions}
            if law.exceptions or not {one.place for one in other.by_place} - broken <= held:
                return
            dropped.add(at)
        dropped |= {
            at for at, (other, _) in enumerate(self.laws) if self._is_part(other, self.signatures[at], law, sensors)
        }
        kept = [at for at in range(len(self.laws)) if at not in dropped]
        self.laws = [*(self.laws[at] for at in kept), (law, looseness)]
        self.signatures = [*(self.signatures[at] for at in kept), sensors]

    def _is_part(self, other: Law, theirs: set[Sensors], law: Law, sensors: set[Sensors]) -> bool:
        """Whether a bound that was kept for some sensors is kept again for more."""
        one_sided = law.definition.is_one_sided and not law.right
        return one_sided and other.form == law.form and not other.right and theirs <= sensors

    def best(self) -> tuple[Law, ...]:
        """Return the best laws: by form, those with the most rows first."""
        ranked = sorted(self.laws, key=lambda pair: (pair[0].definition.order, -pair[0].rows, pair[1]))
        return tuple(law for law, _ in ranked)[: self.settings.max_laws]


def _breaks_in_class(law: Law, places: Places) -> bool:
    """Whether a law fails at all places of a class among several: it is then kept for the other classes alone."""
    label_of = dict(zip(places.ids, map(str, places.labels), strict=True))
    broken = Counter(label_of[one.place] for one in law.exceptions)
    total = Counter(label_of[one.place] for one in law.by_place if one.rows)
    return len(total) > 1 and any(count == total[label] for label, count in broken.items())


def _same_moments(first: Condition | None, second: Condition | None, places: Places) -> bool:
    """Whether two states hold at practically the same places and moments, by a sample of the frames."""
    if first is None or second is None or {first.form, second.form} != {"state"} or first.name == second.name:
        return False
    frames = places.sample(_SAMPLE)
    known = places.reads_state(first.name, frames) & places.reads_state(second.name, frames)
    one, two = (known & places.meets(condition, frames) for condition in (first, second))
    either = int((one | two).sum())
    return either > 0 and int((one & two).sum()) >= _TOGETHER * either


def _has_change(law: Law) -> bool:
    return any(term.change for term in law.terms)


def _key(law: Law) -> frozenset[Term]:
    return frozenset(replace(term, change=False) for term in law.terms)


def _is_nested(law: Law, other: Law) -> bool:
    return law.condition == other.condition and (_key(law) <= _key(other) or _key(other) <= _key(law))


def _follows(law: Law, kept: list[Law]) -> bool:
    """Whether an equation is a sum of kept ones."""
    equal = [other for other in kept if other.definition.is_equation and other.condition == law.condition]
    if not law.definition.is_equation or not equal:
        return False
    terms = sorted({term for one in (law, *equal) for term in one.terms})

    def row(one: Law) -> list[int]:
        signs = dict.fromkeys(terms, 0)
        for sign, term in (*one.left, *((-sign, term) for sign, term in one.right)):
            signs[term] = sign
        return list(signs.values())

    known = np.array([row(other) for other in equal])
    return int(np.linalg.matrix_rank(np.vstack([known, row(law)]))) == int(np.linalg.matrix_rank(known))
