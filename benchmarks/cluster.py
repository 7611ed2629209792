"""What a Ray cluster costs before it helps: connecting, a task, sharing bitmaps, and a search here and there.

    python benchmarks/cluster.py --address 10.0.0.4:6379
    python benchmarks/cluster.py --address 127.0.0.1:26379 --quick

Without an address, the cluster of this machine is used; if there is none, nothing is measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import polars as pl

import thence as th
from thence._base.cluster import RayExecutor


def nothing(shared: Any, task: int) -> int:
    return task


def touch(shared: np.ndarray, task: int) -> int:
    return int(shared[:: 1 << 12].sum())


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def consume(executor: RayExecutor, function: Callable[..., Any], tasks: range, shared: Any) -> int:
    with closing(executor.map(function, tasks, shared=shared)) as results:
        return sum(1 for _ in results)


def make_table(n_columns: int, n_rows: int) -> Any:
    """Columns of five bins, each of which follows the one before it in most rows."""
    rng = np.random.default_rng(0)
    column, columns = rng.integers(0, 5, n_rows), {}
    for number in range(n_columns):
        changed = rng.random(n_rows) < 0.4
        column = np.where(changed, rng.integers(0, 5, n_rows), column)
        columns[f"s{number}"] = column.astype(str)
    from thence.tables.transactions import TransactionTable

    return TransactionTable.from_frame(pl.DataFrame(columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="address of the head of the cluster")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args()
    try:
        connected, executor = timed(lambda: RayExecutor(given.address))
    except (th.errors.ClusterError, th.errors.MissingExtraError) as error:
        print(f"nothing measured: {error}")
        return
    with executor:
        print(f"connect: {connected:.2f} s; {executor.workers} processors")
        first, _ = timed(lambda: consume(executor, nothing, range(executor.workers), None))
        count = 200 if given.quick else 2000
        many, _ = timed(lambda: consume(executor, nothing, range(count), None))
        print(f"first tasks: {first:.2f} s; then {1e3 * many / count:.2f} ms per task")
        shared = np.ones((16 if given.quick else 64) << 17)
        sent, _ = timed(lambda: consume(executor, touch, range(2 * executor.workers), shared))
        print(f"share {shared.nbytes >> 20} MiB: {sent:.2f} s")
        for n_columns in (20, 40) if given.quick else (40, 80, 160):
            table = make_table(n_columns, 20_000)
            miner = th.Exact(max_antecedents=3 if given.quick else 2, min_support=0.002, min_confidence=0.5)
            miner.mine(make_table(5, 1000))
            here, rules = timed(lambda table=table, miner=miner: miner.mine(table))
            there, again = timed(lambda table=table, miner=miner: miner.mine(table, executor=executor))
            assert (rules.antecedents == again.antecedents).all()
            size = f"{n_columns} columns × 20,000 rows, {len(rules):,} rules"
            print(f"exact, {size}: here {here:.2f} s, there {there:.2f} s")


if __name__ == "__main__":
    main()
