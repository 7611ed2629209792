"""Reading of in-memory frames (polars, pandas, Arrow) into plain columns, without changing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import InputError
from thence.rules.items import Feature, Value

__all__ = ["raw_columns", "to_polars_frame"]


def to_polars_frame(frame: Any) -> Any:
    """A polars frame with the content of any supported frame.

    >>> import pandas as pd
    >>> to_polars_frame(pd.DataFrame({"a": [1, 2]})).shape
    (2, 1)
    """
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    module = type(frame).__module__.partition(".")[0]
    if module == "pandas" and hasattr(frame, "columns"):
        return _from_pandas(frame)
    if module == "pyarrow" and hasattr(frame, "column_names"):
        return pl.from_arrow(frame)
    raise InputError(f"cannot read a frame of type {type(frame).__name__}", hint="give a polars, pandas or Arrow table")


def _from_pandas(frame: Any) -> Any:
    import polars as pl

    names = [str(name) for name in frame.columns]
    (twice, times), *_ = Counter(names).most_common(1) or [("", 0)]
    if times > 1:
        raise InputError(f"the frame has two columns named '{twice}'", hint="rename one of them")
    return pl.DataFrame([_pandas_column(frame.iloc[:, at], name) for at, name in enumerate(names)])


def _pandas_column(column: Any, name: str) -> Any:
    """One column of a pandas frame. What pandas calls categories stays that, numbers and ranges among them too."""
    import pandas as pd
    import polars as pl

    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if isinstance(column.dtype, pd.CategoricalDtype):
        # Two categories may have one text (1 and "1"); the code -1 is no category, and stands at the end.
        texts = [*map(str, column.cat.categories), None]
        return pl.Series(name, texts, pl.String).gather(column.cat.codes.to_numpy())
    if not isinstance(column.dtype, (pd.IntervalDtype, pd.PeriodDtype)):
        try:
            return pl.from_pandas(column).alias(name)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:  # Arrow's errors are among these
            if column.dtype != object or not all(isinstance(value, (str, int, float)) for value in column.dropna()):
                raise InputError(
                    f"the column '{name}' of the frame cannot be read ({error})", hint="make it numbers or text"
                ) from error
    texts = [str(value) if there else None for value, there in zip(column, column.notna(), strict=True)]
    return pl.Series(name, texts, pl.String)


Categories = tuple[tuple[Value, ...] | None, ...]


def raw_columns(
    frame: Any, *, units: Mapping[str, str]
) -> tuple[tuple[Feature, ...], npt.NDArray[np.float64], Categories]:
    """Features, numbers and categories, as a feature table holds them: a measurement per column of the frame."""
    import polars as pl

    frame = to_polars_frame(frame)
    if not frame.width:
        raise InputError("the frame has no columns", hint="give a frame with one column per feature")
    features: list[Feature] = []
    categories: list[tuple[Value, ...] | None] = []
    numbers = np.empty((frame.height, frame.width), dtype=np.float64)
    for at, series in enumerate(frame.get_columns()):
        features.append(Feature(series.name, unit=units.get(series.name, "")))
        if series.dtype == pl.Boolean:
            categories.append((False, True))
            numbers[:, at] = series.cast(pl.Float64).to_numpy()
        elif series.dtype.is_numeric():
            column = series.cast(pl.Float64).to_numpy().copy()
            column[~np.isfinite(column)] = np.nan
            categories.append(None)
            numbers[:, at] = column
        else:
            text = _text(series)
            known = tuple(sorted(text.drop_nulls().unique().to_list()))
            codes = text.replace_strict(known, list(range(len(known))), return_dtype=pl.Float64, default=None)
            categories.append(known)
            numbers[:, at] = codes.to_numpy()
    return tuple(features), numbers, tuple(categories)


def _text(series: Any) -> Any:
    """The values of a column as text."""
    import polars as pl

    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the column '{series.name}' of type {series.dtype} holds neither numbers nor categories",
            hint="make it numbers or text, or leave it out",
        ) from error
