"""Typed columns: times in UTC, numbers as numbers, everything else as states.

One source table becomes one typed table, wide or long, and lazy if the source is lazy. Sorting, duplicates and gaps are
the job of ``SensorData``.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from thence.data.readers.heading import unit_of_name
from thence.data.readers.roles import OTHER_SENSOR_NAMES, SENSOR_NAMES, Roles, plain_name
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readers.times import TimeReader, choose_time_reader
from thence.data.readers.zones import settle_repeated, suggest_zone, zone_behind, zone_in_name
from thence.data.readings.cleaning import require_ids, require_reading_type
from thence.data.readings.findings import Finding
from thence.data.readings.frames import collect, is_text, spell_states, spell_texts
from thence.data.readings.scanning import distinct_names
from thence.errors import ConfigError, InputError, quote

FIELDS = ("column", "file", "sheet", "kind")

SAMPLE_ROWS = 10_000
TEXT_IN = "\0text in "
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
        zone: The time zone of the clock, if it is known.
        hint: What to do if readings have the same time.
    """

    frame: pl.LazyFrame
    wide: bool
    categorical: dict[str, bool | None]
    table: SourceTable
    naive: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    order: str = ""
    zone: str = ""
    hint: str = ""


def type_table(table: SourceTable, roles: Roles, options: ReadOptions, *, number: int) -> TypedTable:
    """Convert the columns of a table to typed readings.

    Args:
        table: The table.
        roles: The roles of its columns.
        options: The options of ``read_sensors``.
        number: Number of the table among the sources.
    """
    zone = options.timezone or zone_in_name(roles.time) or table.zone or None
    options = replace(options, missing=(*options.missing, *roles.missing), timezone=zone)
    return _Typing(table, roles, options).typed(number)


