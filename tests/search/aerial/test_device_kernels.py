"""The kernels for graphics processors against the same with tensors, and whole searches and trainings that use them."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import torch

from thence.search.aerial import consequents, training
from thence.search.aerial import loss as loss_module
from thence.search.aerial.autoencoder import Layout, centre_blocks, initialise
from thence.search.aerial.consequents import FirstLook
from thence.search.aerial.extraction import extract_top_rules
from thence.search.aerial.loss import WideOutput
from thence.search.aerial.settings import SearchSettings, TrainingSettings
from thence.search.aerial.training import train

MIXED = [2, 3, 10, 1, 200, 16, 17] * 20


@pytest.mark.needs("cuda", "triton")
def test_loss_and_gradient_are_those_of_tensors():
    random = torch.Generator("cuda").manual_seed(0)
    for cardinalities in ([10] * 300, MIXED):
        layout = Layout.of(cardinalities)
        output = WideOutput.of(layout, torch.device("cuda"))
        codes = [torch.randint(-1, c, (515,), generator=random, device="cuda") for c in cardinalities]
        targets = torch.stack(codes, dim=1).to(torch.int16)
        logits = 6.0 * torch.randn(515, layout.n_items, generator=random, device="cuda")
        ours, plain = logits.clone(), logits.clone()
        loss, sums = output.answer_(ours, targets)
        with patch.object(loss_module, "find_spec", return_value=None):
            plain_loss, plain_sums = output.answer_(plain, targets)
        assert float(loss) == pytest.approx(float(plain_loss), rel=1e-5)
        assert float((ours - plain).norm() / plain.norm()) < 1e-3
        assert float((sums - plain_sums).norm() / plain_sums.norm()) < 1e-3


@pytest.mark.needs("cuda", "triton")
def test_blocks_are_centred_as_with_tensors():
    for cardinalities in ([10] * 300, MIXED):
        layout = Layout.of(cardinalities)
        rows = torch.randn(layout.n_items, 200)
        ours = rows.cuda()
        WideOutput.of(layout, torch.device("cuda")).centre_(ours)
        centre_blocks(rows, layout)
        assert torch.allclose(ours.cpu(), rows, atol=1e-5)


@pytest.mark.needs("cuda", "triton")
def test_a_first_look_misses_nothing():
    random = torch.Generator("cuda").manual_seed(0)
    for classes, count, rows, width in ((10, 777, 1111, 256), (3, 64, 100, 64), (1, 50, 33, 16), (4, 130, 70, 24)):
        weight = torch.randn(classes * count, width, generator=random, device="cuda")
        bias = torch.randn(classes * count, generator=random, device="cuda")
        states = torch.rand(rows, width, generator=random, device="cuda")
        logits = (states.double() @ weight.double().T + bias.double()).view(rows, classes, count)
        shares = torch.softmax(logits, dim=1).amax(dim=1)
        look = FirstLook.of(weight, bias, classes=classes)
        for share in (0.9, 0.999, 0.999999, 1.0 - 2.0**-22):
            row, feature = look.candidates(states, share)
            marked = torch.zeros(rows, count, dtype=torch.bool, device="cuda")
            marked[row, feature] = True
            assert bool(marked[shares >= share].all())
            assert int(marked.sum()) <= 1.3 * int((shares >= share * (1.0 - 1e-5)).sum()) + 300
            with patch.object(consequents, "find_spec", return_value=None):
                plain = look.candidates(states, share)
            assert abs(len(plain[0]) - len(row)) <= 0.01 * len(row) + 5


@pytest.mark.needs("cuda")
def test_the_most_probable_rules_are_the_same_after_a_first_look():
    rng = np.random.default_rng(0)
    start = initialise([10] * 60, widths=(64, 32))
    model = start.with_parameters(
        [tensor + torch.from_numpy(rng.normal(0, 0.5, tuple(tensor.shape))).float() for tensor in start.parameters()]
    )
    for search in ("mutual", "full"):
        search = SearchSettings(gate=0.05, consequent=0.3, search=search)
        with patch.object(consequents, "LOOKED_CELLS", 1):
            ours = extract_top_rules(model.to("cuda"), k=2000, search=search)
        with patch.object(consequents, "LOOKED_CELLS", 1 << 60):
            plain = extract_top_rules(model.to("cuda"), k=2000, search=search)
        assert len(ours) == len(plain) == 2000
        assert np.abs(ours.probability - plain.probability).max() < 1e-6
        known = [
            {(*left, right) for left, right in zip(part.antecedents.tolist(), part.consequents.tolist(), strict=True)}
            for part in (ours, plain)
        ]
        assert len(known[0] & known[1]) >= 1990, "only rules of the lowest probability may differ"


@pytest.mark.needs("cuda")
def test_wide_tables_are_learned_as_well():
    random = np.random.default_rng(0)
    hidden = random.integers(0, 4, (1000, 6))
    codes = hidden[:, np.arange(600) % 6].astype(np.int8)
    settings = TrainingSettings(device="cuda", epochs=20, widths=(64, 32))
    losses = []
    for wide in (True, False):
        with patch.object(training._Trainer, "_trains_at_once", return_value=wide):
            losses.append(train(codes, cardinalities=[4] * 600, settings=settings).loss)
    with (
        patch.object(loss_module, "find_spec", return_value=None),
        patch.object(training._Trainer, "_trains_at_once", return_value=True),
    ):
        losses.append(train(codes, cardinalities=[4] * 600, settings=settings).loss)
    assert losses[0] == pytest.approx(losses[1], rel=0.1)
    assert losses[0] == pytest.approx(losses[2], rel=0.02)
