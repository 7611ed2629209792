"""Readers: files, folders, workbooks and frames in all common layouts become ``SensorData``.

The readers detect formats, type columns, and repair only what the table in the guide lists, counting each repair. They
do not aggregate. How to add a file format is described in ``.files``.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from thence._base.settings.numbers import require_integer, require_share, require_zone
from thence._base.settings.typed import check_types
from thence.data.readers.codes import find_codes
from thence.data.readers.columns import TypedTable, check_template, type_table
from thence.data.readers.dates import AmbiguousDatesError
from thence.data.readers.few_values import find_few_values, read_as_states
from thence.data.readers.files import database_reader, find_paths, note_skipped, read_tables, table_from_frame
from thence.data.readers.heading import unit_of_name
from thence.data.readers.kinds import KindPattern, Kinds, require_units, resolve_kinds
from thence.data.readers.lines import check_encoding
from thence.data.readers.roles import (
    NoReadingsError,
    NotDataError,
    Roles,
    find_roles,
    join_clock,
    require_plain_names,
    with_steps,
)
from thence.data.readers.shapes import reshape
from thence.data.readers.table import MISSING_WORDS, LayoutOption, ReadOptions, SourceTable
from thence.data.readers.text import check_signs
from thence.data.readers.times import check_format
from thence.data.readings.cleaning import KEEP_LAST, KEEP_LAST_OR_RENAME, MAX_LOSS, ORIGIN, OnError, quote_names
from thence.data.readings.counters import with_rates
from thence.data.readings.durations import parse_duration
from thence.data.readings.few_values import MOST_COLUMNS, choose_states
from thence.data.readings.findings import Finding, ReadReport
from thence.data.readings.frames import collect
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.steps import find_breaks
from thence.errors import ConfigError, InputError, nearest, quote, reported_as

__all__ = ["read_sensors"]

MOST_SKIPPED = 10_000  # lines above the names


def read_sensors(
    source: Any,
    *,
    layout: LayoutOption = "auto",
    time: str = "auto",
    sensor: str | None = None,
    value: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    skip_rows: int | None = None,
    encoding: str | None = None,
    time_format: str | None = None,
    step: str | None = None,
    timezone: str | None = None,
    sheet: str | Iterable[str] | None = None,
    kinds: Kinds | str | Path | None = None,
    units: Mapping[str, str] | None = None,
    kind_pattern: KindPattern | None = None,
    categorical: str | Iterable[str] | None = None,
    numeric: str | Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    missing: Iterable[str | float] | str | float = MISSING_WORDS,
    codes: bool = True,
    counters: str | Iterable[str] = "auto",
    name: str | None = None,
    on_error: OnError = "raise",
    max_loss: float = MAX_LOSS,
    table: str | Iterable[str] | None = None,
    query: str | None = None,
    where: Mapping[str, Any] | None = None,
    metadata: str | Mapping[str, str] | None = None,
    order: str | Iterable[str] | None = None,
    windows: str | timedelta | None = None,
    aggregate: str = "mean",
    origin: Any = "epoch",
    timeout: float | None = None,
) -> SensorData:
    """Read sensor data from files, frames or databases.

    What is not given is detected. Text files up to 512 MiB and workbooks are read into memory; larger text files are
    copied to a temporary Parquet file, and Parquet files are scanned and stay on disk. The rows of a database are read
    once, in one read-only transaction, into a temporary Parquet file.

    Args:
        source: A file, a folder, a pattern such as ``"logs/*.csv"``, a polars, pandas or Arrow frame, the URL of a
            database (``"postgresql://host/plant"``, ``"duckdb:///plant.db"``), an open ADBC connection, or a list of
            these. ``SensorData`` is returned as it is.
        layout: ``"wide"`` (one column per sensor), ``"long"`` (columns time, sensor, value), ``"files"`` (one file per
            sensor, named after it) or ``"auto"``.
        time: Name of the time column.
        sensor: Name of the column of sensor ids in a long table.
        value: Name of the column of readings in a long table or in a file per sensor.
        separator: Separator of a text file.
        decimal: Decimal sign of a text file, ``","`` or ``"."``.
        header: Whether a text file has a header line.
        skip_rows: Number of lines of a text file, or rows of a sheet, before the names of the columns.
        encoding: Encoding of a text file.
        time_format: strptime format of the times; or ``"day-first"``, ``"month-first"`` or ``"year-first"`` for dates
            such as 3/4/17 that may be any of these; or ``"s"``, ``"ms"``, ``"us"`` or ``"ns"`` for Unix times.
        step: Time between rows of tables without a time column, such as ``"3min"``. Each table begins with a day, and a
            day without rows follows it.
        timezone: Time zone of times without one; by default UTC, which the report notes.
        sheet: One or several sheets of a workbook; by default all sheets with a time column.
        kinds: Sensor id to kind or ``(kind, unit)``, or the path of a CSV file with columns sensor, kind, unit.
        units: Unit by sensor id or by kind. A name that is neither is an error. Kinds that sensors get from a graph
            are known to ``read_system`` only: pass the units there, as ``sensor_options={"units": {...}}``.
        kind_pattern: Regular expression with a group ``kind`` (and optionally ``unit``) that is searched in the sensor
            ids, or a mapping from expressions to kinds.
        categorical: Ids of sensors, or patterns such as ``"*_status"``, whose readings are states although they look
            like numbers. Text, truth values and whole numbers of which few differ are states by default.
        numeric: Ids of sensors, or patterns, whose readings are numbers although they are whole and few differ.
        ignore: Columns and sensors to leave out: names, or glob patterns such as ``"*_flag"``.
        missing: Strings or numbers that mean a missing reading. Numbers alone add to the usual words (``NA``, ``null``,
            …); words replace them.
        codes: Whether numbers that several sensors write where there is no reading, such as −200 beside readings above
            0, are read as missing; a note names them.
        counters: Sensors that count, such as kWh or m³, whose readings become rates per hour: ``"auto"`` finds them by
            their names and since they only rise, but for resets and roll-overs; ``"none"`` keeps what they show; or
            names and patterns.
        name: Template of the sensor ids, with ``{column}``, ``{file}``, ``{sheet}`` and ``{kind}``.
        on_error: ``"raise"`` stops at data that cannot be used as it is; ``"repair"`` repairs it and counts repairs in
            the report.
        max_loss: Share of the rows, readings or lines that ``"repair"`` may lose; more is an error, unless there are at
            most ten. Pass 1 to accept any loss.
        table: Table of a database, with its schema if needed: ``"plant.readings"``; or several. Names that hold dots
            are written in double quotes. By default the only table there is.
        query: SELECT statement to read instead of a table of a database.
        where: Rows of a database to read: column to a value, to a list of values, or to a mapping such as
            ``{">=": "2024-01-01", "<": "2025-01-01"}``.
        metadata: Table of a database with a row per sensor; or a mapping with any of ``"table"``, ``"sensor"`` (its
            column of sensor ids), ``"name"`` (its column of names to use as ids), ``"kind"`` and ``"unit"``. Without
            ``"table"`` these are columns of the table of readings.
        order: Columns of a database that say which of several readings at the same time is the last.
        windows: Length of windows, such as ``"30min"``, to which the database aggregates the readings, so that fewer
            rows are read. Use the same windows, aggregate and origin afterwards.
        aggregate: Aggregate of these windows: ``"mean"``, ``"sum"``, ``"min"``, ``"max"`` or ``"last"``.
        origin: Where these windows begin, as in ``window``: ``"epoch"`` or a time.
        timeout: Seconds after which a database gives up a statement; by default its own setting.

    Returns:
        The readings, with a report of what was found, repaired and assumed.

    Raises:
        InputError: If the data cannot be read; the message names the file, the line or row, and the column.
        ConfigError: If an option is invalid.

    Examples:
        >>> times = ["2019-01-01 00:00", "2019-01-01 00:05"]
        >>> frame = pl.DataFrame({"Timestamp": times, "n1_pressure": [3.1, float("inf")]})
        >>> data = read_sensors(frame, kind_pattern=r"_(?P<kind>[a-z]+)$", units={"pressure": "m"})
        >>> data.sensors
        (Sensor(id='n1_pressure', kind='pressure', unit='m', categorical=False),)
        >>> print(data.report)
        1 infinite values: set to missing (sensor 'n1_pressure')
        times without a time zone read as UTC
    """
    given = dict(locals())
    if isinstance(source, SensorData):
        return source
    check_types(read_sensors, given)
    options = ReadOptions.of(given)
    require_share("max_loss", max_loss)
    if skip_rows is not None:
        require_integer("skip_rows", skip_rows, least=0, most=MOST_SKIPPED)
    require_zone(options.zone)
    check_format(options.time_format)
    check_signs(options.separator, options.decimal)
    check_encoding(options.encoding)
    check_template(options.name)
    with reported_as(InputError, where=_shown(source)):
        return _read(source, options, kinds=kinds, units=units, pattern=kind_pattern)


def _read(
    source: Any,
    options: ReadOptions,
    *,
    kinds: Kinds | str | Path | None,
    units: Mapping[str, str] | None,
    pattern: KindPattern | None,
) -> SensorData:
    """Read sensor data with options that are checked; ``read_sensors`` documents the arguments."""
    tables = list(_iter_tables(source, options))
    if options.database.given and not any(one.record for one in tables):
        raise ConfigError(
            f"'{options.database.given[0]}' is for databases, but {tables[0].name} is not one",
            hint="leave it out, or pass the URL of a database",
        )
    named = tables[0].name if len(tables) == 1 else f"{len(tables)} sources from {tables[0].name}"
    filled, empty, notes = _assign_roles(tables, options)
    notes = [*note_skipped(source), *notes]
    parts = _type_tables(filled, options)
    notes += _group_notes(parts)
    findings = [finding for part in parts for finding in part.findings] + empty
    for zone in dict.fromkeys(part.zone or options.zone for part in parts if part.naive):
        notes.append(f"times without a time zone read as {zone}")
    _require_same_zones(parts, options)
    found = _find_sensors(parts) | _find_empty_sensors(tables, filled)
    described, more = resolve_kinds(
        {id: kind for id, (_, kind) in found.items()}, kinds=kinds, units=units, pattern=pattern
    )
    if not found or not any(_has_times(part) for part in parts):
        raise InputError(
            "no readings left: no row has both a valid time and a sensor",
            where=named,
            hint="check separator= and time_format=, and the error with on_error='raise'",
        )
    for option in ("categorical", "numeric"):
        _require_known(option, getattr(options, option), [*found, *_columns(filled)], named)
    require_units(units or {}, (Sensor(id, *kind) for id, kind in described.items()), where=named)
    parts, coded = _without_codes(parts, options)
    more += coded
    families = {id: kind or column for id, column in _family_columns(parts, filled) for kind in [described[id][0]]}
    # What has a unit is a quantity, not a state.
    measured = {id for id, (_, unit) in described.items() if unit}
    parts, whole = _find_states(parts, families, measured, options)
    sensors = [Sensor(id, *described[id], categorical=bool(state) or id in whole) for id, (state, _) in found.items()]
    if texts := [id for id, (state, _) in found.items() if state and not options.is_categorical(id)]:
        more.append(f"read as states, since no cell is a number, in {_count_sensors(texts)}: {quote_names(texts)}")
    if whole:
        more.append(
            f"read as states, since they are whole numbers of which few differ, in {_count_sensors(whole)}: "
            f"{quote_names(whole)}"
        )
    _require_known("ignore", options.ignore, [*found, *(name for table in tables for name in table.schema)], named)
    kept = [id for id in found if not options.ignores(id)]
    if not kept:
        raise InputError("every sensor is ignored", where=named, hint="pass fewer names or patterns in ignore=")
    if len(kept) < len(found):
        more.append(f"ignored sensors: {quote_names(id for id in found if options.ignores(id))}")
    records = tuple(table.record for table in tables if table.record)
    report = ReadReport(tuple(findings), tuple(dict.fromkeys([*notes, *more])), sources=records)
    data = _combine(parts, sensors, report, options, named, long=any(r.layout != "wide" for _, r in filled))
    if breaks := _find_breaks(parts):
        data = replace(data, readings=replace(data.readings, breaks=breaks))
    zones = {part.zone for part in parts if part.zone}
    if len(zones) == 1:
        data = replace(data, readings=replace(data.readings, timezone=zones.pop()))
    if lasting := frozenset(id for part in parts if part.table.lasting for id in part.categorical):
        data = replace(data, readings=replace(data.readings, lasting=lasting))
    data = with_rates(data, options.counters)
    return data if len(kept) == len(found) else data.select(kept)


def _count_sensors(ids: Sized) -> str:
    return f"{len(ids)} sensor{'s' * (len(ids) != 1)}"


def _type_tables(filled: Sequence[tuple[SourceTable, Roles]], options: ReadOptions) -> list[TypedTable]:
    """Type all tables; where the order of dates is ambiguous, that of the other tables is used if they agree."""
    parts: dict[int, TypedTable] = {}
    unclear: dict[int, AmbiguousDatesError] = {}
    for k, (table, roles) in enumerate(filled):
        try:
            parts[k] = type_table(table, roles, options, number=k)
        except AmbiguousDatesError as error:
            unclear[k] = error
    orders = {part.order for part in parts.values() if part.order}
    for k, ambiguous in unclear.items():
        if len(orders) != 1:
            raise ambiguous
        given = replace(options, time_format=next(iter(orders)))
        part = type_table(*filled[k], given, number=k)
        parts[k] = replace(
            part, notes=(*part.notes, f"{ambiguous.example} read {given.time_format}, as in other files")
        )
    return [_held(parts[k]) for k in range(len(filled))]


def _held(part: TypedTable) -> TypedTable:
    """A table of many columns in memory, typed once, and not again for each question about some of them."""
    if not (part.wide and part.table.in_memory and len(part.categorical) > MOST_COLUMNS):
        return part
    return replace(part, frame=collect(part.frame, source=part.table.name).lazy())


def _group_notes(parts: Sequence[TypedTable]) -> list[str]:
    """Return each note once, with its source or the number of its sources."""
    places: dict[str, list[str]] = {}
    for part in parts:
        for note in part.notes:
            places.setdefault(note, []).append(part.table.name)
    return [f"{at[0] if len(at) == 1 else f'{len(at)} sources'}: {note}" for note, at in places.items()]


def _shown(source: Any) -> str | None:
    """Return a path, or a URL without credentials and options, as it may stand in a message."""
    if not isinstance(source, (str, Path)):
        return None
    text = str(source)
    if isinstance(source, str) and "://" in text:
        scheme, _, rest = text.partition("://")
        text = f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
    return quote(text)[1:-1]


def _iter_tables(source: Any, options: ReadOptions) -> Iterable[SourceTable]:
    if (read := database_reader(source)) is not None:
        yield from read(source, options)
    elif isinstance(source, (str, Path)):
        for path in find_paths(source):
            yield from read_tables(path, options)
    elif isinstance(source, (list, tuple)):
        if not source:
            raise InputError("the list of sources is empty", hint="pass at least one path or frame")
        for item in source:
            yield from _iter_tables(item, options)
    else:
        yield table_from_frame(source)


def _assign_roles(
    tables: Sequence[SourceTable], options: ReadOptions
) -> tuple[list[tuple[SourceTable, Roles]], list[Finding], list[str]]:
    """Return the tables that have rows, with their roles; empty tables raise, or are counted when repairing."""
    filled, empty, notes = [], [], []
    step, days = parse_duration(options.step) if options.step else 0, 0
    skipped: InputError | None = None
    for table in tables:
        is_empty = not table.schema or not _has_rows(table)
        if is_empty and not (table.sheet and options.sheet is None):
            if options.on_error == "raise":
                hint = (
                    "leave it out, or pass on_error='repair'" if len(tables) > 1 else "check that it is the right file"
                )
                raise table.failure("no rows", hint)
            empty.append(Finding("empty-file", 1, where=table.name))
        if is_empty:
            if table.sheet and options.sheet is None:
                notes.append(f"{table.name}: empty, skipped")
            continue
        require_plain_names(table)
        table, chosen = join_clock(reshape(table, options), options)
        try:
            if step and _lacks_time(table, chosen):
                table, days = with_steps(table, step, days)
            roles = find_roles(table, chosen, alone=len(tables) == 1)
        except NotDataError as error:
            if not table.sheet or options.sheet is not None:
                raise
            # Workbooks have cover pages: unless sheets are named, only those with a time column are data.
            skipped = skipped or error
            notes.append(f"{table.name}: no {error.lacks}, skipped")
            continue
        except InputError as error:
            if table.sheet and options.sheet is None and len(tables) > 1:
                advice = "pass the sheets to read with sheet=[...]"
                hint = f"{error.hint}; or {advice}" if error.hint else advice
                raise InputError(error.message, where=error.where, hint=hint) from error
            raise
        if table.error is not None:
            raise table.error
        filled.append((table, roles))
    filled = [(table, _as_file(roles)) for table, roles in filled] if _are_points(filled) else filled
    if not filled and skipped:
        raise skipped
    if not filled:
        names = quote_names(table.name for table in tables)
        raise InputError(f"no readings in {names}", hint="check that these are the right files")
    return filled, empty, notes


def _are_points(filled: Sequence[tuple[SourceTable, Roles]]) -> bool:
    """Return whether each of several files holds one sensor under the same name, at the same times: a file per point.

    Files of one sensor at other times do not overlap.
    """
    names = {roles.sensors for table, roles in filled if roles.layout == "wide" and table.title and table.in_memory}
    if len(filled) < 2 or len(names) != 1 or len(next(iter(names))) != 1:
        return False
    if any(roles.layout != "wide" or not table.in_memory for table, roles in filled):
        return False
    if len({table.title for table, _ in filled}) < len(filled):
        return False
    firsts = [
        collect(table.frame.select(pl.col(roles.time).cast(pl.String)).head(1), source=table.name).item()
        for table, roles in filled
    ]
    return len(set(firsts)) == 1


def _as_file(roles: Roles) -> Roles:
    return Roles("files", roles.time, value=roles.sensors[0], ignored=roles.ignored, asides=roles.asides)


def _lacks_time(table: SourceTable, options: ReadOptions) -> bool:
    try:
        find_roles(table, options)
    except NoReadingsError:
        return False
    except NotDataError:
        return options.time == "auto"
    except InputError:
        return False
    return False


def _has_rows(table: SourceTable) -> bool:
    if not table.in_memory and not table.title:
        return True  # the query of a caller's lazy frame may be expensive
    return collect(table.frame.head(1), source=table.name).height > 0


def _has_times(part: TypedTable) -> bool:
    return not part.table.in_memory or collect(part.frame.head(1), source=part.table.name).height > 0


def _require_same_zones(parts: Sequence[TypedTable], options: ReadOptions) -> None:
    """Raise if some files have a time zone, others have not, and none is given."""
    naive = [part for part in parts if part.naive and not part.zone]
    if options.timezone is None and options.on_error == "raise" and 0 < len(naive) < len(parts):
        zoned = next(part for part in parts if not part.naive)
        raise naive[0].table.failure(
            f"times have no time zone, but those of {zoned.table.name} have", "pass timezone= for the times without one"
        )


def _find_sensors(parts: Sequence[TypedTable]) -> dict[str, tuple[bool | None, tuple[str, str]]]:
    """Return whether each sensor reads states, and the kind and unit that the source gives."""
    found: dict[str, tuple[bool | None, tuple[str, str]]] = {}
    origin: dict[str, TypedTable] = {}
    for part in parts:
        of_table = (part.table.kind, part.table.unit)
        for id, state in part.categorical.items():
            own = part.table.kinds.get(id, of_table)
            own = own if own[1] else (own[0], unit_of_name(id))
            known, kind = found.get(id, (None, own))
            if kind[0] == own[0] and "" in (kind[1], own[1]):  # some files have units, others have not
                kind = own = (own[0], kind[1] or own[1])
            first = origin.setdefault(id, part)
            if kind != own:
                raise part.table.failure(
                    f"sensor {quote(id)} has another kind in {first.table.name}",
                    "distinguish them with name='{column}_{kind}'",
                )
            if None not in (known, state) and known != state:
                raise part.table.failure(
                    f"sensor {quote(id)} reads {'states' if state else 'numbers'} here and "
                    f"{'states' if known else 'numbers'} in {first.table.name}",
                    f"pass categorical=[{quote(id)}], or distinguish them with name='{{file}}/{{column}}'",
                )
            found[id] = (state if known is None else known, kind)
    return found


def _find_empty_sensors(
    tables: Sequence[SourceTable], filled: Sequence[tuple[SourceTable, Roles]]
) -> dict[str, tuple[bool | None, tuple[str, str]]]:
    """Return the sensors of files without rows, if there is one file per sensor."""
    one_each = all(roles.layout == "files" for _, roles in filled)
    used = {table.name for table, _ in filled}
    return {table.title: (None, ("", "")) for table in tables if one_each and table.name not in used}


def _columns(filled: Sequence[tuple[SourceTable, Roles]]) -> list[str]:
    return [name for _, roles in filled for name in roles.sensors]


def _require_known(option: str, patterns: Iterable[str], names: Iterable[str], where: str) -> None:
    """Raise if a name or pattern in an option matches nothing: it is misspelt."""
    known = list(dict.fromkeys(names))
    unknown = [name for name in sorted(patterns) if name not in known and not fnmatch.filter(known, name)]
    if unknown:
        raise InputError(
            f"{option} contains {quote_names(unknown)}, but no column or sensor has this name",
            where=where,
            hint=nearest(unknown[0], known),
        )


def _family_columns(
    parts: Sequence[TypedTable], filled: Sequence[tuple[SourceTable, Roles]]
) -> Iterable[tuple[str, str]]:
    """Yield each sensor with its column, if the column is not its id: the same column of several files is one kind."""
    for part, (_, roles) in zip(parts, filled, strict=True):
        columns = roles.sensors if roles.layout == "wide" else [""] * len(part.categorical)
        yield from ((id, "" if id == name else name) for id, name in zip(part.categorical, columns, strict=True))


def _without_codes(parts: list[TypedTable], options: ReadOptions) -> tuple[list[TypedTable], list[str]]:
    """Leave out the numbers that several sensors write where there is no reading, and say so."""
    codes = find_codes(parts, {id for part in parts for id, state in part.categorical.items() if state is False})
    if not options.codes:
        return parts, codes.notes({}, removed=False)
    made, counts = [], dict[float, int]()
    for part in parts:
        kept, found = codes.without(part)
        made.append(kept)
        for code, count in found.items():
            counts[code] = counts.get(code, 0) + count
    return made, codes.notes(counts, removed=True)


def _find_states(
    parts: list[TypedTable], families: Mapping[str, str], measured: set[str], options: ReadOptions
) -> tuple[list[TypedTable], list[str]]:
    """Read few different whole numbers as states, unless they are numbers by the word of the user; return which."""
    ids = list(dict.fromkeys(id for part in parts for id, state in part.categorical.items() if state is False))
    open_ids = [id for id in ids if not (id in measured or options.is_numeric(id) or options.ignores(id))]
    found = find_few_values(parts, open_ids)
    chosen = choose_states(found, families)
    return [read_as_states(part, chosen) for part in parts], [id for id in ids if id in chosen]


def _combine(
    parts: Sequence[TypedTable],
    sensors: Sequence[Sensor],
    report: ReadReport,
    options: ReadOptions,
    where: str,
    *,
    long: bool,
) -> SensorData:
    states = {sensor.id for sensor in sensors if sensor.categorical}
    in_memory = any(part.table.in_memory for part in parts)
    frames = [_to_long(part, states) if long else _align_types(part, states) for part in parts]
    if in_memory:
        frames = [_add_origin(part, frame, k) for k, (part, frame) in enumerate(zip(parts, frames, strict=True))]
    if long:
        if len({frame.collect_schema()["sensor"] for frame in frames}) > 1:
            frames = [frame.with_columns(pl.col("sensor").cast(pl.String)) for frame in frames]
        frames = [pl.concat(frames, how="diagonal") if len(frames) > 1 else frames[0]]
    ready = [frame.collect() for frame in frames] if in_memory else frames
    hint = KEEP_LAST_OR_RENAME if len(parts) > 1 else KEEP_LAST
    common: Any = {
        "sensors": sensors,
        "report": report,
        "on_error": options.on_error,
        "max_loss": options.max_loss,
        "source": where,
        "place": lambda source, row: parts[source].table.at(row),
        "hint": next((f"{part.hint}; {hint}" for part in parts if part.hint), hint),
    }
    return SensorData.from_long(ready[0], **common) if long else SensorData.from_wide(ready, **common)


def _find_breaks(parts: Sequence[TypedTable]) -> tuple[tuple[int, int], ...]:
    """Return when the separate runs end and begin that wide tables in memory hold."""
    if len(parts) < 2 or not all(part.wide and part.table.in_memory for part in parts):
        return ()
    times = (collect(part.frame.select("time"), source=part.table.name)["time"] for part in parts)
    return find_breaks(cells.drop_nulls().to_physical().to_numpy() for cells in times)


def _align_types(part: TypedTable, states: set[str]) -> pl.LazyFrame:
    """Cast sensors without readings here to strings if they read states in another source."""
    casts = [pl.col(id).cast(pl.String) for id, state in part.categorical.items() if state is None and id in states]
    return part.frame.with_columns(casts) if casts else part.frame


def _to_long(part: TypedTable, states: set[str]) -> pl.LazyFrame:
    if not part.wide:
        unnamed = any(finding.what == "no-sensor" for finding in part.findings)
        return part.frame.filter(pl.col("sensor").is_not_null()) if unnamed else part.frame
    index = ["time", *(name for name in ORIGIN if part.table.in_memory)]
    pieces = []
    for column, ids in (
        ("value", [id for id in part.categorical if id not in states]),
        ("state", [id for id in part.categorical if id in states]),
    ):
        if ids:
            wide = _align_types(part, states).select(*index, *ids)
            pieces.append(wide.unpivot(ids, index=index, variable_name="sensor", value_name=column))
    frame = pl.concat(pieces, how="diagonal")
    return frame if "value" in frame.collect_schema() else frame.with_columns(pl.lit(None, pl.Float64).alias("value"))


def _add_origin(part: TypedTable, frame: pl.LazyFrame, number: int) -> pl.LazyFrame:
    if part.table.in_memory:
        return frame
    row = pl.int_range(pl.len(), dtype=pl.UInt32).alias("_row")
    return frame.with_columns(row, pl.lit(number, dtype=pl.UInt16).alias("_source"))