@dataclass(frozen=True)
class _Typing:
    """The conversion of one table, given the roles of its columns and the options."""

    table: SourceTable
    roles: Roles
    options: ReadOptions

    def typed(self, number: int) -> TypedTable:
        table, roles, reader, long = self.table, self.roles, self.reader, self.roles.layout == "long"
        if long and self.options.sensor is None:
            self._require_one_name_column()
        columns, categorical, findings = self._long_columns() if long else self._wide_columns()
        marks = []
        if table.in_memory and (found := {f.sensor for f in findings if f.what == "not-a-number"}):
            named = [("", roles.value)] if long else zip(categorical, self._sources, strict=True)
            marks = [self._is_bad(name).alias(f"{TEXT_IN}{id}") for id, name in named if long or id in found]
        frame, more = self._with_time([*columns, *marks], number)
        if marks:
            findings = _count_kept(frame, findings, long=long, source=table.name)
            frame = frame.drop(pl.selectors.starts_with(TEXT_IN))
        notes = [*table.notes, *reader.notes, *roles.describe_ignored()]
        if table.headerless and roles.layout == "wide":
            notes.append("no header: sensors are named by the numbers of their columns")
        if not long and (table.units or roles.layout == "files"):
            named = zip(categorical, self._sources, strict=True)
            units = {id: table.units.get(column) or unit_of_name(column) for id, column in named}
            own = {id: (table.kind, unit) for id, unit in units.items() if unit and not table.unit}
            table = replace(table, kinds={**own, **table.kinds})
        found_in_all = (*table.findings, *findings, *more)
        hint = ""
        if table.in_memory and reader.naive and self.options.timezone is None:
            hint = suggest_zone(self._collect(frame.select("time")).to_series())
        made = TypedTable(frame, not long, categorical, table, reader.naive, found_in_all, tuple(notes), reader.order)
        return replace(made, zone=self.options.timezone or reader.zone, hint=hint)

    @property
    def _sources(self) -> tuple[str, ...]:
        """The columns of readings, unless the layout is long."""
        return self.roles.sensors if self.roles.layout == "wide" else (self.roles.value,)

    def _collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        return collect(frame, source=self.table.name)

    @cached_property
    def reader(self) -> TimeReader:
        table, column = self.table, pl.col(self.roles.time)
        if table.schema[self.roles.time].is_numeric():
            sample = table.frame.select(pl.concat([column.min(), column.max()]))
        else:
            sample = table.frame.select(column) if table.in_memory else table.frame.select(column).head(SAMPLE_ROWS)
        cells, rest = self._collect(sample).to_series(), None if table.in_memory else table.frame
        reader = choose_time_reader(self.roles.time, cells, self.options, where=table.name, frame=rest)
        # A city says more than an offset: when its clock changes.
        return reader if reader.naive else replace(reader, zone=zone_behind(cells.drop_nulls()) or reader.zone)

    def _with_time(self, columns: Sequence[pl.Expr], number: int) -> tuple[pl.LazyFrame, list[Finding]]:
        table, reader = self.table, self.reader
        if not table.in_memory:
            return table.frame.select(reader.expr.alias("time"), *columns), []
        row, source = pl.int_range(pl.len(), dtype=pl.UInt32), pl.lit(number, dtype=pl.UInt16)
        origin = [row.alias("_row"), source.alias("_source")]
        frame = self._collect(table.frame.select(reader.expr.alias("time"), *columns, *origin))
        frame, unsettled = self._with_repeated_hours(frame)
        lost = frame["time"].null_count()
        if lost and self.options.on_error == "raise":
            raise self._bad_time_error(int(frame["time"].is_null().arg_true()[0]), lost, frame.height)
        self.options.policy(table.name).refuse("bad-time", lost, frame.height)
        counts = {"naive-time": reader.n_naive_among_zoned, "twice-time": unsettled, "bad-time": lost}
        findings = [Finding(what, count, where=table.name) for what, count in counts.items() if count]
        return (frame.filter(pl.col("time").is_not_null()) if lost else frame).lazy(), findings

    def _with_repeated_hours(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """Return rows whose local times of an hour that occurs twice follow their order, and how many it leaves open.

        Where no order settles it, times are missing, or the earlier ones when repairing.
        """
        zone = self.options.zone
        if not self.reader.naive or self.reader.n_naive_among_zoned or zone == "UTC":
            return frame, 0
        plain = self._collect(self.table.frame.select(self.reader.plain.alias("plain"))).to_series()
        local = frame["time"].is_null() & plain.is_not_null()
        if self.options.on_error != "repair" and not local.any():
            return frame, 0
        sensors = frame["sensor"] if "sensor" in frame.columns and self.roles.layout == "long" else None
        settled, unsettled = settle_repeated(plain, zone, sensors)
        repair = self.options.on_error == "repair"
        chosen = plain.is_not_null() & (~unsettled if not repair else True)
        time = pl.when(pl.lit(chosen)).then(pl.lit(settled)).otherwise(pl.col("time"))
        return frame.with_columns(time.alias("time")), int(unsettled.sum()) if repair else 0

    def _bad_time_error(self, row: int, lost: int, total: int) -> InputError:
        """Return the error for the first of the rows without a usable time."""
        table, name, options = self.table, self.roles.time, self.options
        temporal = table.schema[name].is_temporal()
        cell = pl.col(name).to_physical() if temporal else pl.col(name)  # a datetime cannot hold any year
        query = table.frame.slice(row, 1).select(cell, self.reader.plain.alias("_plain"))
        raw, plain = self._collect(query).row(0)

        def error(problem: str, repair: str) -> InputError:
            hint = options.policy(table.name).advise("bad-time", lost, total, repair)
            return table.failure(problem, hint, row=row)

        drop = "pass on_error='repair' to drop the row"
        if raw is None:
            return error(f"missing time in column {quote(name)}", drop)
        if plain is not None:
            return table.failure(
                f"column {quote(name)}: {plain} does not exist or is ambiguous in the time zone {options.zone}",
                "pass the time zone of the clock, for example timezone='UTC', or on_error='repair' to read "
                "ambiguous times as the earlier one and to drop those that do not exist",
                row=row,
            )
        if temporal:
            return error(f"column {quote(name)} holds a time outside the years 1000 to 9999", drop)
        found = error(f"column {quote(name)}: {quote(raw)} is not a time", f"pass time_format, or {drop}")
        if options.time_format is not None and "%Y" in options.time_format:
            found.hint = f"{found.hint}; %Y is a year of four digits, %y one of two"
        if isinstance(raw, str) and (zone := re.search(r"\d ?([A-Z]{2,5})$", raw)):
            found.hint = (
                f"pass time_format='%Y-%m-%d %H:%M {zone[1]}' or the like, and the time zone as "
                "timezone='Europe/Berlin'"
            )
        return found

    def _wide_columns(self) -> tuple[list[pl.Expr], dict[str, bool | None], list[Finding]]:
        table, wide = self.table, self.roles.layout == "wide"
        counts = self._count_texts([name for name in self._sources if is_text(table.schema[name])])
        expressions, categorical, findings = [], {}, []
        for name in self._sources:
            id = table.title if not wide and self.options.name is None else self._id(name if wide else table.title)
            if id in categorical:
                raise table.failure(f"two columns have the sensor id {quote(id)}", "change name=")
            categorical[id], found = self._is_state(id, name, counts.get(name), (id, name))
            findings += found
            expressions.append((self._state(name) if categorical[id] else self._number(name)).alias(id))
        return expressions, categorical, findings

    def _long_columns(self) -> tuple[list[pl.Expr], dict[str, bool | None], list[Finding]]:
        table, value, sensor = self.table, self.roles.value, pl.col(self.roles.sensor)
        counts: dict[str, tuple[int, int]] = {}
        if is_text(table.schema[value]):
            grouped = table.frame.group_by(sensor.cast(pl.String).alias("sensor")).agg(self._counts(value, ""))
            counts = {name: (given, numbers) for name, given, numbers in self._collect(grouped).iter_rows()}
            names: list[str | None] = sorted(counts, key=lambda name: name or "")
        else:
            names = distinct_names(table.frame, self.roles.sensor, source=table.name)
        categorical: dict[str, bool | None] = {}
        raw_names = [name for name in names if name is not None and name.strip()]
        findings = [self._count_unnamed()] if len(raw_names) < len(names) else []
        for raw in raw_names:
            id = self._id(raw.strip())
            state, found = self._is_state(id, value, counts.get(raw), (id,), sensor.cast(pl.String) == raw)
            findings += found
            categorical[id] = state if categorical.get(id) is None else categorical[id] or state
        name = sensor if is_text(table.schema[self.roles.sensor]) else sensor.cast(pl.String)
        if any(raw != raw.strip() for raw in raw_names) or len(raw_names) < len(names):
            name = name.cast(pl.String).str.strip_chars().replace("", None)
        if self._template != "{}":
            name = pl.format(self._template, name.cast(pl.String))
        columns = [name.alias("sensor"), self._number(value).alias("value")]
        if states := [id for id, is_state in categorical.items() if is_state]:
            of_state = name.cast(pl.String).is_in(states)
            columns[1] = pl.when(~of_state).then(columns[1]).alias("value")
            columns.append(pl.when(of_state).then(self._state(value)).alias("state"))
        return columns, categorical, findings

    def _require_one_name_column(self) -> None:
        """Raise if a second column distinguishes sensors that the sensor column does not.

        It does if a sensor has several names in the second column within the same span of time. A name that changed
        once, or a remark at some readings, does not make a second sensor.
        """
        table, own = self.table, self.roles.sensor
        naming = (*SENSOR_NAMES, *OTHER_SENSOR_NAMES, "measurement")
        for other in self.roles.ignored:
            if self.options.ignores(other) or plain_name(other) not in naming:
                continue
            named = table.frame.select(
                pl.col(own).alias("sensor"), pl.col(other).alias("other"), self.reader.expr.alias("time")
            )
            pairs = _drop_unnamed(self._collect(named.select("sensor", "other").unique())).unique()
            one, both = pairs["sensor"].n_unique(), pairs.height
            if both > one and self._spans_overlap(named):
                raise table.failure(
                    f"{quote(own)} and {quote(other)} together name {both:,} sensors, {quote(own)} alone {one:,}",
                    f"join them into one column, or pass sensor={quote(own)} or sensor={quote(other)}",
                )

    def _spans_overlap(self, named: pl.LazyFrame) -> bool:
        """Return whether a sensor has two other names within the same span of time."""
        first, last = pl.col("time").min().alias("first"), pl.col("time").max().alias("last")
        spans = _drop_unnamed(self._collect(named.group_by("sensor", "other").agg(first, last)))
        spans = spans.group_by("sensor", "other").agg(pl.min("first"), pl.max("last"))
        spans = spans.drop_nulls().sort("sensor", "first")
        again = (pl.col("sensor") == pl.col("sensor").shift()) & (pl.col("first") <= pl.col("last").shift())
        return bool(spans.select(again.any()).item())

    def _count_unnamed(self) -> Finding:
        """Count the rows without a sensor name; raise at the first one unless repairing."""
        table, policy = self.table, self.options.policy(self.table.name)
        empty = pl.col(self.roles.sensor).cast(pl.String).str.strip_chars().replace("", None).is_null()
        counts = table.frame.select(empty.arg_true().first(), empty.sum().alias("lost"), pl.len().alias("rows"))
        row, lost, rows = self._collect(counts).row(0)
        if policy.on_error == "raise":
            raise table.failure(
                f"missing sensor name in column {quote(self.roles.sensor)}",
                policy.advise("no-sensor", lost, rows, "pass on_error='repair' to drop such rows"),
                row=row,
            )
        policy.refuse("no-sensor", lost, rows)
        return Finding("no-sensor", lost, where=table.name)

    def _is_state(
        self, id: str, name: str, counts: tuple[int, int] | None, names: Sequence[str], where: pl.Expr | None = None
    ) -> tuple[bool | None, list[Finding]]:
        """Return whether a column holds states, numbers, or nothing (``None``), and the cells that are no numbers.

        Strings are states if none is a number, and numbers if nothing else is there, or if the rest is repaired.
        """
        table, policy = self.table, self.options.policy(f"{self.table.name}, column {quote(id)}")
        require_ids([id], table.name)
        if self.options.is_categorical(*names):
            return True, []
        if counts is None:
            dtype = table.schema[name]
            require_reading_type(name, dtype, table.name)
            return None if dtype == pl.Null else not dtype.is_numeric(), []
        given, numbers = counts
        if numbers == given:
            return (False if given else None), []
        if numbers and policy.on_error == "repair" and 2 * numbers >= given:
            policy.refuse("not-a-number", given - numbers, given)
            return False, [Finding("not-a-number", given - numbers, id, table.name)]
        row, cell = self._first_text(name, where)
        if numbers == 0 and not NUMERALS.fullmatch(cell):
            return True, []
        raise table.failure(
            f"column {quote(id)}: {quote(cell)} is not a number, but {numbers:,} of its {given:,} cells are",
            f"pass categorical=[{quote(id)}] if these are states, missing=[{quote(cell)}, ...] if it means a "
            "missing reading, decimal=',' for decimal commas"
            + (", or on_error='repair'" if policy.allows(given - numbers, given) else ""),
            row=row,
        )

    def _first_text(self, name: str, where: pl.Expr | None) -> tuple[int, str]:
        bad = self._is_bad(name) if where is None else self._is_bad(name) & where
        row = pl.int_range(pl.len()).alias("row")
        query = self.table.frame.select(row, self._text(name).alias("cell"), bad.alias("bad"))
        found, cell = self._collect(query.filter("bad").head(1).select("row", "cell")).row(0)
        return int(found), str(cell)

    def _count_texts(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        if not names:
            return {}
        cells = [count for k, name in enumerate(names) for count in self._counts(name, str(k))]
        row = self._collect(self.table.frame.select(cells)).row(0)
        return {name: (int(row[2 * k]), int(row[2 * k + 1])) for k, name in enumerate(names)}

    def _counts(self, name: str, prefix: str) -> list[pl.Expr]:
        text = self._text(name)
        given, numbers = text.is_not_null(), self._parse(text).is_not_null()
        return [given.sum().alias(f"{prefix} given"), numbers.sum().alias(f"{prefix} numbers")]

    def _is_bad(self, name: str) -> pl.Expr:
        """Return where a cell is text in a column of numbers."""
        text = self._text(name)
        return text.is_not_null() & self._parse(text).is_null()

    def _text(self, name: str) -> pl.Expr:
        """Strip the strings of a column; null where they mean a missing reading."""
        text = pl.col(name) if self.table.schema[name] == pl.String else pl.col(name).cast(pl.String)
        text = text.str.strip_chars()
        gone = text.is_in(list({"", *self.options.missing}))
        if numbers := self.options.missing_numbers(self.table.decimal):
            gone |= self._parse(text).is_in(numbers).fill_null(False)
        return pl.when(~gone).then(text)

    def _parse(self, text: pl.Expr) -> pl.Expr:
        if self.table.decimal == ",":
            # A point in a file with decimal commas separates thousands or is a typing error: not a number.
            text = pl.when(~text.str.contains(".", literal=True)).then(text.str.replace(",", ".", literal=True))
        return text.cast(pl.Float64, strict=False)

    def _number(self, name: str) -> pl.Expr:
        dtype = self.table.schema[name]
        if is_text(dtype):
            return self._parse(self._text(name))
        number = pl.col(name).cast(pl.Float64, strict=False)
        missing = self.options.missing_numbers(".")
        if dtype == pl.Float32:
            missing += pl.Series(missing, dtype=pl.Float32).cast(pl.Float64).to_list()  # -999.9 has another value there
        return pl.when(~number.is_in(missing)).then(number) if missing else number

    def _state(self, name: str) -> pl.Expr:
        dtype = self.table.schema[name]
        if is_text(dtype):
            return spell_texts(self._text(name), decimal=self.table.decimal)
        if not dtype.is_numeric():
            return spell_states(name, dtype)
        return pl.when(self._number(name).is_not_null()).then(spell_states(name, dtype))

    @cached_property
    def _template(self) -> str:
        """The template of a sensor id, with ``{}`` for the name of the column or of the sensor in a long table."""
        if self.options.name is None:
            return "{}"
        table = self.table
        filled = self.options.name.format(column="\0", file=table.title, sheet=table.sheet, kind=table.kind)
        return filled.replace("{", "{{").replace("}", "}}").replace("\0", "{}")

    def _id(self, name: str) -> str:
        return self._template.format(name)


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


def _drop_unnamed(pairs: pl.DataFrame) -> pl.DataFrame:
    """Strip the names and drop pairs in which one is empty."""
    texts = pl.col("sensor", "other").cast(pl.String).str.strip_chars()
    return pairs.with_columns(texts).filter(pl.all_horizontal(pl.col("sensor", "other") != ""))


def check_template(name: str | None) -> None:
    """Raise a ``ConfigError`` unless a template of sensor ids holds known fields in braces and nothing else in them.

    Args:
        name: The template; ``None`` means the name of the column.

    Examples:
        >>> check_template("{file}/{column:>9}")
        Traceback (most recent call last):
        thence.errors.ConfigError: invalid name='{file}/{column:>9}' (use {column}, {file}, {sheet} and {kind})
    """
    if name is None:
        return
    try:
        parts = list(string.Formatter().parse(name))
    except ValueError:
        parts = [("", "?", "", None)]
    if any(field is not None and (field not in FIELDS or form or how) for _, field, form, how in parts):
        raise ConfigError(f"invalid name={quote(name)}", hint="use {column}, {file}, {sheet} and {kind}")
    if not name:
        raise ConfigError("name is empty", hint="use {column}, {file}, {sheet} and {kind}")
