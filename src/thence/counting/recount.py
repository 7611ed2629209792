"""Exact counts of rules on tables: the only place that counts.

Whatever proposed a rule, its numbers come from here, so all miners are comparable and no number is a guess. A missing
value satisfies no item. By default the counts of a rule are taken over the rows in which all its features are present
(``denominator="present"``); with ``"all"`` every row counts. Counts over disjoint rows add up (``merge``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bank import Bank
from thence.bitmaps.bits import Words, pack_mask, popcount, unpack
from thence.bitmaps.counts import count_rules, cover, full_mask
from thence.bitmaps.embedding_counts import EmbeddingCounts, count_embeddings
from thence.bitmaps.stretch_counts import sum_stretches
from thence.errors import MiningError
from thence.rules.items import Item
from thence.rules.measures import Counts
from thence.rules.ruleset import Rule, RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["StretchSums", "count_rules_of", "count_stretches", "data_coverage", "merge", "recount", "rule_rows"]

Indices = npt.NDArray[np.int32]
Table = TransactionTable | FeatureTable

# Bitmaps of this many bytes are written out at once when embeddings must be laid end to end.
_CHUNK_BYTES = 1 << 28


def recount(
    table: TransactionTable,
    block: int,
    antecedents: npt.NDArray[Any],
    consequents: npt.NDArray[Any],
    *,
    extras: Mapping[str, npt.NDArray[Any]] | None = None,
    denominator: str = "present",
    notes: Sequence[str] = (),
    counts: Counts | None = None,
) -> RuleSet:
    """A rule set with exact counts from rules given as item numbers of one block.

    ``counts`` skips the count where the caller has made it with the same kernels (the exact miner does).

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
    >>> rules = recount(table, 0, np.array([[0]]), np.array([2]))
    >>> str(rules[0]), rules.measure("confidence").tolist()
    ("(a).value = 'x' → (b).value = 'u'", [1.0])
    """
    part = table.blocks[block]
    left = np.asarray(antecedents, np.int32)
    if left.ndim != 2:
        raise ValueError("antecedents must be a matrix: rules × items")
    right = np.asarray(consequents, np.int32)
    columns = dict(extras or {})
    if counts is None:
        counts, supports = _count_items(part.bank, left, right, denominator, lifted=part.is_lifted)
        columns |= supports
    used = np.unique(np.concatenate([left[left >= 0], right]))
    renumber = np.full(part.n_items + 1, -1, np.int32)
    renumber[used] = np.arange(len(used), dtype=np.int32)
    return RuleSet(
        tuple(part.item(int(i)) for i in used),
        renumber[left],
        renumber[right],
        counts,
        patterns=((str(part.pattern), part.pattern.english),) if part.pattern is not None else (),
        pattern_of=np.zeros(len(right), np.int32) if part.pattern is not None else None,
        extras=columns,
        facts=_facts(table),
        notes=tuple(notes),
        coverage_of=CoverageOn(table),
    )


def _facts(table: Table) -> dict[str, Any]:
    if isinstance(table, FeatureTable):
        return {"n_transactions": table.n_rows, "n_features": len(table.features), "n_items": None}
    return {"n_transactions": table.n_rows, "n_features": table.n_features, "n_items": table.n_items}


def _count_items(
    bank: Bank, left: Indices, right: Indices, denominator: str, *, lifted: bool
) -> tuple[Counts, dict[str, npt.NDArray[Any]]]:
    if not lifted:
        bitmaps, present, n_rows = bank.flat()
        counted = count_rules(
            bitmaps,
            n_rows=n_rows,
            antecedents=left,
            consequents=right,
            present=present,
            feature_of_item=bank.column_of_item,
            denominator=denominator,  # type: ignore[arg-type]
        )
        return Counts(*counted, n_rows=np.asarray(n_rows)), {}
    found = count_embeddings(bank, antecedents=left, consequents=right, denominator=denominator)
    return Counts.from_matrix(found.counts, n_rows=bank.n_rows), _supports(bank, found)


def _supports(bank: Bank, found: EmbeddingCounts) -> dict[str, npt.NDArray[Any]]:
    """The two further supports of a lifted rule, and how its confidence spreads over embeddings."""
    applies = np.maximum(found.applicable, 1)
    mean = found.confidence_sum / applies
    variance = found.confidence_squares / applies - mean**2
    variance[variance < 1e-14] = 0.0  # what is left there is rounding
    return {
        "support_time": found.frames / max(bank.n_frames, 1),
        "support_embeddings": found.embeddings / max(bank.n_embeddings, 1),
        "confidence_low": np.where(found.applicable > 0, found.confidence_low, 0.0),
        "confidence_spread": np.sqrt(variance),
    }


def count_rules_of(table: Table, rules: RuleSet | Iterable[Rule], *, denominator: str = "present") -> RuleSet:
    """The same rules with their counts on this table, whatever table they came from.

    Items may join several bins of the table; an item that cuts through a bin is an error, except on a feature table,
    where every comparison can be counted.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
    >>> rules = recount(table, 0, np.array([[0]]), np.array([2]))
    >>> count_rules_of(table, list(rules)).counts.n_both.tolist()
    [2]
    """
    if not isinstance(rules, RuleSet):
        listed = list(rules)
        zero = np.zeros(len(listed), np.int64)
        rules = RuleSet.from_rules(listed, Counts(zero, zero, zero, zero))
    if isinstance(table, FeatureTable):
        counts, supports = _count_raw(table, rules, denominator)
    else:
        counts, supports = _count_blocks(table, rules, denominator)
    kept = {name: column for name, column in rules.extras.items() if name not in _OF_A_TABLE}
    return replace(
        rules,
        counts=counts,
        extras=kept | supports,
        facts=_facts(table),
        coverage_of=CoverageOn(table),
    )


SUPPORTS = ("support_time", "support_embeddings", "confidence_low", "confidence_spread")
# What was found out about rules on one table, and must not be read beside their counts on another.
_OF_A_TABLE = (*SUPPORTS, "assured_confidence", "improvement", "p_value", "p_adjusted", "p_simpler")


def _count_raw(table: FeatureTable, rules: RuleSet, denominator: str) -> tuple[Counts, dict[str, npt.NDArray[Any]]]:
    bitmaps, present, owner = _raw_bitmaps(table, rules.items)
    counted = count_rules(
        bitmaps,
        n_rows=table.n_rows,
        antecedents=rules.antecedents,
        consequents=rules.consequents,
        present=present,
        feature_of_item=owner,
        denominator=denominator,  # type: ignore[arg-type]
    )
    return Counts(*counted, n_rows=np.asarray(table.n_rows)), {}


def _raw_bitmaps(table: FeatureTable, items: Sequence[Item]) -> tuple[Words, Words, npt.NDArray[np.int64]]:
    width = len(full_mask(table.n_rows))
    bitmaps = np.zeros((len(items), width), np.uint64)
    for at, item in enumerate(items):
        bitmaps[at] = pack_mask(table.mask(item))
    owner = np.array([table.column(item.feature) for item in items], np.int64)
    return bitmaps, pack_mask(~np.isnan(table.numbers)), owner


def by_block(table: TransactionTable, rules: RuleSet) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Which rules belong to which block, each block once; a rule that fits none is an error that names it.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
    >>> [(at, chosen.tolist()) for at, chosen in by_block(table, recount(table, 0, np.array([[0]]), np.array([2])))]
    [(0, [0])]
    """
    if len(rules) == 0:
        return []
    if len(table.blocks) == 1 and rules.pattern_of is None:
        return [(0, np.arange(len(rules)))]
    blocks = {str(block.pattern or ""): at for at, block in enumerate(table.blocks)}
    own = rules.pattern_of if rules.pattern_of is not None else np.full(len(rules), -1)
    names = [pattern for pattern, _ in rules.patterns] + [""]
    # One pattern may stand in the list twice, with other words for its place.
    block_of = np.full(len(names), -1)
    for number in np.unique(own).tolist():
        at = blocks.get(names[number])
        if at is None:
            raise MiningError(
                f"the table has no rows for the pattern '{names[number]}'",
                hint="make the table with the patterns of the rules: patterns=[…]",
            )
        block_of[number] = at
    return [(at, np.flatnonzero(block_of[own] == at)) for at in np.unique(block_of[own]).tolist()]


