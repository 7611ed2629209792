"""Enrichment ``existential``: "some flow sensor in a Pipe with length 843–895 m reads 23–31 m³/h".

Each item is a boolean column. It is true in a frame if at least one sensor of the kind, in such a node, reads in the
range, false if none does, and missing if none of them has a reading. A node is in all its classes: where an Office is a
Room, a sensor in an Office is a sensor in a Room. There are items for every class of a node with sensors and for its
superclasses, unless a more specific class has the same sensors. A dated property counts in the frames in which its
value is valid. Sensor ids are dropped: any sensor may satisfy an item, and different items may be satisfied by
different sensors. This is the encoding of Naive SemRL; its weakness is that items are frequent because there are many
candidates. This module builds tables; it does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from thence.data.graph.matching import most_specific_label
from thence.data.graph.ontology import Ontology
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.tables.blocks import Block, Column
from thence.tables.discretization import Discretizer
from thence.tables.enrich.base import Enrichment, Frames
from thence.tables.enrich.grounded import (
    add_property_groups,
    calendar_columns,
    derived_state_columns,
    fit_missing,
    node_facts,
    numeric_readings,
    property_columns,
    reading_group,
    reading_groups,
    state_columns,
)
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import TransactionTable

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Condition:
    """Conditions on a node, and whether they hold there (one entry, or one per frame)."""

    where: tuple[Item, ...] = ()
    there: Bools = field(default_factory=lambda: np.ones(1, bool))


@dataclass(frozen=True)
class _Statement:
    """A statement without its range: about some sensor of a kind in a class of nodes that meet a condition."""

    host: str
    kind: str
    name: str
    where: tuple[Item, ...]

    @property
    def family(self) -> tuple[str, str, tuple[str, ...]]:
        """What statements have in common that differ in their class and in the values of their conditions only."""
        return self.kind, self.name, tuple(item.feature.name for item in self.where)


_Witnesses = list[tuple[int, Bools]]
"""The sensors that a statement is about, as numbers of columns, and where they meet its conditions."""


def existential_table(
    readings: WindowedReadings,
    around: Surroundings,
    *,
    discretizer: Discretizer,
    fit_frames: Frames,
) -> TransactionTable:
    """Build the table: for every kind, class of node and range one plain item, and one per property of the class.

    Args:
        readings: The readings.
        around: The graph around the sensors.
        discretizer: How to discretize; its scope is always ``"kind"``, since ranges must be comparable between sensors.
        fit_frames: The frames on which bins are fitted.
    """
    discretizer = replace(discretizer, scope="kind")
    columns, discretizer = _reading_columns(readings, around, discretizer, fit_frames)
    hosts = _host_classes(columns, around)
    conditions, discretizer = _conditions(readings, around, discretizer, columns, hosts)
    witnesses: dict[_Statement, _Witnesses] = {}
    for at, column in enumerate(columns):
        feature = column.feature
        for host in hosts[at]:
            for condition in (_Condition(), *conditions.get((feature.place, host), ())):
                statement = _Statement(host, feature.label or feature.subject, feature.name, condition.where)
                witnesses.setdefault(statement, []).append((at, condition.there))
    made = [
        column
        for statement, found in _without_synonyms(witnesses, around.ontology).items()
        for column in _columns(statement, found, columns)
    ]
    block = Block(tuple(made + calendar_columns(readings)), len(readings), times=readings.times)
    return TransactionTable((block,), "existential", discretizer)


def _host_classes(columns: Sequence[Column], around: Surroundings) -> list[tuple[str, ...]]:
    """Return, for each sensor, the classes of nodes that statements about it name, the most specific one first.

    Of classes with the same sensors of a kind, only the most specific one is named. A sensor without a class is a
    sensor anywhere (""), and then so are all others of its kind.
    """
    quantities = [(column.feature.label or column.feature.subject, column.feature.name) for column in columns]
    members: dict[tuple[str, str], dict[str, list[int]]] = {}
    for at, (column, quantity) in enumerate(zip(columns, quantities, strict=True)):
        for name in sorted(column.feature.classes) or [""]:
            members.setdefault(quantity, {}).setdefault(name, []).append(at)
    out: list[list[str]] = [[] for _ in columns]
    for quantity, classes in members.items():
        if "" in classes:
            classes[""] = [at for at, own in enumerate(quantities) if own == quantity]
        alike: dict[tuple[int, ...], list[str]] = {}
        for name, sensors in classes.items():
            alike.setdefault(tuple(sensors), []).append(name)
        for same, names in sorted(alike.items(), key=lambda pair: (len(pair[0]), pair[1])):
            for at in same:
                out[at].append(_most_specific(names, around.ontology))
    return [tuple(names) for names in out]


def _most_specific(classes: Sequence[str], ontology: Ontology | None) -> str:
    return most_specific_label(filter(None, classes), ontology)


def _without_synonyms(
    witnesses: Mapping[_Statement, _Witnesses], ontology: Ontology | None
) -> dict[_Statement, _Witnesses]:
    """Of statements in one family with the same witnesses, keep the one about the most specific class."""
    alike: dict[tuple[object, ...], list[_Statement]] = {}
    for statement, found in witnesses.items():
        key = (statement.family, *((at, there.tobytes()) for at, there in found))
        alike.setdefault(key, []).append(statement)
    kept = {
        next(statement for statement in same if statement.host == best)
        for same in alike.values()
        for best in [_most_specific([statement.host for statement in same], ontology)]
    }
    return {statement: found for statement, found in witnesses.items() if statement in kept}


def _columns(statement: _Statement, witnesses: _Witnesses, columns: Sequence[Column]) -> list[Column]:
    """Return one column per value of any of the sensors; a sensor without that value counts as not having it."""
    sensors = [(columns[at], there) for at, there in witnesses]
    feature = Feature(
        statement.host,
        Aspect.MEASUREMENT,
        statement.name,
        role=Role.SOME,
        label=statement.kind,
        where=statement.where,
        unit=sensors[0][0].feature.unit,
        classes=frozenset.intersection(*(column.feature.classes for column, _ in sensors)),
    )
    out = []
    # That some sensor does not switch says nothing: such values have no statement.
    for value in dict.fromkeys(value for column, _ in sensors for value in column.values if value is not False):
        held = [
            np.where((column.codes[0] < 0) | ~there, -1, column.codes[0] == _code(column, value))
            for column, there in sensors
        ]
        codes = np.max(np.stack(held), axis=0).astype(np.int16)
        if (codes > 0).any():
            out.append(Column(_with_value(feature, value), (False, True), codes[None, :], minable=(False, True)))
    return out


def _code(column: Column, value: Value | Interval) -> int:
    """Return the code of a value, or a code that never occurs if the column lacks it."""
    return column.values.index(value) if value in column.values else column.n_codes


def _with_value(feature: Feature, value: Value | Interval) -> Feature:
    """Add the range to the conditions: the column is true where the whole statement is."""
    reading = replace(feature, where=(), classes=frozenset())
    return replace(feature, where=(*feature.where, Item.is_(reading, value)))


def _reading_columns(
    readings: WindowedReadings, around: Surroundings, discretizer: Discretizer, fit_frames: Frames
) -> tuple[list[Column], Discretizer]:
    numeric = numeric_readings(readings, around)
    keys = [reading_group(discretizer, feature) for feature, _ in numeric]
    discretizer = fit_missing(discretizer, reading_groups(numeric, discretizer, fit_frames))
    columns = [
        Column(feature, tuple(discretizer.binnings[key].values), discretizer.binnings[key].encode(values)[None, :])
        for key, (feature, values) in zip(keys, numeric, strict=True)
    ]
    return columns + state_columns(readings, around) + derived_state_columns(readings, around), discretizer


def _conditions(
    readings: WindowedReadings,
    around: Surroundings,
    discretizer: Discretizer,
    columns: Sequence[Column],
    hosts: Sequence[tuple[str, ...]],
) -> tuple[dict[tuple[str, str], list[_Condition]], Discretizer]:
    """Return the conditions that each node meets as a member of each class, and the fitted discretizer.

    Every class has bins of its own, fitted to all its nodes with sensors, those of subclasses included.
    """
    named: dict[str, dict[str, None]] = {}
    for column, classes in zip(columns, hosts, strict=True):
        if column.feature.place:
            named.setdefault(column.feature.place, {}).update(dict.fromkeys(classes))
    facts = [
        (replace(feature, label=host), fact)
        for feature, fact in node_facts(readings, around, named)
        for host in named[feature.subject]
    ]
    groups: dict[str, list[npt.NDArray[np.float64]]] = {}
    add_property_groups(facts, groups)
    discretizer = fit_missing(discretizer, groups)
    out: dict[tuple[str, str], list[_Condition]] = {}
    for feature, fact in facts:
        host = Feature(feature.label, Aspect.PROPERTY, feature.name, role=Role.SOME, unit=feature.unit)
        for column in property_columns(feature, fact, discretizer):
            for test, there in _tests(column):
                condition = _Condition((replace(test, feature=host),), there)
                out.setdefault((feature.subject, feature.label), []).append(condition)
    return out, discretizer


def _tests(column: Column) -> list[tuple[Item, Bools]]:
    """Return the tests that a property satisfies, and where; of several values, each is a test of its own."""
    if column.feature.where:
        return [(column.feature.where[-1], column.codes[0] == 1)]
    codes = np.unique(column.codes[column.codes >= 0]).tolist()
    return [(Item.is_(column.feature, column.values[code]), column.codes[0] == code) for code in codes]


EXISTENTIAL = Enrichment(
    build=lambda readings, around, discretizer, frames, options: existential_table(
        readings, around, discretizer=discretizer, fit_frames=frames
    ),
    settings=("properties",),
)
