"""Times: datetimes, ISO and other strings, and Unix times as UTC microseconds.

``choose_time_reader`` looks at a sample and returns one polars expression for the whole column, so lazy sources stay
lazy. Most columns of strings are written in one format, which is tried first; only what it does not fit is rewritten
and tried in all others. Dates that could be read in two ways (3/4/2017) are settled by all dates of the column, in
``.dates``, or raise an error. A time that cannot be parsed becomes null; the caller counts these rows or reports the
first one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import numpy as np
import polars as pl

from thence.data.readers.dates import (
    ISO,
    NAMED,
    NUMBERED,
    ORDERS,
    SPACED,
    date_formats,
    first_letters,
    offset_of,
    plain_clock,
    plain_date,
    plain_iso,
    settle_order,
)
from thence.data.readers.table import ReadOptions
from thence.data.readers.zones import zone_in_name
from thence.data.readings.frames import FIRST_MICROSECOND, LAST_MICROSECOND, collect, date_to_us, datetime_to_us, usable
from thence.errors import ConfigError, InputError, quote

TIME, NAIVE = pl.Datetime("us", "UTC"), pl.Datetime("us")
# The three ways to write a date for which one format is tried first, and the times of day after it.
DATE = re.compile(
    r"\d{4}(?P<iso>[-/.])\d{1,2}(?P=iso)\d{1,2}"
    r"|\d{1,2}(?P<named>[-/ ])[A-Za-z]{3,}(?P=named)(?:\d{4}|(?P<year>\d{2})(?!\d))"
    r"|\d{1,2}(?P<sign>[-/.])\d{1,2}(?P=sign)(?:\d{4}|(?P<two>\d{2})(?!\d))"
)
TIME_OF_DAY = re.compile(
    r"(?:(?P<border>,? |[T:])(?P<hour>\d{1,2}):\d{2}(?P<second>:\d{2})?(?P<fraction>\.\d+)?"
    r"(?P<half> ?[AaPp][Mm])?(?P<zone> ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?)?"
)
CLOCKS = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S%.f %p", "%I:%M %p", "")
OFFSET = r"(?i):\d{2}(?:\.\d+)?(?: [ap]m)?([+-]\d{2}(?::?\d{2})?)$"
MIDNIGHT = r" 24:00(?::00(?:\.0+)?)?"  # the end of the day


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
    clock = TIME_OF_DAY.fullmatch(cell, date.end())
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


UNIX_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0.001}
UNIX_BANDS = (("s", 1e8, 1e11), ("ms", 1e11, 1e14), ("us", 1e14, 1e17), ("ns", 1e17, 1e20))

# Dates written as plain digits, by number of digits. Some are also Unix times (202001010000 ms is in 1976).
COMPACT = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S", 17: "%Y%m%d%H%M%S%3f"}
COMPACT_YEARS = range(1900, 2100)

UNIX = r"^\d{9,}(\.\d+)?$"
SPREADSHEET_DAYS = (date(1899, 12, 30), date(1900, 1, 1))  # of clock times in a spreadsheet
SOME_CELLS, FIRST_CELLS = 1_000, 20


@dataclass(frozen=True)
class TimeReader:
    """How to read a time column.

    Args:
        expr: The column as ``Datetime(us, UTC)``; null where it is not a time.
        plain: The same without a time zone; not null where the time is invalid only in its time zone.
        naive: Whether the time zone of at least some times was assumed.
        n_naive_among_zoned: Number of times without a time zone in a column that also has times with one.
        notes: Notes for the report.
        order: Order of the numbers of the dates, if the dates leave no doubt about it.
        zone: The time zone of the clock, if the times say it.
    """

    expr: pl.Expr
    plain: pl.Expr
    naive: bool
    n_naive_among_zoned: int = 0
    notes: tuple[str, ...] = ()
    order: str = ""
    zone: str = ""


def check_format(time_format: str | None) -> None:
    """Raise if ``time_format`` is no order of dates, no unit of Unix times, and no format that polars can parse."""
    if time_format is None or time_format in UNIX_UNITS or time_format in ORDERS:
        return
    example = pl.Series(["2020"])
    try:
        if "%" in time_format:
            pl.select(_strptime(pl.lit(example), time_format))
            return
        why = "it has no % directive"
    except pl.exceptions.PolarsError as error:
        why = str(error).splitlines()[0]
    raise ConfigError(
        f"invalid time_format '{time_format}': {why}",
        hint="write it as '%d-%b-%Y %H:%M', or pass 'day-first', 'month-first' or 'year-first' for the order of dates, "
        "or 's', 'ms', 'us' or 'ns' for Unix times",
    )


def choose_time_reader(
    column: str, sample: pl.Series, options: ReadOptions, *, where: str, frame: pl.LazyFrame | None = None
) -> TimeReader:
    """Choose how to read a time column from a sample of it.

    Args:
        column: Name of the column.
        sample: Cells of the column; of numbers, the smallest and the largest.
        options: Time format, time zone and error handling.
        where: Name of the table, for messages.
        frame: The table, if the sample is not the whole column. It is scanned if the sample does not settle the order
            of dates. If the sample is the whole column, only formats that fit some of it are used.

    Raises:
        AmbiguousDatesError: If the dates may be read in several orders.
        InputError: If the format cannot be determined, or the column mixes times with and without a time zone.
    """
    dtype = sample.dtype
    raw = pl.col(column)
    if options.time_format == "%s":
        options = replace(options, time_format="s")
    of = _TimeColumn(column, where, options)
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is not None:
            utc = datetime_to_us(raw, dtype.time_unit).dt.convert_time_zone("UTC")
            notes = () if dtype.time_zone == "UTC" else (f"times converted from {dtype.time_zone} to UTC",)
            return TimeReader(utc, utc, naive=False, notes=notes, zone=dtype.time_zone)
        days = sample.dt.date().drop_nulls()
        if days.len() and bool(days.is_between(*SPREADSHEET_DAYS).all()):
            raise of.error("holds times of day without a date", "add a column of dates")
        return _naive(datetime_to_us(raw, dtype.time_unit), options)
    if dtype == pl.Date:
        return _naive(date_to_us(raw), options)
    if dtype.is_numeric():
        if options.time_format is not None and options.time_format not in (*UNIX_UNITS, *ORDERS):
            return _given(_figures(raw, dtype, options.time_format), options.time_format, options)
        return _unix(raw, sample, of)
    if dtype == pl.Categorical or isinstance(dtype, pl.Enum):
        raw, sample = raw.cast(pl.String), sample.cast(pl.String)
    elif dtype != pl.String:
        raise of.error(f"must hold times, got {dtype}", "pass another time=")
    rest = None if frame is None else lambda: collect(frame.select(first_letters(raw)), source=where).to_series()
    return _text(raw.str.strip_chars(), sample.drop_nulls().str.strip_chars(), of, rest)


@dataclass(frozen=True)
class _TimeColumn:
    """A time column, for messages, and the options to read it with."""

    name: str
    where: str
    options: ReadOptions

    def error(self, problem: str, hint: str) -> InputError:
        return InputError(f"column {quote(self.name)} {problem}", where=self.where, hint=hint)


def _naive(plain: pl.Expr, options: ReadOptions) -> TimeReader:
    return TimeReader(_localized(plain, options), plain, naive=True)


def _localized(plain: pl.Expr, options: ReadOptions) -> pl.Expr:
    if options.zone == "UTC":
        return plain.dt.replace_time_zone("UTC")
    ambiguous = "earliest" if options.on_error == "repair" else "null"
    local = plain.dt.replace_time_zone(options.zone, ambiguous=ambiguous, non_existent="null")  # type: ignore[arg-type]
    return local.dt.convert_time_zone("UTC")


def _unix(raw: pl.Expr, sample: pl.Series, of: _TimeColumn) -> TimeReader:
    unit = of.options.time_format if of.options.time_format in UNIX_UNITS else None
    notes: tuple[str, ...] = ()
    if unit is None:
        known = sample.cast(pl.Float64, strict=False).drop_nulls()
        numbers = [abs(number) for number in (known.min(), known.max()) if isinstance(number, float)] or [1e9]
        if compact := _compact(numbers):
            raise of.error(
                f"spans {min(numbers):.17g} to {max(numbers):.17g}, which may be dates or Unix times",
                f"pass time_format='{compact}', or 's', 'ms', 'us' or 'ns' for Unix times",
            )
        units = {next((u for u, low, high in UNIX_BANDS if low <= n < high), "") for n in numbers}
        if len(units) > 1 or "" in units:
            raise of.error(
                f"spans {min(numbers):.15g} to {max(numbers):.15g}, which are not Unix times of one unit",
                "pass time_format='s', 'ms', 'us' or 'ns', or another time=",
            )
        unit = units.pop()
        notes = (f"times read as Unix times in {unit}",)
    factor = UNIX_UNITS[unit]
    if factor >= 1 and sample.dtype.is_integer():
        whole = raw.cast(pl.Int64, strict=False)  # null, as what is no time: it would not fit after the multiplication
        held = whole.is_between(FIRST_MICROSECOND // int(factor), LAST_MICROSECOND // int(factor))
        micros = pl.when(held).then(whole) * int(factor)
    elif sample.dtype.is_integer():
        micros = raw.cast(pl.Int64, strict=False) // 1000
    else:
        number = raw.cast(pl.Float64, strict=False).fill_nan(None)
        micros = (number * factor).round().cast(pl.Int64, strict=False)
        if sample.dtype == pl.String and unit == "ns":  # more digits than a float can hold
            micros = pl.coalesce(raw.cast(pl.Int64, strict=False) // 1000, micros)
    utc = usable(micros.cast(pl.Datetime("us"))).dt.replace_time_zone("UTC")
    return TimeReader(utc, utc, naive=False, notes=notes)


def _compact(numbers: Sequence[float]) -> str | None:
    """Return the format in which the smallest or the largest number is a date between 1900 and 2100.

    One of them is enough, since the other may end in 24:00. Ten digits are also Unix seconds from 2030 on, so both must
    be dates.

    >>> _compact([202001010000, 202001020000]), _compact([1489017527, 1489017999])
    ('%Y%m%d%H%M', None)
    """
    texts = [f"{number:.0f}" for number in numbers]
    fmt = COMPACT.get(len(texts[0]))
    if fmt is None or any(len(text) != len(texts[0]) or int(text[:4]) not in COMPACT_YEARS for text in texts):
        return None
    parsed = pl.select(_strptime(pl.lit(pl.Series(texts)), fmt)).to_series()
    enough = all if fmt == "%Y%m%d%H" else any
    return fmt if enough(parsed.is_not_null()) else None


def _figures(raw: pl.Expr, dtype: pl.DataType, time_format: str) -> pl.Expr:
    """Convert numbers to the strings that a format parses, with the leading zeros that numbers lack."""
    whole = raw if dtype.is_integer() else pl.when(raw.cast(pl.Float64) % 1 == 0).then(raw)
    text = whole.cast(pl.Int64, strict=False).cast(pl.String)
    written = datetime(2000, 11, 11, 11, 11, 11).strftime(time_format)
    if not written.isdigit():
        return text
    if not time_format.startswith("%Y"):  # years have no leading zeros
        text = text.str.zfill(len(written))
    return pl.when(text.str.len_chars() == len(written)).then(text)


def _given(raw: pl.Expr, time_format: str, options: ReadOptions) -> TimeReader:
    parsed = usable(_strptime(raw, time_format))
    if re.search(r"%#?:*z", time_format):
        return TimeReader(parsed, parsed, naive=False)
    if re.search(r"(?<!%)%s", time_format):  # Unix times are UTC
        utc = parsed.dt.replace_time_zone("UTC")
        return TimeReader(utc, utc, naive=False)
    return _naive(parsed, options)


def _strptime(text: pl.Expr, time_format: str) -> pl.Expr:
    if "%H" in time_format and not re.search(r"%[MRTXcsr+]", time_format):
        text, time_format = text + ":00", time_format + ":%M"  # polars parses no hour without a minute
    return text.str.to_datetime(time_format, time_unit="us", strict=False)


def _text(raw: pl.Expr, sample: pl.Series, of: _TimeColumn, rest: Callable[[], pl.Series] | None) -> TimeReader:
    given = of.options.time_format
    some = _some(sample)
    if given in UNIX_UNITS or (given is None and some.len() and some.str.contains(UNIX).all()):
        return _unix(raw, sample, of)
    if given is not None and given not in ORDERS:
        return _given(raw, given, of.options)
    if some.str.contains(SPACED).any():
        slashes = "${1}/${2}/${3}${4}"
        raw = raw.str.replace(SPACED, slashes)
        sample, some = sample.str.replace(SPACED, slashes), some.str.replace(SPACED, slashes)
    shapes = {shape: some.str.contains(shape) for shape in (ISO, NUMBERED, NAMED)}
    shape = max(shapes, key=lambda shape: int(shapes[shape].sum()))  # of equally frequent ones, the first
    some = some.filter(shapes[shape])
    if not some.len():
        problem = f"holds times in an unknown format, such as {quote(sample[0])}" if sample.len() else "holds no times"
        raise of.error(problem, "pass, for example, time_format='%d-%b-%Y %H:%M'")
    first = some.head(FIRST_CELLS).to_list()
    order = given
    notes: tuple[str, ...] = ()
    if shape == ISO:
        written = Writing(["%Y-%m-%d"], plain_iso, quick_format(first))
    elif shape == NAMED:
        written = Writing(date_formats(None), plain_date, quick_format(first))
    else:
        settled = True
        if order is None:
            order, settled = settle_order(sample, rest, column=of.name, where=of.where)
        written = Writing(date_formats(order), plain_date, quick_format(first, order))
        notes = () if settled else (f"dates such as '{some[0]}' read {order}",)
    reader = _reader(raw, sample, written, of, notes)
    return reader if notes or order is None else replace(reader, order=order)


def _some(cells: pl.Series) -> pl.Series:
    """Return some of the cells, in order; not every n-th, since what recurs may be what is wrong with them."""
    if cells.len() <= SOME_CELLS:
        return cells
    chosen = np.random.default_rng(0).choice(cells.len(), SOME_CELLS, replace=False)
    return cells.gather(np.sort(chosen))


def _reader(raw: pl.Expr, sample: pl.Series, written: Writing, of: _TimeColumn, notes: tuple[str, ...]) -> TimeReader:
    """Return the reader of dates with times of day, with or without an offset."""

    def utc(cells: pl.Series) -> pl.Series:
        read = written.read(cells).select(pl.coalesce("utc", _localized(pl.col("plain"), of.options)))
        return read.to_series()

    def plain(cells: pl.Series) -> pl.Series:
        return written.read(cells).select(pl.coalesce("plain", pl.col("utc").dt.replace_time_zone(None))).to_series()

    parsed = written.read(sample)
    zoned, naive = parsed["utc"].is_not_null(), parsed["plain"].is_not_null()
    n_naive = int(naive.sum()) if zoned.any() else 0
    if n_naive and of.options.timezone is None and of.options.on_error == "raise":
        raise of.error(
            f"mixes {n_naive:,} times without a time zone ('{sample.filter(naive)[0]}') and "
            f"{int(zoned.sum()):,} with one ('{sample.filter(zoned)[0]}')",
            "pass timezone= for those without, or on_error='repair' to read them as UTC",
        )
    offsets = offsets_of(sample.filter(zoned)) if zoned.any() else []
    if len(offsets) > 1:
        notes = (*notes, f"times with offsets {', '.join(offsets[:6])} converted to UTC")
    named = sample.str.extract(r"\d ?(?:[AaPp][Mm] )?([A-Z]{2,5})$", 1).drop_nulls().unique().sort().to_list()
    for name in named:
        if offset := offset_of(name):
            notes = (*notes, f"times in {name} read as UTC{offset}")
            offsets = [offset, *([] if offsets == ["+00:00"] else offsets)]
    # The clock of times that all have one offset is that of the offset.
    clock = offsets[0] if len(set(offsets)) == 1 and not naive.any() else "+00:00"
    # The sample of a lazy source may miss times with an offset; they are still converted by it.
    return TimeReader(
        raw.map_batches(utc, return_dtype=TIME, is_elementwise=True),
        raw.map_batches(plain, return_dtype=NAIVE, is_elementwise=True),
        naive=bool(naive.any()) or not zoned.any(),
        n_naive_among_zoned=n_naive,
        notes=notes,
        zone=zone_in_name(f"GMT{clock}") if clock != "+00:00" else "",
    )
