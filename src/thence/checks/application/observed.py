"""What sensors read during episodes: the lowest and the highest number, or the states."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.data.readings.windows import WindowedReadings
from thence.language.items import Aspect, Feature

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Observed = tuple[Floats, Floats, list[str | None]]


def observe_episodes(readings: WindowedReadings, feature: Feature, sensor: str, starts: Ints, stops: Ints) -> Observed:
    """Return what a feature was during episodes: the lowest and highest number, and the states.

    Args:
        readings: The readings in windows.
        feature: The feature.
        sensor: The sensor that it reads; empty if there is none.
        starts: First frame of each episode.
        stops: Frame after the last of each episode.

    Returns:
        Three entries per episode; NaN or ``None`` where there is no such reading.

    Examples:
        >>> import polars as pl
        >>> from datetime import datetime
        >>> from thence.data.readings.sensors import SensorData
        >>> from thence.data.readings.windows import window
        >>> hours = [datetime(2024, 1, 1, hour) for hour in range(4)]
        >>> data = SensorData.from_wide(pl.DataFrame({"time": hours, "p": [3.0, 1.0, 2.0, 9.0]}))
        >>> low, high, _ = observe_episodes(window(data), Feature("p"), "p", np.array([0]), np.array([3]))
        >>> low.tolist(), high.tolist()
        ([1.0], [3.0])
    """
    lowest, highest = np.full(len(starts), np.nan), np.full(len(starts), np.nan)
    states: list[str | None] = [None] * len(starts)
    if not sensor or feature.aspect is not Aspect.MEASUREMENT or not len(starts):
        return lowest, highest, states
    if (coded := _codes_of(readings, feature, sensor)) is not None:
        codes, names = coded
        for at, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            seen = np.unique(codes[start:stop])
            states[at] = " or ".join(str(names[code]) for code in seen if code >= 0) or None
    elif (values := _numbers_of(readings, feature, sensor)) is not None:
        bounds = np.column_stack([starts, stops]).ravel()
        padded = np.append(values, np.nan)  # an episode may end with the last frame
        lowest = np.fmin.reduceat(padded, bounds)[::2]
        highest = np.fmax.reduceat(padded, bounds)[::2]
    return lowest, highest, states


def _is_plain(feature: Feature, readings: WindowedReadings) -> bool:
    return feature.name not in readings.derived and feature.name not in readings.derived_states


def _codes_of(
    readings: WindowedReadings, feature: Feature, sensor: str
) -> tuple[npt.NDArray[np.int32], tuple[object, ...]] | None:
    """The states of a sensor, or what is derived from them."""
    derived = readings.derived_states.get(feature.name, {})
    if sensor in derived:
        return derived[sensor][0].astype(np.int32), tuple(derived[sensor][1])
    if _is_plain(feature, readings) and sensor in readings.states:
        codes, known = readings.states[sensor]
        return codes, known
    return None


def _numbers_of(readings: WindowedReadings, feature: Feature, sensor: str) -> Floats | None:
    """The numbers of a sensor, or what is derived from them."""
    column = next((at for at, one in enumerate(readings.numeric) if one.id == sensor), None)
    if column is None:
        return None
    values = readings.derived.get(feature.name) if feature.name else None
    if values is not None and np.ndim(values) == readings.values.ndim:
        return np.asarray(values[:, column], np.float64)
    return np.asarray(readings.values[:, column]) if _is_plain(feature, readings) else None
