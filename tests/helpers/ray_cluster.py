"""A Ray cluster of two machines on the loopback interface, in a process of its own.

As a script it starts the cluster with the head at a port, prints where it is, and stops it when its input ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.helpers.processes import free_port

# The second makes Ray take 127.0.0.1 as it is instead of replacing it by the address of the machine. By the last two
# workers get their share of a busy machine: Ray would let all other programs go first, and end workers when these use
# up the memory.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
    "RAY_memory_monitor_refresh_ms": "0",
}


@dataclass(frozen=True)
class RayCluster:
    """A running cluster.

    Args:
        address: Where its head answers.
        head: The process of the head's directory, without which nothing new can start.
        raylets: The process of each machine, that of the head first.
    """

    address: str
    head: int
    raylets: tuple[int, ...]

    def workers(self) -> list[psutil.Process]:
        """The processes that run a task at this moment."""
        found = [child for raylet in self.raylets for child in psutil.Process(raylet).children(recursive=True)]
        return [one for one in found if _title(one).startswith("ray::_call")]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@contextmanager
def start_ray_cluster() -> Iterator[RayCluster]:
    """Start two machines of one processor each, and stop them at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.ray_cluster", str(free_port())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ENVIRONMENT,
        cwd=Path(__file__).parents[2],
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        facts = next((line for line in process.stdout if line.startswith("{")), None)
        assert facts is not None, "Ray does not start"
        told = json.loads(facts)
        yield RayCluster(told["address"], told["head"], tuple(told["raylets"]))
    finally:
        process.stdin.close()
        try:
            process.wait(300)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _main() -> None:
    from ray.cluster_utils import Cluster

    machine = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}
    head = {**machine, "gcs_server_port": int(sys.argv[1]), "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**machine)
    nodes = [cluster.head_node, *cluster.worker_nodes]
    told = {
        "address": cluster.address,
        "head": nodes[0].all_processes["gcs_server"][0].process.pid,
        "raylets": [node.all_processes["raylet"][0].process.pid for node in nodes],
    }
    print(json.dumps(told), flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    _main()
