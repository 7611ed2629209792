"""Enumerate combinations of items and keep those that pass Aerial's gate.

A combination passes when the network gives every one of its marked items at least the threshold (lines 4 to 10 of
Algorithm 1). ``full`` asks every combination; ``grow`` asks a combination only when each of its parts that is one
item smaller has passed. Features that may not stand together are never combined, so no query is spent on them.
This module must not look at consequents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.miners.aerial.frame import UNSURE, Frame, share_of
from thence.miners.aerial.neighbours import Neighbours

__all__ = ["Passed", "Universe", "passed"]

Items = NDArray[np.int64]

COMBINATIONS = 1 << 20
"""Feature combinations listed at a time."""


@dataclass(frozen=True, eq=False)
class Passed:
    """Combinations that passed the gate, in the order they were asked: items (ascending by rank of their feature),
    last hidden activation, and the smallest probability among the marked items."""

    items: Items
    states: Tensor
    weakest: NDArray[np.float32]
    asked: int


@dataclass(frozen=True, eq=False)
class Shape:
    """Features with equally many allowed items and equally many classes, and their slices of the network."""

    items: Items  # (features, allowed)
    deltas: Tensor  # (features, allowed, width)
    own: Tensor  # (features, allowed): class number of each allowed item
    exit: Tensor  # (features, width, classes)
    exit_bias: Tensor  # (features, 1, classes)


@dataclass(frozen=True, eq=False)
class Universe:
    """The items that may be marked, feature by feature; ``rank`` orders features so that equal shapes are neighbours.

    ``rank`` only fixes the order of the search and how it is cut into parts; it does not change what is found.
    """

    frame: Frame
    features: NDArray[np.int64]  # by rank
    allowed: NDArray[np.int64]  # number of allowed items by rank
    shapes: tuple[Shape, ...]
    shape_of: NDArray[np.int64]  # by rank
    place_of: NDArray[np.int64]  # by rank: position within its shape
    near: Neighbours | None  # by rank

    @staticmethod
    def of(frame: Frame, antecedent_ok: NDArray[np.bool_], near: Neighbours | None) -> Universe:
        """Features with at least one allowed item, ordered by shape and then by number."""
        layout = frame.model.layout
        counts = np.bincount(layout.feature_of_item[antecedent_ok], minlength=layout.n_features)
        features = np.flatnonzero(counts)
        classes = layout.cardinalities[features]
        features = features[np.lexsort((features, classes, counts[features]))]
        shape_keys = np.stack([counts[features], layout.cardinalities[features]], axis=1)
        _, starts = np.unique(shape_keys, axis=0, return_index=True)
        shape_of = np.searchsorted(starts, np.arange(len(features)), side="right") - 1
        bounds = [*starts.tolist(), len(features)]
        shapes = tuple(
            _shape(frame, features[low:high], antecedent_ok)
            for low, high in zip(bounds, bounds[1:], strict=False)
        )
        place_of = np.arange(len(features)) - np.asarray(bounds)[shape_of] if len(features) else shape_of
        return Universe(
            frame,
            features,
            counts[features].astype(np.int64),
            shapes,
            shape_of.astype(np.int64),
            place_of.astype(np.int64),
            None if near is None else _by_rank(near, features),
        )

    @property
    def size(self) -> int:
        """Number of features that may be marked."""
        return len(self.features)

    @cached_property
    def rank_of_feature(self) -> NDArray[np.int64]:
        ranks = np.full(self.frame.model.layout.n_features, -1, dtype=np.int64)
        ranks[self.features] = np.arange(self.size)
        return ranks

    def later(self, last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each rank, how many later ranks may stand beside it, and where the first of them is listed."""
        if self.near is None:
            return self.size - 1 - last, last + 1
        return self.near.starts[last + 1] - self._first_later[last], self._first_later[last]

    @cached_property
    def _first_later(self) -> NDArray[np.int64]:
        assert self.near is not None
        ends, members = self.near.pairs()
        earlier = np.bincount(ends[members < ends], minlength=self.size)
        return self.near.starts[:-1] + earlier


