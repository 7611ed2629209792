"""Enrichments ``none`` and ``grounded``: a column per sensor, and columns for the nodes to which sensors are bound.

A property without dates is a static column; one with dated values has the value that is valid in each frame. One with
several values has a column for each of them: whether it is among them. All are context, and so are those of the edges
between the nodes. This module builds tables; it does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from thence.data.readings.derived import DerivedValue
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.language.time_names import TimeForm, parse_time_name
from thence.tables.bitmaps.bits import run_threads, split_range
from thence.tables.blocks import Block, Codes, Column, as_codes
from thence.tables.discretization import Discretizer, is_supervised
from thence.tables.enrich.base import Enrichment, Frames
from thence.tables.enrich.facts import Fact, are_numbers, category_codes, member_codes, property_fact
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.pools import Pool
from thence.tables.targets import classes_by_key, find_targets, number_states
from thence.tables.transactions import FeatureTable, TransactionTable

HOURS: tuple[float, ...] = tuple(float(hour) for hour in range(24))
WEEKDAYS: tuple[float, ...] = tuple(float(day) for day in range(7))
_ROWS = 64  # series that a thread encodes at a time


def reading_group(discretizer: Discretizer, feature: Feature) -> str:
    """Return the key of the binning of a reading; what it was before is cut at the same edges."""
    return discretizer.group(
        kind=feature.label, sensor=feature.subject, name="" if _is_earlier(feature) else feature.name
    )


def _is_earlier(feature: Feature) -> bool:
    return feature.time is not None and feature.time.form is TimeForm.LAG


def reading_groups(
    numeric: Iterable[tuple[Feature, npt.NDArray[np.float64]]], discretizer: Discretizer, fit_frames: Frames
) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Return the series that each binning of readings is fitted on; earlier values do not count twice."""
    groups: dict[str, list[npt.NDArray[np.float64]]] = {}
    for feature, values in numeric:
        if not _is_earlier(feature):
            groups.setdefault(reading_group(discretizer, feature), []).append(values[fit_frames])
    return groups


def numeric_readings(readings: WindowedReadings, around: Surroundings) -> list[tuple[Feature, npt.NDArray[np.float64]]]:
    """Return the features and series of all numeric readings, of their changes and of their earlier values."""
    out = [(around.reading(s), readings.values[:, i]) for i, s in enumerate(readings.numeric)]
    for name, values in readings.derived.items():
        if values.ndim == 2:
            out += [(around.reading(s, name), values[:, i]) for i, s in enumerate(readings.numeric)]
    return out


def calendar_columns(readings: WindowedReadings) -> list[Column]:
    """Return the columns for hour of day and day of week, if requested, as context."""
    out = []
    for name, values in (("hour", HOURS), ("weekday", WEEKDAYS)):
        if name in readings.derived:
            codes = readings.derived[name].astype(np.int16)[None, :]
            out.append(Column(Feature("", name=name, role=Role.TIME), values, codes, context=True))
    return out


def state_columns(readings: WindowedReadings, around: Surroundings) -> list[Column]:
    """Return one column per categorical sensor."""
    out = []
    for sensor in readings.categorical:
        states, categories = readings.states[sensor.id]
        codes = as_codes(
            states[None, :],
            len(categories),
            of=f"sensor '{sensor.id}'",
            hint=f"leave it out: read_sensors(…, ignore=['{sensor.id}'])",
        )
        out.append(Column(around.reading(sensor), tuple(categories), codes))
    return out


def derived_state_columns(readings: WindowedReadings, around: Surroundings) -> list[Column]:
    """Return one column per sensor and derived state: earlier states, switches, durations, what follows."""
    out = []
    for name, series in readings.derived_states.items():
        for sensor in readings.sensors:
            if sensor.id in series:
                codes, found = series[sensor.id]
                values = derived_values(found)
                feature = replace(around.reading(sensor, name), unit=derived_unit(name))
                out.append(Column(feature, values, codes[None, :], minable=minable_values(values)))
    return out


