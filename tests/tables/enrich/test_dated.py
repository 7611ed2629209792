"""Dated properties in each enrichment: the value that is valid at the start of each frame."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.networks import network
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import DatedValue, Node
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.errors import InputError
from thence.language.items import Aspect
from thence.search.exact.miner import Exact
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features
from thence.tables.transactions import TransactionTable

FRAMES = 8


def dated_network() -> System:
    """Pipe P1 is relined in the third frame; the state of P2 is known from the second frame until the sixth only."""
    net = network(frames=FRAMES)
    dated = [
        DatedValue("P1", "length", "2024-01-01T01:00", 999.0),
        DatedValue("P2", "state", "2024-01-01T00:30", "open"),
        DatedValue("P2", "state", "2024-01-01T01:15", "shut"),
        DatedValue("P2", "state", "2024-01-01T02:30", None),
        DatedValue("P3", "state", "2030-01-01", "open"),
    ]
    return System(
        net.sensors,
        KnowledgeGraph(net.graph.nodes.values(), net.graph.edges.values(), dated=dated),
        net.binding,
        net.ontology,
    )


def table(mode: str, **options: object) -> TransactionTable:
    net = dated_network()
    return build(
        window(net.sensors, "30min"), mode=mode, graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=Discretizer(bins=7, scope="kind"), **options,  # type: ignore[arg-type]
    )  # fmt: skip


STATES = [None, "open", "open", "shut", "shut", None, None, None]
LENGTHS = [100.0, 100.0, *[999.0] * 6]


def holds(column: object, series: int, expected: list) -> bool:
    """Return whether the codes of a column stand for these values, frame by frame."""
    codes = np.broadcast_to(column.codes[series], (FRAMES,)).tolist()  # type: ignore[attr-defined]
    return all(
        code < 0 if value is None else code >= 0 and column.item(code).holds(value)  # type: ignore[attr-defined]
        for code, value in zip(codes, expected, strict=True)
    )


def test_grounded_knows_properties_that_have_dates_only() -> None:
    """Regression: a property without an undated value was left out. One without a value in any frame still is."""
    columns = {str(c.feature): c for c in table("grounded").blocks[0].columns}
    assert holds(columns["(P2:Pipe).state"], 0, STATES)
    assert holds(columns["(P1:Pipe).length"], 0, LENGTHS)
    assert "(P3:Pipe).state" not in columns


def test_raw_tables_follow_dates_too() -> None:
    net = dated_network()
    raw = features(window(net.sensors, "30min"), mode="grounded", graph=net.graph, binding=net.binding)
    at = [str(f) for f in raw.features].index("(P1:Pipe).length")
    assert raw.numbers[:, at].tolist() == LENGTHS


def test_lifted_follows_dates() -> None:
    """Regression: dates were ignored silently, and every frame had the undated value."""
    made = table("lifted", patterns="(f:flow)-[in]->(p:Pipe)")
    (block,) = made.blocks
    columns = {c.feature.name: c for c in block.columns if c.feature.aspect is Aspect.PROPERTY}
    place = [names[0] for names in block.embeddings].index
    assert holds(columns["length"], columns["length"].series[place("P1")], LENGTHS)
    assert holds(columns["length"], columns["length"].series[place("P2")], [250.0] * FRAMES)
    assert holds(columns["state"], columns["state"].series[place("P2")], STATES)
    assert holds(columns["state"], columns["state"].series[place("P4")], [None] * FRAMES)
    rules = Exact(min_support=0.01, max_antecedents=2).mine(made)
    assert any(item.feature.name == "state" for rule in rules for item in rule.antecedent)


def test_existential_conditions_hold_while_their_value_is_in_force() -> None:
    """Regression: the value of the first frame was used for all frames."""
    made = table("existential")
    flows = window(dated_network().sensors, "30min")
    at = next(i for i, s in enumerate(flows.numeric) if s.id == "flow_P2")
    seen = 0
    for column in made.blocks[0].columns:
        if column.feature.label == "flow" and [i.feature.name for i in column.feature.where[:-1]] == ["state"]:
            wanted, reading = column.feature.where[0], column.feature.where[-1]
            for frame, state in enumerate(STATES):
                expected = int(reading.holds(float(flows.values[frame, at]))) if wanted.value == state else -1
                assert column.codes[0, frame] == expected
            seen += 1
    assert seen >= 2


def test_a_property_of_too_many_texts_is_refused() -> None:
    """16-bit codes cannot hold them."""
    many = 33_000
    graph = KnowledgeGraph([Node(f"P{i}", frozenset({"Pipe"}), {"serial": f"n{i}"}) for i in range(many)])
    net = network(frames=2)
    ids = [s.id for s in net.sensors.sensors][:1]
    with pytest.raises(InputError, match=r"'serial' has 33,000 different values.*properties="):
        build(
            window(net.sensors.select(ids), "30min"), mode="lifted", graph=graph, binding={ids[0]: "P0"},  # type: ignore[arg-type]
            patterns="(p:Pipe)",
        )  # fmt: skip
