"""Metadata of sensors in a database: names, kinds and units, from a table of their own or from columns of readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from thence.data.readers.table import ReadOptions
from thence.data.stores.databases import Database
from thence.data.stores.sql_text import identifier
from thence.errors import ConfigError, InputError, nearest, quote

__all__ = ["Metadata", "read_metadata", "require_column"]

_KEYS = ("sensor", "sensor_id", "id")


def require_column(name: str, known: Sequence[str], *, option: str, where: str) -> None:
    """Raise if a table has no such column; say which is nearest.

    Args:
        name: The name of the column.
        known: The columns of the table.
        option: The option that names it.
        where: The table, for messages.
    """
    if name not in known:
        hint = nearest(name, known) or f"columns are {', '.join(map(quote, list(known)[:20]))}"
        raise InputError(
            f"{option} names the column {quote(name)}, which the table does not have", where=where, hint=hint
        )


@dataclass(frozen=True)
class Metadata:
    """What a database says of its sensors.

    Args:
        names: Sensor id in the readings to the name to use instead; empty to use the ids.
        kinds: Sensor, by the name in use, to kind and unit.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def rename(self, column: Any, *, options: ReadOptions, where: str, unknown: set[str]) -> Any:
        """Return a column of sensor ids as names.

        Args:
            column: The column, of strings.
            options: The options of ``read_sensors``: whether to raise at an id without a name, or to keep the id.
            where: The table, for messages.
            unknown: Ids without a name are added to it.
        """
        coded = column.cast(pa.string()).dictionary_encode()
        ids = coded.dictionary.to_pylist()
        lost = [id for id in ids if id not in self.names]
        if lost and options.on_error == "raise":
            raise InputError(
                f"the metadata has no row for the sensor {quote(lost[0])}",
                where=where,
                hint="add it, or pass on_error='repair' to use the id as its name",
            )
        unknown.update(lost)
        names = pa.array([self.names.get(id, id) for id in ids], pa.string())
        if not ids:
            return column.cast(pa.string())
        at = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        taken = names.take(pa.array(at.astype(np.int64)))
        gone = column.is_null()
        return taken if not column.null_count else pa.compute.if_else(gone, pa.scalar(None, pa.string()), taken)


def read_metadata(
    database: Database, relation: str, columns: Sequence[str], options: ReadOptions, find: Any
) -> Metadata:
    """Read names, kinds and units of sensors.

    Args:
        database: The database.
        relation: The table or query of the readings, as SQL.
        columns: Its columns.
        options: The options of ``read_sensors``.
        find: Returns a table as SQL and the name of it for messages, given the name that the user wrote.

    Raises:
        InputError: If a column does not exist, or a sensor has several rows.
        ConfigError: If the sensor column is not known.
    """
    given = options.database.metadata
    if not given:
        return Metadata()
    if "table" in given:
        source, where = find(given["table"])
        known = [column.name for column in database.columns(source)]
        candidates = [options.sensor, *_KEYS] if options.sensor else list(_KEYS)
        key = given.get("sensor") or next((name for name in candidates if name in known), candidates[0])
        chosen = {part: given.get(part) or (part if part in known else None) for part in ("kind", "unit")}
        chosen["name"] = given.get("name")
    else:
        source, where, known = relation, "table of readings", list(columns)
        if "name" in given or "sensor" in given or options.sensor is None:
            raise ConfigError(
                "metadata without 'table' names columns of the readings, which needs sensor=",
                hint="pass sensor= and metadata={'kind': …, 'unit': …}, or metadata={'table': …}",
            )
        key, chosen = options.sensor, {"name": None, "kind": given.get("kind"), "unit": given.get("unit")}
    require_column(key, known, option="metadata['sensor']", where=where)
    for part, column in chosen.items():
        if column is not None:
            require_column(column, known, option=f"metadata['{part}']", where=where)
    texts = [
        "NULL" if column is None else f"CAST({identifier(column)} AS VARCHAR)"
        for column in (key, chosen["name"], chosen["kind"], chosen["unit"])
    ]
    listed = ", ".join(f"{text} AS c{k}" for k, text in enumerate(texts))
    rows = database.rows(f"SELECT DISTINCT {listed} FROM {source} AS thence_source WHERE {identifier(key)} IS NOT NULL")
    _require_unique(
        [str(row[0]).strip() for row in rows], "the sensor {} has several rows with different values", where
    )
    names = {}
    if chosen["name"] is not None:
        names = {str(row[0]): str(row[1]).strip() for row in rows if row[1] is not None and str(row[1]).strip()}
        _require_unique(list(names.values()), "several sensors have the name {}", where)
    described = {names.get(str(id), str(id)).strip(): (str(kind or ""), str(unit or "")) for id, _, kind, unit in rows}
    if chosen["kind"] is None and chosen["unit"] is None:
        described = {}
    return Metadata(names, described)


def _require_unique(names: Sequence[str], message: str, where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(message.format(quote(twice[0])), where=where, hint="correct the metadata")