def derived_values(values: Iterable[DerivedValue]) -> tuple[Value | Interval, ...]:
    """Return the values of a derived state with ranges as intervals."""
    return tuple(Interval(*value) if isinstance(value, tuple) else value for value in values)


def derived_unit(name: str) -> str:
    """Return the unit of a derived state: durations are in hours."""
    found = parse_time_name(name)
    return "h" if found is not None and found.form is TimeForm.DURATION else ""


def minable_values(values: Iterable[Value | Interval]) -> tuple[bool, ...] | None:
    """Return which values rules may be about: not that nothing switches, lasts or follows."""
    flags = tuple(value is not False for value in values)
    return None if all(flags) else flags


def grounded_table(
    readings: WindowedReadings,
    around: Surroundings,
    *,
    mode: str,
    discretizer: Discretizer,
    fit_frames: Frames,
    hops: int,
    edges: bool,
) -> TransactionTable:
    """Build the table of the enrichments ``none`` and ``grounded``.

    Args:
        readings: The readings.
        around: The graph around the sensors.
        mode: ``"none"`` or ``"grounded"``.
        discretizer: How to discretize; bins that it lacks are fitted.
        fit_frames: The frames on which bins are fitted.
        hops: Distance up to which neighbours of the sensors' nodes are included.
        edges: Whether to add labels and edges of the graph as columns.
    """
    numeric = numeric_readings(readings, around)
    groups = reading_groups(numeric, discretizer, fit_frames)
    facts = _facts(readings, around, hops) if mode == "grounded" else []
    add_property_groups(facts, groups)
    discretizer = fit_missing(discretizer, groups, _classes(readings, around, discretizer, fit_frames))
    columns = _reading_columns(numeric, discretizer, readings)
    columns += state_columns(readings, around) + derived_state_columns(readings, around) + calendar_columns(readings)
    columns += [column for feature, fact in facts for column in property_columns(feature, fact, discretizer)]
    if edges and mode == "grounded":
        columns += _structure(readings, around, hops)
    block = Block(tuple(columns), len(readings), times=readings.times, workspace=readings.workspace)
    return TransactionTable((block,), mode, discretizer)


