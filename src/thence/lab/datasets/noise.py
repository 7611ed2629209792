"""Measurement noise: simulated readings times random factors, as if real sensors had taken them.

The factors are drawn after the simulation and are not cached: the same simulation is read with any noise. The noise of
a day depends on the seeds, the date and the step only, so a day is the same in every period that contains it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from thence._base.settings.numbers import require_number
from thence.errors import ConfigError

__all__ = ["add_noise", "note_noise", "require_noise"]

_STREAM = 7
"""Keeps the generators of the noise apart from those of the demands."""


def require_noise(name: str, value: float) -> None:
    """Raise a ``ConfigError`` unless a spread is from 0 to below 1.

    Args:
        name: The name of the option.
        value: The value to check.

    Examples:
        >>> require_noise("noise", 1.5)
        Traceback (most recent call last):
        ...
        thence.errors.ConfigError: noise must be >= 0 and < 1, got 1.5
    """
    require_number(name, value)
    if not 0 <= value < 1:
        raise ConfigError(f"{name} must be >= 0 and < 1, got {value}")


def add_noise(frame: pl.DataFrame, *, noise: float, seeds: Sequence[int]) -> pl.DataFrame:
    """Return readings multiplied by independent factors N(1, ``noise``), one per sensor and step.

    Args:
        frame: Readings with the column ``time`` and one column per sensor; all sensors of the data set, since the
            factors of a sensor depend on its position among the numeric ones. States are returned as they are.
        noise: The standard deviation of a reading, relative to its value; with 0 the frame is returned as it is.
        seeds: The random seeds.

    Examples:
        >>> from datetime import datetime
        >>> readings = pl.DataFrame({"time": [datetime(2024, 1, 1)], "a": [100.0], "b": [0.0]})
        >>> add_noise(readings, noise=0.01, seeds=[0]).drop("time").row(0) != (100.0, 0.0)
        True
    """
    if not noise:
        return frame
    sensors = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    values = frame.select(sensors).to_numpy()
    dates = frame["time"].dt.date()
    first = np.flatnonzero(np.r_[True, (dates[1:] != dates[:-1]).to_numpy()])
    parts = []
    for rows in np.split(np.arange(len(values)), first[1:]):
        day = dates[int(rows[0])].toordinal()
        rng = np.random.default_rng([_STREAM, *seeds, day])
        parts.append(values[rows] * (1.0 + noise * rng.standard_normal((len(rows), len(sensors)))))
    noisy = np.concatenate(parts)
    return frame.with_columns(pl.Series(name, noisy[:, column]) for column, name in enumerate(sensors))


def note_noise(noise: float) -> str:
    """Return the end of a description that mentions the noise of readings, or an empty string if there is none.

    >>> note_noise(0.01)
    ', 1% noise on every reading'
    """
    return f", {100 * noise:.3g}% noise on every reading" if noise else ""
