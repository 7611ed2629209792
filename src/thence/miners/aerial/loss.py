"""The aggregated binary cross-entropy of the paper, with the softmax per feature and its gradient in closed form.

Output layer, softmax, loss and gradient run tile by tile over features with the same number of classes, so that the
probabilities of a whole batch never lie in memory at once. This module must not know how inputs are corrupted.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from thence.miners.aerial.autoencoder import Autoencoder, Layout

__all__ = ["Gradients", "Tile", "gradients", "reconstruction_loss", "tiles"]

# The gradient of a confidently wrong class is a small difference of large terms; below this distance from
# certainty float32 would lose it.
CLOSEST = 1e-4

TILE_CELLS_CPU = 1 << 18
TILE_CELLS_CUDA = 1 << 25


@dataclass(frozen=True, eq=False)
class Tile:
    """Some features with the same number of classes.

    ``items`` runs class by class, so that the softmax reduces over the middle axis of (rows × classes × features):
    on a CPU that is ten times as fast as over a short last axis.
    """

    classes: int
    features: Tensor
    items: Tensor  # (classes * features)


def tiles(layout: Layout, *, rows: int, device: torch.device) -> tuple[Tile, ...]:
    """Cut the output layer so that one tile of a batch of ``rows`` stays in cache."""
    cells = TILE_CELLS_CUDA if device.type == "cuda" else TILE_CELLS_CPU
    cut = []
    for group in layout.groups:
        step = max(1, cells // (rows * group.classes))
        for start in range(0, len(group.features), step):
            features, items = group.features[start : start + step], group.items[start : start + step]
            cut.append(
                Tile(
                    group.classes,
                    torch.from_numpy(features).to(device),
                    torch.from_numpy(items.T.reshape(-1)).to(device),
                )
            )
    return tuple(cut)


@dataclass(frozen=True, eq=False)
class Gradients:
    """Loss of a batch and the gradient of each layer behind the first pre-activation."""

    loss: Tensor
    first: Tensor  # (rows, width) with respect to the first pre-activation
    inner: list[Tensor]  # weight and bias per hidden layer, in order
    exit: Tensor
    exit_bias: Tensor


def _tile_output(
    weight: Tensor, bias: Tensor, state: Tensor, targets: Tensor, classes: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Probabilities, hits, distance from error and presence of one tile (rows × classes × features)."""
    logits = torch.addmm(bias, state, weight.T)
    probabilities = torch.softmax(logits.view(len(state), classes, -1), dim=1)
    codes = targets.unsqueeze(1)
    hits = codes == torch.arange(classes, dtype=codes.dtype, device=codes.device).unsqueeze(-1)
    right = torch.where(hits, probabilities, 1.0 - probabilities).clamp_(min=CLOSEST)
    return probabilities, hits, right, codes >= 0


def _known_cells(model: Autoencoder, targets: Tensor) -> Tensor:
    """Number of output cells with a known target, at least one."""
    classes = torch.as_tensor(model.layout.cardinalities, dtype=torch.float64, device=targets.device)
    return ((targets >= 0).sum(dim=0).to(torch.float64) @ classes).clamp(min=1.0)


def reconstruction_loss(model: Autoencoder, first: Tensor, targets: Tensor, cut: tuple[Tile, ...]) -> Tensor:
    """Mean binary cross-entropy over all items of the features whose target is known."""
    state = model.through(first)
    total = torch.zeros((), dtype=torch.float64, device=first.device)
    for tile in cut:
        _, _, right, known = _tile_output(
            model.exit[tile.items],
            model.exit_bias[tile.items],
            state,
            targets[:, tile.features],
            tile.classes,
        )
        total -= (right.log_() * known).sum(dtype=torch.float64)
    return total / _known_cells(model, targets)


def gradients(model: Autoencoder, first: Tensor, targets: Tensor, cut: tuple[Tile, ...]) -> Gradients:
    """Forward and backward pass behind the first pre-activation, which is overwritten."""
    states = [first.tanh_()]
    for weight, bias in model.hidden:
        states.append(torch.addmm(bias, states[-1], weight.T).tanh_())
    last = states[-1]
    scale = (1.0 / _known_cells(model, targets)).to(first.dtype)
    back = torch.zeros_like(last)
    exit_gradient, exit_bias_gradient = torch.empty_like(model.exit), torch.empty_like(model.exit_bias)
    total = torch.zeros((), dtype=torch.float64, device=first.device)
    for tile in cut:
        weight = model.exit[tile.items]
        probabilities, hits, right, known = _tile_output(
            weight, model.exit_bias[tile.items], last, targets[:, tile.features], tile.classes
        )
        slope = (probabilities / right).masked_fill_(hits, -1.0)
        total -= (right.log_() * known).sum(dtype=torch.float64)
        slope -= probabilities.mul_(slope.sum(dim=1, keepdim=True))
        slope *= known * scale
        flat = slope.view(len(last), -1)
        back.addmm_(flat, weight)
        exit_gradient[tile.items] = flat.T @ last
        exit_bias_gradient[tile.items] = flat.sum(dim=0)
    inner: list[Tensor] = []
    for (weight, _), after, before in zip(
        reversed(model.hidden), reversed(states[1:]), reversed(states[:-1]), strict=True
    ):
        back *= 1.0 - after * after
        inner[:0] = [back.T @ before, back.sum(dim=0)]
        back = back @ weight
    back *= 1.0 - states[0] * states[0]
    return Gradients(total * scale, back, inner, exit_gradient, exit_bias_gradient)
