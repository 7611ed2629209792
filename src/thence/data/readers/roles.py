"""Roles of columns: the time, the sensors or the sensor name and value, and with them the layout of a table.

Roles are found by column names, types and the first cells. What is uncertain raises an error that says which option to
pass. A date and a time of day in two columns are joined to one column of times, by one expression, so lazy tables stay
lazy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

import polars as pl

from thence.data.readers.asides import LABELS, find_asides, is_part
from thence.data.readers.dates import looks_like_date
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readings.cleaning import quote_names, require_columns, require_plain_name
from thence.data.readings.durations import format_duration
from thence.data.readings.frames import collect, is_text
from thence.errors import InputError, nearest, quote

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
    "datum",
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
    "entity_id",
    "entity",
    "point_id",
    "object_name",
    "history_id",
)
"""Names of the sensor column of a long table, most likely first."""
OTHER_SENSOR_NAMES = ("name", "field", "metric", "parameter")
"""Names of columns that hold sensor names if they hold strings and the value is the only number; else readings."""
ATTRIBUTES = (
    *("quality", "status", "flag", "flags", "unit", "units", "uom", "comment", "comments", "note", "notes", "remark"),
    *("remarks", "label", "anomaly", "is_anomaly", "mode", "state", "valid", "validity"),
)
"""Names of columns that describe a value and do not name its sensor."""
VALUE_NAMES = ("value", "reading", "measurement", "val", "result", "v0", "v")
STATE_NAMES = ("state", "status", "event", "message", "new_state", "action", "activity_state")
"""Names of the column of states in a log of events."""
OUTAGES = ("unavailable", "unknown", "Unavailable", "Unknown", "UNAVAILABLE", "UNKNOWN")
"""What logs of events write while there is no state."""

UNIX_FLOOR = 1e8
SAMPLE_ROWS = 10_000
EVERY_ROW = "(rows)"
NEARLY_ALL = 0.9
FULL_TIME = r"^\s*\S*\d[-/. ]\S+.*\d:\d{2}"
BRACKETED = re.compile(r"(?<=\S)\s*(\([^()]*\)|\[[^\[\]]*\])$")
NUMBER_OR_STATE = (
    r"(?i)^([+-]?\d+([.,]\d+)?|on|off|open|opened|closed?|true|false|yes|no|present|absent|active|inactive)$"
)
UNNAMED = re.compile(r"\(column \d+ without a name\)")


class NotDataError(InputError):
    """A table has no time column or no readings; it may be a sheet of notes."""

    lacks = "time column"


class NoReadingsError(NotDataError):
    """A table has a time column and no other column."""

    lacks = "readings"


@dataclass(frozen=True)
class Roles:
    """The columns of a table by their role.

    Args:
        layout: Layout of the table.
        time: The time column.
        sensors: Columns of readings, in wide layout.
        sensor: Column of sensor names, in long layout.
        value: Column of readings, in long layout and for a file per sensor.
        ignored: Columns without a role.
        asides: Columns of them that hold something else, and what.
        missing: Words that mean a missing reading, besides those of the options.
    """

    layout: Literal["wide", "long", "files"]
    time: str
    sensors: tuple[str, ...] = ()
    sensor: str = ""
    value: str = ""
    ignored: tuple[str, ...] = ()
    asides: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def describe_ignored(self) -> list[str]:
        """Return a note about the columns that are left out, if there are any."""
        if not self.ignored:
            return []
        groups: dict[str, list[str]] = {}
        for name in self.ignored:
            groups.setdefault(self.asides.get(name, ""), []).append(name)
        shown = [quote_names(names) + f" ({what})" * bool(what) for what, names in sorted(groups.items())]
        notes = [f"ignored columns: {'; '.join(shown)}"]
        if labels := groups.get(LABELS):
            first = quote(labels[0])
            notes.append(
                f"labels are no sensors: pass target={first} for rules about them, or categorical=[{first}] to read "
                "them as a sensor"
            )
        return notes


def plain_name(name: str) -> str:
    """Normalise a column name to the spelling of the lists of known names; a format or unit in brackets is left out.

    Examples:
        >>> [plain_name(name) for name in ("Sensor ID", "_field", "Date-Time", "Time (HH:MM)")]
        ['sensor_id', 'field', 'date_time', 'time']
    """
    return re.sub(r"[\s_-]+", "_", BRACKETED.sub("", name.strip()).lower()).strip("_")


def is_time_name(name: str) -> bool:
    """Return whether a column with this name holds times.

    Examples:
        >>> is_time_name("Date (MM/DD/YYYY)"), is_time_name("flow")
        (True, False)
    """
    return plain_name(name) in TIME_NAMES


def looks_like_time(cell: str) -> bool:
    """Return whether a string looks like a date, with or without a time of day, or like a Unix time.

    Examples:
        >>> [looks_like_time(text) for text in ("2019-01-01 00:05:00", "8/28/2007 0:00", "1489017527", "12", "n1")]
        [True, True, True, False, False]
    """
    text = cell.strip()
    return looks_like_date(text) or (text.replace(".", "", 1).isdigit() and float(text) >= UNIX_FLOOR)


def require_plain_names(table: SourceTable) -> None:
    """Raise an ``InputError`` if polars would take the name of a column for a pattern."""
    for column in table.schema:
        require_plain_name(column, table.name)


def find_roles(table: SourceTable, options: ReadOptions, *, alone: bool = True) -> Roles:
    """Find the roles of the columns of a table.

    Args:
        table: The table.
        options: Options that name columns or the layout.
        alone: Whether it is the only table; in one of several, a string column next to a value may name its sensor.

    Raises:
        NotDataError: If there is no time column, or nothing else.
        InputError: If a role cannot be found or is ambiguous.
    """
    columns = list(table.schema)
    require_plain_names(table)
    if options.time not in ("auto", *columns):
        raise NotDataError(
            f"no column {quote(options.time)}; columns are {quote_names(columns)}",
            where=table.name,
            hint=nearest(options.time, columns),
        )
    require_columns(columns, [name for name in (options.sensor, options.value) if name is not None], table.name)
    ignored = tuple(name for name in columns if options.ignores(name))
    columns = [name for name in columns if not options.ignores(name)]
    time, other_times = (options.time, []) if options.time != "auto" else _time_column(table, columns, options)
    unnamed = [name for name in columns if name != time and UNNAMED.fullmatch(name)]
    ignored = (*ignored, *unnamed, *other_times)
    taken = {time, *unnamed, *other_times}
    rest = [name for name in columns if name not in taken]
    layout = options.layout if options.layout != "auto" else _layout(table, time, rest, options, alone)
    if layout == "long":
        sensor = options.sensor or _named(rest, (*SENSOR_NAMES, *OTHER_SENSOR_NAMES)) or _naming_column(table, rest)
        others = [name for name in rest if name != sensor]
        value = options.value or _named(others, VALUE_NAMES) or _named(others, STATE_NAMES) or _only(rest, sensor)
        for role, name in (("sensor", sensor), ("value", value)):
            if not name:
                raise table.failure(
                    f"no {role} column found for the long layout; columns are {quote_names(columns)}", f"pass {role}="
                )
        other = tuple(n for n in rest if n not in (sensor, value))
        missing = OUTAGES if plain_name(str(value)) in STATE_NAMES or is_text(table.schema[str(value)]) else ()
        return Roles("long", time, sensor=str(sensor), value=str(value), ignored=(*ignored, *other), missing=missing)
    if layout == "files":
        if not table.title:
            raise table.failure("layout='files' needs a file name for the sensor id", "pass layout='wide'")
        value = options.value or _named(rest, VALUE_NAMES) or (rest[0] if len(rest) == 1 else None)
        if value is None:
            raise table.failure(
                f"a file per sensor must have a time and a value column; columns are {quote_names(columns)}",
                "pass value=, or layout='wide'",
            )
        return Roles("files", time, value=value, ignored=(*ignored, *(n for n in rest if n != value)))
    if options.time == "auto" and options.on_error == "raise" and other_times:
        _require_told_apart(table, [time, *other_times], columns, options)
    plain = columns[0] == time and all(table.schema[name].is_numeric() for name in rest)
    if table.headerless and not plain:
        raise table.failure(
            f"no header, so the sensors of {len(columns)} columns have no ids",
            "add a header line, or pass header=True if the first line is one",
        )
    if not rest:
        raise NoReadingsError(
            f"no column of readings besides the time {quote(time)}; columns are {quote_names(columns)}",
            where=table.name,
            hint="pass separator= if lines are split in the wrong places",
        )
    asides = find_asides(table, {name: plain_name(name) for name in rest}, options)
    asides = asides if len(asides) < len(rest) else {}
    sensors = tuple(name for name in rest if name not in asides)
    return Roles("wide", time, sensors=sensors, ignored=(*ignored, *asides), asides=asides)


def _time_column(table: SourceTable, columns: Sequence[str], options: ReadOptions) -> tuple[str, list[str]]:
    """Return the time column, and the other columns that hold times.

    Of several, it is the one that tells the rows apart: a date repeats all day, a full time stamp does not.
    """
    named = [name for name in columns if is_time_name(name)]
    dated = [name for name in columns if table.schema[name].is_temporal()]
    texts = [name for name in columns if table.schema[name] == pl.String]
    first = _first_cells(table, {*named, *texts} if named or dated else columns)
    named = [name for name in named if name in dated or _begins_with_time(first[name])] or named
    looks = [name for name in texts if _begins_with_time(first[name]) and all(map(looks_like_date, first[name]))]
    times = list(dict.fromkeys([*named, *dated, *looks]))
    if not times:
        return _first_time(table, columns, first), []
    if len(times) == 1:
        return times[0], []
    apart = _count_apart(table, times, columns, options)
    most = max(apart[name] for name in times)
    best = [name for name in times if apart[name] == most]
    known = _first_of([name for name in named if name in dated], named, dated)
    if len(known) == 1 and (known[0] in best or NEARLY_ALL * most < apart[known[0]]):
        best = known
    elif len(best) > 1:
        full = [name for name in best if name in dated or first[name].str.contains(FULL_TIME).all()]
        best = _first_of([name for name in full if name in named], full, best)
    if len(best) > 1:
        shown = ", ".join(f"{quote(name)} ({quote(_first_cell(table, name))[1:-1]})" for name in best)
        raise table.failure(f"several columns may be the time: {shown}", f"pass, for example, time={quote(best[0])}")
    return best[0], [name for name in times if name != best[0] and (name in named or name in dated or apart[name] > 1)]


def _require_told_apart(table: SourceTable, times: Sequence[str], columns: Sequence[str], options: ReadOptions) -> None:
    """Raise if of several times of a wide table none tells most rows apart: then something else does, too."""
    apart = _count_apart(table, times, columns, options)
    if 2 * max(apart[name] for name in times) < apart[EVERY_ROW]:
        counts = ", ".join(f"{quote(name)} {apart[name]:,}" for name in times)
        raise table.failure(
            f"no column of times tells the {apart[EVERY_ROW]:,} rows apart; different values: {counts}",
            "pass sensor= if a column names the sensor of each row, or time= with on_error='repair' to keep the last",
        )


def _first_of(*choices: list[str]) -> list[str]:
    """Return the first choice of one column, or else the first of several."""
    return next((some for some in choices if len(some) == 1), next((some for some in choices if some), []))


MADE_TIME = datetime(2000, 1, 1)
DAY = 86_400 * 10**6


def with_steps(table: SourceTable, step: int, after: int) -> tuple[SourceTable, int]:
    """Return a table without times with a time for each row, in equal steps from the begin of a day.

    Args:
        table: The table.
        step: Time between rows in microseconds.
        after: Number of days that tables before it have taken, counted from ``MADE_TIME``.

    Returns:
        The table, and the number of days that are taken now; a day without rows follows, so that no window spans two
        tables.
    """
    name = next(name for name in ("time", "time of the row") if name not in table.schema)
    rows = int(collect(table.frame.select(pl.len()), source=table.name).item())
    start = MADE_TIME + timedelta(days=after)
    time = pl.lit(start, pl.Datetime("us")) + (pl.int_range(pl.len()) * step).cast(pl.Duration("us"))
    note = f"no times in this table: rows {format_duration(step)} apart from {start:%Y-%m-%d %H:%M}"
    frame = table.frame.select(time.alias(name), pl.all())
    return replace(table, frame=frame, notes=(*table.notes, note)), after + rows * step // DAY + 2


def _first_time(table: SourceTable, columns: Sequence[str], first: Mapping[str, pl.Series]) -> str:
    """Return the first column whose cells look like times."""
    for k, name in enumerate(columns):
        if (first[name].dtype == pl.String or k == 0) and _begins_with_time(first[name]):
            return name
    raise NotDataError(
        f"no time column found; columns are {quote_names(columns)}",
        where=table.name,
        hint="pass time=, or step='15min' or the like if rows follow each other in equal steps, or skip_rows= if lines "
        "come before the names of the columns",
    )


def _begins_with_time(cells: pl.Series) -> bool:
    readable = cells.dtype == pl.String or cells.dtype.is_numeric()
    return readable and bool(cells.len()) and looks_like_time(str(cells[0]))


def _count_apart(
    table: SourceTable, times: Sequence[str], columns: Sequence[str], options: ReadOptions
) -> dict[str, int]:
    """Count the different values of each column, per sensor in a long table, and the rows as ``EVERY_ROW``."""
    rest = [name for name in columns if name not in times]
    sensor = options.sensor or (_named(rest, SENSOR_NAMES) if _named(rest, VALUE_NAMES) else None)
    rows = table.frame if table.in_memory else table.frame.head(SAMPLE_ROWS)
    counts = [
        pl.struct([name, *([sensor] if sensor else [])]).filter(pl.col(name).is_not_null()).n_unique().alias(name)
        for name in times
    ]
    return collect(rows.select(*counts, pl.len().alias(EVERY_ROW)), source=table.name).row(0, named=True)


def _first_cell(table: SourceTable, name: str) -> str:
    """Return the first cell of a column, for messages."""
    cells = _first_cells(table, [name])[name]
    return f"{cells[0]}" if cells.len() else "empty"


def _layout(table: SourceTable, time: str, rest: Sequence[str], options: ReadOptions, alone: bool) -> str:
    if options.sensor is not None:
        return "long"
    value = options.value or _named(rest, VALUE_NAMES)
    others = [name for name in rest if name != value]
    if value and _named(others, SENSOR_NAMES):
        return "long"
    if len(rest) == 1 and table.title and (table.headerless or value):
        return "files"
    if table.headerless and len(rest) == 2 and (text := _naming_column(table, rest)):
        _require_no_numbers(table, text)
        return "long"
    if _is_event_log(table, rest):
        return "long"
    if value and (other := _named(others, OTHER_SENSOR_NAMES)):
        lost = [name for name in others if name != other and not _is_text(table, name)]
        # If times repeat, or the column is that of InfluxDB, other numbers are not readings.
        if not lost or other == "_field" or _repeats(table, time):
            return "long"
    if value and not _is_text(table, value) and (unclear := _may_be_ids(table, time, others, alone)):
        files = ", layout='files'" if table.title else ""
        raise table.failure(
            f"column {quote(unclear)} may name the sensor of each {quote(value)} (long layout) or hold readings (wide "
            "layout)",
            f"pass sensor={quote(unclear)}, layout='wide'{files}, or ignore=[{quote(unclear)}]",
        )
    return "wide"


def _may_be_ids(table: SourceTable, time: str, columns: Sequence[str], alone: bool) -> str | None:
    """Return a column next to a value that may hold the sensor ids of a long table, if there is one.

    If times repeat in the first rows, some column must distinguish their readings: one of strings, else one of
    integers. If they do not, it may be a column of strings that is not an attribute of the value, in a table without
    other numbers, or an integer column whose name ends in ``id`` and that does not count the rows.
    """
    texts = [name for name in columns if _is_text(table, name)]
    whole = [name for name in columns if name not in texts and _is_whole(table, name)]
    if _repeats(table, time):
        return next(iter([*texts, *whole]), None)
    if len(texts) < len(columns):
        called = [name for name in whole if len(columns) == 1 and plain_name(name).split("_")[-1] == "id"]
        return next((name for name in called if not _counts_up(table, name)), None)
    return next((name for name in texts if not alone or plain_name(name) not in ATTRIBUTES), None)


def _repeats(table: SourceTable, time: str) -> bool:
    """Return whether times repeat in the first rows."""
    times = _first_cells(table, [time])[time]
    return times.n_unique() < times.len()


def _counts_up(table: SourceTable, name: str) -> bool:
    cells = _first_cells(table, [name])[name].cast(pl.Int64, strict=False).drop_nulls()
    return bool((cells.diff().drop_nulls() == 1).all())


def _named(columns: Sequence[str], known: Sequence[str]) -> str | None:
    plain: dict[str, str] = {}
    for name in columns:
        plain.setdefault(plain_name(name), name)
    return next((plain[name] for name in known if name in plain), None)


def _is_event_log(table: SourceTable, rest: Sequence[str]) -> bool:
    """Return whether rows name a sensor and its new state, and hold no other numbers."""
    sensor = _named(rest, SENSOR_NAMES)
    others = [name for name in rest if name != sensor]
    state = _named(others, STATE_NAMES)
    return bool(sensor and state) and all(table.schema[name] == pl.String for name in others if name != state)


def _naming_column(table: SourceTable, columns: Sequence[str]) -> str | None:
    """Return the column of texts that names the sensors; of two, the one in which no cell is a number or a state."""
    texts = [name for name in columns if _is_text(table, name)]
    if len(texts) == 2:
        cells = collect(table.frame.head(SAMPLE_ROWS).select(texts), source=table.name)
        kinds = {name: cells[name].drop_nulls().str.strip_chars().unique() for name in texts}
        plain = [name for name in texts if not kinds[name].str.contains(NUMBER_OR_STATE).any()]
        texts = plain or texts
    return texts[0] if len(texts) == 1 else None


def _require_no_numbers(table: SourceTable, name: str) -> None:
    """Raise if some cells of a column that would name the sensors are numbers: then it may hold readings."""
    text = pl.col(name).cast(pl.String).str.strip_chars()
    number = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).is_not_null() & (text != "")
    query = table.frame.select(number.sum().alias("numbers"), text.filter(~number & (text != "")).first().alias("text"))
    numbers, cell = collect(query, source=table.name).row(0)
    if numbers:
        raise table.failure(
            f"no header, and {quote(name)} holds {numbers:,} numbers as well as text such as {quote(cell)}: readings "
            "or names of sensors",
            f"add a header line, or pass sensor={quote(name)} if it names sensors",
        )


def _is_text(table: SourceTable, name: str) -> bool:
    dtype = table.schema[name]
    if dtype != pl.String or not table.text_file:
        return is_text(dtype)
    # One cell that is not a number makes a column of a text file strings, so look at the cells.
    cells = _first_cells(table, [name])[name].str.strip_chars()
    sign = "[.,]" if table.decimal == "," else "[.]"
    return bool(cells.len()) and not cells.str.contains(rf"^[+-]?\d*{sign}?\d*([eE][+-]?\d+)?$").all()


def _is_whole(table: SourceTable, name: str) -> bool:
    if table.schema[name] == pl.String:
        cells = _first_cells(table, [name])[name].str.strip_chars()
        return bool(cells.len()) and cells.str.contains(r"^[+-]?\d+$").all()
    return table.schema[name].is_integer()


def _first_cells(table: SourceTable, columns: Collection[str]) -> dict[str, pl.Series]:
    first = table.frame.head(50).select(columns).collect()
    return {name: first[name].drop_nulls() for name in columns}


def _only(columns: Sequence[str], taken: str | None) -> str | None:
    left = [name for name in columns if name != taken]
    return left[0] if len(left) == 1 else None


HOUR_NAMES = ("hour", "hr", "hod", "hour_of_day", "heure", "hora", "uhrzeit", "stunde")
CLOCK_NAMES = ("time", "time_of_day", "clock", "zeit", "tijd", "timestamp", *HOUR_NAMES)
"""Names of columns that hold times of day next to a column of dates."""
CLOCK = r"^\s*\d{1,2}(:\d{2}(:\d{2}([.,]\d+)?)?|\.\d{2}\.\d{2})\s*([AaPp]\.?[Mm]\.?)?\s*$"
SPREADSHEET_YEARS = (1899, 1900)  # of a time of day that a spreadsheet stores as a date
COMPACT_DATES = (19000101, 20991231)  # 20190131
LAST_HOUR, LAST_CLOCK = 24, 2400  # 1305 is 13:05


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
    first = _first_cells(table, names)
    clocks = [
        name for name in names if plain_name(name) in CLOCK_NAMES or (table.headerless and _is_clock(first[name]))
    ]
    dates = [name for name in names if is_time_name(name) or name == options.time or _begins_with_date(first[name])]
    if not dates:
        return _join_calendar(table, names, first, options)
    if not clocks or dates == clocks[:1] or any(_is_full(first[name]) for name in names):
        return table, options
    dates = [name for name in dates if _is_date(first[name])]
    again = len(dates) == 1 and bool(first[dates[0]].is_duplicated().any())
    clocks = [
        name
        for name in clocks
        if _is_clock(first[name]) or (again and name not in dates and _is_number(name, first[name]))
    ]
    if len(clocks) != 1 or len(dates) != 1 or options.time not in ("auto", *clocks, *dates):
        return table, options
    date, clock = dates[0], clocks[0]
    joined = _join(date, table.schema[date], clock, table.schema[clock])
    note = f"times joined from the columns '{date}' and '{clock}'"
    frame = table.frame.with_columns(joined.alias(date)).drop(clock)
    return replace(table, frame=frame, notes=(*table.notes, note)), replace(options, time=date)


def _begins_with_date(cells: pl.Series) -> bool:
    return cells.dtype == pl.String and bool(cells.len()) and looks_like_date(cells[0])


def _is_full(cells: pl.Series) -> bool:
    """Return whether cells are dates with a time of day."""
    if isinstance(cells.dtype, pl.Datetime):
        return not _is_clock(cells) and not _is_date(cells)
    return cells.dtype == pl.String and bool(cells.len()) and bool(cells.str.contains(FULL_TIME).all())


def _join_calendar(
    table: SourceTable, names: Sequence[str], first: Mapping[str, pl.Series], options: ReadOptions
) -> tuple[SourceTable, ReadOptions]:
    """Join columns of years, months, days and, if there are any, hours and minutes, of a table without other times."""
    parts = {
        part: found[0]
        for part in ("year", "month", "day", "hour", "minute")
        if (found := [name for name in names if is_part(plain_name(name), first[name], part)])
    }
    if not {"year", "month", "day"} <= parts.keys() or options.time != "auto":
        return table, options
    if not all(table.schema[name].is_integer() for name in parts.values()):
        return table, options
    hours, minutes = (pl.col(parts[part]) if part in parts else 0 for part in ("hour", "minute"))
    clock = pl.duration(hours=hours, minutes=minutes)
    date = pl.datetime(*(pl.col(parts[part]) for part in ("year", "month", "day")))
    joined = date + clock if "hour" in parts else date
    name = next(name for name in ("time", "(joined time)") if name not in names or name in parts.values())
    note = f"times joined from the columns {quote_names(parts.values())}"
    frame = table.frame.with_columns(joined.alias("\0time")).drop(parts.values()).rename({"\0time": name})
    return replace(table, frame=frame, notes=(*table.notes, note)), replace(options, time=name)


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
        return bool(cells.len()) and not bool((cells.str.contains(":") | cells.str.contains(CLOCK)).any())
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
        return time.str.strip_chars().str.replace(r"^(\d{1,2})\.(\d{2})\.(\d{2})", "${1}:${2}:${3}")
    if dtype.is_integer():
        clock = time * 100 if plain_name(name) in HOUR_NAMES else time
        return pl.format("{}:{}", (clock // 100).cast(pl.String), (clock % 100).cast(pl.String).str.zfill(2))
    return time.dt.strftime("%H:%M:%S%.f")
