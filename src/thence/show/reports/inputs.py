"""What went in: kinds with units and ranges, the period, the gaps as a picture, and the size of the graph.

Everything is taken from the windows as they were mined; nothing is read again. Must not look at rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.english import format_unit
from thence.show.reports.numbers import finite, milliseconds, shorter
from thence.show.reports.schema import Count, Gaps, GapsRow, GraphSummary, Kind, SystemPart

MOST_SPANS = 120
MOST_ROWS = 60
_MOST_STATES = 20
_MOST_NAMES = 40

Bools = npt.NDArray[np.bool_]


def describe_system(system: System | None, readings: WindowedReadings | None, *, name: str = "") -> SystemPart | None:
    """Return what went into a run; ``None`` if neither the system nor its readings are available.

    Args:
        system: What was mined.
        readings: Its readings in windows.
        name: The name to use if the system has none.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> part = describe_system(run.system, run.readings)
        >>> [(kind["kind"], kind["sensors"]) for kind in part["kinds"]], part["graph"]["nodes"]
        ([('flow', 2), ('pressure', 3)], 5)
    """
    if system is None and readings is None:
        return None
    graph = None if system is None else system.graph
    part = SystemPart(
        name=(system.name if system is not None else "") or name,
        sites=list(system.names) if system is not None and len(system.sites) > 1 else [],
        sensors=0,
        readings=0,
        start=None,
        end=None,
        step_seconds=None,
        recorded_seconds=None,
        kinds=[],
        gaps=None,
        graph=None if graph is None else describe_graph(graph),
    )
    if readings is None:
        return part
    kinds = _describe_kinds(readings)
    part["sensors"] = len(readings.sensors)
    part["readings"] = sum(kind["readings"] for kind in kinds)
    part["step_seconds"] = readings.every.total_seconds()
    part["kinds"] = kinds
    times = _all_times(readings)
    if len(times):
        every = np.timedelta64(readings.every)
        (part["start"], part["end"]) = milliseconds([times.min(), times.max() + every])
        part["recorded_seconds"] = len(np.unique(times)) * readings.every.total_seconds()
        part["gaps"] = draw_gaps(readings)
    return part


def describe_graph(graph: KnowledgeGraph) -> GraphSummary:
    """Return the size of a graph, and how often each class and relation occurs, the most frequent first.

    Args:
        graph: The graph.

    Examples:
        >>> import thence as th
        >>> describe_graph(th.datasets.load("toy").graph)["classes"]
        [{'name': 'Junction', 'count': 3}, {'name': 'Pipe', 'count': 2}]
    """
    return GraphSummary(
        nodes=len(graph.nodes),
        edges=len(graph.edges),
        classes=_frequent(label for node in graph.nodes.values() for label in node.labels),
        relations=_frequent(label for edge in graph.edges.values() for label in edge.labels),
    )


def _frequent(names: Iterable[str]) -> list[Count]:
    counted = sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))
    return [Count(name=name, count=count) for name, count in counted[:_MOST_NAMES]]


def _describe_kinds(readings: WindowedReadings) -> list[Kind]:
    """Kind by kind, numbers before states: how many sensors, over which range, how much is missing."""
    column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
    windows = _windows_of(readings)
    groups: dict[tuple[bool, str, str], list[Sensor]] = {}
    for sensor in readings.sensors:
        groups.setdefault((sensor.categorical, sensor.kind or "no kind", sensor.unit), []).append(sensor)
    out = []
    for (states, kind, unit), sensors in sorted(groups.items()):
        possible = sum(windows[sensor.id] for sensor in sensors)
        low = median = high = None
        names: list[str] = []
        if states:
            coded = [readings.states[sensor.id] for sensor in sensors]
            present = sum(int((codes >= 0).sum()) for codes, _ in coded)
            names = sorted({known[code] for codes, known in coded for code in np.unique(codes[codes >= 0]).tolist()})
        else:
            values = readings.values[:, [column[sensor.id] for sensor in sensors]]
            values = values[~np.isnan(values)]
            present = len(values)
            if present:
                low, median, high = (shorter(value) for value in (values.min(), np.median(values), values.max()))
        out.append(
            Kind(
                kind=kind,
                unit=format_unit(unit),
                sensors=len(sensors),
                readings=present,
                missing=finite(1 - present / possible) if possible else None,
                low=low,
                median=median,
                high=high,
                states=names[:_MOST_STATES],
            )
        )
    return out


def _windows_of(readings: WindowedReadings) -> dict[str, int]:
    """The number of windows of each sensor; systems that are mined together have their own."""
    return {sensor.id: len(readings.times_of(sensor.id)) for sensor in readings.sensors}


def _all_times(readings: WindowedReadings) -> npt.NDArray[np.datetime64]:
    return np.concatenate(list(readings.by_site.values()))


def span_edges(times: npt.NDArray[np.datetime64], every: np.timedelta64, *, most: int) -> npt.NDArray[np.datetime64]:
    """Return the edges of at most ``most`` spans of whole windows that cover all times.

    Args:
        times: Starts of windows; at least one.
        every: The length of a window.
        most: The largest number of spans.

    Examples:
        >>> times = np.arange(0, 10, dtype="datetime64[h]")
        >>> span_edges(times, np.timedelta64(1, "h"), most=4).astype("datetime64[h]").astype(int).tolist()
        [0, 3, 6, 9, 10]
    """
    start, step = times.min().astype("datetime64[us]"), every.astype("timedelta64[us]")
    windows = int((times.max().astype("datetime64[us]") - start) // step) + 1
    width = -(-windows // most)
    # The last span may be shorter: time after the last window is no gap.
    return np.asarray(start + step * np.array([*range(0, windows, width), windows]))


def draw_gaps(readings: WindowedReadings, *, spans: int = MOST_SPANS, rows: int = MOST_ROWS) -> Gaps:
    """Return how much of each span of time has readings, by sensor if there are few of them and else by kind.

    Windows in which no sensor reads count as empty here, also where mining left them out.

    Args:
        readings: The readings in windows; at least one window.
        spans: The largest number of spans.
        rows: The largest number of rows.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> gaps = draw_gaps(run.readings, spans=2)
        >>> gaps["by"], gaps["rows"][0]["name"], gaps["rows"][0]["present"]
        ('sensor', 'pressure_A', [1.0, 1.0])
    """
    every = np.timedelta64(readings.every)
    edges = span_edges(_all_times(readings), every, most=spans)
    column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
    bounds: dict[str, npt.NDArray[np.int64]] = {}
    possible: dict[str, npt.NDArray[np.float64]] = {}

    def counts(sensor: Sensor) -> npt.NDArray[np.float64]:
        """Readings, and windows in which there could be one, in each span."""
        site, times = readings.site_of(sensor.id), readings.times_of(sensor.id)
        if site not in bounds:
            bounds[site] = np.searchsorted(times, edges)
            # Each site has its own time, from its first to its last window.
            first, last = (edges[0], edges[-1]) if not len(times) else (times[0], times[-1] + every)
            possible[site] = (np.diff(np.clip(edges, first, last)) // every).astype(float)
        held: Bools
        if sensor.categorical:
            held = readings.states[sensor.id][0] >= 0
        else:
            held = ~np.isnan(readings.values[:, column[sensor.id]])
        upto = np.concatenate([[0], np.cumsum(held[: len(times)])])
        return np.stack([np.diff(upto[bounds[site]]).astype(float), possible[site]])

    by_sensor = len(readings.sensors) <= rows
    if by_sensor:
        named = {sensor.id: [sensor] for sensor in readings.sensors}
    else:
        named = {}
        for sensor in readings.sensors:
            named.setdefault(sensor.kind or "no kind", []).append(sensor)
        often = sorted(named.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        named = dict(often[:rows])
    return Gaps(
        by="sensor" if by_sensor else "kind",
        edges=milliseconds(edges),
        rows=[
            GapsRow(
                name=name,
                present=[
                    round(float(held / whole), 3) if whole else None
                    for held, whole in sum((counts(one) for one in sensors), start=np.zeros((2, len(edges) - 1))).T
                ],
            )
            for name, sensors in named.items()
        ],
    )
