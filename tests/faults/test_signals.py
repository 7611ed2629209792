"""A command that is killed, ended or interrupted at any moment leaves what is whole, marked, or not there."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.nursery import Nursery
from tests.faults.scenarios import SCENARIOS, material

pytestmark = pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="forks after loading libraries")
QUICK = 2
ENDLESS = 1.5
"""Seconds within which a command that does not end by itself is ended."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("material")
    material(folder)
    return folder


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery") / "errors.txt") as warm:
        yield warm


def whole_length(name: str, nursery: Nursery, made: Path, place: Path) -> float:
    """Return how many seconds a command takes if nothing ends it: signals must come while it works."""
    scenario = SCENARIOS[name]
    if name == "explore":
        return ENDLESS
    place.mkdir()
    scenario.prepare(place, made)
    begin = time.perf_counter()
    assert nursery.run(scenario.arguments(place, made)) == 0, nursery.errors()[-2_000:]
    return time.perf_counter() - begin


def end_often(name: str, times: int, nursery: Nursery, made: Path, folder: Path) -> int:
    """End a command so often, at random moments and while it writes; return how often a signal came in time."""
    scenario, chance, caught = SCENARIOS[name], random.Random(f"{name} {times}"), 0
    told, longest = len(nursery.errors()), whole_length(name, nursery, made, folder / "whole")
    for number in range(times):
        place = folder / str(number)
        place.mkdir()
        scenario.prepare(place, made)
        before = set(place.rglob("*"))
        send = signal.SIGKILL if number % 10 < 8 else (signal.SIGTERM, signal.SIGINT)[number % 2]
        writing = number % 2 == 0 and name not in ("explore", "review")

        def writes(place: Path = place, before: set[Path] = before) -> bool:
            try:
                return bool(set(place.rglob("*")) - before)
            except FileNotFoundError:
                return True

        status = nursery.run(
            scenario.arguments(place, made),
            send=send,
            when=writes if writing else None,
            after=chance.uniform(0, min(longest / 10, 0.05) if writing else longest),
        )
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == send
            caught += 1
        else:
            assert os.WEXITSTATUS(status) in (0, 130, 143), nursery.errors()[-2_000:]
            caught += os.WEXITSTATUS(status) != 0
        scenario.check(place, made)
    assert "Traceback" not in nursery.errors()[told:], nursery.errors()[told:][-3_000:]
    return caught


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "explore"])
def test_a_few_kills(name: str, nursery: Nursery, made: Path, tmp_path: Path) -> None:
    end_often(name, QUICK, nursery, made, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_thousand_kills_in_all(name: str, nursery: Nursery, made: Path, tmp_path: Path) -> None:
    """THENCE_KILLS=0.1 does a tenth of them."""
    assert sum(scenario.kills for scenario in SCENARIOS.values()) == 1_000
    times = max(int(SCENARIOS[name].kills * float(os.environ.get("THENCE_KILLS", "1"))), 1)
    caught = end_often(name, times, nursery, made, tmp_path)
    print(f"{name}: {times} signals, {caught} in time")
    assert caught > times // 4, "most commands ended before their signal: the scenario is too short"
