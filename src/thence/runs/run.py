"""A run: rules with their configuration, summary and provenance, as a folder that is written completely or not at all.

The folder holds ``config.toml``, ``rules.parquet``, ``rules.json``, ``summary.json``, ``provenance.json``,
``discretizer.json`` (the bins, so that later data are cut at the same edges), ``laws.json`` and ``controls.json`` if
these were searched, and ``model/`` if the miner learned one.
This module writes and reads run folders; it neither mines nor counts.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from thence.atomic import INCOMPLETE, finish_first, new_folder
from thence.controls.control import Controls
from thence.display.rules import run_html
from thence.errors import ConfigError, InputError, RunError, nearest
from thence.export import read_rules, write_rules
from thence.graph.sites import AnySystem
from thence.laws.law import Laws
from thence.readings.windows import WindowedReadings
from thence.refinement.exceptions import exceptions
from thence.rules.ruleset import RuleSet
from thence.runs.configuration import Config
from thence.tables.discretization import Discretizer
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["FORMAT", "Model", "Run", "load_run", "refuse_foreign"]

Found = TypeVar("Found", Laws, Controls)

FORMAT = 1
_FILES = ("config.toml", "rules.parquet", "rules.json", "provenance.json", "summary.json")
_BINS = "discretizer.json"
_MODEL = "model"
_LAWS, _CONTROLS = "laws.json", "controls.json"
_MOST_JSON_RULES = 100_000
_SUMMARY_KEYS = (
    *("complete", "interrupted", "rules", "rules_found", "mean_support", "mean_rule_coverage", "mean_confidence"),
    *("mean_zhang", "data_coverage", "n_transactions", "n_features", "n_items", "miner", "enrichment", "notes"),
    "seconds",
)


class Model(Protocol):
    """A model that a run can store in its folder."""

    def save(self, path: Path) -> Any:
        """Write the model."""
        ...


@dataclass(frozen=True, eq=False)
class Run:
    """Rules with their configuration, summary and provenance.

    Args:
        rules: The rules.
        config: What the run did, with every default written out.
        summary: Sizes, means, notes and seconds.
        provenance: Versions, seed, and hashes of what was read.
        discretizer: The bins, if the table had any.
        path: The run folder, if it was written.
        table: The table that was mined; only in the process that mined it.
        model: The model behind the rules, if the miner learned one; only in the process that mined it.
        laws: The laws of the plant, if they were searched.
        controls: What makes its actuators switch, if that was searched.
        system: What was mined, if it was no plain table; only in the process that mined it.
        readings: Its readings in windows; only in the process that mined it.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
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
    laws: Laws | None = field(default=None, repr=False)
    controls: Controls | None = field(default=None, repr=False)
    system: AnySystem | None = field(default=None, repr=False)
    readings: WindowedReadings | None = field(default=None, repr=False)

    @property
    def complete(self) -> bool:
        """Whether the run was not interrupted."""
        return bool(self.summary["complete"])

    @property
    def interrupted(self) -> bool:
        """Whether the run was interrupted, so that its rules are those found until then."""
        return bool(self.summary["interrupted"])

    @property
    def model_path(self) -> Path | None:
        """The folder of the model, if there is one."""
        folder = None if self.path is None else self.path / _MODEL
        return folder if folder is not None and folder.is_dir() else None

    def save(self, path: str | Path, *, force: bool = False) -> Run:
        """Write the run folder in one step, and return the run with its path.

        ``rules.parquet`` has all rules, ``rules.json`` the first 100,000. Ctrl-C takes effect when the folder is
        written, and a second Ctrl-C at once; then, and if the process is killed, a run that was there is unchanged. The
        seconds of the summary include those of writing.

        Args:
            path: The folder to write.
            force: Replace a run that already exists there.
        """
        begin = time.perf_counter()
        target = Path(path).absolute()
        refuse_foreign(target, force=force)
        # The path does not decide the result, and a run folder may be moved.
        config = replace(self.config, output=replace(self.config.output, path=None, force=False))
        with finish_first(f"the run was saved: {target}"), new_folder(target, force=force) as folder:
            (folder / "config.toml").write_text(config.to_toml(), encoding="utf-8")
            write_rules(self.rules, folder / "rules.parquet")
            write_rules(_first_rules(self.rules), folder / "rules.json")
            for name in config.output.also:
                write_rules(self.rules, folder / name)
            _write_json(folder / "provenance.json", self.provenance)
            if self.discretizer is not None:
                _write_json(folder / _BINS, self.discretizer.to_dict())
            for name, found in ((_LAWS, self.laws), (_CONTROLS, self.controls)):
                if found is not None:
                    _write_json(folder / name, found.to_dict())
            if self.model is not None:
                (folder / _MODEL).mkdir()
                self.model.save(folder / _MODEL)
            seconds = {**self.summary["seconds"], "write": round(time.perf_counter() - begin, 4)}
            summary = {**self.summary, "seconds": seconds}
            _write_json(folder / "summary.json", summary)
        return replace(self, path=target, config=config, summary=summary)

    def exceptions(self) -> pl.DataFrame:
        """Return the places where lifted rules fail that hold elsewhere; see ``th.exceptions``.

        Raises:
            MiningError: If the table is not at hand, as in a run that was read from disk.
        """
        return exceptions(self.rules, self.table if isinstance(self.table, TransactionTable) else None)

    def __repr__(self) -> str:
        count = f"{len(self.rules):,} rule{'' if len(self.rules) == 1 else 's'}"
        return f"Run({count}, {self.path or 'in memory'}{'' if self.complete else ', interrupted'})"

    def _repr_html_(self) -> str:
        return run_html(self)

    def __str__(self) -> str:
        state = "" if self.complete else " (interrupted)" if self.interrupted else " (incomplete)"
        lines = [f"run {self.path or 'in memory'}{state}"]
        for title, sentences in self.logic.items():
            lines += [title, *(f"  {number:>2}. {sentence}" for number, sentence in enumerate(sentences, start=1))]
        return "\n".join([*lines, str(self.rules)])

    @property
    def logic(self) -> dict[str, list[str]]:
        """The sentences of laws and controls by title, of those that were found."""
        found = {
            "laws": [law.english for law in self.laws or ()],
            "controls": [] if self.controls is None else self.controls.sentences,
        }
        return {title: sentences for title, sentences in found.items() if sentences}