def _bank_items(table: TransactionTable, at: int, items: Sequence[Item], used: Iterable[int]) -> tuple[Bank, Indices]:
    """The block's bank, extended by joined items where needed, and the bank's number for each used item."""
    block = table.blocks[at]
    columns = {column.feature: c for c, column in enumerate(block.columns)}
    numbers = np.full(len(items) + 1, -1, np.int32)
    unions: list[tuple[int, Sequence[int]]] = []
    for i in used:
        if items[i].feature not in columns:
            table.locate(items[i].feature, block.pattern)
        c = columns[items[i].feature]
        members = [int(block.offsets[c]) + code for code in block.columns[c].codes_of(items[i])]
        if len(members) == 1:
            numbers[i] = members[0]
        else:
            numbers[i] = block.n_items + len(unions)
            unions.append((c, members))
    return block.bank.with_unions(unions), numbers


def _count_blocks(
    table: TransactionTable, rules: RuleSet, denominator: str
) -> tuple[Counts, dict[str, npt.NDArray[Any]]]:
    counted = np.zeros((5, len(rules)), np.int64)
    supports = {name: np.full(len(rules), np.nan) for name in SUPPORTS}
    lifted = False
    for at, chosen in by_block(table, rules):
        left, right = rules.antecedents[chosen], rules.consequents[chosen]
        used = np.unique(np.concatenate([left[left >= 0], right]))
        bank, numbers = _bank_items(table, at, rules.items, used.tolist())
        is_lifted = table.blocks[at].is_lifted
        counts, found = _count_items(bank, numbers[left], numbers[right], denominator, lifted=is_lifted)
        counted[:, chosen] = np.stack(
            [counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both, counts.n_rows]
        )
        for name, column in found.items():
            lifted = True
            supports[name][chosen] = column
    return Counts(*counted), supports if lifted else {}