def _shape(frame: Frame, features: NDArray[np.int64], antecedent_ok: NDArray[np.bool_]) -> Shape:
    layout, model = frame.model.layout, frame.model
    classes = int(layout.cardinalities[features[0]])
    blocks = layout.offsets[features][:, None] + np.arange(classes)
    items = blocks[antecedent_ok[blocks]].reshape(len(features), -1)
    marked = torch.from_numpy(items).to(frame.device)
    outputs = torch.from_numpy(blocks).to(frame.device)
    return Shape(
        items,
        frame.deltas[marked],
        marked - outputs[:, :1],
        model.exit[outputs].transpose(1, 2).contiguous(),
        model.exit_bias[outputs].unsqueeze(1),
    )


def _by_rank(near: Neighbours, features: NDArray[np.int64]) -> Neighbours:
    ranks = np.full(near.n_features, -1, dtype=np.int64)
    ranks[features] = np.arange(len(features))
    left, right = (ranks[end] for end in near.pairs())
    both = (left >= 0) & (right >= 0)
    keys = np.sort(left[both] * len(features) + right[both])
    ends = keys // max(len(features), 1)
    starts = np.searchsorted(ends, np.arange(len(features) + 1)).astype(np.int64)
    return Neighbours(starts, keys - ends * len(features))


def passed(
    frame: Frame,
    *,
    antecedent_ok: NDArray[np.bool_],
    near: Neighbours | None,
    gate: float,
    most: int,
    search: Literal["full", "grow"],
    first: range | None,
    batch_bytes: int,
) -> Iterator[Passed]:
    """All combinations of one to ``most`` items that pass, whose first feature has its rank in ``first``."""
    universe = Universe.of(frame, antecedent_ok, near)
    ranks = range(universe.size) if first is None else first
    if search == "grow":
        yield from _grow(universe, gate=gate, most=most, ranks=ranks, batch_bytes=batch_bytes)
        return
    for size in range(1, most + 1):
        start = np.arange(ranks.start, ranks.stop, dtype=np.int64)[:, None]
        for combinations in _combinations(universe, start, size - 1):
            yield from _ask_grid(universe, combinations, gate=gate, batch_bytes=batch_bytes)


def _combinations(
    universe: Universe, prefixes: NDArray[np.int64], more: int
) -> Iterator[NDArray[np.int64]]:
    """Extend combinations of ranks by ``more`` later ranks, in lexicographic order, a bounded number at a time."""
    if more == 0:
        if len(prefixes):
            yield prefixes
        return
    counts, starts = universe.later(prefixes[:, -1])
    totals = np.cumsum(counts)
    low = 0
    while low < len(prefixes):
        done = totals[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(totals, done + COMBINATIONS, side="right")))
        rows = np.repeat(np.arange(low, high), counts[low:high])
        steps = np.arange(len(rows)) - np.repeat(totals[low:high] - counts[low:high] - done, counts[low:high])
        listed = starts[rows] + steps
        added = listed if universe.near is None else universe.near.members[listed]
        if universe.near is not None:
            # The last rank is a neighbour by construction; the earlier ones have to be looked up.
            fits = np.ones(len(rows), np.bool_)
            for slot in range(prefixes.shape[1] - 1):
                fits &= universe.near.together(prefixes[rows, slot], added)
            rows, added = rows[fits], added[fits]
        extended = np.concatenate([prefixes[rows], added[:, None]], axis=1)
        yield from _combinations(universe, extended, more - 1)
        low = high


