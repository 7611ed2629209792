"""Kind and unit of each sensor: from a table, from a pattern in its name, or from the sheet it stood in.

The table wins over the pattern, the pattern over the sheet. What a table names and the data lacks is reported.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from thence.errors import ConfigError, InputError
from thence.readings.cleaning import quoted
from thence.readings.readers.decode import read_utf8
from thence.readings.sensors import kind_and_unit

__all__ = ["KindPattern", "Kinds", "kinds_of", "read_kind_table"]

Kinds = Mapping[str, str | tuple[str, str]]
KindPattern = str | Mapping[str, str | tuple[str, str]]


def read_kind_table(path: str | Path) -> dict[str, tuple[str, str]]:
    """A CSV file with the columns sensor, kind and, if wanted, unit."""
    data, _ = read_utf8(Path(path))
    rows = csv.DictReader(data.decode("utf-8").splitlines())
    names = [name.strip().lower() for name in rows.fieldnames or ()]
    for needed in ("sensor", "kind"):
        if needed not in names:
            raise InputError(
                f"the table of kinds has no column '{needed}'; its columns are {quoted(names)}", where=str(path)
            )
    table = {}
    for row in rows:
        cells = {str(key).strip().lower(): (cell or "").strip() for key, cell in row.items() if isinstance(cell, str)}
        table[cells.get("sensor", "")] = (cells.get("kind", ""), cells.get("unit", ""))
    return table


def kinds_of(
    ids: Mapping[str, tuple[str, str]],
    *,
    kinds: Kinds | str | Path | None,
    units: Mapping[str, str] | None,
    pattern: KindPattern | None,
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Kind and unit per sensor id, and notes; ``ids`` brings what the source itself says."""
    result = dict(ids)
    notes = []
    if pattern is not None:
        found = _by_pattern(list(ids), pattern)
        result |= {id: (kind, unit or result[id][1]) for id, (kind, unit) in found.items()}
        if lost := [id for id in ids if not result[id][0]]:
            notes.append(f"kind_pattern matches no kind in {len(lost)} sensors: {quoted(lost)}")
    if kinds is not None:
        given = read_kind_table(kinds) if isinstance(kinds, (str, Path)) else kinds
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"kinds cannot be a {type(given).__name__}",
                hint="give a mapping from sensor to kind or (kind, unit), or the path of a CSV file",
            )
        for id, entry in given.items():
            kind, unit = kind_and_unit(entry, id)
            if id in result:
                result[id] = (kind, unit or result[id][1])
        if lost := [id for id in given if id not in result]:
            notes.append(f"the table of kinds names {len(lost)} sensors without data: {quoted(lost)}")
    if units:
        result = {id: (kind, units.get(id, units.get(kind, unit))) for id, (kind, unit) in result.items()}
    return result, notes


def _by_pattern(ids: list[str], pattern: KindPattern) -> dict[str, tuple[str, str]]:
    try:
        if isinstance(pattern, str):
            expression = re.compile(pattern)
            if "kind" not in expression.groupindex:
                raise ConfigError(
                    f"kind_pattern '{pattern}' has no group called kind", hint=r"write it as Node_\d+_(?P<kind>\w+)"
                )
            matches = {id: match for id in ids if (match := expression.search(id))}
            return {
                id: ((match["kind"] or "").lower(), match.groupdict().get("unit") or "")
                for id, match in matches.items()
            }
        result: dict[str, tuple[str, str]] = {}
        for text, entry in pattern.items():
            expression = re.compile(text)
            kind, unit = kind_and_unit(entry, text)
            result |= {id: (kind, unit or "") for id in ids if id not in result and expression.search(id)}
        return result
    except re.error as error:
        raise ConfigError(f"kind_pattern is not a regular expression: {error}") from error
