"""The network of Aerial: an under-complete denoising autoencoder over categorical features.

The network never sees a dense one-hot matrix. A feature that is marked with an item contributes the row of that item
to the first layer; a feature that is unknown contributes the mean row of its block, which is what the uniform vector
of the paper gives. So the first pre-activation of any input is ``z0 + sum(D[item])`` over the marked items. Softmax
runs per feature, over groups of features with the same number of classes, never in a loop over features.

This module holds the weights and the forward pass. It must not train, search for rules or read tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from thence.errors import ConfigError

__all__ = ["Autoencoder", "Group", "Layout", "default_widths", "faithful_widths", "initialise"]


@dataclass(frozen=True, eq=False)
class Group:
    """The features that share one number of classes, and where their items stand."""

    classes: int
    features: NDArray[np.int64]
    items: NDArray[np.int64]  # (features, classes)

    @property
    def contiguous(self) -> bool:
        """Whether the items of the group are one run of numbers, so that a view does instead of a copy."""
        return int(self.items[-1, -1] - self.items[0, 0]) + 1 == self.items.size


@dataclass(frozen=True, eq=False)
class Layout:
    """How the items of a table are numbered: feature by feature, ``item = offsets[feature] + code``.

    >>> layout = Layout.of([3, 2])
    >>> layout.n_items, layout.offsets.tolist(), layout.feature_of_item.tolist()
    (5, [0, 3, 5], [0, 0, 0, 1, 1])
    """

    cardinalities: NDArray[np.int64]

    @staticmethod
    def of(cardinalities: ArrayLike) -> Layout:
        """Check the class counts of the features and number their items."""
        counts = np.asarray(cardinalities)
        if counts.size == 0:
            counts = counts.astype(np.int64)
        if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
            raise ConfigError("cardinalities must be one non-negative whole number per feature")
        return Layout(counts.astype(np.int64))

    @property
    def n_features(self) -> int:
        return len(self.cardinalities)

    @cached_property
    def n_items(self) -> int:
        return int(self.cardinalities.sum())

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.cardinalities)]).astype(np.int64)

    @cached_property
    def feature_of_item(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.n_features, dtype=np.int64), self.cardinalities)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Features by number of classes, ascending; features without any class stand in no group."""
        found = []
        for classes in np.unique(self.cardinalities[self.cardinalities > 0]):
            features = np.flatnonzero(self.cardinalities == classes)
            items = self.offsets[features][:, None] + np.arange(classes)
            found.append(Group(int(classes), features, items))
        return tuple(found)


