"""A network laid out for searching: what marking an item changes, and the output rows per feature.

Every query is ``z0 + sum(D[item])`` over its marked items, and the probability of one item needs only the output rows
of its own feature. Results that fall too close to a threshold to be decided in single precision are decided again in
double precision, so that the rules do not depend on batch size, chunks or device. This module must not enumerate
combinations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.miners.aerial.autoencoder import Autoencoder

__all__ = ["Frame", "UNSURE", "full_precision"]

UNSURE = 1e-4
"""Distance from a threshold within which single precision is not trusted; its error is some 1e-6."""


@contextmanager
def full_precision() -> Iterator[None]:
    """Matrix products in true float32, whatever the caller chose for training elsewhere."""
    chosen = torch.get_float32_matmul_precision()
    if chosen == "highest":
        yield
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(chosen)


@dataclass(frozen=True, eq=False)
class Frame:
    """A network ready for queries, in single and (for close calls) double precision."""

    model: Autoencoder
    origin: Tensor
    deltas: Tensor
    exact: Frame | None

    @staticmethod
    def of(model: Autoencoder) -> Frame:
        """Prepare a network; the double-precision twin stays on the same device."""
        twin = model.to(model.device, torch.float64)
        origin, deltas = twin.origin_and_deltas()
        single = model.to(model.device, torch.float32)
        return Frame(
            single,
            origin.to(torch.float32),
            deltas.to(torch.float32),
            Frame(twin, origin, deltas, None),
        )

    @property
    def device(self) -> torch.device:
        return self.model.device

    def states(self, items: NDArray[np.int64]) -> Tensor:
        """Last hidden activation of queries given by their items (queries × marked)."""
        marked = torch.from_numpy(items).to(self.device)
        first = self.origin + self.deltas[marked[:, 0]]
        for slot in range(1, marked.shape[1]):
            first += self.deltas[marked[:, slot]]
        return self.model.through(first)

    def marked_probability(self, states: Tensor, items: NDArray[np.int64]) -> Tensor:
        """Output probability of one item per state: its softmax within its own feature."""
        layout = self.model.layout
        found = torch.empty(len(items), dtype=states.dtype, device=self.device)
        owners = layout.feature_of_item[items]
        order = np.argsort(owners, kind="stable")
        cuts = np.flatnonzero(np.diff(owners[order])) + 1
        for part in np.split(order, cuts) if len(order) else ():
            feature = owners[part[0]]
            low, high = int(layout.offsets[feature]), int(layout.offsets[feature + 1])
            rows = torch.from_numpy(part).to(self.device)
            logits = torch.addmm(
                self.model.exit_bias[low:high], states[rows], self.model.exit[low:high].T
            )
            own = torch.from_numpy(items[part] - low).to(self.device)
            found[rows] = share_of(logits, own)
        return found


def share_of(logits: Tensor, own: Tensor) -> Tensor:
    """Softmax of one entry per row, as one over the sum of the others relative to it."""
    reference = torch.gather(logits, -1, own.unsqueeze(-1))
    return (logits - reference).exp_().sum(dim=-1).reciprocal_()
