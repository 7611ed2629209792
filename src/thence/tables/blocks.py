"""Columns of codes, and blocks of columns over the same rows: what a transaction table is made of.

A row is a time frame of an *embedding*. Plain tables have one embedding, the whole system, and a column holds one
series of codes. Lifted tables have many: an embedding is a place where a graph pattern matches, a column holds the
series of every sensor that can stand in its variable, and ``series`` says which one each embedding reads. Frames ×
embeddings is never written out, except by ``Block.flat``. This module holds data; it does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thence.errors import InputError, MiningError
from thence.rules.items import Feature, Interval, Item, Value

if TYPE_CHECKING:
    from thence.bitmaps.bank import Bank
    from thence.graph.patterns import Pattern

__all__ = ["Block", "Codes", "Column", "Indices", "as_codes"]

Codes = npt.NDArray[np.int16]
Indices = npt.NDArray[np.int32]


def as_codes(codes: npt.ArrayLike, n_values: int, *, of: str, hint: str) -> Codes:
    """Codes in the 16 bits of a column; more values than 16 bits can tell apart are an error, not wrong codes.

    >>> as_codes([0, 2, -1], 3, of="sensor 'door'", hint="ignore it").tolist()
    [0, 2, -1]
    """
    most = int(np.iinfo(np.int16).max)
    if n_values > most:
        raise InputError(f"{of} has {n_values:,} states, more than the {most:,} that a column can hold", hint=hint)
    return np.asarray(codes).astype(np.int16)


@dataclass(frozen=True, eq=False)
class Column:
    """The codes of one feature.

    ``codes[s, t]`` is the code of series ``s`` in frame ``t`` (−1: missing); a static column has one frame.
    ``series[e]`` is the series that embedding ``e`` reads (−1: none). ``values[c]`` is what code ``c`` stands for.
    ``context`` columns (graph properties, constants) may stand in an antecedent, not in a consequent unless asked.
    ``minable[c]`` is false for codes that are not items, such as the "no" of an existential column.
    """

    feature: Feature
    values: tuple[Value | Interval, ...]
    codes: Codes
    series: Indices = field(default_factory=lambda: np.zeros(1, np.int32))
    context: bool = False
    minable: tuple[bool, ...] | None = None

    @property
    def is_static(self) -> bool:
        """Whether the value does not depend on time (by construction, not by chance)."""
        return bool(self.codes.shape[1] == 1)

    @property
    def n_codes(self) -> int:
        """How many values the feature can take."""
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """Whether at most one code ever occurs."""
        used = self.series[self.series >= 0]
        seen = np.unique(self.codes[np.unique(used)])
        return int((seen >= 0).sum()) <= 1

    @property
    def has_missing(self) -> bool:
        """Whether some row lacks the feature."""
        return bool((self.series < 0).any() or (self.codes[np.unique(self.series)] < 0).any())

    def codes_of(self, item: Item) -> tuple[int, ...]:
        """The codes that satisfy an item; an item that cuts through a bin is an error, since it cannot be counted."""
        for value in self.values:
            if isinstance(value, Interval) and not item.holds(value) and not item.negated().holds(value):
                raise MiningError(
                    f"the item '{item}' cuts through the bin {value} of the table",
                    hint="count it on the feature table, or use the edges of the table's bins",
                )
        return tuple(code for code, value in enumerate(self.values) if item.holds(value))

    def item(self, code: int) -> Item:
        """The item that a code stands for."""
        return Item.is_(self.feature, self.values[code])


@dataclass(frozen=True, eq=False)
class Block:
    """Columns over the same rows: ``n_frames`` × ``n_embeddings``, frames running fastest.

    ``embeddings[e]`` names the node behind each variable of ``pattern`` in embedding ``e``.
    """

    columns: tuple[Column, ...]
    n_frames: int
    n_embeddings: int = 1
    times: npt.NDArray[np.datetime64] | None = None
    pattern: Pattern | None = None
    embeddings: tuple[tuple[str, ...], ...] = ((),)

    @property
    def n_rows(self) -> int:
        """Rows, written out or not."""
        return self.n_frames * self.n_embeddings

    @property
    def is_lifted(self) -> bool:
        """Whether rows belong to embeddings of a pattern, be it to a single one."""
        return self.pattern is not None or self.n_embeddings != 1

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Items are numbered column by column: item = offsets[column] + code."""
        return np.concatenate([[0], np.cumsum([c.n_codes for c in self.columns])]).astype(np.int64)

    @property
    def n_items(self) -> int:
        """How many items the columns have."""
        return int(self.offsets[-1])

    @cached_property
    def column_of_item(self) -> Indices:
        """The column of each item."""
        return np.repeat(np.arange(len(self.columns), dtype=np.int32), np.diff(self.offsets))

    def item(self, number: int) -> Item:
        """The item with this number."""
        column = int(self.column_of_item[number])
        return self.columns[column].item(number - int(self.offsets[column]))

    @cached_property
    def minable(self) -> npt.NDArray[np.bool_]:
        """Which items a miner may use at all."""
        flags = [np.ones(c.n_codes, bool) if c.minable is None else np.array(c.minable, bool) for c in self.columns]
        return np.concatenate(flags) if flags else np.zeros(0, bool)

    @cached_property
    def context(self) -> npt.NDArray[np.bool_]:
        """Which items belong to context columns."""
        flags = np.array([c.context for c in self.columns], bool)
        return flags[self.column_of_item] if len(flags) else np.zeros(0, bool)

    @cached_property
    def bank(self) -> Bank:
        """The bitmaps of the block, made once."""
        from thence.bitmaps.bank import build_bank

        columns = [(column.codes, column.series, column.n_codes) for column in self.columns]
        return build_bank(columns, n_frames=self.n_frames, n_embeddings=self.n_embeddings)

    def flat(self, embeddings: slice = slice(None)) -> Codes:
        """The codes written out, rows × columns; ``embeddings`` limits how much is written at once."""
        chosen = np.arange(self.n_embeddings)[embeddings]
        out = np.empty((len(chosen) * self.n_frames, len(self.columns)), np.int16)
        for at, column in enumerate(self.columns):
            series = column.series[chosen] if len(column.series) > 1 else np.repeat(column.series, len(chosen))
            codes = np.broadcast_to(column.codes, (column.codes.shape[0], self.n_frames))[series]
            codes = np.where(series[:, None] < 0, np.int16(-1), codes)
            out[:, at] = codes.reshape(-1)
        return out
