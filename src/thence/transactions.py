"""Transactions: rows × features as small-integer codes, and the raw feature table behind them.

A row of a table is a time frame of an *embedding*. Plain tables have one embedding, the whole system, and a column
holds one series of codes. Lifted tables have many: an embedding is a place where a graph pattern matches, a column
holds the series of every sensor that can stand in its variable, and ``series`` says which one each embedding reads.
So one type serves all four enrichments, and frames × embeddings is never written out (:meth:`Block.flat` does it for
small tables and for miners that know no better).

This module holds data and looks things up; it does not discretize, enrich or count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .discretize import Discretizer
from .errors import MiningError, nearest
from .frames import raw_columns
from .items import Aspect, Feature, Interval, Item, Value

if TYPE_CHECKING:
    import polars as pl

    from .bank import Bank
    from .patterns import Pattern

__all__ = ["Block", "Column", "FeatureTable", "TransactionTable"]

Codes = npt.NDArray[np.int16]
Indices = npt.NDArray[np.int32]


@dataclass(frozen=True)
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
        return self.codes.shape[1] == 1

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


@dataclass(frozen=True)
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
        from .bank import build_bank

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


@dataclass(frozen=True)
class TransactionTable:
    """What miners read: one block of rows, or several with their own rows (a block per graph pattern).

    >>> import polars as pl
    >>> df = pl.DataFrame({"flow": [1.0, 2.0, 3.0, 4.0], "door": ["open", "shut", None, "open"]})
    >>> table = TransactionTable.from_frame(df, bins=2)
    >>> table.n_rows, table.n_features, table.n_items
    (4, 2, 4)
    >>> table.codes.tolist()
    [[0, 0], [0, 1], [1, -1], [1, 0]]
    """

    blocks: tuple[Block, ...]
    enrichment: str = "none"
    discretizer: Discretizer = field(default_factory=Discretizer)
    notes: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of all blocks, in order."""
        return tuple(column.feature for block in self.blocks for column in block.columns)

    @property
    def n_rows(self) -> int:
        """Rows of all blocks."""
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_features(self) -> int:
        """Columns of all blocks."""
        return sum(len(block.columns) for block in self.blocks)

    @property
    def n_items(self) -> int:
        """Items of all blocks."""
        return sum(block.n_items for block in self.blocks)

    @property
    def is_factorised(self) -> bool:
        """Whether rows are frames × embeddings, or there are several blocks."""
        return len(self.blocks) > 1 or any(block.n_embeddings != 1 for block in self.blocks)

    @property
    def codes(self) -> Codes:
        """Rows × features of a plain table."""
        if self.is_factorised:
            raise MiningError(
                "a factorised table has no single matrix of codes", hint="use table.blocks[i].flat() for one block"
            )
        return self.blocks[0].flat() if self.blocks else np.empty((0, 0), np.int16)

    @cached_property
    def _where(self) -> dict[tuple[str, Feature], tuple[int, int]]:
        return {
            (str(block.pattern or ""), column.feature): (b, c)
            for b, block in enumerate(self.blocks)
            for c, column in enumerate(block.columns)
        }

    def locate(self, feature: Feature, pattern: object = None) -> tuple[int, int]:
        """Block and column of a feature, or an error that names the nearest one."""
        found = self._where.get((str(pattern or ""), feature))
        if found is None:
            names = [str(f) for f in self.features]
            raise MiningError(f"the table has no feature '{feature}'", hint=nearest(str(feature), names))
        return found

    def select(self, features: Iterable[Feature]) -> TransactionTable:
        """A table with some of the columns only."""
        wanted = set(features)
        blocks = tuple(
            replace(block, columns=tuple(c for c in block.columns if c.feature in wanted)) for block in self.blocks
        )
        return replace(self, blocks=tuple(block for block in blocks if block.columns))

    def frames(self, chosen: npt.NDArray[Any] | slice) -> TransactionTable:
        """A table with some of the time frames only (an index array, a mask or a slice)."""
        blocks = []
        for block in self.blocks:
            columns = tuple(c if c.is_static else replace(c, codes=c.codes[:, chosen]) for c in block.columns)
            kept = np.arange(block.n_frames)[chosen]
            times = None if block.times is None else block.times[chosen]
            blocks.append(replace(block, columns=columns, n_frames=len(kept), times=times))
        return replace(self, blocks=tuple(blocks))

    def row_blocks(self, frames: int) -> Iterator[TransactionTable]:
        """The table cut into runs of at most so many frames; counts over the pieces add up to those of the whole."""
        longest = max((block.n_frames for block in self.blocks), default=0)
        for start in range(0, longest, frames):
            yield self.frames(slice(start, start + frames))

    @staticmethod
    def from_frame(
        frame: Any, *, bins: int = 10, method: str = "frequency", units: Mapping[str, str] | None = None
    ) -> TransactionTable:
        """A table from any pandas or polars frame: numbers are discretized, the rest are categories.

        The frame is not changed. Missing values stay missing; Boolean columns keep both values.
        """
        table = FeatureTable(*raw_columns(frame, units=units or {}))
        return table.discretize(Discretizer(method=method, bins=bins, scope="sensor"))

    def to_polars(self) -> pl.DataFrame:
        """The codes of a plain table, a column per feature, named by its text form."""
        import polars as pl

        codes = self.codes
        return pl.DataFrame({str(f): codes[:, i] for i, f in enumerate(self.features)})

    def describe(self) -> dict[str, Any]:
        """Sizes and contents, ready for JSON and for the screen."""
        columns = [column for block in self.blocks for column in block.columns]
        return {
            "enrichment": self.enrichment,
            "blocks": len(self.blocks),
            "rows": self.n_rows,
            "frames": max((block.n_frames for block in self.blocks), default=0),
            "embeddings": sum(block.n_embeddings for block in self.blocks),
            "features": self.n_features,
            "items": self.n_items,
            "context_features": sum(column.context for column in columns),
            "constant_features": sum(column.is_constant for column in columns),
            "features_with_missing": sum(column.has_missing for column in columns),
            "missing_share": _missing_share(self.blocks),
            "patterns": [str(block.pattern) for block in self.blocks if block.pattern is not None],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return (
            f"TransactionTable({self.n_rows:,} rows × {self.n_features:,} features, {self.n_items:,} items, "
            f"enrich={self.enrichment!r})"
        )


def _missing_share(blocks: Sequence[Block]) -> float:
    missing = cells = 0
    for block in blocks:
        for column in block.columns:
            per_series = (column.codes < 0).mean(axis=1)
            series = np.broadcast_to(column.series, (block.n_embeddings,))
            share = np.where(series < 0, 1.0, per_series[series])
            missing += float(share.sum()) * block.n_frames
            cells += block.n_rows
    return missing / cells if cells else 0.0


@dataclass(frozen=True)
class FeatureTable:
    """Transactions before discretization: numbers as they are, categories as codes.

    ``numbers[:, i]`` belongs to ``features[i]`` where ``categories[i]`` is ``None`` (NaN: missing); otherwise the
    column holds codes of ``categories[i]`` as floats. Miners that find their own intervals read this.
    """

    features: tuple[Feature, ...]
    numbers: npt.NDArray[np.float64]
    categories: tuple[tuple[Value, ...] | None, ...]
    times: npt.NDArray[np.datetime64] | None = None
    context: tuple[bool, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def mask(self, item: Item) -> npt.NDArray[np.bool_]:
        """The rows that satisfy an item."""
        at = self.column(item.feature)
        values = self.numbers[:, at]
        known = self.categories[at]
        if known is None:
            return item.mask(values)
        hits = np.array([code for code, value in enumerate(known) if item.holds(value)], dtype=np.float64)
        return np.asarray(np.isin(values, hits))

    def column(self, feature: Feature) -> int:
        """The position of a feature."""
        try:
            return self.features.index(feature)
        except ValueError:
            names = [str(f) for f in self.features]
            raise MiningError(f"the table has no feature '{feature}'", hint=nearest(str(feature), names)) from None

    def discretize(self, discretizer: Discretizer, *, enrichment: str = "none") -> TransactionTable:
        """Cut the numbers into bins; an unfitted discretizer is fitted on this table first."""
        keys = [
            discretizer.group(kind=f.label, sensor=f.subject or f.name, name=f.name if f.subject else "")
            if f.aspect is Aspect.MEASUREMENT
            else f"{f.label}.{f.name}"
            for f in self.features
        ]
        pooled: dict[str, list[npt.NDArray[np.float64]]] = {}
        for at, key in enumerate(keys):
            if self.categories[at] is None and key not in discretizer.binnings:
                pooled.setdefault(key, []).append(self.numbers[:, at])
        if pooled:
            discretizer = discretizer.fit({key: np.concatenate(parts) for key, parts in pooled.items()})
        columns = []
        for at, feature in enumerate(self.features):
            known = self.categories[at]
            context = bool(self.context[at]) if self.context else False
            if known is None:
                binning = discretizer.binnings[keys[at]]
                codes, values = binning.encode(self.numbers[:, at]), binning.values
            else:
                raw = self.numbers[:, at]
                codes, values = np.where(np.isnan(raw), -1, raw).astype(np.int16), known
            columns.append(Column(feature, tuple(values), codes[None, :], context=context))
        block = Block(tuple(columns), self.n_rows, times=self.times)
        return TransactionTable((block,), enrichment, discretizer)
