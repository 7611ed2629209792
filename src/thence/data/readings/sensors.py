"""Sensor data: time (UTC) × sensor → number or state; missing readings stay missing.

``SensorData`` is the input of every later step. It holds lazy polars frames in wide or long layout, is immutable, and
its report says what reading repaired or assumed. Reading files is the job of ``thence.data.readers``, windows that
of ``thence.data.readings.windows``; this module uses neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.notebook import sensors_html
from thence.data.readings.cleaning import (
    KEEP_LAST,
    MAX_LOSS,
    ORIGIN,
    ErrorPolicy,
    OnError,
    RowPlace,
    drop_rows_without_time,
    long_to_wide,
    quote_names,
    reading_masks,
    require_columns,
    require_ids,
    require_reading_type,
    tidy_long,
    tidy_wide,
    time_to_utc,
)
from thence.data.readings.findings import Finding, ReadReport
from thence.data.readings.frames import collect, is_categorical, spell_numbers, spell_states
from thence.data.readings.resolution import find_decimals
from thence.data.readings.scanning import (
    NameCoder,
    Readings,
    check_readings,
    distinct_names,
    find_far,
    missing_name_error,
)
from thence.data.readings.units import Conversion
from thence.errors import ConfigError, InputError, nearest, quote, require

if TYPE_CHECKING:
    import pandas as pd

Layout = Literal["wide", "long"]
Time: TypeAlias = str | date | np.datetime64
TIME = pl.Datetime("us", "UTC")
_FIRST = 10_000  # readings that show with how many decimals a sensor is written
SEPARATOR = "/"
"""Between the name of a system and an id of it."""


def qualified(site: str, id: str) -> str:
    """Return the id of a sensor, node or edge among several systems.

    >>> qualified("north", "Pipe 1")
    'north/Pipe 1'
    """
    return f"{site}{SEPARATOR}{id}"


def site_of_id(id: str) -> str:
    """Return the name of the system in a qualified id.

    >>> site_of_id("north/Pipe 1/a")
    'north'
    """
    return id.partition(SEPARATOR)[0]


@dataclass(frozen=True)
class Sensor:
    """A sensor.

    Args:
        id: Unique id.
        kind: Quantity that the sensor measures, for example ``"temperature"``; empty or ``None`` if it is unknown.
        unit: Unit of its readings; empty or ``None`` if it is unknown.
        categorical: Whether its readings are states (strings) and not numbers.

    Examples:
        >>> Sensor("t1", "temperature", "°C").categorical
        False
    """

    id: str
    kind: str = ""
    unit: str = ""
    categorical: bool = False

    def __post_init__(self) -> None:
        for name in ("kind", "unit"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, "")


@dataclass(frozen=True, eq=False, repr=False)
class SensorData:
    """Readings of many sensors over time; immutable.

    The constructor takes typed lazy frames without checking them. Use ``read_sensors``, ``from_wide`` or ``from_long``
    for data that has to be checked.

    Args:
        readings: Lazy frames and what a scan of them must know. Wide layout: frames with ``time`` and one column per
            sensor (Float64, or String for states). Long layout: a single frame with ``time``, ``sensor`` (any string
            type), ``value`` and, if there are categorical sensors, ``state``.
        sensors: The sensors, in order.
        report: What reading found.
        checked: Whether there is a single frame whose rows are known to be sorted, finite and unique.

    Examples:
        >>> from datetime import datetime
        >>> frame = pl.DataFrame({"time": [datetime(2024, 1, 1, h) for h in range(3)], "t1": [20.5, None, 21.0]})
        >>> data = SensorData.from_wide(frame, sensors=[Sensor("t1", "temperature", "°C")])
        >>> data
        SensorData(1 sensor: 1 temperature; wide)
        >>> data.upto("2024-01-01T02:00").to_polars()["t1"].to_list()
        [20.5, None]
    """

    readings: Readings
    sensors: tuple[Sensor, ...]
    report: ReadReport
    checked: bool = False

    @classmethod
    def from_wide(
        cls,
        frame: pl.DataFrame | pl.LazyFrame | Sequence[pl.DataFrame] | Sequence[pl.LazyFrame],
        *,
        sensors: Iterable[Sensor] | None = None,
        report: ReadReport | None = None,
        on_error: OnError = "raise",
        max_loss: float = MAX_LOSS,
        source: str = "frame",
        place: RowPlace | None = None,
        hint: str | None = None,
    ) -> SensorData:
        """Create from wide frames: a ``time`` column of datetimes and one column per sensor.

        String and boolean columns hold states; true is the state 1. A naive ``time`` is UTC. ``read_sensors`` accepts
        more: times as strings or numbers, other column names, other layouts.

        Args:
            frame: A frame, or several frames to join on time. Lazy frames stay lazy and are checked when they are
                windowed, or by ``check``.
            sensors: The sensors; by default one per column. Columns without a sensor are ignored and noted.
            report: Findings and notes so far, to be extended.
            on_error: ``"raise"`` stops at rows without a time and at conflicting readings; ``"repair"`` drops the rows,
                keeps the last reading, and counts both.
            max_loss: Share of the rows or readings that a repair may lose; more is an error.
            source: Name of the data in messages.
            place: Text for a row in messages, given its values of the columns ``_source`` and ``_row``.
            hint: Hint of the error for conflicting readings.

        Raises:
            InputError: If a column is missing or has the wrong type, ids are not unique, or ``on_error`` is ``"raise"``
                and the data cannot be used as it is.
        """
        frames: list[pl.DataFrame | pl.LazyFrame]
        frames = [frame] if isinstance(frame, (pl.DataFrame, pl.LazyFrame)) else list(frame)
        schemas = [part.lazy().collect_schema() for part in frames]
        types = {name: dtype for schema in schemas for name, dtype in schema.items() if name not in ("time", *ORIGIN)}
        if sensors is None:
            sensors = [Sensor(name, categorical=is_categorical(dtype)) for name, dtype in types.items()]
        known = tuple(sensors)
        require_ids([sensor.id for sensor in known], source)
        for schema in schemas:
            require_columns(schema, ["time"], source)
        require_columns(types, [sensor.id for sensor in known], source)
        for sensor in known:
            require_reading_type(sensor.id, types[sensor.id], source)
        base = report or ReadReport()
        if lost := types.keys() - {sensor.id for sensor in known}:
            base = base.extended(notes=[f"ignored columns without a sensor: {quote_names(sorted(lost))}"])
        parts = [
            part.lazy().select(
                time_to_utc(schema["time"], source),
                *(_typed(sensor, schema[sensor.id]) for sensor in known if sensor.id in schema),
                *(name for name in ORIGIN if name in schema),
            )
            for part, schema in zip(frames, schemas, strict=True)
        ]
        policy = _policy(on_error, source, place, hint, max_loss=max_loss)
        lazy = any(isinstance(part, pl.LazyFrame) for part in frames)
        return cls._made(parts, "wide", known, base, policy, lazy=lazy)

    @classmethod
    def from_long(
        cls,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        sensors: Iterable[Sensor] | None = None,
        report: ReadReport | None = None,
        on_error: OnError = "raise",
        max_loss: float = MAX_LOSS,
        source: str = "frame",
        place: RowPlace | None = None,
        hint: str | None = None,
    ) -> SensorData:
        """Create from a long frame: columns ``time``, ``sensor``, ``value`` and, for categorical sensors, ``state``.

        Args:
            frame: The frame. A lazy frame stays lazy and is checked when it is windowed, or by ``check``.
            sensors: The sensors; by default those named in the frame, sorted by id.
            report: Findings and notes so far, to be extended.
            on_error: ``"raise"`` stops at rows without a time and at conflicting readings; ``"repair"`` drops the rows,
                keeps the last reading, and counts both.
            max_loss: Share of the rows or readings that a repair may lose; more is an error.
            source: Name of the data in messages.
            place: Text for a row in messages, given its values of the columns ``_source`` and ``_row``.
            hint: Hint of the error for conflicting readings.

        Raises:
            InputError: If a column or a sensor name is missing, ids are not unique, or ``on_error`` is ``"raise"`` and
                the data cannot be used as it is.

        Examples:
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
        keep_type = lazy and is_categorical(schema["sensor"])
        typed = frame.lazy().select(
            time_to_utc(schema["time"], source),
            # Rows in memory are sorted by the order of the sensors; a lazy column keeps its type.
            pl.col("sensor") if keep_type else pl.col("sensor").cast(names),
            pl.col("value").cast(pl.Float64),
            *([spell_states("state", schema["state"])] if "state" in schema else []),
            *(name for name in ORIGIN if name in schema),
        )
        policy = _policy(on_error, source, place, hint, max_loss=max_loss)
        return cls._made([typed], "long", known, report or ReadReport(), policy, lazy=lazy)

    @classmethod
    def _made(
        cls,
        parts: Sequence[pl.LazyFrame],
        layout: Layout,
        sensors: tuple[Sensor, ...],
        report: ReadReport,
        policy: ErrorPolicy,
        *,
        lazy: bool,
    ) -> SensorData:
        """Return lazy frames as they are, to be checked later, and others cleaned."""
        readings = Readings(tuple(parts), layout, policy.on_error, policy.source, policy.max_loss)
        if lazy:
            return cls(readings, sensors, report.deferred())
        tidy, findings = _tidy(readings, [sensor.id for sensor in sensors], policy)
        ends = _ends(parts[0], policy.source) if layout == "long" else {}
        return cls(replace(readings, parts=(tidy.lazy(),), ends=ends), sensors, report.extended(findings), checked=True)

    @cached_property
    def _by_id(self) -> dict[str, Sensor]:
        return {sensor.id: sensor for sensor in self.sensors}

    @property
    def layout(self) -> str:
        """``"wide"`` or ``"long"``."""
        return self.readings.layout

    @property
    def timezone(self) -> str:
        """The time zone of the clock of the readings; empty if it is not known. Times are UTC in any case."""
        return self.readings.timezone

    @property
    def lazy(self) -> pl.LazyFrame:
        """The readings as one typed lazy frame, in the layout of this object."""
        return self.readings.lazy

    @property
    def ids(self) -> tuple[str, ...]:
        """The sensor ids, in order."""
        return tuple(sensor.id for sensor in self.sensors)

    def sensor(self, id: str) -> Sensor:
        """Return a sensor.

        Args:
            id: Id of the sensor.

        Raises:
            InputError: If there is no such sensor.
        """
        if id not in self._by_id:
            raise InputError(f"unknown sensor {quote(id)}", where=self._source, hint=nearest(id, self.ids))
        return self._by_id[id]

    def __len__(self) -> int:
        return len(self.sensors)

    def _repr_html_(self) -> str:
        return sensors_html(self)

    def __repr__(self) -> str:
        n = len(self)
        return f"SensorData({n} sensor{'' if n == 1 else 's'}{_format_kinds(self.sensors)}; {self.layout})"

    def select(self, ids: Iterable[str]) -> SensorData:
        """Return the readings of some sensors.

        Args:
            ids: Ids of the sensors, in the order wanted; one id may be a string. Duplicates are ignored.

        Raises:
            InputError: If an id is unknown.
        """
        wanted = (ids,) if isinstance(ids, str) else tuple(dict.fromkeys(ids))
        sensors = tuple(self.sensor(id) for id in wanted)
        if self.layout == "long":
            return self._with([self.readings.parts[0].filter(pl.col("sensor").is_in(list(wanted)))], sensors)
        columns = [[id for id in wanted if id in part.collect_schema()] for part in self.readings.parts]
        parts = [part.select("time", *names) for part, names in zip(self.readings.parts, columns, strict=True)]
        return self._with(parts, sensors)

    def upto(self, time: Time) -> SensorData:
        """Return the readings before a time; readings at the time itself belong to ``between(time)``.

        Args:
            time: Exclusive end. Naive times are UTC.
        """
        return self.between(None, time)

    def between(self, start: Time | None = None, end: Time | None = None) -> SensorData:
        """Return the readings in ``[start, end)``. Naive times are UTC.

        Args:
            start: Inclusive start; ``None`` for no bound.
            end: Exclusive end; ``None`` for no bound.

        Examples:
            >>> from datetime import datetime
            >>> days = [datetime(2024, 1, day) for day in (1, 2, 3)]
            >>> data = SensorData.from_wide(pl.DataFrame({"time": days, "a": [1, 2, 3]}))
            >>> data.between("2024-01-02", "2024-01-03").to_polars()["a"].to_list()
            [2.0]
        """
        parts = list(self.readings.parts)
        if start is not None:
            parts = [part.filter(pl.col("time") >= pl.lit(as_utc(start), dtype=TIME)) for part in parts]
        if end is not None:
            parts = [part.filter(pl.col("time") < pl.lit(as_utc(end), dtype=TIME)) for part in parts]
        return self._with(parts, self.sensors)

    def with_kinds(self, kinds: Mapping[str, str | tuple[str, str]], *, notes: Iterable[str] = ()) -> SensorData:
        """Return the same readings with other kinds, or kinds and units, for some sensors.

        Args:
            kinds: Sensor id to kind, or to ``(kind, unit)``.
            notes: Where the kinds are from, for the report.

        Raises:
            InputError: If an id is unknown.
        """
        for id in kinds:
            self.sensor(id)
        sensors = []
        for sensor in self.sensors:
            kind, unit = parse_kind(kinds.get(sensor.id, sensor.kind), sensor.id)
            sensors.append(replace(sensor, kind=kind, unit=sensor.unit if unit is None else unit))
        return self._with(self.readings.parts, sensors, report=self.report.extended(notes=notes))

    def with_states(self, states: Iterable[str] = (), *, numbers: Iterable[str] = ()) -> SensorData:
        """Return the same readings with some sensors read as states, and others as numbers.

        Args:
            states: Ids of sensors whose numbers are states.
            numbers: Ids of sensors whose states are numbers.

        Raises:
            InputError: If an id is unknown, or a state in memory is not a number.

        Examples:
            >>> from datetime import datetime
            >>> frame = pl.DataFrame({"time": [datetime(2024, 1, 1)], "pump": [1.0]})
            >>> SensorData.from_wide(frame).with_states(["pump"]).to_polars()["pump"].to_list()
            ['1']
        """
        to_states = [id for id in states if not self.sensor(id).categorical]
        to_numbers = [id for id in numbers if self.sensor(id).categorical]
        if not to_states and not to_numbers:
            return self
        changed = {**dict.fromkeys(to_states, True), **dict.fromkeys(to_numbers, False)}
        sensors = [replace(sensor, categorical=changed.get(sensor.id, sensor.categorical)) for sensor in self.sensors]
        if self.layout == "wide":
            parts = [
                part.with_columns(
                    spell_numbers(pl.col(id)).alias(id) if to_state else pl.col(id).cast(pl.Float64, strict=False)
                    for id, to_state in changed.items()
                    if id in part.collect_schema()
                )
                for part in self.readings.parts
            ]
        else:
            parts = [_move_states(self.readings.parts[0], to_states, to_numbers)]
        data = self._with(parts, sensors)
        if (
            self.checked
            and to_numbers
            and data.select(to_numbers)._n_readings() < self.select(to_numbers)._n_readings()
        ):
            raise InputError(
                f"some states of {quote_names(to_numbers)} are not numbers",
                where=self._source,
                hint="these sensors read numbers before; leave them out, or correct the readings",
            )
        return data

    def converted(self, units: Mapping[str, tuple[str, Conversion | None]], *, notes: Iterable[str] = ()) -> SensorData:
        """Return the readings of some sensors in other units, with the decimals that their own resolution allows.

        Args:
            units: Sensor id to its unit, and to what converts its readings into it; ``None`` changes no reading.
            notes: What was converted, for the report.

        Raises:
            InputError: If an id is unknown.

        Examples:
            >>> from datetime import datetime
            >>> from thence.data.readings.units import convert
            >>> frame = pl.DataFrame({"time": [datetime(2024, 1, 1)], "t": [68.5]})
            >>> data = SensorData.from_wide(frame, sensors=[Sensor("t", "temperature", "°F")])
            >>> data.converted({"t": ("°C", convert("°F", "°C"))}).to_polars()["t"].to_list()
            [20.28]
        """
        sensors = [replace(one, unit=units[one.id][0]) if one.id in units else one for one in self.sensors]
        by_id = {id: by for id, (_, by) in units.items() if by is not None and not self.sensor(id).categorical}
        decimals = {id: by.decimals(self._decimals_of(id)) for id, by in by_id.items()}
        parts = list(self.readings.parts)
        if self.layout == "wide":
            parts = [
                part.with_columns(
                    _converted(pl.col(id), by, decimals[id]).alias(id)
                    for id, by in by_id.items()
                    if id in part.collect_schema()
                )
                for part in parts
            ]
        elif by_id:
            name, value = pl.col("sensor").cast(pl.String), pl.col("value")
            for id, by in by_id.items():
                value = pl.when(name == id).then(_converted(pl.col("value"), by, decimals[id])).otherwise(value)
            parts = [part.with_columns(value.alias("value")) for part in parts]
        return self._with(parts, sensors, report=self.report.extended(notes=notes))

    def _decimals_of(self, id: str) -> int | None:
        """With how many decimals the first readings of a sensor are written."""
        part = self.select([id]).lazy
        column = id if self.layout == "wide" else "value"
        first = collect(part.select(column).drop_nulls().head(_FIRST), source=self._source)
        return find_decimals(first[column].to_numpy())

    def check(self) -> SensorData:
        """Run the pending checks of lazily scanned data in one pass and return the data with the completed report.

        Raises:
            InputError: If a check fails, unless the data was read with ``on_error="repair"``.
        """
        if self.checked:
            return self
        near, far = self.without_far()
        numeric = [s.id for s in self.sensors if not s.categorical]
        states = [s.id for s in self.sensors if s.categorical]
        found = [*far, *check_readings(near.readings, numeric, states)]
        return near._with(near.readings.parts, self.sensors, report=self.report.completed(found))

    def without_far(self) -> tuple[SensorData, list[Finding]]:
        """Return lazily scanned data without rows that are years away from nearly all others, and how many there were.

        Raises:
            InputError: If there are such rows, unless the data was read with ``on_error="repair"``.
        """
        far = find_far(self.readings, self.readings.policy) if "far-time" in self.report.pending else None
        if far is None:
            return self, []
        near = pl.col("time").dt.year().is_between(*far[0])
        return self._with([part.filter(near) for part in self.readings.parts], self.sensors), [
            Finding("far-time", far[1])
        ]

    def to_polars(self) -> pl.DataFrame:
        """Return all readings as a wide frame: ``time`` (UTC) and one column per sensor; missing readings are null."""
        if self.checked:
            frame = collect(self.lazy, source=self._source)
        else:
            policy = _policy(self.readings.on_error, self._source, max_loss=self.readings.max_loss)
            frame, _ = _tidy(self.readings, self.ids, policy)
        if self.layout == "long":
            numbers = [sensor.id for sensor in self.sensors if not sensor.categorical]
            states = [sensor.id for sensor in self.sensors if sensor.categorical]
            frame = long_to_wide(frame, numbers=numbers, states=states)
        return frame.select("time", *self.ids)

    def to_pandas(self) -> pd.DataFrame:
        """Return all readings as a pandas frame with a UTC ``DatetimeIndex`` named ``time``."""
        require("pandas", extra="pandas")
        return self.to_polars().to_pandas().set_index("time")

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """The times of the first and the last reading, or ``None`` without readings. Scans lazy data."""
        time, lazy = pl.col("time"), self.lazy
        present = lazy.filter(pl.any_horizontal(pl.lit(False), *reading_masks(lazy.collect_schema(), self.layout)))
        query = present.select(time.min().alias("first"), time.max().alias("last"))
        first, last = collect(query, source=self._source).row(0)
        return None if first is None else (first, last)

    def describe(self) -> dict[str, Any]:
        """Return counts per kind, the span and the report as a plain dict. Scans lazy data."""
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

    def summary(self) -> str:
        """Return what ``describe`` says as text, with the report. Scans lazy data."""
        facts = self.describe()
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
        counts = [mask.sum() for mask in reading_masks(lazy.collect_schema(), self.layout)]
        return sum(collect(lazy.select(counts), source=self._source).row(0)) if counts else 0

    @property
    def _source(self) -> str:
        return self.readings.source

    def _with(
        self, parts: Iterable[pl.LazyFrame], sensors: Iterable[Sensor], *, report: ReadReport | None = None
    ) -> SensorData:
        readings = replace(self.readings, parts=tuple(parts))
        return replace(self, readings=readings, sensors=tuple(sensors), report=report or self.report)


