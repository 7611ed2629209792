"""Generalisation: rules at places and times that they were not mined on."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.helpers.networks import network
from thence.errors import ConfigError
from thence.evaluate.generalisation import generalisation
from thence.graph.knowledge_graph import KnowledgeGraph
from thence.graph.ontology import Ontology
from thence.graph.system import System


def test_lifted_rules_hold_where_they_were_not_mined_and_grounded_ones_cannot_apply() -> None:
    result = generalisation(
        network(frames=400), unseen=0.3, seed=1, bins=4, min_support=0.05, min_embeddings=2, max_antecedents=1
    )
    lifted = result.modes["lifted"]
    assert lifted.unseen_coverage > 0.8
    assert lifted.unseen_confidence is not None
    assert lifted.unseen_confidence > 0.8
    for mode in ("none", "grounded"):
        assert result.modes[mode].unseen_coverage == 0.0
        assert result.modes[mode].unseen_confidence is None
    assert len(result.unseen_nodes) == round(0.3 * 10)
    assert not set(result.unseen_nodes) & set(result.seen_nodes)
    summary = json.loads(json.dumps(result.describe()))
    assert set(summary["modes"]["lifted"]) >= {
        "rules", "seen_confidence", "unseen_confidence", "seen_coverage", "unseen_coverage",
    }  # fmt: skip
    assert "lifted" in str(result)


def test_rules_of_one_network_are_applied_to_another() -> None:
    result = generalisation(
        network(seed=1), enrich=["none", "lifted"], other=network(seed=2), bins=4, min_support=0.05, min_embeddings=2
    )
    assert result.split == "another system"
    assert result.modes["lifted"].unseen_coverage > 0.5
    assert result.modes["none"].unseen_coverage == 0.0


def test_capitals_and_a_relation_called_in_change_nothing() -> None:
    """Patterns with capital kinds or a relation IN were parsed back differently: an error, or arrays of two shapes."""
    plain = network(frames=100)
    options = {"enrich": "lifted", "seed": 1, "bins": 4, "min_embeddings": 2, "max_antecedents": 1}
    loud = renamed(plain, {"flow": "Flow", "pressure": "PRESSURE"}, {"ends_at": "IN", "starts_at": "in"})
    quiet = renamed(plain, {}, {"ends_at": "ia", "starts_at": "ib"})
    expected = generalisation(quiet, **options).modes["lifted"].describe()  # type: ignore[arg-type]
    assert generalisation(loud, **options).modes["lifted"].describe() == expected  # type: ignore[arg-type]


def renamed(net: System, kinds: dict[str, str], relations: dict[str, str]) -> System:
    """Return the network with other names of kinds and relations, and without ontology."""
    edges = [replace(e, labels=frozenset(relations[x] for x in e.labels)) for e in net.graph.edges.values()]
    data = net.sensors.with_kinds({s.id: kinds.get(s.kind, s.kind) for s in net.sensors.sensors})
    return System(data, KnowledgeGraph(net.graph.nodes.values(), edges), net.binding, Ontology({}))


def test_a_region_is_connected() -> None:
    net = network(frames=60)
    result = generalisation(net, enrich="none", split="region", unseen=0.4, seed=3, min_support=0.1)
    hidden = set(result.unseen_nodes)
    start = next(iter(hidden))
    reached = {start}
    while True:
        more = {n for r in reached for n in net.graph.neighbours(r) if n in hidden} - reached
        if not more:
            break
        reached |= more
    assert reached == hidden or "R" in net.graph.neighbours(start, hops=2)


def test_the_same_seed_gives_the_same_result() -> None:
    net = network(frames=100)
    first, second = (generalisation(net, enrich="lifted", seed=5, min_embeddings=2, bins=4) for _ in range(2))
    assert first.describe() == second.describe()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"enrich": "lift"}, "did you mean 'lifted'"),
        ({"unseen": 1.5}, "unseen must be between 0 and 1"),
        ({"split": "half"}, "use 'random' or 'region'"),
        ({"kinds": ["flw"]}, "did you mean 'flow'"),
    ],
)
def test_invalid_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        generalisation(network(frames=20), **settings)
