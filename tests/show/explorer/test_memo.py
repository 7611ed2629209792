"""A bounded store: each thing is made once, and making one does not keep others waiting."""

from __future__ import annotations

import threading

import pytest

from thence.show.explorer.memo import Memo


def test_threads_that_want_the_same_thing_wait_for_one_of_them() -> None:
    memo, made, begun, go = Memo(5), [], threading.Event(), threading.Event()

    def make() -> int:
        begun.set()
        go.wait(10)
        made.append(1)
        return 7

    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.append(memo.get("a", make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    assert memo.get("b", lambda: 3) == 3  # while "a" is being made
    go.set()
    for thread in threads:
        thread.join(10)
    assert got == [7] * 4
    assert made == [1]


def test_what_fails_is_tried_again() -> None:
    memo = Memo(5)
    with pytest.raises(ZeroDivisionError):
        memo.get("a", lambda: 1 // 0)
    assert memo.get("a", lambda: 2) == 2


def test_the_oldest_is_dropped() -> None:
    memo = Memo(2)
    for key in ("a", "b"):
        memo.get(key, lambda: 1)
    memo.get("a", lambda: 2)
    memo.get("c", lambda: 1)
    assert len(memo) == 2
    assert memo.get("a", lambda: 3) == 1
    assert memo.get("b", lambda: 3) == 3
