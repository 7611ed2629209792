"""Connections to Bolt servers (Neo4j and compatible ones), through the official driver.

Queries that read run in read transactions that are rolled back, so that a query cannot change the graph. A query that
fails for a reason that may pass, such as a dropped connection, is run again from its beginning; no part of an answer is
ever returned. What the driver reports becomes a ``GraphError`` without credentials. This module knows nothing of nodes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from thence.data.stores.urls import credentials_of, mask, scheme_of, without_credentials
from thence.errors import GraphError, require

__all__ = ["BOLT_SCHEMES", "BoltAddress", "BoltServer", "open_bolt", "parse_bolt_url"]

BOLT_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
"""The schemes of the driver: ``neo4j`` for clusters, ``+s`` with TLS, ``+ssc`` with a certificate of one's own."""

_USER, _PASSWORD, _DATABASE = "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"
_WAITS = (0.2, 1.0, 3.0)
_CONNECT = 15.0

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class BoltAddress:
    """Where a Bolt server is, and as whom to connect.

    Args:
        url: The URL without credentials and database.
        user: The user name; an empty string to connect without authentication.
        password: The password.
        database: The database; ``None`` for the default one of the user.
    """

    url: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    database: str | None = None

    @property
    def place(self) -> str:
        """The server and database, for messages."""
        return f"{self.url}/{self.database}" if self.database else self.url


def parse_bolt_url(url: str, *, database: str | None = None) -> BoltAddress:
    """Return the address that a URL names, with credentials from the environment where the URL has none.

    Args:
        url: ``bolt://[user:password@]host[:port][/database]``, or another of ``BOLT_SCHEMES``. Without a user name,
            ``NEO4J_USERNAME`` and ``NEO4J_PASSWORD`` are used.
        database: The database; by default the one in the URL, or else ``NEO4J_DATABASE``.

    Raises:
        GraphError: If the URL has no host, or another scheme.

    Examples:
        >>> address = parse_bolt_url("bolt://reader:s3cret@localhost:7687/plant")
        >>> address
        BoltAddress(url='bolt://localhost:7687', database='plant')
        >>> address.user
        'reader'
    """
    shown = without_credentials(url)
    try:
        bare, user, password = credentials_of(url)
        parts = urlsplit(bare)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise GraphError("not a valid URL", where=shown, hint="write bolt://host:7687") from None
    if scheme_of(url) not in BOLT_SCHEMES:
        raise GraphError("not the URL of a Bolt server", where=shown, hint=f"use one of {', '.join(BOLT_SCHEMES)}")
    in_path = unquote(parts.path.strip("/"))
    if not host or "/" in in_path or "@" in in_path:
        hint = "write bolt://host:7687 or bolt://host:7687/database; in a user name or password, write / as %2F"
        raise GraphError("not the URL of a Bolt server", where=shown, hint=hint)
    if not user:
        # A password without a user name belongs to the user of the environment.
        user = os.environ.get(_USER, "neo4j" if password or _PASSWORD in os.environ else "")
        password = password or os.environ.get(_PASSWORD, "")
    named = database or in_path or os.environ.get(_DATABASE) or None
    return BoltAddress(urlunsplit(parts._replace(path="", fragment="")), user, password, named)


