"""Frames that are already in memory as tables: polars, pandas, and anything that speaks Arrow."""

from __future__ import annotations

from typing import Any

import polars as pl

from thence.errors import InputError
from thence.readings.readers.table import Table

__all__ = ["frame_table"]


def frame_table(frame: Any) -> Table:
    """A polars, pandas or Arrow frame as a table; a polars LazyFrame stays lazy. The caller's frame is not touched."""
    if isinstance(frame, pl.LazyFrame):
        return Table(frame, "lazy frame", in_memory=False)
    if isinstance(frame, pl.DataFrame):
        return Table(frame.lazy(), "frame")
    if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "to_frame"):
        if frame.name is None:
            raise InputError("the series has no name to call its sensor by", where="series", hint="rename() it")
        return Table(_from_pandas(frame.to_frame()).lazy(), "series")
    if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
        return Table(_from_pandas(frame).lazy(), "frame")
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pl.Series):
        return Table(pl.DataFrame(frame).lazy(), "frame")
    raise InputError(
        f"cannot read sensor data from {type(frame).__name__}",
        hint="give a path, a list of paths, or a polars, pandas or Arrow table",
    )


def _from_pandas(frame: Any) -> pl.DataFrame:
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex) or isinstance(frame.index, pd.MultiIndex):
        raise InputError("a pandas frame with several levels cannot be read", where="frame", hint="reset_index() it")
    index = frame.index
    columns: dict[str, pl.Series] = {}
    if not (isinstance(index, pd.RangeIndex) and index.name is None):
        if isinstance(index, pd.DatetimeIndex):
            columns[str(index.name or "time")] = pl.Series(pl.from_pandas(index))
        elif index.name is not None:
            columns[str(index.name)] = _column(pd.Series(index), index.name)
    for position, name in enumerate(frame.columns):
        if str(name) in columns:
            raise InputError(f"column '{name}' occurs twice", where="frame", hint="rename one of them")
        columns[str(name)] = _column(frame.iloc[:, position], name)
    return pl.DataFrame(columns)


def _column(series: Any, name: object) -> pl.Series:
    try:
        if series.dtype == object:
            return _of_objects(series)
        return pl.Series(pl.from_pandas(series.reset_index(drop=True)))
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, NotImplementedError) as error:
        raise InputError(
            f"column '{name}' holds {series.dtype}, which is neither numbers nor states",
            where="frame",
            hint=f"leave it out: drop(columns='{name}')",
        ) from error


def _of_objects(series: Any) -> pl.Series:
    import pandas as pd

    cells = [None if pd.api.types.is_scalar(cell) and pd.isna(cell) else cell for cell in series]
    if len({type(cell) for cell in cells if cell is not None}) > 1:
        # Numbers and texts side by side: as text each cell can be judged and named.
        return pl.Series([None if cell is None else str(cell) for cell in cells], dtype=pl.String)
    return pl.Series(cells)
