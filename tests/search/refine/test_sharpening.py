"""Sharper ranges: planted thresholds are found, counts stay exact, and what is not confirmed changes nothing."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.networks import network
from tests.helpers.pumps import pumps
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Node
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor, SensorData
from thence.data.readings.windows import window
from thence.errors import ConfigError
from thence.language.items import Item
from thence.search.exact.miner import Exact
from thence.search.refine import refine
from thence.search.refine.sharpening import best_run, narrowest_run, sharpen
from thence.statements.counting.recount import count_rules, counted_on
from thence.statements.rules.ruleset import RuleSet
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import FeatureTable, TransactionTable


def tanks(threshold: list[float], *, frames: int = 900, decimals: int = 2, later: float | None = None) -> System:
    """Tanks with a level, and a pump that runs while the level is below a threshold."""
    rng = np.random.default_rng(len(threshold))
    series: dict[str, object] = {}
    for k, limit in enumerate(threshold):
        level = rng.uniform(0.0, 10.0, frames).round(decimals)
        limits = np.full(frames, limit)
        if later is not None:
            limits[-frames // 3 :] = later
        series[f"level_T{k}"] = level
        series[f"pump_T{k}"] = np.where(level < limits, "on", "off")
    start = pl.datetime(2024, 1, 1)
    times = pl.datetime_range(start, start + pl.duration(minutes=10 * (frames - 1)), "10m", eager=True)
    sensors = [Sensor(name, name[: name.index("_")], "m" if "level" in name else "", "pump" in name) for name in series]
    sensors = [replace(s, categorical=s.kind == "pump") for s in sensors]
    nodes = [Node(f"T{k}", frozenset(["Tank"]), {}) for k in range(len(threshold))]
    binding = Binding({name: name.partition("_")[2] for name in series})
    data = SensorData.from_wide(pl.DataFrame({"time": times, **series}), sensors=sensors)
    return System(data, KnowledgeGraph(nodes, []), binding)


def table_of(system: System, mode: str, scope: str, bins: int = 4) -> TransactionTable:
    return build(
        window(system.sensors, "10min"),
        mode=mode,
        graph=system.graph,
        binding=system.binding,
        discretizer=Discretizer(bins=bins, scope=scope),
        patterns=["(l:level)-[in]->(t:Tank)<-[in]-(p:pump)"],
    )


def rule_to(rules: RuleSet, state: str) -> Item:
    """The only antecedent item of the most frequent rule that concludes a state."""
    ordered = rules.sort("support")
    return next(rule.antecedent[0] for rule in ordered if rule.consequent.value == state)


@pytest.mark.parametrize("mode", ["none", "grounded", "lifted"])
@pytest.mark.parametrize("threshold", [3.3, 1.7, 6.24])
def test_a_planted_threshold_is_found_within_the_resolution(mode: str, threshold: float) -> None:
    table = table_of(tanks([threshold]), mode, "kind")
    rules = Exact(max_antecedents=1, consequent="pump", min_support=0.02, min_confidence=0.6).mine(table)
    sharp = sharpen(rules, table)
    for state, operator in (("on", "<"), ("off", "≥")):
        item = rule_to(sharp, state)
        assert str(item.operator) == operator
        assert isinstance(item.value, float)
        # Readings have two decimals, and one in a hundred values of the range is missing between two of them.
        assert abs(item.value - threshold) <= 0.05
    assert sharp.measure("confidence").min() >= 0.95


def test_a_planted_rank_is_found_in_every_place() -> None:
    """Thresholds differ between tanks, but each pump runs while the level is in the lowest third of its history."""
    table = table_of(tanks([3.3, 3.3, 3.3, 3.3]), "lifted", "sensor", bins=5)
    rules = Exact(max_antecedents=1, consequent="pump", min_support=0.02, min_confidence=0.6).mine(table)
    sharp = sharpen(rules, table)
    item = rule_to(sharp, "on")
    assert item.feature.relative
    assert isinstance(item.value, float)
    assert abs(item.value - 0.33) <= 0.03
    assert "in its lowest" in next(rule.english for rule in sharp if rule.antecedent == (item,))


def test_a_threshold_that_is_not_confirmed_later_changes_nothing() -> None:
    table = table_of(tanks([4.0], later=2.5), "none", "kind")
    rules = Exact(max_antecedents=1, consequent="pump", min_support=0.02, min_confidence=0.8).mine(table)
    sharp = sharpen(rules, table)
    on = [rule for rule in rules if rule.consequent.value == "on"]
    assert [rule for rule in sharp if rule.consequent.value == "on"] == on


def test_a_consequent_is_narrowed_to_where_the_readings_are() -> None:
    rng = np.random.default_rng(0)
    state = rng.random(900) < 0.1
    flow = np.where(state, rng.uniform(92.0, 94.0, 900), rng.uniform(0.0, 100.0, 900)).round(2)
    frame = pl.DataFrame({"flow": flow, "pump": np.where(state, "on", "off")})
    table = TransactionTable.from_frame(frame, bins=3)
    rules = Exact(max_antecedents=1, consequent="flow", min_confidence=0.9).mine(table)
    assert len(rules) == 1
    (rule,) = sharpen(rules, table)
    assert rule.consequent.interval is not None
    assert 85.0 < rule.consequent.interval.low <= 92.0
    assert rules.rule(0).consequent.interval.low < 85.0


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), bins=st.integers(2, 5), floor=st.sampled_from([0.5, 0.7, 0.9]), gaps=st.booleans())
def test_counts_of_sharpened_rules_are_those_of_the_raw_numbers(seed: int, bins: int, floor: float, gaps: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=200).round(int(rng.integers(0, 4)))
    b = (a + rng.normal(scale=0.4, size=200)).round(2)
    c = np.where(a + rng.normal(scale=0.2, size=200) < 0.3, "x", "y")
    if gaps:
        a, b = (np.where(rng.random(200) < 0.1, np.nan, values) for values in (a, b))
    frame = pl.DataFrame({"a": a, "b": b, "c": c})
    table = TransactionTable.from_frame(frame, bins=bins, numeric=["a", "b"])
    rules = Exact(max_antecedents=2, min_support=0.05, min_confidence=floor).mine(table)
    if not len(rules):
        return
    sharp = sharpen(rules, table, min_confidence=floor, min_support=0.05)
    raw = count_rules(list(sharp), FeatureTable.from_frame(frame, numeric=["a", "b"]))
    for name in ("n", "n_antecedent", "n_consequent", "n_both"):
        assert getattr(raw.counts, name).tolist() == getattr(sharp.counts, name).tolist()
    assert sharp.measure("confidence").min() >= floor - 1e-12
    assert sharp.measure("support").min() >= 0.05 - 1e-12
    assert len(set(sharp)) == len(sharp) <= len(rules)
    if "confirmed_confidence" in sharp.extras:
        confirmed = sharp.extras["confirmed_confidence"]
        assert (confirmed[~np.isnan(confirmed)] >= floor - 1e-12).all()
        # All rules of the search can be counted on the table of the sharpened ones, with the same result.
        own = counted_on(sharp)
        assert isinstance(own, TransactionTable)
        again = count_rules(rules, own)
        assert again.counts.n_both.tolist() == rules.counts.n_both.tolist()


@pytest.mark.parametrize("scope", ["sensor", "kind"])
def test_lifted_rules_keep_exact_counts_and_are_counted_by_place(scope: str) -> None:
    net = network(400)
    readings = window(net.sensors, "30min")
    table = build(
        readings,
        mode="lifted",
        graph=net.graph,
        binding=net.binding,
        ontology=net.ontology,
        discretizer=Discretizer(bins=4, scope=scope),
    )
    rules = Exact(max_antecedents=2, min_support=0.05, min_confidence=0.8).mine(table)
    sharp = refine(rules, table, digest=30, sharpen=True, min_confidence=0.8)
    assert [step["step"] for step in sharp.facts["refine"]["steps"]][-1] == "sharpen"
    own = counted_on(sharp)
    assert isinstance(own, TransactionTable)
    assert own.n_rows == table.n_rows
    again = count_rules(sharp, own)
    assert again.counts.n_antecedent.tolist() == sharp.counts.n_antecedent.tolist()
    assert again.counts.n_both.tolist() == sharp.counts.n_both.tolist()
    np.testing.assert_array_equal(again.extras["places"], sharp.extras["places"])
    assert (sharp.extras["places_judged"] <= sharp.extras["places"]).all()
    assert (~np.isnan(sharp.extras["confirmed_confidence"])).any()
    # The bins that come with the table reproduce it on the same readings.
    later = build(
        readings,
        mode="lifted",
        graph=net.graph,
        binding=net.binding,
        ontology=net.ontology,
        discretizer=Discretizer.from_dict(own.discretizer.to_dict()),
    )
    assert count_rules(sharp, later).counts.n_both.tolist() == sharp.counts.n_both.tolist()


def test_of_very_many_rows_some_places_are_searched_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thence.search.refine.sharpening.MOST_ROWS", 1500)
    table = table_of(tanks([3.3, 3.3, 3.3, 3.3]), "lifted", "kind")
    rules = Exact(max_antecedents=1, consequent="pump", min_support=0.02, min_confidence=0.6).mine(table)
    sharp = sharpen(rules, table)
    assert abs(rule_to(sharp, "on").value - 3.3) <= 0.05  # type: ignore[operator]
    own = counted_on(sharp)
    assert isinstance(own, TransactionTable)
    assert int(sharp.counts.n[0]) == own.n_rows == 3600


def test_finer_bins_that_are_no_parts_of_the_bins_sharpen_nothing() -> None:
    data = pl.DataFrame({"a": np.arange(300.0), "b": ["x"] * 100 + ["y"] * 200})
    table = TransactionTable.from_frame(data, bins=4)
    other = TransactionTable.from_frame(data, bins=7)
    rules = Exact(max_antecedents=1, min_confidence=0.6, consequent="b").mine(table)
    same = sharpen(rules, replace(table, finer=lambda: other))
    assert list(same) == list(rules)
    assert same.notes[-1].startswith("no range was sharpened")


def test_columns_of_the_former_rule_are_missing_for_a_sharpened_one() -> None:
    table = table_of(tanks([3.3]), "none", "kind")
    rules = Exact(max_antecedents=1, consequent="pump", min_support=0.02, min_confidence=0.6).mine(table)
    some = {"p_value": np.full(len(rules), 0.01), "probability": np.full(len(rules), 0.5)}
    some["also_known_as"] = np.array(["another sentence"] * len(rules))
    some["assured_confidence"] = np.full(len(rules), 0.5)
    sharp = sharpen(replace(rules, extras=some), table)
    changed = ~np.isnan(sharp.extras["confirmed_confidence"])
    assert changed.any()
    assert np.isnan(sharp.extras["p_value"][changed]).all()
    assert (sharp.extras["p_value"][~changed] == 0.01).all()
    assert (sharp.extras["probability"] == 0.5).all()
    assert [bool(text) for text in sharp.extras["also_known_as"]] == (~changed).tolist()
    assert (sharp.extras["assured_confidence"][changed] > 0.5).all()


def test_without_the_numbers_behind_its_bins_a_table_sharpens_nothing(tmp_path) -> None:
    table = table_of(tanks([3.3]), "none", "kind")
    rules = Exact(max_antecedents=1, consequent="pump", min_support=0.02, min_confidence=0.6).mine(table)
    table.save(tmp_path / "table.npz")
    for bare in (TransactionTable.load(tmp_path / "table.npz"), table.frames(slice(None))):
        same = sharpen(rules, bare)
        assert list(same) == list(rules)
        assert same.notes[-1] == "no range was sharpened: the table does not know the numbers behind its bins"
    assert sharpen(RuleSet.empty(), table) is not None
    with pytest.raises(ConfigError, match="min_confidence"):
        sharpen(rules, table, min_confidence=2.0)


def test_items_about_states_and_single_values_stay() -> None:
    system = pumps(4, broken="")
    table = build(
        window(system.sensors, "10min"), mode="none", discretizer=Discretizer(bins=3), graph=None, binding=None
    )
    rules = Exact(max_antecedents=1, min_support=0.05, min_confidence=0.9, antecedent="status").mine(table)
    sharp = sharpen(rules, table)
    assert {rule.antecedent for rule in sharp} == {rule.antecedent for rule in rules}


def test_a_table_that_can_be_built_again_can_be_pickled() -> None:
    for table in (
        table_of(tanks([3.3]), "lifted", "sensor"),
        table_of(tanks([3.3]), "none", "kind"),
        TransactionTable.from_frame(pl.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})),
    ):
        again = pickle.loads(pickle.dumps(table))
        assert again.finer().n_items == table.finer().n_items > table.n_items


@given(
    merit=st.lists(st.integers(-3, 3), min_size=1, max_size=9),
    data=st.data(),
)
def test_the_best_run_has_the_largest_sum_of_all(merit: list[int], data: st.DataObject) -> None:
    last = len(merit) - 1
    low = data.draw(st.integers(0, last))
    high = data.draw(st.integers(low, last))
    rows = data.draw(st.lists(st.integers(0, 5), min_size=len(merit), max_size=len(merit)))
    found = best_run(np.array(merit, float), np.array(rows), low, high, last=last)
    every = [
        (start, stop)
        for start in ([0] if low == 0 else range(high + 1))
        for stop in ([last] if high == last else range(low, last + 1))
        if start <= stop
    ]
    best = max((sum(merit[a : b + 1]), sum(rows[a : b + 1])) for a, b in every)
    assert found in every
    assert (sum(merit[found[0] : found[1] + 1]), sum(rows[found[0] : found[1] + 1])) == best


@given(data=st.data(), size=st.integers(1, 7), floor=st.sampled_from([0.0, 0.4, 0.8]))
def test_a_narrower_run_lies_within_and_reaches_the_bound(data: st.DataObject, size: int, floor: float) -> None:
    every = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    held = np.array([data.draw(st.integers(0, int(most))) for most in every])
    low = data.draw(st.integers(0, size - 1))
    high = data.draw(st.integers(low, size - 1))
    applied, rows = int(held.sum()) + 1, int(every.sum()) + 2
    first, last = narrowest_run(held, applied, every, rows, low, high, last=size - 1, floor=floor)
    assert low <= first <= last <= high
    if (first, last) != (low, high):
        assert held[first : last + 1].sum() / applied >= floor
        assert first == 0 or low > 0 or first == low
        assert last == size - 1 or high < size - 1
