"""Compiled steps on rows against autograd: the definitions of the paper's released code, written out independently."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from thence.errors import ConfigError
from thence.search.aerial.autoencoder import Layout, initialise
from thence.search.aerial.row_steps import StepSettings, make_steps
from thence.search.aerial.settings import TrainingSettings
from thence.search.aerial.training import train


def train_with_autograd(model, codes, noise, *, columns, softmax, batch, scale, rate, weight_decay):
    """Train with torch's own softmax, loss, gradient and Adam, one dense row after the other."""
    weights = [tensor.clone().requires_grad_() for tensor in model.parameters()]
    optimiser = torch.optim.Adam(weights, lr=rate, weight_decay=weight_decay)
    n_items = columns[-1]
    unknown = model.unknown()
    for low in range(0, len(codes), batch):
        loss = torch.zeros(())
        part = codes[low : low + batch]
        for row, line in enumerate(part, start=low):
            target, known = torch.zeros(n_items), torch.zeros(n_items, dtype=torch.bool)
            for column, code in enumerate(line):
                if code >= 0:
                    target[columns[column] + code] = 1.0
            for first, last in pairwise(softmax):
                # What a block has none of is unknown; a property that a node lacks beside others is zero.
                known[first:last] = bool(target[first:last].any())
            dense = torch.where(known, (target + noise[row]).clamp(0.0, 1.0), unknown)
            current = model.with_parameters(weights)
            state = current.entry_bias + dense @ current.entry
            layers = [*current.hidden, (current.exit, current.exit_bias)]
            for layer, (weight, bias) in enumerate(layers):
                state = state if model.linear_code and layer == len(model.hidden) // 2 else torch.tanh(state)
                state = weight @ state + bias
            out = torch.cat([torch.softmax(state[a:b], 0) for a, b in pairwise(softmax)])
            cells = torch.nn.functional.binary_cross_entropy(out, target, reduction="none")
            loss = loss + (cells * known).sum() * scale / len(part)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return [weight.detach() for weight in weights]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    batch=st.integers(1, 3),
    linear=st.booleans(),
    merged=st.booleans(),
    missing=st.booleans(),
    widths=st.sampled_from([(4, 3, 2), (3,), (5, 2), (4, 2, 0)]),
)
def test_steps_are_those_of_autograd(seed, batch, linear, merged, missing, widths) -> None:
    rng = np.random.default_rng(seed)
    cardinalities = [3, 2, 4]
    columns = Layout.of(cardinalities).offsets
    layout = Layout.of([3, 6] if merged else cardinalities)
    model = initialise(layout.cardinalities, widths=widths, seed=seed, linear_code=linear, empty_layers=True)
    codes = np.stack([rng.integers(-1 if missing else 0, k, 7) for k in cardinalities], axis=1)
    noise = rng.normal(0.0, 0.5, (7, 9)).astype(np.float32)
    scale = 1 / 9
    flat = np.concatenate([tensor.numpy().reshape(-1) for tensor in model.parameters()])
    given_ = StepSettings(
        np.array([9, *model.widths, 9], np.int64),
        layout.offsets,
        columns,
        model.unknown().numpy(),
        model.linear_layer,
        batch,
        scale,
        1e-3,
        (0.9, 0.999),
        1e-8,
    )
    steps = -(-7 // batch)
    rates = np.full(steps, 0.01, np.float32)
    make_steps(codes, noise, flat, np.zeros_like(flat), np.zeros_like(flat), 0, rates, given_)
    expected = train_with_autograd(
        model,
        codes,
        torch.from_numpy(noise),
        columns=columns.tolist(),
        softmax=layout.offsets.tolist(),
        batch=batch,
        scale=scale,
        rate=0.01,
        weight_decay=1e-3,
    )
    wanted = np.concatenate([tensor.numpy().reshape(-1) for tensor in expected])
    # Adam's first steps are the sign of the gradient: where it is nearly zero, rounding decides.
    close = np.isclose(flat, wanted, atol=2e-4)
    assert close.mean() > 0.97, np.flatnonzero(~close)


def test_the_optimum_of_a_softmax_with_several_ones_is_their_share() -> None:
    """Four properties in one softmax: the network learns 1/4 for each, so that none reaches 0.8."""
    rng = np.random.default_rng(0)
    reading = rng.integers(0, 3, 600)
    codes = np.stack([reading, reading, *[np.full(600, k) for k in (0, 1, 1, 2)]], axis=1)
    options = TrainingSettings(
        corruption="gaussian", softmax="node", loss_per="output", held_out=0.0, batch_size=1, epochs=6, widths=(8, 4)
    )
    made = train(codes, cardinalities=[3, 3, 2, 3, 2, 4], settings=options, softmax_of=[0, 1, 2, 2, 2, 2])
    assert made.model.layout.cardinalities.tolist() == [3, 3, 11]
    probabilities = made.model.probabilities(made.model.unknown()[None])[0, 6:]
    assert torch.allclose(probabilities[[0, 3, 6, 9]], torch.full((4,), 0.25), atol=0.02)


def test_the_same_order_in_every_epoch_and_the_same_weights_for_the_same_seed() -> None:
    codes = np.random.default_rng(1).integers(0, 3, (50, 2))
    options = TrainingSettings.published(seed=3)
    one, two = (train(codes, cardinalities=[3, 3], settings=options) for _ in range(2))
    assert torch.equal(one.model.exit, two.model.exit)
    assert len(one.epochs) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"softmax": "node"},
        {"softmax": "node", "corruption": "gaussian"},
        {"loss_per": "output"},
        {"softmax": "sensor"},
        {"bottleneck": "relu"},
        {"least_widths": (1, 2)},
        {"least_widths": (1, 2, -1)},
    ],
)
def test_impossible_settings_are_refused(wrong) -> None:
    with pytest.raises(ConfigError):
        TrainingSettings(**wrong)
