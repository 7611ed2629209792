"""The network of Aerial: an under-complete denoising autoencoder over categorical features.

The network never sees a dense one-hot matrix. A feature that is marked with an item contributes the row of that item
to the first layer; a feature that is unknown contributes the mean row of its block, which is what the uniform vector
of the paper gives. So the first pre-activation of any input is ``z0 + sum(D[item])`` over the marked items. The
softmax of each feature is computed for groups of features with the same number of classes, never in a loop over
features.

``QueryNetwork`` is a trained network laid out for queries. The probability of one item needs only the output rows of
its own feature. Results that are too close to a threshold for single precision are computed again in double precision,
so that the rules do not depend on batch size, chunks or device.

This module must not train, enumerate combinations or read tables.
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
        return Autoencoder.of(self.layout, tensors, linear_code=self.linear_code)

    @staticmethod
    def of(layout: Layout, tensors: Sequence[Tensor], *, linear_code: bool = False) -> Autoencoder:
        """Return a network of tensors that are given in the order of ``parameters``."""
        pairs = tuple(zip(tensors[2:-2:2], tensors[3:-2:2], strict=True))
        return Autoencoder(layout, tensors[0], tensors[1], pairs, tensors[-2], tensors[-1], linear_code)

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


def choose_faithful_widths(layout: Layout, *, least: tuple[int, ...] = (16, 8, 4)) -> tuple[int, int, int]:
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
    tensors = [tensor for weight in weights for tensor in (weight, torch.zeros(weight.shape[0]))]
    return Autoencoder.of(layout, [weights[0].T.contiguous(), *tensors[1:]], linear_code=linear_code)


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
