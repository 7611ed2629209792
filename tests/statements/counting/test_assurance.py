"""Lower confidence bounds: counts per span against plain loops, and how often bounds are too high on slow series."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

import thence as th
from tests.helpers.tables import with_times
from thence.errors import ConfigError, MiningError
from thence.language.items import Feature
from thence.language.patterns import Pattern
from thence.statements.counting.assurance import SPANS, confidence_bound, effective_rows, student_quantile
from thence.statements.counting.recount import count_spans, recount, rule_rows
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bank import build_bank
from thence.tables.bitmaps.span_counts import SpanCounts
from thence.tables.blocks import Block, Column
from thence.tables.frames import raw_columns
from thence.tables.transactions import FeatureTable, TransactionTable

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


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
    return with_times(TransactionTable((Block(tuple(columns), frames, embeddings, None, pattern, names),)))


def all_rules(table: TransactionTable) -> RuleSet:
    pairs = [(a, b, c) for a in range(3) for b in (-1, *range(3, 6), 9, 10) for c in range(6, 9)]
    left = np.array([(a, b) for a, b, _ in pairs], np.int32)
    return recount(left, np.array([c for *_, c in pairs], np.int32), table)


@pytest.mark.parametrize("embeddings", [1, 7])
@pytest.mark.parametrize(("frames", "spans"), [(1, 20), (13, 20), (64, 4), (200, 3), (1000, 20)])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("denominator", ["present", "all"])
def test_the_counts_are_those_of_every_span_counted_by_itself(
    embeddings: int, frames: int, spans: int, gaps: float, denominator: str
) -> None:
    table = lifted(np.random.default_rng(frames + embeddings), frames=frames, embeddings=embeddings, gaps=gaps)
    rules = all_rules(table)
    counted = count_spans(rules, table, spans=spans, denominator=denominator)
    for r in range(0, len(rules), 7):
        applies, holds = rule_rows(rules.rule(r), table)
        held = _antecedent(table, rules, r)
        if denominator == "all":
            applies = held
        found = {field.name: getattr(counted.counts, field.name)[r] for field in fields(SpanCounts)}
        assert (found["n"], found["k"]) == (applies.sum(), holds.sum())
        if frames == 1:
            assert found["occupied"] == found["episodes"] == applies.sum()
            continue
        edges = np.linspace(0, frames, min(spans, frames) + 1).astype(int)[:-1]
        n, k = (np.add.reduceat(rows.sum(axis=0), edges) for rows in (applies, holds))
        variance, lags = plain_variance(n, k)
        assert found["occupied"] == (n > 0).sum()
        assert found["lags"] == lags
        assert found["variance"] == pytest.approx(variance, abs=1e-9)
        assert found["held"] == held.sum()
        assert found["episodes"] == held[:, 0].sum() + (held[:, 1:] & ~held[:, :-1]).sum()
        assert found["groups"] == plain_groups(n, counted.memory[r] * len(edges) / frames)


def plain_variance(n: npt.NDArray[np.int64], k: npt.NDArray[np.int64]) -> tuple[float, int]:
    """The variance of the failures from the autocovariances of spans, and the largest lag that was used."""
    if k.sum() in (0, n.sum()):
        return 0.0, 0
    residuals = k - k.sum() / n.sum() * n
    covariances = [float(residuals[lag:] @ residuals[: len(n) - lag]) for lag in range(len(n))] + [0.0]
    total, last = -covariances[0], 0
    for lag in range(0, min(len(n) // 2, len(n) - 2) + 1, 2):
        pair = covariances[lag] + covariances[lag + 1]
        if pair <= 0:
            break
        total, last = total + 2 * pair, lag + 1
    return max(total, 0.0), last


def plain_groups(n: npt.NDArray[np.int64], gap: float) -> int:
    groups, last = 0, -math.inf
    for place in np.flatnonzero(n).tolist():
        if place - last >= math.ceil(min(gap, 10**6)):
            groups, last = groups + 1, place
    return groups


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
    whole = count_spans(rules, table, spans=SPANS).counts
    monkeypatch.setattr("thence.tables.bitmaps.span_counts._RULES_AT_ONCE", 5)
    monkeypatch.setattr("thence.tables.bitmaps.span_counts.BLOCK_WORDS", 7)
    pieces = count_spans(rules, table, spans=SPANS).counts
    for field in fields(SpanCounts):
        assert (getattr(whole, field.name) == getattr(pieces, field.name)).all()


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


def world(applies: npt.NDArray[np.bool_], holds: npt.NDArray[np.bool_]) -> tuple[RuleSet, TransactionTable]:
    """A table with an antecedent and a consequent per row of the matrices (rules × frames), and the rules."""
    codes = np.stack([applies, holds], axis=1).reshape(-1, applies.shape[1]).astype(np.int16)
    series = np.zeros(1, np.int32)
    columns = tuple(Column(Feature(f"s{at}"), ("off", "on"), row[None, :], series) for at, row in enumerate(codes))
    table = with_times(TransactionTable((Block(columns, applies.shape[1], 1),)))
    first = 4 * np.arange(len(applies), dtype=np.int32)
    return recount((first + 1)[:, None], first + 3, table), table


def bounds(applies: npt.NDArray[np.bool_], holds: npt.NDArray[np.bool_], assurance: float = 0.95) -> FloatArray:
    return th.evaluate.add_confidence_bound(*world(applies, holds), assurance=assurance).measure("assured_confidence")


def markov(rng: np.random.Generator, *, trials: int, frames: int, share: float, memory: float) -> BoolArray:
    """Stationary two-state Markov chains: 1 with probability ``share``, autocorrelation exp(−lag / memory)."""
    renewed = rng.random((trials, frames)) >= (math.exp(-1 / memory) if memory else 0.0)
    renewed[:, 0] = True
    last = np.maximum.accumulate(np.where(renewed, np.arange(frames), 0), axis=1)
    return np.take_along_axis(rng.random((trials, frames)) < share, last, axis=1)


def test_the_bound_is_close_to_wilsons_where_rows_are_independent() -> None:
    rng = np.random.default_rng(0)
    always = np.ones((300, 2000), bool)
    found = bounds(always, rng.random((300, 2000)) < 0.9)
    low = stats.binomtest(1800, 2000, alternative="greater").proportion_ci(0.95, method="wilson").low
    # The median: of 20 such series one looks by chance as if its memory had no end, and its bound is wide.
    middle = float(np.median(found))
    assert middle == pytest.approx(low, abs=0.004)
    assert low - 0.9 == pytest.approx(middle - 0.9, rel=0.3)


@pytest.mark.parametrize(
    ("memory", "confidence", "share", "episode"),
    [
        (20, 0.9, 1.0, 0),
        (50, 0.95, 1.0, 0),
        (50, 0.8, 0.3, 50),
        (20, 0.95, 0.3, 80),
        (50, 0.95, 0.3, 3),
        (10, 0.9, 0.05, 10),
        (0, 0.99, 0.3, 1),
    ],
)
def test_the_bound_keeps_its_promise_on_slow_series(memory: int, confidence: float, share: float, episode: int) -> None:
    """Regression: time was always cut into 20 spans, taken as independent.

    On series whose memory is as long as a span, the bound was above the true confidence in up to 81 % of the cases
    instead of 5 %; the test had blocks of 20 frames that matched the spans.
    """
    rng = np.random.default_rng(memory)
    size = {"trials": 400, "frames": 1000}
    holds = markov(rng, share=confidence, memory=memory, **size)
    # The mean episode of such a chain is 1 / ((1 − share) (1 − exp(−1 / memory))) frames.
    turn = -1 / math.log(1 - min(1 / (episode * (1 - share)), 0.999)) if share < 1 else 0.0
    applies = markov(rng, share=share, memory=turn, **size)
    found = bounds(applies, holds)
    given = np.isfinite(found)
    missed = (found > confidence).sum()
    assert missed <= 0.07 * given.sum()
    assert given.any()


def fractional(rng: np.random.Generator, *, trials: int, frames: int, order: float) -> FloatArray:
    """Fractional noise: resembles itself at every distance, as distance^(2 order − 1)."""
    past = 4 * frames
    lags = np.arange(1, past)
    weights = np.cumprod(np.append(1.0, (lags - 1 + order) / lags))
    size = 1 << (2 * past + frames).bit_length()
    noise = np.fft.rfft(rng.normal(size=(trials, past + frames)), size)
    made = np.fft.irfft(noise * np.fft.rfft(weights, size), size)[:, past : past + frames]
    return np.asarray(made / np.sqrt((weights**2).sum()))


@pytest.mark.parametrize("order", [0.2, 0.3, 0.4])
def test_the_bound_is_wide_where_memory_has_no_end(order: float) -> None:
    """Regression: spans were taken as independent from some distance on.

    The bound was above the true confidence in 14, 19 and 27 % of these cases, and no less often with more rows.
    """
    rng = np.random.default_rng(7)
    holds = fractional(rng, trials=300, frames=2000, order=order) < stats.norm.ppf(0.8)
    found = bounds(np.ones(holds.shape, bool), holds)
    assert np.isfinite(found).mean() > 0.9
    assert (found > 0.8).sum() <= 0.12 * np.isfinite(found).sum()


def test_memory_without_end_is_seen_where_it_is_and_rarely_elsewhere() -> None:
    rng = np.random.default_rng(8)
    size = {"trials": 200, "frames": 3200}

    def seen(holds: BoolArray) -> float:
        counts = count_spans(*world(np.ones(holds.shape, bool), holds), spans=64).counts
        return float((counts.slow > 0).mean())

    assert seen(rng.random((200, 3200)) < 0.8) <= 0.1
    assert seen(markov(rng, share=0.8, memory=10, **size)) <= 0.15
    assert seen(fractional(rng, order=0.4, **size) < stats.norm.ppf(0.8)) >= 0.7


def test_what_varies_between_spans_is_less_sure() -> None:
    rng = np.random.default_rng(1)
    always = np.ones((1, 1000), bool)
    holds = rng.random((1, 1000)) < 0.9
    steady, slow = bounds(always, holds)[0], bounds(always, np.sort(holds.reshape(5, 200)).reshape(1, -1))[0]
    assert slow < steady - 0.05
    assert bounds(always, holds, 0.999)[0] < steady < bounds(always, holds, 0.5)[0] <= 0.91


def test_what_was_seen_once_cannot_be_judged() -> None:
    """Regression: the bound was 0, which reads as a rule that is surely bad."""
    frames = np.arange(1000)
    holds = frames % 100 < 50
    once, never = (frames >= 105) & (frames < 145), frames < 0
    often = frames % 100 < 5
    found = bounds(np.array([once, never, often]), np.array([holds, holds, holds]))
    assert np.isnan(found[:2]).all()
    assert 0.4 < found[2] < 1.0


def test_what_never_changed_cannot_be_judged() -> None:
    """A consequent that held in every frame may have a memory longer than the table."""
    found = bounds(np.arange(1000)[None, :] % 10 < 3, np.ones((1, 1000), bool))
    assert np.isnan(found).all()


def test_places_do_not_make_observations_of_their_own() -> None:
    """Twenty places with the same readings say no more than one."""
    rng = np.random.default_rng(7)
    applies = markov(rng, trials=1, frames=2000, share=0.3, memory=10)[0]
    holds = markov(rng, trials=1, frames=2000, share=0.9, memory=10)[0]

    def copies(number: int) -> float:
        codes = [np.repeat(row[None, :], number, axis=0).astype(np.int16) for row in (applies, holds)]
        series = np.arange(number, dtype=np.int32)
        columns = tuple(Column(Feature(n), ("0", "1"), c, series) for n, c in zip("ab", codes, strict=True))
        names = tuple((str(e),) for e in range(number))
        pattern = None if number == 1 else Pattern.parse("(p:Pipe)")
        table = with_times(TransactionTable((Block(columns, 2000, number, None, pattern, names),)))
        return float(
            th.evaluate.add_confidence_bound(recount(np.array([[1]]), np.array([3]), table), table).extras[
                "assured_confidence"
            ][0]
        )

    assert copies(20) == pytest.approx(copies(1), abs=0.005)


def test_rare_failures_count_episodes_of_the_antecedent() -> None:
    """Without failures, thirty rows of one episode are one observation."""
    frames = np.arange(3000)
    applies = np.array([frames % 100 < 30, frames % 100 < 1])
    rng = np.random.default_rng(0)
    holds = applies | (rng.random((2, 3000)) < 0.5)
    counted = count_spans(*world(applies, holds), spans=SPANS)
    rows, freedom = effective_rows(counted)
    assert rows.tolist() == [30.0, 30.0]
    assert freedom.tolist() == [10.0, 10.0]
    t = student_quantile(0.95, 10)
    assert confidence_bound(counted, 0.95) == pytest.approx(30 / (30 + t * t), abs=0.002)


def test_rules_that_cannot_be_judged_are_dropped_and_counted() -> None:
    frames = np.arange(1000)
    applies = np.array([(frames >= 105) & (frames < 145), frames % 20 < 3])
    rules, table = world(applies, np.array([frames % 100 < 50, applies[1] | (frames % 3 == 0)]))
    sure = th.evaluate.add_confidence_bound(rules, table)
    assert sure.notes[-1] == "the confidence of 1 of 2 rules cannot be assured: too few independent rows"
    kept = th.evaluate.add_confidence_bound(rules, table, min_confidence=0.8)
    assert len(kept) == 1
    assert kept.notes == sure.notes


def test_rules_carry_the_bound_and_it_can_be_asked_for() -> None:
    rng = np.random.default_rng(3)
    a = np.repeat(rng.integers(0, 3, 150), 10)
    frame = {"a": a, "b": np.where(rng.random(1500) < 0.1, rng.integers(0, 3, 1500), a)}
    table = TransactionTable.from_frame(pl.DataFrame({n: v.astype(str) for n, v in frame.items()}))
    rules = th.Exact(min_confidence=0.01, min_support=0.001).mine(table)
    sure = th.evaluate.add_confidence_bound(rules, table)
    assert list(sure) == list(rules)
    low, confidence = sure.measure("assured_confidence"), sure.measure("confidence")
    assert ((low >= 0) & (low < confidence)).all()
    some = th.evaluate.add_confidence_bound(rules, table, min_confidence=0.8)
    assert list(some) == list(sure.filter(min_assured_confidence=0.8))
    assert 0 < len(some) < len(rules)
    assert len(th.evaluate.add_confidence_bound(RuleSet.empty("none"), table, min_confidence=0.8)) == 0
    # The bound is dropped when the rules are counted on other rows, where it would be wrong.
    assert "assured_confidence" not in th.evaluate.count_rules(sure, table.frames(slice(0, 700))).extras


def test_rows_without_time_are_taken_as_independent() -> None:
    table = lifted(np.random.default_rng(5), frames=1, embeddings=400, gaps=0.0)
    rules = th.evaluate.add_confidence_bound(all_rules(table), table)
    counts = rules.counts
    expected = [
        stats.binomtest(int(k), int(n), alternative="greater").proportion_ci(0.95, method="wilson").low if k else 0.0
        for n, k in zip(counts.n_antecedent.tolist(), counts.n_both.tolist(), strict=True)
    ]
    assert rules.measure("assured_confidence") == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("settings", [{"assurance": 0.3}, {"assurance": 1}, {"assurance": math.nan}, {"spans": 1}])
def test_senseless_settings_are_refused(settings: dict[str, float]) -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
    with pytest.raises(ConfigError):
        th.evaluate.add_confidence_bound(th.Exact().mine(table), table, **settings)  # type: ignore[arg-type]


def test_rules_with_intervals_of_their_own_are_refused_with_a_hint() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
    numbers = FeatureTable(*raw_columns(pl.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), units={}))
    with pytest.raises(MiningError, match="discretize"):
        th.evaluate.add_confidence_bound(th.Exact().mine(table), numbers)


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
