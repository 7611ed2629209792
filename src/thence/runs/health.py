"""Health of a system: what is wrong with its sensors, and which points and sensors the graph and the readings lack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from thence.data.graph.point_names import is_point
from thence.data.graph.system import System
from thence.data.readings.health.checking import check_series, check_states
from thence.data.readings.health.findings import Health, HealthFinding, Series
from thence.data.readings.windows import WindowedReadings, window
from thence.runs.configuration import InputConfig
from thence.runs.inputs import gather_system


def health(
    sensors: Any, graph: Any = None, binding: Any = None, *, ontology: Any = None, windows: str = "auto"
) -> Health:
    """Find sensors that are dead, stuck, drifting, clipped or otherwise not to be trusted, with when and how sure.

    A sensor is compared with its own habits and with related sensors, not with limits, so that what it does often is
    never a finding.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        windows: Length of the windows in which readings are compared; by default the step of the readings.

    Returns:
        The findings, by sensor and time; ``to_polars()`` is a frame of them.

    Examples:
        >>> import numpy as np, polars as pl, thence as th
        >>> times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 11), "1h", eager=True)
        >>> reading = np.round(20 + np.sin(np.arange(len(times)) / 4), 2)
        >>> reading[100:150] = 20.5
        >>> print(th.health(pl.DataFrame({"time": times, "room": reading})))
        1 stuck:
          room holds 20.50 for 50 readings, 25 times longer than ever else, from 2024-01-05 04:00 to 2024-01-07 05:00
    """
    system = gather_system(sensors, graph, binding, ontology, InputConfig())
    return check_system(system, windows=windows)


def check_system(system: System, *, windows: str = "auto", hold: str = "auto") -> Health:
    """Return what is wrong with the sensors of a system.

    Args:
        system: The system, or several.
        windows: Length of the windows in which readings are compared.
        hold: How long the last reading of a sensor lasts, as in ``window``.
    """
    several = len(system.sites) > 1
    findings: list[HealthFinding] = []
    for site in system.sites:
        found = [*_check_site(site, window(site.sensors, windows, hold=hold, empty="keep")), *_check_points(site)]
        findings += [one.at_site(site.name) for one in found] if several else found
    return Health(tuple(findings), len(system.sensors))


def _check_site(site: System, readings: WindowedReadings) -> list[HealthFinding]:
    read = readings.without_empty()
    series = Series(read.times, read.numeric, np.asarray(read.values), read.every)
    found = check_series(series, dict(site.binding or {}))
    return [one.finding for one in found] + check_states(read)


def _check_points(site: System) -> list[HealthFinding]:
    """Points of the graph without readings, and sensors without a point."""
    if site.graph is None or site.binding is None:
        return []
    bound = set(site.binding.nodes)
    points = [node.id for node in site.graph.nodes.values() if is_point(node.labels)]
    none = HealthFinding("", "no data", None, None, 0, 0.0, 0.0, "is a point of the graph without readings")
    alone = replace(none, what="no point")
    return [
        *(replace(none, sensor=id) for id in sorted(points) if id not in bound),
        *(
            replace(alone, sensor=id, text=f"has no point in the graph: {why}")
            for id, why in site.binding.left_out.items()
        ),
    ]
