"""Frames of the caller (polars, pandas, Arrow) as polars frames, and frames that are safe to open in a spreadsheet.

No frame of the caller is changed. polars and pandas are imported when a frame is converted. Nothing here decides what
a column means.
"""

from __future__ import annotations

import re
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from thence.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def is_frame(value: object) -> bool:
    """Return whether a value is a polars, pandas or Arrow frame, without importing any of these packages.

    Examples:
        >>> import polars as pl
        >>> is_frame(pl.DataFrame({"a": [1]})), is_frame("data.csv")
        (True, False)
    """
    package, name = type(value).__module__.partition(".")[0], type(value).__name__
    if package in ("pandas", "polars"):
        return name in ("DataFrame", "LazyFrame")
    return hasattr(value, "__arrow_c_stream__")


def to_polars_frame(frame: Any) -> pl.DataFrame:
    """Convert a polars, pandas or Arrow frame to a polars frame; the index of a pandas frame is ignored.

    Examples:
        >>> import pandas as pd
        >>> to_polars_frame(pd.DataFrame({"a": [1, 2]})).shape
        (2, 1)
    """
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if is_pandas(frame) and hasattr(frame, "columns"):
        return from_pandas(frame, index=False, categories_as_text=True)
    if hasattr(frame, "__arrow_c_stream__") and not is_pandas(frame) and not isinstance(frame, pl.Series):
        return pl.DataFrame(frame)
    raise InputError(f"cannot read a frame of type {type(frame).__name__}", hint="pass a polars, pandas or Arrow table")


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
    import polars as pl

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
    import polars as pl

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
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, NotImplementedError) as error:
        raise InputError(
            f"column '{name}' must hold numbers or categories, got {dtype}",
            where="frame",
            hint="drop it, or convert it to numbers or strings",
        ) from error


def _category_texts(column: Any, name: str) -> pl.Series:
    """Convert a category column by its codes, so that each category is formatted once."""
    import polars as pl

    # Two categories may have the same text (1 and "1"); the code -1 (missing) selects the None at the end.
    texts = [*map(str, column.cat.categories), None]
    return pl.Series(name, texts, pl.String).gather(column.cat.codes.to_numpy())


def _cells(column: Any) -> list[Any]:
    return [None if missing else cell for cell, missing in zip(column, column.isna(), strict=True)]


def _texts(cells: list[Any], name: str) -> pl.Series:
    import polars as pl

    return pl.Series(name, [None if cell is None else str(cell) for cell in cells], pl.String)


def _objects(cells: list[Any], name: str) -> pl.Series:
    """Convert Python objects: numbers stay numbers, scalars of several types become strings."""
    import pandas as pd
    import polars as pl

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


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame for a CSV file in which no text is a formula when a spreadsheet opens it.

    Text that begins like a formula (``=``, ``+``, ``-``, ``@``, a tab or the end of a line) gets an apostrophe before
    it, as OWASP recommends; so do names of columns. Numbers, also those written as text, stay as they are.

    Args:
        frame: The frame.

    Examples:
        >>> import polars as pl
        >>> without_formulas(pl.DataFrame({"note": ["=1+1", "-1.5", "fine"]}))["note"].to_list()
        ["'=1+1", '-1.5', 'fine']
    """
    import polars as pl

    text = pl.col(pl.String)
    opens = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    safe = frame.with_columns(pl.when(opens).then(pl.lit("'") + text).otherwise(text).name.keep())
    return safe.rename(lambda name: f"'{name}" if re.match(_FORMULA, name) else name)
