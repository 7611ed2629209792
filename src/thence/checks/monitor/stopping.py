"""A request to stop that a signal may make at any moment, also while it is being waited for."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from queue import Empty, SimpleQueue
from threading import Event
from time import monotonic

_LONGEST_SLEEP = 0.2


class StopRequest(Event):
    """An event that the handler of a signal may set.

    ``Event.set`` takes a lock that ``Event.wait`` holds for a moment. A handler runs in the main thread; when the
    signal comes in that moment, and the main thread is the one that waits, neither goes on. The queue used here may
    be added to from a handler at any moment. A signal that comes just before the thread goes to sleep does not wake it
    (its handler runs after the sleep), so no sleep is longer than a fifth of a second.

    Examples:
        >>> stop = StopRequest()
        >>> stop.wait(0.0), stop.is_set()
        (False, False)
        >>> stop.set()
        >>> stop.wait(60.0), stop.is_set()
        (True, True)
    """

    def __init__(self) -> None:
        super().__init__()
        self._asked = False
        self._wake: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        """Return whether it is time to stop."""
        return self._asked

    def set(self) -> None:
        """Ask to stop; all who wait go on."""
        self._asked = True
        self._wake.put(None)

    def clear(self) -> None:
        """Not possible: a request to stop is not taken back."""
        raise NotImplementedError("a request to stop is not taken back")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is time to stop, or until the time is over.

        Args:
            timeout: Seconds; ``None`` for no end.

        Returns:
            Whether it is time to stop.
        """
        end = inf if timeout is None else monotonic() + timeout
        while not self._asked and (left := end - monotonic()) > 0:
            with suppress(Empty):
                self._wake.get(timeout=min(left, _LONGEST_SLEEP))
                self._wake.put(None)
        return self._asked
