"""Fewer rules that say the same: bins that carry the same rule become ranges, comparisons, sets and exclusions.

Rules that differ in the bin of *one* item, and agree in everything else, are joined. Adjacent bins of a number become
a range (``∈``), or a comparison (``<``, ``≥``) where the range reaches an end; categories become a set (``∈``); where
what is left out is smaller than what is in, the item is an exclusion (``≠``, ``∉``). The bins are disjoint, so the
counts of the joined rule are the sums of those of its parts, its confidence lies between theirs, and it holds the same
rows: coverage stays exactly as it was.

Consequents are never joined. A wider consequent claims less: ten rules "in its decile q → in its decile q" say
something that no rule about wider ranges says. Neither are bins joined across a bin that does not carry the rule,
except as an exclusion, which names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.counting.recount import count_rules_of
from thence.refinement.merging_kernels import cluster_rows
from thence.refinement.parts import Part, parts_of, row_ids
from thence.rules.items import Interval, Item, Value
from thence.rules.measures import Counts
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import Block, Column, TransactionTable

__all__ = ["merge_intervals"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Masks of this many bytes are written out at once.
_CHUNK_BYTES = 1 << 26
# Up to this length all orders of joining are tried; beyond, each item once as the first.
_ALL_ORDERS = 3

_NEVER, _RUNS, _SETS = 0, 1, 2


def merge_intervals(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """The rules with the bins of their antecedents joined wherever they carry the same rule, recounted.

    ``min_confidence`` is what a joined rule must reach; by default the lowest confidence among the rules, which every
    union reaches. Which item is joined first is chosen so that the fewest rules remain. An item that comes to hold
    always is left out, unless it is the only one. Columns ``p_…`` of a joined rule are the largest of its parts, other
    columns of a miner are lost.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
    >>> frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["u", "u", "u", "v"]})
    >>> table = TransactionTable.from_frame(frame, bins=4)
    >>> rules = recount(table, 0, np.array([[0], [1], [2]]), np.array([4, 4, 4]))
    >>> for rule in merge_intervals(rules, table):
    ...     print(rule)
    (a).value < 4.0 → (b).value = 'u'
    """
    if not len(rules):
        return rules
    bound = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    joined: list[RuleSet] = []
    places: list[Ints] = []
    alone = np.ones(len(rules), bool)
    for part in parts_of(rules, table):
        cells, tests = _merge_part(part, rules, bound)
        several = np.bincount(cells.owner, minlength=len(cells.right)) > 1
        if several.any():
            alone[part.rules[several[cells.owner]]] = False
            first = np.full(len(cells.right), len(rules))
            np.minimum.at(first, cells.owner, part.rules)
            made = _rule_set(cells, tests, part, rules, several)
            counted = count_rules_of(table, made, denominator=denominator)
            joined.append(replace(counted, extras={**counted.extras, **made.extras}))
            places.append(first[several])
    if not joined:
        return rules
    kept = np.flatnonzero(alone)
    merged = RuleSet.concat([rules.take(kept), *joined])
    # A joined rule stands where the first of its parts stood.
    order = np.argsort(np.concatenate([kept, *places]), kind="stable")
    return replace(merged.take(order), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


@dataclass
class _Tests:
    """The tests that occur, numbered: first those of the part, then the unions that are made."""

    block: Block
    column: list[int] = field(default_factory=list)
    masks: list[Bools] = field(default_factory=list)
    number: dict[tuple[int, bytes], int] = field(default_factory=dict)

    @staticmethod
    def of(part: Part) -> _Tests:
        tests = _Tests(part.block)
        for column, mask in zip(part.column.tolist(), part.codes, strict=True):
            tests.add(column, mask)
        return tests

    def add(self, column: int, mask: Bools) -> int:
        """The number of a test; a new one where it has not been seen."""
        key = (column, np.packbits(mask).tobytes())
        if key not in self.number:
            self.number[key] = len(self.column)
            self.column.append(column)
            self.masks.append(mask.copy())
        return self.number[key]

    @cached_property
    def ways(self) -> Ints:
        """How the codes of each column may be joined."""
        return np.array([_way(column) for column in self.block.columns], np.int64)

    @cached_property
    def complete(self) -> Bools:
        """Which columns are known in every row."""
        return np.array([not column.has_missing for column in self.block.columns], bool)

    def described(self) -> tuple[Any, ...]:
        """What the kernel wants to know of each test."""
        column = np.array(self.column)
        masks = np.stack(self.masks)
        n_codes = np.array([c.n_codes for c in self.block.columns], np.int64)[column]
        low = masks.argmax(axis=1).astype(np.int64)
        high = masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1).astype(np.int64)
        is_run = masks.sum(axis=1) == high - low + 1
        return np.where(is_run, low, -1), high, masks, self.ways[column], n_codes

    @property
    def always(self) -> Bools:
        """Which tests hold in every row: for every code of a column that is known everywhere."""
        n_codes = np.array([column.n_codes for column in self.block.columns], np.int64)
        column = np.array(self.column)
        return np.asarray((np.stack(self.masks).sum(axis=1) == n_codes[column]) & self.complete[column])


@dataclass(frozen=True)
class _Cells:
    """Rules as boxes of codes: tests per side, rows that hold them, and the box that each original rule went into."""

    left: Ints
    right: Ints
    held: Ints
    both: Ints
    owner: Ints

    def replaced(self, target: Ints, left: Ints, *, add: bool) -> _Cells:
        """Boxes joined by their target (any numbers); counts are added, or those of the first box stand for all."""
        _, first, inverse = np.unique(target, return_index=True, return_inverse=True)
        held, both = self.held[first], self.both[first]
        if add:
            held = np.bincount(inverse, self.held, len(first)).astype(np.int64)
            both = np.bincount(inverse, self.both, len(first)).astype(np.int64)
        return _Cells(left[first], self.right[first], held, both, inverse[self.owner])


def _distinct(cells: _Cells) -> _Cells:
    """Boxes that are the same, once."""
    ids, _ = row_ids(np.column_stack([cells.right, cells.left]))
    return cells.replaced(ids, cells.left, add=False)


def _merge_part(part: Part, rules: RuleSet, bound: float) -> tuple[_Cells, _Tests]:
    tests = _Tests.of(part)
    held, both = rules.counts.n_antecedent[part.rules], rules.counts.n_both[part.rules]
    start = _Cells(
        part.left.astype(np.int64), part.right.astype(np.int64), held, both, np.arange(len(part.rules), dtype=np.int64)
    )
    cells = _distinct(start)
    # Long rules first: one that loses an item may be joined with shorter ones.
    for length in range(part.left.shape[1], 0, -1):
        own = np.flatnonzero((cells.left >= 0).sum(axis=1) == length)
        if len(own):
            cells = _distinct(_merge_length(cells, own, length, tests, bound))
    return cells, tests


def _orders(length: int) -> Iterator[tuple[int, ...]]:
    """In which order the items of an antecedent are joined."""
    if length <= _ALL_ORDERS:
        yield from permutations(range(length))
    else:
        for first in range(length):
            yield tuple((first + step) % length for step in range(length))


def _merge_length(cells: _Cells, own: Ints, length: int, tests: _Tests, bound: float) -> _Cells:
    """Join the boxes with so many items; for each consequent and set of columns, in the order that leaves fewest."""
    some = _Cells(cells.left[own, :length], cells.right[own], cells.held[own], cells.both[own], np.arange(len(own)))
    columns = np.array(tests.column)
    family, _ = row_ids(np.column_stack([some.right, columns[some.left]]))
    fewest = np.full(family.max() + 1, len(own) + 1)
    target, left = np.empty(len(own), np.int64), np.empty_like(some.left)
    number = 0
    for order in _orders(length):
        made = _join_all(some, order, tests, bound)
        sizes = np.bincount(family[_first(made)], minlength=len(fewest))
        better = (sizes < fewest)[family]
        fewest = np.minimum(fewest, sizes)
        target[better] = number + made.owner[better]
        left[better] = made.left[made.owner[better]]
        number += len(made.right)
    wide = cells.left.copy()
    wide[own, :length] = _without_idle(left, tests)
    everything = np.arange(len(cells.right)) + number
    everything[own] = target
    return cells.replaced(everything, wide, add=True)


def _first(cells: _Cells) -> Ints:
    """For each box one of the rules that went into it."""
    out = np.empty(len(cells.right), np.int64)
    out[cells.owner] = np.arange(len(cells.owner))
    return out


def _without_idle(left: Ints, tests: _Tests) -> Ints:
    """Leave out the items that always hold, where another remains; padding stays last."""
    always = tests.always[left]
    out = np.where(always & ~always.all(axis=1, keepdims=True), np.iinfo(np.int64).max, left)
    out.sort(axis=1)
    out[out == np.iinfo(np.int64).max] = -1
    return out


def _join_all(cells: _Cells, order: tuple[int, ...], tests: _Tests, bound: float) -> _Cells:
    """Join along one item after another until nothing changes."""
    while True:
        before = len(cells.right)
        for place in order:
            cells = _join_along(cells, place, tests, bound)
        if len(cells.right) == before:
            return cells


def _join_along(cells: _Cells, place: int, tests: _Tests, bound: float) -> _Cells:
    """Join the boxes that differ in the item at one place only."""
    rest = np.delete(cells.left, place, axis=1)
    item = cells.left[:, place]
    low, high, masks, ways, n_codes = tests.described()
    column = np.array(tests.column)[item]
    # An item that always holds can be left out, if one that does not remains, and if no row lacks the feature.
    whole_ok = tests.complete[column] & (~tests.always[rest]).any(axis=1)
    group, _ = row_ids(np.column_stack([cells.right, rest, column]))
    order = np.lexsort([item, low[item], group])
    starts = np.append(np.flatnonzero(np.diff(group[order], prepend=-1)), len(order))
    rows = (item[order], cells.held[order], cells.both[order], whole_ok[order])
    label = cluster_rows(starts, *rows, low, high, masks, ways, n_codes, bound)
    moved = label != np.arange(len(label))
    if not moved.any():
        return cells
    left = cells.left.copy()
    heads = np.flatnonzero(np.isin(np.arange(len(label)), label[moved]))
    left[order[heads], place] = _unions(label, heads, item[order], masks, tests)
    target = np.empty(len(order), np.int64)
    target[order] = order[label]
    # The first box of a cluster, by position, must carry its new test.
    left = left[target]
    return cells.replaced(target, left, add=True)


def _unions(label: Ints, heads: Ints, item: Ints, masks: Bools, tests: _Tests) -> list[int]:
    """The test that each cluster becomes."""
    members = np.flatnonzero(np.isin(label, heads))
    members = members[np.argsort(label[members], kind="stable")]
    step = max(1, _CHUNK_BYTES // max(masks.shape[1], 1))
    out: list[int] = []
    edges = np.searchsorted(label[members], heads)
    bounds = np.append(edges, len(members))
    at = 0
    while at < len(heads):
        end = max(at + 1, int(np.searchsorted(bounds, bounds[at] + step, side="right")) - 1)
        chosen = members[bounds[at] : bounds[end]]
        union = np.logical_or.reduceat(masks[item[chosen]], bounds[at:end] - bounds[at], axis=0)
        columns = [tests.column[i] for i in item[heads[at:end]].tolist()]
        out += [tests.add(column, mask) for column, mask in zip(columns, union, strict=True)]
        at = end
    return out


def _way(column: Column) -> int:
    """Ranges that follow one another and increasing numbers are joined in runs, other categories in sets."""
    values = column.values
    if all(isinstance(value, Interval) for value in values):
        touching = all(a.high == b.low for a, b in pairwise(v for v in values if isinstance(v, Interval)))
        return _RUNS if touching else _NEVER
    if any(isinstance(value, Interval) for value in values):
        return _NEVER
    return _RUNS if _is_increasing(values) else _SETS


def _is_increasing(values: tuple[Value | Interval, ...]) -> bool:
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return len(numbers) == len(values) and all(a < b for a, b in pairwise(numbers))


def _item(column: Column, mask: Bools) -> Item:
    """The item that holds for a set of codes, in its simplest form."""
    inside = np.flatnonzero(mask[: column.n_codes]).tolist()
    outside = np.flatnonzero(~mask[: column.n_codes]).tolist()
    if len(inside) == 1:
        return column.item(inside[0])
    if _way(column) == _SETS:
        negated = len(outside) < len(inside)
        chosen = [column.values[code] for code in (outside if negated else inside)]
        return Item.among(column.feature, [v for v in chosen if not isinstance(v, Interval)], negated=negated)
    is_run = inside[-1] - inside[0] + 1 == len(inside)
    if is_run:
        return Item.among(column.feature, _range(column, inside[0], inside[-1]))
    if len(outside) == 1:
        return column.item(outside[0]).negated()
    return Item.among(column.feature, _range(column, outside[0], outside[-1]), negated=True)


def _range(column: Column, first: int, last: int) -> Interval:
    """From the beginning of one bin to the end of another; numbers kept as categories reach up to the next one."""
    low, high = column.values[first], column.values[last]
    if isinstance(low, Interval) and isinstance(high, Interval):
        return Interval(low.low, high.high)
    following = column.values[last + 1] if last + 1 < column.n_codes else math.inf
    assert isinstance(low, (int, float)) and isinstance(following, (int, float))
    return Interval(-math.inf if first == 0 else low, following)


def _rule_set(cells: _Cells, tests: _Tests, part: Part, rules: RuleSet, chosen: Bools) -> RuleSet:
    """The chosen boxes as rules, without counts."""
    columns = part.block.columns
    left, right = cells.left[chosen], cells.right[chosen]
    used = np.unique(np.concatenate([left[left >= 0], right])).tolist()
    items = tuple(
        rules.items[int(part.items[i])] if i < len(part.items) else _item(columns[tests.column[i]], tests.masks[i])
        for i in used
    )
    renumber = np.full(len(tests.column) + 1, -1, np.int32)
    renumber[used] = np.arange(len(used))
    zero = np.zeros(len(right), np.int64)
    own = None if rules.pattern_of is None else np.full(len(right), rules.pattern_of[part.rules[0]], np.int32)
    return RuleSet(
        items,
        renumber[left],
        renumber[right],
        Counts(zero, zero, zero, zero),
        patterns=rules.patterns,
        pattern_of=own,
        extras=_worst_p_values(cells.owner, rules, part, chosen),
    )


def _worst_p_values(owner: Ints, rules: RuleSet, part: Part, chosen: Bools) -> dict[str, npt.NDArray[Any]]:
    out = {}
    for name, column in rules.extras.items():
        if name.startswith("p_"):
            worst = np.full(len(chosen), np.nan)  # unknown values do not count
            np.fmax.at(worst, owner, np.asarray(column, np.float64)[part.rules])
            out[name] = worst[chosen]
    return out
