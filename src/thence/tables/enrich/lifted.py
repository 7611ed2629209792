"""Enrichment ``lifted``: a row is a time frame of an embedding of a pattern, and features belong to variables.

Readings are encoded once per sensor and shared by all columns that read them, so a block takes memory for sensors ×
frames, not embeddings × frames. With ``scope="sensor"`` a reading becomes its rank in the sensor's own history, with
``scope="kind"`` an absolute range that all sensors of the kind share. This module builds tables; it does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers, discover
from thence.data.graph.matching import (
    GraphIndex,
    find_embeddings,
    most_specific_label,
    with_ancestors,
    with_general_relations,
)
from thence.data.graph.records import Edge, list_values
from thence.data.graph.units import Units
from thence.data.readings.sensors import site_of_id
from thence.data.readings.windows import WindowedReadings
from thence.errors import PatternError
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.language.patterns import Link, Pattern, SensorVariable
from thence.tables.blocks import Block, Column, Indices, SiteFrames
from thence.tables.discretization import Discretizer
from thence.tables.enrich.base import Enrichment, Frames, Rows
from thence.tables.enrich.facts import Fact, are_numbers, category_codes, join_facts, member_codes, property_fact
from thence.tables.enrich.grounded import calendar_columns
from thence.tables.enrich.series import KindCodes, SeriesEncoder, encode_readings
from thence.tables.enrich.stars import star_series
from thence.tables.enrich.surroundings import Surroundings
from thence.tables.transactions import TransactionTable

Codes = npt.NDArray[np.int16]
_USUAL = 3
"""The usual minimum of embeddings, which gives way where sensors would be in no pattern; a higher one was asked for."""
_MOST_LOOKED_AT = 10_000_000
"""The most embeddings that are looked at to see which sensors patterns read."""


def lifted_table(
    readings: WindowedReadings,
    around: Surroundings,
    *,
    discretizer: Discretizer,
    fit_frames: Frames,
    patterns: str | Sequence[str | Pattern],
    hops: int,
    min_embeddings: int,
    max_embeddings: int,
    edges: bool,
) -> TransactionTable:
    """Build a table with one block per pattern.

    Sensors at points of a unit count as those of the unit in discovered patterns, and where a pattern says ``[in*]``.

    Args:
        readings: The readings.
        around: The graph around the sensors.
        discretizer: How to discretize; bins that it lacks are fitted.
        fit_frames: The frames on which bins are fitted.
        patterns: ``"auto"``, ``"stars"`` or ``"paths"`` to discover patterns, or the patterns.
        hops: Maximum number of edges of a discovered path.
        min_embeddings: Minimum number of embeddings of a discovered pattern; of two systems, two are enough, and of a
            unit with its points, one. Up to 3, patterns of fewer are used for sensors that are in no other.
        max_embeddings: Maximum number of embeddings of a pattern.
        edges: Whether to add labels and edges of the graph as columns.

    Raises:
        PatternError: If a pattern names an unknown kind, or has too many embeddings.
    """
    assert around.graph is not None and around.binding is not None
    index = GraphIndex(around.graph, around.ontology)
    kind_of = {sensor.id: sensor.kind for sensor in readings.sensors}
    notes: list[str] = []
    if readings.site_times:
        # A pattern with one place in each of several systems is worth as much as one with several places in one.
        min_embeddings = min(min_embeddings, max(2, len(readings.site_times)))
    asked = not (isinstance(patterns, str) and patterns in ("auto", "stars", "paths"))
    if not asked:
        carriers = Carriers.of(index, kind_of, dict(around.binding))
        find = partial(
            discover,
            carriers,
            hops=hops,
            max_embeddings=max_embeddings,
            paths=patterns != "stars",
            stars=patterns != "paths",
            nearest=[sensor.id for sensor in readings.numeric],
        )
        chosen, notes = find(min_embeddings=min_embeddings)
        if patterns == "auto" and min_embeddings <= _USUAL:
            chosen += _patterns_of_few(chosen, carriers, find)
        if not chosen:
            least = f"{min_embeddings} or more embeddings" if min_embeddings > _USUAL else "an embedding"
            notes.append(f"no pattern of up to {hops} edges between nodes with sensors has {least}")
    else:
        given = [patterns] if isinstance(patterns, (str, Pattern)) else list(patterns)
        parsed = [p if isinstance(p, Pattern) else Pattern.parse(p) for p in given]
        carriers = Carriers.of(index, kind_of, dict(around.binding), patterns=parsed)
        chosen = [carriers.with_known_kinds(pattern) for pattern in parsed]
    unused = sorted(set(discretizer.bin_edges) & {kind for sensor in readings.numeric if (kind := sensor.kind)})
    if unused and discretizer.scope == "sensor":
        notes.append(
            f"bin_edges of {', '.join(unused)} are not used: readings are ranks of each sensor unless scope='kind'"
        )
    if discretizer.scope == "sensor" and discretizer.method != Discretizer.method:
        notes.append(
            f"the method '{discretizer.method}' is not used: readings are ranks of each sensor unless scope='kind'"
        )
    encoder = SeriesEncoder(_with_edges_of_roles(discretizer, kind_of, carriers.units), fit_frames, readings.workspace)
    codes = _codes(readings, encoder, carriers.units, chosen)
    blocks = []
    for pattern in chosen:
        try:
            block = _block(pattern, readings, around, carriers, codes, encoder, max_embeddings, edges)
        except PatternError as error:
            if not discretizer.binnings:
                raise
            # With earlier bins, patterns are those of earlier rules, which another system need not have.
            notes.append(f"the pattern {pattern} is left out: {error.message}")
            continue
        if block is None and asked and not discretizer.binnings:
            raise PatternError(
                f"the pattern {pattern} matches no place of the graph where its sensors are",
                hint="thence check shows the classes, relations and kinds that there are",
            )
        if block is None:
            notes.append(f"the pattern {pattern} has no embedding among the nodes with sensors")
        else:
            blocks.append(block)
    fitted = replace(encoder.fitted(), bin_edges=discretizer.bin_edges)
    return TransactionTable(tuple(blocks), "lifted", fitted, (*carriers.units.notes, *notes))


def _patterns_of_few(
    chosen: Sequence[Pattern], carriers: Carriers, find: Callable[..., tuple[list[Pattern], list[str]]]
) -> list[Pattern]:
    """Patterns with fewer embeddings than asked for, about nodes whose sensors are in no other pattern.

    Where no pattern has two places, the system is so small that one embedding is all that it has.
    """
    small = not any(pattern.links for pattern in chosen)
    rest = set(np.flatnonzero(carriers.mask()).tolist())
    covered: set[int] = set()
    for pattern in chosen:
        rows = find_embeddings(
            pattern, carriers.index, allowed=_allowed_nodes(pattern, carriers), limit=_MOST_LOOKED_AT
        )
        hosts = {sensor.host for sensor in pattern.sensors}
        at = [place for place, variable in enumerate(pattern.nodes) if variable.name in hosts]
        covered |= set(rows[:, at].ravel().tolist())
    if not (rest - covered or small):
        return []
    found, _ = find(min_embeddings=1, only=rest if small else rest - covered)
    known = set(map(str, chosen))
    return [pattern for pattern in found if str(pattern) not in known]


@dataclass(frozen=True)
class _Codes:
    """The codes of readings by kind, and with the roles of sensors at points as their kinds."""

    own: Sequence[KindCodes]
    points: Sequence[KindCodes]


def _with_edges_of_roles(discretizer: Discretizer, kind_of: Mapping[str, str], units: Units) -> Discretizer:
    """Return the discretizer with the edges given for a kind also for the roles that its sensors have."""
    given = discretizer.bin_edges
    roles = {role: given[kind_of[s]] for s, role in units.role_of.items() if kind_of[s] in given}
    return replace(discretizer, bin_edges={**roles, **given}) if roles else discretizer


def _codes(readings: WindowedReadings, encoder: SeriesEncoder, units: Units, patterns: Sequence[Pattern]) -> _Codes:
    renamed = {s.kind for s in readings.sensors if units.role_of.get(s.id, s.kind) != s.kind}
    if not renamed:
        codes = encode_readings(readings, encoder)
        return _Codes(codes, codes)
    named = tuple(replace(s, kind=units.role_of.get(s.id, s.kind)) for s in readings.sensors)
    codes = encode_readings(replace(readings, sensors=named), encoder)
    # Where no pattern asks for a kind of which some sensors have another name, one encoding serves all.
    asked = {s.kind for pattern in patterns if not pattern.has_points for s in pattern.sensors}
    return _Codes(encode_readings(readings, encoder) if asked & {"", *renamed} else codes, codes)


def _block(
    pattern: Pattern,
    readings: WindowedReadings,
    around: Surroundings,
    carriers: Carriers,
    codes: _Codes,
    encoder: SeriesEncoder,
    max_embeddings: int,
    edges: bool,
) -> Block | None:
    index = carriers.index
    rows, chosen = find_places(pattern, carriers, max_embeddings)
    if not len(rows):
        return None
    columns = _reading_columns(pattern, chosen, carriers, codes)
    sites, site_of = _sites(readings, [index.ids[n] for n in rows[:, 0].tolist()])
    if pattern.is_star:
        focus = pattern.nodes[0].name
        for found in star_series(pattern, rows[:, 0], readings, carriers):
            series = found.rows if site_of is None else _within(found.rows, _frames_of(sites, site_of))
            if not any(_has_values(series(at, at + 1)) for at in range(len(rows))):
                continue
            encoded, meaning = encoder.encode(series, found.keys, found.pool, alike=found.alike)
            lifted = replace(
                found.feature, relative=encoder.relative, place=focus, classes=_classes(pattern, focus, index)
            )
            columns.append(Column(lifted, meaning, encoded, np.arange(len(rows), dtype=np.int32)))
    columns = _distinct(columns)
    columns += _property_columns(pattern, rows, around, index, encoder, readings)
    columns += _link_columns(pattern, rows, around, index, encoder, readings)
    if edges:
        columns += _structure_columns(pattern, rows, index)
    columns += _calendar_columns(readings, len(rows), site_of)
    names = tuple(
        (*(index.ids[n] for n in nodes), *sensors) for nodes, sensors in zip(rows.tolist(), chosen, strict=True)
    )
    times = None if sites else readings.times
    return Block(
        tuple(_padded(column, sites, site_of) for column in columns),
        len(readings),
        len(rows),
        times,
        pattern,
        names,
        sites,
        site_of,
        readings.workspace,
    )


def _sites(readings: WindowedReadings, nodes: Sequence[str]) -> tuple[tuple[SiteFrames, ...], Indices | None]:
    """Return the frames of each of several systems, and the system of each embedding, given a node of it."""
    if not readings.site_times:
        return (), None
    number = {name: at for at, name in enumerate(readings.site_times)}
    sites = tuple(SiteFrames(name, times) for name, times in readings.site_times.items())
    return sites, np.array([number[site_of_id(node)] for node in nodes], np.int32)


def _calendar_columns(readings: WindowedReadings, n_embeddings: int, site_of: Indices | None) -> list[Column]:
    """Return the columns for hour and weekday; of several systems, each has a calendar of its own."""
    if site_of is None:
        return [replace(c, series=np.zeros(n_embeddings, np.int32)) for c in calendar_columns(readings)]
    alike = replace(readings, derived={name: codes[0] for name, codes in readings.calendars.items()})
    return [
        replace(column, codes=readings.calendars[column.feature.name], series=site_of)
        for column in calendar_columns(alike)
    ]


def _frames_of(sites: tuple[SiteFrames, ...], site_of: Indices) -> npt.NDArray[np.int64]:
    return np.array([len(site) for site in sites], np.int64)[site_of]


def _within(rows: Rows, frames: npt.NDArray[np.int64]) -> Rows:
    """Return series that end with their system: the total of no neighbours is 0, but not after its last frame."""

    def cut(start: int, stop: int) -> npt.NDArray[np.float64]:
        series = rows(start, stop)
        series[np.arange(series.shape[1])[None, :] >= frames[start:stop, None]] = np.nan
        return series

    return cut


def _has_values(series: npt.NDArray[np.float64]) -> bool:
    return not bool(np.isnan(series).all())


def _padded(column: Column, sites: tuple[SiteFrames, ...], site_of: Indices | None) -> Column:
    """Return a column that is missing after the last frame of each system; only a dated property may not be."""
    if site_of is None or column.is_static:
        return column
    read = column.series >= 0
    frames = np.zeros(len(column.codes), np.int64)
    frames[column.series[read]] = _frames_of(sites, site_of[read])
    beyond = (np.arange(column.codes.shape[1])[None, :] >= frames[:, None]) & (column.codes >= 0)
    # Series that no embedding reads stay as they are, so that the columns of readings keep sharing their codes.
    beyond[np.setdiff1d(np.arange(len(column.codes)), column.series[read])] = False
    return replace(column, codes=np.where(beyond, np.int16(-1), column.codes)) if beyond.any() else column


def find_places(
    pattern: Pattern, carriers: Carriers, limit: int
) -> tuple[npt.NDArray[np.int64], list[tuple[str, ...]]]:
    """Find the embeddings of the nodes, and the sensor for each sensor variable ("" if there is none).

    Args:
        pattern: The pattern.
        carriers: Which nodes carry which sensors.
        limit: Maximum number of embeddings.
    """
    index, carried = carriers.index, carriers.matched_by(pattern)
    rows = find_embeddings(pattern, index, allowed=_allowed_nodes(pattern, carriers), limit=limit)
    host = {v.name: i for i, v in enumerate(pattern.nodes)}
    nodes: list[list[int]] = []
    sensors: list[tuple[str, ...]] = []
    for row in rows.tolist():
        options = []
        for slot in pattern.sensors:
            at = row[host[slot.host]]
            kinds = [slot.kind] if slot.kind else list(carried)
            options.append([s for kind in kinds for s in carried.get(kind, {}).get(at, ())])
        for choice in _choices(pattern.sensors, options):
            nodes.append(row)
            sensors.append(choice)
        if len(nodes) > limit:
            raise PatternError(
                f"the pattern {pattern} has more than {limit:,} embeddings",
                hint="make it more specific, or raise max_embeddings",
            )
    return np.array(nodes, np.int64).reshape(len(nodes), len(pattern.nodes)), sensors


def _allowed_nodes(pattern: Pattern, carriers: Carriers) -> dict[str, npt.NDArray[np.bool_]]:
    """The nodes that each variable of a pattern may be, by the sensors that it asks for."""
    index, carried = carriers.index, carriers.matched_by(pattern)
    allowed: dict[str, npt.NDArray[np.bool_]] = {}
    for variable in pattern.nodes:
        own = [s for s in pattern.sensors if s.host == variable.name]
        mask = np.ones(len(index.ids), bool)
        for sensor in own:
            if sensor.kind and not sensor.optional and sensor.kind not in carried:
                raise PatternError(f"no sensor has the kind '{sensor.kind}'", hint="known kinds: " + ", ".join(carried))
            if not sensor.optional:
                mask &= carriers.mask(sensor.kind or None, pattern=pattern)
        if own and all(s.optional for s in own) and not pattern.is_star:
            mask &= np.any([carriers.mask(s.kind or None, pattern=pattern) for s in own], axis=0)
        allowed[variable.name] = mask
    return allowed


def _choices(slots: Sequence[SensorVariable], options: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield every choice of a different sensor for each variable, in every order.

    An optional variable is "" if no sensor is left for it.
    """
    later = [frozenset(s for option in options[at + 1 :] for s in option) for at in range(len(slots))]

    def extend(picked: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        at = len(picked)
        if at == len(slots):
            if not any(not picked[k] and set(options[k]).difference(picked) for k in range(at)):
                yield picked
            return
        for sensor in options[at]:
            if sensor not in picked:
                yield from extend((*picked, sensor))
        # A sensor that no later variable can take would be left over.
        if slots[at].optional and later[at].issuperset(set(options[at]).difference(picked)):
            yield from extend((*picked, ""))

    yield from extend(())


def _classes(pattern: Pattern, variable: str, index: GraphIndex) -> frozenset[str]:
    label = pattern.label_of(variable)
    return with_ancestors([label], index.ontology) if label else frozenset()


def _reading_columns(
    pattern: Pattern,
    chosen: list[tuple[str, ...]],
    carriers: Carriers,
    codes: _Codes,
) -> list[Column]:
    out = []
    for at, variable in enumerate(pattern.sensors):
        for kind in codes.points if pattern.has_points else codes.own:
            if variable.kind and kind.kind != variable.kind:
                continue
            series = np.array([kind.row_of.get(sensors[at], -1) for sensors in chosen], np.int32)
            if (series < 0).all():
                continue
            feature = Feature(
                variable.name,
                Aspect.MEASUREMENT,
                kind.name,
                role=Role.VARIABLE,
                label=kind.kind,
                relative=kind.relative,
                unit=kind.unit,
                place=variable.host,
                classes=_classes(pattern, variable.host, carriers.index),
            )
            out.append(Column(feature, kind.values, kind.codes, series, minable=kind.minable))
    return out


def _distinct(columns: list[Column]) -> list[Column]:
    """Drop aggregates of the same sensors that are equal in every row (the total of one neighbour is its mean)."""
    distinct: list[Column] = []
    for column in columns:
        reads = column.feature.reads
        alike = (other.codes for other in distinct if reads and other.feature.reads == reads)
        if not any(np.array_equal(codes, column.codes) for codes in alike):
            distinct.append(column)
    return distinct


def _property_columns(
    pattern: Pattern,
    rows: npt.NDArray[np.int64],
    around: Surroundings,
    index: GraphIndex,
    encoder: SeriesEncoder,
    readings: WindowedReadings,
) -> list[Column]:
    """Return context columns for the properties of each variable's node: static unless the property is dated."""
    out = []
    for at, variable in enumerate(pattern.nodes):
        numbers, series = np.unique(rows[:, at], return_inverse=True)
        nodes = [index.ids[n] for n in numbers.tolist()]
        for name in sorted({name for node in nodes for name in around.properties_of(node)}):
            facts = [property_fact(index.graph, node, name, _times_at(node, readings)) for node in nodes]
            feature = Feature(
                variable.name,
                Aspect.PROPERTY,
                name,
                role=Role.VARIABLE,
                label=variable.label,
                unit=index.graph.property_units.get(name, ""),
                classes=_classes(pattern, variable.name, index),
            )
            out += _fact_columns(feature, facts, series.astype(np.int32), encoder, len(readings))
    return out


def _link_columns(
    pattern: Pattern,
    rows: npt.NDArray[np.int64],
    around: Surroundings,
    index: GraphIndex,
    encoder: SeriesEncoder,
    readings: WindowedReadings,
) -> list[Column]:
    """Return context columns for the properties of the edges that match each link of a pattern."""
    at = {variable.name: place for place, variable in enumerate(pattern.nodes)}
    out = []
    for link in pattern.links:
        edges = _described_edges(link, around, index)
        if not edges:
            continue
        pairs, series = np.unique(rows[:, [at[link.source], at[link.target]]], axis=0, return_inverse=True)
        found = [edges.get((source, target), ()) for source, target in pairs.tolist()]
        # Both ends of an undirected link are alike: they are named in alphabetical order.
        ends = (link.source, link.target) if link.directed else sorted((link.source, link.target))
        for name in sorted({name for several in found for edge in several for name in around.properties_of(edge.id)}):
            facts = [
                join_facts([property_fact(index.graph, e.id, name, _times_at(e.source, readings)) for e in several])
                for several in found
            ]
            feature = Feature(
                ends[0],
                Aspect.PROPERTY,
                name,
                role=Role.VARIABLE,
                label=link.label,
                other=ends[1],
                unit=index.graph.property_units.get(name, ""),
            )
            out += _fact_columns(feature, facts, series.reshape(-1).astype(np.int32), encoder, len(readings))
    return out


def _described_edges(link: Link, around: Surroundings, index: GraphIndex) -> dict[tuple[int, int], list[Edge]]:
    """Return the edges with properties that match a link, by the numbers of the nodes at its source and its target."""
    out: dict[tuple[int, int], list[Edge]] = {}
    both = not link.directed or index.is_symmetric(link.label)
    for edge in around.described_edges:
        if link.label and link.label not in with_general_relations(edge.labels, index.ontology):
            continue
        ends = index.number[edge.source], index.number[edge.target]
        for pair in {ends, ends[::-1]} if both else {ends}:
            out.setdefault(pair, []).append(edge)
    return out


def _fact_columns(
    feature: Feature, facts: Sequence[Fact], series: Indices, encoder: SeriesEncoder, n_frames: int
) -> list[Column]:
    """Return the context columns of a property: one, or if it has several values somewhere, one for each value.

    Args:
        feature: The feature.
        facts: The values at each node or edge.
        series: Which of them each embedding reads.
        encoder: The bins.
        n_frames: The number of frames.
    """
    if not any(fact.is_known for fact in facts):
        return []
    if not any(fact.has_several for fact in facts):
        codes, meaning = _fact_codes(facts, feature, encoder, n_frames)
        # A property with one value says nothing, but earlier rules may be about it.
        minable = None if len(meaning) > 1 else (False,) * len(meaning)
        if minable is not None and not encoder.discretizer.systems:
            return []
        return [Column(feature, meaning, codes, series, context=True, minable=minable)]
    codes, meaning = _encode_values([one for fact in facts for one in fact.members], feature, encoder)
    out = []
    for code in np.unique(codes[codes >= 0]).tolist():
        held = member_codes(facts, codes, code, n_frames)
        minable = (False, bool((held == 0).any()))
        if minable[1] or encoder.discretizer.systems:
            some = feature.with_some(Item.is_(feature, meaning[code]))
            out.append(Column(some, (False, True), held, series, context=True, minable=minable))
    return out


def _times_at(node: str, readings: WindowedReadings) -> npt.NDArray[np.datetime64]:
    """Return the start of each frame at a node; of several systems, the last time is repeated in the padding."""
    own = readings.times_of(node)
    return np.concatenate([own, np.repeat(own[-1:], len(readings) - len(own))]) if len(own) else readings.times


def _fact_codes(
    facts: Sequence[Fact], feature: Feature, encoder: SeriesEncoder, n_frames: int
) -> tuple[Codes, tuple[Value | Interval, ...]]:
    """Encode a property: codes (nodes × 1, or nodes × frames if it is dated at one of them), and their meaning."""
    held = [next(iter(list_values(value)), None) for fact in facts for value in fact.values]
    codes, meaning = _encode_values(held, feature, encoder)
    if all(len(fact.which) == 1 for fact in facts):
        return codes[:, None], meaning
    first = np.cumsum([0, *(len(fact.values) for fact in facts[:-1])])
    rows = [np.broadcast_to(codes[at + fact.which], (n_frames,)) for at, fact in zip(first, facts, strict=True)]
    return np.stack(rows), meaning


def _encode_values(
    values: Sequence[Value | None], feature: Feature, encoder: SeriesEncoder
) -> tuple[Codes, tuple[Value | Interval, ...]]:
    if are_numbers(values):
        numbers = np.array([np.nan if v is None else float(v) for v in values])
        return encoder.encode_facts(numbers, f"{feature.label}.{feature.name}")
    return category_codes(values, feature.name)


def _structure_columns(pattern: Pattern, rows: npt.NDArray[np.int64], index: GraphIndex) -> list[Column]:
    """Return context columns for labels below a variable's class, and for edges that the pattern does not name."""
    out = []

    def add(feature: Feature, held: npt.NDArray[np.bool_]) -> None:
        if held.any() and not held.all():
            series = np.arange(len(rows), dtype=np.int32)
            out.append(Column(feature, (False, True), held.astype(np.int16)[:, None], series, context=True))

    for at, variable in enumerate(pattern.nodes):
        alike: dict[bytes, list[str]] = {}
        for label in index.labels:
            alike.setdefault(index.has_label(label)[rows[:, at]].tobytes(), []).append(label)
        # Of classes with the same nodes, only the most specific one is named.
        for label in sorted(most_specific_label(labels, index.ontology) for labels in alike.values()):
            held = index.has_label(label)[rows[:, at]]
            everywhere = [name for name in index.labels if index.has_label(name)[rows[held, at]].all()]
            classes = frozenset(everywhere) if held.any() else frozenset()
            add(Feature(variable.name, Aspect.LABEL, label, role=Role.VARIABLE, classes=classes), held)
    for relation in index.relations:
        for a, left in enumerate(pattern.nodes):
            for b, right in enumerate(pattern.nodes):
                if a == b:
                    continue
                origin, reached = index.adjacency(relation, "out").expand(rows[:, a])
                held = np.zeros(len(rows), bool)
                held[origin[reached == rows[origin, b]]] = True
                add(Feature(left.name, Aspect.EDGE, relation, role=Role.VARIABLE, other=right.name), held)
    return out


LIFTED = Enrichment(
    build=lambda readings, around, discretizer, frames, options: lifted_table(
        readings,
        around,
        discretizer=discretizer,
        fit_frames=frames,
        patterns=options.patterns,
        hops=options.hops,
        min_embeddings=options.min_embeddings,
        max_embeddings=options.max_embeddings,
        edges=options.edges,
    ),
    settings=("hops", "edges", "properties", "patterns", "min_embeddings", "max_embeddings"),
    # Ranks in a sensor's own history carry over from sensor to sensor, which is what lifted rules are about.
    scope="sensor",
    bins=5,
    fewer_bins=(3,),
    hops=2,
    min_hops=1,
)