def _reading_columns(
    numeric: Sequence[tuple[Feature, npt.NDArray[np.float64]]], discretizer: Discretizer, readings: WindowedReadings
) -> list[Column]:
    """Return one column per numeric reading; their codes are rows of one matrix."""
    shape, space = (len(numeric), len(readings)), readings.workspace
    codes = space.empty(shape, np.int16, stage="the codes of the readings", seldom=True)
    binnings = [discretizer.binnings[reading_group(discretizer, feature)] for feature, _ in numeric]

    def work(part: tuple[int, int]) -> None:
        for at in range(*part):
            codes[at] = binnings[at].encode(np.ascontiguousarray(numeric[at][1]))

    run_threads(work, split_range(len(numeric), -(-len(numeric) // _ROWS)))
    return [
        Column(feature, tuple(binning.values), codes[at : at + 1])
        for at, ((feature, _), binning) in enumerate(zip(numeric, binnings, strict=True))
    ]


def fit_missing(
    discretizer: Discretizer,
    groups: dict[str, list[npt.NDArray[np.float64]]],
    classes: Mapping[str, npt.NDArray[np.int64]] | None = None,
) -> Discretizer:
    """Fit the groups for which a discretizer has no bins; ``classes`` are those of a target."""
    new = {key: Pool(partial(iter, parts)) for key, parts in groups.items() if key not in discretizer.binnings}
    return discretizer.fit(new, classes=classes) if new else discretizer


def _classes(
    readings: WindowedReadings, around: Surroundings, discretizer: Discretizer, fit_frames: Frames
) -> Mapping[str, npt.NDArray[np.int64]] | None:
    """Return the states towards which readings are cut, by key; ``None`` if the method needs none."""
    if not is_supervised(discretizer.method):
        return None
    numeric = [(feature, values) for feature, values in numeric_readings(readings, around) if not _is_earlier(feature)]
    states = [(c.feature, np.where(c.codes[0] < 0, np.nan, c.codes[0])) for c in state_columns(readings, around)]
    every = [*numeric, *states]
    targets = find_targets(discretizer.towards, [feature for feature, _ in every])
    keys = [reading_group(discretizer, feature) for feature, _ in every]
    found = [
        number_states(every[at][1][fit_frames], categorical=at >= len(numeric), bins=discretizer.bins) for at in targets
    ]
    return classes_by_key(discretizer, found, keys[: len(numeric)], [keys[at] for at in targets if at < len(numeric)])


def property_group(feature: Feature) -> str:
    """Return the key of the binning of a property, which all nodes of a class share."""
    return f"{feature.label}.{feature.name}"


def add_property_groups(
    facts: Iterable[tuple[Feature, Fact]], groups: dict[str, list[npt.NDArray[np.float64]]]
) -> None:
    """Add the numbers that the binning of each property is fitted on: each different one of a node or edge once."""
    for feature, fact in facts:
        if are_numbers(fact.members):
            numbers = np.array([float(one) for one in fact.members])
            groups.setdefault(property_group(feature), []).append(np.unique(numbers))


def property_columns(feature: Feature, fact: Fact, discretizer: Discretizer) -> list[Column]:
    """Build the context columns of a property: one, or with several values one for each of them.

    Args:
        feature: The feature.
        fact: Its values; numbers are discretized, everything else is categorical.
        discretizer: The fitted discretizer.
    """
    codes, known = _encode(feature, fact.members, discretizer)
    if not fact.has_several:
        series = np.full(len(fact.values), -1, np.int16)
        series[[value is not None for value in fact.values]] = codes
        return [Column(feature, known, series[fact.which][None, :], context=True)]
    out = []
    for code in np.unique(codes[codes >= 0]).tolist():
        held = member_codes([fact], codes, code, len(fact.which))
        some = feature.with_some(Item.is_(feature, known[code]))
        out.append(Column(some, (False, True), held, context=True, minable=(False, True)))
    return out


def _encode(
    feature: Feature, values: Sequence[Value], discretizer: Discretizer
) -> tuple[Codes, tuple[Value | Interval, ...]]:
    """Return the codes of the values of a property, and what they stand for."""
    if are_numbers(values):
        binning = discretizer.binnings[property_group(feature)]
        return binning.encode(np.array([float(one) for one in values])), tuple(binning.values)
    return category_codes(values, feature.name)


def _facts(readings: WindowedReadings, around: Surroundings, hops: int) -> list[tuple[Feature, Fact]]:
    nodes = around.nodes_around(tuple(s.id for s in readings.sensors), hops)
    return [*node_facts(readings, around, nodes), *_edge_facts(readings, around, nodes)]


def node_facts(readings: WindowedReadings, around: Surroundings, nodes: Iterable[str]) -> list[tuple[Feature, Fact]]:
    """Look up the properties of nodes.

    Args:
        readings: The readings, for the start of each frame.
        around: The graph around the sensors.
        nodes: Ids of the nodes.

    Returns:
        The feature and the values of each property.
    """
    assert around.graph is not None
    found = []
    for node in nodes:
        for name in around.properties_of(node):
            fact = property_fact(around.graph, node, name, readings.times)
            if fact.is_known:
                found.append((around.property(node, name), fact))
    return found


def _edge_facts(readings: WindowedReadings, around: Surroundings, nodes: Sequence[str]) -> list[tuple[Feature, Fact]]:
    """Look up the properties of the edges between nodes."""
    assert around.graph is not None
    found = []
    for edge in around.edges_among(nodes):
        for name in around.properties_of(edge.id):
            fact = property_fact(around.graph, edge.id, name, readings.times)
            if fact.is_known:
                found.append((around.edge_property(edge, name), fact))
    return found


def _structure(readings: WindowedReadings, around: Surroundings, hops: int) -> list[Column]:
    """Return constant context columns for the labels of nodes and edges, and for the edges."""
    assert around.graph is not None
    nodes = around.nodes_around(tuple(s.id for s in readings.sensors), hops)
    features = [
        Feature(node, Aspect.LABEL, label, role=Role.NODE, classes=around.classes_of(node))
        for node in nodes
        for label in sorted(around.graph.node(node).labels)
    ]
    for edge in around.edges_among(nodes):
        features.append(Feature(edge.source, Aspect.EDGE, edge.id, role=Role.NODE, other=edge.target))
        features += [Feature(edge.id, Aspect.LABEL, lab, role=Role.EDGE) for lab in sorted(edge.labels)]
    yes = np.zeros((1, 1), np.int16)
    return [Column(feature, (True,), yes, context=True) for feature in dict.fromkeys(features)]


def raw_table(readings: WindowedReadings, around: Surroundings, *, mode: str, hops: int) -> FeatureTable:
    """Build the same columns before discretization; the parameters are those of ``grounded_table``.

    Raises:
        ConfigError: If features of time were derived: rules between them and their readings cannot be excluded here.
    """
    timed = [name for name in (*readings.derived, *readings.derived_states) if parse_time_name(name)]
    if timed:
        raise ConfigError(
            f"'{timed[0]}' is not possible in a table without bins, for miners that find their own intervals",
            hint="leave it out of 'derive', or use another miner, such as exact",
        )
    frames = len(readings)
    features: list[Feature] = []
    numbers: list[npt.NDArray[np.float64]] = []
    categories: list[tuple[Value, ...] | None] = []
    context: list[bool] = []

    def add(
        feature: Feature, values: npt.NDArray[np.float64], known: tuple[Value, ...] | None, is_context: bool
    ) -> None:
        features.append(feature)
        numbers.append(np.broadcast_to(values, (frames,)))
        categories.append(known)
        context.append(is_context)

    for feature, values in numeric_readings(readings, around):
        add(feature, values, None, False)
    for column in [*state_columns(readings, around), *calendar_columns(readings)]:
        codes = column.codes[0].astype(np.float64)
        add(column.feature, np.where(codes < 0, np.nan, codes), column.values, column.context)  # type: ignore[arg-type]
    facts = _facts(readings, around, hops) if mode == "grounded" else []
    groups: dict[str, list[npt.NDArray[np.float64]]] = {}
    add_property_groups([one for one in facts if one[1].has_several], groups)
    bins = fit_missing(Discretizer(), groups)
    for feature, fact in facts:
        if are_numbers(fact.members) and not fact.has_several:
            add(feature, fact.series, None, True)
            continue
        for made in property_columns(feature, fact, bins):
            codes = made.codes[0].astype(np.float64)
            add(made.feature, np.where(codes < 0, np.nan, codes), made.values, True)  # type: ignore[arg-type]
    stacked = np.stack(numbers, axis=1) if numbers else np.empty((frames, 0))
    return FeatureTable(tuple(features), stacked, tuple(categories), readings.times, tuple(context))


NONE = Enrichment(
    build=lambda readings, around, discretizer, frames, options: grounded_table(
        readings, around, mode="none", discretizer=discretizer, fit_frames=frames, hops=0, edges=False
    ),
    features=lambda readings, around, options: raw_table(readings, around, mode="none", hops=0),
    needs_graph=False,
)

GROUNDED = Enrichment(
    build=lambda readings, around, discretizer, frames, options: grounded_table(
        readings,
        around,
        mode="grounded",
        discretizer=discretizer,
        fit_frames=frames,
        hops=options.hops,
        edges=options.edges,
    ),
    features=lambda readings, around, options: raw_table(readings, around, mode="grounded", hops=options.hops),
    settings=("hops", "edges", "properties"),
)
