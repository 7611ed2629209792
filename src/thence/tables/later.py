"""Later data, or data of another system, with bins that were fitted before: what is reused, and what is new.

The bins of a kind or of a property are ranges that hold anywhere. The bins of a single sensor, such as its ranks, hold
for this sensor only: they are reused if the data are of the same system and the sensor sits at the same node, never
because another system has a sensor of the same name. What was not there when the bins were fitted is counted and said.

This module compares and renames keys; it fits and encodes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from thence.data.readings.durations import format_duration
from thence.data.readings.sensors import SEPARATOR, SensorData, qualified
from thence.data.readings.windows import WindowedReadings
from thence.tables.discretization import Discretizer

_NAMED = 5  # sensors or states that a note names
_AGGREGATE = re.compile(r"(?P<name>[a-z]+)\((?P<members>.*)\)")


@dataclass(frozen=True)
class Reused:
    """Earlier bins as they apply to some readings.

    Args:
        discretizer: The bins that apply.
        refused: Sensors here that have the id of another sensor, whose bins are not reused.
        notes: What is not reused, and why.
    """

    discretizer: Discretizer
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_alike(sensors: SensorData, earlier: Discretizer) -> SensorData:
    """Return readings with states where earlier ones were states, and numbers where they were numbers.

    A short period may show two values of a sensor that reads many, or many of one that read few before.

    Args:
        sensors: The readings.
        earlier: The earlier bins.
    """
    states: list[str] = []
    numbers: list[str] = []
    for sensor in sensors.sensors:
        as_number = earlier.group(kind=sensor.kind, sensor=sensor.id) in earlier.binnings
        as_state = (sensor.kind or sensor.id) in earlier.states
        if as_state != as_number and as_number == sensor.categorical:
            (states if as_state else numbers).append(sensor.id)
    return sensors.with_states(states, numbers=numbers)


def remember(
    discretizer: Discretizer, readings: WindowedReadings, node_of: Callable[[str], str], systems: Iterable[str]
) -> Discretizer:
    """Return fitted bins with what is needed to reuse them: systems, places of sensors, and the states that were seen.

    Args:
        discretizer: The fitted bins.
        readings: The readings that they were fitted on.
        node_of: The node of a sensor, or an empty string.
        systems: The names of the systems; that of a single one may be empty.
    """
    own = {s.id: node_of(s.id) for s in readings.sensors if _has_own_bins(s.id, s.kind, discretizer)}
    states = {kind: set(known) for kind, known in discretizer.states.items()}
    for sensor in readings.categorical:
        states.setdefault(sensor.kind or sensor.id, set()).update(readings.states[sensor.id][1])
    return replace(
        discretizer,
        systems=tuple(systems),
        places={**discretizer.places, **own},
        states={kind: tuple(sorted(known)) for kind, known in sorted(states.items())},
        window_seconds=discretizer.window_seconds or readings.every.total_seconds(),
    )


def _has_own_bins(sensor: str, kind: str, discretizer: Discretizer) -> bool:
    return (discretizer.scope == "sensor" or not kind) and sensor in discretizer.binnings


def reuse_bins(
    earlier: Discretizer,
    readings: WindowedReadings,
    node_of: Callable[[str], str],
    systems: Iterable[str],
    *,
    same_system: bool | None = None,
) -> Reused:
    """Return the part of earlier bins that applies to some readings.

    Args:
        earlier: The earlier bins.
        readings: The readings that they are to be applied to.
        node_of: The node of a sensor, or an empty string.
        systems: The names of the systems of these readings.
        same_system: Whether the readings are of the same system; by default decided by the names of the systems and
            the nodes of the sensors.
    """
    now = tuple(systems)
    here = [sensor.id for sensor in readings.sensors]
    renamed = _rename(earlier, now)
    if same_system is True:
        kept, refused = set(here), []
    else:
        kept = {id for id in here if same_system is None and _is_same(id, renamed, now, node_of(id))}
        refused = [id for id in here if id in renamed.places and id not in kept]
    # The bins of a kind, or of a role in a unit, may have the name of a sensor, which has none of its own then.
    own = {*renamed.places, *(s.id for s in readings.sensors if renamed.scope == "sensor" or not s.kind)}
    binnings = {
        key: binning
        for key, binning in renamed.binnings.items()
        if (members := _sensors_of(key, own)) is None or kept.issuperset(members)
    }
    notes = []
    if refused:
        before = " and ".join(f"'{name}'" for name in earlier.systems if name)
        where = f" of {before}" if before else ""
        notes.append(
            f"{_count(len(refused), 'sensor')} here {'have' if len(refused) > 1 else 'has'} the same id as "
            f"{'others' if len(refused) > 1 else 'another'}{where}, but {'are' if len(refused) > 1 else 'is'} of "
            f"another system or at another node: {_listed(refused)}; bins are fitted on the readings here"
        )
    return Reused(replace(renamed, binnings=binnings), tuple(refused), tuple(notes))


def _is_same(sensor: str, earlier: Discretizer, systems: tuple[str, ...], node: str) -> bool:
    """Whether a sensor is one that the earlier bins were fitted on."""
    if sensor not in earlier.places:
        # Bins that were saved without the places of sensors are trusted.
        return not earlier.systems
    names = {name for name in earlier.systems if name}
    if len(systems) == 1 and systems[0] and names and systems[0] not in names:
        return False
    before = earlier.places[sensor]
    return not before or not node or before == node


def _rename(earlier: Discretizer, systems: tuple[str, ...]) -> Discretizer:
    """Return earlier bins with the ids that their sensors have here: with the name of their system, or without."""
    pooled = len(earlier.systems) > 1
    if pooled == (len(systems) > 1):
        return earlier
    if pooled:
        prefix = systems[0] + SEPARATOR if systems and systems[0] else None

        def rename(id: str) -> str | None:
            return id.removeprefix(prefix) if prefix and id.startswith(prefix) else None
    else:
        own = earlier.systems[0] if earlier.systems else ""

        def rename(id: str) -> str | None:
            return qualified(own, id) if own and own in systems else None

    ids = {id: rename(id) for id in earlier.places}
    binnings = {}
    for key, binning in earlier.binnings.items():
        new = _rename_key(key, ids)
        if new is not None:
            binnings[new] = binning
    places = {}
    for id, node in earlier.places.items():
        new = ids[id]
        if new is not None:
            places[new] = (rename(node) or "") if node else ""
    return replace(earlier, binnings=binnings, places=places)


def _rename_key(key: str, ids: Mapping[str, str | None]) -> str | None:
    """Return the key of a sensor's bins with its new id; ``None`` if there is no such sensor here."""
    members = _sensors_of(key, ids)
    if members is None:
        return key
    found = _AGGREGATE.fullmatch(key)
    if found is not None and key not in ids:
        new = {id: ids.get(id) for id in members}
        if any(name is None for name in new.values()):
            return None
        sides = [[str(new[id]) for id in side.split("+") if id] for side in found["members"].split(" − ")]
        return f"{found['name']}({' − '.join('+'.join(side) for side in sides)})"
    (id,) = members
    renamed = ids.get(id)
    return None if renamed is None else renamed + key[len(id) :]


