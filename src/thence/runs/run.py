"""A run: rules with their configuration, summary and provenance, as a folder that is written completely or not at all.

The folder holds ``config.toml``, ``rules.parquet``, ``rules.json``, ``summary.json``, ``provenance.json``,
``discretizer.json`` (the bins, so that later data are cut at the same edges), ``laws.json`` and ``controls.json`` if
these were searched, ``known.json`` if rules were known, ``places.parquet`` (the counts of lifted rules by place),
``model/`` if the miner learned one, and
``reviews.json`` once somebody has reviewed a rule. ``manifest.json`` has the checksums of all of these but of
``reviews.json``, which carries its own; a file is compared with its checksum before it is used.
This module writes and reads run folders; it neither mines nor counts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from thence._base.atomic import INCOMPLETE, finish_first, new_folder
from thence._base.display.rules import run_html
from thence._base.integrity.checksums import parse_record
from thence._base.integrity.manifest import CheckedFolder, new_listed_file, write_manifest
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, InputError, MiningError, RunError, nearest, quote, reported_as
from thence.runs.configuration import Config
from thence.runs.places import PLACES, RulePlaces, count_run_places, read_places, why_not_kept, write_places
from thence.runs.reviews import (
    LOCK,
    REVIEWS,
    LeftOut,
    Reviewed,
    Reviews,
    Verdict,
    carry_reviews,
    describe_left_out,
    hold_reviews,
    is_used,
    load_reviews,
    require_reviewed,
    save_review,
    select_reviewed,
    with_reviews,
)
from thence.runs.summaries import describe_known, require_same_rules, require_summary
from thence.search.refine.counterexamples import find_exceptions, list_exceptions
from thence.statements.constants import Constants
from thence.statements.controls.control import Control, Controls
from thence.statements.files import read_rules, write_rules
from thence.statements.findings import Findings
from thence.statements.laws.law import Law, Laws
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.statements.schema import finite_json
from thence.tables.discretization import Discretizer
from thence.tables.transactions import FeatureTable, TransactionTable

Found = TypeVar("Found", Laws, Controls, Constants)

_FILES = ("config.toml", "rules.parquet", "rules.json", "provenance.json", "summary.json")
_BINS = "discretizer.json"
_MODEL = "model"
_LAWS, _CONTROLS, _KNOWN = "laws.json", "controls.json", "known.json"
_CONSTANTS = "constants.json"
_MOST_JSON_RULES = 100_000
_AGAIN = "mine again"
_FOREIGN = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
_NO_CHECKSUMS = "the run has no checksums, since manifest.json is missing: its files are not verified (mine again)"


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
        known: The known rules, counted on the same data, if there were any.
        constants: The sensors that read one value all the time.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
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
    system: System | None = field(default=None, repr=False)
    readings: WindowedReadings | None = field(default=None, repr=False)
    known: RuleSet | None = field(default=None, repr=False)
    constants: Constants = field(default_factory=Constants, repr=False)

    @cached_property
    def findings(self) -> Findings:
        """The controls, laws and rules as one sequence, in reading order."""
        return Findings(self.controls or Controls([]), self.laws or Laws(()), self.rules, self._place_frame)

    def _place_frame(self, rules: RuleSet) -> pl.DataFrame | None:
        found = self.find_places()
        return None if found is None else found.frame(rules)

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
        """The folder of the model, if there is one.

        Raises:
            RunError: If a file of the model is missing, or was changed after it was written.
        """
        if self.path is None:
            return None
        checked = CheckedFolder.open(self.path, again=_AGAIN)
        listed = [] if checked.manifest is None else [name for name in checked.manifest.files if _in_model(name)]
        checked.refuse_link(_MODEL)
        for name in listed:
            checked.require(name)
        folder = self.path / _MODEL
        return folder if folder.is_dir() else None

    def save(self, path: str | Path, *, force: bool = False) -> Run:
        """Write the run folder in one step, and return the run with its path.

        ``rules.parquet`` has all rules, ``rules.json`` the first 100,000. Ctrl-C takes effect when the folder is
        written, and a second Ctrl-C at once; then, and if the process is killed, a run that was there is unchanged. The
        seconds of the summary include those of writing. Reviews of a run that is replaced are kept, those of rules that
        this run does not have included, and a note says so.

        Args:
            path: The folder to write.
            force: Replace a run that already exists there.
        """
        begin = time.perf_counter()
        target = Path(path).absolute()
        refuse_foreign(target, force=force)
        # The path does not decide the result, and a run folder may be moved.
        config = replace(self.config, output=replace(self.config.output, path=None, force=False))
        done = finish_first(f"the run was saved: {target}")
        with done, _hold_reviews(target), new_folder(target, force=force) as folder:
            (folder / "config.toml").write_text(config.to_toml(), encoding="utf-8")
            write_rules(self.rules, folder / "rules.parquet")
            write_rules(_first_rules(self.rules), folder / "rules.json")
            for name in config.output.also:
                write_rules(self.rules, folder / name)
            _write_json(folder / "provenance.json", self.provenance)
            if self.discretizer is not None:
                _write_json(folder / _BINS, self.discretizer.to_dict())
            for name, found in ((_LAWS, self.laws), (_CONTROLS, self.controls), (_CONSTANTS, self.constants or None)):
                if found is not None:
                    _write_json(folder / name, found.to_dict())
            if self.known is not None:
                write_rules(self.known, folder / _KNOWN)
            if self.model is not None:
                (folder / _MODEL).mkdir()
                self.model.save(folder / _MODEL)
            kept, why_not = self._places_to_keep()
            if kept is not None:
                write_places(kept, self.rules, folder / PLACES)
            carried = carry_reviews(folder, replaced=target if target.is_dir() else None, earlier=self.path)
            earlier = [note for note in self.summary["notes"] if note != _NO_CHECKSUMS]
            notes = [*earlier, *why_not, *self._describe_carried(carried, target)]
            seconds = {**self.summary["seconds"], "write": round(time.perf_counter() - begin, 4)}
            # Somebody may have replaced the rules by some of them.
            found = max(len(self.rules), self.summary["rules_found"])
            known = {**self.summary, **self.rules.describe(), "rules_found": found}
            summary = {**known, "notes": list(dict.fromkeys(notes)), "seconds": seconds}
            _write_json(folder / "summary.json", summary)
            write_manifest(folder, leave_out=(REVIEWS, LOCK))
        return replace(self, path=target, config=config, summary=summary)

    def exceptions(self) -> pl.DataFrame:
        """Return the places where lifted rules fail that hold elsewhere; see ``th.evaluate.find_exceptions``.

        Raises:
            MiningError: If the counts by place are neither in memory nor in the run folder.
        """
        if isinstance(self.table, TransactionTable):
            return find_exceptions(self.rules, self.table)
        return list_exceptions(self._counted_places().of(self.rules), self.rules)

    def places(self, rule: int | None = None) -> pl.DataFrame:
        """Return in how many rows lifted rules applied and held, in each place.

        Args:
            rule: The position of a rule; all rules by default.

        Returns:
            A frame with a row per rule and place: ``rule``, ``place``, ``site`` (null for one system), ``nodes`` (the
            node of each variable), ``rows`` (in which all readings of the rule are present), ``applies``, ``holds``,
            ``confidence`` (null if the rule never applied there) and ``episodes`` (runs of successive rows in which it
            applied). Rules that are not lifted have no rows.

        Raises:
            ConfigError: If there is no such rule.
            MiningError: If the counts by place are neither in memory nor in the run folder.
        """
        if rule is not None:
            self._require_rule(rule)
        return self._counted_places().frame(self.rules, rule)

    def _counted_places(self) -> RulePlaces:
        counted = self.find_places()
        if counted is None:
            raise MiningError(
                "the run does not have the counts of its rules by place",
                hint="mine again; of very many rules or places the counts are not kept",
            )
        return counted

    def find_places(self) -> RulePlaces | None:
        """Return the counts of lifted rules by place, or ``None`` if they are neither in memory nor in the folder."""
        if isinstance(self.table, TransactionTable):
            return count_run_places(self.rules, self.table)
        kept = None if self.path is None else CheckedFolder.open(self.path, again=_AGAIN).find(PLACES)
        if kept is not None:
            return read_places(kept)
        lifted = self.rules.pattern_of is not None and bool((self.rules.pattern_of >= 0).any())
        return None if lifted else RulePlaces({})

    def _places_to_keep(self) -> tuple[RulePlaces | None, list[str]]:
        """The counts by place for the folder, if there are any, and why they are left out."""
        if isinstance(self.table, TransactionTable) and (why_not := why_not_kept(self.rules, self.table)):
            return None, [why_not]
        found = self.find_places()
        return (found if found is not None and found.by_key else None), []

    @property
    def reviews(self) -> Reviews:
        """What people said of the rules, laws and controls, by key; read from the run folder whenever it is asked for.

        Raises:
            RunError: If the file of reviews is damaged.
        """
        return Reviews() if self.path is None else load_reviews(self.path)

    def review(
        self, what: int | str | Rule | Law | Control, verdict: Verdict, note: str | None = None, *, by: str = ""
    ) -> Reviews:
        """Accept or reject a rule, a law or a control, or write a note on it; kept in the run folder.

        Rejected rules are left out by ``th.apply``, monitors and ``thence export`` unless asked for.

        Args:
            what: The position of a rule, or a rule, law or control of the run, or its key.
            verdict: ``"accepted"``, ``"rejected"``, or an empty string for a note alone.
            note: A note; by default an earlier one stays. A review with neither verdict nor note is removed.
            by: Who says it; may be empty.

        Returns:
            All reviews of the run.

        Raises:
            ConfigError: If the run has no such rule, or the verdict is unknown.
            RunError: If the run has not been saved, or its folder cannot be written.

        Examples:
            >>> import tempfile, thence as th
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     toy = th.datasets.load("toy")
            ...     run = th.mine(toy, windows="1h", bins=3, confirm=False, out=f"{folder}/a", progress="off")
            ...     run.review(0, "rejected", "the valve was being repaired")
            ...     len(run.rules) - len(run.reviewed_rules())
            Reviews(1 rejected)
            1
        """
        if self.path is None:
            raise RunError("reviews are kept in the run folder, and this run has none", hint="save it: run.save(path)")
        key, sentence = self.identify(what)
        return save_review(self.path, key, verdict, note, sentence=sentence, by=by)

    def reviewed_rules(self, which: Reviewed = "not-rejected") -> RuleSet:
        """Return the rules to use, given their reviews; with columns ``review`` and ``review_note`` if any has one.

        Args:
            which: ``"not-rejected"``, ``"accepted"`` or ``"all"``.

        Raises:
            ConfigError: If ``which`` is none of these.
        """
        reviews = self.reviews
        kept = select_reviewed(self.rules, reviews, which)
        rules = self.rules if kept.all() else self.rules.take(np.flatnonzero(kept))
        return with_reviews(rules, reviews)

    def identify(self, what: int | str | Rule | Law | Control) -> tuple[str, str]:
        """Return the key and the sentence of a rule, a law or a control of the run.

        Args:
            what: The position of a rule, or a rule, law or control of the run, or its key.

        Raises:
            ConfigError: If the run does not have it.
        """
        if isinstance(what, (int, np.integer)):
            self._require_rule(what)
            what = self.rules.rule(int(what))
        if not isinstance(what, (str, Rule, Law, Control)):
            raise ConfigError(f"a rule, a law, a control, a position or a key is needed, got {type(what).__name__}")
        found = self.findings.find(what if isinstance(what, str) else what.key)
        if found is None:
            raise ConfigError(
                f"the run has no rule, law or control {what if isinstance(what, str) else what.english!r}",
                hint="run.identify(0) returns the key of the first rule, 'thence show RUN --json' prints all",
            )
        return found.key, found.sentence()

    def _require_rule(self, rule: Any) -> None:
        if isinstance(rule, bool) or not 0 <= rule < len(self.rules):
            raise ConfigError(f"there is no rule {rule!r}", hint=f"rules are numbered from 0 to {len(self.rules) - 1}")

    def _describe_carried(self, reviews: Reviews, target: Path) -> list[str]:
        """Say what became of the reviews of a run that is replaced."""
        if not reviews or not target.is_dir():
            return []
        found = [key for key in reviews if self.findings.find(key) is not None]
        count = f"{len(reviews):,} review{'' if len(reviews) == 1 else 's'}"
        apply = "applies" if len(found) == 1 else "apply"
        return [f"{count} of the run that was replaced kept; {len(found):,} of them {apply} to this run"]

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
        """The sentences of known rules, laws and controls by title, of those that there are."""
        found = {
            "known rules": [] if self.known is None else describe_known(self.known),
            "laws": [law.english for law in self.laws or ()],
            "controls": [] if self.controls is None else self.controls.sentences,
        }
        return {title: sentences for title, sentences in found.items() if sentences}


@contextmanager
def _hold_reviews(target: Path) -> Iterator[None]:
    """Keep others from reviewing a run while it is replaced; of a folder that nobody can write there is no need."""
    with ExitStack() as stack:
        if target.is_dir() and os.access(target, os.W_OK):
            stack.enter_context(hold_reviews(target))
        yield


def _first_rules(rules: RuleSet) -> RuleSet:
    """The rules that ``rules.json`` can hold without growing out of use, with a note if these are not all."""
    if len(rules) <= _MOST_JSON_RULES:
        return rules
    first = rules.take(np.arange(_MOST_JSON_RULES))
    note = f"the first {_MOST_JSON_RULES:,} of {len(rules):,} rules; rules.parquet has all of them"
    # What the table behind them is covered by is a fact about all rules.
    return replace(first, notes=(*rules.notes, note), facts=rules.facts)


def find_left_out(run: Run, reviewed: str = "not-rejected", *, rules: bool = True) -> LeftOut:
    """Return which rules, laws and controls of a run are left out because of their reviews.

    Args:
        run: The run.
        reviewed: ``"not-rejected"``, ``"accepted"`` or ``"all"``.
        rules: Whether rules are left out too.

    Raises:
        ConfigError: If ``reviewed`` is none of these.
        RunError: If the file of reviews is damaged.
    """
    require_reviewed(reviewed)
    if reviewed == "all":
        return LeftOut()
    reviews = run.reviews
    positions = np.flatnonzero(~select_reviewed(run.rules, reviews, reviewed)).tolist() if rules else []
    parts: tuple[Sequence[Law | Control], ...] = (run.laws or (), run.controls or ())
    laws, controls = (
        [at for at, one in enumerate(part) if not is_used(reviews.get(one.key), reviewed)] for part in parts
    )
    named = (("rule", positions), ("law", laws), ("control", controls))
    notes = tuple(describe_left_out(len(found), noun, reviewed) for noun, found in named if found)
    return LeftOut(frozenset(positions), frozenset(laws), frozenset(controls), notes)


def add_note(run: Run, note: str) -> Run:
    """Return a run with one more note in its summary, in memory and, if it can be written, in its folder.

    Args:
        run: The run.
        note: What to say, as a sentence.
    """
    noted = {**run.summary, "notes": [*run.summary["notes"], note]}
    if run.path is not None:
        with suppress(RunError), new_listed_file(run.path / "summary.json") as draft:
            _write_json(draft, noted)
    return replace(run, summary=noted)


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
        RunError: If the folder does not exist, is not a run, or was not written completely, or if a file was changed
            after it was written.

    Examples:
        >>> import tempfile, thence as th
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = th.mine(th.datasets.load("toy"), windows="1h", confirm=False, out=f"{folder}/a", progress="off")
        ...     th.load_run(f"{folder}/a").summary == run.summary
        True
    """
    folder = Path(path).absolute()
    _require_whole(folder)
    files = CheckedFolder.open(folder, again=_AGAIN)
    files.warn_unverified()
    summary = require_summary(_read_json(files, "summary.json"), where=str(folder / "summary.json"))
    if files.manifest is None:
        summary = {**summary, "notes": [*summary["notes"], _NO_CHECKSUMS]}
    try:
        rules = read_rules(files.require("rules.parquet"))
    except InputError as error:
        raise RunError(f"the rules cannot be read: {error.message}", where=str(folder), hint=_AGAIN) from error
    # What carries checksums agrees; otherwise the numbers of the summary are compared with the rules themselves.
    require_same_rules(
        summary, rules.describe() if files.manifest is None else {"rules": len(rules)}, where=str(folder)
    )
    config = Config.from_toml(files.require("config.toml"), check=False)
    return Run(
        replace(rules, ordered=True, grouped="also_known_as" in rules.extras and config.refine.by is None),
        config,
        summary,
        _read_json(files, "provenance.json"),
        _read_bins(files),
        folder,
        laws=_read_logic(files, _LAWS, Laws.from_dict),
        controls=_read_logic(files, _CONTROLS, Controls.from_dict),
        known=_read_known(files),
        constants=_read_logic(files, _CONSTANTS, Constants.from_dict) or Constants(),
    )


