"""Sensor names as integer codes, for tables with many rows and few names.

Hashing the string of every row costs more than reading all other columns. Equal names are therefore recognised by the
16-byte views with which Arrow refers to strings, and only distinct views are read as strings. Nothing here knows what
the names mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.frames import iter_batches
from thence.errors import InputError, nearest

__all__ = ["NameCoder", "distinct_names", "missing_name_error"]

BATCH_ROWS = 1_000_000
PLAIN_BATCHES = 3
MOST_NAMES = 1 << 16
UNKNOWN = np.iinfo(np.uint32).max

UInt32Array = npt.NDArray[np.uint32]


class NameCoder:
    """Encodes columns of names as positions in a list of names.

    Args:
        names: The known names.
        source: Name of the data in messages.

    Examples:
        >>> NameCoder(["a", "b"], source="frame").codes(pl.Series(["b", "a", "b"])).tolist()
        [1, 0, 1]
    """

    def __init__(self, names: Sequence[str], *, source: str) -> None:
        self._positions = {name: k for k, name in enumerate(names)}
        self._source = source
        self._lookup = np.empty(0, dtype=np.uint32)

    def codes(self, column: pl.Series) -> UInt32Array:
        """Return the position of each name.

        Raises:
            InputError: If a name is missing or not in the list.
        """
        if column.null_count():
            raise missing_name_error(self._source)
        if column.dtype == pl.String:
            parts = [self._text_codes(chunk) for chunk in column.get_chunks()]
            return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.uint32), *parts])
        return self._category_codes(column)

    def _category_codes(self, column: pl.Series) -> UInt32Array:
        """Map physical codes, which mean the same category in every batch."""
        physical = column.to_physical().to_numpy()
        top = int(physical.max()) + 1 if physical.size else 0
        if top <= self._lookup.size:
            codes: UInt32Array = self._lookup[physical]
            if not (codes == UNKNOWN).any():
                return codes
        names = column.unique()
        lookup: UInt32Array = np.full(max(top, self._lookup.size), UNKNOWN, dtype=np.uint32)
        lookup[: self._lookup.size] = self._lookup
        lookup[names.to_physical().to_numpy()] = self._positions_of(names.cast(pl.String))
        self._lookup = lookup
        found: UInt32Array = lookup[physical]
        return found

    def _text_codes(self, chunk: pl.Series) -> UInt32Array:
        views = _views(chunk)
        if views is not None:
            grouped = _group(views, most=max(4 * len(self._positions), 1024))
            if grouped is not None:
                return self._recode(chunk[grouped[0]], grouped[1])
        distinct = chunk.unique()
        return self._recode(distinct, chunk.cast(pl.Enum(distinct)).to_physical().to_numpy())

    def _recode(self, names: pl.Series, codes: npt.NDArray[np.unsignedinteger]) -> UInt32Array:
        positions: UInt32Array = self._positions_of(names)[codes]
        return positions

    def _positions_of(self, names: pl.Series) -> UInt32Array:
        positions = self._positions
        listed = names.to_list()
        for name in listed:
            if name not in positions:
                raise InputError(
                    f"unknown sensor '{name}' in a row; {len(positions)} sensors are known",
                    where=self._source,
                    hint=nearest(str(name), positions),
                )
        return np.array([positions[name] for name in listed], dtype=np.uint32)


def missing_name_error(source: str) -> InputError:
    """Return the error for rows without a sensor name."""
    return InputError("some rows have no sensor name", where=source, hint="drop these rows or fill in the name")


def distinct_names(lazy: pl.LazyFrame, column: str, *, source: str) -> list[str | None]:
    """Return the distinct names of a column, sorted, with ``None`` first if a row has no name.

    The column is read once, in batches.

    Args:
        lazy: The frame.
        column: The column of names.
        source: Name of the data in messages.

    Examples:
        >>> distinct_names(pl.LazyFrame({"s": ["b", "a", None, "b"]}), "s", source="frame")
        [None, 'a', 'b']
    """
    found: set[str | None] = set()
    seen = np.zeros(0, dtype=bool)
    batches = iter_batches(lazy.select(column), rows=BATCH_ROWS, ordered=False, source=source)
    for number, batch in enumerate(batches):
        for chunk in batch[column].get_chunks():
            if _is_category(chunk.dtype) and not chunk.null_count():
                names, seen = _new_categories(chunk, seen)
            else:
                # Compiling the kernel does not pay for the first few batches.
                views = _views(chunk) if number >= PLAIN_BATCHES else None
                grouped = _group(views, most=MOST_NAMES) if views is not None else None
                names = chunk.unique() if grouped is None else chunk[grouped[0]]
            found.update(names.cast(pl.String).to_list())
    return sorted(found, key=lambda name: (name is not None, name or ""))


def _is_category(dtype: pl.DataType) -> bool:
    return dtype == pl.Categorical or isinstance(dtype, pl.Enum)


def _new_categories(chunk: pl.Series, seen: npt.NDArray[np.bool_]) -> tuple[pl.Series, npt.NDArray[np.bool_]]:
    """Return the categories that no earlier chunk had, and the updated mask of categories seen."""
    physical = chunk.to_physical().to_numpy()
    top = int(physical.max()) + 1 if physical.size else 0
    if top > seen.size:
        seen = np.concatenate([seen, np.zeros(top - seen.size, dtype=bool)])
    fresh = ~seen[physical]
    seen[physical] = True
    return (chunk.filter(pl.Series(fresh)).unique() if fresh.any() else chunk.clear()), seen


def _views(chunk: pl.Series) -> npt.NDArray[np.int64] | None:
    """Return the 16-byte string view of each row, or ``None`` if the column is not stored as views."""
    if chunk.dtype != pl.String or not chunk.len() or chunk.null_count():
        return None
    array = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
    buffers = array.buffers()
    if str(array.type) != "string_view" or buffers[1] is None:
        return None
    pairs = np.frombuffer(buffers[1], dtype=np.int64).reshape(-1, 2)
    return pairs[array.offset : array.offset + len(array)]


def _group(views: npt.NDArray[np.int64], *, most: int) -> tuple[npt.NDArray[np.int64], UInt32Array] | None:
    """Return the first row of each distinct view and the group of each row; ``None`` for more than ``most`` views.

    Equal views are equal strings. Long strings may be stored more than once, so two groups can have the same name.
    """
    from thence.data.readings.window_kernels import group_views

    firsts = np.empty(most, dtype=np.int64)
    codes = np.empty(len(views), dtype=np.uint32)
    n_groups = group_views(views, firsts, codes)
    return None if n_groups < 0 else (firsts[:n_groups], codes)
