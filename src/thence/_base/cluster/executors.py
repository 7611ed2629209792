"""The protocol of executors, and the executor of this machine.

A task is a function of two arguments: what all tasks share, such as bitmaps, and what is its own, such as a range. The
shared part is sent to a worker once. Results come in the order of the tasks, a few of which run ahead of the caller.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor as Pool
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from thence._base.settings.threads import default_threads
from thence.errors import ConfigError

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 2
"""Tasks per worker that are started before the caller has used the results of earlier ones."""


class Executor(Protocol):
    """Where independent tasks run."""

    @property
    def is_local(self) -> bool:
        """Whether tasks run in this process or on this machine, so that nothing is sent over a network."""
        ...

    @property
    def workers(self) -> int:
        """How many tasks can run at the same time."""
        ...

    def map(
        self, function: Callable[[Shared, Task], Result], tasks: Iterable[Task], *, shared: Shared
    ) -> Generator[Result]:
        """Call a function for every task, and yield the results in the order of the tasks.

        The first error of a task ends the generator; tasks that have not started are then left out, as they are when
        the caller closes the generator.

        Args:
            function: A pure function of ``shared`` and a task, defined in a module of an installed package.
            tasks: The tasks; small, because each is sent on its own.
            shared: What all tasks read. It is sent once to each machine, and must not be changed.

        Yields:
            One result per task.
        """
        ...


@dataclass(frozen=True)
class LocalExecutor:
    """Run tasks on this machine, in threads or in processes.

    Args:
        jobs: The number of threads or processes; by default one per processor.
        processes: Use processes, to which ``shared`` is sent with every task. Threads are enough for functions that
            release the interpreter lock.

    Raises:
        ConfigError: If ``jobs`` is not positive.

    Examples:
        >>> list(LocalExecutor(jobs=2).map(pow, [0, 1, 2, 3], shared=2))
        [1, 2, 4, 8]
    """

    jobs: int | None = None
    processes: bool = False

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise ConfigError(f"'jobs' must be at least 1, got {self.jobs}")

    @property
    def is_local(self) -> bool:
        """Whether tasks run on this machine: they do."""
        return True

    @property
    def workers(self) -> int:
        """How many tasks can run at the same time."""
        if self.jobs is not None:
            return self.jobs
        return default_threads()

    def map(
        self, function: Callable[[Shared, Task], Result], tasks: Iterable[Task], *, shared: Shared
    ) -> Generator[Result]:
        """Call a function for every task, and yield the results in the order of the tasks.

        Args:
            function: A pure function of ``shared`` and a task.
            tasks: The tasks.
            shared: What all tasks read.

        Yields:
            One result per task.
        """
        todo = iter(tasks)
        if self.workers == 1 and not self.processes:
            for task in todo:
                yield function(shared, task)
            return
        pool = self._pool()
        waiting: deque[Future[Result]] = deque()
        try:
            while True:
                while len(waiting) < AHEAD * self.workers and (task := next(todo, _END)) is not _END:
                    waiting.append(pool.submit(function, shared, task))
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _pool(self) -> Pool:
        if not self.processes:
            return ThreadPoolExecutor(self.workers)
        return ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn"))


_END: Any = object()
