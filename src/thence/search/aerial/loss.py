"""The aggregated binary cross-entropy of the paper, with the softmax per feature and its gradient in closed form.

Output layer, softmax, loss and gradient are computed in tiles, so that the probabilities of a whole batch are never in
memory at once. ``AllFeatures`` compares every feature with its target; ``NearFeatures`` only the neighbours of the
visible features, which is all that a search with neighbours will query.

``WideOutput`` is the same as ``AllFeatures`` for very wide tables on a graphics processor, whose every step takes
longer to read and write its outputs than to compute them: the output weights are kept class by class, the logits of a
batch are written once, and a kernel replaces them by their gradient. Products are rounded to 11 bits (TF32), which
training does not notice. Without Triton, tensors do the work of the kernel. This module must not know how inputs are
corrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from thence.search.aerial.autoencoder import Autoencoder, Layout, centre_blocks
from thence.search.neighbours import Neighbours

# The gradient of a confidently wrong class is a small difference of large terms; below this distance from
# certainty float32 would lose it.
CLOSEST = 1e-4

TILE_CELLS_CPU = 1 << 18
TILE_CELLS_CUDA = 1 << 25


@dataclass(frozen=True, eq=False)
class Gradients:
    """The mean loss of a batch per output cell, and the gradient of its mean loss per row.

    The two differ by a factor that Adam is invariant to. Taken per row, the gradients of wide tables stay large
    compared with Adam's epsilon.
    """

    loss: Tensor
    first: Tensor  # (rows, width) with respect to the first pre-activation
    inner: list[Tensor]  # weight and bias per hidden layer, in order
    exit: Tensor
    exit_bias: Tensor


@dataclass(frozen=True, eq=False)
class Tile:
    """Part of the output layer: blocks of states, the output rows they are multiplied with, and their targets.

    Its layout lets the softmax reduce over the middle axis of (blocks × classes × cells), which on a CPU is ten times
    as fast as over a short last axis.
    """

    rows: slice
    items: Tensor  # (classes * features), or (blocks, classes * features)
    logits: Tensor  # (blocks, classes, cells); minus infinity where a feature has fewer classes
    codes: Tensor  # (blocks, cells)
    padded: bool = False


class Output(Protocol):
    """Which outputs of a batch count towards the loss."""

    def tiles(self, model: Autoencoder, states: Tensor, codes: Tensor) -> Iterator[Tile]:
        """Compute the tiles of the output layer one after the other, for the last hidden states and the targets."""

    def backpropagate(self, model: Autoencoder, tile: Tile, gradient: Tensor, states: Tensor, into: _Sums) -> None:
        """Add the gradients of the states and the output weights for the gradient of one tile's logits."""


@dataclass(frozen=True, eq=False)
class _Sums:
    """The gradients of all tiles, summed up."""

    states: Tensor
    exit: Tensor
    exit_bias: Tensor


