"""From columns as they stand to typed readings: times in UTC, numbers as numbers, everything else as states.

One table in, one typed table out, wide or long, lazy where the source is lazy. Sorting, repetitions and gaps are
the business of ``SensorData``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from thence.errors import ConfigError, InputError
from thence.readings.cleaning import quoted, require_ids, require_readings
from thence.readings.findings import Finding
from thence.readings.name_codes import distinct_names
from thence.readings.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, Roles, plain_name
from thence.readings.readers.table import Options, Table
from thence.readings.readers.times import TimeReader, time_reader
from thence.readings.scanning import collect

__all__ = ["TypedTable", "typed"]

SAMPLE_ROWS = 10_000
COUNTS = ("given", "numbers")
# Figures that the decimal sign does not explain (1.234,5) are a misunderstanding, not a state.
NUMERALS = re.compile(r"[+-]?\d[\d.,' ]*")


@dataclass(frozen=True)
class TypedTable:
    """Readings of one table: ``time``, then a column per sensor (wide) or ``sensor``, ``value``, ``state`` (long)."""

    frame: pl.LazyFrame
    wide: bool
    categorical: dict[str, bool | None]
    """Per sensor whether it reads states; ``None`` where there is no reading to tell."""
    table: Table
    naive: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def typed(table: Table, roles: Roles, options: Options, *, number: int) -> TypedTable:
    """The typed readings of a table; ``number`` is its place among the sources."""
    reader = _reader(table, roles, options)
    if roles.layout == "long":
        if options.sensor is None:
            _require_one_id(table, roles, options, reader)
        columns, categorical, findings = _long_columns(table, roles, options)
    else:
        columns, categorical, findings = _wide_columns(table, roles, options)
    frame, more = _with_time(table, roles, options, reader, columns, number)
    notes = [*table.notes, *reader.notes]
    if roles.ignored:
        notes.append(f"columns ignored: {quoted(roles.ignored)}")
    found = [*table.findings, *findings, *more]
    return TypedTable(frame, roles.layout != "long", categorical, table, reader.naive, tuple(found), tuple(notes))


def _reader(table: Table, roles: Roles, options: Options) -> TimeReader:
    column = pl.col(roles.time)
    if table.schema[roles.time].is_numeric():
        sample = table.frame.select(pl.concat([column.min(), column.max()]))
    else:
        sample = table.frame.select(column) if table.in_memory else table.frame.select(column).head(SAMPLE_ROWS)
    cells = collect(sample, source=table.name).to_series()
    return time_reader(roles.time, cells, options, where=table.name, complete=table.in_memory)


def _with_time(
    table: Table, roles: Roles, options: Options, reader: TimeReader, columns: Sequence[pl.Expr], number: int
) -> tuple[pl.LazyFrame, list[Finding]]:
    if not table.in_memory:
        return table.frame.select(reader.expr.alias("time"), *columns), []
    origin = [pl.int_range(pl.len(), dtype=pl.UInt32).alias("_row"), pl.lit(number, dtype=pl.UInt16).alias("_source")]
    frame = collect(table.frame.select(reader.expr.alias("time"), *columns, *origin), source=table.name)
    findings = []
    if reader.n_naive_among_zoned:
        findings.append(Finding("naive-time", reader.n_naive_among_zoned, where=table.name))
    if options.on_error == "repair" and reader.naive and (twice := _twice(table, options, reader)):
        findings.append(Finding("twice-time", twice, where=table.name))
    if lost := frame["time"].null_count():
        if options.on_error == "raise":
            raise _bad_time(table, roles, options, reader, int(frame["time"].is_null().arg_true()[0]))
        findings.append(Finding("bad-time", lost, where=table.name))
        frame = frame.filter(pl.col("time").is_not_null())
    return frame.lazy(), findings


def _twice(table: Table, options: Options, reader: TimeReader) -> int:
    if options.zone == "UTC":
        return 0
    zone = options.zone
    early, strict = (
        reader.plain.dt.replace_time_zone(zone, ambiguous=how, non_existent="null") for how in ("earliest", "null")
    )
    return int(collect(table.frame.select((early.is_not_null() & strict.is_null()).sum()), source=table.name).item())


def _bad_time(table: Table, roles: Roles, options: Options, reader: TimeReader, row: int) -> InputError:
    raw, plain = collect(
        table.frame.slice(row, 1).select(pl.col(roles.time), reader.plain.alias("_plain")), source=table.name
    ).row(0)
    leave_out = "on_error='repair' leaves the row out"
    if raw is None:
        return InputError(f"column '{roles.time}' has no time here", where=table.at(row), hint=leave_out)
    if plain is not None:
        return InputError(
            f"column '{roles.time}': {plain} does not exist, or exists twice, in the zone {options.zone}",
            where=table.at(row),
            hint="give the zone the clock really ran in, e.g. timezone='UTC', or on_error='repair'",
        )
    return InputError(
        f"column '{roles.time}': '{raw}' is not a time", where=table.at(row), hint=f"give time_format, or {leave_out}"
    )


def _wide_columns(
    table: Table, roles: Roles, options: Options
) -> tuple[list[pl.Expr], dict[str, bool | None], list[Finding]]:
    sources = roles.sensors if roles.layout == "wide" else (roles.value,)
    texts = [name for name in sources if _is_text(table.schema[name])]
    counts = _text_counts(table, texts, options)
    expressions, categorical, findings = [], {}, []
    for name in sources:
        id = _sensor_id(table, name if roles.layout == "wide" else table.title, options, one=roles.layout == "files")
        require_ids([id], table.name)
        if id in categorical:
            raise InputError(f"two columns become the sensor '{id}'", where=table.name, hint="change name=")
        dtype = table.schema[name]
        state: bool | None
        if {id, name} & options.categorical:
            state = True
        elif name in texts:
            given, numbers = counts[name]
            state = _decide(given, numbers, id, partial(_first_text, table, name, options), table, options)
            if state is False and given > numbers:
                findings.append(Finding("not-a-number", given - numbers, id, table.name))
        else:
            state = _state_of_type(dtype, name, table)
        cell = _state(name, dtype, options, table.decimal) if state else _number(name, dtype, options, table.decimal)
        expressions.append(cell.alias(id))
        categorical[id] = state
    return expressions, categorical, findings


def _long_columns(
    table: Table, roles: Roles, options: Options
) -> tuple[list[pl.Expr], dict[str, bool | None], list[Finding]]:
    dtype = table.schema[roles.value]
    sensor, template = pl.col(roles.sensor), _template(table, options)
    is_text = _is_text(dtype)
    counts: dict[str, tuple[int, int]] = {}
    if is_text:
        cells = _cell_counts(roles.value, options, table.decimal, dtype)
        found = collect(table.frame.group_by(sensor.cast(pl.String).alias("sensor")).agg(cells), source=table.name)
        counts = {name: (given, numbers) for name, given, numbers in found.iter_rows()}
        names: list[str | None] = sorted(counts, key=lambda name: name or "")
    else:
        names = distinct_names(table.frame, roles.sensor, source=table.name)
    categorical: dict[str, bool | None] = {}
    findings = []
    raw_names = [name for name in names if name is not None and name.strip()]
    if len(raw_names) < len(names):
        findings.append(_nameless(table, roles, options))
    for raw in raw_names:
        id = template.format(raw.strip())
        require_ids([id], table.name)
        if id in options.categorical:
            state: bool | None = True
        elif is_text:
            given, numbers = counts[raw]
            first_text = partial(_first_text, table, roles.value, options, sensor.cast(pl.String) == raw)
            state = _decide(given, numbers, id, first_text, table, options)
            if state is False and given > numbers:
                findings.append(Finding("not-a-number", given - numbers, id, table.name))
        else:
            state = _state_of_type(dtype, roles.value, table)
        categorical[id] = state if categorical.get(id) is None else categorical[id] or state
    name = sensor.cast(pl.String) if not _is_text(table.schema[roles.sensor]) else sensor
    if any(raw != raw.strip() for raw in raw_names) or len(raw_names) < len(names):
        name = name.cast(pl.String).str.strip_chars().replace("", None)
    if template != "{}":
        name = pl.format(template, name.cast(pl.String))
    columns = [name.alias("sensor"), _number(roles.value, dtype, options, table.decimal).alias("value")]
    if states := [id for id, is_state in categorical.items() if is_state]:
        of_state = name.cast(pl.String).is_in(states)
        columns[1] = pl.when(~of_state).then(columns[1]).alias("value")
        columns.append(pl.when(of_state).then(_state(roles.value, dtype, options, table.decimal)).alias("state"))
    return columns, categorical, findings


def _require_one_id(table: Table, roles: Roles, options: Options, reader: TimeReader) -> None:
    """Where two columns name sensors, one of them must tell apart all that read at the same time or by turns.

    A name that changed for good, or a remark at some readings, makes no second sensor.
    """
    naming = (*SENSOR_NAMES, *OTHER_SENSOR_NAMES, "measurement")
    for other in roles.ignored:
        if other in options.ignore or plain_name(other) not in naming:
            continue
        named = table.frame.select(
            pl.col(roles.sensor).alias("sensor"), pl.col(other).alias("other"), reader.expr.alias("time")
        )
        pairs = _named(collect(named.select("sensor", "other").unique(), source=table.name)).unique()
        one, both = pairs["sensor"].n_unique(), pairs.height
        if both > one and _overlap(named, table.name):
            raise InputError(
                f"'{roles.sensor}' and '{other}' name {both:,} sensors together, '{roles.sensor}' alone {one:,}",
                where=table.name,
                hint=f"join them into one column, or give sensor='{roles.sensor}' or sensor='{other}'",
            )


def _named(pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs of names of which neither is empty, without spaces around them."""
    texts = pl.col("sensor", "other").cast(pl.String).str.strip_chars()
    return pairs.with_columns(texts).filter(pl.all_horizontal(pl.col("sensor", "other") != ""))


