"""Categorical sensors: beside numeric ones of the same kind, and with more states than a column can hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.data.graph.binding import Binding
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.windows import window
from thence.errors import InputError
from thence.tables.transactions import TransactionTable

FRAMES = 40


def rooms(kind: str) -> tuple[th.SensorData, KnowledgeGraph, Binding]:
    """Four rooms in a row, each with a numeric and a categorical sensor of the same kind."""
    rng = np.random.default_rng(0)
    graph = KnowledgeGraph(
        [Node(f"r{i}", frozenset({"Room"})) for i in range(4)],
        [Edge(f"e{i}", f"r{i}", f"r{i + 1}", frozenset({"adj"})) for i in range(3)],
    )
    times = pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 1, 2), "30m", eager=True)[:FRAMES]
    series = {"time": times, **{f"t{i}": rng.normal(size=FRAMES) for i in range(4)}}
    series |= {f"d{i}": rng.choice(["open", "shut"], FRAMES) for i in range(4)}
    frame = pl.DataFrame(series)
    names = [name for name in frame.columns if name != "time"]
    sensors = th.read_sensors(frame, kinds=dict.fromkeys(names, kind))
    return sensors, graph, Binding({name: f"r{name[1]}" for name in names})


@pytest.mark.parametrize("scope", ["sensor", "kind"])
@pytest.mark.parametrize("patterns", ["auto", "paths", "(s)-[in]->(a:Room)-[adj]->(b:Room)"])
def test_numbers_and_states_of_one_kind_are_both_read(scope: str, patterns: str) -> None:
    """Regression: states replaced the numbers, which were lost, and stars failed with a KeyError."""
    sensors, graph, binding = rooms("air")
    table = th.transactions(
        sensors, graph, binding, windows="30min", enrich="lifted", patterns=patterns, min_embeddings=1, scope=scope
    )
    readings = window(sensors, "30min")
    assert table.blocks
    for block in table.blocks:
        assert block.pattern is not None
        own = [c for c in block.columns if not c.feature.reads]
        assert len({c.feature for c in block.columns}) == len(block.columns)
        for at, variable in enumerate(block.pattern.sensors):
            numbers, states = [c for c in own if c.feature.subject == variable.name]
            assert states.values == ("open", "shut")
            for e, names in enumerate(block.embeddings):
                sensor = names[len(block.pattern.nodes) + at]
                read, silent = (numbers, states) if sensor.startswith("t") else (states, numbers)
                assert silent.series[e] < 0
                codes = read.codes[read.series[e]]
                if sensor.startswith("d"):
                    assert codes.tolist() == readings.states[sensor][0].tolist()
                else:
                    assert (codes >= 0).all()


def test_aggregates_are_over_the_numbers_alone() -> None:
    """The mean over the neighbours in a role is the mean of their numbers, whatever states they have besides."""
    sensors, graph, binding = rooms("air")
    made = {}
    for ids in (sensors.ids, [f"t{i}" for i in range(4)]):
        table = th.transactions(
            sensors.select(ids), graph, binding, enrich="lifted", patterns="stars", min_embeddings=1, scope="kind"
        )
        (block,) = table.blocks
        focus = [names[0] for names in block.embeddings]
        made[len(ids)] = {
            (str(c.feature), place): [
                str(c.values[code]) if code >= 0 else "" for code in c.codes[c.series[focus.index(place)]]
            ]
            for c in block.columns
            for place in set(focus)
            if c.feature.reads
        }
    assert made[8] == made[4]


def test_more_states_than_a_column_holds_are_refused() -> None:
    """Regression: 16-bit codes overflowed, which gave wrong states and missing values."""
    many = 40_000
    times = pl.datetime_range(pl.datetime(2020, 1, 1), interval="1m", end=pl.datetime(2021, 1, 1), eager=True)[:many]
    frame = pl.DataFrame({"time": times, "serial": [f"n{i}" for i in range(many)]})
    sensors = th.read_sensors(frame)
    graph = KnowledgeGraph([Node("r", frozenset({"Room"}))])
    message = r"(?s)serial.*has 40,000 different values; a column can hold at most 32,767.*ignore="
    for mode in ("none", "grounded", "existential", "lifted"):
        with pytest.raises(InputError, match=message):
            th.transactions(sensors, graph, Binding({"serial": "r"}), windows="1min", enrich=mode)
    with pytest.raises(InputError, match=message):
        TransactionTable.from_frame(frame.select("serial"))
