"""Codes among readings: numbers such as −999 that loggers write where there is no reading.

They are noted and not removed: only the user knows what a number means. A number is noted if it is one that is used as
a code, is the lowest or highest of its sensor, occurs again, and is farther from all other readings than these are from
each other. Only what is in memory is looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import polars as pl

from thence.data.readers.columns import TypedTable
from thence.data.readers.few_values import column_batches
from thence.data.readings.cleaning import quote_names
from thence.data.readings.frames import collect

__all__ = ["note_codes"]

LEAST_TIMES = 2
_SAME_DIGITS = [int(digit * length) for digit in "789" for length in range(2, 7)]
_PLAIN = [*_SAME_DIGITS, 99.9, 99.99, 999.9, 999.99, 9999.9, 9900, 99900, 6999, 7999, 32767, 32768, 65535, 1e30]
CODES = frozenset(float(sign * code) for code in _PLAIN for sign in (1, -1))

Extremes = Iterator[tuple[str, float | None, float | None]]
Counts = Iterator[tuple[str, float, int, float | None, float | None]]
"""Of a sensor and a code: how often it is read, and the lowest and the highest other reading."""


def note_codes(parts: Iterable[TypedTable], ids: Collection[str]) -> list[str]:
    """Return notes about numbers that look like codes.

    Args:
        parts: The typed tables.
        ids: The sensors that read numbers.
    """
    found: dict[float, set[str]] = {}
    for part in parts:
        own = [id for id in part.categorical if id in ids]
        if not part.table.in_memory or not own:
            continue
        extremes = _extremes_of_columns(part, own) if part.wide else _extremes_of_rows(part, own)
        likely = [(id, end) for id, *ends in extremes for end in ends if end is not None and end in CODES]
        counted = _count_in_columns(part, likely) if part.wide else _count_in_rows(part, likely)
        for id, code, times, low, high in counted:
            if (
                times >= LEAST_TIMES
                and low is not None
                and high is not None
                and min(abs(code - low), abs(code - high)) > high - low
            ):
                found.setdefault(code, set()).add(id)
    return [_tell(value, sorted(sensors)) for value, sensors in sorted(found.items())]


def _tell(value: float, sensors: Sequence[str]) -> str:
    named = f"sensor {quote_names(sensors)}" if len(sensors) == 1 else f"{len(sensors)} sensors: {quote_names(sensors)}"
    return f"{value:g} looks like a code and not like a reading; missing={value:g} would leave it out of {named}"


def _extremes_of_columns(part: TypedTable, ids: Sequence[str]) -> Extremes:
    for some, frame in column_batches(part.frame, ids, part.table.name, in_memory=True):
        numbers = [pl.col(id).cast(pl.Float64) for id in some]
        query = frame.select(
            *(number.min().alias(f"{k} low") for k, number in enumerate(numbers)),
            *(number.max().alias(f"{k} high") for k, number in enumerate(numbers)),
        )
        row = collect(query, source=part.table.name).row(0)
        yield from zip(some, row[: len(some)], row[len(some) :], strict=True)


def _extremes_of_rows(part: TypedTable, ids: Sequence[str]) -> Extremes:
    value = pl.col("value").cast(pl.Float64)
    rows = part.frame.group_by(pl.col("sensor").cast(pl.String)).agg(
        value.min().alias("low"), value.max().alias("high")
    )
    wanted = set(ids)
    for id, low, high in collect(rows, source=part.table.name).iter_rows():
        if id in wanted:
            yield id, low, high


def _count_in_columns(part: TypedTable, likely: Sequence[tuple[str, float]]) -> Counts:
    codes: dict[str, list[float]] = {}
    for id, code in likely:
        codes.setdefault(id, []).append(code)
    for some, frame in column_batches(part.frame, list(codes), part.table.name, in_memory=True):
        pairs = [(id, code) for id in some for code in codes[id]]
        query = frame.select(
            one.alias(f"{k} {what}")
            for k, (id, code) in enumerate(pairs)
            for what, one in zip(("times", "low", "high"), _compare(pl.col(id), pl.lit(code)), strict=True)
        )
        row = collect(query, source=part.table.name).row(0)
        for k, (id, code) in enumerate(pairs):
            yield id, code, *row[3 * k : 3 * k + 3]


def _count_in_rows(part: TypedTable, likely: Sequence[tuple[str, float]]) -> Counts:
    codes = pl.LazyFrame(likely, schema={"sensor": pl.String, "code": pl.Float64}, orient="row")
    rows = part.frame.select(pl.col("sensor").cast(pl.String), "value").join(codes, on="sensor")
    times, low, high = _compare(pl.col("value"), pl.col("code"))
    query = rows.group_by("sensor", "code").agg(times.alias("times"), low.alias("low"), high.alias("high"))
    yield from collect(query, source=part.table.name).iter_rows()


def _compare(column: pl.Expr, code: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Return how often a number is read, and the lowest and the highest other."""
    number = column.cast(pl.Float64)
    others = number.filter(number.is_finite() & (number != code))
    return (number == code).sum(), others.min(), others.max()
