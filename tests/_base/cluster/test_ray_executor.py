"""A real Ray cluster of two machines on the loopback interface."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import thence as th
from tests._base.cluster.tasks import (
    describe,
    die,
    die_once,
    fail,
    scale,
    wait,
)
from tests.helpers.processes import until
from tests.helpers.random_tables import assert_same_rules, random_table
from tests.helpers.ray_cluster import RayCluster
from thence._base.cluster import RayExecutor
from thence.errors import ClusterError, ConfigError

pytestmark = pytest.mark.slow


@pytest.fixture
def executor(cluster: RayCluster) -> Iterator[RayExecutor]:
    with RayExecutor(cluster.address) as opened:
        yield opened


def test_results_come_in_the_order_of_the_tasks(executor: RayExecutor) -> None:
    assert not executor.is_local
    assert executor.workers == 2
    assert list(executor.map(scale, range(50), shared=np.arange(50.0))) == [2.0 * task for task in range(50)]
    assert list(executor.map(scale, [], shared=np.arange(1.0))) == []


def test_tasks_share_read_only_arrays_and_run_on_both_machines(executor: RayExecutor, cluster: RayCluster) -> None:
    found = list(executor.map(describe, range(40), shared=np.zeros(1 << 20)))
    assert [task for task, _, _ in found] == list(range(40))
    assert not any(writeable for _, writeable, _ in found)
    assert {machine for _, _, machine in found} <= set(cluster.raylets)


def test_the_error_of_a_task_is_raised_as_it_was(executor: RayExecutor) -> None:
    results = executor.map(fail, range(9), shared=None)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ConfigError) as told:
        next(results)
    assert str(told.value) == "task 2: this one is odd (leave it out)"


def test_a_task_whose_worker_dies_is_run_again(executor: RayExecutor, tmp_path: Path) -> None:
    assert list(executor.map(die_once, range(4), shared=str(tmp_path))) == [0, 1, 4, 9]
    assert (tmp_path / "died").exists()


def test_a_task_that_always_dies_is_given_up(cluster: RayCluster) -> None:
    with (
        RayExecutor(cluster.address, retries=1) as executor,
        pytest.raises(ClusterError, match="started 2 times, and its worker died each time"),
    ):
        list(executor.map(die, [0], shared=None))


def test_tasks_that_nobody_waits_for_are_stopped(executor: RayExecutor, cluster: RayCluster, tmp_path: Path) -> None:
    with closing(executor.map(wait, [0.0, *[60.0] * 5], shared=str(tmp_path))) as results:
        next(results)
    until(lambda: not cluster.workers())


@pytest.mark.parametrize("near", [None, "hops"])
def test_exact_rules_are_those_of_this_machine(executor: RayExecutor, near: str | None) -> None:
    table = random_table(seed=3, n_rows=3000, n_columns=9, missing=0.1)
    everywhere = [[[c for c in range(9) if 0 < abs(c - f) < 4] for f in range(9)]] if near else None
    miner = th.Exact(max_antecedents=3, min_support=0.02, min_confidence=0.3, near=everywhere)
    assert_same_rules(miner.mine(table, executor=executor), miner.mine(table))
    fewer = th.Exact(max_antecedents=3, min_support=0.02, min_confidence=0.3, max_rules=57, on_limit="stop")
    assert_same_rules(fewer.mine(table, executor=executor), fewer.mine(table))


def test_rules_of_a_network_are_those_of_this_machine(executor: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from thence.search.aerial import extraction as parts

    monkeypatch.setattr(parts, "QUERIES_PER_PART", 50)
    table = random_table(seed=4, n_rows=400, n_columns=6, missing=0.0)
    for top in (None, 20):
        miner = th.Aerial(similarity=0.3, min_confidence=0.0, assurance=None, epochs=2, top_k=top)
        model = miner.train(table)
        here, there = miner.extract(model, table), miner.extract(model, table, executor=executor)
        assert len(here) > 0
        assert_same_rules(there, here)


@pytest.mark.parametrize("dataset", ["toy", "hanoi"])
def test_a_run_of_the_command_is_the_same_byte_for_byte(cluster: RayCluster, tmp_path: Path, dataset: str) -> None:
    if dataset == "hanoi":
        pytest.importorskip("wntr")
    for name, options in (("here", ()), ("there", ("--executor", "ray", "--address", cluster.address))):
        command = [sys.executable, "-m", "thence", "mine", "--dataset", dataset, "--no-report", "--quiet", *options]
        subprocess.run([*command, "--out", str(tmp_path / name)], check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "there" / "rules.json").read_bytes() == (tmp_path / "here" / "rules.json").read_bytes()
    assert f'address = "{cluster.address}"' in (tmp_path / "there" / "config.toml").read_text()


def test_repeats_of_experiments(cluster: RayCluster, tmp_path: Path) -> None:
    from thence.lab.experiments import reproduce

    made = {
        name: reproduce("6", dataset="toy", repeats=2, quick=True, out=tmp_path / name, progress="off", **options)
        for name, options in (("here", {}), ("there", {"executor": "ray", "address": cluster.address}))
    }
    stored = {
        name: sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*") if path.is_file())
        for name in made
    }
    assert stored["here"] == stored["there"]


def test_a_killed_worker_changes_nothing(executor: RayExecutor, cluster: RayCluster) -> None:
    table = random_table(seed=5, n_rows=60_000, n_columns=26, missing=0.05)
    miner = th.Exact(max_antecedents=3, min_support=0.01, min_confidence=0.5)
    expected = miner.mine(table)
    killed = threading.Event()

    def kill() -> None:
        until(lambda: bool(cluster.workers()))
        time.sleep(0.3)
        for worker in cluster.workers()[:1]:
            worker.kill()
            killed.set()

    with _in_background(kill):
        found = miner.mine(table, executor=executor)
    assert killed.is_set()
    assert_same_rules(found, expected)


def test_a_killed_machine_changes_nothing(doomed: RayCluster, tmp_path: Path) -> None:
    with RayExecutor(doomed.address) as executor:
        results = executor.map(wait, [0.0, *[2.0] * 6], shared=str(tmp_path))
        assert next(results) == 0.0
        until(lambda: len(list(tmp_path.iterdir())) > 2)
        os.kill(doomed.raylets[1], signal.SIGKILL)
        assert list(results) == [2.0] * 6


def test_a_lost_head_is_told_and_leaves_nothing_half_written(doomed: RayCluster, tmp_path: Path) -> None:
    marks, out = tmp_path / "marks", tmp_path / "run"
    marks.mkdir()
    with RayExecutor(doomed.address, patience=2) as executor:
        with closing(executor.map(wait, [0.0, *[60.0] * 4], shared=str(marks))) as results:
            assert next(results) == 0.0
            until(lambda: len(list(marks.iterdir())) > 1)
            os.kill(doomed.head, signal.SIGKILL)
            with pytest.raises(ClusterError, match="the Ray cluster is lost: it has not answered for 2 seconds"):
                next(results)
        with pytest.raises(ClusterError, match="run the same command again"):
            th.mine(th.datasets.load("toy"), executor=executor, out=out, progress="off")
    assert not out.exists()
    assert len(th.mine(th.datasets.load("toy"), out=out, progress="off").rules) > 0


def test_there_is_no_cluster() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match="no Ray cluster answers") as told:
            RayExecutor(address)
    assert told.value.where == address


def test_miners_that_cannot_be_spread_are_refused_before_anything_is_read(executor: RayExecutor) -> None:
    with pytest.raises(ConfigError, match="'fpgrowth' cannot be spread"):
        th.mine(th.datasets.load("toy"), miner="fpgrowth", enrich="none", executor=executor, progress="off")
    with pytest.raises(ConfigError, match="device 'cuda' is a processor of this machine"):
        th.Exact(device="cuda").mine(random_table(seed=1), executor=executor)


class _in_background:  # noqa: N801 (reads like a function)
    """Call a function in a thread that has ended when the context ends."""

    def __init__(self, function) -> None:
        self.thread = threading.Thread(target=function)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.thread.join()
