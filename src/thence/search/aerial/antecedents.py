"""Enumerate combinations of items and keep those that pass Aerial's gate.

A combination passes if the network gives each of its marked items a probability of at least the threshold (lines 4 to
10 of Algorithm 1). A ``full`` search queries every combination; a ``grow`` search queries a combination only if all of
its subsets with one item less have passed; a ``mutual`` search only if its items imply one another in pairs. Features
that may not appear together are never combined, so no query is spent on them. This module must not look at consequents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.autoencoder import UNSURE, QueryNetwork, softmax_at
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import product_precision

Items = NDArray[np.int64]
"""One combination per row, its items ascending."""

COMBINATIONS = 1 << 20
"""Combinations listed at a time."""


def iterate_ragged(counts: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each row number ``counts`` times, with the running number within the row, in bounded pieces."""
    totals = np.cumsum(counts)
    low = 0
    while low < len(counts):
        done = int(totals[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(totals, done + COMBINATIONS, side="right")))
        part = counts[low:high]
        rows = np.repeat(np.arange(low, high), part)
        if len(rows):
            yield rows, np.arange(len(rows)) - np.repeat(totals[low:high] - part - done, part)
        low = high


@dataclass(frozen=True, eq=False)
class Level:
    """Combinations of one size that passed, in lexicographic order.

    The key of a combination is made of the number of its prefix and its last item.
    """

    items: Items
    prefix: NDArray[np.int64]
    keys: NDArray[np.int64]

    @staticmethod
    def of(items: Items, lower: list[Level], n_items: int) -> Level:
        """Sort combinations, given the levels below (``lower``) and the number of items in the network."""
        items = items[np.lexsort(items.T[::-1])]
        prefix = find_positions(items[:, :-1], lower, n_items)
        return Level(items, prefix, prefix * n_items + items[:, -1])


def find_positions(items: Items, levels: list[Level], n_items: int) -> NDArray[np.int64]:
    """Find the position of each combination among those of its size that passed, or −1; the empty one has 0."""
    number = np.zeros(len(items), np.int64)
    for slot in range(items.shape[1]):
        keys = levels[slot].keys
        asked = number * n_items + items[:, slot]
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        number = np.where((number >= 0) & (keys[place] == asked), place, -1)
    return number


def join_combinations(
    levels: list[Level], near: Neighbours | None, feature_of_item: NDArray[np.int64], end: int
) -> Iterator[Items]:
    """Join combinations of the highest level into combinations with one more item, all of whose subsets passed.

    Args:
        levels: The combinations that passed, by size.
        near: Which features may appear together, or ``None`` if all may.
        feature_of_item: The feature of each item.
        end: Only combinations whose first item is smaller than this are made.
    """
    level, n_items = levels[-1], len(feature_of_item)
    base = level.items[: int(np.searchsorted(level.items[:, 0], end))]
    stop = np.searchsorted(level.prefix, level.prefix[: len(base)], side="right")
    for rows, steps in iterate_ragged(stop - np.arange(len(base)) - 1):
        added = level.items[rows + 1 + steps, -1]
        left, right = feature_of_item[base[rows, -1]], feature_of_item[added]
        fits = left != right
        if near is not None:
            fits &= near.together(left, right)
        items = np.concatenate([base[rows[fits]], added[fits, None]], axis=1)
        # Leaving out one of the last two items gives the two combinations that were joined.
        for slot in range(items.shape[1] - 2):
            items = items[find_positions(np.delete(items, slot, axis=1), levels, n_items) >= 0]
        if len(items):
            yield items


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


Means = NDArray[np.float32]

TILE = {"cpu": (256, 2048), "cuda": (4096, 16384)}
"""Pairs are compared in tiles of this many first items × this many other items: a graphics processor starts few and
large pieces of work. Among neighbours tiles are small everywhere, so that most of them need not be compared."""


