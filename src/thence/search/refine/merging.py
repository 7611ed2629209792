"""Merge rules that differ in one bin: their bins become ranges, comparisons, sets and exclusions.

Rules that differ in the bin of *one* antecedent item, and agree in everything else, are merged. Adjacent bins of a
number become a range (``∈``), or a comparison (``<``, ``≥``) if the range reaches an end; categories become a set
(``∈``); if fewer bins are left out than included, the item becomes an exclusion (``≠``, ``∉``). Bins are disjoint, so
the counts of a merged rule are the sums of the counts of its parts, its confidence lies between theirs, and it holds in
the same rows: coverage does not change.

Consequents are never merged. A wider consequent claims less: ten rules "in its decile q → in its decile q" say
something that no rule about wider ranges says. Bins are not merged across a bin without the rule either, except as an
exclusion, which names that bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.language.items import Interval, Item, Value
from thence.search.refine.encoding import EncodedRules, encode_rules, factorize_rows
from thence.statements.counting.recount import count_rules
from thence.statements.rules.bounds import exact_threshold
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import Bools, Ints, helper, kernel
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

# Masks of up to this many bytes are built at once.
_CHUNK_BYTES = 1 << 26
# All orders of merging are tried for up to this many items; for more, each item is tried once as the first.
_ALL_ORDERS = 3

# How the codes of a column may be merged: not at all, adjacent ones, or any.
_NEVER, _RUNS, _SETS = 0, 1, 2


def merge_intervals(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """Merge rules that differ in the bin of one antecedent item, and recount them.

    The item to merge along first is chosen so that the fewest rules remain. An item that always holds after merging is
    removed, unless it is the only one.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.
        min_confidence: Minimum confidence of a merged rule; by default the lowest confidence of the given rules, which
            every merged rule reaches.
        denominator: Rows over which merged rules are counted, as in ``count_rules``.

    Returns:
        The rules; a merged rule takes the position of the first of its parts. Its columns ``p_…`` are the largest
        values of its parts; other columns added by a miner are missing.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["u", "u", "u", "v"]})
        >>> table = TransactionTable.from_frame(frame, bins=4)
        >>> rules = recount(np.array([[0], [1], [2]]), np.array([4, 4, 4]), table)
        >>> for rule in merge_intervals(rules, table):
        ...     print(rule)
        (a).value < 4.0 → (b).value = 'u'
    """
    if not len(rules):
        return rules
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    while True:
        merged = _merge_once(rules, table, floor, denominator)
        if len(merged) == len(rules):
            return merged
        rules = merged


def _merge_once(rules: RuleSet, table: TransactionTable, floor: float, denominator: str) -> RuleSet:
    """Merge in one pass; merged rules may merge further in the next one."""
    # Products of the bound's parts and sums of disjoint counts must fit into 64 bits.
    most = max(int(rules.counts.n_rows.max()), 1)
    limit = exact_threshold(floor, max_denominator=min(most, (1 << 62) // most))
    bound = (limit.numerator, limit.denominator)
    merged: list[RuleSet] = []
    positions: list[Ints] = []
    unmerged = np.ones(len(rules), bool)
    for encoded in encode_rules(rules, table):
        boxes, tests = _merge_block(encoded, rules, bound)
        several = np.bincount(boxes.owner, minlength=len(boxes.right)) > 1
        if several.any():
            unmerged[encoded.rules[several[boxes.owner]]] = False
            first = np.full(len(boxes.right), len(rules))
            np.minimum.at(first, boxes.owner, encoded.rules)
            made = _to_rules(boxes, tests, encoded, rules, several)
            counted = count_rules(made, table, denominator=denominator)
            merged.append(replace(counted, extras={**counted.extras, **made.extras}))
            positions.append(first[several])
    if not merged:
        return rules
    rest = np.flatnonzero(unmerged)
    out = RuleSet.concat([rules.take(rest), *merged])
    order = np.argsort(np.concatenate([rest, *positions]), kind="stable")
    return replace(out.take(order), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


@dataclass
class _CodeTests:
    """Tests of a column for a set of codes, numbered: first those of the given rules, then their unions."""

    block: Block
    column: list[int] = field(default_factory=list)
    masks: list[Bools] = field(default_factory=list)
    number: dict[tuple[int, bytes], int] = field(default_factory=dict)

    @staticmethod
    def of(encoded: EncodedRules) -> _CodeTests:
        tests = _CodeTests(encoded.block)
        for column, mask in zip(encoded.column.tolist(), encoded.codes, strict=True):
            tests.add(column, mask)
        return tests

    def add(self, column: int, mask: Bools) -> int:
        """Return the number of a test, adding it if it is new."""
        key = (column, np.packbits(mask).tobytes())
        if key not in self.number:
            self.number[key] = len(self.column)
            self.column.append(column)
            self.masks.append(mask.copy())
        return self.number[key]

    @cached_property
    def modes(self) -> Ints:
        """How the codes of each column may be merged."""
        return np.array([_merge_mode(column) for column in self.block.columns], np.int64)

    @cached_property
    def ranks(self) -> Ints:
        """The place of each column in an order of their content; of the same content, in that of their names."""
        keys = [(_content(column), str(column.feature)) for column in self.block.columns]
        return np.argsort(np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64))

    @cached_property
    def n_ranges(self) -> Ints:
        """Number of codes of each column that can be part of a run."""
        return np.array([_count_ranges(column) for column in self.block.columns], np.int64)

    @cached_property
    def complete(self) -> Bools:
        """Whether each column is known in every row."""
        return np.array([not column.has_missing for column in self.block.columns], bool)

    def to_arrays(self) -> tuple[Any, ...]:
        """Return the arrays of all tests for ``_cluster_rows``: low, high, masks, mode, n_codes."""
        column = np.array(self.column)
        masks = np.stack(self.masks)
        n_codes = np.array([c.n_codes for c in self.block.columns], np.int64)[column]
        low = masks.argmax(axis=1).astype(np.int64)
        high = masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1).astype(np.int64)
        # Values without a rank come after the ranks of a column and are never merged.
        is_run = (masks.sum(axis=1) == high - low + 1) & (high < self.n_ranges[column])
        return np.where(is_run, low, -1), high, masks, self.modes[column], n_codes

    @property
    def always(self) -> Bools:
        """Whether each test holds in every row: it includes all codes of a column without missing values."""
        n_codes = np.array([column.n_codes for column in self.block.columns], np.int64)
        column = np.array(self.column)
        return np.asarray((np.stack(self.masks).sum(axis=1) == n_codes[column]) & self.complete[column])


@dataclass(frozen=True)
class _Boxes:
    """Rules as boxes in the space of codes.

    Args:
        left: The tests of each antecedent, padded with −1.
        right: The test of each consequent.
        held: Rows in which the antecedent holds.
        both: Rows in which antecedent and consequent hold.
        owner: The box that each original rule was merged into.
    """

    left: Ints
    right: Ints
    held: Ints
    both: Ints
    owner: Ints

    def merge(self, target: Ints, left: Ints, *, add: bool) -> _Boxes:
        """Merge boxes with equal targets (any numbers); counts are added, or taken from the first box."""
        _, first, inverse = np.unique(target, return_index=True, return_inverse=True)
        held, both = self.held[first], self.both[first]
        if add:
            held = np.bincount(inverse, self.held, len(first)).astype(np.int64)
            both = np.bincount(inverse, self.both, len(first)).astype(np.int64)
        return _Boxes(left[first], self.right[first], held, both, inverse[self.owner])


def _drop_duplicates(boxes: _Boxes) -> _Boxes:
    ids, _ = factorize_rows(np.column_stack([boxes.right, boxes.left]))
    return boxes.merge(ids, boxes.left, add=False)


def _merge_block(encoded: EncodedRules, rules: RuleSet, bound: tuple[int, int]) -> tuple[_Boxes, _CodeTests]:
    """Merge the rules of one block."""
    tests = _CodeTests.of(encoded)
    left, right = encoded.antecedents.astype(np.int64), encoded.consequents.astype(np.int64)
    held, both = rules.counts.n_antecedent[encoded.rules], rules.counts.n_both[encoded.rules]
    boxes = _drop_duplicates(_Boxes(left, right, held, both, np.arange(len(encoded.rules), dtype=np.int64)))
    # Long rules first: a rule that loses an item may be merged with shorter ones.
    for length in range(left.shape[1], 0, -1):
        own = np.flatnonzero((boxes.left >= 0).sum(axis=1) == length)
        if len(own):
            boxes = _drop_duplicates(_merge_length(boxes, own, length, tests, bound))
    return boxes, tests


def _content(column: Column) -> bytes:
    """A hash of a sample of the codes of a column."""
    places, frames = (max(1, n // most) for n, most in zip(column.codes.shape, (64, 1 << 14), strict=True))
    return blake2b(column.codes[::places, ::frames].tobytes(), digest_size=16).digest()


def _list_orders(length: int) -> Iterator[tuple[int, ...]]:
    """List the orders in which the items of an antecedent are merged along."""
    if length <= _ALL_ORDERS:
        yield from permutations(range(length))
    else:
        for first in range(length):
            yield tuple((first + step) % length for step in range(length))


def _merge_length(boxes: _Boxes, own: Ints, length: int, tests: _CodeTests, bound: tuple[int, int]) -> _Boxes:
    """Merge the boxes ``own``, which have ``length`` items; per consequent and columns, the best order is used."""
    columns = np.array(tests.column)
    # Of equally good orders the first is used, which must not depend on the order or the names of columns.
    places = np.argsort(tests.ranks[columns[boxes.left[own, :length]]], axis=1, kind="stable")
    items = np.take_along_axis(boxes.left[own, :length], places, axis=1)
    some = _Boxes(items, boxes.right[own], boxes.held[own], boxes.both[own], np.arange(len(own)))
    group, _ = factorize_rows(np.column_stack([some.right, columns[some.left]]))
    fewest = np.full(group.max() + 1, len(own) + 1)
    target, left = np.empty(len(own), np.int64), np.empty_like(some.left)
    number = 0
    for order in _list_orders(length):
        made = _merge_repeatedly(some, order, tests, bound)
        sizes = np.bincount(group[_pick_members(made)], minlength=len(fewest))
        better = (sizes < fewest)[group]
        fewest = np.minimum(fewest, sizes)
        target[better] = number + made.owner[better]
        left[better] = made.left[made.owner[better]]
        number += len(made.right)
    wide = boxes.left.copy()
    wide[own, :length] = _drop_always_true(left, tests)
    everything = np.arange(len(boxes.right)) + number
    everything[own] = target
    return boxes.merge(everything, wide, add=True)


def _pick_members(boxes: _Boxes) -> Ints:
    """Return, for each box, one of the rules merged into it."""
    out = np.empty(len(boxes.right), np.int64)
    out[boxes.owner] = np.arange(len(boxes.owner))
    return out


def _drop_always_true(left: Ints, tests: _CodeTests) -> Ints:
    """Remove items that always hold, unless all of an antecedent do; padding stays last."""
    always = tests.always[left]
    out = np.where(always & ~always.all(axis=1, keepdims=True), np.iinfo(np.int64).max, left)
    out.sort(axis=1)
    out[out == np.iinfo(np.int64).max] = -1
    return out


def _merge_repeatedly(boxes: _Boxes, order: tuple[int, ...], tests: _CodeTests, bound: tuple[int, int]) -> _Boxes:
    """Merge along one item after another until nothing changes."""
    while True:
        before = len(boxes.right)
        for place in order:
            boxes = _merge_along(boxes, place, tests, bound)
        if len(boxes.right) == before:
            return boxes


def _merge_along(boxes: _Boxes, place: int, tests: _CodeTests, bound: tuple[int, int]) -> _Boxes:
    """Merge the boxes that differ only in the item at one position."""
    rest = np.delete(boxes.left, place, axis=1)
    item = boxes.left[:, place]
    low, high, masks, modes, n_codes = tests.to_arrays()
    column = np.array(tests.column)[item]
    # An item that always holds can be removed if another one remains that does not, and no row lacks the feature.
    whole_ok = tests.complete[column] & (~tests.always[rest]).any(axis=1)
    group, _ = factorize_rows(np.column_stack([boxes.right, rest, column]))
    order = np.lexsort([item, low[item], group])
    starts = np.append(np.flatnonzero(np.diff(group[order], prepend=-1)), len(order))
    held, both, sorted_item = boxes.held[order], boxes.both[order], item[order]
    ranked = np.lexsort([-(both / np.maximum(held, 1)), group[order]])
    label = np.arange(len(order))
    _cluster_rows(
        *(starts, ranked, sorted_item, held, both, whole_ok[order], low[sorted_item], high[sorted_item]),
        *(masks, modes, n_codes, bound, np.empty(masks.shape[1], bool), np.empty(len(order), np.int64), label),
    )
    moved = label != np.arange(len(label))
    if not moved.any():
        return boxes
    left = boxes.left.copy()
    heads = np.flatnonzero(np.isin(np.arange(len(label)), label[moved]))
    left[order[heads], place] = _add_unions(label, heads, item[order], masks, tests)
    target = np.empty(len(order), np.int64)
    target[order] = order[label]
    # The first box of a cluster, by position, must have the new test.
    left = left[target]
    return boxes.merge(target, left, add=True)


def _add_unions(label: Ints, heads: Ints, item: Ints, masks: Bools, tests: _CodeTests) -> list[int]:
    """Add the union of the tests of each cluster; return their numbers."""
    members = np.flatnonzero(np.isin(label, heads))
    members = members[np.argsort(label[members], kind="stable")]
    step = max(1, _CHUNK_BYTES // max(masks.shape[1], 1))
    out: list[int] = []
    bounds = np.append(np.searchsorted(label[members], heads), len(members))
    at = 0
    while at < len(heads):
        end = max(at + 1, int(np.searchsorted(bounds, bounds[at] + step, side="right")) - 1)
        chosen = members[bounds[at] : bounds[end]]
        union = np.logical_or.reduceat(masks[item[chosen]], bounds[at:end] - bounds[at], axis=0)
        columns = [tests.column[i] for i in item[heads[at:end]].tolist()]
        out += [tests.add(column, mask) for column, mask in zip(columns, union, strict=True)]
        at = end
    return out


def _merge_mode(column: Column) -> int:
    """Return how codes may be merged: adjacent ranges and increasing numbers in runs, other categories in sets."""
    values = column.values
    ranges = [value for value in values if isinstance(value, Interval)]
    if ranges:
        ordered = all(isinstance(value, Interval) for value in values[: len(ranges)])
        return _RUNS if ordered and all(a.high == b.low for a, b in pairwise(ranges)) else _NEVER
    return _RUNS if _is_increasing(values) else _SETS


def _count_ranges(column: Column) -> int:
    """Return the number of codes that are ranges; if none is, all codes count."""
    return sum(isinstance(value, Interval) for value in column.values) or column.n_codes


def _is_increasing(values: tuple[Value | Interval, ...]) -> bool:
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return len(numbers) == len(values) and all(a < b for a, b in pairwise(numbers))


def make_item(column: Column, mask: Bools) -> Item:
    """Create the item that holds for a set of codes, in its simplest form.

    Args:
        column: The column.
        mask: Whether the item holds for each code; codes beyond those of the column are ignored.
    """
    inside = np.flatnonzero(mask[: column.n_codes]).tolist()
    outside = np.flatnonzero(~mask[: column.n_codes]).tolist()
    if len(inside) == 1:
        return column.item(inside[0])
    if len(inside) == _count_ranges(column) < column.n_codes:
        # Every rank: what is left out are the values without a rank.
        rest = [value for value in column.values if not isinstance(value, Interval)]
        return Item.among(column.feature, rest, negated=True)
    if _merge_mode(column) == _SETS:
        negated = len(outside) < len(inside)
        chosen = [column.values[code] for code in (outside if negated else inside)]
        return Item.among(column.feature, [v for v in chosen if not isinstance(v, Interval)], negated=negated)
    is_run = inside[-1] - inside[0] + 1 == len(inside)
    if is_run:
        return Item.among(column.feature, _make_range(column, inside[0], inside[-1]))
    if len(outside) == 1:
        return column.item(outside[0]).negated()
    return Item.among(column.feature, _make_range(column, outside[0], outside[-1]), negated=True)


def _make_range(column: Column, first: int, last: int) -> Interval:
    """Create the range from one bin to another, inclusive; a number used as a category extends to the next one."""
    low, high = column.values[first], column.values[last]
    if isinstance(low, Interval) and isinstance(high, Interval):
        return Interval(low.low, high.high)
    following = column.values[last + 1] if last + 1 < column.n_codes else math.inf
    assert isinstance(low, (int, float)) and isinstance(following, (int, float))
    return Interval(-math.inf if first == 0 else low, following)


def _to_rules(boxes: _Boxes, tests: _CodeTests, encoded: EncodedRules, rules: RuleSet, chosen: Bools) -> RuleSet:
    """Return the chosen boxes as rules without counts."""
    columns = encoded.block.columns
    left, right = boxes.left[chosen], boxes.right[chosen]
    used = np.unique(np.concatenate([left[left >= 0], right])).tolist()
    items = tuple(
        rules.items[int(encoded.items[i])]
        if i < len(encoded.items)
        else make_item(columns[tests.column[i]], tests.masks[i])
        for i in used
    )
    renumber = np.full(len(tests.column) + 1, -1, np.int32)
    renumber[used] = np.arange(len(used))
    zero = np.zeros(len(right), np.int64)
    own = None if rules.pattern_of is None else np.full(len(right), rules.pattern_of[encoded.rules[0]], np.int32)
    return RuleSet(
        items,
        renumber[left],
        renumber[right],
        Counts(zero, zero, zero, zero),
        patterns=rules.patterns,
        pattern_of=own,
        extras=_largest_p_values(boxes.owner, rules, encoded, chosen),
    )


def _largest_p_values(owner: Ints, rules: RuleSet, encoded: EncodedRules, chosen: Bools) -> dict[str, npt.NDArray[Any]]:
    out = {}
    for name, column in rules.extras.items():
        if name.startswith("p_"):
            largest = np.full(len(chosen), np.nan)  # missing values are ignored
            np.fmax.at(largest, owner, np.asarray(column, np.float64)[encoded.rules])
            out[name] = largest[chosen]
    return out


@helper
def _merge_runs(
    first: int,
    end: int,
    low: Ints,
    last: Ints,
    held: Ints,
    both: Ints,
    n_codes: int,
    whole_ok: bool,
    bound: tuple[int, int],
    head: Ints,
    label: Ints,
) -> None:
    """Merge adjacent runs of codes, the most confident union first; then the two outer runs around a smaller hole.

    The rows ``first … end`` are ordered by ``low``, which is −1 for a test that is not a run. ``last``, ``held`` and
    ``both`` become those of the clusters, at the first row of each.
    """
    n_clusters = end - first
    for i in range(n_clusters):
        head[i] = first + i  # the first rows of the clusters, in order
    while True:
        best, at = -1.0, -1
        for i in range(n_clusters - 1):
            a, b = head[i], head[i + 1]
            if low[a] < 0 or last[a] + 1 != low[b]:
                continue
            if not whole_ok and low[a] == 0 and last[b] == n_codes - 1:
                continue
            n_both, n_held = both[a] + both[b], max(held[a] + held[b], 1)
            together = n_both / n_held
            if n_both * bound[1] >= n_held * bound[0] and together > best:
                best, at = together, i
        if at < 0:
            break
        a, b = head[at], head[at + 1]
        last[a] = last[b]
        held[a] += held[b]
        both[a] += both[b]
        for row in range(first, end):
            if label[row] == b:
                label[row] = a
        for i in range(at + 1, n_clusters - 1):
            head[i] = head[i + 1]
        n_clusters -= 1
    bottom, top = -1, -1
    for i in range(n_clusters):
        a = head[i]
        if low[a] == 0:
            bottom = a
        if low[a] > 0 and last[a] == n_codes - 1:
            top = a
    if bottom >= 0 and top >= 0:
        hole = low[top] - last[bottom] - 1
        n_both, n_held = both[bottom] + both[top], max(held[bottom] + held[top], 1)
        if 0 < hole < n_codes - hole and n_both * bound[1] >= n_held * bound[0]:
            for row in range(first, end):
                if label[row] == top:
                    label[row] = bottom


@helper
def _merge_sets(
    ranked: Ints,
    item: Ints,
    masks: Bools,
    held: Ints,
    both: Ints,
    n_codes: int,
    whole_ok: bool,
    bound: tuple[int, int],
    taken: Bools,
    label: Ints,
) -> None:
    """Merge disjoint sets of codes, the most confident first, while the union is confident enough.

    ``ranked`` are the rows, the most confident first. ``held`` and ``both`` of the first become those of the union, and
    ``taken`` its codes.
    """
    first = ranked[0]
    for code in range(n_codes):
        taken[code] = masks[item[first], code]
    for place in range(1, ranked.size):
        row = ranked[place]
        disjoint, whole = True, True
        for code in range(n_codes):
            own = masks[item[row], code]
            disjoint = disjoint and not (taken[code] and own)
            whole = whole and (taken[code] or own)
        n_both, n_held = both[first] + both[row], max(held[first] + held[row], 1)
        if disjoint and n_both * bound[1] >= n_held * bound[0] and (whole_ok or not whole):
            label[row] = first
            held[first] += held[row]
            both[first] += both[row]
            for code in range(n_codes):
                taken[code] = taken[code] or masks[item[row], code]


@kernel
def _cluster_rows(
    starts: Ints,
    ranked: Ints,
    item: Ints,
    held: Ints,
    both: Ints,
    whole_ok: Bools,
    low: Ints,
    high: Ints,
    masks: Bools,
    mode: Ints,
    n_codes: Ints,
    bound: tuple[int, int],
    taken: Bools,
    head: Ints,
    label: Ints,
) -> None:
    """Choose the rows to merge: ``label``, at first the number of each row, becomes the first row of its cluster.

    Group ``g`` consists of the rows ``starts[g] … starts[g + 1]``, ordered by ``low``, and in ``ranked`` by confidence;
    only rows of one group are merged. ``item`` is the test of each row, and ``whole_ok`` whether the union of its group
    may hold always; ``held`` and ``both`` are overwritten. ``low`` and ``high`` are the first and last code of each row
    (``low`` is −1 if the codes are not a run), and ``high`` is overwritten. The other arrays describe the tests:
    ``masks`` are their codes, ``mode`` how their column may be merged, and ``n_codes`` the number of codes of the
    column. ``taken`` and ``head`` are room for one mask and for the rows of one group.
    """
    for group in range(starts.size - 1):
        first, end = starts[group], starts[group + 1]
        if end - first < 2:
            continue
        test = item[first]
        if mode[test] == _RUNS:
            _merge_runs(first, end, low, high, held, both, n_codes[test], whole_ok[first], bound, head, label)
        elif mode[test] == _SETS:
            rows = ranked[first:end]
            _merge_sets(rows, item, masks, held, both, n_codes[test], whole_ok[first], bound, taken, label)
