"""The compiled part of the exact miner: one node of the search after the other, on plain arrays.

``thence.miners.exact.search`` drives these kernels and explains what is searched and why the pruning is safe. The
search keeps its whole stack in arrays, so that it can pause at any node (to empty a full buffer or to check the stop
signal) and continue later. This module must not check its input.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thence.bitmaps.bits import Integer, Words, and_count, ctpop, inlined, kernel

__all__ = ["FILLED", "SearchProblem", "SearchState", "continue_search", "count_pairs_of", "mirror_pairs"]

# An intersection with fewer than 1/8 non-zero words is stored as a list of them: a vector popcount processes about
# eight words in the time that one word takes to be fetched through an index.
_SPARSE = 8


class SearchProblem(NamedTuple):
    """The input of a search: frequent items only, in increasing order, and renumbered."""

    name: NDArray[np.int32]  # the caller's number of each item, which is also its row in `bitmaps`
    bitmaps: Words
    feature: NDArray[np.int32]
    n_item: NDArray[np.int32]
    antecedent_ok: NDArray[np.bool_]
    consequent_ok: NDArray[np.bool_]
    pairs: NDArray[np.int32]  # (items, items), or (0, 0) if too large
    present: Words  # (features, words), or (0, words) if nothing is missing
    has_missing: NDArray[np.bool_]  # per feature
    top_missing: NDArray[np.int64]  # [r]: the most rows that r further features can remove
    n_rows: int
    n_complete: int  # rows in which every feature of a frequent item is present
    max_antecedents: int
    support_p: int
    support_q: int
    confidence_p: int
    confidence_q: int


class SearchState(NamedTuple):
    """The stack and the output of a search, per level: level 0 is the empty antecedent, level d has d items."""

    control: NDArray[np.int64]  # depth, end of the first items, rules in the buffer, words processed
    chosen: NDArray[np.int32]
    cursor: NDArray[np.int64]
    counts: NDArray[np.int32]  # [level, item]
    candidates: NDArray[np.int32]
    n_candidates: NDArray[np.int64]
    words: Words
    places: NDArray[np.int32]
    n_places: NDArray[np.int64]  # −1: all words are stored
    known: Words  # rows in which the features of the antecedent are present
    known_at: NDArray[np.int64]  # level whose `known` applies; 0 (all rows): no feature so far has missing values
    n_known: NDArray[np.int64]
    survivors: NDArray[np.int32]
    out_antecedents: NDArray[np.int32]
    out_consequents: NDArray[np.int32]
    out_counts: NDArray[np.int64]


_DEPTH, _END, FILLED, _PROCESSED = 0, 1, 2, 3


@inlined
def _smallest_count(n: int, p: int, q: int) -> int:
    """Return the smallest k with k/n ≥ p/q."""
    return (p * n + q - 1) // q


@kernel
def count_pairs_of(problem: SearchProblem, first: int, step: int, block: int, pairs: NDArray[np.int32]) -> None:
    """Count the pairs (i, j > i) for every ``step``-th item i from ``first`` on, ``block`` words at a time.

    Pairs within a feature, and pairs that no rule needs, stay zero in ``pairs``.
    """
    bitmaps, name, feature, antecedent_ok = problem.bitmaps, problem.name, problem.feature, problem.antecedent_ok
    n_items, width = name.size, bitmaps.shape[1]
    for low in range(0, width, block):
        high = min(low + block, width)
        for item in range(first, n_items, step):
            left = bitmaps[name[item], low:high]
            for other in range(item + 1, n_items):
                if feature[other] != feature[item] and (antecedent_ok[item] or antecedent_ok[other]):
                    pairs[item, other] += and_count(left, bitmaps[name[other], low:high])


@kernel
def mirror_pairs(pairs: NDArray[np.int32]) -> None:
    """Copy the upper triangle of a square matrix to the lower one, tile by tile."""
    tile = 64
    n_items = pairs.shape[0]
    for top in range(0, n_items, tile):
        for left in range(top, n_items, tile):
            for row in range(top, min(top + tile, n_items)):
                for column in range(max(left, row + 1), min(left + tile, n_items)):
                    pairs[column, row] = pairs[row, column]


@kernel
def _count_common(words: Words, places: NDArray[np.int32], n_places: int, row: Words) -> Integer:
    """Return how many rows an antecedent shares with a bitmap."""
    if n_places < 0:
        return and_count(words, row)
    total = np.uint64(0)
    for place in range(n_places):
        total += ctpop(words[place] & row[places[place]])
    return np.int64(total)


@kernel
def _count_survivors(
    words: Words,
    places: NDArray[np.int32],
    n_places: int,
    bitmaps: Words,
    name: NDArray[np.int32],
    feature: NDArray[np.int32],
    survivors: NDArray[np.int32],
    found: Integer,
    n_held: Integer,
    needed: int,
    counts: NDArray[np.int32],
) -> None:
    """Count the rows that an antecedent shares with each of some items, or 0 if that is known to be less than needed.

    The items of a feature exclude each other: a row of the antecedent that has one of them cannot have the next.
    """
    current = np.int32(-1)
    left: Integer = n_held
    for place in range(found):
        item = survivors[place]
        if feature[item] != current:
            current = feature[item]
            left = n_held
        counts[item] = 0
        if left < needed:
            continue
        row = bitmaps[name[item]]
        total = np.uint64(0)
        if n_places < 0:
            for word in range(row.size):
                total += ctpop(words[word] & row[word])
        else:
            for near in range(n_places):
                total += ctpop(words[near] & row[places[near]])
        counts[item] = np.int64(total)
        left -= np.int64(total)


@inlined
def _intersect(state: SearchState, level: int, row: Words) -> None:
    """Write the antecedent at ``level`` as the AND of the one above and a bitmap, compressed if that saves time."""
    out = state.words[level]
    above = state.words[level - 1]
    n_above = state.n_places[level - 1]
    places = state.places[level]
    kept = 0
    if n_above >= 0:
        places_above = state.places[level - 1]
        for place in range(n_above):
            word = above[place] & row[places_above[place]]
            if word != 0:
                out[kept] = word
                places[kept] = places_above[place]
                kept += 1
        state.n_places[level] = kept
        return
    nonzero: Integer = 0
    for word in range(row.size):
        out[word] = above[word] & row[word]
    for word in range(row.size):
        nonzero += np.int64(out[word] != 0)
    state.n_places[level] = -1
    if nonzero * _SPARSE <= row.size:
        for word in range(row.size):
            if out[word] != 0:
                out[kept] = out[word]
                places[kept] = word
                kept += 1
        state.n_places[level] = kept


@inlined
def _update_known(problem: SearchProblem, state: SearchState, level: int, feature: int) -> int:
    """Update the rows in which all features of the antecedent are present; return how many rows a rule below needs."""
    at = state.known_at[level - 1]
    n_known = state.n_known[level - 1]
    if problem.present.shape[0] > 0 and problem.has_missing[feature]:
        row = problem.present[feature]
        known = state.known[level]
        total = np.uint64(0)
        for word in range(row.size):
            value = row[word] & state.known[at, word]
            known[word] = value
            total += ctpop(value)
        at = level
        n_known = np.int64(total)
    state.known_at[level] = at
    state.n_known[level] = n_known
    least_n = max(problem.n_complete, n_known - problem.top_missing[problem.max_antecedents + 1 - level])
    return max(1, _smallest_count(least_n, problem.support_p, problem.support_q))


@inlined
def _find_survivors(
    problem: SearchProblem, state: SearchState, level: int, item: int, floor: int, confident: int
) -> int:
    """Find the items that may be a consequent of the antecedent or extend it, according to upper bounds."""
    last = level == problem.max_antecedents
    feature, has_missing, consequent_ok, antecedent_ok = (
        problem.feature,
        problem.has_missing,
        problem.consequent_ok,
        problem.antecedent_ok,
    )
    above, candidates, survivors = state.counts[level - 1], state.candidates[level - 1], state.survivors
    # On the last level only rules matter, so the bound of an item must also reach the confidence. If its feature has
    # missing values, the antecedent has fewer rows; all that is known of them is that they include those of the rule.
    least = confident if last and problem.present.shape[0] == 0 else floor
    found = 0
    if problem.pairs.shape[0] > 0:
        pairs = problem.pairs[item]
        for place in range(state.n_candidates[level - 1]):
            other = candidates[place]
            survivors[found] = other
            found += (above[other] >= least) & (pairs[other] >= least)
    else:
        for place in range(state.n_candidates[level - 1]):
            other = candidates[place]
            survivors[found] = other
            found += (above[other] >= least) & (feature[other] != feature[item])
    kept = 0
    for place in range(found):
        other = survivors[place]
        survivors[kept] = other
        if last:
            kept += consequent_ok[other] & ((above[other] >= confident) | has_missing[feature[other]])
        else:
            kept += consequent_ok[other] | (antecedent_ok[other] & (other > item))
    return kept


@inlined
def _write_rules(
    problem: SearchProblem, state: SearchState, level: int, n_held: Integer, floor: int, found: int
) -> None:
    """Write the rules of the antecedent at a level, whose counts with the surviving items are known."""
    missing = problem.present.shape[0] > 0
    n: Integer = state.n_known[level]
    at = state.known_at[level]
    name, feature, n_item, consequent_ok = problem.name, problem.feature, problem.n_item, problem.consequent_ok
    survivors, counts, chosen = state.survivors, state.counts[level], state.chosen
    out_antecedents, out_consequents, out_counts = state.out_antecedents, state.out_consequents, state.out_counts
    filled = state.control[FILLED]
    current = np.int32(-1)
    n_antecedent = n_held
    confident = max(floor, _smallest_count(n_held, problem.confidence_p, problem.confidence_q))
    for place in range(found):
        item = survivors[place]
        n_both = np.int64(counts[item])
        if n_both < floor or not consequent_ok[item]:
            continue
        n_consequent = np.int64(n_item[item])
        if missing:
            if feature[item] != current:
                current = feature[item]
                n, n_antecedent = state.n_known[level], n_held
                if problem.has_missing[current]:
                    row = problem.present[current]
                    n = and_count(state.known[at], row)
                    n_antecedent = _count_common(state.words[level], state.places[level], state.n_places[level], row)
                confident = _smallest_count(n_antecedent, problem.confidence_p, problem.confidence_q)
            if n_both * problem.support_q < problem.support_p * n:
                continue
            if at > 0 and n_both >= confident:
                n_consequent = and_count(state.known[at], problem.bitmaps[name[item]])
        if n_both >= confident:
            for column in range(level):
                out_antecedents[filled, column] = name[chosen[column + 1]]
            for column in range(level, problem.max_antecedents):
                out_antecedents[filled, column] = -1
            out_consequents[filled] = name[item]
            out_counts[filled, 0] = n
            out_counts[filled, 1] = n_antecedent
            out_counts[filled, 2] = n_consequent
            out_counts[filled, 3] = n_both
            filled += 1
    state.control[FILLED] = filled


@inlined
def _visit(problem: SearchProblem, state: SearchState, level: int, item: int, n_held: Integer) -> None:
    """Count the items that the antecedent ``chosen[1…level]`` needs, write its rules, and list what may extend it."""
    state.chosen[level] = item
    state.n_candidates[level] = 0
    floor = _update_known(problem, state, level, problem.feature[item])
    confident = max(floor, _smallest_count(n_held, problem.confidence_p, problem.confidence_q))
    found = _find_survivors(problem, state, level, item, floor, confident)
    state.control[_PROCESSED] += state.n_candidates[level - 1]
    if found == 0:
        return
    last = level == problem.max_antecedents
    _intersect(state, level, problem.bitmaps[problem.name[item]])
    needed = confident if last and problem.present.shape[0] == 0 else floor
    survivors, counts = state.survivors, state.counts[level]
    if level == 1 and problem.pairs.shape[0] > 0:
        for place in range(found):
            counts[survivors[place]] = problem.pairs[item, survivors[place]]
    else:
        _count_survivors(
            state.words[level],
            state.places[level],
            state.n_places[level],
            problem.bitmaps,
            problem.name,
            problem.feature,
            survivors,
            found,
            n_held,
            needed,
            counts,
        )
        state.control[_PROCESSED] += found * problem.bitmaps.shape[1]
    _write_rules(problem, state, level, n_held, floor, found)
    if not last:
        candidates = state.candidates[level]
        kept = 0
        for place in range(found):
            other = survivors[place]
            candidates[kept] = other
            kept += counts[other] >= floor
        state.n_candidates[level] = kept


@kernel
def continue_search(problem: SearchProblem, state: SearchState, budget: int) -> bool:
    """Continue a search from its state.

    Args:
        problem: The input of the search.
        state: Its stack and output buffer, which are updated.
        budget: The number of words to process before the search pauses.

    Returns:
        Whether the run of first items is finished; otherwise the buffer is full or the budget is used up.
    """
    control = state.control
    control[FILLED] = 0
    control[_PROCESSED] = 0
    room = state.out_consequents.size - problem.feature.size
    while True:
        # One antecedent writes at most one rule per item, so a check before each visit is enough.
        if control[FILLED] > room or control[_PROCESSED] > budget:
            return False
        depth = control[_DEPTH]
        place = state.cursor[depth]
        if place == (control[_END] if depth == 0 else state.n_candidates[depth]):
            if depth == 0:
                return True
            control[_DEPTH] = depth - 1
            continue
        state.cursor[depth] = place + 1
        item = state.candidates[depth, place]
        if item < state.chosen[depth] or not problem.antecedent_ok[item]:
            continue
        _visit(problem, state, depth + 1, item, np.int64(state.counts[depth, item]))
        if depth + 1 < problem.max_antecedents and state.n_candidates[depth + 1] > 0:
            control[_DEPTH] = depth + 1
            state.cursor[depth + 1] = 0
