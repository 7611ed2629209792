"""Training of wide tables, whose steps are made otherwise, without the kernels of a graphics processor."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from thence.search.aerial import training
from thence.search.aerial.autoencoder import initialise
from thence.search.aerial.loss import AllFeatures, WideOutput, compute_gradients, compute_loss
from thence.search.aerial.settings import TrainingSettings
from thence.search.aerial.training import Adam, draw_few_of_many_features, sum_by_item_at_once, train


@pytest.mark.parametrize("cardinalities", [[4] * 6, [3, 2, 5, 4, 1, 3, 2]])
def test_gradients_are_those_of_narrow_tables(cardinalities):
    model = initialise(cardinalities, widths=(8, 4))
    output = WideOutput.of(model.layout, model.device)
    rng = np.random.default_rng(0)
    codes = torch.from_numpy(np.stack([rng.integers(-1, c, 20) for c in cardinalities], axis=1))
    first = torch.from_numpy(rng.normal(size=(20, 8))).float()
    plain = compute_gradients(model, first.clone(), codes, AllFeatures(model.layout))
    wide = output.compute_gradients(output.arranged(model), first.clone(), codes)
    places = torch.argsort(output.order)
    assert float(wide.loss) == pytest.approx(float(plain.loss), rel=1e-6)
    assert torch.allclose(wide.first, plain.first, atol=1e-6)
    assert torch.allclose(wide.exit[places], plain.exit, atol=1e-6)
    assert torch.allclose(wide.exit_bias[places], plain.exit_bias, atol=1e-6)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(wide.inner, plain.inner, strict=True))
    loss = compute_loss(model, first.clone(), codes, AllFeatures(model.layout))
    wide_loss = output.compute_loss(output.arranged(model), first.clone(), codes)
    assert float(wide_loss) == pytest.approx(float(loss), rel=1e-6)


def test_outputs_return_to_the_order_of_the_items():
    model = initialise([3, 2, 5, 3], widths=(8, 4))
    output = WideOutput.of(model.layout, model.device)
    back = output.restored(output.arranged(model))
    assert all(torch.equal(a, b) for a, b in zip(back.parameters(), model.parameters(), strict=True))
    assert not torch.equal(output.arranged(model).exit, model.exit)


def test_one_pass_makes_the_same_steps():
    random = torch.Generator().manual_seed(0)
    start = [torch.randn(5, 3, generator=random), torch.randn(4, generator=random)]
    one, other = Adam(start, weight_decay=1e-3), Adam(start, weight_decay=1e-3)
    for rate in (0.1, 0.05, 0.02):
        gradients = [torch.randn(tensor.shape, generator=random) for tensor in start]
        one.step(gradients, learning_rate=rate)
        other.step_at_once(gradients, learning_rate=torch.tensor(rate))
    assert torch.allclose(one.flat, other.flat, atol=1e-6)


def test_gradients_of_items_are_summed_as_one_after_the_other():
    random = torch.Generator().manual_seed(0)
    items = torch.randint(0, 51, (30, 4), generator=random)
    gradients = torch.randn(30, 8, generator=random)
    plain = torch.zeros(51, 8)
    for column in items.T:
        plain.index_add_(0, column, gradients)
    assert torch.allclose(sum_by_item_at_once(items, gradients, 50), plain[:50], atol=1e-5)


def test_every_row_shows_some_features_and_none_twice():
    shown = draw_few_of_many_features(500, rows=2000, most=9, generator=torch.Generator().manual_seed(0)).numpy()
    assert shown.shape == (2000, 9)
    counts = (shown >= 0).sum(axis=1)
    assert counts.min() == 1
    assert counts.max() == 9
    assert np.bincount(counts)[1:].min() > 150, "each number of features is about equally likely"
    assert all(len(np.unique(row[row >= 0])) == count for row, count in zip(shown, counts, strict=True))
    assert np.bincount(shown[shown >= 0], minlength=500).min() > 0


def test_a_wide_table_is_learned_as_well(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (600, 2))[:, np.arange(24) % 2]
    settings = TrainingSettings(epochs=30, widths=(16, 8))
    plain = train(codes, cardinalities=[3] * 24, settings=settings)
    monkeypatch.setattr(training._Trainer, "_trains_at_once", lambda self: True)
    wide = train(codes, cardinalities=[3] * 24, settings=settings)
    assert wide.loss < wide.epochs[0].monitored_loss
    assert wide.loss == pytest.approx(plain.loss, rel=0.15)
    for code in range(3):
        query = wide.model.unknown()
        query[:3] = torch.nn.functional.one_hot(torch.tensor(code), 3)
        answer = wide.model.probabilities(query[None])[0].view(24, 3)
        assert (answer[::2].argmax(dim=1) == code).all(), "the outputs are in the order of the items"


def test_only_wide_tables_on_a_graphics_processor_are_trained_otherwise():
    codes = np.random.default_rng(0).integers(0, 10, (20, 700)).astype(np.int8)
    model = initialise([10] * 700, widths=(2,))
    source, settings = training.ArrayRows(codes), TrainingSettings()
    trainer = training._Trainer(model, source, settings, None, model.layout)
    assert not trainer._trains_at_once()
    assert trainer.wide is None
    trainer.device = torch.device("cuda")
    assert trainer._trains_at_once()
