"""Rules that state the same fact in different words.

A law of one system can be written in several patterns: of each pipe and the junction that it starts at, of each
junction and the pipe that starts there, or of both as variables. Two rules state the same fact if, place by place,
their antecedents hold in the same frames and their consequents are the same test of the same series. This module
recognises such rules; it neither counts nor selects.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.search.refine.encoding import EncodedRules
from thence.tables.bitmaps.bits import (
    Words,
    as_kernel_array,
    kernel,
    run_threads,
    split_range,
)

__all__ = ["fact_numbers"]

Hashes = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int32]

_CHUNK = 1 << 22
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def fact_numbers(parts: list[EncodedRules], n_rules: int) -> tuple[Hashes, Hashes]:
    """Return two numbers per rule: of the fact that it states, and of the fact that its converse states.

    Rules state the same fact if and only if their numbers are equal (up to collisions of 64-bit hashes, whose
    probability is below 10⁻⁷ for a million rules). The number of the converse is 0 for rules that have none: those with
    several items in the antecedent.

    Args:
        parts: The rules, encoded block by block.
        n_rules: Number of rules in the rule set.
    """
    facts, converses = np.zeros(n_rules, np.uint64), np.zeros(n_rules, np.uint64)
    for encoded in parts:
        for rules, pairs in _hash_parts(encoded):
            facts[rules] = _sum_distinct(pairs[0])
            converses[rules] = _sum_distinct(pairs[1])
        several = (encoded.antecedents >= 0).sum(axis=1) != 1
        converses[encoded.rules[several]] = 0
    return facts, converses


def _hash_parts(encoded: EncodedRules) -> Iterator[tuple[npt.NDArray[np.int64], Hashes]]:
    """Yield some of the rules at a time, with their hashes (2 × rules × embeddings)."""
    bank = encoded.bank
    words, row_of = as_kernel_array(bank.words, np.uint64), as_kernel_array(bank.row_of, np.int32)
    hashes = _hash_rows(words)
    step = max(1, _CHUNK // max(1, bank.n_embeddings))
    for first in range(0, len(encoded.rules), step):
        part = slice(first, first + step)
        left = as_kernel_array(encoded.numbers[encoded.antecedents[part]], np.int32)
        right = as_kernel_array(encoded.numbers[encoded.consequents[part]], np.int32)
        pairs = np.zeros((2, len(right), bank.n_embeddings), np.uint64)
        run_threads(
            partial(_hash_span, words, row_of, hashes, left, right, pairs),
            split_range(len(right), default_threads() * 4, least=16),
        )
        yield encoded.rules[part], pairs


def _sum_distinct(pairs: Hashes) -> Hashes:
    """Return the sum of the distinct hashes of each row: the order and number of places do not matter."""
    pairs = np.sort(pairs, axis=1)
    pairs[:, 1:][pairs[:, 1:] == pairs[:, :-1]] = 0
    return np.asarray(pairs.sum(axis=1, dtype=np.uint64))


def _hash_span(
    words: Words,
    row_of: Indices,
    hashes: Hashes,
    left: Indices,
    right: Indices,
    out: Hashes,
    span: tuple[int, int],
) -> None:
    _hash_pairs(words, row_of, hashes, left, right, *span, out)


@kernel
def _hash_rows(words: Words) -> Hashes:
    """Return a hash per bitmap; that of an empty bitmap is 0."""
    out = np.zeros(words.shape[0], np.uint64)
    for row in range(words.shape[0]):
        state = np.uint64(0)
        for word in range(words.shape[1]):
            if words[row, word] != 0:
                mixed = (words[row, word] + np.uint64(word + 1) * _PRIME) * np.uint64(0xBF58476D1CE4E5B9)
                state += (mixed ^ (mixed >> np.uint64(29))) * _PRIME
        out[row] = state
    return out


@kernel
def _hash_pairs(
    words: Words,
    row_of: Indices,
    hashes: Hashes,
    left: Indices,
    right: Indices,
    first: int,
    last: int,
    out: Hashes,
) -> None:
    """Hash antecedent and consequent of each rule in each embedding, 0 where the antecedent never holds."""
    width = left.shape[1]
    for rule in range(first, last):
        length = 0
        while length < width and left[rule, length] >= 0:
            length += 1
        for embedding in range(row_of.shape[1]):
            held = np.uint64(0)
            if length == 1:
                held = hashes[row_of[left[rule, 0], embedding]]
            else:
                for word in range(words.shape[1]):
                    value = words[1, word]
                    for place in range(length):
                        value &= words[row_of[left[rule, place], embedding], word]
                    if value != 0:
                        mixed = (value + np.uint64(word + 1) * _PRIME) * np.uint64(0xBF58476D1CE4E5B9)
                        held += (mixed ^ (mixed >> np.uint64(29))) * _PRIME
            then = hashes[row_of[right[rule], embedding]]
            if held != 0 and then != 0:
                one = (held ^ (held >> np.uint64(31))) * _PRIME + then
                two = (then ^ (then >> np.uint64(31))) * _PRIME + held
                out[0, rule, embedding] = (one ^ (one >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                out[1, rule, embedding] = (two ^ (two >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
