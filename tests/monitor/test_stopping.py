"""A signal ends a wait at whatever moment it comes: before, while and just as the main thread goes to sleep."""

from __future__ import annotations

import subprocess
import sys
from threading import Thread

from thence.monitor.stopping import StopRequest

# With threading.Event this hangs within some hundred rounds: the handler waits for the lock of the wait it interrupts.
ROUNDS = """
import random, signal
from thence.monitor.stopping import StopRequest

draw = random.Random(1)
stop = StopRequest()
signal.signal(signal.SIGALRM, lambda *_: stop.set())
for _ in range(2_000):
    stop = StopRequest()
    signal.setitimer(signal.ITIMER_REAL, 3e-6 + 20e-6 * draw.random())
    assert stop.wait(60)
print("all rounds ended")
"""


def test_a_signal_at_any_moment_ends_the_wait() -> None:
    done = subprocess.run([sys.executable, "-c", ROUNDS], capture_output=True, text=True, timeout=120, check=False)
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
