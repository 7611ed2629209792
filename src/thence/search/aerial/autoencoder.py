"""The network of Aerial: an under-complete denoising autoencoder over categorical features.

The network never sees a dense one-hot matrix. A feature that is marked with an item contributes the row of that item
to the first layer; a feature that is unknown contributes the mean row of its block, which is what the uniform vector
of the paper gives. So the first pre-activation of any input is ``z0 + sum(D[item])`` over the marked items. The softmax
of each feature is computed for groups of features with the same number of classes, never in a loop over features.

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

__all__ = ["Autoencoder", "Group", "Layout", "choose_faithful_widths", "choose_widths", "initialise"]


@dataclass(frozen=True, eq=False)
class Group:
    """The features with the same number of classes, and their items.

    Args:
        classes: The number of classes.
        features: The features.
        items: Their items, features × classes.
    """

    classes: int
    features: NDArray[np.int64]
    items: NDArray[np.int64]  # (features, classes)

    @property
    def contiguous(self) -> bool:
        """Whether the items of the group are consecutive numbers, so that a view replaces a copy."""
        return int(self.items[-1, -1] - self.items[0, 0]) + 1 == self.items.size


@dataclass(frozen=True, eq=False)
class Layout:
    """How the items of a table are numbered: feature by feature, ``item = offsets[feature] + code``.

    Args:
        cardinalities: The number of classes of each feature.

    Examples:
        >>> layout = Layout.of([3, 2])
        >>> layout.n_items, layout.offsets.tolist(), layout.feature_of_item.tolist()
        (5, [0, 3, 5], [0, 0, 0, 1, 1])
    """

    cardinalities: NDArray[np.int64]

    @staticmethod
    def of(cardinalities: ArrayLike) -> Layout:
        """Check the numbers of classes and make a layout.

        Args:
            cardinalities: The number of classes of each feature.

        Raises:
            ConfigError: If they are not a list of non-negative integers.
        """
        counts = np.asarray(cardinalities)
        if counts.size == 0:
            counts = counts.astype(np.int64)
        if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
            raise ConfigError("cardinalities must be one non-negative integer per feature")
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
        """Features by number of classes, ascending; features without any class are in no group."""
        found = []
        for classes in np.unique(self.cardinalities[self.cardinalities > 0]):
            features = np.flatnonzero(self.cardinalities == classes)
            items = self.offsets[features][:, None] + np.arange(classes)
            found.append(Group(int(classes), features, items))
        return tuple(found)


def centre_blocks(matrix: Tensor, layout: Layout) -> Tensor:
    """Subtract the mean row of each feature's block from its rows, in place; return the sum of these mean rows.

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
    """The weights of a network.

    Args:
        layout: How the items are numbered.
        entry: First layer, items × width: row ``i`` is what item ``i`` adds.
        entry_bias: Bias of the first layer.
        hidden: Weights (outputs × inputs) and biases between the hidden layers, with tanh after each.
        exit: Last layer, items × width: one logit per item.
        exit_bias: Bias of the last layer.
        linear_code: Whether the innermost layer has no tanh.

    Examples:
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
    linear_code: bool = False

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

    @property
    def linear_layer(self) -> int:
        """The hidden layer without tanh, counted from 0 (the first layer); −1 if there is none."""
        return len(self.hidden) // 2 if self.linear_code else -1

    def parameters(self) -> list[Tensor]:
        """Return all weights and biases, first layer first."""
        inner = [tensor for pair in self.hidden for tensor in pair]
        return [self.entry, self.entry_bias, *inner, self.exit, self.exit_bias]

    def with_parameters(self, tensors: Sequence[Tensor]) -> Autoencoder:
        """Return a network with the same layout and other tensors, given in the order of ``parameters``."""
        inner = tensors[2:-2]
        pairs = tuple((inner[i], inner[i + 1]) for i in range(0, len(inner), 2))
        return Autoencoder(self.layout, tensors[0], tensors[1], pairs, tensors[-2], tensors[-1], self.linear_code)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Autoencoder:
        """Return the network on another device or, with ``dtype``, in another precision."""
        target = self.dtype if dtype is None else dtype
        return self.with_parameters([tensor.to(device, target) for tensor in self.parameters()])

    def unknown(self) -> Tensor:
        """Return the input in which every feature is unknown: equal probabilities within each block."""
        share = 1.0 / np.maximum(self.layout.cardinalities, 1)
        return torch.as_tensor(share[self.layout.feature_of_item], dtype=self.dtype, device=self.device)

    def origin_and_deltas(self) -> tuple[Tensor, Tensor]:
        """Return ``z0`` (the first pre-activation with every feature unknown) and ``D`` (what marking an item adds)."""
        deltas = self.entry.clone()
        means = centre_blocks(deltas, self.layout)
        return self.entry_bias + means, deltas

    def centred(self) -> Autoencoder:
        """Return an equivalent network in which unknown features add nothing to the first layer."""
        origin, deltas = self.origin_and_deltas()
        return replace(self, entry=deltas, entry_bias=origin)

    def through(self, first: Tensor) -> Tensor:
        """Return the last hidden activations for a batch of first pre-activations, which are overwritten."""
        linear = self.linear_layer
        state = first if linear == 0 else first.tanh_()
        for layer, (weight, bias) in enumerate(self.hidden, start=1):
            state = torch.addmm(bias, state, weight.T)
            state = state if linear == layer else state.tanh_()
        return state

    def probabilities(self, dense: Tensor) -> Tensor:
        """Return the output for dense inputs (rows × items); each block is a probability vector."""
        state = self.through(torch.addmm(self.entry_bias, dense, self.entry))
        logits = torch.addmm(self.exit_bias, state, self.exit.T)
        out = torch.empty_like(logits)
        for group in self.layout.groups:
            items = torch.from_numpy(group.items).to(self.device)
            out[:, items.reshape(-1)] = torch.softmax(logits[:, items], dim=-1).flatten(1)
        return out


def choose_widths(layout: Layout) -> tuple[int, int, int]:
    """Choose encoder widths for masked training: the innermost grows with the square root of the number of items.

    >>> choose_widths(Layout.of([10] * 20)), choose_widths(Layout.of([10] * 1000))
    ((64, 32, 16), (256, 128, 64))
    """
    inner = min(64, max(4, 8 * math.ceil(math.sqrt(layout.n_items) / 8)))
    return 4 * inner, 2 * inner, inner


def choose_faithful_widths(layout: Layout, *, least: tuple[int, int, int] = (16, 8, 4)) -> tuple[int, int, int]:
    """Choose encoder widths as the paper's code does: 1/8, 1/32 and 1/128 of the items, but at least ``least``.

    >>> choose_faithful_widths(Layout.of([10] * 97))
    (121, 30, 7)
    >>> choose_faithful_widths(Layout.of([10] * 20)), choose_faithful_widths(Layout.of([10] * 20), least=(0, 0, 0))
    ((25, 8, 4), (25, 6, 1))
    """
    return max(least[0], layout.n_items // 8), max(least[1], layout.n_items // 32), max(least[2], layout.n_items // 128)


def initialise(
    cardinalities: ArrayLike,
    *,
    widths: Sequence[int] | None = None,
    seed: int = 0,
    shown: int | None = None,
    linear_code: bool = False,
    empty_layers: bool = False,
) -> Autoencoder:
    """Make a network with Xavier-uniform weights and zero biases.

    Args:
        cardinalities: The number of classes of each feature.
        widths: Widths of the encoder, which the decoder mirrors.
        seed: Random seed.
        shown: The fan-in of the first layer: how many inputs are active at once. By default the number of items, for
            dense input. For masked input it is the number of visible features; Xavier's bound for all items would make
            the effect of the few visible ones vanish.
        linear_code: Whether the innermost layer has no tanh.
        empty_layers: Whether a width may be 0; the output then does not depend on the input.

    Raises:
        ConfigError: If a width is not positive.

    Examples:
        >>> initialise([10] * 20, widths=(50, 12)).widths
        (50, 12, 50)
    """
    layout = Layout.of(cardinalities)
    encoder = tuple(int(width) for width in (choose_widths(layout) if widths is None else widths))
    if not encoder or min(encoder) < (0 if empty_layers else 1):
        raise ConfigError(f"layer widths must be positive, got {encoder}", hint="for example (64, 32, 16)")
    sizes = (layout.n_items, *encoder, *encoder[-2::-1], layout.n_items)
    generator = torch.Generator().manual_seed(seed)
    weights: list[Tensor] = []
    for inputs, outputs in pairwise(sizes):
        fan_in = inputs if weights or shown is None else shown
        bound = math.sqrt(6.0 / max(fan_in + outputs, 1))
        weights.append(torch.rand(outputs, inputs, generator=generator).mul_(2.0).sub_(1.0).mul_(bound))
    pairs = tuple((weight, torch.zeros(weight.shape[0])) for weight in weights[1:-1])
    return Autoencoder(
        layout,
        weights[0].T.contiguous(),
        torch.zeros(encoder[0]),
        pairs,
        weights[-1],
        torch.zeros(layout.n_items),
        linear_code,
    )
