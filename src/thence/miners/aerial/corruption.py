"""What training hides from the network: all but a few features, or everything a little.

``mask`` leaves as many features visible as an extraction query marks and puts the rest at the unknown block, so that
training asks the network exactly what extraction will ask. ``gaussian`` is the paper's way: noise on the one-hot
input, clipped to [0, 1]. This module must not know about gradients or epochs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.miners.aerial.autoencoder import Autoencoder, Layout

__all__ = ["Neighbours", "VisibleFeatures", "noisy_input", "visible_items"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Which features may stand together: for feature ``f``, ``members[starts[f] : starts[f + 1]]``, ascending.

    The relation is symmetric and no feature is its own neighbour. Memory grows with the number of pairs that are
    listed, never with the square of the number of features.

    >>> near = Neighbours.of([[1], [0, 2], [1]])
    >>> near.of_feature(1).tolist()
    [0, 2]
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int64]

    @staticmethod
    def of(relation: object) -> Neighbours:
        """From one list of features per feature, or from a square boolean matrix; made symmetric."""
        raise RuntimeError

    def of_feature(self, feature: int) -> NDArray[np.int64]:
        """The features that may stand beside this one."""
        return self.members[self.starts[feature] : self.starts[feature + 1]]


def visible_features(n_features, rows, low, high, generator, device, neighbours=None):
    high = min(high, n_features)
    low = min(low, high)
    picks = []
    for drawn in range(high):
        pick = torch.randint(0, n_features - drawn, (rows,), generator=generator, device=device)
        # Skip what was drawn before: walking through the earlier picks in ascending order keeps the draw uniform.
        for earlier in (torch.stack(picks, 1).sort(dim=1).values.unbind(1) if picks else ()):
            pick += pick >= earlier
        picks.append(pick)
    count = torch.randint(low, high + 1, (rows,), generator=generator, device=device)
    return torch.stack(picks, 1), count
