"""A miner, its table and what it found as files that another process reads: JSON, arrays and Parquet, never pickle.

Reading a miner builds dataclasses, enumerations and arrays by the names of their classes; nothing else is called.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from thence import errors
from thence._base.atomic import new_file
from thence._base.integrity.arrays import dump_arrays, load_arrays
from thence.errors import ConfigError, MiningError, ThenceError, quote
from thence.language.items import Feature
from thence.search.base import Miner
from thence.statements.files.rules_parquet import read as read_rules
from thence.statements.files.rules_parquet import write as write_rules
from thence.statements.rules.ruleset import Ending, RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["read_found", "read_task", "write_failure", "write_found", "write_task"]

Table = TransactionTable | FeatureTable

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
    """Write an error instead of rules.

    Args:
        error: The error.
        folder: The folder.
    """
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
    ending = Ending(about["ending"])
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
        return {f"={_plain(value)}": [_encode(one, what) for one in value]}
    if isinstance(value, Mapping):
        return {"=dict": [[_encode(key, what), _encode(one, what)] for key, one in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        own = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        return {"=data": [_name_of(type(value), what), {name: _encode(one, what) for name, one in own.items()}]}
    if isinstance(value, Miner) and not isinstance(value, type) and hasattr(value, "__dict__"):
        # A miner of another package need not be a dataclass.
        own = vars(value)
        return {"=miner": [_name_of(type(value), what), {name: _encode(one, what) for name, one in own.items()}]}
    raise ConfigError(
        f"{what} cannot run in a process of its own: it has a setting of type {quote(type(value).__name__)}",
        hint="use numbers, text, arrays and dataclasses, or run without isolate (--isolate)",
    )


def _plain(value: Any) -> str:
    return "tuple" if isinstance(value, tuple) else "set" if isinstance(value, set) else "frozenset"


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
