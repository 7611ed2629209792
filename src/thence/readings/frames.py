"""Frames: column types, collecting lazy frames, and converting pandas and Arrow frames to polars.

Errors of polars and of the file system become an ``InputError`` that names the source. Nothing here knows sensors or
decides what a column means, and no frame of the caller is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from thence.errors import InputError

__all__ = ["collect", "first_line", "from_pandas", "is_categorical", "is_pandas", "is_text", "iter_batches"]

CONVERSION_ERRORS = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, NotImplementedError)


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a column of this type holds strings."""
    return dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum)


def is_categorical(dtype: pl.DataType) -> bool:
    """Return whether a column of this type holds categories: strings or booleans."""
    return is_text(dtype) or dtype == pl.Boolean


def first_line(error: BaseException) -> str:
    """Return the first line of an error message, or the name of the error if it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def collect(lazy: pl.LazyFrame, *, source: str) -> pl.DataFrame:
    """Collect a lazy frame with the streaming engine.

    Raises:
        InputError: If the data cannot be read to the end; it names ``source``.
    """
    try:
        return lazy.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {first_line(error)}", where=source) from error


def iter_batches(lazy: pl.LazyFrame, *, rows: int, ordered: bool, source: str) -> Iterator[pl.DataFrame]:
    """Yield a lazy frame in batches.

    Args:
        lazy: The frame.
        rows: Approximate number of rows of a batch.
        ordered: Whether the batches come in the order of the rows.
        source: Name of the data in messages.

    Raises:
        InputError: If the data cannot be read to the end.
    """
    try:
        yield from lazy.collect_batches(chunk_size=rows, maintain_order=ordered, lazy=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {first_line(error)}", where=source) from error


def is_pandas(value: object) -> bool:
    """Return whether a value is a pandas object, without importing pandas."""
    return type(value).__module__.partition(".")[0] == "pandas"


def from_pandas(frame: Any, *, index: bool, categories_as_text: bool) -> pl.DataFrame:
    """Convert a pandas frame to polars; column names become strings.

    Args:
        frame: A pandas ``DataFrame``.
        index: Whether a named index, or a ``DatetimeIndex`` (called ``time`` if it has no name), becomes a column.
        categories_as_text: Whether the categories of a ``category`` column become strings; otherwise they keep their
            type, so categories that are numbers become numbers.

    Raises:
        InputError: If two columns have the same name, a column holds neither numbers nor categories, or ``index`` is
            true and the index or the columns have several levels.

    Examples:
        >>> import pandas as pd
        >>> from_pandas(pd.DataFrame({"a": [1, 2]}), index=False, categories_as_text=True).shape
        (2, 1)
    """
    import pandas as pd

    if index and any(isinstance(labels, pd.MultiIndex) for labels in (frame.columns, frame.index)):
        raise InputError("frames with several index levels are not supported", where="frame", hint="call reset_index()")
    columns: dict[str, pl.Series] = {}
    if index and (isinstance(frame.index, pd.DatetimeIndex) or frame.index.name is not None):
        name = "time" if frame.index.name is None else str(frame.index.name)
        columns[name] = _column(pd.Series(frame.index), name, categories_as_text)
    for position, label in enumerate(frame.columns):
        name = str(label)
        if name in columns:
            raise InputError(f"duplicate column name '{name}'", where="frame", hint="rename one of them")
        columns[name] = _column(frame.iloc[:, position], name, categories_as_text)
    return pl.DataFrame(columns)


def _column(column: Any, name: str, categories_as_text: bool) -> pl.Series:
    import pandas as pd

    dtype = column.dtype
    try:
        if isinstance(dtype, pd.SparseDtype):
            column = column.sparse.to_dense()
        elif isinstance(dtype, pd.CategoricalDtype):
            if categories_as_text or pd.api.types.is_string_dtype(dtype.categories.dtype):
                return _category_texts(column, name)
            column = column.astype(object)
        elif isinstance(dtype, (pd.IntervalDtype, pd.PeriodDtype)):
            return _texts(_cells(column), name)
        if column.dtype == object:
            return _objects(_cells(column), name)
        return pl.Series(pl.from_pandas(column.reset_index(drop=True))).alias(name)
    except CONVERSION_ERRORS as error:
        raise InputError(
            f"column '{name}' must hold numbers or categories, got {dtype}",
            where="frame",
            hint="drop it, or convert it to numbers or strings",
        ) from error


def _category_texts(column: Any, name: str) -> pl.Series:
    """Convert a category column by its codes, so that each category is formatted once."""
    # Two categories may have the same text (1 and "1"); the code -1 (missing) selects the None at the end.
    texts = [*map(str, column.cat.categories), None]
    return pl.Series(name, texts, pl.String).gather(column.cat.codes.to_numpy())


def _cells(column: Any) -> list[Any]:
    return [None if missing else cell for cell, missing in zip(column, column.isna(), strict=True)]


def _texts(cells: list[Any], name: str) -> pl.Series:
    return pl.Series(name, [None if cell is None else str(cell) for cell in cells], pl.String)


def _objects(cells: list[Any], name: str) -> pl.Series:
    """Convert Python objects: numbers stay numbers, scalars of several types become strings."""
    import pandas as pd

    types = {type(cell) for cell in cells if cell is not None}
    if len(types) > 1:
        if all(issubclass(kind, Real) and not issubclass(kind, (bool, np.bool_)) for kind in types):
            floats = any(issubclass(kind, (float, np.floating)) for kind in types)
            return pl.Series(name, cells, pl.Float64 if floats else None)
        if not all(cell is None or pd.api.types.is_scalar(cell) for cell in cells):
            raise TypeError("several types, not all of them scalar")
        return _texts(cells, name)
    series = pl.Series(name, cells)
    if series.dtype == pl.Object:
        raise TypeError("no column type for these objects")
    return series
