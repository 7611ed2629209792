"""Counts of rules after time has been rearranged for the consequent alone: compiled, over bitmaps.

A rearrangement is a list of runs of frames and where they go; a circular shift has two, a permutation of blocks many.
``drawn`` are bitmaps after it. Bitmaps are those of ``Bank``: row 0 is empty, row 1 full, and
``row_of[item, embedding]`` says which row an embedding reads. Plain arrays only; p-values are made elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import Words, and_count, kernel

__all__ = ["copy_runs", "count_conditional", "count_drawn", "count_given", "count_pairs", "excess_root"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@kernel
def _copy_bits(line: Words, source: int, target: int, count: int, out: Words) -> None:
    """Copy at most 64 bits that stay within one word of the target."""
    first, shift = source // 64, np.uint64(source % 64)
    value = line[first] >> shift
    if shift > 0 and first + 1 < line.size:
        value |= line[first + 1] << (np.uint64(64) - shift)
    if count < 64:
        value &= (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    out[target // 64] |= value << np.uint64(target % 64)


@kernel
def copy_runs(words: Words, source: Ints, target: Ints, length: Ints, out: Words) -> None:
    """Copy runs of bits of every row to where they go; ``out`` is all zero before."""
    for row in range(words.shape[0]):
        line, made = words[row], out[row]
        for run in range(length.size):
            read, write, rest = source[run], target[run], length[run]
            head = min((64 - write % 64) % 64, rest)
            if head > 0:
                _copy_bits(line, read, write, head, made)
                read, write, rest = read + head, write + head, rest - head
            # Whole words of the target; the last one is left to the careful copy, which knows where the source ends.
            full = max(rest // 64 - 1, 0)
            first, start = read // 64, write // 64
            shift = np.uint64(read % 64)
            if shift == 0:
                for word in range(full):
                    made[start + word] = line[first + word]
            else:
                back = np.uint64(64) - shift
                for word in range(full):
                    made[start + word] = (line[first + word] >> shift) | (line[first + word + 1] << back)
            read, write, rest = read + 64 * full, write + 64 * full, rest - 64 * full
            while rest > 0:
                _copy_bits(line, read, write, min(64, rest), made)
                read, write, rest = read + 64, write + 64, rest - 64


@kernel
def excess_root(both: float, held: float, expected: float) -> float:
    """The signed root of the likelihood ratio statistic of ``both`` hits among ``held``, with ``expected`` expected."""
    if expected <= 0.0 or expected >= held:
        return 0.0
    total = 0.0
    if both > 0:
        total += both * math.log(both / expected)
    if held > both:
        total += (held - both) * math.log((held - both) / (held - expected))
    root = math.sqrt(max(2.0 * total, 0.0))
    return root if both > expected else -root


@kernel
def _and_rows(words: Words, row_of: Indices, items: Indices, embedding: int, out: Words) -> None:
    """The frames in which all items hold (padding −1 holds always)."""
    begun = False
    for place in range(items.size):
        if items[place] >= 0:
            row = words[row_of[items[place], embedding]]
            if begun:
                for word in range(out.size):
                    out[word] &= row[word]
            else:
                out[:] = row
                begun = True
    if not begun:
        out[:] = words[1]


@kernel
def _same_row(left: Indices, a: int, b: int) -> bool:
    same = True
    for place in range(left.shape[1]):
        same = same and left[a, place] == left[b, place]
    return same


@kernel
def count_drawn(
    words: Words,
    drawn: Words,
    row_of: Indices,
    present_of: Indices,
    left: Indices,
    right: Indices,
    column: Indices,
    base: Floats,
    both: Ints,
    held: Ints,
    expected: Floats,
) -> None:
    """Counts of rules (rows of ``left``, equal antecedents in a run) whose consequents are read from ``drawn``.

    ``column[r]`` is the column of the consequent of rule ``r``, ``base[r, e]`` how often it holds in embedding ``e``
    among the frames in which it is known. ``held`` counts the antecedent where the consequent is known.
    """
    buffer = np.empty(words.shape[1], np.uint64)
    for embedding in range(row_of.shape[1]):
        size = np.int64(0)
        for rule in range(right.size):
            if rule == 0 or not _same_row(left, rule, rule - 1):
                _and_rows(words, row_of, left[rule], embedding, buffer)
                size = and_count(buffer, buffer)
            if size == 0:
                continue
            known = present_of[column[rule], embedding]
            rows = size if known == 1 else and_count(buffer, drawn[known])
            both[rule] += and_count(buffer, drawn[row_of[right[rule], embedding]])
            held[rule] += rows
            expected[rule] += rows * base[rule, embedding]


@kernel
def count_given(
    words: Words,
    row_of: Indices,
    present_of: Indices,
    rest: Indices,
    right: Indices,
    column: Indices,
    hits: Ints,
    rows: Ints,
) -> None:
    """Per embedding: frames that hold ``rest`` and in which the consequent is known, and those in which it holds."""
    buffer = np.empty(words.shape[1], np.uint64)
    for embedding in range(row_of.shape[1]):
        for trial in range(right.size):
            _and_rows(words, row_of, rest[trial], embedding, buffer)
            hits[trial, embedding] = and_count(buffer, words[row_of[right[trial], embedding]])
            rows[trial, embedding] = and_count(buffer, words[present_of[column[trial], embedding]])


@kernel
def count_conditional(
    words: Words,
    drawn: Words,
    row_of: Indices,
    present_of: Indices,
    rest: Indices,
    item: Indices,
    right: Indices,
    column: Indices,
    base: Floats,
    both: Ints,
    held: Ints,
    expected: Floats,
) -> None:
    """Counts of rules of which one ``item`` alone is read from ``drawn``, among the frames that hold the ``rest``.

    Trials with the same rest and consequent follow each other, and share what is put together for them.
    """
    hits = np.empty(words.shape[1], np.uint64)
    known = np.empty(words.shape[1], np.uint64)
    for embedding in range(row_of.shape[1]):
        for trial in range(right.size):
            moved = drawn[row_of[item[trial], embedding]]
            if trial == 0 or right[trial] != right[trial - 1] or not _same_row(rest, trial, trial - 1):
                _and_rows(words, row_of, rest[trial], embedding, known)
                consequent = words[row_of[right[trial], embedding]]
                for word in range(known.size):
                    hits[word] = known[word] & consequent[word]
                present = present_of[column[trial], embedding]
                if present != 1:
                    for word in range(known.size):
                        known[word] &= words[present, word]
            rows = and_count(known, moved)
            both[trial] += and_count(hits, moved)
            held[trial] += rows
            expected[trial] += rows * base[trial, embedding]


@kernel
def count_pairs(
    words: Words,
    drawn: Words,
    row_of: Indices,
    present_of: Indices,
    left: Indices,
    right: Indices,
    column: Indices,
    allowed: Bools,
    size: Ints,
    base: Floats,
    both: Ints,
    held: Ints,
    expected: Floats,
) -> None:
    """Counts of all rules with one antecedent item, ``left`` × ``right``, the consequents read from ``drawn``.

    Consequents of one column follow each other. ``size[a, e]`` are the frames of item ``a`` in embedding ``e``.
    """
    for embedding in range(row_of.shape[1]):
        for a in range(left.size):
            if size[a, embedding] == 0:
                continue
            one = words[row_of[left[a], embedding]]
            before = -1
            rows = np.int64(0)
            for c in range(right.size):
                if not allowed[a, c]:
                    continue
                if column[c] != before:
                    before = column[c]
                    known = present_of[before, embedding]
                    rows = size[a, embedding] if known == 1 else and_count(one, drawn[known])
                target = row_of[right[c], embedding]
                held[a, c] += rows
                if target != 0:
                    both[a, c] += and_count(one, drawn[target])
                    expected[a, c] += rows * base[c, embedding]
