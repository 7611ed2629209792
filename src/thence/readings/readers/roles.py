"""Which column is the time, which layout a table has, and which columns are sensors: by name, then by content.

Only names, types and the first cells are looked at. A guess that is not certain is an error that says what to give.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from thence.errors import ConfigError, InputError, nearest
from thence.readings.cleaning import quoted
from thence.readings.readers.table import Options, Table

__all__ = [
    "SENSOR_NAMES",
    "TIME_NAMES",
    "VALUE_NAMES",
    "NotDataError",
    "Roles",
    "find_roles",
    "looks_like_date",
    "looks_like_time",
    "plain_name",
]

TIME_NAMES = (
    "timestamp",
    "datetime",
    "time",
    "date",
    "date_time",
    "time_stamp",
    "ts",
    "zeit",
    "zeitstempel",
)
SENSOR_NAMES = (
    "sensor",
    "sensor_id",
    "sensorid",
    "sensor_name",
    "device",
    "device_id",
    "point",
    "tag",
    "variable",
    "series",
    "tag_name",
    "point_name",
    "device_name",
    "meter_id",
)
"""Columns that name the sensor of a long table, the likeliest first."""
OTHER_SENSOR_NAMES = ("name", "field", "metric", "parameter")
"""Columns that may do so, or be readings: they do where they are texts and the value is the only number."""
ATTRIBUTES = (
    *("quality", "status", "flag", "flags", "unit", "units", "uom", "comment", "comments", "note", "notes", "remark"),
    *("remarks", "label", "anomaly", "is_anomaly", "mode", "state", "valid", "validity"),
)
"""Columns beside a value that say something of it, and do not name its sensor."""
VALUE_NAMES = ("value", "reading", "measurement", "val", "result")

TIME_TEXT = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ].*)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}( .*)?")
UNIX_FLOOR = 1e8
NAMELESS = re.compile(r"\(column \d+ without a name\)")


class NotDataError(InputError):
    """A table has no time, or nothing beside it: it may be a sheet of notes."""

    lacks = "time column"


class NoReadingsError(NotDataError):
    """A table has a time and nothing beside it."""

    lacks = "readings"


@dataclass(frozen=True)
class Roles:
    """The columns of a table by what they hold."""

    layout: Literal["wide", "long", "files"]
    time: str
    sensors: tuple[str, ...] = ()
    sensor: str = ""
    value: str = ""
    ignored: tuple[str, ...] = ()


def plain_name(name: str) -> str:
    """A column's name as the lists of known names write it.

    >>> [plain_name(name) for name in ("Sensor ID", "_field", "Date-Time")]
    ['sensor_id', 'field', 'date_time']
    """
    return re.sub(r"[\s_-]+", "_", name.strip().lower()).strip("_")


def looks_like_date(cell: str) -> bool:
    """Whether a text is a date, with or without a time of day."""
    return bool(TIME_TEXT.fullmatch(cell.strip()))


def looks_like_time(cell: str) -> bool:
    """Whether a text is a date, with or without a time of day, or a unix time.

    >>> [looks_like_time(text) for text in ("2019-01-01 00:05:00", "8/28/2007 0:00", "1489017527", "12", "n1")]
    [True, True, True, False, False]
    """
    text = cell.strip()
    return looks_like_date(text) or (text.replace(".", "", 1).isdigit() and float(text) >= UNIX_FLOOR)


def find_roles(table: Table, options: Options, *, alone: bool = True) -> Roles:
    """The roles of a table's columns; several tables are not ``alone``, and then a value needs a name of its own."""
    columns = list(table.schema)
    if options.time not in ("auto", *columns):
        raise NotDataError(
            f"there is no column '{options.time}'; the columns are {quoted(columns)}",
            where=table.name,
            hint=nearest(options.time, columns),
        )
    for name in (options.sensor, options.value):
        if name is not None and name not in columns:
            raise InputError(
                f"there is no column '{name}'; the columns are {quoted(columns)}",
                where=table.name,
                hint=nearest(name, columns),
            )
    ignored = tuple(name for name in columns if name in options.ignore)
    columns = [name for name in columns if name not in options.ignore]
    time = options.time if options.time != "auto" else _time_column(table, columns)
    _require_no_split(table, columns, time)
    unnamed = [name for name in columns if name != time and NAMELESS.fullmatch(name)]
    ignored = (*ignored, *unnamed)
    rest = [name for name in columns if name != time and name not in unnamed]
    layout = options.layout if options.layout != "auto" else _layout(table, time, rest, options, alone)
    if layout == "long":
        sensor = options.sensor or _named(rest, (*SENSOR_NAMES, *OTHER_SENSOR_NAMES)) or _text_column(table, rest)
        value = options.value or _named([n for n in rest if n != sensor], VALUE_NAMES) or _only(rest, sensor)
        for role, name in (("sensor", sensor), ("value", value)):
            if not name:
                raise InputError(
                    f"no column holds the {role} of a long table; the columns are {quoted(columns)}",
                    where=table.name,
                    hint=f"name it with {role}=",
                )
        other = tuple(n for n in rest if n not in (sensor, value))
        return Roles("long", time, sensor=str(sensor), value=str(value), ignored=(*ignored, *other))
    if layout == "files":
        if not table.title:
            raise InputError(
                "a frame has no file name to call its sensor by", where=table.name, hint="give layout='wide'"
            )
        value = options.value or _named(rest, VALUE_NAMES) or (rest[0] if len(rest) == 1 else None)
        if value is None:
            raise InputError(
                f"a file of one sensor has a time and a value, this one has {quoted(columns)}",
                where=table.name,
                hint="name the value with value=, or give layout='wide'",
            )
        return Roles("files", time, value=value, ignored=(*ignored, *(n for n in rest if n != value)))
    if layout != "wide":
        raise ConfigError(f"there is no layout '{layout}'", hint="use auto, wide, long or files")
    if table.headerless:
        raise InputError(
            f"the first line holds no names and there are {len(columns)} columns: the sensors have no ids",
            where=table.name,
            hint="add a header line, or give header=True if the first line is one",
        )
    if not rest:
        raise NoReadingsError(
            f"there is a time, '{time}', but no column with readings; the columns are {quoted(columns)}",
            where=table.name,
            hint="give separator= if lines are cut in the wrong places",
        )
    return Roles("wide", time, sensors=tuple(rest), ignored=ignored)


