"""A bounded cache in which each value is computed once, by one thread.

Computing one value does not keep other threads from getting another.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Made = TypeVar("Made")


class Cache:
    """A bounded cache.

    Args:
        most: The number of values that are kept; the least recently used are dropped.

    Examples:
        >>> cache = Cache(2)
        >>> [cache.get(key, lambda: len(cache)) for key in ("a", "b", "a", "c", "b")]
        [0, 1, 0, 2, 2]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[Hashable, Any] = OrderedDict()
        self._locks: dict[Hashable, threading.RLock] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the value of a key, or compute it now.

        Args:
            key: The key.
            make: Computes the value; called without arguments if none is kept for the key.
        """
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                kept: Made = self._made[key]
                return kept
            own = self._locks.setdefault(key, threading.RLock())
        with own:
            with self._lock:
                if key in self._made:
                    again: Made = self._made[key]
                    return again
            try:
                made = make()
                with self._lock:
                    self._made[key] = made
                    while len(self._made) > self._most:
                        self._made.popitem(last=False)
            finally:
                with self._lock:
                    self._locks.pop(key, None)
        return made
