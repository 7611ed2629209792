"""Adam on plain tensors.

The same steps as ``torch.optim.Adam``, which takes longer to import (it brings a compiler along) than a table of
twenty sensors takes to train. Long tensors are updated a cache-sized piece at a time. This module must not know what
the tensors mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["Adam"]

PIECE = 1 << 17


class Adam:
    """Adaptive steps for some tensors, which are changed in place.

    >>> weight = torch.ones(2)
    >>> Adam([weight], weight_decay=0.0).step([torch.tensor([1.0, -2.0])], learning_rate=0.1)
    >>> [round(float(value), 3) for value in weight]
    [0.9, 1.1]
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        *,
        weight_decay: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.tensors = [tensor.view(-1) for tensor in tensors]
        self.means = [torch.zeros_like(tensor) for tensor in self.tensors]
        self.squares = [torch.zeros_like(tensor) for tensor in self.tensors]
        self.weight_decay, self.betas, self.epsilon = weight_decay, betas, epsilon
        self.count = 0

    def step(self, slopes: Sequence[Tensor], *, learning_rate: float) -> None:
        """One step against the gradients, which are overwritten."""
        self.count += 1
        first, second = self.betas
        size = learning_rate / (1.0 - first**self.count)
        root = math.sqrt(1.0 - second**self.count)
        for tensor, slope, mean, square in zip(self.tensors, slopes, self.means, self.squares, strict=True):
            flat = slope.reshape(-1)
            piece = PIECE if tensor.device.type == "cpu" else max(len(tensor), 1)
            for low in range(0, len(tensor), piece):
                at = slice(low, low + piece)
                pull = flat[at].add_(tensor[at], alpha=self.weight_decay)
                moved = mean[at].lerp_(pull, 1.0 - first)
                spread = square[at].mul_(second).addcmul_(pull, pull, value=1.0 - second)
                tensor[at].addcdiv_(moved, spread.sqrt().div_(root).add_(self.epsilon), value=-size)
