"""Usable times: those of the years 1000 to 9999, which every later step can hold and show.

Other years are typing errors, placeholders, or years of two digits that were taken for four. They become null here, and
whoever reads the times counts or reports these rows.
"""

from __future__ import annotations

import polars as pl

__all__ = ["FIRST_MICROSECOND", "LAST_MICROSECOND", "date_to_us", "datetime_to_us", "usable"]

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
