"""Payloads: what devices send as JSON, one message at a time, as readings.

SenML packs (RFC 8428), metrics of Sparkplug written as JSON, records of a message with its topic, objects that name a
sensor and its value, and any nested objects of quantities, as zigbee2mqtt sends them. Names of nested objects are
joined by dots. Pure functions of decoded JSON: this module reads no files, parses no times, and never raises for
content.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from thence.data.readers.roles import (
    OTHER_SENSOR_NAMES,
    SENSOR_NAMES,
    TIME_NAMES,
    VALUE_NAMES,
    looks_like_time,
    plain_name,
)

Value = float | str | bool | None


class Reading(NamedTuple):
    """A reading of a message.

    Args:
        sensor: Name of the sensor.
        time: Its time as it is written, text or a number; ``None`` if the message has none.
        value: A number, a state, a truth value, or ``None`` for a missing reading.
    """

    sensor: str
    time: Any
    value: Value


DEEPEST = 16
RELATIVE = float(2**28)
"""Times of SenML below this many seconds count from now."""
MESSAGE_TIMES = (
    *(*TIME_NAMES, "t", "created", "created_at", "received_at", "measured_at"),
    *("last_updated", "last_changed"),
)
LAST_SEEN = ("last_seen", "lastseen")
_KINDS = ("float", "double", "int", "long", "boolean", "string")
PAYLOADS = ("payload", "msg", "message", "data", "value")
NAMES = (*SENSOR_NAMES, "entity_id", "deviceid", "dev_eui", "deveui", "id", *OTHER_SENSOR_NAMES)
VALUES = (*VALUE_NAMES, "v", "state")
"""Keys of the value in an object that names its sensor."""
METRIC_VALUES = (*VALUE_NAMES, *(f"{kind}{gap}value" for kind in _KINDS for gap in ("", "_")))
UNITS = ("unit", "units", "uom", "unit_of_measurement", "u")
_OF_DEVICES = """
    linkquality link_quality lqi rssi snr lora_snr battery battery_low battery_level battery_voltage last_seen lastseen
    seq sequence fcnt f_cnt uptime free_heap retain qos update_available device_temperature
