"""Processes of tests that never stay behind, ports that nobody else takes, and enough patience for a busy machine."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PATIENCE = 300.0
"""Seconds after which something counts as hanging; a machine that is busy with other work needs many."""

# Below the ports from which systems take those of outgoing connections, above those of the workers of Ray.
_PORTS = range(20_000, 32_000)
_CHANCE = random.SystemRandom()


def free_port() -> int:
    """Return a port of the loopback interface at which nobody listens, and that no outgoing connection will get."""
    while True:
        port = _CHANCE.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def until(check: Callable[[], Any], *, seconds: float = PATIENCE) -> None:
    """Wait until something is true; an ``OSError`` of the check counts as not yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except OSError:
            pass
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.05)


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process, which has ended when the context ends."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process if it still runs, and let go of all that belongs to it."""
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def line_with(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """Return the next line of standard error that has a text in it."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        if text in line:
            return line
        seen.append(line)
    raise AssertionError(f"no line with {text!r}: {b''.join(seen).decode()}")