def _overlap(named: pl.LazyFrame, source: str) -> bool:
    """Whether a sensor goes by two other names within the same span of time."""
    first, last = pl.col("time").min().alias("first"), pl.col("time").max().alias("last")
    spans = _named(collect(named.group_by("sensor", "other").agg(first, last), source=source))
    spans = spans.group_by("sensor", "other").agg(pl.min("first"), pl.max("last")).drop_nulls().sort("sensor", "first")
    again = (pl.col("sensor") == pl.col("sensor").shift()) & (pl.col("first") <= pl.col("last").shift())
    return bool(spans.select(again.any()).item())


def _nameless(table: Table, roles: Roles, options: Options) -> Finding:
    """Rows of a long table without a sensor: the first is an error, or all are counted."""
    empty = pl.col(roles.sensor).cast(pl.String).str.strip_chars().replace("", None).is_null()
    if options.on_error == "raise":
        row = int(collect(table.frame.select(empty.arg_true().first()), source=table.name).item())
        raise InputError(
            f"column '{roles.sensor}' names no sensor here",
            where=table.at(row),
            hint="give on_error='repair' to leave such rows out",
        )
    return Finding(
        "no-sensor", int(collect(table.frame.select(empty.sum()), source=table.name).item()), where=table.name
    )


def _decide(
    given: int, numbers: int, id: str, first_text: Callable[[], tuple[int, str]], table: Table, options: Options
) -> bool | None:
    """Whether a column of texts holds states (no numbers) or numbers (nothing else, or repaired)."""
    if given == 0:
        return None
    if numbers == given or (numbers and options.on_error == "repair" and 2 * numbers >= given):
        return False
    row, cell = first_text()
    if numbers == 0 and not NUMERALS.fullmatch(cell):
        return True
    raise InputError(
        f"column '{id}': '{cell}' is not a number, as {numbers:,} of its {given:,} cells are",
        where=table.at(row),
        hint=f"give categorical=['{id}'] if these are states, missing=['{cell}', ...] if it stands for no reading, "
        "decimal=',' for decimal commas, or on_error='repair'",
    )


