"""What every reader hands over: columns as they stand in the source, and how to name a row of it.

Nothing is interpreted here; which column is the time and what its cells mean is decided in ``.roles``,
``.times`` and ``.typed``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import polars as pl

from thence.errors import InputError
from thence.readings.cleaning import OnError
from thence.readings.findings import Finding

__all__ = ["MISSING_WORDS", "Layout", "Options", "Table"]

Layout = Literal["auto", "wide", "long", "files"]

EXCEL_ERRORS = ("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!")
MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None", *EXCEL_ERRORS)
"""Texts that stand for no reading unless the caller lists others."""


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Options:
    """The caller's wishes, as given to `read_sensors`."""

    layout: Layout = "auto"
    time: str = "auto"
    sensor: str | None = None
    value: str | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    time_format: str | None = None
    timezone: str | None = None
    sheet: str | Iterable[str] | None = None
    categorical: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    missing: tuple[str, ...] = MISSING_WORDS
    name: str | None = None
    on_error: OnError = "raise"

    def missing_numbers(self, decimal: str) -> list[float]:
        """Those of the missing texts that are numbers: -999 also stands for -999.0."""
        signed = [text.replace(",", ".") if decimal == "," else text for text in self.missing]
        return [float(text) for text in signed if NUMBER.fullmatch(text.strip())]

    @property
    def zone(self) -> str:
        """The zone of naive times."""
        return self.timezone or "UTC"


@dataclass(frozen=True)
class Table:
    """One file, sheet or frame with its columns unread."""

    frame: pl.LazyFrame
    name: str
    """How errors call it: the file, with the sheet where there are several."""
    title: str = ""
    """The file's name without folder and suffix."""
    sheet: str = ""
    in_memory: bool = True
    headerless: bool = False
    written: bool = False
    """Whether the source is a text file, in which a column of texts may just as well hold numbers."""
    decimal: str = "."
    kind: str = ""
    unit: str = ""
    place: Callable[[int], str] = field(default=lambda row: f"row {row}")
    """From the number of a data row, counted from 0, to the words that name it in this source."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    error: InputError | None = None
    """What makes the table unreadable if it is meant to be data; a cover sheet may be as it likes."""

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns."""
        return self.frame.collect_schema()

    def at(self, row: int) -> str:
        """The place of a data row, for an error."""
        return f"{self.name}, {self.place(row)}"
