"""Sensor names as integers, cheaply: a hundred million rows repeat a thousand names.

Names in a file are text. Hashing the text of every row costs more than reading all other columns, so equal names are
recognised by the sixteen bytes with which Arrow refers to them, and only the few distinct ones are looked at as text.
Nothing here knows what the names stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.errors import InputError, nearest

__all__ = ["NameCoder", "distinct_names"]

BATCH_ROWS = 1_000_000
PLAIN_BATCHES = 3
MOST_NAMES = 1 << 16
UNKNOWN = np.iinfo(np.uint32).max

UInt32Array = npt.NDArray[np.uint32]


class NameCoder:
    """Turns columns of names into positions in a list of names.

    >>> NameCoder(["a", "b"], source="frame").codes(pl.Series(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """

    def __init__(self, names: Sequence[str], *, source: str) -> None:
        self._positions = {name: k for k, name in enumerate(names)}
        self._source = source
        self._lookup = np.empty(0, dtype=np.uint32)

    def codes(self, column: pl.Series) -> UInt32Array:
        """The position of each name; a name that is not in the list, or none at all, is an error."""
        if column.null_count():
            raise InputError("some rows name no sensor", where=self._source, hint="leave them out or fill them in")
        if column.dtype == pl.String:
            parts = [self._text_codes(chunk) for chunk in column.get_chunks()]
            return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.uint32), *parts])
        return self._category_codes(column)

    def _category_codes(self, column: pl.Series) -> UInt32Array:
        """Categories are numbers already, and a number means the same name in every batch."""
        physical = column.to_physical().to_numpy()
        top = int(physical.max()) + 1 if physical.size else 0
        if top <= self._lookup.size:
            codes: UInt32Array = self._lookup[physical]
            if not (codes == UNKNOWN).any():
                return codes
        names = column.unique()
        lookup: UInt32Array = np.full(max(top, self._lookup.size), UNKNOWN, dtype=np.uint32)
        lookup[: self._lookup.size] = self._lookup
        lookup[names.to_physical().to_numpy()] = self._of_names(names.cast(pl.String))
        self._lookup = lookup
        found: UInt32Array = lookup[physical]
        return found

    def _text_codes(self, chunk: pl.Series) -> UInt32Array:
        views = _views(chunk)
        if views is not None:
            grouped = _group(views, most=max(4 * len(self._positions), 1024))
            if grouped is not None:
                return self._renumbered(chunk[grouped[0]], grouped[1])
        distinct = chunk.unique()
        return self._renumbered(distinct, chunk.cast(pl.Enum(distinct)).to_physical().to_numpy())

    def _renumbered(self, names: pl.Series, codes: npt.NDArray[np.unsignedinteger]) -> UInt32Array:
        positions: UInt32Array = self._of_names(names)[codes]
        return positions

    def _of_names(self, names: pl.Series) -> UInt32Array:
        positions = self._positions
        listed = names.to_list()
        for name in listed:
            if name not in positions:
                raise InputError(
                    f"a row names the sensor '{name}', which is not among the {len(positions)} sensors given",
                    where=self._source,
                    hint=nearest(str(name), positions),
                )
        return np.array([positions[name] for name in listed], dtype=np.uint32)


def distinct_names(lazy: pl.LazyFrame, column: str, *, source: str) -> list[str | None]:
    """Every name in a column, sorted, ``None`` first where some row has none; reads that column once, in batches.

    >>> distinct_names(pl.LazyFrame({"s": ["b", "a", None, "b"]}), "s", source="frame")
    [None, 'a', 'b']
    """
    found: set[str | None] = set()
    seen = np.zeros(0, dtype=bool)
    query = lazy.select(column)
    try:
        for number, batch in enumerate(query.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False, lazy=True)):
            for chunk in batch[column].get_chunks():
                if _is_category(chunk.dtype) and not chunk.null_count():
                    names, seen = _new_categories(chunk, seen)
                else:
                    # Compiling is not worth it for the first few batches.
                    views = _views(chunk) if number >= PLAIN_BATCHES else None
                    grouped = _group(views, most=MOST_NAMES) if views is not None else None
                    names = chunk.unique() if grouped is None else chunk[grouped[0]]
                found.update(names.cast(pl.String).to_list())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {str(error).splitlines()[0]}", where=source) from error
    return sorted(found, key=lambda name: (name is not None, name or ""))


def _is_category(dtype: pl.DataType) -> bool:
    return dtype == pl.Categorical or isinstance(dtype, pl.Enum)


def _new_categories(chunk: pl.Series, seen: npt.NDArray[np.bool_]) -> tuple[pl.Series, npt.NDArray[np.bool_]]:
    """The categories that no chunk before has had, and which have been seen by now."""
    physical = chunk.to_physical().to_numpy()
    top = int(physical.max()) + 1 if physical.size else 0
    if top > seen.size:
        seen = np.concatenate([seen, np.zeros(top - seen.size, dtype=bool)])
    fresh = ~seen[physical]
    seen[physical] = True
    return (chunk.filter(pl.Series(fresh)).unique() if fresh.any() else chunk.clear()), seen


def _views(chunk: pl.Series) -> npt.NDArray[np.int64] | None:
    """The sixteen bytes per row that refer to its text, or ``None`` where the column is not stored that way."""
    if chunk.dtype != pl.String or not chunk.len() or chunk.null_count():
        return None
    array = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
    buffers = array.buffers()
    if str(array.type) != "string_view" or buffers[1] is None:
        return None
    pairs = np.frombuffer(buffers[1], dtype=np.int64).reshape(-1, 2)
    return pairs[array.offset : array.offset + len(array)]


def _group(views: npt.NDArray[np.int64], *, most: int) -> tuple[npt.NDArray[np.int64], UInt32Array] | None:
    """First row of each distinct view and the group of each row, or ``None`` if there are more than `most`.

    Equal views are equal texts; long texts may be stored several times, so two groups can have one name.
    """
    from thence.readings.window_kernels import group_views

    firsts = np.empty(most, dtype=np.int64)
    codes = np.empty(len(views), dtype=np.uint32)
    n_groups = group_views(views, firsts, codes)
    return None if n_groups < 0 else (firsts[:n_groups], codes)
