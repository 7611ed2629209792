"""Counts of laws: against loops over places and frames, with missing readings, in blocks, and on other data."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.statements.laws.plants import network, system_of
from thence import datasets
from thence.data.graph.system import System
from thence.data.readings.pooling import pool_readings
from thence.data.readings.windows import WindowedReadings, window
from thence.search.laws.search import search_laws
from thence.statements.laws import places as places_module
from thence.statements.laws.bands import Band
from thence.statements.laws.counting import count_law, count_laws, lower_bound
from thence.statements.laws.law import Law, Laws
from thence.statements.laws.terms import Condition, Term

DEMAND = Term("reading", "demand", unit="m3/h")
ARRIVING = Term("total", "flow", role="arriving", unit="m3/h")
LEAVING = Term("total", "flow", role="leaving", unit="m3/h")
ROLES = "arriving: <-[ends_at]-(Pipe).flow | leaving: <-[starts_at]-(Pipe).flow"
BALANCE = Law("equal", f"(j:Junction) | {ROLES}", ((1, DEMAND),), ((1, ARRIVING), (-1, LEAVING)), Band(0.5))


def with_gaps(system: System, share: float, seed: int) -> System:
    rng = np.random.default_rng(seed)
    frame = system.sensors.to_polars()
    columns = [
        pl.Series(id, np.where(rng.random(frame.height) < share, np.nan, frame[id].to_numpy()), nan_to_null=True)
        for id in system.sensors.ids
    ]
    data = type(system.sensors).from_wide(frame.with_columns(columns), sensors=system.sensors.sensors)
    return replace(system, sensors=data)


def by_hand(law: Law, readings: WindowedReadings, system: System) -> dict[str, tuple[int, int]]:
    """Rows and held rows of the balance of junctions, in plain loops."""
    assert system.graph is not None and system.binding is not None
    at = {(system.binding[s.id], s.kind): readings.values[:, k] for k, s in enumerate(readings.numeric)}
    out = {}
    for junction in system.graph.with_label("Junction"):
        ends = {rel: [e.source for e in system.graph.in_edges(junction, rel)] for rel in ("ends_at", "starts_at")}
        parts = [(junction, "demand"), *((pipe, "flow") for pipes in ends.values() for pipe in pipes)]
        if not all(part in at for part in parts):
            continue
        rows = held = 0
        for t in range(len(readings)):
            if any(math.isnan(at[part][t]) for part in parts):
                continue
            arriving = sum(at[pipe, "flow"][t] for pipe in ends["ends_at"])
            leaving = sum(at[pipe, "flow"][t] for pipe in ends["starts_at"])
            size = sum(abs(at[part][t]) for part in parts) / 2
            allowed = max(law.band.absolute, law.band.relative * size)
            rows += 1
            held += abs(at[junction, "demand"][t] - (arriving - leaving)) <= allowed
        if rows:
            out[junction] = (rows, held)
    return out


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 100),
    gaps=st.sampled_from([0.0, 0.1, 0.6]),
    band=st.sampled_from([Band(0.5), Band(0.01, 0.02), Band(0.0)]),
    block=st.sampled_from([1, 7, 10_000]),
)
def test_counts_equal_loops_over_places_and_frames(seed: int, gaps: float, band: Band, block: int) -> None:
    system = with_gaps(network(count=5, frames=40, seed=seed, noise=0.02), gaps, seed)
    readings = window(system.sensors, "30min")
    law = replace(BALANCE, band=band)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places_module, "_BLOCK", block)
        counted = count_law(law, readings, system)
    assert {one.place: (one.rows, one.held) for one in counted.by_place} == by_hand(law, readings, system)


@pytest.mark.parametrize("cells", [1, 1_000, 4_000_000])
def test_where_readings_lie_changes_nothing(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large system the readings of a sensor lie together, and some places are counted at a time."""
    monkeypatch.setattr("thence.statements.laws.places._PIECE", cells)
    data = datasets.load("net3", days=7)
    windows = window(data.sensors)
    turned = replace(windows, values=np.asfortranarray(windows.values))
    assert not turned.values.flags.c_contiguous
    laws = search_laws(windows, data)
    assert {law.form for law in laws} >= {"equal", "sign", "at_least"}
    assert list(search_laws(turned, data)) == list(laws)


def test_later_rows_are_those_after_the_first_part() -> None:
    system = network(count=4, frames=50)
    counted = count_law(BALANCE, window(system.sensors), system, fit_share=0.8)
    assert {one.later_rows for one in counted.by_place} == {10}
    assert counted.rows == 50 * counted.places


def test_a_total_with_an_unmeasured_pipe_is_not_known() -> None:
    system = network(count=4, frames=50)
    fewer = system.select([id for id in system.sensors.ids if id != "flow_P02"])
    counted = count_law(BALANCE, window(fewer.sensors), fewer)
    whole = count_law(BALANCE, window(system.sensors), system)
    assert {one.place for one in whole.by_place} - {one.place for one in counted.by_place} == {"J01", "J02"}


