"""Sensor readings: time (UTC) × sensor → number or category, with gaps that stay gaps.

``SensorData`` is what every later step takes. It holds a lazy polars frame, wide or long, never changes, and
remembers in its report what reading repaired or assumed. Files are read by ``readers``, windows are made
by ``thence.readings.windows``; nothing here knows either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from thence.errors import ConfigError, InputError, nearest, require
from thence.readings import scanning as _stream
from thence.readings.cleaning import (
    ORIGIN,
    OnError,
    Place,
    is_text,
    long_to_wide,
    quoted,
    reading_cells,
    require_columns,
    require_ids,
    require_readings,
    tidy_long,
    tidy_wide,
    utc_time,
    with_times,
)
from thence.readings.findings import DEFERRED, Finding, ReadReport
from thence.readings.name_codes import NameCoder, distinct_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finding", "OnError", "ReadReport", "Sensor", "SensorData", "Time", "as_utc"]

Layout = Literal["wide", "long"]
Time: TypeAlias = str | date | np.datetime64
TIME = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Sensor:
    """A sensor: its id, the quantity it measures (``kind``), the unit, and whether it reads states or numbers.

    >>> Sensor("t1", "temperature", "°C").categorical
    False
    """

    id: str
    kind: str = ""
    unit: str = ""
    categorical: bool = False


class SensorData:
    """Readings of many sensors over time; immutable.

    >>> from datetime import datetime
    >>> frame = pl.DataFrame({"time": [datetime(2024, 1, 1, h) for h in range(3)], "t1": [20.5, None, 21.0]})
    >>> data = SensorData.from_wide(frame, sensors=[Sensor("t1", "temperature", "°C")])
    >>> data
    SensorData(1 sensor: 1 temperature; wide)
    >>> data.upto("2024-01-01T02:00").to_polars()["t1"].to_list()
    [20.5, None]
    """

    __slots__ = ("_by_id", "_checked", "_on_error", "_parts", "_source", "layout", "report", "sensors")

    sensors: tuple[Sensor, ...]
    report: ReadReport
    layout: Layout
    _by_id: dict[str, Sensor]
    _parts: tuple[pl.LazyFrame, ...]
    _on_error: OnError
    _source: str
    _checked: bool

    def __init__(
        self,
        parts: Iterable[pl.LazyFrame],
        *,
        layout: Layout,
        sensors: Iterable[Sensor],
        report: ReadReport | None = None,
        on_error: OnError = "raise",
        source: str = "frame",
        checked: bool = False,
    ) -> None:
        """Take typed lazy frames as they are; `from_wide`, `from_long` and the readers check first.

        Wide: ``time`` and a column per sensor (Float64, or String for states). Long: ``time``, ``sensor`` (text of any
        type), ``value`` and, where there are categorical sensors, ``state``; a single frame. ``checked`` says that
        there is one frame, and its rows are ordered, finite and unique.
        """
        listed = tuple(sensors)
        values = {
            "_by_id": {sensor.id: sensor for sensor in listed},
            "_parts": tuple(parts),
            "_on_error": on_error,
            "_source": source,
            "_checked": checked,
            "layout": layout,
            "sensors": listed,
            "report": report if report is not None else ReadReport(pending=() if checked else DEFERRED),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"SensorData does not change; make a new one instead of setting '{name}'")

    @classmethod
    def from_wide(
        cls,
        frame: pl.DataFrame | pl.LazyFrame | Sequence[pl.DataFrame] | Sequence[pl.LazyFrame],
        *,
        sensors: Iterable[Sensor] | None = None,
        report: ReadReport | None = None,
        on_error: OnError = "raise",
        source: str = "frame",
        place: Place | None = None,
        hint: str | None = None,
    ) -> SensorData:
        """From a frame with a ``time`` column of dates and a column per sensor; text columns hold states.

        Several frames are joined on time. A lazy frame stays lazy and is checked when it is windowed or by
        ``check``. A naive ``time`` is UTC. `read_sensors` accepts far more: texts as times, other names, other
        layouts.
        """
        frames: list[pl.DataFrame | pl.LazyFrame]
        frames = [frame] if isinstance(frame, (pl.DataFrame, pl.LazyFrame)) else list(frame)
        schemas = [part.lazy().collect_schema() for part in frames]
        types = {name: dtype for schema in schemas for name, dtype in schema.items() if name not in ("time", *ORIGIN)}
        if sensors is None:
            sensors = [Sensor(name, categorical=is_text(dtype)) for name, dtype in types.items()]
        known = tuple(sensors)
        require_ids([sensor.id for sensor in known], source)
        for schema in schemas:
            require_columns(schema, ["time"], source)
        require_columns(types, [sensor.id for sensor in known], source)
        for sensor in known:
            require_readings(sensor.id, types[sensor.id], source)
        base = report if report is not None else ReadReport()
        if lost := types.keys() - {sensor.id for sensor in known}:
            base = base.extended(notes=[f"columns without a sensor, ignored: {quoted(sorted(lost))}"])
        parts = [
            part.lazy().select(
                utc_time(schema["time"], source),
                *(pl.col(s.id).cast(pl.String if s.categorical else pl.Float64) for s in known if s.id in schema),
                *(name for name in ORIGIN if name in schema),
            )
            for part, schema in zip(frames, schemas, strict=True)
        ]
        common: Any = {"layout": "wide", "sensors": known, "on_error": on_error, "source": source}
        if any(isinstance(part, pl.LazyFrame) for part in frames):
            return cls(parts, report=ReadReport(base.findings, base.notes, DEFERRED), **common)
        dated, findings = _dated(parts, on_error, source, place)
        tidy, more = tidy_wide(dated, on_error=on_error, place=place or _plain_place(source), hint=hint)
        return cls([tidy.lazy()], report=base.extended([*findings, *more]), checked=True, **common)

    @classmethod
    def from_long(
        cls,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        sensors: Iterable[Sensor] | None = None,
        report: ReadReport | None = None,
        on_error: OnError = "raise",
        source: str = "frame",
        place: Place | None = None,
        hint: str | None = None,
    ) -> SensorData:
        """From a frame with the columns ``time``, ``sensor``, ``value`` and, for categorical sensors, ``state``.

        >>> from datetime import datetime
        >>> rows = {"time": [datetime(2024, 1, 1)] * 2, "sensor": ["a", "b"], "value": [1.0, 2.0]}
        >>> SensorData.from_long(pl.DataFrame(rows)).ids
        ('a', 'b')
        """
        schema = frame.lazy().collect_schema()
        require_columns(schema, ["time", "sensor", "value"], source)
        known = _sensors_of_long(frame.lazy(), schema, source) if sensors is None else tuple(sensors)
        ids = [sensor.id for sensor in known]
        require_ids(ids, source)
        lazy = isinstance(frame, pl.LazyFrame)
        names = pl.String() if lazy else pl.Enum(ids)
        if not lazy and sensors is not None:
            NameCoder(ids, source=source).codes(frame.lazy().select("sensor").unique().collect().to_series())
        typed = frame.lazy().select(
            utc_time(schema["time"], source),
            # Rows in memory are sorted by the order of the sensors; a scanned column stays as it is.
            pl.col("sensor") if is_text(schema["sensor"]) and lazy else pl.col("sensor").cast(names),
            pl.col("value").cast(pl.Float64),
            *([pl.col("state").cast(pl.String)] if "state" in schema else []),
            *(name for name in ORIGIN if name in schema),
        )
        base = report if report is not None else ReadReport()
        common: Any = {"layout": "long", "sensors": known, "on_error": on_error, "source": source}
        if lazy:
            return cls([typed], report=ReadReport(base.findings, base.notes, DEFERRED), **common)
        (dated,), findings = _dated([typed], on_error, source, place)
        tidy, more = tidy_long(dated, ids, on_error=on_error, place=place or _plain_place(source), hint=hint)
        return cls([tidy.lazy()], report=base.extended([*findings, *more]), checked=True, **common)

    @property
    def lazy(self) -> pl.LazyFrame:
        """The typed lazy frame behind this object, in its layout."""
        return self.readings.lazy

    @property
    def readings(self) -> _stream.Readings:
        """The lazy frames with what a walk over them must know; for `windows`."""
        return _stream.Readings(self._parts, self.layout, self._on_error, self._source)

    @property
    def ids(self) -> tuple[str, ...]:
        """The sensor ids, in order."""
        return tuple(sensor.id for sensor in self.sensors)

    def sensor(self, id: str) -> Sensor:
        """The sensor of that id."""
        if id not in self._by_id:
            raise InputError(f"there is no sensor '{id}'", where=self._source, hint=nearest(id, self.ids))
        return self._by_id[id]

    def __len__(self) -> int:
        return len(self.sensors)

    def __repr__(self) -> str:
        n = len(self)
        return f"SensorData({n} sensor{'' if n == 1 else 's'}{_kinds_in_words(self.sensors)}; {self.layout})"

    def select(self, ids: Iterable[str]) -> SensorData:
        """Only these sensors, in this order."""
        wanted = (ids,) if isinstance(ids, str) else tuple(dict.fromkeys(ids))
        sensors = tuple(self.sensor(id) for id in wanted)
        if self.layout == "long":
            return self._with([self._parts[0].filter(pl.col("sensor").is_in(list(wanted)))], sensors)
        columns = [[id for id in wanted if id in part.collect_schema()] for part in self._parts]
        parts = [part.select("time", *names) for part, names in zip(self._parts, columns, strict=True)]
        return self._with(parts, sensors)

    def upto(self, time: Time) -> SensorData:
        """What was read before a time; the time itself belongs to what comes after (``between(time)``)."""
        return self.between(None, time)

    def between(self, start: Time | None = None, end: Time | None = None) -> SensorData:
        """What was read in ``[start, end)``; either end may be open. Naive times are UTC.

        >>> from datetime import datetime
        >>> days = [datetime(2024, 1, day) for day in (1, 2, 3)]
        >>> data = SensorData.from_wide(pl.DataFrame({"time": days, "a": [1, 2, 3]}))
        >>> data.between("2024-01-02", "2024-01-03").to_polars()["a"].to_list()
        [2.0]
        """
        parts = list(self._parts)
        if start is not None:
            parts = [part.filter(pl.col("time") >= pl.lit(as_utc(start), dtype=TIME)) for part in parts]
        if end is not None:
            parts = [part.filter(pl.col("time") < pl.lit(as_utc(end), dtype=TIME)) for part in parts]
        return self._with(parts, self.sensors)

    def with_kinds(self, kinds: Mapping[str, str | tuple[str, str]]) -> SensorData:
        """The same readings with kinds, or kinds and units, for some sensors."""
        for id in kinds:
            self.sensor(id)
        sensors = []
        for sensor in self.sensors:
            kind, unit = kind_and_unit(kinds.get(sensor.id, sensor.kind), sensor.id)
            sensors.append(replace(sensor, kind=kind, unit=sensor.unit if unit is None else unit))
        return self._with(self._parts, sensors)

    def check(self) -> SensorData:
        """Make the checks that a lazily scanned set still has open, in one pass; the report then holds them.

        Raises where the data contradicts itself, unless it was read with ``on_error="repair"``.
        """
        if self._checked:
            return self
        numeric = [s.id for s in self.sensors if not s.categorical]
        states = [s.id for s in self.sensors if s.categorical]
        found = _stream.audit(self.readings, numeric, states)
        return self._with(self._parts, self.sensors, report=self.report.settled(found))

    def to_polars(self) -> pl.DataFrame:
        """All readings in memory, wide: ``time`` (UTC) and a column per sensor; gaps are null."""
        if self._checked:
            frame = _stream.collect(self.lazy, source=self._source)
        else:
            dated, _ = _dated(self._parts, self._on_error, self._source, None)
            place = _plain_place(self._source)
            if self.layout == "wide":
                frame, _ = tidy_wide(dated, on_error=self._on_error, place=place)
            else:
                frame, _ = tidy_long(dated[0], self.ids, on_error=self._on_error, place=place)
        if self.layout == "long":
            numbers = [sensor.id for sensor in self.sensors if not sensor.categorical]
            states = [sensor.id for sensor in self.sensors if sensor.categorical]
            frame = long_to_wide(frame, numbers=numbers, states=states)
        return frame.select("time", *self.ids)

    def to_pandas(self) -> pd.DataFrame:
        """All readings as a pandas frame with a UTC ``DatetimeIndex`` called ``time``."""
        require("pandas", extra="pandas")
        return self.to_polars().to_pandas().set_index("time")

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """Times of the first and the last reading, or ``None`` without readings (takes a pass over lazy data)."""
        time, lazy = pl.col("time"), self.lazy
        present = lazy.filter(pl.any_horizontal(pl.lit(False), *reading_cells(lazy.collect_schema())))
        query = present.select(time.min().alias("first"), time.max().alias("last"))
        first, last = _stream.collect(query, source=self._source).row(0)
        return None if first is None else (first, last)

    def summary(self) -> dict[str, Any]:
        """Counts per kind and the span, as plain data."""
        by_kind: dict[str, list[str]] = {}
        for sensor in self.sensors:
            by_kind.setdefault(sensor.kind or "(no kind)", []).append(sensor.id)
        span = self.span
        return {
            "sensors": len(self),
            "kinds": {kind: len(ids) for kind, ids in sorted(by_kind.items())},
            "categorical": sum(sensor.categorical for sensor in self.sensors),
            "readings": self._n_readings(),
            "start": span[0].isoformat() if span else None,
            "end": span[1].isoformat() if span else None,
            "report": self.report.to_dict(),
        }

    def describe(self) -> str:
        """The summary in words, with the report."""
        facts = self.summary()
        kinds = ", ".join(f"{count} {kind}" for kind, count in facts["kinds"].items())
        period = f"{facts['start']} to {facts['end']}" if facts["start"] else "no readings"
        lines = [
            f"{facts['sensors']} sensors ({kinds}), {facts['categorical']} of them categorical",
            f"{facts['readings']:,} readings, {period}",
            str(self.report),
        ]
        return "\n".join(lines)

    def _n_readings(self) -> int:
        lazy = self.lazy
        cells = [cell.sum() for cell in reading_cells(lazy.collect_schema())]
        return sum(_stream.collect(lazy.select(cells), source=self._source).row(0)) if cells else 0

    def _with(
        self, parts: Iterable[pl.LazyFrame], sensors: Iterable[Sensor], *, report: ReadReport | None = None
    ) -> SensorData:
        return SensorData(
            parts,
            layout=self.layout,
            sensors=sensors,
            report=self.report if report is None else report,
            on_error=self._on_error,
            source=self._source,
            checked=self._checked,
        )


def kind_and_unit(entry: object, id: str) -> tuple[str, str | None]:
    """What a table of kinds says of a sensor: its kind, and its unit if it gives one."""
    if isinstance(entry, str):
        return entry, None
    if isinstance(entry, Sequence) and len(entry) == 2 and all(isinstance(part, str) for part in entry):
        return entry[0], entry[1]
    raise ConfigError(f"the kind of '{id}' is given as {entry!r}", hint="give a kind, or (kind, unit)")


def as_utc(time: Time) -> datetime:
    """A date, datetime, numpy datetime or ISO text as an aware UTC datetime; naive means UTC.

    >>> as_utc("2024-03-31T12:00+02:00").isoformat()
    '2024-03-31T10:00:00+00:00'
    """
    value: Any = time
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InputError(f"'{time}' is not a time", hint="write it as 2024-01-31T12:00") from error
    elif not isinstance(value, date) and hasattr(value, "astype"):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise InputError(f"{time!r} is not a time", hint="give a datetime or text such as 2024-01-31T12:00")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _sensors_of_long(lazy: pl.LazyFrame, schema: Mapping[str, pl.DataType], source: str) -> tuple[Sensor, ...]:
    states: set[str | None] = set()
    if "state" in schema:
        states.update(distinct_names(lazy.filter(pl.col("state").is_not_null()), "sensor", source=source))
    names = distinct_names(lazy, "sensor", source=source)
    if None in names:
        raise InputError("some rows name no sensor", where=source, hint="leave them out or fill them in")
    return tuple(Sensor(str(name), categorical=name in states) for name in names)


def _dated(
    parts: Iterable[pl.LazyFrame], on_error: OnError, source: str, place: Place | None
) -> tuple[list[pl.DataFrame], list[Finding]]:
    """The parts in memory, rows without a time counted and left out."""
    frames, findings = [], []
    for part in parts:
        frame, lost = with_times(_stream.collect(part, source=source), on_error=on_error, source=source, place=place)
        frames.append(frame)
        findings += lost
    return frames, findings


def _plain_place(source: str) -> Place:
    return lambda _, row: source


def _kinds_in_words(sensors: Sequence[Sensor]) -> str:
    counts: dict[str, int] = {}
    for sensor in sensors:
        counts[sensor.kind] = counts.get(sensor.kind, 0) + 1
    named = [f"{count} {kind}" for kind, count in sorted(counts.items()) if kind]
    return f": {', '.join(named)}" if named else ""
