"""Values that a sensor repeats: they have no rank, and are items of their own that are named by the value."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import thence as th
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import Edge, Node
from thence.data.readings.sensors import Sensor, SensorData
from thence.language.items import Feature, Interval, Role
from thence.search.refine import merge_intervals
from thence.statements.counting.recount import recount
from thence.tables.blocks import Block, Column

PATTERN = "(f:flow)-[in]->(p:Pump)-[feeds]->(t:Tank)<-[in]-(g:change)"


def plant(frames: int = 200, pumps: int = 3) -> th.System:
    """Pumps that are off most of the time; a tank rises only while its pump runs."""
    rng = np.random.default_rng(0)
    times = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1) + pl.duration(minutes=30 * (frames - 1)), "30m", eager=True
    )
    series, sensors, binding, nodes, edges = {}, [], {}, [], []
    for k in range(pumps):
        runs = rng.random(frames) < 0.2 + 0.1 * k
        flow = np.where(runs, 10 + rng.random(frames), 0.0)
        series[f"flow{k}"] = flow
        series[f"change{k}"] = np.where(runs, flow / 10, -rng.random(frames))
        sensors += [Sensor(f"flow{k}", "flow", "m3/h"), Sensor(f"change{k}", "change", "m")]
        binding |= {f"flow{k}": f"pump{k}", f"change{k}": f"tank{k}"}
        nodes += [Node(f"pump{k}", frozenset(["Pump"])), Node(f"tank{k}", frozenset(["Tank"]))]
        edges.append(Edge(f"e{k}", f"pump{k}", f"tank{k}", frozenset(["feeds"])))
    frame = pl.DataFrame({"time": times, **series})
    data = SensorData.from_wide(frame, sensors=sensors)
    return th.System(data, KnowledgeGraph(nodes, edges), th.graph.Binding(binding))


def lifted(system: th.System, like: th.TransactionTable | None = None) -> th.TransactionTable:
    return th.transactions(system, enrich="lifted", patterns=PATTERN, bins=5, like=like)


def test_off_is_an_item_with_the_name_of_the_value() -> None:
    table = lifted(plant())
    flow = next(column for column in table.blocks[0].columns if column.feature.label == "flow")
    assert flow.values[5:] == ("0",)
    readings = plant().sensors.to_polars()
    for k in range(3):
        off = (readings[f"flow{k}"] == 0).to_numpy()
        codes = flow.codes[flow.series[k]]
        assert ((codes == 5) == off).all()
        # Only what is left has ranks, and the largest readings are in the highest fifth.
        assert codes[int(readings[f"flow{k}"].arg_max() or 0)] == 4


def test_a_rule_says_that_the_pump_is_off() -> None:
    table = lifted(plant())
    rules = th.refine(th.Exact(min_support=0.05, min_confidence=0.95, max_antecedents=1).mine(table), table)
    sentences = [rule.english.split(": ")[1] for rule in rules]
    assert any(sentence.endswith("then the flow of p is 0 m³/h") for sentence in sentences)
    for rule in rules:
        for item in (*rule.antecedent, rule.consequent):
            assert str(th.Item.parse(str(item))) == str(item)


def test_merged_ranks_never_swallow_a_value_without_a_rank() -> None:
    table = lifted(plant())
    everything = th.Exact(min_support=0, min_confidence=0, max_antecedents=1).mine(table)
    merged = th.refine(everything, table, trivia=False, redundancy=False, min_confidence=0.0)
    assert all("∞" not in rule.english for rule in merged)
    recounted = th.evaluate.count_rules(merged, table)
    assert (recounted.counts.n_both == merged.counts.n_both).all()
    assert (recounted.counts.n_antecedent == merged.counts.n_antecedent).all()


def test_all_ranks_together_are_any_other_value() -> None:
    rank = Feature("f", role=Role.VARIABLE, label="flow", place="p", relative=True, unit="m3/h")
    values = (Interval(-math.inf, 0.5), Interval(0.5, math.inf), "0")
    columns = (
        Column(rank, values, np.array([[0, 1, 2, 0, 1, 2]], np.int16)),
        Column(Feature("s", label="state"), ("on", "off"), np.array([[0, 0, 1, 0, 0, 1]], np.int16)),
    )
    table = th.TransactionTable((Block(columns, 6),))
    rules = recount(np.array([[0], [1]]), np.array([3, 3]), table)
    (merged,) = merge_intervals(rules, table)
    assert str(merged.antecedent[0]) == "(?f:flow).rank ≠ '0'"
    assert merged.english.startswith("if the flow of p is not 0 m³/h, then")


def test_later_readings_are_coded_like_the_first() -> None:
    first = lifted(plant())
    later = lifted(plant(frames=100), like=first)
    flow = next(column for column in later.blocks[0].columns if column.feature.label == "flow")
    assert flow.values[5:] == ("0",)
    rules = th.Exact(min_support=0.05, max_antecedents=1).mine(first)
    assert len(th.evaluate.count_rules(rules, later)) == len(rules)
