"""Coverage: exact shares of rows by span of time and by node, against a count row by row."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.show.reports.worlds import world
from thence.runs.run import Run
from thence.show.reports import coverage as coverage_module
from thence.show.reports.coverage import measure_coverage
from thence.statements.counting.encoding import group_by_block
from thence.statements.counting.recount import data_coverage
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable


def mined(seed: int, enrich: str) -> Run:
    settings = {"min_support": 0.05, "min_confidence": 0.6, "windows": "1h", "bins": 2}
    return th.mine(world(seed), enrich=enrich, refine=None, progress="off", **settings)


def antecedent_rows(rules: RuleSet, number: int, table: TransactionTable) -> tuple[int, np.ndarray]:
    """The rows (embeddings × frames) in which the antecedent of a rule holds, whatever its consequent is."""
    at, _ = group_by_block(rules.take(np.array([number])), table)[0]
    block = table.blocks[at]
    held = np.ones((block.n_embeddings, block.n_frames), bool)
    for item in (rules.items[i] for i in rules.antecedents[number] if i >= 0):
        column = next(one for one in block.columns if one.feature == item.feature)
        codes = np.broadcast_to(column.codes, (column.codes.shape[0], block.n_frames))[column.series]
        codes = np.where(column.series[:, None] < 0, -1, codes)
        held &= np.isin(codes, column.codes_of(item))
    return at, held


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 30), st.sampled_from(["lifted", "none", "grounded"]))
def test_shares_are_those_of_a_count_row_by_row(seed: int, enrich: str) -> None:
    run = mined(seed, enrich)
    table = run.table
    assert isinstance(table, TransactionTable)
    assert run.system is not None
    assert run.system.graph is not None
    names = list(run.system.graph.nodes)
    coverage, note = measure_coverage(run.rules, table, nodes={name: at for at, name in enumerate(names)})
    if not len(run.rules):
        assert coverage is None
        return
    assert coverage is not None
    assert note == ""
    covered = {at: np.zeros((block.n_embeddings, block.n_frames), bool) for at, block in enumerate(table.blocks)}
    at_node: dict[str, np.ndarray] = {}
    rules_at: dict[str, set[int]] = defaultdict(set)
    for number in range(len(run.rules)):
        at, held = antecedent_rows(run.rules, number, table)
        covered[at] |= held
        block = table.blocks[at]
        for embedding in range(block.n_embeddings):
            if block.pattern is not None:
                nodes = set(block.embeddings[embedding][: len(block.pattern.nodes)])
            else:
                rule = run.rules.rule(number)
                nodes = {item.feature.place for item in (*rule.antecedent, rule.consequent)} - {""}
            for node in nodes if held[embedding].any() else ():
                rules_at[node].add(number)
                at_node[node] = at_node.get(node, np.zeros(block.n_frames, bool)) | held[embedding]
    times = table.blocks[0].times
    assert times is not None
    edges = np.array(coverage["edges"], "datetime64[ms]")
    bounds = np.searchsorted(times, edges)
    for at, share in enumerate(coverage["share"]):
        frames = slice(bounds[at], bounds[at + 1])
        rows = sum(block.n_embeddings for block in table.blocks) * (bounds[at + 1] - bounds[at])
        held_rows = sum(int(one[:, frames].sum()) for one in covered.values())
        assert share == (None if not rows else pytest.approx(held_rows / rows, abs=1e-4))
    assert bounds[0] == 0
    assert bounds[-1] == len(times)
    for one in coverage["nodes"]:
        assert one["share"] == pytest.approx(at_node[names[one["node"]]].mean(), abs=1e-4)
    assert {names[one["node"]] for one in coverage["nodes"]} == set(at_node)
    assert {one["name"]: one["count"] for one in coverage["places"]} == {n: len(r) for n, r in rules_at.items()}


def test_the_shares_add_up_to_the_coverage_of_the_data() -> None:
    run = mined(3, "lifted")
    table = run.table
    assert isinstance(table, TransactionTable)
    coverage, _ = measure_coverage(run.rules, table, nodes={})
    assert coverage is not None
    times = table.blocks[0].times
    assert times is not None
    frames = np.diff(np.searchsorted(times, np.array(coverage["edges"], "datetime64[ms]")))
    total = sum((share or 0) * count for share, count in zip(coverage["share"], frames, strict=True)) / frames.sum()
    assert total == pytest.approx(data_coverage(run.rules, table), abs=1e-3)


def test_rules_that_are_too_many_are_counted_in_part_and_said() -> None:
    run = mined(1, "none")
    assert run.table is not None
    coverage, note = measure_coverage(run.rules, run.table, nodes={}, budget=20)
    assert coverage is not None
    assert note.startswith("Coverage is that of ")
    assert note.endswith(f"of {len(run.rules):,} rules.")


def test_places_with_equally_many_rules_are_listed_together_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off")
    assert run.table is not None
    every = _places(run)
    counts = [count for _, count in every]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1]
    for most in range(1, len(every) + 1):
        monkeypatch.setattr(coverage_module, "MOST_PLACES", most)
        listed = _places(run)
        cut = len(listed) < len(every) and every[len(listed)][1] == listed[-1][1]
        assert listed == every[: len(listed)] and len(listed) <= most
        assert not cut or listed[0][1] == listed[-1][1], "only a first group that is too large is cut apart"


def _places(run: Run) -> list[tuple[str, int]]:
    coverage, _ = measure_coverage(run.rules, run.table, nodes={})
    assert coverage is not None
    return [(place["name"], place["count"]) for place in coverage["places"]]


def test_a_plain_table_has_no_coverage_over_time() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    run = th.mine(frame, progress="off")
    assert run.table is not None
    assert measure_coverage(run.rules, run.table, nodes={}) == (None, "")


def test_rules_with_intervals_of_their_own_are_counted_on_the_numbers() -> None:
    run = th.mine(world(2).sensors, miner="ts-narm", windows="1h", progress="off", seed=1)
    coverage, note = measure_coverage(run.rules, run.table, nodes={})  # type: ignore[arg-type]
    if len(run.rules):
        assert coverage is not None
        assert any(coverage["share"])
    assert note == ""
