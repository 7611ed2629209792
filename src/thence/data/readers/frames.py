"""Frames in memory as source tables: polars, pandas, and any object with the Arrow stream interface."""

from __future__ import annotations

from typing import Any

import polars as pl

from thence._base.frames import from_pandas, is_pandas
from thence.data.readers.table import SourceTable
from thence.errors import InputError

__all__ = ["table_from_frame"]


def table_from_frame(frame: Any) -> SourceTable:
    """Return a polars, pandas or Arrow frame as a table; a polars ``LazyFrame`` stays lazy.

    Raises:
        InputError: If the object is not a frame, or cannot be converted.
    """
    if isinstance(frame, pl.LazyFrame):
        return SourceTable(frame, "lazy frame", in_memory=False)
    if isinstance(frame, pl.DataFrame):
        return SourceTable(frame.lazy(), "frame")
    name = "frame"
    if is_pandas(frame) and hasattr(frame, "to_frame"):
        if frame.name is None:
            raise InputError("the series has no name for its sensor", where="series", hint="set one with rename()")
        frame, name = frame.to_frame(), "series"
    if is_pandas(frame) and hasattr(frame, "columns"):
        return SourceTable(from_pandas(frame, index=True, categories_as_text=False).lazy(), name)
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pl.Series):
        return SourceTable(pl.DataFrame(frame).lazy(), name)
    raise InputError(
        f"cannot read sensor data from an object of type {type(frame).__name__}",
        hint="pass a path, a list of paths, or a polars, pandas or Arrow table",
    )
