"""Frames and their cells: column types, collecting in batches, usable times, states in one spelling, decimal signs.

Whatever polars or the file system raises becomes an ``InputError`` that names the source. Times of other years than
1000 to 9999 are typing errors, placeholders, or years of two digits; they become null. ``1``, ``1.0``, ``"1.00"``,
``True`` and ``"true"`` are the state ``1``, as in ``thence.language.states.state_key``. Nothing here knows sensors or
decides what a column means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from thence.errors import InputError, reported_as
from thence.language.states import LARGEST_WHOLE


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a column of this type holds strings."""
    return dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum)


def is_categorical(dtype: pl.DataType) -> bool:
    """Return whether a column of this type holds categories: strings or booleans."""
    return is_text(dtype) or dtype == pl.Boolean


def collect(lazy: pl.LazyFrame, *, source: str) -> pl.DataFrame:
    """Collect a lazy frame with the streaming engine.

    Raises:
        InputError: If the data cannot be read to the end; it names ``source``.
    """
    with reported_as(InputError, where=source):
        return lazy.collect(engine="streaming")


def iter_batches(lazy: pl.LazyFrame, *, rows: int, ordered: bool, source: str) -> Iterator[pl.DataFrame]:
    """Yield a lazy frame in batches.

    Args:
        lazy: The frame.
        rows: Approximate number of rows of a batch.
        ordered: Whether the batches come in the order of the rows.
        source: Name of the data in messages.

    Raises:
        InputError: If the data cannot be read to the end.
    """
    with reported_as(InputError, where=source):
        yield from lazy.collect_batches(chunk_size=rows, maintain_order=ordered, lazy=True)


FIRST_MICROSECOND, LAST_MICROSECOND = -30_610_224_000 * 10**6, 253_402_300_800 * 10**6 - 1
"""1000-01-01 and the end of 9999, in microseconds since 1970."""

_PER_UNIT = {"ms": 1_000, "us": 1}  # microseconds; nanoseconds hold the years 1677 to 2262 only
_PER_DAY = 86_400 * 10**6


def usable(time: pl.Expr) -> pl.Expr:
    """Return times in microseconds, null in other years than 1000 to 9999.

    Args:
        time: An expression of type ``Datetime("us")``, with or without a time zone.

    Examples:
        >>> times = pl.Series("t", [0, 10**18]).cast(pl.Datetime("us"))
        >>> times.to_frame().select(usable(pl.col("t"))).to_series().null_count()
        1
    """
    return pl.when(time.to_physical().is_between(FIRST_MICROSECOND, LAST_MICROSECOND)).then(time)


