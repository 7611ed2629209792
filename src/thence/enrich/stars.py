"""Aggregated readings of a star: total, mean, lowest and highest over the neighbours in a role, and balances.

A total is only known when every neighbour in the role carries the sensor and reads: a balance over some of the pipes
of a junction is not a balance. A focus without neighbours in the role has the total 0. Mean, lowest and highest are
over the neighbours that read. A *net* is the difference of the totals of two roles of the same kind and distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..discovery import Carriers
from ..items import Aspect, Feature, Role
from ..matching import role_members
from ..patterns import Pattern
from ..patterns import Role as Neighbours
from ..windows import WindowedReadings

__all__ = ["star_series"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Gathered:
    """Readings over the members of one role: totals and extremes, foci × frames."""

    total: FloatArray
    mean: FloatArray
    lowest: FloatArray
    highest: FloatArray
    several: bool


def star_series(
    pattern: Pattern, focus: npt.NDArray[np.int64], readings: WindowedReadings, carriers: Carriers
) -> Iterator[tuple[Feature, FloatArray, list[str], str]]:
    """Each aggregated feature of a star: the feature, its series (foci × frames), their keys, and the pooled key."""
    column = {sensor.id: i for i, sensor in enumerate(readings.numeric)}
    unit_of = {sensor.kind: sensor.unit for sensor in readings.numeric}
    subject = pattern.nodes[0].name
    ids = [carriers.index.ids[n] for n in focus.tolist()]
    gathered: dict[Neighbours, _Gathered] = {}
    for role in pattern.roles:
        if role.kind in unit_of:
            gathered[role] = _gather(role, focus, readings.values, column, carriers)

    def named(
        name: str, kind: str, series: FloatArray, *roles: Neighbours
    ) -> tuple[Feature, FloatArray, list[str], str]:
        feature = Feature(
            subject,
            Aspect.MEASUREMENT,
            name,
            role=Role.VARIABLE,
            label=kind,
            unit=unit_of.get(kind, ""),
            reads=frozenset(map(str, roles)),
        )
        return feature, series, [f"{node}.{kind}.{name}" for node in ids], f"{kind}.{name}"

    for role, found in gathered.items():
        if len(role.steps) == 1:
            yield named(f"total of the {role.name}", role.kind, found.total, role)
        yield named(f"mean of the {role.name}", role.kind, found.mean, role)
        if found.several:
            yield named(f"lowest of the {role.name}", role.kind, found.lowest, role)
            yield named(f"highest of the {role.name}", role.kind, found.highest, role)
    roles = [role for role in gathered if len(role.steps) == 1]
    for at, first in enumerate(roles):
        for second in roles[at + 1 :]:
            if first.kind == second.kind:
                difference = gathered[first].total - gathered[second].total
                yield named(f"net of the {first.name} minus the {second.name}", first.kind, difference, first, second)


def _gather(
    role: Neighbours,
    focus: npt.NDArray[np.int64],
    values: FloatArray,
    column: dict[str, int],
    carriers: Carriers,
) -> _Gathered:
    origin, members = role_members(role.steps, focus, carriers.index)
    frames = values.shape[0]
    shape = (len(focus), frames)
    total, lowest, highest = np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
    count = np.zeros(shape)
    carried = carriers.sensors[role.kind]
    most = 0
    for at in range(len(focus)):
        nodes = members[origin == at].tolist()
        most = max(most, len(nodes))
        for node in nodes:
            sensors = [column[s] for s in carried.get(node, ()) if s in column]
            if not sensors:
                total[at] = np.nan
            for sensor in sensors:
                series = values[:, sensor]
                total[at] += series
                known = ~np.isnan(series)
                count[at] += known
                np.fmin(lowest[at], series, out=lowest[at])
                np.fmax(highest[at], series, out=highest[at])
    with np.errstate(invalid="ignore"):
        sums = np.zeros(shape)
        for at in range(len(focus)):
            for node in members[origin == at].tolist():
                for sensor in (column[s] for s in carried.get(node, ()) if s in column):
                    sums[at] += np.nan_to_num(values[:, sensor])
        mean = np.divide(sums, count, out=np.full(shape, np.nan), where=count > 0)
    lowest[count == 0] = np.nan
    highest[count == 0] = np.nan
    return _Gathered(total, mean, lowest, highest, several=most > 1)
