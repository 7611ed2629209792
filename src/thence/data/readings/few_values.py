"""Whether readings are whole numbers of which few differ: what may be states.

``FewValues`` says so of one sensor, ``look_at_columns`` and ``look_at_rows`` find it in wide and long frames, and
``same_types`` reads the sensors of a kind alike. This module decides nothing about files.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from thence.data.readings.cleaning import quote_names
from thence.data.readings.frames import collect
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import InputError
from thence.language.names import means_measure, means_setpoint, means_state
from thence.language.states import LARGEST_WHOLE, LEAST_NUMBER, MOST_STATES, are_enough

MOST_COLUMNS = 256  # of one query: planning takes longer than reading where there are thousands


@dataclass(frozen=True)
class FewValues:
    """What the readings of a sensor are, as far as it matters for states.

    Args:
        whole: Whether all readings are whole numbers and few of them differ.
        values: The different readings, if they are.
        count: Number of readings.
    """

    whole: bool = True
    values: frozenset[float] = field(default_factory=frozenset)
    count: int = 0

    def merged(self, other: FewValues) -> FewValues:
        """Return what the readings of two files together are."""
        values = self.values | other.values
        return FewValues(self.whole and other.whole and len(values) <= MOST_STATES, values, self.count + other.count)

    @property
    def is_state(self) -> bool:
        """Whether these readings by themselves are states."""
        return self.whole and are_enough(len(self.values), self.count) and self.are_codes

    @property
    def are_codes(self) -> bool:
        """Whether the numbers may stand for states: 20 and 22 are what somebody has set, 0 and 1 are off and on."""
        return not self.values or min(map(abs, self.values)) < LEAST_NUMBER

    @property
    def is_constant(self) -> bool:
        """Whether there is at most one whole number."""
        return self.whole and len(self.values) < 2


def choose_states(found: Mapping[str, FewValues], kinds: Mapping[str, str]) -> frozenset[str]:
    """Choose the sensors that read states, so that the sensors of a kind are read alike.

    If one of a kind reads other numbers, all read numbers. If some read states, or the name of the kind says that it is
    a state, all do: also one that never changes. Without a kind, a sensor that never changes reads what all others
    read that are named like it. Set points are numbers.

    Args:
        found: What each sensor reads.
        kinds: The kind of each sensor, empty if unknown.

    Examples:
        >>> pump, stuck = FewValues(True, frozenset({0.0, 1.0}), 50), FewValues(True, frozenset({1.0}), 50)
        >>> sorted(choose_states({"a": pump, "b": stuck, "c": stuck}, {"a": "pump", "b": "pump", "c": ""}))
        ['a', 'b']
        >>> sorted(choose_states({"S_P1": pump, "S_P2": pump, "S_P3": stuck, "F_P3": stuck}, {}))
        ['S_P1', 'S_P2', 'S_P3']
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for id in found:
        groups.setdefault((kinds[id], "") if kinds.get(id) else ("", id), []).append(id)
    chosen: set[str] = set()
    for (kind, sensor), ids in groups.items():
        together = FewValues()
        for id in ids:
            together = together.merged(found[id])
        named = means_state(kind or sensor)
        alike = together.whole and all(found[id].is_state or found[id].is_constant or named for id in ids)
        if alike and together.are_codes and (named or any(found[id].is_state for id in ids)):
            chosen.update(id for id in ids if not means_setpoint(kind or id))
    still = [
        id
        for id in found
        if not kinds.get(id) and found[id].is_constant and found[id].are_codes and not means_measure(id)
    ]
    return frozenset(chosen | _named_like(still, chosen, found.keys() - set(still)))


def _named_like(still: Sequence[str], states: Collection[str], others: Collection[str]) -> set[str]:
    """Return those of some sensors that never change of which all others that are named like them read states."""
    named: dict[tuple[str, bool], list[str]] = {}
    for id in others:
        for key in _names_of(id):
            named.setdefault(key, []).append(id)
    alike = {key for key, ids in named.items() if len(ids) > 1 and all(id in states for id in ids)}
    return {id for id in still if alike.intersection(_names_of(id))}


def _names_of(id: str) -> set[tuple[str, bool]]:
    """What of a name may say what a sensor reads: a letter or two before a sign, as in S_PU1; else the last word."""
    first = re.match(r"[a-z]{1,2}(?=[^a-z0-9])", id.lower())
    words = [word for word in re.split(r"[^a-z]+", id.lower()) if word]
    if first:
        return {(first[0], False)}
    return {(words[-1], True)} if len(words) > 1 else set()


def same_types(
    parts: Sequence[SensorData], *, only: Collection[str] | None = None, given: Collection[str] = ()
) -> list[SensorData]:
    """Return readings of one or several sites in which the sensors of a kind are all read as states, or as numbers.

    Whole numbers of which few differ are read as states before their kind is known. They are numbers if they have a
    unit, if their kind is a set point, or if others of the kind read other numbers. Otherwise the others read states
    too, also those that never change.

    Args:
        parts: The readings of each site.
        only: Ids of the sensors that may change; by default all.
        given: Names or patterns of sensors whose type was given.
    """
    kinds: dict[str, list[tuple[int, Sensor]]] = {}
    for at, data in enumerate(parts):
        for sensor in data.sensors:
            if sensor.kind:
                kinds.setdefault(sensor.kind, []).append((at, sensor))
    to_states: list[list[str]] = [[] for _ in parts]
    to_numbers: list[list[str]] = [[] for _ in parts]
    for kind, members in kinds.items():
        free = [
            (at, one)
            for at, one in members
            if (only is None or one.id in only) and not any(fnmatch.fnmatchcase(one.id, pattern) for pattern in given)
        ]
        measured = means_setpoint(kind) or not _may_be_states(parts, kind, members)
        for at, one in free:
            if one.categorical and (measured or one.unit):
                to_numbers[at].append(one.id)
            elif not one.categorical and not measured:
                to_states[at].append(one.id)
    return [_with_types(data, *changed) for data, *changed in zip(parts, to_states, to_numbers, strict=True)]


