"""The monitor: readings in, alerts out. Windows, counts, tests and alerts follow from the readings alone.

Whether readings come one by one or a million at a time, and whether the monitor was stopped and restored in between,
changes nothing. This module wires the parts; it reads no source and sends nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.application.bound import NotBound
from thence.checks.monitor.alerts import Alert, Watched, format_time, tell_change, tell_changed, tell_violation
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.constant_watch import ConstantWatch
from thence.checks.monitor.gaps import Gaps
from thence.checks.monitor.health import STATUS, Health, find_references
from thence.checks.monitor.history import Complete, History
from thence.checks.monitor.open_windows import OpenWindows
from thence.checks.monitor.rule_frames import EncodedFrames, place_names
from thence.checks.monitor.setup import set_up
from thence.checks.monitor.statement_watch import Checked, RecentWindows, StatementWatch
from thence.data.graph.system import System
from thence.data.readings.durations import format_duration, parse_duration
from thence.errors import ConfigError, RunError
from thence.runs.reviews import Reviewed
from thence.runs.run import Run
from thence.statements.statement import VIOLATED, Statement, parse_kinds
from thence.tables.blocks import Block

if TYPE_CHECKING:
    from thence.checks.detect.detector import Detector
    from thence.checks.monitor.detector_watch import DetectorWatch

HOUR = 3_600_000_000
_CHUNK = 1_024
_NAMED = 5
FORMAT = 1
_Flags = dict[int, tuple[npt.NDArray[np.bool_], Block]]


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """How a monitor decides.

    Args:
        lateness: How much later than the end of a window its readings may come, in their own time.
        block: The length of a block: violations within a block are one observation of the sequential test.
        false_alarm: Probability that any rule that still holds is ever said to have drifted.
        tolerance: How much lower than when it was mined the confidence of a rule may be before it matters.
        violations: Whether to tell each time that a rule begins to be violated.
        reference: Whether the readings that name the sensors are of a normal period, on which bins of sensors are
            fitted that the run has not seen.
    """

    lateness: str = "0s"
    block: str = "1d"
    false_alarm: float = 0.01
    tolerance: float = 0.05
    violations: bool = False
    reference: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.false_alarm < 1:
            raise ConfigError(f"false_alarm must be above 0 and below 1, got {self.false_alarm!r}")
        if not 0 <= self.tolerance < 1:
            raise ConfigError(f"tolerance must be at least 0 and below 1, got {self.tolerance!r}")
        parse_lateness(self.lateness)
        parse_duration(self.block)


def parse_lateness(text: str) -> int:
    """Return a duration in microseconds; ``"0"`` and ``"0s"`` are none.

    Args:
        text: The duration.

    Examples:
        >>> parse_lateness("0s"), parse_lateness("2min")
        (0, 120000000)
    """
    return 0 if text.strip().lower() in ("0", "0s", "0min", "0h") else parse_duration(text)


class Monitor:
    """The rules, and if wanted the laws and controls, of a run on readings as they come.

    Args:
        run: The run.
        system: Its readings say which sensors there are; with its graph and binding, if the rules need them.
        settings: How to decide.
        detector: A detector that has learned, whose alarms are told too.
        reviewed: Which rules to watch, given their reviews: ``"not-rejected"``, ``"accepted"`` or ``"all"``. Reviews
            are read once, when the monitor is made; a saved state goes on after rules were rejected.
        statements: The kinds of statements to watch: ``"rules"``, ``"laws"``, ``"controls"``, several of them separated
            by commas, or ``"all"``. Laws and controls are checked when a block is over, or an hour with ``violations``.

    Examples:
        >>> import thence as th
        >>> from thence.checks.monitor.batches import Batch
        >>> toy = th.datasets.load("toy")
        >>> run = th.mine(toy, windows="1h", bins=3, progress="off", confirm=False)
        >>> monitor = th.Monitor(run, toy)
        >>> hour = 3_600_000_000  # microseconds
        >>> monitor.add(Batch.of([(0, 0, 1.0), (hour, 0, 2.0)]))  # time, number of the sensor, value
        []
        >>> monitor.n_windows
        1
    """

    def __init__(
        self,
        run: Run,
        system: System,
        settings: MonitorSettings | None = None,
        *,
        detector: Detector | None = None,
        reviewed: Reviewed = "not-rejected",
        statements: str | Sequence[str] = "rules",
    ) -> None:
        self.settings = chosen = settings or MonitorSettings()
        kinds = parse_kinds(statements)
        parts = set_up(run, system, reference=chosen.reference, reviewed=reviewed, kinds=kinds)
        self.rules, self.roster, self.frames, self.history = parts.rules, parts.roster, parts.frames, parts.history
        self.every, self.notes = parts.every, parts.notes
        self.block = parse_duration(chosen.block)
        if self.block % self.every:
            window = format_duration(self.every)
            raise ConfigError(
                f"the block of {format_duration(self.block)} is not a multiple of the windows of {window}",
                hint=f"use a multiple, such as {format_duration(max(self.block // self.every, 1) * self.every)}",
            )
        self.open = OpenWindows(
            parts.aggregates,
            parts.roster.is_state.tolist(),
            every=parts.every,
            anchor=parts.anchor,
            lateness=parse_lateness(chosen.lateness),
            keep_empty=parts.keep_empty,
        )
        span = self.every * gcd(max(HOUR // self.every, 1), self.block // self.every)
        self.others = StatementWatch(
            parts.others,
            parts.frames,
            span=span if chosen.violations else self.block,
            same_system=parts.same_system,
        )
        self.constants = ConstantWatch(parts.constants, parts.roster)
        others = [one.statement for one in parts.others]
        references = find_references(
            parts.rules,
            others,
            tolerance=chosen.tolerance,
            false_alarm=chosen.false_alarm,
            windows=self.block // self.every,
            table=run.table,
        )
        self.bounds = references.bounds
        bound = np.append(parts.frames.bound, self.others.bound + len(parts.rules))
        self.health = Health(references, bound, false_alarm=chosen.false_alarm)
        self.watch: DetectorWatch | None = None
        if detector is not None:
            # A detector needs laws and more, which a monitor without one does not load.
            from thence.checks.monitor.detector_watch import DetectorWatch

            self.watch = DetectorWatch(
                detector, parts.frames.system, parts.roster, every=parts.every, aggregates=parts.aggregates
            )
        self.n_windows = 0
        self.n_alerts = 0
        self.last_window = -1
        self._violated = np.zeros(len(self.bounds), bool)

    def watched(self, at: int) -> Watched:
        """Return a rule, law or control by its position: rules first, then the others.

        Args:
            at: The position.
        """
        n = len(self.rules)
        return Watched(at + 1, self.rules.rule(at)) if at < n else self.others.watched[at - n]

    def label(self, at: int) -> tuple[str, int]:
        """Return the kind of a rule, law or control and its number among them, from 1.

        Args:
            at: The position.
        """
        one = None if at < len(self.rules) else self.others.watched[at - len(self.rules)]
        return ("rule", at + 1) if one is None else (one.statement.kind, one.number)

    @property
    def not_bound(self) -> tuple[NotBound, ...]:
        """What cannot be watched and why, by its position; of rules also those that reviews leave out."""
        more = (replace(one, rule=one.rule + len(self.rules)) for one in self.others.not_bound)
        return (*self.frames.not_bound, *more)

    @property
    def left_out(self) -> frozenset[int]:
        """Positions of what is not watched because of its review."""
        more = (len(self.rules) + at for at, one in enumerate(self.others.watched) if not one.is_used)
        return self.frames.left_out.union(more)

    def add(self, batch: Batch) -> list[Alert]:
        """Take readings, and return the alerts that follow from the windows that they complete.

        Args:
            batch: The readings, in the order of their arrival.
        """
        self.open.add(batch)
        return self._advance(final=False)

    def finish(self) -> list[Alert]:
        """Close all windows, since no further reading will come; the last block is not tested unless it is over."""
        return self._advance(final=True)

    @property
    def open_since(self) -> int:
        """Start of the oldest window that is still open, in microseconds; 0 before the first reading."""
        if self.open.anchor is None or self.open.over < 0:
            return 0
        return int(self.open.over * self.every + self.open.anchor)

    def _advance(self, *, final: bool) -> list[Alert]:
        closed = self.open.take(final=final)
        if self.open.anchor is None or not (len(closed.numbers) or final):
            return []
        windows = self.history.push(closed, anchor=self.open.anchor, final=final)
        out: list[Alert] = []
        for start in range(0, len(windows), _CHUNK):
            out += self._watch(_part(windows, start, start + _CHUNK), self.open.anchor)
        if final:
            for checked in self.others.finish(self.open.anchor):
                out += self._count(checked)
        return out

    def _watch(self, windows: Complete, anchor: int) -> Iterator[Alert]:
        """Count the rules on windows, block by block."""
        starts = windows.numbers * self.every + anchor
        encoded = self.frames.encode(windows, anchor)
        blocks = starts // self.block
        cuts = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(blocks)]
        flags = self._flag(encoded) if self.settings.violations else {}
        for first, last in pairwise(cuts):
            block = int(blocks[first])
            spans = self.others.push(windows, first, last, anchor)
            if self.health.block not in (-1, block):
                for checked in (one for one in spans if one.frame == first):
                    yield from self._count(checked)
                yield from self._finish_block()
                spans = [one for one in spans if one.frame != first]
            self.health.block = block
            self.health.add(encoded.count(first, last))
            yield from self._tell_windows(flags, spans, windows, starts, first, last)
        self.n_windows += len(windows)
        self.last_window = int(starts[-1])

    def _count(self, checked: Checked) -> Iterator[Alert]:
        """Count the laws and controls of a span, and tell violations that begin in it."""
        n = len(self.rules)
        self.health.add(checked.counted, first=n)
        if not self.settings.violations:
            return
        usual = {at: _usual(self.others.watched[at].statement, states.places) for at, states in checked.states.items()}
        for frame, start in enumerate(checked.starts.tolist()):
            for at, states in checked.states.items():
                found = np.flatnonzero(usual[at] & (states.codes[:, frame] == VIOLATED))
                if len(found) and not self._violated[n + at]:
                    named = [name for place in found[:_NAMED] if (name := states.places[place])]
                    yield self._tell_violation(n + at, start, named, len(found))
                self._violated[n + at] = bool(len(found))

    def _tell_violation(self, at: int, start: int, places: Sequence[str], n_places: int) -> Alert:
        self.n_alerts += 1
        return tell_violation(
            self.watched(at), start=start, every=self.every, places=places, n_places=n_places, number=self.n_alerts
        )

    def _finish_block(self) -> Iterator[Alert]:
        end = (self.health.block + 1) * self.block
        for change in self.health.finish(self.health.block):
            alert = tell_change(
                change,
                self.watched(change.rule),
                bound=float(self.bounds[change.rule]),
                end=end,
                block=self.block,
                number=self.n_alerts + 1,
                n_blocks=self.health.n_blocks,
            )
            if alert is not None:
                self.n_alerts += 1
                yield alert

    def _flag(self, encoded: EncodedFrames) -> _Flags:
        """Return where each rule is violated in any window: a matrix (places × windows), and its block of places."""
        counted = encoded.count(0, encoded.n_frames)
        some = np.flatnonzero((counted.violated > 0) | self._violated[: len(self.rules)]).tolist()
        return {rule: (where, block) for rule, where, block in encoded.violations(some)}

    def _tell_windows(
        self,
        flags: _Flags,
        spans: Sequence[Checked],
        windows: Complete,
        starts: npt.NDArray[np.int64],
        first: int,
        last: int,
    ) -> Iterator[Alert]:
        """Tell violations that begin and alarms of the detector, in the order of the windows."""
        alarms = [] if self.watch is None else self.watch.push(windows, first, last, self.open.anchor or 0)
        changed = list(self.constants.push(windows, first, last))
        for frame in range(first, last) if flags or alarms or spans or changed else ():
            for one in (one for one in changed if one.frame == frame):
                self.n_alerts += 1
                yield tell_changed(
                    one.constant, one.value, start=int(starts[frame]), every=self.every, number=self.n_alerts
                )
            for checked in (one for one in spans if one.frame == frame):
                yield from self._count(checked)
            for rule in sorted(flags):
                where, block = flags[rule]
                places = np.flatnonzero(where[:, frame])
                if len(places) and not self._violated[rule]:
                    named = place_names(block, places[:_NAMED].tolist())
                    yield self._tell_violation(rule, int(starts[frame]), named, len(places))
                self._violated[rule] = bool(len(places))
            for alarm in alarms:
                if alarm.frame == frame:
                    self.n_alerts += 1
                    end = format_time(alarm.start + self.every)
                    yield Alert(self.n_alerts, "alarm", end, alarm.message, alarm.details)

    def table(self) -> pl.DataFrame:
        """Return the health of every rule, law and control: its status, its counts, and its confidence then and now."""
        now, low, high = self.health.confidence()
        reasons = {one.rule: one.reason for one in self.not_bound}
        kinds, numbers = zip(*map(self.label, range(len(self.bounds))), strict=True)
        total, out = self.health.total, self.left_out
        status = [
            "left out" if rule in out else "not bound" if rule in reasons else STATUS[code]
            for rule, code in enumerate(self.health.status.tolist())
        ]
        since = [format_time(block * self.block) if block >= 0 else None for block in self.health.since.tolist()]
        return pl.DataFrame(
            {
                "rule": numbers,
                "kind": kinds,
                "status": status,
                "since": pl.Series(since, dtype=pl.String),
                "satisfied": total[:, 0],
                "violated": total[:, 1],
                "not_applicable": total[:, 2],
                "missing": total[:, 3],
                "confidence_mined": [
                    *self.rules.measure("confidence").tolist(),
                    *(one.statement.counts.share for one in self.others.watched),
                ],
                "confidence_recent": pl.Series(now, nan_to_null=True),
                "low": pl.Series(low, nan_to_null=True),
                "high": pl.Series(high, nan_to_null=True),
                "sentence": self._sentences,
                "reason": pl.Series([reasons.get(rule) for rule in range(len(self.bounds))], dtype=pl.String),
            }
        )

    @cached_property
    def _sentences(self) -> list[str]:
        return [*(rule.english for rule in self.rules), *(one.statement.sentence() for one in self.others.watched)]

    def over_time(self) -> pl.DataFrame:
        """Return the counts of every rule in each of the last blocks, one row per block and rule."""
        kept = np.flatnonzero(self.health.recent_blocks >= 0)
        n = len(self.bounds)
        kinds, numbers = zip(*map(self.label, range(n)), strict=True)
        counts = self.health.recent[kept].reshape(-1, 4)
        starts = np.repeat(self.health.recent_blocks[kept] * self.block, n).view("datetime64[us]")
        return pl.DataFrame(
            {
                "block": pl.Series(starts).dt.replace_time_zone("UTC"),
                "rule": np.tile(np.array(numbers), len(kept)),
                "kind": np.tile(np.array(kinds), len(kept)),
                "satisfied": counts[:, 0],
                "violated": counts[:, 1],
                "not_applicable": counts[:, 2],
                "missing": counts[:, 3],
            }
        )

    @cached_property
    def fingerprint(self) -> str:
        """A text that is the same only for the same rules, sensors, windows and settings."""
        what = [str(self.settings), str(self.every), repr(self.roster.sensors), *(str(rule) for rule in self.rules)]
        what += [str(self.rules.counts.n_both.tolist()), repr(self.open.aggregates), str(self.watch is not None)]
        what += [str(one.statement.to_dict()) for one in self.others.watched]
        what += [str(one.to_dict()) for one in self.constants.constants]
        return hashlib.sha256("\n".join(what).encode()).hexdigest()

    def _parts(self) -> dict[str, OpenWindows | Gaps | History | Health | RecentWindows | ConstantWatch]:
        parts: dict[str, OpenWindows | Gaps | History | Health | RecentWindows | ConstantWatch] = {
            "open": self.open,
            "gaps": self.open.gaps,
            "history": self.history,
            "health": self.health,
        }
        if self.others.watched:
            parts["others"] = self.others
        if self.constants.constants:
            parts["constants"] = self.constants
        return parts if self.watch is None else {**parts, "watch": self.watch}

    def to_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        parts = self._parts()
        numbers: dict[str, Any] = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "n_windows": self.n_windows,
            "n_alerts": self.n_alerts,
            "last_window": self.last_window,
            "states": self.roster.to_dict(),
        }
        arrays: dict[str, npt.NDArray[Any]] = {"violated": self._violated}
        for name, part in parts.items():
            own, more = part.to_arrays()
            numbers[name] = own
            arrays |= {f"{name}.{key}": array for key, array in more.items()}
        return numbers, arrays

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_state`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.

        Raises:
            RunError: If they belong to other rules, sensors or settings.
        """
        if numbers.get("format") != FORMAT or numbers.get("fingerprint") != self.fingerprint:
            raise RunError(
                "the saved state belongs to other rules, sensors or settings",
                hint="choose another folder with --state, or delete this one to start from the beginning",
            )
        self.n_windows, self.n_alerts = int(numbers["n_windows"]), int(numbers["n_alerts"])
        self.last_window = int(numbers["last_window"])
        self.roster.restore(numbers["states"])
        self._violated = arrays["violated"].copy()
        for name, part in self._parts().items():
            if name == "gaps" and name not in numbers:
                continue  # a state of before gaps were counted
            own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
            part.restore(numbers[name], own)


def _usual(one: Statement, places: Sequence[str]) -> npt.NDArray[np.bool_]:
    """At which places a statement held in most rows when it was found, or was not counted: others are exceptions."""
    by_place = one.counts.by_place
    return np.array([2 * holds >= applies for applies, holds in (by_place.get(name, (0, 0)) for name in places)], bool)


def _part(windows: Complete, start: int, stop: int) -> Complete:
    if start == 0 and len(windows) <= stop:
        return windows
    own = slice(start, stop)
    return Complete(
        windows.numbers[own],
        windows.values[own],
        windows.codes[own],
        {name: values[own] for name, values in windows.numbers_derived.items()},
        {
            name: {id: (codes[own], known) for id, (codes, known) in states.items()}
            for name, states in windows.states_derived.items()
        },
    )
