"""What a miner costs: seconds and peak memory of one run, in this process or in one of its own.

Seconds are those of ``mine``, exact recount included. A short run on a few rows comes first, so that imports and
compilation, which happen once per process, are not counted. Peak memory is how far the resident memory of the process
rose above where it stood before the run. On Linux the kernel's own high-water mark is reset for that, so short peaks
are not missed; elsewhere it is known only for a run in a process of its own. Memory that an earlier run left free
inside the process is used again without the kernel noticing: for figures to publish, run each miner in its own process.

This module runs and measures; it compares and prints nothing.
"""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thence.errors import MiningError, ThenceError
from thence.miners.base import Miner
from thence.progress import Progress, silent
from thence.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["Footprint", "run_here", "run_isolated"]

Table = TransactionTable | FeatureTable

_WARM_UP_ROWS = 16
# Settings that make a run on a few rows cheap, where a miner has them.
_CHEAP = {"evaluations": 30, "population": 10, "epochs": 1, "max_antecedents": 1, "rules_per_consequent": 1}


@dataclass(frozen=True)
class Footprint:
    """The rules of a run with what they cost; ``peak_bytes`` is ``None`` where the system does not tell."""

    rules: RuleSet
    seconds: float
    peak_bytes: int | None


def run_here(miner: Miner, table: Table, *, progress: Progress = silent) -> Footprint:
    """Run a miner in this process.

    >>> import polars as pl
    >>> from thence.miners.exact.miner import Exact
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
    >>> run_here(Exact(), table).seconds > 0
    True
    """
    _warm_up(miner, table)
    before = _reset_high_water()
    start = time.perf_counter()
    rules = miner.mine(table, progress=progress)
    seconds = time.perf_counter() - start
    peak = None if before is None else max(_status("VmHWM") - before, 0)
    return Footprint(rules, seconds, peak)


def run_isolated(miner: Miner, table: Table) -> Footprint:
    """Run a miner in a fresh process; the rules come back with their data coverage, without the table behind them."""
    with tempfile.TemporaryDirectory(prefix="thence-") as folder:
        task, result = Path(folder, "task"), Path(folder, "result")
        task.write_bytes(pickle.dumps((miner, table)))
        call = "import sys; from thence.evaluate.footprint import _child; _child(sys.argv[1], sys.argv[2])"
        done = subprocess.run([sys.executable, "-c", call, task, result], capture_output=True, text=True, check=False)
        if not result.exists():
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise MiningError(f"the process of {miner.name} ended without a result: {last}")
        outcome = pickle.loads(result.read_bytes())
    if isinstance(outcome, ThenceError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def _child(task: str, result: str) -> None:
    miner, table = pickle.loads(Path(task).read_bytes())
    outcome: Any
    try:
        found = run_here(miner, table)
        if found.peak_bytes is None:
            found = replace(found, peak_bytes=_lifetime_peak())
        facts = {**found.rules.facts, "data_coverage": found.rules.data_coverage}
        # What computes coverage would take the table along.
        outcome = replace(found, rules=replace(found.rules, facts=facts, coverage_of=None))
    except ThenceError as error:
        outcome = error
    Path(result).write_bytes(pickle.dumps(outcome))


def _warm_up(miner: Miner, table: Table) -> None:
    if dataclasses.is_dataclass(miner) and not isinstance(miner, type):
        known = {field.name for field in dataclasses.fields(miner)}
        miner = replace(miner, **{name: value for name, value in _CHEAP.items() if name in known})
    if isinstance(table, FeatureTable):
        few: Table = replace(table, numbers=table.numbers[:_WARM_UP_ROWS], times=None)
    else:
        few = table.frames(slice(_WARM_UP_ROWS))
    try:
        miner.mine(few)
    except ThenceError:
        # Whatever is wrong will be wrong again, and be reported, in the run that counts.
        return


def _reset_high_water() -> int | None:
    """Start the kernel's high-water mark afresh and return the memory in use; ``None`` where that cannot be done."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return None


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def _lifetime_peak() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
