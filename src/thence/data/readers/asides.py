"""Columns beside the readings of a wide table: what the calendar says, numbers of rows, ids of sites, labels.

A column counts as such by its name and by all its cells, of a table in memory, or by the first cells of one that is
only scanned. What the user names in ``numeric`` or ``categorical`` is a sensor whatever its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import polars as pl

from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readings.frames import collect

SAMPLE_ROWS = 10_000
CALENDAR, NUMBERS, SITES, LABELS = "calendar", "row numbers", "ids", "labels"

_MONTHS = r"(?i)^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?$"
_DAYS = r"(?i)^(mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(day)?\.?$"
_SEASONS = r"(?i)^(winter|spring|summer|autumn|fall|wet|dry)$"
_FLAGS = r"(?i)^(yes|no|y|n|true|false|holiday|workday|working day|weekday|weekend|school holiday)$"
PARTS: Final[Mapping[str, tuple[str, tuple[int, int], str | None]]] = {
    "year": ("year yr yyyy jahr", (1900, 2100), None),
    "quarter": ("quarter qtr", (1, 4), r"^[Qq][1-4]$"),
    "season": ("season", (0, 4), _SEASONS),
    "month": ("month mnth mth mon mm monat month_of_year", (1, 12), _MONTHS),
    "week": ("week week_of_year weekofyear weekno week_number kw", (0, 53), None),
    "day": ("day dom day_of_month dayofmonth dd tag", (1, 31), _DAYS),
    "day of year": ("doy day_of_year dayofyear yearday yday julian_day", (1, 366), None),
    "weekday": ("weekday wd wday dow day_of_week dayofweek week_day weekday_name day_name wochentag", (0, 7), _DAYS),
    "hour": ("hour hr hh hod hour_of_day hourofday stunde", (0, 24), None),
    "minute": ("minute minutes_of_hour mi", (0, 59), None),
    "flag": (
        "holiday is_holiday holidays public_holiday bank_holiday school_holiday weekend is_weekend workday workingday "
        "working_day is_working_day is_workday business_day is_business_day is_weekday day_type daytype",
        (0, 1),
        _FLAGS,
    ),
}
"""Names of columns of the calendar, the whole numbers that they may hold, and what their text looks like."""
VARYING = ("hour", "minute", "weekday")
"""What cannot be the same in all rows of a table, unless it is a reading."""
_PART_OF = {name: part for part, (names, _, _) in PARTS.items() for name in names.split()}

NUMBER_NAMES = (
    *("#", "no", "no.", "nr", "nr.", "record", "row", "row_number", "index", "idx", "line", "seq", "id", "row_id"),
    *("rowid", "recno", "record_number", "record_no", "unnamed:_0", "obs", "entry", "n"),
)
"""Names of columns that may number the rows."""
SITE_NAMES = (
    *("site", "building", "bldg", "facility", "campus", "plant", "station", "asset", "turbine", "household", "house"),
    *("location", "country", "region", "city", "device", "logger", "serial", "serial_number", "customer", "meter"),
)
"""Names of columns that may say where all readings of a row are from, alone or before ``id``, ``name`` or ``no``."""
LABEL_NAMES = (
    *(
        "label",
        "labels",
        "anomaly",
        "anomalies",
        "is_anomaly",
        "anomaly_label",
        "changepoint",
        "change_point",
        "outlier",
    ),
    *("is_outlier", "fault", "is_fault", "fault_label", "fault_type", "fault_class", "attack", "is_attack"),
    *("att_flag", "attack_label", "normal/attack", "ground_truth", "is_normal", "leak_label", "event_label"),
)
"""Names of columns in which somebody has marked rows, such as those of a fault."""
MOST_LABELS = 20
_ID = re.compile(r"(?:^|_)(?:id|name|no|number|code|uid|uuid|ref)$")


def find_asides(table: SourceTable, plain: Mapping[str, str], options: ReadOptions) -> dict[str, str]:
    """Return the columns that hold no readings, and what they hold instead.

    Args:
        table: The table.
        plain: The columns besides the time, with their names in the spelling of the lists of known names.
        options: Columns that the user calls readings.
    """
    open_names = [name for name in plain if not (options.is_numeric(name) or options.is_categorical(name))]
    likely = {
        name: found
        for name in open_names
        if (
            found := _PART_OF.get(plain[name])
            or (NUMBERS if plain[name] in NUMBER_NAMES else LABELS if plain[name] in LABEL_NAMES else "")
            or SITES * is_id(plain[name])
        )
    }
    if not likely:
        return {}
    rows = table.frame if table.in_memory else table.frame.head(SAMPLE_ROWS)
    frame = collect(rows.select(list(likely)), source=table.name)
    out = {}
    for name, found in likely.items():
        cells = frame[name].drop_nulls()
        if found == NUMBERS:
            right = cells.dtype.is_integer() and bool((cells.diff().drop_nulls() == 1).all()) and cells.len() > 1
        elif found == LABELS:
            right = _are_labels(cells)
        elif found == SITES:
            right = cells.n_unique() == 1 and (cells.dtype.is_integer() or cells.dtype == pl.String)
        else:
            right = _is_part(found, cells)
        if right:
            out[name] = found if found in (NUMBERS, SITES, LABELS) else CALENDAR
    return out


def _are_labels(cells: pl.Series) -> bool:
    """Return whether cells say yes or no (0 or 1, −1 or 1), or name one of a few classes."""
    known = cells.unique()
    if cells.dtype.is_numeric():
        whole = bool((known.cast(pl.Float64) % 1 == 0).all())
        return whole and 0 < known.len() <= MOST_LABELS
    return cells.dtype == pl.Boolean or (cells.dtype == pl.String and 0 < known.len() <= MOST_LABELS)


def is_part(name: str, cells: pl.Series, part: str) -> bool:
    """Return whether a column holds a part of the date or of the time, by its name and its cells.

    Args:
        name: Name of the column in the spelling of the lists of known names.
        cells: Its cells.
        part: A key of ``PARTS``.
    """
    return _PART_OF.get(name) == part and _is_part(part, cells.drop_nulls(), varying=False)


def _is_part(part: str, cells: pl.Series, *, varying: bool = True) -> bool:
    _, (low, high), text = PARTS[part]
    if not cells.len() or (varying and part in VARYING and cells.n_unique() < 2):
        return False
    if cells.dtype == pl.Boolean:
        return part == "flag"
    if cells.dtype == pl.String:
        return text is not None and bool(cells.str.strip_chars().unique().str.contains(text).all())
    if not cells.dtype.is_numeric():
        return False
    known = cells.unique()
    return bool(known.is_between(low, high).all()) and bool((known.cast(pl.Float64) % 1 == 0).all())


def is_id(name: str) -> bool:
    """Return whether a column may say where the readings of a row are from, by its name.

    Args:
        name: Name of the column in the spelling of the lists of known names.

    Examples:
        >>> is_id("station_no"), is_id("bldg_id"), is_id("flow")
        (True, True, False)
    """
    return _ID.sub("", name) in SITE_NAMES or name.split("_")[-1] in ("id", "uid", "uuid")
