"""Exact mining among neighbours on a device of torch: sets of neighbouring features, many at a time.

The rules are those of ``thence.search.exact.neighbourhoods``, with the same counts and in the same order. Every set of
features that are all neighbours of each other gives one small product of matrices: the intersections of its items by
the items of their common neighbours. Sets with about as many common neighbours are multiplied together. Nothing is
pruned, so that the work is known beforehand. This module must not know about tables or graphs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from thence.search.exact.device_bits import DeviceBits, smallest_count
from thence.search.exact.kernels import SearchProblem
from thence.search.exact.search import RuleBlock, cap_blocks, prepare_search
from thence.search.neighbours import Neighbours
from thence.tables.bitmaps.bits import Words

__all__ = ["mine_near_on_device"]

# Zeros and ones that are unpacked and multiplied at once.
_CELLS = {"cuda": 1 << 31, "cpu": 1 << 24}
# Sums of so many ones are exact in the floating-point numbers that products are added up in.
_EXACT_ROWS = 1 << 22
# Pairs of a set of features and a common neighbour that are searched before their rules are put in order.
_PAIRS = 1 << 20

_Ints = NDArray[np.int64]


def mine_near_on_device(
    bitmaps: Words,
    *,
    near: Neighbours,
    feature_of_item: ArrayLike,
    n_rows: int,
    device: torch.device,
    antecedent_ok: ArrayLike | None = None,
    consequent_ok: ArrayLike | None = None,
    present: Words | None = None,
    max_antecedents: int = 2,
    min_support: float | str | Fraction = 0.01,
    min_confidence: float | str | Fraction = 0.8,
    max_rules: int | None = None,
    block_rules: int = 1 << 16,
) -> Generator[RuleBlock, None, None]:
    """Find the rules of ``mine_near`` on a device; see there.

    Args:
        bitmaps: One bitmap per item.
        near: The neighbours of each feature.
        feature_of_item: The feature of each item.
        n_rows: The number of rows.
        device: Where to count.
        antecedent_ok: For each item, whether it may be in an antecedent.
        consequent_ok: For each item, whether it may be a consequent.
        present: One bitmap per feature of the rows in which it is not missing.
        max_antecedents: The largest number of antecedent items.
        min_support: The lowest support.
        min_confidence: The lowest confidence.
        max_rules: The search ends after this many rules, with a block that is marked as ``capped``.
        block_rules: The most rules of a block.

    Returns:
        A generator of blocks of rules.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_codes
        >>> bitmaps, _ = pack_codes([[0, 0, 0], [1, 1, 1]], cardinalities=[2, 2, 2])
        >>> near, owner = Neighbours.of([[1], [], []]), [0, 0, 1, 1, 2, 2]
        >>> on = {"near": near, "feature_of_item": owner, "n_rows": 2, "device": torch.device("cpu")}
        >>> (found,) = mine_near_on_device(bitmaps, **on)
        >>> found.antecedents[:, 0].tolist(), found.consequents.tolist()
        ([0, 1, 2, 3], [2, 3, 0, 1])
    """
    owner = np.ascontiguousarray(feature_of_item, dtype=np.int32).ravel()
    problem = prepare_search(
        bitmaps,
        feature_of_item=owner,
        n_rows=n_rows,
        antecedent_ok=antecedent_ok,
        consequent_ok=consequent_ok,
        present=present,
        max_antecedents=max_antecedents,
        min_support=min_support,
        min_confidence=min_confidence,
        count_pairs=False,
    )
    blocks = _search(problem, near, device, block_rules)
    return blocks if max_rules is None else cap_blocks(blocks, max_rules)


class _Task(NamedTuple):
    items: DeviceBits  # the last bitmap is empty
    known: DeviceBits  # one bitmap per feature, then one of all rows
    lead: Tensor  # (features × items) the bitmap of each item that may lead, or the empty one
    follow: Tensor
    problem: SearchProblem
    n_item: Tensor

    @property
    def complete(self) -> bool:
        return not len(self.problem.present)


def _task(problem: SearchProblem, near: Neighbours, device: torch.device) -> _Task:
    n_items, n_features = len(problem.name), near.n_features
    empty = np.zeros((1, problem.bitmaps.shape[1]), np.uint64)
    items = DeviceBits(np.concatenate([problem.bitmaps[problem.name], empty]), device)
    every = np.full(problem.bitmaps.shape[1], ~np.uint64(0))
    known = problem.present[:n_features] if len(problem.present) else np.zeros((0, len(every)), np.uint64)
    sizes = np.bincount(problem.feature, minlength=n_features)
    position = np.arange(n_items) - np.searchsorted(problem.feature, problem.feature)
    table = np.full((n_features, int(sizes.max(initial=1))), n_items)
    lead, follow = table.copy(), table.copy()
    for out, allowed in ((lead, problem.antecedent_ok), (follow, problem.consequent_ok)):
        out[problem.feature[allowed], position[allowed]] = np.flatnonzero(allowed)
    return _Task(
        items,
        DeviceBits(np.concatenate([known, every[None, :]]), device, like=items),
        torch.tensor(lead, device=device),
        torch.tensor(follow, device=device),
        problem,
        torch.tensor(np.append(problem.n_item, 0).astype(np.int64), device=device),
    )


def _search(
    problem: SearchProblem, near: Neighbours, device: torch.device, block_rules: int
) -> Generator[RuleBlock, None, None]:
    if not len(problem.name):
        return
    task = _task(problem, near, device)
    # Each set of features with each common neighbour; a rule belongs to the first of all its features.
    sets = _neighbouring_sets(near, problem.max_antecedents)
    pairs = [_common(near, members) for members in sets]
    ends = [np.minimum(members[rows, 0], others) for members, (rows, others) in zip(sets, pairs, strict=True)]
    per_feature = sum(
        (np.bincount(end, minlength=near.n_features) for end in ends), np.zeros(near.n_features, np.int64)
    )
    cuts = np.unique(np.searchsorted(np.cumsum(per_feature), np.arange(0, per_feature.sum() + _PAIRS, _PAIRS)))
    bounds = [0, *cuts[(cuts > 0) & (cuts < near.n_features)].tolist(), near.n_features]
    for low, high in pairwise(bounds):
        found: list[tuple[_Ints, _Ints, _Ints]] = []
        for members, (rows, others), end in zip(sets, pairs, ends, strict=True):
            inside = (end >= low) & (end < high)
            found += _count_sets(task, members, rows[inside], others[inside])
        yield from _in_order(task, found, block_rules, high / near.n_features)


def _in_order(
    task: _Task, found: list[tuple[_Ints, _Ints, _Ints]], block_rules: int, progress: float
) -> Iterator[RuleBlock]:
    problem = task.problem
    width = problem.max_antecedents
    antecedents = np.full((sum(len(part[1]) for part in found), width), -1, np.int64)
    at = 0
    for left, right, _ in found:
        antecedents[at : at + len(right), : left.shape[1]] = left
        at += len(right)
    consequents = np.concatenate([part[1] for part in found]) if found else np.zeros(0, np.int64)
    counts = np.concatenate([part[2] for part in found]) if found else np.zeros((0, 4), np.int64)
    if not len(consequents):
        return
    first = np.minimum(problem.feature[antecedents[:, 0]], problem.feature[consequents])
    order = np.lexsort((consequents, *antecedents.T[::-1], first))
    names = np.where(antecedents < 0, -1, problem.name[antecedents]).astype(np.int32)[order]
    targets, counts = problem.name[consequents][order].astype(np.int32), counts[order]
    for start in range(0, len(targets), block_rules):
        piece = slice(start, start + block_rules)
        yield RuleBlock(names[piece], targets[piece], counts[piece], progress)


def _expand(near: Neighbours, of: _Ints) -> tuple[_Ints, _Ints]:
    """Return the position in ``of`` and the neighbour, for all neighbours of all its features."""
    sizes = np.diff(near.starts)[of]
    rows = np.repeat(np.arange(len(of)), sizes)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, near.members[near.starts[of][rows] + offsets]


def _neighbouring_sets(near: Neighbours, most: int) -> list[_Ints]:
    """Return the sets of 1, 2, … features that are all neighbours of each other, as ascending rows."""
    sets = [np.arange(near.n_features, dtype=np.int64)[:, None]]
    while len(sets) < most:
        rows, others = _common(near, sets[-1])
        later = others > sets[-1][rows, -1]
        sets.append(np.concatenate([sets[-1][rows[later]], others[later, None]], axis=1))
    return sets


def _common(near: Neighbours, members: _Ints) -> tuple[_Ints, _Ints]:
    """Return the row of ``members`` and the feature, for all common neighbours of each set."""
    rows, others = _expand(near, members[:, 0])
    for position in range(1, members.shape[1]):
        keep = near.together(members[rows, position], others)
        rows, others = rows[keep], others[keep]
    return rows, others


def _count_sets(task: _Task, members: _Ints, rows: _Ints, others: _Ints) -> Iterator[tuple[_Ints, _Ints, _Ints]]:
    """Yield the rules of sets of features with the common neighbours that are given for each."""
    used, place, sizes = np.unique(rows, return_inverse=True, return_counts=True)
    order = np.argsort(sizes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    others = others[np.argsort(place, kind="stable")]
    depth, width = members.shape[1], task.lead.shape[1]
    stretch = min(task.items.stretch_rows, _EXACT_ROWS)
    at = 0
    while at < len(order):
        # The sets are in order of size, so the last of a batch is the largest.
        most = int(_CELLS[task.lead.device.type] // (stretch * (width**depth + width * int(sizes[order[at]])))) or 1
        batch = order[at : at + most]
        largest = int(sizes[batch[-1]])
        while len(batch) > 1 and largest > 2 * sizes[batch[0]]:
            batch = batch[: max(int(np.searchsorted(sizes[batch], 2 * sizes[batch[0]], side="right")), 1)]
            largest = int(sizes[batch[-1]])
        at += len(batch)
        targets = np.full((len(batch), largest), -1, np.int64)
        inside = np.arange(largest)[None, :] < sizes[batch][:, None]
        targets[inside] = others[(starts[batch][:, None] + np.arange(largest)[None, :])[inside]]
        yield _count_batch(task, members[used[batch]], targets)


def _count_batch(task: _Task, members: _Ints, targets: _Ints) -> tuple[_Ints, _Ints, _Ints]:
    problem, device = task.problem, task.lead.device
    depth, width, empty = members.shape[1], task.lead.shape[1], task.items.height - 1
    sets = torch.tensor(members, device=device)
    grid = torch.cartesian_prod(*[torch.arange(width, device=device)] * depth).reshape(-1, depth)
    left = torch.stack([task.lead[sets[:, at]][:, grid[:, at]] for at in range(depth)], dim=-1)
    after = torch.tensor(targets, device=device)
    right = torch.where(after[:, :, None] >= 0, task.follow[after.clamp(min=0)], empty).flatten(1)
    known = torch.cat([after.clamp(min=0), after.new_full((len(after), 1), task.known.height - 1)], dim=1)
    counts = _multiply(task, left, right, sets, known)
    n_left, n_right = left.shape[1], right.shape[1]
    both = counts[:, :n_left, :n_right]
    held = counts[:, :n_left, -1]
    if task.complete:
        n = torch.full_like(both[:, :1, :1], problem.n_rows)
        n_antecedent = held[:, :, None]
    else:
        n = counts[:, n_left:, n_right:-1].repeat_interleave(width, dim=2)
        n_antecedent = counts[:, :n_left, n_right:-1].repeat_interleave(width, dim=2)
    least = torch.maximum(
        smallest_count(n, problem.support_p, problem.support_q),
        smallest_count(n_antecedent, problem.confidence_p, problem.confidence_q),
    ).clamp(min=1)
    block, row, column = torch.nonzero(both >= least, as_tuple=True)
    items = right[block, column]
    n_consequent = task.n_item[items] if task.complete else counts[:, n_left, :n_right][block, column]
    table = torch.stack(
        [
            n.expand(both.shape)[block, row, column],
            n_antecedent.expand(both.shape)[block, row, column],
            n_consequent,
            both[block, row, column],
        ],
        dim=1,
    )
    return left[block, row].cpu().numpy(), items.cpu().numpy(), table.cpu().numpy()


def _multiply(task: _Task, left: Tensor, right: Tensor, sets: Tensor, known: Tensor) -> Tensor:
    """Count the rows that left intersections (and the presence of their features) share with what is right.

    Left are the intersections of each set of features, then the rows in which the set is present; right the items of
    the common neighbours, then the rows in which each of these is present, then all rows.
    """
    exact = torch.bfloat16 if left.device.type == "cuda" else torch.float32
    total: Tensor | None = None
    for stretch in task.items.stretches():
        ones, there = task.items.unpack(stretch), task.known.unpack(stretch)
        for low in range(0, ones.shape[1], _EXACT_ROWS):
            part, present = ones[:, low : low + _EXACT_ROWS], there[:, low : low + _EXACT_ROWS]
            rows = _intersect(part, left)
            columns = [part[right], present[known[:, -1:] if task.complete else known]]
            if not task.complete:
                rows = torch.cat([rows, _intersect(present, sets[:, None, :])], dim=1)
            one, other = rows.to(exact), torch.cat(columns, dim=1).to(exact).transpose(1, 2)
            product = (
                torch.bmm(one, other, out_dtype=torch.float32) if exact == torch.bfloat16 else torch.bmm(one, other)
            )
            total = product.long() if total is None else total + product.long()
    assert total is not None
    return total


def _intersect(bits: Tensor, members: Tensor) -> Tensor:
    rows = bits[members[..., 0]]
    for at in range(1, members.shape[-1]):
        rows = rows & bits[members[..., at]]
    return rows
