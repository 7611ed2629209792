"""Outputs in fewer dimensions, with a bound on the error.

The last hidden states of a wide network vary in few directions. Outputs along these directions alone take a fraction of
the work, and the error of the difference between two logits of a feature is at most a constant of the feature times
the distance of the state from those directions. If a class is below a high threshold even with that error, the whole
product is not needed. This module must not decide what a rule is.
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
"""The fewest states from which their main directions can be estimated."""
LEAST_WIDTH, LEAST_CELLS = 96, 1000
"""Smaller networks gain nothing from a sketch."""
STEP, LARGEST_SHARE = 16, 3
"""Numbers of dimensions are tried in these steps, up to a third of the width."""
TOLERABLE = 0.25
"""The largest error of a typical feature, as a share of the lead."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A few directions of the states, and the outputs along them.

    Args:
        centre: Mean state.
        directions: Orthonormal directions, width × dimensions.
        weight: Output weights along the directions, cells × dimensions.
        bias: Outputs at the centre.
        apart: Features × classes × classes: the error of the difference of two logits, per unit of distance.
    """

    centre: Tensor  # (width,)
    directions: Tensor  # (width, dimensions)
    weight: Tensor  # (cells, dimensions)
    bias: Tensor  # (cells,), at the centre
    apart: NDArray[np.float32]  # (features, classes, classes): error of one logit against another, per distance

    @cached_property
    def loose(self) -> NDArray[np.float32]:
        """The largest entry of ``apart`` per feature."""
        return np.asarray(self.apart.max(axis=(1, 2), initial=0.0))

    @staticmethod
    def of(states: Tensor, weight: Tensor, bias: Tensor, *, classes: int, lead: float) -> Sketch | None:
        """Make the smallest sketch that is accurate enough for typical states, or ``None`` if it would not help.

        Args:
            states: Typical states.
            weight: Output weights class by class: the first class of all features, then the second, and so on.
            bias: Output biases in the same order.
            classes: The number of classes of each feature.
            lead: By how much the logit of a likely class exceeds the others.
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
        """Make a sketch along given orthonormal directions; the other arguments are those of ``of``."""
        along = weight @ directions
        rest = (weight - along @ directions.T).view(classes, -1, weight.shape[1]).transpose(0, 1)
        apart = torch.cdist(rest, rest, compute_mode="donot_use_mm_for_euclid_dist")
        return Sketch(centre, directions, along, torch.addmv(bias, weight, centre), apart.numpy())

    def logits(self, states: Tensor) -> tuple[Tensor, NDArray[np.float32]]:
        """Return approximate logits of all cells, and the distance of each state from the directions."""
        moved = states - self.centre
        along = moved @ self.directions
        reach = (moved - along @ self.directions.T).norm(dim=1)
        return torch.addmm(self.bias, along, self.weight.T), reach.numpy()
