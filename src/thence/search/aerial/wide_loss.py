"""Loss and gradients of very wide tables on a graphics processor.

The same as ``loss`` with ``AllFeatures``, for tables whose every step takes longer to read and write its outputs than
to compute them: the output weights are kept class by class, the logits of a batch are written once, and a kernel
replaces them by their gradient. Products are rounded to 11 bits (TF32), which training does not notice. Without Triton,
tensors do the work of the kernel. This module must not know how inputs are corrupted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from thence.search.aerial.autoencoder import Autoencoder, Layout, centre_blocks
from thence.search.aerial.loss import CLOSEST, Gradients, propagate_back, run_hidden_layers

__all__ = ["WideOutput"]


@dataclass(frozen=True, eq=False)
class _Group:
    """Features with the same number of classes, whose outputs are consecutive, class by class."""

    start: int
    classes: int
    features: Tensor

    @property
    def items(self) -> slice:
        return slice(self.start, self.start + self.classes * len(self.features))


@dataclass(frozen=True, eq=False)
class WideOutput:
    """The output layer of a wide table, in an order of its own.

    Args:
        layout: How the items are numbered.
        offsets: The first item of each feature, and the number of items.
        order: The items in the order of the outputs.
        groups: Features with the same number of classes.
    """

    layout: Layout
    offsets: Tensor
    order: Tensor
    groups: tuple[_Group, ...]

    @staticmethod
    def of(layout: Layout, device: torch.device) -> WideOutput:
        """Prepare the output layer of a table."""
        groups, items, start = [], [np.empty(0, np.int64)], 0
        for group in layout.groups:
            groups.append(_Group(start, group.classes, torch.from_numpy(group.features).to(device)))
            items.append(group.items.T.reshape(-1))
            start += group.items.size
        order = torch.from_numpy(np.concatenate(items)).to(device)
        return WideOutput(layout, torch.from_numpy(layout.offsets).to(device), order, tuple(groups))

    def arranged(self, model: Autoencoder) -> Autoencoder:
        """Return a network with its outputs in this order."""
        return replace(model, exit=model.exit[self.order], exit_bias=model.exit_bias[self.order])

    def restored(self, model: Autoencoder) -> Autoencoder:
        """Return a network of this order with its outputs in the order of the items."""
        back = torch.argsort(self.order)
        return replace(model, exit=model.exit[back], exit_bias=model.exit_bias[back])

    def compute_loss(self, model: Autoencoder, first: Tensor, codes: Tensor) -> Tensor:
        """Compute the mean binary cross-entropy; the arguments are those of ``compute_gradients``."""
        states = run_hidden_layers(model, first)
        return self.answer_(torch.addmm(model.exit_bias, states[-1], model.exit.T), codes)[0]

    def compute_gradients(self, model: Autoencoder, first: Tensor, codes: Tensor) -> Gradients:
        """Compute loss and gradients: the forward and backward pass after the first pre-activations.

        Args:
            model: The network, with its outputs in this order.
            first: First pre-activations of the rows, which are overwritten.
            codes: The targets, −1 where a value is missing.
        """
        states = run_hidden_layers(model, first)
        gradient = torch.addmm(model.exit_bias, states[-1], model.exit.T)
        loss, bias = self.answer_(gradient, codes)
        outer = gradient.T @ states[-1]
        back, inner = propagate_back(model, states, gradient @ model.exit)
        return Gradients(loss, back, inner, outer, bias)

    def answer_(self, logits: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Replace logits by the gradient of the mean loss of a row.

        Args:
            logits: Rows × outputs, which are overwritten.
            codes: The targets, −1 where a value is missing.

        Returns:
            The mean loss of an output, and the sum of the gradients of each.
        """
        told = torch.zeros(2, dtype=torch.float64, device=logits.device)
        kernel = logits.device.type == "cuda" and find_spec("triton") is not None
        sums = _room_for_sums(logits) if kernel else logits
        for group in self.groups:
            found = _answer_on_device_(logits, codes, group, sums) if kernel else _answer_(logits, codes, group)
            told[0] += found[0]
            told[1] += found[1] * group.classes
        return told[0] / told[1].clamp(min=1.0), sums.sum(dim=0)

    def centre_(self, entry: Tensor) -> None:
        """Subtract the mean row of each feature's block from its rows."""
        if entry.device.type == "cuda" and find_spec("triton") is not None:
            from thence.search.aerial.device_kernels import centre_rows

            centre_rows(entry, self.offsets)
        else:
            centre_blocks(entry, self.layout)


def _room_for_sums(logits: Tensor) -> Tensor:
    from thence.search.aerial.device_kernels import ROWS

    return logits.new_empty(-(-len(logits) // ROWS), logits.shape[1])


def _answer_on_device_(logits: Tensor, codes: Tensor, group: _Group, sums: Tensor) -> Tensor:
    from thence.search.aerial.device_kernels import answer_group

    return answer_group(
        logits, codes, group.features, start=group.start, classes=group.classes, closest=CLOSEST, sums=sums
    )


def _answer_(logits: Tensor, codes: Tensor, group: _Group) -> Tensor:
    """Do what ``answer_group`` does; the gradients are summed up elsewhere."""
    share = torch.softmax(logits[:, group.items].view(len(logits), group.classes, -1), dim=1)
    rest = (1.0 - share).clamp_(min=CLOSEST)
    code = codes[:, group.features].long().unsqueeze(1)
    place, known = code.clamp(min=0), code >= 0
    own = (share / rest).scatter_(1, place, -1.0)
    gradient = (own - share * own.sum(dim=1, keepdim=True)) * (known * (1.0 / len(logits)))
    logits[:, group.items] = gradient.flatten(1)
    logs = rest.scatter_(1, place, share.gather(1, place).clamp_(min=CLOSEST)).log_()
    return torch.stack([-(logs * known).sum(dtype=torch.float64), known.sum(dtype=torch.float64)])
