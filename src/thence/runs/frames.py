"""Plain tables: frames and files whose rows are transactions, without times and without a graph.

Decides what is a plain table and builds the table that a miner reads. It does not mine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.errors import ConfigError, InputError, nearest
from thence.frames import is_frame, to_polars_frame
from thence.readings.frames import collect, first_line
from thence.readings.readers.frames import table_from_frame
from thence.readings.readers.roles import NotDataError, find_roles
from thence.readings.readers.table import MISSING_WORDS, ReadOptions
from thence.runs.configuration import DiscretizeConfig, InputConfig
from thence.tables.discretization import Discretizer
from thence.tables.frames import matching_names, read_columns
from thence.tables.identifiers import describe_unusable, find_unusable
from thence.tables.transactions import FeatureTable, TransactionTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["build_row_features", "build_rows", "is_plain_table", "read_rows"]

MAX_CLASSES = 20
"""Whole numbers of a target with at most so many values are states."""
ROW_OPTIONS = ("categorical", "numeric", "ignore")
"""The keywords of ``read_sensors`` that also apply to plain tables."""
_TEXT = {".csv": ",", ".tsv": "\t", ".txt": ","}
_PARQUET = (".parquet", ".pq")


def is_plain_table(source: Any) -> bool:
    """Return whether a source is a frame in which no column is a time.

    Examples:
        >>> import polars as pl
        >>> is_plain_table(pl.DataFrame({"size": [1.5, 2.5], "class": ["a", "b"]}))
        True
        >>> is_plain_table(pl.DataFrame({"time": ["2024-01-01", "2024-01-02"], "flow": [1.5, 2.5]}))
        False
    """
    if not is_frame(source):
        return False
    try:
        find_roles(table_from_frame(source), ReadOptions())
    except NotDataError as error:
        return error.lacks == "time column"
    except InputError:
        return False
    return False


def read_rows(source: Any, given: InputConfig) -> pl.DataFrame:
    """Return the rows of a frame, a CSV file or a Parquet file, as columns of their types.

    Args:
        source: A polars, pandas or Arrow frame, or the path of a file.
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
    frame = to_polars_frame(source) if is_frame(source) else _read_file(source)
    if not frame.height:
        raise InputError("the table has no rows", where="frame" if is_frame(source) else str(source))
    names = frame.columns
    if given.select:
        names = [*matching_names(given.select, names, option="select")]
    dropped = set(matching_names(given.read_sensors.get("ignore", ()), frame.columns, option="ignore"))
    names = [name for name in names if name not in dropped]
    if given.target is not None and given.target not in names:
        hint = nearest(given.target, names) or "columns are " + ", ".join(f"'{name}'" for name in names[:10])
        raise ConfigError(f"no column '{given.target}'", where="target", hint=hint)
    return frame.select(names)


def _read_file(source: Any) -> pl.DataFrame:
    import polars as pl

    paths = list(source) if isinstance(source, (list, tuple)) else [source]
    path = Path(paths[0]) if len(paths) == 1 and isinstance(paths[0], (str, Path)) else None
    if path is None or path.suffix.lower() not in (*_TEXT, *_PARQUET):
        raise ConfigError(
            f"cannot read the rows of {source if path else type(source).__name__}",
            where="target",
            hint="pass a data frame, a CSV file or a Parquet file; for sensor data, use consequent= instead of target=",
        )
    if not path.is_file():
        raise InputError("no such file", where=str(path))
    if path.suffix.lower() in _PARQUET:
        return collect(pl.scan_parquet(path), source=str(path))
    try:
        return pl.read_csv(
            path,
            separator=_TEXT[path.suffix.lower()],
            null_values=list(MISSING_WORDS),
            infer_schema_length=None,
            try_parse_dates=True,
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {first_line(error)}", where=str(path)) from error


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
    table = TransactionTable.from_frame(
        usable,
        like=like,
        bins=10 if bins.bins is None else bins.bins,
        method=bins.method,
        bin_edges=dict(bins.bin_edges),
        towards=bins.towards or ((given.target or "") if bins.method == "entropy" else ""),
        **options,
    )
    return replace(table, notes=(*notes, *table.notes))


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