def _require_no_split(table: Table, columns: Sequence[str], time: str) -> None:
    """A day without its time of day would put all readings of the day at midnight."""
    clock = next((name for name in columns if plain_name(name) == "time" and name != time), None)
    split = clock is not None and plain_name(time) == "date" and _has_clock(table, clock)
    if split and not _has_clock(table, time):
        raise InputError(
            f"the time is in two columns, '{time}' and '{clock}'",
            where=table.name,
            hint=f"join them into one column, or give ignore=['{clock}'] if '{time}' is the whole time",
        )


def _has_clock(table: Table, time: str) -> bool:
    """Whether the first cells say a time of day."""
    cells = _first_cells(table, [time])[time]
    if cells.dtype == pl.String:
        return bool(cells.str.contains(":").any())
    return cells.dtype == pl.Time or (cells.dtype == pl.Datetime and bool((cells != cells.dt.truncate("1d")).any()))


def _time_column(table: Table, columns: Sequence[str]) -> str:
    named = [name for name in columns if plain_name(name) in TIME_NAMES]
    dated = [name for name in columns if table.schema[name].is_temporal()]
    for found in (named, dated):
        if len(found) == 1:
            return found[0]
        both = [name for name in found if name in dated]
        if len(both) == 1:
            return both[0]
        if {plain_name(name) for name in found} == {"date", "time"}:
            return next(name for name in found if plain_name(name) == "date")
        if found:
            raise InputError(
                f"{quoted(found)} could each be the time", where=table.name, hint=f"give time='{found[0]}'"
            )
    first = _first_cells(table, columns)
    for k, name in enumerate(columns):
        cells = first[name]
        if not cells.len():
            continue
        is_text = cells.dtype == pl.String
        if (is_text or (k == 0 and cells.dtype.is_numeric())) and looks_like_time(str(cells[0])):
            return name
    raise NotDataError(
        f"no column looks like a time; the columns are {quoted(columns)}",
        where=table.name,
        hint="name it with time=; the names of the columns must be the first line",
    )


