"""Outputs in fewer dimensions, with a bound on what that leaves out.

The last hidden states of a wide network vary in few directions. The outputs along these alone take a fraction of the
work, and how far a feature's logits can then be off against each other is at most a number of the feature times the
distance of the state from those directions. Where a high threshold is far away even so, the whole product is not
needed. This module must not decide what a rule is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["LEAST_STATES", "Sketch"]

LEAST_STATES = 512
"""States that it takes to see in which directions they vary."""
LEAST_WIDTH, LEAST_CELLS = 96, 1000
"""Smaller networks gain nothing."""
STEP, LARGEST_SHARE = 16, 3
"""Dimensions are tried in such steps, up to the third part of all."""
TOLERABLE = 0.25
"""How far, as a share of the lead that is looked for, a typical feature may be off."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A few directions of the states, and the outputs along them."""

    centre: Tensor  # (width,)
    directions: Tensor  # (width, dimensions)
    weight: Tensor  # (cells, dimensions)
    bias: Tensor  # (cells,), at the centre
    apart: NDArray[np.float32]  # (features, classes, classes): error of one logit against another, per distance

    @cached_property
    def loose(self) -> NDArray[np.float32]:
        """The largest of these per feature."""
        return np.asarray(self.apart.max(axis=(1, 2), initial=0.0))

    @staticmethod
    def of(states: Tensor, weight: Tensor, bias: Tensor, *, classes: int, lead: float) -> Sketch | None:
        """The smallest sketch that is close enough for some typical states, or ``None`` where it would not help.

        Output rows stand class by class: the cells of the first class of all features, then those of the second.
        """
        width = states.shape[1]
        if width < LEAST_WIDTH or len(weight) < LEAST_CELLS:
            return None
        centre = states.mean(dim=0)
        directions = torch.linalg.eigh(torch.cov(states.T)).eigenvectors.flip(1)
        for dimensions in range(STEP, width // LARGEST_SHARE + 1, STEP):
            few = directions[:, :dimensions].contiguous()
            sketch = Sketch.along(few, centre, weight, bias, classes=classes)
            _, reach = sketch.logits(states[:LEAST_STATES])
            if np.median(sketch.loose) * np.median(reach) <= TOLERABLE * lead:
                return sketch
        return None

    @staticmethod
    def along(directions: Tensor, centre: Tensor, weight: Tensor, bias: Tensor, *, classes: int) -> Sketch:
        """A sketch along given orthonormal directions."""
        along = weight @ directions
        rest = (weight - along @ directions.T).view(classes, -1, weight.shape[1]).transpose(0, 1)
        apart = torch.cdist(rest, rest, compute_mode="donot_use_mm_for_euclid_dist")
        return Sketch(centre, directions, along, torch.addmv(bias, weight, centre), apart.numpy())

    def logits(self, states: Tensor) -> tuple[Tensor, NDArray[np.float32]]:
        """Approximate logits of all cells, and each state's distance from the directions."""
        moved = states - self.centre
        along = moved @ self.directions
        reach = (moved - along @ self.directions.T).norm(dim=1)
        return torch.addmm(self.bias, along, self.weight.T), reach.numpy()
