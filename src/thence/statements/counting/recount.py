"""Exact counts of rules on tables.

The counts of a rule come from here, whichever miner proposed it, so all miners are comparable and no number is an
estimate. A missing value satisfies no item. By default (``denominator="present"``) a rule is counted over the rows in
which all its features are present; with ``"all"`` it is counted over all rows. Counts over disjoint rows add up.

This module counts; it must not compute measures, test rules or select them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.cluster.executors import Executor
from thence.errors import MiningError
from thence.statements.counting.encoding import encode_blocks, find_countable
from thence.statements.rules.extra_columns import EXTRA_COLUMNS, columns_from
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.bitmaps.bank import Bank
from thence.tables.bitmaps.bits import Indices, Words, popcount, split_range, unpack
from thence.tables.bitmaps.counts import RuleCounts, count_bitmaps, cover_rows
from thence.tables.bitmaps.embedding_counts import EmbeddingCounts, count_embeddings
from thence.tables.bitmaps.span_counts import SpanCounts, count_in_spans
from thence.tables.transactions import FeatureTable, TransactionTable

Table = TransactionTable | FeatureTable

# Maximum size of the bitmaps over frames × embeddings that are written out at once.
_CHUNK_BYTES = 1 << 28


def recount(
    antecedents: npt.NDArray[Any],
    consequents: npt.NDArray[Any],
    table: TransactionTable,
    *,
    block: int = 0,
    extras: Mapping[str, npt.NDArray[Any]] | None = None,
    denominator: str = "present",
    notes: Sequence[str] = (),
    counts: Counts | None = None,
    executor: Executor | None = None,
) -> RuleSet:
    """Count rules that are given as item numbers of one block.

    Args:
        antecedents: Matrix (rules × items) of item numbers of the block, padded with −1.
        consequents: One item number per rule.
        table: The table to count on.
        block: Position of the block in ``table.blocks``.
        extras: Further columns of the rule set, one entry per rule.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.
        notes: Notes of the rule set.
        counts: The counts, if the caller has already made them with the same kernels (as the exact miner does).
        executor: Where to count; by default in threads of this process.

    Returns:
        A rule set with exact counts, in the order given.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
        >>> rules = recount(np.array([[0]]), np.array([2]), table)
        >>> str(rules[0]), rules.measure("confidence").tolist()
        ("(a).value = 'x' → (b).value = 'u'", [1.0])
    """
    part = table.blocks[block]
    left = np.asarray(antecedents, np.int32)
    if left.ndim != 2:
        raise ValueError("antecedents must be a matrix (rules × items)")
    right = np.asarray(consequents, np.int32)
    columns = dict(extras or {})
    if counts is None:
        counts, supports = _count_items(part.bank, left, right, denominator, lifted=part.is_lifted, executor=executor)
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
    facts: dict[str, Any] = {
        "n_transactions": table.n_rows,
        "n_features": table.n_features,
        "n_items": table.n_items,
    }
    return facts | ({"sites": list(table.sites)} if table.sites else {})


def _count_items(
    bank: Bank,
    left: Indices,
    right: Indices,
    denominator: str,
    *,
    lifted: bool,
    executor: Executor | None = None,
) -> tuple[Counts, dict[str, npt.NDArray[Any]]]:
    if not lifted:
        bitmaps, present, n_rows = bank.flat()
        known = {"present": present, "feature_of_item": bank.column_of_item, "denominator": denominator}
        if executor is None or executor.is_local:
            counted = count_bitmaps(bitmaps, n_rows=n_rows, antecedents=left, consequents=right, **known)  # type: ignore[arg-type]
        else:
            counted = _count_on(executor, {"bitmaps": bitmaps, "n_rows": n_rows, **known}, left, right)
        return Counts(*counted, n_rows=np.asarray(n_rows)), {}
    # Time is counted per site: the same frame number is another time at another site.
    sites = [site for site in bank.sites() if site.n_embeddings]
    parts = [
        count_embeddings(site, antecedents=left, consequents=right, denominator=denominator, executor=executor)
        for site in sites
    ]
    found = _add_sites(parts, len(right))
    frames = sum(site.n_frames for site in sites)
    return Counts.from_matrix(found.counts, n_rows=bank.n_rows), _supports(found, frames, bank.n_embeddings)


def _count_on(executor: Executor, shared: Mapping[str, Any], left: Indices, right: Indices) -> RuleCounts:
    """Count rules on an executor, some of them in each task; the bitmaps are sent once."""
    tasks = [(left[low:high], right[low:high]) for low, high in split_range(len(right), 16 * executor.workers)]
    with closing(executor.map(_count_some, tasks, shared=shared)) as counted:
        parts = list(counted)
    none = np.zeros(0, np.int64)
    n, held, followed, both = (np.concatenate([none, *(part[at] for part in parts)]) for at in range(4))
    return n, held, followed, both


def _count_some(shared: Mapping[str, Any], task: tuple[Indices, Indices]) -> RuleCounts:
    return count_bitmaps(**shared, antecedents=task[0], consequents=task[1], threads=1)


def _add_sites(parts: Sequence[EmbeddingCounts], n_rules: int) -> EmbeddingCounts:
    """Return the counts over several sites, none of which shares a row with another."""
    if len(parts) == 1:
        return parts[0]
    zero = np.zeros(n_rules, np.int64)
    applied = [np.where(part.applicable > 0, part.confidence_low, 1.0) for part in parts]

    def total(name: str) -> npt.NDArray[Any]:
        return np.asarray(sum((getattr(part, name) for part in parts), start=zero))

    return EmbeddingCounts(
        counts=np.asarray(sum((part.counts for part in parts), start=np.zeros((n_rules, 4), np.int64))),
        frames=total("frames"),
        embeddings=total("embeddings"),
        applicable=total("applicable"),
        confidence_low=np.minimum.reduce(applied) if applied else np.ones(n_rules),
        confidence_sum=total("confidence_sum"),
        confidence_squares=total("confidence_squares"),
    )


def _supports(found: EmbeddingCounts, n_frames: int, n_embeddings: int) -> dict[str, npt.NDArray[Any]]:
    """Return the supports over time and embeddings, and the lowest and the spread of the confidence by embedding.

    A rule that never applied has no confidence at any embedding: these are NaN.
    """
    applies = np.maximum(found.applicable, 1)
    mean = found.confidence_sum / applies
    variance = found.confidence_squares / applies - mean**2
    variance[variance < 1e-14] = 0.0  # rounding errors
    applied = found.applicable > 0
    return {
        "support_time": found.frames / max(n_frames, 1),
        "support_embeddings": found.embeddings / max(n_embeddings, 1),
        "places": found.applicable,
        "confidence_low": np.where(applied, found.confidence_low, np.nan),
        "confidence_spread": np.where(applied, np.sqrt(variance), np.nan),
    }


def count_rules(rules: RuleSet | Iterable[Rule], table: Table, *, denominator: str = "present") -> RuleSet:
    """Count rules on a table, whatever table they were mined on.

    An item may join several bins of the table. On a feature table every comparison can be counted. Rules about a
    pattern or a feature that the table does not have are left out; notes and ``facts["left_out"]`` list them. A rule
    that never applied has a count of 0 rows and no confidence (NaN).

    Args:
        rules: The rules.
        table: The table to count on.
        denominator: ``"present"`` counts a rule over the rows in which all its features are present, ``"all"`` over
            all rows.

    Returns:
        The same rules in the same order, with the counts of this table. Columns that were computed on another table,
        such as p-values, are left out.

    Raises:
        MiningError: If the table has the pattern and features of no rule, or an item contains only a part of a bin.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
        >>> rules = recount(np.array([[0]]), np.array([2]), table)
        >>> count_rules(list(rules), table).counts.n_both.tolist()
        [2]
    """
    if not isinstance(rules, RuleSet):
        listed = list(rules)
        zero = np.zeros(len(listed), np.int64)
        rules = RuleSet.from_rules(listed, Counts(zero, zero, zero, zero))
    countable, missing = find_countable(rules, table)
    if missing and not countable.any():
        raise MiningError(
            f"none of the rules can be counted: {missing[0].reason}",
            hint=missing[0].hint,
        )
    if missing:
        rules = rules.take(np.flatnonzero(countable))
    counts, supports = _count_blocks(rules, table, denominator)
    others = {name: column for name, column in rules.extras.items() if not _is_of_table(name, rules)}
    facts = _facts(table)
    if missing:
        facts["left_out"] = [{"reason": one.reason, "rules": one.rules} for one in missing]
    return replace(
        rules,
        counts=counts,
        extras=others | supports,
        facts=facts,
        notes=(*rules.notes, *map(str, missing)),
        coverage_of=CoverageOn(table),
    )


def _is_of_table(name: str, rules: RuleSet) -> bool:
    """Whether an extra column belongs to the table on which it was computed."""
    if name in EXTRA_COLUMNS:
        return EXTRA_COLUMNS[name].of_table
    return any(name.endswith(f"_{site}") for site in rules.facts.get("sites", ()))


SUPPORTS = columns_from("lifted")


def _count_blocks(rules: RuleSet, table: Table, denominator: str) -> tuple[Counts, dict[str, npt.NDArray[Any]]]:
    counted = np.zeros((5, len(rules)), np.int64)
    supports = {name: np.full(len(rules), np.nan) for name in SUPPORTS}
    lifted = False
    for part in encode_blocks(rules, table):
        counts, found = _count_items(part.bank, part.antecedents, part.consequents, denominator, lifted=part.is_lifted)
        counted[:, part.rules] = np.stack(
            [counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both, counts.n_rows]
        )
        for name, column in found.items():
            lifted = True
            supports[name][part.rules] = column
    return Counts(*counted), supports if lifted else {}


@dataclass(frozen=True)
class Spans:
    """How the counts of rules vary between spans of time; one entry per rule.

    Args:
        counts: The counts. Groups are occupied spans that are further apart than the memory of the consequent.
        memory: For how many frames the consequent may resemble itself: its integrated autocorrelation time, raised
            where it rests on few changes; infinite if there were none.
        frames: Number of frames of the block that the rule belongs to; 1 if its rows have no order in time.
        spans: Number of spans that these frames were cut into.
    """

    counts: SpanCounts
    memory: npt.NDArray[np.float64]
    frames: npt.NDArray[np.int64]
    spans: npt.NDArray[np.int64]


def count_spans(rules: RuleSet, table: Table, *, spans: int, denominator: str = "present") -> Spans:
    """Count rules in equal, successive spans of time.

    Args:
        rules: The rules.
        table: The table to count on. In a block with a single frame, or without times, each row is a span.
        spans: Number of spans; fewer if there are fewer frames.
        denominator: As in ``count_rules``.

    Raises:
        MiningError: If the table is a feature table, or lacks a feature or pattern of the rules.

    Examples:
        >>> import polars as pl
        >>> hours = np.datetime64("2024-01-01T00", "us") + np.arange(4) * np.timedelta64(1, "h")
        >>> frame = pl.DataFrame({"time": hours, "a": ["x", "x", "x", "y"], "b": ["u", "u", "v", "v"]})
        >>> table = TransactionTable.from_frame(frame, time="time")
        >>> counted = count_spans(recount(np.array([[0]]), np.array([2]), table), table, spans=2)
        >>> counted.counts.n.tolist(), counted.counts.k.tolist(), counted.counts.occupied.tolist()
        ([3], [2], [2])
    """
    if isinstance(table, FeatureTable):
        raise MiningError("a feature table cannot be counted in spans", hint="call table.discretize(…) first")
    number = len(rules)
    every = _count_apart(np.zeros(number, np.int64), np.zeros(number, np.int64))
    whole = Spans(every, np.ones(number), np.ones(number, np.int64), np.ones(number, np.int64))
    for part in encode_blocks(rules, table):
        chosen, bank, left, right = part.rules, part.bank, part.antecedents, part.consequents
        if bank.n_frames == 1 or not (part.block and part.block.is_ordered):
            counts, _ = _count_items(bank, left, right, denominator, lifted=part.is_lifted)
            found = _count_apart(counts.n_antecedent, counts.n_both)
            whole.spans[chosen] = bank.n_rows
        elif bank.n_rows:
            settings: dict[str, Any] = {"spans": min(spans, bank.n_frames), "denominator": denominator}
            memory = _find_memory(bank, right, settings)
            gaps = np.minimum(np.ceil(memory * settings["spans"] / bank.n_frames), bank.n_frames).astype(np.int64)
            found = count_in_spans(bank, antecedents=left, consequents=right, gaps=gaps, **settings)
            whole.memory[chosen] = memory
            whole.frames[chosen], whole.spans[chosen] = bank.n_frames, settings["spans"]
        else:
            continue
        for field in fields(SpanCounts):
            getattr(every, field.name)[chosen] = getattr(found, field.name)
    return whole


def _find_memory(bank: Bank, consequents: Indices, settings: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Estimate for how many frames each consequent resembles itself, from its variance between spans and its runs.

    A consequent that differs between places but never in time has no memory of its own.
    """
    items, place = np.unique(consequents, return_inverse=True)
    number = len(items)
    nothing_then_itself = np.concatenate([np.full(number, -1, np.int32), items.astype(np.int32)])[:, None]
    counted = count_in_spans(bank, antecedents=nothing_then_itself, consequents=np.tile(items, 2), **settings)
    always, itself = (counted.take(part) for part in (slice(number), slice(number, None)))
    independent = always.k * (always.n - always.k) / np.maximum(always.n, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_variance = always.variance / independent * bank.n_frames / always.n
        by_runs = 2 * independent / itself.episodes - 1  # of a Markov chain that changes as often
    doubt = 1 + 4 / np.sqrt(np.maximum(itself.episodes, 1))  # few runs may by chance all be short
    memory = np.maximum(np.fmax(by_variance, by_runs), 1.0) * doubt
    memory[itself.held == itself.episodes * bank.n_frames] = 1.0
    memory[always.k == always.n] = np.inf
    return np.asarray(memory[place])


def _count_apart(n: npt.NDArray[np.int64], k: npt.NDArray[np.int64]) -> SpanCounts:
    """Return the counts of rows without an order in time: each is a span and an episode of its own."""
    occupied, groups, held, episodes = (n.copy() for _ in range(4))
    apart = k * (n - k) / np.maximum(n, 1)
    return SpanCounts(n, k, occupied, groups, np.zeros_like(n), held, episodes, apart, np.zeros(len(n)))


def data_coverage(rules: RuleSet, table: Table) -> float:
    """Return the share of rows, over all blocks of the table, in which the antecedent of at least one rule holds.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
        >>> data_coverage(recount(np.array([[0]]), np.array([2]), table), table)
        0.6666666666666666
    """
    if len(rules) == 0 or table.n_rows == 0:
        return 0.0
    covered = 0
    for part in encode_blocks(rules, table, antecedents_only=True):
        covered += sum(int(popcount(held)) for held in _cover_chunks(part.bank, part.antecedents))
    return covered / table.n_rows


@dataclass(frozen=True, eq=False)
class CoverageOn:
    """The data coverage of any rules on one table, as a callable that can be pickled."""

    table: Table

    def __call__(self, rules: RuleSet) -> float:
        return data_coverage(rules, self.table)


def counted_on(rules: RuleSet) -> Table | None:
    """Return the table that rules were counted on, if there is one: rules that were read from a file have none.

    Args:
        rules: The rules.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
        >>> counted_on(recount(np.array([[0]]), np.array([2]), table)) is table
        True
    """
    return rules.coverage_of.table if isinstance(rules.coverage_of, CoverageOn) else None


def _cover_chunks(bank: Bank, left: Indices) -> Iterable[Words]:
    """Yield the covered rows, a run of embeddings at a time."""
    used = np.unique(left[left >= 0])
    renumber = np.full(len(bank.row_of) + 1, -1, np.int32)
    renumber[used] = np.arange(len(used))
    small = replace(bank, row_of=bank.row_of[used], column_of_item=bank.column_of_item[used])
    step = max(1, _CHUNK_BYTES // (8 * bank.words.shape[1] * max(len(used), 1)))
    for start in range(0, bank.n_embeddings, step):
        bitmaps, _, n_rows = small.flat(slice(start, start + step))
        yield cover_rows(bitmaps, n_rows=n_rows, antecedents=renumber[left])


def rule_rows(rule: Rule, table: TransactionTable) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Find the rows in which a rule applies, and those in which it holds.

    Args:
        rule: The rule.
        table: The table.

    Returns:
        Two matrices (embeddings × frames). A rule applies where its antecedent holds and the feature of its
        consequent is present; it holds where the consequent holds too.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", "x"], "b": ["u", "v", "v", None]}))
        >>> applies, holds = rule_rows(recount(np.array([[0]]), np.array([2]), table)[0], table)
        >>> applies.tolist(), holds.tolist()
        ([[True, True, False, False]], [[True, False, False, False]])
    """
    zero = np.zeros(1, np.int64)
    single = RuleSet.from_rules([rule], Counts(zero, zero, zero, zero))
    (part,) = encode_blocks(single, table)
    bank, chosen, target = part.bank, part.antecedents[0], part.consequents[0]
    applies = np.bitwise_and.reduce(bank.words[bank.row_of[chosen[chosen >= 0]]], axis=0)
    applies &= bank.words[bank.present_of[bank.column_of_item[target]]]
    holds = applies & bank.words[bank.row_of[target]]
    return unpack(applies, n_rows=bank.n_frames), unpack(holds, n_rows=bank.n_frames)
