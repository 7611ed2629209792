"""Our Adam against torch's."""

from __future__ import annotations

import pytest
import torch

from thence.search.aerial import training as adam_module
from thence.search.aerial.training import Adam


@pytest.mark.parametrize("piece", [3, 1 << 17])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_the_same_steps_as_torch(piece, weight_decay, monkeypatch):
    monkeypatch.setattr(adam_module, "PIECE", piece)
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(4, 5, generator=generator), torch.randn(7, generator=generator)]
    theirs = [tensor.clone().requires_grad_(True) for tensor in start]
    reference = torch.optim.Adam(theirs, lr=1.0, weight_decay=weight_decay)
    optimiser = Adam(start, weight_decay=weight_decay)
    for step in range(30):
        slopes = [torch.randn(tensor.shape, generator=generator) * 10.0 ** (step % 5 - 3) for tensor in start]
        rate = 0.1 / (1 + step)
        reference.param_groups[0]["lr"] = rate
        for tensor, slope in zip(theirs, slopes, strict=True):
            tensor.grad = slope.clone()
        reference.step()
        optimiser.step(slopes, learning_rate=rate)
        for one, other in zip(optimiser.tensors, theirs, strict=True):
            torch.testing.assert_close(one, other.detach(), rtol=1e-5, atol=1e-6)
