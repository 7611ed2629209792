"""Confirmation by default: what is reported was seen to hold in time that was not searched."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.data.graph.records import Node
from thence.runs.pipeline import _Searched, _with_fallback
from thence.search.refine.confirmation import Evidence, gather_evidence
from thence.statements.rules.ruleset import RuleSet

DAYS, STEP = 28, timedelta(minutes=30)


def wander(rng: np.random.Generator, n: int, keep: float = 0.98) -> np.ndarray:
    out, noise = np.zeros(n), rng.standard_normal(n)
    for at in range(1, n):
        out[at] = keep * out[at - 1] + noise[at]
    return out


def frame_of(columns: dict[str, np.ndarray], days: int = DAYS) -> pl.DataFrame:
    n = days * 48
    return pl.DataFrame({"time": [datetime(2024, 1, 1) + at * STEP for at in range(n)], **columns})


def plant(days: int = DAYS, *, breaks: bool = False, seed: int = 0) -> pl.DataFrame:
    """A pump that comes and goes, a pressure that follows it, and three readings that have nothing to do with it."""
    rng, n = np.random.default_rng(seed), days * 48
    pump = np.repeat(rng.random(n // 6 + 1) < 0.4, 6)[:n]
    pressure = np.where(pump, 60.0, 30.0) + rng.normal(0, 2, n)
    if breaks:
        pressure[int(n * 0.7) :] = 45 + rng.normal(0, 12, n - int(n * 0.7))
    others = {f"other_{at}": wander(rng, n) for at in range(3)}
    return frame_of({"pump": np.where(pump, "on", "off"), "pressure": pressure, **others}, days)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_reported_about_independent_readings(seed: int) -> None:
    """50 rules were reported about ten unrelated sensors; hardly any held on as much new data."""
    rng = np.random.default_rng(seed)
    run = th.mine(frame_of({f"s{at}": wander(rng, 14 * 48) for at in range(10)}, days=14), progress="off")
    assert len(run.rules) == 0
    (note,) = (note for note in run.summary["notes"] if "confirmed" in note)
    assert "candidates, none confirmed" in note and "confirm=False" in note


def test_what_holds_is_reported_with_what_confirms_it() -> None:
    run = th.mine(plant(), progress="off")
    about = [rule for rule in run.rules if "pump" in rule.english and "pressure" in rule.english]
    assert about
    rule = about[0]
    counts = rule.counts
    assert counts.later_applies and counts.later_holds is not None
    assert counts.later_holds / counts.later_applies > 0.9
    assert counts.occasions and counts.occasions >= 3
    assert "time that was not searched" in counts.confirmation()
    table = run.table
    later = table.frames(slice(table.blocks[0].n_frames - table.blocks[0].n_frames // 3, None))
    by_hand = th.evaluate.count_rules(run.rules, later).counts
    assert run.rules.extras["confirmed_rows"].tolist() == by_hand.n_antecedent.tolist()
    shares = by_hand.n_both / by_hand.n_antecedent
    assert np.allclose(run.rules.measure("confirmed_confidence"), shares)
    whole = th.evaluate.count_rules(run.rules, table).counts
    assert run.rules.counts.n_both.tolist() == whole.n_both.tolist()  # counted over all the time


def test_what_no_longer_holds_is_not_reported() -> None:
    kept = th.mine(plant(), progress="off").rules
    broken = th.mine(plant(breaks=True), progress="off")
    assert any("pressure" in rule.english for rule in kept)
    assert not any("pressure" in rule.english and "pump" in rule.english for rule in broken.rules)


def test_too_little_data_says_so() -> None:
    run = th.mine(plant(days=2), progress="off")
    assert len(run.rules) == 0
    assert any("candidates, none confirmed" in one for one in run.summary["notes"])
    assert len(th.mine(plant(days=2), confirm=False, progress="off").rules)


def test_rows_without_times_are_confirmed_by_every_third_row() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(3000) < 0.5
    frame = pl.DataFrame({"a": np.where(a, "x", "y"), "b": np.where(a ^ (rng.random(3000) < 0.05), "u", "v")})
    noise = frame.with_columns(pl.Series("b", rng.permutation(frame["b"].to_numpy())))
    assert len(th.mine(frame, progress="off").rules) >= 1
    assert len(th.mine(noise, progress="off").rules) == 0


def test_all_rules_and_none_of_the_digest_are_not_confirmed() -> None:
    every = th.mine(plant(), digest=0, progress="off").rules
    raw = th.mine(plant(), refine=False, progress="off").rules
    assert "confirmed_rows" not in every.extras and "confirmed_rows" not in raw.extras
    assert len(raw) > len(every) > 0


def test_places_that_move_as_one_are_one_witness() -> None:
    """Sixty meters of one series were sixty witnesses of a coincidence."""
    rng = np.random.default_rng(5)
    n = 21 * 48
    level, flow = wander(rng, n, 0.99), wander(rng, n, 0.99)
    one = pl.DataFrame({"level": level, "flow": flow})
    system = _copies(one, 40)
    how = {"enrich": "lifted", "bins": 3, "patterns": ["(l:level)-[in]->(t:Tank)<-[in]-(f:flow)"], "min_embeddings": 1}
    table = th.transactions(system, **how)
    rules = th.Exact(min_confidence=0.5, max_antecedents=1).mine(table.earlier())
    assert len(rules)
    alone = th.transactions(_copies(one, 1), **how)
    many = gather_evidence(rules, table, min_confidence=0.5)
    few = gather_evidence(_same(rules, alone), alone, min_confidence=0.5)
    assert np.allclose(many.occasions, few.occasions, rtol=0.3, atol=1.0)


def test_what_is_rare_at_one_place_alone_is_no_evidence() -> None:
    """The states of one boiler were nearly always off, so that whatever only its sensor reads "implied" off."""
    rng = np.random.default_rng(3)
    n = DAYS * 48
    high = np.repeat(rng.random(n // 8 + 1) < 0.5, 8)[:n] * 20.0
    level = {at: rng.normal(size=n) + (high if at == 0 else 0) for at in range(5)}
    state = {at: np.where(rng.random(n) < (0.97 if at == 0 else 0.4), "off", "on") for at in range(5)}
    times = [datetime(2024, 1, 1) + at * STEP for at in range(n)]
    columns = {f"level_{at}": level[at] for at in level} | {f"status_{at}": state[at] for at in state}
    kinds = {id: id.split("_")[0] for id in columns}
    graph = th.graph.KnowledgeGraph([Node(f"Boiler {at}", {"Boiler"}, {}) for at in range(5)])
    sensors = th.SensorData.from_wide(pl.DataFrame({"time": times, **columns})).with_kinds(kinds)
    system = th.System(sensors=sensors, graph=graph, binding={id: f"Boiler {id[-1]}" for id in columns})
    pattern = "(l:level)-[in]->(b:Boiler)<-[in]-(s:status)"
    edges = {"level": [10.0]}
    table = th.transactions(system, enrich="lifted", scope="kind", bin_edges=edges, patterns=[pattern])
    found = th.Exact(min_confidence=0.8, max_antecedents=1).mine(table.earlier())
    assert len(found)  # "if its level is at least 10, then its status is off"
    evidence = gather_evidence(found, table, min_confidence=0.8)
    assert not evidence.confirms(0.8, len(found)).any()


def test_what_the_season_explains_is_no_evidence() -> None:
    """Two readings that are high in the same weeks have nothing else to do with each other."""
    rng = np.random.default_rng(4)
    n = 56 * 48
    warm = np.repeat(np.arange(8) % 2, 7 * 48) * 6.0
    readings = {"a": warm + rng.normal(size=n), "b": warm + rng.normal(size=n)}
    table = th.transactions(frame_of(readings, days=56), bins=2)
    found = th.Exact(min_confidence=0.8, max_antecedents=1).mine(table.earlier())
    evidence = gather_evidence(found, table, min_confidence=0.8)
    assert len(found) == 4 and (evidence.confidence > 0.99).all() and (evidence.base > 0.98).all()
    assert not evidence.confirms(0.8, len(found)).any()


def test_a_converse_that_fails_later_is_not_reported() -> None:
    """Rules were reported "and vice versa" although in the last third only one direction held."""
    rng = np.random.default_rng(5)
    n = DAYS * 48
    pump = np.repeat(rng.random(n // 6 + 1) < 0.4, 6)[:n]
    alarm = pump.copy()
    alarm[2 * n // 3 :] |= np.repeat(rng.random(n // 12 + 1) < 0.5, 4)[: n - 2 * n // 3]
    flow = np.where(alarm, 60.0, 30.0) + rng.normal(0, 2, n)
    run = th.mine(frame_of({"pump": np.where(pump, "on", "off"), "flow": flow}), progress="off", bins=2)
    assert not any(rule.both_ways for rule in run.rules)


def _copies(frame: pl.DataFrame, number: int) -> th.System:
    times = [datetime(2024, 1, 1) + at * STEP for at in range(frame.height)]
    columns = {f"{kind}_{at}": frame[kind] for at in range(number) for kind in frame.columns}
    graph = th.graph.KnowledgeGraph([Node(f"Tank {at}", {"Tank"}, {}) for at in range(number)])
    kinds = {id: id.split("_")[0] for id in columns}
    sensors = th.SensorData.from_wide(pl.DataFrame({"time": times, **columns})).with_kinds(kinds)
    return th.System(sensors=sensors, graph=graph, binding={id: f"Tank {id.split('_')[1]}" for id in columns})


def _same(rules: RuleSet, table: th.TransactionTable) -> RuleSet:
    return th.evaluate.count_rules(rules, table)


def test_single_sensors_replace_lifted_rules_only_if_more_of_their_rules_are_confirmed() -> None:
    """Regression: candidates were compared.

    Thirty candidates about single sensors, eight of them confirmed, replaced eight confirmed rules for all places.
    """
    frame = pl.DataFrame({"a": [k % 4 for k in range(40)], "b": [k % 4 // 2 for k in range(40)]})
    table = th.TransactionTable.from_frame(frame.cast(pl.String))
    rules = th.Exact(min_confidence=0.0, min_support=0.0).mine(table)

    def searched(candidates: int, confirmed: int) -> _Searched:
        held = np.where(np.arange(candidates) < confirmed, 100, 0)
        ones = np.ones(candidates)
        numbers = (held + 100, held * 2, ones / 10, ones, ones * 50, ones * 0, ones * 0)
        evidence = Evidence(*numbers, steady=ones.astype(bool), assured=ones)
        return _Searched(th.Config(), table, rules, rules.take(np.arange(candidates)), None, evidence)

    lifted = searched(4, 2)
    assert searched(8, 2).n_kept == lifted.n_kept == 2
    assert _with_fallback(lifted, searched(8, 2)) is lifted
    assert _with_fallback(lifted, searched(8, 7)) is lifted  # one about places says more than one about sensors
    chosen = _with_fallback(lifted, searched(8, 8))
    assert chosen.n_kept == 8 and chosen.rules.notes[0].startswith("only 2 rules for all places")


def test_an_interrupted_search_says_that_nothing_was_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of the first two thirds of the time were shown as if they had been counted on all of it."""

    def press(*given: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("thence.runs.pipeline.gather_evidence", press)
    run = th.mine(plant(), progress="off")
    assert any("not confirmed, and counted on the first two thirds" in note for note in run.summary["notes"])
    assert run.table.blocks[0].n_frames == DAYS * 48 - DAYS * 48 // 3
    assert th.evaluate.count_rules(run.rules, run.table).counts.n_both.tolist() == run.rules.counts.n_both.tolist()
