"""Reading of in-memory frames (polars, pandas, Arrow) into plain columns, without changing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .items import Feature, Value

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
    if module == "pandas":
        duplicated = [str(name) for name in frame.columns[frame.columns.duplicated()]]
        if duplicated:
            raise InputError(f"the frame has two columns named '{duplicated[0]}'", hint="rename one of them")
        renamed = {name: str(name) for name in frame.columns}
        return pl.from_pandas(frame.rename(columns=renamed))
    if module == "pyarrow":
        return pl.from_arrow(frame)
    raise InputError(f"cannot read a frame of type {type(frame).__name__}", hint="give a polars, pandas or Arrow table")


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
            text = series.cast(pl.String)
            known = tuple(sorted(text.drop_nulls().unique().to_list()))
            codes = text.replace_strict(known, list(range(len(known))), return_dtype=pl.Float64, default=None)
            categories.append(known)
            numbers[:, at] = codes.to_numpy()
    return tuple(features), numbers, tuple(categories)
