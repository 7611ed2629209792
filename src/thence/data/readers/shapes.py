"""Shapes of tables that are neither wide nor long, made long: intervals, transposed tables, tagged series, histories.

Each shape is a function that returns the table in long layout, or ``None`` if it is another shape. A shape is
recognised by its cells, with names of columns as a hint; what is done is noted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from thence.data.readers.asides import is_id
from thence.data.readers.dates import looks_like_date
from thence.data.readers.roles import CLOCK, OTHER_SENSOR_NAMES, SENSOR_NAMES, STATE_NAMES, VALUE_NAMES, plain_name
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readers.times import choose_time_reader
from thence.data.readings.cleaning import quote_names
from thence.data.readings.findings import Finding
from thence.data.readings.frames import collect, is_text

START_NAMES = ("start", "start_time", "starttime", "begin", "begin_time", "from", "valid_from", "on_time", "started")
END_NAMES = (
    "end",
    "end_time",
    "endtime",
    "stop",
    "stop_time",
    "finish",
    "to",
    "until",
    "valid_to",
    "off_time",
    "ended",
)
ON, OFF = "on", "off"
FIRST_ROWS = 50
FEWEST_TIMES = 3
NEARLY_ALL = 0.9
BRACES = r"^\s*\{[^{}]*\}\s*$"
GOOD = r"\{\s*ok\s*\}"
BAD = r"(?i)down|fault|stale|null|disabled|invalid|offline|bad"
"""Words in the status of a history that mean that there is no reading."""


def reshape(table: SourceTable, options: ReadOptions) -> SourceTable:
    """Return a table in long layout if it has another shape than wide and long; otherwise as it is.

    Args:
        table: The table.
        options: The options of ``read_sensors``; a given layout, time, sensor or value settles the shape.
    """
    table = _without_bad(table)
    settled = options.layout != "auto" or options.time != "auto" or options.sensor or options.value
    if settled or not table.in_memory or not table.schema:
        return table
    for shape in SHAPES:
        if (made := shape(table, options)) is not None:
            return made
    return table


def _without_bad(table: SourceTable) -> SourceTable:
    """Return a history without its columns of flags and status in braces; what has a bad status has no reading."""
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    if len(texts) < 2 or not table.in_memory:
        return table
    first = collect(table.frame.select(texts).head(FIRST_ROWS), source=table.name)
    flags = [name for name in texts if _all(first[name], BRACES)]
    flags = flags if any(first[name].str.contains(GOOD).any() for name in flags) else []
    readings = [name for name in table.schema if name not in flags and plain_name(name) in VALUE_NAMES]
    if not flags or not readings:
        return table
    bad = pl.any_horizontal(pl.col(flags).str.contains(BAD).fill_null(False))
    lost = int(collect(table.frame.select(bad.sum()), source=table.name).item())
    kept = table.frame.with_columns(pl.when(~bad).then(pl.col(readings)).name.keep()).drop(flags)
    note = f"flags and status read from {quote_names(flags)}" + (f": {lost:,} readings missing" if lost else "")
    return replace(table, frame=kept, notes=(*table.notes, note))


def _read_intervals(table: SourceTable, options: ReadOptions) -> SourceTable | None:
    """Intervals with a start, an end and texts that name a sensor, with or without its state."""
    names = [name for name in table.schema if not options.ignores(name)]
    first = collect(table.frame.select(names).head(FIRST_ROWS), source=table.name)
    times = [name for name in names if _are_times(first[name])]
    texts = [name for name in names if name not in times and is_text(table.schema[name])]
    if len(times) < 2 or not texts or any(_is_reading(table, name) for name in names if name not in (*times, *texts)):
        return None
    named = [next((n for n in times if plain_name(n) in known), None) for known in (START_NAMES, END_NAMES)]
    if None in named and not (table.headerless and len(times) == 2):
        return None
    start, end = (str(name) for name in named) if None not in named else times
    spans = table.frame.select(_utc(table, start, options).alias("start"), _utc(table, end, options).alias("end"))
    bounds = collect(spans, source=table.name)
    right = bounds["end"] >= bounds["start"]
    if right.mean() is None or float(str(right.mean())) < NEARLY_ALL:
        return None
    return _intervals_as_states(table, texts, bounds, options)


def _intervals_as_states(
    table: SourceTable, texts: Sequence[str], bounds: pl.DataFrame, options: ReadOptions
) -> SourceTable:
    """Return the changes of state that intervals mean: a sensor is off outside of its intervals."""
    state = next((name for name in texts if plain_name(name) in STATE_NAMES and len(texts) > 1), None)
    naming = [name for name in texts if name != state]
    named = [name for name in naming if plain_name(name) in (*SENSOR_NAMES, *OTHER_SENSOR_NAMES)]
    cells = collect(table.frame.select(texts), source=table.name)
    sensor = pl.concat_str(
        [pl.col(name).str.strip_chars() for name in named or naming], separator=" ", ignore_nulls=True
    )
    rows = cells.select(sensor.alias("sensor"), (pl.col(state) if state else pl.lit(ON)).alias("value"))
    rows = pl.concat([rows, bounds], how="horizontal").with_row_index("row")
    whole = rows.drop_nulls(["start", "end"]).filter(pl.col("end") >= pl.col("start"))
    lost = rows.height - whole.height
    if lost and options.on_error == "raise":
        bad = rows.join(whole, on="row", how="anti")["row"][0]
        raise table.failure("an interval has no start or no end, or ends before it starts", row=int(bad))
    options.policy(table.name).refuse("bad-time", lost, rows.height)
    whole = whole.sort("sensor", "start", "end", maintain_order=True)
    # An interval that begins before the last one of the same state has ended goes on with it.
    reach = pl.col("end").cum_max().shift(1).over("sensor", "value")
    begins = (reach.is_null() | (pl.col("start") > reach)).alias("begins")
    grouped = whole.with_columns(begins).with_columns(pl.col("begins").cum_sum().over("sensor", "value").alias("part"))
    merged = grouped.group_by("sensor", "value", "part", maintain_order=True).agg(
        pl.min("start"), pl.max("end"), pl.min("row")
    )
    merged = merged.sort("sensor", "start", maintain_order=True)
    following = pl.col("start").shift(-1).over("sensor")
    ends = merged.filter(following.is_null() | (following > pl.col("end")))
    first, last = whole["start"].min(), whole["end"].max()
    late = merged.group_by("sensor", maintain_order=True).agg(pl.min("start"), pl.min("row"))
    off = pl.lit(OFF).alias("value")
    parts = [
        late.filter(pl.col("start") > first).select(pl.lit(first).alias("time"), "sensor", off, "row"),
        merged.select(pl.col("start").alias("time"), "sensor", "value", "row"),
        ends.select(pl.col("end").alias("time"), "sensor", off, "row"),
        # Nothing is known after the end of the table.
        late.select(pl.lit(last).alias("time"), "sensor", pl.lit(None, pl.String).alias("value"), "row"),
    ]
    frame = pl.concat(parts).sort("time", maintain_order=True)
    origin = frame["row"].to_list()
    note = f"{whole.height:,} intervals read as states of {late.height} sensors, which are {OFF} outside of them"
    return replace(
        table,
        frame=frame.drop("row").lazy(),
        headerless=False,
        lasting=True,
        place=lambda row: table.place(int(origin[row])),
        notes=(*table.notes, note, f"times without a time zone read as {options.zone}"),
        findings=(*table.findings, *([Finding("bad-time", lost, where=table.name)] if lost else [])),
    )


def _utc(table: SourceTable, name: str, options: ReadOptions) -> pl.Expr:
    cells = collect(table.frame.select(name), source=table.name).to_series()
    return choose_time_reader(name, cells, options, where=table.name).expr


def _read_transposed(table: SourceTable, options: ReadOptions) -> SourceTable | None:
    """A row per sensor and a column per time."""
    times = [name for name in table.schema if looks_like_date(name)]
    others = [name for name in table.schema if name not in times]
    texts = [name for name in others if is_text(table.schema[name])]
    if len(times) < FEWEST_TIMES or len(times) < len(others) or not texts:
        return None
    sensor = next((name for name in texts if plain_name(name) in SENSOR_NAMES), texts[0])
    unit = next((name for name in texts if plain_name(name) in ("unit", "units", "uom")), None)
    cells = collect(table.frame.select(texts), source=table.name)
    if cells[sensor].drop_nulls().n_unique() < cells.height or any(_are_times(cells[name]) for name in texts):
        return None
    units = dict(cells.select(sensor, unit).drop_nulls().iter_rows()) if unit else {}
    rows = table.frame.with_row_index("row").select(
        "row", pl.col(sensor).alias("sensor"), pl.col(times).cast(pl.String)
    )
    long = rows.unpivot(times, index=["row", "sensor"], variable_name="time", value_name="value")
    frame = collect(long.select("time", "sensor", "value", "row"), source=table.name)
    origin = frame["row"].to_list()
    return replace(
        table,
        frame=frame.drop("row").lazy(),
        text_file=True,
        place=lambda row: table.place(int(origin[row])),
        kinds={**table.kinds, **{id: (table.kind, text) for id, text in units.items()}},
        notes=(*table.notes, f"a column per time: read as {cells.height} sensors, named by {sensor!r}"),
    )


def _read_tagged(table: SourceTable, options: ReadOptions) -> SourceTable | None:
    """Series of InfluxDB: values with a field, a measurement and tags, which together name the sensor."""
    if not {"_time", "_value", "_field"} <= table.schema.keys():
        return None
    beside = ("_time", "_value", "_start", "_stop", "_field", "_measurement", "result", "table")
    tags = [name for name, dtype in table.schema.items() if name not in beside and is_text(dtype) and name.strip()]
    tags = [name for name in tags if not name.startswith("(column ")]
    cells = collect(table.frame.select(*tags, "_field", *({"_measurement"} & table.schema.keys())), source=table.name)
    varying = [name for name in ("_measurement", *tags) if name in cells.columns and cells[name].n_unique() > 1]
    sensor = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in (*varying, "_field")], separator=".", ignore_nulls=True
    )
    frame = table.frame.select(pl.col("_time").alias("time"), sensor.alias("sensor"), pl.col("_value").alias("value"))
    note = f"sensors named by {quote_names([*varying, '_field'])}"
    return replace(table, frame=frame, notes=(*table.notes, note))


def _read_sites(table: SourceTable, options: ReadOptions) -> SourceTable | None:
    """A row per time and site, device or room, with a column per quantity."""
    names = [name for name in table.schema if not options.ignores(name)]
    if any(plain_name(name) in (*VALUE_NAMES, *STATE_NAMES) for name in names):
        return None
    first = collect(table.frame.select(names).head(FIRST_ROWS), source=table.name)
    times = [name for name in names if _are_times(first[name])]
    ids = [name for name in names if name not in times and (is_text(table.schema[name]) or is_id(plain_name(name)))]
    readings = [name for name in names if name not in (*times, *ids)]
    if len(times) != 1 or not ids or len(readings) < 2:
        return None
    time = times[0]
    counts = [pl.struct(time, name).n_unique().alias(name) for name in ids]
    sizes = table.frame.select(pl.len().alias("\0"), pl.col(time).n_unique().alias(time), *counts)
    row = collect(sizes, source=table.name)
    rows, found = int(row["\0"][0]), [name for name in ids if row[name][0] == row["\0"][0]]
    if 2 * int(row[time][0]) > rows or not found:
        return None
    kept = [name for name in readings if not is_text(table.schema[name])]
    cells = table.frame.with_row_index("row").select("row", pl.col(time), pl.col(found[0]).alias("id"), pl.col(kept))
    unpivoted = cells.unpivot(kept, index=["row", time, "id"], variable_name="of", value_name="value")
    long = collect(unpivoted, source=table.name)
    sensor = pl.concat_str(pl.col("id").cast(pl.String).str.strip_chars(), pl.lit("."), pl.col("of")).alias("sensor")
    frame = long.select(pl.col(time).alias("time"), sensor, "value")
    origin = long["row"].to_list()
    others = [name for name in names if name not in (time, found[0], *kept)]
    note = f"a row per time and {found[0]!r}: read as {frame['sensor'].n_unique()} sensors"
    note += f"; ignored columns: {quote_names(others)}" if others else ""
    return replace(
        table,
        frame=frame.lazy(),
        place=lambda row: table.place(int(origin[row])),
        notes=(*table.notes, note),
    )


Shape = Callable[[SourceTable, ReadOptions], SourceTable | None]
SHAPES: tuple[Shape, ...] = (_read_tagged, _read_intervals, _read_transposed, _read_sites)


def _all(cells: pl.Series, pattern: str) -> bool:
    known = cells.drop_nulls()
    return bool(known.len()) and bool(known.str.contains(pattern).all())


def _are_times(cells: pl.Series) -> bool:
    """Return whether cells are dates with a time of day."""
    known = cells.drop_nulls()
    if isinstance(known.dtype, pl.Datetime):
        return bool(known.len())
    if known.dtype != pl.String or not known.len() or not looks_like_date(known[0]):
        return False
    full = all(looks_like_date(cell) and re.search(r"\d[:.]\d{2}", cell) for cell in known)
    return full and not known.str.contains(CLOCK).all()  # 18.00.00 is a time of day


def _is_reading(table: SourceTable, name: str) -> bool:
    """Return whether a column of numbers beside intervals holds readings, and not their lengths or numbers."""
    lengths = ("duration", "seconds", "minutes", "length", "id", "index", "no", "#", "row")
    return table.schema[name].is_numeric() and plain_name(name).split("_")[0] not in lengths
