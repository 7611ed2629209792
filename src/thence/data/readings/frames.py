"""Lazy frames: column types, collecting, and reading in batches.

Whatever polars or the file system raises becomes an ``InputError`` that names the source. Nothing here knows sensors or
decides what a column means.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from thence.errors import InputError, door

__all__ = ["collect", "first_line", "is_categorical", "is_text", "iter_batches"]


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
    with door(InputError, where=source):
        return lazy.collect(engine="streaming")


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
    with door(InputError, where=source):
        yield from lazy.collect_batches(chunk_size=rows, maintain_order=ordered, lazy=True)
