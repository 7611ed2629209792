"""Plants with known controls, as windows of readings."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import numpy.typing as npt

from thence.data.readings.findings import ReadReport
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings

START = np.datetime64("2024-01-01", "us")


def windows(
    numbers: dict[str, npt.ArrayLike],
    states: dict[str, list[str]],
    *,
    minutes: int = 5,
    kinds: dict[str, str] | None = None,
    skip: npt.ArrayLike = (),
) -> WindowedReadings:
    """Build windows from numbers and states (``""`` is missing), without the windows in ``skip``."""
    named = kinds or {}
    sensors = tuple(
        [Sensor(name, named.get(name, ""), "m" if named.get(name) == "level" else "") for name in numbers]
        + [Sensor(name, named.get(name, "status"), categorical=True) for name in states]
    )
    size = len(np.asarray(next(iter([*numbers.values(), *states.values()]))))
    keep = np.setdiff1d(np.arange(size), np.asarray(skip, dtype=np.int64))
    coded = {}
    for name, values in states.items():
        known = sorted({value for value in values if value})
        codes = np.array([known.index(value) if value else -1 for value in values], np.int32)
        coded[name] = (codes[keep], tuple(known))
    columns = [np.asarray(values, np.float64)[keep] for values in numbers.values()]
    every = timedelta(minutes=minutes)
    return WindowedReadings(
        times=(START + np.arange(size) * np.timedelta64(every, "us"))[keep],
        sensors=sensors,
        values=np.stack(columns, axis=1) if columns else np.empty((keep.size, 0)),
        states=coded,
        derived={},
        every=every,
        aggregates={},
        report=ReadReport(),
    )


def tank(
    *, steps: int = 2000, low: float = 2.0, high: float = 4.0, seed: int = 0, late: int = 0
) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Simulate a tank whose pump opens below ``low`` and closes above ``high``, ``late`` windows after the reading.

    Within a window the pump reacts at once, so that a level past the threshold is hardly ever sampled.
    """
    rng = np.random.default_rng(seed)
    level, pump = (low + high) / 2, "open"
    levels, pumps, waiting = [], [], 0
    for _ in range(steps):
        levels.append(level)
        pumps.append(pump)
        rate = (0.1 if pump == "open" else -0.07) * rng.uniform(0.7, 1.3)
        after = level + rate
        wanted = "open" if after <= low else "closed" if after >= high else pump
        if wanted == pump:
            level, waiting = after, 0
        elif waiting < late:
            level, waiting = after, waiting + 1
        else:
            # The rest of the window passes with the pump in its new state.
            border = high if wanted == "closed" else low
            rest = 1 - abs(border - level) / abs(rate) if late == 0 else 0.5
            level = (border if late == 0 else level) + (0.1 if wanted == "open" else -0.07) * max(rest, 0.0)
            pump, waiting = wanted, 0
    return np.array(levels), pumps


def walk(steps: int, seed: int) -> npt.NDArray[np.float64]:
    """Return a random walk that is drawn back to 0."""
    rng = np.random.default_rng(seed)
    out = np.zeros(steps)
    for step in range(1, steps):
        out[step] = 0.98 * out[step - 1] + rng.normal()
    return out
