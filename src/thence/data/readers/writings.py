"""Writings of times: strings as dates with times of day, with or without an offset from UTC.

Most columns are written in one format, which is tried first; only what it does not fit is rewritten and tried in all
others. This module works on series of strings; which format a column has is decided in ``.times``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from thence.data.readers.dates import ORDERS, plain_clock
from thence.data.readings.usable_times import usable

__all__ = ["Writing", "offsets_of", "quick_format"]

# The three ways to write a date for which one format is tried first, and the times of day after it.
DATE = re.compile(
    r"\d{4}(?P<iso>[-/.])\d{1,2}(?P=iso)\d{1,2}"
    r"|\d{1,2}(?P<named>[-/ ])[A-Za-z]{3,}(?P=named)(?:\d{4}|(?P<year>\d{2})(?!\d))"
    r"|\d{1,2}(?P<sign>[-/.])\d{1,2}(?P=sign)(?:\d{4}|(?P<two>\d{2})(?!\d))"
)
CLOCK = re.compile(
    r"(?:(?P<border>,? |[T:])(?P<hour>\d{1,2}):\d{2}(?P<second>:\d{2})?(?P<fraction>\.\d+)?"
    r"(?P<half> ?[AaPp][Mm])?(?P<zone> ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?)?"
)
CLOCKS = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S%.f %p", "%I:%M %p", "")
OFFSET = r"(?i):\d{2}(?:\.\d+)?(?: [ap]m)?([+-]\d{2}(?::?\d{2})?)$"
MIDNIGHT = r" 24:00(?::00(?:\.0+)?)?"  # the end of the day
TIME, NAIVE = pl.Datetime("us", "UTC"), pl.Datetime("us")


@dataclass(frozen=True)
class Writing:
    """How the times of a column are written.

    Args:
        dates: Formats of the date, after it was rewritten.
        rewrite: Rewrites the date so that one of the formats fits.
        quick: Format of most times as they are, if there is one.
    """

    dates: Sequence[str]
    rewrite: Callable[[pl.Expr], pl.Expr]
    quick: str | None = None

    def read(self, cells: pl.Series) -> pl.DataFrame:
        """Return the times.

        Args:
            cells: Strings without spaces around them.

        Returns:
            Columns ``plain``, the times without an offset, and ``utc``, those with one; both null if it is not a time.
        """
        read = _read_in(cells, self.quick)
        left = cells.is_not_null() & read["plain"].is_null() & read["utc"].is_null()
        if not left.any():
            return read
        at = left.arg_true()
        rest = self._read_any(cells.gather(at))
        return pl.DataFrame({name: read[name].scatter(at, rest[name]) for name in ("plain", "utc")})

    def _plain(self, cells: pl.Series) -> pl.Series:
        return pl.select(plain_clock(self.rewrite(pl.lit(cells)))).to_series()

    def _read_any(self, cells: pl.Series) -> pl.DataFrame:
        """Read times in all formats."""
        text = self._plain(cells)
        late = text.str.contains(MIDNIGHT)
        if late.any():
            text = text.str.replace(MIDNIGHT, " 00:00")
        zoned = text.str.contains(OFFSET)
        formats = [f"{date} {clock}" for date in self.dates for clock in CLOCKS if clock]
        frame = pl.DataFrame(
            {
                "plain": _first_fit(text, zoned.not_(), [*formats, *self.dates]),
                "utc": _first_fit(text, zoned, [form + "%#z" for form in formats]),
            },
            schema={"plain": NAIVE, "utc": TIME},
        )
        return frame.with_columns(pl.when(late).then(pl.all().dt.offset_by("1d")).otherwise(pl.all()))


def offsets_of(cells: pl.Series) -> list[str]:
    """Return the distinct offsets from UTC, sorted.

    Args:
        cells: Strings that end with an offset, ``Z``, ``UTC`` or ``GMT``.
    """
    ends = cells.str.tail(len("+01:00")).unique()
    return sorted(ends.str.extract(r"([+-]\d{2}(?::?\d{2})?)$", 1).fill_null("+00:00").unique().to_list())


def quick_format(cells: Iterable[str], order: str | None = None) -> str | None:
    """Return the format of most strings as they are, if they are written in a common way.

    Args:
        cells: Some strings without spaces around them.
        order: One of ``ORDERS``, for dates of numbers that do not begin with a year of four digits.

    Examples:
        >>> quick_format(["2019-01-31T00:05:00Z"]), quick_format(["31/1/19 12:05 AM"], "day-first")
        ('%Y-%m-%dT%H:%M:%SZ', '%d/%m/%y %I:%M %p')
        >>> quick_format(["31-Jan-2019"]), quick_format(["noon"])
        ('%d-%B-%Y', None)
    """
    found = Counter(form for cell in cells if (form := _format_of(cell, order)) is not None)
    return found.most_common(1)[0][0] if found else None


def _format_of(cell: str, order: str | None) -> str | None:
    date = DATE.match(cell)
    if date is None:
        return None
    clock = CLOCK.fullmatch(cell, date.end())
    if clock is None:
        return None
    if date["iso"]:
        form = "%Y-%m-%d".replace("-", date["iso"])
    elif date["named"]:
        form = "%d/%B/%Y".replace("/", date["named"])
    elif order is not None:
        form = ORDERS[order].format("%Y").replace("/", date["sign"])
    else:
        return None
    if date["year"] or date["two"]:
        form = form.replace("%Y", "%y")
    if clock["hour"] is None:
        return form
    half, zone = clock["half"] or "", clock["zone"] or ""
    form += clock["border"] + ("%I" if half else "%H") + ":%M" + (":%S" if clock["second"] else "")
    form += ("%.f" if clock["fraction"] else "") + re.sub("[AaPp][Mm]", "%p", half)
    return form + re.sub(r"[+-].*", "%#z", zone)


def _read_in(cells: pl.Series, form: str | None) -> pl.DataFrame:
    """Read times in one format; ``Z``, ``UTC`` and ``GMT`` at its end are an offset of zero."""
    nothing = pl.Series([None], dtype=NAIVE).new_from_index(0, cells.len())
    if form is None:
        return pl.DataFrame({"plain": nothing, "utc": nothing.dt.replace_time_zone("UTC")})
    read = cells.str.to_datetime(form, time_unit="us", strict=False)
    read = _usable(read)  # %Y reads 07 as the year 7
    if form.endswith("z"):
        return pl.DataFrame({"plain": nothing, "utc": read})
    if form.endswith(("Z", "UTC", "GMT")):
        return pl.DataFrame({"plain": nothing, "utc": read.dt.replace_time_zone("UTC")})
    return pl.DataFrame({"plain": read, "utc": nothing.dt.replace_time_zone("UTC")})


def _usable(times: pl.Series) -> pl.Series:
    return pl.select(usable(pl.lit(times))).to_series()


def _first_fit(text: pl.Series, chosen: pl.Series, formats: Sequence[str]) -> pl.Series:
    """Read the chosen strings in the first format that fits each of them; null for others."""
    zoned = formats[0].endswith("z")
    out = pl.Series([None], dtype=TIME if zoned else NAIVE).new_from_index(0, text.len())
    at = chosen.fill_null(False).arg_true()
    for form in formats:
        if not at.len():
            break
        read = _usable(text.gather(at).str.to_datetime(form, time_unit="us", strict=False))
        out = out.scatter(at, read)
        at = at.filter(read.is_null())
    return out
