"""Bins towards a target: cut where its states change, on frames and on readings, and never without saying so."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.pumps import pumps
from thence.data.readings.windows import window
from thence.errors import ConfigError
from thence.search.exact.miner import Exact
from thence.tables.discretization import Discretizer, fit_binning
from thence.tables.enrich import build
from thence.tables.entropy_cuts import cut_by_entropy
from thence.tables.transactions import TransactionTable


def frame(n: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    level, noise = rng.uniform(0, 10, n).round(2), rng.normal(size=n)
    pump = np.where(level < 3.3, "on", np.where(level < 7.1, "idle", "off"))
    return pl.DataFrame({"level": level, "noise": noise, "pump": pump})


def test_bins_are_cut_where_the_states_of_the_target_change() -> None:
    table = TransactionTable.from_frame(frame(), method="entropy", towards="pump")
    level = next(column for column in table.blocks[0].columns if column.feature.subject == "level")
    assert [value.low for value in level.values[1:]] == pytest.approx([3.3, 7.1], abs=0.05)
    rules = Exact(max_antecedents=1, consequent="pump", min_confidence=0.9).mine(table)
    assert rules.measure("confidence").tolist() == [1.0, 1.0, 1.0]


def test_a_numeric_target_has_bins_of_equal_count_itself() -> None:
    data = frame().with_columns(flow=pl.col("level") * 2)
    table = TransactionTable.from_frame(data, method="entropy", towards="flow", bins=4)
    own, other = (table.discretizer.binnings[name] for name in ("flow", "level"))
    assert own.bin_edges.tolist() == fit_binning(data["flow"].to_numpy(), bins=4).bin_edges.tolist()
    assert (other.bin_edges * 2).tolist() == pytest.approx(own.bin_edges.tolist(), abs=0.1)


@pytest.mark.parametrize("towards", ["status_PU-0", "status"])
@pytest.mark.parametrize("scope", ["kind", "sensor"])
def test_readings_are_cut_towards_a_sensor_or_a_kind(towards: str, scope: str) -> None:
    system = pumps(3, broken="")
    table = build(
        window(system.sensors, "10min"), discretizer=Discretizer(method="entropy", towards=towards, scope=scope)
    )
    key = "flow" if scope == "kind" else "flow_PU-0"
    assert any(19.0 < edge <= 81.0 for edge in table.discretizer.binnings[key].bin_edges)


def test_finer_bins_are_parts_of_those_of_a_target() -> None:
    table = TransactionTable.from_frame(frame(), method="entropy", towards="pump")
    assert table.finer is not None
    coarse, fine = table.discretizer.binnings["level"], table.finer().discretizer.binnings["level"]
    assert set(coarse.bin_edges) < set(fine.bin_edges)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a target"):
        TransactionTable.from_frame(frame(), method="entropy")
    with pytest.raises(ConfigError, match="'pmp'") as caught:
        TransactionTable.from_frame(frame(), method="entropy", towards="pmp")
    assert "pump" in str(caught.value)
    with pytest.raises(ConfigError, match="'towards' does not apply"):
        TransactionTable.from_frame(frame(), towards="pump")
    with pytest.raises(ConfigError, match="needs the classes"):
        fit_binning(np.arange(9.0), method="entropy")
    with pytest.raises(ConfigError, match="takes no classes"):
        fit_binning(np.arange(9.0), classes=np.zeros(9))
    system = pumps(3)
    with pytest.raises(ConfigError, match="does not apply to the enrichment 'lifted'"):
        build(
            window(system.sensors, "10min"),
            mode="lifted",
            graph=system.graph,
            binding=system.binding,
            discretizer=Discretizer(method="entropy", towards="status"),
        )


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 2)), min_size=2, max_size=80), st.integers(0, 5))
def test_fewer_cuts_are_some_of_all_cuts(rows: list[tuple[float, int]], most: int) -> None:
    values, classes = np.array([v for v, _ in rows]), np.array([c for _, c in rows])
    every = cut_by_entropy(values, classes, fallback=1)
    some = cut_by_entropy(values, classes, fallback=1, most=most)
    assert len(some) == min(most, len(every))
    assert set(some) <= set(every)


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.nan]), min_size=1, max_size=30))
def test_missing_numbers_and_states_are_no_classes(numbers: list[float]) -> None:
    values = np.array(numbers)
    binning = fit_binning(values, method="entropy", bins=4, classes=np.full(len(values), -1))
    codes = binning.encode(values)
    assert ((codes < 0) == np.isnan(values)).all()
