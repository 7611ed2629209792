"""Traces: the series that a card shows, what they are in words, and the ranges and states that a rule names.

Ranks are shown on the scale of the sensor itself: "in its highest fifth" is another range for each sensor. Events, such
as a switch, are shown by the readings that they are about. This module reads and formats; it chooses nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from thence.data.readings.durations import format_duration, parse_duration
from thence.data.readings.resolution import find_decimals
from thence.language.english import format_number, format_sensor, format_test, format_unit
from thence.language.items import Feature, Item, Operator, Role
from thence.language.patterns import Pattern
from thence.language.time_names import STATE_PREFIX, TimeForm, parse_time_name
from thence.show.reports.evidence import Evidence
from thence.show.reports.periods import as_milliseconds
from thence.show.reports.schema import Band, Trace
from thence.tables.discretization import Binning
from thence.tables.enrich.stars import series_at_focus

Floats = npt.NDArray[np.float64]
Side = Literal["if", "then"]
Range = tuple[float, float]

_STEPS = 5000  # steps into which the range of a computed series is rounded


@dataclass(frozen=True, eq=False)
class FeatureSeries:
    """What a feature reads at one place, over all frames.

    Args:
        name: Its name.
        sensor: The sensor; empty for an aggregate of several.
        kind: The kind of the sensor.
        unit: The unit.
        node: The node that it belongs to.
        role: What it is, in words.
        values: Numbers, or positions in ``states``; NaN is missing.
        states: The names of the states; empty for numbers.
        nodes: All nodes whose sensors are read.
        ranks: The bins that cut its own history into ranks, if they are known.
    """

    name: str
    sensor: str
    kind: str
    unit: str
    node: str
    role: str
    values: Floats
    states: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    ranks: Binning | None = None


def sensor_series(
    evidence: Evidence, sensor: str, *, name: str = "", kind: str = "", node: str = ""
) -> FeatureSeries | None:
    """Return what a feature of one sensor reads; for an event, what the sensor itself reads.

    Args:
        evidence: The data.
        sensor: The id of the sensor.
        name: The name of the derived value; empty for the readings.
        kind: The kind to call it by; by default that of the sensor.
        node: The node to call it by; by default the one that the sensor is bound to.

    Returns:
        The series; ``None`` if there are no such readings.

    Examples:
        >>> import thence as th
        >>> from thence.show.reports.material import material_of
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> material = material_of(run)
        >>> found = sensor_series(Evidence(material, material.readings), "flow_AB")
        >>> found.role, found.unit, len(found.values)
        ('the flow of Pipe AB', 'm3/h', 48)
    """
    own = evidence.sensor_of.get(sensor)
    if own is None:
        return None
    readings = evidence.readings
    plain = "" if name == "state" else name.removeprefix(STATE_PREFIX)
    time = parse_time_name(plain)
    if time is not None and time.form is not TimeForm.LAG:
        plain = ""
    values, states = _read(evidence, sensor, plain)
    if values is None:
        return None
    bound = evidence.node_of.get(sensor, "")
    what = (kind or own.kind).replace("_", " ")
    name_of = format_sensor(sensor, own.unit)
    role = _role(what, node or bound, name_of)
    if plain == "change":
        role = f"the change of {role}"
    elif time is not None and time.form is TimeForm.LAG:
        role = f"{role}, {format_duration(parse_duration(time.length))} earlier"
    ranks = None
    if evidence.bins is not None and not states:
        base = "" if parse_time_name(plain) else plain
        ranks = evidence.bins.binnings.get(evidence.bins.group(kind="", sensor=sensor, name=base))
    assert len(values) == len(readings)
    place = node or bound
    return FeatureSeries(name_of, sensor, own.kind, own.unit, place, role, values, states, _known(bound, place), ranks)


def _role(what: str, node: str, sensor: str) -> str:
    if not what:
        return sensor
    # The node may be the measuring point itself: the zone temperature of Zone_Temperature_Sensor is said twice.
    if set(what.lower().split()) & set(re.split("[^a-z]+", node.lower())):
        return node
    return f"the {what} of {node or sensor}"


def _known(*nodes: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node for node in nodes if node))


def _read(evidence: Evidence, sensor: str, name: str) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the values of a sensor, or what is derived from them, and the names of its states."""
    readings = evidence.readings
    derived = readings.derived_states.get(name, {})
    if name and sensor in derived:
        derived_codes, names = derived[sensor]
        return _as_numbers(derived_codes), tuple(str(one) for one in names)
    column = evidence.column_of.get(sensor)
    if column is not None:
        values = readings.derived.get(name) if name else readings.values
        if values is None or values.ndim != 2:
            return None, ()
        return np.asarray(values[:, column], np.float64), ()
    if not name and sensor in readings.states:
        codes, known = readings.states[sensor]
        return _as_numbers(codes), known
    return None, ()


