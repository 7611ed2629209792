"""Dates: which number is the day, the month and the year, and dates with names of months, in one plain writing.

``31.1.2019``, ``1/31/19``, ``Jan 31, 2019``, ``31-Jan-2019`` and the like are rewritten by one polars expression, so
that lazy columns stay lazy. The order of numbers is settled by all dates of a column; what remains ambiguous raises an
error that shows the readings. This module parses no time zones and knows no options other than the order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import polars as pl

from thence.errors import InputError, quote

ORDERS: Final = {"day-first": "%d/%m/{}", "month-first": "%m/%d/{}", "year-first": "%y/%m/%d"}
"""Orders of the numbers of a date, and their formats with a place for the year."""

MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? *)"
DAY = r"(\d{1,2})(?:st|nd|rd|th)?"

NUMBERED = r"^\s*(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4}|\d{2})(?:\D|$)"
"""Dates of three numbers, the last of which may be the year; the groups are the numbers and the sign."""
NAMED = rf"(?i)^\s*{WEEKDAY}?(?:\d{{1,2}}(?:st|nd|rd|th)?[-/. ]*{MONTH}|{MONTH}[-/ ]*\d{{1,2}}|\d{{4}}[-/. ]*{MONTH})"
"""Dates with the English name of a month."""
SPACED = r"^\s*(\d{1,2}) (\d{1,2}) (\d{4})(\D|$)"
"""Dates of three numbers with blanks between them; the last is the year."""
SHOWN_OF = 20_000  # dates of which the first are shown in an error
LONGEST_DATE = len("31/12/2019 ")  # of numbers, with the sign after it
ISO = r"^\s*\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:\D|$)|^\s*\d{8}T\d{4}"

# Each step takes the result of the one before; the first four give day-month-year, the fifth the numbers as they are.
ISO_STEPS = (
    (r"^(\d{4})(\d{2})(\d{2})T(\d{2}):?(\d{2}):?(\d{2})", "${1}-${2}-${3} ${4}:${5}:${6}"),
    (r"^(\d{4})(\d{2})(\d{2})T(\d{2}):?(\d{2})", "${1}-${2}-${3} ${4}:${5}"),
    (r"^(\d{4})[/.](\d{1,2})[/.]", "${1}-${2}-"),
    (r"^(\d{4}-\d{1,2}-\d{1,2})(?:,? +|[Tt_])", "${1} "),
)
DATE_STEPS = (
    (r"\s+", " "),
    (rf"(?i)^{WEEKDAY}", ""),
    (rf"(?i)^{DAY}[-/. ]*{MONTH},?[-/. ]*(\d{{4}}|\d{{2}})(\D|$)", "${1}-${2}-${3}${4}"),
    (rf"(?i)^{MONTH} {DAY} (\d{{1,2}}:[0-9:.]+) (\d{{4}})$", "${2}-${1}-${4} ${3}"),
    (rf"(?i)^{MONTH}[-/ ]*{DAY},?[-/ ]+(\d{{4}})(\D|$)", "${2}-${1}-${3}${4}"),
    (rf"(?i)^(\d{{4}})[-/. ]*{MONTH}[-/. ]*(\d{{1,2}})(\D|$)", "${3}-${2}-${1}${4}"),
    (r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(\D|$)", "${1}/${2}/${3}${4}"),
    (r"^(\d{1,2}[-/][A-Za-z0-9]{1,3}[-/](?:\d{4}|\d{2}))(?:,? +(?:- |at )?|[,Tt_:])(\d)", "${1} ${2}"),
)
ABBREVIATIONS: Final = {
    "+00:00": "wet",
    "+01:00": "cet|west|bst",
    "+02:00": "eet|cest",
    "+03:00": "eest|msk",
    "+08:00": "awst|sgt|hkt",
    "+09:00": "jst|kst",
    "+09:30": "acst",
    "+10:00": "aest",
    "+10:30": "acdt",
    "+11:00": "aedt",
    "+12:00": "nzst",
    "+13:00": "nzdt",
    "-03:00": "adt",
    "-04:00": "ast|edt",
    "-05:00": "est|cdt",
    "-06:00": "cst|mdt",
    "-07:00": "mst|pdt",
    "-08:00": "pst|akdt",
    "-09:00": "akst",
    "-10:00": "hst",
}
"""Abbreviations of time zones by their offset; of those that mean several, the one that control systems write."""
_CLOCK = r"(?i)(:\d{2}(?:\.\d+)?(?: [ap]m)?)"
CLOCK_STEPS = (
    (r"^(\d\S*[-/]\S+ \d{1,2})\.(\d{2})\.(\d{2})$", "${1}:${2}:${3}"),
    (r"(\d(?:[+-]\d{2}:?\d{2}|Z)) [A-Z][A-Za-z0-9_/+-]+$", "${1}"),
    (r"^(\d\S*[-/]\S+ \d{1,2})$", "${1}:00"),
    (r"(:\d{2}),(\d+)", "${1}.${2}"),
    (r"(?i)(\d) ?([ap])\.? ?m\.?(z| |[+]|-|$)", "${1} ${2}m${3}"),
    (rf"{_CLOCK} ?(?:z|utc|gmt)$", "${1}+00:00"),
    (rf"{_CLOCK} ([+-]\d{{2}}:?(?:\d{{2}})?)$", "${1}${2}"),
    *((rf"{_CLOCK} ?(?:{names})$", f"${{1}}{offset}") for offset, names in ABBREVIATIONS.items()),
)


class AmbiguousDatesError(InputError):
    """The dates of a column may be read in more than one order; ``example`` names one of them."""

    example = ""


def looks_like_date(cell: str) -> bool:
    """Return whether a string looks like a date, with or without a time of day.

    Args:
        cell: The string.

    Examples:
        >>> [looks_like_date(text) for text in ("31.1.19 0:05", "Jan 31, 2019", "2019-01-31T00:05Z", "12", "may")]
        [True, True, True, False, False]
    """
    numbered = re.match(NUMBERED, cell) or re.match(SPACED, cell)
    return bool(numbered or re.match(ISO, cell) or (re.match(NAMED, cell) and re.search(r"\d{2}", cell)))


def plain_date(text: pl.Expr) -> pl.Expr:
    """Rewrite dates to ``1/31/2019`` (numbers, in their order) or ``31-Jan-2019`` (names), with a space after them.

    Args:
        text: Strings without spaces around them; ISO dates are not changed.
    """
    return _rewrite(text, DATE_STEPS)


def offset_of(abbreviation: str) -> str | None:
    """Return the offset from UTC that an abbreviation of a time zone means, or ``None``.

    Args:
        abbreviation: The abbreviation.

    Examples:
        >>> offset_of("EST"), offset_of("XYZ")
        ('-05:00', None)
    """
    return next((offset for offset, names in ABBREVIATIONS.items() if abbreviation.lower() in names.split("|")), None)


def plain_iso(text: pl.Expr) -> pl.Expr:
    """Rewrite dates that begin with the year to ``2019-1-31``, with a space before the time of day.

    Args:
        text: Strings without spaces around them.
    """
    return _rewrite(text, ISO_STEPS)


def first_letters(text: pl.Expr) -> pl.Expr:
    """Return the distinct beginnings of strings, long enough for a date: far fewer than the strings.

    Args:
        text: Strings that begin with dates.
    """
    return text.cast(pl.String).str.strip_chars().str.slice(0, LONGEST_DATE).unique()


def plain_clock(text: pl.Expr) -> pl.Expr:
    """Rewrite times of day: a decimal point in seconds, `` am`` or `` pm``, and an offset without a space before it.

    Args:
        text: Strings that begin with a date.
    """
    return _rewrite(text, CLOCK_STEPS)


def date_formats(order: str | None) -> list[str]:
    """Return the formats of dates that ``plain_date`` has rewritten.

    Args:
        order: One of ``ORDERS``, or ``None`` for dates with names of months.
    """
    # Two digits come first: %Y would read them as a year before 100.
    template = "%d-%b-{}" if order is None else ORDERS[order]
    return list(dict.fromkeys(template.format(year) for year in ("%y", "%Y")))


def settle_order(
    sample: pl.Series, rest: Callable[[], pl.Series] | None, *, column: str, where: str
) -> tuple[str, bool]:
    """Find the order of the numbers of dates.

    Args:
        sample: Strings, of which those that ``NUMBERED`` matches count.
        rest: Returns the ``first_letters`` of the whole column, if the sample is not the whole; called only if the
            sample does not settle the order.
        column: Name of the column, for messages.
        where: Name of the table, for messages.

    Returns:
        One of ``ORDERS``, and whether the dates leave no doubt; dates with points are day-first if none settles it.

    Raises:
        AmbiguousDatesError: If several orders are possible.
    """
    possible = _possible(pl.select(first_letters(pl.lit(sample))).to_series())
    if len(possible) > 1 and rest is not None:
        possible = _possible(rest())
    if len(possible) == 1:
        return possible[0], possible[0] != "year-first"
    dates = sample.filter(sample.str.contains(NUMBERED)).head(SHOWN_OF)
    if "day-first" in possible and dates.str.extract(NUMBERED, 2)[0] == ".":
        return "day-first", False
    error = AmbiguousDatesError(
        f"column {quote(column)} holds dates that may be {' or '.join(possible)}: {_readings(dates, possible)}",
        where=where,
        hint=f"pass {' or '.join(f'time_format={order!r}' for order in possible)}",
    )
    error.example = f"dates such as '{dates[0]}'"
    raise error


def _possible(dates: pl.Series) -> list[str]:
    """Return the orders that are possible, by numbers over 12 and over 31, and by which number changes."""
    parts = dates.str.extract_groups(NUMBERED).struct.unnest().drop_nulls()
    a, b, c = (parts[name].cast(pl.Int64) for name in ("1", "3", "4"))
    as_day, as_month = a.is_between(1, 31) & b.is_between(1, 12), a.is_between(1, 12) & b.is_between(1, 31)
    as_year = (parts["4"].str.len_chars() == 2) & b.is_between(1, 12) & c.is_between(1, 31)
    day, month = int((as_day & ~as_month).sum()), int((as_month & ~as_day).sum())
    if int((as_year & ~as_day & ~as_month).sum()) > day + month:
        return ["year-first"]
    # Where 19/03/04 may begin with the year, the number that changes less is the year.
    if as_year.all() and a.n_unique() < c.n_unique():
        return ["year-first"] if day else ["day-first", "month-first", "year-first"]
    # Of one day alone, written 24-01-15, neither number changes.
    if day and as_year.all() and (parts["2"] == "-").all() and a.n_unique() == c.n_unique() == 1:
        return ["day-first", "year-first"]
    if day or month:
        return ["day-first" if day >= month else "month-first"]
    return ["day-first", "month-first"] if (a != b).any() else ["day-first"]


def _readings(sample: pl.Series, orders: Sequence[str]) -> str:
    """Return how the first dates would be read in each order."""
    texts = sample.str.strip_chars().unique(maintain_order=True)
    days = texts.str.extract(r"^(\d+[-/.]\d+[-/.]\d+)", 1)
    frame = pl.DataFrame({"text": texts, "day": days}).unique("day", maintain_order=True).head(2)
    shown = []
    for text, day in frame.iter_rows():
        plain = re.sub(r"[-.]", "/", day)
        read = [_parse(plain, order) for order in orders]
        shown.append(f"'{text}' is {' or '.join(f'{day.day} {day:%B %Y}' for day in read if day is not None)}")
    return ", ".join(shown)


def _parse(day: str, order: str) -> datetime | None:
    for form in date_formats(order):
        try:
            return datetime.strptime(day, form)
        except ValueError:
            continue
    return None


def _rewrite(text: pl.Expr, steps: Sequence[tuple[str, str]]) -> pl.Expr:
    for pattern, replacement in steps:
        text = text.str.replace_all(pattern, replacement)
    return text
