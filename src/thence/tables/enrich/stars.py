"""Aggregated readings of a star: total, mean, lowest and highest over the neighbours in a role, and balances.

A total is missing unless every neighbour in the role has a sensor with a reading: a balance over some of the pipes of a
junction is not a balance. A focus without neighbours in the role has the total 0. Mean, lowest and highest are taken
over the neighbours with a reading. If no focus has two neighbours in a role, there is only their value. The nearest
nodes with a sensor have no total, since it would depend on how many have a sensor. A *net* is the
difference of the totals of two roles of the same kind and distance; between single values it is called a *difference*.

This module computes series of numbers; it does not discretize them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers, SensorsAt
from thence.data.graph.matching import Ints
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Aspect, Feature, Role
from thence.language.patterns import Pattern, StarRole
from thence.tables.enrich.base import Rows
from thence.tables.enrich.series import columns_as_rows

FloatArray = npt.NDArray[np.float64]


class StarSeries(NamedTuple):
    """An aggregate around the foci of a star.

    Args:
        feature: What it observes.
        rows: Its series by focus, computed when they are asked for, since matrices are large.
        keys: The key of each series.
        pool: The key of the common binning.
        alike: The sensor that each series is the reading of, if it is the only one; otherwise an empty string.
    """

    feature: Feature
    rows: Rows
    keys: list[str]
    pool: str
    alike: list[str]


def star_series(
    pattern: Pattern, focus: npt.NDArray[np.int64], readings: WindowedReadings, carriers: Carriers
) -> Iterator[StarSeries]:
    """Yield the aggregated features of a star.

    Args:
        pattern: The star.
        focus: Number of the focus node of each embedding.
        readings: The readings.
        carriers: The nodes that carry sensors.

    Yields:
        One aggregate after the other.
    """
    column = {sensor.id: i for i, sensor in enumerate(readings.numeric)}
    role_of = carriers.units.role_of if pattern.has_points else {}
    unit_of = {role_of.get(sensor.id, sensor.kind): sensor.unit for sensor in readings.numeric}
    subject = pattern.nodes[0].name
    sensors = carriers.matched_by(pattern)
    members = {
        role: _members(role, *carriers.members_of(role, focus, pattern, numeric=column), len(focus), sensors, column)
        for role in pattern.roles
        if role.kind in unit_of
    }
    overlaps = _overlaps(members)

    def named(name: str, kind: str, series: Rows, *roles: StarRole) -> StarSeries:
        feature = Feature(
            subject,
            Aspect.MEASUREMENT,
            name,
            role=Role.VARIABLE,
            label=kind,
            unit=unit_of.get(kind, ""),
            reads=frozenset(token for role in roles for token in (str(role), *overlaps[role])),
        )
        keys = [
            f"{name.partition(' of ')[0]}({' − '.join('+'.join(members[role][at].sensors) for role in roles)})"
            for at in range(len(focus))
        ]
        only = [group.sensors[0] if len(group.sensors) == 1 else "" for group in members[roles[0]]]
        return StarSeries(feature, series, keys, f"{kind}.{name}", only if len(roles) == 1 else [""] * len(focus))

    def rows_of(role: StarRole, aggregate: str) -> Rows:
        return lambda start, stop: _gather(members[role][start:stop], readings.values, column, aggregate)

    several = {role: any(group.neighbours > 1 for group in groups) for role, groups in members.items()}
    for role in members:
        if not several[role]:
            # A role with one neighbour has nothing to aggregate: a pipe ends at one junction.
            yield named(f"value of the {role.name_of_one}", role.kind, rows_of(role, "mean"), role)
            continue
        for aggregate in ("total", "mean", "lowest", "highest") if _has_total(role) else ("mean", "lowest", "highest"):
            yield named(f"{aggregate} of the {role.name}", role.kind, rows_of(role, aggregate), role)
    for first, second in combinations([role for role in members if _has_total(role)], 2):
        if first.kind == second.kind:
            name = f"net of the {first.name} minus the {second.name}"
            if not (several[first] or several[second]):
                name = f"difference of the {first.name_of_one} minus the {second.name_of_one}"
            yield named(name, first.kind, _difference(rows_of(first, "total"), rows_of(second, "total")), first, second)


def _difference(first: Rows, second: Rows) -> Rows:
    return lambda start, stop: first(start, stop) - second(start, stop)


def series_at_focus(
    feature: Feature, pattern: Pattern, focus: int, readings: WindowedReadings, carriers: Carriers
) -> tuple[FloatArray, list[tuple[str, ...]], str]:
    """Return one aggregated feature around one focus, as ``star_series`` makes it for all of them.

    Args:
        feature: A feature that ``star_series`` yields.
        pattern: The star.
        focus: Number of the focus node.
        readings: The readings.
        carriers: The nodes that carry sensors.

    Returns:
        The series, the sensors of each of its roles, and the key of the series.
    """
    column = {sensor.id: i for i, sensor in enumerate(readings.numeric)}
    sensors = carriers.matched_by(pattern)
    at = np.array([focus], np.int64)
    roles = [role for role in pattern.roles if str(role) in feature.reads]
    groups = [
        _members(role, *carriers.members_of(role, at, pattern, numeric=column), 1, sensors, column) for role in roles
    ]
    aggregate = feature.name.partition(" of ")[0]
    name = "total" if len(groups) > 1 else "mean" if aggregate == "value" else aggregate
    found = [_gather(group, readings.values, column, name)[0] for group in groups]
    series = found[0] - found[1] if len(found) > 1 else found[0]
    members = [group[0].sensors for group in groups]
    return series, members, f"{aggregate}({' − '.join('+'.join(ids) for ids in members)})"


def _has_total(role: StarRole) -> bool:
    """Whether the readings of a role add up to something: of all neighbours one edge away they do."""
    return len(role.steps) == 1 and not role.nearest


@dataclass(frozen=True)
class _Members:
    """The sensors in a role around one focus, the number of neighbours, and whether each of them has a sensor."""

    sensors: tuple[str, ...]
    neighbours: int
    complete: bool


def _members(
    role: StarRole, origin: Ints, nodes: Ints, n_foci: int, sensors_at: SensorsAt, numeric: Mapping[str, int]
) -> list[_Members]:
    """Group the nodes in a role by focus; only numeric sensors count, since states cannot be summed."""
    all_carried = sensors_at.get(role.kind, {})
    numbers = {node: tuple(s for s in sensors if s in numeric) for node, sensors in all_carried.items()}
    carried = {node: sensors for node, sensors in numbers.items() if sensors}
    around: list[list[int]] = [[] for _ in range(n_foci)]
    for at, node in zip(origin.tolist(), nodes.tolist(), strict=True):
        around[at].append(node)
    return [
        _Members(
            tuple(s for node in found for s in carried.get(node, ())),
            len(found),
            all(node in carried for node in found),
        )
        for found in around
    ]


def _overlaps(members: dict[StarRole, list[_Members]]) -> dict[StarRole, list[str]]:
    """Mark pairs of roles that share sensors around most foci, since rules between them would be trivial."""
    marks: dict[StarRole, list[str]] = {role: [] for role in members}
    roles = list(members)
    for at, first in enumerate(roles):
        for second in roles[at + 1 :]:
            shared = [
                not set(a.sensors).isdisjoint(b.sensors)
                for a, b in zip(members[first], members[second], strict=True)
                if a.sensors and b.sensors
            ]
            if shared and sum(shared) * 2 > len(shared):
                mark = f"{first} shares sensors with {second}"
                marks[first].append(mark)
                marks[second].append(mark)
    return marks


_TOGETHER = 256  # series that are aggregated at a time


def _aggregate(series: FloatArray, aggregate: str) -> FloatArray:
    """Aggregate groups × sensors × frames over the sensors."""
    if aggregate == "total":
        return np.asarray(series.sum(axis=1))
    if aggregate == "mean":
        known = ~np.isnan(series)
        count, total = known.sum(axis=1), np.where(known, series, 0.0).sum(axis=1)
        return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))
    reduce = np.fmin.reduce if aggregate == "lowest" else np.fmax.reduce
    return np.asarray(reduce(series, axis=1))


def _gather(groups: Sequence[_Members], values: FloatArray, column: Mapping[str, int], aggregate: str) -> FloatArray:
    """Aggregate the readings of each group: their ``total``, ``mean``, ``lowest`` or ``highest``, groups × frames."""
    out = np.full((len(groups), values.shape[0]), np.nan)
    total = aggregate == "total"
    alone = [at for at, group in enumerate(groups) if len(group.sensors) == 1 and (group.complete or not total)]
    if alone:
        # Whatever the aggregate of one reading is called, it is the reading.
        out[alone] = columns_as_rows(values, [column[groups[at].sensors[0]] for at in alone])
    by_size: dict[int, list[int]] = {}
    for at, group in enumerate(groups):
        if total and group.complete and not group.sensors:
            out[at] = 0.0
        if len(group.sensors) > 1 and (group.complete or not total):
            by_size.setdefault(len(group.sensors), []).append(at)
    for size, places in by_size.items():
        step = max(1, _TOGETHER // size)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            series = columns_as_rows(values, [column[s] for at in some for s in groups[at].sensors])
            out[some] = _aggregate(series.reshape(len(some), size, -1), aggregate)
    return out