def _first_text(table: Table, name: str, options: Options, where: pl.Expr | None = None) -> tuple[int, str]:
    text = _clean(name, table.schema[name], options, table.decimal)
    bad = text.is_not_null() & _parsed(text, table.decimal).is_null()
    if where is not None:
        bad &= where
    query = table.frame.select(pl.int_range(pl.len()).alias("row"), text.alias("cell"), bad.alias("bad"))
    row, cell = collect(query.filter("bad").head(1).select("row", "cell"), source=table.name).row(0)
    return int(row), str(cell)


def _text_counts(table: Table, names: Sequence[str], options: Options) -> dict[str, tuple[int, int]]:
    if not names:
        return {}
    cells = []
    for k, name in enumerate(names):
        given, numbers = _cell_counts(name, options, table.decimal, table.schema[name])
        cells += [given.alias(f"{k} given"), numbers.alias(f"{k} numbers")]
    row = collect(table.frame.select(cells), source=table.name).row(0)
    return {name: (int(row[2 * k]), int(row[2 * k + 1])) for k, name in enumerate(names)}


def _cell_counts(name: str, options: Options, decimal: str, dtype: pl.DataType) -> list[pl.Expr]:
    text = _clean(name, dtype, options, decimal)
    return [
        text.is_not_null().sum().alias(COUNTS[0]),
        _parsed(text, decimal).is_not_null().sum().alias(COUNTS[1]),
    ]


