"""What training hides: how many features stay visible, which ones, and what noise does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from thence.search.aerial.autoencoder import Layout, initialise
from thence.search.aerial.training import (
    draw_features_around,
    draw_visible_features,
    find_visible_items,
    make_noisy_input,
)
from thence.search.neighbours import Neighbours


@pytest.mark.parametrize("many", [0, 8], ids=["ranked", "drawn"])
def test_every_number_and_every_choice_of_features_is_equally_likely(many, monkeypatch):
    monkeypatch.setattr("thence.search.aerial.training.MANY", many)
    rows = 60_000
    shown = draw_visible_features(5, rows=rows, most=3, generator=torch.Generator().manual_seed(0)).numpy()
    sizes = (shown >= 0).sum(axis=1)
    choices = {size: Counter() for size in (1, 2, 3)}
    for row, size in zip(shown, sizes, strict=True):
        members = frozenset(row[:size].tolist())
        assert len(members) == size
        assert (row[size:] == -1).all()
        choices[int(size)][members] += 1
    for size, possible in ((1, 5), (2, 10), (3, 10)):
        total = sum(choices[size].values())
        # Five standard deviations of a fair draw.
        assert abs(total - rows / 3) < 5 * np.sqrt(rows * 2 / 9)
        assert len(choices[size]) == possible
        expected = total / possible
        assert all(abs(count - expected) < 5 * np.sqrt(expected) for count in choices[size].values())


def test_no_more_features_are_shown_than_there_are():
    shown = draw_visible_features(2, rows=50, most=4, generator=torch.Generator().manual_seed(0))
    assert shown.shape == (50, 2)
    assert set(shown[:, 0].tolist()) == {0, 1}


def test_rows_of_a_centre_show_it_and_its_neighbours():
    near = Neighbours.of([[1, 2, 3], [], [], [], []])
    centres = torch.tensor([0, 4])
    shown = draw_features_around(
        centres, per_centre=200, most=3, generator=torch.Generator().manual_seed(0), neighbours=near
    ).numpy()
    assert (shown[:200, 0] == 0).all()
    assert set(shown[:200, 1:].ravel().tolist()) == {-1, 1, 2, 3}
    assert (shown[200:] == [4, -1, -1]).all()
    for row in shown[:200]:
        members = row[row >= 0]
        assert len(set(members.tolist())) == len(members)


def test_visible_items_leave_out_what_is_missing():
    layout = Layout.of([3, 2])
    codes = torch.tensor([[2, 1], [-1, 0]], dtype=torch.int16)
    shown = torch.tensor([[1, 0], [0, -1]])
    assert find_visible_items(layout, codes, shown).tolist() == [[4, 2], [5, 5]]


def test_noise_is_clipped_and_missing_values_stay_unknown():
    layout = Layout.of([2, 4])
    codes = torch.tensor([[1, -1]] * 500, dtype=torch.int16)
    unknown = initialise([2, 4]).unknown()
    dense = make_noisy_input(layout, codes, unknown=unknown, noise=0.5, generator=torch.Generator().manual_seed(0))
    assert dense.min() >= 0
    assert dense.max() <= 1
    assert (dense[:, 2:] == 0.25).all()
    # Half of the noise around 0 and 1 is cut off: the means are 0.5 / sqrt(2 pi) away from the ends.
    assert abs(float(dense[:, 0].mean()) - 0.1888) < 0.05
    assert abs(float(dense[:, 1].mean()) - 0.8112) < 0.05


def test_without_noise_the_input_is_one_hot():
    layout = Layout.of([2, 3])
    codes = torch.tensor([[1, 0], [0, 2]], dtype=torch.int16)
    dense = make_noisy_input(layout, codes, unknown=torch.zeros(5), noise=0.0, generator=torch.Generator())
    assert dense.tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
