"""A signal ends a wait at whatever moment it comes: before, while and just as the main thread goes to sleep."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack
from threading import Thread

import pytest

from tests.helpers.processes import PATIENCE
from thence.checks.monitor.stopping import StopRequest
from thence.cli.monitor import _stop_on_signals

# With threading.Event this hangs within some hundred rounds: the handler waits for the lock of the wait it interrupts.
ROUNDS = """
import random, signal
from thence.checks.monitor.stopping import StopRequest

draw = random.Random(1)
stop = StopRequest()
signal.signal(signal.SIGALRM, lambda *_: stop.set())
for _ in range(1_000):
    stop = StopRequest()
    signal.setitimer(signal.ITIMER_REAL, 3e-6 + 20e-6 * draw.random())
    assert stop.wait(60)
print("all rounds ended")
"""


def test_a_signal_at_any_moment_ends_the_wait() -> None:
    done = subprocess.run([sys.executable, "-c", ROUNDS], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == "all rounds ended\n", done.stderr


def test_all_who_wait_go_on() -> None:
    stop = StopRequest()
    found: list[bool] = []
    threads = [Thread(target=lambda: found.append(stop.wait(60))) for _ in range(3)]
    for thread in threads:
        thread.start()
    stop.set()
    for thread in threads:
        thread.join()
    assert found == [True] * 3


def test_a_wait_without_a_request_ends_in_its_time() -> None:
    stop = StopRequest()
    assert not stop.wait(0.01) and not stop.is_set()


def test_asked_twice_it_ends_at_once() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            stop = _stop_on_signals(stack)
            signal.raise_signal(signal.SIGINT)
            assert stop.is_set()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
