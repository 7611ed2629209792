"""The mutual gate: combinations whose items imply one another.

A single item passes if the network reconstructs it. Two items pass if, each marked alone, the network reconstructs both
of them: ``sqrt(P(a|a) P(b|a) P(b|b) P(a|b))`` reaches the threshold. A larger combination passes if every pair of its
items does, so that the geometric mean over all its pairs reaches the threshold as well. Pairs are decided from the
outputs for single items, so a search among n items makes n queries before it queries any pair, and queries only pairs
that passed. This module must not look at consequents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.antecedents import PassedBatch
from thence.search.aerial.combinations import Items, Level, find_positions, join_combinations
from thence.search.aerial.query_network import UNSURE, QueryNetwork
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import product_precision

__all__ = ["find_mutual_antecedents"]

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
