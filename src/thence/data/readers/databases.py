"""Databases: which sources are databases, the options that only they take, and the reader of each kind of them.

A reader is a function ``read(source, options) -> Iterable[SourceTable]``, as one of files is (see ``.files``). Its
``source`` is a URL with the scheme of the reader, or a connection. It reads all rows in one snapshot, or raises.
Another package adds one with an entry point in the group ``thence.databases``, named by the scheme of its URLs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thence._base.settings.registry import Registry
from thence.errors import ConfigError, nearest

__all__ = ["DATABASES", "DatabaseOptions", "database_reader"]

DATABASES: Registry[Any] = Registry(
    "database",
    {
        **dict.fromkeys(("postgresql", "postgres"), "thence.data.stores.sql:read_postgresql"),
        "duckdb": "thence.data.stores.sql:read_duckdb",
        "adbc": "thence.data.stores.sql:read_connection",
    },
    group="thence.databases",
    of=object,
)
"""The reader of each scheme; ``adbc`` reads from open connections."""


@dataclass(frozen=True)
class DatabaseOptions:
    """The options of ``read_sensors`` that only databases take; it documents them.

    Args:
        table: Tables to read.
        query: Query to read instead of a table.
        where: Conditions on columns.
        metadata: Where kinds, units and names of sensors are.
        order: Columns by which rows with the same time are ordered.
        windows: Length of the windows that the database aggregates.
        aggregate: Aggregate of these windows.
        origin: Where these windows begin.
        timeout: Seconds after which the database gives up a statement.
    """

    table: tuple[str, ...] = ()
    query: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    windows: Any = None
    aggregate: Any = "mean"
    origin: Any = "epoch"
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.query is not None and self.table:
            raise ConfigError("'table' and 'query' exclude each other", hint="pass one of them")
        if self.query is not None and not self.query.strip():
            raise ConfigError("'query' is empty", hint="pass a SELECT statement, or table=")
        if self.timeout is not None and not self.timeout > 0:
            raise ConfigError(f"'timeout' must be a number of seconds above 0, got {self.timeout!r}")
        known = ("table", "sensor", "name", "kind", "unit")
        for key in self.metadata:
            if key not in known:
                raise ConfigError(
                    f"metadata has no option '{key}'", hint=nearest(key, known) or f"known: {', '.join(known)}"
                )

    @property
    def given(self) -> list[str]:
        """The names of the options that are not at their defaults."""
        return [name for name, value in vars(self).items() if value != getattr(DatabaseOptions(), name)]


def database_reader(source: Any) -> Callable[..., Iterable[Any]] | None:
    """Return the reader of a database, or ``None`` if the source is something else.

    Args:
        source: A path, a URL, a frame or a connection.

    Raises:
        ConfigError: If the source is a URL that no reader knows.
    """
    scheme = ""
    if isinstance(source, str) and "://" in source:
        scheme = source.partition("://")[0].lower()
        if len(scheme) < 2:  # a drive of Windows
            return None
        if scheme not in DATABASES or scheme == "adbc":
            known = [name for name in DATABASES if name != "adbc"]
            raise ConfigError(
                f"readings cannot be read from a URL that begins with '{scheme}://'",
                hint=nearest(scheme, known) or f"known: {', '.join(f'{name}://' for name in known)}",
            )
    elif hasattr(source, "adbc_get_table_schema"):
        scheme = "adbc"
    reader: Callable[..., Iterable[Any]] | None = DATABASES.load(scheme) if scheme else None
    return reader