def parse_kind(entry: object, id: str) -> tuple[str, str | None]:
    """Return the kind, and the unit if there is one, that the ``entry`` of a mapping gives for the sensor ``id``."""
    if isinstance(entry, str) and isinstance(id, str):
        return entry, None
    if (
        isinstance(id, str)
        and isinstance(entry, Sequence)
        and len(entry) == 2
        and all(isinstance(part, str) for part in entry)
    ):
        return entry[0], entry[1]
    raise ConfigError(f"kind of {quote(id)} must be a string or a pair (kind, unit), got {quote(repr(entry))[1:-1]}")


def as_utc(time: Time) -> datetime:
    """Convert a date, datetime, numpy datetime or ISO string to an aware UTC datetime; naive means UTC.

    Raises:
        InputError: If ``time`` is not a time.

    Examples:
        >>> as_utc("2024-03-31T12:00+02:00").isoformat()
        '2024-03-31T10:00:00+00:00'
    """
    value: Any = time
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif not isinstance(value, date) and hasattr(value, "astype"):
            value = value.astype("datetime64[us]").item()
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(f"{quote(time)} is not a time", hint="write it as 2024-01-31T12:00") from error
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise InputError(
            f"{quote(repr(time))[1:-1]} is not a time", hint="pass a datetime, or a string such as '2024-01-31T12:00'"
        )
    return value.replace(tzinfo=UTC)


