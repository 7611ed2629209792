"""Evidence cards of rules, against brute force over the rows of the table that was mined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.networks import network
from tests.show.reports.worlds import HOSTILE, world
from thence.language.english import format_test
from thence.language.items import Item
from thence.runs.run import Run
from thence.search.refine.counterexamples import find_exceptions
from thence.show.reports.cards import Cards
from thence.show.reports.material import Material, material_of
from thence.show.reports.periods import as_milliseconds
from thence.show.reports.schema import Card, Span
from thence.statements.counting.by_place import name_places
from thence.tables.blocks import Block
from thence.tables.transactions import FeatureTable, TransactionTable

HOUR = 3_600_000
MODES = ("none", "grounded", "existential", "lifted")


def mined(system: Any, **options: Any) -> Run:
    given: dict[str, Any] = {"windows": "1h", "bins": 3, "refine": None, "min_support": 0.02, "min_confidence": 0.6}
    return th.mine(system, progress="off", **{**given, "max_antecedents": 1, **options})


def states_by_hand(block: Block, embedding: int, antecedent: list[Item], consequent: Item) -> list[str]:
    """The state of a rule in every frame of an embedding, from the codes written out."""
    codes = block.flat(slice(embedding, embedding + 1))
    at = {column.feature: number for number, column in enumerate(block.columns)}

    def look(item: Item, row: Any) -> bool | None:
        column = block.columns[at[item.feature]]
        code = int(row[at[item.feature]])
        return None if code < 0 else item.holds(column.values[code])

    out = []
    for row in codes:
        said = [look(item, row) for item in (*antecedent, consequent)]
        if any(one is None for one in said):
            out.append("missing")
        else:
            out.append("held" if all(said) else "violated" if all(said[:-1]) else "")
    return out


def frames_of(spans: list[Span], step: int = HOUR) -> set[int]:
    return {moment for one in spans for moment in range(one["start"], one["end"], step)}


def block_of(run: Run, position: int) -> Block:
    assert isinstance(run.table, TransactionTable)
    pattern = run.rules.rule(position).pattern
    return next(one for one in run.table.blocks if str(one.pattern or "") == pattern)


def check_card(run: Run, position: int, card: Card) -> None:
    """A card tells what the rows of the table say."""
    rule, counts = run.rules.rule(position), run.rules.counts
    block = block_of(run, position)
    history = card["history"]
    assert history is not None
    assert sum(history["applied"]) == int(counts.n_antecedent[position])
    assert sum(history["held"]) == int(counts.n_both[position])
    assert len(history["edges"]) == len(history["applied"]) + 1 <= 151
    names = name_places(block, range(block.n_embeddings)) if block.is_lifted else [""]
    embedding = names.index(card["place"]) if block.is_lifted else 0
    states = states_by_hand(block, embedding, list(rule.antecedent), rule.consequent)
    times = block.times if block.site_of is None else block.sites[int(block.site_of[embedding])].times
    assert times is not None
    moments = as_milliseconds(times).tolist()
    first, last = (card["traces"][0]["times"][end] for end in (0, -1)) if card["traces"] else (moments[0], moments[-1])
    for state, shown in (("held", card["held"]), ("violated", card["violated"])):
        by_hand = {time for time, one in zip(moments, states, strict=True) if one == state and first <= time <= last}
        assert frames_of(shown) == by_hand
    assert all(1 <= len(trace["times"]) <= 300 for trace in card["traces"])
    assert all(len(trace["times"]) == len(trace["values"]) for trace in card["traces"])
    json.dumps(card, allow_nan=False)


@settings(max_examples=12)
@given(seed=st.integers(0, 2**16), mode=st.sampled_from(MODES), frames=st.sampled_from([1, 3, 40, 400]))
def test_a_card_marks_the_rows_of_the_table_and_its_history_adds_up(seed: int, mode: str, frames: int) -> None:
    run = mined(world(seed, frames=frames), enrich=mode)
    cards = Cards(material_of(run))
    for position in range(0, len(run.rules), max(len(run.rules) // 6, 1)):
        card = cards.card("rule", position)
        assert card is not None
        check_card(run, position, card)


@settings(max_examples=4)
@given(seed=st.integers(0, 2**16))
def test_rows_without_a_consequent_count_if_the_run_counts_over_all_rows(seed: int) -> None:
    run = mined(world(seed, frames=50, missing=0.4), enrich="lifted", denominator="all")
    cards = Cards(material_of(run))
    for position in range(min(len(run.rules), 8)):
        card = cards.card("rule", position)
        assert card is not None and card["history"] is not None
        assert sum(card["history"]["applied"]) == int(run.rules.counts.n_antecedent[position])
        assert sum(card["history"]["held"]) == int(run.rules.counts.n_both[position])


@pytest.fixture(scope="module")
def pipes() -> Run:
    return mined(network(500), enrich="lifted", bins=5, refine=True, min_confidence=0.5, max_antecedents=2)


def test_places_have_the_counts_and_the_exceptions_of_the_rule(pipes: Run) -> None:
    table = pipes.table
    assert isinstance(table, TransactionTable) and len(pipes.rules)
    told = find_exceptions(pipes.rules, table)
    cards = Cards(material_of(pipes))
    for position in range(len(pipes.rules)):
        card = cards.card("rule", position)
        assert card is not None
        shown = card["places"]
        assert sum(one["rows"] for one in shown) == int(pipes.rules.counts.n_antecedent[position])
        assert sum(one["held"] for one in shown) == int(pipes.rules.counts.n_both[position])
        assert card["n_places"] == len(shown)
        failing = set(told.filter(pl.col("rule") == position)["place"].to_list())
        assert {one["name"] for one in shown if one["exception"]} == failing
        flags = [one["exception"] for one in shown]
        assert flags == sorted(flags, reverse=True)
        for one in shown:
            assert one["share"] == pytest.approx(one["held"] / one["rows"], abs=1e-6)
            assert one["low"] is None or one["low"] <= one["share"]
        assert card["place"] in {one["name"] for one in shown}


def test_bands_are_on_the_scale_of_the_sensor(pipes: Run) -> None:
    """Where an item holds, the trace is in the band; where it does not, it is outside."""
    cards = Cards(material_of(pipes))
    seen = 0
    for position in range(len(pipes.rules)):
        rule, card = pipes.rules.rule(position), cards.card("rule", position)
        assert card is not None
        block = block_of(pipes, position)
        embedding = name_places(block, range(block.n_embeddings)).index(card["place"])
        for side, items in (("if", rule.antecedent), ("then", (rule.consequent,))):
            for item in items:
                column = next(one for one in block.columns if one.feature == item.feature)
                if column.context:
                    continue
                bands = [
                    (trace, band)
                    for trace in card["traces"]
                    for band in trace["bands"]
                    if band["side"] == side and band["text"].startswith(format_test(item))
                ]
                codes = np.broadcast_to(column.codes[column.series[embedding]], (block.n_frames,))
                held = np.isin(codes, column.codes_of(item))
                assert block.times is not None
                start = as_milliseconds(block.times).tolist().index(card["traces"][0]["times"][0])
                for trace, band in bands[:1]:
                    seen += 1
                    low = -np.inf if band["low"] is None else band["low"]
                    high = np.inf if band["high"] is None else band["high"]
                    for value, inside in zip(trace["values"], held[start:].tolist(), strict=False):
                        if value is not None and min(abs(value - low), abs(value - high)) > 1e-2:
                            assert (low <= value < high) == inside
    assert seen > 10


def test_an_aggregate_is_the_series_of_the_neighbours(pipes: Run) -> None:
    cards, readings = Cards(material_of(pipes)), pipes.readings
    assert readings is not None
    column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
    checked = 0
    for position in range(len(pipes.rules)):
        card = cards.card("rule", position)
        assert card is not None
        for trace in card["traces"]:
            if trace["name"] != "the total flow of the Pipes that end there":
                continue
            ending = [edge.source for edge in network(1).graph.in_edges(trace["node"], "ends_at")]  # type: ignore[union-attr]
            sensors = [id for id, node in network(1).binding.items() if node in ending and id in column]  # type: ignore[union-attr]
            flows = [id for id in sensors if readings.numeric[column[id]].kind == "flow"]
            start = as_milliseconds(readings.times).tolist().index(trace["times"][0])
            total = readings.values[start : start + len(trace["values"]), [column[id] for id in flows]].sum(axis=1)
            assert np.allclose([one for one in trace["values"] if one is not None], total, atol=0.01)
            assert set(ending) <= set(card["nodes"])
            assert trace["role"] == trace["name"]
            checked += 1
    assert checked


def test_nodes_and_edges_are_those_of_the_graph(pipes: Run) -> None:
    graph = network(1).graph
    assert graph is not None
    linked = {(edge.source, edge.target) for edge in graph.edges.values()}
    for position in range(len(pipes.rules)):
        card = Cards(material_of(pipes)).card("rule", position)
        assert card is not None
        assert card["nodes"] and set(card["nodes"]) <= set(graph.nodes)
        assert all((source, target) in linked for source, target in card["edges"])
        assert {end for edge in card["edges"] for end in edge} <= set(card["nodes"])


def test_names_from_data_are_kept_as_they_are() -> None:
    run = mined(world(1), enrich="none")
    card = Cards(material_of(run)).card("rule", 0)
    assert card is not None
    assert all(trace["node"] in HOSTILE for trace in card["traces"])
    assert json.loads(json.dumps(card)) == card


def test_a_statement_about_some_sensor_shows_one_that_satisfies_it() -> None:
    run = mined(world(2, frames=200, missing=0.0), enrich="existential")
    cards = Cards(material_of(run))
    for position in range(min(10, len(run.rules))):
        rule, card = run.rules.rule(position), cards.card("rule", position)
        assert card is not None and len(card["traces"]) >= 1
        reading = rule.consequent.feature.where[-1]
        trace = next(one for one in card["traces"] if any(band["side"] == "then" for band in one["bands"]))
        held = frames_of(card["held"])
        values = [
            trace["states"][int(value)] if trace["states"] else value
            for time, value in zip(trace["times"], trace["values"], strict=True)
            if time in held and value is not None
        ]
        assert any(reading.holds(value) for value in values)


@pytest.mark.parametrize("derive", ["lag:1h", "change", "switch", "duration", "within:2h"])
def test_features_of_time_have_traces_and_bands(derive: str) -> None:
    run = mined(world(3, frames=300, missing=0.0), enrich="none", derive=[derive, "switch"], min_confidence=0.3)
    chosen = [
        at
        for at in range(len(run.rules))
        if any(item.feature.name for item in (*run.rules.rule(at).antecedent, run.rules.rule(at).consequent))
    ]
    assert chosen
    cards = Cards(material_of(run))
    for position in chosen[:20]:
        card = cards.card("rule", position)
        assert card is not None
        check_card(run, position, card)
        assert card["traces"] and all(trace["bands"] for trace in card["traces"])
        names = {item.feature.name for item in run.rules.rule(position).antecedent}
        if any(name.startswith("lag:") for name in names):
            assert any(trace["role"].endswith("1 h earlier") for trace in card["traces"])


def test_the_rules_of_several_sites_are_shown_at_a_place_of_one_of_them() -> None:
    sites = [world(4, frames=120, name="north"), world(5, frames=60, name="south")]
    run = mined(sites, enrich="lifted")
    cards = Cards(material_of(run))
    for position in range(min(12, len(run.rules))):
        card = cards.card("rule", position)
        assert card is not None
        check_card(run, position, card)
        assert {one["name"].partition("/")[0] for one in card["places"]} <= {"north", "south"}


def test_a_table_without_bins_has_cards_too() -> None:
    system = world(6, frames=100)
    run = th.mine(system, windows="1h", enrich="none", miner="ts-narm", evaluations=2000, progress="off", seed=1)
    assert isinstance(run.table, FeatureTable) and len(run.rules)
    for position in range(min(5, len(run.rules))):
        card = Cards(material_of(run)).card("rule", position)
        assert card is not None and card["history"] is not None
        assert sum(card["history"]["held"]) == int(run.rules.counts.n_both[position])


def test_a_table_whose_rows_have_no_time_has_no_cards() -> None:
    run = th.mine(pl.DataFrame({"a": ["x", "x", "y"] * 9, "b": ["u", "u", "v"] * 9}), confirm=False, progress="off")
    assert len(run.rules)
    assert Cards(material_of(run)).card("rule", 0) is None


def test_without_the_data_there_is_no_card(pipes: Run) -> None:
    alone = Material(pipes)
    assert Cards(alone).card("rule", 0) is None
    assert Cards(alone).card("law", 0) is None
    assert Cards(alone).card("control", 0) is None


def test_why_says_what_is_shown(pipes: Run) -> None:
    card = Cards(material_of(pipes)).card("rule", 0)
    assert card is not None
    assert card["why"].endswith(".") and "window" in card["why"]
    assert card["key"] == "rule-0"


def unordered(card: Card | None) -> dict[str, Any]:
    """A card whose traces are in the order of their names; rules of a file have their conditions in another order."""
    assert card is not None
    traces = sorted(card["traces"], key=lambda trace: trace["name"])
    return {**card, "traces": traces, "place": "", "nodes": sorted(card["nodes"]), "edges": sorted(card["edges"])}


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_was_read_from_disk_has_the_same_cards(mode: str, tmp_path: Path) -> None:
    config = th.Config.from_mapping({"input": {"dataset": "toy"}, "enrich": {"mode": mode}, "windows": {"every": "1h"}})
    run = th.mine(config=config, out=tmp_path / "run", confirm=False, progress="off")
    again = th.load_run(tmp_path / "run")
    assert len(run.rules)
    before, after = Cards(material_of(run)), Cards(material_of(again))
    for position in range(len(run.rules)):
        assert unordered(after.card("rule", position)) == unordered(before.card("rule", position))


def test_events_of_some_sensor_show_one_with_the_event() -> None:
    run = mined(world(3, frames=300, missing=0.0), enrich="existential", derive=["switch"], min_confidence=0.3)
    chosen = [at for at in range(len(run.rules)) if run.rules.rule(at).consequent.feature.name == "switch"]
    assert chosen and run.readings is not None
    for position in chosen[:5]:
        card = Cards(material_of(run)).card("rule", position)
        assert card is not None
        check_card(run, position, card)
        trace = next(one for one in card["traces"] if any(band["side"] == "then" for band in one["bands"]))
        codes, values = run.readings.derived_states["switch"][trace["sensor"]]
        wanted = run.rules.rule(position).consequent.feature.where[-1]
        assert any(wanted.holds(value) for value in {values[code] for code in codes if code >= 0})  # type: ignore[arg-type]
