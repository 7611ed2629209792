"""Columns of codes, and blocks of columns over the same rows, of which transaction tables consist.

A row is a time frame of an *embedding*. A plain table has one embedding, the whole system, and a column holds one
series of codes. A lifted table has many: an embedding is a place where a graph pattern matches, a column holds the
series of every sensor that its variable can stand for, and ``series`` says which of them each embedding reads. Frames ×
embeddings are never written out, except by ``Block.flat``. This module holds data; it does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thence._base.memory import Workspace, in_memory
from thence.errors import InputError, MiningError
from thence.language.items import Feature, Interval, Item, Value

if TYPE_CHECKING:
    from thence.language.patterns import Pattern
    from thence.tables.bitmaps.bank import Bank

Codes = npt.NDArray[np.int16]
Indices = npt.NDArray[np.int32]

CONFIRMING = 3
"""One of so many frames confirms what the others show."""

_MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplication by it loses nothing


def as_codes(codes: npt.ArrayLike, n_values: int, *, of: str, hint: str) -> Codes:
    """Convert codes to the 16-bit integers of a column.

    Args:
        codes: The codes, −1 for missing.
        n_values: Number of different values.
        of: What the codes belong to, for the error message.
        hint: What to do if there are too many values.

    Raises:
        InputError: If there are more values than 16 bits can hold.

    Examples:
        >>> as_codes([0, 2, -1], 3, of="sensor 'door'", hint="leave it out").tolist()
        [0, 2, -1]
    """
    most = int(np.iinfo(np.int16).max)
    if n_values > most:
        raise InputError(f"{of} has {n_values:,} different values; a column can hold at most {most:,}", hint=hint)
    return np.asarray(codes).astype(np.int16)


@dataclass(frozen=True, eq=False)
class Column:
    """The codes of one feature.

    Args:
        feature: The feature.
        values: The bin or category of each code.
        codes: Matrix (series × frames) of codes, −1 for missing; a static column has one frame.
        series: The series that each embedding reads, −1 for none.
        context: Whether the column is context (graph properties, calendar), which is allowed in antecedents, but not as
            a consequent unless requested.
        minable: Whether each code is an item; the "no" of an existential column is not. By default all are.
    """

    feature: Feature
    values: tuple[Value | Interval, ...]
    codes: Codes
    series: Indices = field(default_factory=lambda: np.zeros(1, np.int32))
    context: bool = False
    minable: tuple[bool, ...] | None = None
    _known: tuple[tuple[Value | Interval, ...], dict[Item, tuple[int, ...]]] | None = field(default=None, repr=False)
    """What items hold for, once looked up, with the values that this is about: parts of a table share it."""

    def __post_init__(self) -> None:
        if self._known is None or self._known[0] is not self.values:
            object.__setattr__(self, "_known", (self.values, {}))

    @property
    def is_static(self) -> bool:
        """Whether the value cannot depend on time."""
        return bool(self.codes.shape[1] == 1)

    @property
    def n_codes(self) -> int:
        """Number of values that the feature can take."""
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """Whether at most one code occurs."""
        first = -1
        for row in np.unique(self.series[self.series >= 0]).tolist():
            codes = self.codes[row]
            if first < 0:
                first = int(codes.max(initial=-1))
            if first >= 0 and bool(((codes != first) & (codes >= 0)).any()):
                return False
        return True

    @property
    def has_missing(self) -> bool:
        """Whether the feature is missing in some row."""
        if (self.series < 0).any():
            return True
        used = np.unique(self.series)
        if len(used) == len(self.codes):
            return bool(self.codes.min(initial=0) < 0)
        return any(bool(self.codes[row].min(initial=0) < 0) for row in used.tolist())

    def codes_of(self, item: Item) -> tuple[int, ...]:
        """Return the codes that satisfy ``item``.

        Raises:
            MiningError: If the item contains only a part of a bin, so that it cannot be counted.
        """
        assert self._known is not None
        known = self._known[1]
        if item in known:
            return known[item]
        held, negated = tuple(code for code, value in enumerate(self.values) if item.holds(value)), item.negated()
        for code in set(range(len(self.values))).difference(held):
            value = self.values[code]
            if isinstance(value, Interval) and not negated.holds(value):
                raise MiningError(
                    f"the item '{item}' contains only a part of the bin {value} of the table",
                    hint="count it on the feature table, or use the bin edges of the table",
                )
        known[item] = held
        return held

    def until(self, stops: npt.NDArray[np.int64], n_frames: int) -> Column:
        """Return the column without the frames after the last one of each embedding.

        Args:
            stops: Number of frames of each embedding.
            n_frames: The largest of them.
        """
        series = np.broadcast_to(self.series, stops.shape)
        ends = np.zeros(len(self.codes), np.int64)
        np.maximum.at(ends, series[series >= 0], stops[series >= 0])
        inside = np.arange(n_frames)[None, :] < ends[:, None]
        return replace(self, codes=np.where(inside, self.codes[:, :n_frames], np.int16(-1)))

    def item(self, code: int) -> Item:
        """Return the item of a code."""
        return Item.is_(self.feature, self.values[code])


@dataclass(frozen=True, eq=False)
class SiteFrames:
    """The frames of one of several systems in a table.

    Args:
        name: Name of the system.
        times: Start of each frame.
    """

    name: str
    times: npt.NDArray[np.datetime64]

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, eq=False)
class Block:
    """Columns over the same rows: the frames of every embedding, with frames varying fastest.

    The embeddings of a table of several systems belong to *sites* with frames of their own. Frame ``f`` of a site is
    its ``f``-th window, so the same frame is another time at another site; codes after the last frame of a site are
    missing and are no rows.

    Args:
        columns: The columns.
        n_frames: Number of frames; of several sites, that of the longest.
        n_embeddings: Number of embeddings.
        times: Start of each frame; ``None`` if there are several sites, or if the rows of a plain table have no times.
        pattern: The pattern of a lifted block.
        embeddings: The nodes, and then the sensors, for the variables of ``pattern`` in each embedding.
        sites: The frames of each site, if there are several.
        site_of: The site of each embedding, if there are several.
        workspace: Where large arrays lie; by default in memory.
    """

    columns: tuple[Column, ...]
    n_frames: int
    n_embeddings: int = 1
    times: npt.NDArray[np.datetime64] | None = None
    pattern: Pattern | None = None
    embeddings: tuple[tuple[str, ...], ...] = ((),)
    sites: tuple[SiteFrames, ...] = ()
    site_of: Indices | None = None
    workspace: Workspace = field(default_factory=in_memory)

    @property
    def n_rows(self) -> int:
        """Number of rows: the frames of every embedding."""
        return int(self.frames_of.sum())

    @property
    def frames_of(self) -> npt.NDArray[np.int64]:
        """Number of frames of each embedding."""
        if self.site_of is None:
            return np.full(self.n_embeddings, self.n_frames, np.int64)
        return np.array([len(site) for site in self.sites], np.int64)[self.site_of]

    @property
    def is_lifted(self) -> bool:
        """Whether rows belong to embeddings of a pattern, even if there is only one."""
        return self.pattern is not None or self.n_embeddings != 1

    @property
    def is_ordered(self) -> bool:
        """Whether frames follow each other in time; the rows of a plain table without times do not."""
        return self.times is not None or bool(self.sites) or self.is_lifted

    def is_later(self, n_frames: int) -> npt.NDArray[np.bool_]:
        """Return which of the frames of an embedding confirm what the others show: the last third.

        Of rows without an order in time a third confirms, whatever the order in which they were given.

        Args:
            n_frames: Number of frames of the embedding.
        """
        last = np.arange(n_frames) >= n_frames - n_frames // CONFIRMING
        if self.is_ordered:
            return np.asarray(last)
        later = np.zeros(n_frames, bool)
        later[self._mixed_order()[last]] = True
        return later

    def earlier(self) -> Block:
        """Return the block without the frames that confirm; of several sites, each without its own."""
        if not self.sites or self.site_of is None:
            kept = np.flatnonzero(~self.is_later(self.n_frames))
            chosen = kept if not self.is_ordered else slice(0, len(kept))
            columns = tuple(c if c.is_static else replace(c, codes=c.codes[:, chosen]) for c in self.columns)
            times = None if self.times is None else self.times[chosen]
            return replace(self, columns=columns, n_frames=len(kept), times=times)
        sites = tuple(replace(site, times=site.times[~self.is_later(len(site))]) for site in self.sites)
        stops = np.array([len(site) for site in sites], np.int64)
        n_frames = int(stops.max(initial=0))
        columns = tuple(c if c.is_static else c.until(stops[self.site_of], n_frames) for c in self.columns)
        return replace(self, columns=columns, n_frames=n_frames, sites=sites)

    def shuffled(self) -> Block:
        """Return the rows in a pseudo-random order that does not depend on the order in which they were given.

        A block whose frames follow each other in time is returned as it is.
        """
        if self.is_ordered:
            return self
        order = self._mixed_order()
        columns = tuple(c if c.is_static else replace(c, codes=c.codes[:, order]) for c in self.columns)
        return replace(self, columns=columns)

    def _mixed_order(self) -> npt.NDArray[np.int64]:
        """A pseudo-random order of the rows of a plain table that depends on what is in them only."""
        mixed = np.zeros(self.n_frames, np.uint64)
        for column in self.columns:
            mixed = (mixed ^ column.codes[column.series[0]].astype(np.uint64)) * _MIXING
            mixed ^= mixed >> np.uint64(32)
        # Rows that are alike are next to each other now; they must not stay together.
        return np.argsort(mixed, kind="stable")[np.random.default_rng(0).permutation(self.n_frames)]

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Number of the first item of each column, and the number of items; item = offsets[column] + code."""
        return np.concatenate([[0], np.cumsum([c.n_codes for c in self.columns])]).astype(np.int64)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.offsets[-1])

    @cached_property
    def column_of_item(self) -> Indices:
        """The column of each item."""
        return np.repeat(np.arange(len(self.columns), dtype=np.int32), np.diff(self.offsets))

    def item(self, number: int) -> Item:
        """Return the item with this number."""
        column = int(self.column_of_item[number])
        return self.columns[column].item(number - int(self.offsets[column]))

    @cached_property
    def minable(self) -> npt.NDArray[np.bool_]:
        """Which items a miner may use."""
        flags = [np.ones(c.n_codes, bool) if c.minable is None else np.array(c.minable, bool) for c in self.columns]
        return np.concatenate(flags) if flags else np.zeros(0, bool)

    @cached_property
    def context(self) -> npt.NDArray[np.bool_]:
        """Which items belong to context columns."""
        flags = np.array([c.context for c in self.columns], bool)
        return flags[self.column_of_item] if len(flags) else np.zeros(0, bool)

    @cached_property
    def bank(self) -> Bank:
        """The bitmaps of the block, built on first use."""
        from thence.tables.bitmaps.bank import build_bank

        columns = [(column.codes, column.series, column.n_codes) for column in self.columns]
        return build_bank(
            columns,
            n_frames=self.n_frames,
            n_embeddings=self.n_embeddings,
            site_of=self.site_of,
            site_frames=tuple(len(site) for site in self.sites),
            workspace=self.workspace,
        )

    def flat(self, embeddings: slice = slice(None)) -> Codes:
        """Write out the codes (rows × columns) of some embeddings, by default of all."""
        chosen = np.arange(self.n_embeddings)[embeddings]
        inside = np.arange(self.n_frames)[None, :] < self.frames_of[chosen][:, None]
        out = np.empty((int(inside.sum()), len(self.columns)), np.int16)
        for at, column in enumerate(self.columns):
            series = column.series[chosen] if len(column.series) > 1 else np.repeat(column.series, len(chosen))
            codes = np.broadcast_to(column.codes, (column.codes.shape[0], self.n_frames))[series]
            codes = np.where(series[:, None] < 0, np.int16(-1), codes)
            out[:, at] = codes[inside]
        return out