@dataclass(frozen=True, eq=False)
class AllFeatures:
    """Every feature of every row counts."""

    layout: Layout

    def tiles(self, model: Autoencoder, states: Tensor, codes: Tensor) -> Iterator[Tile]:
        cells = TILE_CELLS_CUDA if states.device.type == "cuda" else TILE_CELLS_CPU
        for group in self.layout.groups:
            step = max(1, cells // (len(states) * group.classes))
            for start in range(0, len(group.features), step):
                features = torch.from_numpy(group.features[start : start + step]).to(states.device)
                places = group.items[start : start + step].T.reshape(-1)
                items = torch.from_numpy(places).to(states.device)
                logits = torch.addmm(model.exit_bias[items], states, model.exit[items].T)
                yield Tile(slice(None), items, logits.view(len(states), group.classes, -1), codes[:, features])

    def backpropagate(self, model: Autoencoder, tile: Tile, gradient: Tensor, states: Tensor, into: _Sums) -> None:
        flat = gradient.view(len(states), -1)
        into.states.addmm_(flat, model.exit[tile.items])
        into.exit[tile.items] = flat.T @ states
        into.exit_bias[tile.items] = flat.sum(dim=0)


@dataclass(frozen=True, eq=False)
class NearFeatures:
    """Only the centre of each block of rows and the neighbours of that centre count.

    Rows come in blocks that share a centre, so the cost of a step depends on the size of a neighbourhood and not on the
    number of features.

    Args:
        layout: How the items are numbered.
        neighbours: The neighbours of each feature.
        centres: The central feature of each block.
        per_block: Rows per block.
    """

    layout: Layout
    neighbours: Neighbours
    centres: Tensor
    per_block: int

    def tiles(self, model: Autoencoder, states: Tensor, codes: Tensor) -> Iterator[Tile]:
        device = states.device
        cells = TILE_CELLS_CUDA if device.type == "cuda" else TILE_CELLS_CPU
        features, items, absent = self._places(device)
        step = max(1, cells // max(1, items.shape[1] * max(self.per_block, model.exit.shape[1])))
        for low in range(0, len(self.centres), step):
            part = slice(low, low + step)
            blocks = len(items[part])
            rows = slice(low * self.per_block, (low + blocks) * self.per_block)
            near = states[rows].view(blocks, self.per_block, -1)
            logits = torch.baddbmm(
                model.exit_bias[items[part]].unsqueeze(-1), model.exit[items[part]], near.transpose(1, 2)
            )
            if absent is not None:
                logits.masked_fill_(absent[part].unsqueeze(-1), -torch.inf)
            wanted = features[part].unsqueeze(1).expand(-1, self.per_block, -1)
            targets = torch.gather(codes[rows].view(blocks, self.per_block, -1), 2, wanted.clamp(min=0))
            targets = targets.masked_fill_(wanted < 0, -1).transpose(1, 2).reshape(blocks, -1)
            yield Tile(rows, items[part], logits.view(blocks, -1, targets.shape[1]), targets, absent is not None)

    def _places(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the features per centre (padded with −1), their items class by class, and which do not exist."""
        centres = self.centres.cpu().numpy()
        starts = self.neighbours.starts
        sizes = starts[centres + 1] - starts[centres]
        steps = np.arange(int(sizes.max(initial=0)))
        listed = np.where(steps < sizes[:, None], starts[centres][:, None] + steps, -1)
        members = np.append(self.neighbours.members, -1)[listed]
        features = np.concatenate([centres[:, None], members], axis=1)
        classes = np.arange(int(self.layout.cardinalities[features].max(initial=1)))[:, None]
        items = self.layout.offsets[np.maximum(features, 0)][:, None, :] + classes
        absent = classes >= self.layout.cardinalities[np.maximum(features, 0)][:, None, :]
        # A padded feature keeps finite logits; its target is missing, so its gradient is zero.
        items = np.where(absent | (features < 0)[:, None, :], 0, items).reshape(len(centres), -1)
        absent = (absent & (features >= 0)[:, None, :] & (classes > 0)).reshape(len(centres), -1)
        return (
            torch.from_numpy(features).to(device),
            torch.from_numpy(items).to(device),
            torch.from_numpy(absent).to(device) if absent.any() else None,
        )

    def backpropagate(self, model: Autoencoder, tile: Tile, gradient: Tensor, states: Tensor, into: _Sums) -> None:
        blocks = len(tile.items)
        flat = gradient.view(blocks, -1, self.per_block)
        near = states[tile.rows].view(blocks, self.per_block, -1)
        into.states[tile.rows] = torch.bmm(flat.transpose(1, 2), model.exit[tile.items]).flatten(0, 1)
        places = tile.items.reshape(-1)
        into.exit.index_add_(0, places, torch.bmm(flat, near).flatten(0, 1))
        into.exit_bias.index_add_(0, places, flat.sum(dim=-1).reshape(-1))


@dataclass(frozen=True, eq=False)
class _Answers:
    """The probabilities of a tile, and what loss and gradient both need."""

    probabilities: Tensor  # (blocks, classes, cells)
    others: Tensor  # the same, one minus each
    place: Tensor  # (blocks, 1, cells): class of the target, zero where it is missing
    known: Tensor  # (blocks, cells)

    @staticmethod
    def of(tile: Tile) -> _Answers:
        probabilities = torch.softmax(tile.logits, dim=1)
        others = (1.0 - probabilities).clamp_(min=CLOSEST)
        place = tile.codes.clamp(min=0).long().unsqueeze(1)
        return _Answers(probabilities, others, place, tile.codes >= 0)


class _Mean:
    """The loss per output cell, summed in double precision over the tiles of a batch."""

    def __init__(self, device: torch.device) -> None:
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.cells = torch.zeros((), dtype=torch.float64, device=device)

    def add(self, tile: Tile, answers: _Answers) -> None:
        """Add a tile and overwrite ``answers.others``. Classes that a feature does not have are not counted."""
        hit = answers.probabilities.gather(1, answers.place).clamp_(min=CLOSEST)
        logs = answers.others.scatter_(1, answers.place, hit).log_().sum(dim=1)
        self.total -= (logs * answers.known).sum(dtype=torch.float64)
        if tile.padded:
            self.cells += (answers.known.unsqueeze(1) & (tile.logits > -torch.inf)).sum()
        else:
            self.cells += answers.known.sum() * tile.logits.shape[1]

    def value(self) -> Tensor:
        return self.total / self.cells.clamp(min=1.0)


def compute_loss(model: Autoencoder, first: Tensor, codes: Tensor, output: Output) -> Tensor:
    """Compute the mean binary cross-entropy; the arguments are those of ``compute_gradients``."""
    states = model.through(first)
    mean = _Mean(first.device)
    for tile in output.tiles(model, states, codes):
        mean.add(tile, _Answers.of(tile))
    return mean.value()


def compute_gradients(model: Autoencoder, first: Tensor, codes: Tensor, output: Output) -> Gradients:
    """Compute loss and gradients: the forward and backward pass after the first pre-activations.

    Args:
        model: The network.
        first: First pre-activations of the rows, which are overwritten.
        codes: The targets, −1 where a value is missing.
        output: Which outputs count.
    """
    states = run_hidden_layers(model, first)
    last = states[-1]
    sums = _Sums(torch.zeros_like(last), torch.zeros_like(model.exit), torch.zeros_like(model.exit_bias))
    mean = _Mean(first.device)
    for tile in output.tiles(model, last, codes):
        answers = _Answers.of(tile)
        gradient = (answers.probabilities / answers.others).scatter_(1, answers.place, -1.0)
        mean.add(tile, answers)
        gradient -= answers.probabilities.mul_(gradient.sum(dim=1, keepdim=True))
        gradient *= (answers.known * (1.0 / len(codes))).unsqueeze(1)
        output.backpropagate(model, tile, gradient, last, sums)
    back, inner = propagate_back(model, states, sums.states)
    return Gradients(mean.value(), back, inner, sums.exit, sums.exit_bias)


def run_hidden_layers(model: Autoencoder, first: Tensor) -> list[Tensor]:
    """Return the activations of all hidden layers, for first pre-activations, which are overwritten."""
    linear = model.linear_layer
    states = [first if linear == 0 else first.tanh_()]
    for layer, (weight, bias) in enumerate(model.hidden, start=1):
        state = torch.addmm(bias, states[-1], weight.T)
        states.append(state if linear == layer else state.tanh_())
    return states


def propagate_back(model: Autoencoder, states: list[Tensor], back: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return the gradients of the first pre-activations, and of the weights and biases between the hidden layers.

    Args:
        model: The network.
        states: The activations of all hidden layers.
        back: Gradients of the last of them, which are overwritten.
    """
    linear = model.linear_layer
    inner: list[Tensor] = []
    for layer in range(len(model.hidden), 0, -1):
        if linear != layer:
            back *= 1.0 - states[layer] * states[layer]
        inner[:0] = [back.T @ states[layer - 1], back.sum(dim=0)]
        back = back @ model.hidden[layer - 1][0]
    if linear != 0:
        back *= 1.0 - states[0] * states[0]
    return back, inner


@dataclass(frozen=True, eq=False)
class _Group:
    """Features with the same number of classes, whose outputs are consecutive, class by class."""

    start: int
    classes: int
    features: Tensor

    @property
    def items(self) -> slice:
        return slice(self.start, self.start + self.classes * len(self.features))


@dataclass(frozen=True, eq=False)
class WideOutput:
    """The output layer of a wide table, in an order of its own.

    Args:
        layout: How the items are numbered.
        offsets: The first item of each feature, and the number of items.
        order: The items in the order of the outputs.
        groups: Features with the same number of classes.
    """

    layout: Layout
    offsets: Tensor
    order: Tensor
    groups: tuple[_Group, ...]

    @staticmethod
    def of(layout: Layout, device: torch.device) -> WideOutput:
        """Prepare the output layer of a table."""
        groups, items, start = [], [np.empty(0, np.int64)], 0
        for group in layout.groups:
            groups.append(_Group(start, group.classes, torch.from_numpy(group.features).to(device)))
            items.append(group.items.T.reshape(-1))
            start += group.items.size
        order = torch.from_numpy(np.concatenate(items)).to(device)
        return WideOutput(layout, torch.from_numpy(layout.offsets).to(device), order, tuple(groups))

    def arranged(self, model: Autoencoder) -> Autoencoder:
        """Return a network with its outputs in this order."""
        return replace(model, exit=model.exit[self.order], exit_bias=model.exit_bias[self.order])

    def restored(self, model: Autoencoder) -> Autoencoder:
        """Return a network of this order with its outputs in the order of the items."""
        back = torch.argsort(self.order)
        return replace(model, exit=model.exit[back], exit_bias=model.exit_bias[back])

    def compute_loss(self, model: Autoencoder, first: Tensor, codes: Tensor) -> Tensor:
        """Compute the mean binary cross-entropy; the arguments are those of ``compute_gradients``."""
        states = run_hidden_layers(model, first)
        return self.answer_(torch.addmm(model.exit_bias, states[-1], model.exit.T), codes)[0]

    def compute_gradients(self, model: Autoencoder, first: Tensor, codes: Tensor) -> Gradients:
        """Compute loss and gradients: the forward and backward pass after the first pre-activations.

        Args:
            model: The network, with its outputs in this order.
            first: First pre-activations of the rows, which are overwritten.
            codes: The targets, −1 where a value is missing.
        """
        states = run_hidden_layers(model, first)
        gradient = torch.addmm(model.exit_bias, states[-1], model.exit.T)
        loss, bias = self.answer_(gradient, codes)
        outer = gradient.T @ states[-1]
        back, inner = propagate_back(model, states, gradient @ model.exit)
        return Gradients(loss, back, inner, outer, bias)

    def answer_(self, logits: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Replace logits by the gradient of the mean loss of a row.

        Args:
            logits: Rows × outputs, which are overwritten.
            codes: The targets, −1 where a value is missing.

        Returns:
            The mean loss of an output, and the sum of the gradients of each.
        """
        loss_sums = torch.zeros(2, dtype=torch.float64, device=logits.device)
        kernel = logits.device.type == "cuda" and find_spec("triton") is not None
        sums = _room_for_sums(logits) if kernel else logits
        for group in self.groups:
            found = _answer_on_device_(logits, codes, group, sums) if kernel else _answer_(logits, codes, group)
            loss_sums[0] += found[0]
            loss_sums[1] += found[1] * group.classes
        return loss_sums[0] / loss_sums[1].clamp(min=1.0), sums.sum(dim=0)

    def centre_(self, entry: Tensor) -> None:
        """Subtract the mean row of each feature's block from its rows."""
        if entry.device.type == "cuda" and find_spec("triton") is not None:
            from thence.search.aerial.device_kernels import centre_rows

            centre_rows(entry, self.offsets)
        else:
            centre_blocks(entry, self.layout)


def _room_for_sums(logits: Tensor) -> Tensor:
    from thence.search.aerial.device_kernels import ROWS

    return logits.new_empty(-(-len(logits) // ROWS), logits.shape[1])


def _answer_on_device_(logits: Tensor, codes: Tensor, group: _Group, sums: Tensor) -> Tensor:
    from thence.search.aerial.device_kernels import answer_group

    return answer_group(
        logits, codes, group.features, start=group.start, classes=group.classes, closest=CLOSEST, sums=sums
    )


def _answer_(logits: Tensor, codes: Tensor, group: _Group) -> Tensor:
    """Do what ``answer_group`` does; the gradients are summed up elsewhere."""
    share = torch.softmax(logits[:, group.items].view(len(logits), group.classes, -1), dim=1)
    rest = (1.0 - share).clamp_(min=CLOSEST)
    code = codes[:, group.features].long().unsqueeze(1)
    place, known = code.clamp(min=0), code >= 0
    own = (share / rest).scatter_(1, place, -1.0)
    gradient = (own - share * own.sum(dim=1, keepdim=True)) * (known * (1.0 / len(logits)))
    logits[:, group.items] = gradient.flatten(1)
    logs = rest.scatter_(1, place, share.gather(1, place).clamp_(min=CLOSEST)).log_()
    return torch.stack([-(logs * known).sum(dtype=torch.float64), known.sum(dtype=torch.float64)])