def _as_numbers(codes: npt.NDArray[np.integer]) -> Floats:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def star_series_of(evidence: Evidence, feature: Feature, pattern: Pattern, focus: str) -> FeatureSeries | None:
    """Return an aggregate of the neighbours of a node.

    Args:
        evidence: The data.
        feature: The feature of the aggregate.
        pattern: The star.
        focus: The id of the focus node.
    """
    if evidence.graph is None or focus not in evidence.index.number:
        return None
    number = evidence.index.number[focus]
    values, members, key = series_at_focus(feature, pattern, number, evidence.readings, evidence.carriers)
    what = feature.label.replace("_", " ")
    aggregate, _, of = feature.name.partition(" of ")
    if aggregate in ("value", "difference"):
        first, minus, second = of.partition(" minus ")
        name = f"the {what} of {first} minus that of {second}" if minus else f"the {what} of {first}"
    else:
        name = f"the {aggregate} {what} of {of}"
    sensors = [sensor for group in members for sensor in group]
    nodes = _known(focus, *(evidence.node_of.get(sensor, "") for sensor in sensors))
    ranks = None if evidence.bins is None else evidence.bins.binnings.get(key)
    single = sensors[0] if len(sensors) == 1 else ""
    return FeatureSeries(name, single, feature.label, feature.unit, focus, name, values, (), nodes, ranks)


def bands_of(
    item: Item, side: Side, series: FeatureSeries, *, n_ranks: int = 0, held: npt.NDArray[np.bool_]
) -> list[Band]:
    """Return the ranges or the states that an item names, on the scale of a series.

    Args:
        item: The item.
        side: The side of the rule on which it is.
        series: The series.
        n_ranks: Number of ranks of a history.
        held: In which frames the item holds; shows where ranks lie if their bins are not known.

    Examples:
        >>> series = FeatureSeries("s", "s", "flow", "m3/h", "", "the flow", np.array([1.0, 2.0, 3.0]))
        >>> item = Item.compare(Feature("s", label="flow", unit="m3/h"), ">=", 2.0)
        >>> bands_of(item, "then", series, held=series.values >= 2)
        [{'side': 'then', 'low': 2.0, 'high': None, 'states': [], 'text': 'at least 2 m³/h'}]
    """
    reading = _reading_of(item)
    text = format_test(reading)
    event = reading.feature.time
    if event is not None and event.form is not TimeForm.LAG:
        return [_event_band(reading, side, series, text)]
    if series.states:
        names = [state for state in series.states if reading.holds(state)]
        return [_band(side, text, states=names)]
    ranges = _ranges(reading)
    if reading.feature.relative and isinstance(reading.value, (str, frozenset)):
        ranges = _named_values(reading)
    elif reading.feature.relative:
        on_scale = [_unranked(one, series.ranks, n_ranks) for one in ranges]
        known = [one for one in on_scale if one is not None]
        seen = _observed(series.values, held)
        ranges = [_without_named(one, series.ranks, seen) for one in known] if len(known) == len(on_scale) else seen
        if len(ranges) == 1:
            text = f"{text} ({_told(ranges[0], series.unit)})"
    # What is not one number or range, such as "not 0", is shown by what was read.
    ranges = ranges or _observed(series.values, held)
    return [_band(side, text, low, high) for low, high in ranges] or [_band(side, text)]


def _reading_of(item: Item) -> Item:
    """The condition on the reading: that of a statement about some sensor is the last one."""
    if item.feature.role is not Role.SOME or not item.feature.where:
        return item
    reading = item.feature.where[-1]
    return reading.negated() if item.operator is Operator.NE else reading


def _band(
    side: Side, text: str, low: float = -math.inf, high: float = math.inf, states: Sequence[str] | None = None
) -> Band:
    ends = [end if math.isfinite(end) else None for end in (low, high)]
    return {"side": side, "low": ends[0], "high": ends[1], "states": list(states or ()), "text": text}


def _event_band(item: Item, side: Side, series: FeatureSeries, text: str) -> Band:
    """What an event is about: the state that is switched to, that lasts or that follows."""
    time = item.feature.time
    assert time is not None
    if time.form is TimeForm.SWITCH:
        members = item.value if isinstance(item.value, frozenset) else {item.value}
        names = [str(one) for one in members if isinstance(one, str)]
    else:
        names = [time.state]
    if series.states:
        return _band(side, text, states=[state for state in series.states if state in names])
    return _band(side, text, 0.0, 0.0) if names == ["0"] else _band(side, text)