def _read_known(files: CheckedFolder) -> RuleSet | None:
    if not files.has(_KNOWN):
        return None
    try:
        return replace(read_rules(files.require(_KNOWN)), ordered=True)
    except InputError as error:
        where = str(files.folder / _KNOWN)
        raise RunError(f"the known rules cannot be read: {error.message}", where=where, hint=_AGAIN) from error


def _read_logic(files: CheckedFolder, name: str, build: Callable[..., Found]) -> Found | None:
    """The laws or the controls of a run, ``None`` if they were not searched."""
    if not files.has(name):
        return None
    data = _read_json(files, name)
    try:
        return build(data)
    except _FOREIGN as error:
        raise _unreadable(files.folder / name, error) from error


def _read_bins(files: CheckedFolder) -> Discretizer | None:
    if not files.has(_BINS):
        return None
    data = _read_json(files, _BINS)
    try:
        return Discretizer.from_dict(data)
    except (*_FOREIGN, ConfigError) as error:
        raise _unreadable(files.folder / _BINS, error) from error


def _unreadable(path: Path, error: Exception) -> RunError:
    reason = f"{quote(error.args[0])} is missing" if isinstance(error, KeyError) else quote(error)[1:-1]
    return RunError(f"cannot be read: {reason}", where=str(path), hint="the file was changed or damaged; mine again")


