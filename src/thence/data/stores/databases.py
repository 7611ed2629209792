"""Databases: what reading needs of one, in terms of Arrow, whatever its driver.

A database here is an open, read-only session in one snapshot. How to open one is the job of the modules beside this
one; which rows are read is the job of ``thence.data.stores.sql``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa

from thence.errors import InputError

__all__ = ["Column", "ConnectionLostError", "Database", "Family", "family_of"]

Family = Literal["zoned", "naive", "date", "float", "integer", "decimal", "text", "boolean", "other"]
"""What a column holds: times with a zone, times without one, dates, numbers of several types, text, and the rest."""


class ConnectionLostError(InputError):
    """The connection to a database ended while rows were read."""


@dataclass(frozen=True)
class Column:
    """A column of a table or query.

    Args:
        name: Its name.
        family: What it holds.
    """

    name: str
    family: Family


class Database(Protocol):
    """An open, read-only session of a database in one snapshot.

    Args:
        name: Where it is, without credentials, for messages.
        kind: ``"postgresql"``, ``"duckdb"`` or ``"adbc"``.
    """

    name: str
    kind: str

    @property
    def version(self) -> str:
        """Name and version of the server."""

    @property
    def has_time_bucket(self) -> bool:
        """Whether it has the function ``time_bucket(interval, time, origin)``."""

    def tables(self) -> list[tuple[str, str, bool]]:
        """Return schema and name of each table, and whether it is found without its schema."""

    def columns(self, relation: str) -> list[Column]:
        """Return the columns of a table, given as SQL, or of a query in parentheses."""

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small result."""

    def stream(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a result in batches; at least one batch, which may be empty."""

    def close(self) -> None:
        """End the session."""


def family_of(field: Any) -> Family:
    """Return what a column holds, by its Arrow type.

    Args:
        field: The field of an Arrow schema.

    Examples:
        >>> family_of(pa.field("t", pa.timestamp("us", "UTC"))), family_of(pa.field("v", pa.float32()))
        ('zoned', 'float')
    """
    kind, told = field.type, (field.metadata or {}).get(b"POSTGRESQL:type", b"")
    if told == b"numeric":
        return "decimal"
    if pa.types.is_timestamp(kind):
        return "zoned" if kind.tz else "naive"
    tests: Sequence[tuple[Any, Family]] = (
        (pa.types.is_date, "date"),
        (pa.types.is_floating, "float"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_decimal, "decimal"),
        (pa.types.is_boolean, "boolean"),
    )
    for test, family in tests:
        if test(kind):
            return family
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary)
    plain = told in (b"", b"text", b"varchar", b"bpchar", b"name")
    return "text" if plain and any(test(kind) for test in texts) else "other"