def _may_be_states(parts: Sequence[SensorData], kind: str, members: Sequence[tuple[int, Sensor]]) -> bool:
    """Return whether all sensors of a kind are states: those that read numbers read whole ones, of which few differ."""
    numeric = [(at, one) for at, one in members if not one.categorical]
    if not numeric:
        return True
    if any(one.unit for _, one in numeric) or (len(numeric) == len(members) and not means_state(kind)):
        return False
    together = FewValues()
    for at, data in enumerate(parts):
        if ids := [one.id for of, one in numeric if of == at]:
            look = look_at_columns if data.layout == "wide" else look_at_rows
            for few in look(data.lazy, ids, data.readings.source, in_memory=data.checked).values():
                together = together.merged(few)
    return together.whole and together.are_codes


def _with_types(data: SensorData, states: Sequence[str], numbers: Sequence[str]) -> SensorData:
    read = [id for id in numbers if _can_be_numbers(data, id)]
    notes = []
    if states:
        notes.append(f"read as states, since others of their kind do or its name says so: {quote_names(states)}")
    if read:
        why = "since they have a unit, or others of their kind read numbers"
        notes.append(f"read as numbers after all, {why}: {quote_names(read)}")
    return data.with_states(states, numbers=read).with_kinds({}, notes=notes) if notes else data


def _can_be_numbers(data: SensorData, sensor: str) -> bool:
    """Whether all states of a sensor are numbers, and in memory."""
    if data.report.pending:
        return False
    try:
        data.with_states(numbers=[sensor])
    except InputError:
        return False
    return True


def _whole(number: pl.Expr) -> pl.Expr:
    """Whether all finite numbers of an expression are whole; missing and infinite values do not count."""
    return ((number.round() == number) & (number.abs() <= LARGEST_WHOLE) | ~number.is_finite()).all()


def column_batches(
    frame: pl.LazyFrame, ids: Sequence[str], source: str, *, in_memory: bool
) -> Iterator[tuple[Sequence[str], pl.LazyFrame]]:
    """Yield some sensors at a time, with a frame of their columns.

    To plan a query takes time for every column of its frame, so that of a table in memory has no others.

    Args:
        frame: A wide frame.
        ids: The sensors.
        source: Name of the source, for messages.
        in_memory: Whether the frame is in memory.
    """
    if len(ids) <= MOST_COLUMNS:
        if ids:
            yield ids, frame
        return
    columns = {one.name: one for one in collect(frame, source=source).get_columns()} if in_memory else {}
    for start in range(0, len(ids), MOST_COLUMNS):
        some = ids[start : start + MOST_COLUMNS]
        yield some, pl.DataFrame([columns[id] for id in some]).lazy() if in_memory else frame


def look_at_columns(
    frame: pl.LazyFrame, ids: Sequence[str], source: str, *, in_memory: bool = False
) -> dict[str, FewValues]:
    found: dict[str, FewValues] = {}
    for some, part in column_batches(frame, ids, source, in_memory=in_memory):
        found |= _look_at_some(part, some, source)
    return found


def _look_at_some(frame: pl.LazyFrame, ids: Sequence[str], source: str) -> dict[str, FewValues]:
    numbers = {id: pl.col(id).cast(pl.Float64) for id in ids}
    row = collect(frame.select(_whole(numbers[id]).alias(str(k)) for k, id in enumerate(ids)), source=source).row(0)
    out = {id: FewValues(bool(whole)) for id, whole in zip(ids, row, strict=True)}
    kept = [id for id in ids if out[id].whole]
    if kept:
        present = {id: numbers[id].filter(numbers[id].is_finite()) for id in kept}
        query = frame.select(
            *(present[id].unique().head(MOST_STATES + 1).implode().alias(f"{k} values") for k, id in enumerate(kept)),
            *(present[id].count().alias(f"{k} count") for k, id in enumerate(kept)),
        )
        found = collect(query, source=source).row(0)
        for k, id in enumerate(kept):
            out[id] = _few(list(found[k]), int(found[len(kept) + k]))
    return out


def look_at_rows(
    frame: pl.LazyFrame, ids: Sequence[str], source: str, *, in_memory: bool = False
) -> dict[str, FewValues]:
    if not ids:
        return {}
    value = pl.col("value").cast(pl.Float64)
    rows = frame.select(pl.col("sensor").cast(pl.String), value).filter(pl.col("sensor").is_in(list(ids)))
    rows = rows.filter(pl.col("value").is_finite())
    numbers = rows.group_by("sensor").agg(
        _whole(pl.col("value")).alias("whole"),
        pl.col("value").unique().head(MOST_STATES + 1).alias("values"),
        pl.col("value").count().alias("count"),
    )
    found = collect(numbers, source=source)
    out = {id: FewValues() for id in ids}
    for sensor, whole, values, count in found.iter_rows():
        out[sensor] = _few(values, count) if whole else FewValues(False)
    return out


def _few(values: list[float], count: int) -> FewValues:
    return FewValues(len(values) <= MOST_STATES, frozenset(value + 0.0 for value in values), count)