"""
DIAGNOSTICS: Final = frozenset(_OF_DEVICES.split())
"""What messages say about the radio and the device itself."""


def is_diagnostic(sensor: str) -> bool:
    """Return whether a reading is about the radio or the device, by the last part of its name.

    Args:
        sensor: Name of a reading.

    Examples:
        >>> is_diagnostic("zigbee2mqtt/office.linkquality"), is_diagnostic("office.temperature")
        (True, False)
    """
    parts = [plain_name(part) for part in sensor.split(".")]
    return any(part in DIAGNOSTICS for part in parts[-1:]) or (len(parts) > 1 and parts[-2] == "update")


def readings_of(message: Any, *, name: str = "", now: float | None = None) -> list[Reading]:
    """Return the readings of a message.

    Args:
        message: Decoded JSON: an object, a list of objects, or a bare value.
        name: Name of the device or topic, which begins the names of the sensors.
        now: Time of arrival in seconds since 1970, from which relative times of SenML count.

    Examples:
        >>> for reading in readings_of({"temperature": 21.5, "vent": {"state": "ON"}}, name="office"):
        ...     print(tuple(reading))
        ('office.temperature', None, 21.5)
        ('office.vent.state', None, 'ON')
        >>> readings_of([{"bn": "roof:", "bt": 1.7e9, "n": "t", "v": 17.5}])
        [Reading(sensor='roof:t', time=1700000000.0, value=17.5)]
        >>> metrics = [{"name": "Pump/Speed", "timestamp": 1700000000500, "value": 40}]
        >>> readings_of({"timestamp": 1700000000000, "metrics": metrics, "seq": 3})
        [Reading(sensor='Pump/Speed', time=1700000000500, value=40)]
        >>> readings_of({"ts": "2025-01-01T00:00Z", "topic": "hall/co2", "payload": "612"})
        [Reading(sensor='hall/co2', time='2025-01-01T00:00Z', value=612)]
    """
    if is_senml(message):
        return list(_senml(message, name, now))
    return list(_read(message, name, None, 0))


def units_of(message: Any) -> dict[str, str]:
    """Return the unit of each sensor of a SenML pack; empty for other messages.

    Args:
        message: Decoded JSON.

    Examples:
        >>> units_of([{"bn": "roof:", "n": "t", "u": "Cel", "v": 17.5}])
        {'roof:t': 'Cel'}
    """
    if not is_senml(message):
        return {}
    base = {"bn": "", "bu": ""}
    found = {}
    for record in message:
        base |= {key: str(record[key]) for key in base if key in record}
        if unit := str(record.get("u", base["bu"])):
            found[base["bn"] + str(record.get("n", ""))] = unit
    return found


def is_senml(message: Any) -> bool:
    """Return whether decoded JSON is a SenML pack: a list of records with names and values in its short keys.

    Args:
        message: Decoded JSON.
    """
    if not isinstance(message, list) or not message or not all(isinstance(record, dict) for record in message):
        return False
    named = any("bn" in record or "n" in record for record in message)
    values = {"v", "vs", "vb", "vd", "s"}
    return named and all(values & record.keys() or any(key.startswith("b") for key in record) for record in message)


def _senml(pack: Sequence[Mapping[str, Any]], name: str, now: float | None) -> Iterator[Reading]:
    base: dict[str, Any] = {"bn": "", "bt": None, "bv": 0}
    for record in pack:
        base |= {key: record[key] for key in base if key in record}
        kept = next((key for key in ("v", "vs", "vb") if key in record), None)
        if kept is None:
            continue
        value = record[kept]
        if kept == "v" and _is_number(value) and _is_number(base["bv"]):
            value = value + base["bv"]
        given = [float(part) for part in (base["bt"], record.get("t", None)) if part is not None and _is_number(part)]
        time = sum(given) if given else None
        if time is not None and time < RELATIVE:
            time = None if now is None else now + time
        yield Reading(_joined(name, f"{base['bn']}{record.get('n', '')}"), time, _value(value))


def _read(message: Any, name: str, time: Any, depth: int) -> Iterator[Reading]:
    """Yield the readings of an object, a list or a bare value, given the name and the time of what it is part of."""
    if depth > DEEPEST:
        return
    if isinstance(message, list):
        if is_senml(message):
            for own in _senml(message, name, None):
                yield own if own.time is not None else own._replace(time=time)
            return
        named = len(message) == 1 or all(isinstance(one, dict) and _tells_apart(one) for one in message)
        for number, one in enumerate(message):
            yield from _read(one, name if named else _joined(name, str(number)), time, depth + 1)
    elif isinstance(message, dict):
        yield from _read_object(message, name, time, depth)
    elif name:
        yield Reading(name, time, _value(message))


def _tells_apart(one: Mapping[str, Any]) -> bool:
    """Return whether an object of a list has a name or a time of its own."""
    return _key(one, NAMES) is not None or _time_key(one) is not None


def _read_object(message: Mapping[str, Any], name: str, time: Any, depth: int) -> Iterator[Reading]:
    at = _time_key(message)
    time = message[at] if at is not None else time
    rest = {key: value for key, value in message.items() if key != at}
    if isinstance(message.get("metrics"), list):  # Sparkplug
        yield from _metrics(message["metrics"], name, time)
        return
    topic, payload = message.get("topic"), _key(message, PAYLOADS)
    if isinstance(topic, str) and payload is not None:
        yield from _read(_decoded(message[payload]), _joined(name, topic), time, depth + 1)
        return
    own = _key(rest, NAMES, scalar=True)
    if own is not None and isinstance(message[own], (str, int)) and not isinstance(message[own], bool):
        name = _joined(name, str(message[own]))
        del rest[own]
    value = _key(rest, VALUES if own is not None else VALUE_NAMES, scalar=True)
    others = [key for key in rest if key != value and plain_name(key) not in (*UNITS, "attributes")]
    if value is not None and name and (not others or (own is not None and plain_name(value) in VALUE_NAMES)):
        yield Reading(name, time, _value(rest[value]))
        return
    for key, one in rest.items():
        yield from _read(one, _joined(name, key), time, depth + 1)


def _metrics(metrics: Sequence[Any], name: str, time: Any) -> Iterator[Reading]:
    for metric in metrics:
        if not isinstance(metric, dict):
            continue
        missing = metric.get("is_null") or metric.get("isNull")
        key = _key(metric, METRIC_VALUES, scalar=True)
        if key is None and not missing:
            continue
        value = None if missing or key is None else _value(metric[key])
        label = _joined(name, str(metric.get("name", metric.get("alias", ""))))
        own = metric.get("timestamp")
        yield Reading(label, time if own is None else own, value)


def _time_key(given: Mapping[str, Any]) -> str | None:
    plain = {plain_name(key): key for key in reversed(list(given)) if isinstance(key, str)}
    found = (plain[name] for name in (*MESSAGE_TIMES, *LAST_SEEN) if name in plain)
    return next((key for key in found if _is_time(given[key])), None)


def _key(given: Mapping[str, Any], known: Sequence[str], *, scalar: bool = False) -> str | None:
    """Return the key of an object that is one of the known names, the likeliest first."""
    plain = {plain_name(key): key for key in reversed(list(given)) if isinstance(key, str)}
    found = (plain[name] for name in known if name in plain)
    return next((key for key in found if not (scalar and isinstance(given[key], (dict, list)))), None)


def _decoded(payload: Any) -> Any:
    """Return a payload that is JSON within a string as what it holds."""
    if not isinstance(payload, str):
        return payload
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return payload


def _is_time(value: Any) -> bool:
    return looks_like_time(str(value)) if isinstance(value, str) or _is_number(value) else False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(value: Any) -> Value:
    return value if isinstance(value, (int, float, str, bool)) else None


def _joined(name: str, part: str) -> str:
    return f"{name}.{part}" if name and part else name or part
