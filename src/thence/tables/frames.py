"""Frames (polars, pandas, Arrow) as the columns of a feature table. No frame of the caller is changed.

polars is imported when a frame is converted, so that tables can be used without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence.errors import InputError
from thence.frames import to_polars_frame
from thence.rules.items import Feature, Value

if TYPE_CHECKING:
    import polars as pl

__all__ = ["raw_columns", "to_polars_frame"]

Categories = tuple[tuple[Value, ...] | None, ...]


def raw_columns(
    frame: Any, *, units: Mapping[str, str]
) -> tuple[tuple[Feature, ...], npt.NDArray[np.float64], Categories]:
    """Convert a frame to the parts of a feature table, with one measurement per column.

    Args:
        frame: A polars, pandas or Arrow frame.
        units: Unit by column name.

    Returns:
        The features, the numbers (rows × features; codes for categories, NaN for missing values), and the categories of
        each feature or ``None`` for numbers.
    """
    import polars as pl

    table = to_polars_frame(frame)
    if not table.width:
        raise InputError("the frame has no columns", hint="pass a frame with one column per feature")
    features: list[Feature] = []
    categories: list[tuple[Value, ...] | None] = []
    numbers = np.empty((table.height, table.width), dtype=np.float64)
    for at, series in enumerate(table.get_columns()):
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
            text = _to_text(series)
            known = tuple(sorted(text.drop_nulls().unique().to_list()))
            codes = text.replace_strict(known, list(range(len(known))), return_dtype=pl.Float64, default=None)
            categories.append(known)
            numbers[:, at] = codes.to_numpy()
    return tuple(features), numbers, tuple(categories)


def _to_text(series: pl.Series) -> pl.Series:
    import polars as pl

    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"column '{series.name}' must hold numbers or categories, got {series.dtype}",
            where="frame",
            hint="drop it, or convert it to numbers or strings",
        ) from error
