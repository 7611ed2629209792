"""The compiled part of the exact miner: one node of the search after the other, on plain arrays.

``thence.search.exact.search`` drives these kernels and explains what is searched and why the pruning is safe. The
search keeps its whole stack in arrays, so that it can pause at any node (to empty a full buffer or to check the stop
signal) and continue later. This module must not check its input.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thence.tables.bitmaps.bits import Integer, Words, and_count, ctpop, helper, kernel

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


_DEPTH, _END, FILLED, PROCESSED = 0, 1, 2, 3


@helper
def _smallest_count(n: Integer, p: Integer, q: Integer) -> Integer:
    """Return the smallest k with k/n ≥ p/q."""
    return (p * n + q - 1) // q


@kernel
def count_pairs_of(problem: SearchProblem, first: int, step: int, block: int, pairs: NDArray[np.int32]) -> None:
    """Count the pairs (i, j > i) for every ``step``-th item i from ``first`` on, ``block`` words at a time.

    Pairs within a feature, and pairs that no rule needs, stay zero in ``pairs``.
    """
    bitmaps, name, feature = problem.bitmaps, problem.name, problem.feature
    leads, follows = problem.antecedent_ok, problem.consequent_ok
    several = problem.max_antecedents > 1
    n_items, width = name.size, bitmaps.shape[1]
    for low in range(0, width, block):
        high = min(low + block, width)
        for item in range(first, n_items, step):
            left = bitmaps[name[item], low:high]
            for other in range(item + 1, n_items):
                needed = leads[item] & (follows[other] | several) | leads[other] & (follows[item] | several)
                if needed and feature[other] != feature[item]:
                    pairs[item, other] += and_count(left, bitmaps[name[other], low:high])


@helper
def _count_common(words: Words, places: NDArray[np.int32], n_places: int, row: Words) -> Integer:
    """Return how many rows an antecedent shares with a bitmap."""
    total = np.uint64(0)
    if n_places < 0:
        for word in range(row.size):
            total += ctpop(words[word] & row[word])
    else:
        for place in range(n_places):
            total += ctpop(words[place] & row[places[place]])
    return np.int64(total)


@helper
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


@helper
def _intersect(
    above: Words, places_above: NDArray[np.int32], n_above: int, row: Words, out: Words, places: NDArray[np.int32]
) -> Integer:
    """Write the AND of an antecedent and a bitmap; return the number of words stored, or −1 if all are.

    Few words are stored with their places, which saves time later.
    """
    kept = 0
    if n_above >= 0:
        for place in range(n_above):
            word = above[place] & row[places_above[place]]
            if word != 0:
                out[kept] = word
                places[kept] = places_above[place]
                kept += 1
        return kept
    nonzero: Integer = 0
    for at in range(row.size):
        out[at] = above[at] & row[at]
    for at in range(row.size):
        nonzero += np.int64(out[at] != 0)
    if nonzero * _SPARSE > row.size:
        return -1
    for at in range(row.size):
        if out[at] != 0:
            out[kept] = out[at]
            places[kept] = at
            kept += 1
    return kept


@helper
def _narrow(above: Words, row: Words, out: Words) -> Integer:
    """Write the AND of two bitmaps and return how many rows it has."""
    total = np.uint64(0)
    for word in range(row.size):
        value = row[word] & above[word]
        out[word] = value
        total += ctpop(value)
    return np.int64(total)


@helper
def _find_survivors(
    candidates: NDArray[np.int32],
    above: NDArray[np.int32],
    pairs: NDArray[np.int32],
    feature: NDArray[np.int32],
    has_missing: NDArray[np.bool_],
    antecedent_ok: NDArray[np.bool_],
    consequent_ok: NDArray[np.bool_],
    item: int,
    last: bool,
    missing: bool,
    floor: Integer,
    confident: Integer,
    survivors: NDArray[np.int32],
) -> Integer:
    """Find the items that may be a consequent of the antecedent or extend it, according to upper bounds."""
    # On the last level only rules matter, so the bound of an item must also reach the confidence. If its feature has
    # missing values, the antecedent has fewer rows; all that is known of them is that they include those of the rule.
    least = confident if last and not missing else floor
    found = 0
    if pairs.size > 0:
        for place in range(candidates.size):
            other = candidates[place]
            survivors[found] = other
            found += (above[other] >= least) & (pairs[other] >= least)
    else:
        for place in range(candidates.size):
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


@helper
def _write_rules(
    problem: SearchProblem, state: SearchState, level: int, n_held: Integer, floor: Integer, found: Integer
) -> None:
    """Write the rules of the antecedent at a level, whose counts with the surviving items are known."""
    missing = problem.present.shape[0] > 0
    n: Integer = state.n_known[level]
    at = state.known_at[level]
    name, feature, consequent_ok = problem.name, problem.feature, problem.consequent_ok
    survivors, counts, chosen = state.survivors, state.counts[level], state.chosen
    filled = state.control[FILLED]
    current = np.int32(-1)
    n_antecedent = n_held
    confident = max(floor, _smallest_count(n_held, problem.confidence_p, problem.confidence_q))
    for place in range(found):
        item = survivors[place]
        n_both = np.int64(counts[item])
        if n_both < floor or not consequent_ok[item]:
            continue
        n_consequent = np.int64(problem.n_item[item])
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
            for column in range(problem.max_antecedents):
                state.out_antecedents[filled, column] = name[chosen[column + 1]] if column < level else -1
            state.out_consequents[filled] = name[item]
            state.out_counts[filled, 0] = n
            state.out_counts[filled, 1] = n_antecedent
            state.out_counts[filled, 2] = n_consequent
            state.out_counts[filled, 3] = n_both
            filled += 1
    state.control[FILLED] = filled


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
    control[PROCESSED] = 0
    room = state.out_consequents.size - problem.feature.size
    missing = problem.present.shape[0] > 0
    survivors = state.survivors
    while True:
        # One antecedent writes at most one rule per item, so a check before each visit is enough.
        if control[FILLED] > room or control[PROCESSED] > budget:
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
        level = depth + 1
        last = level == problem.max_antecedents
        state.chosen[level] = item
        state.n_candidates[level] = 0
        n_held = np.int64(state.counts[depth, item])
        # The rows in which all features of the antecedent are present, and how many of them a rule below needs.
        at, n_known = state.known_at[depth], state.n_known[depth]
        if missing and problem.has_missing[problem.feature[item]]:
            n_known = _narrow(state.known[at], problem.present[problem.feature[item]], state.known[level])
            at = level
        state.known_at[level] = at
        state.n_known[level] = n_known
        least_n = max(problem.n_complete, n_known - problem.top_missing[problem.max_antecedents + 1 - level])
        floor = max(1, _smallest_count(least_n, problem.support_p, problem.support_q))
        confident = max(floor, _smallest_count(n_held, problem.confidence_p, problem.confidence_q))
        candidates = state.candidates[depth, : state.n_candidates[depth]]
        pairs = problem.pairs[item] if problem.pairs.shape[0] > 0 else problem.n_item[:0]
        counts = state.counts[level]
        found = _find_survivors(
            candidates,
            state.counts[depth],
            pairs,
            problem.feature,
            problem.has_missing,
            problem.antecedent_ok,
            problem.consequent_ok,
            item,
            last,
            missing,
            floor,
            confident,
            survivors,
        )
        control[PROCESSED] += candidates.size
        if found == 0:
            continue
        words, places = state.words[level], state.places[level]
        n_places = _intersect(
            state.words[depth],
            state.places[depth],
            state.n_places[depth],
            problem.bitmaps[problem.name[item]],
            words,
            places,
        )
        state.n_places[level] = n_places
        if level == 1 and pairs.size > 0:
            for near in range(found):
                counts[survivors[near]] = pairs[survivors[near]]
        else:
            _count_survivors(
                words,
                places,
                n_places,
                problem.bitmaps,
                problem.name,
                problem.feature,
                survivors,
                found,
                n_held,
                confident if last and not missing else floor,
                counts,
            )
            control[PROCESSED] += found * words.size
        _write_rules(problem, state, level, n_held, floor, found)
        if not last:
            kept = 0
            for near in range(found):
                other = survivors[near]
                state.candidates[level, kept] = other
                kept += counts[other] >= floor
            if kept > 0:
                state.n_candidates[level] = kept
                state.cursor[level] = 0
                control[_DEPTH] = level