def find_mutual_antecedents(
    network: QueryNetwork,
    *,
    antecedent_ok: NDArray[np.bool_],
    near: Neighbours | None,
    gate: float,
    most: int,
    first: range,
    batch_bytes: int,
    weights: NDArray[np.float64],
) -> Iterator[PassedBatch]:
    """Find all combinations that pass the mutual gate.

    Args:
        network: The network to query.
        antecedent_ok: For each item, whether it may be in an antecedent.
        near: Which features may appear together, or ``None`` if all may.
        gate: The threshold.
        most: The largest number of items of a combination.
        first: The range of features that the first feature of a combination must be in.
        batch_bytes: Memory for one batch of queries.
        weights: How many combinations begin with each feature. This many are reported as asked once all pairs that
            begin with the feature are decided, although most of them are never put to the network.

    Yields:
        Batches of combinations.
    """
    layout = network.layout
    end = int(layout.offsets[min(first.stop, layout.n_features)])
    batch = max(1, batch_bytes // (8 * network.widest))
    allowed = np.flatnonzero(antecedent_ok & (layout.feature_of_item >= first.start))
    with product_precision("highest"):
        pair_gate = _PairGate.of(network, allowed, gate, batch)
    singles, mine = pair_gate.items[:, None], pair_gate.items < end
    done = int(weights[first.start : first.stop].sum()) if most == 1 else 0
    yield from _asked(network, singles[mine], pair_gate.own.exp().cpu().numpy()[mine], batch, done)
    if most == 1 or not len(singles):
        return
    kept, means, reached = [np.empty((0, 2), np.int64)], [np.empty(0, np.float32)], first.start
    tile = TILE["cpu" if near is not None else network.device.type]
    for features in _ranges(layout.feature_of_item[pair_gate.items], tile[0]):
        if most == 2 and features.start >= first.stop:
            break
        with product_precision("highest"):
            pairs, mean = pair_gate.pairs(features, near, tile[1])
        if most > 2:
            kept.append(pairs)
            means.append(mean)
        if end < layout.n_items:
            mine = pairs[:, 0] < end
            pairs, mean = pairs[mine], mean[mine]
        done = int(weights[reached : min(features.stop, first.stop)].sum())
        yield from _asked(network, pairs, mean, batch, done)
        reached = features.stop
    levels = [Level.of(singles, [], layout.n_items)]
    survivors, mean = np.concatenate(kept), np.concatenate(means)
    for size in range(3, most + 1):
        if not len(survivors):
            return
        levels.append(Level.of(survivors, levels, layout.n_items))
        found = [np.empty((0, size), np.int64)]
        # Combinations that begin later are only needed to build larger ones.
        for items in join_combinations(levels, near, layout.feature_of_item, end if size == most else layout.n_items):
            found.append(items)
            mine = items[:, 0] < end
            yield from _asked(network, items[mine], _least(items[mine], levels, mean, layout.n_items), batch, 0)
        survivors = np.concatenate(found)


@dataclass(frozen=True, eq=False)
class _PairGate:
    """Decides pairs of items from the network's outputs for single items.

    It holds the items that passed alone, in order, and their states.
    """

    network: QueryNetwork
    gate: float
    batch: int
    items: Items
    states: Tensor
    own: Tensor  # logarithm of the probability with which each item is reconstructed

    @staticmethod
    def of(network: QueryNetwork, allowed: Items, gate: float, batch: int) -> _PairGate:
        states, own = [network.origin.new_empty((0, network.exit.shape[1]))], [network.origin.new_empty(0)]
        for low in range(0, len(allowed), batch):
            part = allowed[low : low + batch]
            states.append(network.states(part[:, None]))
            own.append(network.marked_probability(states[-1], part))
        share = torch.cat(own)
        values = share.cpu().numpy()
        keep = values >= gate
        close = np.flatnonzero((np.abs(values - gate) <= UNSURE) & (gate > 0))
        if len(close):
            exact = network.exact
            keep[close] = (exact.marked_probability(exact.states(allowed[close, None]), allowed[close]) >= gate).cpu()
        rows = torch.from_numpy(np.flatnonzero(keep)).to(network.device)
        return _PairGate(network, gate, batch, allowed[keep], torch.cat(states)[rows], share[rows].log())

    def pairs(self, features: range, near: Neighbours | None, width: int) -> tuple[Items, Means]:
        """Return the pairs that pass and begin in a range of features, in lexicographic order, and their means.

        They are compared with at most ``width`` other items at a time.
        """
        device, count = self.network.device, len(self.items)
        owner = self.network.layout.feature_of_item[self.items]
        owned = torch.from_numpy(owner).to(device)
        here = _span(owner, features)
        found, means = [owned.new_empty(0)], [self.own.new_empty(0)]
        for others in _ranges(owner[here.start :], width):
            there = _span(owner, others)
            if near is not None and not _any_near(near, features, others):
                continue
            mean = (self._says(here, there) + self._says(there, here).T).mul_(0.5).exp_()
            row, column = torch.nonzero(mean >= self.gate - UNSURE, as_tuple=True)
            left, right = here.start + row, there.start + column
            fits = owned[left] < owned[right]
            if near is not None:
                together = near.together(owner[left.cpu().numpy()], owner[right.cpu().numpy()])
                fits &= torch.from_numpy(together).to(device)
            found.append((left * count + right)[fits])
            means.append(mean[row[fits], column[fits]])
        keys, order = torch.cat(found).sort()
        numbers = torch.from_numpy(self.items).to(device)
        items = torch.stack([numbers[keys // max(count, 1)], numbers[keys % max(count, 1)]], dim=1)
        values = torch.cat(means)[order]
        keep = self._decided(items, values)
        return items[keep].cpu().numpy(), values[keep].cpu().numpy()

    def _says(self, marked: range, asked: range) -> Tensor:
        """Return the logarithm of ``P(a|a) P(b|a)`` for every marked item ``a`` and every other item ``b``."""
        layout, device = self.network.layout, self.network.device
        states, wanted = self.states[marked.start : marked.stop], self.items[asked.start : asked.stop]
        answer = states.new_empty((len(states), len(wanted)))
        owner = layout.feature_of_item[wanted]
        counts = layout.cardinalities[owner]
        for classes in np.flatnonzero(np.bincount(counts)):
            columns = np.flatnonzero(counts == classes)
            first = np.diff(owner[columns], prepend=-1) > 0  # of a feature: items are in order
            members, place = owner[columns[first]], np.cumsum(first) - 1
            # Ordered class by class: a softmax over a short last axis takes far longer.
            outputs = torch.from_numpy((layout.offsets[members] + np.arange(classes)[:, None]).reshape(-1)).to(device)
            logits = torch.addmm(self.network.exit_bias[outputs], states, self.network.exit[outputs].T)
            shares = logits.view(len(states), int(classes), len(members)).log_softmax(dim=1).flatten(1)
            cells = (wanted[columns] - layout.offsets[owner[columns]]) * len(members) + place
            answer[:, torch.from_numpy(columns).to(device)] = shares[:, torch.from_numpy(cells).to(device)]
        return answer + self.own[marked.start : marked.stop, None]

    def _decided(self, items: Tensor, values: Tensor) -> Tensor:
        """Return which pairs pass; values close to the gate are computed again in double precision."""
        keep = values >= self.gate
        if not self.gate > 0:
            return keep
        close = torch.nonzero((values - self.gate).abs() <= UNSURE).squeeze(1)
        exact = self.network.exact
        for low in range(0, len(close), self.batch):
            part = close[low : low + self.batch]
            pairs = items[part].cpu().numpy()
            product = torch.ones(len(part), dtype=torch.float64, device=exact.device)
            for marked, other in ((0, 1), (1, 0)):
                states = exact.states(pairs[:, marked, None])
                product *= exact.marked_probability(states, pairs[:, marked])
                product *= exact.marked_probability(states, pairs[:, other])
            keep[part] = product.sqrt_() >= self.gate
        return keep


def _asked(network: QueryNetwork, items: Items, values: Means, batch: int, asked: int) -> Iterator[PassedBatch]:
    """Compute the states of combinations that passed, a bounded number at a time; yield at least one batch."""
    for low in range(0, max(len(items), 1), batch):
        part = items[low : low + batch]
        with product_precision("highest"):
            states = network.states(part)
        yield PassedBatch(part, states, values[low : low + batch], asked if low == 0 else 0)


def _least(items: Items, levels: list[Level], means: Means, n_items: int) -> Means:
    """Return the smallest mean among the pairs of each combination."""
    least = np.ones(len(items), np.float32)
    for left in range(items.shape[1]):
        for right in range(left + 1, items.shape[1]):
            least = np.minimum(least, means[find_positions(items[:, [left, right]], levels[:2], n_items)])
    return least


def _ranges(owner: NDArray[np.int64], most: int) -> Iterator[range]:
    """Yield ranges of features with at most ``most`` items each (or one feature), given the feature of each item."""
    features, counts = np.unique(owner, return_counts=True)
    totals, low = np.cumsum(counts), 0
    while low < len(features):
        done = int(totals[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(totals, done + most, side="right")))
        yield range(int(features[low]), int(features[high - 1]) + 1)
        low = high


def _span(owner: NDArray[np.int64], features: range) -> range:
    """Return the positions of the items of a range of features."""
    low, high = np.searchsorted(owner, [features.start, features.stop])
    return range(int(low), int(high))


def _any_near(near: Neighbours, left: range, right: range) -> bool:
    members = near.members[near.starts[left.start] : near.starts[left.stop]]
    return bool(((members >= right.start) & (members < right.stop)).any())
