"""The compiled search for likely classes against torch's softmax, with exact and with sketched logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.search.aerial.networks import as_rules, lively
from thence.search.aerial import consequents as consequents_module
from thence.search.aerial import extraction as extract_module
from thence.search.aerial.consequents import Sketch, find_likely_classes
from thence.search.aerial.extraction import extract_rules, extract_top_rules
from thence.search.aerial.settings import SearchSettings

NONE = np.empty(0, np.float32)
NO_PAIRS = np.empty((0, 0, 0), np.float32)


def drawn(*, classes, count, rows=40, width=24, directions=5, rest=0.05, seed=0):
    """States that vary mostly in a few directions, and output rows (class by class)."""
    generator = torch.Generator().manual_seed(seed)
    basis = torch.randn(directions, width, generator=generator)
    states = torch.randn(rows, directions, generator=generator) @ basis / directions**0.5
    states += rest * torch.randn(rows, width, generator=generator)
    weight = torch.randn(classes * count, width, generator=generator)
    return states, weight, torch.randn(classes * count, generator=generator)


def expected(states, weight, bias, own, allowed, threshold):
    classes, count = allowed.shape
    logits = (states.double() @ weight.double().T + bias.double()).view(-1, classes, count)
    probability = torch.softmax(logits, dim=1).numpy()
    hits = (probability > threshold) & allowed
    for row, features in enumerate(own):
        hits[row][:, features[features >= 0]] = False
    return {(r, c * count + f): probability[r, c, f] for r, c, f in zip(*np.nonzero(hits), strict=True)}


@pytest.mark.parametrize("sketched", [False, True])
@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.99])
@pytest.mark.parametrize(("classes", "count"), [(1, 3), (2, 30), (5, 17), (10, 40)])
def test_likely_classes_are_those_of_the_softmax(classes, count, threshold, sketched):
    states, weight, bias = drawn(classes=classes, count=count)
    rng = np.random.default_rng(1)
    own = rng.integers(-1, count, (len(states), 2))
    allowed = rng.random((classes, count)) < 0.8
    if sketched:
        sketch = sketch_of(states, weight, bias, classes, dimensions=6)
        logits, reach = sketch.logits(states)
        loose, apart = sketch.loose, sketch.apart
    else:
        logits, reach, loose, apart = states @ weight.T + bias, NONE, NONE, NO_PAIRS
    lead = float(np.log(threshold / (1 - threshold)))
    cube = logits.view(len(states), classes, count).numpy()
    arrays = (array.numpy() for array in (states, weight, bias))
    row, cell, share = find_likely_classes(cube, own, allowed, lead, threshold, loose, apart, reach, *arrays)
    found = dict(zip(zip(row.tolist(), cell.tolist(), strict=True), share.tolist(), strict=True))
    truth = expected(states, weight, bias, own, allowed, threshold)
    assert truth or classes == 1 or threshold == 0.99
    assert found.keys() == truth.keys()
    assert all(found[key] == pytest.approx(truth[key], abs=1e-5) for key in truth)


def sketch_of(states, weight, bias, classes, *, dimensions) -> Sketch:
    """A sketch with a given number of dimensions, whatever it is worth."""
    few = torch.linalg.eigh(torch.cov(states.T)).eigenvectors.flip(1)[:, :dimensions].contiguous()
    return Sketch.along(few, states.mean(dim=0), weight, bias, classes=classes)


@pytest.mark.parametrize("dimensions", [1, 4, 8, 20])
def test_a_sketch_is_never_further_off_than_it_says(dimensions):
    classes, count = 4, 12
    states, weight, bias = drawn(classes=classes, count=count, rest=0.3)
    sketch = sketch_of(states, weight, bias, classes, dimensions=dimensions)
    logits, reach = sketch.logits(states)
    error = (logits - states @ weight.T - bias).view(-1, classes, count).numpy()
    between = np.abs(error[:, :, None, :] - error[:, None, :, :])  # rows, class, other, feature
    bound = np.einsum("fcd,r->rcdf", sketch.apart, reach)
    assert (between <= bound + 1e-4).all()
    assert between.max() > 0.2 * bound.max() or dimensions == 20
    np.testing.assert_allclose(sketch.loose, sketch.apart.max(axis=(1, 2)))


def test_a_sketch_has_as_many_dimensions_as_the_lead_asks_for(monkeypatch):
    monkeypatch.setattr(consequents_module, "LEAST_CELLS", 1)
    monkeypatch.setattr(consequents_module, "LEAST_WIDTH", 1)
    monkeypatch.setattr(consequents_module, "STEP", 1)
    states, weight, bias = drawn(classes=4, count=12, rows=600, rest=0.02)
    sketch = Sketch.of(states, weight, bias, classes=4, lead=4.0)
    assert sketch is not None and 4 <= sketch.directions.shape[1] <= 6
    higher = Sketch.of(states, weight, bias, classes=4, lead=40.0)
    assert higher is not None and higher.directions.shape[1] < sketch.directions.shape[1]
    assert Sketch.of(states, weight, bias, classes=4, lead=0.01) is None


@pytest.mark.parametrize("seed", range(4))
def test_top_k_is_the_same_with_a_sketch(seed, monkeypatch):
    monkeypatch.setattr(consequents_module, "LEAST_CELLS", 1)
    monkeypatch.setattr(consequents_module, "LEAST_WIDTH", 1)
    monkeypatch.setattr(consequents_module, "STEP", 2)
    monkeypatch.setattr(consequents_module, "LEAST_STATES", 8)
    monkeypatch.setattr(consequents_module, "LEAST_STATES", 8)
    monkeypatch.setattr(consequents_module, "SHARED_CELLS", 1)
    monkeypatch.setattr(extract_module, "BATCH_BYTES_CPU", 1 << 14)
    used, compiled = [], consequents_module._compiled

    def noted(block, states, own, threshold, sketch):
        used.append(sketch is not None)
        return compiled(block, states, own, threshold, sketch)

    monkeypatch.setattr(consequents_module, "_compiled", noted)
    model = lively([3, 4, 3, 3, 4, 3, 2, 3], widths=(40, 3), seed=seed, spread=0.5)
    search = SearchSettings(gate=0.0, consequent=0.5)
    whole = as_rules(extract_rules(model, search=search))
    found = as_rules([extract_top_rules(model, k=20, search=search)])
    assert any(used)
    order = sorted(whole.values(), reverse=True)
    assert sorted(found.values(), reverse=True) == pytest.approx(order[:20], abs=1e-6)
    assert all(whole[rule] == pytest.approx(found[rule], abs=1e-6) for rule in found)
