"""Item sets of tables: frequent, closed or maximal, as frames like those of mlxtend: what ``th.itemsets`` is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence._base.settings.numbers import require_integer, require_share, shown
from thence.errors import ConfigError, MiningError, nearest, require
from thence.language.items import Item
from thence.language.short_text import short_items
from thence.runs.configuration import DiscretizeConfig, InputConfig
from thence.runs.frames import build_rows, is_plain_table, read_rows
from thence.search.base import Miner, make_miner
from thence.search.exact.itemsets import KINDS, find_itemsets, judge_itemsets
from thence.statements.rules.bounds import exact_threshold
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST_SETS = 5_000_000


@dataclass(frozen=True, eq=False)
class ItemSets:
    """Item sets with exact counts, those in most rows first.

    Args:
        items: The items that occur.
        members: The positions of the items of all sets, one set after the other.
        starts: Where each set begins in ``members``, and the end.
        counts: The number of rows that have all items of each set.
        n_rows: The number of rows.
        notes: What there is to say about the table and the search.

    Examples:
        >>> import thence as th
        >>> sets = th.itemsets([["milk", "bread"], ["milk", "bread", "eggs"], ["milk"]], min_support=0.6)
        >>> len(sets), [item.feature.subject for item in sets[0]]
        (3, ['milk'])
    """

    items: tuple[Item, ...]
    members: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    n_rows: int
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, number: int) -> tuple[Item, ...]:
        at = range(len(self))[number]
        return tuple(self.items[i] for i in self.members[self.starts[at] : self.starts[at + 1]])

    def __iter__(self) -> Iterator[tuple[Item, ...]]:
        return (self[number] for number in range(len(self)))

    @property
    def support(self) -> npt.NDArray[np.float64]:
        """The share of the rows that have all items of each set."""
        return np.asarray(self.counts / max(self.n_rows, 1), np.float64)

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with the columns ``support``, ``itemsets`` (lists of texts) and ``rows``."""
        import polars as pl

        texts = pl.Series(short_items(self.items), dtype=pl.String).gather(self.members)
        sets = pl.Series(np.repeat(np.arange(len(self)), np.diff(self.starts)))
        lists = (
            pl.DataFrame({"set": sets, "itemsets": texts}, schema_overrides={"set": pl.Int64})
            .group_by("set", maintain_order=True)
            .agg("itemsets")
        )
        return pl.DataFrame({"support": self.support, "itemsets": lists["itemsets"], "rows": self.counts})

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame with the columns of mlxtend, ``support`` and ``itemsets`` (sets of texts).

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        pandas = require("pandas", extra="pandas")
        texts = short_items(self.items)
        sets = [
            frozenset(texts[i] for i in self.members[low:high])
            for low, high in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        ]
        frame: pd.DataFrame = pandas.DataFrame({"support": self.support, "itemsets": pandas.Series(sets, dtype=object)})
        return frame

    def __str__(self) -> str:
        texts = short_items(self.items)
        lines = [f"{len(self):,} item set{'' if len(self) == 1 else 's'} in {self.n_rows:,} rows"]
        for number in range(min(len(self), 20)):
            own = [texts[i] for i in self.members[self.starts[number] : self.starts[number + 1]]]
            lines.append(f"  {self.support[number]:.3f}  {', '.join(own)}")
        lines += [f"  … and {len(self) - 20:,} more"] if len(self) > 20 else []
        return "\n".join([*lines, *(f"  ({note})" for note in self.notes)])

    def __repr__(self) -> str:
        return f"ItemSets({len(self):,} item set{'' if len(self) == 1 else 's'})"