def _layout(table: Table, time: str, rest: Sequence[str], options: Options, alone: bool) -> str:
    if options.sensor is not None:
        return "long"
    value = options.value or _named(rest, VALUE_NAMES)
    others = [name for name in rest if name != value]
    if value and _named(others, SENSOR_NAMES):
        return "long"
    if len(rest) == 1 and table.title and (table.headerless or value):
        return "files"
    if table.headerless and len(rest) == 2 and _text_column(table, rest):
        return "long"
    if value and (other := _named(others, OTHER_SENSOR_NAMES)):
        lost = [name for name in others if name != other and not _is_text(table, name)]
        # Where a time stands twice, or as Influx writes it, other numbers are no readings.
        if not lost or other == "_field" or _repeats(table, time):
            return "long"
    if value and not _is_text(table, value) and (unclear := _may_be_ids(table, time, others, alone)):
        files = ", layout='files'" if table.title else ""
        raise InputError(
            f"'{unclear}' may name the sensor of each '{value}' (a long table), or be readings of its own (a wide one)",
            where=table.name,
            hint=f"give sensor='{unclear}', layout='wide'{files}, or ignore=['{unclear}']",
        )
    return "wide"


def _may_be_ids(table: Table, time: str, columns: Sequence[str], alone: bool) -> str | None:
    """A column next to a value that could hold the ids of a long table, if any.

    Where a time stands twice in the first rows, something must tell its readings apart: a text, or else a whole number.
    Otherwise it may be a text that is no attribute of the value, in a table without further numbers, or a number that
    is called an id and does not count the rows.
    """
    texts = [name for name in columns if _is_text(table, name)]
    whole = [name for name in columns if name not in texts and _is_whole(table, name)]
    if _repeats(table, time):
        return next(iter([*texts, *whole]), None)
    if len(texts) < len(columns):
        called = [name for name in whole if len(columns) == 1 and plain_name(name).split("_")[-1] == "id"]
        return next((name for name in called if not _counts_up(table, name)), None)
    return next((name for name in texts if not alone or plain_name(name) not in ATTRIBUTES), None)


def _repeats(table: Table, time: str) -> bool:
    """Whether a time stands twice in the first rows."""
    times = _first_cells(table, [time])[time]
    return times.n_unique() < times.len()


def _counts_up(table: Table, name: str) -> bool:
    cells = _first_cells(table, [name])[name].cast(pl.Int64, strict=False).drop_nulls()
    return bool((cells.diff().drop_nulls() == 1).all())


def _named(columns: Sequence[str], known: Sequence[str]) -> str | None:
    plain: dict[str, str] = {}
    for name in columns:
        plain.setdefault(plain_name(name), name)
    return next((plain[name] for name in known if name in plain), None)


def _text_column(table: Table, columns: Sequence[str]) -> str | None:
    texts = [name for name in columns if _is_text(table, name)]
    return texts[0] if len(texts) == 1 else None


def _is_text(table: Table, name: str) -> bool:
    dtype = table.schema[name]
    if dtype != pl.String or not table.written:
        return dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum)
    # A text file is read as text throughout if a single cell asks for it.
    cells = _first_cells(table, [name])[name].str.strip_chars()
    sign = "[.,]" if table.decimal == "," else "[.]"
    return bool(cells.len()) and not cells.str.contains(rf"^[+-]?\d*{sign}?\d*([eE][+-]?\d+)?$").all()


def _is_whole(table: Table, name: str) -> bool:
    if table.schema[name] == pl.String:
        cells = _first_cells(table, [name])[name].str.strip_chars()
        return bool(cells.len()) and cells.str.contains(r"^[+-]?\d+$").all()
    return table.schema[name].is_integer()


def _first_cells(table: Table, columns: Sequence[str]) -> dict[str, pl.Series]:
    first = table.frame.head(50).select(columns).collect()
    return {name: first[name].drop_nulls() for name in columns}


def _only(columns: Sequence[str], taken: str | None) -> str | None:
    left = [name for name in columns if name != taken]
    return left[0] if len(left) == 1 else None
