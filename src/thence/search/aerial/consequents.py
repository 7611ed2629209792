"""Find consequents: the items of other features above the threshold (lines 11 to 13 of Algorithm 1).

Only combinations that passed the gate come here, and only the output rows of features that may be a consequent are
computed: all of them, or the neighbours of the combination. On the CPU a compiled loop looks for likely classes. A
search that keeps only the most probable rules looks at a sketch of the outputs first, on a graphics processor at the
outputs in half precision. This module must not enumerate combinations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.antecedents import PassedBatch
from thence.search.aerial.first_look import FirstLook
from thence.search.aerial.query_network import UNSURE, QueryNetwork
from thence.search.aerial.sketch import LEAST_STATES, Sketch
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import one_thread, product_precision

__all__ = ["ConsequentSearch", "Consequents"]

Numbers = NDArray[np.int64]

SHARED_CELLS = 1 << 20
"""From this many outputs on, the work is spread over threads."""

LOOKED_CELLS = 4096
"""Blocks of fewer outputs gain nothing from a first look in half precision."""

LOOK_BYTES = 2
"""Memory for each feature of each combination during a first look, with what is left of it afterwards."""

FLOAT_STEP = 2.0**-22
"""More than the rounding of a probability to single precision."""


@dataclass(frozen=True, eq=False)
class Consequents:
    """Pairs of a combination and its consequent.

    Args:
        rows: The row of the combination in its batch.
        items: The item that is implied.
        probability: The network's probability of that item.
    """

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    probability: NDArray[np.float32]

    @staticmethod
    def concat(parts: list[Consequents]) -> Consequents:
        """Concatenate pairs, ordered by combination and then by item."""
        rows = np.concatenate([part.rows for part in parts] or [np.empty(0, np.int64)])
        items = np.concatenate([part.items for part in parts] or [np.empty(0, np.int64)])
        probability = np.concatenate([part.probability for part in parts] or [np.empty(0, np.float32)])
        # One key sorts faster than two, and most of the time the pairs are in order already.
        keys = rows * (int(items.max(initial=0)) + 1) + items
        if (keys[1:] > keys[:-1]).all():
            return Consequents(rows, items, probability)
        order = np.argsort(keys, kind="stable")
        return Consequents(rows[order], items[order], probability[order])


@dataclass(frozen=True, eq=False)
class _Block:
    """Output rows of some features with the same number of classes, class by class."""

    features: NDArray[np.int64]
    items: NDArray[np.int64]  # (classes, features)
    weight: Tensor  # (classes * features, width)
    bias: Tensor
    ok: NDArray[np.bool_]  # (classes, features)

    @cached_property
    def first_look(self) -> FirstLook | None:
        """The outputs in half precision, if that is worth while on this device."""
        if self.weight.device.type != "cuda" or len(self.weight) < LOOKED_CELLS:
            return None
        return FirstLook.of(self.weight, self.bias, classes=len(self.items))


@dataclass(frozen=True, eq=False)
class ConsequentSearch:
    """The search for consequents.

    Args:
        network: The network to query.
        consequent_ok: For each item, whether it may be a consequent.
        near: Which features may appear together, or ``None`` if all may.
        batch_bytes: Memory for one batch of outputs.
        sketches: One sketch per block of outputs, or none at all.
        sketched_at: The threshold that the sketches were made for.
        inclusive: Whether an item at the threshold is a consequent.
        same_feature: Whether the other values of a marked feature may be consequents.
    """

    network: QueryNetwork
    consequent_ok: NDArray[np.bool_]
    near: Neighbours | None
    batch_bytes: int
    sketches: tuple[Sketch | None, ...] = ()  # one per block, once there are any
    sketched_at: float = 0.0
    inclusive: bool = False
    same_feature: bool = False

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """The features that have an item which may be a consequent."""
        return np.unique(self.network.layout.feature_of_item[self.consequent_ok])

    @cached_property
    def blocks(self) -> list[_Block]:
        """The output rows of all these features."""
        return self._blocks(self.features)

    def with_sketches(self, passed: PassedBatch, threshold: float) -> ConsequentSearch:
        """Return a search that first looks at fewer dimensions, if that saves work at this threshold.

        Args:
            passed: A batch of combinations, whose states the sketches are made from.
            threshold: The threshold for consequents from now on.
        """
        if self.near is not None or self.network.device.type != "cpu" or len(passed.items) < LEAST_STATES:
            return self
        # A higher threshold needs fewer dimensions: try again each time its distance to one has halved.
        if 1.0 - threshold > 0.5 * (1.0 - self.sketched_at):
            return self
        sketches = tuple(
            Sketch.of(passed.states, block.weight, block.bias, classes=len(block.items), lead=_lead(threshold))
            for block in self.blocks
        )
        return replace(self, sketches=sketches, sketched_at=threshold)

    def find(
        self, passed: PassedBatch, threshold: float, *, settle: bool = True, floor: float = 0.0, keep: int | None = None
    ) -> Consequents:
        """Return the items above the threshold for every combination of a batch.

        Args:
            passed: The combinations.
            threshold: The threshold.
            settle: Whether values close to the threshold are decided in double precision; otherwise some items below
                it may be returned, and some above it left out, within ``UNSURE``.
            floor: Items with a lower probability may be left out, if values are not settled.
            keep: How many of the most probable items are wanted; others may be left out then. By default all.
        """
        if not len(passed.items) or not len(self.features):
            return Consequents.concat([])
        with product_precision("highest"):
            if self.near is not None:
                return Consequents.concat(self._around(self.features, passed, self.near, threshold))
            every = np.arange(len(passed.items))
            sketches = self.sketches or (None,) * len(self.blocks)
            parts = [
                part
                for block, sketch in zip(self.blocks, sketches, strict=True)
                for part in self._ask_all(block, passed, every, threshold, sketch, settle, floor, keep)
            ]
            return Consequents.concat(parts)

    def _around(
        self, features: NDArray[np.int64], passed: PassedBatch, near: Neighbours, threshold: float
    ) -> list[Consequents]:
        """Search near each combination; those with the same first feature share their candidate features."""
        layout = self.network.layout
        marked = layout.feature_of_item[passed.items]
        parts = []
        for feature in np.unique(marked[:, 0]):
            rows = np.flatnonzero(marked[:, 0] == feature)
            candidates = np.intersect1d(near.of_feature(int(feature)), features, assume_unique=True)
            for block in self._blocks(candidates):
                for part in self._ask(block, passed, rows, threshold):
                    target = layout.feature_of_item[part.items]
                    fits = np.ones(len(target), np.bool_)
                    for slot in range(1, marked.shape[1]):
                        fits &= near.together(marked[part.rows, slot], target)
                    parts.append(Consequents(part.rows[fits], part.items[fits], part.probability[fits]))
        return parts

    def _blocks(self, features: NDArray[np.int64]) -> list[_Block]:
        layout = self.network.layout
        blocks = []
        for classes in np.unique(layout.cardinalities[features]):
            members = features[layout.cardinalities[features] == classes]
            items = layout.offsets[members] + np.arange(classes)[:, None]
            rows = torch.from_numpy(items.reshape(-1)).to(self.network.device)
            ok = self.consequent_ok[items]
            blocks.append(_Block(members, items, self.network.exit[rows], self.network.exit_bias[rows], ok))
        return blocks

    def _ask_all(
        self,
        block: _Block,
        passed: PassedBatch,
        rows: NDArray[np.int64],
        threshold: float,
        sketch: Sketch | None,
        settle: bool,
        floor: float,
        keep: int | None,
    ) -> list[Consequents]:
        """Search whole output rows; if only the most probable items are wanted, after a first look if that helps."""
        look = block.first_look if keep is not None and floor >= 0.5 and not settle else None
        if look is None or keep is None or self.same_feature:
            return self._ask(block, passed, rows, threshold, sketch, settle=settle)
        parts, step = [], max(1, self.batch_bytes // (LOOK_BYTES * block.items.shape[1]))
        place_of_item = torch.from_numpy(self._positions(block)[self.network.layout.feature_of_item])
        places, items = place_of_item.to(self.network.device), torch.from_numpy(passed.items)
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            own = places[items[part].to(self.network.device)]
            row, cell, values = _looked(block, look, passed.states[part], own, floor, keep)
            parts.append(Consequents(rows[part][row], block.items.reshape(-1)[cell], values))
            if len(values) >= keep:
                floor = max(floor, float(values.min()))
        return parts

    def _positions(self, block: _Block) -> NDArray[np.int64]:
        """Return the place of each feature among those of a block, −1 for others."""
        position = np.full(self.network.layout.n_features, -1, np.int64)
        position[block.features] = np.arange(len(block.features))
        return position

    def _ask(
        self,
        block: _Block,
        passed: PassedBatch,
        rows: NDArray[np.int64],
        threshold: float,
        sketch: Sketch | None = None,
        *,
        settle: bool = True,
    ) -> list[Consequents]:
        """Search whole output rows for some combinations, a bounded number of cells at a time."""
        layout = self.network.layout
        classes, count = block.items.shape
        position = self._positions(block)
        search = _compiled if self.network.device.type == "cpu" and threshold - UNSURE >= 0.5 else _above
        shared = search is _compiled and len(rows) * classes * count >= SHARED_CELLS

        def ask(part: NDArray[np.int64]) -> Consequents:
            states = passed.states[torch.from_numpy(part).to(self.network.device)]
            own = position[layout.feature_of_item[passed.items[part]]]
            if self.same_feature:
                own = np.full_like(own, -1)
            row, cell, values = search(block, states, own, threshold - UNSURE, sketch)
            items = block.items.reshape(-1)[cell]
            if self.same_feature:
                others = (passed.items[part[row]] != items[:, None]).all(axis=1)
                row, items, values = row[others], items[others], values[others]
            if not settle:
                return Consequents(part[row], items, values)
            return self._decide(passed, part[row], items, values, threshold)

        step = max(1, self.batch_bytes // (16 * classes * count))
        pieces = [rows[low : low + step] for low in range(0, len(rows), step)]
        if not shared:
            return [ask(piece) for piece in pieces]
        from thence.tables.bitmaps.bits import run_threads

        with one_thread():
            return run_threads(ask, pieces)

    def _decide(
        self,
        passed: PassedBatch,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
        values: NDArray[np.float32],
        threshold: float,
    ) -> Consequents:
        """Keep items above the threshold (or at it); values close to it are computed again in double precision."""
        keep = values >= threshold if self.inclusive else values > threshold
        close = np.flatnonzero(np.abs(values - threshold) <= UNSURE)
        if len(close):
            exact = self.network.exact
            states = exact.states(passed.items[rows[close]])
            found = exact.marked_probability(states, items[close])
            keep[close] = (found >= threshold if self.inclusive else found > threshold).cpu().numpy()
        return Consequents(rows[keep], items[keep], values[keep])


def _lead(threshold: float) -> float:
    """Return by how much the logit of a class must exceed all others of its feature to be above a threshold."""
    return math.log(threshold / (1.0 - threshold)) if threshold < 1.0 else math.inf


Hits = tuple[Numbers, Numbers, NDArray[np.float32]]
"""Row, cell (class by class) and softmax of the classes above a threshold."""


def _compiled(block: _Block, states: Tensor, own: Numbers, threshold: float, sketch: Sketch | None) -> Hits:
    """Find the classes above a threshold of at least one half, on the CPU."""
    from thence.search.aerial.likely_classes import find_likely_classes

    classes, count = block.items.shape
    if sketch is None:
        logits = torch.addmm(block.bias, states, block.weight.T)
        loose = reach = np.empty(0, np.float32)
        apart = np.empty((0, 0, 0), np.float32)
    else:
        logits, reach = sketch.logits(states)
        loose, apart = sketch.loose, sketch.apart
    return find_likely_classes(
        logits.view(len(states), classes, count).numpy(),
        own,
        block.ok,
        _lead(threshold),
        threshold,
        loose,
        apart,
        reach,
        states.numpy(),
        block.weight.numpy(),
        block.bias.numpy(),
    )


def _looked(block: _Block, look: FirstLook, states: Tensor, own: Tensor, floor: float, keep: int) -> Hits:
    """Find the classes at or above a floor of at least one half, or the ``keep`` most probable, after a first look."""
    row, feature = look.candidates(states, min(floor, 1.0 - FLOAT_STEP) - FLOAT_STEP)
    free = (own[row] != feature.unsqueeze(1)).all(dim=1)
    row, feature = row[free], feature[free]
    code, share = look.again(states, row, feature)
    high = share >= floor
    if not block.ok.all():
        high &= torch.from_numpy(block.ok).to(states.device)[code, feature]
    if int(high.sum()) > keep:
        high &= share >= torch.where(high, share, 0.0).topk(keep).values[-1]
    row, cell = row[high], (code * block.items.shape[1] + feature)[high]
    return row.cpu().numpy(), cell.cpu().numpy(), share[high].cpu().numpy()


def _above(block: _Block, states: Tensor, own: Numbers, threshold: float, _: Sketch | None) -> Hits:
    """Find the classes above any threshold, on any device."""
    classes, count = block.items.shape
    logits = torch.addmm(block.bias, states, block.weight.T).view(len(states), classes, count)
    # Features of other blocks are written to a spare column.
    places = torch.from_numpy(np.where(own < 0, count, own)).to(logits.device)
    free = torch.ones(len(states), count + 1, dtype=torch.bool, device=logits.device).scatter_(1, places, False)[:, :-1]
    ok = None if block.ok.all() else torch.from_numpy(block.ok).to(logits.device)
    if threshold < 0.5:
        probability = torch.softmax(logits, dim=1)
        hits = (probability > threshold) & free.unsqueeze(1)
        if ok is not None:
            hits &= ok
        found = torch.nonzero(hits.view(-1)).squeeze(1)
        row, cell = np.divmod(found.cpu().numpy(), classes * count)
        return row, cell, probability.view(-1)[found].cpu().numpy()
    # Only the most likely class can be above one half: one number per feature decides, and most features end here.
    highest = logits.amax(dim=1)
    share = (logits - highest.unsqueeze(1)).exp_().sum(dim=1).reciprocal_()
    at, feature = torch.nonzero((share > threshold) & free, as_tuple=True)
    code = logits[at, :, feature].argmax(dim=1)
    if ok is not None:
        allowed = ok[code, feature]
        at, feature, code = at[allowed], feature[allowed], code[allowed]
    return at.cpu().numpy(), (code * count + feature).cpu().numpy(), share[at, feature].cpu().numpy()
