"""Plain tables: frames and files whose rows are transactions, without times and without a graph.

Decides what is a plain table and builds the table that a miner reads. It does not mine.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence._base.frames import is_frame
from thence._base.settings.numbers import shown
from thence.data.readers.files import find_paths, read_tables, table_from_frame
from thence.data.readers.roles import NotDataError, find_roles
from thence.data.readers.table import MISSING_WORDS, ReadOptions, SourceTable
from thence.data.readings.frames import collect
from thence.errors import ConfigError, InputError, nearest, quote
from thence.runs.configuration import DiscretizeConfig, InputConfig
from thence.tables.baskets import basket_table, frame_of, is_baskets, is_binary, is_one_hot
from thence.tables.discretization import Discretizer, is_supervised
from thence.tables.frames import matching_names, read_columns
from thence.tables.identifiers import describe_unusable, find_unusable
from thence.tables.transactions import FeatureTable, TransactionTable

if TYPE_CHECKING:
    import polars as pl

MAX_CLASSES = 20
"""Whole numbers of a target with at most so many values are states."""
ROW_OPTIONS = ("categorical", "numeric", "ignore", "sheet")
"""The keywords of ``read_sensors`` that also apply to plain tables."""
_LARGEST_EXACT = 2**53
_BASKETS = "rows are baskets: what is false is no item (basket=False makes it a state)"


def is_plain_table(source: Any) -> bool:
    """Return whether a source is a frame in which no column is a time, or baskets.

    Examples:
        >>> import polars as pl
        >>> is_plain_table(pl.DataFrame({"size": [1.5, 2.5], "class": ["a", "b"]}))
        True
        >>> is_plain_table(pl.DataFrame({"time": ["2024-01-01", "2024-01-02"], "flow": [1.5, 2.5]}))
        False
    """
    if not is_frame(source):
        return is_baskets(source)
    try:
        find_roles(table_from_frame(source), ReadOptions())
    except NotDataError as error:
        return error.lacks == "time column"
    except InputError:
        return False
    return False


def read_rows(source: Any, given: InputConfig) -> pl.DataFrame:
    """Return the rows of a frame or a file, as columns of their types.

    Args:
        source: A polars, pandas or Arrow frame, baskets, or the path of a file.
        given: The section ``[input]``; ``target``, ``select`` and the options that apply to plain tables are used.

    Raises:
        ConfigError: If an option does not apply to plain tables.
        InputError: If the source cannot be read.
    """
    for name in given.read_sensors:
        if name not in ROW_OPTIONS:
            known = ", ".join(ROW_OPTIONS)
            raise ConfigError(f"'{name}' does not apply to a table whose rows are transactions", hint=f"use {known}")
    if given.start or given.end:
        raise ConfigError(
            "'start' and 'end' do not apply to a table whose rows are transactions", hint="leave them out"
        )
    in_memory = is_frame(source) or is_baskets(source)
    frame = frame_of(source) if in_memory else _read_file(source, given)
    if not frame.height:
        raise InputError("the table has no rows", where="frame" if in_memory else str(source))
    names = frame.columns
    if given.select:
        names = [*matching_names(given.select, names, option="select")]
    dropped = set(matching_names(given.read_sensors.get("ignore", ()), frame.columns, option="ignore"))
    names = [name for name in names if name not in dropped]
    if given.target is not None and given.target not in names:
        hint = nearest(given.target, names) or "columns are " + ", ".join(f"'{name}'" for name in names[:10])
        raise ConfigError(f"no column '{given.target}'", where="target", hint=hint)
    return frame.select(names)


def _read_file(source: Any, given: InputConfig) -> pl.DataFrame:
    """Return the rows of a file, read by the reader of its suffix."""
    paths = list(source) if isinstance(source, (list, tuple)) else [source]
    if len(paths) != 1 or not isinstance(paths[0], (str, Path)) or Path(paths[0]).is_dir():
        raise ConfigError(
            f"the rows of a table are read from one file, got {shown(source)}",
            where="target",
            hint="pass a data frame or one file; for sensor data, use consequent= instead of target=",
        )
    (path,) = find_paths(paths[0])
    options = ReadOptions(header=True, sheet=given.read_sensors.get("sheet"))
    tables = [(one, _typed(one)) for one in read_tables(path, options)]
    found = [pair for pair in tables if pair[1].width] or tables
    if len(found) > 1:  # sheets; the target tells which
        found = [pair for pair in found if given.target in pair[1].columns]
    if len(found) != 1:
        which = "none" if not found else f"{len(found)}"
        raise InputError(
            f"{which} of the {len(tables)} sheets have a column {quote(given.target)}",
            where=str(path),
            hint="name the sheet: sheet = '…' in [input.read_sensors]",
        )
    ((table, frame),) = found
    if table.error is not None:
        raise table.error
    return frame


def _typed(table: SourceTable) -> pl.DataFrame:
    """The rows of a table: dates in text are dates, and whole numbers of a sheet, which knows no others, are whole."""
    import polars as pl

    frame = collect(table.frame, source=table.name)
    changed = []
    for series in frame.get_columns():
        if table.sheet and series.dtype.is_float() and _is_whole(series.drop_nulls()):
            changed.append(series.cast(pl.Int64))
        elif series.dtype == pl.String:
            text = series.set(series.is_in(list(MISSING_WORDS)), None)
            if table.text_file and text.null_count() < len(text):
                with suppress(pl.exceptions.PolarsError):
                    text = text.str.to_datetime()
            changed.append(text)
    return frame.with_columns(changed)


def _is_whole(series: pl.Series) -> bool:
    """Whether numbers are whole, and not so large that they may be rounded."""
    return bool(((series % 1 == 0) & (series.abs() < _LARGEST_EXACT)).all())


def build_rows(
    frame: pl.DataFrame, given: InputConfig, bins: DiscretizeConfig, *, like: Discretizer | None = None
) -> TransactionTable:
    """Return the transactions of a plain table; notes name the columns that were left out.

    Args:
        frame: The rows, as ``read_rows`` returned them.
        given: The section ``[input]``.
        bins: The section ``[discretize]``.
        like: Bins to use where they apply, instead of fitted ones.
    """
    usable, options, notes = _prepared(frame, given)
    if _are_baskets(usable, given):
        return basket_table(usable, notes=[*notes, _BASKETS])
    if given.basket is None and is_binary(usable):
        notes = [*notes, "0 and 1 are states; basket=True takes 1 as an item and 0 as none"]
    table = TransactionTable.from_frame(
        usable,
        like=like,
        bins=10 if bins.bins is None else bins.bins,
        method=bins.method,
        bin_edges=dict(bins.bin_edges),
        towards=bins.towards or ((given.target or "") if is_supervised(bins.method) else ""),
        **options,
    )
    return replace(table, notes=(*notes, *table.notes))


def _are_baskets(frame: pl.DataFrame, given: InputConfig) -> bool:
    """Whether rows are baskets: as asked, or by what is in them unless a target has all its states concluded."""
    return given.target is None and is_one_hot(frame) if given.basket is None else given.basket


def build_row_features(frame: pl.DataFrame, given: InputConfig) -> FeatureTable:
    """Return the undiscretized transactions of a plain table.

    Args:
        frame: The rows, as ``read_rows`` returned them.
        given: The section ``[input]``.
    """
    usable, options, notes = _prepared(frame, given)
    table = FeatureTable.from_frame(usable, **options)
    return replace(table, notes=(*notes, *table.notes))


def _prepared(frame: pl.DataFrame, given: InputConfig) -> tuple[pl.DataFrame, dict[str, Any], list[str]]:
    """The usable columns, how to read them, and what to say about the others; rows are in the order of their times."""
    categorical = _names(given, "categorical", frame.columns)
    numeric = _names(given, "numeric", frame.columns)
    target = given.target
    if target is not None and target not in (*categorical, *numeric) and _has_classes(frame[target]):
        categorical.append(target)
    if target is not None and frame[target].drop_nulls().n_unique() < 2:
        raise ConfigError(f"column '{target}' has fewer than two values", where="target", hint="choose another column")
    keep = frozenset({*categorical, *numeric, *([] if target is None else [target])})
    reasons = find_unusable(frame, keep=keep)
    usable = frame.drop(list(reasons))
    if usable.width < 2:
        raise InputError(
            "a rule needs two columns, but the table has fewer that can be used",
            where="frame",
            hint="; ".join(describe_unusable(reasons)) or "pass a table with more columns",
        )
    options = {"categorical": categorical, "numeric": numeric}
    notes = describe_unusable(reasons)
    time = next((name for name in reasons if _is_time(frame[name])), None)
    if time is None:
        return usable, options, notes
    # Rows of the same time are sorted by what is in them, so that no order but that of the times matters.
    usable = frame.select(time, *usable.columns)
    usable = usable.sort([name for name in usable.columns if not usable[name].dtype.is_nested()])
    return usable, {**options, "time": time}, [*notes, f"rows follow each other in the order of '{time}'"]


def _is_time(series: pl.Series) -> bool:
    """Whether a column has a date or a time for every row."""
    import polars as pl

    return series.dtype.base_type() in (pl.Date, pl.Datetime) and not series.null_count()


def _names(given: InputConfig, option: str, names: list[str]) -> list[str]:
    patterns: str | Iterable[str] | None = given.read_sensors.get(option)
    return matching_names(patterns or (), names, option=option)


def _has_classes(series: pl.Series) -> bool:
    """Whether a target of numbers holds classes: few whole numbers."""
    if not series.dtype.is_numeric():
        return True
    read = read_columns(series.to_frame(), categorical=[series.name])
    states = read.categories[0] or ()
    return len(states) <= MAX_CLASSES and all(float(state) == round(float(state)) for state in states)