def itemsets(
    source: Any,
    *,
    min_support: float = 0.1,
    kind: str = "frequent",
    max_length: int | None = None,
    miner: str | Miner | None = None,
    max_sets: int = MOST_SETS,
    basket: bool | None = None,
    bins: int | None = None,
    method: str = "frequency",
) -> ItemSets:
    """Find the frequent, closed or maximal item sets of a table.

    Supports are shares of all rows; a missing value satisfies no item. An item set is closed if no larger one is in the
    same rows, and maximal if no larger one is frequent.

    Args:
        source: Baskets, a polars, pandas or Arrow frame without times, or a ``TransactionTable`` (``th.transactions``
            makes one of sensor data).
        min_support: The lowest support, from 0 to 1; a set holds in at least one row.
        kind: ``"frequent"``, ``"closed"`` or ``"maximal"``.
        max_length: The largest number of items of a set; ``None`` for no limit.
        miner: By default an exact search, which finds all. The name of a miner, such as ``"aerial"``, or a miner: its
            rules propose sets, which are counted exactly, and of which the kind is decided on all rows.
        max_sets: The most item sets.
        basket: As in ``mine``: whether what is false or 0 is no item.
        bins: Number of bins of numbers, of a frame.
        method: Binning method, of a frame.

    Returns:
        The item sets, those with the highest support first.

    Raises:
        ConfigError: If an option is impossible.
        MiningError: If there are more than ``max_sets`` item sets, or the table has places of a graph pattern.

    Examples:
        >>> import thence as th
        >>> baskets = [["milk", "bread"], ["milk", "bread", "eggs"], ["milk"]]
        >>> print(th.itemsets(baskets, min_support=0.6, kind="closed"))
        2 item sets in 3 rows
          1.000  milk
          0.667  bread, milk
          (rows are baskets: what is false is no item (basket=False makes it a state))
    """
    require_share("min_support", min_support)
    require_integer("max_sets", max_sets)
    if max_length is not None:
        require_integer("max_length", max_length)
    if kind not in KINDS:
        raise ConfigError(
            f"unknown kind of item sets {shown(kind)}", hint=nearest(str(kind), KINDS) or ", ".join(KINDS)
        )
    table = _table_of(source, InputConfig(basket=basket), DiscretizeConfig(bins=bins, method=method))
    if table.is_factorised or any(block.is_lifted for block in table.blocks):
        raise MiningError(
            "item sets are those of rows, and this table has places of a graph pattern",
            hint="build the table with enrich='none'",
        )
    if not table.blocks or not table.n_rows:
        nothing = np.zeros(0, np.int32)
        return ItemSets((), nothing, np.zeros(1, np.int64), np.zeros(0, np.int64), 0, table.notes)
    block = table.blocks[0]
    numbers = np.flatnonzero(block.minable)
    words = block.bank.flat()[0][numbers]
    least = max(1, math.ceil(exact_threshold(min_support, max_denominator=block.n_rows) * block.n_rows))
    if miner is None:
        found = find_itemsets(
            words, n_rows=block.n_rows, least=least, kind=kind, max_length=max_length, max_sets=max_sets
        )
        if found.capped:
            raise MiningError(
                f"there are more than max_sets = {max_sets:,} item sets",
                hint="raise min_support, give max_length, ask for kind='closed' or 'maximal', or raise max_sets",
            )
        members, starts, counts = found.members, found.starts, found.counts
    else:
        proposed = _proposals(table, miner, min_support, numbers, max_length)
        counts, kinds = judge_itemsets(words, proposed, n_rows=block.n_rows, least=least)
        kept = kinds >= KINDS.index(kind)
        proposed, counts = proposed[kept], counts[kept]
        members, starts = proposed[proposed >= 0], np.concatenate([[0], np.cumsum((proposed >= 0).sum(axis=1))])
    return _sorted(tuple(block.item(int(number)) for number in numbers), members, starts, counts, table)


def _table_of(source: Any, given: InputConfig, bins: DiscretizeConfig) -> TransactionTable:
    if isinstance(source, TransactionTable):
        return source
    if not is_plain_table(source):
        raise ConfigError(
            f"item sets are those of a table without times, got {type(source).__name__}",
            hint="pass baskets or a frame, or th.transactions(…) of sensor data",
        )
    return build_rows(read_rows(source, given), given, bins)


def _proposals(
    table: TransactionTable,
    miner: str | Miner,
    min_support: float,
    numbers: npt.NDArray[np.int64],
    max_length: int | None,
) -> npt.NDArray[np.int32]:
    """The item sets that the rules of a miner are made of, and all their subsets, as positions in ``numbers``."""
    made = make_miner(miner, min_support=min_support, min_confidence=0.0) if isinstance(miner, str) else miner
    rules = made.mine(table)
    block = table.blocks[0]
    position = {block.item(int(number)): at for at, number in enumerate(numbers)}
    own = np.array([*(position[item] for item in rules.items), -1], np.int64)
    rows = np.sort(own[np.column_stack([rules.antecedents, rules.consequents])], axis=1)
    waiting = {tuple(at for at in row if at >= 0) for row in rows.tolist()}
    found: set[tuple[int, ...]] = set()
    while waiting:  # every subset of a frequent set is frequent
        found |= waiting
        waiting = {one[:at] + one[at + 1 :] for one in waiting if len(one) > 1 for at in range(len(one))} - found
    listed = sorted(one for one in found if max_length is None or len(one) <= max_length)
    out = np.full((len(listed), max(map(len, listed), default=1)), -1, np.int32)
    for row, one in zip(out, listed, strict=True):
        row[: len(one)] = one
    return out


def _sorted(
    items: tuple[Item, ...],
    members: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    table: TransactionTable,
) -> ItemSets:
    """Item sets in the order of their counts, the shorter ones first, then by their items."""
    lengths = np.diff(starts)
    width = int(lengths.max(initial=1))
    padded = np.full((len(counts), width), -1, np.int32)
    padded[np.arange(width)[None, :] < lengths[:, None]] = members
    order = np.lexsort([*padded.T[::-1], lengths, -counts])
    padded, lengths = padded[order], lengths[order]
    used, renumbered = np.unique(padded[padded >= 0], return_inverse=True)
    return ItemSets(
        tuple(items[i] for i in used.tolist()),
        renumbered.astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
        counts[order],
        table.n_rows,
        table.notes,
    )
