"""Forms of laws: what two sides may have in common, how rows are checked, how it is worded and drawn.

A form is one line of ``FORMS``, or an entry point of another package. Most forms bound the difference of the two sides
from below, from above or both; then rows, tolerances and pictures follow from that. Other forms say themselves in
which rows they apply and hold. Nothing else in the package knows the name of a form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from thence._base.settings.registry import Registry
from thence.language.english import format_number, format_unit
from thence.language.patterns import Pattern
from thence.statements.laws.sentences import format_sum, format_term, spell

if TYPE_CHECKING:
    from thence.statements.laws.bands import Bools, Floats
    from thence.statements.laws.law import Law
    from thence.statements.laws.places import Ints, Places


@dataclass(frozen=True, eq=False)
class Rows:
    """The two sides of a law in some frames at some places, each frames × places; NaN is missing.

    Args:
        law: The law.
        places: The places.
        frames: The frames.
        factors: The factor of a proportion at each place, or places × the parameters of a formula.
    """

    law: Law
    places: Places
    frames: Ints
    factors: Floats | None = None

    @cached_property
    def left(self) -> Floats:
        """The left side."""
        return self.places.combined(self.law.left, self.frames)

    @cached_property
    def right(self) -> Floats:
        """What the left side is compared with: a sum times its factor, or the value of a formula."""
        if self.law.expression is not None and self.law.expression.is_change:
            # What a meter counts until the next window lies in this window and in the next.
            return (self.right_at(self.frames) + self.right_at(self.places.ahead(self.frames))) / 2
        return self.right_at(self.frames)

    def right_at(self, frames: Ints) -> Floats:
        """Return the right side, with its factor or parameters, in other frames.

        Args:
            frames: The frames.
        """
        if self.law.expression is not None:
            values: dict[str, Any] = {term.role: self.places.series(term, frames) for _, term in self.law.right}
            if self.factors is not None:
                values |= dict(zip(self.law.parameters, self.factors.T[:, None, :], strict=True))
            out = np.asarray(self.law.expression.evaluate(values), np.float64)
            return np.broadcast_to(out, (len(frames), len(self.places)))
        right = self.places.combined(self.law.right, frames)
        return right if self.factors is None else right * self.factors[None, :]

    @property
    def is_met(self) -> Bools:
        """Where the condition of the law is met."""
        return self.places.meets(self.law.condition, self.frames)

    @cached_property
    def _between(self) -> tuple[Floats, Floats] | None:
        """The smallest and largest right side in this window and the next, of the change of a proportion."""
        if self.factors is None or self.law.expression is not None or not self.law.left[0][1].change:
            return None
        then = self.right_at(self.places.ahead(self.frames))
        return np.minimum(self.right, then), np.maximum(self.right, then)

    @cached_property
    def residual(self) -> Floats:
        """How far the sides are apart.

        The change until the next window may lie anywhere between what the right side gives in this window and in the
        next, since a pump may switch in between.
        """
        if self._between is None:
            return self.left - self.right
        left, (low, high) = self.left, self._between
        outside = np.where(left > high, left - high, np.where(left < low, left - low, 0.0))
        outside[np.isnan(left) | np.isnan(low)] = np.nan
        return outside

    @property
    def slack(self) -> Floats | float:
        """Half of what is allowed between two windows."""
        return 0.0 if self._between is None else (self._between[1] - self._between[0]) / 2

    @property
    def sizes(self) -> Floats:
        """The size of the parts: half the sum of their absolute values."""
        out = np.zeros((len(self.frames), len(self.places)))
        for _, term in self.law.left:
            out += self.places.sizes(term, self.frames)
        if self.law.expression is not None:
            return (out + np.abs(self.right)) / 2
        for _, term in self.law.right:
            sizes = self.places.sizes(term, self.frames)
            out += sizes if self.factors is None else sizes * np.abs(self.factors)[None, :]
        return out / 2

    @property
    def allowed(self) -> Floats | float:
        """How far the sides may be apart."""
        band = self.law.band
        return band.allowed(self.sizes) if band.relative else band.absolute


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of laws.

    Args:
        words: Returns what a law says, from the law, its pattern, and its two sides in words.
        order: Laws of smaller numbers are listed first.
        low: Whether the left side minus the right side is bounded from below by the band.
        high: Whether it is bounded from above.
        is_equation: Whether the sides are equal, so that laws of this form can be added.
        has_factor: Whether the right side has a factor, which is fitted at each place.
        applies: In which rows the law says something; by default in all that are known.
        holds: In which of these it holds; by default where the difference of the sides is within its bounds.
        remedy: What would keep a violated law, if that is not a smaller difference of its sides.
        formula: The right side as the text of a ``Formula``, if it is not a signed sum. Names that are no terms of a
            law are parameters, which each place has of its own.

    Examples:
        >>> FORMS.load("at_least").is_one_sided, FORMS.load("equal").is_one_sided
        (True, False)
        >>> FORMS.load("product").formula
        'power = k * flow * (first - second)'
        >>> FORMS.load("equall")
        Traceback (most recent call last):
        thence.errors.ConfigError: unknown form of law 'equall' (did you mean 'equal'?)
    """

    words: Callable[[Law, Pattern, str, str], str]
    order: int = 9
    low: bool = False
    high: bool = False
    is_equation: bool = False
    has_factor: bool = False
    applies: Callable[[Rows], Bools] | None = None
    holds: Callable[[Rows], Bools] | None = None
    remedy: str = "other readings"
    formula: str = ""

    @property
    def is_bounded(self) -> bool:
        """Whether the difference of the sides is bounded."""
        return self.low or self.high

    @property
    def is_one_sided(self) -> bool:
        """Whether the difference of the sides is bounded on one side only."""
        return self.low != self.high

    def check(self, rows: Rows) -> tuple[Bools, Bools, Bools]:
        """Return in which rows a law is known, applies and holds.

        Args:
            rows: The rows.
        """
        known = ~np.isnan(rows.residual) & rows.places.within(rows.frames)
        if rows.law.condition is not None:
            known &= rows.is_met
        applies = known if self.applies is None else known & self.applies(rows)
        return known, applies, applies & (self.holds or self._is_within)(rows)

    def _is_within(self, rows: Rows) -> Bools:
        held, allowed = np.ones(rows.residual.shape, bool), rows.allowed
        if self.low:
            held &= rows.residual >= -allowed
        if self.high:
            held &= rows.residual <= allowed
        return held


