"""A first look in half precision misses nothing, and what it finds is computed as before."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.search.aerial.networks import lively
from thence.search.aerial import consequents, extraction
from thence.search.aerial.antecedents import PassedBatch
from thence.search.aerial.consequents import FirstLook
from thence.search.aerial.extraction import extract_top_rules
from thence.search.aerial.settings import SearchSettings


def drawn(classes, count, rows, width, *, spread=1.0, seed=0):
    random = torch.Generator().manual_seed(seed)
    weight = spread * torch.randn(classes * count, width, generator=random)
    bias = torch.randn(classes * count, generator=random)
    return weight, bias, torch.rand(rows, width, generator=random)


def exact_shares(weight, bias, states, classes):
    logits = (states.double() @ weight.double().T + bias.double()).view(len(states), classes, -1)
    return torch.softmax(logits, dim=1).max(dim=1)


@pytest.mark.parametrize("share", [0.6, 0.99, 0.99999, 1.0 - 2.0**-22])
@pytest.mark.parametrize(("classes", "width", "spread"), [(10, 256, 1.0), (3, 24, 2.0), (1, 16, 1.0), (5, 64, 3e3)])
def test_nothing_is_missed(share, classes, width, spread):
    weight, bias, states = drawn(classes, 40, 60, width, spread=spread)
    row, feature = FirstLook.of(weight, bias, classes=classes).candidates(states, share)
    found = set(zip(row.tolist(), feature.tolist(), strict=True))
    high = torch.nonzero(exact_shares(weight, bias, states, classes).values >= share).tolist()
    assert {tuple(pair) for pair in high} <= found


def test_weights_that_half_precision_cannot_hold_get_no_first_look():
    weight, bias, _ = drawn(5, 40, 1, 64, spread=3e4)
    assert FirstLook.of(weight, bias, classes=5) is None


def test_little_is_computed_again():
    weight, bias, states = drawn(10, 100, 100, 256, spread=0.5)
    row, _ = FirstLook.of(weight, bias, classes=10).candidates(states, 0.95)
    high = int((exact_shares(weight, bias, states, 10).values >= 0.95).sum())
    assert high <= len(row) <= 1.2 * high + 5


def test_features_are_computed_again_in_pieces(monkeypatch):
    weight, bias, states = drawn(4, 30, 20, 32)
    look = FirstLook.of(weight, bias, classes=4)
    every = torch.nonzero(torch.ones(20, 30))
    values, codes = exact_shares(weight, bias, states, 4)
    monkeypatch.setattr(consequents, "AGAIN_CELLS", 1000)
    monkeypatch.setattr(consequents, "TILE_CELLS", 100)
    code, share = look.again(states, every[:, 0], every[:, 1])
    assert torch.equal(code, codes.flatten())
    assert torch.allclose(share.double(), values.flatten(), atol=1e-7)
    assert len(look.candidates(states, 0.5)[0]) >= int((values >= 0.5).sum())


@pytest.mark.parametrize("search", ["full", "mutual"])
@pytest.mark.parametrize("k", [1, 50, 100])
def test_the_most_probable_rules_are_the_same_after_a_first_look(search, k, monkeypatch):
    model = lively([3, 4, 2, 3, 4, 3, 3], widths=(16, 8), seed=3)
    search = SearchSettings(gate=0.05, consequent=0.3, search=search)
    plain = extract_top_rules(model, k=k, search=search)
    monkeypatch.setattr(
        consequents._Block,
        "first_look",
        property(lambda self: FirstLook.of(self.weight, self.bias, classes=len(self.items))),
    )
    monkeypatch.setattr(extraction, "_in_pieces", lambda batches, _, cut=extraction._in_pieces: cut(batches, 8))
    looked = []
    seen = consequents._looked
    monkeypatch.setattr(consequents, "_looked", lambda *given: looked.append(1) or seen(*given))
    found = extract_top_rules(model, k=k, search=search)
    assert looked
    assert np.array_equal(found.antecedents, plain.antecedents)
    assert np.array_equal(found.consequents, plain.consequents)
    assert np.allclose(found.probability, plain.probability, atol=1e-6)


def test_pieces_double_and_together_are_the_whole():
    batches = [
        PassedBatch(np.arange(n)[:, None], torch.arange(n)[:, None], np.zeros(n, np.float32), n) for n in (5, 0, 40)
    ]
    pieces = list(extraction._in_pieces(batches, 2))
    assert [len(piece.items) for piece in pieces] == [2, 3, 0, 4, 8, 16, 12]
    assert np.concatenate([piece.items for piece in pieces[3:]]).tolist() == batches[2].items.tolist()
    assert list(extraction._in_pieces(batches, None)) == batches
