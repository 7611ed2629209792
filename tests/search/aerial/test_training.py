"""Training: learns, repeats itself exactly, copes with gaps and streams, and says so when it cannot learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.search.aerial.networks import as_rules
from thence.errors import ConfigError, InputError, MiningError
from thence.search.aerial import training as train_module
from thence.search.aerial.autoencoder import initialise
from thence.search.aerial.extraction import extract_rules
from thence.search.aerial.rows import ArrayRows, compute_marginal_loss, explain_trivial
from thence.search.aerial.settings import SearchSettings, TrainingSettings
from thence.search.aerial.training import train
from thence.search.neighbours import Neighbours

SHORT = TrainingSettings(epochs=4)


def linked(rows=600, *, seed=0) -> np.ndarray:
    """Four features: the second repeats the first, the third coarsens it, the fourth is noise."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, rows)
    return np.stack([first, first, first // 2, rng.integers(0, 3, rows)], axis=1).astype(np.int8)


LINKED = [4, 4, 2, 3]
TRUTH = (
    {((i,), 4 + i) for i in range(4)}
    | {((4 + i,), i) for i in range(4)}
    | {((base + i,), 8 + i // 2) for base in (0, 4) for i in range(4)}
)


def same(one, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


@pytest.mark.parametrize("corruption", ["mask", "gaussian"])
def test_training_lowers_the_held_out_loss(corruption):
    result = train(linked(), cardinalities=LINKED, settings=TrainingSettings(corruption=corruption, epochs=12))
    losses = [epoch.held_out_loss for epoch in result.epochs]
    assert result.loss == min(losses) < 0.7 * losses[0]
    assert result.reason is None


def test_the_rules_of_a_simple_table_are_found():
    model = train(linked(), cardinalities=LINKED).model
    found = as_rules(extract_rules(model, search=SearchSettings(max_antecedents=1)))
    assert found.keys() == TRUTH


def test_faithful_settings_learn_too():
    result = train(linked(2000), cardinalities=LINKED, settings=TrainingSettings.faithful())
    assert len(result.epochs) == 5
    assert result.best_epoch == 5
    assert result.epochs[0].held_out_loss is None
    assert result.loss < result.epochs[0].loss
    assert result.model.widths[:3] == (16, 8, 4)


@pytest.mark.parametrize("settings", [SHORT, TrainingSettings.faithful(seed=3)], ids=["mask", "faithful"])
def test_same_seed_same_weights_whatever_the_global_state(settings):
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - the point is that the global state does not matter
    first = train(linked(), cardinalities=LINKED, settings=settings)
    torch.manual_seed(99)
    np.random.seed(99)  # noqa: NPY002
    state, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    second = train(linked(), cardinalities=LINKED, settings=settings)
    assert same(first, second)
    assert first.epochs == second.epochs
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == legacy).all()  # noqa: NPY002


def test_another_seed_gives_other_weights():
    one, other = (train(linked(), cardinalities=LINKED, settings=TrainingSettings(epochs=2, seed=s)) for s in (0, 1))
    assert not same(one, other)


def test_input_is_not_changed():
    codes = linked()
    before = codes.copy()
    train(codes, cardinalities=LINKED, settings=TrainingSettings(epochs=1))
    np.testing.assert_array_equal(codes, before)
    codes.flags.writeable = False
    train(codes.astype(np.int16), cardinalities=LINKED, settings=TrainingSettings(epochs=1))
    train(codes, cardinalities=LINKED, settings=TrainingSettings(epochs=1))


@pytest.mark.parametrize("corruption", ["mask", "gaussian"])
def test_missing_values_are_left_out(corruption):
    rng = np.random.default_rng(1)
    codes = linked(1000)
    codes[rng.random(codes.shape) < 0.3] = -1
    result = train(codes, cardinalities=LINKED, settings=TrainingSettings(corruption=corruption, epochs=16))
    assert np.isfinite(result.loss)
    if corruption == "mask":
        assert as_rules(extract_rules(result.model, search=SearchSettings(max_antecedents=1))).keys() == TRUTH


def test_a_feature_that_is_always_missing_does_no_harm():
    codes = np.concatenate([linked(), np.full((600, 2), -1, np.int8)], axis=1)
    result = train(codes, cardinalities=[*LINKED, 0, 3])
    found = as_rules(extract_rules(result.model, search=SearchSettings(max_antecedents=1)))
    assert {rule for rule in found if max(*rule[0], rule[1]) < 13} == TRUTH


def test_early_stopping_keeps_the_best_weights(monkeypatch):
    monkeypatch.setattr(train_module, "PATIENCE", 60)
    # Few rows of pure noise: the network soon memorises them, and the held-out loss rises.
    codes = np.random.default_rng(0).integers(0, 5, (200, 6)).astype(np.int8)
    settings = TrainingSettings(epochs=200, decay=False, held_out=0.3)
    result = train(codes, cardinalities=[5] * 6, settings=settings)
    assert result.stopped_early
    # While the number of visible features falls, a loss that does not improve is no reason to stop.
    assert 160 <= len(result.epochs) < 200
    assert result.loss == min(epoch.monitored_loss for epoch in result.epochs)
    noisy = TrainingSettings(epochs=200, decay=False, held_out=0.3, corruption="gaussian")
    result = train(codes, cardinalities=[5] * 6, settings=noisy)
    assert result.stopped_early
    assert len(result.epochs) == result.best_epoch + 5 < 200
    shorter = replace(noisy, epochs=result.best_epoch, early_stopping=False)
    assert same(result, train(codes, cardinalities=[5] * 6, settings=shorter))


def test_progress_hears_of_every_epoch():
    heard = []
    result = train(linked(), cardinalities=LINKED, settings=TrainingSettings(epochs=4), progress=heard.append)
    assert tuple(heard) == result.epochs
    assert [(epoch.number, epoch.total) for epoch in heard] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_training_goes_on_from_given_weights():
    first = train(linked(), cardinalities=LINKED, settings=TrainingSettings(epochs=5))
    further = train(linked(seed=1), cardinalities=LINKED, settings=TrainingSettings(epochs=5), start=first.model)
    fresh = train(linked(seed=1), cardinalities=LINKED, settings=TrainingSettings(epochs=5))
    assert further.epochs[0].loss < fresh.epochs[0].loss
    assert not same(first, further)
    with pytest.raises(MiningError, match="other numbers of classes"):
        train(linked(), cardinalities=[4, 4, 2, 4], start=first.model)


def test_a_diverged_training_is_an_error():
    with pytest.raises(MiningError, match="diverged in epoch 1"):
        train(linked(), cardinalities=LINKED, settings=TrainingSettings(learning_rate=1e30, epochs=3))


class Streamed:
    """Rows that exist only when asked for."""

    def __init__(self, codes: np.ndarray) -> None:
        self.codes = codes
        self.largest = 0

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def take(self, indices, /):
        self.largest = max(self.largest, len(indices))
        return self.codes[indices].copy()

    def sample(self, rng, size, /):
        return self.take(rng.integers(0, self.n_rows, size))


def test_a_stream_gives_the_same_weights_as_the_array():
    codes = linked()
    assert same(
        train(codes, cardinalities=LINKED, settings=SHORT), train(Streamed(codes), cardinalities=LINKED, settings=SHORT)
    )


def test_long_tables_are_sampled_and_never_read_whole(monkeypatch):
    monkeypatch.setattr("thence.search.aerial.rows.SCAN", 500)
    source = Streamed(linked(20_000))
    heard = []
    settings = TrainingSettings(epochs=12, max_rows=1000)
    result = train(source, cardinalities=LINKED, settings=settings, progress=heard.append)
    assert source.largest <= 2048  # the held-out rows are the most that is ever asked for at once
    assert as_rules(extract_rules(result.model, search=SearchSettings(max_antecedents=1))).keys() == TRUTH


def test_training_begins_with_many_visible_features(monkeypatch):
    shown = []
    drawn = train_module.draw_visible_features

    def watch(n_features, *, rows, most, generator):
        shown.append(most)
        return drawn(n_features, rows=rows, most=most, generator=generator)

    monkeypatch.setattr(train_module, "SHOWN_FIRST", 6)
    monkeypatch.setattr(train_module, "draw_visible_features", watch)
    codes = np.random.default_rng(0).integers(0, 3, (300, 4)).repeat(2, axis=1).astype(np.int8)
    settings = TrainingSettings(epochs=10, held_out=0.0)
    first = train(codes, cardinalities=[3] * 8, settings=settings)
    assert shown[0] == 6
    assert shown[-1] == 3
    assert shown == sorted(shown, reverse=True)
    shown.clear()
    monkeypatch.setattr(train_module, "SHOWN_FIRST", 0)
    assert not same(first, train(codes, cardinalities=[3] * 8, settings=settings))
    assert set(shown) == {3}


def test_unknown_features_of_a_trained_network_add_nothing():
    """Otherwise each feature would shift the origin a little in every step, and wide tables could not be learned."""
    codes = np.random.default_rng(0).integers(0, 3, (300, 1)).repeat(6, axis=1)
    model = train(codes, cardinalities=[3, 3, 3, 4, 3, 4], settings=TrainingSettings(epochs=5)).model
    origin, deltas = model.origin_and_deltas()
    torch.testing.assert_close(deltas, model.entry, atol=1e-5, rtol=0.0)
    torch.testing.assert_close(origin, model.entry_bias, atol=1e-5, rtol=0.0)


def test_a_wide_table_of_one_hidden_state_is_learnt():
    """Eight thousand items could not be learned at all when every feature shifted the origin."""
    rng = np.random.default_rng(0)
    codes = np.where(rng.random((600, 2000)) < 0.05, rng.integers(0, 4, (600, 2000)), rng.integers(0, 4, (600, 1)))
    result = train(codes, cardinalities=[4] * 2000, settings=TrainingSettings(epochs=24, widths=(16, 8)))
    assert result.loss < 0.6 * compute_marginal_loss(codes, np.full(2000, 4))


def test_neighbourhoods_are_learnt_without_the_rest():
    # Twelve pairs of equal features; only the two of a pair are neighbours.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (1000, 12)).repeat(2, axis=1).astype(np.int8)
    near = Neighbours.of([[feature ^ 1] for feature in range(24)])
    result = train(codes, cardinalities=[3] * 24, neighbours=near)
    found = as_rules(extract_rules(result.model, search=SearchSettings(max_antecedents=1, neighbours=near)))
    assert found.keys() == {((3 * f + c,), 3 * (f ^ 1) + c) for f in range(24) for c in range(3)}
    assert result.epochs == train(codes, cardinalities=[3] * 24, neighbours=near).epochs


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (np.zeros((0, 3), int), "no rows"),
        (np.zeros((2, 3), int), "2 rows are too few"),
        (np.arange(10)[:, None] % 3, "1 features are too few"),
        (np.full((10, 3), -1), "every value is missing"),
        (np.tile([[0, 2, 1]], (10, 1)), "every feature is constant"),
        (np.where(np.arange(10)[:, None] % 2 == 0, [[1, 1, 1]], -1), "every feature is constant"),
        (np.stack([np.arange(10) % 3, np.full(10, -1)], axis=1), "only one feature has any value"),
    ],
)
def test_trivial_tables_say_why(codes, reason):
    result = train(codes, cardinalities=[3] * codes.shape[1])
    assert reason in result.reason
    assert result.epochs == ()
    assert np.isnan(result.loss)
    assert explain_trivial(codes) is not None


def test_a_table_of_four_rows_trains():
    codes = np.array([[0, 0], [1, 1], [0, 0], [1, 1]])
    assert train(codes, cardinalities=[2, 2], settings=SHORT).reason is None


def test_training_on_the_wrong_rows_is_refused():
    with pytest.raises(InputError, match="feature 1 has codes 0 to 3, but 3 classes"):
        train(linked(), cardinalities=[4, 3, 2, 3])
    with pytest.raises(InputError, match="rows have 4 features, but 2 cardinalities"):
        train(linked(), cardinalities=[4, 4])
    with pytest.raises(InputError, match="two-dimensional integer array"):
        train(np.zeros((5, 2)), cardinalities=[1, 1])
    with pytest.raises(InputError, match="two-dimensional"):
        ArrayRows(np.zeros(5, int))
    with pytest.raises(ConfigError, match="neighbours were given for 1 features"):
        train(linked(), cardinalities=LINKED, neighbours=Neighbours.of([[]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corruption": "dropout"}, "'mask', 'gaussian'"),
        ({"epochs": 0}, "epochs must be an integer >= 1"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0"),
        ({"noise": -0.5}, "noise must be at least 0"),
        ({"held_out": 1.0}, "held_out must be below 1"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TrainingSettings(**options)


def test_few_rows_of_many_items_are_passed_over_a_bounded_number_of_times():
    """Passes grew with the number of items whatever the number of rows: 12 rows of 1,500 columns took minutes."""
    codes = np.random.default_rng(0).integers(0, 2, (12, 60))
    short = TrainingSettings(widths=(8, 4))
    result = train(codes, cardinalities=[2] * 60, settings=short)
    assert len(result.epochs) == result.epochs[-1].total == 500
    assert result.note is not None
    assert "12 rows are too few for 120 items and are memorised" in result.note
    asked = train(codes, cardinalities=[2] * 60, settings=TrainingSettings(widths=(8, 4), epochs=2))
    assert (len(asked.epochs), asked.note) == (2, None)
    few = train(codes[:, :5], cardinalities=[2] * 5, settings=short)
    assert (few.epochs[-1].total, few.note) == (500, None), "as many as a moderate table takes anyway"


@pytest.mark.parametrize(("rows", "epochs"), [(159, 500), (160, 695), (1000, 110)])
def test_enough_rows_are_passed_over_as_often_as_the_items_need(rows, epochs):
    class HeardError(Exception):
        pass

    def stop(epoch):
        raise HeardError(epoch.total)

    codes = np.random.default_rng(0).integers(0, 2, (rows, 500))
    with pytest.raises(HeardError) as caught:
        train(codes, cardinalities=[2] * 500, settings=TrainingSettings(widths=(4, 2)), progress=stop)
    assert caught.value.args == (epochs,)


def test_devices_that_are_not_there_are_refused():
    with pytest.raises(ConfigError, match="unknown device 'quantum'"):
        train(linked(), cardinalities=LINKED, settings=TrainingSettings(device="quantum"))
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device"):
            train(linked(), cardinalities=LINKED, settings=TrainingSettings(device="cuda"))


def planned(n_items: int, rows: int) -> tuple[int, int]:
    """Return the rows per step, and the steps, that training chooses for a table of two-valued features."""
    source = ArrayRows(np.zeros((rows, n_items // 2), np.int8))
    model = initialise([2] * (n_items // 2), widths=(2,))
    trainer = train_module._Trainer(model, source, TrainingSettings(), None, model.layout)
    return trainer.batch, trainer.total_steps


def test_training_grows_smoothly_with_the_items() -> None:
    """Steps once fell to half at 4,000 items, so that 320 sensors took as long to learn as 640."""
    sizes = [800, 1600, 2000, 2600, 3200, 3998, 4002, 5000, 6400, 8000, 12_800]
    plans = [planned(size, 17_520) for size in sizes]
    work = [batch * steps * size for (batch, steps), size in zip(plans, sizes, strict=True)]
    assert [batch for batch, _ in plans][:2] == [256, 256]
    assert [batch for batch, _ in plans][-3:] == [512, 512, 512]
    assert [batch for batch, _ in plans] == sorted(batch for batch, _ in plans)
    assert work == sorted(work)
    powers = np.diff(np.log(work)) / np.diff(np.log(sizes))
    assert powers.max() < 2.6, "epochs are whole numbers, so that a step up is a little steeper than the rule"
    steps = [steps for (_, steps), size in zip(plans, sizes, strict=True) if 1600 <= size <= 6400]
    assert max(steps) <= 1.1 * min(steps)


@given(rows=st.integers(1, 200_000), n_items=st.integers(2, 50_000))
def test_batches_have_a_least_and_a_largest_size(rows: int, n_items: int) -> None:
    widening = train_module._widening(n_items)
    batch = train_module._choose_batch(rows / 64, 256, widening)
    assert 1 <= widening <= 2
    assert 16 <= batch <= round(256 * widening)
    narrow = train_module._choose_batch(rows / 64, 256, 1.0)
    assert narrow & (narrow - 1) == 0, "a power of two"
    assert narrow <= batch <= 2 * narrow
