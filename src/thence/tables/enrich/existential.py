"""Enrichment ``existential``: "some flow sensor in a Pipe with length 843–895 m reads 23–31 m³/h".

Each item is a boolean column. It is true in a frame if at least one sensor of the kind, in such a node, reads in the
range, false if none does, and missing if none of them has a reading. A dated property counts in the frames in which its
value is valid. Sensor ids are dropped: any sensor may satisfy an item, and different items may be satisfied by
different sensors. This is the encoding of Naive SemRL; its weakness is that items are frequent because there are many
candidates. This module builds tables; it does not count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from thence.readings.windows import WindowedReadings
from thence.rules.items import Aspect, Feature, Interval, Item, Role, Value
from thence.tables.discretization import Discretizer
from thence.tables.enrich.base import Enrichment, Frames
from thence.tables.enrich.grounded import (
    calendar_columns,
    fit_missing,
    node_facts,
    numeric_readings,
    property_column,
    property_group,
    reading_group,
    state_columns,
)
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import Block, Column, TransactionTable

__all__ = ["EXISTENTIAL", "existential_table"]

# Conditions on a node, and whether they hold there (one entry, or one per frame).
_Condition = tuple[tuple[Item, ...], npt.NDArray[np.bool_]]
_ANYWHERE: _Condition = ((), np.ones(1, bool))


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
    places = [column.feature.place for column in columns]
    conditions, discretizer = _conditions(readings, around, discretizer, places)
    witnesses: dict[Feature, list[tuple[Column, npt.NDArray[np.bool_]]]] = {}
    for column in columns:
        host = around.label_of(column.feature.place) if column.feature.place else ""
        for where, there in [_ANYWHERE, *conditions.get(column.feature.place, ())]:
            feature = Feature(
                host,
                Aspect.MEASUREMENT,
                column.feature.name,
                role=Role.SOME,
                label=column.feature.label or column.feature.subject,
                where=where,
                unit=column.feature.unit,
                classes=column.feature.classes,
            )
            witnesses.setdefault(feature, []).append((column, there))
    made = [column for feature, sensors in witnesses.items() for column in _statements(feature, sensors)]
    block = Block(tuple(made + calendar_columns(readings)), len(readings), times=readings.times)
    return TransactionTable((block,), "existential", discretizer)


def _statements(feature: Feature, sensors: list[tuple[Column, npt.NDArray[np.bool_]]]) -> list[Column]:
    """Return one column per value of any of the sensors; a sensor without that value counts as not having it."""
    out = []
    for value in dict.fromkeys(value for column, _ in sensors for value in column.values):
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
    groups: dict[str, list[npt.NDArray[np.float64]]] = {}
    keys = [reading_group(discretizer, feature) for feature, _ in numeric]
    for key, (_, values) in zip(keys, numeric, strict=True):
        groups.setdefault(key, []).append(values[fit_frames])
    discretizer = fit_missing(discretizer, groups)
    columns = [
        Column(feature, tuple(discretizer.binnings[key].values), discretizer.binnings[key].encode(values)[None, :])
        for key, (feature, values) in zip(keys, numeric, strict=True)
    ]
    return columns + state_columns(readings, around), discretizer


def _conditions(
    readings: WindowedReadings, around: Surroundings, discretizer: Discretizer, places: list[str]
) -> tuple[dict[str, list[_Condition]], Discretizer]:
    """Return the conditions that each node meets, with the frames in which it does, and the fitted discretizer."""
    facts = node_facts(readings, around, [place for place in dict.fromkeys(places) if place])
    groups: dict[str, list[npt.NDArray[np.float64]]] = {}
    for feature, values in facts:
        if values.dtype == np.float64:
            groups.setdefault(property_group(feature), []).append(np.unique(values))
    discretizer = fit_missing(discretizer, groups)
    out: dict[str, list[_Condition]] = {}
    for feature, values in facts:
        column = property_column(feature, values, discretizer)
        host = Feature(feature.label, Aspect.PROPERTY, feature.name, role=Role.SOME, unit=feature.unit)
        for code in np.unique(column.codes[column.codes >= 0]).tolist():
            condition = (Item.is_(host, column.values[code]),), column.codes[0] == code
            out.setdefault(feature.subject, []).append(condition)
    return out, discretizer


EXISTENTIAL = Enrichment(
    build=lambda readings, around, discretizer, frames, options: existential_table(
        readings, around, discretizer=discretizer, fit_frames=frames
    ),
    settings=("properties",),
)
