"""Controls as evidence: which switches of actuators no control explains, and such a switch in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.detect.evidence import Broken, EvidenceTally, EvidenceTarget, readings_at
from thence.checks.detect.paths import path_between
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.statements.controls.control import Control, Controls
from thence.statements.controls.counting import control_states
from thence.statements.controls.thresholds import Tally as Switches
from thence.statements.statement import VIOLATED, States


@dataclass(frozen=True)
class ControlChecks:
    """Controls; their counts are those of held-out normal time.

    Args:
        controls: The controls.
        timezone: The time zone of times of day.
    """

    controls: Controls
    timezone: str = "UTC"

    def judged(self, readings: WindowedReadings, *, most: float) -> ControlChecks:
        """Return those controls that held-out normal switches violate rarely, with their counts.

        Args:
            readings: The held-out readings.
            most: Greatest share of switches that a control does not explain.
        """
        kept = []
        for control, states in self._states(readings):
            rows, held = states.counts[:2]
            if rows and rows - held <= most * rows:
                kept.append(replace(control, tally=Switches(rows, held, 0, 0)))
        return replace(self, controls=Controls(kept, notes=self.controls.notes))

    def _states(self, readings: WindowedReadings) -> Iterator[tuple[Control, States]]:
        for control in self.controls:
            yield control, control_states(control, readings, timezone=self.timezone)

    def tally(self, readings: WindowedReadings, system: System) -> EvidenceTally:
        """Return the evidence of all frames, by actuator and switch.

        Args:
            readings: The readings.
            system: The system that they belong to.
        """
        empty = np.zeros((0, len(readings)))
        applicable: list[npt.NDArray[np.float64]] = [empty]
        violated: list[npt.NDArray[np.float64]] = [empty]
        for control, states in self._states(readings):
            rows, held = control.counts[:2]
            weight = -math.log((rows - held + 0.5) / (rows + 1))
            applicable.append(states.applies.astype(np.float64) * weight)
            violated.append((states.codes == VIOLATED).astype(np.float64) * weight)
        return EvidenceTally(tuple(map(_target, self.controls)), np.concatenate(applicable), np.concatenate(violated))

    def broken_at(self, readings: WindowedReadings, system: System, frame: int) -> list[Broken]:
        """Return the controls that do not explain a switch in a frame, in words.

        Args:
            readings: The readings.
            system: The system that they belong to.
            frame: The number of the frame.
        """
        out = []
        for control, states in self._states(readings):
            if states.codes[0, frame] != VIOLATED:
                continue
            target, (rows, held) = _target(control), control.counts[:2]
            given = "" if control.sensor_feature is None else control.sensor_feature.place
            seen = readings_at(readings, frame, [one for one in (control.sensor, control.actuator) if one])
            path = path_between(system.graph, given, target.node)
            place = target.node or control.actuator
            out.append(
                Broken("control", control.sentence(), place, seen, "", rows, rows - held, path, target),
            )
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the controls, ready for JSON."""
        return {**self.controls.to_dict(), "timezone": self.timezone}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> ControlChecks:
        """Return the controls of ``to_dict``.

        Args:
            record: The fields.
        """
        return ControlChecks(Controls.from_dict(record), str(record["timezone"]))


def _target(control: Control) -> EvidenceTarget:
    return EvidenceTarget("control", control.sentence(), control.actuator_feature.place)
