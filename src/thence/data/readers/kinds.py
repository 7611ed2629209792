"""Kinds and units of sensors: from a mapping or a file, from a pattern in the sensor id, or from the sheet title.

A mapping overrides the pattern, and the pattern overrides the sheet title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from thence.data.readers.lines import iter_records, plain_ends, read_utf8
from thence.data.readings.cleaning import quote_names
from thence.data.readings.sensors import Sensor, parse_kind
from thence.errors import ConfigError, InputError, nearest, quote

Kinds = Mapping[str, str | tuple[str, str]]
KindPattern = str | Mapping[str, str | tuple[str, str]]


class UncheckedUnits(dict[str, str]):
    """Units whose names the caller checks, since some may name kinds that sensors get from the graph later."""


def read_kinds(path: str | Path) -> dict[str, tuple[str, str]]:
    """Read a CSV file with the columns ``sensor``, ``kind`` and, optionally, ``unit``.

    Args:
        path: The file.

    Raises:
        InputError: If a column is missing, or a sensor has two kinds or units.
    """
    data, _ = read_utf8(Path(path))
    records = iter_records(plain_ends(data).decode("utf-8"), ",")
    names: list[str] = []
    for _, fields, _ in records:
        if names := [field.strip().lower() for field in fields if any(fields)]:
            break
    for needed in ("sensor", "kind"):
        if needed not in names:
            listed = f"columns are {quote_names(names)}" if names else "it is empty"
            raise InputError(
                f"the file of kinds has no column '{needed}'; {listed}",
                where=str(path),
                hint="its columns are sensor, kind and, if needed, unit",
            )
    if twice := [name for name in ("sensor", "kind", "unit") if names.count(name) > 1]:
        raise InputError(f"the file of kinds has two columns '{twice[0]}'", where=str(path), hint="remove one of them")
    table: dict[str, tuple[str, str]] = {}
    lines: dict[str, int] = {}
    for number, fields, _ in records:
        cells = dict(zip(names, (field.strip() for field in fields), strict=False))
        id, entry = cells.get("sensor", ""), (cells.get("kind", ""), cells.get("unit", ""))
        if table.setdefault(id, entry) != entry:
            raise InputError(
                f"sensor {quote(id)} has another kind or unit in line {lines[id]}",
                where=f"{path}, line {number + 1}",
                hint="keep one of the two lines",
            )
        lines.setdefault(id, number + 1)
    table.pop("", None)
    return table


def resolve_kinds(
    ids: Mapping[str, tuple[str, str]],
    *,
    kinds: Kinds | str | Path | None,
    units: Mapping[str, str] | None,
    pattern: KindPattern | None,
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the kind and unit of each sensor, and notes.

    Args:
        ids: Sensor id to the kind and unit that the source gives.
        kinds: Sensor id to kind or ``(kind, unit)``, or the path of a file for ``read_kinds``.
        units: Unit by sensor id or by kind.
        pattern: Regular expression with a group ``kind``, or a mapping from expressions to kinds.
    """
    result = dict(ids)
    notes = []
    if pattern is not None:
        found = _match_kinds(list(ids), pattern)
        result |= {id: (kind, unit or result[id][1]) for id, (kind, unit) in found.items()}
        if unused := [text for text in ({} if isinstance(pattern, str) else pattern) if not _matches(text, ids)]:
            notes.append(f"kind_pattern matches no sensor with {quote_names(unused)}")
        if lost := [id for id in ids if not result[id][0]]:
            notes.append(f"kind_pattern matches no kind for {len(lost)} sensors: {quote_names(lost)}")
    if kinds is not None:
        given = read_kinds(kinds) if isinstance(kinds, (str, Path)) else kinds
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"kinds must be a mapping or a path, got {type(given).__name__}",
                hint="map each sensor id to a kind or to (kind, unit), or pass the path of a CSV file",
            )
        for id, entry in given.items():
            kind, unit = parse_kind(entry, id)
            if id in result:
                result[id] = (kind, unit or result[id][1])
        if lost := [id for id in given if id not in result]:
            notes.append(f"kinds names {len(lost)} sensors without data: {quote_names(lost)}")
    if units:
        result = {id: (kind, units.get(id, units.get(kind, unit))) for id, (kind, unit) in result.items()}
    return result, notes


def require_units(units: Mapping[str, str], sensors: Iterable[Sensor], *, where: str | None = None) -> None:
    """Raise if units name something that is neither a sensor nor a kind; unchecked units pass.

    Args:
        units: Unit by sensor id or by kind.
        sensors: All sensors.
        where: The source, for the message.

    Raises:
        InputError: If a name is unknown; the message lists the kinds and sensors.

    Examples:
        >>> require_units({"level": "m"}, [Sensor("tank", "level")])
    """
    if isinstance(units, UncheckedUnits):
        return
    known = list(sensors)
    ids, kinds = dict.fromkeys(one.id for one in known), sorted({one.kind for one in known if one.kind})
    if lost := [name for name in units if name not in {*ids, *kinds}]:
        listed = f"kinds: {quote_names(kinds)}" if kinds else "no sensor has a kind: pass kinds= too"
        hints = (nearest(lost[0], [*kinds, *ids]), listed, f"sensors: {quote_names(ids)}")
        raise InputError(
            f"units names {quote_names(lost)}, but no sensor or kind has this name",
            where=where,
            hint="; ".join(filter(None, hints)),
        )


def _matches(text: str, ids: Iterable[str]) -> bool:
    return any(re.search(text, id) for id in ids)


def _match_kinds(ids: list[str], pattern: KindPattern) -> dict[str, tuple[str, str]]:
    try:
        if isinstance(pattern, str):
            expression = re.compile(pattern)
            if "kind" not in expression.groupindex:
                raise ConfigError(
                    f"kind_pattern '{pattern}' has no group named 'kind'",
                    hint=r"write it, for example, as Node_\d+_(?P<kind>\w+)",
                )
            matches = {id: match for id in ids if (match := expression.search(id))}
            return {
                id: ((match["kind"] or "").lower(), match.groupdict().get("unit") or "")
                for id, match in matches.items()
            }
        if not isinstance(pattern, Mapping):
            raise ConfigError(f"kind_pattern must be a string or a mapping, got {type(pattern).__name__}")
        result: dict[str, tuple[str, str]] = {}
        for text, entry in pattern.items():
            kind, unit = parse_kind(entry, text)
            expression = re.compile(text)
            result |= {id: (kind, unit or "") for id in ids if id not in result and expression.search(id)}
        return result
    except re.error as error:
        raise ConfigError(f"kind_pattern is not a valid regular expression: {error}") from error