def centre_blocks(matrix: Tensor, layout: Layout) -> Tensor:
    """Take the mean row of each feature's block off its rows, in place; return the sum of these mean rows.

    >>> rows = torch.tensor([[1.0], [3.0], [5.0]])
    >>> centre_blocks(rows, Layout.of([2, 1])), rows.flatten().tolist()
    (tensor([7.]), [-1.0, 1.0, 0.0])
    """
    total = matrix.new_zeros(matrix.shape[1])
    for group in layout.groups:
        first, last = int(group.items[0, 0]), int(group.items[-1, -1]) + 1
        places = slice(first, last) if group.contiguous else torch.from_numpy(group.items.reshape(-1))
        rows = matrix[places].view(len(group.features), group.classes, -1)
        means = rows.mean(dim=1, keepdim=True)
        total += means.sum(dim=(0, 1))
        rows -= means
        if not group.contiguous:
            matrix[places] = rows.view(-1, matrix.shape[1])
    return total


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """Weights of a network: row ``i`` of ``entry`` is what item ``i`` adds to the first layer.

    ``hidden`` are the weights and biases between the hidden layers (outputs × inputs, tanh after each), ``exit``
    gives one logit per item. ``entry_bias`` and ``exit_bias`` belong to the first and the last layer.

    >>> model = initialise([2, 3], widths=(4, 2), seed=0)
    >>> model.probabilities(model.unknown()[None]).shape
    torch.Size([1, 5])
    """

    layout: Layout
    entry: Tensor  # (items, width)
    entry_bias: Tensor
    hidden: tuple[tuple[Tensor, Tensor], ...]
    exit: Tensor  # (items, width)
    exit_bias: Tensor

    @property
    def device(self) -> torch.device:
        return self.entry.device

    @property
    def dtype(self) -> torch.dtype:
        return self.entry.dtype

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of all hidden layers, first to last."""
        return (self.entry.shape[1], *(weight.shape[0] for weight, _ in self.hidden))

    def parameters(self) -> list[Tensor]:
        """All weights and biases, first layer first."""
        inner = [tensor for pair in self.hidden for tensor in pair]
        return [self.entry, self.entry_bias, *inner, self.exit, self.exit_bias]

    def with_parameters(self, tensors: Sequence[Tensor]) -> Autoencoder:
        """The same architecture around other tensors, given in the order of ``parameters``."""
        inner = tensors[2:-2]
        pairs = tuple((inner[i], inner[i + 1]) for i in range(0, len(inner), 2))
        return Autoencoder(self.layout, tensors[0], tensors[1], pairs, tensors[-2], tensors[-1])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Autoencoder:
        """The same network elsewhere or in another precision."""
        target = self.dtype if dtype is None else dtype
        return self.with_parameters([tensor.to(device, target) for tensor in self.parameters()])

    def unknown(self) -> Tensor:
        """The input in which every feature is unknown: equal probabilities within each block."""
        share = 1.0 / np.maximum(self.layout.cardinalities, 1)
        return torch.as_tensor(share[self.layout.feature_of_item], dtype=self.dtype, device=self.device)

    def origin_and_deltas(self) -> tuple[Tensor, Tensor]:
        """``z0`` (the first pre-activation with everything unknown) and ``D`` (what marking an item changes)."""
        deltas = self.entry.clone()
        means = centre_blocks(deltas, self.layout)
        return self.entry_bias + means, deltas

    def centred(self) -> Autoencoder:
        """The same network for marked and unknown features, with the unknown ones adding nothing."""
        origin, deltas = self.origin_and_deltas()
        return replace(self, entry=deltas, entry_bias=origin)

    def through(self, first: Tensor) -> Tensor:
        """Last hidden activation for a batch of first pre-activations, which are overwritten."""
        state = first.tanh_()
        for weight, bias in self.hidden:
            state = torch.addmm(bias, state, weight.T).tanh_()
        return state

    def probabilities(self, dense: Tensor) -> Tensor:
        """Output for dense inputs (rows × items), each block a probability vector."""
        state = self.through(torch.addmm(self.entry_bias, dense, self.entry))
        logits = torch.addmm(self.exit_bias, state, self.exit.T)
        out = torch.empty_like(logits)
        for group in self.layout.groups:
            items = torch.from_numpy(group.items).to(self.device)
            out[:, items.reshape(-1)] = torch.softmax(logits[:, items], dim=-1).flatten(1)
        return out


def default_widths(layout: Layout) -> tuple[int, int, int]:
    """Encoder widths for masked training: the innermost layer follows the square root of the number of items.

    >>> default_widths(Layout.of([10] * 20)), default_widths(Layout.of([10] * 1000))
    ((64, 32, 16), (256, 128, 64))
    """
    inner = min(64, max(4, 8 * math.ceil(math.sqrt(layout.n_items) / 8)))
    return 4 * inner, 2 * inner, inner


def faithful_widths(layout: Layout) -> tuple[int, int, int]:
    """An eighth, a thirty-second and a 128th of the items, as in the paper's code, but never fewer than 16, 8, 4.

    >>> faithful_widths(Layout.of([10] * 97))
    (121, 30, 7)
    """
    return max(16, layout.n_items // 8), max(8, layout.n_items // 32), max(4, layout.n_items // 128)


def initialise(
    cardinalities: ArrayLike, *, widths: Sequence[int] | None = None, seed: int = 0, shown: int | None = None
) -> Autoencoder:
    """A network with Xavier-uniform weights and zero biases; ``widths`` are those of the encoder, mirrored.

    ``shown`` is the fan-in of the first layer: how many inputs move it at once. It is the number of items for dense
    input and the number of visible features for masked input, where Xavier's bound for all items would let the few
    visible ones move nothing.

    >>> initialise([10] * 20, widths=(50, 12)).widths
    (50, 12, 50)
    """
    layout = Layout.of(cardinalities)
    encoder = tuple(int(width) for width in (default_widths(layout) if widths is None else widths))
    if not encoder or min(encoder) < 1:
        raise ConfigError(f"layer widths must be positive, got {encoder}", hint="for example (64, 32, 16)")
    sizes = (layout.n_items, *encoder, *encoder[-2::-1], layout.n_items)
    generator = torch.Generator().manual_seed(seed)
    weights: list[Tensor] = []
    for inputs, outputs in pairwise(sizes):
        fan_in = inputs if weights or shown is None else shown
        bound = math.sqrt(6.0 / max(fan_in + outputs, 1))
        weights.append((torch.rand(outputs, inputs, generator=generator) * 2.0 - 1.0) * bound)
    pairs = tuple((weight, torch.zeros(weight.shape[0])) for weight in weights[1:-1])
    return Autoencoder(
        layout,
        weights[0].T.contiguous(),
        torch.zeros(encoder[0]),
        pairs,
        weights[-1],
        torch.zeros(layout.n_items),
    )
