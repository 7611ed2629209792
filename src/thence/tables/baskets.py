"""Baskets: lists of items, one-hot frames and sparse matrices as tables in which only the presence of an item counts.

An item that is not in a basket is no item: no rule says that somebody did *not* buy milk. What is a basket is decided
by the whole table (``is_one_hot``), since a single column of truth values may as well be a state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thence._base.frames import is_frame, is_pandas, to_polars_frame
from thence.errors import InputError
from thence.language.items import Feature
from thence.tables.blocks import Block, Column
from thence.tables.matching import to_numbers
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    import polars as pl

_SEPARATORS = ("=", "_", ":", "|", ".")
"""What stands between the name of a column and its value in one-hot names."""
_LISTS = (list, tuple, set, frozenset)


def is_baskets(source: Any) -> bool:
    """Return whether a source that is no frame holds baskets: lists of items, or a sparse matrix.

    Examples:
        >>> is_baskets([["milk", "bread"], ["milk"]]), is_baskets(["a.csv", "b.csv"]), is_baskets([])
        (True, False, False)
    """
    if _is_sparse_matrix(source):
        return True
    if type(source).__name__ == "Series" and hasattr(source, "to_list"):
        source = source.to_list()
    # Paths, systems and other sources also come in lists.
    return isinstance(source, (list, tuple)) and bool(source) and all(isinstance(one, _LISTS) for one in source)


def read_baskets(source: Any) -> pl.DataFrame:
    """Return baskets as a one-hot frame, a bit per cell; the columns are the items in order.

    Args:
        source: Lists (or sets, or tuples) of items, or a sparse matrix of SciPy whose columns are items. An item is a
            string or another scalar; ``None`` and NaN are none.

    Raises:
        InputError: If an item is no scalar, or a cell of a matrix is neither 0 nor 1.

    Examples:
        >>> read_baskets([["milk", "bread"], ["milk"]]).to_dict(as_series=False)
        {'bread': [True, False], 'milk': [True, True]}
    """
    if _is_sparse_matrix(source):
        matrix = source.tocsc()
        if matrix.nnz and not np.isin(matrix.data, (0, 1)).all():
            raise InputError("a sparse matrix of baskets must hold 0 and 1 only", hint="pass matrix > 0")
        return _one_hot(matrix.shape[0], {str(at): _stored(matrix, at) for at in range(matrix.shape[1])})
    listed = source.to_list() if hasattr(source, "to_list") else source
    rows: dict[str, list[int]] = {}
    for number, basket in enumerate(listed):
        for item in basket:
            if isinstance(item, (*_LISTS, Mapping)):
                raise InputError(
                    f"an item must be a string or a number, got a {type(item).__name__}", where=f"basket {number + 1}"
                )
            if item is not None and item == item:
                rows.setdefault(str(item), []).append(number)
    return _one_hot(len(listed), {name: rows[name] for name in sorted(rows)})


def _is_sparse_matrix(source: Any) -> bool:
    return type(source).__module__.startswith("scipy.sparse") and hasattr(source, "tocsc")


def _stored(matrix: Any, column: int) -> Any:
    """The rows of a column of a matrix (stored by columns) that are 1."""
    start, stop = matrix.indptr[column : column + 2]
    return matrix.indices[start:stop][np.asarray(matrix.data[start:stop], bool)]


def _one_hot(n_rows: int, rows: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    import polars as pl

    columns = []
    for name, own in rows.items():
        held = np.zeros(n_rows, bool)
        held[own] = True
        columns.append(pl.Series(name, held))
    return pl.DataFrame(columns)


def frame_of(source: Any) -> pl.DataFrame:
    """Return a frame or baskets as a polars frame; sparse columns of 0 and 1 become truth values, a bit per cell.

    Args:
        source: A polars, pandas or Arrow frame, or what ``is_baskets`` takes for baskets.

    Examples:
        >>> import pandas as pd
        >>> sparse = {"a": pd.arrays.SparseArray([0, 1, 0]), "b": pd.arrays.SparseArray([1, 1, 0])}
        >>> frame_of(pd.DataFrame(sparse))["a"].to_list()
        [False, True, False]
    """
    import polars as pl

    if not is_frame(source):
        return read_baskets(source)
    frame = to_polars_frame(source)
    # Nobody stores states sparsely.
    sparse = is_pandas(source) and all(type(dtype).__name__ == "SparseDtype" for dtype in source.dtypes)
    return frame.cast(pl.Boolean) if sparse and is_binary(frame) else frame


def _is_binary(series: pl.Series) -> bool:
    """Whether a column holds truth values, or nothing but 0 and 1."""
    import polars as pl

    if series.dtype == pl.Boolean:
        return True
    return series.dtype.is_numeric() and not series.null_count() and bool(((series == 0) | (series == 1)).all())


def is_one_hot(frame: pl.DataFrame) -> bool:
    """Return whether the rows of a frame are baskets: all columns are truth values, or one-hot by value and by name.

    Columns of 0 and 1 are one-hot by name if several begin with the same name (``colour_red``, ``colour_blue``) and no
    row has two of them.

    Args:
        frame: The frame.

    Examples:
        >>> import polars as pl
        >>> is_one_hot(pl.DataFrame({"milk": [True, False], "bread": [True, True]}))
        True
        >>> is_one_hot(pl.DataFrame({"colour_red": [1, 0], "colour_blue": [0, 1]}))
        True
        >>> is_one_hot(pl.DataFrame({"smokes": [1, 0], "died": [1, 1]}))
        False
    """
    import polars as pl

    if frame.width < 2 or not frame.height or not all(map(_is_binary, frame.get_columns())):
        return False
    groups: dict[str, list[str]] = {}
    for name, dtype in frame.schema.items():
        if dtype != pl.Boolean:
            groups.setdefault(_stem(name), []).append(name)
    return all(
        stem and len(names) > 1 and bool((frame.select(pl.sum_horizontal(names)).to_series() <= 1).all())
        for stem, names in groups.items()
    )


def is_binary(frame: pl.DataFrame) -> bool:
    """Return whether a frame could be baskets: every column holds truth values, or nothing but 0 and 1.

    Args:
        frame: The frame.

    Examples:
        >>> import polars as pl
        >>> is_binary(pl.DataFrame({"smokes": [1, 0], "died": [1, 1]})), is_binary(pl.DataFrame({"size": [1, 2]}))
        (True, False)
    """
    return frame.width > 1 and all(map(_is_binary, frame.get_columns()))


def _stem(name: str) -> str:
    """The name before the value of a one-hot column; empty if the name has no such parts."""
    cuts = [at for mark in _SEPARATORS if (at := name.rfind(mark)) > 0 and at < len(name) - 1]
    return name[: max(cuts)] if cuts else ""


def basket_table(frame: pl.DataFrame, *, notes: Iterable[str] = ()) -> TransactionTable:
    """Return baskets as a transaction table in which only the presence of an item is an item.

    Supports are shares of all rows. An item of every basket stays an item.

    Args:
        frame: A frame of truth values, or of 0 and 1; null is unknown.
        notes: Notes of the table.

    Raises:
        InputError: If a column holds anything else.

    Examples:
        >>> table = basket_table(read_baskets([["milk", "bread"], ["milk"]]))
        >>> [item.feature.subject for item in table.iter_items() if item.value is True]
        ['bread', 'milk']
        >>> table.blocks[0].minable.tolist()
        [False, True, False, True]
    """
    columns = []
    for series in frame.get_columns():
        if not _is_binary(series):
            raise InputError(
                f"column '{series.name}' of baskets must hold truth values, or 0 and 1, got {series.dtype}",
                hint="leave it out (ignore=…), or pass basket=False",
            )
        numbers = to_numbers(series)
        codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int16)
        columns.append(
            Column(Feature(series.name, presence=True), (False, True), codes[None, :], minable=(False, True))
        )
    return TransactionTable((Block(tuple(columns), frame.height),), notes=tuple(notes))