def _sensors_of(key: str, sensors: Iterable[str]) -> frozenset[str] | None:
    """Return the sensors that a binning belongs to; ``None`` for the bins of a kind or of a property."""
    known = sensors if isinstance(sensors, (set, dict)) else set(sensors)
    if key in known:
        return frozenset([key])
    base, _, name = key.rpartition(".")
    if name == "change" and base in known:
        return frozenset([base])
    found = _AGGREGATE.fullmatch(key)
    if found is not None:
        return frozenset(id for side in found["members"].split(" − ") for id in side.split("+") if id)
    return None


def describe_unseen(
    earlier: Discretizer, fitted: Discretizer, readings: WindowedReadings, refused: Iterable[str] = ()
) -> tuple[str, ...]:
    """Say what was not there when earlier bins were fitted: states, values and sensors, with how many readings.

    Args:
        earlier: The earlier bins, as they apply to these readings.
        fitted: The bins of the table that was built with them.
        readings: The readings of that table.
        refused: Sensors whose bins are known not to be reused, which need no further note.
    """
    notes = [*_other_windows(earlier, readings), *_unseen_states(earlier, readings), *_unseen_values(earlier, readings)]
    own = {s.id for s in readings.numeric if _has_own_bins(s.id, s.kind, fitted)}
    fresh = sorted(own - set(earlier.binnings) - set(refused))
    if fresh and earlier.binnings:
        notes.append(
            f"{_count(len(fresh), 'sensor')} had no bins: they are fitted on the readings here ({_listed(fresh)})"
        )
    return tuple(notes)


def _other_windows(earlier: Discretizer, readings: WindowedReadings) -> list[str]:
    before = timedelta(seconds=earlier.window_seconds)
    if not before or before == readings.every:
        return []
    return [
        f"windows are {format_duration(readings.every)} long, but the bins were fitted on windows of "
        f"{format_duration(before)}: values of windows of another length are spread otherwise"
    ]


def _unseen_states(earlier: Discretizer, readings: WindowedReadings) -> list[str]:
    states: set[tuple[str, str]] = set()
    sensors: dict[str, None] = {}
    windows = 0
    for sensor in readings.categorical:
        kind = sensor.kind or sensor.id
        if kind not in earlier.states:
            continue
        codes, categories = readings.states[sensor.id]
        new = [code for code, state in enumerate(categories) if state not in earlier.states[kind]]
        count = int(np.isin(codes, new).sum()) if new else 0
        if count:
            states |= {(kind, categories[code]) for code in new if (codes == code).any()}
            sensors[sensor.id] = None
            windows += count
    if not states:
        return []
    named = _listed([f"'{state}'" for _, state in sorted(states)])
    were = "were" if len(states) > 1 else "was"
    return [
        f"{_count(len(states), 'state')} of {_count(len(sensors), 'sensor')} {were} not seen when the bins were fitted "
        f"({named}): {_count(windows, 'reading')}, which are known but satisfy no earlier rule"
    ]


def _unseen_values(earlier: Discretizer, readings: WindowedReadings) -> list[str]:
    """Numbers that are kept as categories have no code for other numbers."""
    sensors: list[str] = []
    count = 0
    for at, sensor in enumerate(readings.numeric):
        binning = earlier.binnings.get(earlier.group(kind=sensor.kind, sensor=sensor.id))
        if binning is None or binning.categories is None:
            continue
        series = readings.values[:, at]
        lost = int(((binning.encode(series) < 0) & ~np.isnan(series)).sum())
        if lost:
            sensors.append(sensor.id)
            count += lost
    if not sensors:
        return []
    return [
        f"{_count(count, 'reading')} of {_count(len(sensors), 'sensor')} ({_listed(sensors)}) "
        f"{'have' if count > 1 else 'has'} a value that was not seen when the bins were fitted: treated as missing"
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(every[:_NAMED]) + more
