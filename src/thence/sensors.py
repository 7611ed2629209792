"""Sensor readings: time (UTC) × sensor → number or category, with gaps that stay gaps.

:class:`SensorData` is what every later step takes. It holds a lazy polars frame, wide or long, never changes, and
remembers in its report what reading repaired or assumed. Files are read by :mod:`thence.sources`, windows are made
by :mod:`thence.windows`; nothing here knows either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from . import _stream
from ._report import DEFERRED, Finding, ReadReport
from ._tidy import ORIGIN, OnError, Place, tidy_long, tidy_wide
from .errors import InputError, nearest, require

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["Finding", "OnError", "ReadReport", "Sensor", "SensorData", "Time", "as_utc"]

Layout = Literal["wide", "long"]
Time = "str | date | datetime | np.datetime64"
TIME = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Sensor:
    """A sensor: its id, the quantity it measures (``kind``), the unit, and whether it reads states or numbers."""

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

    __slots__ = ("_checked", "_lazy", "_on_error", "_source", "layout", "report", "sensors")

    sensors: tuple[Sensor, ...]
    report: ReadReport
    layout: Layout

    def __init__(
        self,
        lazy: pl.LazyFrame,
        *,
        layout: Layout,
        sensors: Iterable[Sensor],
        report: ReadReport | None = None,
        on_error: OnError = "raise",
        source: str = "frame",
        checked: bool = False,
    ) -> None:
        """Take a typed lazy frame as it is; `from_wide`, `from_long` and the readers check first.

        Wide: ``time`` and a column per sensor (Float64, or String for states). Long: ``time``, ``sensor`` (an Enum
        that lists at least the ids of `sensors`), ``value`` and, where there are categorical sensors, ``state``.
        ``checked`` says that rows are ordered, finite and unique.
        """
        values = {
            "_lazy": lazy,
            "_on_error": on_error,
            "_source": source,
            "_checked": checked,
            "layout": layout,
            "sensors": tuple(sensors),
            "report": report if report is not None else ReadReport(pending=() if checked else DEFERRED),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"SensorData does not change; make a new one instead of setting '{name}'")

    @classmethod
    def from_wide(
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
        """From a frame with a ``time`` column of dates and a column per sensor; text columns hold states.

        A lazy frame stays lazy and is checked when it is windowed or by :meth:`check`. A naive ``time`` is UTC.
        `read_sensors` accepts far more: texts as times, other names, other layouts.
        """
        schema = frame.lazy().collect_schema()
        names = [name for name in schema if name not in ("time", *ORIGIN)]
        given = tuple(sensors) if sensors is not None else None
        known = given if given is not None else tuple(Sensor(n, categorical=_is_text(schema[n])) for n in names)
        _require_columns(schema, ["time", *(sensor.id for sensor in known)], source)
        if lost := [name for name in names if name not in {sensor.id for sensor in known}]:
            report = (report or ReadReport()).extended(notes=[f"columns without a sensor, ignored: {_join(lost)}"])
        typed = frame.lazy().select(
            _utc(schema["time"], source),
            *(pl.col(s.id).cast(pl.String if s.categorical else pl.Float64) for s in known),
            *(name for name in ORIGIN if name in schema),
        )
        base = report if report is not None else ReadReport()
        if isinstance(frame, pl.LazyFrame):
            pending = ReadReport(base.findings, base.notes, DEFERRED)
            return cls(typed, layout="wide", sensors=known, report=pending, on_error=on_error, source=source)
        rows = _with_times(_collect_typed(typed, source), on_error, source, place)
        tidy, findings = tidy_wide(rows[0], on_error=on_error, place=place or _plain_place(source), hint=hint)
        return cls(
            tidy.lazy(),
            layout="wide",
            sensors=known,
            report=base.extended([*rows[1], *findings]),
            on_error=on_error,
            source=source,
            checked=True,
        )

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
        _require_columns(schema, ["time", "sensor", "value"], source)
        known = tuple(sensors) if sensors is not None else _sensors_of_long(frame.lazy(), schema, source)
        ids = [sensor.id for sensor in known]
        typed = frame.lazy().select(
            _utc(schema["time"], source),
            pl.col("sensor").cast(pl.Enum(ids)),
            pl.col("value").cast(pl.Float64),
            *([pl.col("state").cast(pl.String)] if "state" in schema else []),
            *(name for name in ORIGIN if name in schema),
        )
        base = report if report is not None else ReadReport()
        if isinstance(frame, pl.LazyFrame):
            pending = ReadReport(base.findings, base.notes, DEFERRED)
            return cls(typed, layout="long", sensors=known, report=pending, on_error=on_error, source=source)
        rows = _with_times(_collect_typed(typed, source), on_error, source, place)
        tidy, findings = tidy_long(rows[0], ids, on_error=on_error, place=place or _plain_place(source), hint=hint)
        return cls(
            tidy.lazy(),
            layout="long",
            sensors=known,
            report=base.extended([*rows[1], *findings]),
            on_error=on_error,
            source=source,
            checked=True,
        )

    @property
    def lazy(self) -> pl.LazyFrame:
        """The typed lazy frame behind this object, in its layout."""
        return self._lazy

    @property
    def readings(self) -> _stream.Readings:
        """The lazy frame with what a walk over it must know; for `windows`."""
        return _stream.Readings(self._lazy, self.layout, self._on_error, self._source)

    @property
    def ids(self) -> tuple[str, ...]:
        """The sensor ids, in order."""
        return tuple(sensor.id for sensor in self.sensors)

    def sensor(self, id: str) -> Sensor:
        """The sensor of that id."""
        for sensor in self.sensors:
            if sensor.id == id:
                return sensor
        raise InputError(f"there is no sensor '{id}'", where=self._source, hint=nearest(id, self.ids))

    def __len__(self) -> int:
        return len(self.sensors)

    def __repr__(self) -> str:
        n = len(self)
        return f"SensorData({n} sensor{'' if n == 1 else 's'}{_kinds_in_words(self.sensors)}; {self.layout})"

    def select(self, ids: Iterable[str]) -> SensorData:
        """Only these sensors, in this order."""
        wanted = (ids,) if isinstance(ids, str) else tuple(dict.fromkeys(ids))
        sensors = tuple(self.sensor(id) for id in wanted)
        if self.layout == "wide":
            lazy = self._lazy.select("time", *wanted)
        else:
            lazy = self._lazy.filter(pl.col("sensor").is_in(list(wanted)))
        return self._with(lazy, sensors)

    def upto(self, time: Time) -> SensorData:  # type: ignore[valid-type]
        """What was read before a time; the time itself belongs to what comes after (``between(time)``)."""
        return self.between(None, time)

    def between(self, start: Time | None = None, end: Time | None = None) -> SensorData:  # type: ignore[valid-type]
        """What was read in ``[start, end)``; either end may be open. Naive times are UTC.

        >>> from datetime import datetime
        >>> data = SensorData.from_wide(pl.DataFrame({"time": [datetime(2024, 1, d) for d in (1, 2, 3)], "a": [1, 2, 3]}))
        >>> data.between("2024-01-02", "2024-01-03").to_polars()["a"].to_list()
        [2.0]
        """
        lazy = self._lazy
        if start is not None:
            lazy = lazy.filter(pl.col("time") >= pl.lit(as_utc(start), dtype=TIME))
        if end is not None:
            lazy = lazy.filter(pl.col("time") < pl.lit(as_utc(end), dtype=TIME))
        return self._with(lazy, self.sensors)

    def with_kinds(self, kinds: Mapping[str, str | tuple[str, str]]) -> SensorData:
        """The same readings with kinds, or kinds and units, for some sensors."""
        for id in kinds:
            self.sensor(id)
        pairs = {id: (kind, None) if isinstance(kind, str) else kind for id, kind in kinds.items()}
        sensors = []
        for sensor in self.sensors:
            kind, unit = pairs.get(sensor.id, (sensor.kind, None))
            sensors.append(replace(sensor, kind=kind, unit=sensor.unit if unit is None else unit))
        return self._with(self._lazy, tuple(sensors))

    def check(self) -> SensorData:
        """Make the checks that a lazily scanned set still has open, in one pass; the report then holds them.

        Raises where the data contradicts itself, unless it was read with ``on_error="repair"``.
        """
        if self._checked:
            return self
        numeric = [s.id for s in self.sensors if not s.categorical]
        states = [s.id for s in self.sensors if s.categorical]
        found = _stream.audit(self.readings, numeric, states)
        return self._with(self._lazy, self.sensors, report=self.report.settled(found))

    def to_polars(self) -> pl.DataFrame:
        """All readings in memory, wide: ``time`` (UTC) and a column per sensor; gaps are null."""
        frame = _collect_typed(self._lazy, self._source)
        if not self._checked:
            frame, _ = _with_times(frame, self._on_error, self._source, None)
            place = _plain_place(self._source)
            if self.layout == "wide":
                frame, _ = tidy_wide(frame, on_error=self._on_error, place=place)
            else:
                frame, _ = tidy_long(frame, self.ids, on_error=self._on_error, place=place)
        if self.layout == "long":
            frame = _pivot(frame, self.sensors)
        return frame.select("time", *self.ids)

    def to_pandas(self) -> pd.DataFrame:
        """All readings as a pandas frame with a UTC ``DatetimeIndex`` called ``time``."""
        require("pandas", extra="pandas")
        return self.to_polars().to_pandas().set_index("time")

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """Times of the first and the last reading, or ``None`` without readings (takes a pass over lazy data)."""
        first, last = _stream.collect(self._present().select(_extremes()), source=self._source).row(0)
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

    def _present(self) -> pl.LazyFrame:
        """Rows that hold at least one reading."""
        return self._lazy.filter(pl.any_horizontal(_is_reading(self._lazy.collect_schema())))

    def _n_readings(self) -> int:
        cells = _is_reading(self._lazy.collect_schema())
        totals = _stream.collect(self._lazy.select(cell.sum() for cell in cells), source=self._source)
        return sum(totals.row(0)) if totals.width else 0

    def _with(self, lazy: pl.LazyFrame, sensors: Sequence[Sensor], *, report: ReadReport | None = None) -> SensorData:
        return SensorData(
            lazy,
            layout=self.layout,
            sensors=sensors,
            report=self.report if report is None else report,
            on_error=self._on_error,
            source=self._source,
            checked=self._checked,
        )


def as_utc(time: Time) -> datetime:  # type: ignore[valid-type]
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


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Boolean) or isinstance(dtype, pl.Enum)


def _utc(dtype: pl.DataType, source: str) -> pl.Expr:
    if not isinstance(dtype, pl.Datetime):
        raise InputError(f"column 'time' holds {dtype}, not dates", where=source, hint="use thence.read_sensors")
    time = pl.col("time")
    zoned = time.dt.replace_time_zone("UTC") if dtype.time_zone is None else time.dt.convert_time_zone("UTC")
    return zoned.dt.cast_time_unit("us")


def _require_columns(schema: Mapping[str, pl.DataType], needed: Iterable[str], source: str) -> None:
    for name in needed:
        if name not in schema:
            raise InputError(
                f"there is no column '{name}'; the columns are {_join(schema)}",
                where=source,
                hint=nearest(name, schema),
            )


def _sensors_of_long(lazy: pl.LazyFrame, schema: Mapping[str, pl.DataType], source: str) -> tuple[Sensor, ...]:
    if "state" in schema:
        found = lazy.group_by("sensor").agg(pl.col("state").is_not_null().any().alias("categorical"))
    else:
        found = lazy.select("sensor").unique().with_columns(pl.lit(False).alias("categorical"))
    # Casting after grouping touches each name once, not each row.
    table = _stream.collect(found.with_columns(pl.col("sensor").cast(pl.String)).sort("sensor"), source=source)
    if table["sensor"].null_count():
        raise InputError("some rows have no sensor name", where=source, hint="fill column 'sensor'")
    return tuple(Sensor(name, categorical=categorical) for name, categorical in table.iter_rows())


def _collect_typed(lazy: pl.LazyFrame, source: str) -> pl.DataFrame:
    return _stream.collect(lazy, source=source)


def _with_times(
    frame: pl.DataFrame, on_error: OnError, source: str, place: Place | None
) -> tuple[pl.DataFrame, list[Finding]]:
    lost = frame["time"].null_count()
    if not lost:
        return frame, []
    if on_error == "raise":
        row = frame["time"].is_null().arg_max() or 0
        where = place(frame["_source"][row], frame["_row"][row]) if place and "_row" in frame.columns else source
        raise InputError(
            f"{lost:,} rows have no usable time, the first is row {row}",
            where=where,
            hint="give on_error='repair' to leave them out",
        )
    return frame.filter(pl.col("time").is_not_null()), [Finding("bad-time", lost)]


def _plain_place(source: str) -> Place:
    return lambda _, row: source


def _pivot(frame: pl.DataFrame, sensors: Sequence[Sensor]) -> pl.DataFrame:
    """Long to wide; a sensor without readings becomes a column of nulls."""
    result = frame.select("time").unique().sort("time")
    for column, categorical in (("value", False), ("state", True)):
        ids = [sensor.id for sensor in sensors if sensor.categorical == categorical]
        if not ids:
            continue
        part = frame.filter(pl.col(column).is_not_null()) if column in frame.columns else frame.clear()
        dtype = pl.String if categorical else pl.Float64
        wide = part.pivot(on="sensor", index="time", values=column) if part.height else result.clear()
        absent = [pl.lit(None, dtype=dtype).alias(id) for id in ids if id not in wide.columns]
        result = result.join(wide.with_columns(absent), on="time", how="left", maintain_order="left")
    return result


def _is_reading(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    return [
        pl.col(name).is_finite().fill_null(False) if dtype.is_float() else pl.col(name).is_not_null()
        for name, dtype in schema.items()
        if name not in ("time", "sensor")
    ]


def _extremes() -> list[pl.Expr]:
    return [pl.col("time").min().alias("first"), pl.col("time").max().alias("last")]


def _kinds_in_words(sensors: Sequence[Sensor]) -> str:
    counts: dict[str, int] = {}
    for sensor in sensors:
        counts[sensor.kind] = counts.get(sensor.kind, 0) + 1
    named = [f"{count} {kind}" for kind, count in sorted(counts.items()) if kind]
    return f": {', '.join(named)}" if named else ""


def _join(names: Iterable[str]) -> str:
    listed = [f"'{name}'" for name in names]
    return ", ".join(listed[:12]) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")
