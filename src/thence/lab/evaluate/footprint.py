"""Time and peak memory of one run of a miner, in this process or in a new one.

The time is that of ``mine``, including the exact recount. A short run on a few rows comes first, so that imports and
compilation, which happen once per process, are not measured. Peak memory is the largest increase of the resident memory
of the process during the run. On Linux the high-water mark of the kernel is reset before the run, so short peaks are
not missed; on other systems peak memory is known for isolated runs only. A run may reuse memory that an earlier run of
the same process has freed, which the kernel does not see: isolate the runs to measure figures for publication.

A miner, its table and its rules go to a new process and back as files: JSON, arrays and Parquet, never pickle.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from thence import errors
from thence._base.atomic import new_file
from thence._base.integrity.arrays import dump_arrays, load_arrays
from thence._base.progress import Progress, silent
from thence.errors import ConfigError, MiningError, ThenceError, quote
from thence.language.items import Feature
from thence.search.base import Miner
from thence.statements.files.rules_parquet import read as read_rules
from thence.statements.files.rules_parquet import write as write_rules
from thence.statements.rules.ruleset import RuleSet, SearchStatus
from thence.tables.transactions import FeatureTable, TransactionTable

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


def with_settings(miner: Miner, asked: Mapping[str, Any]) -> Miner:
    """Return a miner with those of the settings that it has; a miner that is not a dataclass stays as it is."""
    known: set[str] = {field.name for field in fields(miner)} if is_dataclass(miner) else set()
    changes = {name: value for name, value in asked.items() if name in known}
    return replace(miner, **changes) if changes else miner  # type: ignore[type-var]


def _warm_up(miner: Miner, table: Table) -> None:
    miner = with_settings(miner, _CHEAP)
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


_MINER, _CODES, _NUMBERS, _RULES, _FOUND = "miner.json", "codes.npz", "numbers.npz", "rules.parquet", "found.json"


def write_task(miner: Miner, table: Table, folder: Path) -> None:
    """Write a miner and its table into a folder.

    Args:
        miner: The miner; its class can be imported, and its settings are plain values, arrays or dataclasses.
        table: The table.
        folder: The folder.

    Raises:
        ConfigError: If the miner cannot be written.

    Examples:
        >>> import tempfile
        >>> from thence.search.exact.miner import Exact
        >>> table = FeatureTable((Feature("a"),), np.array([[1.0], [np.nan]]), (None,))
        >>> with tempfile.TemporaryDirectory() as name:
        ...     write_task(Exact(min_support=0.2), table, Path(name))
        ...     miner, again = read_task(Path(name))
        >>> miner == Exact(min_support=0.2), again.numbers.tolist()
        (True, [[1.0], [nan]])
    """
    (folder / _MINER).write_text(json.dumps(_encode(miner, f"the miner '{miner.name}'")), encoding="utf-8")
    if isinstance(table, TransactionTable):
        table.save(folder / _CODES)
        return
    record = {
        "features": [feature.to_dict() for feature in table.features],
        "categories": [None if values is None else list(values) for values in table.categories],
        "context": list(table.context),
        "notes": list(table.notes),
    }
    arrays: dict[str, Any] = {"numbers": table.numbers}
    if table.times is not None:
        arrays["times"] = table.times.astype("datetime64[us]").astype(np.int64)
    (folder / _NUMBERS).write_bytes(dump_arrays(record, arrays, compress=False))


def read_task(folder: Path) -> tuple[Miner, Table]:
    """Read what ``write_task`` wrote.

    Args:
        folder: The folder.
    """
    miner: Miner = _decode(json.loads((folder / _MINER).read_bytes()))
    if (folder / _CODES).exists():
        return miner, TransactionTable.load(folder / _CODES)
    record, arrays, _ = load_arrays(folder / _NUMBERS)
    table = FeatureTable(
        tuple(Feature.from_dict(one) for one in record["features"]),
        arrays["numbers"],
        tuple(None if values is None else tuple(values) for values in record["categories"]),
        arrays["times"].astype("datetime64[us]") if "times" in arrays else None,
        tuple(record["context"]),
        tuple(record["notes"]),
    )
    return miner, table


def write_found(rules: RuleSet, measured: Mapping[str, Any], folder: Path) -> None:
    """Write rules and what was measured into a folder; a file appears last that says so.

    Args:
        rules: The rules; their data coverage is kept as a number.
        measured: Whatever JSON can hold.
        folder: The folder.
    """
    write_rules(rules, folder / _RULES)
    about = {"ending": rules.ending.value, "ordered": rules.ordered, "grouped": rules.grouped}
    _write(folder, {**about, "measured": dict(measured)})


def write_failure(error: ThenceError, folder: Path) -> None:
    """Write an ``error`` into a folder instead of rules."""
    about = {"message": error.message, "where": error.where, "hint": error.hint}
    _write(folder, {"error": type(error).__name__, **about})


def read_found(folder: Path) -> tuple[RuleSet, dict[str, Any]] | None:
    """Return the rules and what was measured, or ``None`` if neither rules nor an error were written.

    Args:
        folder: The folder.

    Raises:
        ThenceError: The error that was written.
    """
    if not (folder / _FOUND).exists():
        return None
    about = json.loads((folder / _FOUND).read_bytes())
    if "error" in about:
        kind = getattr(errors, about["error"], MiningError)
        raise kind(about["message"], where=about["where"], hint=about["hint"])
    rules = read_rules(folder / _RULES)
    ending = SearchStatus(about["ending"])
    return replace(rules, ending=ending, ordered=about["ordered"], grouped=about["grouped"]), about["measured"]


def _write(folder: Path, content: Mapping[str, Any]) -> None:
    with new_file(folder / _FOUND) as draft:
        draft.write_text(json.dumps(content), encoding="utf-8")


def _encode(value: Any, what: str) -> Any:
    """A value as JSON; whatever JSON has no word for is a mapping with one entry, whose name begins with ``=``."""
    if isinstance(value, Enum):
        return {"=enum": [_name_of(type(value), what), value.name]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return {"=scalar": [value.dtype.str, _encode(value.item(), what)]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"=array": [value.dtype.str, value.tolist()]}
    if isinstance(value, list):
        return [_encode(one, what) for one in value]
    if isinstance(value, range):
        return {"=range": [value.start, value.stop, value.step]}
    if isinstance(value, (tuple, set, frozenset)):
        name = "tuple" if isinstance(value, tuple) else "set" if isinstance(value, set) else "frozenset"
        return {f"={name}": [_encode(one, what) for one in value]}
    if isinstance(value, Mapping):
        return {"=dict": [[_encode(key, what), _encode(one, what)] for key, one in value.items()]}
    is_data = is_dataclass(value)
    # A miner of another package need not be a dataclass.
    if (is_data or (isinstance(value, Miner) and hasattr(value, "__dict__"))) and not isinstance(value, type):
        own = {one.name: getattr(value, one.name) for one in fields(value) if one.init} if is_data else vars(value)
        settings = {name: _encode(one, what) for name, one in own.items()}
        return {"=data" if is_data else "=miner": [_name_of(type(value), what), settings]}
    raise ConfigError(
        f"{what} cannot run in a process of its own: it has a setting of type {quote(type(value).__name__)}",
        hint="use numbers, text, arrays and dataclasses, or run without isolate (--isolate)",
    )


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "=array":
        return np.array(content[1], dtype=content[0])
    if kind == "=scalar":
        return np.dtype(content[0]).type(content[1])
    if kind == "=dict":
        return {_decode(key): _decode(one) for key, one in content}
    if kind == "=enum":
        return _class_of(content[0], lambda found: issubclass(found, Enum))[content[1]]
    if kind == "=data":
        return _class_of(content[0], is_dataclass)(**{name: _decode(one) for name, one in content[1].items()})
    if kind == "=miner":
        kind_of = _class_of(content[0], lambda found: hasattr(found, "mine"))
        miner = kind_of.__new__(kind_of)
        vars(miner).update({name: _decode(one) for name, one in content[1].items()})
        return miner
    if kind == "=range":
        return range(*content)
    return {"=tuple": tuple, "=set": set, "=frozenset": frozenset}[kind](_decode(one) for one in content)


def _name_of(kind: type, what: str) -> str:
    """The name by which another process finds a class."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        found = _find(name)
    except (ImportError, AttributeError, ValueError):
        found = None
    if found is not kind or kind.__module__ == "__main__":
        raise ConfigError(
            f"{what} cannot run in a process of its own: its class {quote(kind.__qualname__)} is not in a module"
            " that can be imported",
            hint="put the class into a module, or run without isolate (--isolate)",
        )
    return name


def _class_of(name: str, suits: Callable[[type], bool]) -> Any:
    found = _find(name)
    if not isinstance(found, type) or not suits(found):
        raise ConfigError(f"{quote(name)} is not a class of settings")
    return found


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found
