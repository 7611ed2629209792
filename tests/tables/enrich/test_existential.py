"""Existential statements follow subclasses: a sensor in an Office is a sensor in a Room."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from tests.helpers.buildings import ONTOLOGY, START, building
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.language.items import Feature, Value
from thence.search.exact.miner import Exact
from thence.tables.admissibility import trivial_columns
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable

FRAMES = 24
SEEDS = range(4)


def table(net: System) -> TransactionTable:
    return build(
        window(net.sensors, "1h"), mode="existential", graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=Discretizer(bins=3),
    )  # fmt: skip


def classes_of(net: System, node: str) -> set[str]:
    labels = net.graph.node(node).labels
    return {name for label in labels for name in {label, *ONTOLOGY.ancestors(label)}}


def readings_of(net: System) -> dict[str, list[Value | None]]:
    return window(net.sensors, "1h").to_polars().to_dict(as_series=False)


def members(net: System, feature: Feature) -> frozenset[str]:
    """The sensors of a kind in the nodes of a class."""
    return frozenset(
        sensor.id for sensor in net.sensors.sensors
        if sensor.kind == feature.label and feature.subject in classes_of(net, net.binding[sensor.id])
    )  # fmt: skip


def witnesses(net: System, feature: Feature) -> frozenset[tuple[str, int]]:
    """The sensors and frames of which a statement speaks."""
    times = [START + timedelta(hours=frame) for frame in range(FRAMES)]
    return frozenset(
        (sensor, frame)
        for sensor in members(net, feature)
        for frame, time in enumerate(times)
        if all(i.holds(net.graph.value(net.binding[sensor], i.feature.name, time)) for i in feature.where[:-1])
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_statement_is_true_if_some_sensor_in_the_class_or_a_subclass_satisfies_it(seed: int) -> None:
    """Regression: only nodes with exactly the class were looked at, so that an Office was no Room."""
    net = building(seed, frames=FRAMES)
    readings = readings_of(net)
    for column in table(net).blocks[0].columns:
        speaks = witnesses(net, column.feature)
        for frame, code in enumerate(column.codes[0].tolist()):
            seen = [readings[s][frame] for s, f in speaks if f == frame and readings[s][frame] is not None]
            expected = max((int(column.feature.where[-1].holds(value)) for value in seen), default=-1)
            assert code == expected, (str(column.feature), frame)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_class_has_its_statements_unless_a_more_specific_one_has_the_same_sensors(seed: int) -> None:
    net = building(seed, frames=FRAMES)
    plain = [c.feature for c in table(net).blocks[0].columns if len(c.feature.where) == 1]
    named = {(feature.label, feature.subject) for feature in plain}
    by_sensors: dict[tuple[str, frozenset[str]], set[str]] = {}
    for sensor in net.sensors.sensors:
        for name in classes_of(net, net.binding[sensor.id]):
            found = members(net, Feature(name, label=sensor.kind))
            by_sensors.setdefault((sensor.kind, found), set()).add(name)
    assert len(named) == len(by_sensors)
    for (kind, _), names in by_sensors.items():
        (chosen,) = [name for name in names if (kind, name) in named]
        assert not any(chosen in ONTOLOGY.ancestors(other) for other in names)


@pytest.mark.parametrize("seed", SEEDS)
def test_statements_of_which_one_implies_the_other_never_meet(seed: int) -> None:
    """Statements on a class and a superclass, on the same reading and the same property."""
    net = building(seed, frames=FRAMES)
    made = table(net)
    columns = made.blocks[0].columns
    trivial = trivial_columns(made.blocks[0])
    assert trivial is not None
    spoken = [witnesses(net, column.feature) for column in columns]
    seen = 0
    for a, first in enumerate(columns):
        for b, second in enumerate(columns):
            x, y = first.feature, second.feature
            same = (x.label, x.name, x.where[-1].test_text) == (y.label, y.name, y.where[-1].test_text)
            names = {i.feature.name for i in y.where[:-1]} <= {i.feature.name for i in x.where[:-1]}
            if same and names and x.subject != y.subject and spoken[a] <= spoken[b]:
                assert trivial[a, b] and trivial[b, a], (str(x), str(y))
                seen += 1
    assert seen
    rules = Exact(min_support=0.1, min_confidence=0.9, max_antecedents=2).mine(made)
    position = {column.feature: at for at, column in enumerate(columns)}
    for rule in rules:
        at = [position[item.feature] for item in (*rule.antecedent, rule.consequent)]
        assert not trivial[np.ix_(at, at)].any(), str(rule)
