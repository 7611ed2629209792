"""Readings as RDF observations: values, states and changes of sensors, ranks, aggregates at nodes, and frames.

Ranks and aggregates are those of a table. A rank is written as the middle of its bin, a value that has no rank by its
name. Frames are written with their start, so that a query can distinguish a frame without readings from no frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from thence.data.graph.discovery import Carriers
from thence.data.graph.matching import GraphIndex
from thence.errors import ConfigError
from thence.language.items import Feature, Interval, Value
from thence.show.export.vocabulary import PREFIXES, Namespaces, literal
from thence.tables.enrich.stars import star_series

if TYPE_CHECKING:
    from thence.data.graph.knowledge_graph import KnowledgeGraph
    from thence.data.graph.ontology import Ontology
    from thence.data.readings.windows import WindowedReadings
    from thence.tables.blocks import Block, Column
    from thence.tables.transactions import TransactionTable

_SOSA, _XSD = PREFIXES["sosa"], PREFIXES["xsd"]


def typed(value: Value | int) -> str:
    """Return a typed literal; N-Triples has no short form for numbers and booleans.

    Args:
        value: The value.
    """
    if isinstance(value, bool):
        return f'"{str(value).lower()}"^^<{_XSD}boolean>'
    if isinstance(value, (int, float)):
        return f'"{float(value)!r}"^^<{_XSD}double>'
    return literal(value)


def list_moments(moments: Iterable[datetime]) -> list[str]:
    """Return moments as literals.

    Args:
        moments: The moments.
    """
    return [f'"{moment.isoformat()}"^^<{_XSD}dateTime>' for moment in moments]


def observations(readings: Mapping[str, pl.DataFrame], words: Namespaces, numbers: Iterator[int]) -> Iterator[str]:
    """Yield the observations of sensors.

    Args:
        readings: ``"value"``, ``"rank"``, ``"change"`` and so on to a frame with the column ``time`` and one column per
            sensor.
        words: The names.
        numbers: Numbers for blank nodes.
    """
    for name, frame in readings.items():
        moments = list_moments(frame["time"].to_list())
        for sensor in frame.columns:
            if sensor != "time":
                subject = [f"<{_SOSA}madeBySensor> {words.sensor(sensor)}"]
                yield from _series(subject, _predicate(name, words), moments, frame[sensor].to_list(), numbers)


def windowed_observations(
    readings: WindowedReadings,
    words: Namespaces,
    numbers: Iterator[int],
    *,
    table: TransactionTable | None = None,
    graph: KnowledgeGraph | None = None,
    binding: Mapping[str, str] | None = None,
    ontology: Ontology | None = None,
) -> Iterator[str]:
    """Yield the frames, the observations of sensors and, for a lifted table, its ranks and aggregates.

    Args:
        readings: The readings in windows.
        words: The names.
        numbers: Numbers for blank nodes.
        table: The table.
        graph: The graph of the table.
        binding: The node of each sensor.
        ontology: The ontology of the table.

    Raises:
        ConfigError: If the table has other frames than the readings.
    """
    frame = readings.to_polars()
    times = frame["time"]
    moments = list_moments(times.to_list())
    calendar = {name: values.tolist() for name, values in readings.derived.items() if values.ndim == 1}
    for at, moment in enumerate(moments):
        node = f"_:f{next(numbers)}"
        yield f"{node} {words.reading('frame')} {moment} ."
        yield from (f"{node} {words.reading(name)} {typed(values[at])} ." for name, values in calendar.items())
    frames = {"value": frame}
    for name, values in readings.derived.items():
        if values.ndim == 2:
            series = {s.id: pl.Series(values[:, at], nan_to_null=True) for at, s in enumerate(readings.numeric)}
            frames[name] = pl.DataFrame({"time": times, **series})
    yield from observations(frames, words, numbers)
    for name, states in readings.derived_states.items():
        for sensor, (codes, known) in states.items():
            # A range of hours is written as its lower end.
            results = [*(max(value[0], 0.0) if isinstance(value, tuple) else value for value in known), None]
            subject = [f"<{_SOSA}madeBySensor> {words.sensor(sensor)}"]
            yield from _series(subject, words.reading(name), moments, [results[c] for c in codes.tolist()], numbers)
    seen: set[tuple[str, str]] = set()
    for block in table.blocks if table is not None else ():
        if block.pattern is None or table is None:
            continue
        if block.times is None or not np.array_equal(block.times, readings.times):
            raise ConfigError(
                "the table has other frames than the readings", hint="pass the readings it was built from"
            )
        for subject, predicate, values in [
            *_ranks(block, words),
            *(_aggregates(block, table, readings, graph, binding, ontology, words) if graph is not None else ()),
        ]:
            key = (" ".join(subject), predicate)
            if key not in seen:
                seen.add(key)
                yield from _series(subject, predicate, moments, values, numbers)


_Observed = tuple[list[str], str, Sequence[Any]]
"""What an observation is of, the predicate of its result, and a result per frame."""


def _ranks(block: Block, words: Namespaces) -> Iterator[_Observed]:
    """The ranks of sensors and of aggregates, from the codes of a block."""
    assert block.pattern is not None
    variables = block.pattern.variables
    for column in block.columns:
        if not column.feature.relative:
            continue
        results = [*(_middle(value) for value in column.values), None]
        for names, row in zip(block.embeddings, _rows(column, block), strict=True):
            subject, predicate = _about(column.feature, dict(zip(variables, names, strict=True)), block, words)
            if row >= 0 and subject:
                codes = np.broadcast_to(column.codes[row], (block.n_frames,)).tolist()
                yield subject, predicate, [results[code] for code in codes]


def _aggregates(
    block: Block,
    table: TransactionTable,
    readings: WindowedReadings,
    graph: KnowledgeGraph,
    binding: Mapping[str, str] | None,
    ontology: Ontology | None,
    words: Namespaces,
) -> Iterator[_Observed]:
    """The aggregates around the foci of a star, as numbers."""
    assert block.pattern is not None
    if not block.pattern.is_star:
        return
    index = GraphIndex(graph, ontology)
    patterns = [other.pattern for other in table.blocks if other.pattern is not None]
    kinds = {s.id: s.kind for s in readings.sensors}
    carriers = Carriers.of(index, kinds, dict(binding or {}), patterns=patterns)
    foci = list(dict.fromkeys(names[0] for names in block.embeddings))
    numbers = np.array([index.number[name] for name in foci], np.int64)
    for found in star_series(block.pattern, numbers, readings, carriers):
        for at, focus in enumerate(foci):
            values = found.rows(at, at + 1)[0].tolist()
            subject, predicate = _about(found.feature, {found.feature.subject: focus}, block, words)
            yield subject, predicate, values


def _about(feature: Feature, names: Mapping[str, str], block: Block, words: Namespaces) -> tuple[list[str], str]:
    """What a feature of a variable is an observation of, and its predicate; nothing if there is no such sensor."""
    assert block.pattern is not None
    ranked = "rank" if feature.relative else ""
    name = names[feature.subject]
    if feature.subject in {sensor.name for sensor in block.pattern.sensors}:
        predicate = _predicate("-".join(filter(None, (feature.name, ranked))) or "value", words)
        return ([f"<{_SOSA}madeBySensor> {words.sensor(name)}"] if name else []), predicate
    about = words.kind(f"{feature.label} {feature.name}".strip())
    subject = [f"<{_SOSA}hasFeatureOfInterest> {words.node(name)}", f"<{_SOSA}observedProperty> {about}"]
    return subject, _predicate(ranked or "value", words)


def _rows(column: Column, block: Block) -> list[int]:
    """The row of ``codes`` of each embedding."""
    return [0] * block.n_embeddings if column.series is None else [int(row) for row in column.series]


def _middle(value: Value | Interval) -> Value:
    """The middle of a range of ranks; the outer ranges end at 0 and 1."""
    if not isinstance(value, Interval):
        return value
    return (max(value.low, 0.0) + min(value.high, 1.0)) / 2


def _predicate(name: str, words: Namespaces) -> str:
    return f"<{_SOSA}hasSimpleResult>" if name == "value" else words.reading(name)


def _series(
    subject: Sequence[str], predicate: str, moments: Sequence[str], values: Sequence[Any], numbers: Iterator[int]
) -> Iterator[str]:
    for moment, value in zip(moments, values, strict=True):
        if value is None or value != value:
            continue
        node = f"_:o{next(numbers)}"
        yield from (f"{node} {part} ." for part in subject)
        yield f"{node} <{_SOSA}resultTime> {moment} ."
        yield f"{node} {predicate} {typed(value)} ."