def _unit(unit: str) -> str:
    return f" {format_unit(unit)}" if format_unit(unit) else ""


def _band(law: Law, of: str = "their mean size") -> str:
    absolute = f"± {format_number(law.band.absolute)}{_unit(law.unit)}"
    if not law.band.relative:
        return f"within {absolute}"
    share = f"within {format_number(float(f'{100 * law.band.relative:.3g}'))} % of {of}"
    return f"{share} (at least {absolute})" if law.band.absolute else share


def _equal(law: Law, pattern: Pattern, left: str, right: str) -> str:
    right = format_sum(law.right, pattern, law.left[-1][1])
    totals = [term for term in law.terms if term.form == "total"]
    of = {"of": f"the {spell(totals[0].name)} through it"} if totals else {}
    return f"{left} {f'equals {right}' if law.right else 'is 0'}, {_band(law, **of)}"


def _proportional(law: Law, pattern: Pattern, left: str, right: str) -> str:
    between = " (as read in this window, in the next, or between)" if law.left[0][1].change else ""
    return f"{left} is {_factor(law, right)}{between}, {_band(law)}"


def _factor(law: Law, right: str) -> str:
    other = format_unit(next((term.unit for _, term in law.right if term.unit), ""))
    own = format_unit(law.unit)
    unit = f" {own or '1'} per {other or '1'}" if own or other else ""
    known = [one.factor for one in law.by_place if one.factor is not None and one.rows]
    if law.factor is not None or len(known) == 1:
        factor = known[0] if law.factor is None else law.factor
        return f"{format_number(float(f'{factor:.3g}'))}{unit} times {right}"
    low, high = (format_number(float(f"{value:.3g}")) for value in (min(known), max(known))) if known else ("?", "?")
    return f"proportional to {right} (factor of each place {low} to {high}{unit})"


def _sign(law: Law, pattern: Pattern, left: str, right: str) -> str:
    unit = _unit(next((term.unit for _, term in law.right if term.unit), ""))
    beyond = f" by more than {format_number(law.band.absolute)}{unit}" if law.band.absolute else ""
    if len(law.right) == 2 and [sign for sign, _ in law.right] == [1, -1]:
        first = law.right[0][1]
        high, low = format_term(first, pattern), format_term(law.right[1][1], pattern, first)
        return (
            f"{left} is positive where {high} is{beyond.replace(' by', '', 1)} above {low}, negative where it is below"
        )
    return f"{left} has the sign of {right}{f', where that is not 0{beyond}' if beyond else ''}"


def _is_decided(rows: Rows) -> Bools:
    return np.asarray((np.abs(rows.left) > rows.law.zero) & (np.abs(rows.right) > rows.law.band.absolute))


def _has_the_sign(rows: Rows) -> Bools:
    return np.asarray((rows.left > 0) == (rows.right > 0))


def _tolerance(law: Law) -> str:
    return f" (by more than {format_number(law.band.absolute)}{_unit(law.unit)})" if law.band.absolute else ""


def _at_least(law: Law, pattern: Pattern, left: str, right: str) -> str:
    return f"{left} is never {f'below {right}' if law.right else 'negative'}{_tolerance(law)}"


def _at_most(law: Law, pattern: Pattern, left: str, right: str) -> str:
    return f"{left} is never {f'above {right}' if law.right else 'positive'}{_tolerance(law)}"


EQUAL = Form(words=_equal, order=0, low=True, high=True, is_equation=True)
PROPORTIONAL = Form(words=_proportional, order=1, low=True, high=True, has_factor=True)
SIGN = Form(
    words=_sign,
    order=2,
    applies=_is_decided,
    holds=_has_the_sign,
    remedy="the opposite direction of one of its readings",
)
AT_LEAST = Form(words=_at_least, order=3, low=True)
AT_MOST = Form(words=_at_most, order=3, high=True)

_HERE, _PHYSICS = "thence.statements.laws.forms:", "thence.statements.laws.physics:"
FORMS = Registry(
    "form of law",
    {
        **{name: _HERE + name.upper() for name in ("equal", "proportional", "sign", "at_least", "at_most")},
        **{name: _PHYSICS + name.upper() for name in ("above", "follows", "held", "line", "hinge", "clipped")},
        **{name: _PHYSICS + name.upper() for name in ("product", "ratio", "mixing", "offset", "counter", "head_loss")},
        "formula": _PHYSICS + "FORMULA",
    },
    group="thence.law_forms",
    of=Form,
)
