"""Training steps on very wide tables, recorded once and replayed.

A step is some eighty small calls to a graphics processor, which take longer to make than to run. After a few steps that
were made one call at a time, a step is recorded and replayed with other rows. This module must not know about epochs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from thence.search.aerial.adam import Adam
from thence.search.aerial.autoencoder import Autoencoder
from thence.search.aerial.wide_loss import WideOutput
from thence.search.torch_runtime import product_precision

__all__ = ["WideSteps", "sum_by_item_at_once"]

UNRECORDED = 3
"""Steps before one is recorded: libraries prepare themselves in the first ones."""


class WideSteps:
    """Steps that change the weights of an optimiser.

    Args:
        model: The network; its weights are the tensors of the optimiser, its outputs in the order of ``output``.
        output: The output layer.
        optimiser: The optimiser.
        rows: Rows of a usual step. Steps with other numbers of rows are not recorded.
        shown: The largest number of visible features.
    """

    def __init__(self, model: Autoencoder, output: WideOutput, optimiser: Adam, *, rows: int, shown: int) -> None:
        self.model, self.output, self.optimiser = model, output, optimiser
        self.n_items = model.layout.n_items
        self.rate = torch.zeros((), device=model.device)
        self.loss = torch.zeros((), dtype=torch.float64, device=model.device)
        self.items = torch.full((rows, shown), self.n_items, device=model.device)
        self.codes: Tensor | None = None
        self.recorded: Any = None
        self.made = 0

    def make(self, codes: Tensor, items: Tensor, rate: float) -> None:
        """Make a step, and add its loss to ``loss``.

        Args:
            codes: The targets, −1 where a value is missing.
            items: The visible items of each row, and the number of items where fewer are visible.
            rate: The learning rate.
        """
        self.rate.fill_(rate)
        self.made += 1
        usual = codes.device.type == "cuda" and len(codes) == len(self.items) and items.shape[1] <= self.items.shape[1]
        if not usual or self.made <= UNRECORDED:
            self._make(codes, items)
            return
        if self.codes is None:
            self.codes = torch.empty_like(codes)
        self.codes.copy_(codes)
        self.items[:, : items.shape[1]] = items
        self.items[:, items.shape[1] :] = self.n_items
        if self.recorded is None:
            self.recorded = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.recorded):
                self._make(self.codes, self.items)
        self.recorded.replay()

    def judge(self, codes: Tensor, items: Tensor) -> Tensor:
        """Return the mean loss of some rows; the arguments are those of ``make``."""
        with product_precision("high"):
            return self.output.compute_loss(self.model, self._first_layer(items), codes)

    def _make(self, codes: Tensor, items: Tensor) -> None:
        with product_precision("high"):
            found = self.output.compute_gradients(self.model, self._first_layer(items), codes)
        self.loss += found.loss
        entry = sum_by_item_at_once(items, found.first, self.n_items)
        gradients = [entry, found.first.sum(dim=0), *found.inner, found.exit, found.exit_bias]
        self.optimiser.step_at_once(gradients, learning_rate=self.rate)
        # Adam's steps do not keep the blocks centred: see ``training``.
        self.output.centre_(self.model.entry)

    def _first_layer(self, items: Tensor) -> Tensor:
        """Return the first pre-activations, without a copy of the weights for what is not shown."""
        entry = self.model.entry
        shown = (items < self.n_items).to(entry.dtype)
        places = items.clamp(max=self.n_items - 1)
        added = torch.nn.functional.embedding_bag(places, entry, mode="sum", per_sample_weights=shown)
        return added.add_(self.model.entry_bias)


def sum_by_item_at_once(items: Tensor, gradients: Tensor, n_items: int) -> Tensor:
    """Sum the gradients of the rows that show each item, all in one call. What is not shown goes to spare places.

    Args:
        items: The visible items of each row, and the number of items where fewer are visible.
        gradients: One gradient per row.
        n_items: The number of items.

    Examples:
        >>> sum_by_item_at_once(torch.tensor([[0, 1], [1, 3]]), torch.tensor([[1.0], [2.0]]), 3).flatten().tolist()
        [1.0, 3.0, 0.0]
    """
    rows, shown = items.shape
    spare = n_items + torch.arange(rows, device=items.device).unsqueeze(1)
    places = torch.where(items < n_items, items, spare)
    total = torch.zeros(n_items + rows, gradients.shape[1], device=gradients.device)
    total.index_add_(0, places.reshape(-1), gradients.repeat_interleave(shown, dim=0))
    return total[:n_items]
