"""A network laid out for queries: what marking an item changes, and the output rows of each feature.

The input of every query is ``z0 + sum(D[item])`` over its marked items, and the probability of one item needs only the
output rows of its own feature. Results that are too close to a threshold for single precision are computed again in
double precision, so that the rules do not depend on batch size, chunks or device. This module must not enumerate
combinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.autoencoder import Autoencoder, Layout

__all__ = ["UNSURE", "QueryNetwork", "softmax_at"]

UNSURE = 5e-5
"""Distance from a threshold within which single precision is not trusted; its error is about 3e-6."""

FEW = 512
"""Up to this many states it is cheaper to copy the output rows for each than to sort the states by feature."""

COPIED = {"cpu": 1 << 23, "cuda": 1 << 28}
"""The most cells of such copies: features with hundreds of classes have large output rows."""


@dataclass(frozen=True, eq=False)
class QueryNetwork:
    """A network ready for queries.

    In single precision it computes with the logistic function instead of tanh, which it equals up to scale
    (``tanh(z) = 2 sigmoid(2 z) - 1``), and has the scales folded into its weights: a sigmoid costs less than half of
    a tanh, and activations are most of the work. ``exact`` is the network as it was trained, in double precision.

    Args:
        layout: How the items are numbered.
        origin: The first pre-activation with every feature unknown.
        deltas: What marking each item adds to it.
        hidden: Weights and biases between the hidden layers.
        exit: Output weights, one row per item.
        exit_bias: Output biases, one per item.
        twin: The same network in double precision, or ``None`` if this is it.
        linear_layer: The hidden layer without an activation, counted from 0; −1 if there is none.
    """

    layout: Layout
    origin: Tensor
    deltas: Tensor
    hidden: tuple[tuple[Tensor, Tensor], ...]
    exit: Tensor
    exit_bias: Tensor
    twin: QueryNetwork | None
    linear_layer: int = -1

    @staticmethod
    def of(model: Autoencoder) -> QueryNetwork:
        """Prepare a trained network, on the device that it is on."""
        double = model.to(model.device, torch.float64)
        origin, deltas = double.origin_and_deltas()
        linear = model.linear_layer
        twin = QueryNetwork(model.layout, origin, deltas, double.hidden, double.exit, double.exit_bias, None, linear)
        layers = [*double.hidden, (double.exit, double.exit_bias)]
        folded = []
        for layer, (weight, bias) in enumerate(layers, start=1):
            if linear != layer - 1:
                weight, bias = 2.0 * weight, bias - weight.sum(dim=1)
            scale = 1.0 if layer in (linear, len(layers)) else 2.0
            folded.append(((scale * weight).float(), (scale * bias).float()))
        first = 1.0 if linear == 0 else 2.0
        return QueryNetwork(
            model.layout,
            (first * origin).float(),
            (first * deltas).float(),
            tuple(folded[:-1]),
            *folded[-1],
            twin,
            linear,
        )

    @property
    def exact(self) -> QueryNetwork:
        """The network in double precision."""
        return self if self.twin is None else self.twin

    @property
    def device(self) -> torch.device:
        return self.origin.device

    @property
    def widest(self) -> int:
        """The most cells that one query needs in one layer, including the output of one feature."""
        widths = [weight.shape[0] for weight, _ in self.hidden]
        return max(len(self.origin), *widths, int(self.layout.cardinalities.max(initial=1)))

    def through(self, first: Tensor) -> Tensor:
        """Return the last hidden activations for first pre-activations, which are overwritten."""
        state = self._activate(first, 0)
        for layer, (weight, bias) in enumerate(self.hidden, start=1):
            state = self._activate(torch.addmm(bias, state, weight.T), layer)
        return state

    def _activate(self, state: Tensor, layer: int) -> Tensor:
        if layer == self.linear_layer:
            return state
        return state.tanh_() if self.twin is None else state.sigmoid_()

    def states(self, items: NDArray[np.int64]) -> Tensor:
        """Return the last hidden activations of queries given by their items (queries × marked items)."""
        marked = torch.from_numpy(items).to(self.device)
        first = self.origin + self.deltas[marked[:, 0]]
        for slot in range(1, marked.shape[1]):
            first += self.deltas[marked[:, slot]]
        return self.through(first)

    def marked_probability(self, states: Tensor, items: NDArray[np.int64]) -> Tensor:
        """Return the probability of one item per state: its softmax within its own feature."""
        room = COPIED[self.device.type] // (int(self.layout.cardinalities.max(initial=1)) * states.shape[1])
        if self.device.type == "cuda" and len(items) > room > 0:
            # A graphics processor copies fast, and sorting by feature would start small pieces of work.
            pieces = [slice(low, low + room) for low in range(0, len(items), room)]
            return torch.cat([self.marked_probability(states[piece], items[piece]) for piece in pieces])
        found = torch.empty(len(items), dtype=states.dtype, device=self.device)
        owners = self.layout.feature_of_item[items]
        few = len(items) <= room and (len(items) <= FEW or self.device.type == "cuda")
        kinds = self.layout.cardinalities[owners] if few else owners
        order = np.argsort(kinds, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1) if len(order) else ():
            low = self.layout.offsets[owners[part]]
            rows = torch.from_numpy(part).to(self.device)
            own = torch.from_numpy(items[part] - low).to(self.device)
            classes = int(self.layout.cardinalities[owners[part[0]]])
            if few:
                outputs = torch.from_numpy(low[:, None] + np.arange(classes)).to(self.device)
                logits = torch.bmm(self.exit[outputs], states[rows].unsqueeze(-1)).squeeze(-1)
                logits += self.exit_bias[outputs]
            else:
                block = slice(int(low[0]), int(low[0]) + classes)
                logits = torch.addmm(self.exit_bias[block], states[rows], self.exit[block].T)
            found[rows] = softmax_at(logits, own)
        return found


def softmax_at(logits: Tensor, own: Tensor, *, dim: int = -1) -> Tensor:
    """Compute the softmax of one entry per line along an axis.

    Args:
        logits: The logits.
        own: The index of the wanted entry of each line.
        dim: The axis.
    """
    reference = torch.gather(logits, dim, own.unsqueeze(dim))
    return (logits - reference).exp_().sum(dim=dim).reciprocal_()