def _require_whole(folder: Path) -> None:
    with reported_as(RunError, where=quote(folder)[1:-1], hint="check the path"):
        exists = folder.is_dir()  # raises for a name that is too long
    if not exists:
        siblings = [p.name for p in folder.parent.iterdir() if p.is_dir()] if folder.parent.is_dir() else []
        visible = [name for name in siblings if not name.startswith(".")]
        what = "a file, not a run folder" if os.path.lexists(folder) else "no such run folder"
        raise RunError(what, where=str(folder), hint=nearest(folder.name, visible))
    if (folder / INCOMPLETE).exists():
        raise RunError(
            "the run is incomplete: the process that wrote it was stopped",
            where=str(folder),
            hint="delete the folder and run again",
        )
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if len(missing) == len(_FILES):
        raise RunError("not a run folder", where=str(folder), hint="give a folder that 'thence mine' wrote")
    if missing:
        raise RunError(
            f"the run is incomplete: {', '.join(missing)} is missing",
            where=str(folder),
            hint="check the path; a run that lost files has to be mined again, into another folder",
        )


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(finite_json(data), ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _read_json(files: CheckedFolder, name: str) -> dict[str, Any]:
    return parse_record(files.read(name), where=str(files.folder / name), hint=_AGAIN)


def _in_model(name: str) -> bool:
    return name.startswith(f"{_MODEL}/")
