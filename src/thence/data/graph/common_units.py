"""One unit for each kind of sensor, at one site or several, so that readings share bins only if they can be compared.

Readings are converted to the unit that most sensors of the kind have. Where units of a kind measure different things,
or one is not known, the kind is split, so that each part has a unit. This module decides what is converted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from thence.data.graph.system import System
from thence.data.readings.sensors import Sensor
from thence.data.readings.units import Conversion, convert, find_unit, is_si
from thence.language.english import format_unit

_MOST_NAMED = 3
_NONE = frozenset({"", "-", "1", "none", "unitless", "null"})


def with_common_units(system: System, *, wanted: Mapping[str, str] | None = None) -> System:
    """Return a system in which all numeric sensors of a kind have one unit.

    Args:
        system: The system, or several.
        wanted: The unit of each kind, where it is known, such as that of earlier readings; by default the unit of most
            sensors of the kind, and of two that are equally frequent that of SI.

    Examples:
        >>> import polars as pl
        >>> from datetime import datetime
        >>> from thence.data.readings.sensors import SensorData
        >>> frame = pl.DataFrame({"time": [datetime(2024, 1, 1)], "a": [68.0], "b": [20.5], "c": [19.0]})
        >>> sensors = [Sensor(id, "temperature", unit) for id, unit in zip("abc", ["°F", "°C", "°C"])]
        >>> one = with_common_units(System(SensorData.from_wide(frame, sensors=sensors)))
        >>> one.sensors.to_polars().row(0)[1:], one.sensors.report.notes
        ((20.0, 20.5, 19.0), ('readings converted to one unit for each kind: °F → °C in 1 sensor (temperature)',))
    """
    sites = system.sites
    sensors = [sensor for site in sites for sensor in site.sensors.sensors if not sensor.categorical]
    units = _choose_units(sensors, wanted or {})
    if not units:
        return system
    out = []
    for site in sites:
        own, changed, split = {}, list[tuple[Sensor, str]](), dict[str, str]()
        for sensor in site.sensors.sensors:
            chosen = units.get((sensor.kind, _canonical(sensor.unit)))
            if sensor.categorical or chosen is None:
                continue
            unit, by, kind = chosen
            own[sensor.id] = (unit, by)
            changed += [(sensor, unit)] if by is not None else []
            if kind != sensor.kind:
                split[sensor.id] = kind
        data = site.sensors.converted(own, notes=_describe(changed)) if own else site.sensors
        if split:
            data = data.with_kinds(split, notes=[_describe_split(split)])
        out.append(replace(site, sensors=data))
    return System.of_sites(out) if len(out) > 1 else out[0]


def _canonical(unit: str) -> str:
    known = find_unit(unit)
    return known.name if known is not None else unit.strip().lower()


def _choose_units(
    sensors: Sequence[Sensor], wanted: Mapping[str, str]
) -> dict[tuple[str, str], tuple[str, Conversion | None, str]]:
    """The unit, the conversion and the kind of the sensors of a kind and unit, for kinds with units that differ."""
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    spelled: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for sensor in sensors:
        if sensor.kind and sensor.unit.strip().lower() not in _NONE:
            by_kind[sensor.kind][sensor.unit] += 1
            spelled[sensor.kind, _canonical(sensor.unit)][sensor.unit] += 1
    out = {}
    for kind, counts in by_kind.items():
        known = wanted.get(kind, "")
        if counts.keys() <= {known} or (len(counts) == 1 and not known):
            continue
        names: Counter[str] = Counter()
        for unit, count in counts.items():
            names[_canonical(unit)] += count
        left = sorted(names, key=lambda name: (-names[name], not is_si(name), name))
        first = True
        while left:
            common = _canonical(known) if first and any(convert(name, known) for name in left) else left[0]
            unit = spelled[kind, common].most_common(1)[0][0] if common in left else known
            alike = [name for name in left if name == common or convert(name, common) is not None]
            own_kind = kind if first else f"{kind} in {unit}"
            for name in alike:
                out[kind, name] = (unit, None if name == common else convert(name, common), own_kind)
            left = [name for name in left if name not in alike]
            first = False
    return out


def _describe(changed: Sequence[tuple[Sensor, str]]) -> list[str]:
    """A note on what was converted, if anything was."""
    groups: dict[tuple[str, str], list[Sensor]] = defaultdict(list)
    for sensor, unit in changed:
        groups[sensor.unit, unit].append(sensor)
    texts = []
    for (before, after), sensors in groups.items():
        kinds = list(dict.fromkeys(sensor.kind for sensor in sensors))
        named = ", ".join(kinds[:_MOST_NAMED]) + (f" and {len(kinds) - _MOST_NAMED} more" * (len(kinds) > _MOST_NAMED))
        count = f"{len(sensors)} sensor{'s' * (len(sensors) > 1)}"
        texts.append(f"{format_unit(before)} → {format_unit(after)} in {count} ({named})")
    return [f"readings converted to one unit for each kind: {', '.join(texts)}"] if texts else []


def _describe_split(split: Mapping[str, str]) -> str:
    counts = Counter(split.values())
    listed = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
    return f"sensors of a kind whose units cannot be converted into each other are kinds of their own: {listed}"
