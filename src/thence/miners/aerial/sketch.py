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
STEP = 16
"""Dimensions are tried in such steps."""
AGAIN = 3.0
"""What is computed again one by one takes so many times as long as in one product."""
WORTHWHILE = 0.8
"""The share of the work of a full product above which a sketch is not worth it."""


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
        """The largest error per feature, per distance."""
        return np.asarray(self.apart.max(axis=(1, 2), initial=0.0))

    @staticmethod
    def of(states: Tensor, weight: Tensor, bias: Tensor, *, classes: int, lead: float) -> Sketch | None:
        """The sketch that saves most for some typical states and the lead that is looked for; ``None`` where none does.

        Output rows stand class by class: the cells of the first class of all features, then those of the second.
        """
        width = states.shape[1]
        if width < LEAST_WIDTH or len(weight) < LEAST_CELLS:
            return None
        centre = states.mean(dim=0)
        directions = torch.linalg.eigh(torch.cov(states.T)).eigenvectors.flip(1)
        best, cheapest = None, WORTHWHILE
        for dimensions in range(STEP, width, STEP):
            if dimensions / width >= cheapest:
                break
            few = directions[:, :dimensions].contiguous()
            sketch = Sketch.along(few, centre, weight, bias, classes=classes)
            cost = dimensions / width + AGAIN * sketch.undecided(states[:LEAST_STATES], lead)
            if cost < cheapest:
                best, cheapest = sketch, cost
        return best

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

    def undecided(self, states: Tensor, lead: float) -> float:
        """The share of features in which some class may have such a lead, as far as the sketch can tell."""
        logits, reach = self.logits(states)
        highest = logits.view(len(states), -1, len(self.loose)).topk(min(2, self.apart.shape[1]), dim=1).values
        slack = torch.from_numpy(np.outer(reach, self.loose))
        return float((highest[:, 0] - highest[:, -1] > lead - slack).float().mean())
