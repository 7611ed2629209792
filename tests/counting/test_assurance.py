"""Lower confidence bounds: counts per stretch against plain loops, and the coverage of the bound on slow series."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

import thence as th
from thence.bitmaps.bank import build_bank
from thence.counting.assurance import STRETCHES, confidence_bound, student_quantile
from thence.counting.recount import StretchSums, count_stretches, recount, rule_rows
from thence.errors import ConfigError, MiningError
from thence.graph.patterns import Pattern
from thence.rules.items import Feature
from thence.rules.ruleset import RuleSet
from thence.tables.blocks import Block, Column
from thence.tables.frames import raw_columns
from thence.tables.transactions import FeatureTable, TransactionTable


def lifted(rng: np.random.Generator, *, frames: int, embeddings: int, gaps: float) -> TransactionTable:
    """A table of three columns of five series each; embeddings read them at random, some read none."""
    columns = []
    for name in "abc":
        codes = rng.integers(0, 3, (5, frames)).astype(np.int16)
        codes[rng.random(codes.shape) < gaps] = -1
        series = rng.integers(-1 if gaps else 0, 5, embeddings).astype(np.int32)
        columns.append(Column(Feature(name), ("0", "1", "2"), codes, series))
    static = np.arange(2, dtype=np.int16)[:, None]
    columns.append(Column(Feature("k"), ("0", "1"), static, rng.integers(0, 2, embeddings).astype(np.int32)))
    pattern = None if embeddings == 1 else Pattern.parse("(p:Pipe)")
    names = tuple((str(e),) for e in range(embeddings))
    return TransactionTable((Block(tuple(columns), frames, embeddings, None, pattern, names),))


def all_rules(table: TransactionTable) -> RuleSet:
    pairs = [(a, b, c) for a in range(3) for b in (-1, *range(3, 6), 9, 10) for c in range(6, 9)]
    left = np.array([(a, b) for a, b, _ in pairs], np.int32)
    return recount(left, np.array([c for *_, c in pairs], np.int32), table)


@pytest.mark.parametrize("embeddings", [1, 7])
@pytest.mark.parametrize(("frames", "stretches"), [(1, 20), (13, 20), (64, 4), (200, 3), (1000, 20)])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("denominator", ["present", "all"])
def test_the_sums_are_those_of_every_stretch_counted_by_itself(
    embeddings: int, frames: int, stretches: int, gaps: float, denominator: str
) -> None:
    table = lifted(np.random.default_rng(frames + embeddings), frames=frames, embeddings=embeddings, gaps=gaps)
    rules = all_rules(table)
    sums = count_stretches(rules, table, stretches=stretches, denominator=denominator)
    for r in range(0, len(rules), 7):
        applies, holds = rule_rows(rules.rule(r), table)
        if denominator == "all":
            applies = _antecedent(table, rules, r)
        if frames == 1:
            n, k = applies.ravel().astype(int), holds.ravel().astype(int)
        else:
            edges = np.linspace(0, frames, min(stretches, frames) + 1).astype(int)[:-1]
            n, k = (np.add.reduceat(rows.sum(axis=0), edges) for rows in (applies, holds))
        found = [int(getattr(sums, name)[r]) for name in ("stretches", "n", "k", "nn", "nk", "kk")]
        assert found == [int((n > 0).sum()), *(int(x.sum()) for x in (n, k, n * n, n * k, k * k))]


def _antecedent(table: TransactionTable, rules: RuleSet, r: int) -> npt.NDArray[np.bool_]:
    block = table.blocks[0]
    flat = block.flat().reshape(block.n_embeddings, block.n_frames, -1)
    held = np.ones(flat.shape[:2], bool)
    for item in rules.rule(r).antecedent:
        c = next(c for c, column in enumerate(block.columns) if column.feature == item.feature)
        held &= np.isin(flat[..., c], block.columns[c].codes_of(item))
    return held


def test_more_rules_than_fit_at_once_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    table = lifted(np.random.default_rng(0), frames=300, embeddings=3, gaps=0.1)
    rules = all_rules(table)
    whole = count_stretches(rules, table, stretches=STRETCHES)
    monkeypatch.setattr("thence.bitmaps.stretch_counts._RULES_AT_ONCE", 5)
    pieces = count_stretches(rules, table, stretches=STRETCHES)
    assert all((getattr(whole, n) == getattr(pieces, n)).all() for n in ("stretches", "n", "k", "nn", "nk", "kk"))


@pytest.mark.parametrize(("start", "stop"), [(0, 200), (0, 64), (64, 128), (3, 70), (63, 65), (130, 200), (5, 5)])
def test_a_part_of_a_bank_is_the_bank_of_that_part(start: int, stop: int) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 3, (4, 200)).astype(np.int16)
    series = np.arange(4, dtype=np.int32)
    part = build_bank([(codes, series, 3)], n_frames=200, n_embeddings=4).slice_frames(start, stop)
    fresh = build_bank([(codes[:, start:stop].copy(), series, 3)], n_frames=stop - start, n_embeddings=4)
    for ours, theirs in ((part.row_of, fresh.row_of), (part.present_of, fresh.present_of)):
        assert (part.words[ours] == fresh.words[theirs]).all()
    assert part.n_frames == stop - start


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 10, 19, 50, 199])
@pytest.mark.parametrize("probability", [0.5, 0.6, 0.9, 0.95, 0.999])
def test_quantiles_are_those_of_students_t(freedom: int, probability: float) -> None:
    expected = stats.t.ppf(probability, freedom)
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def sums_of(n: npt.NDArray[np.int64], k: npt.NDArray[np.int64]) -> StretchSums:
    return StretchSums(*(np.array([x]) for x in ((n > 0).sum(), n.sum(), k.sum(), (n * n).sum(), n @ k, k @ k)))


def bound(n: list[int], k: list[int], assurance: float = 0.95) -> float:
    return float(confidence_bound(sums_of(np.array(n), np.array(k)), assurance)[0])


def test_the_bound_is_wilsons_where_stretches_agree_as_independent_rows_would() -> None:
    low = stats.binomtest(1800, 2000, alternative="greater").proportion_ci(0.95, method="wilson").low
    rng = np.random.default_rng(0)
    found = [bound([100] * 20, rng.binomial(100, 0.9, 20).tolist()) for _ in range(400)]
    assert np.mean(found) == pytest.approx(low, abs=0.004)


def test_what_varies_between_stretches_is_less_sure() -> None:
    steady = bound([50] * 20, [45] * 20)
    slow = bound([50] * 20, [50] * 18 + [0, 0])
    assert slow < steady - 0.05
    assert bound([50] * 20, [45] * 20, 0.999) < steady < bound([50] * 20, [45] * 20, 0.5) <= 0.9


def test_what_was_seen_once_is_not_sure_at_all() -> None:
    assert bound([500, 0, 0, 0], [500, 0, 0, 0]) == 0.0
    assert bound([0, 0], [0, 0]) == 0.0
    twice, often = bound([250, 250, 0], [250, 250, 0]), bound([50] * 10, [50] * 10)
    assert 0.8 < twice < often < 1.0


def test_the_bound_keeps_its_promise_on_slow_series_where_independent_rows_do_not() -> None:
    """The true confidence should lie below the bound in one of twenty samples, and does so in at most one of four."""
    rng = np.random.default_rng(2)
    worlds, frames, length = 400, 2000, 20
    true, kept, naive = 0.85, 0, 0
    for _ in range(worlds):
        applies = np.repeat(rng.random(frames // length) < 0.5, length)
        holds = applies & np.repeat(rng.random(frames // length) < true, length)
        edges = np.arange(0, frames, frames // STRETCHES)
        n, k = (np.add.reduceat(rows.astype(np.int64), edges) for rows in (applies, holds))
        kept += confidence_bound(sums_of(n, k), 0.95)[0] <= true
        ci = stats.binomtest(int(k.sum()), int(n.sum()), alternative="greater").proportion_ci(0.95, method="wilson")
        naive += ci.low <= true
    assert kept / worlds > 0.91
    assert naive / worlds < 0.75


def test_rules_carry_the_bound_and_it_can_be_asked_for() -> None:
    rng = np.random.default_rng(3)
    a = np.repeat(rng.integers(0, 3, 150), 10)
    frame = {"a": a, "b": np.where(rng.random(1500) < 0.1, rng.integers(0, 3, 1500), a)}
    table = TransactionTable.from_frame(pl.DataFrame({n: v.astype(str) for n, v in frame.items()}))
    rules = th.Exact(min_confidence=0.01, min_support=0.001).mine(table)
    sure = th.assured(rules, table)
    assert list(sure) == list(rules)
    low, confidence = sure.measure("assured_confidence"), sure.measure("confidence")
    assert ((low >= 0) & (low < confidence)).all()
    some = th.assured(rules, table, min_confidence=0.8)
    assert list(some) == list(sure.filter(min_assured_confidence=0.8))
    assert 0 < len(some) < len(rules)
    assert len(th.assured(RuleSet.empty("none"), table, min_confidence=0.8)) == 0
    # The bound is dropped when the rules are counted on other rows, where it would be wrong.
    assert "assured_confidence" not in th.count_rules_of(sure, table.frames(slice(0, 700))).extras


def test_rows_without_time_are_taken_as_independent() -> None:
    table = lifted(np.random.default_rng(5), frames=1, embeddings=400, gaps=0.0)
    rules = th.assured(all_rules(table), table)
    counts = rules.counts
    expected = [
        stats.binomtest(int(k), int(n), alternative="greater").proportion_ci(0.95, method="wilson").low if k else 0.0
        for n, k in zip(counts.n_antecedent.tolist(), counts.n_both.tolist(), strict=True)
    ]
    assert rules.measure("assured_confidence") == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("settings", [{"assurance": 0.3}, {"assurance": 1}, {"assurance": math.nan}, {"stretches": 1}])
def test_senseless_settings_are_refused(settings: dict[str, float]) -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
    with pytest.raises(ConfigError):
        th.assured(th.Exact().mine(table), table, **settings)  # type: ignore[arg-type]


def test_rules_with_intervals_of_their_own_are_refused_with_a_hint() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
    numbers = FeatureTable(*raw_columns(pl.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), units={}))
    with pytest.raises(MiningError, match="discretize"):
        th.assured(th.Exact().mine(table), numbers)


def test_refinement_keeps_what_is_sure_and_asks_again_after_joining() -> None:
    rng = np.random.default_rng(4)
    a = np.repeat(rng.integers(0, 6, 250), 8).astype(float)
    b = np.where(rng.random(2000) < 0.15, rng.integers(0, 2, 2000), a > 2)
    table = TransactionTable.from_frame(pl.DataFrame({"a": a, "b": b.astype(int).astype(str)}), bins=6)
    rules = th.Exact(min_confidence=0.8, min_support=0.01).mine(table)
    refined = th.refine(rules, table, assurance=0.95, min_confidence=0.8)
    steps = [step["step"] for step in refined.facts["refine"]["steps"]]
    assert steps.index("assurance") < steps.index("merge") < steps.index("assurance again")
    assert len(refined) > 0
    assert refined.measure("assured_confidence").min() >= 0.8
    assert len(th.refine(rules, table, assurance=0.9999, min_confidence=0.9)) < len(refined)
