"""Cleaning of readings in memory: gaps become null, rows are sorted, duplicates are kept once; everything is counted.

The rules for rows without a time, rows years away from all others, conflicting readings and silent sensors are defined
here, and how much a repair may lose. ``thence.data.readings.scanning`` applies the same rules to data that does not
fit in memory. This module works on typed polars frames (times are UTC microseconds, values are numbers or strings); it
reads no files and parses nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.display.percent import percent
from thence.data.readings.findings import Finding
from thence.data.readings.frames import datetime_to_us, is_categorical
from thence.errors import InputError, nearest, quote

MAX_LOSS = 0.01
"""Share of the rows or readings that a repair may lose by default."""
FEWEST = 10  # so many may always be lost: a share says nothing about a short table

# Finding → what is lost, what is wrong with it, what to check.
REASONS = {
    "bad-time": ("rows", "have no usable time", "check time= and time_format="),
    "conflicting": (
        "readings",
        "have another value at the same time",
        "check time= and sensor=: together they must tell the rows apart",
    ),
    "not-a-number": ("cells", "are text in a numeric column", "check decimal=, missing= and categorical="),
    "far-time": ("rows", "are years away from all others", "check time= and time_format="),
    "no-sensor": ("rows", "have no sensor name", "check sensor="),
    "bad-line": ("lines", "are not JSON", "check that each line holds one message"),
    "ragged": ("lines", "have too many or too few fields", "check separator= and skip_rows="),
}

OnError = Literal["raise", "repair"]
"""``"raise"`` stops at data that cannot be used as it is; ``"repair"`` repairs it and counts the repairs."""

RowPlace = Callable[[int, int], str]
"""Maps the number of a source and of a row in it to text for messages: ``"flows.csv, line 17"``."""

ORIGIN = ("_source", "_row")
"""Optional columns that say where a row comes from; used in messages and dropped by cleaning."""

KEEP_LAST = "pass on_error='repair' to keep the last one"
KEEP_LAST_OR_RENAME = f"{KEEP_LAST}, or name='{{file}}/{{column}}' if they are different sensors"


@dataclass(frozen=True)
class ErrorPolicy:
    """What happens at bad rows, and how messages refer to them.

    Args:
        on_error: Whether to raise or to repair.
        source: Name of the data in messages.
        place: Text for one row, given by the ``ORIGIN`` columns or else by its position; ``None`` if the rows of the
            source are not numbered.
        hint: What to do about conflicting readings.
        max_loss: Share of the rows or readings that a repair may lose.
    """

    on_error: OnError
    source: str
    place: RowPlace | None = None
    hint: str = KEEP_LAST
    max_loss: float = MAX_LOSS

    def allows(self, lost: int, total: int) -> bool:
        """Return whether a repair may lose so many of all rows, readings, cells or lines.

        Ten may always be lost, unless ``max_loss`` is 0.

        Examples:
            >>> policy = ErrorPolicy("repair", "a.csv", max_loss=0.01)
            >>> policy.allows(10, 20), policy.allows(11, 20), policy.allows(11, 2000)
            (True, False, True)
        """
        return lost <= max(FEWEST if self.max_loss else 0, self.max_loss * total)

    def advise(self, what: str, lost: int, total: int, repair: str) -> str:
        """Return the hint of an error: ``repair`` if that loses little, otherwise what to check."""
        if self.allows(lost, total):
            return repair
        unit, why, check = REASONS[what]
        return f"{lost:,} of {total:,} {unit} {why}: {check}"

    def refuse(self, what: str, lost: int, total: int) -> None:
        """Raise an ``InputError`` if a repair that counts the finding ``what`` loses more than it may."""
        if self.allows(lost, total):
            return
        unit, why, check = REASONS[what]
        share = lost / total
        raise InputError(
            f"on_error='repair' would lose {lost:,} of {total:,} {unit} ({percent(share, digits=1)}), which {why}",
            where=self.source,
            hint=f"{check}; pass max_loss={math.ceil(share * 100) / 100:g} to lose them",
        )


def tidy_wide(frames: Sequence[pl.DataFrame], policy: ErrorPolicy) -> tuple[pl.DataFrame, list[Finding]]:
    """Merge wide frames into one that is sorted by time and has one row per time.

    Gaps and order are counted frame by frame: a sensor is not missing where its frame has no column for it.

    Args:
        frames: Frames with ``time`` and one column per sensor.
        policy: What to do about conflicting readings.

    Returns:
        The merged frame and the findings.
    """
    findings: list[Finding] = []
    clean = []
    for part in frames:
        finite, gaps = _gaps_to_null(part, [name for name in part.columns if name not in ("time", *ORIGIN)])
        findings += gaps
        if not part["time"].is_sorted():
            findings.append(Finding("disordered", count_late(part["time"].to_physical().to_numpy())))
        clean.append(finite)
    frame = pl.concat(clean, how="diagonal") if len(clean) > 1 else clean[0]
    columns = [name for name in frame.columns if name not in ("time", *ORIGIN)]
    if not frame["time"].is_sorted():
        frame = frame.sort("time", maintain_order=True)
    same = (frame["time"] == frame["time"].shift(1)).fill_null(False)
    if same.any():
        frame, more = _merge_rows(frame, same, columns, policy)
        findings += more
    silent = [name for name in columns if frame[name].null_count() == frame.height]
    return frame.select("time", *columns), report_silent(findings, silent)


def tidy_long(frame: pl.DataFrame, ids: Sequence[str], policy: ErrorPolicy) -> tuple[pl.DataFrame, list[Finding]]:
    """Sort a long frame by sensor and time and drop gaps and duplicates.

    Args:
        frame: Columns ``time``, ``sensor`` (an ``Enum`` of the ids), ``value`` and, optionally, ``state``.
        ids: All sensors, including those without rows.
        policy: What to do about conflicting readings.

    Returns:
        The cleaned frame and the findings.
    """
    readings = [name for name in ("value", "state") if name in frame.columns]
    findings = _count_gaps(frame, ids)
    value = pl.when(pl.col("value").is_finite()).then(pl.col("value"))
    frame = frame.with_columns(value.alias("value")).filter(pl.any_horizontal(pl.col(readings).is_not_null()))
    if not frame["time"].is_sorted():
        late = (pl.col("time") < pl.col("time").cum_max().shift(1).over("sensor")).sum()
        if count := frame.select(late).item():
            findings.append(Finding("disordered", count))
    frame = frame.sort("sensor", "time", maintain_order=True)
    same = (frame["time"] == frame["time"].shift(1)) & (frame["sensor"] == frame["sensor"].shift(1))
    same = same.fill_null(False)
    if same.any():
        frame, more = _merge_readings(frame, same, readings, policy)
        findings += more
    present = set(frame["sensor"].unique().cast(pl.String).to_list())
    silent = [name for name in ids if name not in present]
    return frame.select("time", "sensor", *readings), report_silent(findings, silent)


def drop_rows_without_time(frame: pl.DataFrame, policy: ErrorPolicy) -> tuple[pl.DataFrame, int]:
    """Drop the rows whose time is null, or raise if the policy says so.

    Returns:
        The remaining rows and the number of rows dropped.
    """
    lost = frame["time"].null_count()
    if not lost:
        return frame, 0
    if policy.on_error == "raise":
        raise InputError(
            f"rows without a usable time: {lost:,}",
            where=place_of(frame, int(frame["time"].is_null().arg_true()[0]), policy),
            hint=policy.advise(
                "bad-time",
                lost,
                frame.height,
                "check time_format and timezone, or pass on_error='repair' to drop these rows",
            ),
        )
    return frame.filter(pl.col("time").is_not_null()), lost


def place_of(frame: pl.DataFrame, row: int, policy: ErrorPolicy) -> str:
    """Return the place of a row."""
    if policy.place is None:
        return policy.source
    located = "_row" in frame.columns
    return policy.place(frame["_source"][row], frame["_row"][row]) if located else policy.place(0, row)


def conflict_error(
    sensor: str,
    time: datetime,
    values: Sequence[object],
    policy: ErrorPolicy,
    *,
    lost: int,
    total: int,
    places: Sequence[str] = (),
) -> InputError:
    """Return the error for two different readings of one sensor at one time.

    Args:
        sensor: Id of the sensor.
        time: Time of both readings.
        values: The two readings.
        policy: Names the source and gives the hint.
        lost: Number of readings that differ from another one at the same time.
        total: Number of all readings.
        places: Where the two readings are, if known; the second one is where the error is.
    """
    shown = [quote(value) if isinstance(value, str) else repr(value) for value in values]
    if places:
        shown = [f"{value} ({place})" for value, place in zip(shown, places, strict=True)]
    return InputError(
        f"sensor {quote(sensor)} has two readings at {time.isoformat()}: {' and '.join(shown)}",
        where=places[-1] if places else policy.source,
        hint=policy.advise("conflicting", lost, total, policy.hint),
    )


def count_late(times: npt.NDArray[np.int64]) -> int:
    """Count the times that are earlier than some time before them."""
    return int((times[1:] < np.maximum.accumulate(times)[:-1]).sum()) if times.size else 0


def report_silent(findings: Iterable[Finding], silent: Collection[str]) -> list[Finding]:
    """Replace the missing cells of sensors without any reading by one finding per sensor."""
    names = set(silent)
    others = [f for f in findings if f.what != "missing" or f.sensor not in names]
    return others + [Finding("silent", 1, name) for name in silent]


def long_to_wide(frame: pl.DataFrame, *, numbers: Sequence[str], states: Sequence[str]) -> pl.DataFrame:
    """Pivot a clean long frame to wide; a sensor without readings becomes a column of nulls.

    Args:
        frame: Columns ``time``, ``sensor``, ``value`` and, with categorical sensors, ``state``.
        numbers: Ids of the numeric sensors.
        states: Ids of the categorical sensors.
    """
    result = frame.select("time").unique().sort("time")
    for column, ids, dtype in (("value", numbers, pl.Float64()), ("state", states, pl.String())):
        if not ids:
            continue
        part = frame.filter(pl.col(column).is_not_null()) if column in frame.columns else frame.clear()
        wide = part.pivot(on="sensor", index="time", values=column) if part.height else result.clear()
        there = set(wide.columns)
        absent = [pl.lit(None, dtype=dtype).alias(id) for id in ids if id not in there]
        result = result.join(wide.with_columns(absent), on="time", how="left", maintain_order="left")
    return result


def _gaps_to_null(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, list[Finding]]:
    schema = frame.schema  # computed from all columns at each access
    numbers = [name for name in columns if schema[name].is_float()]
    infinite = frame.select(pl.col(numbers).is_infinite().sum()).row(0) if numbers else ()
    frame = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in numbers)
    n_infinite = {name: int(count or 0) for name, count in zip(numbers, infinite, strict=True)}
    n_missing = {name: frame[name].null_count() - n_infinite.get(name, 0) for name in columns}
    findings = [Finding("infinite", count, name) for name, count in n_infinite.items() if count]
    return frame, findings + [Finding("missing", count, name) for name, count in n_missing.items() if count]


def _count_gaps(frame: pl.DataFrame, ids: Sequence[str]) -> list[Finding]:
    missing = pl.col("value").is_null() | pl.col("value").is_nan()
    if "state" in frame.columns:
        missing &= pl.col("state").is_null()
    table = (
        frame.lazy()
        .select("sensor", missing.alias("missing"), pl.col("value").is_infinite().fill_null(False).alias("infinite"))
        .filter(pl.col("missing") | pl.col("infinite"))
        .group_by("sensor")
        .agg(pl.col("missing").sum(), pl.col("infinite").sum())
        .with_columns(pl.col("sensor").cast(pl.String))
        .collect()
    )
    by_sensor = {row[0]: row[1:] for row in table.iter_rows()}
    return [
        Finding(what, count, name)
        for name in ids
        if name in by_sensor
        for what, count in zip(("missing", "infinite"), by_sensor[name], strict=True)
        if count
    ]


def _merge_rows(
    frame: pl.DataFrame, same: pl.Series, columns: Sequence[str], policy: ErrorPolicy
) -> tuple[pl.DataFrame, list[Finding]]:
    """Merge the rows of each time into one; a sensor with several readings keeps the last one."""
    part_of_group = same | same.shift(-1).fill_null(False)
    groups = frame.filter(part_of_group)
    present = pl.col(columns).drop_nulls()
    keyed = groups.lazy().group_by("time", maintain_order=True)
    merged = keyed.agg(present.last()).collect()
    given = keyed.agg(present.len()).collect()
    distinct = keyed.agg(present.n_unique()).collect()
    findings = []
    first: tuple[str, datetime] | None = None
    for name in columns:
        extra = given[name].cast(pl.Int64) - 1
        clash = distinct[name] > 1
        if conflicting := int(extra.filter(clash).sum()):
            findings.append(Finding("conflicting", conflicting, name))
            first = first or (name, merged["time"].filter(clash)[0])
        if repeated := int(extra.filter(~clash & (extra > 0)).sum()):
            findings.append(Finding("repeated", repeated, name))
    if first is not None:
        lost = sum(finding.count for finding in findings if finding.what == "conflicting")
        total = frame.height * len(columns) - sum(frame[name].null_count() for name in columns)
        if policy.on_error == "raise":
            name, when = first
            rows = groups.filter((pl.col("time") == when) & pl.col(name).is_not_null())
            raise _conflict(rows, name, name, policy, lost, total)
        policy.refuse("conflicting", lost, total)
    unique = pl.concat([frame.filter(~part_of_group).select(merged.columns), merged])
    return unique.sort("time"), findings


def _merge_readings(
    frame: pl.DataFrame, same: pl.Series, readings: Sequence[str], policy: ErrorPolicy
) -> tuple[pl.DataFrame, list[Finding]]:
    """Keep the last of the readings of one sensor at one time."""
    groups = frame.filter(same | same.shift(-1).fill_null(False))
    table = (
        groups.lazy()
        .group_by("sensor", "time", maintain_order=True)
        .agg(
            (pl.len().cast(pl.Int64) - 1).alias("extra"),
            pl.any_horizontal(pl.col(readings).n_unique() > 1).alias("clash"),
        )
        .collect()
    )
    clashes = table.filter("clash")
    if clashes.height and policy.on_error == "raise":
        name, when = clashes.select(pl.col("sensor").cast(pl.String), "time").row(0)
        rows = groups.filter((pl.col("time") == when) & (pl.col("sensor") == name))
        column = next(c for c in readings if rows[c].n_unique() > 1)
        raise _conflict(rows, name, column, policy, int(clashes["extra"].sum()), frame.height)
    if clashes.height:
        policy.refuse("conflicting", int(clashes["extra"].sum()), frame.height)
    counts = table.group_by("sensor", "clash", maintain_order=True).agg(pl.col("extra").sum())
    findings = [
        Finding("conflicting" if clash else "repeated", extra, sensor)
        for sensor, clash, extra in counts.with_columns(pl.col("sensor").cast(pl.String)).iter_rows()
    ]
    last_of_group = ~same.shift(-1).fill_null(False)
    return frame.filter(last_of_group), findings


def _conflict(rows: pl.DataFrame, sensor: str, column: str, policy: ErrorPolicy, lost: int, total: int) -> InputError:
    """Return the error for the first two rows with different readings."""
    first = rows.row(0, named=True)
    other = rows.filter(pl.col(column) != first[column]).row(0, named=True)
    places = []
    if policy.place is not None and "_row" in rows.columns:
        places = [policy.place(row["_source"], row["_row"]) for row in (first, other)]
    values = [first[column], other[column]]
    return conflict_error(sensor, first["time"], values, policy, lost=lost, total=total, places=places)


def time_to_utc(dtype: pl.DataType, source: str) -> pl.Expr:
    """Return the expression that converts a ``time`` column of this type to UTC microseconds; naive means UTC."""
    if not isinstance(dtype, pl.Datetime):
        raise InputError(f"column 'time' must hold datetimes, got {dtype}", where=source, hint="use th.read_sensors")
    time = datetime_to_us(pl.col("time"), dtype.time_unit)
    return time.dt.replace_time_zone("UTC") if dtype.time_zone is None else time.dt.convert_time_zone("UTC")


def require_columns(columns: Collection[str], needed: Iterable[str], source: str) -> None:
    """Raise an ``InputError`` that names ``source`` for the first of the ``needed`` names not in ``columns``."""
    for name in needed:
        if name not in columns:
            raise InputError(
                f"no column {quote(name)}; columns are {quote_names(columns)}",
                where=source,
                hint=nearest(name, columns),
            )


def require_ids(ids: Iterable[str], source: str) -> None:
    """Raise for a duplicate sensor id, and for an id that no column of a wide frame can have."""
    for id, count in Counter(ids).items():
        if count > 1:
            raise InputError(f"duplicate sensor id {quote(id)}", where=source)
        require_plain_name(id, source)
        if id in ("time", *ORIGIN):
            raise InputError(
                f"'{id}' is a reserved column name and cannot be a sensor id",
                where=source,
                hint="change the id, for example with name='{column} of {file}' when reading, or leave the column out",
            )


def require_plain_name(name: str, source: str) -> None:
    """Raise an ``InputError`` if polars would take the ``name`` of a column of ``source`` for a pattern."""
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        raise InputError(
            f"{quote(name)} cannot be the name of a column or sensor: it is a pattern that means other columns",
            where=source,
            hint="rename it in the file",
        )


def require_reading_type(name: str, dtype: pl.DataType, source: str) -> None:
    """Raise an ``InputError`` if a column ``name`` of type ``dtype`` cannot hold numbers or categories."""
    if not (dtype.is_numeric() or is_categorical(dtype) or dtype == pl.Null):
        raise InputError(
            f"column {quote(name)} must hold numbers or categories, got {dtype}",
            where=source,
            hint=f"leave it out: pass ignore=[{quote(name)}] when reading",
        )


def reading_masks(schema: Mapping[str, pl.DataType], layout: str) -> list[pl.Expr]:
    """Return one expression per column of readings that is true where the cell holds a reading.

    Args:
        schema: The columns of the readings.
        layout: ``"wide"``, where any name but ``time`` is that of a sensor, or ``"long"``.
    """
    others = ("time",) if layout == "wide" else ("time", "sensor")
    return [
        pl.col(name).is_finite().fill_null(False) if dtype.is_float() else pl.col(name).is_not_null()
        for name, dtype in schema.items()
        if name not in others
    ]


def quote_names(names: Iterable[str]) -> str:
    """Return the first twelve names in quotes, and the number of the others."""
    listed = [quote(name) for name in names]
    return ", ".join(listed[:12]) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")
