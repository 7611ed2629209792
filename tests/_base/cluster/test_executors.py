"""Executors of this machine, and executors by name."""

from __future__ import annotations

import sys
import threading
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests._base.cluster.tasks import fail, scale
from tests.helpers.examples import examples
from tests.helpers.executors import Elsewhere
from thence._base.cluster import EXECUTORS, LocalExecutor, RayExecutor, open_executor
from thence.errors import ConfigError, MissingExtraError


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 4))
@settings(max_examples=examples(30))
def test_results_come_in_the_order_of_the_tasks(tasks: list[int], jobs: int) -> None:
    shared = np.arange(10.0)
    assert list(LocalExecutor(jobs).map(scale, tasks, shared=shared)) == [2.0 * task for task in tasks]
    assert list(Elsewhere().map(scale, tasks, shared=shared)) == [2.0 * task for task in tasks]


def test_processes_give_the_same_results() -> None:
    with closing(LocalExecutor(2, processes=True).map(scale, range(5), shared=np.arange(5.0))) as results:
        assert list(results) == [0.0, 2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_error_of_a_task_is_raised_where_its_result_would_be(jobs: int) -> None:
    results = LocalExecutor(jobs).map(fail, range(9), shared=None)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ConfigError, match="odd"):
        next(results)


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_are_taken_as_results_are_used(jobs: int) -> None:
    # All of them were once in memory before the first result was seen.
    taken = threading.Semaphore(0)

    def tasks():
        for task in range(100):
            taken.release()
            yield task

    with closing(LocalExecutor(jobs).map(scale, tasks(), shared=np.arange(100.0))) as results:
        next(results)
    started = 0
    while taken.acquire(blocking=False):
        started += 1
    assert started <= 4


def test_the_number_of_jobs_is_checked() -> None:
    assert LocalExecutor().workers >= 1
    with pytest.raises(ConfigError, match="at least 1"):
        LocalExecutor(0)


def test_executors_by_name() -> None:
    assert EXECUTORS == ("local", "ray")
    with open_executor() as opened:
        assert opened.is_local
    own = LocalExecutor(1)
    with open_executor(own) as opened:
        assert opened is own


@pytest.mark.parametrize(
    ("executor", "address", "message"),
    [
        ("rey", None, "did you mean 'ray'"),
        ("slurm", None, "known: local, ray"),
        ("local", "10.0.0.4:6379", "executor is 'local'"),
        (LocalExecutor(1), "10.0.0.4:6379", "already open"),
    ],
)
def test_impossible_executors_are_refused(executor, address, message) -> None:
    with pytest.raises(ConfigError, match=message), open_executor(executor, address=address):
        pass


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"thence\[ray\]"), open_executor("ray"):
        pass


@pytest.mark.parametrize("settings", [{"retries": -1}, {"patience": 0}, {"patience": 60}, {"patience": float("nan")}])
def test_settings_of_a_cluster_are_checked(settings) -> None:
    with pytest.raises(ConfigError):
        RayExecutor(**settings)
