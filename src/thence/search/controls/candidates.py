"""Which reading makes an actuator switch: screening of all readings, confirmation on later data, and the choice.

The cut of a reading is found on the earlier half of the switches and has to hold on the later half. Of the readings
that agree with the switches about equally well, one of the smoothest kind is the cause: a stock, such as the level of a
tank, is smoother than pressures and flows, even if one pressure beside the tank reads the same. A reading that is no
better than the same reading of other days only follows the clock. Works on windows and switches; must not know the
graph or write sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.search.controls.kernels import agreement, best_cut, screen
from thence.statements.controls.signals import BLOCK_COLUMNS, FloatArray, Signals
from thence.statements.controls.switches import Switch
from thence.statements.counting.occasions import FEWEST_OCCASIONS, is_evident
from thence.tables.bitmaps.bits import run_threads

MIN_AGREEMENT = 0.3
"""The least agreement of a reading that is looked at: three of ten armed moments are switches, if all are explained."""
SIDES = 4
"""Ways in which each reading is looked at: two directions, now and at the same pace."""
TIE = 0.15
"""Readings whose agreement is lower by less than this are about equally good."""
_POOL = 0.2  # readings whose agreement on the earlier half is lower by more than this are not confirmed
_SCREENED = 40  # switches on which all readings are screened
_MOST = 200  # readings to confirm, the smoothest ones
_SHIFTS, _FEWEST_SHIFTS = 20, 6  # shifts of time at which switches are compared with readings
_MARGIN = 0.05  # by which the agreement must be better than at any shift
_DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Candidate:
    """A reading that may make an actuator switch.

    Args:
        column: The number of the numeric sensor.
        above: Whether it has to rise above a threshold, or to fall below it.
        agreement: Its agreement with all switches.
        ahead: Whether the reading at the same pace agrees better than the reading itself.
    """

    column: int
    above: bool
    agreement: float
    ahead: bool


def earlier(switch: Switch) -> Switch:
    """Return the earlier half of the switches, with all moments up to the last of them."""
    return _part(switch, switch.moments <= _middle(switch))


def later(switch: Switch) -> Switch:
    """Return the later half of the switches, with all moments after the earlier half."""
    return _part(switch, switch.moments > _middle(switch))


def _middle(switch: Switch) -> int:
    return int(switch.times[len(switch) // 2 - 1])


def _first(switch: Switch) -> Switch:
    """Return the first switches, with all moments up to the last of them."""
    if len(switch) <= _SCREENED:
        return switch
    return _part(switch, switch.moments <= int(switch.times[_SCREENED - 1]))


def _part(switch: Switch, mask: npt.NDArray[np.bool_]) -> Switch:
    return Switch(switch.actuator, switch.from_state, switch.to_state, switch.moments[mask], switch.switched[mask])


def screen_all(
    signals: Signals,
    switches: Sequence[Switch],
    *,
    min_share: float,
    within: Callable[[str], npt.NDArray[np.bool_] | None] = lambda actuator: None,
) -> list[FloatArray]:
    """Return how well the best cut of every reading agrees with the earlier half of each actuator's switches.

    Of an actuator that switches all the time, the first switches are enough to find the readings worth a closer look.

    Args:
        signals: The readings.
        switches: The changes of actuators.
        min_share: The share of the switches that a cut has to explain.
        within: For an actuator, the readings that are looked at; ``None`` for all.

    Returns:
        For each change: readings × (above, below); 0 where no cut agrees by ``MIN_AGREEMENT``.
    """
    total = len(signals.sensors)
    out = [np.zeros((total, 2)) for _ in switches]
    halves = [_first(earlier(switch)) for switch in switches]
    masks = [within(switch.actuator.id) for switch in switches]
    end = max((int(half.moments[-1]) + 1 for half in halves if half.moments.size), default=0)

    def work(start: int) -> None:
        columns = slice(start, min(start + BLOCK_COLUMNS, total))
        if all(mask is not None and not mask[columns].any() for mask in masks):
            return
        for rows in signals.rows(columns, end=end):
            for half, scores, mask in zip(halves, out, masks, strict=True):
                some = slice(None) if mask is None else np.flatnonzero(mask[columns])
                own = rows[some]
                if not len(own):
                    continue
                _, found = screen(own, half.moments, half.switched, min_share=min_share, min_agreement=MIN_AGREEMENT)
                part = scores[columns]
                part[some] = np.maximum(part[some], found)

    run_threads(work, range(0, total, BLOCK_COLUMNS))
    return out


def confirm(signals: Signals, switch: Switch, scores: FloatArray) -> list[Candidate]:
    """Return the readings whose cut from the earlier half of the switches holds on the later half, best first.

    Args:
        signals: The readings.
        switch: The change of the actuator.
        scores: What ``screen_all`` found for it.
    """
    best = float(scores.max(initial=0.0))
    if best < MIN_AGREEMENT:
        return []
    pool = [(int(column), bool(side == 0)) for column, side in np.argwhere(scores >= max(best - _POOL, MIN_AGREEMENT))]
    pool = [one for one in pool if signals.sensors[one[0]].id != switch.actuator.id]
    if len(pool) > _MOST:
        rough = signals.roughness([column for column, _ in pool])
        order = sorted(range(len(pool)), key=lambda at: (rough[at], signals.sensors[pool[at][0]].id))
        pool = [pool[at] for at in order[:_MOST]]
    tested = SIDES * scores.shape[0]
    before, after = earlier(switch), later(switch)
    found = []
    for start in range(0, len(pool), BLOCK_COLUMNS):
        some = pool[start : start + BLOCK_COLUMNS]
        for (column, above), *rows in zip(some, *signals.rows([column for column, _ in some]), strict=True):
            fits = []
            for ahead, row in enumerate(rows):
                cut, score = best_cut(row, before.moments, before.switched, above=above)
                fits.append((score, bool(ahead), cut, row))
            _, ahead_better, cut, row = max(fits, key=lambda fit: fit[0])
            if not math.isfinite(cut):
                continue
            hits, armed, held = agreement(row, after.moments, after.switched, cut=cut, above=above)
            base = armed / max(1, after.moments.size)
            if held < MIN_AGREEMENT or hits < FEWEST_OCCASIONS:
                continue
            if is_evident(hits / len(after), base, len(after), tested):
                _, score = best_cut(row, switch.moments, switch.switched, above=above)
                found.append(Candidate(column, above, score, ahead_better))
    return sorted(found, key=lambda one: (-one.agreement, signals.sensors[one.column].id))


def near_best(signals: Signals, found: Sequence[Candidate]) -> list[Candidate]:
    """Return the readings that agree with the switches about as well as the best one, the smoothest kinds first.

    Args:
        signals: The readings.
        found: The confirmed readings.
    """
    best = max((one.agreement for one in found), default=0.0)
    near = [one for one in found if one.agreement >= best - TIE]
    return sorted(
        near,
        key=lambda one: (signals.kind_roughness(one.column), -one.agreement, signals.sensors[one.column].id),
    )


def beats_other_days(
    signals: Signals, switch: Switch, candidate: Candidate, coincidences: dict[str, float] | None = None
) -> bool:
    """Whether a reading agrees with the switches better than any of its kind if they are shifted in time.

    Switches and readings that follow the time of day agree by coincidence, and the best of many readings agrees well.
    Then the best of them agrees as well if the switches are shifted by whole days.

    Args:
        signals: The readings.
        switch: The change of the actuator.
        candidate: The reading.
        coincidences: The best agreement of shifted switches with readings of each kind that was found so far; updated.
    """
    known = {} if coincidences is None else coincidences
    kind = signals.sensors[candidate.column].kind
    needed = candidate.agreement - _MARGIN
    if needed < known.get(kind, 0.0):
        return False
    size = len(signals.readings)
    rivals = signals.of_kind(candidate.column)
    share = needed / (2 - needed)  # fewer hits cannot agree as well
    for shift in _shifts(size, round(_DAY_SECONDS / signals.readings.every.total_seconds())):
        moments = (switch.moments + shift) % size
        for rows in rivals:
            _, scores = screen(rows, moments, switch.switched, min_share=share, min_agreement=needed)
            if scores.any():
                known[kind] = float(scores.max())
                return False
    return True


def _shifts(size: int, day: int) -> list[int]:
    """Return the shifts of time to compare with: whole days if there are enough of them, else equal parts."""
    whole = list(range(day, size - day + 1, day)) if day >= 1 else []
    if len(whole) < _FEWEST_SHIFTS:
        return [int(part) for part in np.linspace(0, size, _SHIFTS + 2)[1:-1] if 1 <= part < size]
    picked = np.unique(np.linspace(0, len(whole) - 1, _SHIFTS).astype(int))
    return [whole[at] for at in picked]
