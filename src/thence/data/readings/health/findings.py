"""What is wrong with a sensor, from when to when and by how much; and the list of all that is wrong with a system.

This module holds, words and lists findings. The detectors are in ``alone`` (one series) and ``together`` (several).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.sensors import Sensor, qualified

MEANING: dict[str, str] = {
    "dead": "no readings, or only 0 where 0 is no usual value",
    "stuck": "one value for much longer than the sensor ever held one",
    "drifting": "readings move away from what related sensors explain",
    "clipped": "peaks are cut off at one value",
    "spiking": "single readings far from those before and after them",
    "unit": "readings continue in another unit",
    "precision": "readings have fewer or more decimals for a while",
    "clock": "readings come earlier or later than those of related sensors, which they did not before",
    "gap": "no readings for much longer than the sensor ever paused, while others read",
    "copy": "readings are those of another sensor, with an offset, a factor or a delay",
    "no data": "a point of the graph has no readings",
    "no point": "a sensor has readings, but no point in the graph",
}
"""Meaning of each kind of finding."""

LEFT_OUT = ("dead", "stuck", "drifting", "spiking", "unit", "clock")
"""Findings whose readings are left out of mining by default; copies are too, if at the node of the original."""


@dataclass(frozen=True)
class HealthFinding:
    """One thing that is wrong with one sensor.

    Args:
        sensor: Id of the sensor, or of the node for a point of the graph without data.
        what: Key of ``MEANING``.
        start: Time of the first reading concerned (UTC); ``None`` if it is about the sensor and not about a time.
        end: Time of the last reading concerned.
        readings: Number of readings, or of windows without one, that are concerned.
        size: How large it is, in the unit of the sensor, windows or as a factor, as ``text`` says.
        ratio: How many times larger than what is usual for the sensor; 0 if there is nothing to compare with.
        text: What is wrong, as a sentence without the name of the sensor and the time.
        other: Id of the other sensor that the finding refers to, if there is one.
    """

    sensor: str
    what: str
    start: np.datetime64 | None
    end: np.datetime64 | None
    readings: int
    size: float
    ratio: float
    text: str
    other: str = ""

    @property
    def sentence(self) -> str:
        """The finding as a sentence.

        Examples:
            >>> times = np.array(["2025-02-01T00:00", "2025-02-03T12:15"], "datetime64[m]")
            >>> HealthFinding("room", "stuck", times[0], times[1], 242, 242, 40.3, "holds 21.4 °C").sentence
            'room holds 21.4 °C from 2025-02-01 00:00 to 2025-02-03 12:15'
        """
        if self.start is None or self.end is None:
            return f"{self.sensor} {self.text}"
        when = _minute(self.start)
        span = f"at {when}" if self.start == self.end else f"from {when} to {_minute(self.end)}"
        return f"{self.sensor} {self.text} {span}"

    def at_site(self, site: str) -> HealthFinding:
        """Return the finding with the ids that its sensors have among several systems.

        Args:
            site: The name of the system.
        """
        other = qualified(site, self.other) if self.other else ""
        return replace(self, sensor=qualified(site, self.sensor), other=other)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the sentence, ready for JSON."""
        out = {one.name: getattr(self, one.name) for one in fields(self)}
        out |= {name: None if out[name] is None else _minute(out[name]) for name in ("start", "end")}
        return {**out, "sentence": self.sentence}

    def __str__(self) -> str:
        return self.sentence


class Series(NamedTuple):
    """The numeric readings of a system in windows of one length.

    Args:
        times: Start of each window in UTC.
        sensors: The sensors.
        values: Windows × sensors; NaN is missing.
        every: Length of a window.
    """

    times: npt.NDArray[np.datetime64]
    sensors: Sequence[Sensor]
    values: npt.NDArray[np.float64]
    every: timedelta


@dataclass(frozen=True, repr=False)
class Health(Sequence[HealthFinding]):
    """All findings about the sensors of a system, by sensor and time.

    Args:
        findings: The findings.
        sensors: Number of sensors that were checked.

    Examples:
        >>> Health((HealthFinding("a", "dead", None, None, 0, 0, 0, "has no readings"),), 3)
        Health(1 finding in 1 of 3 sensors)
    """

    findings: tuple[HealthFinding, ...] = ()
    sensors: int = 0

    @overload
    def __getitem__(self, at: int) -> HealthFinding: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[HealthFinding, ...]: ...
    def __getitem__(self, at: int | slice) -> HealthFinding | tuple[HealthFinding, ...]:
        return self.findings[at]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[HealthFinding]:
        return iter(self.findings)

    def filter(self, *, sensor: str | None = None, what: str | None = None) -> Health:
        """Return the findings about one sensor, or of one kind.

        Args:
            sensor: Id of the sensor; all by default.
            what: Key of ``MEANING``; all by default.

        Raises:
            KeyError: If ``what`` is not a key of ``MEANING``.
        """
        if what is not None and what not in MEANING:
            raise KeyError(f"unknown finding '{what}'; known: {', '.join(MEANING)}")
        return self._kept(lambda one: sensor in (None, one.sensor) and what in (None, one.what))

    def _kept(self, keep: Callable[[HealthFinding], bool]) -> Health:
        return Health(tuple(filter(keep, self.findings)), self.sensors)

    def to_polars(self) -> pl.DataFrame:
        """Return a row per finding: sensor, what, start, end, readings, size, ratio, other, sentence."""
        time = pl.Datetime("us", "UTC")
        schema: dict[str, Any] = {
            "sensor": pl.String,
            "what": pl.String,
            "start": time,
            "end": time,
            "readings": pl.Int64,
            "size": pl.Float64,
            "ratio": pl.Float64,
            "other": pl.String,
            "sentence": pl.String,
        }
        rows = [
            {name: _moment(getattr(one, name)) if name in ("start", "end") else getattr(one, name) for name in schema}
            for one in self.findings
        ]
        frame = pl.DataFrame(rows, schema={**schema, "start": pl.Datetime("us"), "end": pl.Datetime("us")})
        return frame.with_columns(pl.col("start", "end").dt.replace_time_zone("UTC"))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the findings as dicts, ready for JSON."""
        return [one.to_dict() for one in self.findings]

    def __repr__(self) -> str:
        n, about = len(self), len({one.sensor for one in self})
        return f"Health({n:,} finding{'s' * (n != 1)} in {about:,} of {self.sensors:,} sensors)"

    def __str__(self) -> str:
        if not self.findings:
            return f"nothing wrong with {self.sensors:,} sensors"
        counts = Counter(one.what for one in self)
        head = ", ".join(f"{counts[what]:,} {what}" for what in MEANING if counts[what])
        return "\n".join([f"{head}:", *(f"  {one.sentence}" for one in self)])

    def _repr_html_(self) -> str:
        return str(self.to_polars()._repr_html_())


def _minute(time: np.datetime64) -> str:
    return str(time.astype("datetime64[m]")).replace("T", " ")


def _moment(time: np.datetime64 | None) -> Any:
    return None if time is None else time.astype("datetime64[us]").item()
