"""A bounded cache: each value is computed once, and computing one does not keep others waiting."""

from __future__ import annotations

import threading

import pytest

from thence.show.explorer.cache import Cache


def test_threads_that_want_the_same_thing_wait_for_one_of_them() -> None:
    cache, made, begun, go = Cache(5), [], threading.Event(), threading.Event()

    def make() -> int:
        begun.set()
        go.wait(10)
        made.append(1)
        return 7

    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.append(cache.get("a", make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    assert cache.get("b", lambda: 3) == 3  # while "a" is being made
    go.set()
    for thread in threads:
        thread.join(10)
    assert got == [7] * 4
    assert made == [1]


def test_what_fails_is_tried_again() -> None:
    cache = Cache(5)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 2) == 2


def test_the_oldest_is_dropped() -> None:
    cache = Cache(2)
    for key in ("a", "b"):
        cache.get(key, lambda: 1)
    cache.get("a", lambda: 2)
    cache.get("c", lambda: 1)
    assert len(cache) == 2
    assert cache.get("a", lambda: 3) == 1
    assert cache.get("b", lambda: 3) == 3
