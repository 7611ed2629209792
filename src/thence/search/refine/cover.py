"""A small set of rules that covers what all the given rules cover.

Lazy greedy selection over bitmaps: the next rule is the one that adds most rows. Antecedents are intersected from the
bitmaps of their items on demand, so memory grows with the rows (one bit each), not with rules × rows. This module
selects rules; it changes none and compares none by form (see ``redundancy``).
"""

from __future__ import annotations

import heapq

import numpy as np

from thence._base.progress import Progress, silent
from thence._base.settings.threads import default_threads
from thence.errors import ConfigError
from thence.search.refine.encoding import EncodedRules, encode_rules
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import (
    Bools,
    Indices,
    Ints,
    Words,
    as_kernel_array,
    ctpop,
    full_mask,
    kernel,
    run_threads,
    split_range,
)
from thence.tables.transactions import TransactionTable


def smallest_cover(
    rules: RuleSet, table: TransactionTable, *, share: float = 1.0, progress: Progress = silent
) -> RuleSet:
    """Select few rules that cover every row that the given rules cover, or a share of these rows.

    A rule covers the rows in which its antecedent holds. Rules are selected greedily: the one that covers most rows not
    covered yet comes next; ties are broken by confidence, then support, then text. The greedy selection has at most
    about ln(rows) times as many rules as the smallest possible one, which is NP-hard to find.

    Args:
        rules: The rules to select from.
        table: The table that the rules were mined from.
        share: Share of the covered rows that must stay covered. At 1, rules that later ones made superfluous are
            removed again.
        progress: Callback that reports progress.

    Returns:
        The selected rules in the order of selection.

    Raises:
        ConfigError: If ``share`` is not above 0 and at most 1.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "m"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> rules = recount(np.array([[4], [0], [1]]), np.array([2, 2, 3]), table)
        >>> for rule in smallest_cover(rules, table):
        ...     print(rule)
        (a).value = 'x' → (b).value = 'u'
        (a).value = 'y' → (b).value = 'v'
    """
    if not 0 < share <= 1:
        raise ConfigError(f"share of rows to cover must be above 0 and at most 1, got {share!r}")
    chosen: list[Ints] = []
    gains: list[Ints] = []
    parts = encode_rules(rules, table)
    for done, encoded in enumerate(parts):
        progress("covering", done, len(parts))
        selected, gain = _cover_block(encoded, rules, trim=share == 1)
        chosen.append(selected)
        gains.append(gain)
    if not chosen:
        return rules
    # Blocks have no rows in common, so merging the greedy orders of the blocks gives the greedy order of the table.
    numbers, rows = np.concatenate(chosen), np.concatenate(gains)
    order = np.argsort(-rows, kind="stable")
    if share < 1:
        before = np.cumsum(rows[order]) - rows[order]
        order = order[before < share * rows.sum()]
    return rules.take(numbers[order])


def _cover_block(encoded: EncodedRules, rules: RuleSet, *, trim: bool) -> tuple[Ints, Ints]:
    """Select rules of one block; return their positions in the rule set and the rows that each added."""
    counts = rules.counts[encoded.rules]
    confidence = rules.measure("confidence")[encoded.rules]
    # Items are ordered by column and codes, so comparing their numbers compares the text.
    by_text = [encoded.consequents, *encoded.antecedents.T[::-1]]
    order = np.lexsort([*by_text, -counts.n_both, -confidence])
    bank = encoded.bank
    words, row_of = as_kernel_array(bank.words, np.uint64), as_kernel_array(bank.row_of, np.int32)
    antecedents = as_kernel_array(encoded.numbers[encoded.antecedents[order]], np.int32)
    uncovered = np.zeros((bank.n_embeddings, bank.words.shape[1]), np.uint64)
    full = full_mask(bank.n_frames)
    uncovered[:, : len(full)] = full
    arrays = (words, row_of, antecedents)
    rows = np.empty(len(order), np.int64)
    run_threads(
        lambda span: _count_uncovered(*arrays, uncovered, *span, rows),
        split_range(len(order), default_threads() * 4, least=64),
    )
    selected, gain = _select_greedily(arrays, rows, uncovered)
    if trim:
        chosen, needed = as_kernel_array(antecedents[selected], np.int32), np.ones(len(selected), bool)
        for which in range(len(selected) - 1, -1, -1):
            needed[which] = _is_needed(words, row_of, chosen, needed, which)
        selected, gain = selected[needed], gain[needed]
    return encoded.rules[order[selected]], gain


def _select_greedily(arrays: tuple[Words, Indices, Indices], rows: Ints, uncovered: Words) -> tuple[Ints, Ints]:
    """Return rules in greedy order and the rows that each adds.

    The gain of a rule can only shrink, so gains computed earlier are upper bounds and only the top is recomputed.
    """
    words, row_of, antecedents = arrays
    heap = [(-held, rule) for rule, held in enumerate(rows.tolist())]
    heapq.heapify(heap)
    order: list[int] = []
    gains: list[int] = []
    while heap and heap[0][0] < 0:
        _, rule = heap[0]
        _count_uncovered(words, row_of, antecedents, uncovered, rule, rule + 1, rows)
        now = (-int(rows[rule]), rule)
        if len(heap) > 1 and now > min(heap[1:3]):
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        if now[0] < 0:
            order.append(rule)
            gains.append(-now[0])
            _remove_covered(words, row_of, antecedents[rule], uncovered)
    return np.array(order, np.int64), np.array(gains, np.int64)


@kernel
def _count_uncovered(
    words: Words, row_of: Indices, antecedents: Indices, uncovered: Words, first: int, last: int, out: Ints
) -> None:
    """Count the uncovered rows (a bitmap per embedding) in which the antecedents ``first … last`` hold."""
    for rule in range(first, last):
        length = 0
        while length < antecedents.shape[1] and antecedents[rule, length] >= 0:
            length += 1
        total = np.uint64(0)
        for embedding in range(row_of.shape[1]):
            mask = uncovered[embedding]
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
def _remove_covered(words: Words, row_of: Indices, antecedent: Indices, uncovered: Words) -> None:
    """Remove the rows in which an antecedent holds from the uncovered rows."""
    for embedding in range(row_of.shape[1]):
        for word in range(uncovered.shape[1]):
            value = uncovered[embedding, word]
            for place in range(antecedent.size):
                if antecedent[place] >= 0:
                    value &= words[row_of[antecedent[place], embedding], word]
            uncovered[embedding, word] ^= value


@kernel
def _is_needed(words: Words, row_of: Indices, antecedents: Indices, needed: Bools, which: int) -> bool:
    """Whether some row is covered by this antecedent and by no other needed one."""
    for embedding in range(row_of.shape[1]):
        for word in range(words.shape[1]):
            own = words[1, word]
            for place in range(antecedents.shape[1]):
                if antecedents[which, place] >= 0:
                    own &= words[row_of[antecedents[which, place], embedding], word]
            for other in range(antecedents.shape[0]):
                if own == 0:
                    break
                if other == which or not needed[other]:
                    continue
                held = own
                for place in range(antecedents.shape[1]):
                    if antecedents[other, place] >= 0:
                        held &= words[row_of[antecedents[other, place], embedding], word]
                own ^= held
            if own != 0:
                return True
    return False
