"""Layout, initial weights, and the algebra of the first layer against dense input."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.search.aerial.networks import lively
from tests.search.aerial.oracle import DenseNetwork
from thence.errors import ConfigError
from thence.search.aerial.autoencoder import Layout, choose_faithful_widths, choose_widths, initialise


@pytest.mark.parametrize("cardinalities", [[3, 3], [2, 4, 1], [2, 0, 3, 2]], ids=str)
def test_the_forward_pass_is_the_dense_network(cardinalities):
    model = lively(cardinalities, widths=(5, 3), seed=0)
    dense = np.random.default_rng(0).random((4, sum(cardinalities)))
    expected = np.stack([DenseNetwork(model).forward(row) for row in dense])
    np.testing.assert_allclose(model.probabilities(torch.from_numpy(dense).float()).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("cardinalities", [[3, 3], [2, 4, 1], [2, 0, 3, 2]], ids=str)
def test_marking_items_is_adding_their_deltas(cardinalities):
    model = lively(cardinalities, widths=(5,), seed=1).to("cpu", torch.float64)
    origin, deltas = model.origin_and_deltas()
    vector = model.unknown()
    torch.testing.assert_close(vector @ model.entry + model.entry_bias, origin)
    items = [int(model.layout.offsets[feature]) for feature in (0, len(cardinalities) - 1)]
    for item in items:
        owner = model.layout.feature_of_item[item]
        vector[model.layout.feature_of_item == owner] = 0.0
        vector[item] = 1.0
    torch.testing.assert_close(vector @ model.entry + model.entry_bias, origin + deltas[items].sum(dim=0))


@pytest.mark.parametrize("cardinalities", [[3, 3], [2, 4, 1], [2, 0, 3, 2]], ids=str)
def test_a_centred_network_says_the_same_of_marked_and_unknown_features(cardinalities):
    model = lively(cardinalities, widths=(5, 3), seed=2).to("cpu", torch.float64)
    before = model.entry.clone()
    centred = model.centred()
    assert torch.equal(model.entry, before)
    vectors = model.unknown().repeat(2, 1)
    vectors[1, : cardinalities[0]] = torch.eye(cardinalities[0], dtype=torch.float64)[0]
    torch.testing.assert_close(centred.probabilities(vectors), model.probabilities(vectors))
    torch.testing.assert_close(centred.origin_and_deltas()[0], centred.entry_bias)
    torch.testing.assert_close(centred.origin_and_deltas()[1], centred.entry)


def test_initial_weights_are_xavier_uniform_with_zero_biases():
    model = initialise([10] * 20, widths=(64, 32, 16), seed=0)
    for weight, fans in ((model.entry, 264), (model.hidden[0][0], 96), (model.exit, 264)):
        bound = np.sqrt(6 / fans)
        assert float(weight.abs().max()) <= bound
        assert float(weight.abs().max()) > 0.98 * bound
        assert abs(float(weight.mean())) < 0.05 * bound
    assert all(float(bias.abs().max()) == 0.0 for bias in (model.entry_bias, model.hidden[0][1], model.exit_bias))
    shown = initialise([10] * 20, widths=(64, 32, 16), seed=0, shown=3)
    torch.testing.assert_close(shown.entry, model.entry * np.sqrt(264 / 67))
    torch.testing.assert_close(shown.exit, model.exit)


def test_seed_and_nothing_else_decides_the_weights():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = initialise([3, 4], seed=7)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(first.entry, initialise([3, 4], seed=7).entry)
    assert not torch.equal(first.entry, initialise([3, 4], seed=8).entry)


@pytest.mark.parametrize("n_items", [1, 5, 15, 200, 970, 20_000])
def test_default_widths_shrink_inwards_and_stay_bounded(n_items):
    for widths in (choose_widths(Layout.of([n_items])), choose_faithful_widths(Layout.of([n_items]))):
        assert widths[0] > widths[1] > widths[2] >= 4
    assert choose_widths(Layout.of([n_items]))[0] <= 256


@pytest.mark.parametrize("cardinalities", [[-1], [[2]], [1.5]], ids=str)
def test_impossible_cardinalities_are_refused(cardinalities):
    with pytest.raises(ConfigError, match="cardinalities must be"):
        Layout.of(cardinalities)


@pytest.mark.parametrize("widths", [(), (4, 0)])
def test_impossible_widths_are_refused(widths):
    with pytest.raises(ConfigError, match="layer widths must be positive"):
        initialise([2], widths=widths)
