"""The monitor: readings in, alerts out. Windows, counts, tests and alerts follow from the readings alone.

Whether readings come one by one or a million at a time, and whether the monitor was stopped and restored in between,
changes nothing. This module wires the parts; it reads no source and sends nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.monitor.alerts import Alert, format_time, tell_change, tell_violation
from thence.checks.monitor.batches import Batch
from thence.checks.monitor.gaps import Gaps
from thence.checks.monitor.health import STATUS, Health, bound_of
from thence.checks.monitor.history import Complete, History
from thence.checks.monitor.open_windows import OpenWindows
from thence.checks.monitor.rule_frames import EncodedFrames, place_names
from thence.checks.monitor.setup import set_up
from thence.data.graph.system import System
from thence.data.readings.durations import format_duration, parse_duration
from thence.errors import ConfigError, RunError
from thence.runs.reviews import Reviewed
from thence.runs.run import Run
from thence.tables.blocks import Block

if TYPE_CHECKING:
    from thence.checks.detect.detector import Detector
    from thence.checks.monitor.detector_watch import DetectorWatch

__all__ = ["Monitor", "MonitorSettings"]

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
    """The rules of a run on readings as they come.

    Args:
        run: The run.
        system: Its readings say which sensors there are; with its graph and binding, if the rules need them.
        settings: How to decide.
        detector: A detector that has learned, whose alarms are told too.
        reviewed: Which rules to watch, given their reviews: ``"not-rejected"``, ``"accepted"`` or ``"all"``. Reviews
            are read once, when the monitor is made; a saved state goes on after rules were rejected.

    Examples:
        >>> import thence as th
        >>> from thence.checks.monitor.batches import Batch
        >>> toy = th.datasets.load("toy")
        >>> run = th.mine(toy, windows="1h", bins=3, progress="off")
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
    ) -> None:
        self.settings = chosen = settings or MonitorSettings()
        parts = set_up(run, system, reference=chosen.reference, reviewed=reviewed)
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
        self.bounds = bound_of(parts.rules, tolerance=chosen.tolerance)
        self.health = Health(self.bounds, parts.frames.bound, false_alarm=chosen.false_alarm)
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
        self._violated = np.zeros(len(parts.rules), bool)

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
            if self.health.block not in (-1, block):
                yield from self._finish_block()
            self.health.block = block
            self.health.add(encoded.count(first, last))
            yield from self._tell_windows(flags, windows, starts, first, last)
        self.n_windows += len(windows)
        self.last_window = int(starts[-1])

    def _finish_block(self) -> Iterator[Alert]:
        end = (self.health.block + 1) * self.block
        for change in self.health.finish(self.health.block):
            alert = tell_change(
                change,
                self.rules,
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
        some = np.flatnonzero((counted.violated > 0) | self._violated).tolist()
        return {rule: (where, block) for rule, where, block in encoded.violations(some)}

    def _tell_windows(
        self, flags: _Flags, windows: Complete, starts: npt.NDArray[np.int64], first: int, last: int
    ) -> Iterator[Alert]:
        """Tell violations that begin and alarms of the detector, in the order of the windows."""
        alarms = [] if self.watch is None else self.watch.push(windows, first, last, self.open.anchor or 0)
        for frame in range(first, last) if flags or alarms else ():
            for rule in sorted(flags):
                where, block = flags[rule]
                places = np.flatnonzero(where[:, frame])
                if len(places) and not self._violated[rule]:
                    self.n_alerts += 1
                    yield tell_violation(
                        rule,
                        self.rules,
                        start=int(starts[frame]),
                        every=self.every,
                        places=place_names(block, places[:_NAMED].tolist()),
                        n_places=len(places),
                        number=self.n_alerts,
                    )
                self._violated[rule] = bool(len(places))
            for alarm in alarms:
                if alarm.frame == frame:
                    self.n_alerts += 1
                    end = format_time(alarm.start + self.every)
                    yield Alert(self.n_alerts, "alarm", end, alarm.message, alarm.details)

    def table(self) -> pl.DataFrame:
        """Return the health of every rule: its status, its counts, and its confidence then and now."""
        now, low, high = self.health.confidence()
        reasons = {one.rule: one.reason for one in self.frames.not_bound}
        total, out = self.health.total, self.frames.left_out
        status = [
            "left out" if rule in out else "not bound" if rule in reasons else STATUS[code]
            for rule, code in enumerate(self.health.status.tolist())
        ]
        since = [format_time(block * self.block) if block >= 0 else None for block in self.health.since.tolist()]
        return pl.DataFrame(
            {
                "rule": np.arange(1, len(self.rules) + 1),
                "status": status,
                "since": pl.Series(since, dtype=pl.String),
                "satisfied": total[:, 0],
                "violated": total[:, 1],
                "not_applicable": total[:, 2],
                "missing": total[:, 3],
                "confidence_mined": self.rules.measure("confidence"),
                "confidence_recent": pl.Series(now, nan_to_null=True),
                "low": pl.Series(low, nan_to_null=True),
                "high": pl.Series(high, nan_to_null=True),
                "sentence": self._sentences,
                "reason": pl.Series([reasons.get(rule) for rule in range(len(self.rules))], dtype=pl.String),
            }
        )

    @cached_property
    def _sentences(self) -> list[str]:
        return [rule.english for rule in self.rules]

    def over_time(self) -> pl.DataFrame:
        """Return the counts of every rule in each of the last blocks, one row per block and rule."""
        kept = np.flatnonzero(self.health.recent_blocks >= 0)
        n = len(self.rules)
        counts = self.health.recent[kept].reshape(-1, 4)
        starts = np.repeat(self.health.recent_blocks[kept] * self.block, n).view("datetime64[us]")
        return pl.DataFrame(
            {
                "block": pl.Series(starts).dt.replace_time_zone("UTC"),
                "rule": np.tile(np.arange(1, n + 1), len(kept)),
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
        return hashlib.sha256("\n".join(what).encode()).hexdigest()

    def _parts(self) -> dict[str, OpenWindows | Gaps | History | Health | DetectorWatch]:
        parts: dict[str, OpenWindows | Gaps | History | Health | DetectorWatch] = {
            "open": self.open,
            "gaps": self.open.gaps,
            "history": self.history,
            "health": self.health,
        }
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
