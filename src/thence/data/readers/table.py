"""Source tables: what every reader returns, the options that it is given, and helpers that readers share.

The columns are as they are in the source. Which column is the time and what its cells mean is decided later, in
``.roles``, ``.times`` and ``.columns``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.cleaning import MAX_LOSS, ErrorPolicy, OnError
from thence.data.readings.findings import Finding
from thence.errors import ConfigError, InputError, nearest, quote


@dataclass(frozen=True)
class DatabaseOptions:
    """The options of ``read_sensors`` that only databases take; it documents them.

    Args:
        table: Tables to read.
        query: Query to read instead of a table.
        where: Conditions on columns.
        metadata: Where kinds, units and names of sensors are.
        order: Columns by which rows with the same time are ordered.
        windows: Length of the windows that the database aggregates.
        aggregate: Aggregate of these windows.
        origin: Where these windows begin.
        timeout: Seconds after which the database gives up a statement.
    """

    table: tuple[str, ...] = ()
    query: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    windows: Any = None
    aggregate: Any = "mean"
    origin: Any = "epoch"
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.query is not None and self.table:
            raise ConfigError("'table' and 'query' exclude each other", hint="pass one of them")
        if self.query is not None and not self.query.strip():
            raise ConfigError("'query' is empty", hint="pass a SELECT statement, or table=")
        if self.timeout is not None and not self.timeout > 0:
            raise ConfigError(f"'timeout' must be a number of seconds above 0, got {self.timeout!r}")
        known = ("table", "sensor", "name", "kind", "unit")
        for key in self.metadata:
            if key not in known:
                raise ConfigError(
                    f"metadata has no option '{key}'", hint=nearest(key, known) or f"known: {', '.join(known)}"
                )

    @property
    def given(self) -> list[str]:
        """The names of the options that are not at their defaults."""
        return [name for name, value in vars(self).items() if value != getattr(DatabaseOptions(), name)]


LayoutOption = Literal["auto", "wide", "long", "files"]

EXCEL_ERRORS = ("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!")
MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None", *EXCEL_ERRORS)
"""Strings that mean a missing reading, by default."""

MOST_SHOWN = 12
NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""A number with a decimal point."""


@dataclass(frozen=True)
class ReadOptions:
    """The options of ``read_sensors``, which documents them."""

    layout: LayoutOption = "auto"
    time: str = "auto"
    sensor: str | None = None
    value: str | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    skip_rows: int | None = None
    encoding: str | None = None
    time_format: str | None = None
    step: str | None = None
    timezone: str | None = None
    sheet: str | Iterable[str] | None = None
    categorical: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    missing: tuple[str, ...] = MISSING_WORDS
    codes: bool = True
    counters: tuple[str, ...] = ("auto",)
    name: str | None = None
    on_error: OnError = "raise"
    max_loss: float = MAX_LOSS
    database: DatabaseOptions = field(default_factory=DatabaseOptions)

    @staticmethod
    def of(given: Mapping[str, Any]) -> ReadOptions:
        """Return the options of ``read_sensors`` as they were given, by name."""
        common, database = (
            {one.name: given[one.name] for one in fields(cls) if one.name in given}
            for cls in (ReadOptions, DatabaseOptions)
        )
        common |= {name: frozenset(_as_names(given[name])) for name in ("categorical", "numeric", "ignore")}
        common["counters"] = _as_names(given["counters"])
        words = tuple(
            map(str, [given["missing"]] if isinstance(given["missing"], (str, int, float)) else given["missing"])
        )
        if words and all(NUMBER.fullmatch(word.strip().replace(",", ".")) for word in words):
            words = (*MISSING_WORDS, *words)
        metadata = database["metadata"]
        database |= {name: _as_names(given[name]) for name in ("table", "order")}
        database["metadata"] = {"table": metadata} if isinstance(metadata, str) else dict(metadata or {})
        database["where"] = dict(database["where"] or {})
        return ReadOptions(**{**common, "missing": words, "database": DatabaseOptions(**database)})

    def missing_numbers(self, decimal: str) -> list[float]:
        """Return the missing values that are numbers: -999 also means -999.0. ``decimal`` is the decimal sign."""
        signed = [text.replace(",", ".") if decimal == "," else text for text in self.missing]
        return [float(text) for text in signed if NUMBER.fullmatch(text.strip())]

    def ignores(self, name: str) -> bool:
        """Return whether a column or sensor is left out, by its name or by a pattern such as ``*_flag``."""
        return _is_named(self.ignore, name)

    def is_categorical(self, *names: str) -> bool:
        """Return whether a sensor holds states by the word of the user; ``names`` are its id and its column."""
        return any(_is_named(self.categorical, name) for name in names)

    def is_numeric(self, *names: str) -> bool:
        """Return whether a sensor holds numbers by the word of the user; ``names`` are its id and its column."""
        return any(_is_named(self.numeric, name) for name in names)

    @property
    def zone(self) -> str:
        """The time zone of naive times."""
        return self.timezone or "UTC"

    def policy(self, source: str) -> ErrorPolicy:
        """Return what happens at bad rows of a source."""
        return ErrorPolicy(self.on_error, source, max_loss=self.max_loss)


