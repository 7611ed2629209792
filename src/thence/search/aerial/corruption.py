"""How training corrupts its input: by hiding all but a few features, or by adding noise.

``mask`` leaves about as many features visible as an extraction query marks and replaces the rest by the unknown block,
so that training resembles extraction. ``gaussian`` is the paper's corruption: noise on the one-hot input, clipped to
[0, 1]. This module must not know about gradients, epochs or rules.
"""

from __future__ import annotations

import torch
from torch import Tensor

from thence.search.aerial.autoencoder import Layout
from thence.search.neighbours import Neighbours

MANY = 8
"""From this many visible features on, ranking random numbers is faster than drawing one feature after the other."""

__all__ = [
    "draw_features_around",
    "draw_few_of_many_features",
    "draw_visible_features",
    "find_visible_items",
    "make_noisy_input",
]


def draw_visible_features(n_features: int, *, rows: int, most: int, generator: torch.Generator) -> Tensor:
    """Draw the visible features of each row.

    The number of visible features is uniform over 1 to ``most``, and so is each choice of features of that size.

    Args:
        n_features: The number of features.
        rows: The number of rows.
        most: The largest number of visible features.
        generator: Source of randomness, which also gives the device.

    Returns:
        The features (rows × most), −1 where a row shows fewer.

    Examples:
        >>> shown = draw_visible_features(5, rows=3, most=2, generator=torch.Generator().manual_seed(0))
        >>> shown.shape, bool((shown[:, 0] != shown[:, 1]).all())
        (torch.Size([3, 2]), True)
    """
    device, most = generator.device, min(most, n_features)
    if most > MANY:
        picks = torch.rand(rows, n_features, generator=generator, device=device).topk(most, dim=1).indices
        return _keep_some(picks, generator)
    picks = torch.empty(rows, 0, dtype=torch.int64, device=device)
    for drawn in range(most):
        pick = torch.randint(0, n_features - drawn, (rows, 1), generator=generator, device=device)
        # Walking up through the earlier picks skips each of them once, so all remaining features are equally likely.
        for earlier in picks.sort(dim=1).values.T:
            pick += pick >= earlier.unsqueeze(1)
        picks = torch.cat([picks, pick], dim=1)
    return _keep_some(picks, generator)


def draw_few_of_many_features(n_features: int, *, rows: int, most: int, generator: torch.Generator) -> Tensor:
    """Draw the visible features of each row of a wide table.

    Like ``draw_visible_features``, but a feature that is drawn twice is shown once. Where many more features are hidden
    than shown this is rare, and there is no need to rank them all.

    Args:
        n_features: The number of features.
        rows: The number of rows.
        most: The largest number of visible features.
        generator: Source of randomness, which also gives the device.

    Returns:
        The features (rows × most), −1 where a row shows fewer.
    """
    picks = torch.randint(0, n_features, (rows, most), generator=generator, device=generator.device)
    picks = _keep_some(picks, generator).sort(dim=1).values
    picks[:, 1:].masked_fill_(picks[:, 1:] == picks[:, :-1], -1)
    return picks


def draw_features_around(
    centres: Tensor, *, per_centre: int, most: int, generator: torch.Generator, neighbours: Neighbours
) -> Tensor:
    """Draw visible features for blocks of rows that each show their centre and some of its neighbours.

    Args:
        centres: The central feature of each block.
        per_centre: Rows per block.
        most: The largest number of visible features.
        generator: Source of randomness, which also gives the device.
        neighbours: The neighbours of each feature.

    Returns:
        The features (rows × most), −1 where a row shows fewer.
    """
    device = generator.device
    starts = torch.from_numpy(neighbours.starts).to(device)
    # One more entry, for features without neighbours to point at.
    members = torch.nn.functional.pad(torch.from_numpy(neighbours.members).to(device), (0, 1), value=-1)
    low, size = starts[centres], starts[centres + 1] - starts[centres]
    picks = centres.repeat_interleave(per_centre).unsqueeze(1)
    low, size = (bound.repeat_interleave(per_centre).unsqueeze(1) for bound in (low, size))
    for _ in range(1, most):
        step = (torch.rand(len(picks), 1, generator=generator, device=device) * size).long()
        pick = members[torch.where(size > 0, low + step, -1)]
        # A feature that is drawn twice is shown once.
        picks = torch.cat([picks, pick.masked_fill_((picks == pick).any(dim=1, keepdim=True), -1)], dim=1)
    return _keep_some(picks, generator)


def _keep_some(picks: Tensor, generator: torch.Generator) -> Tensor:
    """Keep a random number of the picks of each row, from one to all of them, each number equally often."""
    rows, most = picks.shape
    count = torch.randint(1, most + 1, (rows, 1), generator=generator, device=generator.device)
    return picks.masked_fill_(torch.arange(most, device=generator.device) >= count, -1)


def find_visible_items(layout: Layout, codes: Tensor, features: Tensor, offsets: Tensor | None = None) -> Tensor:
    """Return the items of the visible features, and ``n_items`` where no feature is shown or its value is missing.

    Args:
        layout: How the items are numbered.
        codes: The codes of the rows.
        features: The visible features of each row, −1 for none.
        offsets: The offsets of the layout, if they are on the device already.
    """
    shown = features.clamp(min=0)
    chosen = torch.gather(codes, 1, shown).long()
    if offsets is None:
        offsets = torch.as_tensor(layout.offsets, device=codes.device)
    items = offsets[shown] + chosen
    return items.masked_fill_((features < 0) | (chosen < 0), layout.n_items)


def make_noisy_input(
    layout: Layout, codes: Tensor, *, unknown: Tensor, noise: float, generator: torch.Generator
) -> Tensor:
    """Return one-hot rows with gaussian noise, clipped to [0, 1].

    Args:
        layout: How the items are numbered.
        codes: Codes of the rows, −1 where a value is missing; a missing value becomes the unknown block, without noise.
        unknown: The input in which every feature is unknown.
        noise: Standard deviation of the noise.
        generator: Source of randomness.
    """
    rows = len(codes)
    dense = torch.randn(rows, layout.n_items, generator=generator, device=codes.device).mul_(noise)
    offsets = torch.as_tensor(layout.offsets[:-1], device=codes.device)
    present = codes >= 0
    # Missing values are written to a spare column, which is cut off again.
    items = torch.where(present, codes + offsets, layout.n_items)
    spare = torch.zeros(rows, layout.n_items + 1, device=codes.device, dtype=dense.dtype)
    dense += spare.scatter_(1, items, 1.0)[:, :-1]
    dense.clamp_(0.0, 1.0)
    if not bool(present.all()):
        owner = torch.as_tensor(layout.feature_of_item, device=codes.device)
        dense = torch.where(present[:, owner], dense, unknown)
    return dense
