"""The four enrichments on a small network with known dependencies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.networks import network
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.records import DatedValue
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.errors import ConfigError, PatternError
from thence.language.items import Aspect, Role
from thence.search.exact.miner import Exact
from thence.statements.counting.recount import count_rules
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features
from thence.tables.transactions import TransactionTable


def table(net: System, mode: str, **options: object) -> TransactionTable:
    """Build a table of the network."""
    scope = options.pop("scope", "sensor" if mode == "lifted" else "kind")
    bins = options.pop("bins", 5)
    derive = options.pop("derive", ())
    return build(
        window(net.sensors, "30min", derive=derive),  # type: ignore[arg-type]
        mode=mode,
        graph=net.graph,
        binding=net.binding,
        ontology=net.ontology,
        discretizer=Discretizer(bins=bins, scope=scope),  # type: ignore[arg-type]
        **options,  # type: ignore[arg-type]
    )


def test_none_has_a_column_per_sensor() -> None:
    made = table(network(), "none", derive=("change", "hour", "weekday"))
    assert made.n_features == 14 * 2 + 2
    assert made.n_rows == 200
    hour = next(c for c in made.blocks[0].columns if c.feature.name == "hour")
    assert hour.context
    assert hour.codes[0, :4].tolist() == [0, 0, 1, 1]


def test_pooled_bins_are_shared_by_a_kind_and_own_bins_are_not() -> None:
    net = network()
    pooled = {c.feature.subject: c.values for c in table(net, "none").blocks[0].columns}
    assert pooled["flow_P1"] == pooled["flow_P2"]
    own = {c.feature.subject: c.values for c in table(net, "none", scope="sensor").blocks[0].columns}
    assert own["flow_P1"] != own["flow_P2"]


def test_grounded_adds_constant_context() -> None:
    made = table(network(), "grounded", hops=1, edges=True)
    columns = {str(c.feature): c for c in made.blocks[0].columns}
    length = columns["(P1:Pipe).length"]
    assert length.context
    assert length.is_static
    assert length.feature.unit == "m"
    assert columns["(P1:Pipe)"].feature.aspect is Aspect.LABEL
    assert "(P1)-[P1e]->(A)" in columns
    assert "[P1e:ends_at]" in columns
    assert "(P1:Pipe).name" not in columns
    rules = Exact(min_support=0.01, max_antecedents=2).mine(made)
    assert not any(rule.consequent.feature.aspect is Aspect.PROPERTY for rule in rules)


def test_classes_close_upwards() -> None:
    made = table(network(), "none")
    assert {"Pipe", "Link"} <= next(f for f in made.features if f.subject == "flow_P1").classes


def test_dated_properties_follow_the_value_in_force() -> None:
    net = network(frames=4)
    graph = KnowledgeGraph(
        net.graph.nodes.values(),
        net.graph.edges.values(),
        dated=[DatedValue("P1", "length", "2024-01-01T01:00", 999.0)],
    )
    net = System(net.sensors, graph, net.binding, net.ontology)
    made = table(net, "grounded", bins=6)
    column = next(c for c in made.blocks[0].columns if str(c.feature) == "(P1:Pipe).length")
    assert column.context
    first, _, third, _ = column.codes[0].tolist()
    assert column.item(first).holds(100.0)
    assert column.item(third).holds(999.0)


def test_existential_items_are_true_when_some_sensor_is() -> None:
    net = network()
    made = table(net, "existential")
    column = next(c for c in made.blocks[0].columns if c.feature.label == "flow" and len(c.feature.where) == 1)
    reading = column.feature.where[-1]
    values = window(net.sensors, "30min")
    flows = [i for i, s in enumerate(values.numeric) if s.kind == "flow"]
    expected = np.any([reading.mask(values.values[:, i]) for i in flows], axis=0)
    assert column.codes[0].tolist() == expected.astype(int).tolist()
    assert column.minable == (False, True)
    rules = Exact(min_support=0.05, max_antecedents=1).mine(made)
    for rule in rules:
        weaker = set(rule.consequent.feature.where)
        assert not weaker < set(rule.antecedent[0].feature.where), f"a tautology: {rule}"


def test_lifted_finds_the_conservation_of_mass() -> None:
    """Net inflow of a junction and its demand are the same number, so their ranks agree in every row."""
    made = table(network(), "lifted", min_embeddings=2)
    rules = Exact(max_antecedents=1, min_support=0.05, min_confidence=0.99).mine(made)
    balance = [
        r for r in rules if "net of the Pipes" in str(r.antecedent[0]) and r.consequent.feature.label == "demand"
    ]
    assert len(balance) == 5
    counted = count_rules(balance, made)
    assert counted.measure("confidence").min() == 1.0
    assert counted.measure("support").sum() == pytest.approx(1.0)
    assert "the net flow of the Pipes that end there minus the Pipes that start there" in balance[0].english


def test_aggregates_of_the_same_sensors_never_meet_in_a_rule() -> None:
    made = table(network(), "lifted", min_embeddings=2)
    for rule in Exact(max_antecedents=2, min_support=0.05, min_confidence=0.8).mine(made):
        items = (*rule.antecedent, rule.consequent)
        reads = [item.feature.reads for item in items if item.feature.reads]
        assert all(a.isdisjoint(b) for i, a in enumerate(reads) for b in reads[i + 1 :])


def test_a_total_needs_every_neighbour() -> None:
    """Without the flow of P1 the inflow of A is missing; a balance over the other pipes would be wrong."""
    net = network()
    blind = System(
        net.sensors.select([s.id for s in net.sensors.sensors if s.id != "flow_P1"]),
        net.graph,
        net.binding,
        net.ontology,
    )
    made = table(blind, "lifted", min_embeddings=2)
    star = next(
        b for b in made.blocks if b.pattern is not None and b.pattern.is_star and b.pattern.nodes[0].name == "j"
    )
    net_column = next(c for c in star.columns if c.feature.name.startswith("net of the Pipes"))
    places = [names[0] for names in star.embeddings]
    assert (net_column.codes[net_column.series[places.index("A")]] == -1).all()
    assert (net_column.codes[net_column.series[places.index("B")]] >= 0).all()


def test_given_patterns_and_context_of_variables() -> None:
    made = table(
        network(), "lifted", patterns=["(f:flow)-[in]->(p:Pipe)-[ends_at]->(j:Junction)<-[in]-(g:pressure)"], edges=True
    )
    (block,) = made.blocks
    assert block.n_embeddings == 6
    features_ = [str(c.feature) for c in block.columns]
    assert features_[:2] == ["(?f:flow).rank", "(?g:pressure).rank"]
    assert "(?p:Pipe).length" in features_
    assert all(c.feature.role is Role.VARIABLE for c in block.columns)


def test_kinds_are_found_whatever_their_capitals(tmp_path: Path) -> None:
    """Regression: kinds in patterns were lower-cased, so that a kind 'Temperature' never matched."""
    net = network(frames=10)
    names = {"flow": "Flow", "pressure": "FLOW", "demand": "demand"}
    sensors = net.sensors.with_kinds({s.id: names[s.kind] for s in net.sensors.sensors})
    loud = System(sensors, net.graph, net.binding, net.ontology)
    made = table(loud, "lifted", patterns="(f:Flow)-[in]->(p:Pipe)")
    made.save(tmp_path / "t.npz")
    again = TransactionTable.load(tmp_path / "t.npz")
    assert [b.pattern for b in again.blocks] == [b.pattern for b in made.blocks]
    assert made.features[0].label == "Flow"
    with pytest.raises(PatternError, match="ambiguous: FLOW or Flow"):
        table(loud, "lifted", patterns="(f:flow)-[in]->(p:Pipe)")
    small = table(net, "lifted", patterns="(f:FLOW)-[in]->(p:Pipe)")
    assert [s.kind for s in small.blocks[0].pattern.sensors] == ["flow"]  # type: ignore[union-attr]


def test_lifted_blocks_equal_their_flat_form() -> None:
    made = table(network(frames=30), "lifted", min_embeddings=2)
    for block in made.blocks:
        flat = block.flat()
        assert flat.shape == (block.n_rows, len(block.columns))
        for at, column in enumerate(block.columns):
            for e in range(block.n_embeddings):
                rows = flat[e * block.n_frames : (e + 1) * block.n_frames, at]
                series = column.series[e]
                expected = (
                    np.full(block.n_frames, -1) if series < 0 else np.broadcast_to(column.codes[series], rows.shape)
                )
                assert rows.tolist() == expected.tolist()


def test_bins_are_fitted_on_the_training_frames_alone() -> None:
    net = network()
    early = table(net, "lifted", min_embeddings=2, fit_frames=slice(0, 100))
    readings = window(net.sensors, "30min")
    first = readings.values[:100, 0]
    key = readings.numeric[0].id
    expected = np.sort(first)[[20, 40, 60, 80]]
    assert early.discretizer.binnings[key].bin_edges.tolist() == expected.tolist()
    again = build(
        readings, mode="lifted", graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=early.discretizer, min_embeddings=2,
    )  # fmt: skip
    assert all(
        (a.codes == b.codes).all()
        for x, y in zip(early.blocks, again.blocks, strict=True)
        for a, b in zip(x.columns, y.columns, strict=True)
    )


def test_edges_that_are_given_are_used_or_said_not_to_be() -> None:
    """Regression: bin edges of a kind were refused with absolute ranges, and ignored silently with ranks."""
    net = network()
    given = {"flow": (1.0, 2.0), "Pipe.length": (200.0,)}

    def made(scope: str) -> TransactionTable:
        return build(
            window(net.sensors, "30min"), mode="lifted", graph=net.graph, binding=net.binding,
            discretizer=Discretizer(bins=4, scope=scope, bin_edges=given), patterns="(f:flow)-[in]->(p:Pipe)",
        )  # fmt: skip

    absolute = made("kind")
    flow, length = absolute.blocks[0].columns
    assert [str(v) for v in flow.values] == ["[-inf, 1.0)", "[1.0, 2.0)", "[2.0, inf)"]
    assert [str(v) for v in length.values] == ["[-inf, 200.0)", "[200.0, inf)"]
    assert absolute.notes == ()
    assert made("sensor").notes == (
        "bin_edges of flow are not used: readings are ranks of each sensor unless scope='kind'",
    )


def test_a_method_that_ranks_do_not_use_is_said_not_to_be_used() -> None:
    """Regression: with ranks of each sensor every method silently gave the same bins."""
    net = network()

    def notes(scope: str) -> tuple[str, ...]:
        return build(
            window(net.sensors, "30min"), mode="lifted", graph=net.graph, binding=net.binding,
            discretizer=Discretizer("kmeans", bins=4, scope=scope), patterns="(f:flow)-[in]->(p:Pipe)",
        ).notes  # fmt: skip

    assert notes("sensor") == (
        "the method 'kmeans' is not used: readings are ranks of each sensor unless scope='kind'",
    )
    assert notes("kind") == ()


def test_raw_features_agree_with_the_table() -> None:
    net = network()
    raw = features(window(net.sensors, "30min"), mode="grounded", graph=net.graph, binding=net.binding)
    assert raw.n_rows == 200
    made = raw.discretize(Discretizer(bins=5))
    direct = table(net, "grounded")
    ours = {str(f): c for f, c in zip(made.features, made.blocks[0].columns, strict=True)}
    for column in direct.blocks[0].columns:
        theirs = ours[str(column.feature)]
        if column.feature.aspect is Aspect.MEASUREMENT:
            assert theirs.codes.tolist() == column.codes.tolist()


def test_impossible_requests_are_refused() -> None:
    net = network(frames=5)
    readings = window(net.sensors, "30min")
    with pytest.raises(ConfigError, match="did you mean 'lifted'"):
        build(readings, mode="liftd", graph=net.graph, binding=net.binding)
    with pytest.raises(ConfigError, match="needs a graph and a binding"):
        build(readings, mode="grounded")
    with pytest.raises(ConfigError, match="no raw table"):
        features(readings, mode="lifted", graph=net.graph, binding=net.binding)
    with pytest.raises(PatternError, match=r"no sensor has the kind 'heat'.*known kinds"):
        table(net, "lifted", patterns=["(s:heat)-[in]->(p:Pipe)"])
    empty = table(net, "lifted", min_embeddings=50)
    assert empty.blocks == ()
    assert any("has 50 or more embeddings" in note for note in empty.notes)
    assert len(Exact().mine(empty)) == 0