@dataclass(frozen=True)
class StretchSums:
    """How the counts of each rule vary between stretches of time, as sums that add up over further stretches.

    With ``n`` rows of a stretch that satisfy the antecedent and ``k`` that satisfy both, these are the number of
    stretches with ``n > 0`` and the sums of n, k, n², nk and k² over them.
    """

    stretches: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    k: npt.NDArray[np.int64]
    nn: npt.NDArray[np.int64]
    nk: npt.NDArray[np.int64]
    kk: npt.NDArray[np.int64]


def count_stretches(table: Table, rules: RuleSet, *, stretches: int, denominator: str = "present") -> StretchSums:
    """The counts of rules in equal, successive stretches of time (of fewer, where there are fewer frames).

    A block of one frame knows no time: each of its rows is a stretch.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "x", "y"], "b": ["u", "u", "v", "v"]}))
    >>> sums = count_stretches(table, recount(table, 0, np.array([[0]]), np.array([2])), stretches=2)
    >>> sums.stretches.tolist(), sums.nn.tolist(), sums.kk.tolist()
    ([2], [5], [4])
    """
    if isinstance(table, FeatureTable):
        raise MiningError("a feature table cannot be counted in stretches", hint="discretize it: table.discretize(…)")
    sums = np.zeros((6, len(rules)), np.int64)
    for at, chosen in by_block(table, rules):
        left, right = rules.antecedents[chosen], rules.consequents[chosen]
        used = np.unique(np.concatenate([left[left >= 0], right]))
        bank, numbers = _bank_items(table, at, rules.items, used.tolist())
        left, right = numbers[left], numbers[right]
        if bank.n_frames == 1:
            counts, _ = _count_items(bank, left, right, denominator, lifted=table.blocks[at].is_lifted)
            n, k = counts.n_antecedent, counts.n_both
            sums[:, chosen] = np.stack([n, n, k, n, k, k])
            continue
        sums[:, chosen] = sum_stretches(
            bank, antecedents=left, consequents=right, stretches=stretches, denominator=denominator
        )
    return StretchSums(*sums)


