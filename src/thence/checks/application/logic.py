"""Laws and controls of a run on other data: counted as they are, beside the counts that they were found with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from thence.checks.application.verdicts import Verdict
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError
from thence.search.controls.settings import ControlSettings
from thence.search.laws.physics import bind_law
from thence.statements.controls.control import Controls
from thence.statements.controls.counting import count_controls
from thence.statements.controls.thresholds import Tally
from thence.statements.counting.assurance import share_interval
from thence.statements.laws.counting import count_laws
from thence.statements.laws.law import Law, Laws

_FIT_SHARE = 0.6  # of the time in another system, on which factors of single places are fitted


@dataclass(frozen=True, eq=False)
class AppliedLaws:
    """Laws then and now.

    Args:
        then: The laws as they were found.
        now: The same laws with the counts of other data.
        left_out: Numbers of the laws that are left out because of their reviews.
    """

    then: Laws
    now: Laws
    left_out: frozenset[int] = frozenset()

    @staticmethod
    def nothing() -> AppliedLaws:
        """Return no laws."""
        return AppliedLaws(Laws(()), Laws(()))

    def broken_places(self, number: int) -> list[str]:
        """Return the places that kept a law when it was found, or are new, and break it now, the lowest share first.

        Args:
            number: The number of the law, from 0.
        """
        law = self.then[number]
        before = {one.place for one in law.exceptions}
        return [one.place for one in self.now[number].exceptions if one.place not in before]

    def verdict(self, number: int) -> Verdict:
        """Return what can be said about a law: it no longer holds if it holds at fewer than half of the places.

        Args:
            number: The number of the law, from 0.
        """
        if number in self.left_out:
            return Verdict.LEFT_OUT
        now = self.now[number]
        if not now.rows:
            return Verdict.SILENT if now.apart else Verdict.NOT_BOUND
        if not self.broken_places(number):
            return Verdict.HOLDS
        return Verdict.BROKEN if 2 * now.places_held < now.places else Verdict.WEAKER

    def to_polars(self) -> pl.DataFrame:
        """Return one row per law."""
        rows = []
        for number, (then, now) in enumerate(zip(self.then, self.now, strict=True)):
            broken = self.broken_places(number)
            counts = (then.share, now.share if now.rows else None, now.rows, now.held, now.rows - now.held)
            verdict = str(self.verdict(number))
            rows.append((number, then.statement, verdict, *counts, now.places, len(broken), broken[:_NAMED]))
        return pl.DataFrame(rows, schema=_LAWS, orient="row")


_NAMED = 10  # places that the frame of laws names
_LAWS: dict[str, Any] = {
    "law": pl.Int64,
    "statement": pl.String,
    "verdict": pl.String,
    "then": pl.Float64,
    "now": pl.Float64,
    "rows": pl.Int64,
    "held": pl.Int64,
    "violated": pl.Int64,
    "places": pl.Int64,
    "broken_places": pl.Int64,
    "broken_at": pl.List(pl.String),
}


def apply_laws(laws: Laws, readings: WindowedReadings, system: System, *, same_system: bool) -> AppliedLaws | str:
    """Count laws on other data.

    Bands and factors stay as they are. In another system the factor of a proportion that each place has of its own is
    fitted on the first part of the time; formulas keep their parameters and are bound to the sensors of the same names.

    Args:
        laws: The laws.
        readings: The readings in windows.
        system: The system that they belong to.
        same_system: Whether it is the system on which the laws were found.

    Returns:
        The laws then and now; a sentence that says why not, if there is no graph.
    """
    fit_share = 0.0 if same_system else _FIT_SHARE
    chosen = list(laws)
    if not same_system:
        chosen = [bind_law(law, readings, system) if law.names_sensors else _without_places(law) for law in laws]
    try:
        return AppliedLaws(laws, count_laws(chosen, readings, system, fit_share=fit_share))
    except ConfigError as error:
        return f"laws are not applied: {error.message}"


def _without_places(law: Law) -> Law:
    """The law without what was found at places, which another system may name alike."""
    return replace(law, by_place=())


@dataclass(frozen=True, eq=False)
class AppliedControls:
    """Controls then and now.

    Args:
        then: The controls as they were found.
        now: The counts of each on other data, or a sentence that says what is missing.
        assurance: Probability with which each bound of a share holds.
        left_out: Numbers of the controls that are left out because of their reviews.
    """

    then: Controls
    now: tuple[Tally | str, ...]
    assurance: float
    left_out: frozenset[int] = frozenset()

    @staticmethod
    def nothing() -> AppliedControls:
        """Return no controls."""
        return AppliedControls(Controls([]), (), 0.95)

    def verdict(self, number: int) -> Verdict:
        """Return what can be said about a control.

        Args:
            number: The number of the control, from 0.
        """
        if number in self.left_out:
            return Verdict.LEFT_OUT
        then, now = self.then[number].tally, self.now[number]
        if isinstance(now, str):
            return Verdict.NOT_BOUND
        if not now.switches and not now.crossings:
            return Verdict.SILENT
        wanted = ControlSettings()
        out = Verdict.UNCLEAR
        for before, after, least in (
            ((then.explained, then.switches), (now.explained, now.switches), wanted.min_explained),
            ((then.followed, then.crossings), (now.followed, now.crossings), wanted.min_followed),
        ):
            low, high = self._interval(*before)[0], self._interval(*after)[1]
            if high < low:
                return Verdict.BROKEN if high < least or not after[0] else Verdict.WEAKER
            if not np.isnan(high):
                out = Verdict.HOLDS
        return out

    def _interval(self, hits: int, number: int) -> tuple[float, float]:
        """Wilson's bounds: switches are far enough apart to be independent."""
        rows = np.array([float(number)])
        share = np.array([hits / max(number, 1)])
        low, high = share_interval(share, rows, np.maximum(rows - 1, 1.0), self.assurance)
        return float(low[0]), float(high[0])

    def to_polars(self) -> pl.DataFrame:
        """Return one row per control."""
        rows = []
        for number, (control, now) in enumerate(zip(self.then, self.now, strict=True)):
            then = control.tally
            counts = (None,) * 4 if isinstance(now, str) else (now.switches, now.explained, now.crossings, now.followed)
            before = (then.switches, then.explained, then.crossings, then.followed)
            reason = now if isinstance(now, str) else None
            rows.append((number, control.english, str(self.verdict(number)), *before, *counts, reason))
        return pl.DataFrame(rows, schema=_CONTROLS, orient="row")


_TALLY = ("switches", "explained", "crossings", "followed")
_CONTROLS: dict[str, Any] = {
    "control": pl.Int64,
    "sentence": pl.String,
    "verdict": pl.String,
    **dict.fromkeys((f"then_{name}" for name in _TALLY), pl.Int64),
    **dict.fromkeys(_TALLY, pl.Int64),
    "missing": pl.String,
}


def apply_controls(
    controls: Controls,
    readings: WindowedReadings,
    system: System,
    *,
    same_system: bool,
    timezone: str,
    assurance: float,
) -> AppliedControls | str:
    """Count controls on other data of the same system.

    Args:
        controls: The controls.
        readings: The readings in windows.
        system: The system that they belong to.
        same_system: Whether it is the system on which the controls were found.
        timezone: The time zone of times of day.
        assurance: Probability with which each bound of a share holds.

    Returns:
        The controls then and now; a sentence that says why not, if they are about the sensors of another system.
    """
    if not same_system or len(system.sites) > 1:
        return "controls are not applied: they are about named sensors of the system that was mined"
    return AppliedControls(controls, tuple(count_controls(controls, readings, timezone=timezone)), assurance)
