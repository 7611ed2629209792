"""Ranges as evidence: which are violated in each frame, and a violated one in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thence.checks.detect.evidence import Broken, EvidenceTally, EvidenceTarget, readings_at, tell_change
from thence.checks.detect.paths import path_between
from thence.checks.detect.ranges import fit_ranges
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Feature
from thence.statements.ranges import Ranges, check_ranges


@dataclass(frozen=True)
class RangeChecks:
    """Ranges with what they did in held-out normal time.

    Args:
        ranges: The ranges.
    """

    ranges: tuple[Ranges, ...]

    @staticmethod
    def fit(readings: WindowedReadings, *, bins: int, partners: int) -> RangeChecks:
        """Fit ranges on normal readings.

        Args:
            readings: The readings.
            bins: Most bins of a given sensor.
            partners: Most sensors that are given, for each sensor.
        """
        ids = [sensor.id for sensor in readings.numeric]
        return RangeChecks(fit_ranges(readings.values, ids, bins=bins, partners=partners))

    def judged(self, readings: WindowedReadings, *, most: float) -> RangeChecks:
        """Return those ranges that held-out normal readings violate rarely, with their counts.

        Args:
            readings: The held-out readings.
            most: Greatest share of violated rows.
        """
        kept = []
        for one in self.ranges:
            applies, violated = self._check(one, readings)
            n, v = int(applies.sum()), int(violated.sum())
            if n and v <= most * n:
                kept.append(replace(one, rows=n, violated=v))
        return RangeChecks(tuple(kept))

    def _check(self, one: Ranges, readings: WindowedReadings) -> tuple[Any, Any]:
        column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
        if one.given not in column or one.sensor not in column:
            none = np.zeros(len(readings), bool)
            return none, none
        given, own = readings.values[:, column[one.given]], readings.values[:, column[one.sensor]]
        return check_ranges(one, given, own, step=readings.resolutions[one.sensor].step)

    def weight(self, number: int) -> float:
        """Return how surprising a violation is: minus the logarithm of its rate in held-out normal time.

        Args:
            number: The number of the ranges.
        """
        one = self.ranges[number]
        return -math.log((one.violated + 0.5) / (one.rows + 1))

    def tally(
        self, readings: WindowedReadings, system: System, *, ignored: Mapping[str, int] | None = None
    ) -> EvidenceTally:
        """Return the evidence of all frames, by sensor.

        Args:
            readings: The readings.
            system: The system that they belong to.
            ignored: Sensors from which nothing is concluded any more, and the frame from which on.
        """
        here = {sensor.id for sensor in readings.numeric}
        sensors = [id for id in dict.fromkeys(one.sensor for one in self.ranges) if id in here]
        at = {id: row for row, id in enumerate(sensors)}
        applicable, violated = (np.zeros((len(sensors), len(readings))) for _ in range(2))
        for number, one in enumerate(self.ranges):
            if one.sensor in at:
                applies, broken = self._check(one, readings)
                since = (ignored or {}).get(one.given)
                if since is not None:
                    applies, broken = applies.copy(), broken.copy()
                    applies[since:] = broken[since:] = False
                applicable[at[one.sensor]] += self.weight(number) * applies
                violated[at[one.sensor]] += self.weight(number) * broken
        targets = tuple(EvidenceTarget("range", id, _node_of(id, system)) for id in sensors)
        return EvidenceTally(targets, applicable, violated)

    def broken_at(self, readings: WindowedReadings, system: System, frame: int) -> list[Broken]:
        """Return the ranges that are violated in a frame, in words.

        Args:
            readings: The readings.
            system: The system that they belong to.
            frame: The number of the frame.
        """
        feature = _features(readings, system)
        column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
        out = []
        for one in self.ranges:
            if one.given not in column or one.sensor not in column:
                continue
            given, own = readings.values[frame, column[one.given]], readings.values[frame, column[one.sensor]]
            step = readings.resolutions[one.sensor].step
            if not check_ranges(one, np.array([given]), np.array([own]), step=step)[1][0]:
                continue
            at = one.bin_of(float(given))
            low, high = one.low[at], one.high[at]
            unit = feature[one.sensor].unit
            needed = low - own if own < low else high - own
            node = _node_of(one.sensor, system)
            out.append(
                Broken(
                    "range",
                    one.bin_sentence(at, feature),
                    node or one.sensor,
                    readings_at(readings, frame, (one.given, one.sensor)),
                    tell_change(one.sensor, needed, unit),
                    one.rows,
                    one.violated,
                    path_between(system.graph, _node_of(one.given, system), node),
                    EvidenceTarget("range", one.sensor, node),
                )
            )
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the ranges and counts, ready for JSON."""
        return {"ranges": [one.to_dict() for one in self.ranges]}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> RangeChecks:
        """Return the ranges of ``to_dict``.

        Args:
            record: The fields.
        """
        return RangeChecks(tuple(map(Ranges.from_dict, record["ranges"])))


def _node_of(sensor: str, system: System) -> str:
    return "" if system.binding is None else str(system.binding.get(sensor, ""))


def _features(readings: WindowedReadings, system: System) -> dict[str, Feature]:
    return {
        sensor.id: Feature(sensor.id, label=sensor.kind, unit=sensor.unit, place=_node_of(sensor.id, system))
        for sensor in readings.sensors
    }