def _as_names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _is_named(patterns: frozenset[str], name: str) -> bool:
    return name in patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True)
class SourceTable:
    """One file, sheet or frame with its columns as they are.

    Args:
        frame: The columns.
        name: Name in messages: the file, with the sheet if there are several.
        title: File name without folder and suffix; empty for frames.
        sheet: Name of the sheet, in files that have sheets.
        in_memory: Whether the data is in memory; otherwise it is only scanned.
        headerless: Whether the source has no column names.
        text_file: Whether the source is a text file, in which a column of strings may hold numbers.
        decimal: Decimal sign of numbers in strings.
        kind: Kind of all sensors of the table, if the source says so.
        unit: Unit of all sensors of the table, if the source says so.
        place: Maps the number of a data row, from 0, to text for messages: ``"line 17"``.
        findings: What the reader found.
        notes: What the reader decided, for the report.
        error: Error to raise if the table turns out to be data; a cover sheet may have any content.
        kinds: Kind and unit by sensor id, if the source says so.
        units: Unit by column, if the source says so.
        measured: Ids of sensors that are known to read numbers, not states.
        record: What was read from a store, for provenance.
        zone: Time zone of times without one, if the source says so.
        lasting: Whether a reading holds until the next one of its sensor, however long that takes.
    """

    frame: pl.LazyFrame
    name: str
    title: str = ""
    sheet: str = ""
    in_memory: bool = True
    headerless: bool = False
    text_file: bool = False
    decimal: str = "."
    kind: str = ""
    unit: str = ""
    place: Callable[[int], str] = field(default=lambda row: f"row {row}")
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    error: InputError | None = None
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    measured: frozenset[str] = frozenset()
    record: Mapping[str, Any] | None = None
    lasting: bool = False
    zone: str = ""

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        return self.frame.collect_schema()

    def at(self, row: int) -> str:
        """Return the place of a data row, for messages."""
        return f"{self.name}, {self.place(row)}"

    def failure(self, message: str, hint: str | None = None, *, row: int | None = None) -> InputError:
        """Return an error about this table, or about a data row of it."""
        return InputError(message, where=self.name if row is None else self.at(row), hint=hint)


def fill_header(
    columns: Sequence[str], where: str, *, silent: Collection[int] = ()
) -> tuple[tuple[str, ...], list[str]]:
    """Replace the empty names of a header, and note each of them.

    Args:
        columns: The names as they are.
        where: Place of the header, for messages.
        silent: Positions of columns that need no note.

    Returns:
        The names and the notes.

    Raises:
        InputError: If a name occurs more than once.
    """
    counts = Counter(name for name in columns if name)
    if duplicates := [name for name, count in counts.items() if count > 1]:
        at = [k + 1 for k, name in enumerate(columns) if name == duplicates[0]]
        raise InputError(
            f"duplicate column name {quote(duplicates[0])} (columns {', '.join(map(str, at[:MOST_SHOWN]))}"
            + (f" and {len(at) - MOST_SHOWN} more)" if len(at) > MOST_SHOWN else ")"),
            where=where,
            hint="rename one of them",
        )
    unnamed = [f"(column {k + 1} without a name)" for k, name in enumerate(columns) if not name]
    if taken := next((name for name in unnamed if name in counts), None):
        raise InputError(f"a column is called {quote(taken)}, and another has no name", where=where, hint="name it")
    names = tuple(name or f"(column {k + 1} without a name)" for k, name in enumerate(columns))
    return names, [f"column {k + 1} has no name" for k, name in enumerate(columns) if not name and k not in silent]


def drop_blank_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, npt.NDArray[np.int64] | None]:
    """Drop rows without any value; return the others and, if rows were dropped, their original positions."""
    if not frame.height or not frame.width or frame[:, 0].null_count() == 0:
        return frame, None
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if not blank.any():
        return frame, None
    return frame.filter(~blank), np.flatnonzero(~blank.to_numpy())
