"""Small random tables, and counting by hand, for tests of everything that counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from thence.language.items import Feature
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable


@st.composite
def plain_tables(
    draw: st.DrawFn, *, max_rows: int = 12, max_features: int = 4, missing: bool = True
) -> TransactionTable:
    """Tables of one embedding with up to three codes per feature."""
    n_rows = draw(st.integers(1, max_rows))
    columns = []
    for f in range(draw(st.integers(1, max_features))):
        size = draw(st.integers(1, 3))
        low = -1 if missing else 0
        codes = draw(st.lists(st.integers(low, size - 1), min_size=n_rows, max_size=n_rows))
        values = tuple(f"v{c}" for c in range(size))
        columns.append(Column(Feature(f"f{f}"), values, np.array([codes], np.int16)))
    return TransactionTable((Block(tuple(columns), n_rows),))


@st.composite
def factorised_tables(draw: st.DrawFn, *, missing: bool = True) -> TransactionTable:
    """Tables with several embeddings that share series, static columns and embeddings that lack a series."""
    n_frames = draw(st.integers(1, 70))
    n_embeddings = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    columns = []
    for f in range(draw(st.integers(2, 4))):
        n_series = int(rng.integers(1, 4))
        size = int(rng.integers(1, 4))
        static = rng.random() < 0.3
        codes = rng.integers(-1 if missing else 0, size, (n_series, 1 if static else n_frames)).astype(np.int16)
        series = rng.integers(-1 if missing else 0, n_series, n_embeddings).astype(np.int32)
        columns.append(Column(Feature(f"f{f}"), tuple(f"v{c}" for c in range(size)), codes, series, context=static))
    names = tuple((f"e{e}",) for e in range(n_embeddings))
    return TransactionTable((Block(tuple(columns), n_frames, n_embeddings, embeddings=names),))


def count_by_hand(codes: np.ndarray, left: list[tuple[int, int]], right: tuple[int, int]) -> tuple[int, int, int, int]:
    """n, antecedent, consequent, both over rows that have all features of the rule; items are (column, code)."""
    n = x = y = b = 0
    for row in codes:
        if any(row[c] < 0 for c, _ in [*left, right]):
            continue
        n += 1
        has_left = all(row[c] == code for c, code in left)
        has_right = row[right[0]] == right[1]
        x += has_left
        y += has_right
        b += has_left and has_right
    return n, x, y, b


def all_rules(table: TransactionTable, *, max_antecedents: int = 2) -> list[tuple[tuple[int, ...], int]]:
    """Every antecedent and consequent of a one-block table as item numbers, at most one item per column."""
    block = table.blocks[0]
    owner = block.column_of_item
    out = []
    for size in range(1, max_antecedents + 1):
        for left in combinations(range(block.n_items), size):
            columns = [owner[i] for i in left]
            if len(set(columns)) < size:
                continue
            out += [(left, right) for right in range(block.n_items) if owner[right] not in columns]
    return out


def padded(rules: list[tuple[tuple[int, ...], int]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rules as the arrays that counting takes."""
    antecedents = np.full((len(rules), width), -1, np.int32)
    for r, (left, _) in enumerate(rules):
        antecedents[r, : len(left)] = left
    return antecedents, np.array([right for _, right in rules], np.int32)


def with_times(table: TransactionTable) -> TransactionTable:
    """The table with a time for each frame, one hour apart: its rows follow each other."""
    blocks = []
    for block in table.blocks:
        times = np.datetime64("2024-01-01", "us") + np.arange(block.n_frames) * np.timedelta64(1, "h")
        blocks.append(replace(block, times=times))
    return replace(table, blocks=tuple(blocks))
