"""Adam on plain tensors.

The same steps as ``torch.optim.Adam``, which takes longer to import (it imports a compiler) than a table of twenty
sensors takes to train. All weights are in one buffer: a network has a dozen small tensors, and six operations on each
of them would take longer than the arithmetic. Long buffers are updated one cache-sized piece at a time. This module
must not know what the tensors mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["Adam"]

PIECE = 1 << 17


class Adam:
    """Adam on copies of some tensors. ``tensors`` are views of one buffer, ``flat``, which is changed in place.

    Args:
        start: The initial tensors, which are copied.
        weight_decay: L2 penalty, added to the gradients.
        betas: Decay rates of the running mean and of the running mean square.
        epsilon: Added to the denominator.

    Examples:
        >>> optimiser = Adam([torch.ones(2)], weight_decay=0.0)
        >>> optimiser.step([torch.tensor([1.0, -2.0])], learning_rate=0.1)
        >>> [round(float(value), 3) for value in optimiser.tensors[0]]
        [0.9, 1.1]
    """

    def __init__(
        self,
        start: Sequence[Tensor],
        *,
        weight_decay: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.shapes = [tensor.shape for tensor in start]
        self.flat = torch.cat([tensor.detach().reshape(-1) for tensor in start])
        self.tensors = self.views(self.flat)
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.weight_decay, self.betas, self.epsilon = weight_decay, betas, epsilon
        self.count = 0
        self.counted = torch.zeros((), device=self.flat.device)  # by ``step_at_once``

    def views(self, flat: Tensor) -> list[Tensor]:
        """Return a buffer as tensors with the initial shapes, without a copy."""
        parts = torch.split(flat, [shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def step(self, gradients: Sequence[Tensor], *, learning_rate: float) -> None:
        """Make one step against the gradients, which are given in the order of the tensors."""
        self.count += 1
        first, second = self.betas
        size = learning_rate / (1.0 - first**self.count)
        root = math.sqrt(1.0 - second**self.count)
        gradient = torch.cat([tensor.reshape(-1) for tensor in gradients])
        piece = PIECE if gradient.device.type == "cpu" else max(len(gradient), 1)
        for low in range(0, len(gradient), piece):
            at = slice(low, low + piece)
            pull = gradient[at].add_(self.flat[at], alpha=self.weight_decay)
            moved = self.mean[at].lerp_(pull, 1.0 - first)
            spread = self.square[at].mul_(second).addcmul_(pull, pull, value=1.0 - second)
            self.flat[at].addcdiv_(moved, spread.sqrt().div_(root).add_(self.epsilon), value=-size)

    def step_at_once(self, gradients: Sequence[Tensor], *, learning_rate: Tensor) -> None:
        """Make the same step in one pass over the weights, on a graphics processor; the last digits may differ.

        It can be recorded and replayed: learning rate and number of steps are on the device.
        """
        self.counted += 1.0
        first, second = self.betas
        torch._fused_adam_(
            self.tensors,
            list(gradients),
            self.views(self.mean),
            self.views(self.square),
            [],
            [self.counted] * len(self.tensors),
            lr=learning_rate,
            beta1=first,
            beta2=second,
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
