"""Tasks that the tests of executors run, in a module that workers can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from thence.errors import ConfigError


def scale(shared: np.ndarray, task: int) -> float:
    return float(shared[task] * 2)


def describe(shared: np.ndarray, task: int) -> tuple[int, bool, int]:
    return task, bool(shared.flags.writeable), os.getppid()


def fail(shared: Any, task: int) -> int:
    if task == 2:
        raise ConfigError("this one is odd", where="task 2", hint="leave it out")
    return task


def die_once(folder: str, task: int) -> int:
    """End the process in which task 1 runs for the first time."""
    mark = Path(folder) / "died"
    if task == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task * task


def die(shared: Any, task: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def wait(folder: str, task: float) -> float:
    (Path(folder) / f"started-{time.time_ns()}").touch()
    time.sleep(task)
    return task
