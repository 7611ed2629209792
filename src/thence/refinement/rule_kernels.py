"""Compiled searches over rules as integers: which rule a more general one dominates, which rows a rule covers.

Plain arrays only; what is kept or dropped is decided in ``thence.refinement.redundancy`` and
``thence.refinement.cover``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import Words, ctpop, kernel

__all__ = ["close_rows", "dominated_rules", "is_needed", "open_rows_held"]

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
def _insert(numbers: Indices, count: int, number: int) -> int:
    """Put a number into its place among the first ``count``, which are ascending and distinct; the new count."""
    place = count
    while place > 0 and numbers[place - 1] > number:
        place -= 1
    if place > 0 and numbers[place - 1] == number:
        return count
    for at in range(count, place, -1):
        numbers[at] = numbers[at - 1]
    numbers[place] = number
    return count + 1


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
                    count = _insert(allowed, count, wider[at])
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
                if depth == width or low >= high or choice[depth] >= count:
                    depth -= 1
                    continue
                item = allowed[choice[depth]]
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
    same = right[a] == right[b]
    for place in range(left.shape[0]):
        same = same and left[place, a] == left[place, b]
    return bool(same)


@kernel
def open_rows_held(
    words: Words, row_of: Indices, antecedents: Indices, open_rows: Words, first: int, last: int, out: Ints
) -> None:
    """How many of the open rows (a bitmap per embedding) the antecedents ``first … last`` hold in."""
    for rule in range(first, last):
        length = 0
        while length < antecedents.shape[1] and antecedents[rule, length] >= 0:
            length += 1
        total = np.uint64(0)
        for embedding in range(row_of.shape[1]):
            mask = open_rows[embedding]
            if length == 0:
                for word in range(mask.size):
                    total += ctpop(mask[word])
                continue
            one = words[row_of[antecedents[rule, 0], embedding]]
            two = words[row_of[antecedents[rule, min(1, length - 1)], embedding]]
            if length <= 2:
                for word in range(mask.size):
                    total += ctpop(one[word] & two[word] & mask[word])
                continue
            for word in range(mask.size):
                value = one[word] & two[word] & mask[word]
                for place in range(2, length):
                    value &= words[row_of[antecedents[rule, place], embedding], word]
                total += ctpop(value)
        out[rule] = np.int64(total)


@kernel
def close_rows(words: Words, row_of: Indices, antecedent: Indices, open_rows: Words) -> None:
    """Take the rows in which an antecedent holds out of the open ones."""
    for embedding in range(row_of.shape[1]):
        for word in range(open_rows.shape[1]):
            value = open_rows[embedding, word]
            for place in range(antecedent.size):
                if antecedent[place] >= 0:
                    value &= words[row_of[antecedent[place], embedding], word]
            open_rows[embedding, word] ^= value


@kernel
def is_needed(words: Words, row_of: Indices, antecedents: Indices, kept: Bools, which: int) -> bool:
    """Whether some row is covered by this antecedent and by no other one that is kept."""
    for embedding in range(row_of.shape[1]):
        for word in range(words.shape[1]):
            own = words[1, word]
            for place in range(antecedents.shape[1]):
                if antecedents[which, place] >= 0:
                    own &= words[row_of[antecedents[which, place], embedding], word]
            for other in range(antecedents.shape[0]):
                if own == 0:
                    break
                if other == which or not kept[other]:
                    continue
                held = own
                for place in range(antecedents.shape[1]):
                    if antecedents[other, place] >= 0:
                        held &= words[row_of[antecedents[other, place], embedding], word]
                own ^= held
            if own != 0:
                return True
    return False