def datetime_to_us(time: pl.Expr, unit: str) -> pl.Expr:
    """Return times of any unit in microseconds, null in other years than 1000 to 9999.

    Args:
        time: An expression of type ``Datetime``.
        unit: Its unit: ``"ms"``, ``"us"`` or ``"ns"``.
    """
    if unit not in _PER_UNIT:
        return time.dt.cast_time_unit("us")
    held = time.to_physical().is_between(FIRST_MICROSECOND // _PER_UNIT[unit], LAST_MICROSECOND // _PER_UNIT[unit])
    return pl.when(held).then(time).dt.cast_time_unit("us")


def date_to_us(date: pl.Expr) -> pl.Expr:
    """Return dates as times in microseconds, null in other years than 1000 to 9999.

    Args:
        date: An expression of type ``Date``.
    """
    held = date.to_physical().is_between(FIRST_MICROSECOND // _PER_DAY, LAST_MICROSECOND // _PER_DAY)
    return pl.when(held).then(date).cast(pl.Datetime("us"))


_NUMERAL = r"^[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?$"
"""Text that is a number; a code such as ``007`` is not."""


def spell_states(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column of any type as states.

    Args:
        name: The column.
        dtype: Its type: text, truth values or numbers.

    Examples:
        >>> frame = pl.DataFrame({"a": [1.0, 0.5], "b": [True, False], "c": ["TRUE", "1.00"]})
        >>> frame.select(spell_states(name, dtype) for name, dtype in frame.schema.items()).rows()
        [('1', '1', '1'), ('0.5', '0', '1')]
    """
    if is_text(dtype):
        return spell_texts(pl.col(name).cast(pl.String)).alias(name)
    if dtype == pl.Boolean:
        return pl.col(name).cast(pl.Int8).cast(pl.String)
    if dtype.is_integer():
        return pl.col(name).cast(pl.String)
    return spell_numbers(pl.col(name).cast(pl.Float64)).alias(name)


def spell_numbers(number: pl.Expr) -> pl.Expr:
    """Return floats as states: whole numbers without a decimal point; NaN and infinite values are missing.

    Args:
        number: An expression of floats.
    """
    finite = pl.when(number.is_finite()).then(number)
    whole = (finite.round() == finite) & (finite.abs() < LARGEST_WHOLE)
    return pl.when(whole).then(finite.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(finite.cast(pl.String))


def spell_texts(text: pl.Expr, *, decimal: str = ".") -> pl.Expr:
    """Return texts as states: numbers and truth values in one spelling, other texts as they are.

    Args:
        text: An expression of strings.
        decimal: The decimal sign of numbers in them.

    Examples:
        >>> words = pl.Series("s", ["1.0", "+2", "0,5", "False", "007", "open", None])
        >>> words.to_frame().select(spell_texts(pl.col("s"), decimal=",")).to_series().to_list()
        ['1.0', '2', '0.5', '0', '007', 'open', None]
    """
    stripped = text.str.strip_chars()
    numeral = stripped
    if decimal == ",":
        numeral = pl.when(~stripped.str.contains(".", literal=True)).then(stripped.str.replace(",", ".", literal=True))
    lower = stripped.str.to_lowercase()
    number = pl.when(numeral.str.contains(_NUMERAL)).then(numeral.cast(pl.Float64, strict=False))
    return (
        pl.when(lower == "true")
        .then(pl.lit("1"))
        .when(lower == "false")
        .then(pl.lit("0"))
        .when(number.is_not_null())
        .then(spell_numbers(number))
        .otherwise(stripped)
    )


GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


@dataclass(frozen=True)
class DecimalSign:
    """The decimal sign of a table, and the evidence for it.

    Args:
        sign: ``","`` or ``"."``.
        comma: A number with a comma, or ``None`` if there is none. Such numbers contradict the sign ``"."``.
        point: A number with a point, if there are also numbers with a comma.
        ambiguous: Whether the sign may separate thousands in every number that has it (``12,500``).
    """

    sign: str
    comma: str | None = None
    point: str | None = None
    ambiguous: bool = False


def detect_decimal_sign(separator: str, numbers: Callable[[str], Iterator[str]]) -> DecimalSign:
    """Detect the decimal sign of a table; points win over commas.

    Args:
        separator: The separator of the columns; a comma cannot also be the decimal sign.
        numbers: Returns the cells that are numbers and contain the given sign.

    Examples:
        >>> cells = ["1,5", "20,125"]
        >>> detect_decimal_sign(";", lambda sign: (cell for cell in cells if sign in cell)).sign
        ','
    """
    comma = None if separator == "," else next(iter(numbers(",")), None)
    if comma is None:
        return DecimalSign(".")
    point = next(iter(numbers(".")), None)
    sign = "," if point is None else "."
    return DecimalSign(sign, comma, point, may_be_thousands(numbers(sign)))


def may_be_thousands(numbers: Iterable[str]) -> bool:
    """Return whether the sign in each of these numbers may separate thousands.

    Examples:
        >>> may_be_thousands(["12,500"]), may_be_thousands(["12,500", "0,5"])
        (True, False)
    """
    return all(GROUPED.fullmatch(number) for number in numbers)
