"""Messages of sensors as readings: JSON of many forms, Sparkplug B, or a bare value with the sensor named by the topic.

Whatever a message holds, the answer is readings or a reason why there is none. Nothing here raises for bad content,
and nothing grows with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from thence.checks.monitor.batches import EARLIEST, LATEST, Roster, is_missing
from thence.data.readers.payloads import is_diagnostic, is_senml, readings_of
from thence.data.readers.sparkplug import BIRTHS, DATA, NAMESPACE, Births, Topic, decode, parse_topic
from thence.errors import ConfigError

REASONS = (
    "too_large",
    "not_json",
    "not_sparkplug",
    "no_birth",
    "no_sensor",
    "unknown_sensor",
    "bad_time",
    "future",
    "no_value",
    "bad_value",
)
"""Why a message, or a reading in it, is not used."""

_CONTROLS = ("bdSeq", "Node Control/", "Device Control/")
"""Metrics by which Sparkplug runs itself."""
_LARGEST = 65_536
_MOST_READINGS = 10_000
_PLACE = re.compile(r"\{(\d+)\}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[int, int, float]


@dataclass(frozen=True, kw_only=True)
class MessageFormat:
    """How messages name sensor, time and value.

    Args:
        sensor: The key of the sensor in JSON objects.
        time: The key of the time.
        value: The key of the value.
        topic: How the topic names the sensor, with its levels as ``{1}``, ``{2}``, …: ``"{2}.{3}"``. Empty: the last
            level, or all levels that wildcards of the subscription stand for, or the whole topic, whichever is known.
        max_ahead: Readings later than now by more microseconds are rejected; ``None`` for no limit.

    Examples:
        >>> MessageFormat(topic="{2}.{3}").names("plant/pump1/flow", "plant/+/+")
        ['pump1.flow']
    """

    sensor: str = "sensor"
    time: str = "time"
    value: str = "value"
    topic: str = ""
    max_ahead: int | None = 300_000_000

    def __post_init__(self) -> None:
        if self.topic and not _PLACE.search(self.topic):
            raise ConfigError(
                f"the name of a sensor from its topic must have a level, got '{self.topic}'",
                hint="write the levels as {1}, {2}, …: '{2}.{3}'",
            )

    def names(self, topic: str, subscription: str) -> list[str]:
        """Return the names that a topic may give a sensor, the first that is known counts.

        Args:
            topic: The topic of a message.
            subscription: The topic filter that was subscribed to.
        """
        levels = topic.split("/")
        if self.topic:
            wanted = [int(number) for number in _PLACE.findall(self.topic)]
            if any(not 1 <= number <= len(levels) for number in wanted):
                return []
            return [_PLACE.sub(lambda found: levels[int(found[1]) - 1], self.topic)]
        filters = subscription.split("/")
        wild = [level for at, level in enumerate(levels) if at < len(filters) and filters[at] == "+"]
        if filters[-1] == "#":
            wild += levels[len(filters) - 1 :]
        return [levels[-1], "/".join(wild), ".".join(wild), topic]


def read_message(
    payload: bytes,
    roster: Roster,
    form: MessageFormat,
    *,
    topic: str = "",
    subscription: str = "",
    now: int,
    births: Births | None = None,
) -> Iterator[Row | str]:
    """Yield the readings of a message, and a reason for each that cannot be used.

    JSON has the keys of ``form``, or is a SenML pack, a wide object of several quantities, or nested objects. What it
    says about the radio and the device is no reason to reject it, unless that is a sensor.

    Args:
        payload: The message.
        roster: The sensors.
        form: How messages name things.
        topic: The topic of the message.
        subscription: The topic filter that was subscribed to.
        now: The time of arrival in microseconds, for messages without a time.
        births: The births of Sparkplug that were seen before; those of this message are added.

    Examples:
        >>> from thence.data.readings.sensors import Sensor
        >>> roster = Roster((Sensor("flow"),))
        >>> payload = b'{"sensor": "flow", "time": "2024-01-01T00:00:00Z", "value": 2.5}'
        >>> list(read_message(payload, roster, MessageFormat(), now=1_800_000_000_000_000))
        [(1704067200000000, 0, 2.5)]
        >>> list(read_message(b"2.5", roster, MessageFormat(), topic="site/flow", now=7))
        [(7, 0, 2.5)]
        >>> list(read_message(b"{", roster, MessageFormat(), now=7))
        ['not_json']
        >>> list(read_message(b'{"flow": 2.5, "linkquality": 80}', roster, MessageFormat(), topic="site/hall", now=7))
        [(7, 0, 2.5)]
    """
    if len(payload) > _LARGEST:
        yield "too_large"
        return
    sparkplug = parse_topic(topic)
    if sparkplug is not None:
        yield from _read_sparkplug(payload, sparkplug, Births() if births is None else births, roster, form, now)
        return
    try:
        data = json.loads(payload.decode("utf-8"))
    except (ValueError, RecursionError):
        text = _as_state(payload)
        if text is None:
            yield "not_json"
            return
        data = text
    if data == []:
        yield "no_value"
    if _is_plain(data, form):
        yield from _read_plain(data, roster, form, topic, subscription, now)
    else:
        yield from _read_wide(data, roster, form, topic, subscription, now)


def _is_plain(data: Any, form: MessageFormat) -> bool:
    """Whether JSON is a bare value, or has the keys of the form; a list is what its first object is."""
    if isinstance(data, list):
        return not is_senml(data) and all(_is_plain(one, form) for one in data[:1])
    return not isinstance(data, dict) or not data or form.sensor in data or form.value in data


def _read_plain(
    data: Any, roster: Roster, form: MessageFormat, topic: str, subscription: str, now: int
) -> Iterator[Row | str]:
    """Yield the readings of objects with the keys of the form, or of a bare value."""
    for one in data[:_MOST_READINGS] if isinstance(data, list) else (data,):
        yield _read_one(one, roster, form, topic, subscription, now)
    if isinstance(data, list) and len(data) > _MOST_READINGS:
        yield "too_large"


def _as_state(payload: bytes) -> str | None:
    """Return a payload that is a bare word, such as ``open``."""
    try:
        text = payload.decode("utf-8").strip()
    except ValueError:
        return None
    return text if text and len(text) <= 64 and text[0] not in '{["' and text.isprintable() else None


def _read_one(data: Any, roster: Roster, form: MessageFormat, topic: str, subscription: str, now: int) -> Row | str:
    if isinstance(data, list) or data is None:
        return "no_value"
    given: Mapping[str, Any] = data if isinstance(data, dict) else {form.value: data}
    at = _find_sensor(given.get(form.sensor), roster, form.names(topic, subscription) if topic else ())
    if isinstance(at, str):
        return at
    if given.get(form.time) is None:
        time: int | None = now
    else:
        time = parse_time(given[form.time])
    if time is None or not EARLIEST <= time < LATEST:
        return "bad_time"
    return _row(time, at, given.get(form.value), roster, form, now)


def _row(time: int, at: int, value: Any, roster: Roster, form: MessageFormat, now: int) -> Row | str:
    """A reading of a known sensor at a time, or why it is none."""
    if form.max_ahead is not None and time > now + form.max_ahead:
        return "future"
    if is_missing(value):
        return "no_value"
    number = roster.encode(at, value)
    return "bad_value" if number is None else (time, at, number)


def _read_wide(
    data: Any, roster: Roster, form: MessageFormat, topic: str, subscription: str, now: int
) -> Iterator[Row | str]:
    """Yield the readings of an object of several quantities, of nested objects or of a SenML pack."""
    time = None
    if isinstance(data, dict) and form.time in data:
        time, data = data[form.time], {key: one for key, one in data.items() if key != form.time}
    try:
        found = readings_of(data, now=now / 1e6)
    except (ArithmeticError, RecursionError):
        yield "bad_value"
        return
    devices = form.names(topic, subscription) if topic else []
    used = False
    for reading in found[:_MOST_READINGS]:
        names = [f"{one}{mark}{reading.sensor}" for one in devices for mark in "./" if one] + [reading.sensor]
        given = time if reading.time is None else reading.time
        one = _read_named(names, given, reading.value, roster, form, now)
        if one is not None:
            used = True
            yield one
    if len(found) > _MOST_READINGS:
        yield "too_large"
    elif not used:
        # Nothing but what the device says about itself, or nothing at all.
        yield "unknown_sensor" if found else "no_value"


def _read_sparkplug(
    payload: bytes, topic: Topic, births: Births, roster: Roster, form: MessageFormat, now: int
) -> Iterator[Row | str]:
    """Yield the readings of a birth or of data; other messages of Sparkplug, such as deaths, hold none."""
    if topic.kind not in (*BIRTHS, *DATA):
        return
    try:
        message = decode(payload)
    except ValueError:
        yield "not_sparkplug"
        return
    for metric in births.complete(message, topic)[:_MOST_READINGS]:
        name = metric["name"]
        if not name:
            yield "no_birth"
            continue
        path = [one for one in (topic.group, topic.node, topic.device) if one]
        places = [path[at:] for at in range(len(path) + 1)]
        whole = "/".join((NAMESPACE, topic.group, topic.kind, *path[1:]))
        names = [f"{mark.join(place)}{mark}{name}".lstrip("./") for place in places for mark in "/."]
        names += [f"{whole}.{name}", f"{whole}/{name}"]
        if name.startswith(_CONTROLS) and not any(one in roster.position for one in names):
            continue
        one = _read_named(names, metric.get("timestamp", message.get("timestamp")), metric["value"], roster, form, now)
        if one is not None:
            yield one


def _read_named(
    names: Sequence[str], given: Any, value: Any, roster: Roster, form: MessageFormat, now: int
) -> Row | str | None:
    """A reading of the first name that is known; ``None`` for what an unknown one says about a device."""
    at = next((roster.position[name] for name in names if name in roster.position), None)
    if at is None:
        return None if is_diagnostic(names[-1]) else "unknown_sensor"
    time = now if given is None else parse_time(given)
    if time is None or not EARLIEST <= time < LATEST:
        return "bad_time"
    return _row(time, at, value, roster, form, now)


def _find_sensor(given: Any, roster: Roster, names: Sequence[str]) -> int | str:
    if given is not None:
        if not isinstance(given, str):
            return "unknown_sensor"
        at = roster.position.get(given)
        return "unknown_sensor" if at is None else at
    if not names:
        return "no_sensor"
    found = next((roster.position[name] for name in names if name in roster.position), None)
    return "unknown_sensor" if found is None else found


def parse_time(given: Any) -> int | None:
    """Return a time in microseconds since 1970, or ``None`` if it cannot be one.

    Text is ISO 8601, in UTC if it names no zone. Numbers are seconds, milliseconds, microseconds or nanoseconds since
    1970, told apart by their size.

    Args:
        given: The time.

    Examples:
        >>> parse_time("2024-01-01T01:00:00+01:00") == parse_time(1704067200) == parse_time(1704067200000)
        True
    """
    if isinstance(given, bool):
        return None
    if isinstance(given, str):
        if len(given) > 64:
            return None
        try:
            moment = datetime.fromisoformat(given.strip())
        except ValueError:
            return None
        try:
            aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
            passed = aware - _EPOCH
        except (OverflowError, ValueError):
            return None
        return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
    if not isinstance(given, (int, float)) or (isinstance(given, float) and not math.isfinite(given)):
        return None
    size = abs(given)
    if size >= 1e20:
        return None
    scale = 1e6 if size < 1e11 else 1e3 if size < 1e14 else 1 if size < 1e17 else 1e-3
    return round(given * scale) if scale != 1e-3 else int(given) // 1_000
