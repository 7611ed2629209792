"""Enumerate combinations of items and keep those that pass Aerial's gate.

A combination passes if the network gives each of its marked items a probability of at least the threshold (lines 4 to
10 of Algorithm 1). A ``full`` search queries every combination; a ``grow`` search queries a combination only if all of
its subsets with one item less have passed. Features that may not appear together are never combined, so no query is
spent on them. This module must not look at consequents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.combinations import Items, Level, iterate_ragged, join_combinations
from thence.search.aerial.query_network import UNSURE, QueryNetwork, softmax_at
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import product_precision

__all__ = ["PassedBatch", "find_antecedents"]


@dataclass(frozen=True, eq=False)
class PassedBatch:
    """A batch of combinations that passed the gate.

    Args:
        items: Items of each combination, ascending.
        states: Last hidden activations of the network for each combination.
        weakest: The smallest probability among the marked items of each combination.
        asked: The number of combinations that were queried for this batch.
    """

    items: Items
    states: Tensor
    weakest: NDArray[np.float32]
    asked: int

    def starting_before(self, item: int) -> PassedBatch:
        """Return the combinations whose first item is smaller than ``item``."""
        keep = np.flatnonzero(self.items[:, 0] < item)
        if len(keep) == len(self.items):
            return self
        rows = torch.from_numpy(keep).to(self.states.device)
        return PassedBatch(self.items[keep], self.states[rows], self.weakest[keep], self.asked)

    def part(self, rows: slice) -> PassedBatch:
        """Return some of the combinations, as if as many had been asked as for all."""
        return PassedBatch(self.items[rows], self.states[rows], self.weakest[rows], self.asked)


def find_antecedents(
    network: QueryNetwork,
    *,
    antecedent_ok: NDArray[np.bool_],
    near: Neighbours | None,
    gate: float,
    most: int,
    search: Literal["full", "grow"],
    first: range,
    batch_bytes: int,
) -> Iterator[PassedBatch]:
    """Find all combinations that pass the gate.

    Args:
        network: The network to query.
        antecedent_ok: For each item, whether it may be in an antecedent.
        near: Which features may appear together, or ``None`` if all may.
        gate: The threshold for the marked items.
        most: The largest number of items of a combination.
        search: ``"full"`` or ``"grow"``.
        first: The range of features that the first feature of a combination must be in.
        batch_bytes: Memory for one batch of queries.

    Yields:
        Batches of combinations.
    """
    checker = _Gate(network, gate, batch_bytes)
    universe = _Universe.of(network, antecedent_ok, near)
    if search == "grow":
        yield from _grow(checker, universe, near=near, most=most, first=first)
        return
    start = universe.ranks(first)
    for size in range(1, most + 1):
        for ranks in _combinations(universe, start, size - 1):
            yield from checker.grid(universe, ranks)


@dataclass(frozen=True, eq=False)
class _Shape:
    """Features with equally many allowed items and equally many classes, and their parts of the network."""

    items: Items  # (features, allowed)
    deltas: Tensor  # (features, allowed, width)
    own: Tensor  # (features, allowed): class number of each allowed item
    exit: Tensor  # (features, classes, width)
    exit_bias: Tensor  # (features, classes, 1)

    @staticmethod
    def of(network: QueryNetwork, features: NDArray[np.int64], antecedent_ok: NDArray[np.bool_]) -> _Shape:
        layout = network.layout
        blocks = layout.offsets[features][:, None] + np.arange(layout.cardinalities[features[0]])
        items = blocks[antecedent_ok[blocks]].reshape(len(features), -1)
        marked = torch.from_numpy(items).to(network.device)
        outputs = torch.from_numpy(blocks).to(network.device)
        return _Shape(
            items,
            network.deltas[marked],
            marked - outputs[:, :1],
            network.exit[outputs],
            network.exit_bias[outputs].unsqueeze(-1),
        )

    def part(self, chosen: slice) -> _Shape:
        """The same features with a part of their allowed items."""
        return replace(self, items=self.items[:, chosen], deltas=self.deltas[:, chosen], own=self.own[:, chosen])


def _pieces(shapes: list[_Shape], most: int) -> Iterator[list[_Shape]]:
    """Split the choices of items for a combination of features into pieces of at most ``most`` choices, in order.

    Only features with very many classes, or long combinations, have more choices than fit into one batch.
    """
    allowed = [shape.items.shape[1] for shape in shapes]
    queries = int(np.prod(allowed))
    if queries <= most or queries == 1:
        yield shapes
        return
    slot = next(slot for slot, count in enumerate(allowed) if count > 1)
    step = max(1, most // (queries // allowed[slot]))
    for low in range(0, allowed[slot], step):
        piece = shapes[slot].part(slice(low, low + step))
        yield from _pieces([*shapes[:slot], piece, *shapes[slot + 1 :]], most)


@dataclass(frozen=True, eq=False)
class _Universe:
    """The features that have an item to mark, ascending, and which of them may appear together.

    The rank of a feature is its position in this list.
    """

    features: NDArray[np.int64]
    shapes: tuple[_Shape, ...]
    shape_of: NDArray[np.int64]  # by rank
    place_of: NDArray[np.int64]  # by rank: position within its shape
    near: Neighbours | None  # between ranks

    @staticmethod
    def of(network: QueryNetwork, antecedent_ok: NDArray[np.bool_], near: Neighbours | None) -> _Universe:
        layout = network.layout
        counts = np.bincount(layout.feature_of_item[antecedent_ok], minlength=layout.n_features)
        features = np.flatnonzero(counts)
        keys = counts[features] * (layout.cardinalities.max(initial=0) + 1) + layout.cardinalities[features]
        _, shape_of = np.unique(keys, return_inverse=True)
        place_of = np.zeros(len(features), np.int64)
        shapes = []
        for shape in range(int(shape_of.max(initial=-1)) + 1):
            members = np.flatnonzero(shape_of == shape)
            place_of[members] = np.arange(len(members))
            shapes.append(_Shape.of(network, features[members], antecedent_ok))
        chosen = None if near is None else near.restricted_to(features)
        return _Universe(features, tuple(shapes), shape_of.astype(np.int64), place_of, chosen)

    def ranks(self, features: range) -> NDArray[np.int64]:
        """Return the ranks of the features in a range, as combinations of one feature."""
        low, high = np.searchsorted(self.features, [features.start, features.stop])
        return np.arange(low, high, dtype=np.int64)[:, None]

    def later(self, ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for each rank, how many later ranks may appear beside it, and where the list of them begins."""
        if self.near is None:
            return len(self.features) - 1 - ranks, ranks + 1
        begin = self.near.first_later[ranks]
        return self.near.starts[ranks + 1] - begin, begin


