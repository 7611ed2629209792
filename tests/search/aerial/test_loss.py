"""Loss and gradient against torch's own binary cross-entropy and autograd on dense one-hot input."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.search.aerial.networks import lively
from thence.search.aerial import loss as loss_module
from thence.search.aerial.autoencoder import Autoencoder
from thence.search.aerial.loss import AllFeatures, NearFeatures, compute_gradients, compute_loss
from thence.search.neighbours import Neighbours

CARDINALITIES = [[3, 3, 3, 3], [2, 4, 3, 1, 4], [5], [2, 0, 3]]


def random_codes(cardinalities, rows, *, missing, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, max(c, 1), rows) if c else np.full(rows, -1) for c in cardinalities], axis=1)
    return torch.from_numpy(np.where(rng.random(codes.shape) < missing, -1, codes).astype(np.int16))


def dense_loss(model: Autoencoder, first: torch.Tensor, codes: torch.Tensor, *, counted=None):
    """Textbook version with autograd: (mean per cell, mean per row)."""
    state = torch.tanh(first)
    for weight, bias in model.hidden:
        state = torch.tanh(state @ weight.T + bias)
    logits = state @ model.exit.T + model.exit_bias
    total, cells = torch.zeros((), dtype=logits.dtype), 0
    for feature, classes in enumerate(model.layout.cardinalities):
        low = int(model.layout.offsets[feature])
        for row in range(len(codes)):
            code = int(codes[row, feature])
            if code < 0 or (counted is not None and not counted[row, feature]):
                continue
            probability = torch.softmax(logits[row, low : low + classes], dim=0)
            target = torch.zeros(int(classes), dtype=logits.dtype)
            target[code] = 1.0
            total = total + torch.nn.functional.binary_cross_entropy(probability, target, reduction="sum")
            cells += int(classes)
    return total / max(cells, 1), total / len(codes)


def check_against_autograd(model, first, codes, output, *, counted=None):
    leaves = [tensor.double().requires_grad_(True) for tensor in model.parameters()]
    start = first.double().requires_grad_(True)
    per_cell, per_row = dense_loss(model.with_parameters(leaves), start, codes, counted=counted)
    if per_row.requires_grad:
        per_row.backward()
    found = compute_gradients(model, first.clone(), codes, output)
    assert float(found.loss) == pytest.approx(float(per_cell.detach()), rel=1e-4, abs=1e-6)
    assert float(compute_loss(model, first.clone(), codes, output)) == pytest.approx(float(found.loss))
    ours = [found.first, *found.inner, found.exit, found.exit_bias]
    for slope, leaf in zip(ours, [start, *leaves[2:]], strict=True):
        expected = torch.zeros_like(slope) if leaf.grad is None else leaf.grad.float()
        torch.testing.assert_close(slope, expected, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("cardinalities", CARDINALITIES, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("tile", [1, 1 << 18])
def test_all_features(cardinalities, missing, tile, monkeypatch):
    monkeypatch.setattr(loss_module, "TILE_CELLS_CPU", tile)
    model = lively(cardinalities, widths=(5, 3), seed=1, spread=0.5)
    codes = random_codes(cardinalities, 7, missing=missing)
    first = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    check_against_autograd(model, first, codes, AllFeatures(model.layout))


@pytest.mark.parametrize("cardinalities", [[3] * 6, [2, 4, 3, 1, 4, 2], [2, 0, 3, 3, 2, 4]], ids=str)
@pytest.mark.parametrize("tile", [1, 1 << 18])
def test_near_features_count_the_centre_and_its_neighbours_only(cardinalities, tile, monkeypatch):
    monkeypatch.setattr(loss_module, "TILE_CELLS_CPU", tile)
    model = lively(cardinalities, widths=(5, 3), seed=1, spread=0.5)
    codes = random_codes(cardinalities, 9, missing=0.2)
    first = torch.randn(9, 5, generator=torch.Generator().manual_seed(0))
    near = Neighbours.of([[1, 2], [3], [], [], [], []])
    centres = torch.tensor([0, 4, 1])
    counted = np.zeros((9, 6), bool)
    for block, features in enumerate(([0, 1, 2], [4], [1, 0, 3])):
        counted[3 * block : 3 * block + 3, features] = True
    check_against_autograd(model, first, codes, NearFeatures(model.layout, near, centres, 3), counted=counted)


def test_nothing_known_is_no_loss_and_no_gradient():
    model = lively([3, 2], widths=(4,), seed=0)
    codes = torch.full((5, 2), -1, dtype=torch.int16)
    found = compute_gradients(model, torch.randn(5, 4), codes, AllFeatures(model.layout))
    assert float(found.loss) == 0.0
    assert float(found.exit.abs().max()) == 0.0
    assert float(found.first.abs().max()) == 0.0


def test_a_confidently_wrong_network_still_gets_a_finite_gradient():
    model = lively([3, 3], widths=(4,), seed=0, spread=100.0)
    codes = random_codes([3, 3], 20, missing=0.0)
    found = compute_gradients(model, torch.randn(20, 4) * 100, codes, AllFeatures(model.layout))
    assert torch.isfinite(found.exit).all()
    assert float(found.exit.abs().max()) > 0.0
