"""The aggregated binary cross-entropy of the paper, with the softmax per feature and its gradient in closed form.

Output layer, softmax, loss and gradient run in tiles, so that the probabilities of a whole batch never lie in memory
at once. ``AllFeatures`` compares every feature with its target; ``NearFeatures`` only those around the
features that are shown, which is all that a search with neighbours will ask for. This module must not know how
inputs are corrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from thence.miners.aerial.autoencoder import Autoencoder, Layout
from thence.miners.neighbours import Neighbours

__all__ = ["AllFeatures", "Gradients", "NearFeatures", "Output", "gradients", "reconstruction_loss"]

# The gradient of a confidently wrong class is a small difference of large terms; below this distance from
# certainty float32 would lose it.
CLOSEST = 1e-4

TILE_CELLS_CPU = 1 << 18
TILE_CELLS_CUDA = 1 << 25


@dataclass(frozen=True, eq=False)
class Gradients:
    """Mean loss of a batch per output cell, and the gradient of its mean loss per row.

    The two differ by a factor that Adam does not see; per row, the gradients of wide tables stay away from Adam's
    epsilon.
    """

    loss: Tensor
    first: Tensor  # (rows, width) with respect to the first pre-activation
    inner: list[Tensor]  # weight and bias per hidden layer, in order
    exit: Tensor
    exit_bias: Tensor


@dataclass(frozen=True, eq=False)
class Tile:
    """Part of the output layer: blocks of states, the output rows they are multiplied with, and their targets.

    All three lie so that the softmax reduces over the middle axis of (blocks × classes × cells): on a CPU that is ten
    times as fast as over a short last axis.
    """

    rows: slice
    items: Tensor  # (classes * features), or (blocks, classes * features)
    logits: Tensor  # (blocks, classes, cells); minus infinity where a feature has fewer classes
    codes: Tensor  # (blocks, cells)
    padded: bool = False


class Output(Protocol):
    """Which outputs of a batch count."""

    def tiles(self, model: Autoencoder, states: Tensor, codes: Tensor) -> Iterator[Tile]:
        """The parts of the output layer, computed one after the other."""

    def pull(self, model: Autoencoder, tile: Tile, slope: Tensor, states: Tensor, into: _Sums) -> None:
        """Carry the gradient of one part back to the states and the output weights."""


@dataclass(frozen=True, eq=False)
class _Sums:
    """Where the gradients of the parts are gathered."""

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

    def pull(self, model: Autoencoder, tile: Tile, slope: Tensor, states: Tensor, into: _Sums) -> None:
        flat = slope.view(len(states), -1)
        into.states.addmm_(flat, model.exit[tile.items])
        into.exit[tile.items] = flat.T @ states
        into.exit_bias[tile.items] = flat.sum(dim=0)


@dataclass(frozen=True, eq=False)
class NearFeatures:
    """Only the centre of each block of rows and the neighbours of that centre count.

    Rows come in blocks of ``per_block`` that share a centre, so the cost of a step follows the size of a
    neighbourhood and not the number of features.
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
        """Features per centre (padded with −1), their items class by class, and which of those do not exist."""
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
        # A padded feature keeps finite logits; its target is unknown, so nothing flows back.
        items = np.where(absent | (features < 0)[:, None, :], 0, items).reshape(len(centres), -1)
        absent = (absent & (features >= 0)[:, None, :] & (classes > 0)).reshape(len(centres), -1)
        return (
            torch.from_numpy(features).to(device),
            torch.from_numpy(items).to(device),
            torch.from_numpy(absent).to(device) if absent.any() else None,
        )

    def pull(self, model: Autoencoder, tile: Tile, slope: Tensor, states: Tensor, into: _Sums) -> None:
        blocks = len(tile.items)
        flat = slope.view(blocks, -1, self.per_block)
        near = states[tile.rows].view(blocks, self.per_block, -1)
        into.states[tile.rows] = torch.bmm(flat.transpose(1, 2), model.exit[tile.items]).flatten(0, 1)
        places = tile.items.reshape(-1)
        into.exit.index_add_(0, places, torch.bmm(flat, near).flatten(0, 1))
        into.exit_bias.index_add_(0, places, flat.sum(dim=-1).reshape(-1))


@dataclass(frozen=True, eq=False)
class _Answers:
    """What a tile says, with everything that loss and gradient both need."""

    probabilities: Tensor  # (blocks, classes, cells)
    others: Tensor  # the same, one minus each
    place: Tensor  # (blocks, 1, cells): class of the target, zero where it is unknown
    known: Tensor  # (blocks, cells)

    @staticmethod
    def of(tile: Tile) -> _Answers:
        probabilities = torch.softmax(tile.logits, dim=1)
        others = (1.0 - probabilities).clamp_(min=CLOSEST)
        place = tile.codes.clamp(min=0).long().unsqueeze(1)
        return _Answers(probabilities, others, place, tile.codes >= 0)


class _Mean:
    """Loss per output cell, summed in double precision over the parts of a batch."""

    def __init__(self, device: torch.device) -> None:
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.cells = torch.zeros((), dtype=torch.float64, device=device)

    def add(self, tile: Tile, answers: _Answers) -> None:
        """Add a part; one minus the probabilities is overwritten. A class that a feature does not have is no cell."""
        hit = answers.probabilities.gather(1, answers.place).clamp_(min=CLOSEST)
        logs = answers.others.scatter_(1, answers.place, hit).log_().sum(dim=1)
        self.total -= (logs * answers.known).sum(dtype=torch.float64)
        if tile.padded:
            self.cells += (answers.known.unsqueeze(1) & (tile.logits > -torch.inf)).sum()
        else:
            self.cells += answers.known.sum() * tile.logits.shape[1]

    def value(self) -> Tensor:
        return self.total / self.cells.clamp(min=1.0)


def reconstruction_loss(model: Autoencoder, first: Tensor, codes: Tensor, output: Output) -> Tensor:
    """Mean binary cross-entropy over the outputs whose target is known; ``first`` is overwritten."""
    states = model.through(first)
    mean = _Mean(first.device)
    for tile in output.tiles(model, states, codes):
        mean.add(tile, _Answers.of(tile))
    return mean.value()


def gradients(model: Autoencoder, first: Tensor, codes: Tensor, output: Output) -> Gradients:
    """Forward and backward pass behind the first pre-activation, which is overwritten."""
    states = [first.tanh_()]
    for weight, bias in model.hidden:
        states.append(torch.addmm(bias, states[-1], weight.T).tanh_())
    last = states[-1]
    sums = _Sums(torch.zeros_like(last), torch.zeros_like(model.exit), torch.zeros_like(model.exit_bias))
    mean = _Mean(first.device)
    for tile in output.tiles(model, last, codes):
        answers = _Answers.of(tile)
        slope = (answers.probabilities / answers.others).scatter_(1, answers.place, -1.0)
        mean.add(tile, answers)
        slope -= answers.probabilities.mul_(slope.sum(dim=1, keepdim=True))
        slope *= (answers.known * (1.0 / len(codes))).unsqueeze(1)
        output.pull(model, tile, slope, last, sums)
    back = sums.states
    inner: list[Tensor] = []
    for (weight, _), after, before in zip(
        reversed(model.hidden), reversed(states[1:]), reversed(states[:-1]), strict=True
    ):
        back *= 1.0 - after * after
        inner[:0] = [back.T @ before, back.sum(dim=0)]
        back = back @ weight
    back *= 1.0 - states[0] * states[0]
    return Gradients(mean.value(), back, inner, sums.exit, sums.exit_bias)