def _ask_grid(
    universe: Universe, combinations: NDArray[np.int64], *, gate: float, batch_bytes: int
) -> Iterator[Passed]:
    """Ask all items of combinations of features, many combinations at once where their shapes agree."""
    shapes = universe.shape_of[combinations]
    change = np.flatnonzero((np.diff(shapes, axis=0) != 0).any(axis=1)) + 1
    for part in np.split(combinations, change):
        kinds = [universe.shapes[shape] for shape in universe.shape_of[part[0]]]
        queries = int(np.prod([kind.items.shape[1] for kind in kinds]))
        step = max(1, _batch_rows(universe.frame, batch_bytes) // queries)
        for low in range(0, len(part), step):
            yield _ask_block(universe, part[low : low + step], kinds, gate=gate)


def _batch_rows(frame: Frame, batch_bytes: int) -> int:
    """Queries that fit: two neighbouring layers live at once, and the gate's logits come on top."""
    widths = (*frame.model.widths, int(frame.model.layout.cardinalities.max(initial=1)))
    return max(1, batch_bytes // (4 * 2 * max(widths)))


def _ask_block(
    universe: Universe, combinations: NDArray[np.int64], kinds: list[Shape], *, gate: float
) -> Passed:
    """Ask every choice of items for combinations of features with the same shapes."""
    frame, model = universe.frame, universe.frame.model
    count = len(combinations)
    places = [torch.from_numpy(universe.place_of[column]).to(frame.device) for column in combinations.T]
    first = frame.origin + kinds[0].deltas[places[0]]
    for kind, place in zip(kinds[1:], places[1:], strict=True):
        first = (first.unsqueeze(2) + kind.deltas[place].unsqueeze(1)).flatten(1, 2)
    queries = first.shape[1]
    states = model.through(first.view(count * queries, -1)).view(count, queries, -1)
    weakest: Tensor | None = None
    inner = queries
    for kind, place in zip(kinds, places, strict=True):
        allowed = kind.items.shape[1]
        inner //= allowed
        logits = torch.baddbmm(kind.exit_bias[place], states, kind.exit[place])
        own = kind.own[place].repeat_interleave(inner, dim=1).repeat(1, queries // (allowed * inner))
        probability = share_of(logits, own)
        weakest = probability if weakest is None else torch.minimum(weakest, probability)
    assert weakest is not None
    rows, choice = torch.nonzero(weakest >= gate - UNSURE, as_tuple=True)
    weak = weakest[rows, choice]
    items = _items_of(universe, combinations, kinds, rows.cpu().numpy(), choice.cpu().numpy())
    kept = _sure(frame, items, weak, gate)
    keep = torch.from_numpy(kept).to(frame.device)
    return Passed(items[kept], states[rows[keep], choice[keep]], weak[keep].cpu().numpy(), count * queries)


def _items_of(
    universe: Universe,
    combinations: NDArray[np.int64],
    kinds: list[Shape],
    rows: NDArray[np.int64],
    choice: NDArray[np.int64],
) -> Items:
    """The items behind query numbers: the last feature's item runs fastest."""
    items = np.empty((len(rows), len(kinds)), dtype=np.int64)
    for slot in range(len(kinds) - 1, -1, -1):
        allowed = kinds[slot].items.shape[1]
        items[:, slot] = kinds[slot].items[universe.place_of[combinations[rows, slot]], choice % allowed]
        choice = choice // allowed
    return items


def _sure(frame: Frame, items: Items, weakest: Tensor, gate: float) -> NDArray[np.int64]:
    """Positions of the combinations that pass, with close calls decided in double precision."""
    values = weakest.cpu().numpy()
    keep = values >= gate
    close = np.flatnonzero(np.abs(values - gate) <= UNSURE)
    if len(close) and frame.exact is not None:
        states = frame.exact.states(items[close])
        passes = torch.ones(len(close), dtype=torch.bool, device=frame.device)
        for slot in range(items.shape[1]):
            passes &= frame.exact.marked_probability(states, items[close, slot]) >= gate
        keep[close] = passes.cpu().numpy()
    return np.flatnonzero(keep)


def _grow(
    universe: Universe, *, gate: float, most: int, ranks: range, batch_bytes: int
) -> Iterator[Passed]:
    """Level by level; a part of a search also asks the smaller combinations of later features that it builds on."""
    everything = np.arange(ranks.start, universe.size, dtype=np.int64)[:, None]
    survivors = np.empty((0, 1), np.int64)
    found: list[Items] = []
    for answer in _ask_grid(universe, everything, gate=gate, batch_bytes=batch_bytes) if len(everything) else ():
        found.append(answer.items)
        yield _starting_in(universe, answer, ranks)
    survivors = np.concatenate(found) if found else survivors
    if most == 1 or not len(survivors):
        return
    reached = np.zeros(universe.frame.model.layout.n_items, np.bool_)
    reached[survivors[:, 0]] = True
    narrowed = _narrowed(universe, reached)
    levels = [_Level.of(narrowed, survivors, None)]
    for size in range(2, most + 1):
        stop = ranks.stop if size == most else universe.size
        last_feature = universe.features[stop - 1] if stop else -1
        found = []
        if size == 2:
            answers = _pairs(narrowed, universe, stop, gate=gate, batch_bytes=batch_bytes)
        else:
            answers = _joined(narrowed, levels, universe, stop, gate=gate, batch_bytes=batch_bytes)
        for answer in answers:
            found.append(answer.items)
            yield _starting_in(universe, answer, ranks)
        if not found or size == most:
            return
        levels.append(_Level.of(narrowed, np.concatenate(found), levels[-1]))
