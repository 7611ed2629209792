"""Values of Bolt servers as values of a property graph: strings, finite numbers and booleans.

Dates, times and durations become ISO 8601 strings, points one number per coordinate, lists several values of one
property. Null, NaN and infinity are missing values. Types of the driver are told by their
methods, so that this module needs no driver.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, cast

from thence.data.graph.records import Values, as_values, list_values
from thence.data.loaders.draft import is_history

__all__ = ["plain_properties", "plain_value"]

_GEOGRAPHIC = frozenset({4326, 4979})
_FRACTION = re.compile(r"(\.\d*?)0+(?=[Z+-]|$)")


def plain_properties(properties: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return properties as a graph can hold them, and what is wrong with the others.

    A point ``location`` becomes ``location_x`` and ``location_y``, or ``location_longitude`` and ``location_latitude``.

    Args:
        properties: Values by name, as the driver returns them.

    Returns:
        The properties, and a list of problems.

    Examples:
        >>> plain_properties({"tags": ["a", "b"], "built": date(2001, 2, 3), "depth": None, "length": 820.5})
        ({'tags': ('a', 'b'), 'built': '2001-02-03', 'length': 820.5}, [])
    """
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in properties.items():
        parts = _coordinates(str(name), value) or {str(name): value}
        for key, part in parts.items():
            try:
                plain = _dated(part) if is_history(part) else plain_value(part)
            except TypeError as error:
                problems.append(f"property '{key}' {error}")
                continue
            if plain is None:
                continue
            if key in found or (key != name and properties.get(key) is not None):
                problems.append(f"property '{key}' is a coordinate of '{name}' and a property of its own")
                continue
            found[key] = plain
    return found, problems


def plain_value(value: Any) -> Values | None:
    """Return a value as a string, a finite number or a boolean, a list as several; ``None`` for a missing value.

    Args:
        value: The value, as the driver returns it.

    Raises:
        TypeError: If the value is of no type that can be written as text.

    Examples:
        >>> plain_value([1, 2.5]), plain_value(float("nan")), plain_value(True), plain_value(b"ab"), plain_value([])
        ((1, 2.5), None, True, '6162', None)
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    text = _time_text(value)
    if text is not None:
        return text
    if isinstance(value, Mapping):
        return json.dumps({str(key): plain_value(inner) for key, inner in value.items()}, ensure_ascii=False)
    if not isinstance(value, Sequence) and callable(native := getattr(value, "to_native", None)):
        value = native()
    if isinstance(value, Sequence | set | frozenset):
        listed = [one for inner in value for one in list_values(plain_value(inner))]
        return cast(Values, as_values(listed)) if listed else None
    raise TypeError(f"has the type '{type(value).__name__}', which a graph cannot hold")


def _time_text(value: Any) -> str | None:
    """A date, time or duration in ISO 8601, without a fraction that says nothing."""
    if callable(written := getattr(value, "iso_format", None)):
        return _FRACTION.sub(lambda found: found[1].rstrip("."), str(written()))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"
    return None


def _coordinates(name: str, value: Any) -> dict[str, Any]:
    """The coordinates of a point by name; empty for other values."""
    system = getattr(value, "srid", None)
    if system is None or not isinstance(value, tuple):
        return {}
    axes = ("longitude", "latitude", "height") if system in _GEOGRAPHIC else ("x", "y", "z")
    return {f"{name}_{axis}": float(at) for axis, at in zip(axes, value, strict=False)}


def _dated(entries: list[Any]) -> list[dict[str, Any]]:
    """The values of a property over time, with moments as text."""
    return [{"from": plain_value(entry["from"]), "value": plain_value(entry["value"])} for entry in entries]