def _combinations(universe: _Universe, prefixes: NDArray[np.int64], more: int) -> Iterator[NDArray[np.int64]]:
    """Extend combinations of ranks by ``more`` later ranks, in lexicographic order, a bounded number at a time."""
    if more == 0:
        if len(prefixes):
            yield prefixes
        return
    counts, begin = universe.later(prefixes[:, -1])
    for rows, steps in iterate_ragged(counts):
        listed = begin[rows] + steps
        if universe.near is not None:
            listed = universe.near.members[listed]
            # The last rank is a neighbour by construction; the earlier ones have to be looked up.
            fits = np.ones(len(rows), np.bool_)
            for slot in range(prefixes.shape[1] - 1):
                fits &= universe.near.together(prefixes[rows, slot], listed)
            rows, listed = rows[fits], listed[fits]
        extended = np.concatenate([prefixes[rows], listed[:, None]], axis=1)
        yield from _combinations(universe, extended, more - 1)


@dataclass(frozen=True, eq=False)
class _Gate:
    """Queries the network and keeps the combinations that pass the gate."""

    network: QueryNetwork
    gate: float
    batch_bytes: int

    @property
    def batch(self) -> int:
        """The number of queries per batch: two adjacent layers are in memory at once."""
        return max(1, self.batch_bytes // (8 * self.network.widest))

    def grid(self, universe: _Universe, ranks: NDArray[np.int64]) -> Iterator[PassedBatch]:
        """Query all choices of items for combinations of features, many at once if their shapes are equal."""
        base = len(universe.shapes)
        kinds = universe.shape_of[ranks] @ (base ** np.arange(ranks.shape[1])[::-1])
        for kind in np.unique(kinds):
            part = ranks[kinds == kind]
            shapes = [universe.shapes[shape] for shape in universe.shape_of[part[0]]]
            queries = int(np.prod([shape.items.shape[1] for shape in shapes]))
            step = max(1, self.batch // queries)
            for low in range(0, len(part), step):
                for piece in _pieces(shapes, self.batch):
                    yield self._block(universe.place_of[part[low : low + step]], piece)

    def _block(self, places: NDArray[np.int64], shapes: list[_Shape]) -> PassedBatch:
        """Query every choice of items for combinations of features with the same shapes."""
        with product_precision("highest"):
            count = len(places)
            picks = [torch.from_numpy(column).to(self.network.device) for column in places.T.copy()]
            first = self.network.origin + shapes[0].deltas[picks[0]]
            for shape, pick in zip(shapes[1:], picks[1:], strict=True):
                first = (first.unsqueeze(2) + shape.deltas[pick].unsqueeze(1)).flatten(1, 2)
            queries = first.shape[1]
            states = self.network.through(first.view(count * queries, -1))
            grid = states.view(count, queries, -1)
            weakest = torch.ones(count, queries, device=self.network.device)
            inner = queries
            for shape, pick in zip(shapes, picks, strict=True):
                allowed = shape.items.shape[1]
                inner //= allowed
                # Few classes times many queries: in this order the product is five times as fast.
                logits = torch.baddbmm(shape.exit_bias[pick], shape.exit[pick], grid.transpose(1, 2))
                own = shape.own[pick].repeat_interleave(inner, dim=1)
                own = own.repeat(1, queries // own.shape[1])
                weakest = torch.minimum(weakest, softmax_at(logits, own, dim=1))
            near = torch.nonzero(weakest.view(-1) >= self.gate - UNSURE).squeeze(1)
            rows = near.cpu().numpy()
            items = _items_of(places, shapes, rows // queries, rows % queries)
            return self._decide(items, states[near], weakest.view(-1)[near], count * queries)

    def listed(self, items: Items) -> Iterator[PassedBatch]:
        """Query a list of combinations of items."""
        for low in range(0, len(items), self.batch):
            part = items[low : low + self.batch]
            with product_precision("highest"):
                states, weakest = _weakest(self.network, part)
                near = torch.nonzero(weakest >= self.gate - UNSURE).squeeze(1)
                yield self._decide(part[near.cpu().numpy()], states[near], weakest[near], len(part))

    def _decide(self, items: Items, states: Tensor, weakest: Tensor, asked: int) -> PassedBatch:
        """Keep the combinations that pass; values close to the gate are computed again in double precision."""
        values = weakest.cpu().numpy()
        keep = values >= self.gate
        close = np.flatnonzero((np.abs(values - self.gate) <= UNSURE) & (self.gate > 0))
        for low in range(0, len(close), self.batch):
            part = close[low : low + self.batch]
            _, exact = _weakest(self.network.exact, items[part])
            keep[part] = (exact >= self.gate).cpu().numpy()
        chosen = np.flatnonzero(keep)
        return PassedBatch(items[chosen], states[torch.from_numpy(chosen).to(states.device)], values[chosen], asked)


def _weakest(network: QueryNetwork, items: Items) -> tuple[Tensor, Tensor]:
    """Return the last hidden activations of queries, and the smallest probability among their marked items."""
    states = network.states(items)
    weakest = torch.ones(len(items), dtype=states.dtype, device=network.device)
    for slot in range(items.shape[1]):
        weakest = torch.minimum(weakest, network.marked_probability(states, items[:, slot]))
    return states, weakest


def _items_of(
    places: NDArray[np.int64], shapes: list[_Shape], rows: NDArray[np.int64], choice: NDArray[np.int64]
) -> Items:
    """Return the items of queries given by number: the item of the last feature runs fastest."""
    items = np.empty((len(rows), len(shapes)), dtype=np.int64)
    for slot in range(len(shapes) - 1, -1, -1):
        choice, pick = np.divmod(choice, shapes[slot].items.shape[1])
        items[:, slot] = shapes[slot].items[places[rows, slot], pick]
    return items


def _grow(
    checker: _Gate, universe: _Universe, *, near: Neighbours | None, most: int, first: range
) -> Iterator[PassedBatch]:
    """Search level by level, each level built on the combinations that passed before.

    If ``first`` does not cover all features, the search also queries the smaller combinations of later features that
    its own combinations are built from; it yields only its own.
    """
    network, layout = checker.network, checker.network.layout
    onwards = range(first.start, layout.n_features)
    end = int(layout.offsets[min(first.stop, layout.n_features)])
    levels: list[Level] = []
    for size in range(1, most + 1):
        span = first if size == most else onwards
        if size == 1:
            singles = universe.ranks(onwards)
            answers = checker.grid(universe, singles) if len(singles) else iter(())
        elif size == 2:
            reached = np.zeros(layout.n_items, np.bool_)
            reached[levels[0].items[:, 0]] = True
            narrowed = _Universe.of(network, reached, near)
            pairs = _combinations(narrowed, narrowed.ranks(span), 1)
            answers = (answer for ranks in pairs for answer in checker.grid(narrowed, ranks))
        else:
            joined = join_combinations(levels, near, layout.feature_of_item, end if size == most else layout.n_items)
            answers = (answer for items in joined for answer in checker.listed(items))
        found = []
        for answer in answers:
            if size < most:
                found.append(answer.items)
            yield answer.starting_before(end)
        survivors = np.concatenate(found) if found else np.empty((0, size), np.int64)
        if not len(survivors):
            return
        levels.append(Level.of(survivors, levels, layout.n_items))