def _ranges(item: Item) -> list[Range]:
    """The ranges of numbers that satisfy an item; a single number is a range of its own."""
    if (own := item.interval) is not None:
        return [(own.low, own.high)]
    negated = item.operator in (Operator.NE, Operator.NOT_IN)
    if negated:
        inner = item.negated().interval
        if inner is None:
            return []
        return [one for one in ((-math.inf, inner.low), (inner.high, math.inf)) if one[0] < one[1]]
    members = item.value if isinstance(item.value, frozenset) else [item.value]
    numbers = sorted(one for one in members if isinstance(one, float) and not isinstance(one, bool))
    return [(one, one) for one in numbers]


def _named_values(item: Item) -> list[Range]:
    """The values that are too frequent to have a rank; they are named by the value."""
    if item.operator in (Operator.NE, Operator.NOT_IN):
        return []
    members = item.value if isinstance(item.value, frozenset) else [item.value]
    numbers = sorted(float(one) for one in members if isinstance(one, str) and _is_number(one))
    return [(one, one) for one in numbers]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _unranked(ranks: Range, bins: Binning | None, n_ranks: int) -> Range | None:
    """A range of ranks on the scale of the sensor; ``None`` if its bins do not say where it lies."""
    if bins is None or not bins.has_ranks or not n_ranks or len(bins.bin_edges) != n_ranks - 1:
        return None
    ends = []
    for rank in ranks:
        if not math.isfinite(rank):
            ends.append(rank)
            continue
        at = rank * n_ranks
        if abs(at - round(at)) > 1e-6 or not 0 <= round(at) <= n_ranks:
            return None
        inner = round(at) - 1
        ends.append(-math.inf if inner < 0 else math.inf if inner >= n_ranks - 1 else float(bins.bin_edges[inner]))
    return ends[0], ends[1]


def _without_named(ends: Range, bins: Binning | None, seen: Sequence[Range]) -> Range:
    """A range without the frequent values at its ends: they are named by their value and have no rank."""
    if bins is None or bins.ties is None or not seen:
        return ends
    (low, high), ((least, most), *_) = ends, seen
    if ((bins.ties >= low) & (bins.ties < least)).any():
        low = max(low, least)
    if ((bins.ties > most) & (bins.ties < high)).any():
        high = min(high, most)
    return low, high


def _observed(values: Floats, held: npt.NDArray[np.bool_]) -> list[Range]:
    """The lowest and the highest number that were read while an item held."""
    read = values[: len(held)][held[: len(values)]]
    read = read[~np.isnan(read)]
    return [(float(read.min()), float(read.max()))] if read.size else []


def _told(ends: Range, unit: str) -> str:
    """A range in words."""
    low, high = ends
    of = f" {format_unit(unit)}" if unit else ""
    first, last = (format_number(_short(end)) for end in ends)
    if math.isinf(low):
        return f"below {last}{of}" if math.isfinite(high) else "any number"
    if math.isinf(high):
        return f"at least {first}{of}"
    return f"{first}{of}" if first == last else f"{first} to {last}{of}"


def _short(value: float) -> float:
    return float(f"{value:.5g}") if math.isfinite(value) else value


def round_values(values: Floats, of: Floats) -> list[float | None]:
    """Return numbers with the decimals of the data, or, if they are computed, with those that a picture needs.

    Args:
        values: The numbers; NaN becomes ``None``.
        of: All numbers of the series, which decide the decimals.

    Examples:
        >>> round_values(np.array([0.1 + 0.2, np.nan]), np.array([0.1 + 0.2, 0.5, 1.0]))
        [0.3, None]
    """
    finite = of[np.isfinite(of)]
    decimals = find_decimals(finite)
    if decimals is None and finite.size:
        spread = float(finite.max() - finite.min()) or abs(float(finite.max()))
        decimals = min(max(math.ceil(-math.log10(spread / _STEPS)), 0), 12) if spread > 0 else 0
    rounded = np.round(values, decimals or 0) + 0.0
    return [one if math.isfinite(one) else None for one in rounded.tolist()]


def as_trace(
    series: FeatureSeries, bands: Sequence[Band], *, times: npt.NDArray[np.datetime64], start: int, stop: int
) -> Trace:
    """Return a series over the frames that a card shows.

    Args:
        series: The series.
        bands: What the rule says of it.
        times: Start of each frame.
        start: The first frame.
        stop: The frame after the last.
    """
    values = series.values[start:stop]
    if series.states:
        shown: list[float | None] = [None if math.isnan(one) else int(one) for one in values.tolist()]
    else:
        shown = round_values(values, series.values)
    return {
        "name": series.name,
        "sensor": series.sensor,
        "kind": series.kind,
        "unit": format_unit(series.unit),
        "node": series.node,
        "role": series.role,
        "times": as_milliseconds(times[start:stop]).tolist(),
        "values": shown,
        "states": list(series.states),
        "bands": list(bands),
    }
