"""Switching by the clock: the times of day, on which days of the week, at which an actuator changes its state.

A time is looked for in the earlier half of the switches and confirmed on the later days. It counts only if the actuator
switches then far more often than at other times of day and than in the hours around: a pulse that lasts one window ends
in every window, and that is no schedule. This module finds and counts times; it knows no other cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.windows import WindowedReadings
from thence.language.items import Feature, Interval, Item, Role
from thence.statements.controls.switches import Switch
from thence.statements.controls.thresholds import Tally
from thence.statements.counting.occasions import FALSE_STATEMENTS, FEWEST_OCCASIONS, divergence, is_evident

WEEKDAYS = (range(7), range(5), range(5, 7), *(range(day, day + 1) for day in range(7)))
"""The days of the week on which a schedule may hold: all, Monday to Friday, the weekend, or one of them."""

_WIDTHS = (1, 2, 3, 5)  # windows within which a clock may act; the first is exact
_PURE = 0.9  # share of the switches around an inexact time that have to be at it
_AROUND = 7200  # seconds around a time with which it is compared
_MOST = 6  # times of one change
_LEAST_GAIN = 0.05  # share of the switches that one more time has to explain
_COST = 2.0  # of a day on which nothing happens, in switches

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Clock:
    """The local time of each window.

    Args:
        seconds: The start of the window in seconds after midnight.
        weekday: The day of the week, 0 is Monday.
        day: The number of the day.
    """

    seconds: Ints
    weekday: Ints
    day: Ints


@dataclass(frozen=True)
class Time:
    """A time of day, on some days of the week, at which an actuator switches.

    Args:
        usual: The usual time in seconds after midnight.
        first: The earliest.
        last: The latest.
        days: The days of the week, 0 is Monday.
    """

    usual: int
    first: int
    last: int
    days: range

    @property
    def premise(self) -> Item | None:
        """The days of the week as a condition; ``None`` for all days."""
        if len(self.days) == len(WEEKDAYS[0]):
            return None
        return Item.among(Feature("time", name="weekday", role=Role.TIME), Interval(self.days.start, self.days.stop))


@dataclass(frozen=True, eq=False)
class Schedule:
    """The times at which an actuator switches.

    Args:
        times: The times.
        tallies: The counts of each time: switches, those at this time, days on which the actuator could switch at this
            time, and those on which it did.
        later: The same on the later days.
        explained: For each time, which moments are switches then.
        agreement: 2 · hits / (armed days + switches), for all times together.
    """

    times: tuple[Time, ...]
    tallies: tuple[Tally, ...]
    later: tuple[Tally, ...]
    explained: tuple[BoolArray, ...]
    agreement: float


def local_clock(readings: WindowedReadings, timezone: str) -> Clock:
    """Return the local time of each window.

    Args:
        readings: The windows.
        timezone: The time zone.
    """
    local = pl.Series(readings.times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
    hours, minutes, seconds, weekday = (
        part.cast(pl.Int64).to_numpy()
        for part in (local.dt.hour(), local.dt.minute(), local.dt.second(), local.dt.weekday())
    )
    day = local.dt.date().cast(pl.Int32).cast(pl.Int64).to_numpy()
    return Clock(np.asarray(hours * 3600 + minutes * 60 + seconds), np.asarray(weekday - 1), np.asarray(day))


def count_times(
    moments: Ints, switched: BoolArray, clock: Clock, *, first: float, last: float
) -> tuple[Tally, BoolArray]:
    """Count how often an actuator switches at a time, and return which moments are switches then.

    Args:
        moments: The moments at which the actuator could switch.
        switched: At which of them it did.
        clock: The local time of the windows.
        first: The earliest time in seconds after midnight.
        last: The latest.

    Returns:
        The counts, of which crossings are the days on which it could switch, and which moments are switches then.
    """
    seconds, days = clock.seconds[moments + 1], clock.day[moments + 1]
    inside = (seconds >= round(first)) & (seconds <= round(last))
    hits = inside & switched
    number = int(hits.sum())
    armed = np.unique(days[inside]).size
    return Tally(int(switched.sum()), number, max(number, int(armed)), number), hits


def find_schedule(
    switch: Switch, clock: Clock, *, changes: int, min_explained: float, min_followed: float, exact: bool = True
) -> Schedule | None:
    """Find the fewest times of day at which an actuator makes most of its switches.

    Args:
        switch: The change of the actuator.
        clock: The local time of the windows.
        changes: The number of changes that are looked at, for all of which chance may give one time.
        min_explained: The share of the switches that the times have to explain together.
        min_followed: The share of the days, of those on which the actuator was in the state before, on which it must
            have switched at each time.
        exact: Whether the actuator switches in one window of the day, or may do so in a few.

    Returns:
        The schedule, or ``None`` if there is no such time.
    """
    days = clock.day[switch.moments + 1]
    middle = days[switch.switched][len(switch) // 2 - 1]
    early = days <= middle
    widths = _WIDTHS[:1] if exact else _WIDTHS[1:]
    found = list(_propose(switch, early, clock, widths, changes=changes, min_followed=min_followed))
    tried = changes * len(found) * len(WEEKDAYS)
    kept = []
    for time in found:
        # The earlier days may lack a weekend.
        groups = (replace(time, days=days) for days in _possible_days(time, switch, early, clock))
        held = [one for one in groups if _is_confirmed(one, switch, ~early, clock, tried, min_followed)]
        if held:
            every = np.ones(early.size, bool)
            kept.append(replace(time, days=min(_possible_days(held[0], switch, every, clock), key=len)))
    tallies, later, explained = [], [], []
    for time in kept:
        on = np.isin(clock.weekday[switch.moments + 1], time.days)
        tally, hits = _count(time, switch, on, clock)
        whole = np.zeros(on.size, bool)
        whole[on] = hits
        tallies.append(replace(tally, switches=len(switch)))
        after = replace(_count(time, switch, on & ~early, clock)[0], switches=int(switch.switched[~early].sum()))
        later.append(after)
        explained.append(whole)
    for part in (tallies, later):
        if not part or sum(one.explained for one in part) < min_explained * part[0].switches:
            return None
    hit, armed = (sum(getattr(one, name) for one in tallies) for name in ("explained", "crossings"))
    return Schedule(tuple(kept), tuple(tallies), tuple(later), tuple(explained), 2 * hit / (armed + len(switch)))


def _possible_days(time: Time, switch: Switch, use: BoolArray, clock: Clock) -> list[range]:
    """Return the groups of days that have all switches at a time, the largest first: a fan stops when it ran.

    A group leaves out days of the week only if some of these were read: without a weekend nothing is said of weekends.
    """
    on = use & np.isin(clock.weekday[switch.moments + 1], time.days)
    _, hits = _count(time, switch, on, clock)
    days = set(clock.weekday[switch.moments[on][hits] + 1].tolist())
    read, own = set(clock.weekday.tolist()), set(time.days)
    groups = [group for group in WEEKDAYS if days <= set(group) < own and read & (own - set(group))]
    groups.append(time.days)
    return sorted(groups, key=len, reverse=True)


def _count(time: Time, switch: Switch, use: BoolArray, clock: Clock) -> tuple[Tally, BoolArray]:
    return count_times(switch.moments[use], switch.switched[use], clock, first=time.first, last=time.last)


def _is_confirmed(time: Time, switch: Switch, after: BoolArray, clock: Clock, tried: int, min_followed: float) -> bool:
    """Whether a time that was found on the earlier days holds on the later ones, more often than chance allows."""
    on = after & np.isin(clock.weekday[switch.moments + 1], time.days)
    tally, _ = _count(time, switch, on, clock)
    seconds = clock.seconds[switch.moments[on] + 1]
    outside = (seconds < time.first) | (seconds > time.last)
    rate = float(switch.switched[on][outside].mean()) if outside.any() else 1.0
    width = np.unique(seconds[~outside]).size
    base = 1 - (1 - min(max(rate, 1 / max(outside.sum(), 1)), 1.0)) ** max(width, 1)
    if tally.followed < FEWEST_OCCASIONS or tally.followed_share < min_followed:
        return False
    return bool(is_evident(tally.followed_share, base, tally.crossings, tried))


def _propose(
    switch: Switch, early: BoolArray, clock: Clock, widths: Sequence[int], *, changes: int, min_followed: float
) -> Iterator[Time]:
    """Yield the times that explain most switches of the earlier days, one after the other."""
    after = switch.moments + 1
    slots, place = np.unique(clock.seconds[after], return_inverse=True)
    if slots.size <= max(widths):
        return
    cell = (place * 7 + clock.weekday[after])[early]
    shape = (slots.size, 7)
    armed = np.bincount(cell, minlength=slots.size * 7).reshape(shape)
    hits = np.bincount(cell, weights=switch.switched[early], minlength=slots.size * 7).reshape(shape).astype(np.float64)
    bands = [_bands(hits, armed, slots, width) for width in widths]
    tests = changes * slots.size * len(WEEKDAYS) * len(widths)
    total = float(switch.switched[early].sum())
    open_cells = np.ones(shape, bool)
    for _ in range(_MOST):
        best: tuple[float, int, int, int] | None = None
        for at, (width, band) in enumerate(zip(widths, bands, strict=True)):
            free = _free(open_cells, width)
            share = band.hits / np.maximum(band.armed, 1)
            good = free & (band.hits >= max(FEWEST_OCCASIONS, _LEAST_GAIN * total)) & (share >= min_followed)
            if width > 1:
                good &= band.hits >= _PURE * band.around
            good &= band.armed * divergence(share, band.base) >= np.log(tests / FALSE_STATEMENTS)
            if not good.any():
                continue
            worth = band.hits * (1 - _LEAST_GAIN * (width - 1)) - _COST * (band.armed - band.hits)
            worth = np.where(good, worth, -np.inf)
            slot, group = np.unravel_index(int(np.argmax(worth)), worth.shape)
            if best is None or worth[slot, group] > best[0]:
                best = (float(worth[slot, group]), at, int(slot), int(group))
        if best is None:
            return
        _, at, first, which = best
        days = WEEKDAYS[which]
        inside = np.arange(first, first + widths[at])
        cells = np.ix_(inside, np.asarray(days))
        counts = hits[cells].sum(axis=1)
        used = inside[counts > 0]
        open_cells[cells] = False
        yield Time(int(slots[inside[int(np.argmax(counts))]]), int(slots[used[0]]), int(slots[used[-1]]), days)


@dataclass(frozen=True, eq=False)
class _Bands:
    """Hits, switches around, armed days and base rates of bands of times, slots × groups of days."""

    hits: Floats
    around: Floats
    armed: Floats
    base: Floats


def _bands(hits: Floats, armed: Ints, slots: Ints, width: int) -> _Bands:
    """Return the counts of all bands of so many adjacent slots, and how often a switch is to be expected in them."""
    groups = np.zeros((7, len(WEEKDAYS)))
    for at, days in enumerate(WEEKDAYS):
        groups[list(days), at] = 1
    by_slot, could = hits @ groups, armed @ groups
    size = slots.size - width + 1
    band = sum(by_slot[shift : shift + size] for shift in range(width))
    moments = sum(could[shift : shift + size] for shift in range(width))
    # The hours around a time, past midnight too.
    reach = max(2 * width, round(_AROUND / max(float(np.median(np.diff(slots))), 1.0)))
    reach = min(reach, slots.size)
    sums = []
    for one in (by_slot, could):
        circle = np.concatenate([np.zeros((1, len(WEEKDAYS))), one[-reach:], one, one[:reach]]).cumsum(axis=0)
        sums.append(circle[2 * reach + width :][:size] - circle[:size])
    nearby, chances = sums
    elsewhere = np.maximum(by_slot.sum(axis=0) - band, 1.0) / np.maximum(could.sum(axis=0) - moments, 1.0)
    around = (nearby - band) / np.maximum(chances - moments, 1.0)
    rate = np.minimum(np.maximum(elsewhere, around), 1.0)
    return _Bands(np.asarray(band), nearby, np.asarray(np.maximum(could[:size], band)), 1 - (1 - rate) ** width)


def _free(open_cells: BoolArray, width: int) -> BoolArray:
    """Whether no time that was chosen before lies in a band, on any of the days of a group."""
    size = len(open_cells) - width + 1
    free = np.logical_and.reduce([open_cells[shift : shift + size] for shift in range(width)])
    return np.stack([free[:, list(days)].all(axis=1) for days in WEEKDAYS], axis=1)
