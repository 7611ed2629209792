"""Series at the resolution of a screen: the lowest and the highest reading of each span of time.

Pure functions over windowed readings. Must not know runs or requests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, nearest
from thence.language.english import format_sensor, format_unit
from thence.show.explorer.problems import NotFoundError
from thence.show.explorer.schema import Envelope, SeriesPage

MOST_SERIES = 20
MOST_POINTS = 5_000
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def series_page(
    readings: WindowedReadings, sensors: Sequence[str], *, start: int | None, end: int | None, points: int
) -> SeriesPage:
    """Return series over a period, at most so many points each.

    Args:
        readings: The readings.
        sensors: The ids of the sensors.
        start: The first moment in milliseconds since 1970; by default that of the readings.
        end: The moment after the last; by default the end of the readings.
        points: The number of points of each series.

    Raises:
        NotFoundError: If there is no such sensor.
        ConfigError: If there are too many.

    Examples:
        >>> import thence as th
        >>> from thence.data.readings.windows import window
        >>> readings = window(th.datasets.load("toy").sensors, "1h")
        >>> page = series_page(readings, [readings.sensors[0].id], start=None, end=None, points=10)
        >>> len(page["series"][0]["times"])
        10
    """
    if len(sensors) > MOST_SERIES:
        raise ConfigError(f"at most {MOST_SERIES} series at once, got {len(sensors)}")
    by_id = {sensor.id: sensor for sensor in readings.sensors}
    for name in sensors:
        if name not in by_id:
            raise NotFoundError(f"there is no sensor '{name[:80]}'", hint=nearest(name[:80], by_id))
    step = max(round(readings.every.total_seconds() * 1000), 1)
    axes = {name: _milliseconds(readings.times_of(name)) for name in dict.fromkeys(sensors)}
    held = [axis for axis in axes.values() if len(axis)]
    low = start if start is not None else min((int(axis[0]) for axis in held), default=0)
    high = end if end is not None else max((int(axis[-1]) + step for axis in held), default=low)
    if low > high:
        raise ConfigError("the start of a period must not be after its end")
    columns = {sensor.id: number for number, sensor in enumerate(readings.numeric)}
    out: list[Envelope] = []
    for name, axis in axes.items():
        first, last = np.searchsorted(axis, [low, high]).tolist()
        out.append(_one(readings, by_id[name], columns, axis, slice(first, last), points=points))
    return {"start": low, "end": high, "series": out}


def _milliseconds(times: npt.NDArray[np.datetime64]) -> Ints:
    return np.asarray(times.astype("datetime64[ms]").astype(np.int64))


def _one(
    readings: WindowedReadings, sensor: Sensor, columns: dict[str, int], times: Ints, part: slice, *, points: int
) -> Envelope:
    states: tuple[str, ...] = ()
    if sensor.id in columns:
        values = readings.values[part, columns[sensor.id]]
    else:
        codes, states = readings.states[sensor.id]
        values = np.where(codes[part] < 0, np.nan, codes[part]).astype(np.float64)
    at, low, high = envelope(times[part], values, points=points)
    return {
        "sensor": sensor.id,
        "name": format_sensor(sensor.id, sensor.unit),
        "kind": sensor.kind,
        "unit": format_unit(sensor.unit),
        "states": list(states),
        "times": at.tolist(),
        "low": [value if math.isfinite(value) else None for value in low.tolist()],
        "high": [value if math.isfinite(value) else None for value in high.tolist()],
    }


def envelope(times: Ints, values: Floats, *, points: int) -> tuple[Ints, Floats, Floats]:
    """Return the lowest and the highest value of each of some spans with about the same number of values.

    Args:
        times: The time of each value.
        values: The values; NaN is missing, and a span is missing if all its values are.
        points: The number of spans; fewer if there are fewer values.

    Returns:
        The time of the first value of each span, the lowest and the highest values.

    Examples:
        >>> times, low, high = envelope(np.arange(6), np.array([1.0, 5, 2, np.nan, 8, 9]), points=3)
        >>> times.tolist(), low.tolist(), high.tolist()
        ([0, 2, 4], [1.0, 2.0, 8.0], [5.0, 2.0, 9.0])
    """
    if not len(values):
        return times, values, values
    count = max(min(points, len(values)), 1)
    starts = (np.arange(count) * len(values)) // count
    with np.errstate(invalid="ignore"):
        return times[starts], np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
