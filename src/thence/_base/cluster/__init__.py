"""Executors: where independent tasks run, on this machine or on a Ray cluster.

Tasks are pure functions of plain data, and their results come in the order of the tasks, so that a result never depends
on the executor. This room knows nothing of tables, rules or runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thence._base.cluster.executors import Executor, LocalExecutor
from thence._base.cluster.ray_executor import RayExecutor
from thence.errors import ConfigError, nearest

__all__ = ["EXECUTORS", "Executor", "LocalExecutor", "RayExecutor", "open_executor", "require_executor"]


EXECUTORS = ("local", "ray")
"""The names of executors."""


@contextmanager
def open_executor(executor: str | Executor = "local", *, address: str | None = None) -> Iterator[Executor]:
    """Open an executor by its name, and close it at the end.

    Args:
        executor: ``"local"``, ``"ray"``, or an executor, which is left open.
        address: Where the Ray cluster is, as in ``RayExecutor``.

    Yields:
        The executor.

    Raises:
        ConfigError: If there is no such executor, or an address is given for the local one.
        ClusterError: If the cluster cannot be reached.
        MissingExtraError: If ray is not installed.

    Examples:
        >>> with open_executor("local") as executor:
        ...     list(executor.map(pow, [1, 2], shared=3))
        [3, 9]
    """
    if not isinstance(executor, str):
        if address is not None:
            raise ConfigError("'address' is given, but the executor is already open", hint="leave out 'address'")
        yield executor
        return
    require_executor(executor, address)
    if executor == "local":
        yield LocalExecutor()
        return
    with RayExecutor(address) as opened:
        yield opened


def require_executor(name: str, address: str | None) -> None:
    """Raise ``ConfigError`` if there is no such executor, or an address is given for the local one."""
    if name not in EXECUTORS:
        hint = nearest(name, EXECUTORS) or "known: " + ", ".join(EXECUTORS)
        raise ConfigError(f"unknown executor '{name}'", hint=hint)
    if address is not None and name == "local":
        raise ConfigError(
            "'address' is the address of a Ray cluster, but the executor is 'local'", hint="set the executor to 'ray'"
        )
