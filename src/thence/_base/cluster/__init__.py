"""Executors: where independent tasks run, on this machine or on a Ray cluster.

Tasks are pure functions of plain data, and their results come in the order of the tasks, so that a result never depends
on the executor. This room knows nothing of tables, rules or runs.
"""

from thence._base.cluster.executors import Executor, LocalExecutor
from thence._base.cluster.opening import EXECUTORS, open_executor
from thence._base.cluster.ray_executor import RayExecutor

__all__ = ["EXECUTORS", "Executor", "LocalExecutor", "RayExecutor", "open_executor"]
