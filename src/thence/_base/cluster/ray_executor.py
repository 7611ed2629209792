"""The executor of a Ray cluster.

What tasks share is put into the object store once, where the workers of a machine read it without a copy; a task
carries little more than its range. A task whose worker dies is run again, on another machine if need be; tasks are pure
functions, so that the result is the same. Ray itself waits a minute for a head that is gone and then ends the process
without an error, so this module looks for itself whether the head still answers.

Nothing but the functions of this module knows Ray, which is imported when an executor is opened.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from importlib.metadata import version
from typing import Any, TypeVar

from thence._base.cluster.executors import AHEAD
from thence._base.settings.numbers import require_integer, require_number
from thence.errors import ClusterError, ConfigError, reason_of, require

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

# Seconds between two looks at the head, and the most that one look may take.
_LOOK, _ANSWER = 1.0, 2.0
# Seconds after which the size of the cluster is looked up again.
_CHECK_AGAIN = 5.0
# Seconds in which Ray must close a connection; without a head it takes its time.
_CLOSE = 10.0
# Ray ends the process after a minute without a head.
_MOST_PATIENCE = 60
_AGAIN = "nothing was written: start the cluster and run the same command again"


class RayExecutor:
    """Run tasks on a Ray cluster, one processor each.

    The cluster is a running one: this class starts and stops no machines. Thence must be installed on all of them in
    the same version. If the process is already connected to Ray, that connection is used and left open.

    Args:
        address: The address of the head, ``"host:6379"``. By default that in the environment variable ``RAY_ADDRESS``,
            or else the cluster to which this machine belongs.
        retries: How often a task is run again after its worker died.
        patience: Seconds without an answer of the head after which the cluster counts as lost; below 60.

    Raises:
        ClusterError: If there is no cluster at the address, or its Ray or Python is of another version.
        ConfigError: If ``retries`` or ``patience`` is impossible.
        MissingExtraError: If ray is not installed.

    Examples:
        >>> RayExecutor(retries=-1)
        Traceback (most recent call last):
        thence.errors.ConfigError: retries must be an integer >= 0, got -1
    """

    def __init__(self, address: str | None = None, *, retries: int = 3, patience: float = 30.0) -> None:
        require_integer("retries", retries, least=0)
        require_number("patience", patience)
        if not 0 < patience < _MOST_PATIENCE:
            raise ConfigError(f"patience must lie between 0 and {_MOST_PATIENCE} seconds, got {patience!r}")
        self._ray: Any = require("ray", extra="ray")
        self._retries, self._patience = retries, patience
        self._own = not self._ray.is_initialized()
        if self._own:
            self._connect(address)
        self._head = self._find_head()
        self._where = self._head or address

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_local(self) -> bool:
        """Whether tasks run on this machine: they may run on others."""
        return False

    @property
    def workers(self) -> int:
        """The number of processors of the cluster at this moment."""
        self._require_head()
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Leave the cluster, unless the process was connected to it before."""
        if self._own and self._ray.is_initialized():
            # Without a head this may wait for long, and nobody needs the result.
            leaving = threading.Thread(target=self._ray.shutdown, daemon=True)
            leaving.start()
            leaving.join(_CLOSE)

    def map(
        self, function: Callable[[Shared, Task], Result], tasks: Iterable[Task], *, shared: Shared
    ) -> Generator[Result]:
        """Call a function for every task, and yield the results in the order of the tasks.

        Args:
            function: A pure function of ``shared`` and a task, defined in a module that all machines have.
            tasks: The tasks; small, because each is sent on its own.
            shared: What all tasks read. Arrays in it are read-only for the tasks.

        Yields:
            One result per task.

        Raises:
            ClusterError: If the head is lost, or a task has lost its worker more often than ``retries``.
        """
        ray = self._ray
        call = ray.remote(num_cpus=1, max_retries=self._retries)(_call)
        todo = iter(tasks)
        waiting: deque[Any] = deque()
        workers, checked = self.workers, time.monotonic()
        stored = ray.put(shared)
        try:
            while True:
                # A cluster may grow while it works.
                if time.monotonic() - checked > _CHECK_AGAIN:
                    workers, checked = self.workers, time.monotonic()
                while len(waiting) < AHEAD * workers and (task := next(todo, _END)) is not _END:
                    waiting.append(call.remote(version("thence"), function, stored, task))
                if not waiting:
                    return
                yield self._result(waiting[0])
                waiting.popleft()
        finally:
            self._cancel(waiting)

    def _given_up(self) -> ClusterError:
        return ClusterError(
            f"a task was started {self._retries + 1} times, and its worker died each time",
            where=self._where,
            hint="look at the memory of the workers; " + _AGAIN,
        )

    def _connect(self, address: str | None) -> None:
        wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
        hint = (
            "start one with 'ray start --head', pass the address of its head, and use the same versions of Python and "
            "Ray on all machines"
        )
        # Ray would look for it for minutes.
        if re.fullmatch(r"[^/]+:\d+", wanted) and not _is_open(wanted):
            raise ClusterError("no Ray cluster answers at this address", where=wanted, hint=hint)
        try:
            self._ray.init(address=wanted, log_to_driver=False, logging_level="ERROR", namespace="thence")
        except Exception as error:
            raise ClusterError(
                f"no Ray cluster can be used here ({reason_of(error)})",
                where=address,
                hint=hint,
            ) from error

    def _find_head(self) -> str | None:
        """The address at which the head answers; unknown if the connection goes through a proxy (``ray://``)."""
        try:
            return str(self._ray.get_runtime_context().gcs_address)
        except Exception:
            return None

    def _result(self, task: Any) -> Any:
        """The result of a task, as soon as it is there."""
        errors = self._ray.exceptions
        while True:
            try:
                ready, _ = self._ray.wait([task], timeout=_LOOK)
                if ready:
                    return self._ray.get(task)
            except errors.RayTaskError as error:
                raise _explain(error) from None
            except _deaths(errors) as error:
                raise self._given_up() from error
            except (errors.RaySystemError, errors.RayError, ConnectionError) as error:
                raise self._lost(reason_of(error)) from error
            self._require_head()

    def _require_head(self) -> None:
        """Wait until the head answers; raise if it does not in time.

        To be called before Ray is called for something that only the head knows: Ray would wait a minute, and then end
        the process.
        """
        since = time.monotonic()
        while not self._answers():
            if time.monotonic() - since >= self._patience:
                raise self._lost(f"it has not answered for {self._patience:g} seconds")
            time.sleep(min(_LOOK, self._patience / 4))

    def _answers(self) -> bool:
        """Whether the head accepts connections; without an address, Ray has to notice by itself."""
        return self._head is None or _is_open(self._head)

    def _lost(self, why: str) -> ClusterError:
        return ClusterError(f"the Ray cluster is lost: {why}", where=self._where, hint=_AGAIN)

    def _cancel(self, tasks: Iterable[Any]) -> None:
        """Stop tasks whose results nobody wants any more."""
        if self._answers():
            for task in tasks:
                self._ray.cancel(task, force=True)


_END: Any = object()


def _is_open(address: str) -> bool:
    """Whether somebody accepts connections at ``host:port``."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER):
            return True
    except (OSError, OverflowError):
        return False


def _call(caller: str, function: Callable[[Any, Any], Result], shared: Any, task: Any) -> Result:
    """Run a task on a worker, if it has the version of the caller."""
    own = version("thence")
    if own != caller:
        raise ClusterError(
            f"a worker has Thence {own}, but the run was started with {caller}",
            hint="install the same version on all machines",
        )
    return function(shared, task)


def _deaths(errors: Any) -> tuple[type[Exception], ...]:
    """The errors by which Ray reports a lost worker; it also ends those of a machine that runs out of memory."""
    return errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError, errors.OutOfMemoryError


def _explain(error: Any) -> BaseException:
    """The error that a task has raised, instead of the one of Ray that contains it."""
    cause = error.cause
    if isinstance(cause, ModuleNotFoundError) and str(cause.name).partition(".")[0] == "thence":
        return ClusterError("a worker does not have Thence", hint="install the same version on all machines")
    return cause if isinstance(cause, BaseException) else error
