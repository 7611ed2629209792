"""A run: rules and how they came about, as a folder that is either whole or not there.

The folder holds ``config.toml``, ``rules.parquet``, ``rules.json``, ``summary.json``, ``provenance.json``,
``discretizer.json`` (the bins, so that later data are cut at the same edges) and ``model/`` where the miner learned
one. This module writes and reads folders; it neither mines nor counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from thence.atomic import INCOMPLETE, new_folder
from thence.errors import ConfigError, InputError, RunError, nearest
from thence.export import read_rules, write_rules
from thence.rules.ruleset import RuleSet
from thence.runs.configuration import Config
from thence.tables.discretization import Discretizer
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["FORMAT", "Model", "Run", "load_run", "refuse_foreign"]

FORMAT = 1
_FILES = ("config.toml", "rules.parquet", "rules.json", "provenance.json", "summary.json")
_BINS = "discretizer.json"
_MODEL = "model"
_TOLD = (
    *("complete", "interrupted", "rules", "rules_found", "mean_support", "mean_rule_coverage", "mean_confidence"),
    *("mean_zhang", "data_coverage", "n_transactions", "n_features", "n_items", "miner", "enrichment", "notes"),
    "seconds",
)


class Model(Protocol):
    """What a miner learned, as far as a run is concerned: something that can be put into a folder."""

    def save(self, path: Path) -> Any:
        """Write the model."""
        ...


@dataclass(frozen=True, eq=False)
class Run:
    """Rules with their configuration, summary and provenance; ``path`` is where it lies, ``table`` what was mined.

    The table is at hand only in the process that mined it.

    >>> import thence as th
    >>> data = th.datasets.load("toy")
    >>> run = th.mine(data.sensors, windows="1h", bins=3, progress="off")
    >>> run.complete, run.summary["rules"] == len(run.rules)
    (True, True)
    """

    rules: RuleSet
    config: Config
    summary: Mapping[str, Any]
    provenance: Mapping[str, Any] = field(repr=False)
    discretizer: Discretizer | None = field(default=None, repr=False)
    path: Path | None = None
    table: TransactionTable | FeatureTable | None = field(default=None, repr=False)
    model: Model | None = field(default=None, repr=False)

    @property
    def complete(self) -> bool:
        """Whether the miner came to its end."""
        return bool(self.summary["complete"])

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the miner and the rules are those found by then."""
        return bool(self.summary["interrupted"])

    @property
    def model_path(self) -> Path | None:
        """The folder of the model, where there is one."""
        folder = None if self.path is None else self.path / _MODEL
        return folder if folder is not None and folder.is_dir() else None

    def save(self, path: str | Path, *, force: bool = False) -> Run:
        """Write the run folder in one step; ``force`` replaces a run that is there."""
        target = Path(path).absolute()
        refuse_foreign(target, force=force)
        # The place is not part of what decides the result, and a run folder may be moved.
        config = replace(self.config, output=replace(self.config.output, path=None, force=False))
        with new_folder(target, force=force) as folder:
            (folder / "config.toml").write_text(config.to_toml(), encoding="utf-8")
            write_rules(self.rules, folder / "rules.parquet")
            write_rules(self.rules, folder / "rules.json")
            for name in config.output.also:
                write_rules(self.rules, folder / name)
            _write_json(folder / "provenance.json", self.provenance)
            if self.discretizer is not None:
                _write_json(folder / _BINS, self.discretizer.to_dict())
            if self.model is not None:
                (folder / _MODEL).mkdir()
                self.model.save(folder / _MODEL)
            _write_json(folder / "summary.json", self.summary)
        return replace(self, path=target, config=config)

    def __str__(self) -> str:
        state = "" if self.complete else " (interrupted)" if self.interrupted else " (incomplete)"
        return f"run {self.path or 'in memory'}{state}\n{self.rules}"


def refuse_foreign(target: Path, *, force: bool, mark: str = "summary.json") -> None:
    """Raise where ``target`` exists, and with ``force`` where it does not hold ``mark``: nothing else is replaced."""
    if not (target.exists() or target.is_symlink()):
        return
    if not force:
        raise RunError("there is something at this place already", where=str(target), hint="choose another, or --force")
    own = target.is_dir() and not target.is_symlink()
    if not own or (any(target.iterdir()) and not (target / mark).is_file() and not (target / INCOMPLETE).is_file()):
        raise RunError("this was not written by Thence, so it is not replaced", where=str(target))


def load_run(path: str | Path) -> Run:
    """Read a run folder; one that was not written to its end is refused.

    >>> import tempfile, thence as th
    >>> data = th.datasets.load("toy")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = th.mine(data.sensors, windows="1h", bins=3, out=f"{folder}/a", progress="off")
    ...     th.load_run(f"{folder}/a").summary == run.summary
    True
    """
    folder = Path(path).absolute()
    _require_whole(folder)
    summary = _read_json(folder / "summary.json")
    _require_summary(summary, folder / "summary.json")
    try:
        rules = read_rules(folder / "rules.parquet")
    except InputError as error:
        raise RunError(f"the rules cannot be read: {error.message}", where=str(folder)) from error
    return Run(
        rules,
        Config.from_toml(folder / "config.toml", check=False),
        summary,
        _read_json(folder / "provenance.json"),
        _read_bins(folder / _BINS),
        folder,
    )


def _require_summary(summary: Any, path: Path) -> None:
    """Raise unless a summary is of a format that is known and has all that is told of a run."""
    if not isinstance(summary, dict) or not isinstance(version := summary.get("format", 0), int) or version > FORMAT:
        raise RunError("this summary is not one that this Thence can read", where=str(path))
    missing = [name for name in _TOLD if name not in summary]
    if missing:
        raise RunError(f"this summary lacks {', '.join(missing)}", where=str(path), hint="run again")


def _read_bins(path: Path) -> Discretizer | None:
    if not path.is_file():
        return None
    data = _read_json(path)
    try:
        return Discretizer.from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise RunError(f"these are not the bins of a run ({error!r})", where=str(path)) from error


def _require_whole(folder: Path) -> None:
    if not folder.is_dir():
        siblings = [p.name for p in folder.parent.iterdir() if p.is_dir()] if folder.parent.is_dir() else []
        visible = [name for name in siblings if not name.startswith(".")]
        raise RunError("there is no run folder at this place", where=str(folder), hint=nearest(folder.name, visible))
    if (folder / INCOMPLETE).exists():
        raise RunError(
            "this run is incomplete: the process that wrote it did not come to its end",
            where=str(folder),
            hint="delete the folder and run again",
        )
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if len(missing) == len(_FILES):
        raise RunError("this is not a run folder", where=str(folder))
    if missing:
        raise RunError(
            f"this run is incomplete: there is no {', '.join(missing)}",
            where=str(folder),
            hint="delete the folder and run again",
        )


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(_finite(data), ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """JSON knows no NaN: null stands for it, and reads back as missing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"cannot be read ({error})", where=str(path)) from error
