"""Random tables with ordered bins, random rules over them, and checks of refinement row by row."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from tests.helpers.tables import all_rules, padded, with_times
from thence.language.items import Feature, Interval
from thence.statements.counting.recount import recount
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


def bins(count: int) -> tuple[Interval, ...]:
    """Adjacent ranges, open at the ends."""
    bin_edges = [-math.inf, *map(float, range(1, count)), math.inf]
    return tuple(Interval(a, b) for a, b in pairwise(bin_edges))


@st.composite
def binned_tables(draw: st.DrawFn, *, max_frames: int = 40, max_embeddings: int = 3) -> TransactionTable:
    """Up to four columns of ranges, numbers or categories: changing and static, with shared series and gaps."""
    n_frames, n_embeddings = draw(st.integers(2, max_frames)), draw(st.integers(1, max_embeddings))
    gaps = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    columns = []
    for f in range(draw(st.integers(2, 4))):
        size = int(rng.integers(1, 6))
        kind = rng.choice(["ranges", "numbers", "categories"])
        values = {
            "ranges": bins(size),
            "numbers": tuple(map(float, range(size))),
            "categories": tuple(f"v{c}" for c in range(size)),
        }[str(kind)]
        n_series = int(rng.integers(1, 4)) if n_embeddings > 1 else 1
        static = n_embeddings > 1 and rng.random() < 0.25
        # Few values at a time, so that rules with high confidence occur.
        steps = rng.integers(-1 if gaps else 0, size, (n_series, 1 if static else n_frames))
        codes = np.sort(steps, axis=1) if rng.random() < 0.5 else steps
        series = rng.integers(-1 if gaps else 0, n_series, n_embeddings) if n_embeddings > 1 else np.zeros(1, int)
        columns.append(
            Column(Feature(f"f{f}"), values, codes.astype(np.int16), series.astype(np.int32), context=bool(static))
        )
    names = tuple((f"e{e}",) for e in range(n_embeddings)) if n_embeddings > 1 else ((),)
    return with_times(TransactionTable((Block(tuple(columns), n_frames, n_embeddings, embeddings=names),)))


def some_rules(table: TransactionTable, *, min_confidence: float = 0.5, max_antecedents: int = 2) -> RuleSet:
    """All rules of a table that hold somewhere and reach a confidence."""
    listed = all_rules(table, max_antecedents=max_antecedents)
    rules = recount(*padded(listed, max_antecedents), table)
    return rules.take((rules.counts.n_both > 0) & (rules.measure("confidence") >= min_confidence))


def rows_of(table: TransactionTable, rule: Rule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows in which all features of a rule are known, its antecedent holds, and its consequent holds."""
    block = table.blocks[0]
    codes = block.flat()
    features = [column.feature for column in block.columns]

    def test(item) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
        at = features.index(item.feature)
        holds = np.array([item.holds(value) for value in block.columns[at].values] + [False])
        return codes[:, at] >= 0, holds[codes[:, at]]

    known, held = np.ones(len(codes), bool), np.ones(len(codes), bool)
    for item in rule.antecedent:
        present, holds = test(item)
        known &= present
        held &= holds
    present, target = test(rule.consequent)
    return known & present, held, target


def count_rule(table: TransactionTable, rule: Rule) -> tuple[int, int, int, int]:
    """The four counts over the rows in which all features of a rule are known."""
    known, held, target = rows_of(table, rule)
    return int(known.sum()), int((known & held).sum()), int((known & target).sum()), int((held & target).sum())


def covered(table: TransactionTable, rules: RuleSet) -> np.ndarray:
    """The rows in which some antecedent holds."""
    out = np.zeros(table.n_rows, bool)
    for rule in rules:
        out |= rows_of(table, rule)[1]
    return out


def counts_are_right(table: TransactionTable, rules: RuleSet) -> bool:
    """Whether every rule has the counts computed row by row."""
    counts = rules.counts
    stored = np.stack([counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both], axis=1)
    return all(tuple(map(int, row)) == count_rule(table, rule) for row, rule in zip(stored, rules, strict=True))


def autoregressive(rng: np.random.Generator, frames: int, memory: float, series: int) -> np.ndarray:
    """Independent smooth noise, each series shifted circularly at random: frames × series."""
    steps = rng.normal(size=(frames + 300, series))
    for t in range(1, len(steps)):
        steps[t] += memory * steps[t - 1]
    return np.stack([np.roll(one, int(rng.integers(frames))) for one in steps[300:].T], axis=1)
