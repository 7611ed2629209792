"""Clock columns: a date and a time of day in two columns become one column of times.

The columns are found by their names and first cells, and joined by one expression, so lazy tables stay lazy. What the
joined strings mean is decided in ``.times``.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from thence.data.readers.roles import is_time_name, plain_name
from thence.data.readers.table import ReadOptions, SourceTable

__all__ = ["CLOCK_NAMES", "join_clock"]

CLOCK_NAMES = ("time", "time_of_day", "clock", "hour", "uhrzeit", "zeit", "heure", "hora", "tijd", "timestamp")
"""Names of columns that hold times of day next to a column of dates."""
HOUR_NAMES = ("hour", "heure", "hora", "uhrzeit", "stunde")
CLOCK = r"^\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?\s*$"
SPREADSHEET_YEARS = (1899, 1900)  # of a time of day that a spreadsheet stores as a date
COMPACT_DATES = (19000101, 20991231)  # 20190131
LAST_HOUR, LAST_CLOCK = 24, 2400  # 1305 is 13:05
FIRST_ROWS = 50


def join_clock(table: SourceTable, options: ReadOptions) -> tuple[SourceTable, ReadOptions]:
    """Join a column of dates and a column of times of day, if a table has one of each.

    Args:
        table: The table.
        options: The columns to ignore, and the time column if it is given.

    Returns:
        The table with the joined column in place of the date, and the options with its name as the time column; both as
        they are if there is nothing to join.
    """
    names = [name for name in table.schema if not options.ignores(name)]
    clocks = [name for name in names if plain_name(name) in CLOCK_NAMES]
    dates = [name for name in names if is_time_name(name) or name == options.time]
    if not clocks or dates == clocks[:1]:
        return table, options
    first = table.frame.select({*clocks, *dates}).head(FIRST_ROWS).collect()
    dates = [name for name in dates if _is_date(first[name].drop_nulls())]
    again = len(dates) == 1 and bool(first[dates[0]].is_duplicated().any())
    clocks = [
        name
        for name in clocks
        if _is_clock(first[name].drop_nulls()) or (again and name not in dates and _is_number(name, first[name]))
    ]
    if len(clocks) != 1 or len(dates) != 1 or options.time not in ("auto", *clocks, *dates):
        return table, options
    date, clock = dates[0], clocks[0]
    joined = _join(date, table.schema[date], clock, table.schema[clock])
    note = f"times joined from the columns '{date}' and '{clock}'"
    frame = table.frame.with_columns(joined.alias(date)).drop(clock)
    return replace(table, frame=frame, notes=(*table.notes, note)), replace(options, time=date)


def _is_number(name: str, cells: pl.Series) -> bool:
    """Return whether whole numbers are hours, or hours and minutes such as 1305; the date must repeat beside them."""
    if not cells.dtype.is_integer() or not cells.drop_nulls().len():
        return False
    most = LAST_HOUR if plain_name(name) in HOUR_NAMES else LAST_CLOCK
    return bool((cells.drop_nulls().is_between(0, most) & (cells.drop_nulls() % 100 < 60)).all())


def _is_clock(cells: pl.Series) -> bool:
    if cells.dtype == pl.String:
        return bool(cells.len()) and bool(cells.str.contains(CLOCK).all())
    if isinstance(cells.dtype, pl.Datetime):
        return bool(cells.len()) and bool(cells.dt.year().is_in(SPREADSHEET_YEARS).all())
    return cells.dtype == pl.Time


def _is_date(cells: pl.Series) -> bool:
    """Return whether cells are dates without a time of day."""
    if cells.dtype == pl.String:
        return bool(cells.len()) and not bool(cells.str.contains(":").any())
    if isinstance(cells.dtype, pl.Datetime):
        return not _is_clock(cells) and bool((cells == cells.dt.truncate("1d")).all())
    if cells.dtype.is_integer():
        return bool(cells.len()) and bool(cells.is_between(*COMPACT_DATES).all())
    return cells.dtype == pl.Date


def _join(date: str, of_date: pl.DataType, clock: str, of_clock: pl.DataType) -> pl.Expr:
    day, time = pl.col(date), pl.col(clock)
    if isinstance(of_clock, pl.Datetime):
        time, of_clock = time.dt.time(), pl.Time()
    if of_date.is_temporal() and of_clock == pl.Time:
        return day.dt.date().dt.combine(time) if isinstance(of_date, pl.Datetime) else day.dt.combine(time)
    return pl.concat_str(_date_text(day, of_date), _clock_text(time, of_clock, clock), separator=" ")


def _date_text(day: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.String:
        return day.str.strip_chars()
    if dtype.is_integer():
        digits = day.cast(pl.String)
        return pl.concat_str(digits.str.slice(0, 4), digits.str.slice(4, 2), digits.str.slice(6), separator="-")
    return day.dt.strftime("%Y-%m-%d")


def _clock_text(time: pl.Expr, dtype: pl.DataType, name: str) -> pl.Expr:
    if dtype == pl.String:
        return time.str.strip_chars()
    if dtype.is_integer():
        clock = time * 100 if plain_name(name) in HOUR_NAMES else time
        return pl.format("{}:{}", (clock // 100).cast(pl.String), (clock % 100).cast(pl.String).str.zfill(2))
    return time.dt.strftime("%H:%M:%S%.f")
