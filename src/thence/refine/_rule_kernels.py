"""Compiled searches over rules as integers: which rule is dominated by a more general one, and which rules cover all.

Plain arrays only; what is kept or dropped is decided in :mod:`thence.refine.redundancy` and
:mod:`thence.refine.coverage`.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from ..bits import Words, ctpop, kernel

__all__ = ["cover_greedily", "dominated_rules", "uncovered_rows"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@kernel
def _lower(column: Indices, value: int, low: int, high: int) -> int:
    """The first place in a sorted stretch that is not below a value."""
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def dominated_rules(
    left: Indices,
    right: Indices,
    confidence: Floats,
    wider_start: Ints,
    wider: Indices,
    narrower_start: Ints,
    narrower: Indices,
    first: int,
    last: int,
    out: Bools,
) -> None:
    """Mark the rules ``first … last`` that another one makes superfluous.

    ``left`` (one row per place of the antecedent, padding −1) and ``right`` hold all rules, sorted by consequent, then
    by their items, padding first. ``wider[wider_start[i] : wider_start[i + 1]]`` are the items that hold wherever ``i``
    does, ``i`` among them, ascending; ``narrower`` the items that hold only where ``i`` does. A rule is dominated when
    another one, every item of which is wider than one of its own and whose consequent is as narrow, is at least as
    confident. Rules are stored as a trie in sorted order, so only prefixes that exist are visited.
    """
    width = left.shape[0]
    limit = 0
    for item in range(wider_start.size - 1):
        limit = max(limit, wider_start[item + 1] - wider_start[item])
    allowed = np.empty(limit * width + 1, np.int32)
    begin, end, choice = np.empty(width + 1, np.int64), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
    for rule in range(first, last):
        count = 0
        for place in range(width):
            item = left[place, rule]
            if item >= 0:
                for at in range(wider_start[item], wider_start[item + 1]):
                    allowed[count] = wider[at]
                    count += 1
        ordered = np.unique(allowed[:count])
        found = False
        for at in range(narrower_start[right[rule]], narrower_start[right[rule] + 1]):
            consequent = narrower[at]
            begin[0] = _lower(right, consequent, 0, right.size)
            end[0] = _lower(right, consequent + 1, begin[0], right.size)
            choice[0] = -1
            depth = 0
            while depth >= 0 and not found:
                low, high = begin[depth], end[depth]
                if choice[depth] < 0:
                    # Rules that end here come first in the stretch.
                    while low < high and (depth == width or left[depth, low] < 0):
                        same = _is_same(left, right, low, rule)
                        if confidence[low] >= confidence[rule] and (low < rule if same else True):
                            found = True
                            break
                        low += 1
                    begin[depth] = low
                    choice[depth] = 0 if depth == 0 else choice[depth - 1]
                if depth == width or low >= high or choice[depth] >= ordered.size:
                    depth -= 1
                    continue
                item = ordered[choice[depth]]
                choice[depth] += 1
                start = _lower(left[depth], item, low, high)
                stop = _lower(left[depth], item + 1, start, high)
                begin[depth] = start  # items are tried in ascending order
                if stop > start:
                    depth += 1
                    begin[depth], end[depth], choice[depth] = start, stop, -1
            if found:
                break
        out[rule] = found


@kernel
def _is_same(left: Indices, right: Indices, a: int, b: int) -> bool:
    if right[a] != right[b]:
        return False
    for place in range(left.shape[0]):
        if left[place, a] != left[place, b]:
            return False
    return True


@kernel
def uncovered_rows(words: Words, row_of: Indices, antecedent: Indices, open_rows: Words) -> int:
    """How many of the open rows an antecedent holds in; ``open_rows`` is a bitmap per embedding."""
    total = np.uint64(0)
    for embedding in range(row_of.shape[1]):
        mask = open_rows[embedding]
        if antecedent[0] < 0:
            for word in range(mask.size):
                total += ctpop(mask[word])
        elif antecedent.size == 1 or antecedent[1] < 0:
            one = words[row_of[antecedent[0], embedding]]
            for word in range(mask.size):
                total += ctpop(one[word] & mask[word])
        else:
            one, two = words[row_of[antecedent[0], embedding]], words[row_of[antecedent[1], embedding]]
            rest = 2
            while rest < antecedent.size and antecedent[rest] >= 0:
                rest += 1
            for word in range(mask.size):
                value = one[word] & two[word] & mask[word]
                for place in range(2, rest):
                    value &= words[row_of[antecedent[place], embedding], word]
                total += ctpop(value)
    return np.int64(total)


@kernel
def _close_rows(words: Words, row_of: Indices, antecedent: Indices, open_rows: Words) -> None:
    for embedding in range(row_of.shape[1]):
        for word in range(open_rows.shape[1]):
            value = open_rows[embedding, word]
            for place in range(antecedent.size):
                if antecedent[place] >= 0:
                    value &= words[row_of[antecedent[place], embedding], word]
            open_rows[embedding, word] ^= value


@kernel
def _is_needed(words: Words, row_of: Indices, antecedents: Indices, chosen: Ints, kept: Bools, which: int) -> bool:
    """Whether some row is covered by this rule and by no other that is kept."""
    antecedent = antecedents[chosen[which]]
    for embedding in range(row_of.shape[1]):
        for word in range(words.shape[1]):
            own = words[1, word]
            for place in range(antecedent.size):
                if antecedent[place] >= 0:
                    own &= words[row_of[antecedent[place], embedding], word]
            for other in range(chosen.size):
                if own == 0:
                    break
                if other == which or not kept[other]:
                    continue
                held = own
                for place in range(antecedent.size):
                    item = antecedents[chosen[other], place]
                    if item >= 0:
                        held &= words[row_of[item, embedding], word]
                own ^= held
            if own != 0:
                return True
    return False


@kernel
def cover_greedily(
    words: Words, row_of: Indices, antecedents: Indices, rows: Ints, open_rows: Words, trim: bool
) -> tuple[Ints, Ints]:
    """Rules, most newly covered rows first, until nothing is left to cover; and how many rows each adds.

    Rules come in order of preference, which decides between equals; ``rows`` is what each covers alone. Row 0 of
    ``words`` is empty, row 1 full. With ``trim``, rules that the later ones made superfluous are left out again.
    """
    heap = [(-rows[rule], rule) for rule in range(rows.size)]
    heapq.heapify(heap)
    order, gains = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    count = 0
    while len(heap) > 0:
        stale, rule = heapq.heappop(heap)
        if stale == 0:
            break
        gain = uncovered_rows(words, row_of, antecedents[rule], open_rows)
        if len(heap) > 0 and (-gain, rule) > heap[0]:
            if gain > 0:
                heapq.heappush(heap, (-gain, rule))
            continue
        if gain == 0:
            break
        order[count], gains[count] = rule, gain
        count += 1
        _close_rows(words, row_of, antecedents[rule], open_rows)
    chosen = order[:count]
    kept = np.ones(count, np.bool_)
    if trim:
        for which in range(count - 1, -1, -1):
            kept[which] = _is_needed(words, row_of, antecedents, chosen, kept, which)
    return chosen[kept], gains[:count][kept]