def _typed(sensor: Sensor, dtype: pl.DataType) -> pl.Expr:
    """The readings of a sensor as numbers, or as states in one spelling."""
    return spell_states(sensor.id, dtype) if sensor.categorical else pl.col(sensor.id).cast(pl.Float64)


def _converted(readings: pl.Expr, by: Conversion, decimals: int | None) -> pl.Expr:
    out = readings * by.factor + by.offset
    return out if decimals is None else out.round(decimals)


def _move_states(frame: pl.LazyFrame, to_states: Sequence[str], to_numbers: Sequence[str]) -> pl.LazyFrame:
    """Move the readings of some sensors of a long frame from one column to the other."""
    name = pl.col("sensor").cast(pl.String)
    state = pl.col("state") if "state" in frame.collect_schema() else pl.lit(None, pl.String)
    into, out = name.is_in(list(to_states)), name.is_in(list(to_numbers))
    return frame.with_columns(
        pl.when(out).then(state.cast(pl.Float64, strict=False)).when(~into).then(pl.col("value")).alias("value"),
        pl.when(into).then(spell_numbers(pl.col("value"))).when(~out).then(state).alias("state"),
    )


def _sensors_of_long(lazy: pl.LazyFrame, schema: Mapping[str, pl.DataType], source: str) -> tuple[Sensor, ...]:
    states: set[str | None] = set()
    if "state" in schema:
        states.update(distinct_names(lazy.filter(pl.col("state").is_not_null()), "sensor", source=source))
    names = distinct_names(lazy, "sensor", source=source)
    if None in names:
        raise missing_name_error(source)
    return tuple(Sensor(str(name), categorical=name in states) for name in names)


