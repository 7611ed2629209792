"""Rules applied to other data: what became of each rule, and the violations by rule, place and time, as frames."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.atomic import finish_first, new_folder
from thence._base.integrity.manifest import write_manifest
from thence.checks.application.later import Later
from thence.checks.application.logic import AppliedControls, AppliedLaws
from thence.checks.application.parts import Part, Target
from thence.checks.application.telling import applied_html, tell_applied
from thence.checks.application.verdicts import ThenAndNow, Verdict
from thence.checks.application.violations import VIOLATIONS, iter_violations
from thence.data.readings.durations import parse_duration
from thence.errors import ConfigError
from thence.runs.run import refuse_foreign
from thence.statements.counting.states import Tallies
from thence.statements.rules.ruleset import RuleSet

Ints = npt.NDArray[np.int64]

_MOMENT = pl.Datetime("us", "UTC")
_EPISODES_PER_FILE = 1_000_000
_MARK = "applied.json"


@dataclass(frozen=True, eq=False, repr=False)
class Applied:
    """Rules of a run on other data; made by ``apply``.

    Rules, laws and controls are numbered from 0, as in the run.

    Args:
        rules: The rules, with the counts of the data that they were mined on.
        later: The other data, and the rules that do not bind to them.
        parts: The bound rules as item numbers of bitmaps.
        targets: What consequents read: sensors at nodes.
        tallies: The states of the rules of each part.
        compared: The rules then and now.
        then_at: Share of violations at each target when the rules were mined; NaN where it is not known.
        applied_laws: The laws then and now, if the run has any and they can be applied.
        applied_controls: The controls then and now, in the same way.
        notes: What was fitted, left out or not seen before; one sentence each.
        never_before: What sensors read now that read one value when the rules were mined; one sentence each.

    Examples:
        >>> import thence as th
        >>> toy = th.datasets.load("toy")
        >>> run = th.mine(toy.between(end="2024-01-02"), windows="1h", bins=3, refine=None, progress="off")
        >>> applied = th.apply(run, toy.between(start="2024-01-02"))
        >>> applied.by_rule().height == len(run.rules)
        True
        >>> applied.by_time()["violated"].sum() == applied.by_rule()["violated"].sum()
        True
    """

    rules: RuleSet
    later: Later = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    targets: tuple[Target, ...] = field(repr=False)
    tallies: tuple[Tallies, ...] = field(repr=False)
    compared: ThenAndNow = field(repr=False)
    then_at: npt.NDArray[np.float64] = field(repr=False)
    applied_laws: AppliedLaws | None = None
    applied_controls: AppliedControls | None = None
    notes: tuple[str, ...] = ()
    never_before: tuple[str, ...] = ()

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        """Start of the first window and end of the last (UTC); ``None`` without windows."""
        ends = [times for times in self._times if len(times)]
        if not ends:
            return None
        first, last = min(times[0] for times in ends), max(times[-1] for times in ends)
        every = np.timedelta64(self.later.data.readings.every, "us")
        return _as_datetime(first), _as_datetime(last + every)

    @property
    def _times(self) -> list[npt.NDArray[np.datetime64]]:
        return list(self.later.data.readings.by_site.values())

    @cached_property
    def counts(self) -> Ints:
        """Rows by state now: rules × (satisfied, violated, not applicable, missing); 0 for rules that do not bind."""
        out = np.zeros((len(self.rules), 4), np.int64)
        for part, found in zip(self.parts, self.tallies, strict=True):
            states = (found.satisfied, found.violated, found.not_applicable, found.missing)
            out[part.rules] += np.stack(states, axis=1)
        return out

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of rules by verdict, those that no longer hold first."""
        number = Counter(self.compared.verdicts)
        return {str(verdict): number[verdict] for verdict in Verdict if number[verdict]}

    @cached_property
    def _sentences(self) -> pl.Series:
        return pl.Series([self.rules.rule(at).english for at in range(len(self.rules))], dtype=pl.String)

    def by_rule(self) -> pl.DataFrame:
        """Return one row per rule: then and now.

        Columns: ``rule``, ``sentence``, ``verdict``; ``then`` and ``now`` (confidence), ``low`` and ``high`` (the
        interval of now; null where the data do not allow one); ``then_applied`` and ``applied`` (rows in which the rule
        applied); ``satisfied``, ``violated``, ``not_applicable`` and ``missing`` (rows now).

        ``verdict`` is ``"no longer holds"``, ``"weaker"``, ``"holds"``, ``"too little data"``, ``"never applied"``,
        ``"not bound"`` or ``"left out"`` (because of its review).
        """
        compared = self.compared
        satisfied, violated, not_applicable, missing = self.counts.T
        return pl.DataFrame(
            {
                "rule": np.arange(len(self.rules)),
                "sentence": self._sentences,
                "verdict": pl.Series([str(one) for one in compared.verdicts], dtype=pl.String),
                "then": _column(compared.then),
                "now": _column(compared.now),
                "low": _column(compared.low),
                "high": _column(compared.high),
                "then_applied": np.asarray(self.rules.counts.n_antecedent, np.int64),
                "applied": satisfied + violated,
                "satisfied": satisfied,
                "violated": violated,
                "not_applicable": not_applicable,
                "missing": missing,
            }
        )

    def changed(self) -> pl.DataFrame:
        """Return the rules of ``by_rule`` that no longer hold or have become weaker, the largest loss first."""
        order = {str(Verdict.BROKEN): 0, str(Verdict.WEAKER): 1}
        frame = self.by_rule().filter(pl.col("verdict").is_in(list(order)))
        rank = pl.col("verdict").replace_strict(order, return_dtype=pl.Int64)
        return frame.sort(rank, pl.col("now") - pl.col("then"), "rule")

    def by_place(self, rule: int | None = None) -> pl.DataFrame:
        """Return violations by place.

        Args:
            rule: A rule, to return one row per place of its pattern, with columns ``place``, ``site``, ``now``,
                ``applied``, ``satisfied``, ``violated``, ``not_applicable`` and ``missing``. By default one row per
                node and sensor that consequents of any rule read: ``node``, ``sensor``, ``applied``, ``violated``,
                ``share``, ``then`` (the share there when the rules were mined, if the run keeps its counts by place)
                and ``expected`` (violations at that share, or at the confidence of the rules over all places if it is
                not known). Places with most violations beyond what was expected come first.
        """
        if rule is not None:
            return self._places_of(rule)
        total = np.zeros((len(self.targets), 2), np.int64)
        expected = np.zeros(len(self.targets))
        for found in self.tallies:
            total += np.stack([found.target_applicable, found.target_violated], axis=1)
            expected += found.target_expected
        expected = np.where(np.isnan(self.then_at), expected, self.then_at * total[:, 0])
        frame = pl.DataFrame(
            {
                "node": pl.Series([one.node or None for one in self.targets], dtype=pl.String),
                "sensor": pl.Series([one.sensor or None for one in self.targets], dtype=pl.String),
                "applied": total[:, 0],
                "violated": total[:, 1],
                "share": _column(total[:, 1] / np.where(total[:, 0] > 0, total[:, 0], np.nan)),
                "then": _column(self.then_at),
                "expected": expected,
            }
        ).filter(pl.col("applied") > 0)
        return frame.sort(pl.col("expected") - pl.col("violated"), "node", "sensor")

    def _places_of(self, rule: int) -> pl.DataFrame:
        self._require_rule(rule)
        rows: list[dict[str, Any]] = []
        for part in self.parts:
            for at in np.flatnonzero(part.rules == rule).tolist():
                for place, states in zip(part.place_names(), part.count_places(at).tolist(), strict=True):
                    satisfied, violated, not_applicable, missing = states
                    applied = satisfied + violated
                    rows.append(
                        {
                            "place": place or None,
                            "site": part.site or None,
                            "now": satisfied / applied if applied else None,
                            "applied": applied,
                            "satisfied": satisfied,
                            "violated": violated,
                            "not_applicable": not_applicable,
                            "missing": missing,
                        }
                    )
        schema: dict[str, Any] = {"place": pl.String, "site": pl.String, "now": pl.Float64}
        schema |= dict.fromkeys(("applied", "satisfied", "violated", "not_applicable", "missing"), pl.Int64)
        return pl.DataFrame(rows, schema=schema, orient="row").sort("violated", descending=True, maintain_order=True)

    def by_time(self, every: str | None = None) -> pl.DataFrame:
        """Return violations by time: ``time`` (UTC), ``applied`` and ``violated`` (rules × places) and ``share``.

        Several systems also have a column ``site``, since the same time is another window of each.

        Args:
            every: Length of the periods, such as ``"1d"``; by default that of a window.
        """
        sites: dict[str, tuple[npt.NDArray[np.datetime64], Ints]] = {}
        for part, found in zip(self.parts, self.tallies, strict=True):
            if part.times is None:
                continue
            _, sums = sites.setdefault(part.site, (part.times, np.zeros((2, len(part.times)), np.int64)))
            sums += np.stack([found.frame_applicable, found.frame_violated])
        frames = [
            pl.DataFrame(
                {
                    "site": pl.Series([site] * len(times), dtype=pl.String),
                    "time": pl.Series(times.astype("datetime64[us]")).dt.replace_time_zone("UTC"),
                    "applied": applied,
                    "violated": violated,
                }
            )
            for site, (times, (applied, violated)) in sites.items()
        ]
        schema: dict[str, Any] = {"site": pl.String, "time": _MOMENT, "applied": pl.Int64, "violated": pl.Int64}
        frame = pl.concat(frames) if frames else pl.DataFrame(schema=schema)
        if every is not None:
            length = f"{int(parse_duration(every))}us"
            frame = frame.group_by("site", pl.col("time").dt.truncate(length)).agg(pl.col("applied", "violated").sum())
        share = pl.when(pl.col("applied") > 0).then(pl.col("violated") / pl.col("applied")).alias("share")
        frame = frame.sort("site", "time").with_columns(share)
        return frame if any(sites) else frame.drop("site")

    def violations(self, rules: int | Iterable[int] | None = None) -> pl.DataFrame:
        """Return the episodes in which rules were violated, one row per run of successive windows.

        Columns: ``rule``, ``sentence``; ``place`` (the nodes of the place of a lifted rule), ``node`` and ``sensor``
        that the consequent reads; ``start``, ``end`` (UTC, the end of the last window) and ``windows``; ``expected``
        (what the rule says) and what was read instead: ``lowest`` and ``highest`` in ``unit``, or ``state``.

        Memory grows with the number of episodes: for very many rules, ask for some, or use ``write``.

        Args:
            rules: The number of a rule, or several; all by default.
        """
        frames = list(self._iter_violations(self._chosen(rules)))
        return pl.concat(frames) if frames else pl.DataFrame(schema=VIOLATIONS)

    def _chosen(self, rules: int | Iterable[int] | None) -> set[int]:
        if rules is None:
            return set(range(len(self.rules)))
        chosen = {rules} if isinstance(rules, int) else {int(one) for one in rules}
        for one in chosen:
            self._require_rule(one)
        return chosen

    def _require_rule(self, rule: int) -> None:
        if isinstance(rule, bool) or not 0 <= rule < len(self.rules):
            raise ConfigError(f"there is no rule {rule!r}", hint=f"rules are numbered from 0 to {len(self.rules) - 1}")

    def _iter_violations(self, chosen: Collection[int]) -> Iterator[pl.DataFrame]:
        broken = {rule for rule in chosen if self.counts[rule, 1]}
        return iter_violations(
            self.rules,
            self.parts,
            self.targets,
            self.later.data.readings,
            chosen=broken,
            sentence=lambda rule: str(self._sentences[rule]),
        )

    def not_bound(self) -> pl.DataFrame:
        """Return the rules that could not be applied, and what is missing: ``rule``, ``sentence``, ``missing``
        (``"sensor"``, ``"class"``, ``"relation"``, ``"kind"``, ``"property"``, …), its ``name`` and a ``reason``.
        """
        found = self.later.not_bound
        schema: dict[str, Any] = {"rule": pl.Int64, "missing": pl.String, "name": pl.String, "reason": pl.String}
        frame = pl.DataFrame(
            [(one.rule, one.missing, one.name, one.reason) for one in found], schema=schema, orient="row"
        )
        sentences = self._sentences.gather(frame["rule"]).alias("sentence")
        return frame.insert_column(1, sentences)

    def laws(self) -> pl.DataFrame:
        """Return one row per law of the run: then and now, with the places that break it now and kept it then."""
        return (self.applied_laws or AppliedLaws.nothing()).to_polars()

    def controls(self) -> pl.DataFrame:
        """Return one row per control of the run: switches explained and crossings followed, then and now."""
        return (self.applied_controls or AppliedControls.nothing()).to_polars()

    def describe(self) -> dict[str, Any]:
        """Return everything but the times and episodes of violations, ready for JSON."""
        period = self.period
        return {
            "period": None if period is None else [moment.isoformat() for moment in period],
            "window_seconds": self.later.data.readings.every.total_seconds(),
            "windows": sum(map(len, self._times)),
            "system": self.later.data.system.name,
            "sensors": len(self.later.data.readings.sensors),
            "same_system": self.later.same_system,
            "rules": len(self.rules),
            "verdicts": self.verdicts,
            "applied": int(self.counts[:, :2].sum()),
            "violated": int(self.counts[:, 1].sum()),
            "by_rule": _finite(self.by_rule().to_dicts()),
            "by_place": _finite(self.by_place().to_dicts()),
            "not_bound": self.not_bound().to_dicts(),
            "laws": _finite(self.laws().to_dicts()),
            "controls": _finite(self.controls().to_dicts()),
            "never_before": list(self.never_before),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return ``describe()`` as JSON; times and episodes of violations are in the files of ``write``."""
        return json.dumps(self.describe(), ensure_ascii=False, indent=2, allow_nan=False)

    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a folder, in one step when it is complete: ``applied.json``, frames as Parquet files, and checksums.

        The files are ``rules.parquet``, ``places.parquet``, ``times.parquet``, ``not_bound.parquet``,
        ``laws.parquet``, ``controls.parquet`` and ``violations.parquet``; of more than a million episodes, several
        files ``violations-0001.parquet`` and so on.

        Args:
            path: The folder to write.
            force: Replace a folder that this method wrote earlier.

        Raises:
            RunError: If the folder already exists, or cannot be written.
        """
        target = Path(path).absolute()
        refuse_foreign(target, force=force, mark=_MARK)
        with finish_first(f"the results were written: {target}"), new_folder(target, force=force) as folder:
            frames = {
                "rules": self.by_rule(),
                "places": self.by_place(),
                "times": self.by_time(),
                "not_bound": self.not_bound(),
                "laws": self.laws(),
                "controls": self.controls(),
            }
            for name, frame in frames.items():
                frame.write_parquet(folder / f"{name}.parquet")
            self._write_violations(folder)
            (folder / _MARK).write_text(self.to_json() + "\n", encoding="utf-8")
            write_manifest(folder)
        return target

    def _write_violations(self, folder: Path) -> None:
        """Write episodes in files of bounded size, so that memory does not grow with their number."""
        kept: list[pl.DataFrame] = []
        written = 0
        for frame in self._iter_violations(set(range(len(self.rules)))):
            kept.append(frame)
            if sum(one.height for one in kept) >= _EPISODES_PER_FILE:
                written += 1
                pl.concat(kept).write_parquet(folder / f"violations-{written:04d}.parquet")
                kept = []
        if not written:
            rest = pl.concat(kept) if kept else pl.DataFrame(schema=VIOLATIONS)
            rest.write_parquet(folder / "violations.parquet")
        elif kept:
            pl.concat(kept).write_parquet(folder / f"violations-{written + 1:04d}.parquet")

    def __str__(self) -> str:
        return tell_applied(self)

    def __repr__(self) -> str:
        said = ", ".join(f"{number:,} {verdict}" for verdict, number in self.verdicts.items())
        return f"Applied({len(self.rules):,} rules: {said or 'none'})"

    def _repr_html_(self) -> str:
        return applied_html(self)


def _as_datetime(moment: np.datetime64) -> datetime:
    found: datetime = moment.astype("datetime64[us]").item()
    return found.replace(tzinfo=UTC)


def _column(values: npt.NDArray[np.float64]) -> pl.Series:
    return pl.Series(np.asarray(values, np.float64), nan_to_null=True)


def _finite(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """JSON has no NaN."""
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}
        for row in rows
    ]
