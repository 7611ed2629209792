"""Exhaustive search for rules on a device of torch: every antecedent against every item, as products of matrices.

The rules are those of ``thence.search.exact.search``, with the same counts and in the same order; the reasons why the
pruning is safe are given there. A graphics processor multiplies faster than it branches, so a batch of antecedents is
counted against all items at once. Longer antecedents are first bounded by the counts of pairs,
``n(i, j, k) ≤ min(n(i, k), n(j, k))``, which settles most of them without a product.

This module works on plain arrays only. It must not know tables or rules as objects.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from thence.search.exact.device_bits import DeviceBits, count_common, popcount_words, smallest_count
from thence.search.exact.kernels import SearchProblem
from thence.search.exact.search import RuleBlock, cap_blocks, prepare_search
from thence.tables.bitmaps.bits import Words

__all__ = ["mine_on_device"]

# Cells (antecedents × items) that are counted at once.
_CELLS = {"cuda": 1 << 29, "cpu": 1 << 22}
# The counts of all pairs are kept if they need no more bytes than this.
_PAIR_BYTES = {"cuda": 16 << 30, "cpu": 1 << 28}
# The same for first items from which longer antecedents grow: their rules are put in order together.
_GROWING = 1 << 22
# 64-bit words that are gathered at once where single rules are counted.
_WORDS = {"cuda": 1 << 27, "cpu": 1 << 22}

_Found = tuple[Tensor, Tensor, Tensor]
"""Antecedents, consequents and the four counts of rules, as 32-bit integers on the device."""


def mine_on_device(
    bitmaps: Words,
    *,
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
    """Find the rules of ``mine_exact`` on a device; see there.

    Args:
        bitmaps: One bitmap per item.
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
        >>> bitmaps, present = pack_codes([[0, 0], [0, 0], [1, 0], [1, 1]], cardinalities=[2, 2])
        >>> on = {"feature_of_item": [0, 0, 1, 1], "n_rows": 4, "min_support": 0.25, "device": torch.device("cpu")}
        >>> for block in mine_on_device(bitmaps, **on):
        ...     for left, right, counts in zip(block.antecedents, block.consequents, block.counts, strict=True):
        ...         print(left.tolist(), int(right), counts.tolist())
        [0, -1] 2 [4, 2, 3, 2]
        [3, -1] 1 [4, 1, 2, 1]
    """
    problem = prepare_search(
        bitmaps,
        feature_of_item=np.ascontiguousarray(feature_of_item, dtype=np.int32).ravel(),
        n_rows=n_rows,
        antecedent_ok=antecedent_ok,
        consequent_ok=consequent_ok,
        present=present,
        max_antecedents=max_antecedents,
        min_support=min_support,
        min_confidence=min_confidence,
        count_pairs=False,
    )
    blocks = _search(problem, device, block_rules)
    return blocks if max_rules is None else cap_blocks(blocks, max_rules)


class _Task(NamedTuple):
    """The arrays of a search on a device."""

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


def _task(problem: SearchProblem, device: torch.device) -> _Task:
    def move(values: NDArray[np.generic]) -> Tensor:
        return torch.tensor(values, device=device)

    items = DeviceBits(problem.bitmaps[problem.name], device)
    # Only features of items that take part have to be known; they are renumbered.
    used, feature = np.unique(problem.feature, return_inverse=True)
    present = DeviceBits(problem.present[used], device, like=items) if len(problem.present) else None
    n_items = len(problem.name)
    task = _Task(
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


def _pairs(task: _Task) -> Tensor:
    """The rows that each two items share; none for the items of one feature."""
    n_items = len(task.feature)
    pairs = torch.empty((n_items, n_items), dtype=torch.int32, device=task.feature.device)
    for low in range(0, n_items, step := _batch(task)):
        some = torch.arange(low, min(low + step, n_items), device=pairs.device)
        pairs[low : low + step] = _count_items(task, some[:, None])
    return pairs


def _batch(task: _Task) -> int:
    """How many antecedents are counted at once: a multiple of 32."""
    return max(_CELLS[task.kind] // max(len(task.feature), 1) // 32, 1) * 32


def _count_items(task: _Task, antecedents: Tensor) -> Tensor:
    """Count the rows that antecedents share with every item of another feature; 0 for the items of their own."""
    counts = count_common(task.items, antecedents, task.items)
    counts.scatter_(1, antecedents, 0)
    return counts


def _search(problem: SearchProblem, device: torch.device, block_rules: int) -> Generator[RuleBlock, None, None]:
    n_items = len(problem.name)
    if not n_items:
        return
    task = _task(problem, device)
    first = torch.nonzero(task.leads).flatten()
    step = _batch(task)
    if problem.max_antecedents > 1:
        # The antecedents that grow from a batch of first items are as many as its cells.
        step = max(min(step, _GROWING // n_items), 1)
    name = torch.tensor(np.append(problem.name, -1), device=device)
    for low in range(0, len(first), step):
        some = first[low : low + step, None]
        antecedents, consequents, counts = _in_order(
            list(_visit(task, some, task.n_item[some[:, 0]])), problem.max_antecedents
        )
        left, right = name[antecedents].cpu().numpy(), name[consequents].cpu().numpy()
        numbers = counts.cpu().numpy()
        progress = min(low + step, len(first)) / len(first)
        for start in range(0, max(len(right), 1), block_rules):
            piece = slice(start, start + block_rules)
            yield RuleBlock(left[piece], right[piece], numbers[piece].astype(np.int64), progress)


def _in_order(parts: list[_Found], width: int) -> _Found:
    """Join rules in the order of a depth-first search: an antecedent before the longer ones that begin with it."""
    antecedents = torch.cat(
        [torch.nn.functional.pad(part[0], (0, width - part[0].shape[1]), value=-1) for part in parts]
    )
    consequents, counts = torch.cat([part[1] for part in parts]), torch.cat([part[2] for part in parts])
    order = torch.argsort(consequents, stable=True)
    for column in range(width - 1, -1, -1):
        order = order[torch.argsort(antecedents[order, column], stable=True)]
    return antecedents[order], consequents[order], counts[order]


def _visit(task: _Task, antecedents: Tensor, n_held: Tensor) -> Iterator[_Found]:
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


def _hopeful(task: _Task, chosen: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
    """Keep the antecedents of which some consequent may be confident, according to the counts of pairs."""
    assert task.pairs is not None
    problem = task.problem
    floor = max(1, -(-problem.support_p * problem.n_rows // problem.support_q))
    least = smallest_count(held, problem.confidence_p, problem.confidence_q).clamp(min=floor).int()
    bound = task.pairs[chosen[:, 0]]
    for position in range(1, chosen.shape[1]):
        bound = torch.minimum(bound, task.pairs[chosen[:, position]])
    alive = ((bound >= least[:, None]) & task.follows).any(dim=1)
    return chosen[alive], held[alive]


def _rules(task: _Task, chosen: Tensor, held: Tensor, counts: Tensor) -> tuple[Tensor, _Found]:
    """Return how many rows longer antecedents need, and the rules of these antecedents with their counts."""
    problem = task.problem
    known: Tensor | None = None
    if task.present is None:
        n = torch.full_like(held, problem.n_rows)[:, None]
        n_antecedent = held[:, None]
    else:
        features = task.feature[chosen]
        known = _intersect(task.present, features)
        n = _per_set(task, features)
        n_antecedent = count_common(task.items, chosen, task.present).long()
    support = smallest_count(n, problem.support_p, problem.support_q)
    least = torch.maximum(support, smallest_count(n_antecedent, problem.confidence_p, problem.confidence_q)).clamp(
        min=1
    )
    needed = least.int() if task.present is None else least.int()[:, task.feature]
    row, item = torch.nonzero((counts >= needed) & task.follows, as_tuple=True)
    column = torch.zeros_like(item) if task.present is None else task.feature[item]
    n_consequent = task.n_item[item] if known is None else _count_single(task, known, row, item)
    table = torch.stack([n[row, column], n_antecedent[row, column], n_consequent, counts[row, item].long()], dim=1)
    n_known = torch.full_like(held, problem.n_rows) if known is None else popcount_words(known)
    missing = int(problem.top_missing[problem.max_antecedents + 1 - chosen.shape[1]])
    floor = smallest_count((n_known - missing).clamp(min=problem.n_complete), problem.support_p, problem.support_q)
    return floor.clamp(min=1), (chosen[row].int(), item.int(), table.int())


def _intersect(bits: DeviceBits, members: Tensor) -> Tensor:
    words = bits.words[members[:, 0]]
    for position in range(1, members.shape[1]):
        words = words & bits.words[members[:, position]]
    return words


def _per_set(task: _Task, features: Tensor) -> Tensor:
    """For each antecedent and each feature, the rows in which it and those of the antecedent are present."""
    assert task.present is not None
    sets, which = torch.unique(features, dim=0, return_inverse=True)
    return count_common(task.present, sets, task.present).long()[which]


def _count_single(task: _Task, known: Tensor, row: Tensor, item: Tensor) -> Tensor:
    """Count the rows in which an item holds among those in which the features of an antecedent are present."""
    step = max(_WORDS[task.kind] // known.shape[1], 1)
    parts = [
        popcount_words(known[row[low : low + step]] & task.items.words[item[low : low + step]])
        for low in range(0, len(row), step)
    ]
    return torch.cat(parts) if parts else torch.zeros_like(item)
