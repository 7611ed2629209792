"""The exact search on a device of torch: antecedents against items, as products of matrices.

The rules are those of ``thence.search.exact.search``, with the same counts and in the same order; the reasons why the
pruning is safe are given there. The rows that two bitmaps share are the product of two vectors of zeros and ones, so
that the counts of many antecedents with many items are one product of matrices. A graphics processor multiplies faster
than it branches, so a batch of antecedents is counted against all items at once. Longer antecedents are first bounded
by the counts of pairs, ``n(i, j, k) ≤ min(n(i, k), n(j, k))``, which settles most of them without a product.

Among neighbours, every set of features that are all neighbours of each other gives one small product: the intersections
of its items by the items of their common neighbours. Sets with about as many common neighbours are multiplied together,
and nothing is pruned, so that the work is known beforehand.

This module works on plain arrays only. It must not know tables, graphs or rules as objects.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thence.search.exact.kernels import SearchProblem
from thence.search.exact.search import RuleBlock
from thence.search.neighbours import Neighbours
from thence.tables.bitmaps.bits import Words

# Matrices of 8-bit integers are multiplied in tiles of this many rows.
_TILE = 32
# The bitmaps are unpacked whole if they take no more bytes than this, else in chunks of this size.
_CHUNK_BYTES = {"cuda": 8 << 30, "cpu": 256 << 20}
# Cells (antecedents × items) that are counted at once.
_CELLS = {"cuda": 1 << 29, "cpu": 1 << 22}
# Zeros and ones that are unpacked and multiplied at once among neighbours.
_NEAR_CELLS = {"cuda": 1 << 31, "cpu": 1 << 24}
# The counts of all pairs are kept if they need no more bytes than this.
_PAIR_BYTES = {"cuda": 16 << 30, "cpu": 1 << 28}
# Cells of first items from which longer antecedents grow: their rules are put in order together.
_GROWING = 1 << 22
# 64-bit words that are gathered at once where single rules are counted.
_WORDS = {"cuda": 1 << 27, "cpu": 1 << 22}
# Sums of so many ones are exact in the floating-point numbers that products are added up in.
_EXACT_ROWS = 1 << 22
# Pairs of a set of features and a common neighbour that are searched before their rules are put in order.
_PAIRS = 1 << 20

_Ints = NDArray[np.int64]
_Found = tuple[Tensor, Tensor, Tensor]
"""Antecedents, consequents and the four counts of rules, on the device."""


def search_on_device(
    problem: SearchProblem, near: Neighbours | None, device: torch.device, block_rules: int
) -> Generator[RuleBlock]:
    """Find the rules of ``mine_exact`` on a device.

    Args:
        problem: The problem, without counts of pairs.
        near: The neighbours of each feature, or ``None`` if all features may appear together.
        device: Where to count.
        block_rules: The most rules of a block.

    Yields:
        Blocks of rules.

    Examples:
        >>> from thence.tables.bitmaps.bits import pack_codes
        >>> from thence.search.exact.search import SearchInput, mine_exact
        >>> bitmaps, present = pack_codes([[0, 0], [0, 0], [1, 0], [1, 1]], cardinalities=[2, 2])
        >>> given = SearchInput.of(bitmaps, feature_of_item=[0, 0, 1, 1], n_rows=4, min_support=0.25)
        >>> for block in mine_exact(given, device=torch.device("cpu")):
        ...     for left, right, counts in zip(block.antecedents, block.consequents, block.counts, strict=True):
        ...         print(left.tolist(), int(right), counts.tolist())
        [0, -1] 2 [4, 2, 3, 2]
        [3, -1] 1 [4, 1, 2, 1]
    """
    if not len(problem.name):
        return
    name = torch.tensor(np.append(problem.name, -1), device=device)
    batches = _search_all(problem, device) if near is None else _search_near(problem, near, device)
    for (antecedents, consequents, counts), progress in batches:
        left, right = name[antecedents.long()].cpu().numpy(), name[consequents.long()].cpu().numpy()
        numbers = counts.cpu().numpy()
        for start in range(0, max(len(right), 1), block_rules):
            piece = slice(start, start + block_rules)
            yield RuleBlock(left[piece], right[piece], numbers[piece].astype(np.int64), progress)


def _in_order(parts: list[_Found], width: int, feature: Tensor | None = None) -> _Found:
    """Join rules in the order of a depth-first search: an antecedent before the longer ones that begin with it.

    With the feature of each item given, the rules of one first feature come before those of the next.
    """
    antecedents = torch.cat(
        [torch.nn.functional.pad(part[0], (0, width - part[0].shape[1]), value=-1) for part in parts]
    )
    consequents, counts = torch.cat([part[1] for part in parts]), torch.cat([part[2] for part in parts])
    order = torch.argsort(consequents, stable=True)
    for column in range(width - 1, -1, -1):
        order = order[torch.argsort(antecedents[order, column], stable=True)]
    if feature is not None:
        first = torch.minimum(feature[antecedents[order, 0]], feature[consequents[order]])
        order = order[torch.argsort(first, stable=True)]
    return antecedents[order], consequents[order], counts[order]


class DeviceBits:
    """Bitmaps on a device.

    Args:
        words: One bitmap per row.
        device: Where they are kept.
        like: Bitmaps over the same rows, to be unpacked in the same chunks.
        chunk_bytes: The most bytes that are unpacked at once.

    Examples:
        >>> bits = DeviceBits(np.array([[5], [3]], np.uint64), torch.device("cpu"))
        >>> bits.height, bits.unpack(next(bits.chunks()))[:2, :4].tolist()
        (2, [[1, 0, 1, 0], [1, 1, 0, 0]])
    """

    def __init__(
        self,
        words: Words,
        device: torch.device,
        *,
        like: DeviceBits | None = None,
        chunk_bytes: int | None = None,
    ) -> None:
        self.height, self.width = words.shape
        padded = np.zeros((max(-(-self.height // _TILE), 1) * _TILE, max(self.width, 1)), np.uint64)
        padded[: self.height, : self.width] = words
        self.words = torch.from_numpy(padded.view(np.int64)).to(device)
        self._bytes = self.words.view(torch.uint8)
        self._shifts = torch.arange(8, dtype=torch.uint8, device=device)
        room = chunk_bytes or _CHUNK_BYTES[device.type]
        fits = max(room // (8 * len(padded) * 8), 1) * 8
        self._step: int = min(fits, self._bytes.shape[1]) if like is None else like._step
        self._whole = self._unpacked(slice(None)) if self._step == self._bytes.shape[1] else None

    @property
    def chunk_rows(self) -> int:
        """The number of rows of the table that are unpacked at once."""
        return 8 * self._step

    def chunks(self) -> Iterator[slice]:
        """Yield the chunks of bytes that are unpacked at once; each has a multiple of 64 rows of the table."""
        for start in range(0, self._bytes.shape[1], self._step):
            yield slice(start, start + self._step)

    def unpack(self, chunk: slice) -> Tensor:
        """Return a chunk of all bitmaps as zeros and ones, with empty bitmaps added to a whole number of tiles."""
        return self._unpacked(chunk) if self._whole is None else self._whole

    def _unpacked(self, chunk: slice) -> Tensor:
        part = self._bytes[:, chunk]
        out = torch.empty((*part.shape, 8), dtype=torch.uint8, device=part.device)
        torch.bitwise_right_shift(part.unsqueeze(-1), self._shifts, out=out)
        out &= 1
        return out.view(torch.int8).flatten(1)


def _multiply(left: Tensor, right: Tensor) -> Tensor:
    """Return the number of ones that each left row shares with each right row, as 32-bit integers.

    Products are of 8-bit integers added up in 32 bits: exact. The right rows are a whole number of tiles.
    """
    missing = -len(left) % _TILE
    if missing:
        left = torch.cat([left, left.new_zeros(missing, left.shape[1])])
    out: Tensor = torch._int_mm(left, right.t())
    return out[: len(out) - missing] if missing else out


def _intersect(bits: Tensor, members: Tensor) -> Tensor:
    """Return the AND of the rows that the last axis of ``members`` lists."""
    rows = bits[members[..., 0]]
    for at in range(1, members.shape[-1]):
        rows = rows & bits[members[..., at]]
    return rows


def count_common(left: DeviceBits, members: Tensor, right: DeviceBits) -> Tensor:
    """Count the rows that each intersection of left bitmaps shares with each right bitmap.

    Args:
        left: Bitmaps.
        members: Matrix (intersections × bitmaps) of the left bitmaps to intersect.
        right: Bitmaps over the same rows, unpacked in the same chunks; may be the same object.

    Examples:
        >>> bits = DeviceBits(np.array([[7], [3], [5]], np.uint64), torch.device("cpu"))
        >>> count_common(bits, torch.tensor([[0, 1], [1, 2]]), bits).tolist()
        [[2, 2, 1], [1, 1, 1]]
    """
    total = torch.zeros((len(members), len(right.words)), dtype=torch.int32, device=members.device)
    for chunk in left.chunks():
        ones = left.unpack(chunk)
        total += _multiply(_intersect(ones, members), ones if right is left else right.unpack(chunk))
    return total[:, : right.height]


def _popcount(words: Tensor) -> Tensor:
    """Return the number of ones in each row of 64-bit words."""
    count = words - ((words >> 1) & 0x5555555555555555)
    count = (count & 0x3333333333333333) + ((count >> 2) & 0x3333333333333333)
    count = (count + (count >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((count * 0x0101010101010101) >> 56).sum(dim=1)


def _smallest_count(n: Tensor, p: int, q: int) -> Tensor:
    """Return the smallest k with k/n ≥ p/q, for each n."""
    return -torch.div(-p * n, q, rounding_mode="floor")


def _needed(problem: SearchProblem, n: Tensor, n_antecedent: Tensor) -> Tensor:
    """Return the fewest rows in which a rule must hold to meet the thresholds."""
    support = _smallest_count(n, problem.support_p, problem.support_q)
    return torch.maximum(support, _smallest_count(n_antecedent, problem.confidence_p, problem.confidence_q)).clamp(
        min=1
    )


class _DeviceTask(NamedTuple):
    """The arrays of a search among all features."""

    items: DeviceBits
    present: DeviceBits | None
    feature: Tensor
    n_item: Tensor
    leads: Tensor
    follows: Tensor
    pairs: Tensor | None
    problem: SearchProblem

    @property
    def kind(self) -> str:
        return self.feature.device.type


def _task(problem: SearchProblem, device: torch.device) -> _DeviceTask:
    def move(values: NDArray[np.generic]) -> Tensor:
        return torch.tensor(values, device=device)

    items = DeviceBits(problem.bitmaps[problem.name], device)
    # Only features of items that take part have to be known; they are renumbered.
    used, feature = np.unique(problem.feature, return_inverse=True)
    present = DeviceBits(problem.present[used], device, like=items) if len(problem.present) else None
    n_items = len(problem.name)
    task = _DeviceTask(
        items,
        present,
        move(feature.astype(np.int64)),
        move(problem.n_item.astype(np.int64)),
        move(problem.antecedent_ok),
        move(problem.consequent_ok),
        None,
        problem,
    )
    worth = problem.max_antecedents > 1 and present is None and 4 * n_items**2 <= _PAIR_BYTES[device.type]
    return task._replace(pairs=_pairs(task)) if worth else task


def _pairs(task: _DeviceTask) -> Tensor:
    """The rows that each two items share; none for the items of one feature."""
    n_items = len(task.feature)
    pairs = torch.empty((n_items, n_items), dtype=torch.int32, device=task.feature.device)
    for low in range(0, n_items, step := _batch(task)):
        some = torch.arange(low, min(low + step, n_items), device=pairs.device)
        pairs[low : low + step] = _count_items(task, some[:, None])
    return pairs


def _batch(task: _DeviceTask) -> int:
    """How many antecedents are counted at once: a multiple of 32."""
    return max(_CELLS[task.kind] // max(len(task.feature), 1) // 32, 1) * 32


def _count_items(task: _DeviceTask, antecedents: Tensor) -> Tensor:
    """Count the rows that antecedents share with every item of another feature; 0 for the items of their own."""
    counts = count_common(task.items, antecedents, task.items)
    counts.scatter_(1, antecedents, 0)
    return counts


def _search_all(problem: SearchProblem, device: torch.device) -> Iterator[tuple[_Found, float]]:
    """Yield the rules of batches of first items, in order, and the share of the search that is done."""
    task = _task(problem, device)
    first = torch.nonzero(task.leads).flatten()
    step = _batch(task)
    if problem.max_antecedents > 1:
        # The antecedents that grow from a batch of first items are as many as its cells.
        step = max(min(step, _GROWING // len(problem.name)), 1)
    for low in range(0, len(first), step):
        some = first[low : low + step, None]
        found = list(_visit(task, some, task.n_item[some[:, 0]]))
        yield _in_order(found, problem.max_antecedents), min(low + step, len(first)) / len(first)


def _visit(task: _DeviceTask, antecedents: Tensor, n_held: Tensor) -> Iterator[_Found]:
    """Yield the rules of some antecedents, and of those that grow from them."""
    problem = task.problem
    level = antecedents.shape[1]
    last = level == problem.max_antecedents
    for low in range(0, len(antecedents), step := _batch(task)):
        chosen, held = antecedents[low : low + step], n_held[low : low + step]
        if last and level > 1 and task.pairs is not None:
            chosen, held = _hopeful(task, chosen, held)
        if not len(chosen):
            continue
        counts = task.pairs[chosen[:, 0]] if level == 1 and task.pairs is not None else _count_items(task, chosen)
        floor, found = _rules(task, chosen, held, counts)
        yield found
        if not last:
            later = torch.arange(counts.shape[1], device=counts.device) > chosen[:, -1:]
            row, item = torch.nonzero((counts >= floor[:, None]) & task.leads & later, as_tuple=True)
            longer = torch.cat([chosen[row], item[:, None]], dim=1)
            yield from _visit(task, longer, counts[row, item].long())


def _hopeful(task: _DeviceTask, chosen: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
    """Keep the antecedents of which some consequent may be confident, according to the counts of pairs."""
    assert task.pairs is not None
    problem = task.problem
    floor = max(1, -(-problem.support_p * problem.n_rows // problem.support_q))
    least = _smallest_count(held, problem.confidence_p, problem.confidence_q).clamp(min=floor).int()
    bound = task.pairs[chosen[:, 0]]
    for position in range(1, chosen.shape[1]):
        bound = torch.minimum(bound, task.pairs[chosen[:, position]])
    alive = ((bound >= least[:, None]) & task.follows).any(dim=1)
    return chosen[alive], held[alive]


def _rules(task: _DeviceTask, chosen: Tensor, held: Tensor, counts: Tensor) -> tuple[Tensor, _Found]:
    """Return how many rows longer antecedents need, and the rules of these antecedents with their counts."""
    problem = task.problem
    known: Tensor | None = None
    if task.present is None:
        n = torch.full_like(held, problem.n_rows)[:, None]
        n_antecedent = held[:, None]
    else:
        features = task.feature[chosen]
        known = _intersect(task.present.words, features)
        n = _per_set(task, features)
        n_antecedent = count_common(task.items, chosen, task.present).long()
    least = _needed(problem, n, n_antecedent)
    needed = least.int() if task.present is None else least.int()[:, task.feature]
    row, item = torch.nonzero((counts >= needed) & task.follows, as_tuple=True)
    column = torch.zeros_like(item) if task.present is None else task.feature[item]
    n_consequent = task.n_item[item] if known is None else _count_single(task, known, row, item)
    table = torch.stack([n[row, column], n_antecedent[row, column], n_consequent, counts[row, item].long()], dim=1)
    n_known = torch.full_like(held, problem.n_rows) if known is None else _popcount(known)
    missing = int(problem.top_missing[problem.max_antecedents + 1 - chosen.shape[1]])
    floor = _smallest_count((n_known - missing).clamp(min=problem.n_complete), problem.support_p, problem.support_q)
    return floor.clamp(min=1), (chosen[row].int(), item.int(), table.int())


def _per_set(task: _DeviceTask, features: Tensor) -> Tensor:
    """For each antecedent and each feature, the rows in which it and those of the antecedent are present."""
    assert task.present is not None
    sets, which = torch.unique(features, dim=0, return_inverse=True)
    return count_common(task.present, sets, task.present).long()[which]


def _count_single(task: _DeviceTask, known: Tensor, row: Tensor, item: Tensor) -> Tensor:
    """Count the rows in which an item holds among those in which the features of an antecedent are present."""
    step = max(_WORDS[task.kind] // known.shape[1], 1)
    parts = [
        _popcount(known[row[low : low + step]] & task.items.words[item[low : low + step]])
        for low in range(0, len(row), step)
    ]
    return torch.cat(parts) if parts else torch.zeros_like(item)


class _NearTask(NamedTuple):
    """The arrays of a search among neighbours."""

    items: DeviceBits  # the last bitmap is empty
    known: DeviceBits  # one bitmap per feature, then one of all rows
    lead: Tensor  # (features × items) the bitmap of each item that may lead, or the empty one
    follow: Tensor
    problem: SearchProblem
    n_item: Tensor

    @property
    def complete(self) -> bool:
        return not len(self.problem.present)


def _near_task(problem: SearchProblem, near: Neighbours, device: torch.device) -> _NearTask:
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
    return _NearTask(
        items,
        DeviceBits(np.concatenate([known, every[None, :]]), device, like=items),
        torch.tensor(lead, device=device),
        torch.tensor(follow, device=device),
        problem,
        torch.tensor(np.append(problem.n_item, 0).astype(np.int64), device=device),
    )


def _search_near(problem: SearchProblem, near: Neighbours, device: torch.device) -> Iterator[tuple[_Found, float]]:
    """Yield the rules of ranges of first features, in order, and the share of the search that is done."""
    task = _near_task(problem, near, device)
    feature = torch.tensor(problem.feature.astype(np.int64), device=device)
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
        found: list[_Found] = []
        for members, (rows, others), end in zip(sets, pairs, ends, strict=True):
            inside = (end >= low) & (end < high)
            found += _count_sets(task, members, rows[inside], others[inside])
        if found:
            yield _in_order(found, problem.max_antecedents, feature), high / near.n_features


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


def _count_sets(task: _NearTask, members: _Ints, rows: _Ints, others: _Ints) -> Iterator[_Found]:
    """Yield the rules of sets of features with the common neighbours that are given for each."""
    used, place, sizes = np.unique(rows, return_inverse=True, return_counts=True)
    order = np.argsort(sizes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    others = others[np.argsort(place, kind="stable")]
    depth, width = members.shape[1], task.lead.shape[1]
    chunk = min(task.items.chunk_rows, _EXACT_ROWS)
    at = 0
    while at < len(order):
        # The sets are in order of size, so the last of a batch is the largest.
        most = int(_NEAR_CELLS[task.lead.device.type] // (chunk * (width**depth + width * int(sizes[order[at]])))) or 1
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


def _count_batch(task: _NearTask, members: _Ints, targets: _Ints) -> _Found:
    problem, device = task.problem, task.lead.device
    depth, width, empty = members.shape[1], task.lead.shape[1], task.items.height - 1
    sets = torch.tensor(members, device=device)
    grid = torch.cartesian_prod(*[torch.arange(width, device=device)] * depth).reshape(-1, depth)
    left = torch.stack([task.lead[sets[:, at]][:, grid[:, at]] for at in range(depth)], dim=-1)
    after = torch.tensor(targets, device=device)
    right = torch.where(after[:, :, None] >= 0, task.follow[after.clamp(min=0)], empty).flatten(1)
    known = torch.cat([after.clamp(min=0), after.new_full((len(after), 1), task.known.height - 1)], dim=1)
    counts = _multiply_sets(task, left, right, sets, known)
    n_left, n_right = left.shape[1], right.shape[1]
    both = counts[:, :n_left, :n_right]
    held = counts[:, :n_left, -1]
    if task.complete:
        n = torch.full_like(both[:, :1, :1], problem.n_rows)
        n_antecedent = held[:, :, None]
    else:
        n = counts[:, n_left:, n_right:-1].repeat_interleave(width, dim=2)
        n_antecedent = counts[:, :n_left, n_right:-1].repeat_interleave(width, dim=2)
    least = _needed(problem, n, n_antecedent)
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
    return left[block, row], items, table


def _multiply_sets(task: _NearTask, left: Tensor, right: Tensor, sets: Tensor, known: Tensor) -> Tensor:
    """Count the rows that left intersections (and the presence of their features) share with what is right.

    Left are the intersections of each set of features, then the rows in which the set is present; right the items of
    the common neighbours, then the rows in which each of these is present, then all rows.
    """
    exact = torch.bfloat16 if left.device.type == "cuda" else torch.float32
    total: Tensor | None = None
    for chunk in task.items.chunks():
        ones, there = task.items.unpack(chunk), task.known.unpack(chunk)
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