def _clean(name: str, dtype: pl.DataType, options: Options, decimal: str) -> pl.Expr:
    """Text without spaces around it; null where it stands for no reading."""
    text = pl.col(name) if dtype == pl.String else pl.col(name).cast(pl.String)
    text = text.str.strip_chars()
    gone = text.is_in(list({"", *options.missing}))
    if numbers := options.missing_numbers(decimal):
        gone |= _parsed(text, decimal).is_in(numbers).fill_null(False)
    return pl.when(~gone).then(text)


def _parsed(text: pl.Expr, decimal: str) -> pl.Expr:
    if decimal == ",":
        # A point in a file with decimal commas groups thousands or is a slip; neither is a number.
        text = pl.when(~text.str.contains(".", literal=True)).then(text.str.replace(",", ".", literal=True))
    return text.cast(pl.Float64, strict=False)


def _number(name: str, dtype: pl.DataType, options: Options, decimal: str) -> pl.Expr:
    if _is_text(dtype):
        return _parsed(_clean(name, dtype, options, decimal), decimal)
    number = pl.col(name).cast(pl.Float64, strict=False)
    missing = options.missing_numbers(".")
    if dtype == pl.Float32:
        missing += pl.Series(missing, dtype=pl.Float32).cast(pl.Float64).to_list()  # -999.9 is not -999.9 there
    return pl.when(~number.is_in(missing)).then(number) if missing else number


def _state(name: str, dtype: pl.DataType, options: Options, decimal: str) -> pl.Expr:
    if _is_text(dtype):
        return _clean(name, dtype, options, decimal)
    if not dtype.is_numeric():
        return pl.col(name).cast(pl.String)
    number = _number(name, dtype, options, decimal)
    if dtype.is_integer():
        return pl.when(number.is_not_null()).then(pl.col(name).cast(pl.String))
    number = pl.when(number.is_finite()).then(number)
    whole = number.round() == number
    return pl.when(whole).then(number.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(number.cast(pl.String))


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum)


def _state_of_type(dtype: pl.DataType, name: str, table: Table) -> bool | None:
    require_readings(name, dtype, table.name)
    return None if dtype == pl.Null else not dtype.is_numeric()


def _sensor_id(table: Table, column: str, options: Options, *, one: bool) -> str:
    if one and options.name is None:
        return table.title
    return _template(table, options).format(column)


def _template(table: Table, options: Options) -> str:
    """The name of a sensor with ``{}`` where the column's (or the long table's) own name goes."""
    if options.name is None:
        return "{}"
    try:
        filled = options.name.format(column="\0", file=table.title, sheet=table.sheet, kind=table.kind)
    except (KeyError, IndexError, ValueError) as error:
        raise ConfigError(
            f"name='{options.name}' cannot be filled in ({error})", hint="use {column}, {file}, {sheet} and {kind}"
        ) from error
    return filled.replace("{", "{{").replace("}", "}}").replace("\0", "{}")
