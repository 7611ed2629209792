"""The fewest rules that still cover what all of them cover.

Lazy greedy choice over bitmaps: the rule that adds most rows comes next. Antecedents are put together from the bitmaps
of their items when they are looked at, so memory grows with the rows (one bit each), not with rules × rows.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import Words, default_threads, run_threads, shared, spans
from thence.bitmaps.counts import full_mask
from thence.errors import ConfigError
from thence.progress import Progress, silent
from thence.refinement.parts import Part, parts_of
from thence.refinement.rule_kernels import close_rows, is_needed, open_rows_held
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

__all__ = ["smallest_cover"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]


def smallest_cover(
    rules: RuleSet, table: TransactionTable, *, share: float = 1.0, progress: Progress = silent
) -> RuleSet:
    """Few rules that cover (nearly) every row that the given ones cover, in the order in which they were chosen.

    Each time the rule is taken whose antecedent holds in most rows that are not covered yet; equals are decided by
    confidence, then support, then text. ``share`` of the covered rows is enough; at 1, rules that later ones made
    superfluous are left out again. Finding the very fewest is a hard problem; the greedy choice is at most a factor of
    ln(rows) off.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "m"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> rules = recount(table, 0, np.array([[4], [0], [1]]), np.array([2, 2, 3]))
    >>> for rule in smallest_cover(rules, table):
    ...     print(rule)
    (a).value = 'x' → (b).value = 'u'
    (a).value = 'y' → (b).value = 'v'
    """
    if not 0 < share <= 1:
        raise ConfigError(f"the share of rows to cover must lie between 0 and 1, got {share!r}")
    chosen: list[Ints] = []
    gains: list[Ints] = []
    parts = parts_of(rules, table)
    for done, part in enumerate(parts):
        progress("covering", done, len(parts))
        picked, gain = _cover_part(part, rules, trim=share == 1)
        chosen.append(picked)
        gains.append(gain)
    if not chosen:
        return rules
    # Blocks have no rows in common, so the greedy order of all is the merge of the greedy orders of each.
    numbers, rows = np.concatenate(chosen), np.concatenate(gains)
    order = np.argsort(-rows, kind="stable")
    if share < 1:
        before = np.cumsum(rows[order]) - rows[order]
        order = order[before < share * rows.sum()]
    return rules.take(numbers[order])


def _cover_part(part: Part, rules: RuleSet, *, trim: bool) -> tuple[Ints, Ints]:
    counts = rules.counts[part.rules]
    confidence = rules.measure("confidence")[part.rules]
    # Items are in order of column and codes, so their numbers stand for the text.
    by_text = [part.right, *part.left.T[::-1]]
    order = np.lexsort([*by_text, -counts.n_both, -confidence])
    bank = part.bank
    words, row_of = shared(bank.words, np.uint64), shared(bank.row_of, np.int32)
    antecedents = shared(part.numbers[part.left[order]], np.int32)
    open_rows = np.zeros((bank.n_embeddings, bank.words.shape[1]), np.uint64)
    full = full_mask(bank.n_frames)
    open_rows[:, : len(full)] = full
    arrays = (words, row_of, antecedents)
    rows = np.empty(len(order), np.int64)
    run_threads(
        lambda span: open_rows_held(*arrays, open_rows, *span, rows), spans(len(order), default_threads() * 4, least=64)
    )
    picked, gain = _choose(arrays, rows, open_rows)
    if trim:
        chosen, kept = shared(antecedents[picked], np.int32), np.ones(len(picked), bool)
        for which in range(len(picked) - 1, -1, -1):
            kept[which] = is_needed(words, row_of, chosen, kept, which)
        picked, gain = picked[kept], gain[kept]
    return part.rules[order[picked]], gain


def _choose(arrays: tuple[Words, Indices, Indices], rows: Ints, open_rows: Words) -> tuple[Ints, Ints]:
    """Rules in greedy order and the rows that each adds; that can only shrink, so old numbers are bounds."""
    words, row_of, antecedents = arrays
    heap = [(-held, rule) for rule, held in enumerate(rows.tolist())]
    heapq.heapify(heap)
    order: list[int] = []
    gains: list[int] = []
    while heap and heap[0][0] < 0:
        _, rule = heap[0]
        open_rows_held(words, row_of, antecedents, open_rows, rule, rule + 1, rows)
        now = (-int(rows[rule]), rule)
        if len(heap) > 1 and now > min(heap[1:3]):
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        if now[0] < 0:
            order.append(rule)
            gains.append(-now[0])
            close_rows(words, row_of, antecedents[rule], open_rows)
    return np.array(order, np.int64), np.array(gains, np.int64)
