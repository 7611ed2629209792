"""A detection: the scores of a later time, its alarms, and what each of them says: what, where, why, since when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.detect.calibration import Calibration
from thence.checks.detect.causes import (
    AlarmKind,
    Cause,
    leading_channel,
    new_state_cause,
    node_of,
    residual_cause,
    residual_reasons,
)
from thence.checks.detect.evidence import Broken, EvidenceTally, EvidenceTarget
from thence.checks.detect.paths import spread
from thence.checks.detect.residuals import hours_of
from thence.checks.detect.scorer import NEVER_SEEN, Scored, Scorer, ScoreState
from thence.data.graph.system import System
from thence.data.readings.sensors import as_utc
from thence.data.readings.windows import WindowedReadings
from thence.errors import InputError, attempt
from thence.language.english import format_number, format_unit

Floats = npt.NDArray[np.float64]
_HOPS = 2
_REASONS = 5
_LOCATED = 10
_MOST_SCORES = 2000


class Breakable(Protocol):
    """Statements that can be violated: rules, laws, ranges or controls."""

    def tally(self, readings: WindowedReadings, system: System) -> EvidenceTally:
        """Return the evidence of all frames."""
        ...

    def broken_at(self, readings: WindowedReadings, system: System, frame: int) -> list[Broken]:
        """Return the statements that are violated in a frame."""
        ...


@dataclass(frozen=True)
class Alarm:
    """A stretch of time with an alarm.

    Args:
        start: Start of its first window.
        end: End of its last window.
        peak: Its greatest score, in units of the threshold.
        places: The nodes that the evidence speaks for, the first most; sensors where there is no graph.
        first: Number of its first frame.
        last: Number of its last frame.
        cause: What it is about.
    """

    start: datetime
    end: datetime
    peak: float
    places: tuple[str, ...]
    first: int = field(repr=False, default=0)
    last: int = field(repr=False, default=0)
    cause: Cause | None = field(repr=False, default=None)

    @property
    def when(self) -> str:
        """When it was, and its score, in words."""
        return f"{_moment(self.start)} to {_moment(self.end)}: score {self.peak:.1f} times the threshold"

    def __str__(self) -> str:
        if self.cause is not None:
            return f"{self.when}: {self.cause}"
        where = f", most likely at {self.places[0]}" if self.places else ""
        others = f" (then {', '.join(self.places[1:3])})" if len(self.places) > 1 else ""
        return f"{self.when}{where}{others}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "start": self.start.isoformat(),
            "end": self.end.isoformat(),
            "peak": round(self.peak, 4),
            "places": list(self.places),
            **({} if self.cause is None else {"kind": self.cause.kind, "cause": str(self.cause)}),
        }


@dataclass(frozen=True)
class Drift:
    """A sensor that has slowly moved away from what the others let expect; what it reads is the new reference.

    Args:
        subject: The sensor.
        node: Its node; empty if it has none.
        since: From when on the new reference counts.
    """

    subject: str
    node: str
    since: datetime

    def __str__(self) -> str:
        where = f" at {self.node}" if self.node and self.node not in self.subject else ""
        return (
            f"{self.subject}{where} has drifted slowly; what it reads is the new reference from {_moment(self.since)}"
        )


@dataclass(frozen=True)
class Explanation:
    """Why there is an alarm, or would be.

    Args:
        time: Start of the window that is explained.
        score: Its score, in units of the threshold.
        alarm: Whether there is an alarm.
        places: The nodes that the evidence speaks for, the first most.
        reasons: The violated statements, the most surprising first.
        others: Number of further violated statements.
        failures: What could not be explained, and why; one sentence each.
    """

    time: datetime
    score: float
    alarm: bool
    places: tuple[str, ...]
    reasons: tuple[Broken, ...]
    others: int = 0
    failures: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = (
            f"{_moment(self.time)}: {'alarm' if self.alarm else 'no alarm'}, score {self.score:.2f} times the threshold"
        )
        lines = [f"{head}{', most likely at ' + self.places[0] if self.places and self.alarm else ''}"]
        for number, reason in enumerate(self.reasons, start=1):
            lines += [f"{number:>2}. {line}" if at == 0 else f"    {line}" for at, line in enumerate(_lines(reason))]
        if self.others:
            lines.append(f"    and {self.others} more")
        lines += [f"    {failure}" for failure in self.failures]
        if not self.reasons and not self.failures:
            lines.append("    nothing is violated in this window")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "time": self.time.isoformat(),
            "score": round(self.score, 4),
            "alarm": self.alarm,
            "places": list(self.places),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "others": self.others,
            "failures": list(self.failures),
        }


def _lines(reason: Broken) -> list[str]:
    lines = [f"{reason.statement}: violated at {reason.place}"]
    if reason.readings:
        read = ", ".join(
            f"{one.sensor} = {one.value if isinstance(one.value, str) else format_number(_short(one.value))}"
            f"{' ' + format_unit(one.unit) if one.unit else ''}"
            for one in reason.readings
        )
        lines.append(f"readings: {read}")
    if reason.change:
        lines.append(f"it would hold with {reason.change}")
    if len(reason.path) > 1:
        lines.append(f"path: {' – '.join(reason.path)}")
    lines.append(f"in normal time: {reason.normal or f'violated in {reason.violated:,} of {reason.rows:,} rows'}")
    return lines


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


@dataclass(frozen=True, eq=False)
class Detection:
    """Scores and alarms of a later time.

    Args:
        readings: The readings in windows.
        system: The system that they belong to.
        checks: The statements.
        scorer: What gives the scores.
        notes: What could not be checked, and why.
        never_before: What sensors read that read one value in normal time; one sentence each.
    """

    readings: WindowedReadings
    system: System
    checks: tuple[Breakable, ...]
    scorer: Scorer
    notes: tuple[str, ...] = ()
    never_before: tuple[str, ...] = ()

    @property
    def calibration(self) -> Calibration:
        """What is usual in normal time."""
        return self.scorer.calibration

    @cached_property
    def _hours(self) -> Floats:
        return hours_of(self.readings)

    @cached_property
    def _state(self) -> ScoreState:
        return ScoreState.new(self.scorer.residuals)

    @cached_property
    def scored(self) -> Scored:
        """Scores with all that they come from."""
        return self.scorer.score(self.readings, self.system, self._state)

    @property
    def tally(self) -> EvidenceTally:
        """The evidence of statements."""
        return self.scored.tally

    @property
    def smoothed(self) -> Floats:
        """The smoothed share of violated statements, targets × frames."""
        return self.scored.smoothed

    @property
    def scores(self) -> Floats:
        """The score of each frame; above 1 is an alarm."""
        return self.scored.scores

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per window: ``time`` (its start, UTC), ``score`` in units of the threshold, and ``alarm``."""
        times = pl.Series("time", self.readings.times).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        return pl.DataFrame({"time": times, "score": self.scores, "alarm": self.scores > 1})

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms in order of time; those that are closer than the memory are one."""
        on = np.flatnonzero(self.scores > 1)
        if not len(on):
            return ()
        breaks = np.flatnonzero(np.diff(self._hours[on]) >= max(self.calibration.memory, self.calibration.every * 1.5))
        firsts, lasts = on[np.concatenate([[0], breaks + 1])], on[np.concatenate([breaks, [len(on) - 1]])]
        return tuple(self._alarm_of(*span) for span in zip(firsts.tolist(), lasts.tolist(), strict=True))

    def _alarm_of(self, first: int, last: int) -> Alarm:
        cause = attempt("the cause of an alarm", lambda: self._cause(first, last), lambda _: None)
        found = self._located(self._frame_to_locate(first, last))["place"].to_list()
        named = [] if cause is None or not cause.place else [cause.place]
        places = tuple([*named, *(place for place in found if place not in named)][:3])
        peak = float(self.scores[first : last + 1].max())
        return Alarm(self._time(first), self._time(last) + self.readings.every, peak, places, first, last, cause)

    def cause_at(self, at: Any) -> Cause | None:
        """Return what is most out of the ordinary around a time; ``None`` if it cannot be said.

        Args:
            at: A time within a window.
        """
        frame = self._frame_at(at)
        return attempt("the cause of an alarm", lambda: self._cause(frame, frame), lambda _: None)

    def _cause(self, first: int, last: int) -> Cause | None:
        """What an alarm is about; ``None`` if no statement and no residual says it."""
        end = self._frame_to_locate(first, last)
        channel = leading_channel(self.scored, dict(self.calibration.thresholds), first, end)
        if channel == NEVER_SEEN:
            flags = np.any(list(self.scored.new_states.values()), axis=0)
            at = first + int(np.argmax(flags[first : last + 1]))
            return new_state_cause(self.scored, self.readings, self.system, at)
        residuals = self.scorer.residuals
        if channel.startswith("residual") and residuals is not None:
            values = self.scored.channels[channel][first : end + 1]
            at = first + int(np.argmax(values))
            return residual_cause(residuals, self.scored, self.readings, self.system, at, channel)
        family = channel.partition(",")[0]
        frame = self._telling_frame(first, last)
        own = [
            reason
            for checks in self.checks
            for reason in checks.broken_at(self.readings, self.system, frame)
            if reason.family == family
        ]
        if not own:
            return None
        smoothed = self.smoothed[:, [frame]]
        relative = dict(zip(self.tally.targets, self._evidence(smoothed), strict=True))
        worst = max(own, key=lambda reason: (relative.get(reason.target, 0.0), -reason.normal_rate))
        change = f"; it would hold with {worst.change}" if worst.change else ""
        kind: AlarmKind = "law" if family == "law" else "control" if family == "control" else "process"
        return Cause(kind, worst.place, "", f"{worst.statement} is violated{change}")

    @cached_property
    def drifted(self) -> tuple[Drift, ...]:
        """Sensors that have drifted slowly, in order of time; each once."""
        residuals = self.scorer.residuals
        if residuals is None:
            return ()
        _ = self.scored  # the state is that after the last frame
        found: dict[str, float] = {}
        for (sensor, _state), hour in zip(residuals.columns, self._state.residual.moved.tolist(), strict=True):
            if not math.isnan(hour):
                found[sensor] = min(hour, found.get(sensor, math.inf))
        out = [Drift(id, node_of(id, self.system), _as_time(hour)) for id, hour in found.items()]
        return tuple(sorted(out, key=lambda one: (one.since, one.subject)))

    def explain(self, at: Any = None) -> Explanation:
        """Say why there is an alarm.

        What cannot be explained is among the ``failures`` of the explanation, and its traceback in the log of
        ``thence.errors``; the alarm stays.

        Args:
            at: An alarm, or a time within a window; by default the first alarm.
        """
        alarm = self._alarm(at) if at is None or isinstance(at, Alarm) else None
        first = self._frame_at(at) if alarm is None else alarm.first

        def without_reasons(why: str) -> Explanation:
            score = float(self.scores[first])
            return Explanation(
                self._time(first), score, score > 1, (), (), failures=(f"could not be explained: {why}",)
            )

        return attempt(
            "the explanation of an alarm",
            lambda: self._explained(first if alarm is None else self._telling_frame(alarm.first, alarm.last)),
            without_reasons,
        )

    def _explained(self, frame: int) -> Explanation:
        """The violated statements of a frame, the most surprising first; those of each family if another fails."""
        failures: list[str] = []
        reasons = [reason for checks in self.checks for reason in self._broken_at(checks, frame, failures)]
        smoothed = self.smoothed[:, [frame]]
        relative = dict(zip(self.tally.targets, self._evidence(smoothed), strict=True))
        reasons.sort(key=lambda reason: (-relative.get(reason.target, 0.0), reason.normal_rate, reason.statement))
        off = self._residuals_at(frame, failures)
        shown = _spread_over_targets([*off, *reasons])
        places = tuple(self._located(frame)["place"].head(3).to_list())
        score = float(self.scores[frame])
        others = len(off) + len(reasons) - len(shown)
        return Explanation(self._time(frame), score, score > 1, places, shown, others, tuple(failures))

    def _residuals_at(self, frame: int, failures: list[str]) -> list[Broken]:
        """The sensors that do not read what the others let expect."""
        residuals = self.scorer.residuals

        def nothing(why: str) -> list[Broken]:
            failures.append(f"residuals could not be explained: {why}")
            return []

        if residuals is None:
            return []
        return attempt(
            "the explanation of residuals",
            lambda: residual_reasons(residuals, self.scored, self.readings, self.system, frame),
            nothing,
        )

    def _broken_at(self, checks: Breakable, frame: int, failures: list[str]) -> list[Broken]:
        """The violated statements of one family; none if they cannot be told, which is then one of the failures."""
        name = f"{type(checks).__name__.removesuffix('Checks').lower()}s"

        def nothing(why: str) -> list[Broken]:
            failures.append(f"{name} could not be explained: {why}")
            return []

        return attempt(
            f"the explanation of {name}", lambda: checks.broken_at(self.readings, self.system, frame), nothing
        )

    def locate(self, at: Any = None) -> pl.DataFrame:
        """Return the nodes that the evidence speaks for, the first most: columns ``place`` and ``score``.

        Where laws are violated they say the place: a law is about one node and its neighbours. Otherwise the evidence
        of each sensor counts for its node and, halved by each edge, for the nodes around it.

        Args:
            at: An alarm, or a time within a window; by default the first alarm.
        """
        if at is None or isinstance(at, Alarm):
            alarm = self._alarm(at)
            return self._located(self._frame_to_locate(alarm.first, alarm.last))
        return self._located(self._frame_at(at))

    def _alarm(self, at: Alarm | None) -> Alarm:
        if at is not None:
            return at
        if not self.alarms:
            raise InputError("there is no alarm to explain", hint="pass a time")
        return self.alarms[0]

    def _frame_to_locate(self, first: int, last: int) -> int:
        """The frame of an alarm with as much evidence as the memory holds."""
        end = self._hours[first] + self.calibration.memory
        return min(int(np.searchsorted(self._hours, end, side="right")) - 1, last)

    def _telling_frame(self, first: int, last: int) -> int:
        """The frame just before or within the beginning of an alarm in which most is violated."""
        early = int(np.searchsorted(self._hours, self._hours[first] - self.calibration.memory, side="left"))
        last = self._frame_to_locate(first, last)
        amount = self._evidence(self.smoothed[:, [last]]) @ np.nan_to_num(self.tally.shares[:, early : last + 1])
        residuals, found = self.scorer.residuals, self.scored.residuals
        if residuals is not None and found is not None:
            standard = np.abs(np.nan_to_num(found.errors / found.units))[early : last + 1]
            amount = amount / max(float(amount.max(initial=0.0)), 1e-12)
            amount = amount + np.minimum(standard / residuals.clip, 1.0).max(axis=1, initial=0.0)
        within = amount[first - early :]
        return first + int(np.argmax(within)) if within.max(initial=0.0) > 0 else early + int(np.argmax(amount))

    def _evidence(self, smoothed: Floats) -> Floats:
        """How much each target speaks for its place, in one frame."""
        targets = self.tally.targets
        relative = self.calibration.relative(targets, smoothed)[:, 0] if len(targets) else np.zeros(0)
        surprise = self.calibration.surprise(targets, smoothed)[:, 0] if len(targets) else np.zeros(0)
        laws = np.array([target.family == "law" for target in targets], bool)
        speaks = np.where(relative > 1, surprise * relative, 0.0)
        if (laws & (speaks > 0)).any():
            return np.where(laws, speaks, 1e-3 * speaks)
        return speaks if speaks.any() else surprise

    def _located(self, frame: int) -> pl.DataFrame:
        schema = {"place": pl.String, "score": pl.Float64}
        ordered = attempt("the place of an alarm", lambda: self._places_at(frame), lambda _: [])
        return pl.DataFrame(ordered, schema=schema, orient="row")

    def _places_at(self, frame: int) -> list[tuple[str, float]]:
        amounts = self._evidence(self.smoothed[:, [frame]])
        own: dict[str, float] = {}
        near: dict[str, float] = {}
        for target, amount in zip(self.tally.targets, amounts.tolist(), strict=True):
            if amount > 0:
                held = own if target.family == "law" else near
                place = target.node or target.subject
                held[place] = held.get(place, 0.0) + amount
        residuals, signals = self.scorer.residuals, self.scored.signals
        if residuals is not None and signals is not None and not own:
            near = {}  # errors are sharper than the bins of rules and ranges
            unusual = np.maximum(signals.worst[:, frame], np.abs(signals.slow[:, frame]) / 3) ** 2
            for (sensor, _), amount in zip(residuals.columns, unusual.tolist(), strict=True):
                place = node_of(sensor, self.system) or sensor
                near[place] = max(near.get(place, 0.0), amount)
        graph = self.system.graph
        found = dict(near if graph is None else spread(near, graph, hops=_HOPS))
        for place, amount in own.items():
            found[place] = found.get(place, 0.0) + amount
        return sorted(found.items(), key=lambda one: (-one[1], one[0]))

    def _time(self, frame: int) -> datetime:
        moment: datetime = self.readings.times[frame].astype("datetime64[us]").astype(datetime)
        return moment.replace(tzinfo=UTC)

    def _frame_at(self, at: Any) -> int:
        moment = as_utc(at)
        frame = int(np.searchsorted(self.readings.times, np.datetime64(moment.replace(tzinfo=None)), side="right")) - 1
        if frame < 0 or moment - self._time(frame) >= self.readings.every:
            raise InputError(
                f"there is no window at {_moment(moment)} UTC",
                hint=f"the readings are from {_moment(self._time(0))} to {_moment(self._time(len(self.readings) - 1))}",
            )
        return frame

    def __str__(self) -> str:
        hours = len(self.readings) * self.calibration.every
        count = len(self.alarms)
        lines = [f"never seen before: {text}" for text in self.never_before]
        lines += [f"{count} alarm{'' if count == 1 else 's'} in {timedelta(hours=hours).days:,} days"]
        lines += [f"  {alarm}" for alarm in self.alarms]
        lines += [f"  {drift}" for drift in self.drifted]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def over_time(self, most: int = _MOST_SCORES) -> tuple[npt.NDArray[np.datetime64], Floats]:
        """Return times and scores; of more frames than ``most``, the highest score of each stretch of frames.

        Args:
            most: The greatest number of scores.
        """
        times, scores = self.readings.times, self.scores
        if len(scores) <= most:
            return times, scores
        size = -(-len(scores) // most)
        firsts = np.arange(0, len(scores), size)
        return times[firsts], np.fmax.reduceat(scores, firsts)

    def to_dict(self) -> dict[str, Any]:
        """Return scores over time, alarms with places and explanations, drifts and notes, ready for JSON.

        ``times`` are milliseconds since 1970, ``scores`` in units of the threshold; of more than 2,000 windows, each
        score is the highest of some successive windows.
        """
        times, scores = self.over_time()
        return {
            "system": self.system.name,
            "times": (times.astype("datetime64[us]").astype(np.int64) // 1000).tolist(),
            "scores": [round(one, 4) if math.isfinite(one) else None for one in scores.tolist()],
            "threshold": 1.0,
            "alarms": [
                {
                    **alarm.to_dict(),
                    "located": [[place, round(score, 4)] for place, score in self.locate(alarm).head(_LOCATED).rows()],
                    "explanation": self.explain(alarm).to_dict(),
                }
                for alarm in self.alarms
            ],
            "drifted": [
                {"subject": one.subject, "node": one.node, "since": one.since.isoformat()} for one in self.drifted
            ],
            "notes": list(self.notes),
            **({"never_before": list(self.never_before)} if self.never_before else {}),
        }


def _spread_over_targets(reasons: Sequence[Broken]) -> tuple[Broken, ...]:
    """The first reasons, at most two about the same target."""
    seen: dict[EvidenceTarget, int] = {}
    out = []
    for reason in reasons:
        seen[reason.target] = seen.get(reason.target, 0) + 1
        if seen[reason.target] <= 2:
            out.append(reason)
        if len(out) == _REASONS:
            break
    return tuple(out)


def _as_time(hour: float) -> datetime:
    """The moment so many hours after 1970."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=round(hour * 3600))
