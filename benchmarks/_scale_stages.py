"""Seconds, processor seconds and memory of each stage of a run in a process of its own.

The process says when a stage begins and ends; its memory is read from outside, so that a stage that never lets go of
the interpreter is seen too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVERY = 0.05
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Look:
    """The memory of a process at a time, in GiB: all of it, and without pages of files that the system may drop."""

    time: float
    all: float
    own: float


class Stages:
    """The stages of this process, in the order of their first beginning; a stage may come several times."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    @contextmanager
    def __call__(self, name: str, *_: object) -> Iterator[None]:
        begin, processor = time.monotonic(), time.process_time()
        yield
        end = {"end": time.monotonic(), "cpu_seconds": time.process_time() - processor}
        self.spans.append({"stage": name, "begin": begin, **end})
        print(
            f"  {name}: {end['end'] - begin:.1f} s, {end['cpu_seconds']:.1f} of processors", file=sys.stderr, flush=True
        )


def watch(command: Sequence[str]) -> tuple[dict[str, Any], list[Look]]:
    """Run a command that prints JSON on its last line; return that, and what its memory was."""
    looks = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            look = _look(status)
            looks += [look] if look else []
            time.sleep(EVERY)
        out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"ended with {process.returncode}")
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result, looks


def _look(status: Path) -> Look | None:
    try:
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        sizes = [int(fields[name].split()[0]) / 2**20 for name in ("VmRSS", "RssAnon")]
    except (OSError, KeyError, ValueError):
        return None
    return Look(time.monotonic(), sizes[0], sizes[1])


def by_stage(spans: Sequence[dict[str, Any]], looks: Sequence[Look]) -> dict[str, dict[str, float]]:
    """Return seconds, processor seconds and peak memory by stage."""
    out: dict[str, dict[str, float]] = {}
    for span in spans:
        seen = [look for look in looks if span["begin"] <= look.time <= span["end"]]
        one = out.setdefault(span["stage"], {"seconds": 0.0, "cpu_seconds": 0.0, "gib": 0.0, "own_gib": 0.0})
        one["seconds"] += span["end"] - span["begin"]
        one["cpu_seconds"] += span["cpu_seconds"]
        one["gib"] = max([one["gib"], *(look.all for look in seen)])
        one["own_gib"] = max([one["own_gib"], *(look.own for look in seen)])
    return {stage: {name: round(value, 3) for name, value in one.items()} for stage, one in out.items()}
