"""Switching by the clock: the times of day at which an actuator changes its state on most days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.windows import WindowedReadings
from thence.statements.controls.switches import Switch
from thence.statements.controls.thresholds import Tally


@dataclass(frozen=True, eq=False)
class Schedule:
    """The times of day at which an actuator switches.

    Args:
        seconds: The times, in seconds after midnight.
        tallies: The counts of each time: switches, those at this time, days on which the actuator could switch at this
            time, and those on which it did.
        explained: Which moments are switches at one of these times.
        agreement: 2 · hits / (armed moments + switches), for all times together.
    """

    seconds: tuple[int, ...]
    tallies: tuple[Tally, ...]
    explained: npt.NDArray[np.bool_]
    agreement: float


def local_seconds(readings: WindowedReadings, timezone: str) -> npt.NDArray[np.int64]:
    """Return the start of each window in seconds after local midnight.

    Args:
        readings: The windows.
        timezone: The time zone.
    """
    local = pl.Series(readings.times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(timezone)
    hours, minutes, seconds = (part.cast(pl.Int64) for part in (local.dt.hour(), local.dt.minute(), local.dt.second()))
    return np.asarray((hours * 3600 + minutes * 60 + seconds).to_numpy(), np.int64)


def find_schedule(
    switch: Switch, seconds: npt.NDArray[np.int64], *, least: int, min_followed: float
) -> Schedule | None:
    """Find the times of day at which an actuator switches on most days.

    Args:
        switch: The change of the actuator.
        seconds: The start of each window, in seconds after midnight.
        least: The number of switches that a time of day must have.
        min_followed: The share of the days, of those on which the actuator was in the state before, on which it must
            have switched at this time.

    Returns:
        The schedule, or ``None`` if there is no such time.
    """
    after = seconds[switch.moments + 1]
    slots, place = np.unique(after, return_inverse=True)
    armed = np.bincount(place, minlength=slots.size)
    hits = np.bincount(place, weights=switch.switched, minlength=slots.size).astype(np.int64)
    chosen = (hits >= least) & (hits >= min_followed * armed)
    if not chosen.any() or slots.size < 2:
        return None
    total = len(switch)
    kept = np.flatnonzero(chosen)
    return Schedule(
        tuple(int(slots[at]) for at in kept),
        tuple(Tally(total, int(hits[at]), int(armed[at]), int(hits[at])) for at in kept),
        switch.switched & chosen[place],
        float(2 * hits[kept].sum() / (armed[kept].sum() + total)),
    )
