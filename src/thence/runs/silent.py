"""Which sensors no statement of a run is about, and why, in a sentence for the notes of the run.

Of a large system most sensors are like others; of a small one every sensor counts. This module must not search.
"""

from __future__ import annotations

from thence.data.graph.system import System
from thence.statements.findings import Findings

FEW_SENSORS = 20
"""The most sensors of a system of which each is accounted for."""


def describe_silent(findings: Findings, system: System) -> str | None:
    """Return which sensors no statement is about; ``None`` if there are none, no graph, several sites or many sensors.

    Sensors without a node are named by the table that leaves them out.

    Args:
        findings: What was found.
        system: The system.
    """
    if system.binding is None or len(system.sites) > 1 or len(system.sensors) > FEW_SENSORS:
        return None
    about = [one.about for one in findings]
    kinds = {kind for one in about for kind in one.kinds}
    named = {sensor for one in about for sensor in one.sensors}
    silent = [
        sensor.id
        for sensor in system.sensors.sensors
        # A role is the kind of a sensor, or its kind after the class of the part that it belongs to.
        if sensor.id in system.binding
        and sensor.id not in named
        and not any(kind == sensor.kind or kind.endswith(f"_{sensor.kind}") for kind in kinds)
    ]
    if not silent:
        return None
    names = ", ".join(f"'{id}'" for id in silent)
    return f"in no statement, since nothing about {'it' if len(silent) == 1 else 'them'} held up: {names}"
