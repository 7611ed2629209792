"""Enrichment ``existential``: "some flow sensor in a Pipe with length 843–895 m reads 23–31 m³/h".

Each item is a Boolean column of its own that is true in a frame when at least one sensor of the kind, in such a node,
reads in the range, false when none does, and missing when none of them reads anything. A property with dates counts in
the frames in which its value is in force. Sensor ids are gone: any sensor may be the witness, and different items may
have different ones. That is the encoding of Naive SemRL, and its weakness: frequent items are frequent because there
are many candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thence.readings.windows import WindowedReadings
from thence.rules.items import Aspect, Feature, Interval, Item, Role, Value
from thence.tables.discretization import Discretizer
from thence.tables.enrich.base import Enrichment
from thence.tables.enrich.grounded import (
    calendar_columns,
    fit_missing,
    node_facts,
    numeric_readings,
    property_column,
    property_group,
    state_columns,
)
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import Block, Column, TransactionTable

__all__ = ["EXISTENTIAL", "existential_table"]

# What is asked of a node, and whether it holds there (once, or in each frame).
_Condition = tuple[tuple[Item, ...], npt.NDArray[np.bool_]]
_ANYWHERE: _Condition = ((), np.ones(1, bool))


def existential_table(
    readings: WindowedReadings,
    around: Surroundings,
    *,
    discretizer: Discretizer,
    fit_frames: npt.NDArray[Any] | slice,
) -> TransactionTable:
    """The table: for every kind, class of node and range a bare item, and one per property of the class."""
    discretizer = Discretizer(
        discretizer.method, discretizer.bins, "kind", discretizer.edges, discretizer.binnings
    )  # ranges must be comparable between sensors, so bins are always pooled per kind
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
    """A column per value that any of the sensors shows. One that never shows it still says that it does not now."""
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
    """The code of a value, and one that never occurs where the column does not know it."""
    return column.values.index(value) if value in column.values else column.n_codes


def _with_value(feature: Feature, value: Value | Interval) -> Feature:
    """Put the range itself among the conditions: the column is the truth of the whole statement."""
    reading = Feature(
        feature.subject, Aspect.MEASUREMENT, feature.name, role=Role.SOME, label=feature.label, unit=feature.unit
    )
    return Feature(
        feature.subject,
        Aspect.MEASUREMENT,
        feature.name,
        role=Role.SOME,
        label=feature.label,
        where=(*feature.where, Item.is_(reading, value)),
        unit=feature.unit,
        classes=feature.classes,
    )


def _reading_columns(
    readings: WindowedReadings, around: Surroundings, discretizer: Discretizer, fit_frames: npt.NDArray[Any] | slice
) -> tuple[list[Column], Discretizer]:
    numeric = numeric_readings(readings, around)
    groups: dict[str, list[npt.NDArray[np.float64]]] = {}
    keys = [discretizer.group(kind=f.label, sensor=f.subject, name=f.name) for f, _ in numeric]
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
    """For each node what its properties fall into, and in which frames they do; and the bins of the properties."""
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