@dataclass(frozen=True)
class BoltServer:
    """An open connection to a Bolt server; made by ``open_bolt``.

    Args:
        address: Where the server is.
        driver: The driver of the package ``neo4j``.
        timeout: The most seconds that a transaction may take on the server.
    """

    address: BoltAddress
    driver: Any
    timeout: float

    def read(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Return all records that a query answers with.

        Args:
            query: A Cypher query that reads.
            parameters: Its parameters.

        Raises:
            GraphError: If the server refuses the query, or does not answer.
        """

        def run(transaction: Any) -> list[Any]:
            return list(transaction.run(query, dict(parameters or {})))

        return self._attempt(run, access="READ", commit=False)

    def write(self, statements: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[Any]]:
        """Run statements in one transaction, of which all take effect or none; return the records of each.

        Args:
            statements: Cypher statements with their parameters. Since they are run again after a lost connection, they
                must have the same effect twice as once.

        Raises:
            GraphError: If the server refuses a statement, or does not answer.
        """

        def run(transaction: Any) -> list[list[Any]]:
            return [list(transaction.run(query, dict(parameters))) for query, parameters in statements]

        return self._attempt(run, access="WRITE", commit=True)

    def _attempt(self, work: Callable[[Any], Answer], *, access: str, commit: bool) -> Answer:
        failures = _failures()
        for wait in (*_WAITS, None):
            try:
                with self.driver.session(database=self.address.database, default_access_mode=access) as session:
                    transaction = session.begin_transaction(timeout=self.timeout)
                    try:
                        answer = work(transaction)
                        if commit:
                            transaction.commit()
                        return answer
                    finally:
                        transaction.close()  # rolls back what was not committed
            except failures as error:
                if wait is None or not getattr(error, "is_retryable", bool)():
                    raise _explain(error, self.address) from None
                time.sleep(wait)
        raise AssertionError("unreachable")


@contextmanager
def open_bolt(url: str, *, database: str | None = None, timeout: float = 300.0) -> Iterator[BoltServer]:
    """Connect to a Bolt server, and close the connection in the end.

    Args:
        url: The URL; see ``parse_bolt_url``.
        database: The database; by default the one in the URL.
        timeout: The most seconds that a transaction may take on the server.

    Raises:
        GraphError: If the server cannot be reached, or refuses the user.
        MissingExtraError: If the package ``neo4j`` is not installed.
    """
    address = parse_bolt_url(url, database=database)
    neo4j = require("neo4j", extra="neo4j")
    failures = _failures()
    refused: tuple[type[Exception], ...] = (*failures, ValueError)
    try:
        driver = neo4j.GraphDatabase.driver(
            address.url,
            auth=(address.user, address.password) if address.user else None,
            connection_timeout=_CONNECT,
            connection_acquisition_timeout=2 * _CONNECT,
            user_agent="thence",
        )
    except refused as error:
        raise _explain(error, address) from None
    with driver:
        try:
            # Fails at once if nobody answers or the user is refused; queries only retry what once worked.
            driver.verify_connectivity()
        except failures as error:
            raise _explain(error, address) from None
        yield BoltServer(address, driver, timeout)


def _failures() -> tuple[type[Exception], ...]:
    """What the driver raises for a server that does not answer or refuses."""
    exceptions = require("neo4j.exceptions", extra="neo4j")
    return (exceptions.Neo4jError, exceptions.DriverError, OSError)


def _explain(error: Exception, address: BoltAddress) -> GraphError:
    """A failure in our words, without credentials; chained to nothing, since the driver's text may hold them."""
    told = mask(str(getattr(error, "message", None) or error), [address.password]).strip().splitlines()
    reason = told[0][:300] if told else type(error).__name__
    kind = {cls.__name__ for cls in type(error).__mro__}
    code = str(getattr(error, "code", "") or "")
    if kind & {"AuthError", "TokenExpired", "AuthConfigurationError"} or ".Security." in code:
        if "Forbidden" in kind and "AuthError" not in kind:
            return GraphError(f"the user may not do this: {reason}", where=address.place)
        hint = f"write bolt://user:password@host:port, or set {_USER} and {_PASSWORD}"
        return GraphError("the server refuses the user name or the password", where=address.place, hint=hint)
    if "DatabaseNotFound" in code or "DatabaseUnavailable" in kind:
        return GraphError(f"no such database: {reason}", where=address.place, hint="pass database='…'")
    if kind & {"ServiceUnavailable", "SessionExpired", "ReadServiceUnavailable", "OSError"}:
        hint = "check host and port, and that the server is running; the Bolt port is usually 7687"
        return GraphError(f"the server does not answer: {reason}", where=address.place, hint=hint)
    if "TransactionTimedOut" in code or "Terminated" in code:
        return GraphError(f"the server ended the query: {reason}", where=address.place, hint="pass a greater timeout=")
    if "ConfigurationError" in kind or isinstance(error, ValueError):
        return GraphError(f"cannot connect: {reason}", where=address.place, hint="write bolt://host:7687")
    return GraphError(f"the server refuses the query: {reason}", where=address.place, hint="correct the query")