def test_a_system_without_the_classes_of_a_law_gets_no_rows() -> None:
    system = system_of({"R": ("Tank", {})}, [], {"level_R": np.arange(10.0)})
    counted = count_law(BALANCE, window(system.sensors), system)
    assert counted.rows == 0 and counted.by_place == () and counted.later_bound is None
    assert math.isnan(counted.share)


def test_laws_hold_at_other_places_in_later_time() -> None:
    known, other = network(seed=1), network(count=20, seed=2)
    laws = search_laws(window(known.sensors), known)
    recounted = count_laws(list(laws), window(other.sensors), other)
    assert len(recounted) == len(laws)
    for law in recounted:
        assert law.rows and law.share >= 0.99, law.english


def test_a_factor_of_a_place_is_kept_and_that_of_another_is_fitted() -> None:
    known = network(seed=1)
    (law,) = (law for law in search_laws(window(known.sensors), known) if law.form == "proportional")
    again = count_law(law, window(known.sensors), known)
    assert again == law
    strange = replace(law, by_place=tuple(replace(one, place="elsewhere") for one in law.by_place))
    fitted = count_law(strange, window(known.sensors), known)
    assert fitted.by_place[0].factor == pytest.approx(law.by_place[0].factor)


def test_several_systems_are_counted_side_by_side() -> None:
    first, second = replace(network(seed=1, frames=60), name="a"), replace(network(seed=2, frames=40), name="b")
    pooled = pool_readings({s.name: window(s.sensors) for s in (first, second)})
    counted = count_law(BALANCE, pooled, System.of_sites([first, second]))
    alone = {s.name: count_law(BALANCE, window(s.sensors), s) for s in (first, second)}
    assert counted.rows == alone["a"].rows + alone["b"].rows
    assert counted.held == alone["a"].held + alone["b"].held
    assert sum(one.later_rows for one in counted.by_place) == sum(
        one.later_rows for law in alone.values() for one in law.by_place
    )


def test_a_change_needs_the_window_that_follows() -> None:
    level = np.cumsum(np.arange(40.0) % 5)
    flow = np.diff(level, append=level[-1]) / 0.5
    nodes = {"T": ("Tank", {}), "P": ("Pipe", {})}
    system = system_of(nodes, [("P", "ends_at", "T")], {"level_T": level, "flow_P": flow})
    frame = system.sensors.to_polars().filter(~pl.int_range(pl.len()).is_in([10, 11]))
    gappy = replace(system, sensors=type(system.sensors).from_wide(frame, sensors=system.sensors.sensors))
    law = Law(
        "proportional",
        "(t:Tank), (level_t:level)-[in]->(t) | in: <-[ends_at]-(Pipe).flow",
        ((1, Term("reading", "level", unit="m", change=True)),),
        ((1, Term("reading", "flow", role="in", unit="m3/h")),),
        Band(1e-9),
        factor=1.0,
    )
    counted = count_law(law, window(gappy.sensors, "30min"), gappy)
    assert counted.rows == 38 - 2  # neither before the gap nor at the end
    assert counted.held == counted.rows


def test_states_and_properties_restrict_rows_and_places() -> None:
    nodes = {"P": ("Pump", {"old": True}), "Q": ("Pump", {"old": False})}
    status = np.array(["closed", "open", None, "closed"], object)
    series = {f"{kind}_{pump}": values for pump in nodes for kind, values in {"flow": [0.0, 3, 0, 5]}.items()}
    series |= {f"status_{pump}": status.tolist() for pump in nodes}
    system = system_of(nodes, [], series)
    pattern = "(p:Pump), (f:flow)-[in]->(p), (s:status)-[in]->(p)"
    law = Law("equal", pattern, ((1, Term("reading", "flow", unit="m3/h")),), band=Band(0.1))
    readings = window(system.sensors)
    closed = count_law(replace(law, condition=Condition("state", "status", "closed")), readings, system)
    assert (closed.rows, closed.held) == (4, 2)
    old = count_law(replace(law, condition=Condition("property", "old", "true")), readings, system)
    assert [one.place for one in old.by_place] == ["P"] and old.rows == 4


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8))
def test_the_bound_lies_below_the_share(pairs: list[tuple[int, int]]) -> None:
    held = np.array([min(pair) for pair in pairs])
    rows = np.array([max(pair) for pair in pairs])
    bound = lower_bound(held, rows)
    if not rows.sum():
        assert bound is None
    else:
        assert bound is not None and 0 <= bound <= held.sum() / rows.sum()


def test_laws_survive_json() -> None:
    system = network()
    laws = search_laws(window(system.sensors), system)
    again = Laws.from_dict(json.loads(json.dumps(laws.to_dict())))
    assert list(again) == list(laws) and again.notes == laws.notes
    assert str(again) == str(laws)