def _policy(
    on_error: OnError, source: str, place: RowPlace | None = None, hint: str | None = None, *, max_loss: float
) -> ErrorPolicy:
    place = place or (lambda _, row: f"{source}, row {row}")
    return ErrorPolicy(on_error, source, place, hint or KEEP_LAST, max_loss)


def _tidy(readings: Readings, ids: Sequence[str], policy: ErrorPolicy) -> tuple[pl.DataFrame, list[Finding]]:
    """Collect the parts, drop rows without a usable time, and clean the others."""
    frames, findings = [], []
    for part in readings.parts:
        frame, lost = drop_rows_without_time(collect(part, source=policy.source), policy)
        policy.refuse("bad-time", lost, frame.height + lost)
        frames.append(frame)
        findings += [Finding("bad-time", lost)] if lost else []
    if far := find_far(replace(readings, parts=tuple(frame.lazy() for frame in frames)), policy):
        frames = [frame.filter(pl.col("time").dt.year().is_between(*far[0])) for frame in frames]
        findings.append(Finding("far-time", far[1]))
    tidy, more = tidy_wide(frames, policy) if readings.layout == "wide" else tidy_long(frames[0], ids, policy)
    return tidy, [*findings, *more]


def _ends(frame: pl.LazyFrame, source: str) -> dict[str, npt.NDArray[np.int64]]:
    """Return the times at which rows of a long frame say that a sensor has no reading."""
    given = reading_masks({name: dtype for name, dtype in frame.collect_schema().items() if name not in ORIGIN}, "long")
    empty = frame.filter(~pl.any_horizontal(given) & pl.col("time").is_not_null())
    times = empty.group_by(pl.col("sensor").cast(pl.String)).agg(pl.col("time").sort().to_physical())
    return {name: np.asarray(own, dtype=np.int64) for name, own in collect(times, source=source).iter_rows()}


def _format_kinds(sensors: Sequence[Sensor]) -> str:
    counts: dict[str, int] = {}
    for sensor in sensors:
        counts[sensor.kind] = counts.get(sensor.kind, 0) + 1
    named = [f"{count} {kind}" for kind, count in sorted(counts.items()) if kind]
    return f": {', '.join(named)}" if named else ""
