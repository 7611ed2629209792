"""What a marked combination implies: the items of other features above the threshold (lines 11 to 13 of Algorithm 1).

Only combinations that passed the gate come here, and only the output rows of features that may be a consequent are
computed: all of them, or the neighbours of the combination. This module must not enumerate combinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.miners.aerial.antecedents import Passed
from thence.miners.aerial.frame import UNSURE, Frame, full_precision
from thence.miners.neighbours import Neighbours

__all__ = ["Implied", "Outputs"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Implied:
    """Pairs of a combination (by row) and an item that it implies, with the item's probability."""

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    probability: NDArray[np.float32]

    @staticmethod
    def joined(parts: list[Implied]) -> Implied:
        """All pairs, ordered by combination and then by item."""
        rows = np.concatenate([part.rows for part in parts] or [np.empty(0, np.int64)])
        items = np.concatenate([part.items for part in parts] or [np.empty(0, np.int64)])
        probability = np.concatenate([part.probability for part in parts] or [np.empty(0, np.float32)])
        # One key sorts faster than two, and most of it is in order already.
        order = np.argsort(rows * (int(items.max(initial=0)) + 1) + items, kind="stable")
        return Implied(rows[order], items[order], probability[order])


@dataclass(frozen=True, eq=False)
class _Block:
    """Output rows of some features with the same number of classes, class by class."""

    features: NDArray[np.int64]
    items: NDArray[np.int64]  # (classes, features)
    weight: Tensor  # (classes * features, width)
    bias: Tensor
    ok: Tensor | None  # (classes, features); None where all may be a consequent


@dataclass(frozen=True, eq=False)
class Outputs:
    """The consequent side of a search."""

    frame: Frame
    consequent_ok: NDArray[np.bool_]
    near: Neighbours | None
    batch_bytes: int

    def implied(self, passed: Passed, threshold: float) -> Implied:
        """The items above the threshold, for every combination that passed."""
        layout = self.frame.layout
        features = np.unique(layout.feature_of_item[self.consequent_ok])
        if not len(passed.items) or not len(features):
            return Implied.joined([])
        with full_precision():
            if self.near is None:
                every = np.arange(len(passed.items))
                parts = [
                    part for block in self._blocks(features) for part in self._ask(block, passed, every, threshold)
                ]
                return Implied.joined(parts)
            return Implied.joined(self._around(features, passed, self.near, threshold))

    def _around(self, features: NDArray[np.int64], passed: Passed, near: Neighbours, threshold: float) -> list[Implied]:
        """Combinations with the same first feature share the features that may follow."""
        layout = self.frame.layout
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
                    parts.append(Implied(part.rows[fits], part.items[fits], part.probability[fits]))
        return parts

    def _blocks(self, features: NDArray[np.int64]) -> list[_Block]:
        layout = self.frame.layout
        blocks = []
        for classes in np.unique(layout.cardinalities[features]):
            members = features[layout.cardinalities[features] == classes]
            items = layout.offsets[members] + np.arange(classes)[:, None]
            rows = torch.from_numpy(items.reshape(-1)).to(self.frame.device)
            ok = self.consequent_ok[items]
            blocks.append(
                _Block(
                    members,
                    items,
                    self.frame.exit[rows],
                    self.frame.exit_bias[rows],
                    None if ok.all() else torch.from_numpy(ok).to(self.frame.device),
                )
            )
        return blocks

    def _ask(self, block: _Block, passed: Passed, rows: NDArray[np.int64], threshold: float) -> list[Implied]:
        """Whole output rows for some combinations, a bounded number of cells at a time."""
        layout = self.frame.layout
        classes, count = block.items.shape
        step = max(1, self.batch_bytes // (16 * classes * count))
        position = np.full(layout.n_features, -1, np.int64)
        position[block.features] = np.arange(count)
        parts = []
        for low in range(0, len(rows), step):
            part = rows[low : low + step]
            states = passed.states[torch.from_numpy(part).to(self.frame.device)]
            logits = torch.addmm(block.bias, states, block.weight.T).view(len(part), classes, count)
            own = position[layout.feature_of_item[passed.items[part]]]
            taken = np.zeros((len(part), count + 1), np.bool_)
            np.put_along_axis(taken, own, True, axis=1)
            free = torch.from_numpy(~taken[:, :-1]).to(self.frame.device)
            row, cell, values = _above(logits, free, block.ok, threshold - UNSURE)
            parts.append(self._decide(passed, part[row], block.items.reshape(-1)[cell], values, threshold))
        return parts

    def _decide(
        self,
        passed: Passed,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
        values: NDArray[np.float32],
        threshold: float,
    ) -> Implied:
        """Keep what is above the threshold, with close calls decided in double precision."""
        keep = values > threshold
        close = np.flatnonzero(np.abs(values - threshold) <= UNSURE)
        if len(close):
            exact = self.frame.exact
            states = exact.states(passed.items[rows[close]])
            keep[close] = (exact.marked_probability(states, items[close]) > threshold).cpu().numpy()
        return Implied(rows[keep], items[keep], values[keep])


def _above(
    logits: Tensor, free: Tensor, ok: Tensor | None, threshold: float
) -> tuple[Numbers, Numbers, NDArray[np.float32]]:
    """Row, cell (class by class) and softmax of what lies above a threshold, among free features and allowed items."""
    _, classes, count = logits.shape
    if threshold < 0.5:
        probability = torch.softmax(logits, dim=1)
        hits = (probability > threshold) & free.unsqueeze(1)
        if ok is not None:
            hits &= ok
        found = torch.nonzero(hits.view(-1)).squeeze(1)
        row, cell = np.divmod(found.cpu().numpy(), classes * count)
        return row, cell, probability.view(-1)[found].cpu().numpy()
    # Above one half only the likeliest class can be: one number per feature decides, and most features end here.
    highest = logits.amax(dim=1)
    share = (logits - highest.unsqueeze(1)).exp_().sum(dim=1).reciprocal_()
    at, feature = torch.nonzero((share > threshold) & free, as_tuple=True)
    code = logits[at, :, feature].argmax(dim=1)
    if ok is not None:
        allowed = ok[code, feature]
        at, feature, code = at[allowed], feature[allowed], code[allowed]
    return at.cpu().numpy(), (code * count + feature).cpu().numpy(), share[at, feature].cpu().numpy()
