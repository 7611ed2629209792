"""Typed columns: times in UTC, numbers as numbers, everything else as states.

One source table becomes one typed table, wide or long, and lazy if the source is lazy. Sorting, duplicates and gaps are
the job of ``SensorData``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from thence.data.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, Roles, plain_name
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readers.times import TimeReader, choose_time_reader
from thence.data.readings.cleaning import quote_names, require_ids, require_reading_type
from thence.data.readings.findings import Finding
from thence.data.readings.frames import collect, is_text
from thence.data.readings.losses import advise_repair, is_small_loss, refuse_large_loss
from thence.data.readings.name_codes import distinct_names
from thence.data.readings.spelling import spell_states, spell_texts
from thence.errors import ConfigError, InputError, quote

__all__ = ["TypedTable", "type_table"]

SAMPLE_ROWS = 10_000
TEXT_IN = "\0text in "
COUNTS = ("given", "numbers")
# Digits that the decimal sign does not explain (1.234,5) are an error, not a state.
NUMERALS = re.compile(r"[+-]?\d[\d.,' ]*")


@dataclass(frozen=True)
class TypedTable:
    """The readings of one table.

    Args:
        frame: ``time``, then one column per sensor (wide) or ``sensor``, ``value`` and ``state`` (long).
        wide: Whether the layout is wide.
        categorical: Whether each sensor reads states; ``None`` if it has no reading.
        table: The source table.
        naive: Whether the time zone of some times was assumed.
        findings: What was found.
        notes: Notes for the report.
        order: Order of the numbers of the dates, if the dates leave no doubt about it.
    """

    frame: pl.LazyFrame
    wide: bool
    categorical: dict[str, bool | None]
    table: SourceTable
    naive: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    order: str = ""


def type_table(table: SourceTable, roles: Roles, options: ReadOptions, *, number: int) -> TypedTable:
    """Convert the columns of a table to typed readings.

    Args:
        table: The table.
        roles: The roles of its columns.
        options: The options of ``read_sensors``.
        number: Number of the table among the sources.
    """
    reader = _choose_reader(table, roles, options)
    if roles.layout == "long":
        if options.sensor is None:
            _require_one_name_column(table, roles, options, reader)
        columns, categorical, findings = _long_columns(table, roles, options)
    else:
        columns, categorical, findings = _wide_columns(table, roles, options)
    marks = _mark_texts(table, roles, options, categorical, findings) if table.in_memory else []
    frame, more = _with_time(table, roles, options, reader, [*columns, *marks], number)
    if marks:
        findings = _count_kept(frame, findings, long=roles.layout == "long", source=table.name)
        frame = frame.drop(pl.selectors.starts_with(TEXT_IN))
    notes = [*table.notes, *reader.notes]
    if roles.ignored:
        notes.append(f"ignored columns: {quote_names(roles.ignored)}")
    found = [*table.findings, *findings, *more]
    if table.units and roles.layout != "long":
        named = zip(categorical, roles.sensors if roles.layout == "wide" else (roles.value,), strict=True)
        own = {id: (table.kind, table.units[column]) for id, column in named if column in table.units}
        table = replace(table, kinds={**own, **table.kinds})
    return TypedTable(
        frame, roles.layout != "long", categorical, table, reader.naive, tuple(found), tuple(notes), reader.order
    )


def _mark_texts(
    table: SourceTable, roles: Roles, options: ReadOptions, ids: Iterable[str], findings: Sequence[Finding]
) -> list[pl.Expr]:
    """Return columns that say where text in a column of numbers was found."""
    found = {finding.sensor for finding in findings if finding.what == "not-a-number"}
    if not found:
        return []
    if roles.layout == "long":
        return [_text_in_number(table, roles.value, "", options)]
    columns = roles.sensors if roles.layout == "wide" else (roles.value,)
    return [_text_in_number(table, name, id, options) for id, name in zip(ids, columns, strict=True) if id in found]


def _count_kept(frame: pl.LazyFrame, findings: Sequence[Finding], *, long: bool, source: str) -> list[Finding]:
    """Count text in columns of numbers in the rows that were kept: the cells of dropped rows count with their rows."""
    found = {finding.sensor for finding in findings if finding.what == "not-a-number"}
    if long:
        rows = frame.group_by(pl.col("sensor").cast(pl.String)).agg(pl.col(TEXT_IN).sum())
        counts = dict(collect(rows, source=source).iter_rows())
    else:
        names = [f"{TEXT_IN}{id}" for id in found]
        row = collect(frame.select(pl.col(names).sum()), source=source).row(0, named=True)
        counts = {id: row[f"{TEXT_IN}{id}"] for id in found}
    once = [replace(f, count=int(counts.get(f.sensor, 0))) if f.what == "not-a-number" else f for f in findings]
    return [finding for finding in once if finding.count]


def _text_in_number(table: SourceTable, name: str, id: str, options: ReadOptions) -> pl.Expr:
    """Return where a cell is text in a column of numbers, as a column of its own."""
    text = _clean_text(name, table.schema[name], options, table.decimal)
    return (text.is_not_null() & _parse_number(text, table.decimal).is_null()).alias(f"{TEXT_IN}{id}")


def _choose_reader(table: SourceTable, roles: Roles, options: ReadOptions) -> TimeReader:
    column = pl.col(roles.time)
    if table.schema[roles.time].is_numeric():
        sample = table.frame.select(pl.concat([column.min(), column.max()]))
    else:
        sample = table.frame.select(column) if table.in_memory else table.frame.select(column).head(SAMPLE_ROWS)
    cells = collect(sample, source=table.name).to_series()
    rest = None if table.in_memory else table.frame
    return choose_time_reader(roles.time, cells, options, where=table.name, frame=rest)


def _with_time(
    table: SourceTable, roles: Roles, options: ReadOptions, reader: TimeReader, columns: Sequence[pl.Expr], number: int
) -> tuple[pl.LazyFrame, list[Finding]]:
    if not table.in_memory:
        return table.frame.select(reader.expr.alias("time"), *columns), []
    origin = [pl.int_range(pl.len(), dtype=pl.UInt32).alias("_row"), pl.lit(number, dtype=pl.UInt16).alias("_source")]
    frame = collect(table.frame.select(reader.expr.alias("time"), *columns, *origin), source=table.name)
    findings = []
    if reader.n_naive_among_zoned:
        findings.append(Finding("naive-time", reader.n_naive_among_zoned, where=table.name))
    if options.on_error == "repair" and reader.naive and (twice := _count_ambiguous(table, options, reader)):
        findings.append(Finding("twice-time", twice, where=table.name))
    if lost := frame["time"].null_count():
        if options.on_error == "raise":
            row = int(frame["time"].is_null().arg_true()[0])
            raise _bad_time_error(table, roles, options, reader, row, lost, frame.height)
        refuse_large_loss("bad-time", lost, frame.height, max_loss=options.max_loss, where=table.name)
        findings.append(Finding("bad-time", lost, where=table.name))
        frame = frame.filter(pl.col("time").is_not_null())
    return frame.lazy(), findings


def _count_ambiguous(table: SourceTable, options: ReadOptions, reader: TimeReader) -> int:
    if options.zone == "UTC":
        return 0
    zone = options.zone
    early, strict = (
        reader.plain.dt.replace_time_zone(zone, ambiguous=how, non_existent="null") for how in ("earliest", "null")
    )
    return int(collect(table.frame.select((early.is_not_null() & strict.is_null()).sum()), source=table.name).item())


def _bad_time_error(
    table: SourceTable, roles: Roles, options: ReadOptions, reader: TimeReader, row: int, lost: int, total: int
) -> InputError:
    """Return the error for the first of the rows without a usable time."""
    temporal = table.schema[roles.time].is_temporal()
    cell = pl.col(roles.time).to_physical() if temporal else pl.col(roles.time)  # a datetime cannot hold any year
    query = table.frame.slice(row, 1).select(cell, reader.plain.alias("_plain"))
    raw, plain = collect(query, source=table.name).row(0)

    def advise(repair: str) -> str:
        return advise_repair("bad-time", lost, total, max_loss=options.max_loss, repair=repair)

    drop = "pass on_error='repair' to drop the row"
    if raw is None:
        return InputError(f"missing time in column {quote(roles.time)}", where=table.at(row), hint=advise(drop))
    if plain is not None:
        return InputError(
            f"column {quote(roles.time)}: {plain} does not exist or is ambiguous in the time zone {options.zone}",
            where=table.at(row),
            hint="pass the time zone of the clock, for example timezone='UTC', or on_error='repair' to read "
            "ambiguous times as the earlier one and to drop those that do not exist",
        )
    if temporal:
        return InputError(
            f"column {quote(roles.time)} holds a time outside the years 1000 to 9999",
            where=table.at(row),
            hint=advise(drop),
        )
    hint = advise(f"pass time_format, or {drop}")
    if options.time_format is not None and "%Y" in options.time_format:
        hint += "; %Y is a year of four digits, %y one of two"
    if isinstance(raw, str) and (zone := re.search(r"\d ?([A-Z]{2,5})$", raw)):
        hint = f"pass time_format='%Y-%m-%d %H:%M {zone[1]}' or the like, and the time zone as timezone='Europe/Berlin'"
    return InputError(f"column {quote(roles.time)}: {quote(raw)} is not a time", where=table.at(row), hint=hint)


def _wide_columns(
    table: SourceTable, roles: Roles, options: ReadOptions
) -> tuple[list[pl.Expr], dict[str, bool | None], list[Finding]]:
    sources = roles.sensors if roles.layout == "wide" else (roles.value,)
    texts = [name for name in sources if is_text(table.schema[name])]
    counts = _count_texts(table, texts, options)
    expressions, categorical, findings = [], {}, []
    for name in sources:
        id = _sensor_id(table, name if roles.layout == "wide" else table.title, options, one=roles.layout == "files")
        require_ids([id], table.name)
        if id in categorical:
            raise InputError(f"two columns have the sensor id {quote(id)}", where=table.name, hint="change name=")
        dtype = table.schema[name]
        state: bool | None
        if options.is_categorical(id, name):
            state = True
        elif name in texts:
            given, numbers = counts[name]
            state = _is_state(given, numbers, id, partial(_first_text, table, name, options), table, options)
            if state is False and given > numbers:
                findings.append(Finding("not-a-number", given - numbers, id, table.name))
        else:
            state = _is_state_type(dtype, name, table)
        to_cell = _state_expr if state else _number_expr
        expressions.append(to_cell(name, dtype, options, table.decimal).alias(id))
        categorical[id] = state
    return expressions, categorical, findings


def _long_columns(
    table: SourceTable, roles: Roles, options: ReadOptions
) -> tuple[list[pl.Expr], dict[str, bool | None], list[Finding]]:
    dtype = table.schema[roles.value]
    sensor, template = pl.col(roles.sensor), _template(table, options)
    strings = is_text(dtype)
    counts: dict[str, tuple[int, int]] = {}
    if strings:
        cells = _count_exprs(roles.value, options, table.decimal, dtype)
        found = collect(table.frame.group_by(sensor.cast(pl.String).alias("sensor")).agg(cells), source=table.name)
        counts = {name: (given, numbers) for name, given, numbers in found.iter_rows()}
        names: list[str | None] = sorted(counts, key=lambda name: name or "")
    else:
        names = distinct_names(table.frame, roles.sensor, source=table.name)
    categorical: dict[str, bool | None] = {}
    findings = []
    raw_names = [name for name in names if name is not None and name.strip()]
    if len(raw_names) < len(names):
        findings.append(_count_unnamed(table, roles, options))
    for raw in raw_names:
        id = template.format(raw.strip())
        require_ids([id], table.name)
        if options.is_categorical(id):
            state: bool | None = True
        elif strings:
            given, numbers = counts[raw]
            first_text = partial(_first_text, table, roles.value, options, sensor.cast(pl.String) == raw)
            state = _is_state(given, numbers, id, first_text, table, options)
            if state is False and given > numbers:
                findings.append(Finding("not-a-number", given - numbers, id, table.name))
        else:
            state = _is_state_type(dtype, roles.value, table)
        categorical[id] = state if categorical.get(id) is None else categorical[id] or state
    name = sensor.cast(pl.String) if not is_text(table.schema[roles.sensor]) else sensor
    if any(raw != raw.strip() for raw in raw_names) or len(raw_names) < len(names):
        name = name.cast(pl.String).str.strip_chars().replace("", None)
    if template != "{}":
        name = pl.format(template, name.cast(pl.String))
    columns = [name.alias("sensor"), _number_expr(roles.value, dtype, options, table.decimal).alias("value")]
    if states := [id for id, is_state in categorical.items() if is_state]:
        of_state = name.cast(pl.String).is_in(states)
        columns[1] = pl.when(~of_state).then(columns[1]).alias("value")
        columns.append(pl.when(of_state).then(_state_expr(roles.value, dtype, options, table.decimal)).alias("state"))
    return columns, categorical, findings


def _require_one_name_column(table: SourceTable, roles: Roles, options: ReadOptions, reader: TimeReader) -> None:
    """Raise if a second column distinguishes sensors that the sensor column does not.

    It does if a sensor has several names in the second column within the same span of time. A name that changed once,
    or a remark at some readings, does not make a second sensor.
    """
    naming = (*SENSOR_NAMES, *OTHER_SENSOR_NAMES, "measurement")
    for other in roles.ignored:
        if options.ignores(other) or plain_name(other) not in naming:
            continue
        named = table.frame.select(
            pl.col(roles.sensor).alias("sensor"), pl.col(other).alias("other"), reader.expr.alias("time")
        )
        pairs = _drop_unnamed(collect(named.select("sensor", "other").unique(), source=table.name)).unique()
        one, both = pairs["sensor"].n_unique(), pairs.height
        if both > one and _spans_overlap(named, table.name):
            raise InputError(
                f"{quote(roles.sensor)} and {quote(other)} together name {both:,} sensors, "
                f"{quote(roles.sensor)} alone {one:,}",
                where=table.name,
                hint=f"join them into one column, or pass sensor={quote(roles.sensor)} or sensor={quote(other)}",
            )


def _drop_unnamed(pairs: pl.DataFrame) -> pl.DataFrame:
    """Strip the names and drop pairs in which one is empty."""
    texts = pl.col("sensor", "other").cast(pl.String).str.strip_chars()
    return pairs.with_columns(texts).filter(pl.all_horizontal(pl.col("sensor", "other") != ""))


def _spans_overlap(named: pl.LazyFrame, source: str) -> bool:
    """Return whether a sensor has two other names within the same span of time."""
    first, last = pl.col("time").min().alias("first"), pl.col("time").max().alias("last")
    spans = _drop_unnamed(collect(named.group_by("sensor", "other").agg(first, last), source=source))
    spans = spans.group_by("sensor", "other").agg(pl.min("first"), pl.max("last")).drop_nulls().sort("sensor", "first")
    again = (pl.col("sensor") == pl.col("sensor").shift()) & (pl.col("first") <= pl.col("last").shift())
    return bool(spans.select(again.any()).item())


def _count_unnamed(table: SourceTable, roles: Roles, options: ReadOptions) -> Finding:
    """Count the rows without a sensor name; raise at the first one unless repairing."""
    empty = pl.col(roles.sensor).cast(pl.String).str.strip_chars().replace("", None).is_null()
    counts = table.frame.select(empty.arg_true().first(), empty.sum().alias("lost"), pl.len().alias("rows"))
    row, lost, rows = collect(counts, source=table.name).row(0)
    if options.on_error == "raise":
        drop = "pass on_error='repair' to drop such rows"
        raise InputError(
            f"missing sensor name in column {quote(roles.sensor)}",
            where=table.at(row),
            hint=advise_repair("no-sensor", lost, rows, max_loss=options.max_loss, repair=drop),
        )
    refuse_large_loss("no-sensor", lost, rows, max_loss=options.max_loss, where=table.name)
    return Finding("no-sensor", lost, where=table.name)


def _is_state(
    given: int,
    numbers: int,
    id: str,
    first_text: Callable[[], tuple[int, str]],
    table: SourceTable,
    options: ReadOptions,
) -> bool | None:
    """Return whether a column of strings holds states (no numbers) or numbers (nothing else, or repaired)."""
    if given == 0:
        return None
    if numbers == given:
        return False
    if numbers and options.on_error == "repair" and 2 * numbers >= given:
        place = f"{table.name}, column {quote(id)}"
        refuse_large_loss("not-a-number", given - numbers, given, max_loss=options.max_loss, where=place)
        return False
    row, cell = first_text()
    if numbers == 0 and not NUMERALS.fullmatch(cell):
        return True
    raise InputError(
        f"column {quote(id)}: {quote(cell)} is not a number, but {numbers:,} of its {given:,} cells are",
        where=table.at(row),
        hint=f"pass categorical=[{quote(id)}] if these are states, missing=[{quote(cell)}, ...] if it means a missing "
        "reading, decimal=',' for decimal commas"
        + (", or on_error='repair'" if is_small_loss(given - numbers, given, options.max_loss) else ""),
    )


def _first_text(table: SourceTable, name: str, options: ReadOptions, where: pl.Expr | None = None) -> tuple[int, str]:
    text = _clean_text(name, table.schema[name], options, table.decimal)
    bad = text.is_not_null() & _parse_number(text, table.decimal).is_null()
    if where is not None:
        bad &= where
    query = table.frame.select(pl.int_range(pl.len()).alias("row"), text.alias("cell"), bad.alias("bad"))
    row, cell = collect(query.filter("bad").head(1).select("row", "cell"), source=table.name).row(0)
    return int(row), str(cell)


def _count_texts(table: SourceTable, names: Sequence[str], options: ReadOptions) -> dict[str, tuple[int, int]]:
    if not names:
        return {}
    cells = []
    for k, name in enumerate(names):
        given, numbers = _count_exprs(name, options, table.decimal, table.schema[name])
        cells += [given.alias(f"{k} given"), numbers.alias(f"{k} numbers")]
    row = collect(table.frame.select(cells), source=table.name).row(0)
    return {name: (int(row[2 * k]), int(row[2 * k + 1])) for k, name in enumerate(names)}


def _count_exprs(name: str, options: ReadOptions, decimal: str, dtype: pl.DataType) -> list[pl.Expr]:
    text = _clean_text(name, dtype, options, decimal)
    return [
        text.is_not_null().sum().alias(COUNTS[0]),
        _parse_number(text, decimal).is_not_null().sum().alias(COUNTS[1]),
    ]


def _clean_text(name: str, dtype: pl.DataType, options: ReadOptions, decimal: str) -> pl.Expr:
    """Strip the strings; null where they mean a missing reading."""
    text = pl.col(name) if dtype == pl.String else pl.col(name).cast(pl.String)
    text = text.str.strip_chars()
    gone = text.is_in(list({"", *options.missing}))
    if numbers := options.missing_numbers(decimal):
        gone |= _parse_number(text, decimal).is_in(numbers).fill_null(False)
    return pl.when(~gone).then(text)


def _parse_number(text: pl.Expr, decimal: str) -> pl.Expr:
    if decimal == ",":
        # A point in a file with decimal commas separates thousands or is a typing error: not a number.
        text = pl.when(~text.str.contains(".", literal=True)).then(text.str.replace(",", ".", literal=True))
    return text.cast(pl.Float64, strict=False)


def _number_expr(name: str, dtype: pl.DataType, options: ReadOptions, decimal: str) -> pl.Expr:
    if is_text(dtype):
        return _parse_number(_clean_text(name, dtype, options, decimal), decimal)
    number = pl.col(name).cast(pl.Float64, strict=False)
    missing = options.missing_numbers(".")
    if dtype == pl.Float32:
        missing += pl.Series(missing, dtype=pl.Float32).cast(pl.Float64).to_list()  # -999.9 has another value there
    return pl.when(~number.is_in(missing)).then(number) if missing else number


def _state_expr(name: str, dtype: pl.DataType, options: ReadOptions, decimal: str) -> pl.Expr:
    if is_text(dtype):
        return spell_texts(_clean_text(name, dtype, options, decimal), decimal=decimal)
    if not dtype.is_numeric():
        return spell_states(name, dtype)
    number = _number_expr(name, dtype, options, decimal)
    return pl.when(number.is_not_null()).then(spell_states(name, dtype))


def _is_state_type(dtype: pl.DataType, name: str, table: SourceTable) -> bool | None:
    require_reading_type(name, dtype, table.name)
    return None if dtype == pl.Null else not dtype.is_numeric()


def _sensor_id(table: SourceTable, column: str, options: ReadOptions, *, one: bool) -> str:
    if one and options.name is None:
        return table.title
    return _template(table, options).format(column)


def _template(table: SourceTable, options: ReadOptions) -> str:
    """Return the template of a sensor id, with ``{}`` for the name of the column or of the sensor in a long table."""
    if options.name is None:
        return "{}"
    try:
        filled = options.name.format(column="\0", file=table.title, sheet=table.sheet, kind=table.kind)
    except (KeyError, IndexError, ValueError) as error:
        raise ConfigError(
            f"invalid name='{options.name}' ({error})", hint="use {column}, {file}, {sheet} and {kind}"
        ) from error
    return filled.replace("{", "{{").replace("}", "}}").replace("\0", "{}")