def data_coverage(table: Table, rules: RuleSet) -> float:
    """Share of the rows in which the antecedent of at least one rule holds; over all blocks of a lifted table.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
    >>> data_coverage(table, recount(table, 0, np.array([[0]]), np.array([2])))
    0.6666666666666666
    """
    if len(rules) == 0 or table.n_rows == 0:
        return 0.0
    if isinstance(table, FeatureTable):
        bitmaps, _, _ = _raw_bitmaps(table, rules.items)
        held = cover(bitmaps, n_rows=table.n_rows, antecedents=rules.antecedents)
        return int(popcount(held)) / table.n_rows
    covered = 0
    for at, chosen in by_block(table, rules):
        left = rules.antecedents[chosen]
        bank, numbers = _bank_items(table, at, rules.items, np.unique(left[left >= 0]).tolist())
        covered += sum(int(popcount(held)) for held in _cover_chunks(bank, numbers[left]))
    return covered / table.n_rows


@dataclass(frozen=True, eq=False)
class CoverageOn:
    """The data coverage of any rules on one table; unlike a closure it can be pickled."""

    table: Table

    def __call__(self, rules: RuleSet) -> float:
        return data_coverage(self.table, rules)


def _cover_chunks(bank: Bank, left: Indices) -> Iterable[Words]:
    """Covered rows, a run of embeddings at a time."""
    used = np.unique(left[left >= 0])
    renumber = np.full(len(bank.row_of) + 1, -1, np.int32)
    renumber[used] = np.arange(len(used))
    small = Bank(bank.words, bank.row_of[used], bank.present_of, bank.column_of_item[used], bank.n_frames)
    step = max(1, _CHUNK_BYTES // (8 * bank.words.shape[1] * max(len(used), 1)))
    for start in range(0, bank.n_embeddings, step):
        bitmaps, _, n_rows = small.flat(slice(start, start + step))
        yield cover(bitmaps, n_rows=n_rows, antecedents=renumber[left])


def rule_rows(table: TransactionTable, rule: Rule) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Where a rule applies, and where it holds: embeddings × frames.

    It applies where its antecedent holds and all its features are present, the consequent's too.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", "x"], "b": ["u", "v", "v", None]}))
    >>> applies, holds = rule_rows(table, recount(table, 0, np.array([[0]]), np.array([2]))[0])
    >>> applies.tolist(), holds.tolist()
    ([[True, True, False, False]], [[True, False, False, False]])
    """
    zero = np.zeros(1, np.int64)
    single = RuleSet.from_rules([rule], Counts(zero, zero, zero, zero))
    at, _ = by_block(table, single)[0]
    bank, numbers = _bank_items(table, at, single.items, range(len(single.items)))
    chosen = numbers[single.antecedents[0]]
    target = numbers[single.consequents[0]]
    applies = np.bitwise_and.reduce(bank.words[bank.row_of[chosen[chosen >= 0]]], axis=0)
    applies &= bank.words[bank.present_of[bank.column_of_item[target]]]
    holds = applies & bank.words[bank.row_of[target]]
    return unpack(applies, n_rows=bank.n_frames), unpack(holds, n_rows=bank.n_frames)


def merge(rules: RuleSet, later: RuleSet) -> RuleSet:
    """The same rules with the counts of two disjoint sets of rows added up.

    Both must hold the same rules in the same order, as ``count_rules_of`` gives them. Supports over frames and
    embeddings do not add up and are left out, and so is what was tested on either set of rows alone.
    """
    if len(rules) != len(later) or list(rules) != list(later):
        raise MiningError(
            "only counts of the same rules can be merged", hint="count the rules on the later table first"
        )
    facts = dict(rules.facts)
    facts.pop("data_coverage", None)
    facts["n_transactions"] = (facts.get("n_transactions") or 0) + (later.facts.get("n_transactions") or 0)
    extras = {name: column for name, column in rules.extras.items() if name not in _OF_A_TABLE}
    return replace(rules, counts=rules.counts + later.counts, extras=extras, facts=facts, coverage_of=None)
