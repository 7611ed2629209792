"""Readings in memory put in order: gaps made null, rows sorted, repeated readings kept once, everything counted.

Works on typed polars frames only (times are UTC microseconds, values are numbers or text); it reads no files and
parses nothing. A frame may carry ``_source`` and ``_row`` columns; they say where a row came from when two readings
contradict each other, and are dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import polars as pl

from thence.errors import InputError, nearest
from thence.readings.findings import Finding

__all__ = [
    "ORIGIN",
    "OnError",
    "Place",
    "is_text",
    "long_to_wide",
    "quoted",
    "reading_cells",
    "require_columns",
    "require_ids",
    "require_readings",
    "tidy_long",
    "tidy_wide",
    "utc_time",
    "with_times",
]

OnError = Literal["raise", "repair"]
Place = Callable[[int, int], str]
"""From the number of a source and a row in it to words: "flows.csv, line 17"."""

ORIGIN = ("_source", "_row")


def tidy_wide(
    frames: Sequence[pl.DataFrame], *, on_error: OnError, place: Place, hint: str | None = None
) -> tuple[pl.DataFrame, list[Finding]]:
    """Wide frames as one, sorted by time with one row per time, and what had to be done for it.

    Gaps and order are counted frame by frame: a sensor is not missing where its file has no column for it.
    """
    findings: list[Finding] = []
    clean = []
    for part in frames:
        finite, gaps = _gaps_to_null(part, [name for name in part.columns if name not in ("time", *ORIGIN)])
        findings += gaps
        time = part["time"]
        if not time.is_sorted():
            findings.append(Finding("disordered", int((time < time.cum_max().shift(1)).sum() or 0)))
        clean.append(finite)
    frame = pl.concat(clean, how="diagonal") if len(clean) > 1 else clean[0]
    columns = [name for name in frame.columns if name not in ("time", *ORIGIN)]
    if not frame["time"].is_sorted():
        frame = frame.sort("time", maintain_order=True)
    same = (frame["time"] == frame["time"].shift(1)).fill_null(False)
    if same.any():
        frame, more = _merge_rows(frame, same, columns, on_error=on_error, place=place, hint=hint)
        findings += more
    silent = [name for name in columns if frame[name].null_count() == frame.height]
    return frame.select("time", *columns), _with_silent(findings, silent)


def tidy_long(
    frame: pl.DataFrame, ids: Sequence[str], *, on_error: OnError, place: Place, hint: str | None = None
) -> tuple[pl.DataFrame, list[Finding]]:
    """A long frame sorted by sensor and time without gaps and repetitions, and what had to be done for it."""
    readings = [name for name in ("value", "state") if name in frame.columns]
    findings = _value_counts(frame, ids)
    value = pl.when(pl.col("value").is_finite()).then(pl.col("value"))
    frame = frame.with_columns(value.alias("value")).filter(pl.any_horizontal(pl.col(readings).is_not_null()))
    if not frame["time"].is_sorted():
        late = (pl.col("time") < pl.col("time").cum_max().shift(1).over("sensor")).sum()
        if count := frame.select(late).item():
            findings.append(Finding("disordered", count))
    frame = frame.sort("sensor", "time", maintain_order=True)
    same = _follows_itself(frame)
    if same.any():
        frame, more = _merge_readings(frame, same, readings, on_error=on_error, place=place, hint=hint)
        findings += more
    present = set(frame["sensor"].unique().cast(pl.String).to_list())
    silent = [name for name in ids if name not in present]
    return frame.select("time", "sensor", *readings), _with_silent(findings, silent)


def with_times(
    frame: pl.DataFrame, *, on_error: OnError, source: str, place: Place | None = None
) -> tuple[pl.DataFrame, list[Finding]]:
    """The rows that have a time; the others are an error, or counted."""
    lost = frame["time"].null_count()
    if not lost:
        return frame, []
    if on_error == "raise":
        row = int(frame["time"].is_null().arg_true()[0])
        known = place is not None and "_row" in frame.columns
        raise InputError(
            f"{lost:,} rows have no usable time, the first is row {row}",
            where=place(frame["_source"][row], frame["_row"][row]) if place and known else source,
            hint="give on_error='repair' to leave them out",
        )
    return frame.filter(pl.col("time").is_not_null()), [Finding("bad-time", lost)]


def long_to_wide(frame: pl.DataFrame, *, numbers: Sequence[str], states: Sequence[str]) -> pl.DataFrame:
    """A tidy long frame as a wide one; a sensor without readings becomes a column of nulls."""
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


def _with_silent(findings: list[Finding], silent: Sequence[str]) -> list[Finding]:
    """A sensor that never reads is one finding, not a million missing cells."""
    names = set(silent)
    kept = [f for f in findings if f.what != "missing" or f.sensor not in names]
    return kept + [Finding("silent", 1, name) for name in silent]


def _gaps_to_null(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, list[Finding]]:
    schema = frame.schema  # asked for again it is made again, in all its columns
    numbers = [name for name in columns if schema[name].is_float()]
    infinite = frame.select(pl.col(numbers).is_infinite().sum()).row(0) if numbers else ()
    frame = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in numbers)
    endless = {name: int(count or 0) for name, count in zip(numbers, infinite, strict=True)}
    empty = {name: frame[name].null_count() - endless.get(name, 0) for name in columns}
    findings = [Finding("infinite", count, name) for name, count in endless.items() if count]
    return frame, findings + [Finding("missing", count, name) for name, count in empty.items() if count]


def _value_counts(frame: pl.DataFrame, ids: Sequence[str]) -> list[Finding]:
    gone = pl.col("value").is_null() | pl.col("value").is_nan()
    if "state" in frame.columns:
        gone &= pl.col("state").is_null()
    table = (
        frame.lazy()
        .select("sensor", gone.alias("missing"), pl.col("value").is_infinite().fill_null(False).alias("infinite"))
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


def _follows_itself(frame: pl.DataFrame) -> pl.Series:
    again = (frame["time"] == frame["time"].shift(1)) & (frame["sensor"] == frame["sensor"].shift(1))
    return again.fill_null(False)


def _merge_rows(
    frame: pl.DataFrame,
    same: pl.Series,
    columns: Sequence[str],
    *,
    on_error: OnError,
    place: Place,
    hint: str | None,
) -> tuple[pl.DataFrame, list[Finding]]:
    """Rows of one time become one row; each sensor keeps its reading, the last one where there are several."""
    part_of_group = same | same.shift(-1).fill_null(False)
    groups = frame.filter(part_of_group)
    present = pl.col(columns).drop_nulls()
    keyed = groups.lazy().group_by("time", maintain_order=True)
    merged = keyed.agg(present.last()).collect()
    given = keyed.agg(present.len()).collect()
    distinct = keyed.agg(present.n_unique()).collect()
    findings = []
    for name in columns:
        extra = given[name].cast(pl.Int64) - 1
        clash = distinct[name] > 1
        if clash.any() and on_error == "raise":
            when = merged["time"].filter(clash)[0]
            rows = groups.filter((pl.col("time") == when) & pl.col(name).is_not_null())
            raise _contradiction(rows, name, name, place, hint)
        if conflicting := int(extra.filter(clash).sum()):
            findings.append(Finding("conflicting", conflicting, name))
        if repeated := int(extra.filter(~clash & (extra > 0)).sum()):
            findings.append(Finding("repeated", repeated, name))
    kept = pl.concat([frame.filter(~part_of_group).select(merged.columns), merged])
    return kept.sort("time"), findings


def _merge_readings(
    frame: pl.DataFrame,
    same: pl.Series,
    readings: Sequence[str],
    *,
    on_error: OnError,
    place: Place,
    hint: str | None,
) -> tuple[pl.DataFrame, list[Finding]]:
    """Readings of one sensor at one time become one reading, the last of them."""
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
    if clashes.height and on_error == "raise":
        name, when = clashes.select(pl.col("sensor").cast(pl.String), "time").row(0)
        rows = groups.filter((pl.col("time") == when) & (pl.col("sensor") == name))
        column = next(c for c in readings if rows[c].n_unique() > 1)
        raise _contradiction(rows, name, column, place, hint)
    counts = table.group_by("sensor", "clash", maintain_order=True).agg(pl.col("extra").sum())
    findings = [
        Finding("conflicting" if clash else "repeated", extra, sensor)
        for sensor, clash, extra in counts.with_columns(pl.col("sensor").cast(pl.String)).iter_rows()
    ]
    last_of_group = ~same.shift(-1).fill_null(False)
    return frame.filter(last_of_group), findings


def _contradiction(rows: pl.DataFrame, sensor: str, column: str, place: Place, hint: str | None) -> InputError:
    first = rows.row(0, named=True)
    other = rows.filter(pl.col(column) != first[column]).row(0, named=True)
    here, there = (place(row.get("_source", 0), row.get("_row", 0)) for row in (first, other))
    return InputError(
        f"sensor '{sensor}' has two readings at {first['time'].isoformat()}: {first[column]!r} ({here}) and "
        f"{other[column]!r} ({there})",
        where=there,
        hint=hint or "give on_error='repair' to keep the last one",
    )


def is_text(dtype: pl.DataType) -> bool:
    """Whether a column of this type holds states."""
    return dtype in (pl.String, pl.Categorical, pl.Boolean) or isinstance(dtype, pl.Enum)


def utc_time(dtype: pl.DataType, source: str) -> pl.Expr:
    """The column ``time`` of this type as UTC microseconds; naive means UTC."""
    if not isinstance(dtype, pl.Datetime):
        raise InputError(f"column 'time' holds {dtype}, not dates", where=source, hint="use thence.read_sensors")
    time = pl.col("time")
    zoned = time.dt.replace_time_zone("UTC") if dtype.time_zone is None else time.dt.convert_time_zone("UTC")
    return zoned.dt.cast_time_unit("us")


def require_columns(schema: Mapping[str, pl.DataType], needed: Iterable[str], source: str) -> None:
    """Raise for the first column that is not there."""
    for name in needed:
        if name not in schema:
            raise InputError(
                f"there is no column '{name}'; the columns are {quoted(schema)}",
                where=source,
                hint=nearest(name, schema),
            )


def require_ids(ids: Iterable[str], source: str) -> None:
    """Raise for an id that stands twice, or that no wide table could have as a column."""
    for id, count in Counter(ids).items():
        if count > 1:
            raise InputError(f"sensor '{id}' is listed twice", where=source)
        if id in ("time", *ORIGIN):
            raise InputError(
                f"a sensor cannot be called '{id}', which is the name of another column",
                where=source,
                hint="change its id, e.g. with name='{column} of {file}' when reading, or leave it out",
            )


def require_readings(name: str, dtype: pl.DataType, source: str) -> None:
    """Raise for a column that can hold neither numbers nor states."""
    if not (dtype.is_numeric() or is_text(dtype) or dtype == pl.Null):
        raise InputError(
            f"column '{name}' holds {dtype}, which is neither numbers nor states",
            where=source,
            hint=f"leave it out: ignore=['{name}'] when reading",
        )


def reading_cells(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """For each column of cells, which of them are readings."""
    return [
        pl.col(name).is_finite().fill_null(False) if dtype.is_float() else pl.col(name).is_not_null()
        for name, dtype in schema.items()
        if name not in ("time", "sensor")
    ]


def quoted(names: Iterable[str]) -> str:
    """Names in quotes, the first dozen of them."""
    listed = [f"'{name}'" for name in names]
    return ", ".join(listed[:12]) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")
