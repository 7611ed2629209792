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

from .errors import InputError, nearest

__all__ = ["NameCoder", "distinct_names"]

BATCH_ROWS = 1_000_000
PLAIN_BATCHES = 3
MOST_NAMES = 1 << 16

UInt32Array = npt.NDArray[np.uint32]


class NameCoder:
    """Turns columns of names into positions in a list of names.

    >>> NameCoder(["a", "b"], source="frame").codes(pl.Series(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """

    def __init__(self, names: Sequence[str], *, source: str) -> None:
        self._positions = {name: k for k, name in enumerate(names)}
        self._source = source
        self._lookup: UInt32Array | None = None

    def codes(self, column: pl.Series) -> UInt32Array:
        """The position of each name; a name that is not in the list is an error."""
        if column.dtype == pl.String:
            parts = [self._text_codes(chunk) for chunk in column.get_chunks()]
            return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)
        # Categories are numbers already; which number is which name is the same in every batch.
        physical = column.to_physical().to_numpy()
        if self._lookup is None or (physical.size and physical.max() >= self._lookup.size):
            names = column.unique()
            known = self._of_names(names.cast(pl.String))
            own = names.to_physical().to_numpy()
            lookup = np.full(int(own.max()) + 1 if own.size else 0, self._missing, dtype=np.uint32)
            lookup[own] = known
            self._lookup = lookup
        codes = self._lookup[physical]
        if (codes == self._missing).any():
            self._lookup = None
            return self.codes(column)
        return codes

    @property
    def _missing(self) -> int:
        return int(np.iinfo(np.uint32).max)

    def _text_codes(self, chunk: pl.Series) -> UInt32Array:
        views = _views(chunk)
        if views is not None:
            grouped = _group(views, most=max(4 * len(self._positions), 1024))
            if grouped is not None:
                firsts, codes = grouped
                return self._of_names(chunk[firsts])[codes]
        distinct = chunk.unique()
        coded = chunk.cast(pl.Enum(distinct)).to_physical().to_numpy()
        return self._of_names(distinct)[coded]

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


def distinct_names(lazy: pl.LazyFrame, column: str) -> list[str | None]:
    """Every name in a column, sorted, ``None`` first where some row has none; reads that column once, in batches.

    >>> distinct_names(pl.LazyFrame({"s": ["b", "a", None, "b"]}), "s")
    [None, 'a', 'b']
    """
    found: set[str | None] = set()
    query = lazy.select(column)
    for number, batch in enumerate(query.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False, lazy=True)):
        for chunk in batch[column].get_chunks():
            # Compiling is not worth it for the first few batches.
            views = _views(chunk) if number >= PLAIN_BATCHES else None
            grouped = _group(views, most=MOST_NAMES) if views is not None else None
            names = chunk.unique() if grouped is None else chunk[grouped[0]]
            found.update(names.cast(pl.String).to_list())
    return sorted(found, key=lambda name: (name is not None, name or ""))


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


def _group(
    views: npt.NDArray[np.int64], *, most: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]] | None:
    """First row of each distinct view and the group of each row, or ``None`` if there are more than `most`.

    Equal views are equal texts; long texts may be stored several times, so two groups can have one name.
    """
    from ._window_kernels import group_views

    firsts = np.empty(most, dtype=np.int64)
    codes = np.empty(len(views), dtype=np.uint32)
    n_groups = group_views(views, firsts, codes)
    return None if n_groups < 0 else (firsts[:n_groups], codes)
