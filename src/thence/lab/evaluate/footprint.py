"""Time and peak memory of one run of a miner, in this process or in a new one.

The time is that of ``mine``, including the exact recount. A short run on a few rows comes first, so that imports and
compilation, which happen once per process, are not measured. Peak memory is the largest increase of the resident memory
of the process during the run. On Linux the high-water mark of the kernel is reset before the run, so short peaks are
not missed; on other systems peak memory is known for isolated runs only. A run may reuse memory that an earlier run of
the same process has freed, which the kernel does not see: isolate the runs to measure figures for publication.

This module runs and measures; it must not compare or print.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from thence._base.progress import Progress, silent
from thence.errors import MiningError, ThenceError
from thence.lab.evaluate.exchange import read_found, read_task, write_failure, write_found, write_task
from thence.search.base import Miner
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["Footprint", "run_here", "run_isolated"]

Table = TransactionTable | FeatureTable

_WARM_UP_ROWS = 16
# Settings that make the warm-up run cheap, for miners that have them.
_CHEAP = {"evaluations": 30, "population": 10, "epochs": 1, "max_antecedents": 1, "rules_per_consequent": 1}


@dataclass(frozen=True)
class Footprint:
    """The rules of one run with its time and memory.

    Args:
        rules: The rules that were found.
        seconds: Wall-clock time of ``mine``.
        peak_bytes: Peak memory of the run; ``None`` where the operating system does not report it.
    """

    rules: RuleSet
    seconds: float
    peak_bytes: int | None


def run_here(miner: Miner, table: Table, *, progress: Progress = silent) -> Footprint:
    """Run a miner in this process and measure time and memory.

    Args:
        miner: The miner to run.
        table: The table to mine.
        progress: Called with the progress of the miner.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
        >>> run_here(Exact(), table).seconds > 0
        True
    """
    _warm_up(miner, table)
    before = _reset_high_water_mark()
    start = time.perf_counter()
    rules = miner.mine(table, progress=progress)
    seconds = time.perf_counter() - start
    peak = None if before is None else max(_read_status("VmHWM") - before, 0)
    return Footprint(rules, seconds, peak)


def run_isolated(miner: Miner, table: Table) -> Footprint:
    """Run a miner in a new process and measure time and memory.

    Args:
        miner: The miner to run; its class can be imported, and its settings are plain values.
        table: The table to mine.

    Returns:
        The rules keep their data coverage as a number, but no reference to the table.

    Raises:
        ConfigError: The miner cannot be given to another process.
        MiningError: The process ended without a result.
    """
    with tempfile.TemporaryDirectory(prefix="thence-") as name:
        folder = Path(name)
        write_task(miner, table, folder)
        call = "import sys; from thence.lab.evaluate.footprint import _run_child; _run_child(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", call, folder], capture_output=True, text=True, check=False)
        found = read_found(folder)
    if found is None:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise MiningError(f"the isolated process of the miner '{miner.name}' failed: {last}")
    rules, measured = found
    return Footprint(rules, measured["seconds"], measured["peak_bytes"])


def _run_child(name: str) -> None:
    folder = Path(name)
    try:
        miner, table = read_task(folder)
        found = run_here(miner, table)
        peak = _lifetime_peak() if found.peak_bytes is None else found.peak_bytes
        write_found(found.rules, {"seconds": found.seconds, "peak_bytes": peak}, folder)
    except ThenceError as error:
        write_failure(error, folder)


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
        # The measured run raises the same error and reports it.
        return


def _reset_high_water_mark() -> int | None:
    """Reset the high-water mark of the kernel and return the memory in use; ``None`` where this is not supported."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _read_status("VmRSS")
    except OSError:
        return None


def _read_status(name: str) -> int:
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