def _first_rules(rules: RuleSet) -> RuleSet:
    """The rules that ``rules.json`` can hold without growing out of use, with a note if these are not all."""
    if len(rules) <= _MOST_JSON_RULES:
        return rules
    first = rules.take(np.arange(_MOST_JSON_RULES))
    note = f"the first {_MOST_JSON_RULES:,} of {len(rules):,} rules; rules.parquet has all of them"
    # What the table behind them is covered by is a fact about all rules.
    return replace(first, notes=(*rules.notes, note), facts=rules.facts)


def refuse_foreign(target: Path, *, force: bool, mark: str = "summary.json") -> None:
    """Raise if ``target`` exists, or with ``force`` if it is not a folder with the file ``mark`` in it."""
    if not (target.exists() or target.is_symlink()):
        return
    if not force:
        raise RunError("already exists", where=str(target), hint="choose another path, or pass --force")
    own = target.is_dir() and not target.is_symlink()
    if not own or (any(target.iterdir()) and not (target / mark).is_file() and not (target / INCOMPLETE).is_file()):
        raise RunError(
            "is not a folder that Thence wrote, so it is not replaced", where=str(target), hint="choose another path"
        )


def load_run(path: str | Path) -> Run:
    """Read a run folder.

    Args:
        path: The folder.

    Raises:
        RunError: If the folder does not exist, is not a run, or was not written completely.

    Examples:
        >>> import tempfile, thence as th
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, out=f"{folder}/a", progress="off")
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
    config = Config.from_toml(folder / "config.toml", check=False)
    return Run(
        replace(rules, ordered=True, grouped="also_known_as" in rules.extras and config.refine.by is None),
        config,
        summary,
        _read_json(folder / "provenance.json"),
        _read_bins(folder / _BINS),
        folder,
        laws=_read_logic(folder / _LAWS, Laws.from_dict),
        controls=_read_logic(folder / _CONTROLS, Controls.from_dict),
    )


def _read_logic(path: Path, build: Callable[..., Found]) -> Found | None:
    """The laws or the controls of a run, ``None`` if they were not searched."""
    if not path.is_file():
        return None
    data = _read_json(path)
    try:
        return build(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise RunError(
            f"cannot be read: {error}", where=str(path), hint="the file was changed or damaged; mine again"
        ) from error


def _require_summary(summary: Any, path: Path) -> None:
    """Raise unless a summary has a known format and every entry."""
    if not isinstance(summary, dict) or not isinstance(version := summary.get("format", 0), int) or version > FORMAT:
        raise RunError(
            "the summary has an unknown format", where=str(path), hint="the run may be from a newer version of Thence"
        )
    missing = [name for name in _SUMMARY_KEYS if name not in summary]
    if missing:
        raise RunError(f"the summary lacks {', '.join(missing)}", where=str(path), hint="run again")


def _read_bins(path: Path) -> Discretizer | None:
    if not path.is_file():
        return None
    data = _read_json(path)
    try:
        return Discretizer.from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise RunError(f"not the bins of a run ({error!r})", where=str(path)) from error


def _require_whole(folder: Path) -> None:
    if not folder.is_dir():
        siblings = [p.name for p in folder.parent.iterdir() if p.is_dir()] if folder.parent.is_dir() else []
        visible = [name for name in siblings if not name.startswith(".")]
        raise RunError("no such run folder", where=str(folder), hint=nearest(folder.name, visible))
    if (folder / INCOMPLETE).exists():
        raise RunError(
            "the run is incomplete: the process that wrote it was stopped",
            where=str(folder),
            hint="delete the folder and run again",
        )
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if len(missing) == len(_FILES):
        raise RunError("not a run folder", where=str(folder))
    if missing:
        raise RunError(
            f"the run is incomplete: {', '.join(missing)} is missing",
            where=str(folder),
            hint="delete the folder and run again",
        )


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(_finite(data), ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """JSON has no NaN; null is written instead and reads back as missing."""
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
