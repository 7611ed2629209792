"""Readers: files, folders, sheets and frames of any usual layout become ``SensorData``.

This package reads and types; it repairs only what the table in the guide says, counts it, and windows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from thence.errors import ConfigError, InputError
from thence.readings.cleaning import ORIGIN, OnError, quoted
from thence.readings.findings import Finding, ReadReport
from thence.readings.readers.dialect import check_signs
from thence.readings.readers.files import find_paths, read_tables
from thence.readings.readers.frames import frame_table
from thence.readings.readers.kinds import KindPattern, Kinds, kinds_of
from thence.readings.readers.roles import NotDataError, Roles, find_roles
from thence.readings.readers.table import MISSING_WORDS, Layout, Options, Table
from thence.readings.readers.times import check_format, check_zone
from thence.readings.readers.typed import TypedTable, typed
from thence.readings.scanning import collect
from thence.readings.sensors import Sensor, SensorData

__all__ = ["read_sensors"]


def read_sensors(
    source: Any,
    *,
    layout: Layout = "auto",
    time: str = "auto",
    sensor: str | None = None,
    value: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    time_format: str | None = None,
    timezone: str | None = None,
    sheet: str | Iterable[str] | None = None,
    kinds: Kinds | str | Path | None = None,
    units: Mapping[str, str] | None = None,
    kind_pattern: KindPattern | None = None,
    categorical: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    missing: Iterable[str | float] | str | float = MISSING_WORDS,
    name: str | None = None,
    on_error: OnError = "raise",
) -> SensorData:
    """Read sensor data from a file, a folder, a pattern, a list of them, or a frame.

    What is not given is found out: separator, decimal sign, header, the time column and its format, and the layout
    (``"wide"``: a column per sensor; ``"long"``: time, sensor, value; ``"files"``: a file per sensor, named by it).
    CSV and Excel are read into memory; Parquet is scanned and stays on disk.

    :param time: name of the time column; ``sensor`` and ``value`` name those of a long table.
    :param time_format: strptime format, or ``"s"``, ``"ms"``, ``"us"``, ``"ns"`` for unix times.
    :param timezone: zone of times that carry none; UTC unless given, and the report says so.
    :param sheet: one sheet or several of an Excel file; all of them unless given.
    :param kinds: sensor id → kind or (kind, unit), or a CSV file with columns sensor, kind, unit.
    :param units: unit by sensor id or by kind.
    :param kind_pattern: regular expression with a group ``kind`` (and ``unit``), or a mapping expression → kind.
    :param categorical: ids of sensors whose readings are states though they look like numbers.
    :param ignore: columns that are no sensors.
    :param missing: texts or numbers that stand for no reading.
    :param name: how to form ids, from ``{column}``, ``{file}``, ``{sheet}`` and ``{kind}``.
    :param on_error: ``"raise"`` stops at data that cannot be taken as it is; ``"repair"`` counts and goes on.

    >>> times = ["2019-01-01 00:00", "2019-01-01 00:05"]
    >>> frame = pl.DataFrame({"Timestamp": times, "n1_pressure": [3.1, float("inf")]})
    >>> data = read_sensors(frame, kind_pattern=r"_(?P<kind>[a-z]+)$", units={"pressure": "m"})
    >>> data.sensors
    (Sensor(id='n1_pressure', kind='pressure', unit='m', categorical=False),)
    >>> print(data.report)
    1 infinite values: made missing (sensor 'n1_pressure')
    times without a zone are taken as UTC
    """
    if isinstance(source, SensorData):
        return source
    if on_error not in ("raise", "repair"):
        raise ConfigError(f"on_error cannot be '{on_error}'", hint="use 'raise' or 'repair'")
    options = Options(
        layout=layout,
        time=time,
        sensor=sensor,
        value=value,
        separator=separator,
        decimal=decimal,
        header=header,
        encoding=encoding,
        time_format=time_format,
        timezone=timezone,
        sheet=sheet,
        categorical=_names(categorical),
        ignore=_names(ignore),
        missing=_texts(missing),
        name=name,
        on_error=on_error,
    )
    check_zone(options.zone)
    check_format(options.time_format)
    check_signs(options.separator, options.decimal)
    tables = list(_tables(source, options))
    where = tables[0].name if len(tables) == 1 else f"{len(tables)} sources from {tables[0].name}"
    filled, empty, notes = _with_roles(tables, options)
    parts = [typed(table, roles, options, number=k) for k, (table, roles) in enumerate(filled)]
    notes += _grouped(parts)
    findings = [finding for part in parts for finding in part.findings] + empty
    if any(part.naive for part in parts):
        assumed = "" if timezone else "times without a zone are taken as UTC"
        notes.append(assumed or f"times without a zone are taken as {timezone}")
    _same_zones(parts, options)
    found = _sensors(parts) | _empty_sensors(tables, filled)
    described, more = kinds_of(
        {id: kind for id, (_, kind) in found.items()}, kinds=kinds, units=units, pattern=kind_pattern
    )
    if not found or not any(_has_times(part) for part in parts):
        raise InputError(
            "no reading is left: no row has both a time that can be read and a sensor",
            where=where,
            hint="check separator= and time_format=, and what on_error='raise' says",
        )
    sensors = [Sensor(id, *described[id], categorical=bool(state)) for id, (state, _) in found.items()]
    if unknown := [id for id in options.categorical if id not in found and not _is_column(id, filled)]:
        raise InputError(f"categorical names sensors that do not exist: {quoted(unknown)}", where=where)
    if texts := [s.id for s in sensors if s.categorical and s.id not in options.categorical]:
        more.append(f"no numbers but states in {len(texts)} sensors: {quoted(texts)}")
    report = ReadReport(tuple(findings), tuple(dict.fromkeys([*notes, *more])))
    return _combine(parts, sensors, report, options, where, long=any(r.layout != "wide" for _, r in filled))


def _grouped(parts: Sequence[TypedTable]) -> list[str]:
    """Each note once, with its file, or with the number of files it holds for."""
    places: dict[str, list[str]] = {}
    for part in parts:
        for note in part.notes:
            places.setdefault(note, []).append(part.table.name)
    return [f"{at[0] if len(at) == 1 else f'{len(at)} sources'}: {note}" for note, at in places.items()]


def _texts(words: Iterable[str | float] | str | float) -> tuple[str, ...]:
    return tuple(str(word) for word in ((words,) if isinstance(words, (str, int, float)) else words))


def _names(names: Iterable[str] | None) -> frozenset[str]:
    if names is None:
        return frozenset()
    return frozenset((names,) if isinstance(names, str) else names)


def _tables(source: Any, options: Options) -> Iterable[Table]:
    if isinstance(source, (str, Path)):
        for path in find_paths(source):
            yield from read_tables(path, options)
    elif isinstance(source, (list, tuple)):
        if not source:
            raise InputError("the list of sources is empty", hint="give at least one path or frame")
        for item in source:
            yield from _tables(item, options)
    else:
        yield frame_table(source)


def _with_roles(
    tables: Sequence[Table], options: Options
) -> tuple[list[tuple[Table, Roles]], list[Finding], list[str]]:
    """Tables that hold rows, with their roles; empty ones are an error, or counted when repairing."""
    filled, empty, notes = [], [], []
    skipped: InputError | None = None
    for table in tables:
        is_empty = not table.schema or not _has_rows(table)
        if is_empty and not (table.sheet and options.sheet is None):
            if options.on_error == "raise":
                raise InputError(
                    "there is no row in it", where=table.name, hint="leave it out, or give on_error='repair'"
                )
            empty.append(Finding("empty-file", 1, where=table.name))
        if is_empty:
            if table.sheet and options.sheet is None:
                notes.append(f"{table.name}: empty, skipped")
            continue
        try:
            roles = find_roles(table, options, alone=len(tables) == 1)
        except NotDataError as error:
            if not table.sheet or options.sheet is not None:
                raise
            # Workbooks carry cover pages: only sheets with a time column are data, unless sheets are named.
            skipped = skipped or error
            notes.append(f"{table.name}: no {error.lacks}, skipped")
            continue
        except InputError as error:
            if table.sheet and options.sheet is None and len(tables) > 1:
                advice = "name the sheets to read: sheet=[…]"
                hint = f"{error.hint}; or {advice}" if error.hint else advice
                raise InputError(error.message, where=error.where, hint=hint) from error
            raise
        if table.error is not None:
            raise table.error
        filled.append((table, roles))
    if not filled and skipped:
        raise skipped
    if not filled:
        names = quoted(table.name for table in tables)
        raise InputError(f"there are no readings in {names}", hint="check that the right files are named")
    return filled, empty, notes


def _has_rows(table: Table) -> bool:
    if not table.in_memory and not table.title:
        return True  # a lazy frame of the caller's may be costly to start
    return collect(table.frame.head(1), source=table.name).height > 0


def _has_times(part: TypedTable) -> bool:
    return not part.table.in_memory or collect(part.frame.head(1), source=part.table.name).height > 0


def _same_zones(parts: Sequence[TypedTable], options: Options) -> None:
    """Files with and files without a zone cannot be mixed on an assumption."""
    naive = [part for part in parts if part.naive]
    if options.timezone is None and options.on_error == "raise" and 0 < len(naive) < len(parts):
        zoned = next(part for part in parts if not part.naive)
        raise InputError(
            f"its times carry no zone, while those of {zoned.table.name} do",
            where=naive[0].table.name,
            hint="give timezone= for the times without a zone",
        )


def _sensors(parts: Sequence[TypedTable]) -> dict[str, tuple[bool | None, tuple[str, str]]]:
    """Every sensor: whether it reads states, and kind and unit as the source gives them."""
    found: dict[str, tuple[bool | None, tuple[str, str]]] = {}
    origin: dict[str, TypedTable] = {}
    for part in parts:
        own = (part.table.kind, part.table.unit)
        for id, state in part.categorical.items():
            known, kind = found.get(id, (None, own))
            first = origin.setdefault(id, part)
            if kind != own:
                raise InputError(
                    f"sensor '{id}' is also in {first.table.name}, as another kind",
                    where=part.table.name,
                    hint="tell them apart with name='{column}_{kind}'",
                )
            if None not in (known, state) and known != state:
                raise InputError(
                    f"sensor '{id}' reads {'states' if state else 'numbers'} here and "
                    f"{'states' if known else 'numbers'} in {first.table.name}",
                    where=part.table.name,
                    hint=f"give categorical=['{id}'], or tell them apart with name='{{file}}/{{column}}'",
                )
            found[id] = (state if known is None else known, kind)
    return found


def _empty_sensors(
    tables: Sequence[Table], filled: Sequence[tuple[Table, Roles]]
) -> dict[str, tuple[bool | None, tuple[str, str]]]:
    """A file without rows in a folder of one file per sensor still names its sensor."""
    one_each = all(roles.layout == "files" for _, roles in filled)
    used = {table.name for table, _ in filled}
    return {table.title: (None, ("", "")) for table in tables if one_each and table.name not in used}


def _is_column(id: str, filled: Sequence[tuple[Table, Roles]]) -> bool:
    return any(id in roles.sensors for _, roles in filled)


def _combine(
    parts: Sequence[TypedTable],
    sensors: Sequence[Sensor],
    report: ReadReport,
    options: Options,
    where: str,
    *,
    long: bool,
) -> SensorData:
    states = {sensor.id for sensor in sensors if sensor.categorical}
    in_memory = any(part.table.in_memory for part in parts)
    frames = [_as_long(part, states) if long else _aligned(part, states) for part in parts]
    if in_memory:
        frames = [_with_origin(part, frame, k) for k, (part, frame) in enumerate(zip(parts, frames, strict=True))]
    hint = "give on_error='repair' to keep the last one"
    if len(parts) > 1:
        hint += ", or name='{file}/{column}' if these are different sensors"
    if long:
        if len({frame.collect_schema()["sensor"] for frame in frames}) > 1:
            frames = [frame.with_columns(pl.col("sensor").cast(pl.String)) for frame in frames]
        frames = [pl.concat(frames, how="diagonal") if len(frames) > 1 else frames[0]]
    ready = [frame.collect() for frame in frames] if in_memory else frames
    common: Any = {
        "sensors": sensors,
        "report": report,
        "on_error": options.on_error,
        "source": where,
        "place": lambda source, row: parts[source].table.at(row),
        "hint": hint,
    }
    return SensorData.from_long(ready[0], **common) if long else SensorData.from_wide(ready, **common)


def _aligned(part: TypedTable, states: set[str]) -> pl.LazyFrame:
    """A sensor without readings here may read states elsewhere: one type per column."""
    casts = [pl.col(id).cast(pl.String) for id, state in part.categorical.items() if state is None and id in states]
    return part.frame.with_columns(casts) if casts else part.frame


def _as_long(part: TypedTable, states: set[str]) -> pl.LazyFrame:
    if not part.wide:
        nameless = any(finding.what == "no-sensor" for finding in part.findings)
        return part.frame.filter(pl.col("sensor").is_not_null()) if nameless else part.frame
    index = ["time", *(name for name in ORIGIN if part.table.in_memory)]
    pieces = []
    for column, ids in (
        ("value", [id for id in part.categorical if id not in states]),
        ("state", [id for id in part.categorical if id in states]),
    ):
        if ids:
            wide = _aligned(part, states).select(*index, *ids)
            pieces.append(wide.unpivot(ids, index=index, variable_name="sensor", value_name=column))
    frame = pl.concat(pieces, how="diagonal")
    return frame if "value" in frame.collect_schema() else frame.with_columns(pl.lit(None, pl.Float64).alias("value"))


def _with_origin(part: TypedTable, frame: pl.LazyFrame, number: int) -> pl.LazyFrame:
    if part.table.in_memory:
        return frame
    row = pl.int_range(pl.len(), dtype=pl.UInt32).alias("_row")
    return frame.with_columns(row, pl.lit(number, dtype=pl.UInt16).alias("_source"))
